"""Writes to one repository: a `Commenter` speaks on issues, a `Publisher` makes branches and draft pull requests.

What was made before is found before it is made again (case QU-04), and no call that creates content is repeated by
itself: after an error with `maybe_done`, call the same method again and it looks first. Nothing here moves, forces
or deletes a branch.
"""

import base64
import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from worker.github.connection import Connection
from worker.github.errors import AlreadyExists, Call, NotFound, NotUnderstood
from worker.github.place import Place, segment, segments
from worker.github.reader import every_comment, pulls_by_head
from worker.github.views import (
    CommentView,
    CommitView,
    ObjectRef,
    PullView,
    RefView,
    RepositoryRef,
    RepositoryView,
    Verification,
)

_MINIMISE = """mutation($id: ID!, $why: ReportedContentClassifiers!) {
  minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } }
}"""
_LOOKS_LIKE_AN_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)
_BRANCH_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9._/-]{0,198}[A-Za-z0-9_-])?")


class How(StrEnum):
    """How something came to be there: made by this call, found from an earlier one, or found and brought up to date."""

    MADE = "made"
    FOUND = "found"
    UPDATED = "updated"


class Why(StrEnum):
    """Why a comment is hidden."""

    OUTDATED = "OUTDATED"
    RESOLVED = "RESOLVED"


class Smile(StrEnum):
    """A reaction, as REST names it."""

    SEEN = "eyes"
    THUMBS_UP = "+1"
    THUMBS_DOWN = "-1"
    ROCKET = "rocket"
    CONFUSED = "confused"


class Said(Struct, frozen=True):
    """A comment of ours that is there now."""

    comment: CommentView
    how: How


class FileMode(StrEnum):
    """The modes that the publisher writes; a symbolic link's content is its target."""

    PLAIN = "100644"
    EXECUTABLE = "100755"
    SYMLINK = "120000"


class Put(Struct, frozen=True):
    """A file as it shall be afterwards, new or changed."""

    path: str
    content: bytes
    mode: FileMode = FileMode.PLAIN


class Delete(Struct, frozen=True):
    """A file that shall not be there afterwards; it must be there before (github-facts 117)."""

    path: str


class Move(Struct, frozen=True):
    """A file that shall be at `to` instead of `path`, with that content and mode."""

    path: str
    to: str
    content: bytes
    mode: FileMode = FileMode.PLAIN


Change = Put | Delete | Move


class CommitMade(Struct, frozen=True):
    """A commit that is there now, and whether GitHub signed it (github-facts 114, 115)."""

    sha: str
    tree: str
    verification: Verification


class Work(Struct, frozen=True):
    """What a branch shall hold: one commit with this message on `parent`, with these changes."""

    parent: str
    message: str
    changes: tuple[Change, ...]


class Landed(Struct, frozen=True):
    """A branch of ours that is there now, with one commit of ours at its head."""

    branch: str
    commit: CommitMade
    how: How


class PullRequested(Struct, frozen=True):
    """A pull request of ours that is there now; look at `pull.state`, somebody may have closed a found one."""

    pull: PullView
    how: How


class _Sha(Struct):
    sha: str


class _Reaction(Struct):
    id: int


