"""The planner: decides what evidence to seek and whether it is enough, and makes the plan. It can only read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.core.budget import Meter, Spent
from app.core.digest import digest
from app.core.facts import InputNeeded, PlanDrafted, PlanNotPossible
from app.core.plan import ModelPins, Plan
from app.core.policy import Policy
from app.core.run import Request
from app.core.span import SpanKind
from app.core.template import Template
from app.core.verdict import Refused
from worker.belts.page import card, issue
from worker.belts.plan_form import Frame, read_plan, submit_plan
from worker.belts.reading_up import ReadUp
from worker.belts.scout import Errand, send_out
from worker.box.checks import Ground, NamedCheck
from worker.evidence.artifacts import ArtifactShelf, keep_text, reopen
from worker.evidence.casefile import CaseFile
from worker.evidence.trace import Trace
from worker.evidence.untrusted import fence
from worker.model.client import Model
from worker.model.conversation import Answer, Done, Failed, Handler, ToolGroup
from worker.model.schema import faults
from worker.model.words import ModelError, Reply, Stopped, Tool, ToolCall, UserText
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools

CASE_FILE_CHARACTERS = 60_000
"""The case file in each prompt: it does not grow beyond this with the number of tool calls."""
SAID_CHARACTERS = 1_500
MOST_CUTS = 2
MOST_IDLE = 3
MOST_PLANS_REFUSED = 4

_WORDS = {"type": "string", "minLength": 1, "maxLength": 4000}


def _one_field(name: str, description: str, field_name: str) -> Tool:
    properties = {field_name: _WORDS}
    schema = {"type": "object", "properties": properties, "required": [field_name], "additionalProperties": False}
    return Tool(name, description, schema)


ASK_AUTHOR = _one_field("ask_author", "Ends the work with one question to the issue's author.", "question")
GIVE_UP = _one_field("give_up", "Ends the work without a plan, and says why.", "reason")
SCOUT = _one_field("scout", "Hands one bounded reading errand to a small model.", "question")
REOPEN = Tool(
    "reopen",
    "Lines of the full output behind an observation, by its number such as #3.",
    {
        "type": "object",
        "properties": {
            "reference": {"type": "string", "minLength": 1, "maxLength": 80},
            "start": {"type": "integer", "minimum": 1},
            "end": {"type": "integer", "minimum": 1},
        },
        "required": ["reference"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be planned. `wish` is what a maintainer wrote who asked for a revision."""

    request: Request
    version: int
    wish: str
    read: ReadUp


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
    checks: tuple[NamedCheck, ...]
    ground: Ground
    shelf: ArtifactShelf
    trace: Trace
    groups: tuple[ToolGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Drafted:
    """A plan that parses, cites real lines, and fits its template and the policy."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class NoPlan:
    """The planner ended without a plan."""

    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """Only the issue's author can say how to go on."""

    text: str


Ending = Drafted | NoPlan | Question


def draft(task: Task, desk: Desk, meter: Meter) -> Ending:
    """Asks, looks, and asks again, until there is a plan, a question, an end, or no budget."""
    work = _Work(task, desk, meter)
    while True:
        if isinstance(refused := meter.may_call(), Refused):
            return NoPlan(f"No plan was finished: {refused}", "A larger budget in the policy file may help.")
        try:
            reply = desk.planner.ask(
                desk.template.prompts.planner,
                [UserText(work.page())],
                work.tools,
                desk.template.limits.reply_tokens,
            )
        except ModelError as error:
            meter.charge(error.spent)
            raise
        meter.charge(reply.spent)
        ending = work.take(reply)
        if ending is not None:
            return ending


def as_fact(
    ending: Ending, task: Task, spent: Spent, at: datetime, expires_at: datetime
) -> PlanDrafted | PlanNotPossible | InputNeeded:
    """What the ending means for the run."""
    match ending:
        case Drafted(plan):
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
            )
        case NoPlan(reason, remedy):
            return PlanNotPossible(at=at, version=task.version, reason=reason, remedy=remedy, spent=spent)
        case Question(text):
            return InputNeeded(at=at, version=task.version, question=text, spent=spent)


