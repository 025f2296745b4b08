"""Policy as code: what `.github/countersign.yml` on the default branch says, with safe defaults.

Append-only in its evolution, since policies stand in recorded facts: a new key is optional, and its default says
what was done before it came.
"""

from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.core.pattern import read_pattern
from app.core.plan import CheckName, CommandWords
from app.core.verdict import Refused

POLICY_PATH = ".github/countersign.yml"
POLICY_SCHEMA = "countersign.policy/1"
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


BUILT_IN_ROLES = {
    "read": Level.READ,
    "triage": Level.TRIAGE,
    "write": Level.WRITE,
    "maintain": Level.MAINTAIN,
    "admin": Level.ADMIN,
}


def level_of(permission: str, role_name: str) -> Level:
    """The level behind the two fields of the collaborator permission endpoint.

    `role_name` counts only when it is a built-in role; a custom role falls back to `permission`, which gives
    its base level (github-facts 75). What is not known is none.
    """
    legacy = {"read": Level.READ, "write": Level.WRITE, "admin": Level.ADMIN}
    base = legacy.get(permission, Level.NONE)
    named = BUILT_IN_ROLES.get(role_name)
    if named is None or base is Level.NONE:
        return base
    # `maintain` is told as write and `triage` as read: the role may refine the level, never leap beyond it.
    ceiling = {Level.READ: Level.TRIAGE, Level.WRITE: Level.MAINTAIN, Level.ADMIN: Level.ADMIN}[base]
    if base is Level.ADMIN or named > ceiling:
        return base
    return named


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _own_role(name: str) -> str:
    if name in BUILT_IN_ROLES or name == "none":
        raise ValueError(f"{name} is one of GitHub's own roles; say it with `role`")
    return name


def _path_pattern(text: str) -> str:
    if isinstance(refused := read_pattern(text), Refused):
        raise ValueError(f"{text!r} is no pattern here: {refused.reason.rstrip('.')}")
    return text


AccountId = Annotated[int, Field(ge=1, lt=2**53, strict=True)]
Login = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")]
User = AccountId | Login
"""An account by its numeric id, which stays, or by its login, which is compared without regard to case."""
Team = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
CustomRole = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_own_role)]
PathPattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_path_pattern)]
TemplateWord = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*(@\d+\.\d+\.\d+)?$")]
Host = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?:\d{1,5}$")]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$")]


class Who(_Section):
    """Whose word counts: everybody with the role, and beside them whoever is named."""

    role: Literal["triage", "write", "maintain", "admin", "nobody"] = "write"
    """The lowest of GitHub's roles that is enough; `nobody`: only those who are named below."""
    custom_roles: Annotated[tuple[CustomRole, ...], Field(max_length=30)] = ()
    """Names of the organisation's own roles that are enough as well."""
    users: Annotated[tuple[User, ...], Field(max_length=100)] = ()
    """Accounts by numeric id, which stays, or by login, which can pass to another account."""
    teams: Annotated[tuple[Team, ...], Field(max_length=30)] = ()
    """Teams as `organisation/team`; the App needs to be allowed to read members."""


class Labelling(Who):
    """Who may ask for a plan by setting the label."""

    apps: Annotated[tuple[AccountId, ...], Field(max_length=30)] = ()
    """Numeric user ids of App bots that may set the label; a bot never has authority by its role."""


class Approving(Who):
    """Who may approve, how many of them it takes, and for how long an offer stands."""

    role: Literal["write", "maintain", "admin", "nobody"] = "write"
    """The lowest of GitHub's roles that is enough; `nobody`: only those who are named below."""
    labeller_may_approve: bool = True
    """Whether the one who set the label may approve the plan."""
    days: Annotated[int, Field(ge=1, le=90)] = 7
    """For how many days a plan and an approval stand."""
    author_may_approve: bool = True
    """Whether the issue's author may approve the plan."""
    count: Annotated[int, Field(ge=1, le=5)] = 1
    """How many people have to approve."""
    code_owners: Literal["no", "may", "must"] = "no"
    """Code owners of the paths that a plan touches: `may` approve where all of these paths are theirs, whatever their
    role; or `must`: every path that has owners needs one of them among those who approve."""
    dropped_steps: Literal["ask", "approve"] = "ask"
    """What `/approve steps 1,3` leads to: a version with these steps alone that waits for approval; or one that is
    approved with them by whoever wrote it. A tick that is taken off always leads to one that waits."""


class Cancelling(Who):
    """Who may reject and cancel."""

    labeller_may_cancel: bool = True
    """Whether the one who set the label may end the run as well."""


