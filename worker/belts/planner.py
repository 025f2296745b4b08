"""The planner: decides what evidence to seek and whether it is enough, and makes the plan. It can only read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from app.core.budget import Meter, Spent
from app.core.digest import digest
from app.core.estimate import PastRun
from app.core.facts import InputNeeded, PlanDrafted, PlanNotPossible, SplitProposed
from app.core.plan import ModelPins, Plan
from app.core.policy import Policy
from app.core.run import Request
from app.core.span import SpanKind
from app.core.split import Split
from app.core.template import Template
from app.core.verdict import Refused
from worker.belts.earlier import NOTHING, Earlier, kept
from worker.belts.looking import Looking
from worker.belts.noting import NOTE
from worker.belts.other_kind import OtherKind, other_kind, read_kind
from worker.belts.page import card, issue
from worker.belts.places import places
from worker.belts.plan_form import Frame, read_plan, submit_plan
from worker.belts.planner_tools import ASK_AUTHOR, GIVE_UP, SCOUT
from worker.belts.reading_up import ReadUp
from worker.belts.recalled import outcome_of, remember
from worker.belts.scout import CameBack, Lost
from worker.belts.split_form import TOO_LARGE, read_split
from worker.box.checks import Ground, NamedCheck
from worker.box.provision import NOTHING_TO_PREPARE, Provisions
from worker.evidence.artifacts import ArtifactShelf
from worker.evidence.casefile import CaseFile, Room
from worker.evidence.trace import RECALLED, Trace
from worker.evidence.untrusted import fence
from worker.model.client import Model
from worker.model.conversation import WHOLE, Answer, Done, Failed, Handler, ToolGroup, answered
from worker.model.meaning import declined, too_long
from worker.model.schema import faults
from worker.model.words import ModelOverflow, Reply, Stopped, Tool, ToolCall, UserText
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools

ROOM = Room()
"""What the case file takes of each prompt, however many calls were made: 58,000 characters at the most."""

SHORT_ROOM = Room(notes=5_000, kept=4_000, fresh=9_000, window=6_000, rest=2_000, lines=2_000)
"""The same, 20,000 at the most, once the prompt was longer than the model reads."""

SAID_CHARACTERS = 1_500
MOST_CALLS = 16
"""Calls of one reply that are done."""

MOST_CUTS = 2
MOST_IDLE = 3
MOST_PLANS_REFUSED = 4


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be planned. `wish` is what a maintainer wrote who asked for a revision."""

    request: Request
    version: int
    wish: str
    read: ReadUp
    earlier: Earlier = NOTHING