class Commenter:
    """Speaks on issues and pull requests of one repository as the bot user `bot_user_id`."""

    def __init__(self, connection: Connection, repository: RepositoryRef, bot_user_id: int) -> None:
        self._connection = connection
        self._place = Place(connection, repository)
        self._bot_user_id = bot_user_id

    def create_comment(self, number: int, body: str) -> CommentView:
        """A new comment; asked once, 201 required. Prefer `say`, which looks first."""
        return self._place.create(CommentView, f"/issues/{number}/comments", {"body": body})

    def update_comment(self, comment_id: int, body: str) -> CommentView:
        """The comment holds `body`. Raises `NotFound` when somebody deleted it."""
        return self._place.change(CommentView, f"/issues/comments/{comment_id}", {"body": body})

    def find_comment(self, number: int, marker: str, since: datetime | None = None) -> CommentView | None:
        """Our own oldest comment that holds `marker`, from all pages; a copy of the marker by anybody else does not
        count. `since` spares the pages before a time at which it cannot have been there."""
        for comment in every_comment(self._place, number, since):
            if comment.author is not None and comment.author.id == self._bot_user_id and marker in comment.body:
                return comment
        return None

    def say(self, number: int, marker: str, body: str, since: datetime | None = None) -> Said:
        """There is one comment of ours with `marker` and it holds `body`; calling again changes nothing."""
        if marker not in body:
            raise ValueError("the body must hold its marker, or it could not be found again")
        found = self.find_comment(number, marker, since)
        if found is None:
            return Said(self.create_comment(number, body), How.MADE)
        if _same_text(found.body, body):
            return Said(found, How.FOUND)
        return Said(self.update_comment(found.id, body), How.UPDATED)

    def minimise(self, node_id: str, why: Why = Why.OUTDATED) -> None:
        """The comment is folded away; one that is hidden already stays so."""
        answer = self._connection.graphql(_MINIMISE, {"id": node_id, "why": why.value})
        done = answer.get("minimizeComment") or {}
        if not (done.get("minimizedComment") or {}).get("isMinimized"):
            raise NotUnderstood("GitHub did not say that the comment is hidden now.", Call("POST", "/graphql"))

    def react(self, comment_id: int, smile: Smile) -> None:
        """Our reaction is on the comment; 200 means that it was there already (github-facts 43)."""
        path = f"/issues/comments/{comment_id}/reactions"
        self._place.create(_Reaction, path, {"content": smile.value}, expected=(200, 201))

    def react_to_issue(self, number: int, smile: Smile) -> None:
        """Our reaction is on the issue itself."""
        self._place.create(_Reaction, f"/issues/{number}/reactions", {"content": smile.value}, expected=(200, 201))


class Publisher:
    """Makes branches, commits and pull requests in one repository as the bot user `bot_user_id`."""

    def __init__(self, connection: Connection, repository: RepositoryRef, bot_user_id: int) -> None:
        self._place = Place(connection, repository)
        self._repository = repository
        self._bot_user_id = bot_user_id

    def blob(self, content: bytes) -> str:
        """The id of a blob with those bytes; uploaded as base64, so that nothing is re-encoded (github-facts 118)."""
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return self._place.add(_Sha, "/git/blobs", body).sha

    def tree(self, parent: str, changes: Sequence[Change]) -> str:
        """The id of the tree that the commit `parent` has, with `changes`; every other path stays as it is.

        Raises ValueError for no change, and for a path that is named twice or leaves the repository.
        """
        _check_paths(changes)
        base_tree = self._commit(parent).tree.sha
        entries = [entry for change in changes for entry in self._entries(change)]
        return self._place.add(_Sha, "/git/trees", {"base_tree": base_tree, "tree": entries}).sha

    def commit(self, message: str, tree: str, parents: Sequence[str]) -> CommitMade:
        """A new commit on no branch. No author or committer is sent, so that GitHub signs it (github-facts 114)."""
        body = {"message": message, "tree": tree, "parents": list(parents)}
        return _made(self._place.add(CommitView, "/git/commits", body))

    def find_branch(self, name: str) -> str | None:
        """The commit that a branch points at; None when there is none."""
        try:
            return self._place.one(RefView, f"/git/ref/heads/{segments(name)}").target.sha
        except NotFound:
            return None

    def create_branch(self, name: str, commit: str, base: str) -> How:
        """The branch `name` is there and points at `commit`. Never moves one that is there (case GT-01).

        Raises ValueError for the base or default branch and for names that GitHub refuses or could misread, and
        `AlreadyExists` when the name is taken by another commit.
        """
        self._check_branch(name, base)
        try:
            self._place.add(RefView, "/git/refs", {"ref": f"refs/heads/{name}", "sha": commit})
        except AlreadyExists:
            if self.find_branch(name) == commit:
                return How.FOUND
            raise
        return How.MADE

    def land(self, name: str, base: str, work: Work) -> Landed:
        """The branch `name` holds `work` as one commit on `work.parent`; calling again finds it.

        A branch of that name whose head is anything else raises `AlreadyExists` and is left alone.
        """
        self._check_branch(name, base)
        tree = self.tree(work.parent, work.changes)
        head = self.find_branch(name)
        if head is not None:
            there = self._commit(head)
            if not _is_work(there, tree, work):
                raise _taken(name)
            return Landed(name, _made(there), How.FOUND)
        made = self.commit(work.message, tree, [work.parent])
        return Landed(name, made, self.create_branch(name, made.sha, base))

    def find_pull(self, branch: str) -> PullView | None:
        """Our own pull request from that branch of this repository, an open one first; None when there is none."""
        ours = [pull for pull in self._pulls(branch) if self._is_ours(pull)]
        return next((pull for pull in ours if pull.state == "open"), ours[0] if ours else None)

    def open_draft(self, head: str, base: str, title: str, body: str) -> PullRequested:
        """There is a pull request of ours from the branch `head`: found, or opened as a draft.

        Raises `DraftUnsupported` where there are no drafts (case GH-01), `AlreadyExists` when an open one is
        somebody else's.
        """
        return self._open({"head": head, "base": base, "title": title, "body": body, "draft": True})

    def open_undrafted(self, head: str, base: str, title: str, body: str) -> PullRequested:
        """As `open_draft`, but ready for review: for where drafts do not exist and policy says so. The caller's title
        or body must say that nobody reviewed it."""
        return self._open({"head": head, "base": base, "title": title, "body": body, "draft": False})

    def _open(self, wanted: dict[str, str | bool]) -> PullRequested:
        branch = str(wanted["head"])
        found = self.find_pull(branch)
        if found is not None:
            return PullRequested(found, How.FOUND)
        try:
            made = self._place.create(PullView, "/pulls", wanted)
        except AlreadyExists:
            # Somebody was faster, perhaps an earlier call of ours whose answer was lost.
            found = self.find_pull(branch)
            if found is None:
                raise
            return PullRequested(found, How.FOUND)
        return PullRequested(made, How.MADE)

    def _pulls(self, branch: str) -> tuple[PullView, ...]:
        pulls = pulls_by_head(self._place, self._repository.owner, branch)
        return tuple(pull for pull in pulls if pull.head.repo is not None and pull.head.repo.id == self._repository.id)

    def _is_ours(self, pull: PullView) -> bool:
        return pull.author is not None and pull.author.id == self._bot_user_id

    def _commit(self, sha: str) -> CommitView:
        return self._place.one(CommitView, f"/git/commits/{segment(sha)}")

    def _entries(self, change: Change) -> list[dict[str, str | None]]:
        if isinstance(change, Delete):
            return [_entry(change.path, FileMode.PLAIN, None)]
        if isinstance(change, Move):
            gone = _entry(change.path, FileMode.PLAIN, None)
            return [gone, _entry(change.to, change.mode, self.blob(change.content))]
        return [_entry(change.path, change.mode, self.blob(change.content))]

    def _check_branch(self, name: str, base: str) -> None:
        refuse_branch_name(name)
        if name in (base, self._place.one(RepositoryView, "").default_branch):
            raise ValueError(f"the branch {name!r} is the base or the default branch and is never written")


