"""Plays a script: which part a request belongs to, which turn comes next, and what the answer is.

A part begins anew when its opening message is seen again after it has moved on, when another opening message comes,
and after its last turn. A fault (an error status, a late answer) is followed by the next turn, since a client tries
again; whoever asks the very same again after an answer, since it was lost on the way, gets that answer's turn again.
"""

import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infra.scripted_model.rules import failed_results, refusal, text_of
from infra.scripted_model.script import ROLES, Part, Script, Turn

_STEP = re.compile(r"(?i)\bstep\b[\s\"'`:#]*(\d+)")
_REPAIR = re.compile(r"\ARepair (\d+)\b")
_ERRORS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Answer:
    """What goes back over the wire."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    torn: int | None = None
    """After so many bytes of the body the connection is closed."""


@dataclass
class _Cursor:
    """How far a part has been played: the next turn, the opening it was played for, the turn served last and what it
    was served to."""

    next: int = 0
    opening: str = ""
    served: Turn | None = None
    asked: str = ""


class Play:
    """One script being played. Safe to ask from several threads; answers are given in the order of the requests."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._cursors: dict[int, _Cursor] = {}
        self._prefixes: set[str] = set()
        self._messages = 0
        self.requests: list[dict[str, Any]] = []

    def answer(self, body: Any) -> Answer:
        """The answer to one request body; the request is recorded."""
        with self._lock:
            if reason := refusal(body):
                self._record(body, "", "", 400)
                return error(400, reason)
            if not body["model"].startswith("claude-"):
                self._record(body, "", "", 404)
                return error(404, f"model: {body['model']}")
            role = _role(body)
            part = self._part(role, body)
            if part is None:
                self._record(body, role, "", 200)
                return self._given_up(body, role, "the script has no part for this request")
            turn, missing = self._turn(part, body)
            answer = self._given_up(body, role, missing) if turn is None else self._played(turn, body)
            self._record(body, role, "" if turn is None else _label(turn), answer.status)
            return answer

    def _record(self, body: Any, role: str, turn: str, status: int) -> None:
        self.requests.append({"role": role, "turn": turn, "status": status, "at": time.time(), "body": body})

    def _part(self, role: str, body: Mapping[str, Any]) -> Part | None:
        opening = text_of(body["messages"][0])
        for part in self._script.parts:
            if part.role == role and all(words in opening for words in part.about) and _belongs(part, opening):
                return part
        return None

    def _turn(self, part: Part, body: Mapping[str, Any]) -> tuple[Turn | None, str]:
        cursor = self._cursors.setdefault(id(part), _Cursor())
        asked = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        if cursor.served is not None and not cursor.served.is_fault and cursor.asked == asked:
            return cursor.served, ""
        opening = hashlib.sha256(text_of(body["messages"][0]).encode()).hexdigest()
        if _begins_anew(part, cursor, opening, len(body["messages"])) or cursor.next >= len(part.turns):
            cursor.next = 0
        if cursor.next == 0:
            cursor.opening = opening
        turn = part.turns[cursor.next]
        if missing := _missing(turn, body):
            cursor.next, cursor.served = 0, None
            return None, missing
        cursor.next, cursor.served, cursor.asked = cursor.next + 1, turn, asked
        return turn, ""

    def _given_up(self, body: Mapping[str, Any], role: str, missing: str) -> Answer:
        reason = f"Scripted model: {missing}."
        ending: dict[str, dict[str, Any]] = {
            "planner": {"name": "give_up", "input": {"reason": reason}},
            "executor": {"name": "cannot", "input": {"reason": reason}},
            "reviewer": {
                "name": "review",
                "input": {"verdict": "stop", "words": reason, "criteria": [], "findings": []},
            },
        }
        if role not in ending:
            return self._message(body, [{"type": "text", "text": reason}], "end_turn")
        return self._message(body, [self._call(ending[role])], "tool_use")

    def _played(self, turn: Turn, body: Mapping[str, Any]) -> Answer:
        fields: Mapping[str, Any] = turn.fields
        delay = float(fields.get("delay", 0))
        if "error" in fields:
            wait = {"retry-after": str(fields["retry_after"])} if "retry_after" in fields else {}
            return error(int(fields["error"]), str(fields.get("message", "Scripted fault")), wait, delay)
        if "torn" in fields:
            whole = self._message(body, [{"type": "text", "text": "torn"}], "end_turn", delay)
            return replace(whole, torn=int(fields["torn"]))
        if "raw" in fields:
            return Answer(200, str(fields["raw"]).encode(), {"content-type": "text/html"}, delay)
        said = [{"type": "text", "text": fields["text"]}] if fields.get("text") else []
        if "cut" in fields:
            cut = fields["cut"] or {}
            said += [{"type": "text", "text": cut["text"]}] if "text" in cut else []
            said += [self._call(cut)] if "name" in cut else []
            return self._message(body, said, str(cut.get("stop", "max_tokens")), delay)
        if "malformed" in fields:
            return self._message(body, [*said, self._call(fields["malformed"])], "tool_use", delay)
        if "refusal" in fields:
            return self._message(body, said, "refusal", delay, str(fields["refusal"]))
        if "pause" in fields:
            return self._message(body, said, "pause_turn", delay)
        calls = [self._call(call) for call in fields.get("calls") or []]
        return self._message(body, said + calls, "tool_use" if calls else "end_turn", delay)

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        self._messages += 1
        wanted = call.get("input", {})
        return {"type": "tool_use", "id": f"toolu_{self._messages:08d}", "name": call["name"], "input": wanted}

    def _message(
        self, body: Mapping[str, Any], content: list[Any], stop: str, delay: float = 0.0, category: str = ""
    ) -> Answer:
        self._messages += 1
        written = _tokens(content)
        if written > body["max_tokens"]:
            # A reply over its limit ends where the limit is: the last call arrives without its input.
            content = [block if block["type"] == "text" else {**block, "input": {}} for block in content]
            stop, written = "max_tokens", body["max_tokens"]
        details = {"type": "refusal", "category": category, "explanation": None} if category else None
        message = {
            "id": f"msg_{self._messages:08d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": details,
            "usage": self._usage(body, written),
        }
        return Answer(200, json.dumps(message).encode(), {"content-type": "application/json"}, delay)

    def _usage(self, body: Mapping[str, Any], written: int) -> dict[str, Any]:
        prefix = [body.get("tools"), body.get("system")]
        marked = "cache_control" in json.dumps(body.get("system"))
        seen = hashlib.sha256(json.dumps(prefix).encode()).hexdigest()
        size = _tokens(prefix) if marked else 0
        known = seen in self._prefixes
        self._prefixes.add(seen)
        return {
            "input_tokens": _tokens(body["messages"]) + (0 if marked else _tokens(prefix)),
            "cache_creation_input_tokens": 0 if known else size,
            "cache_read_input_tokens": size if known else 0,
            "output_tokens": max(1, written),
            "service_tier": "standard",
        }


