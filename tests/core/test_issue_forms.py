"""The issue forms that are handed out lead to descriptions from which a rule can be read."""

from typing import Any

import pytest
import yaml

from app.core.rule import RuleKind, read_rule
from app.core.template import HOME
from app.core.verdict import Refused

GIVEN = {"Pattern": "old", "Replacement": "new", "Paths": "**/*.py", "Why": "It is old.\n### Not a field"}


def described(form: dict[str, Any], given: dict[str, str]) -> str:
    """As GitHub writes an issue's description from a form that was filled in."""
    parts = []
    for field in form["body"]:
        asked = field["attributes"]
        text = given.get(asked["label"]) or asked.get("value", "").rstrip("\n")
        if field["type"] == "dropdown":
            text = asked["options"][asked["default"]]
        if not text:
            text = "_No response_"
        elif "render" in asked:
            text = f"```{asked['render']}\n{text}\n```"
        parts.append(f"### {asked['label']}\n\n{text}")
    return "\n\n".join(parts)


def form_of(kind: RuleKind) -> dict[str, Any]:
    form: dict[str, Any] = yaml.safe_load((HOME / kind / "issue_form.yml").read_text("utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    return form


@pytest.mark.parametrize("kind", RuleKind)
def test_a_form_that_is_filled_in_gives_a_rule(kind: RuleKind) -> None:
    rule = read_rule(kind, described(form_of(kind), GIVEN))
    assert not isinstance(rule, Refused), rule
    assert rule.paths == ("**/*.py",)


def test_a_replacement_that_is_left_empty_takes_the_text_out() -> None:
    rule = read_rule(RuleKind.REPLACE, described(form_of(RuleKind.REPLACE), GIVEN | {"Replacement": ""}))
    assert not isinstance(rule, Refused)
    assert rule.kind == "literal" and rule.replacement == ""


@pytest.mark.parametrize("kind", RuleKind)
def test_a_form_that_is_left_empty_gives_none(kind: RuleKind) -> None:
    assert isinstance(read_rule(kind, described(form_of(kind), {})), Refused)
