"""Turns GitHub's answers into the errors of `worker.github.errors`. Pure: no network, no clock but the one given."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worker.github.errors import (
    LONGEST_QUOTE,
    SHORTEST_PAUSE,
    AlreadyExists,
    Archived,
    Blocked,
    BodyTooLong,
    BranchNotSeen,
    Broken,
    Call,
    Conflict,
    DraftUnsupported,
    Forbidden,
    GitHubError,
    Gone,
    InputTooLarge,
    Invalid,
    IssuesOff,
    LimitKind,
    Locked,
    Moved,
    NoCommitsBetween,
    NotFound,
    NotUnderstood,
    RateLimited,
    ReferenceUpdateFailed,
    Suspended,
    Unauthorized,
)

# First match wins; texts as observed (github-facts 125, 139, 140, 144, 118).
_KINDS_OF_INVALID: tuple[tuple[str, type[Invalid]], ...] = (
    ("draft pull requests are not supported", DraftUnsupported),
    ("no commits between", NoCommitsBetween),
    ("already exists", AlreadyExists),
    ("body is too long", BodyTooLong),
    ("reference update failed", ReferenceUpdateFailed),
    ("repository rule violations", ReferenceUpdateFailed),
    ("input was too large", InputTooLarge),
    ("head is invalid", BranchNotSeen),
)
_CLOCK_OR_KEY = "Check that this machine's clock is right and that the App id and its private key belong together."


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of GitHub's: lower-case header names, the text of the body."""

    status: int
    headers: Mapping[str, str]
    text: str

    def messages(self) -> tuple[str, ...]:
        """GitHub's own words, most general first; empty when it said nothing that can be read."""
        try:
            body = json.loads(self.text)
        except ValueError:
            return ()
        if not isinstance(body, dict):
            return ()
        said = [body.get("message")]
        errors = body.get("errors")
        for error in errors if isinstance(errors, list) else [errors]:
            said.append(_words_of(error))
        return tuple(text[:LONGEST_QUOTE] for text in said if isinstance(text, str) and text)


def error_of(answer: Answer, call: Call, now: float) -> GitHubError:
    """The error that an answer with status 300 or above stands for. `now` is in seconds since the epoch."""
    said = " ".join(answer.messages())[:LONGEST_QUOTE]
    lower = said.lower()
    limit = _limit_of(answer, lower, call, now)
    if limit is not None:
        return limit
    if "without `workflows` permission" in lower:
        return Forbidden(f"GitHub refused a workflow file: {said}", call, needed=("workflows=write",))
    if answer.status in (301, 302, 303, 307, 308):
        return Moved("It was moved, renamed or transferred.", call, answer.headers.get("location", ""))
    if answer.status == 401:
        return _unauthorized(said, lower, call)
    if answer.status == 451 or (answer.status == 403 and "access blocked" in lower):
        return Blocked(f"GitHub has closed this repository: {said or 'Unavailable'}.", call)
    if answer.status == 403:
        return _forbidden(answer, said, lower, call)
    if answer.status == 404:
        return NotFound(f"GitHub does not show this: {said or 'Not Found'}.", call)
    if answer.status == 410 and "disabled" in lower:
        return IssuesOff("Issues are switched off in this repository.", call)
    if answer.status == 410:
        return Gone(f"It is gone: {said or 'Gone'}.", call)
    if answer.status == 409:
        return Conflict(f"It conflicts with what is there: {said or 'Conflict'}.", call)
    if answer.status >= 500:
        return Broken(f"GitHub failed on its side with status {answer.status}.", call)
    if answer.status >= 400:
        return _invalid(answer.messages(), said, lower, call)
    return NotUnderstood(f"GitHub answered with status {answer.status}, which was not expected.", call)


