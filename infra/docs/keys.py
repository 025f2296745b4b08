"""The keys of a repository's policy and of the operator's bounds, as tables from the models that read them."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from app.core.bounds import NOT_CARRIED_OUT, Bounds
from app.core.policy import BUILT_IN, Policy

Json = dict[str, Any]

BOUND: Mapping[str, str] = {
    "label.role": "least_label_role",
    **{f"{one}.role": "least_approve_role" for one in ("approve", "revise", "cancel")},
    **{
        f"{one}.{key}": "named_people"
        for one in ("label", "approve", "revise", "cancel")
        for key in ("custom_roles", "users", "teams")
    },
    "label.apps": "named_people",
    "approve.code_owners": "code_owners_may_approve",
    "approve.labeller_may_approve": "labeller_may_approve",
    "approve.author_may_approve": "author_may_approve",
    "approve.count": "least_approvals",
    "approve.days": "most_days",
    "protected.approvals": "least_protected_approvals",
    **{f"budget.{one}": f"most.{one}" for one in ("usd", "calls", "minutes", "files", "lines")},
    "templates": "templates",
    "workflows": "workflows",
    "checks": "own_checks",
    "checks.NAME.run": "own_checks",
    "checks.NAME.paths": "own_checks",
    "setup": "own_checks",
    "hosts": "hosts",
    **{f"models.{one}": "models" for one in ("planner", "scout", "executor", "reviewer")},
    "checks_not_run": "drafts_not_shown",
    "mode": "staged",
    **{f"follow_up.{one}": "follow_up" for one in ("reviews", "checks")},
}
"""Which bound of the operator's holds a key of a policy. A test tries each of them."""

OPERATORS: Mapping[str, str] = {"documentation": "`COUNTERSIGN_DOCS_HOSTS`"}
"""Keys that a setting bounds."""

_DEFAULTS: Mapping[str, str] = {
    "templates": f"the built-in ones by their names ({', '.join(BUILT_IN)}); the bare label is `bugfix`",
    "documentation": "all of them",
    "revise": "who may approve",
    "cancel": "who may approve, and who set the label",
    "models.planner": "the template's",
    "models.scout": "the template's",
    "models.executor": "the template's",
    "models.reviewer": "the template's",
    "checks.NAME.run": "has to be there",
}


_FORMS: Mapping[str, str] = {
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$": "a login",
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$": "`organisation/team`",
    r"^[a-z0-9][a-z0-9-]*(@\d+\.\d+\.\d+)?$": "a template's name, or `name@1.0.0`",
    r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?:\d{1,5}$": "`host:port`",
    r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$": "a model's name, `strong`, `standard` or `small`",
    r"^[^\x00-\x1f\x7f]+$": "a word",
}
"""Patterns in words; one that is not here is told as it is."""


def policy_table() -> str:
    """Every key of `.github/countersign.yml`."""
    rows = ["| key | what it says | type | without it | the operator's bound |", "|---|---|---|---|---|"]
    for key, part, default in _leaves(Policy):
        bound = f"`{BOUND[key]}`" if key in BOUND else OPERATORS.get(key, "–")
        here = " (this version carries out the default alone)" if key.partition(".")[0] in NOT_CARRIED_OUT else ""
        told = _DEFAULTS.get(key) or ("as `" + key.partition(".")[0] + "`" if default is None else _value(default))
        rows.append(f"| `{key}` | {_words(part)}{here} | {_type(part, Policy)} | {told} | {bound} |")
    return "\n".join(rows)


def bounds_table() -> str:
    """Every key of the file that `COUNTERSIGN_BOUNDS` names."""
    rows = ["| key | what it says | type | without it |", "|---|---|---|---|"]
    for key, part, default in _leaves(Bounds):
        told = "any" if default is None else _value(default)
        rows.append(f"| `{key}` | {_words(part)} | {_type(part, Bounds)} | {told} |")
    return "\n".join(rows)


def leaves(model: type[BaseModel]) -> tuple[str, ...]:
    """Every key, those of a section behind its name and a point."""
    return tuple(key for key, _, _ in _leaves(model))


def _leaves(model: type[BaseModel]) -> Iterator[tuple[str, Json, Any]]:
    schema = model.model_json_schema()
    usual = model().model_dump()
    for key, part in schema["properties"].items():
        section = _section(part, schema)
        if section is None:
            yield key, part, usual[key]
            below_names: Json = next(iter(part.get("patternProperties", {}).values()), {})
            named = _section(below_names, schema) or {"properties": {}}
            yield from ((f"{key}.NAME.{name}", one, one.get("default")) for name, one in named["properties"].items())
            continue
        # `revise` and `cancel` are whole sections that need not be there.
        if usual[key] is None:
            yield key, part, None
        for name, below in section["properties"].items():
            held = usual[key]
            yield f"{key}.{name}", below, below.get("default") if held is None else held[name]


def _section(part: Json, schema: Json) -> Json | None:
    """What a key refers to, where that is a mapping with keys of its own."""
    names = [one.get("$ref", "") for one in (part, *part.get("anyOf", []), *part.get("allOf", []))]
    found = [schema["$defs"][name.rpartition("/")[2]] for name in names if name]
    return next((one for one in found if "properties" in one), None)


def _words(part: Json) -> str:
    return _cell(part.get("description", ""))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, str | int | Decimal):
        return f"`{value}`"
    return "none" if not value else f"`{value}`"


def _type(part: Json, model: type[BaseModel]) -> str:
    return _cell(_told(part, model.model_json_schema()))


def _told(part: Json, schema: Json) -> str:
    """The type in words, with its bounds."""
    if "$ref" in part:
        return "a mapping"
    if "anyOf" in part:
        return _one_of([_told(one, schema) for one in part["anyOf"] if one.get("type") != "null"])
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return _one_of([f"`{one}`" for one in part["enum"]])
    match part.get("type"):
        case "boolean":
            return "`true` or `false`"
        case "integer" | "number":
            return _number(part)
        case "array":
            most = f", at most {part['maxItems']}" if "maxItems" in part else ""
            return f"a list{most}: each {_told(part['items'], schema)}"
        case "object":
            return f"a mapping, at most {part['maxProperties']}" if "maxProperties" in part else "a mapping"
        case "string":
            most = f" of at most {part['maxLength']} characters" if "maxLength" in part else ""
            pattern = part.get("pattern")
            return _FORMS.get(pattern, f"a text like `{pattern}`") if pattern else f"a text{most}"
    return "anything"


def _one_of(words: list[str]) -> str:
    words = list(dict.fromkeys(words))
    # A sum of money is told as a number or as the text of one; it is written as a number.
    numbers = [one for one in words if one.startswith("a number")]
    return numbers[0] if numbers else " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _number(part: Json) -> str:
    kind = "a whole number" if part["type"] == "integer" else "a number"
    if "exclusiveMinimum" in part:
        return f"{kind} above {part['exclusiveMinimum']:g}, at most {part['maximum']:g}"
    if part.get("exclusiveMaximum"):
        return f"{kind}, an account's id"
    return f"{kind} from {part['minimum']} to {part['maximum']}"
