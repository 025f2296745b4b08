"""The planner's duty: a plan from what GitHub and the repository say, made by models or, for a rule, by code."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from app.core.budget import Cap, Meter, Spent, within_run
from app.core.effects import DraftPlan
from app.core.facts import AmendmentProposed, InputNeeded, PlanDrafted, PlanNotPossible
from app.core.plan import ModelPins
from app.core.policy import Policy
from app.core.template import Crew, Template
from app.core.verdict import Refused
from app.ledger.outcomes import Claim
from worker.belts import planner, rule_plan
from worker.belts.browsing import Browsing, has_pages, lacking
from worker.belts.earlier import Earlier, read_case
from worker.belts.looking_up import LookUps
from worker.belts.other_kind import OtherKind
from worker.belts.reading_docs import DocsTool
from worker.belts.reading_up import NotReady, ReadUp, read
from worker.belts.reproducing import Reproducing, Workplace
from worker.belts.scratch import scratch
from worker.box.checks import Ground, NamedCheck, checks_of
from worker.box.page import chromium_here
from worker.box.provision import Provisions
from worker.docs.fetching import Documentation
from worker.duties.asking import reading
from worker.duties.crewing import crew_of
from worker.duties.kinds import asked_for, others, spelled, template_of
from worker.duties.narrowing import narrow_plan
from worker.duties.preparing import opened, provisions, trying_out
from worker.evidence.trace import Trace
from worker.github.reader import Reader
from worker.model.conversation import ToolGroup
from worker.repo.mirror import Mirror
from worker.repo.ranking.issue import IssueText
from worker.repo.snapshot import Snapshot
from worker.shop import Done, Shop


def draft_plan(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """1 the template, 2 read GitHub and fetch, 3 give the token back, 4 make the plan, 5 keep it."""
    assert isinstance(claim.effect, DraftPlan)
    if claim.effect.narrow is not None:
        return narrow_plan(shop, claim)
    version, policy = claim.effect.version, claim.state.policy or Policy()
    chosen = _template(shop, claim.run, asked_for(shop, claim, policy), policy)
    if isinstance(chosen, Refused):
        reason, remedy = chosen.reason, chosen.remedy
        return [PlanNotPossible(at=shop.clock(), version=version, reason=reason, remedy=remedy)], "no template"
    template, crew = chosen
    trace.template = f"{template.name}@{template.version}"
    if crew is not None:
        shop.warm()
    with shop.line(claim) as line:
        known = read(Reader(line.connection, line.repository), claim.state.request, policy)
        if isinstance(known, ReadUp):
            mirror = shop.fetched(line, known.base_commit)
    if isinstance(known, NotReady):
        reason, remedy, stale = known.reason, known.remedy, known.stale
        fact = PlanNotPossible(at=shop.clock(), version=version, reason=reason, remedy=remedy, stale=stale)
        return [fact], reason
    task = planner.Task(claim.state.request, version, claim.effect.wish, known, _earlier(shop, claim, known))
    kinds = others(shop, claim, policy, template) if crew is not None else {}
    room = _Room(shop, trace, template, policy, mirror, claim, kinds)
    ending, meter = _by_rule(task, room) if crew is None else _by_models(task, room, crew)
    kind = ending if isinstance(ending, OtherKind) else None
    if kind is not None:
        other = _template(shop, claim.run, spelled(policy, kind.name) or kind.name, policy)
        if not isinstance(other, Refused) and other[1] is not None:
            room = replace(room, template=other[0], kinds={})
            ending, meter = _by_models(task, room, other[1], meter)
    if isinstance(ending, planner.Drafted):
        shop.ledger.put_plan(claim.run, ending.plan)
    until = shop.clock() + timedelta(days=policy.approve.days)
    ended = planner.as_fact(ending, task, meter.total, shop.clock(), until)
    if kind is not None and isinstance(ended, PlanDrafted):
        ended = ended.model_copy(update={"notices": (kind.told(), *ended.notices)})
    return [ended.model_copy(update={"template": room.template.pin()})], type(ending).__name__


@dataclass(frozen=True, slots=True)
class _Room:
    """Where one plan is made."""

    shop: Shop
    trace: Trace
    template: Template
    policy: Policy
    mirror: Mirror
    claim: Claim
    kinds: Mapping[str, str]
    """Templates that the planner may choose instead."""


def _by_models(
    task: planner.Task, room: _Room, crew: Crew, so_far: Meter | None = None
) -> tuple[planner.Ending, Meter]:
    """The ending, and what was spent in all: `so_far` already, and by attempts that came to no end."""
    shop = room.shop
    before = so_far.before if so_far else shop.ledger.spent_on(room.claim.run, room.claim.effect_id)
    cap = _cap(room.template, room.policy, room.claim.state.spent)
    meter = Meter(cap, so_far.spent if so_far else None, before=before)
    with ExitStack() as stack:
        snapshot = stack.enter_context(Snapshot(room.mirror, task.read.base_commit))
        tree = stack.enter_context(scratch()) / "tree"
        snapshot.export(tree)
        checks = checks_of(tree, room.policy)
        known = provisions(shop, room.policy, tree, checks)
        if isinstance(known, Refused):
            return planner.NoPlan(known.reason, known.remedy), meter
        desk = planner.Desk(
            template=room.template,
            policy=room.policy,
            pins=ModelPins(planner=crew.planner, executor=crew.executor, reviewer=crew.reviewer),
            planner=shop.model(crew.planner, "planner", room.trace),
            scout=shop.model(crew.scout, "scout", room.trace),
            snapshot=snapshot,
            symbols=shop.symbols,
            index=shop.index,
            checks=checks,
            ground=Ground(tree),
            shelf=shop.ledger,
            trace=room.trace,
            groups=_groups(task, room, snapshot, _Grounds(tree, checks, known)),
            history=shop.ledger.past_runs(room.template.name),
            kinds=room.kinds,
            lacks=lacking(snapshot, chromium_here()),
            provisions=known,
        )
        return planner.draft(task, desk, meter), meter


@dataclass(frozen=True, slots=True)
class _Grounds:
    """The exported base commit with its checks, and what they take to prepare."""

    tree: Path
    checks: tuple[NamedCheck, ...]
    known: Provisions


def _groups(task: planner.Task, room: _Room, snapshot: Snapshot, grounds: _Grounds) -> tuple[ToolGroup, ...]:
    """What the planner can look at beside the repository at its base commit, and where it can try something out."""
    shop, tree = room.shop, grounds.tree
    workplace = Workplace(
        tree=tree,
        snapshot=snapshot,
        issue=IssueText(task.read.title, task.read.body),
        checks=grounds.checks,
        index=shop.index,
        trace=room.trace,
        open_box=lambda: opened(shop),
        prepare=trying_out(shop, task.request.repository_id, room.trace, grounds.known),
    )
    looking_up = LookUps(lambda: reading(shop, room.claim), task.read.base_commit)
    docs = shop.settings.docs
    pages = Documentation(docs.reach.within(room.policy.documentation), docs.authorities, through=docs.through)
    groups: tuple[ToolGroup, ...] = (looking_up, DocsTool(pages), Reproducing(workplace))
    chromium = chromium_here()
    if chromium is None or not has_pages(snapshot):
        return groups
    return *groups, Browsing(tree, snapshot, chromium, lambda: opened(shop), shop.keep, room.trace)


def _earlier(shop: Shop, claim: Claim, read: ReadUp) -> Earlier:
    """What this run has brought so far; a case file only where it is of the same commit."""
    view = shop.ledger.run(claim.run)
    facts = [one.fact for one in view.facts] if view else []
    drafted = [fact for fact in facts if isinstance(fact, PlanDrafted | AmendmentProposed)]
    ended = [fact for fact in facts if isinstance(fact, PlanDrafted | InputNeeded)]
    case = read_case(ended[-1].case_ref or "", shop.ledger) if ended else None
    same = case is not None and case.commit == read.base_commit
    return Earlier(
        questions=tuple(fact.question for fact in facts if isinstance(fact, InputNeeded)),
        plan=shop.ledger.plan(claim.run, drafted[-1].version) if drafted else None,
        case=case if same else None,
        moved=case is not None and not same,
    )


def _by_rule(task: planner.Task, room: _Room) -> tuple[planner.Ending, Meter]:
    meter = Meter(_cap(room.template, room.policy, room.claim.state.spent))
    with ExitStack() as stack:
        snapshot = stack.enter_context(Snapshot(room.mirror, task.read.base_commit))
        tree = stack.enter_context(scratch()) / "tree"
        snapshot.export(tree)
        checks = checks_of(tree, room.policy)
        known = provisions(room.shop, room.policy, tree, checks)
        if isinstance(known, Refused):
            return planner.NoPlan(known.reason, known.remedy), meter
        desk = rule_plan.RuleDesk(room.template, room.policy, snapshot, checks, known)
        return rule_plan.draft(task, desk), meter


def _template(shop: Shop, run: str, asked: str | Refused, policy: Policy) -> tuple[Template, Crew | None] | Refused:
    """The template in this run's version, with its models by name; no crew for a rule."""
    template = template_of(shop, asked, run) if isinstance(asked, str) else asked
    if isinstance(template, Refused):
        return template
    if template.rule is not None:
        return template, None
    crew = crew_of(shop.settings.model, template, policy)
    return crew if isinstance(crew, Refused) else (template, crew)


def _cap(template: Template, policy: Policy, before: Spent) -> Cap:
    usual, own = template.budget.drafting.usual, policy.budget
    phase = Cap(usd=usual.usd, calls=usual.calls, minutes=min(usual.minutes, own.minutes))
    return within_run(phase, Cap(usd=own.usd, calls=own.calls, minutes=own.minutes), before)


DUTIES: Mapping[type, Callable[[Shop, Claim, Trace], Done]] = {DraftPlan: draft_plan}
