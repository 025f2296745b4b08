"""The plan: the versioned contract between planner, maintainer and executor.

Its evolution is append-only. A released field keeps its name, default and meaning; a new one comes last, optional
and None by default, so that older plans keep their digests; a new shape is a new `schema` number.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app.core.rule import Rule

PLAN_SCHEMA: Literal["countersign.plan/1"] = "countersign.plan/1"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CommitId = Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]
"""A commit id; not assumed to be SHA-1 (github-facts 97)."""
Line = Annotated[int, Field(ge=1, le=10_000_000)]


_BLANK = frozenset(map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)))).union(
    "\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u3164\uffa0"
)
"""Letters and marks by category that show nothing; the two selectors that emoji are written with are not among them."""


def _unseen(ch: str) -> bool:
    return ch in _BLANK or (ch not in "\n\t" and unicodedata.category(ch) in ("Cc", "Cf", "Cs", "Co", "Cn"))


def made_visible(text: str) -> str:
    """The text with every character that nobody would see written out by its number."""
    return "".join(f"\\u{{{ord(ch):04X}}}" if _unseen(ch) else ch for ch in text)


def _seen(text: str) -> str:
    """What an approver cannot see may not be in a plan: control, invisible and private characters are refused."""
    unseen = sorted({f"U+{ord(ch):04X}" for ch in text if _unseen(ch)})
    if unseen:
        raise ValueError(f"holds characters that nobody would see ({', '.join(unseen[:5])}); leave them out")
    return text


Words = Annotated[str, Field(min_length=1, max_length=4_000), AfterValidator(_seen)]
ShortWords = Annotated[str, Field(min_length=1, max_length=600), AfterValidator(_seen)]
RepoPath = Annotated[str, Field(min_length=1, max_length=4_096), AfterValidator(_seen)]


class PlanPart(BaseModel):
    """What all parts share: they do not change once made, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Evidence(PlanPart):
    """A place in the repository at the base commit, and what it shows. Code verifies that the lines exist."""

    path: RepoPath
    start: Line
    end: Line
    shows: Words
    quote: ShortWords | None = None
    """What stands there, letter by letter; code verified that these lines hold it."""

    @model_validator(mode="after")
    def _lines_in_order(self) -> "Evidence":
        if self.end < self.start:
            raise ValueError(f"evidence in {self.path} ends (line {self.end}) before it starts ({self.start})")
        return self


class Who(StrEnum):
    """Who carries a step out: the executor's model, the planner's model in the executor's belt, or the plan's rule."""

    STANDARD = "standard"
    STRONG = "strong"
    RULE = "rule"


class StepTool(StrEnum):
    """The tools that a step may use; reading is always among them.

    `replace` stands for every way to change the text of a file that is there: lines replaced or inserted, a short file
    written anew, a diff.
    """

    READ = "read_file"
    SEARCH = "search"
    REPLACE = "replace"
    CREATE = "create_file"
    DELETE = "delete_file"
    MOVE = "move_file"


class _StepWords(PlanPart):
    id: Annotated[int, Field(ge=1, le=999)]
    intent: Words
    constraints: tuple[ShortWords, ...] = ()
    tools: tuple[StepTool, ...]
    done_when: Words
    who: Who = Who.STANDARD
    no_criterion_because: ShortWords | None = None
    """Why the step is there although no criterion of the plan's acceptance names it."""


class _StepShape(_StepWords):
    path: RepoPath


class RuleUse(PlanPart):
    """What the plan's rule does in one file: in how many places, and the SHA-256 of the whole file afterwards."""

    places: Annotated[int, Field(ge=1, le=100_000)]
    result: Sha256


class ChangeFile(_StepShape):
    """Changes one existing file; by the plan's rule, where `rule` says what comes of it."""

    kind: Literal["change"] = "change"
    tools: tuple[StepTool, ...] = (StepTool.READ, StepTool.SEARCH, StepTool.REPLACE)
    rule: RuleUse | None = None

    @model_validator(mode="after")
    def _rule_has_no_model(self) -> "ChangeFile":
        if (self.rule is not None) != (self.who is Who.RULE):
            raise ValueError(f"step {self.id}: what a rule does is done by the rule, and nothing else is")
        return self


class CreateFile(_StepShape):
    """Creates one new file, with mode 100644."""

    kind: Literal["create"] = "create"
    tools: tuple[StepTool, ...] = (StepTool.READ, StepTool.SEARCH, StepTool.CREATE, StepTool.REPLACE)


