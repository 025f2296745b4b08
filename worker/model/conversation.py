"""A bounded conversation with tools: how the executor, the scout and the reviewer work with their models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from app.core.budget import Meter
from app.core.verdict import Refused
from worker.model.client import Model
from worker.model.meaning import declined, too_long
from worker.model.schema import faults
from worker.model.words import (
    AssistantTurn,
    Message,
    ModelError,
    ModelOverflow,
    Outcome,
    Reply,
    Stopped,
    Tool,
    ToolCall,
    ToolResult,
    ToolResults,
    UserText,
)

T = TypeVar("T")

SHORTER = (
    "Your last reply was cut ({because}) and thrown away; nothing in it was done. "
    "Answer again, much shorter: one tool call, with less text in it."
)
WHOLE = (
    "A tool call in your last reply had an input that was not whole JSON; the reply was thrown away and nothing in it "
    "was done. Make the call again."
)
LAST = "\n\n[One reply is left to you: end the work with it.]"
NUDGE = "You ended without a tool call. Nothing happens unless you call a tool: {tools}."


@dataclass(frozen=True)
class Opening:
    """What the conversation starts with: the fixed prompt, which is cached, and the task."""

    system: str
    text: str


def _unheard(_tool: str) -> None:
    return None


@dataclass(frozen=True)
class Limits:
    """The most that one conversation may take, beside what its meter allows.

    `max_tokens` limits each reply, thinking included; `replies` the whole conversation. Once its calls together have
    read and written `tokens`, where that is not 0, there is one more reply; that the last reply is the last is said
    before it. The other three count replies in a row: cut at their limit or broken, without a call, and with nothing
    but unknown or invalid calls. At that many cuts, or one more than that many idle or mistaken replies, the
    conversation is given up. `beyond` hears the name of each tool that is asked for and not offered.
    """

    max_tokens: int = 16_000
    replies: int = 60
    tokens: int = 0
    cuts: int = 2
    nudges: int = 2
    mistakes: int = 3
    beyond: Callable[[str], None] = _unheard


@dataclass(frozen=True)
class Answer:
    """The tool did its work; the text goes back to the model. `whole` is the full output that it is a view of."""

    text: str
    whole: str = ""


@dataclass(frozen=True)
class Failed:
    """The tool could not do it; the reason goes back to the model."""

    text: str


@dataclass(frozen=True)
class Done(Generic[T]):
    """The call ends the conversation with this value."""

    value: T


Handler = Callable[[Mapping[str, object]], Answer | Failed | Done[T]]


class ToolGroup(Protocol):
    """Tools that belong together, as a role is handed them: by name, each with its handler."""

    def every(self) -> Mapping[str, tuple[Tool, Handler[Any]]]: ...


@dataclass(frozen=True)
class Finished(Generic[T]):
    """The model ended the work: the call that did it, its handler's value, and what was said beside it."""

    call: ToolCall
    value: T
    text: str


class Cause(StrEnum):
    """What a conversation was given up for."""

    BUDGET = "budget"
    CUT = "cut"
    FULL = "full"
    IDLE = "idle"
    MISTAKES = "mistakes"
    REFUSED = "refused"


@dataclass(frozen=True)
class GaveUp:
    """The conversation ended without a result; `reason` is one sentence for a person."""

    reason: str
    cause: Cause


def answered(
    model: Model, opening: tuple[str, Sequence[Message], Sequence[Tool]], most: int, meter: Meter
) -> Reply | Refused:
    """The reply to this prompt, these messages and tools, charged: an earlier attempt's where it asked the same, which
    costs nothing more; else one that is bought, of at most so many tokens, or refused where no budget is left for it.

    A `ModelError` passes through after what it may have cost was charged.
    """
    system, messages, tools = opening
    if (known := model.recall(system, messages, tools)) is not None:
        meter.recall(known.spent)
        return known
    allowed = meter.reply_tokens(model.quote(system, messages, tools), most)
    if isinstance(allowed, Refused):
        return allowed
    try:
        reply = model.ask(system, messages, tools, allowed, meter.left)
    except ModelError as error:
        meter.charge(error.spent)
        raise
    meter.charge(reply.spent)
    return reply


