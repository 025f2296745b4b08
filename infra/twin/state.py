"""What the twin remembers: people, repositories, issues, comments, tokens and deliveries, all under one lock."""

import base64
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

FIRST_ISSUE_ID = 2_600_000_001
FIRST_COMMENT_ID = 4_300_000_001
FIRST_OTHER_ID = 1_001


@dataclass
class Person:
    """An account: `kind` is GitHub's `type` (User, Bot, Organization, Mannequin)."""

    id: int
    login: str
    kind: str = "User"
    name: str | None = None


@dataclass
class Label:
    """A repository's label."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass
class Reaction:
    """One reaction by one person; `content` is `+1`, `-1`, `eyes` …"""

    id: int
    person: Person
    content: str
    created: datetime


@dataclass
class Comment:
    """A comment in an issue's or pull request's conversation."""

    id: int
    author: Person | None
    body: str
    created: datetime
    updated: datetime
    via_app: bool = False
    editor: Person | None = None
    edited: datetime | None = None
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass
class Happening:
    """One entry of an issue's timeline (labeled, unlabeled, locked, closed …)."""

    id: int
    event: str
    actor: Person
    created: datetime
    via_app: bool = False
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Pull:
    """What an issue has besides when it is a pull request."""

    id: int
    head: str
    head_owner: str
    target: str
    draft: bool
    head_sha: str
    target_sha: str
    merged: datetime | None = None
    merged_by: Person | None = None
    merge_sha: str | None = None
    maintainer_can_modify: bool = False


@dataclass
class Issue:
    """An issue; a pull request is an issue with `pull`. `gone` is `deleted` or the new home's `owner/name#number`."""

    id: int
    number: int
    author: Person | None
    title: str
    body: str | None
    created: datetime
    updated: datetime
    labels: list[Label] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    timeline: list[Happening] = field(default_factory=list)
    state: str = "open"
    state_reason: str | None = None
    closed: datetime | None = None
    closed_by: Person | None = None
    locked: bool = False
    lock_reason: str | None = None
    via_app: bool = False
    editor: Person | None = None
    edited: datetime | None = None
    pull: Pull | None = None
    deleted: bool = False
    moved_to: tuple[int, int] | None = None


@dataclass
class Repo:
    """A repository; `roles`: lower-case login -> role, `custom_roles`: custom role -> the built-in below it."""

    id: int
    owner: Person
    name: str
    created: datetime
    updated: datetime
    private: bool = False
    default_branch: str = "main"
    description: str | None = None
    archived: bool = False
    has_issues: bool = True
    blocked: bool = False
    drafts: bool = True
    web_signing: bool = True
    roles: dict[str, str] = field(default_factory=dict)
    custom_roles: dict[str, str] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    rules: list[dict[str, Any]] = field(default_factory=list)
    check_runs: list[dict[str, Any]] = field(default_factory=list)
    annotations: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    statuses: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    signed: dict[str, datetime] = field(default_factory=dict)
    former_names: list[str] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner.login}/{self.name}"


@dataclass
class Installation:
    """The App on one account: which repositories, which permissions, suspended since when."""

    id: int
    account: Person
    permissions: dict[str, str]
    events: list[str]
    created: datetime
    updated: datetime
    repo_ids: list[int] | None = None
    suspended: datetime | None = None
    suspended_by: Person | None = None


@dataclass
class Token:
    """A minted installation token; `value` never leaves this process except in the answer that mints it."""

    value: str
    digest: str
    installation_id: int
    permissions: dict[str, str]
    repo_ids: list[int] | None
    minted: datetime
    expires: datetime
    revoked: datetime | None = None


@dataclass
class App:
    """The one App that the twin knows, its key and its webhook."""

    id: int
    slug: str
    name: str
    owner: Person
    bot: Person
    public_key: str
    permissions: dict[str, str]
    events: list[str]
    created: datetime
    hook_url: str | None = None
    hook_secret: str = ""
    client_secret: str = ""
    callback_urls: list[str] = field(default_factory=list)

    @property
    def client_id(self) -> str:
        """The client id, an equally good issuer of a JWT (github-facts 48)."""
        return f"Iv23twin{self.id:012d}"


