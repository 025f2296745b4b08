"""The planner's duty: a plan from what GitHub and the repository say."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta

from app.core.budget import Cap, Meter
from app.core.effects import DraftPlan
from app.core.facts import PlanNotPossible
from app.core.plan import ModelPins
from app.core.policy import Policy
from app.core.run import State
from app.core.template import Template, TemplateUnreadable, read_template, template_folder
from app.ledger.outcomes import Claim
from worker.belts import planner
from worker.belts.proving import scratch
from worker.belts.reading_up import NotReady, ReadUp, read
from worker.box.checks import Ground, discover
from worker.evidence.trace import Trace
from worker.github.reader import Reader
from worker.repo.snapshot import Snapshot
from worker.shop import Done, Shop


def draft_plan(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """1 read GitHub and fetch, 2 give the token back, 3 let the planner work, 4 keep the plan."""
    assert isinstance(claim.effect, DraftPlan)
    version, policy = claim.effect.version, claim.state.policy or Policy()
    template = _template(claim.state, policy)
    if isinstance(template, str):
        return [PlanNotPossible(at=shop.clock(), version=version, reason=template)], "no template"
    shop.warm()
    with shop.line(claim) as line:
        known = read(Reader(line.connection, line.repository), claim.state.request)
        if isinstance(known, ReadUp):
            mirror = shop.mirror_of(line)
            mirror.fetch(line.remote, known.base_commit)
    if isinstance(known, NotReady):
        reason, remedy, stale = known.reason, known.remedy, known.stale
        fact = PlanNotPossible(at=shop.clock(), version=version, reason=reason, remedy=remedy, stale=stale)
        return [fact], reason
    task = planner.Task(claim.state.request, version, claim.effect.wish, known)
    meter = Meter(_cap(template, policy))
    with ExitStack() as stack:
        snapshot = stack.enter_context(Snapshot(mirror, known.base_commit))
        tree = stack.enter_context(scratch()) / "tree"
        snapshot.export(tree)
        models = shop.models
        desk = planner.Desk(
            template=template,
            policy=policy,
            pins=ModelPins(planner=models.planner, executor=models.executor, reviewer=models.planner),
            planner=shop.model(models.planner, "planner", trace),
            scout=shop.model(models.scout, "scout", trace),
            snapshot=snapshot,
            symbols=shop.symbols,
            checks=discover(tree),
            ground=Ground(tree),
            shelf=shop.ledger,
            trace=trace,
        )
        ending = planner.draft(task, desk, meter)
    if isinstance(ending, planner.Drafted):
        shop.ledger.put_plan(claim.run, ending.plan)
    until = shop.clock() + timedelta(days=policy.approve.days)
    return [planner.as_fact(ending, task, meter.spent, shop.clock(), until)], type(ending).__name__


def _template(state: State, policy: Policy) -> Template | str:
    word = state.request.label_word
    name = policy.templates.get(word)
    if name is None:
        known = ", ".join(f"`{one}`" for one in policy.templates if one)
        return f"The label's word `{word}` names no template; the words are: {known}."
    try:
        return read_template(template_folder(name))
    except TemplateUnreadable as error:
        return str(error)


def _cap(template: Template, policy: Policy) -> Cap:
    usual, own = template.budget.drafting.usual, policy.budget
    return Cap(usd=min(usual.usd, own.usd), calls=min(usual.calls, own.calls), minutes=min(usual.minutes, own.minutes))


DUTIES: Mapping[type, Callable[[Shop, Claim, Trace], Done]] = {DraftPlan: draft_plan}
