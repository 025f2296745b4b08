"""Policy as code: what `.github/countersign.yml` on the default branch says, with safe defaults."""

from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.core.verdict import Refused

POLICY_PATH = ".github/countersign.yml"
MAX_POLICY_BYTES = 64_000
BUILT_IN = ("bugfix", "feature", "docs", "tests", "dependency", "refactor", "research", "replace", "codemod")
"""The templates that the bare label's words name where a repository says nothing else."""


class Level(IntEnum):
    """A person's permission in a repository, in GitHub's order (github-facts 74, 79)."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5


def level_of(permission: str, role_name: str) -> Level:
    """The level behind the two fields of the collaborator permission endpoint.

    `role_name` counts only when it is a built-in role; a custom role falls back to `permission`, which gives
    its base level (github-facts 75). What is not known is none.
    """
    built_in = {"read": Level.READ, "triage": Level.TRIAGE, "write": Level.WRITE, "maintain": Level.MAINTAIN}
    legacy = {"read": Level.READ, "write": Level.WRITE, "admin": Level.ADMIN}
    base = legacy.get(permission, Level.NONE)
    named = built_in.get(role_name)
    if named is None or base is Level.NONE:
        return base
    # `maintain` is told as write and `triage` as read: the role may refine the level, never leap beyond it.
    ceiling = {Level.READ: Level.TRIAGE, Level.WRITE: Level.MAINTAIN, Level.ADMIN: Level.ADMIN}[base]
    if base is Level.ADMIN or named > ceiling:
        return base
    return named


Role = Literal["triage", "write", "maintain", "admin"]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Labelling(_Section):
    """Who may ask for a plan by setting the label."""

    role: Role = "write"
    apps: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Numeric user ids of App bots that may set the label; a bot never has authority by its role."""


class Approving(_Section):
    """Who may approve, and for how long an offer stands."""

    role: Literal["write", "maintain", "admin"] = "write"
    labeller_may_approve: bool = True
    days: Annotated[int, Field(ge=1, le=90)] = 7


class Spending(_Section):
    """The most that one run may cost."""

    usd: Annotated[Decimal, Field(gt=0, le=1_000)] = Decimal(10)
    calls: Annotated[int, Field(ge=1, le=2_000)] = 200
    minutes: Annotated[int, Field(ge=1, le=600)] = 60
    files: Annotated[int, Field(ge=1, le=500)] = 40
    lines: Annotated[int, Field(ge=1, le=50_000)] = 2_000


class Policy(_Section):
    """A repository's rules. No file means these defaults; an unknown key is refused."""

    version: Literal[1] = 1
    templates: dict[str, Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*(@\d+\.\d+\.\d+)?$")]] = Field(
        default_factory=lambda: {"": "bugfix"} | {name: name for name in BUILT_IN}
    )
    """The word behind `label:` to a template's name, or to one of its versions as in `bugfix@1.0.0`.

    The empty word is the bare label.
    """
    label: Labelling = Labelling()
    approve: Approving = Approving()
    budget: Spending = Spending()
    forbidden_paths: tuple[str, ...] = ()
    without_draft: Literal["open", "stop"] = "open"
    """Where a repository has no draft pull requests: open an ordinary one, marked; or stop and say so."""
    documentation: Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=100)] | None = None
    """Which of the operator's documentation hosts the planner may read, as the operator spells them; all by default."""


def parse_policy(text: str) -> Policy | Refused:
    """The policy in a file's text, or one sentence that names the line or the key."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_POLICY_BYTES:
        return Refused(f"{POLICY_PATH} is larger than {MAX_POLICY_BYTES:,} bytes.")
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        return Refused(f"{POLICY_PATH} is not YAML: {where}{getattr(error, 'problem', None) or 'unreadable'}.")
    if loaded is None:
        return Policy()
    if not isinstance(loaded, dict):
        return Refused(f"{POLICY_PATH} must be a mapping of keys to values.")
    try:
        return Policy.model_validate(loaded)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "(top)"
        return Refused(f"{POLICY_PATH}: `{key}`: {first['msg']}.")
