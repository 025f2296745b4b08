"""The executor's duty: an approved plan becomes a patch and a report, or a reason why not."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from app.core.budget import Cap, Meter
from app.core.digest import canonical
from app.core.effects import Execute
from app.core.facts import ExecutionFailed, StepsDone
from app.core.plan import Plan
from app.core.run import Grant, grant_of
from app.core.span import SpanKind
from app.core.template import read_template, template_folder
from app.ledger.outcomes import Claim
from worker.belts import executor
from worker.belts.proving import BoxLost, Prover, scratch
from worker.box.box import Box, BoxSettings, open_box
from worker.box.checks import discover
from worker.box.command import BoxUnavailable
from worker.box.environment import (
    CheckEnvironment,
    EnvironmentUnavailable,
    Workshop,
    build_environment,
    registry_variables,
)
from worker.evidence.trace import Trace
from worker.outcomes import Held, MustWait
from worker.repo.mirror import Mirror
from worker.repo.snapshot import Snapshot
from worker.shop import Done, Shop

HELD_SECONDS = 60.0
"""How long an approved plan waits before the box is tried again."""


def execute(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """1 the Grant, 2 fetch and give the token back, 3 the box, 4 the executor's work, 5 keep what it made."""
    assert isinstance(claim.effect, Execute)
    grant = grant_of(claim.state, shop.clock())
    if grant is None:
        return [], "no live approval"
    plan = shop.approved_plan(claim.state)
    trace.plan_version, trace.plan_digest = plan.version, grant.proposal.digest
    with shop.line(claim) as line:
        mirror = shop.mirror_of(line)
        mirror.fetch(line.remote, plan.base_commit)
    box = open_box(BoxSettings(bwrap=shop.settings.bwrap))
    if isinstance(box, BoxUnavailable):
        raise _waiting(box)
    cap = {"usd": plan.budget.usd, "calls": plan.budget.calls, "minutes": plan.budget.minutes}
    meter = Meter(Cap.model_validate(cap))
    with _bench(shop, plan, mirror, box, trace) as bench:
        try:
            outcome = executor.execute(plan, bench, meter)
        except BoxLost as lost:
            raise _waiting(lost.unavailable) from lost
    return _told(shop, grant, outcome, meter)


@contextmanager
def _bench(shop: Shop, plan: Plan, mirror: Mirror, box: Box, trace: Trace) -> Iterator[executor.Bench]:
    with Snapshot(mirror, plan.base_commit) as snapshot, scratch() as folder:
        tree = folder / "tree"
        snapshot.export(tree)
        known = discover(tree)
        needs = any(check.needs and not check.not_prepared for check in known)
        environment = _environment(shop, tree, trace) if needs else None
        yield executor.Bench(
            template=read_template(template_folder(plan.template.name, plan.template.version)),
            standard=shop.model(plan.models.executor, "executor", trace),
            strong=shop.model(plan.models.planner, "executor", trace),
            reviewer=shop.model(plan.models.reviewer, "reviewer", trace),
            snapshot=snapshot,
            symbols=shop.symbols,
            prover=Prover(box, snapshot, known, environment, shop.keep, trace),
            trace=trace,
        )


def _environment(shop: Shop, tree: Path, trace: Trace) -> CheckEnvironment:
    """Prepared by trusted code, outside the box, before anything of the plan runs."""
    workshop = Workshop(shop.settings.data_dir / "environments", registry_variables(shop.settings.registry))
    with trace.noting(SpanKind.CHECK, "prepare the environment") as noted:
        environment = build_environment(tree, workshop)
        if isinstance(environment, EnvironmentUnavailable):
            noted.outcome = "unavailable"
            raise MustWait(Held(HELD_SECONDS, environment.reason, environment.remedy))
    return environment


def _waiting(unavailable: BoxUnavailable) -> MustWait:
    return MustWait(Held(HELD_SECONDS, unavailable.reason, unavailable.remedy))


def _told(shop: Shop, grant: Grant, outcome: executor.Made | executor.Stopped, meter: Meter) -> Done:
    digest, at = grant.proposal.digest, shop.clock()
    report_ref = shop.keep(canonical(outcome.report), "application/json") if outcome.report else ""
    if isinstance(outcome, executor.Made):
        patch_ref = shop.keep(canonical(outcome.patch), "application/json")
        done = StepsDone(at=at, plan_digest=digest, patch_ref=patch_ref, report_ref=report_ref, spent=meter.spent)
        return [done], "built"
    failed = ExecutionFailed(
        at=at,
        plan_digest=digest,
        reason=outcome.refused.reason,
        remedy=outcome.refused.remedy,
        report_ref=report_ref,
        spent=meter.spent,
    )
    return [failed], f"stopped: {outcome.refused.reason}"


DUTIES: Mapping[type, Callable[[Shop, Claim, Trace], Done]] = {Execute: execute}
