"""Checks answers and webhooks against GitHub's own description, cut to what the twin does."""

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs

from infra.twin.permissions import OPERATIONS, Operation

HERE = Path(__file__).parent
ERROR = {
    "type": "object",
    "required": ["message", "documentation_url", "status"],
    "properties": {name: {"type": "string"} for name in ("message", "status", "documentation_url")},
}
API, WEBHOOKS = "openapi.cut.json.gz", "webhooks.cut.json.gz"
MISTAKES = {("apps/list-installations", 200): ("components", "x-corrected", "installations")}
"""Where the description contradicts itself: its inline copy wants every account to be a user and an enterprise."""
CORRECTED = {"installations": {"type": "array", "items": {"$ref": "#/components/schemas/installation"}}}


def as_json_schema(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` said in JSON Schema's words, throughout."""
    if isinstance(node, list):
        return [as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: as_json_schema(value) for key, value in node.items() if key != "nullable"}
    if node.get("nullable") is not True:
        return plain
    if isinstance(plain.get("type"), str) and "enum" in plain:
        plain["enum"] = [*plain["enum"], None]
    if isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
        return plain
    return {"anyOf": [plain, {"type": "null"}]}


@cache
def _document(name: str) -> dict[str, Any]:
    document = as_json_schema(json.loads(gzip.decompress((HERE / name).read_bytes())))
    document["components"]["x-corrected"] = CORRECTED if name == API else {}
    return dict(document)


@cache
def _registry(name: str) -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(f"urn:{name}", _document(name))], draft=jsonschema_rs.Draft202012)


def _validator(name: str, *steps: str) -> Any:
    """The validator for the schema found by these steps from the document's root."""
    pointer = "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)
    schema = {"$ref": f"urn:{name}#/{quote(pointer)}"}
    # GitHub itself sends `1+app[bot]@users.noreply.github.com`, which is no e-mail address by RFC 5321.
    formats = {"email": lambda text: "@" in text}
    return jsonschema_rs.Draft202012Validator(schema, registry=_registry(name), validate_formats=True, formats=formats)


@cache
def _answers(name: str, status: int) -> Any:
    """The validator for an operation's answer; None when the description has no JSON for that status."""
    if (name, status) in MISTAKES:
        return _validator(API, *MISTAKES[(name, status)])
    operation = next(one for one in OPERATIONS if one.name == name)
    steps = ["paths", operation.described_path, operation.method.lower(), "responses", str(status)]
    document = _document(API)
    found = document["paths"][operation.described_path][operation.method.lower()]["responses"].get(str(status))
    if found and "$ref" in found:
        steps = found["$ref"].removeprefix("#/").split("/")
        found = document["components"]["responses"][steps[-1]]
    kind = next((kind for kind in (found or {}).get("content", {}) if kind.startswith("application/json")), None)
    return _validator(API, *steps, "content", kind, "schema") if kind else None


@cache
def _webhook(name: str) -> Any:
    return _validator(WEBHOOKS, "webhooks", name, "post", "requestBody", "content", "application/json", "schema")


@cache
def _patterns() -> list[tuple[Operation, re.Pattern[str]]]:
    found = []
    for one in OPERATIONS:
        parts = re.split(r"(\{[a-z_]+(?::path)?\})", one.path)
        found.append((one, re.compile("".join(map(_pattern, parts)))))
    return found


def _pattern(part: str) -> str:
    if part.startswith("{"):
        return ".+" if part.endswith(":path}") else "[^/]+"
    return re.escape(part)


def operation_of(method: str, path: str) -> Operation | None:
    """The operation that a request calls, or None for what GitHub's REST description does not know."""
    by_id = re.sub(r"^/repositories/\d+", "/repos/o/r", path)
    return next((one for one, pattern in _patterns() if one.method == method and pattern.fullmatch(by_id)), None)


def problems_of_answer(method: str, path: str, status: int, value: Any) -> list[str]:
    """What GitHub's description does not allow in this answer; empty when it is right."""
    operation = operation_of(method, path)
    if operation is None:
        return []
    validator = _answers(operation.name, status)
    if validator is None:
        if status < 400:
            return [f"{operation.name} never answers {status} with JSON"]
        validator = jsonschema_rs.Draft202012Validator(ERROR)
    return _problems(validator, value)


def problems_of_webhook(event: str, payload: dict[str, Any]) -> list[str]:
    """What GitHub's description does not allow in this payload; empty when it is right."""
    name = event.replace("_", "-") + (f"-{payload['action'].replace('_', '-')}" if "action" in payload else "")
    return _problems(_webhook(name), payload)


def _problems(validator: Any, value: Any) -> list[str]:
    return [text for one in validator.iter_errors(value) for text in _leaves(one)]


def _leaves(error: Any) -> list[str]:
    """An error as short texts; for alternatives, why each of them failed."""
    branches = getattr(error.kind, "context", None)
    if not branches:
        return [f"{list(error.instance_path)}: {error.message[-160:]}"]
    shortest = min(branches, key=len)
    return [text for one in shortest for text in _leaves(one)] or [f"{list(error.instance_path)}: fits several kinds"]
