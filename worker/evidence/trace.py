"""The trace of one effect: every model call, tool call and check as a span with the same fields, whatever the belt."""

import resource
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.budget import Spent
from app.core.days import Paid
from app.core.kept_answer import KeptAnswer
from app.core.span import Span, SpanKind, root_of
from worker.evidence.recalling import Recollection
from worker.github.counting import ASKED
from worker.model.words import Reply

RECALLED = "as an earlier attempt was told it"
"""The detail of a span of what was not asked for again."""

_WITHIN: ContextVar[str] = ContextVar("within", default="")
"""`id` of the span that this thread is in."""

Write = Callable[[Sequence[Span], Sequence[Paid] | None, Sequence[KeptAnswer]], None]
"""Keeps spans for good, and with them what became of the money that was held for them (None where none was) and what
was answered."""


class CalledOff(Exception):
    """What was being done is no longer wanted: a person or a fact ended the need for it."""


class HandedOver(CalledOff):
    """What was being done is wanted, and another process is to do it: this one ends."""


@dataclass(slots=True)
class Noted:
    """How something ended; set by the one who does it."""

    outcome: str = "ok"
    detail: str = ""


@dataclass(slots=True)
class Trace:
    """Collects spans for one run and belt. `step` is the plan's step that is being carried out, 0 for none.

    Every noted act begins only while the work is wanted: once it was called off, from whatever thread, the next one
    raises `CalledOff`.
    """

    run: str
    belt: Belt
    effect_id: int = 0
    plan_version: int = 0
    plan_digest: str = ""
    step: int = 0
    template: str = ""
    """`name@version` of the template by which it is done."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """Of the span of the attempt itself, within which everything else is done."""
    write: Write | None = None
    """Where a reply is written down before anybody uses it."""
    holds: bool = False
    """Whether money is held for each call."""
    memory: Recollection = field(default_factory=Recollection)
    _answers: list[KeptAnswer] = field(default_factory=list)
    _paid: list[Paid] = field(default_factory=list)
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _called_off: str = ""
    _ended_by: type[CalledOff] = CalledOff
    _breaking: list[Callable[[], None]] = field(default_factory=list)
    _spans: list[Span] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call_off(self, reason: str) -> None:
        """The work is no longer wanted; the first reason stays. What is under way and can be broken off is."""
        self._end(reason, CalledOff)

    def hand_over(self, reason: str) -> None:
        """As `call_off`, where somebody else is to do it: the next act raises `HandedOver`."""
        self._end(reason, HandedOver)

    def _end(self, reason: str, ended_by: type[CalledOff]) -> None:
        with self._lock:
            if not self._called_off:
                self._called_off, self._ended_by = reason, ended_by
            acts, self._breaking = self._breaking, []
            # With the lock, so that no block ends meanwhile: what it used may be somebody else's right after it.
            for act in acts:
                act()

    def wanted(self) -> bool:
        """False once the work was called off."""
        return not self._called_off

    def must_be_wanted(self) -> None:
        """Raises `CalledOff` once the work was called off."""
        if self._called_off:
            raise self._ended_by(self._called_off)

    @contextmanager
    def breaking(self, act: Callable[[], None]) -> Iterator[None]:
        """While the block runs, `act` is called once as soon as the work is called off, from that thread.

        Once the block has ended `act` is not called any more. It must be short and ask nothing of this trace."""
        with self._lock:
            off = bool(self._called_off)
            if not off:
                self._breaking.append(act)
        if off:
            act()
        try:
            yield
        finally:
            with self._lock:
                self._breaking = [one for one in self._breaking if one != act]

    def replied(self, role: str, asked: str = "") -> Callable[[Reply], None]:
        """A listener that notes each billed reply of the model in this role; `asked` is the model that was named."""

        def note(reply: Reply) -> None:
            self._add(self._of_reply(reply, role, asked), self.memory.replied(reply))
            if self.write is not None:
                self.write_down(self.write)

        return note

    def recalling(self, role: str, asked: str) -> "Recalling":
        """What the model in this role has answered before; each such answer is a span that cost nothing."""
        return Recalling(self, role, asked)

    def recall(self, question: str, role: str, asked: str) -> Reply | None:
        """What a model answered to this in an earlier attempt, noted."""
        reply = self.memory.reply(question)
        if reply is not None:
            self.must_be_wanted()
            free = replace(reply, spent=Spent(), seconds=0.0, attempts=0, because=RECALLED)
            self._add(self._of_reply(free, role, asked))
        return reply

    def remember(self, call_id: str, body: bytes) -> None:
        """What a tool answered is kept with the next span."""
        kept = self.memory.answered(call_id, body)
        if kept is not None:
            with self._lock:
                self._answers.append(kept)

    def _of_reply(self, reply: Reply, role: str, asked: str) -> Span:
        spent = reply.spent
        return Span(
            **self._place(),
            id=secrets.token_hex(8),
            parent=_WITHIN.get() or self.id,
            kind=SpanKind.MODEL,
            name=role,
            asked=asked or reply.model,
            model=reply.model,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_tokens=spent.cached_tokens,
            usd=spent.usd,
            priced=spent.unpriced_calls == 0,
            calls=spent.calls,
            unpriced_calls=spent.unpriced_calls,
            attempts=reply.attempts,
            outcome="ok" if reply.calls else str(reply.stopped),
            detail=reply.because,
            began_at=datetime.now(UTC) - timedelta(seconds=reply.seconds),
            seconds=reply.seconds,
        )

    @contextmanager
    def noting(self, kind: SpanKind, name: str) -> Iterator[Noted]:
        """A span for what the block does; an exception is its outcome and goes on. Raises `CalledOff` instead of it."""
        self.must_be_wanted()
        noted, began_at, began = Noted(), datetime.now(UTC), time.monotonic()
        itself = kind is SpanKind.EFFECT
        own, parent = (self.id, root_of(self.run)) if itself else (secrets.token_hex(8), _WITHIN.get() or self.id)
        before = _WITHIN.set(own)
        try:
            yield noted
        except BaseException as error:
            noted.outcome = type(error).__name__
            raise
        finally:
            _WITHIN.reset(before)
            seconds = time.monotonic() - began
            self._add(
                Span(
                    **self._place(),
                    **(_of_process() if itself else {}),
                    id=own,
                    parent=parent,
                    kind=kind,
                    name=name[:120],
                    outcome=noted.outcome,
                    detail=noted.detail[:500],
                    began_at=began_at,
                    seconds=seconds,
                )
            )

    def pay(self, paid: Paid) -> None:
        """What was held is settled with the next spans that are written down."""
        with self._lock:
            self._paid.append(paid)

    def write_down(self, write: Write) -> None:
        """What was done so far is written down; where that fails it is kept here, and the error goes on."""
        with self._writing:
            with self._lock:
                paid, self._paid = self._paid, []
                spans, self._spans = self._spans, []
                answers, self._answers = self._answers, []
            try:
                write(spans, paid if self.holds else None, answers)
            except BaseException:
                with self._lock:
                    self._paid, self._spans = paid + self._paid, spans + self._spans
                    self._answers = answers + self._answers
                raise

    def taken(self) -> tuple[Span, ...]:
        """The spans so far, which are then no longer held here."""
        with self._lock:
            spans, self._spans = tuple(self._spans), []
        return spans

    def _place(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "belt": self.belt,
            "plan_version": self.plan_version,
            "plan_digest": self.plan_digest,
            "step": self.step,
            "template": self.template,
            "effect_id": self.effect_id,
        }

    def _add(self, span: Span, answer: KeptAnswer | None = None) -> None:
        with self._lock:
            self._spans.append(span)
            self._answers += [answer] if answer else []


@dataclass(frozen=True, slots=True)
class Recalling:
    """The memory of one model in its role."""

    trace: Trace
    role: str
    asked: str

    def recalled(self, question: str) -> Reply | None:
        """The answer of an earlier attempt; None: nobody asked."""
        return self.trace.recall(question, self.role, self.asked)


def _of_process() -> dict[str, Any]:
    """What the process as a whole did since this was last asked."""
    requests, remaining = ASKED.taken()
    return {"requests": requests, "remaining": remaining, "memory_bytes": _resident_bytes()}


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0
