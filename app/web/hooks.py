"""`POST /webhooks/github` as a plain ASGI callable in front of FastAPI.

In this order: head, body within its limits, signature over the raw bytes, event name, and only then what is in
it. Nothing is parsed before it is believed, nothing is answered with 2xx before it is recorded, and the doorbell
never delays or spoils an answer.
"""

import asyncio
import hmac
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from app.core.news import Delivery, Ignored, News, OnIssue
from app.ledger.errors import LedgerNewer
from app.ledger.outcomes import Received
from app.logs import about
from app.queue import Owed
from app.web.body import BodyReader, Gone, Message, NoRoom, Receive, TooLarge, TooSlow
from app.web.intake import Intake, Told, Unreadable
from app.web.reading import WhichLabels
from app.web.turns import Crowded, TooLate, Turns

PATH = "/webhooks/github"
RETRY_AFTER = b"30"

log = logging.getLogger(__name__)

Send = Callable[[Message], Awaitable[None]]
Scope = dict[str, Any]
Triggers = Callable[[int, tuple[int, ...]], dict[int, str]]
Stir = Callable[[OnIssue, datetime], object]
RingSoon = Callable[[tuple[Owed, ...]], None]

_Result = TypeVar("_Result")

_SIGNATURE = re.compile(rb"sha256=([0-9a-f]{64})")
_EVENT = re.compile(rb"[a-z0-9_]{1,100}")
_GUID = re.compile(rb"[0-9A-Za-z._:-]{1,128}")
_DECIMAL = re.compile(rb"[0-9]{1,18}")


class Take(Protocol):
    """Takes a delivery and all the news in it, in one transaction."""

    def __call__(self, delivery: Delivery, *news: News) -> Received: ...


class Asked(Protocol):
    """Has the ledger asked in this delivery's turn; what comes too late goes to `late`. Raises `TooLate`, `Crowded`."""

    async def __call__(self, ask: Callable[[], _Result], late: Callable[[_Result], object] = ...) -> _Result: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a small JSON object; `because` names it in the counters."""

    status: int
    because: str
    body: dict[str, Any]
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """What the request's head says, each thing at most once."""

    signature: bytes
    event: str
    guid: str
    declared: int | None


