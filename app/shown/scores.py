"""The scores of one run, from the ledger alone: the same for a run of production and for a task of an evaluation."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from app.core.belts import Belt
from app.core.blame import Blame, Whose, blame
from app.core.facts import (
    AmendmentProposed,
    EffectAbandoned,
    ExecutionFailed,
    ExecutionHeld,
    Fact,
    InputNeeded,
    PlanDrafted,
    PlanNotPossible,
    QuestionsAnswered,
    SplitProposed,
    StepKept,
    StepsDone,
)
from app.core.outcome import Outcome, outcome_of
from app.core.patch import Patch
from app.core.plan import Plan
from app.core.plan_score import Gold, PlanEnding, Planned, PlanScore, score_plan
from app.core.policy import Policy
from app.core.report import Report
from app.core.run import Closed, ClosedReason, Part, State
from app.core.span import Span, SpanKind
from app.core.work_score import Worked, WorkEnding, WorkScore, score_work, spent_of
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.shown.glances import MOST_REMEMBERED, approval_of

_PLANNING = PlanDrafted | InputNeeded | SplitProposed | PlanNotPossible
_WORK = StepsDone | QuestionsAnswered | ExecutionFailed | AmendmentProposed | ExecutionHeld


class RunScores(Part):
    """What the two of them did in one run, and whose failure it is where it failed."""

    run: str
    repository: str
    issue: int
    template: str = ""
    models: str = ""
    """The planner's and the executor's, where a plan names them."""
    outcome: str
    """Where the run stands, or how it ended."""
    pull: Outcome | None = None
    """What people made of its pull request; None where there was none or it is open."""
    as_made: bool | None = None
    """Whether the plan was approved as it was first made; None where nobody has decided."""
    plan: PlanScore | None = None
    """None where planning has not ended."""
    work: WorkScore | None = None
    blame: Blame

    def figures(self) -> Mapping[str, float | bool | None]:
        """What is compared between two results: passed or failed as bool, scores as numbers, None for unknown.

        What was carried out of a plan that is not right says nothing about who carried it out.
        """
        plan, work = self.plan, self.work if self.blame.whose is not Whose.PLANNER else None
        tested = self.work
        return {
            "planner right": plan.right() if plan else None,
            "planner score": plan.value() if plan else None,
            "executor right": work.right() if work else None,
            "executor score": work.value() if work else None,
            "unseen tests pass": tested.hidden_passed == tested.hidden if tested and tested.hidden else None,
        }


@dataclass(frozen=True, slots=True)
class Beside:
    """What somebody knows of a run beside its ledger."""

    gold: Gold | None = None
    held: Callable[[Plan], int] | None = None
    """How many of a plan's citations hold, looked up again."""
    hidden: tuple[int, int] | None = None
    """Unseen tests that passed on the result, and how many were run."""
    outside: str = ""
    """What stood in the way that was neither's doing."""


NOTHING_BESIDE = Beside()


def scores_of(ledger: Ledger, view: RunView, beside: Beside = NOTHING_BESIDE) -> RunScores:
    """The scores of a run as it stands."""
    return scores_at(ledger, view.id, [one.fact for one in view.facts], view.state, beside)


def scores_at(
    ledger: Ledger, run: str, facts: Sequence[Fact], state: State, beside: Beside = NOTHING_BESIDE
) -> RunScores:
    """The scores of a run with these facts, which is in this state."""
    spans, request = ledger.spans(run), state.request
    planned = [fact for fact in facts if isinstance(fact, _PLANNING) and not _by_code(fact)]
    drafted = [fact for fact in planned if isinstance(fact, PlanDrafted)]
    plan = ledger.plan_by_digest(drafted[-1].digest) if drafted else None
    shown = _plan_score(planned[-1], plan, spans, beside) if planned else None
    work = _work_score(ledger, facts, spans, beside, state.policy or Policy())
    outside = beside.outside or next((one.reason for one in facts if isinstance(one, EffectAbandoned)), "")
    pin = next((fact.template for fact in reversed(planned) if fact.template), None)
    return RunScores(
        run=run,
        repository=request.repository,
        issue=request.issue_number,
        template=f"{pin.name} {pin.version}" if pin else "",
        models=f"{plan.models.planner}, {plan.models.executor}" if plan else "",
        outcome=state.reason.value if isinstance(state, Closed) else state.name,
        pull=outcome_of(state, facts),
        as_made=_as_made(facts, state),
        plan=shown,
        work=work,
        blame=blame(shown, work, outside),
    )