@dataclass(frozen=True, slots=True)
class Desk:
    """What the planner works with. It holds no token; nothing on it can write.

    `groups` are its tools beside the reading of the snapshot, which its scouts have as well.
    """

    template: Template
    policy: Policy
    pins: ModelPins
    planner: Model
    scout: Model
    snapshot: Snapshot
    symbols: SymbolCache
    index: IndexCache
    checks: tuple[NamedCheck, ...]
    ground: Ground
    shelf: ArtifactShelf
    trace: Trace
    groups: tuple[ToolGroup, ...] = ()
    history: tuple[PastRun, ...] = ()
    """What past executions of the template's plans cost."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Templates that the planner may choose instead of this one, with what they are for."""
    lacks: tuple[str, ...] = ()
    """What cannot be tried out on this machine, a sentence each; the card says so."""
    provisions: Provisions = NOTHING_TO_PREPARE
    """What the tree's set-ups are, and what they may reach from here."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """A plan that parses, cites real lines, and fits its template and the policy; and the case file behind it."""

    plan: Plan
    case_ref: str | None = None


@dataclass(frozen=True, slots=True)
class NoPlan:
    """The planner ended without a plan."""

    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Only the issue's author can say how to go on; then it goes on with this case file."""

    text: str
    case_ref: str | None = None


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The issue is more than one plan can carry."""

    split: Split


Ending = Drafted | NoPlan | Question | TooLarge | OtherKind


def draft(task: Task, desk: Desk, meter: Meter) -> Ending:
    """Asks, looks, and asks again, until there is a plan, a question, an end, or no budget."""
    work = _Work(task, desk, meter)
    prompt, most = desk.template.prompts.planner, desk.template.limits.reply_tokens
    while True:
        try:
            reply = answered(desk.planner, (prompt, [work.page()], work.tools), most, meter)
        except ModelOverflow as full:
            if (too_much := work.shorten(full.reason)) is not None:
                return too_much
            continue
        if isinstance(reply, Refused):
            return NoPlan(f"No plan was finished: {reply}", "A larger budget in the policy file may help.")
        ending = work.take(reply)
        if isinstance(ending, Drafted | Question):
            return replace(ending, case_ref=kept(work.looking.case, desk.shelf))
        if ending is not None:
            return ending


def as_fact(
    ending: Ending, task: Task, spent: Spent, at: datetime, expires_at: datetime
) -> PlanDrafted | PlanNotPossible | InputNeeded | SplitProposed:
    """What the ending means for the run."""
    match ending:
        case Drafted(plan, case_ref):
            return PlanDrafted(
                at=at,
                version=plan.version,
                digest=digest(plan),
                base_branch=plan.base_branch,
                base_commit=plan.base_commit,
                issue_digest=plan.issue_digest,
                expires_at=expires_at,
                spent=spent,
                notices=task.read.hidden,
                case_ref=case_ref,
                paths=tuple(sorted(plan.paths())),
            )
        case NoPlan(reason, remedy):
            return PlanNotPossible(at=at, version=task.version, reason=reason, remedy=remedy, spent=spent)
        case Question(text, case_ref):
            return InputNeeded(at=at, version=task.version, question=text, spent=spent, case_ref=case_ref)
        case OtherKind(name, because):
            reason = f"The planner would make a plan of another kind, {name}: {because}"
            return PlanNotPossible(at=at, version=task.version, reason=reason, spent=spent)
        case TooLarge(split):
            return SplitProposed(at=at, version=task.version, split=split, spent=spent)


@dataclass
class _Work:
    """The investigation so far, and how often something went wrong in a row."""

    task: Task
    desk: Desk
    meter: Meter
    room: Room = ROOM
    said: str = ""
    remarks: list[str] = field(default_factory=list)
    cuts: int = 0
    idle: int = 0
    plans_refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        desk, task = self.desk, self.task
        reading = ReadTools(desk.snapshot, desk.symbols, lines=desk.template.limits.read_lines)
        self.looking = Looking(desk.template, desk.scout, desk.snapshot, reading, desk.shelf, desk.trace)
        self.looking.go_on_with(task.earlier.case or CaseFile(commit=desk.snapshot.commit))
        self._before = self.looking.view
        parts = [card(task.request, task.read, desk.snapshot, desk.checks), *desk.lacks]
        parts.append(places(task.read, desk.snapshot, desk.index, desk.trace))
        parts.append(issue(task.request, task.read, task.wish))
        parts += task.earlier.told()
        self._fixed = "\n\n".join([*parts, "# Observations"])
        self._handlers: dict[str, tuple[Tool, Handler[Ending]]] = {}
        for group in (reading, *desk.groups, self.looking):
            self._handlers |= group.every()
        self._outside = frozenset(name for group in desk.groups for name in group.every())
        self._handlers["submit_plan"] = (submit_plan(desk.template), self._submit)
        self._handlers["ask_author"] = (ASK_AUTHOR, self._ask)
        self._handlers["too_large"] = (TOO_LARGE, self._too_large)
        if desk.kinds:
            self._handlers["other_kind"] = (other_kind(desk.kinds), lambda asked: Done(read_kind(asked)))
        self._handlers["give_up"] = (GIVE_UP, lambda asked: Done(NoPlan(str(asked["reason"]))))
        self.tools = [*(tool for tool, _ in self._handlers.values()), SCOUT]

    def page(self) -> UserText:
        """The one message of a turn: card, hints and issue, which stay; observations; then notes and what is left."""
        self._before = self.looking.view
        page = self.looking.page(self.room)
        parts = ["# Case file", page.notes]
        if self.said:
            parts.append(f"Your last words beside your calls: {fence('your words', self.said)}")
        spent, cap = self.meter.spent, self.meter.cap
        left = f"{cap.calls - spent.calls} model calls and ${max(cap.usd - spent.usd, cap.usd * 0):.2f} are left."
        return UserText("\n\n".join([*parts, *self.remarks, left]), (self._fixed, *page.blocks))

    def shorten(self, why: str) -> NoPlan | None:
        """Once, less of the case file is shown from now on; nothing is lost, since all of it can be reopened."""
        if self.room is SHORT_ROOM:
            return NoPlan(why)
        self.room = SHORT_ROOM
        # What was new on that page was not read.
        self.looking.view = self._before
        self.remarks.append("Less of the case file is shown from now on; reopen what you need by its number.")
        return None

    def take(self, reply: Reply) -> Ending | None:
        """What a reply leads to. A cut reply is never acted on, whatever in it still parses (case LM-01)."""
        self.said, self.remarks = reply.text[:SAID_CHARACTERS], []
        match reply.stopped:
            case Stopped.TOOL_USE:
                return self._act(reply)
            case Stopped.CUT:
                self.cuts += 1
                self.said = ""
                self.remarks = [f"Your last reply was cut ({reply.because}) and thrown away. Answer much shorter."]
                return NoPlan(_cut_words(reply)) if self.cuts >= MOST_CUTS else None
            case Stopped.BROKEN:
                self.cuts += 1
                self.said, self.remarks = "", [WHOLE]
                return NoPlan(_broken_words(reply)) if self.cuts >= MOST_CUTS else None
            case Stopped.FULL:
                self.said = ""
                return self.shorten(too_long(reply.model, reply.because))
            case Stopped.REFUSED:
                return NoPlan(declined(reply.model, reply.because))
            case _:
                self.idle += 1
                self.remarks = ["You called no tool. Only tool calls count."]
                return NoPlan(f"{reply.model} stopped without calling a tool.") if self.idle >= MOST_IDLE else None

    def _act(self, reply: Reply) -> Ending | None:
        """The calls are done in their order; the scouts among them are out side by side."""
        calls, usable = reply.calls[:MOST_CALLS], 0
        back: list[CameBack | Lost] | None = None
        for number, call in enumerate(calls):
            outcome: Answer | Failed | Done[Ending]
            if call.name == SCOUT.name:
                if back is None:
                    errands = [one for one in calls[number:] if one.name == SCOUT.name]
                    back = self.looking.errands(errands, self.meter)
                outcome = self.looking.welcome(call, back.pop(0))
            else:
                outcome = self._do(call)
            if isinstance(outcome, Done):
                return outcome.value
            usable += isinstance(outcome, Answer)
        if len(reply.calls) > len(calls):
            self.remarks.append(f"Only the first {len(calls)} of your {len(reply.calls)} calls were done.")
        if len(self.plans_refused) >= MOST_PLANS_REFUSED:
            return NoPlan("No plan was accepted by the checks on it.", self.plans_refused[-1][:1_000])
        self.cuts = 0
        self.idle = 0 if usable else self.idle + 1
        return NoPlan(f"{reply.model} kept making calls that cannot be done.") if self.idle > 2 * MOST_IDLE else None

    def _do(self, call: ToolCall) -> Answer | Failed | Done[Ending]:
        """One call, and what it showed as an observation. A note is in the case file by itself."""
        with self.desk.trace.noting(SpanKind.TOOL, call.name) as noted:
            recalled = outcome_of(self.desk.trace, call)
            outcome = recalled or self._handled(call)
            noted.outcome = "ok" if not isinstance(outcome, Failed) else "refused"
            noted.detail = RECALLED if recalled else ""
        if recalled is None and call.name in self._outside and not isinstance(outcome, Done):
            remember(self.desk.trace, call, outcome)
        if call.name == NOTE.name:
            self.remarks += [outcome.text] if isinstance(outcome, Failed) else []
        elif not isinstance(outcome, Done):
            self.looking.observe(call, outcome)
        return outcome

    def _handled(self, call: ToolCall) -> Answer | Failed | Done[Ending]:
        if call.name not in self._handlers:
            names = ", ".join(tool.name for tool in self.tools)
            return Failed(f"There is no tool {call.name!r} here. The tools are {names}.")
        tool, handler = self._handlers[call.name]
        wrong = faults(tool.schema, call.input)
        return Failed(f"{call.name} was not called: " + " ".join(wrong)) if wrong else handler(call.input)

    def _ask(self, asked: Mapping[str, Any]) -> Failed | Done[Ending]:
        times, most = len(self.task.earlier.questions), self.desk.template.limits.questions
        if times >= most:
            return Failed(
                f"The issue's author was asked {times} times in this run, and {most} is the most. Plan with what is "
                "known and name what stays open among the risks, or give up and say what is missing."
            )
        questions = [" ".join(str(one).split()) for one in asked["questions"]]
        numbered = [f"{number}. {one}" for number, one in enumerate(questions, 1)]
        return Done(Question(questions[0] if len(questions) == 1 else "\n".join(numbered)))

    def _too_large(self, asked: Mapping[str, Any]) -> Failed | Done[Ending]:
        outcome = read_split(asked)
        return Done(TooLarge(outcome)) if isinstance(outcome, Split) else Failed(outcome)

    def _submit(self, asked: Mapping[str, Any]) -> Failed | Done[Ending]:
        outcome = read_plan(asked, _frame(self.task, self.desk), self.desk.snapshot)
        if isinstance(outcome, Plan):
            return Done(Drafted(outcome))
        found = "The plan was not accepted:\n" + "\n".join(f"- {fault}" for fault in outcome)
        self.plans_refused.append(found)
        return Failed(f"{found}\n\nAs you submitted it:\n{json.dumps(dict(asked), ensure_ascii=False, indent=1)}")


def _frame(task: Task, desk: Desk) -> Frame:
    return Frame(
        request=task.request,
        version=task.version,
        template=desk.template,
        models=desk.pins,
        policy=desk.policy,
        base_branch=task.read.base_branch,
        base_commit=task.read.base_commit,
        issue_digest=task.read.issue_digest,
        checks=desk.checks,
        ground=desk.ground,
        files=len(desk.snapshot.list()),
        history=desk.history,
        provisions=desk.provisions,
    )


def _broken_words(reply: Reply) -> str:
    return f"{reply.model} kept sending tool calls that cannot be read ({reply.because}), so there is no plan."


def _cut_words(reply: Reply) -> str:
    return (
        f"{reply.model}'s reply was cut at its token limit twice ({reply.because}), so no plan could be taken from it."
    )
