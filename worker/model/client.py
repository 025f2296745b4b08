"""The one client of the Messages API. The SDK is imported when the first `Model` is made, not before.

The SDK's own retries are off: every attempt is ours, counted and bounded.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from app.core.budget import Spent
from worker.model.line import Line, Towards, line_towards
from worker.model.prices import Tokens, cost
from worker.model.strict import strict_tools
from worker.model.words import (
    ALWAYS,
    AssistantTurn,
    Message,
    ModelError,
    ModelMisconfigured,
    ModelRejected,
    ModelUnavailable,
    Outcome,
    Reply,
    Stopped,
    Tool,
    ToolCall,
    ToolResult,
    ToolResults,
    UserText,
    Wish,
    called,
    sendable,
)

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message as RawMessage

__all__ = [
    "Access",
    "AssistantTurn",
    "Message",
    "Model",
    "ModelError",
    "ModelMisconfigured",
    "ModelRejected",
    "ModelUnavailable",
    "Outcome",
    "Reply",
    "Stopped",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolResults",
    "UserText",
    "warm",
]

_CACHED: dict[str, str] = {"type": "ephemeral"}
_LONGEST_STEP_SECONDS = 30.0
_RETRYABLE = frozenset({408, 409, 425, 429})
_UNCONFIGURED = frozenset({401, 402, 403, 404})
_STOPS: Mapping[str, Stopped] = {
    "end_turn": Stopped.END,
    "stop_sequence": Stopped.END,
    "tool_use": Stopped.TOOL_USE,
    "max_tokens": Stopped.CUT,
    "model_context_window_exceeded": Stopped.CUT,
    "refusal": Stopped.REFUSED,
    "pause_turn": Stopped.PAUSED,
}


@dataclass(frozen=True)
class Access:
    """How the API is reached.

    `base_url` None means the vendor's own. No attempt begins later than `patience_seconds` after the first, and none
    after `attempts`; waits double from `first_wait_seconds` up to 30 s, with jitter, or are what the API asks for.
    """

    api_key: str = field(repr=False)
    base_url: str | None = None
    timeout_seconds: float = 600.0
    attempts: int = 6
    patience_seconds: float = 120.0
    first_wait_seconds: float = 1.0


_Listener = Callable[[Reply], None]


class Model:
    """One named model behind one access. `on_reply` hears every billed reply once, before the caller does; also what
    was broken off, as a cut reply of unknown price. By `wish` an `ask` is not begun, or is broken off."""

    def __init__(self, access: Access, name: str, on_reply: _Listener = lambda _: None, wish: Wish = ALWAYS) -> None:
        """Raises `ModelMisconfigured` where the key or the name is missing."""
        if not access.api_key.strip():
            raise ModelMisconfigured(
                "No model key is set. Set ANTHROPIC_API_KEY to a key of your account and start the belt again."
            )
        if not name.strip():
            raise ModelMisconfigured("No model name is set. Name a model in the settings of this belt.")
        self.name = name
        self._access = access
        self._on_reply = on_reply
        self._wish = wish
        self._towards = Towards.of(access.base_url)
        self._may_be_strict = True

    def ask(self, system: str, messages: Sequence[Message], tools: Sequence[Tool], max_tokens: int) -> Reply:
        """One billed reply, or a `ModelError`. Costs money: ask the meter first, charge `Reply.spent` afterwards.

        The tools and `system` are marked as a cacheable prefix, and so are the first and the last of the blocks
        `before` a text; once a conversation has begun (more than one message), so is its last message. `max_tokens`
        limits the reply, thinking included.
        """
        attempt = _Attempts(self._access)
        while True:
            self._must_be_wanted(attempt)
            attempt.begin()
            with line_towards(self._towards) as line:
                try:
                    with self._wish.breaking(line.break_off):
                        raw = self._send(line, self._body(system, messages, tools, max_tokens))
                    reply = _reply(raw, self.name, attempt)
                    break
                except Exception as error:
                    if line.broken:
                        attempt.lost()
                        continue
                    if self._may_be_strict and _strictness_refused(error):
                        self._may_be_strict = False
                        continue
                    wait = attempt.wait_or_raise(error, self.name)
            self._rest(wait)
        self._on_reply(reply)
        return reply

    def _must_be_wanted(self, attempt: "_Attempts") -> None:
        """Raises what the wish does; what was sent before may have cost something, and is told."""
        try:
            self._wish.must_be_wanted()
        except Exception:
            if attempt.spent.calls:
                self._on_reply(attempt.broken_off(self.name))
            raise

    def _rest(self, seconds: float) -> None:
        over = threading.Event()
        with self._wish.breaking(over.set):
            over.wait(seconds)

    def _body(
        self, system: str, messages: Sequence[Message], tools: Sequence[Tool], max_tokens: int
    ) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self.name,
            "max_tokens": max_tokens,
            "system": [{"type": "text", "text": system, "cache_control": _CACHED}],
            "messages": [_message(one) for one in messages],
        }
        if tools:
            strict = strict_tools(tools) if self._may_be_strict else frozenset()
            body["tools"] = [_tool(tool) | ({"strict": True} if tool.name in strict else {}) for tool in tools]
        if len(messages) > 1:
            body["cache_control"] = _CACHED
        return body

    def _send(self, line: Line, body: dict[str, object]) -> object:
        client = line.client(self._access.api_key, self._access.base_url, self._access.timeout_seconds)
        # The body is built from our own values; the SDK's types describe it but cannot be met by a plain dict.
        create = cast(Callable[..., object], client.messages.create)
        return create(**body)


class _Attempts:
    """The requests of one `ask`: how many, since when, and what each failure may have cost."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._began = time.monotonic()
        self.sent = 0
        self.spent = Spent()

    def begin(self) -> None:
        self.sent += 1

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def lost(self) -> None:
        """The request had been sent, so it may be billed although nobody saw the answer."""
        self.spent = self.spent.plus(Spent(calls=1, unpriced_calls=1))

    def broken_off(self, model: str) -> Reply:
        """What was sent and may have cost something, as a reply of which nothing came."""
        return Reply("", (), Stopped.CUT, "broken off", self.spent, model, "", self.seconds, self.sent)

    def wait_or_raise(self, error: Exception, model: str) -> float:
        """How long to wait when another attempt is allowed; raises the translated error when it is not."""
        import anthropic

        if isinstance(error, anthropic.APITimeoutError):
            self.lost()
        if not isinstance(error, anthropic.APIError):
            raise error
        asked = _asked_wait(error)
        wait = asked if asked is not None else self._backoff()
        late = self.seconds + wait > self._access.patience_seconds
        if not _may_pass(error) or self.sent >= self._access.attempts or late:
            raise _translated(error, model, self) from error
        return wait

    def _backoff(self) -> float:
        step = min(self._access.first_wait_seconds * 2.0 ** (self.sent - 1), _LONGEST_STEP_SECONDS)
        return float(step * random.uniform(0.5, 1.0))  # noqa: S311 (jitter, not a secret)


