"""The values that pass between a belt and a model: tools, messages, replies. No vendor's types among them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from app.core.budget import Spent
from worker.model.schema import understood


@dataclass(frozen=True)
class Tool:
    """A tool that a model may call. `schema` is a JSON Schema of an object that admits no unknown fields."""

    name: str
    description: str
    schema: Mapping[str, object]

    def __post_init__(self) -> None:
        if self.schema.get("type") != "object" or self.schema.get("additionalProperties") is not False:
            raise ValueError(f"The schema of {self.name} must be an object that admits no additional properties.")
        understood(self.schema)


def sendable(value: Any) -> Any:
    """A value of JSON in which every text can be sent and kept: of a character only half of which came, U+FFFD stays.

    A model may write such a half as an escape, and no encoder takes it.
    """
    match value:
        case str():
            whole = not _halved(value)
            return value if whole else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {sendable(key): sendable(one) for key, one in value.items()}
        case list():
            return [sendable(one) for one in value]
        case _:
            return value


def _halved(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text)


@dataclass(frozen=True)
class ToolCall:
    """A call that a model made in full: its JSON was complete. It is not yet checked against the tool's schema."""

    id: str
    name: str
    input: Mapping[str, object]


def called(block: Any) -> ToolCall:
    """The call in a block of a reply."""
    return ToolCall(str(block.id), sendable(block.name), sendable(block.input))


class Outcome(StrEnum):
    """Whether a tool call gave what was asked."""

    WORKED = "worked"
    FAILED = "failed"


@dataclass(frozen=True)
class ToolResult:
    """The answer to one tool call."""

    call_id: str
    text: str
    outcome: Outcome = Outcome.WORKED


class Stopped(StrEnum):
    """Why a reply ended. Only TOOL_USE replies carry calls.

    CUT is at its own limit, FULL where prompt and reply are all that the model reads at once, BROKEN has a call whose
    input is not whole.
    """

    END = "end"
    TOOL_USE = "tool_use"
    CUT = "cut"
    FULL = "full"
    BROKEN = "broken"
    REFUSED = "refused"
    PAUSED = "paused"


@dataclass(frozen=True)
class Reply:
    """One billed reply.

    `calls` is empty unless `stopped` is TOOL_USE: a reply that was cut, or whose tool input was not an object,
    carries no call that anybody could act on (case LM-01). `because` names the vendor's reason.
    `spent` counts this call and any earlier attempt that may have been billed; `seconds` runs from the first attempt
    to the reply, waits included; `attempts` counts requests sent. `content` is the raw reply, kept for replay; empty
    when it was cut or broken. `question` is the digest of what it answers; empty where nothing came.
    """

    text: str
    calls: tuple[ToolCall, ...]
    stopped: Stopped
    because: str
    spent: Spent
    model: str
    request_id: str
    seconds: float
    attempts: int
    content: tuple[Mapping[str, object], ...] = field(repr=False, default=())
    question: str = ""


@dataclass(frozen=True)
class UserText:
    """What we say. `before` are blocks that stand before it and that the next request repeats, whole and in order.

    The first of them should stay for good; what is added to them between two requests is cheapest in few blocks.
    """

    text: str
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssistantTurn:
    """A reply, given back word for word (thinking included), as the API requires before tool results."""

    reply: Reply


@dataclass(frozen=True)
class ToolResults:
    """The answers to all calls of the reply before."""

    results: tuple[ToolResult, ...]


Message = UserText | AssistantTurn | ToolResults


class Wish(Protocol):
    """Whether what a model is asked for is still wanted."""

    def must_be_wanted(self) -> None:
        """Raises where it is not."""
        ...

    def breaking(self, act: Callable[[], None]) -> AbstractContextManager[None]:
        """While the block runs, `act` is called once as soon as it is not wanted any more, from whatever thread."""
        ...


class _Always:
    """What is wanted to its end."""

    def must_be_wanted(self) -> None:
        """Never raises."""

    def breaking(self, _act: Callable[[], None]) -> AbstractContextManager[None]:
        """Nothing is broken off."""
        return nullcontext()


ALWAYS = _Always()


Settle = Callable[[Decimal], None]
"""What was held is settled at this price, once; 0 gives all of it back."""


class Purse(Protocol):
    """Out of which calls are paid."""

    def hold(self, usd: Decimal) -> Settle:
        """So much is held for one call, before it is sent. Raises where it is not there."""
        ...


class _Bottomless:
    """A purse that always has enough."""

    def hold(self, _usd: Decimal) -> Settle:
        """Holds nothing."""
        return lambda _: None


BOTTOMLESS = _Bottomless()


class Memory(Protocol):
    """What models have answered before, in the doing of the same work."""

    def recalled(self, question: str) -> Reply | None:
        """The reply to the question with this digest, once for each time that it was given; None: nobody was told."""
        ...


class _Forgetful:
    """A memory of nothing."""

    def recalled(self, _question: str) -> Reply | None:
        """Never one."""
        return None


FORGETFUL = _Forgetful()


@dataclass(frozen=True)
class Terms:
    """On which terms a model is asked: while it is wanted, out of which purse, beside what was answered before."""

    wish: Wish = ALWAYS
    purse: Purse = BOTTOMLESS
    memory: Memory = FORGETFUL


FREE = Terms()


class ModelError(Exception):
    """A call gave no reply. `attempts` were sent; `spent` holds what may have been billed all the same."""

    def __init__(self, reason: str, attempts: int = 0, spent: Spent | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.attempts = attempts
        self.spent = spent or Spent()


class ModelUnavailable(ModelError):
    """Overloaded, rate limited, failing or out of reach, after the bounded back-off. Trying again later may help.

    `retry_after_seconds` is what the API asked for, or None where it did not say.
    """

    def __init__(self, reason: str, attempts: int, spent: Spent, retry_after_seconds: float | None = None) -> None:
        super().__init__(reason, attempts, spent)
        self.retry_after_seconds = retry_after_seconds


class ModelMisconfigured(ModelError):
    """The key, the address or the model's name is wrong. The reason says what to do; trying again does not help."""


class ModelOverflow(ModelError):
    """The prompt, or the prompt with its reply, is longer than the model reads. A shorter one may be answered."""


class ModelRejected(ModelError):
    """The API did not accept the request itself. Trying the same again does not help."""
