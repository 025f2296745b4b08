"""What models and tools answered in earlier attempts at one effect, and in this one: nothing of it is bought twice."""

import hashlib
import logging
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from app.core.kept_answer import KeptAnswer
from worker.model.words import Reply

MOST_BYTES = 4_000_000
"""A longer answer is not kept, and asked for again where it is needed again."""

_LOG = logging.getLogger(__name__)
_REPLIES: TypeAdapter[Reply] = TypeAdapter(Reply)


@dataclass
class Recollection:
    """The answers by their questions. The same question has its answers in the order in which they were given."""

    effect_id: int = 0
    earlier: Mapping[tuple[str, int], bytes] = field(default_factory=dict)
    """What earlier attempts were told, by question and how many times it had been asked."""
    _asked: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, question: str) -> Reply | None:
        """What a model answered in an earlier attempt; each of its answers once. None where nobody asked it."""
        body = self._next(question)
        try:
            return None if body is None else _REPLIES.validate_json(body)
        except ValidationError:
            _LOG.warning("an answer of before cannot be read by this version, and is asked for again")
            return None

    def replied(self, reply: Reply) -> KeptAnswer | None:
        """As it is kept; None for what is too long, or answers no question."""
        return self._kept(reply.question, _REPLIES.dump_json(reply)) if reply.question else None

    def outcome(self, call_id: str) -> bytes | None:
        """What a tool answered to this call of a model in an earlier attempt."""
        return self._next(_question_of(call_id))

    def answered(self, call_id: str, body: bytes) -> KeptAnswer | None:
        """As it is kept; None for what is too long."""
        return self._kept(_question_of(call_id), body)

    def _next(self, question: str) -> bytes | None:
        with self._lock:
            body = self.earlier.get((question, self._asked[question]))
            self._asked[question] += body is not None
        return body

    def _kept(self, question: str, body: bytes) -> KeptAnswer | None:
        with self._lock:
            nth = self._asked[question]
            self._asked[question] += 1
        return KeptAnswer(self.effect_id, question, nth, body) if len(body) <= MOST_BYTES else None


def _question_of(call_id: str) -> str:
    return hashlib.sha256(f"call {call_id}".encode()).hexdigest()