def warm() -> None:
    """The SDK is loaded, which takes a second or more and about 50 MB. For a thread, while other work is under way."""
    import anthropic  # noqa: F401


def _tool(tool: Tool) -> dict[str, object]:
    import anthropic

    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": anthropic.transform_schema(dict(tool.schema)),
    }


def _message(message: Message) -> dict[str, object]:
    match message:
        case UserText(text, before):
            blocks: list[dict[str, object]] = [{"type": "text", "text": one} for one in before]
            for place in {0, len(blocks) - 1} if blocks else ():
                blocks[place]["cache_control"] = _CACHED
            return {"role": "user", "content": [*blocks, {"type": "text", "text": text}]}
        case AssistantTurn(reply):
            return {"role": "assistant", "content": list(reply.content)}
        case ToolResults(results):
            return {"role": "user", "content": [_result(one) for one in results]}


def _result(result: ToolResult) -> dict[str, object]:
    return {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        # The API does not take an empty text block.
        "content": [{"type": "text", "text": result.text or "(nothing)"}],
        "is_error": result.outcome is Outcome.FAILED,
    }


def _reply(raw: object, name: str, attempt: _Attempts) -> Reply:
    from anthropic.types import Message as RawMessage

    if not isinstance(raw, RawMessage) or not isinstance(raw.content, list):
        raise ModelMisconfigured(
            "The model's address answered with something that is not a message. Check ANTHROPIC_BASE_URL.",
            attempt.sent,
            attempt.spent.plus(Spent(calls=1, unpriced_calls=1)),
        )
    because = str(raw.stop_reason or "no stop reason")
    # A reason that we do not know is treated as a cut: nothing is complete by absence.
    stopped = _STOPS.get(because, Stopped.CUT)
    asked = [block for block in raw.content if block.type == "tool_use"]
    if asked and stopped in (Stopped.END, Stopped.TOOL_USE):
        stopped = Stopped.TOOL_USE
        # The SDK hands over whatever came; the types promise more than it checks.
        if not all(isinstance(cast(object, block.input), dict) and block.id and block.name for block in asked):
            stopped, because = Stopped.CUT, "malformed tool input"
    elif stopped is Stopped.TOOL_USE:
        stopped = Stopped.END
    # A cut reply is never given back, so what it held is not kept.
    content = () if stopped is Stopped.CUT else tuple(sendable(block.to_dict(mode="json")) for block in raw.content)
    details = raw.stop_details
    if stopped is Stopped.REFUSED and details is not None:
        because = ": ".join(str(part) for part in (because, details.category, details.explanation) if part)
    return Reply(
        text=sendable("\n".join(block.text for block in raw.content if block.type == "text")),
        calls=tuple(called(block) for block in asked if stopped is Stopped.TOOL_USE),
        stopped=stopped,
        because=because,
        spent=attempt.spent.plus(_spent(raw, name, attempt.seconds)),
        model=str(raw.model or name),
        request_id=str(getattr(raw, "_request_id", None) or raw.id or ""),
        seconds=attempt.seconds,
        attempts=attempt.sent,
        content=content,
    )


