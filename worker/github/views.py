"""What we read from GitHub: small values that ignore every field they do not know (github-facts 177).

Each class says only what the product uses; ids may be larger than 32 bits; times are aware.
"""

from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from worker.github.errors import Call, NotUnderstood


class RepositoryRef(Struct, frozen=True):
    """Which repository: `id` stays when it is renamed, `full_name` is `owner/name`."""

    id: int
    full_name: str

    @property
    def owner(self) -> str:
        return self.full_name.partition("/")[0]


class Account(Struct, frozen=True):
    """A person, App or organization. `kind` is GitHub's type: `User`, `Bot`, `Organization`, `Mannequin` or newer."""

    id: int
    login: str
    kind: str = field(name="type", default="User")


class RepositoryView(Struct, frozen=True):
    """A repository's flags that decide whether work can begin (github-facts 109)."""

    id: int
    full_name: str
    default_branch: str = ""
    private: bool = False
    archived: bool = False
    disabled: bool = False
    fork: bool = False
    has_issues: bool = True
    visibility: str = ""
    html_url: str = ""
    size: int = 0
    web_commit_signoff_required: bool = False


class LabelView(Struct, frozen=True):
    """A label; `id` survives a rename (github-facts 4)."""

    name: str
    id: int = 0


class IssueView(Struct, frozen=True):
    """An issue or pull request as the Issues endpoints show it.

    `author` is None for a deleted account. `body` is empty when there is none. `is_pull_request` is true when the
    number belongs to a pull request; `id` is then still the issue's id (github-facts 11).
    """

    number: int
    id: int
    title: str
    state: str
    updated_at: datetime
    node_id: str = ""
    text: str | None = field(name="body", default=None)
    author: Account | None = field(name="user", default=None)
    locked: bool = False
    comments: int = 0
    reason: str | None = field(name="state_reason", default=None)
    marks: tuple[LabelView | str, ...] = field(name="labels", default=())
    html_url: str = ""
    pull_request: dict[str, Any] | None = None

    @property
    def body(self) -> str:
        return self.text or ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels."""
        return tuple(mark if isinstance(mark, str) else mark.name for mark in self.marks)

    @property
    def is_pull_request(self) -> bool:
        return self.pull_request is not None


class CommentView(Struct, frozen=True):
    """A comment in an issue's or pull request's conversation; `author` is None for a deleted account.

    `author_association` proves nothing (github-facts 73).
    """

    id: int
    node_id: str
    created_at: datetime
    updated_at: datetime
    text: str | None = field(name="body", default=None)
    author: Account | None = field(name="user", default=None)
    html_url: str = ""
    issue_url: str = ""
    author_association: str = ""

    @property
    def body(self) -> str:
        return self.text or ""

    @property
    def issue_number(self) -> int | None:
        """The number of the conversation it belongs to; None when GitHub did not say."""
        last = self.issue_url.rpartition("/")[2]
        return int(last) if last.isascii() and last.isdigit() else None


class Permission(Struct, frozen=True):
    """What a login may do in a repository (github-facts 74).

    `legacy` is `admin`, `write`, `read` or `none` (maintain counts as write, triage as read). `role_name` is the real
    role, also a custom one. `user_id` is whose permission this is, None when GitHub knows no such user.
    """

    legacy: str
    role_name: str
    user_id: int | None


class TimelineEvent(Struct, frozen=True):
    """One entry of an issue's timeline; fields that an entry does not have are None."""

    event: str
    id: int | None = None
    actor: Account | None = None
    created_at: datetime | None = None
    label: LabelView | None = None


class Thumb(Struct, frozen=True):
    """One 👍 and whose it is. Without a permission check it proves nothing (github-facts 45)."""

    reaction_id: int
    user_id: int
    login: str
    created_at: datetime


class CommentReactions(Struct, frozen=True):
    """A comment as it stands now, with every 👍 on it; `edited_at` is None when it was never edited."""

    body: str
    created_at: datetime
    edited_at: datetime | None
    minimized: bool
    thumbs: tuple[Thumb, ...]


class CheckOutput(Struct, frozen=True):
    """What a check says for itself: texts as whoever reported it wrote them, and how many annotations there are."""

    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations_count: int = 0


class CheckRunView(Struct, frozen=True):
    """One check of a commit. `conclusion` is None until `status` is `completed`."""

    id: int
    name: str
    status: str
    conclusion: str | None = None
    html_url: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    output: CheckOutput | None = None