class DeleteFile(_StepShape):
    """Deletes one file."""

    kind: Literal["delete"] = "delete"
    tools: tuple[StepTool, ...] = (StepTool.READ, StepTool.SEARCH, StepTool.DELETE)


class MoveFile(_StepShape):
    """Moves one file to `to` and may change it there."""

    kind: Literal["move"] = "move"
    to: RepoPath
    tools: tuple[StepTool, ...] = (StepTool.READ, StepTool.SEARCH, StepTool.MOVE, StepTool.REPLACE)


class AnswerQuestion(_StepWords):
    """Answers one question, which is the intent, by reading. It touches no file."""

    kind: Literal["answer"] = "answer"
    tools: tuple[StepTool, ...] = (StepTool.READ, StepTool.SEARCH)


FileStep = ChangeFile | CreateFile | DeleteFile | MoveFile

Step = Annotated[FileStep | AnswerQuestion, Field(discriminator="kind")]


class Expectation(StrEnum):
    """What a check must show."""

    PASSES = "passes"
    FAILS_BEFORE_PASSES_AFTER = "fails_before_passes_after"


CheckName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9 ._:-]{0,63}$")]


class Check(PlanPart):
    """A named command with its exact argument vector. There is no shell text in a plan."""

    name: CheckName
    argv: Annotated[tuple[str, ...], Field(min_length=1, max_length=64)]
    paths: tuple[RepoPath, ...] = ()
    expect: Expectation = Expectation.PASSES


class Criterion(PlanPart):
    """Something that will be true when the plan is carried out, and which of its steps and checks see to it."""

    id: Annotated[int, Field(ge=1, le=99)]
    words: ShortWords
    steps: Annotated[tuple[int, ...], Field(max_length=300)] = ()
    checks: Annotated[tuple[CheckName, ...], Field(max_length=20)] = ()


CommandWord = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
CommandWords = Annotated[tuple[CommandWord, ...], Field(min_length=1, max_length=64)]
"""A program with its arguments, word by word."""

Dollars = Annotated[str, Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,4})?$")]
"""Money is a decimal string in US dollars, since canonical JSON has no decimals."""


class PlanBudget(PlanPart):
    """Hard caps of the execution."""

    usd: Dollars
    calls: Annotated[int, Field(ge=0, le=10_000)]
    minutes: Annotated[int, Field(ge=1, le=1_440)]
    files: Annotated[int, Field(ge=1, le=1_000)]
    lines: Annotated[int, Field(ge=1, le=100_000)]


class Basis(StrEnum):
    """What an estimate rests on: past runs of the template, the nearest of which there are enough; or its budget."""

    REPOSITORY = "repository"
    SIMILAR = "similar"
    """Repositories of a similar size."""
    TEMPLATE = "template"
    BUDGET = "budget"
    """Nothing was carried out yet that would tell."""


class Estimate(PlanPart):
    """What carrying the plan out will probably cost: the middle half of what past runs did."""

    low: Dollars
    high: Dollars
    basis: Basis
    runs: Annotated[int, Field(ge=0, le=10_000)]
    """How many it rests on; none where it is the template's usual budget."""
    files: Annotated[int, Field(ge=0, le=100_000_000)]
    """How many files the repository had at the base commit."""


class TemplatePin(PlanPart):
    """The template that shaped the plan."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    digest: Sha256 | None = None
    """Of the template's files, so that a pack that was changed after the approval is not taken for the same."""


class ModelPins(PlanPart):
    """The models that made the plan and will carry it out; `none` where a rule does."""

    planner: str
    executor: str
    reviewer: str


class Amends(PlanPart):
    """Which plan this one amends, at which step, and why; all that it does not add is that plan's, to the letter."""

    plan: Sha256
    step: Annotated[int, Field(ge=1, le=999)]
    why: Words