def _spent(raw: "RawMessage", name: str, seconds: float) -> Spent:
    """`input_tokens` counts the prompt that was not read from the cache; `cached_tokens` the part that was."""
    usage = getattr(raw, "usage", None)
    if usage is None:
        return Spent(calls=1, unpriced_calls=1, model_seconds=seconds)
    tokens = Tokens(
        fresh=usage.input_tokens or 0,
        written=usage.cache_creation_input_tokens or 0,
        cached=usage.cache_read_input_tokens or 0,
        output=usage.output_tokens or 0,
    )
    usd = cost(str(raw.model or name), tokens)
    if usd is None:
        usd = cost(name, tokens)
    priced = Spent() if usd is None else Spent(usd=usd)
    return priced.plus(
        Spent(
            calls=1,
            input_tokens=tokens.fresh + tokens.written,
            output_tokens=tokens.output,
            cached_tokens=tokens.cached,
            unpriced_calls=1 if usd is None else 0,
            model_seconds=seconds,
        )
    )


def _strictness_refused(error: Exception) -> bool:
    """The API compiles strict schemas into one grammar and turns down the request when that grows too large."""
    import anthropic

    if not isinstance(error, anthropic.BadRequestError):
        return False
    said = str(error.api_message or "").lower()
    return any(word in said for word in ("strict", "grammar", "schema"))


def _may_pass(error: "anthropic.APIError") -> bool:
    import anthropic

    if not isinstance(error, anthropic.APIStatusError):
        return isinstance(error, anthropic.APIConnectionError)
    if error.response.headers.get("x-should-retry") == "false":
        return False
    return error.status_code in _RETRYABLE or error.status_code >= 500


def _asked_wait(error: "anthropic.APIError") -> float | None:
    """Seconds that the API asked us to wait. A date instead of a number is not honoured."""
    import anthropic

    if not isinstance(error, anthropic.APIStatusError):
        return None
    try:
        return max(0.0, float(error.response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def _translated(error: "anthropic.APIError", model: str, attempt: _Attempts) -> ModelError:
    import anthropic

    tries = f"{attempt.sent} attempt{'' if attempt.sent == 1 else 's'}"
    if isinstance(error, anthropic.APITimeoutError):
        return ModelUnavailable(f"{model} did not answer in time ({tries}).", attempt.sent, attempt.spent)
    if isinstance(error, anthropic.APIStatusError):
        said = error.api_message or "no message"
        status = error.status_code
        if status in _UNCONFIGURED:
            return ModelMisconfigured(_advice(status, model, said), attempt.sent, attempt.spent)
        if not _may_pass(error) and status < 500:
            return ModelRejected(f"The model API rejected the request ({status}): {said}", attempt.sent, attempt.spent)
        what = {429: "is rate limited", 529: "is overloaded"}.get(status, f"failed with status {status}")
        return ModelUnavailable(
            f"{model} {what} after {tries}: {said}", attempt.sent, attempt.spent, _asked_wait(error)
        )
    if isinstance(error, anthropic.APIConnectionError):
        return ModelUnavailable(f"The model API is out of reach after {tries}.", attempt.sent, attempt.spent)
    return ModelRejected(f"The model API answered unreadably: {error.message}", attempt.sent, attempt.spent)


def _advice(status: int, model: str, said: str) -> str:
    match status:
        case 401:
            return f"The model API does not accept the key ({said}). Check ANTHROPIC_API_KEY."
        case 402:
            return f"The model account cannot pay ({said}). Check its billing."
        case 403:
            return f"The key may not use {model} ({said}). Check the key's permissions."
        case _:
            return f"The model API does not know {model} ({said}). Check the model's name and ANTHROPIC_BASE_URL."