class Annotation(Struct, frozen=True):
    """A check's remark on lines of a file; `level` is `notice`, `warning` or `failure`."""

    path: str
    start_line: int
    level: str | None = field(name="annotation_level", default=None)
    title: str | None = None
    message: str | None = None
    raw_details: str | None = None


class StatusView(Struct, frozen=True):
    """The newest status of one context on a commit; `state` is `error`, `failure`, `pending` or `success`."""

    context: str
    state: str
    description: str | None = None
    target_url: str | None = None


class Statuses(Struct, frozen=True):
    """The statuses of a commit, at most 100 of `total_count`, and the worst of them as `state`."""

    state: str
    total_count: int
    statuses: tuple[StatusView, ...] = ()


class Speaking(Struct, frozen=True):
    """An issue or pull request that speaks of another. `repository` is None where GitHub does not say it."""

    number: int
    title: str
    state: str = ""
    pull_request: dict[str, Any] | None = None
    repository: RepositoryRef | None = None


class _Source(Struct, frozen=True):
    issue: Speaking | None = None


class Mention(Struct, frozen=True):
    """An entry of a timeline, of which only those are of use where somebody or a commit speaks of the issue."""

    event: str = ""
    created_at: datetime | None = None
    commit_id: str | None = None
    source: _Source | None = None

    @property
    def speaking(self) -> Speaking | None:
        """Which issue or pull request speaks of it."""
        return self.source.issue if self.source and self.event == "cross-referenced" else None


class PullFile(Struct, frozen=True):
    """A file that a pull request changes; `status` is `added`, `removed`, `modified`, `renamed` or newer."""

    path: str = field(name="filename")
    status: str
    additions: int = 0
    deletions: int = 0
    before: str | None = field(name="previous_filename", default=None)


class BranchRule(Struct, frozen=True):
    """An active rule for a branch name; whether the App may pass it is not told (github-facts 124)."""

    kind: str = field(name="type")
    parameters: dict[str, Any] = {}
    ruleset_id: int | None = None


class PullEnd(Struct, frozen=True):
    """One end of a pull request; `repo` is None when that fork was deleted."""

    ref: str
    sha: str
    repo: RepositoryRef | None = None


class PullView(Struct, frozen=True):
    """A pull request; `id` is the pull request's own id; `author` is None for a deleted account."""

    number: int
    id: int
    node_id: str
    state: str
    title: str
    head: PullEnd
    base: PullEnd
    text: str | None = field(name="body", default=None)
    author: Account | None = field(name="user", default=None)
    draft: bool = False
    merged_at: datetime | None = None
    merge_commit: str | None = field(name="merge_commit_sha", default=None)
    changed_files: int | None = None
    """None where the pull request was listed with others."""
    html_url: str = ""

    @property
    def body(self) -> str:
        return self.text or ""


class _Parent(Struct, frozen=True):
    sha: str


class PullCommit(Struct, frozen=True):
    """A commit of a pull request; `author` is None where GitHub knows no account for it."""

    sha: str
    parents: tuple[_Parent, ...] = ()
    author: Account | None = None


class FileView(Struct, frozen=True):
    """A file's bytes at a commit; `sha` is its blob."""

    path: str
    sha: str
    content: bytes


class Verification(Struct, frozen=True):
    """Whether GitHub shows a commit as verified, and its word why (github-facts 115)."""

    verified: bool = False
    reason: str = ""


class ObjectRef(Struct, frozen=True):
    """A git object by its id."""

    sha: str


class CommitView(Struct, frozen=True):
    """A commit of the git database."""

    sha: str
    message: str
    tree: ObjectRef
    parents: tuple[ObjectRef, ...]
    verification: Verification = Verification()


class RefView(Struct, frozen=True):
    """A reference by its full name (`refs/heads/main`) and where it points."""

    ref: str
    target: ObjectRef = field(name="object")


class ChangedFile(Struct, frozen=True):
    """A file of a comparison, by both of its names where it was moved."""

    filename: str
    previous_filename: str | None = None


class ComparisonView(Struct, frozen=True):
    """What changed from one commit to another: `status` is `ahead`, `identical`, `behind` or `diverged`; at most 300
    files are named."""

    status: str
    files: tuple[ChangedFile, ...] = ()


T = TypeVar("T")


def decode(kind: type[T], content: object, call: Call) -> T:
    """`content` (parsed JSON) as a `kind`. Raises `NotUnderstood` when a field we need is missing or odd."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        described = str(problem)
    raise NotUnderstood(f"GitHub's answer lacks something we need: {described}.", call)
