"""Reads one repository: issues, comments, people's permissions, reactions, checks, files. It cannot write."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from msgspec import Struct

from worker.github.connection import Connection
from worker.github.errors import Call, NotFound, NotUnderstood
from worker.github.place import Place, segment, segments
from worker.github.reacting import reacted, thumbs_on
from worker.github.views import (
    Account,
    Annotation,
    BranchRule,
    CheckRunView,
    CommentReactions,
    CommentView,
    ComparisonView,
    FileView,
    IssueView,
    Mention,
    Permission,
    PullCommit,
    PullFile,
    PullView,
    RefView,
    RepositoryRef,
    RepositoryView,
    Statuses,
    Thumb,
    TimelineEvent,
    decode,
)


class _GrantedTo(Struct):
    id: int


class _PermissionAnswer(Struct):
    permission: str
    role_name: str = ""
    user: _GrantedTo | None = None


class _Membership(Struct):
    state: str


class _FileAnswer(Struct):
    type: str
    sha: str
    content: str = ""
    encoding: str = ""


class _Blob(Struct):
    content: str
    encoding: str


class Reader:
    """What one credential may read of one repository. Every method asks GitHub anew; nothing is cached."""

    def __init__(self, connection: Connection, repository: RepositoryRef) -> None:
        self._connection = connection
        self._place = Place(connection, repository)
        self.ref = repository

    def repository(self) -> RepositoryView:
        """The repository as it is now, under its present name."""
        return self._place.one(RepositoryView, "")

    def head_of(self, branch: str) -> str:
        """The commit a branch points at. Raises `NotFound` for no such branch, `Conflict` for an empty repository."""
        return self._place.one(RefView, f"/git/ref/heads/{segments(branch)}").target.sha

    def compared(self, base: str, head: str) -> ComparisonView:
        """What changed from one commit to another. Raises `NotFound` where one of them is gone."""
        return self._place.one(ComparisonView, f"/compare/{segment(base)}...{segment(head)}", {"per_page": 1})

    def find_branch(self, branch: str) -> str | None:
        """The commit a branch points at, None when there is no such branch in a repository that we can see."""
        try:
            return self.head_of(branch)
        except NotFound:
            self.repository()
            return None

    def issue(self, number: int) -> IssueView:
        """The issue as it is now. Raises `Moved` when it was transferred, `Gone` or `NotFound` when deleted."""
        return self._place.one(IssueView, f"/issues/{number}")

    def open_issues(self, since: datetime) -> Iterator[IssueView]:
        """The open issues and pull requests that were changed at or after that time, from all pages, as they are read.
        Raises `Gone` where the repository has no issues."""
        return self._place.every(IssueView, "/issues", {"state": "open", "since": _stamp(since)})

    def comments(self, number: int, since: datetime | None = None) -> tuple[CommentView, ...]:
        """Every comment of the conversation, oldest first, from all pages (case PL-03); those of deleted accounts
        have no author. With `since`, only those written or changed at or after that time."""
        return tuple(every_comment(self._place, number, since))

    def first_comments(self, number: int, most: int) -> tuple[CommentView, ...]:
        """The first comments of the conversation, oldest first; no more pages are read than they take."""
        return tuple(islice(every_comment(self._place, number, None), most))

    def mentions(self, number: int, most_entries: int) -> tuple[Mention, ...]:
        """What speaks of the issue, oldest first: issues and pull requests, and commits by their messages, as far as
        they stand among the first entries of its timeline."""
        entries = islice(self._place.every(Mention, f"/issues/{number}/timeline"), most_entries)
        return tuple(one for one in entries if one.speaking or (one.event == "referenced" and one.commit_id))

    def comment(self, comment_id: int) -> CommentView:
        """One comment as it is now. Raises `NotFound` when it was deleted."""
        return self._place.one(CommentView, f"/issues/comments/{comment_id}")

    def permission_of(self, login: str) -> Permission:
        """What `login` may do here, as GitHub merges it from all grants (github-facts 74).

        A login GitHub does not know has the permission `none` (github-facts 77). Every other failure is raised and
        must count as no permission, to be asked again (github-facts 78). Compare `user_id`: logins change hands.
        """
        try:
            answer = self._place.one(_PermissionAnswer, f"/collaborators/{segment(login)}/permission")
        except NotFound:
            return Permission(legacy="none", role_name="none", user_id=None)
        granted_to = answer.user.id if answer.user else None
        return Permission(answer.permission, answer.role_name or answer.permission, granted_to)

    def user(self, login: str) -> Account | None:
        """The account behind a login, None when there is none."""
        path = f"/users/{segment(login)}"
        try:
            return decode(Account, self._connection.get(path), Call("GET", path))
        except NotFound:
            return None

    def is_member(self, team: str, login: str) -> bool:
        """Whether `login` is an active member of `organisation/team` now; a team that we cannot see has none.

        Raises `Forbidden` where the installation does not let the App read members (github-facts 83).
        """
        organisation, _, slug = team.partition("/")
        path = f"/orgs/{segment(organisation)}/teams/{segment(slug)}/memberships/{segment(login)}"
        try:
            return decode(_Membership, self._connection.get(path), Call("GET", path)).state == "active"
        except NotFound:
            return False

    def timeline(self, number: int) -> tuple[TimelineEvent, ...]:
        """Everything that happened on the issue, oldest first, from all pages; names of labels are those of then."""
        return tuple(self._place.every(TimelineEvent, f"/issues/{number}/timeline"))

    def reactions(self, node_ids: Sequence[str]) -> dict[str, CommentReactions]:
        """Each comment of this repository as it stands now with every 👍 on it, by node id.

        A comment that is deleted or not visible is missing from the answer; for one that may not be read GitHub's
        error is raised.
        """
        answer = reacted(self._connection, dict.fromkeys(node_ids, self.ref))
        for error in answer.unread.values():
            raise error
        return answer.found

    def thumbs(self, comment_id: int) -> tuple[Thumb, ...]:
        """Every 👍 on one comment now, over REST. Raises `NotFound` when the comment was deleted."""
        return thumbs_on(self._place, comment_id)

    def check_runs(self, commit: str, most: int = 1_000) -> tuple[CheckRunView, ...]:
        """The latest run of every check of a commit, at most so many."""
        path = f"/commits/{segment(commit)}/check-runs"
        runs = self._place.every(CheckRunView, path, {"filter": "latest"}, below="check_runs")
        return tuple(islice(runs, most))

    def annotations(self, check_run_id: int, most: int) -> tuple[Annotation, ...]:
        """A check's first remarks on lines of files."""
        return tuple(islice(self._place.every(Annotation, f"/check-runs/{check_run_id}/annotations"), most))

    def statuses(self, commit: str) -> Statuses:
        """The newest status of each context on a commit, and the worst of all. Raises `Forbidden` for a token that
        may not read commit statuses."""
        return self._place.one(Statuses, f"/commits/{segment(commit)}/status", {"per_page": 100})

    def branch_rules(self, branch: str) -> tuple[BranchRule, ...]:
        """The active rules for a branch name, whether or not the branch exists (github-facts 124)."""
        return tuple(self._place.every(BranchRule, f"/rules/branches/{segment(branch)}"))

    def pulls_by_head(self, owner: str, branch: str) -> tuple[PullView, ...]:
        """Every pull request, open or closed, from that branch of that owner's repository, newest first."""
        return pulls_by_head(self._place, owner, branch)

    def pull(self, number: int) -> PullView:
        """One pull request as it is now."""
        return self._place.one(PullView, f"/pulls/{number}")

    def pull_commits(self, number: int) -> tuple[PullCommit, ...]:
        """The commits of a pull request, the oldest first; GitHub lists at most 250."""
        return tuple(self._place.every(PullCommit, f"/pulls/{number}/commits", {"per_page": 100}))

    def pull_files(self, number: int, most: int) -> tuple[PullFile, ...]:
        """The first files that a pull request changes; GitHub lists at most 3,000."""
        return tuple(islice(self._place.every(PullFile, f"/pulls/{number}/files"), most))

    def file_at(self, path: str, commit: str) -> FileView | None:
        """A file's bytes at a commit, up to GitHub's 100 MB; None when there is no file at that path.

        A missing file is told from a repository we cannot see: that raises `NotFound` (github-facts 64).
        """
        where = f"/contents/{segments(path)}"
        try:
            listed = self._place.get(where, {"ref": commit})
        except NotFound:
            self.repository()
            return None
        call = Call("GET", self._place.root + where)
        if isinstance(listed, list):
            return None
        answer = decode(_FileAnswer, listed, call)
        if answer.type != "file":
            return None
        if answer.encoding == "base64":
            return FileView(path, answer.sha, _bytes_of(answer.content, call))
        blob = self._place.one(_Blob, f"/git/blobs/{segment(answer.sha)}")
        return FileView(path, answer.sha, _bytes_of(blob.content, call))


def every_comment(place: Place, number: int, since: datetime | None) -> Iterator[CommentView]:
    """All comments of a conversation, oldest first."""
    params = {"since": _stamp(since)} if since else {}
    return place.every(CommentView, f"/issues/{number}/comments", params)


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pulls_by_head(place: Place, owner: str, branch: str) -> tuple[PullView, ...]:
    """Every pull request from one branch, newest first; GitHub needs the owner's name there (github-facts 140)."""
    params = {"head": f"{owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
    # An unknown head makes GitHub list everything, so the answer is compared with the question.
    pulls = place.every(PullView, "/pulls", params)
    return tuple(pull for pull in pulls if pull.head.ref == branch)


def _bytes_of(content: str, call: Call) -> bytes:
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        pass
    raise NotUnderstood("GitHub's file content is not base64.", call)
