"""What the real Messages API turns down, as far as our requests could get it wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

_REMOVED = ("temperature", "top_p", "top_k")
_LOOSE_WORDS = frozenset({"minimum", "maximum", "minLength", "maxLength", "maxItems", "pattern", "oneOf"})
_STRICT_TOOLS = 20
_STRICT_OPTIONALS = 24
_BREAKPOINTS = 4

Body = Mapping[str, Any]


def refusal(body: object) -> str | None:
    """The first reason for which the request is answered with 400, or None."""
    if not isinstance(body, dict):
        return "The request body is not a JSON object."
    return next(_refusals(body), None)


def _refusals(body: Body) -> Iterator[str]:
    for name, kind in (("model", str), ("max_tokens", int), ("messages", list)):
        if not isinstance(body.get(name), kind) or not body[name]:
            yield f"{name}: Field required"
            return
    for name in _REMOVED:
        if name in body:
            yield f"{name}: Extra inputs are not permitted"
    yield from _message_refusals(body["messages"])
    yield from _tool_refusals(body.get("tools") or [])
    if str(body).count("'cache_control': {") > _BREAKPOINTS:
        yield "A maximum of 4 blocks with cache_control may be provided."


def _message_refusals(messages: list[Any]) -> Iterator[str]:
    if messages[0].get("role") != "user" or messages[-1].get("role") != "user":
        yield "messages: the first and the last message must use the user role"
    asked: set[str] = set()
    for number, message in enumerate(messages):
        blocks = _blocks(message)
        if not blocks:
            yield f"messages.{number}: all messages must have non-empty content"
        if any(block.get("type") == "text" and not block.get("text") for block in blocks):
            yield f"messages.{number}: text content blocks must be non-empty"
        answered = {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"}
        if answered - asked:
            yield f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks"
        if asked - answered:
            yield f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after"
        asked = {block["id"] for block in blocks if block.get("type") == "tool_use"}


def _tool_refusals(tools: list[Any]) -> Iterator[str]:
    names = [tool.get("name") for tool in tools]
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."
    strict = [tool for tool in tools if tool.get("strict")]
    if len(strict) > _STRICT_TOOLS:
        yield f"tools: at most {_STRICT_TOOLS} strict tools"
    optionals = 0
    for tool in strict:
        for part in _objects(tool.get("input_schema")):
            if part.get("type") == "object" and part.get("additionalProperties") is not False:
                yield f"tools.{tool['name']}: strict schemas must set additionalProperties to false"
            if loose := _LOOSE_WORDS & set(part):
                yield f"tools.{tool['name']}: strict schemas do not support {', '.join(sorted(loose))}"
            if part.get("type") == "object":
                optionals += len(set(part.get("properties", {})) - set(part.get("required", [])))
    if optionals > _STRICT_OPTIONALS:
        yield f"tools: at most {_STRICT_OPTIONALS} optional parameters in strict schemas"


def _objects(schema: object) -> Iterator[Mapping[str, Any]]:
    """Every schema inside a schema; the names of properties are not keywords."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name in ("properties", "$defs"):
        for part in (schema.get(name) or {}).values():
            yield from _objects(part)
    yield from _objects(schema.get("items"))
    for name in ("anyOf", "allOf", "oneOf"):
        for part in schema.get(name) or []:
            yield from _objects(part)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or [])


def text_of(message: Mapping[str, Any]) -> str:
    """All text that a message shows to a model, tool inputs and tool results included."""
    return "\n".join(_shown(block) for block in _blocks(message))


def _shown(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "tool_use":
            return f"{block.get('name')} {block.get('input')}"
        case "tool_result":
            return text_of(block)
        case _:
            return ""


def failed_results(message: Mapping[str, Any]) -> list[str]:
    """The texts of the tool results in a message that say that the call failed."""
    return [text_of(block) for block in _blocks(message) if block.get("is_error")]
