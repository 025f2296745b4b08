"""What a handler gets and gives: a parsed call, a reply, and refusals with GitHub's bodies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.twin.state import App, Installation, Token

DOCUMENTATION = "https://docs.github.com/rest"


@dataclass(frozen=True)
class Caller:
    """Who calls: the App by JWT, an installation by token, or nobody known."""

    app: App | None = None
    token: Token | None = None
    installation: Installation | None = None


@dataclass(frozen=True)
class Call:
    """One request: path parameters, query, raw body, lower-case headers and the caller."""

    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    caller: Caller

    def number(self, name: str) -> int:
        """A whole number from the path; 404 when it is not one."""
        text = self.params[name]
        if not text.isascii() or not text.isdigit():
            raise Refused(404, "Not Found")
        return int(text)

    def fields(self) -> dict[str, Any]:
        """The JSON object in the body ({} when empty); 400 when it is not one."""
        if not self.body:
            return {}
        try:
            parsed = json.loads(self.body)
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None
        if not isinstance(parsed, dict):
            raise Refused(400, "Body should be a JSON object")
        return parsed

    def wants(self, medium: str) -> bool:
        """True when the Accept header asks for that GitHub media type (`diff`, `patch`, `raw`)."""
        accept = self.headers.get("accept", "")
        return f".{medium}" in accept or f"vnd.github.{medium}" in accept


@dataclass
class Reply:
    """A status, a JSON value (or raw bytes with their type) and extra headers."""

    status: int = 200
    value: Any = None
    raw: bytes | None = None
    kind: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """The bytes of the body."""
        if self.raw is not None:
            return self.raw
        if self.status in {204, 304} or (self.value is None and self.status == 202):
            return b""
        return json.dumps(self.value, ensure_ascii=False).encode()


def raw_reply(content: bytes, medium: str) -> Reply:
    """The content as one of GitHub's raw media types (`diff`, `patch`, `raw`, `sha`)."""
    return Reply(raw=content, kind=f"application/vnd.github.{medium}; charset=utf-8")


class Refused(Exception):
    """An answer that is a refusal; carries GitHub's body."""

    def __init__(self, status: int, message: str, errors: list[dict[str, Any] | str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers: dict[str, str] = {}

    def reply(self) -> Reply:
        """GitHub's error object."""
        value: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            value["errors"] = self.errors
        value["documentation_url"] = DOCUMENTATION
        value["status"] = str(self.status)
        return Reply(self.status, value, headers=dict(self.headers))


def invalid(resource: str, name: str, code: str = "invalid", message: str | None = None) -> Refused:
    """422 `Validation Failed` with one entry in `errors[]`."""
    error: dict[str, Any] = {"resource": resource, "field": name, "code": code}
    if message is not None:
        error = {"resource": resource, "code": "custom", "message": message}
    return Refused(422, "Validation Failed", [error])


def not_found() -> Refused:
    """404, also the answer for what a token may not see."""
    return Refused(404, "Not Found")


def text_field(fields: Mapping[str, Any], name: str, resource: str) -> str:
    """A required string field; 422 when it is missing or something else."""
    value = fields.get(name)
    if value is None:
        raise invalid(resource, name, "missing_field")
    if not isinstance(value, str):
        raise Refused(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not a string.")
    return value