class Plan(PlanPart):
    """The contract. The executor can do nothing that it does not say."""

    schema_: Annotated[Literal["countersign.plan/1"], Field(alias="schema")] = PLAN_SCHEMA
    run: Annotated[str, Field(pattern=r"^[a-z0-9-]{6,40}$")]
    version: Annotated[int, Field(ge=1, le=999)]
    template: TemplatePin
    models: ModelPins
    repository_id: Annotated[int, Field(ge=1, lt=2**53)]
    issue_number: Annotated[int, Field(ge=1, lt=2**53)]
    issue_digest: Sha256
    base_branch: Annotated[str, Field(min_length=1, max_length=255)]
    base_commit: CommitId
    summary: Words
    hypothesis: Words
    evidence: Annotated[tuple[Evidence, ...], Field(min_length=1, max_length=40)]
    constraints: tuple[ShortWords, ...] = ()
    out_of_scope: tuple[ShortWords, ...] = ()
    risks: tuple[ShortWords, ...] = ()
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=300)]
    checks: Annotated[tuple[Check, ...], Field(max_length=20)]
    stop_conditions: tuple[ShortWords, ...] = ()
    budget: PlanBudget
    hosts: tuple[Annotated[str, Field(pattern=r"^[a-z0-9.-]+:\d{1,5}$")], ...] = ()
    protected_paths: tuple[RepoPath, ...] = ()
    rule: Rule | None = None
    """The mechanical rule that every step applies, where no model has a part."""
    acceptance: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=30)] | None = None
    """What the plan itself says it will bring about; every step and check is held against it."""
    no_test_because: ShortWords | None = None
    """Why a defect is mended without a regression test."""
    estimate: Estimate | None = None
    setup: Annotated[tuple[CommandWords, ...], Field(min_length=1, max_length=20)] | None = None
    """What runs first, with `hosts` in reach, to make what the checks need; no shell reads it."""
    amends: Amends | None = None

    @model_validator(mode="after")
    def _ids_rise(self) -> "Plan":
        for what, parts in (("step", self.steps), ("acceptance", self.acceptance or ())):
            ids = [part.id for part in parts]
            if ids != sorted(set(ids)):
                raise ValueError(f"{what} ids must be different and rising")
        return self

    @model_validator(mode="after")
    def _steps_are_of_one_sort(self) -> "Plan":
        if self.questions() and (self.file_steps() or self.checks):
            raise ValueError("a plan that answers questions changes no file and has no checks")
        by_rule = [step for step in self.steps if step.who is Who.RULE]
        if len(by_rule) != (0 if self.rule is None else len(self.steps)):
            raise ValueError("either every step applies the plan's rule, or there is no rule")
        return self

    def file_steps(self) -> tuple[FileStep, ...]:
        """The steps that touch a file."""
        return tuple(step for step in self.steps if not isinstance(step, AnswerQuestion))

    def questions(self) -> tuple[AnswerQuestion, ...]:
        """The steps that answer a question: all of them, or none."""
        return tuple(step for step in self.steps if isinstance(step, AnswerQuestion))

    def paths(self) -> frozenset[str]:
        """Every path that a step names; a moved file counts twice."""
        named = {step.path for step in self.file_steps()}
        return frozenset(named | {step.to for step in self.file_steps() if isinstance(step, MoveFile)})


TEST_FOLDERS = ("tests", "test", "__tests__", "spec")


def sibling_tests(path: str) -> frozenset[str]:
    """File names that count as the tests beside `path`, without their folder.

    The stated rule: a file so named is in scope where it stands in the touched file's folder or below a folder
    called tests, test, __tests__ or spec, so that a sibling test needs no amendment.
    """
    name = path.rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return frozenset()
    forms = (f"test_{stem}", f"{stem}_test", f"{stem}.test", f"{stem}.spec", f"{stem}Test", f"{stem}_spec")
    return frozenset(f"{form}.{ending}" for form in forms)


@dataclass(frozen=True, slots=True)
class Beside:
    """The tests beside some touched files, by name, to be looked up."""

    folders: Mapping[str, frozenset[str]]
    """By the name of a test, the folders of the files that it stands beside."""

    @classmethod
    def of(cls, touched: Iterable[str]) -> "Beside":
        folders: dict[str, set[str]] = {}
        for path in touched:
            for name in sibling_tests(path):
                folders.setdefault(name, set()).add(path.rpartition("/")[0])
        return cls({name: frozenset(places) for name, places in folders.items()})

    def holds(self, path: str) -> bool:
        """True when `path` is a test beside one of the touched files."""
        folder, _, name = path.rpartition("/")
        places = self.folders.get(name, frozenset())
        return folder in places or (bool(places) and not set(folder.split("/")).isdisjoint(TEST_FOLDERS))


def in_scope(plan: Plan, path: str) -> bool:
    """True when the plan names `path`, or it is a test beside a file that the plan touches."""
    return path in plan.paths() or stands_beside(path, plan.paths())


def stands_beside(path: str, touched: Iterable[str]) -> bool:
    """True when `path` is a test beside one of the touched files."""
    return Beside.of(touched).holds(path)
