"""A plan template: the prompts, step kinds, checks, budgets and stop conditions of one kind of work, as released.

Templates are data in `plan_templates/NAME/VERSION/`. A released version is never edited, only superseded.
"""

import functools
import hashlib
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from app.core.budget import Cap
from app.core.plan import Expectation, Sha256, TemplatePin
from app.core.rule import RuleKind

HOME = Path(__file__).resolve().parents[2] / "plan_templates"
"""Beside the `app` package, in a checkout and in an installation alike."""

_SHEET = "template.yaml"

Count = Annotated[int, Field(ge=0, le=100_000)]
Positive = Annotated[int, Field(ge=1, le=100_000)]
Text = Annotated[str, Field(min_length=1)]


class TemplateUnreadable(ValueError):
    """There is no such template, or its files do not make one; the message says why."""


class _Sheet(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Must(StrEnum):
    """What a template can demand of a plan."""

    EVIDENCE = "evidence"
    HYPOTHESIS = "hypothesis"
    REGRESSION_TEST = "regression_test"
    REGRESSION_TEST_OR_REASON = "regression_test_or_reason"
    """A step on a test file and a check that fails before and passes after; or the reason why there is none."""
    ACCEPTANCE = "acceptance"
    """What the plan will bring about, in criteria that its steps and checks cover."""
    FAILS_BEFORE_PASSES_AFTER = "fails_before_passes_after"
    TEST = "test"
    """A step on a test file, new or old."""
    NOTHING_BUT_TESTS = "nothing_but_tests"
    """Every path is a test's."""
    MANIFEST = "manifest"
    """A step on a file that says on what the project depends."""
    CONSTRAINTS = "constraints"
    OUT_OF_SCOPE = "out_of_scope"
    RISKS = "risks"


class ChecksPolicy(_Sheet):
    """How many checks a plan needs at least, and what they may promise."""

    at_least: Count
    expect: Annotated[tuple[Expectation, ...], Field(min_length=1)]


class Size(Cap):
    """What carrying a plan out may take: money, calls and minutes, and how much it may change."""

    files: Positive
    lines: Positive


class DraftingBudget(_Sheet):
    """For the planner with its scouts: what it usually gets, and the most that any setting can give."""

    usual: Cap
    most: Cap

    @model_validator(mode="after")
    def _usual_fits(self) -> "DraftingBudget":
        _fits(self.usual, self.most)
        return self


class ExecutionBudget(_Sheet):
    """For the executor with its reviewer: what a plan usually gets, and the most that one can ask for."""

    usual: Size
    most: Size

    @model_validator(mode="after")
    def _usual_fits(self) -> "ExecutionBudget":
        _fits(self.usual, self.most)
        return self


class TemplateBudget(_Sheet):
    """The two budgets of a run."""

    drafting: DraftingBudget
    execution: ExecutionBudget


class TemplateLimits(_Sheet):
    """Bounds of the work itself; `reply_tokens` counts thinking as well.

    `scout_tokens` is what one errand may read and write in all its calls, `scout_answer` the characters of its answer,
    `repairs` how often what was made may be mended before the work is given up.
    """

    reply_tokens: Positive
    steps: Positive
    scouts: Count
    scout_calls: Positive
    scout_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 200_000
    scout_answer: Positive = 6_000
    read_lines: Positive
    questions: Count
    repairs: Annotated[int, Field(ge=0, le=10)] = 2


class Prompts(_Sheet):
    """The fixed text for each role, which is the cacheable prefix of its calls; all empty where no model works."""

    planner: str = ""
    scout: str = ""
    executor: str = ""
    reviewer: str = ""

    def written(self) -> tuple[str, ...]:
        """The roles that have a text."""
        return tuple(role for role in type(self).model_fields if getattr(self, role).strip())


class Crew(_Sheet):
    """Which model has which role: `strong`, `standard` or `small` of the operator's settings, or one by its name.

    A name must be on the operator's list of models.
    """

    planner: Text = "strong"
    scout: Text = "small"
    executor: Text = "standard"
    reviewer: Text = "strong"


class Template(_Sheet):
    """One released template. `digest` is the SHA-256 over its files, as `folder_digest` makes it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    about: Text
    rule: RuleKind | None = None
    """Where the plan is made and carried out by code: the form in which an issue states its rule. No model then."""
    step_kinds: Annotated[tuple[Literal["change", "create", "delete", "move", "answer"], ...], Field(min_length=1)]
    """`answer` stands alone: then what comes of an approved plan is a report, and no change."""
    must_have: tuple[Must, ...]
    checks: ChecksPolicy
    budget: TemplateBudget
    limits: TemplateLimits
    stop_conditions: Annotated[tuple[Text, ...], Field(min_length=1)]
    models: Crew = Crew()
    prompts: Prompts = Prompts()
    digest: Sha256

    @model_validator(mode="after")
    def _is_of_one_sort(self) -> "Template":
        written = self.prompts.written()
        if self.rule is not None and written:
            raise ValueError("where a rule does the work no model has a prompt")
        if self.rule is None and len(written) != len(Prompts.model_fields):
            raise ValueError(f"every role needs a prompt; there are: {', '.join(written) or 'none'}")
        if self.rule is not None and self.step_kinds != ("change",):
            raise ValueError("a rule only changes files")
        if self.answers and (len(self.step_kinds) > 1 or self.checks.at_least):
            raise ValueError("answering questions is the only kind of step beside which there is none, nor a check")
        return self

    def pin(self) -> TemplatePin:
        """By what a plan names it."""
        return TemplatePin(name=self.name, version=self.version, digest=self.digest)

    @property
    def answers(self) -> bool:
        """True where an approved plan leads to a report."""
        return "answer" in self.step_kinds


def folder_digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 (hex) over the files in the order of their names: name, NUL, size in bytes, NUL, content, for each."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode())
        digest.update(files[name])
    return digest.hexdigest()


def parse_template(files: Mapping[str, str]) -> Template:
    """The template in the files of one folder, by file name; raises `TemplateUnreadable`."""
    if _SHEET not in files:
        raise TemplateUnreadable(f"A template needs a {_SHEET}.")
    try:
        sheet = yaml.safe_load(files[_SHEET])
    except yaml.YAMLError as error:
        raise TemplateUnreadable(f"{_SHEET} is not YAML: {error}") from error
    except RecursionError as error:
        raise TemplateUnreadable(f"{_SHEET} is nested too deeply.") from error
    if not isinstance(sheet, dict) or not isinstance(sheet.get("prompts", {}), dict):
        raise TemplateUnreadable(f"{_SHEET} must be a mapping with a mapping of prompts.")
    named = sheet.get("prompts", {})
    if absent := [name for name in named.values() if name not in files]:
        raise TemplateUnreadable(f"{_SHEET} names prompts that are not there: {', '.join(map(str, absent))}.")
    if spare := set(files) - {_SHEET, *named.values()}:
        raise TemplateUnreadable(f"The folder holds files that {_SHEET} does not name: {', '.join(sorted(spare))}.")
    sheet["prompts"] = {role: files[name] for role, name in named.items()}
    sheet["digest"] = folder_digest({name: text.encode() for name, text in files.items()})
    try:
        return Template.model_validate(sheet)
    except ValidationError as error:
        raise TemplateUnreadable(f"{_SHEET} is not a template: {error}") from error


def read_template(folder: Path) -> Template:
    """The template in a folder `NAME/VERSION`; raises `TemplateUnreadable`, also where the folder's name disagrees."""
    try:
        files = {path.name: path.read_bytes().decode() for path in folder.iterdir()}
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateUnreadable(f"The template in {folder.name} cannot be read: {error}") from error
    template = _parsed(tuple(sorted(files.items())))
    if (template.name, template.version) != (folder.parent.name, folder.name):
        raise TemplateUnreadable(f"{folder.parent.name}/{folder.name} calls itself {template.name}/{template.version}.")
    return template


@functools.lru_cache(maxsize=64)
def _parsed(files: tuple[tuple[str, str], ...]) -> Template:
    # One run reads its template a dozen times, and reading YAML takes longer than all the rest of such a look.
    return parse_template(dict(files))


def _fits(usual: Cap, most: Cap) -> None:
    for field in type(usual).model_fields:
        if Decimal(getattr(usual, field)) > Decimal(getattr(most, field)):
            raise ValueError(f"the usual {field} is more than the most")