@dataclass(slots=True)
class Hooks:
    """The receiver. `take` records a delivery and returns after its commit; `ring_soon` returns at once.

    `triggers` says which labels of a repository were seen to trigger, and by which names. `stir` is told of what
    happens on an issue and is no news.
    """

    bodies: BodyReader
    intake: Intake
    take: Take
    triggers: Triggers
    stir: Stir
    ring_soon: RingSoon
    turns: Turns = field(default_factory=Turns)
    answered: Counter[tuple[int, str]] = field(default_factory=Counter)
    """How often each status was answered, and why."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        until = asyncio.get_running_loop().time() + self.bodies.limits.answer_seconds
        head = _head(scope)
        if isinstance(head, Answer):
            await self._turn_away(head, receive, send)
            return
        try:
            body = await self.bodies.read(receive, head.declared)
        except Gone:
            self.answered[499, "gone"] += 1
            return
        except TooLarge:
            await self._turn_away(_TOO_LARGE, receive, send)
            return
        except TooSlow:
            await self._turn_away(_TOO_SLOW, receive, send)
            return
        except NoRoom:
            await self._turn_away(_NO_ROOM, receive, send)
            return
        # Every accepted secret is compared, whichever fits: the time says nothing.
        fitting = [hmac.compare_digest(expected, head.signature) for expected in body.signatures]
        with about(delivery=head.guid):
            answer = await self._believed(head, body.body, until) if any(fitting) else _FORGED
        await self._answer(answer, send)

    async def _believed(self, head: Head, body: bytes, until: float) -> Answer:
        if head.event == "ping":
            return Answer(200, "ping", {"pong": True})
        now = datetime.now(UTC)

        async def asked(ask: Callable[[], _Result], late: Callable[[_Result], object] = lambda _: None) -> _Result:
            return await self.turns.take(ask, len(body), until, late)

        try:
            told = await self._understood(head.event, body, now, asked)
            if isinstance(told, Ignored):
                if (stirs := told.stirs) is not None:
                    await asked(lambda: self.stir(stirs, now))
                return Answer(202, "ignored", {"ignored": told.why})
            if isinstance(told, Unreadable):
                return Answer(400, "unreadable", {"refused": told.why})
            delivery = Delivery(head.guid, head.event, told.action, now, body)
            received = await asked(lambda: self.take(delivery, *told.news), partial(self._recorded_late, head.guid))
        except LedgerNewer:
            log.warning("Delivery %s is left to a newer version, and not recorded here.", head.guid)
            return _LEFT_TO_NEWER
        except (TooLate, Crowded) as trouble:
            log.error("Delivery %s was not recorded: the ledger does not answer.", head.guid)
            return _NO_ANSWER if isinstance(trouble, TooLate) else _NO_TURN
        except Exception:
            # Whatever it was: GitHub must not hear 2xx for what is not recorded. It keeps the delivery for days.
            log.exception("Delivery %s was not recorded.", head.guid)
            return _NOT_RECORDED
        self.ring_soon(received.rings)
        return _recorded(received)

    def _recorded_late(self, guid: str, received: Received) -> None:
        """GitHub was told otherwise, and sends it again: then it is known by its guid."""
        log.warning("Delivery %s was recorded after all, when it was answered already that it is not.", guid)
        self.ring_soon(received.rings)

    async def _understood(self, event: str, body: bytes, now: datetime, asked: Asked) -> Told | Ignored | Unreadable:
        triggers: dict[int, str] | None = None
        while isinstance(told := self.intake.read(event, body, now, triggers), WhichLabels):
            triggers = await asked(partial(self.triggers, told.repository_id, told.ids))
        return told

    async def _turn_away(self, answer: Answer, receive: Receive, send: Send) -> None:
        """Answer before the body was read to its end, read on for a moment, and close the connection."""
        await self._answer(replace(answer, headers=(*answer.headers, (b"connection", b"close"))), send, hold=_HELD)
        await self.bodies.pour_away(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(self, answer: Answer, send: Send, hold: dict[str, bool] | None = None) -> None:
        self.answered[answer.status, answer.because] += 1
        body = msgspec.json.encode(answer.body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *answer.headers,
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, **(hold or {})})


_HELD = {"more_body": True}


def _refused(status: int, because: str, sentence: str) -> Answer:
    return Answer(status, because, {"refused": sentence})


def _for_now(refusal: Answer) -> Answer:
    """It, and that the same is to be sent again."""
    return replace(refusal, headers=((b"retry-after", RETRY_AFTER),))


_FORGED = _refused(401, "signature", "The signature does not fit the body.")
_UNSIGNED = _refused(401, "signature", "X-Hub-Signature-256 is missing or is not sha256= and 64 hex digits.")
_TOO_LARGE = _refused(413, "too_large", "The body is over 25 MB, and GitHub sends nothing of that size.")
_TOO_SLOW = _refused(408, "too_slow", "The body did not arrive in time.")
_NO_ROOM = _for_now(_refused(503, "no_room", "Too many large deliveries are coming in; send this one again."))
_NOT_RECORDED = _for_now(_refused(503, "not_recorded", "The ledger could not record this delivery; send it again."))
_NO_ANSWER = _for_now(_refused(503, "no_answer", "The ledger did not answer in time; send this delivery again."))
_NO_TURN = _for_now(
    _refused(503, "no_turn", "Too much waits for the ledger, which does not answer; send this delivery again.")
)
_LEFT_TO_NEWER = _for_now(
    _refused(503, "left_to_newer", "It concerns a run with which a newer version went on; send it again to that one.")
)


def _recorded(received: Received) -> Answer:
    duplicate = not received.new
    body = {"recorded": received.outcome or "taken before", "duplicate": duplicate}
    return Answer(202, "duplicate" if duplicate else "recorded", body)


def _head(scope: Scope) -> Head | Answer:
    """The head, or what is wrong with it. The signature is looked at first: a stranger learns nothing else."""
    if scope["method"] != "POST":
        refusal = _refused(405, "method", "Deliveries come as POST.")
        return replace(refusal, headers=((b"allow", b"POST"),))
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    signature = _once(headers, b"x-hub-signature-256", _SIGNATURE)
    if signature is None:
        return _UNSIGNED
    if _media(headers.get(b"content-type", [])) != b"application/json":
        return _refused(415, "media_type", "The content type must be application/json; set it so on the webhook.")
    event, guid = _once(headers, b"x-github-event", _EVENT), _once(headers, b"x-github-delivery", _GUID)
    if event is None or guid is None:
        return _refused(400, "head", "X-GitHub-Event and X-GitHub-Delivery must be there, each once and well-formed.")
    declared = _once(headers, b"content-length", _DECIMAL)
    return Head(
        signature=signature.removeprefix(b"sha256="),
        event=event.decode(),
        guid=guid.decode(),
        declared=int(declared) if declared else None,
    )


def _once(headers: dict[bytes, list[bytes]], name: bytes, form: re.Pattern[bytes]) -> bytes | None:
    """The header's value where it is there exactly once and has this form."""
    values = headers.get(name, [])
    return values[0] if len(values) == 1 and form.fullmatch(values[0]) else None


def _media(values: Iterable[bytes]) -> bytes:
    return b",".join(values).partition(b";")[0].strip().lower()