def converse(
    model: Model, opening: Opening, tools: Mapping[str, tuple[Tool, Handler[T]]], meter: Meter, limits: Limits
) -> Finished[T] | GaveUp:
    """Runs until a handler is `Done`, a limit is reached, or the model refuses.

    Handlers only ever see whole calls of tools in `tools`, valid against their schemas. Every billed reply is charged,
    also one that cannot be used. What grew longer than the model reads ends it too: asked again it would be longer
    still. Any other `ModelError` passes through after what it may have cost was charged.
    """
    talk = _Talk(opening, tools, limits)
    left, tokens = limits.replies, 0
    while left:
        try:
            reply = answered(model, (opening.system, talk.messages, talk.tools), limits.max_tokens, meter)
        except ModelOverflow as full:
            return GaveUp(full.reason, Cause.FULL)
        if isinstance(reply, Refused):
            return GaveUp(str(reply), Cause.BUDGET)
        tokens += reply.spent.input_tokens + reply.spent.cached_tokens + reply.spent.output_tokens
        left = min(left - 1, 1) if 0 < limits.tokens <= tokens else left - 1
        match reply.stopped:
            case Stopped.TOOL_USE:
                end = talk.answer(reply, LAST if left == 1 else "")
            case Stopped.CUT:
                end = talk.ask_for_less(reply)
            case Stopped.BROKEN:
                end = talk.ask_once_more(reply)
            case Stopped.FULL:
                end = GaveUp(too_long(reply.model, reply.because), Cause.FULL)
            case Stopped.END | Stopped.PAUSED:
                end = talk.nudge(reply)
            case Stopped.REFUSED:
                end = GaveUp(declined(reply.model, reply.because), Cause.REFUSED)
        if end is not None:
            return end
    most = f"{limits.tokens:,} tokens" if 0 < limits.tokens <= tokens else f"{limits.replies} replies"
    return GaveUp(f"The conversation did not end within {most}.", Cause.BUDGET)


class _Talk(Generic[T]):
    """The messages so far, and how many unusable replies came in a row."""

    def __init__(self, opening: Opening, tools: Mapping[str, tuple[Tool, Handler[T]]], limits: Limits) -> None:
        self.messages: list[Message] = [UserText(opening.text)]
        self.tools = [tool for tool, _ in tools.values()]
        self._tools = tools
        self._limits = limits
        self._cuts = self._idle = self._mistakes = 0

    def answer(self, reply: Reply, last: str) -> Finished[T] | GaveUp | None:
        """Runs the calls in order. An ending is not accepted beside a call of the same reply that failed before it.

        `last` is said after the results.
        """
        results: list[ToolResult] = []
        unusable = 0
        for call in reply.calls:
            fault = self._fault(call)
            unusable += bool(fault)
            said = Failed(fault) if fault else self._tools[call.name][1](call.input)
            if isinstance(said, Done):
                if all(one.outcome is Outcome.WORKED for one in results):
                    return Finished(call, said.value, reply.text)
                said = Failed(
                    f"{call.name} was not accepted: an earlier call in the same reply failed. Look at it first."
                )
            outcome = Outcome.WORKED if isinstance(said, Answer) else Outcome.FAILED
            results.append(ToolResult(call.id, said.text + (last if call is reply.calls[-1] else ""), outcome))
        self.messages += [AssistantTurn(reply), ToolResults(tuple(results))]
        self._cuts = self._idle = 0
        self._mistakes = self._mistakes + 1 if unusable == len(reply.calls) else 0
        if self._mistakes > self._limits.mistakes:
            return GaveUp(f"{reply.model} kept making invalid tool calls; the last: {results[-1].text}", Cause.MISTAKES)
        return None

    def ask_for_less(self, reply: Reply) -> GaveUp | None:
        """A cut reply is forgotten: what it held is neither acted on nor given back."""
        self._cuts += 1
        if self._cuts >= self._limits.cuts:
            return GaveUp(
                f"{reply.model}'s reply was cut {self._cuts} times in a row ({reply.because}; "
                f"the limit is {self._limits.max_tokens} tokens a reply).",
                Cause.CUT,
            )
        self.messages.append(UserText(SHORTER.format(because=reply.because)))
        return None

    def ask_once_more(self, reply: Reply) -> GaveUp | None:
        """A reply with a broken call is forgotten as a cut one is, and counts as one."""
        self._cuts += 1
        if self._cuts >= self._limits.cuts:
            return GaveUp(f"{reply.model} kept sending tool calls that cannot be read ({reply.because}).", Cause.CUT)
        self.messages.append(UserText(WHOLE))
        return None

    def nudge(self, reply: Reply) -> GaveUp | None:
        """Says that only tool calls count. A pause, which only the vendor's own tools cause, is met in the same way."""
        self._idle += 1
        self._cuts = 0
        if self._idle > self._limits.nudges:
            return GaveUp(f"{reply.model} stopped {self._idle} times without calling a tool.", Cause.IDLE)
        if reply.content:
            self.messages.append(AssistantTurn(reply))
        self.messages.append(UserText(NUDGE.format(tools=", ".join(self._tools))))
        return None

    def _fault(self, call: ToolCall) -> str:
        """Why the call is not passed on to its handler, or an empty string."""
        if call.name not in self._tools:
            self._limits.beyond(call.name)
            return f"There is no tool {call.name!r} here. The tools are {', '.join(self._tools)}."
        wrong = faults(self._tools[call.name][0].schema, call.input)
        return f"{call.name} was not called: " + " ".join(wrong) if wrong else ""
