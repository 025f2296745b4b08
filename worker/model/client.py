"""The one client of the Messages API. The SDK is imported when the first `Model` is made, not before.

The SDK's own retries are off: every attempt is ours, counted and bounded.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from app.core.budget import Quote, Spent
from worker.model.attempts import Access, Attempts, strictness_refused
from worker.model.gauge import Gauge
from worker.model.line import Line, Towards, line_towards
from worker.model.prices import Tokens, cost, dearest, quote
from worker.model.strict import strict_tools
from worker.model.words import (
    FREE,
    AssistantTurn,
    Message,
    ModelError,
    ModelMisconfigured,
    ModelOverflow,
    ModelRejected,
    ModelUnavailable,
    Outcome,
    Reply,
    Stopped,
    Terms,
    Tool,
    ToolCall,
    ToolResult,
    ToolResults,
    UserText,
    called,
    sendable,
)

if TYPE_CHECKING:
    from anthropic.types import Message as RawMessage

__all__ = [
    "Access",
    "AssistantTurn",
    "Message",
    "Model",
    "ModelError",
    "ModelMisconfigured",
    "ModelOverflow",
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
_NOT_KEPT = frozenset({Stopped.CUT, Stopped.FULL, Stopped.BROKEN})
_STOPS: Mapping[str, Stopped] = {
    "end_turn": Stopped.END,
    "stop_sequence": Stopped.END,
    "tool_use": Stopped.TOOL_USE,
    "max_tokens": Stopped.CUT,
    "model_context_window_exceeded": Stopped.FULL,
    "refusal": Stopped.REFUSED,
    "pause_turn": Stopped.PAUSED,
}


_Listener = Callable[[Reply], None]


class Model:
    """One named model behind one access. `on_reply` hears every billed reply once, before the caller does; also what
    was broken off, as a cut reply of unknown price. By `wish` an `ask` is not begun, or is broken off."""

    def __init__(
        self,
        access: Access,
        name: str,
        on_reply: _Listener = lambda _: None,
        terms: Terms = FREE,
    ) -> None:
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
        self._wish = terms.wish
        self._purse = terms.purse
        self._memory = terms.memory
        self._gauge = Gauge()
        self._towards = Towards.of(access.base_url)
        self._may_be_strict = True

    def quote(self, system: str, messages: Sequence[Message], tools: Sequence[Tool]) -> Quote:
        """The most that asking this can cost."""
        return quote(self.name, self._gauge.most(self._body(system, messages, tools, 1)))

    def recall(self, system: str, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply | None:
        """What this was answered in an earlier attempt at the same work, which has paid for it; None: it was not."""
        return self._memory.recalled(self._question(system, messages, tools))

    def ask(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        max_tokens: int,
        usd: Decimal = Decimal("Infinity"),
    ) -> Reply:
        """One billed reply, or a `ModelError`. Costs money: ask the meter first, charge `Reply.spent` afterwards.

        The most that each attempt can cost is held in the purse before it is sent; what the purse raises goes on.

        The tools and `system` are marked as a cacheable prefix, and so are the first and the last of the blocks
        `before` a text; once a conversation has begun (more than one message), so is its last message. `max_tokens`
        limits the reply, thinking included. After an attempt whose answer was lost there is another only while all of
        them together cannot cost more than `usd`.
        """
        attempt = Attempts(self._access, self.quote(system, messages, tools), (max_tokens, usd))
        while True:
            self._must_be_wanted(attempt)
            attempt.begin(self._purse)
            body = self._body(system, messages, tools, max_tokens)
            with line_towards(self._towards) as line:
                try:
                    with self._wish.breaking(line.break_off):
                        raw = self._send(line, body)
                    reply = _reply(raw, self.name, attempt)
                    self._gauge.learn(body, reply.spent.input_tokens + reply.spent.cached_tokens)
                    break
                except Exception as error:
                    if line.broken:
                        attempt.lost()
                        continue
                    if self._may_be_strict and strictness_refused(error):
                        self._may_be_strict = False
                        attempt.unbilled()
                        continue
                    wait = self._wait_or_raise(attempt, error)
            self._rest(wait)
        reply = replace(reply, question=self._question(system, messages, tools))
        self._on_reply(reply)
        return reply

    def _must_be_wanted(self, attempt: "Attempts") -> None:
        """Raises what the wish does; what was sent before may have cost something, and is told."""
        try:
            self._wish.must_be_wanted()
        except Exception:
            self._tell_lost(attempt, "broken off")
            raise

    def _wait_or_raise(self, attempt: "Attempts", error: Exception) -> float:
        try:
            return attempt.wait_or_raise(error, self.name)
        except ModelError:
            self._tell_lost(attempt, "no answer")
            raise

    def _tell_lost(self, attempt: "Attempts", because: str) -> None:
        if attempt.spent.calls:
            self._on_reply(attempt.lost_reply(self.name, because))

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

    def _question(self, system: str, messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        """The digest of what is asked; how long the answer may be, and what is cached of it, is no part of that."""
        offered = [[tool.name, tool.description, tool.schema] for tool in tools]
        asked = [self.name, system, [_message(one) for one in messages], offered]
        return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def _send(self, line: Line, body: dict[str, object]) -> object:
        client = line.client(self._access.api_key, self._access.base_url, self._access.timeout_seconds)
        # The body is built from our own values; the SDK's types describe it but cannot be met by a plain dict.
        create = cast(Callable[..., object], client.messages.create)
        return create(**body)


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


def _reply(raw: object, name: str, attempt: Attempts) -> Reply:
    from anthropic.types import Message as RawMessage

    if not isinstance(raw, RawMessage) or not isinstance(raw.content, list):
        attempt.lost()
        raise ModelMisconfigured(
            "The model's address answered with something that is not a message. Check ANTHROPIC_BASE_URL.",
            attempt.sent,
            attempt.spent,
        )
    spent, usd = _price(raw, name, attempt.seconds)
    attempt.billed(usd)
    because = str(raw.stop_reason or "no stop reason")
    # A reason that we do not know is treated as a cut: nothing is complete by absence.
    stopped = _STOPS.get(because, Stopped.CUT)
    asked = [block for block in raw.content if block.type == "tool_use"]
    if asked and stopped in (Stopped.END, Stopped.TOOL_USE):
        stopped = Stopped.TOOL_USE
        # The SDK hands over whatever came; the types promise more than it checks.
        if not all(isinstance(cast(object, block.input), dict) and block.id and block.name for block in asked):
            stopped, because = Stopped.BROKEN, "malformed tool input"
    elif stopped is Stopped.TOOL_USE:
        stopped = Stopped.END
    # What is never given back is not kept.
    content = () if stopped in _NOT_KEPT else tuple(sendable(block.to_dict(mode="json")) for block in raw.content)
    details = raw.stop_details
    if stopped is Stopped.REFUSED and details is not None:
        because = ": ".join(str(part) for part in (because, details.category, details.explanation) if part)
    return Reply(
        text=sendable("\n".join(block.text for block in raw.content if block.type == "text")),
        calls=tuple(called(block) for block in asked if stopped is Stopped.TOOL_USE),
        stopped=stopped,
        because=because,
        spent=attempt.spent.plus(spent),
        model=str(raw.model or name),
        request_id=str(getattr(raw, "_request_id", None) or raw.id or ""),
        seconds=attempt.seconds,
        attempts=attempt.sent,
        content=content,
    )


def _price(raw: "RawMessage", name: str, seconds: float) -> tuple[Spent, Decimal | None]:
    """What the reply cost, and as what a day counts it: at the dearest price there is where the model's is not known,
    None where not even its tokens were told.

    `input_tokens` counts the prompt that was not read from the cache; `cached_tokens` the part that was.
    """
    usage = getattr(raw, "usage", None)
    if usage is None:
        return Spent(calls=1, unpriced_calls=1, model_seconds=seconds), None
    tokens = Tokens(
        fresh=usage.input_tokens or 0,
        written=usage.cache_creation_input_tokens or 0,
        cached=usage.cache_read_input_tokens or 0,
        output=usage.output_tokens or 0,
    )
    usd = cost(str(raw.model or name), tokens)
    if usd is None:
        usd = cost(name, tokens)
    spent = Spent(
        calls=1,
        input_tokens=tokens.fresh + tokens.written,
        output_tokens=tokens.output,
        cached_tokens=tokens.cached,
        usd=Decimal(0) if usd is None else usd,
        unpriced_calls=1 if usd is None else 0,
        model_seconds=seconds,
    )
    return spent, dearest(tokens) if usd is None else usd