class Remembered:
    """Scores by run, without what somebody knows beside the ledger. A run is scored again when more facts of it are
    there. Safe to share between threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = Lock()
        self._known: dict[str, tuple[int, RunScores]] = {}

    def of(self, wanted: Iterable[str]) -> dict[str, RunScores]:
        """The scores of these runs."""
        lengths = self._ledger.lengths(wanted)
        with self._lock:
            found = {run: self._known[run][1] for run, size in lengths.items() if self._known.get(run, (0,))[0] == size}
        made = {
            run: (len(told), scores_at(self._ledger, run, told, state))
            for run, (told, state) in self._ledger.histories([run for run in lengths if run not in found]).items()
        }
        with self._lock:
            if len(self._known) + len(made) > MOST_REMEMBERED:
                self._known.clear()
            self._known.update(made)
        return found | {run: scores for run, (_, scores) in made.items()}


def _as_made(facts: Sequence[Fact], state: State) -> bool | None:
    approval, plans = approval_of(state), [fact for fact in facts if isinstance(fact, PlanDrafted)]
    if approval is not None:
        return bool(plans) and approval[0] == plans[0].version
    turned_down = isinstance(state, Closed) and state.reason in (ClosedReason.REJECTED, ClosedReason.EXPIRED)
    return False if turned_down else None


def _by_code(fact: Fact) -> bool:
    """A version of which steps were dropped is no work of the planner's."""
    return isinstance(fact, PlanDrafted) and fact.narrowed is not None


def _plan_score(fact: _PLANNING, plan: Plan | None, spans: Sequence[Span], beside: Beside) -> PlanScore:
    ours = [span for span in spans if span.belt is Belt.PLANNER]
    ending = {PlanDrafted: PlanEnding.PLAN, InputNeeded: PlanEnding.QUESTION, SplitProposed: PlanEnding.SPLIT}
    ended = ending.get(type(fact), PlanEnding.NONE)
    last = plan if ended is PlanEnding.PLAN else None
    told = Planned(
        ending=ended,
        plans_refused=sum(span.name == "submit_plan" and span.outcome == "refused" for span in ours),
        turns=sum(span.kind is SpanKind.MODEL and span.name == "planner" for span in ours),
        spent=spent_of(ours),
        held=beside.held(last) if beside.held is not None and last is not None else None,
    )
    return score_plan(told, last, beside.gold)


def _work_score(
    ledger: Ledger, facts: Sequence[Fact], spans: Sequence[Span], beside: Beside, policy: Policy
) -> WorkScore | None:
    """Of the last execution that ended or was held up; None where there was none, or its plan is gone."""
    ends = [fact for fact in facts if isinstance(fact, _WORK)]
    plan = ledger.plan_by_digest(ends[-1].plan_digest) if ends else None
    if plan is None:
        return None
    last = ends[-1]
    kept = (fact.kept.id for fact in facts if isinstance(fact, StepKept) and fact.plan_digest == last.plan_digest)
    passed, run = beside.hidden or (0, None)
    told = Worked(
        ending=_ending(last),
        steps_kept=frozenset(kept),
        report=_report(ledger, last),
        patch=_patch(ledger, last),
        spans=tuple(span for span in spans if span.belt is Belt.EXECUTOR and span.plan_digest == last.plan_digest),
        hidden=run,
        hidden_passed=passed,
    )
    return score_work(told, plan, policy, beside.gold)


def _ending(fact: Fact) -> WorkEnding:
    match fact:
        case StepsDone() | QuestionsAnswered():
            return WorkEnding.BUILT
        case AmendmentProposed():
            return WorkEnding.AMENDED
        case ExecutionHeld():
            return WorkEnding.HELD
        case _:
            return WorkEnding.STOPPED


def _report(ledger: Ledger, fact: Fact) -> Report | None:
    """None where there is none, or it was dropped by its age."""
    reference = fact.report_ref if isinstance(fact, StepsDone | ExecutionFailed | AmendmentProposed) else ""
    body = ledger.artifact(reference) if reference else None
    return None if body is None else Report.model_validate_json(body)


def _patch(ledger: Ledger, fact: Fact) -> Patch | None:
    body = ledger.artifact(fact.patch_ref) if isinstance(fact, StepsDone) else None
    return None if body is None else Patch.model_validate_json(body)
