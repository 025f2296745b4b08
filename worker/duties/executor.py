"""The executor's duty: an approved plan becomes a patch and a report, or a reason why not."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from app.core.budget import Cap, Meter, Spent, within_run
from app.core.digest import canonical
from app.core.effects import Execute
from app.core.facts import AmendmentProposed, ExecutionFailed, QuestionsAnswered, RepairKept, StepKept, StepsDone
from app.core.plan import Plan
from app.core.policy import Policy
from app.core.report import Findings
from app.core.run import Approved, Grant, KeptRepair, KeptStep, grant_of
from app.core.template import Template, TemplateUnreadable
from app.core.verdict import Refused
from app.ledger.outcomes import Claim
from worker.belts import executor, research
from worker.belts.amending import Amender
from worker.belts.bench import Bench, BenchModels, Made, Paused, Stopped
from worker.belts.progress import Progress
from worker.belts.proving import BoxLost, NotPrepared, Prover
from worker.belts.scratch import scratch
from worker.box.checks import Ground, checks_of
from worker.box.command import BoxUnavailable, Runs
from worker.box.environment import EnvironmentUnavailable
from worker.duties.preparing import Carried, opened, preparing, provisions, setting_up
from worker.evidence.trace import CalledOff, Trace
from worker.outcomes import Held, MustWait
from worker.repo.mirror import Mirror
from worker.repo.snapshot import Snapshot
from worker.shop import Done, Shop

if TYPE_CHECKING:
    from worker.model.client import Model

HELD_SECONDS = 60.0
"""How long an approved plan waits before the box is tried again."""


@dataclass(frozen=True, slots=True)
class _Work:
    """One approved plan, with what it is carried out on."""

    shop: Shop
    claim: Claim
    plan: Plan
    template: Template
    mirror: Mirror
    trace: Trace
    meter: Meter
    progress: Progress

    @property
    def policy(self) -> Policy:
        return self.claim.state.policy or Policy()

    def model(self, name: str, role: str) -> "Model":
        return self.shop.model(name, role, self.trace)


def execute(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """1 the Grant, 2 fetch and give the token back, 3 the box where it is needed, 4 the work, 5 keep what it made."""
    assert isinstance(claim.effect, Execute)
    grant = grant_of(claim.state, shop.clock())
    if grant is None:
        return [], "no live approval"
    plan = shop.approved_plan(claim.state)
    trace.plan_version, trace.plan_digest = plan.version, grant.proposal.digest
    trace.template = f"{plan.template.name}@{plan.template.version}"
    template = _template(shop, plan)
    progress = _progress(shop, claim, trace, plan)
    meter = _meter(shop, claim, plan, progress)
    if isinstance(template, Refused):
        return _told(shop, grant, Stopped(template), progress.uncounted(meter))
    with shop.line(claim) as line:
        # It reads no history: where the planner has not brought it here, the tree alone is enough.
        mirror = shop.fetched(line, plan.base_commit, depth=1)
    work = _Work(shop, claim, plan, template, mirror, trace, meter, progress)
    outcome = _answered(work) if plan.questions() else _changed(work)
    if isinstance(outcome, Paused):
        return _paused(work, outcome)
    return _told(shop, grant, outcome, progress.uncounted(meter))


def _progress(shop: Shop, claim: Claim, trace: Trace, plan: Plan) -> Progress:
    """What earlier attempts under this approval kept; what comes is recorded under this claim, or not at all."""
    assert isinstance(claim.state, Approved)

    def tell(kept: KeptStep | KeptRepair, spent: Spent) -> None:
        # What was spent is written down first, so that it is never less than what the facts say.
        shop.note(trace)
        at, digest, key = shop.clock(), trace.plan_digest, claim.effect.key
        fact: StepKept | RepairKept
        if isinstance(kept, KeptStep):
            fact = StepKept(at=at, plan_digest=digest, execution=key, kept=kept, spent=spent)
        else:
            fact = RepairKept(at=at, plan_digest=digest, execution=key, repair=kept, spent=spent)
        told = shop.ledger.tell(claim, fact)
        if isinstance(told, Refused):
            raise CalledOff(str(told))

    return Progress(claim.state.work, plan.base_commit, shop.keep, shop.kept, tell)


def _meter(shop: Shop, claim: Claim, plan: Plan, progress: Progress) -> Meter:
    """What earlier attempts spent counts against the plan's cap: that of one which died unheard as well, and what the
    plan that this one amends has cost. Nor does the whole run cost more than the policy says."""
    counted, earlier = progress.work.spent, progress.work.earlier
    here = shop.ledger.spent_on(claim.run, claim.effect_id)
    unheard = here.beyond(counted.beyond(earlier))
    cap = {"usd": plan.budget.usd, "calls": plan.budget.calls, "minutes": plan.budget.minutes}
    own = (claim.state.policy or Policy()).budget
    run = Cap(usd=own.usd, calls=own.calls, minutes=own.minutes)
    return Meter(within_run(Cap.model_validate(cap), run, claim.state.spent.beyond(counted)), counted, before=unheard)


def _template(shop: Shop, plan: Plan) -> Template | Refused:
    """Exactly the version by which the plan was made, whatever is current now."""
    if plan.rule is None and shop.settings.model is None:
        return Refused("The approved plan needs a model, and this installation has none any more.")
    try:
        return shop.pinned(plan.template)
    except TemplateUnreadable as error:
        return Refused(str(error), "Put it back, or ask for a new plan with the label.")


def _answered(work: _Work) -> Findings | Stopped:
    """Questions need no box: nothing is run and nothing is changed."""
    models = work.plan.models
    with Snapshot(work.mirror, work.plan.base_commit) as snapshot:
        study = research.Study(
            template=work.template,
            standard=work.model(models.executor, "executor"),
            strong=work.model(models.planner, "executor"),
            reviewer=work.model(models.reviewer, "reviewer"),
            snapshot=snapshot,
            symbols=work.shop.symbols,
            trace=work.trace,
        )
        findings = research.answer_all(work.plan, study, work.meter)
    return Stopped(findings) if isinstance(findings, Refused) else findings


def _changed(work: _Work) -> Made | Paused | Stopped:
    box = opened(work.shop, work.plan.hosts)
    if isinstance(box, BoxUnavailable):
        raise _waiting(box)
    with _bench(work, box) as bench:
        if isinstance(bench, Refused):
            return Stopped(bench)
        try:
            return executor.execute(work.plan, bench, work.meter)
        except (BoxLost, NotPrepared) as lost:
            raise _waiting(lost.unavailable) from lost


@contextmanager
def _bench(work: _Work, box: Runs) -> Iterator[Bench | Refused]:
    shop, plan = work.shop, work.plan
    with Snapshot(work.mirror, plan.base_commit) as snapshot, scratch() as folder:
        tree = folder / "tree"
        snapshot.export(tree)
        checks = checks_of(tree, work.policy)
        known = provisions(shop, work.policy, tree, checks)
        if isinstance(known, Refused):
            yield known
            return
        how = setting_up(shop, Carried(plan, checks, known, box, work.trace.wanted))
        if isinstance(how, Refused):
            yield how
            return
        yield Bench(
            template=work.template,
            policy=work.policy,
            models=None if plan.rule is not None else _models(work),
            snapshot=snapshot,
            symbols=shop.symbols,
            prover=Prover(
                box=box,
                snapshot=snapshot,
                known=checks,
                prepare=preparing(shop, work.trace, how),
                keep=shop.keep,
                trace=work.trace,
                look=lambda tree: checks_of(tree, work.policy),
            ),
            trace=work.trace,
            progress=work.progress,
            amender=Amender(
                plan=plan,
                version=work.claim.state.last_version + 1,
                template=work.template,
                policy=work.policy,
                tree=snapshot,
                checks=checks,
                ground=Ground(tree),
                provisions=known,
            ),
        )


def _models(work: _Work) -> BenchModels:
    pins = work.plan.models
    return BenchModels(
        standard=work.model(pins.executor, "executor"),
        strong=work.model(pins.planner, "executor"),
        reviewer=work.model(pins.reviewer, "reviewer"),
    )


def _waiting(unavailable: BoxUnavailable | EnvironmentUnavailable) -> MustWait:
    return MustWait(Held(HELD_SECONDS, unavailable.reason, remedy=unavailable.remedy))


def _paused(work: _Work, paused: Paused) -> Done:
    """The next version is kept with what is done, and goes to the people who approve."""
    shop, plan, amends, at = work.shop, paused.plan, paused.plan.amends, work.shop.clock()
    assert amends is not None
    fact = AmendmentProposed(
        at=at,
        plan_digest=amends.plan,
        execution=work.claim.effect.key,
        version=plan.version,
        digest=shop.ledger.put_plan(work.claim.run, plan),
        step=amends.step,
        why=amends.why,
        paths=tuple(sorted(plan.paths())),
        report_ref=shop.keep(canonical(paused.report), "application/json"),
        expires_at=at + timedelta(days=work.policy.approve.days),
        spent=work.progress.uncounted(work.meter),
    )
    return [fact], f"amendment: version {plan.version}"


def _told(shop: Shop, grant: Grant, outcome: Made | Stopped | Findings, spent: Spent) -> Done:
    digest, at = grant.proposal.digest, shop.clock()
    if isinstance(outcome, Findings):
        findings_ref = shop.keep(canonical(outcome), "application/json")
        answered = QuestionsAnswered(at=at, plan_digest=digest, findings_ref=findings_ref, spent=spent)
        return [answered], "answered"
    report_ref = shop.keep(canonical(outcome.report), "application/json") if outcome.report else ""
    if isinstance(outcome, Made):
        patch_ref = shop.keep(canonical(outcome.patch), "application/json")
        done = StepsDone(at=at, plan_digest=digest, patch_ref=patch_ref, report_ref=report_ref, spent=spent)
        return [done], "built"
    failed = ExecutionFailed(
        at=at,
        plan_digest=digest,
        reason=outcome.refused.reason,
        remedy=outcome.refused.remedy,
        report_ref=report_ref,
        spent=spent,
    )
    return [failed], f"stopped: {outcome.refused.reason}"


DUTIES: Mapping[type, Callable[[Shop, Claim, Trace], Done]] = {Execute: execute}
