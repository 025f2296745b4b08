"""A tool's input against its JSON Schema: a small check for the subset of keywords that our tools are written in."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

Schema = Mapping[str, object]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NOTES = frozenset({"title", "description", "default", "examples", "$defs"})
_KEYWORDS = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf", "$ref"}
    | {"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern"}
)
_SHOWN = 8
_DEEPEST = 64


class SchemaNotUnderstood(ValueError):
    """A tool was written with a keyword that `faults` does not check. Raised when the tool is made, not when called."""


def understood(schema: Schema) -> None:
    """Returns when `faults` checks every keyword of the schema; otherwise raises `SchemaNotUnderstood`."""
    if strange := set(schema) - _KEYWORDS - _NOTES:
        raise SchemaNotUnderstood(f"The schema uses {', '.join(sorted(strange))}, which is not checked.")
    if str(schema.get("type", "object")) not in _TYPES:
        raise SchemaNotUnderstood(f"The schema's type {schema['type']!r} is not one of {', '.join(_TYPES)}.")
    for within in ("properties", "$defs"):
        for part in cast(Mapping[str, Schema], schema.get(within, {})).values():
            understood(part)
    if "items" in schema:
        understood(cast(Schema, schema["items"]))
    for part in cast(list[Schema], schema.get("anyOf", [])):
        understood(part)


def faults(schema: Schema, value: object) -> list[str]:
    """What is wrong with the value, at most eight sentences; an empty list means that it is valid."""
    found = _faults(schema, value, _Place(schema, "input", 0))
    return [fault for fault, _ in zip(found, range(_SHOWN), strict=False)]


def optional_fields(schema: Schema) -> int:
    """How many fields, at any depth, may be left out."""
    parts = cast(Mapping[str, Schema], schema.get("properties", {}))
    inner = [*parts.values(), *cast(Mapping[str, Schema], schema.get("$defs", {})).values()]
    inner += cast(list[Schema], schema.get("anyOf", []))
    if "items" in schema:
        inner.append(cast(Schema, schema["items"]))
    return len(set(parts) - set(cast(list[str], schema.get("required", [])))) + sum(map(optional_fields, inner))


class _Place:
    """Where in the value the check stands: the root schema (for `$ref`), a readable path, and the depth."""

    def __init__(self, root: Schema, path: str, depth: int) -> None:
        self.root, self.path, self.depth = root, path, depth

    def inside(self, step: str) -> "_Place":
        return _Place(self.root, self.path + step, self.depth + 1)


def _faults(schema: Schema, value: object, at: _Place) -> Iterator[str]:
    if at.depth > _DEEPEST:
        yield f"{at.path} is nested too deeply."
        return
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        yield from _faults(cast(Mapping[str, Schema], at.root["$defs"])[name], value, at)
    if "anyOf" in schema:
        ways = cast(list[Schema], schema["anyOf"])
        if all(any(True for _ in _faults(way, value, at)) for way in ways):
            yield f"{at.path} fits none of the {len(ways)} shapes that it may have."
    if "type" in schema and not _is_a(str(schema["type"]), value):
        yield f"{at.path} must be of type {schema['type']}."
        return
    if "enum" in schema and not any(_same(value, one) for one in cast(list[object], schema["enum"])):
        yield f"{at.path} must be one of {schema['enum']}."
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{at.path} must be {schema['const']!r}."
    if "pattern" in schema and isinstance(value, str) and not re.search(str(schema["pattern"]), value):
        yield f"{at.path} must match {schema['pattern']}."
    yield from _size_faults(schema, value, at)
    if isinstance(value, dict):
        yield from _object_faults(schema, value, at)
    if isinstance(value, list) and "items" in schema:
        for index, one in enumerate(value):
            yield from _faults(cast(Schema, schema["items"]), one, at.inside(f"[{index}]"))


def _is_a(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _size_faults(schema: Schema, value: object, at: _Place) -> Iterator[str]:
    bounds: tuple[tuple[str, str, str], ...] = ()
    size: float = 0
    if isinstance(value, str):
        size, bounds = len(value), (("minLength", "maxLength", "characters"),)
    elif isinstance(value, list):
        size, bounds = len(value), (("minItems", "maxItems", "items"),)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        size, bounds = value, (("minimum", "maximum", ""),)
    for least, most, unit in bounds:
        if least in schema and size < cast(float, schema[least]):
            yield f"{at.path} must be at least {schema[least]} {unit}".rstrip() + "."
        if most in schema and size > cast(float, schema[most]):
            yield f"{at.path} must be at most {schema[most]} {unit}".rstrip() + "."


def _object_faults(schema: Schema, value: Mapping[str, object], at: _Place) -> Iterator[str]:
    parts = cast(Mapping[str, Schema], schema.get("properties", {}))
    for name in cast(list[str], schema.get("required", [])):
        if name not in value:
            yield f"{at.path}.{name} is missing."
    for name, one in value.items():
        if name in parts:
            yield from _faults(parts[name], one, at.inside(f".{name}"))
        elif schema.get("additionalProperties") is False:
            yield f"{at.path} has an unknown field {name!r}."
