"""Writes to one repository: a `Publisher` makes branches, commits and draft pull requests.

What was made before is found before it is made again (case QU-04), and no call that creates content is repeated by
itself: after an error with `maybe_done`, call the same method again and it looks first. Nothing here moves, forces
or deletes a branch.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from app.core.redact import redact
from worker.github.blobs import Blobs
from worker.github.commenter import How, same_text
from worker.github.connection import Connection
from worker.github.errors import AlreadyExists, Call, GitHubError, NotFound, ReferenceUpdateFailed
from worker.github.place import Place, segment, segments
from worker.github.reader import pulls_by_head
from worker.github.rules import Offer, Rule, asks_for_signatures, fitting, unmet
from worker.github.views import (
    CommitView,
    PullView,
    RefView,
    RepositoryRef,
    RepositoryView,
    Verification,
)

_LOOKS_LIKE_AN_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)
_BRANCH_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9._/-]{0,198}[A-Za-z0-9_-])?")


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


class Portion(Struct, frozen=True):
    """One commit: its changes on top of what stands before it.

    `messages` are equally good: the first that the rules of the branch admit is written, and a commit with any of
    them is found again.
    """

    messages: tuple[str, ...]
    changes: tuple[Change, ...]


class Work(Struct, frozen=True):
    """What a branch shall hold: commits on `parent`, one after another, that come to `whole`.

    Where they would come to anything else nothing is written.
    """

    parent: str
    portions: tuple[Portion, ...]
    whole: tuple[Change, ...]

    @classmethod
    def at_once(cls, parent: str, messages: tuple[str, ...], changes: tuple[Change, ...]) -> "Work":
        """All of it as one commit."""
        return cls(parent, (Portion(messages, changes),), changes)


class Landed(Struct, frozen=True):
    """A branch of ours that is there now, with commits of ours up to its head: the oldest first."""

    branch: str
    commits: tuple[CommitMade, ...]
    how: How

    @property
    def commit(self) -> CommitMade:
        """The one at its head."""
        return self.commits[-1]


class Foreseen(Struct, frozen=True):
    """How work would land: under this name, with these messages, and the rules that would refuse it."""

    branch: str
    messages: tuple[str, ...]
    obstacles: tuple[str, ...]


class PullRequested(Struct, frozen=True):
    """A pull request of ours that is there now; look at `pull.state`, somebody may have closed a found one."""

    pull: PullView
    how: How


class _Sha(Struct):
    sha: str


class Publisher:
    """Makes branches, commits and pull requests in one repository as the bot user `bot_user_id`."""

    def __init__(self, connection: Connection, repository: RepositoryRef, bot_user_id: int) -> None:
        self._place = Place(connection, repository)
        self._repository = repository
        self._bot_user_id = bot_user_id

    def tree(self, parent: str, changes: Sequence[Change]) -> str:
        """The id of the tree that the commit `parent` has, with `changes`; every other path stays as it is.

        Raises ValueError for no change, and for a path that is named twice or leaves the repository.
        """
        _check_paths(changes)
        return self._tree_upon(self._commit(parent).tree.sha, changes, Blobs(self._place))

    def _tree_upon(self, base_tree: str, changes: Sequence[Change], blobs: Blobs) -> str:
        _check_paths(changes)
        blobs.have(change.content for change in changes if not isinstance(change, Delete))
        entries = [entry for change in changes for entry in self._entries(change, blobs)]
        return self._place.add(_Sha, "/git/trees", {"base_tree": base_tree, "tree": entries}).sha

    def _trees(self, work: Work) -> tuple[str, ...]:
        """The tree of each commit. Raises ValueError where the last one is another than that of the whole."""
        _check_paths(work.whole)
        base, blobs = self._commit(work.parent).tree.sha, Blobs(self._place)
        whole = self._tree_upon(base, work.whole, blobs)
        trees: list[str] = []
        for portion in work.portions[:-1] if len(work.portions) > 1 else ():
            trees.append(self._tree_upon(trees[-1] if trees else base, portion.changes, blobs))
        if trees and self._tree_upon(trees[-1], work.portions[-1].changes, blobs) != whole:
            raise ValueError("the commits do not come to what is to be written")
        return (*trees, whole)

    def commit(self, message: str, tree: str, parents: Sequence[str]) -> CommitMade:
        """A new commit on no branch. No author or committer is sent, so that GitHub signs it (github-facts 114)."""
        body = {"message": redact(message), "tree": tree, "parents": list(parents)}
        return _made(self._place.add(CommitView, "/git/commits", body))

    def find_branch(self, name: str) -> str | None:
        """The commit that a branch points at; None when there is none."""
        try:
            return self._place.one(RefView, f"/git/ref/heads/{segments(name)}").target.sha
        except NotFound:
            return None

    def message_of(self, commit: str) -> str:
        """What a commit says."""
        return self._commit(commit).message

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
        """The branch `name` holds `work` as its commits on `work.parent`; calling again finds them.

        A branch of that name that holds anything else raises `AlreadyExists` and is left alone. Rules that refuse
        the branch raise `ReferenceUpdateFailed`, whose reason names them where they can be told (github-facts 125);
        so does a commit that GitHub did not sign where it has to be, before any branch is made (115).
        """
        self._check_branch(name, base)
        trees = self._trees(work)
        head = self.find_branch(name)
        if head is not None:
            there = self._found(head, trees, work)
            if there is None:
                raise _taken(name)
            return Landed(name, there, How.FOUND)
        rules = self.rules(name)
        messages = tuple(fitting(rules, portion.messages) for portion in work.portions)
        made: list[CommitMade] = []
        for message, tree in zip(messages, trees, strict=True):
            made.append(self.commit(message, tree, [made[-1].sha if made else work.parent]))
            if asks_for_signatures(rules) and not made[-1].verification.verified:
                raise _unsigned(name, made[-1].verification)
        try:
            return Landed(name, tuple(made), self.create_branch(name, made[-1].sha, base))
        except ReferenceUpdateFailed as error:
            raise _refused_by(rules, Offer(name, messages, _sizes(work)), error) from error

    def _found(self, head: str, trees: tuple[str, ...], work: Work) -> tuple[CommitMade, ...] | None:
        """The commits of the work that end at `head`; None where what ends there is anything else."""
        found: list[CommitMade] = []
        at = head
        for tree, portion in zip(reversed(trees), reversed(work.portions), strict=True):
            there = self._commit(at)
            said = any(same_text(there.message, redact(message)) for message in portion.messages)
            if not said or there.tree.sha != tree or len(there.parents) != 1:
                return None
            found.insert(0, _made(there))
            at = there.parents[0].sha
        return tuple(found) if at == work.parent else None

    def foresee(self, name: str, base: str, work: Work) -> Foreseen | None:
        """How `land` would do it, by reading alone; None where a branch of that name is there already."""
        self._check_branch(name, base)
        _check_paths(work.whole)
        if self.find_branch(name) is not None:
            return None
        rules = self.rules(name)
        messages = tuple(redact(fitting(rules, portion.messages)) for portion in work.portions)
        return Foreseen(name, messages, unmet(rules, Offer(name, messages, _sizes(work))))

    def rules(self, branch: str) -> tuple[Rule, ...]:
        """The active rules for a branch of that name, which need not exist; none where GitHub has no rulesets."""
        try:
            return tuple(self._place.every(Rule, f"/rules/branches/{segments(branch)}"))
        except NotFound:
            return ()

    def find_pull(self, branch: str) -> PullView | None:
        """Our own pull request from that branch of this repository, an open one first; None when there is none."""
        ours = [pull for pull in self._pulls(branch) if self._is_ours(pull)]
        return next((pull for pull in ours if pull.state == "open"), ours[0] if ours else None)

    def open_draft(self, head: str, base: str, title: str, body: str) -> PullRequested:
        """There is a pull request of ours from the branch `head`: found, or opened as a draft.

        Raises `DraftUnsupported` where there are no drafts (case GH-01), `AlreadyExists` when an open one is
        somebody else's.
        """
        return self._open({"head": head, "base": base, "title": redact(title), "body": redact(body), "draft": True})

    def open_undrafted(self, head: str, base: str, title: str, body: str) -> PullRequested:
        """As `open_draft`, but ready for review: for where drafts do not exist and policy says so. The caller's title
        or body must say that nobody reviewed it."""
        return self._open({"head": head, "base": base, "title": redact(title), "body": redact(body), "draft": False})

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

    def _entries(self, change: Change, blobs: Blobs) -> list[dict[str, str | None]]:
        if isinstance(change, Delete):
            return [_entry(change.path, FileMode.PLAIN, None)]
        blob = blobs.id(change.content)
        if isinstance(change, Move):
            return [_entry(change.path, FileMode.PLAIN, None), _entry(change.to, change.mode, blob)]
        return [_entry(change.path, change.mode, blob)]

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


def _made(commit: CommitView) -> CommitMade:
    return CommitMade(commit.sha, commit.tree.sha, commit.verification)


def _taken(name: str) -> AlreadyExists:
    call = Call("GET", f"/git/ref/heads/{name}")
    return AlreadyExists(f"The branch {name} is there and holds something else.", call)


def _unsigned(name: str, verification: Verification) -> ReferenceUpdateFailed:
    return ReferenceUpdateFailed(
        f"Commits on {name} must be signed, and GitHub did not sign the App's commit ({verification.reason}).",
        Call("POST", "/git/commits"),
        (),
        "Let the App pass that rule for branches that start with `countersign/`, or have web commit signing enabled.",
    )


def _refused_by(rules: tuple[Rule, ...], offer: Offer, error: ReferenceUpdateFailed) -> GitHubError:
    """The refusal with the rules that can be behind it; as it came, where none is known."""
    reasons = unmet(rules, offer)
    if not reasons:
        return error
    return ReferenceUpdateFailed(
        f"The repository's rules do not admit the branch. {' '.join(reasons)}",
        error.call,
        error.messages,
        "Let the App pass these rules for branches that start with `countersign/`, or change them.",
    )


def _sizes(work: Work) -> dict[str, int]:
    """Of every file that some commit holds, the largest that it is in any."""
    sizes: dict[str, int] = {}
    for change in (change for portion in work.portions for change in portion.changes):
        if not isinstance(change, Delete):
            path = change.to if isinstance(change, Move) else change.path
            sizes[path] = max(sizes.get(path, 0), len(change.content))
    return sizes
