"""An issue of GitHub's and its repository, brought to this machine by requests that only read.

The user's own token is used here alone: it is in no environment of another process but git's for one fetch, in no
file and in no word that is said.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from app.settings import api_url, web_address
from infra.demo.local import Subject
from infra.demo.stage import DemoRefused, Told, undisturbed
from worker.github.asking import Anonymous, Credential
from worker.github.connection import connect
from worker.github.errors import (
    Conflict,
    Forbidden,
    GitHubError,
    Gone,
    IssuesOff,
    Moved,
    NotFound,
    RateLimited,
    Unauthorized,
    Unreachable,
)
from worker.github.reader import Reader
from worker.github.views import CommentView, IssueView, RepositoryRef, RepositoryView
from worker.repo.git import Git, GitError
from worker.repo.mirror import MirrorError, Mirrors, Remote
from worker.settings import git_transport

MOST_COMMENTS = 100
"""Comments that are brought: one page of GitHub's."""

_OF_GITHUB_COM, _OF_SERVERS = ("GH_TOKEN", "GITHUB_TOKEN"), ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
TOKENS = (*_OF_GITHUB_COM, *_OF_SERVERS)
"""Where a person's own token usually is (cli.github.com/manual/gh_help_environment)."""

_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9._-]{1,100})#([1-9][0-9]{0,9})")


@dataclass(frozen=True, slots=True)
class Named:
    """An issue by name, as `owner/name#7`."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where GitHub is, and the variable with the user's token for it; both empty where there is none."""

    api_url: str
    variable: str = ""
    token: str = field(default="", repr=False)

    def bearer(self) -> str:
        return self.token

    def renew(self) -> bool:
        """There is no other one."""
        return False

    @property
    def is_public(self) -> bool:
        """github.com or a tenant of ghe.com, for which other variables are usual than for a server of one's own."""
        return _is_public(self.api_url)


def named(words: str) -> Named | None:
    """The issue that is named so; None for any other words."""
    found = _NAME.fullmatch(words)
    return Named(f"{found[1]}/{found[2]}", int(found[3])) if found and found[2] not in (".", "..") else None


def entrance(env: Mapping[str, str]) -> Entrance:
    """`GITHUB_API_URL`, and the first token that is set for such a host. Raises `SettingsWrong`, `DemoRefused`.

    A token for github.com is sent to no other server, nor the other way round, as gh keeps it.
    """
    url = api_url(env)
    for variable in _OF_GITHUB_COM if _is_public(url) else _OF_SERVERS:
        token = env.get(variable, "").strip()
        if not token.isascii() or not token.isprintable() or " " in token:
            raise DemoRefused(f"{variable} holds no token: a token is one word of plain characters.")
        if token:
            return Entrance(url, variable, token)
    return Entrance(url)


def _is_public(url: str) -> bool:
    host = urlsplit(web_address(url)).hostname or ""
    return host == "github.com" or host.endswith(".ghe.com")