def refuse_branch_name(name: str) -> None:
    """Raises ValueError for a branch name that git or GitHub refuses or could misread (github-facts 123)."""
    parts = name.split("/")
    bad_part = any(not part or part.startswith(".") or part.endswith((".lock", ".")) for part in parts)
    well_formed = _BRANCH_NAME.fullmatch(name) and not bad_part and ".." not in name
    if not well_formed or _LOOKS_LIKE_AN_OBJECT_ID.fullmatch(name) or parts[0] == "refs" or name == "HEAD":
        raise ValueError(f"not a safe branch name: {name!r}")


def _check_paths(changes: Sequence[Change]) -> None:
    paths = [path for change in changes for path in _paths(change)]
    if not paths or len(set(paths)) != len(paths):
        raise ValueError("a tree needs at least one change, and names each path once")
    for path in paths:
        parts = path.split("/")
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or "\0" in path:
            raise ValueError(f"not a path inside the repository: {path!r}")


def _paths(change: Change) -> tuple[str, ...]:
    return (change.path, change.to) if isinstance(change, Move) else (change.path,)


def _entry(path: str, mode: FileMode, sha: str | None) -> dict[str, str | None]:
    return {"path": path, "mode": mode.value, "type": "blob", "sha": sha}


def _is_work(there: CommitView, tree: str, work: Work) -> bool:
    parents = there.parents == (ObjectRef(work.parent),)
    return there.tree.sha == tree and parents and _same_text(there.message, work.message)


def _made(commit: CommitView) -> CommitMade:
    return CommitMade(commit.sha, commit.tree.sha, commit.verification)


def _taken(name: str) -> AlreadyExists:
    call = Call("GET", f"/git/ref/heads/{name}")
    return AlreadyExists(f"The branch {name} is there and holds something else.", call)


def _same_text(one: str, other: str) -> bool:
    """Alike but for line endings and space at the ends, which are not always kept."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