@dataclass(frozen=True)
class Actor:
    """Who does something, and whether it is done through the App's installation token."""

    person: Person
    via_app: bool = False


class World:
    """All state. Take `lock` around every look and change; times are `now()`, which a test may shift."""

    def __init__(self, url: str = "http://127.0.0.1") -> None:
        self.lock = threading.RLock()
        self.url = url
        self.clock_offset = 0.0
        self.token_seconds = 3600
        self.token_format = "stateless"
        self.people: dict[str, Person] = {}
        self.repos: dict[int, Repo] = {}
        self.installations: dict[int, Installation] = {}
        self.tokens: dict[str, Token] = {}
        self.teams: dict[tuple[str, str], set[str]] = {}
        self.app: App | None = None
        self._ids = {"issue": FIRST_ISSUE_ID, "comment": FIRST_COMMENT_ID, "other": FIRST_OTHER_ID}

    def now(self) -> datetime:
        """The twin's time in UTC, whole seconds as GitHub gives them."""
        return datetime.fromtimestamp(self.seconds(), UTC).replace(microsecond=0)

    def moment(self) -> datetime:
        """The twin's time in UTC with its fractions, for what is only compared and never sent."""
        return datetime.fromtimestamp(self.seconds(), UTC)

    def seconds(self) -> float:
        """The twin's time in seconds since 1970."""
        return time.time() + self.clock_offset

    def next_id(self, family: str = "other") -> int:
        """A fresh id; issues and comments start above 2**31 and 2**32, as GitHub's do (LG-01)."""
        value = self._ids[family]
        self._ids[family] = value + 1
        return value

    def start_ids(self, family: str, first: int) -> None:
        """Make the next id of `family` (issue, comment, other) `first`; ValueError when that would repeat ids."""
        if first < self._ids[family]:
            raise ValueError(f"{family} ids have passed {first}")
        self._ids[family] = first

    def person(self, login: str) -> Person | None:
        """The account of that login, whatever its letter case."""
        return self.people.get(login.lower())

    def add_person(self, login: str, kind: str = "User", number: int | None = None) -> Person:
        """The account, made when it is new."""
        known = self.person(login)
        if known is None:
            known = Person(number or self.next_id(), login, kind)
            self.people[login.lower()] = known
        return known

    def repo_named(self, owner: str, name: str) -> Repo | None:
        """The repository of that present name, whatever its letter case."""
        wanted = f"{owner}/{name}".lower()
        return next((repo for repo in self.repos.values() if repo.full_name.lower() == wanted), None)

    def repo_formerly(self, owner: str, name: str) -> Repo | None:
        """The repository that once had that name."""
        wanted = f"{owner}/{name}".lower()
        return next((repo for repo in self.repos.values() if wanted in repo.former_names), None)

    def installation_of(self, repo: Repo) -> Installation | None:
        """The installation that covers the repository, suspended or not."""
        for installation in self.installations.values():
            chosen = installation.repo_ids is None or repo.id in installation.repo_ids
            if installation.account is repo.owner and chosen:
                return installation
        return None

    def covered(self, installation: Installation) -> list[Repo]:
        """The repositories that an installation covers."""
        return [repo for repo in self.repos.values() if self.installation_of(repo) is installation]

    def find_comment(self, repo: Repo, comment_id: int) -> tuple[Issue, Comment] | None:
        """A comment and its issue."""
        for issue in repo.issues:
            for comment in issue.comments:
                if comment.id == comment_id and not issue.deleted:
                    return issue, comment
        return None


def node_id(prefix: str, number: int) -> str:
    """GitHub-like global id: the kind's prefix and the number, in base64url."""
    return f"{prefix}_{base64.urlsafe_b64encode(number.to_bytes(8, 'big')).decode().rstrip('=')}"


def number_of_node(node: str) -> tuple[str, int] | None:
    """The prefix and number inside `node_id`, or None when it is not one of ours."""
    prefix, _, text = node.partition("_")
    try:
        return prefix, int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big")
    except ValueError:
        return None


def stamp(moment: datetime | None) -> str | None:
    """A time as GitHub writes it, `2026-01-02T03:04:05Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None