class Protecting(_Section):
    """Paths that take more than one person: lock files, code owners and this file are always among them."""

    approvals: Annotated[int, Field(ge=1, le=5)] = 2
    """How many people have to approve a plan that touches one."""
    paths: Annotated[tuple[PathPattern, ...], Field(max_length=200)] = ()
    """Further paths, as patterns like those of a code owners file; a folder means all that is below it."""


class Spending(_Section):
    """The most that one run may cost."""

    usd: Annotated[Decimal, Field(gt=0, le=1_000)] = Decimal(10)
    """US dollars that models cost."""
    calls: Annotated[int, Field(ge=1, le=2_000)] = 200
    """Calls of models."""
    minutes: Annotated[int, Field(ge=1, le=600)] = 60
    """Minutes of work."""
    files: Annotated[int, Field(ge=1, le=500)] = 40
    """Files that are changed."""
    lines: Annotated[int, Field(ge=1, le=50_000)] = 2_000
    """Lines that are changed."""


class OwnCheck(_Section):
    """A check of the repository's own: a program with its arguments, word by word. No shell reads it."""

    run: CommandWords
    """The program and its arguments."""
    paths: bool = False
    """Whether paths may be added at its end, to run a part of it."""


class Models(_Section):
    """Models in place of those that a template asks for: `strong`, `standard`, `small`, or a name on the operator's
    list."""

    planner: ModelName | None = None
    """Who plans."""
    scout: ModelName | None = None
    """Who runs the planner's errands."""
    executor: ModelName | None = None
    """Who carries steps out."""
    reviewer: ModelName | None = None
    """Who reviews what was made."""


class FollowingUp(_Section):
    """What is done about a draft once it is open."""

    reviews: Literal["no", "ask", "within_plan"] = "no"
    """On a review that asks for changes: nothing; a plan to approve; or at once, where the approved plan covers it."""
    checks: Literal["no", "ask", "within_plan"] = "no"
    """On a failing check of the draft, likewise."""
    most: Annotated[int, Field(ge=1, le=10)] = 3
    """How often at most in one draft."""


class Policy(_Section):
    """A repository's rules. No file means these defaults; an unknown key is refused."""

    version: Literal[1] = 1
    """The format."""
    templates: Annotated[dict[str, TemplateWord], Field(max_length=100)] = Field(
        default_factory=lambda: {"": "bugfix"} | {name: name for name in BUILT_IN}
    )
    """The word behind `label:` to a template's name, or to one of its versions as in `bugfix@1.0.0`.

    The empty word is the bare label. Where an issue carries several of the labels, the first of them here counts.
    """
    label: Labelling = Labelling()
    approve: Approving = Approving()
    budget: Spending = Spending()
    forbidden_paths: Annotated[tuple[PathPattern, ...], Field(max_length=200)] = ()
    """Paths that no plan may touch, as patterns like those of a code owners file."""
    without_draft: Literal["open", "stop"] = "stop"
    """Where a repository has no draft pull requests: open an ordinary one, marked; or stop and say so."""
    documentation: Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=100)] | None = None
    """Which of the operator's documentation hosts the planner may read, as the operator spells them; all by default."""
    revise: Who | None = None
    """Who may ask for another version; where nothing is said, who may approve."""
    cancel: Cancelling | None = None
    """Who may reject and cancel; where nothing is said, who may approve, and the one who set the label."""
    protected: Protecting = Protecting()
    workflows: Literal["never", "second_approver"] = "never"
    """Whether a plan may touch workflow files, where the operator allows it at all; it takes two people at least."""
    checks: Annotated[dict[CheckName, OwnCheck], Field(max_length=40)] = Field(default_factory=dict)
    """Checks of the repository's own, by the name under which plans choose them."""
    setup: Annotated[tuple[CommandWords, ...], Field(max_length=20)] = ()
    """Commands that make what the checks need, each a program with its arguments. They run for an approved plan only,
    and reach the hosts that it names."""
    hosts: Annotated[tuple[Host, ...], Field(max_length=50)] = ()
    """Hosts that set-up commands reach, as `host:port`; every plan whose checks need them names them."""
    models: Models = Models()
    commits: Literal["as_the_rules_ask", "plain", "conventional"] = "as_the_rules_ask"
    """The form of a commit's message: the plain one, unless the branch's rules ask for another; or always this one."""
    commit_for_each: Literal["plan", "step"] = "plan"
    """Whether the draft's branch has one commit in all, or one for each step of the plan."""
    checks_not_run: Literal["stop", "draft"] = "stop"
    """Where a check of the plan could not be run: no pull request, or a draft that says it is not shown to pass."""
    mode: Literal["live", "staged"] = "live"
    """`staged`: everything is done but the last write; what would be written is shown."""
    follow_up: FollowingUp = FollowingUp()

    @property
    def staged(self) -> bool:
        """Whether everything is done but the last write."""
        return self.mode == "staged"
