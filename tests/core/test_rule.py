"""Rules from an issue's form: read strictly, letter by letter, or refused with a sentence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.form import Form, read_form
from app.core.rule import (
    MAX_DEPTH,
    LiteralRule,
    RegexRule,
    Rule,
    RuleKind,
    SyntaxRule,
    read_rule,
    syntax_of,
)
from app.core.verdict import Refused

AST = "id: tell\nlanguage: Python\nrule:\n  pattern: say($A)\nfix: tell($A)"


def field(heading: str, text: str, fence: str = "```") -> str:
    return f"### {heading}\n\n{fence}text\n{text}\n{fence}\n\n"


def replacing(pattern: str = "old", new: str = "new", mode: str = "literal", paths: str = "src/**") -> str:
    fence = "`" * 12
    form = field("Pattern", pattern, fence) + field("Replacement", new, fence)
    return f"Please.\n\n{form}### Mode\n\n{mode}\n\n### Paths\n\n{paths}\n"


def rewriting(rule: str = AST, paths: str = "**/*.py") -> str:
    return field("Rule", rule) + f"### Paths\n\n{paths}\n"


def read(body: str, kind: RuleKind = RuleKind.REPLACE) -> Rule:
    rule = read_rule(kind, body)
    assert not isinstance(rule, Refused), rule
    return rule


def refused(body: str, kind: RuleKind = RuleKind.REPLACE) -> str:
    rule = read_rule(kind, body)
    assert isinstance(rule, Refused), rule
    return str(rule)


def test_a_form_gives_a_rule() -> None:
    assert read(replacing()) == LiteralRule(pattern="old", replacement="new", paths=("src/**",))
    assert isinstance(read(replacing(mode="Regular Expression")), RegexRule)
    rule = read(rewriting(), RuleKind.CODEMOD)
    assert rule == SyntaxRule(text=AST, paths=("**/*.py",))


_lines = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
_texts = st.lists(_lines, min_size=1, max_size=4).map("\n".join).filter(lambda text: "`" * 12 not in text)


@given(_texts.filter(bool), _texts)
def test_what_stands_in_a_fenced_block_is_taken_letter_by_letter(pattern: str, new: str) -> None:
    if pattern != new:
        assert read(replacing(pattern, new)) == LiteralRule(pattern=pattern, replacement=new, paths=("src/**",))
        assert read(replacing(pattern, new).replace("\n", "\r\n")) == read(replacing(pattern, new))


@pytest.mark.parametrize(
    ("written", "text"),
    [("plain words", "plain words"), ("`a span`", "a span"), ("``a ` tick``", "a ` tick"), ("~~~\nx\n~~~", "x")],
)
def test_a_single_line_needs_no_block(written: str, text: str) -> None:
    form = read_form(f"### Pattern\n{written}\n", ["Pattern"])
    assert isinstance(form, Form)
    assert form.text("Pattern") == text


def test_an_empty_replacement_takes_the_text_out_and_an_empty_pattern_is_none() -> None:
    body = "### Pattern\nold\n### Replacement\n_No response_\n### Mode\nliteral\n### Paths\na\n"
    assert read(body) == LiteralRule(pattern="old", replacement="", paths=("a",))
    assert "Nothing stands under `### Pattern`" in refused(body.replace("old", "_No response_"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Replace old by new.", "no heading `### Pattern`, `### Replacement`, `### Mode`, `### Paths`"),
        (replacing().replace("### Mode", "### Modus"), "There are: `Modus`"),
        (replacing() + "### Mode\n\nregex\n", "`### Mode` stands there twice"),
        (replacing(mode=""), "neither `literal` nor `regex`"),
        (replacing(new="old"), "nothing to change"),
        (replacing("x" * 4_001), "`pattern` of the form cannot be used"),
        (replacing(paths="_No response_"), "stands no glob"),
        (replacing(paths="!src/a.py"), "stands no glob"),
        (replacing(paths="/etc/*"), "not a glob below"),
        (replacing(paths="src/../../x"), "not a glob below"),
        (replacing(paths="\n".join(f"{n}.py" for n in range(31))), "`paths` of the form cannot be used"),
        ("### Pattern\na\nb\n### Replacement\nx\n### Mode\nliteral\n### Paths\na\n", "several lines"),
        ("### Pattern\n```\na\n### Replacement\nx\n### Mode\nliteral\n### Paths\na\n", "no heading `### Replacement`"),
        ("### Paths\na\n### Mode\nliteral\n### Replacement\nx\n### Pattern\n```\na\n```\nb", "after the fenced block"),
        ("### Paths\na\n### Mode\nliteral\n### Replacement\nx\n### Pattern\n```\na\n", "has no end"),
    ],
)
def test_a_form_that_is_not_quite_one_is_refused_with_what_is_wrong(body: str, words: str) -> None:
    assert words in refused(body)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("rule: [", "not YAML (line 1)"),
        ("- a", "must be a mapping"),
        ("language: cobol\nrule: {pattern: x}\nfix: y", "`language` must be one of"),
        ("language: python\nrule: x\nfix: y", "needs a mapping `rule` and a text `fix`"),
        ("language: python\nrule: {pattern: x}", "needs a mapping `rule` and a text `fix`"),
        (AST + "\ntransform: {B: {replace: {source: $A}}}", "has `transform`"),
        ("language: python\nrule: &a {not: *a}\nfix: y", "refers to a part of itself"),
        ("language: python\nrule: {all: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}\nfix: y", "nested more than"),
        ("language: python\nrule: {pattern: 2026-01-01}\nfix: y", "something else than texts"),
        ("language: python\nrule: {pattern: .nan}\nfix: y", "something else than texts"),
        ("language: python\nrule: {1: x}\nfix: y", "something else than texts"),
        ("[" * 3_000, "opening brackets"),
        ("- " * 1_500, "not YAML"),
    ],
)
def test_a_syntax_rule_that_cannot_be_carried_out_is_refused_with_what_is_wrong(rule: str, words: str) -> None:
    assert words in refused(rewriting(rule), RuleKind.CODEMOD)


def test_a_syntax_rule_keeps_what_finds_and_leaves_what_only_tells() -> None:
    syntax = syntax_of(AST + "\nmessage: m\nconstraints:\n  A: {regex: x}\n")
    assert not isinstance(syntax, Refused)
    assert (syntax.language, syntax.fix) == ("python", "tell($A)")
    assert syntax.find == {"rule": {"pattern": "say($A)"}, "constraints": {"A": {"regex": "x"}}}


@given(st.text(max_size=200) | st.lists(st.sampled_from(
    ["### Pattern", "### Mode", "### Paths", "### Replacement", "```", "~~~", "a", "", "literal", "### Rule", AST]
), max_size=14).map("\n".join), st.sampled_from(RuleKind))  # fmt: skip
def test_any_text_gives_a_rule_or_a_sentence(body: str, kind: RuleKind) -> None:
    rule: Any = read_rule(kind, body)
    if isinstance(rule, Refused):
        assert rule.reason.endswith((".", ")."))
    else:
        assert rule.paths