def error(status: int, message: str, headers: Mapping[str, str] | None = None, delay: float = 0.0) -> Answer:
    """An error body in the API's form."""
    kind = _ERRORS.get(status, "api_error")
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": None}
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})}, delay)


def _begins_anew(part: Part, cursor: _Cursor, opening: str, messages: int) -> bool:
    if cursor.served is None or cursor.served.is_fault or messages > 1:
        return False
    if part.role == "planner":
        # Its prompt is one message each turn; after a call was answered it cannot be the first one again.
        return opening == cursor.opening and "calls" in cursor.served.fields
    return True


def _belongs(part: Part, opening: str) -> bool:
    """By the number of the repair or the step that the opening names; a part without numbers is for any."""
    if repair := _REPAIR.match(opening):
        return part.step is None and part.repair in (None, int(repair.group(1)))
    step = _STEP.search(opening)
    return part.repair is None and (part.step is None or step is None or int(step.group(1)) == part.step)


def _role(body: Mapping[str, Any]) -> str:
    offered = {tool["name"] for tool in body.get("tools") or []}
    return next((role for tool, role in ROLES.items() if tool in offered), "")


def _missing(turn: Turn, body: Mapping[str, Any]) -> str:
    """What keeps the script from going on, or an empty string."""
    shown = "\n".join(text_of(message) for message in body["messages"])
    unseen = [words for words in turn.when if words not in shown]
    if unseen:
        return "it was not shown " + " and ".join(repr(words) for words in unseen)
    failed = failed_results(body["messages"][-1])
    if failed and not turn.fields.get("after_failure"):
        return f"a call failed: {failed[0][:300]}"
    return ""


def _label(turn: Turn) -> str:
    fields: Mapping[str, Any] = turn.fields
    if fields.get("calls"):
        return ", ".join(call["name"] for call in fields["calls"])
    return next(
        name for name in ("cut", "malformed", "refusal", "pause", "error", "raw", "torn", "text") if name in fields
    )


def _tokens(value: object) -> int:
    """About four characters make a token."""
    return len(json.dumps(value)) // 4