@contextmanager
def brought(wanted: Named, env: Mapping[str, str]) -> Iterator[Subject]:
    """The newest commit of the default branch as a clone, and the issue with its comments. Raises `DemoRefused`.

    The clone is one commit deep and gone after the block, unless it was moved away.
    """
    where = entrance(env)
    read = _read(wanted, where)
    room = Path(tempfile.mkdtemp(prefix="countersign-try-"))
    try:
        folder = room / read.view.full_name.rpartition("/")[2]
        try:
            _clone(read, where, room, folder, git_transport(env))
        except (MirrorError, GitError, OSError) as error:
            raise DemoRefused(f"{read.view.full_name} could not be brought here: {error}") from error
        yield Subject(folder, read.commit, folder, read.told, f"{folder.name}-issue-{wanted.number}")
    finally:
        with undisturbed():
            shutil.rmtree(room, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Read:
    view: RepositoryView
    commit: str
    told: Told


def _read(wanted: Named, where: Entrance) -> _Read:
    """Four requests: the repository, the issue, its comments, the newest commit."""
    credential: Credential = where if where.token else Anonymous()
    at = "repository"
    try:
        with connect(where.api_url, credential) as connection:
            view = Reader(connection, RepositoryRef(0, wanted.repository)).repository()
            reader, at = Reader(connection, RepositoryRef(view.id, view.full_name)), "issue"
            refuse_unfit(view)
            issue = reader.issue(wanted.number)
            if issue.is_pull_request:
                raise DemoRefused(f"{wanted} is a pull request. An issue's number is wanted.")
            comments = reader.first_comments(wanted.number, MOST_COMMENTS) if issue.comments else ()
            at = "branch"
            return _Read(view, reader.head_of(view.default_branch), told_of(issue, comments))
    except GitHubError as error:
        raise DemoRefused(sentence(error, at, wanted, where, datetime.now().astimezone())) from error


def refuse_unfit(view: RepositoryView) -> None:
    """Raises `DemoRefused` for a repository in which no change could come of an issue."""
    if view.archived or view.disabled:
        how = "archived" if view.archived else "disabled"
        raise DemoRefused(
            f"{view.full_name} is {how}, so no change can come into it. To try all the same, clone it and put the "
            "issue into a file: countersign try PATH ISSUE.md"
        )
    if not view.has_issues:
        raise DemoRefused(f"{view.full_name} has its issues switched off. An issue can be a file as well.")


def told_of(issue: IssueView, comments: tuple[CommentView, ...]) -> Told:
    """The issue as it is put before the planner; each comment says who wrote it, since nobody of GitHub's is here."""
    spoken = tuple(
        f"`{one.author.login if one.author else 'somebody'}` wrote on {one.created_at:%Y-%m-%d}:\n\n{one.body}"
        for one in comments
        if one.body.strip()
    )
    return Told(issue.title.strip() or f"Issue {issue.number}", issue.body, spoken)


def sentence(error: GitHubError, at: str, wanted: Named, where: Entrance, now: datetime) -> str:
    """What went wrong and what to do, for the one at the terminal. `at`: `repository`, `issue` or `branch`."""
    variable = where.variable or (_OF_GITHUB_COM if where.is_public else _OF_SERVERS)[0]
    match error:
        case Unauthorized():
            return (
                f"GitHub does not accept the token in {variable} (bad credentials): it has expired, was revoked or is "
                "another server's. Set a good one, or unset it for a public repository."
            )
        case RateLimited():
            until = now + timedelta(seconds=error.retry_after)
            whose = f"with the token in {variable}" if where.token else "without a token (60 an hour for an address)"
            more = "" if where.token else f", or set {variable}: with a token the limit is far higher"
            minutes = max(1, round(error.retry_after / 60))
            return (
                f"GitHub's limit for requests {whose} is reached until {until:%H:%M} ({minutes} min). "
                f"Wait until then{more}."
            )
        case NotFound() if at == "repository" and where.token:
            return (
                f"GitHub shows no repository {wanted.repository} to the token in {variable}: there is none of that "
                "name, or the token may not read it."
            )
        case NotFound() if at == "repository":
            return (
                f"GitHub shows no repository {wanted.repository} without a token: there is none of that name, or it is "
                f"private. For a private one set {variable} to a token that may read its contents and issues."
            )
        case NotFound() if at == "issue":
            return f"{wanted.repository} has no issue {wanted.number}, or the token may not read issues."
        case Conflict() | NotFound():
            return f"{wanted.repository} is empty: it has no commit on its default branch, so nothing can be changed."
        case IssuesOff():
            return f"{wanted.repository} has its issues switched off. An issue can be a file as well."
        case Gone():
            return f"Issue {wanted.number} of {wanted.repository} was deleted."
        case Moved():
            what = wanted.repository if at == "repository" else f"Issue {wanted.number} of {wanted.repository}"
            return f"{what} has moved. Name it as it is named now."
        case Unreachable():
            return f"GitHub could not be reached at {where.api_url}: {error.reason} Check the network, then try again."
        case Forbidden():
            return f"{error.reason} Check what the token in {variable} may read, and whether its organisation lets it."
        case _:
            return f"{error.reason} Try again later."


def _clone(read: _Read, where: Entrance, room: Path, folder: Path, network: Mapping[str, str]) -> None:
    """A clone at the commit, with its files; nothing of it but what git itself writes is run or asked."""
    url = f"{web_address(where.api_url)}/{read.view.full_name}.git"
    mirror = Mirrors(room / "mirrors", network).mirror("github", read.view.id)
    mirror.fetch(Remote(url, where.token), read.commit, depth=1)
    folder.mkdir()
    os.replace(mirror.directory, folder / ".git")
    git, branch = Git(folder / ".git"), f"refs/heads/{read.view.default_branch}"
    git.run("update-ref", branch, read.commit)
    git.run("symbolic-ref", "HEAD", branch)
    git.run("update-ref", "-d", f"refs/countersign/{read.commit}")
    git.run("config", "core.bare", "false")
    git.run("remote", "add", "origin", url)
    Git(folder / ".git", folder=folder).run("reset", "--quiet", "--hard")