@dataclass
class _Work:
    """The case file so far, and how often something went wrong in a row."""

    task: Task
    desk: Desk
    meter: Meter
    case: CaseFile = field(default_factory=CaseFile)
    said: str = ""
    cuts: int = 0
    idle: int = 0
    plans_refused: int = 0

    def __post_init__(self) -> None:
        reading = ReadTools(self.desk.snapshot, self.desk.symbols)
        self._reading = reading
        request, read = self.task.request, self.task.read
        self._top = (
            f"{card(request, read, self.desk.snapshot, self.desk.checks)}\n\n{issue(request, read, self.task.wish)}"
        )
        self._handlers: dict[str, tuple[Tool, Handler[Ending]]] = dict(reading.every())
        for group in self.desk.groups:
            self._handlers |= group.every()
        self._handlers["reopen"] = (REOPEN, self._reopen)
        self._handlers["scout"] = (SCOUT, self._scout)
        self._handlers["submit_plan"] = (submit_plan(self.desk.template), self._submit)
        self._handlers["ask_author"] = (ASK_AUTHOR, lambda asked: Done(Question(str(asked["question"]))))
        self._handlers["give_up"] = (GIVE_UP, lambda asked: Done(NoPlan(str(asked["reason"]))))
        self.tools = [tool for tool, _ in self._handlers.values()]

    def page(self) -> str:
        """The one message of a turn: card, issue, case file, and what may still be spent."""
        parts = [self._top, self.case.render(CASE_FILE_CHARACTERS)]
        if self.said:
            parts.append(f"Your last words beside your calls: {fence('your words', self.said)}")
        spent, cap = self.meter.spent, self.meter.cap
        left = f"{cap.calls - spent.calls} model calls and ${max(cap.usd - spent.usd, cap.usd * 0):.2f} are left."
        return "\n\n".join([*parts, left])

    def take(self, reply: Reply) -> Ending | None:
        """What a reply leads to. A cut reply is never acted on, whatever in it still parses (case LM-01)."""
        if reply.stopped is Stopped.CUT:
            self.cuts += 1
            self.said = f"[Your last reply was cut ({reply.because}) and thrown away. Answer much shorter.]"
            return NoPlan(_cut_words(reply)) if self.cuts >= MOST_CUTS else None
        if reply.stopped is Stopped.REFUSED:
            return NoPlan(f"{reply.model} refused to go on ({reply.because}).")
        self.said = reply.text[:SAID_CHARACTERS]
        if reply.stopped is not Stopped.TOOL_USE:
            self.idle += 1
            self.said += "\n[You called no tool. Only tool calls count.]"
            return NoPlan(f"{reply.model} stopped without calling a tool.") if self.idle >= MOST_IDLE else None
        usable = 0
        for call in reply.calls:
            outcome = self._do(call)
            if isinstance(outcome, Done):
                return outcome.value
            usable += isinstance(outcome, Answer)
        if self.plans_refused >= MOST_PLANS_REFUSED:
            return NoPlan("No plan was accepted by the checks on it.", self.case.observations[-1].text[:1_000])
        self.cuts = 0
        self.idle = 0 if usable else self.idle + 1
        return NoPlan(f"{reply.model} kept making calls that cannot be done.") if self.idle > 2 * MOST_IDLE else None

    def _do(self, call: ToolCall) -> Answer | Failed | Done[Ending]:
        """One call, and what it showed as an observation."""
        with self.desk.trace.noting(SpanKind.TOOL, call.name) as noted:
            outcome = self._handled(call)
            noted.outcome = "ok" if not isinstance(outcome, Failed) else "refused"
        if not isinstance(outcome, Done):
            asked = json.dumps(dict(call.input), ensure_ascii=False)
            reference = keep_text(self.desk.shelf, outcome.text)
            self.case = self.case.observed(call.name, asked, outcome.text, reference)
        return outcome

    def _handled(self, call: ToolCall) -> Answer | Failed | Done[Ending]:
        if call.name not in self._handlers:
            return Failed(f"There is no tool {call.name!r} here. The tools are {', '.join(self._handlers)}.")
        tool, handler = self._handlers[call.name]
        wrong = faults(tool.schema, call.input)
        return Failed(f"{call.name} was not called: " + " ".join(wrong)) if wrong else handler(call.input)

    def _reopen(self, asked: Mapping[str, Any]) -> Answer | Failed:
        reference = self.case.resolve(str(asked["reference"]))
        if isinstance(reference, Refused):
            return Failed(str(reference))
        text = reopen(self.desk.shelf, reference, _number(asked, "start"), _number(asked, "end"))
        return Failed(str(text)) if isinstance(text, Refused) else Answer(text)

    def _scout(self, asked: Mapping[str, Any]) -> Answer | Failed:
        sent = sum(seen.tool == "scout" for seen in self.case.observations)
        if sent >= self.desk.template.limits.scouts:
            return Failed(f"All {sent} scouts were sent out; look for yourself.")
        errand = Errand(str(asked["question"]), self.desk.template, self.desk.scout, self.desk.snapshot, self._reading)
        return send_out(errand, self.meter)

    def _submit(self, asked: Mapping[str, Any]) -> Failed | Done[Ending]:
        outcome = read_plan(asked, _frame(self.task, self.desk), self.desk.snapshot)
        if isinstance(outcome, Plan):
            return Done(Drafted(outcome))
        self.plans_refused += 1
        return Failed("The plan was not accepted:\n" + "\n".join(f"- {fault}" for fault in outcome))


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
    )


def _cut_words(reply: Reply) -> str:
    return (
        f"{reply.model}'s reply was cut at its token limit twice ({reply.because}), so no plan could be taken from it."
    )


def _number(asked: Mapping[str, Any], name: str) -> int | None:
    value = asked.get(name)
    return int(value) if isinstance(value, int | float) else None
