"""YAML of which every part knows its line, so that what is wrong with a file is said with line and key.

Stricter than YAML: a key that stands twice, a part that refers to another one (`&`, `*`, `<<`) and a tag are refused.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from app.core.verdict import Refused

MAX_BYTES = 64_000
MAX_BRACKETS = 400
MAX_DEPTH = 20
"""How deeply a file may be nested; by indentation alone as well."""

_PLAIN = {
    "model_type": "must be a mapping of keys to values.",
    "dict_type": "must be a mapping of keys to values.",
    "tuple_type": "must be a list.",
    "string_type": "must be a text.",
    "bool_type": "must be true or false.",
    "bool_parsing": "must be true or false.",
    "int_type": "must be a whole number.",
    "int_parsing": "must be a whole number.",
    "decimal_type": "must be a number.",
    "decimal_parsing": "must be a number.",
}
"""Plain words for what the validator says by its own types."""

Place = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Marked:
    """What a file holds, and on which line each part of it begins; the first line is 1."""

    value: object
    lines: Mapping[Place, int]


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with a file: where, and what. `line` is 0 where no line is to blame."""

    line: int
    key: str
    words: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}`{self.key}`: {self.words}" if self.key else f"{where}{self.words}"


def read_marked(text: str) -> Marked | Complaint:
    """The file with its lines; an empty one holds None."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return Complaint(0, "", f"larger than {MAX_BYTES:,} bytes.")
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        # The YAML reader takes time that grows with the cube of how deep they are.
        return Complaint(0, "", f"more than {MAX_BRACKETS} opening brackets.")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[Place, int] = {}
        return Marked(None if node is None else _value(node, (), lines, set()), lines)
    except _Unwelcome as unwelcome:
        return unwelcome.complaint
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = getattr(error, "problem", None) or "unreadable"
        return Complaint(mark.line + 1 if mark else 0, "", f"not YAML: {words}.")
    except RecursionError:
        return Complaint(0, "", f"nested more than {MAX_DEPTH} deep.")
    except ValueError as error:
        # A scalar that looks like a date or a number and is none.
        return Complaint(0, "", f"not YAML: {error}.")


def validated(model: type[Model], marked: Marked | Complaint) -> Model | tuple[Complaint, ...]:
    """The file as this model, or everything that is wrong with it in the order of its lines."""
    if isinstance(marked, Complaint):
        return (marked,)
    loaded = {} if marked.value is None else marked.value
    if not isinstance(loaded, dict):
        return (Complaint(1, "", "must be a mapping of keys to values."),)
    try:
        return model.model_validate(loaded)
    except ValidationError as error:
        return tuple(sorted(_put_together(_complaints(model, marked, error)), key=lambda one: one.line))


def first_of(complaints: tuple[Complaint, ...], name: str) -> Refused:
    """The refusal of a file by its name: the first complaint, and how many there are beside it."""
    more = len(complaints) - 1
    beside = f" There {'is one more fault' if more == 1 else f'are {more} more faults'} in it." if more else ""
    return Refused(f"{name}: {complaints[0]}{beside}")


class _Unwelcome(Exception):
    def __init__(self, node: Node, place: Place, words: str) -> None:
        super().__init__(words)
        self.complaint = Complaint(node.start_mark.line + 1, _key(place), words)


def _value(node: Node, place: Place, lines: dict[Place, int], seen: set[int]) -> object:
    """The node's value. Every node is met once: an alias would be the same one again."""
    lines.setdefault(place, node.start_mark.line + 1)
    if id(node) in seen:
        raise _Unwelcome(node, place, "refers to another part of the file; write it out.")
    if len(place) > MAX_DEPTH:
        raise _Unwelcome(node, place[:3], f"nested more than {MAX_DEPTH} deep.")
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        return [_value(one, (*place, number), lines, seen) for number, one in enumerate(node.value)]
    if isinstance(node, MappingNode):
        return dict(_pairs(node, place, lines, seen))
    assert isinstance(node, ScalarNode)
    if not node.tag.startswith("tag:yaml.org,2002:"):
        raise _Unwelcome(node, place, f"the tag {node.tag} means nothing here.")
    return SafeConstructor().construct_object(node)


def _pairs(
    node: MappingNode, place: Place, lines: dict[Place, int], seen: set[int]
) -> Iterator[tuple[str | int, object]]:
    known: set[object] = set()
    for key_node, value_node in node.value:
        if not isinstance(key_node, ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
            raise _Unwelcome(key_node, place, "a key must be a plain word.")
        # `no`, `on` and `1` are keys by how they are written.
        key: str | int = key_node.value
        if key in known:
            raise _Unwelcome(key_node, (*place, key), "stands twice.")
        known.add(key)
        lines[(*place, key)] = key_node.start_mark.line + 1
        yield key, _value(value_node, (*place, key), lines, seen)


def _complaints(model: type[BaseModel], marked: Marked, error: ValidationError) -> Iterator[Complaint]:
    for fault in error.errors():
        place = tuple(part for part in fault["loc"] if part != "[key]")
        line = next((marked.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in marked.lines), 0)
        # Where a value may have several forms, the places of their faults go on inside the forms' names.
        known = max((n for n in range(len(place) + 1) if place[:n] in marked.lines), default=0)
        words = _words(model, place, fault["type"], fault["msg"])
        yield Complaint(line, _key(place[:known] if known else place), words)


def _put_together(complaints: Iterator[Complaint]) -> list[Complaint]:
    """What is wrong in one place is one complaint: a value that may have several forms is held against each."""
    found: dict[tuple[int, str], list[str]] = {}
    for one in complaints:
        words = found.setdefault((one.line, one.key), [])
        if one.words not in words:
            words.append(one.words)
    return [Complaint(line, key, " Or: ".join(words)) for (line, key), words in found.items()]


def _words(model: type[BaseModel], place: Place, kind: str, said: str) -> str:
    if kind != "extra_forbidden":
        return _PLAIN.get(kind) or f"{said.removeprefix('Value error, ')}."
    keys = _fields(model, place[:-1])
    close = difflib.get_close_matches(str(place[-1]), keys, n=1, cutoff=0.6)
    hint = f"did you mean `{close[0]}`?" if close else f"the keys here are: {', '.join(keys)}."
    return f"no such key; {hint}"


def _fields(model: type[BaseModel], place: Place) -> list[str]:
    for part in place:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field else None
        candidates = [inner, *getattr(inner, "__args__", ())]
        found = [one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)]
        if not found:
            return []
        model = found[0]
    return list(model.model_fields)


def _key(place: Place) -> str:
    return ".".join(str(part) for part in place)
