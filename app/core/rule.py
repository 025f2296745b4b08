"""Mechanical rules: what to replace by what, in which files. Read from an issue's form by code, and applied by code.

A rule is part of a plan, so it is approved with it. Its evolution is append-only, as the plan's.
"""

from enum import StrEnum
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.core.form import Form, read_form
from app.core.verdict import Refused

MAX_TEXT = 4_000
MAX_GLOBS = 30
MAX_BRACKETS = 400
MAX_DEPTH = 12
"""How deeply a syntax rule may be nested."""

MODES = {"literal": "literal", "regex": "regex", "regular expression": "regex"}

LANGUAGES: dict[str, tuple[str, ...]] = {
    "bash": ("sh", "bash"),
    "c": ("c", "h"),
    "cpp": ("cc", "cpp", "cxx", "hh", "hpp", "hxx", "h"),
    "csharp": ("cs",),
    "css": ("css",),
    "go": ("go",),
    "html": ("html", "htm"),
    "java": ("java",),
    "javascript": ("js", "jsx", "mjs", "cjs"),
    "json": ("json",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    "php": ("php",),
    "python": ("py", "pyi"),
    "ruby": ("rb", "rake"),
    "rust": ("rs",),
    "scala": ("scala",),
    "swift": ("swift",),
    "tsx": ("tsx",),
    "typescript": ("ts", "mts", "cts"),
}
"""The languages of syntax rules, with the endings of their files."""

_RULE_KEYS = frozenset({"language", "rule", "constraints", "utils", "fix"})
_SPARE_KEYS = frozenset({"id", "message", "note", "severity"})
"""What a rule file may also hold, and what means nothing here."""

RuleText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Glob = Annotated[str, Field(min_length=1, max_length=300)]
Globs = Annotated[tuple[Glob, ...], Field(min_length=1, max_length=MAX_GLOBS)]
"""Which files: a glob to a line; one that begins with `!` takes files out again."""


class RuleKind(StrEnum):
    """Which form an issue must have for its rule to be read by code."""

    REPLACE = "replace"
    CODEMOD = "codemod"


class _RulePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LiteralRule(_RulePart):
    """Every place where `pattern` stands, letter by letter, becomes `replacement`."""

    kind: Literal["literal"] = "literal"
    pattern: RuleText
    replacement: Annotated[str, Field(max_length=MAX_TEXT)]
    paths: Globs


class RegexRule(_RulePart):
    r"""Every match of a regular expression becomes `replacement`, in which `\1` and `\g<name>` are its groups.

    `^` and `$` match at each line; `.` does not match the end of a line.
    """

    kind: Literal["regex"] = "regex"
    pattern: RuleText
    replacement: Annotated[str, Field(max_length=MAX_TEXT)]
    paths: Globs


class SyntaxRule(_RulePart):
    """An ast-grep rule with its fix, as it was written; `syntax_of` reads it."""

    kind: Literal["syntax"] = "syntax"
    text: RuleText
    paths: Globs


Rule = Annotated[LiteralRule | RegexRule | SyntaxRule, Field(discriminator="kind")]


class Syntax(_RulePart):
    """What a syntax rule says: in which language, what to find (ast-grep's own words), and what to put there."""

    language: str
    find: dict[str, object]
    fix: str


def read_rule(kind: RuleKind, body: str) -> Rule | Refused:
    """The rule in an issue's text, or one sentence that says what is wrong with its form."""
    headings = ("Pattern", "Replacement", "Mode", "Paths") if kind is RuleKind.REPLACE else ("Rule", "Paths")
    form = read_form(body, headings)
    if isinstance(form, Refused):
        return form
    globs = _globs(form)
    if isinstance(globs, Refused):
        return globs
    return _replacing(form, globs) if kind is RuleKind.REPLACE else _rewriting(form, globs)


def syntax_of(text: str) -> Syntax | Refused:
    """The parts of an ast-grep rule; refused where it is not one that can be carried out here."""
    if len(text) > MAX_TEXT:
        return Refused(f"The rule under `### Rule` is longer than {MAX_TEXT:,} characters.")
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        # The YAML reader takes time that grows with the cube of how deep they are.
        return Refused(f"The rule under `### Rule` has more than {MAX_BRACKETS} opening brackets.")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            return Refused("The rule under `### Rule` refers to a part of itself (`*name`); write it out.")
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        return Refused(f"The rule under `### Rule` is not YAML{where}.")
    if not isinstance(loaded, dict):
        return Refused("The rule under `### Rule` must be a mapping with `language`, `rule` and `fix`.")
    odd = sorted(str(key) for key in loaded if key not in _RULE_KEYS | _SPARE_KEYS)
    if odd:
        return Refused(f"The rule under `### Rule` has `{odd[0]}`, which is not carried out here.")
    language = str(loaded.get("language", "")).lower()
    if language not in LANGUAGES:
        return Refused(f"The rule's `language` must be one of: {', '.join(LANGUAGES)}.")
    if not isinstance(loaded.get("rule"), dict) or not isinstance(loaded.get("fix"), str):
        return Refused("The rule under `### Rule` needs a mapping `rule` and a text `fix`.")
    find = {key: loaded[key] for key in ("rule", "constraints", "utils") if key in loaded}
    if _depth(find) > MAX_DEPTH:
        return Refused(f"The rule under `### Rule` is nested more than {MAX_DEPTH} deep.")
    if not _plain(find):
        return Refused("The rule under `### Rule` holds something else than texts, numbers, lists and mappings.")
    return Syntax(language=language, find=find, fix=loaded["fix"].removesuffix("\n"))


def _replacing(form: Form, globs: tuple[str, ...]) -> Rule | Refused:
    pattern, replacement = form.text("Pattern"), form.text("Replacement", "may be empty")
    if isinstance(pattern, Refused):
        return pattern
    if isinstance(replacement, Refused):
        return replacement
    mode = MODES.get(form.plain("Mode").strip().lower())
    if mode is None:
        return Refused("Under `### Mode` stands neither `literal` nor `regex`.")
    if mode == "literal" and pattern == replacement:
        return Refused("Pattern and replacement are the same, so there is nothing to change.")
    kind = LiteralRule if mode == "literal" else RegexRule
    return _made(kind, pattern=pattern, replacement=replacement, paths=globs)


def _rewriting(form: Form, globs: tuple[str, ...]) -> Rule | Refused:
    text = form.text("Rule")
    if isinstance(text, Refused):
        return text
    syntax = syntax_of(text)
    return syntax if isinstance(syntax, Refused) else _made(SyntaxRule, text=text, paths=globs)


def _made(kind: type[LiteralRule | RegexRule | SyntaxRule], **fields: object) -> Rule | Refused:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        return Refused(f"`{first['loc'][0]}` of the form cannot be used: {first['msg']}.")


def _globs(form: Form) -> tuple[str, ...] | Refused:
    lines = [line.strip().removeprefix("- ").strip().strip("`") for line in form.plain("Paths").split("\n")]
    globs = tuple(line for line in lines if line)
    for glob in globs:
        if ".." in glob.split("/") or glob.startswith("/") or "\\" in glob or any(ord(letter) < 32 for letter in glob):
            return Refused(f"Under `### Paths`, `{glob[:80]}` is not a glob below the repository's root.")
    if not any(not glob.startswith("!") for glob in globs):
        return Refused("Under `### Paths` stands no glob; one to a line, such as `src/**/*.py`.")
    return globs


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return isinstance(value, str | int | bool) or value is None