def graphql_error_of(answer: Answer, errors: list[Any], call: Call, now: float) -> GitHubError:
    """The error that the `errors` of a GraphQL answer with status 200 stand for (github-facts 63, 167, 168)."""
    kinds = {str(error.get("type", "")).upper() for error in errors if isinstance(error, dict)}
    messages = tuple(filter(None, (_words_of(error)[:LONGEST_QUOTE] for error in errors)))
    said = " ".join(messages)[:LONGEST_QUOTE]
    lower = said.lower()
    if kinds & {"RATE_LIMIT", "RATE_LIMITED"} or "rate limit" in lower:
        kind = LimitKind.SECONDARY if "secondary" in lower else LimitKind.PRIMARY
        return RateLimited(f"GitHub's {kind} limit was met.", call, _pause(answer.headers, now), kind)
    if "FORBIDDEN" in kinds or "not accessible by integration" in lower:
        return Forbidden(f"GitHub does not permit this: {said}", call)
    if kinds == {"NOT_FOUND"}:
        return NotFound(f"GitHub does not show this: {said}", call)
    if not kinds - {""} and ("something went wrong" in lower or "timeout" in lower):
        return Broken("GitHub failed on its side while it worked out the answer.", call)
    return Invalid(f"GitHub refused the query: {said}", call, messages)


def _limit_of(answer: Answer, lower: str, call: Call, now: float) -> RateLimited | None:
    # A plain permission 403 is no limit, even when it used up the last request of the hour; a secondary
    # limit may come without any header and is known by its words alone (github-facts 166, 198).
    if answer.status not in (403, 429):
        return None
    spoken = "rate limit" in lower or "abuse detection" in lower or "too many requests" in lower
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    refused = "not accessible by integration" in lower or "suspended" in lower
    if answer.status == 403 and not spoken and (refused or not (spent or "retry-after" in answer.headers)):
        return None
    primary = spent and "secondary" not in lower and "abuse" not in lower
    kind = LimitKind.PRIMARY if primary else LimitKind.SECONDARY
    return RateLimited(f"GitHub's {kind} rate limit was met.", call, _pause(answer.headers, now), kind)


def _pause(headers: Mapping[str, str], now: float) -> float:
    """Seconds: `retry-after`, else until `x-ratelimit-reset` when nothing remains, else a minute."""
    after = _number(headers.get("retry-after"))
    if after is not None:
        return max(after, 1.0)
    reset = _number(headers.get("x-ratelimit-reset"))
    if headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        # One second more: the reset is told in whole seconds.
        return max(reset - now, 0.0) + 1.0
    return SHORTEST_PAUSE


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else None


def _unauthorized(said: str, lower: str, call: Call) -> GitHubError:
    if "not accessible by integration" in lower:
        return Forbidden(f"GitHub does not permit this: {said}", call)
    about_jwt = any(word in lower for word in ("claim", "json web token", "'exp'", "'iat'", "assertion"))
    remedy = _CLOCK_OR_KEY if about_jwt else ""
    return Unauthorized(f"GitHub did not accept the credential: {said or 'no reason given'}.", call, remedy)


def _forbidden(answer: Answer, said: str, lower: str, call: Call) -> Forbidden:
    if "suspended" in lower:
        return Suspended("The App's installation is suspended.", call)
    if "is locked" in lower:
        return Locked("The conversation is locked.", call)
    if "archived" in lower:
        return Archived("The repository is archived.", call)
    accepted = answer.headers.get("x-accepted-github-permissions", "")
    needed = tuple(part.strip() for part in accepted.split(";") if part.strip())
    return Forbidden(f"GitHub does not permit this: {said or 'no reason given'}.", call, needed=needed)


def _invalid(messages: tuple[str, ...], said: str, lower: str, call: Call) -> GitHubError:
    if "permissions requested are not granted" in lower:
        return Forbidden(f"GitHub does not permit this: {said}", call)
    kind = next((kind for words, kind in _KINDS_OF_INVALID if words in lower), Invalid)
    return kind(f"GitHub refused the request: {said or 'no reason given'}.", call, messages)


def _words_of(error: object) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    message = error.get("message")
    if isinstance(message, str) and message:
        return message
    field, code = error.get("field"), error.get("code")
    if not field or not code:
        return ""
    # "already_exists" and "invalid" are GitHub's codes; said as words they read like its messages do.
    return f"{field} {'is ' if code == 'invalid' else ''}{str(code).replace('_', ' ')}"
