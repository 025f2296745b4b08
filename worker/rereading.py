"""Rereading: each open run is held against what GitHub shows of its issue, after a start and then once in a while.

The delivery log reaches back some days, and GitHub can lose a delivery altogether. What is found here comes in as if it
had been delivered, and counts once: a comment that the run was told of is not told again, whichever way came first.
"""

import logging
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from app.core.facts import Fact, IssueChanged, IssueEnd, IssueEnded, LabelRemoved, PullRequestEnded, RepositoryEnded
from app.core.issue import IssueSnapshot
from app.core.news import READ, Delivery, News, OnIssue
from app.core.run import Closed, Published, Request, State
from app.ledger.errors import RunLeftAside
from app.ledger.outcomes import OpenRun, RunView
from app.web.intake import Intake, Told
from worker.github.errors import GitHubError, Gone, IssuesOff, Moved, NotFound, RateLimited
from worker.github.reader import Reader
from worker.github.views import CommentView, IssueView, RepositoryRef
from worker.mint.caller import MintDenied, MintUnreachable
from worker.shop import Shop
from worker.watching import Watch

MOST_AT_ONCE = 5
"""Runs that one sweep reads, two requests each: the sweep has other things to do."""

INTERVAL = timedelta(hours=1)
"""How long a run is left alone after it was read; longer where there are very many."""

EACH = timedelta(seconds=6)
"""So much of the interval belongs to one run: in an hour a quarter of the requests that GitHub allows (163)."""

GONE_AFTER = timedelta(days=1)
"""For so long GitHub must have said, each time it was asked, that the App is not installed on a run's repository, or
that there are no issues there, before that ends the run: what told us may have been lost, and a mistake, of ours,
GitHub's or an owner's, is found within a day."""

_LOG = logging.getLogger("countersign.rereading")


class Rereading:
    """Reads the open runs' issues, those first that were not read for longest; a new process has read none."""

    def __init__(self, shop: Shop, watch: Watch) -> None:
        self._shop = shop
        self._watch = watch
        self._read_at: dict[str, datetime] = {}
        self._gone_since: dict[str, datetime] = {}
        self._turn = threading.Lock()

    def look(self, at: datetime) -> None:
        """What was missed is recorded and rung for. What cannot be read now is read again after the interval. While
        another thread looks, nothing is done."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._look(at)
        finally:
            self._turn.release()

    def _look(self, at: datetime) -> None:
        everywhere = self._shop.ledger.open_runs()
        places = {one.installation_id for one in everywhere}
        asked = {one for one in places if self._shop.limit_of(one).left() is None}
        open_runs = {one.run: one for one in everywhere if one.installation_id in asked}
        self._read_at = {one.run: self._read_at[one.run] for one in everywhere if one.run in self._read_at}
        self._gone_since = {run: since for run, since in self._gone_since.items() if run in self._read_at}
        never = datetime.min.replace(tzinfo=at.tzinfo)
        long_ago = at - max(INTERVAL, len(open_runs) * EACH)
        due = [run for run in open_runs if self._read_at.get(run, never) <= long_ago]
        for run in sorted(due, key=lambda run: self._read_at.get(run, never))[:MOST_AT_ONCE]:
            self._read_at[run] = at
            try:
                self._read(open_runs[run], at)
                self._gone_since.pop(run, None)
            except (GitHubError, MintDenied, MintUnreachable, RunLeftAside) as error:
                _LOG.warning("the issue of run %s could not be read again: %s", run, error)
                if isinstance(error, RateLimited):
                    del self._read_at[run]
                self._miss(run, _how_gone(error), at)

    def _miss(self, run: str, how: str, at: datetime) -> None:
        """A run whose place is out of our reach for long has ended, where nothing told us."""
        if not how:
            self._gone_since.pop(run, None)
        elif at - self._gone_since.setdefault(run, at) >= GONE_AFTER:
            self._shop.tell(run, RepositoryEnded(at=at, how=how))

    def _read(self, one: OpenRun, at: datetime) -> None:
        view = self._shop.ledger.run(one.run)
        if view is None or isinstance(view.state, Closed):
            return
        token = self._watch.lend(one.installation_id, [one.repository_id], at)
        with self._shop.connection(token, one.installation_id) as connection:
            reader = Reader(connection, RepositoryRef(one.repository_id, one.repository))
            for fact in _facts(reader, view.state, at):
                if self._shop.tell(one.run, fact):
                    _LOG.info("%s of run %s was found by reading", fact.kind, one.run)
            if isinstance(view.state, Published):
                return
            for comment in _unheard(reader, view):
                self._hear(comment, one, view, at)

    def _hear(self, comment: CommentView, one: OpenRun, view: RunView, at: datetime) -> None:
        """Understood by the same rules as a delivery of the comment, and taken at most once."""
        body = msgspec.json.encode(_payload(comment, one, view.state.request))
        told = Intake("", None, _no_run).read("issue_comment", body, at)
        if not isinstance(told, Told):
            return
        here = OnIssue(one.repository_id, view.state.request.issue_number)
        news = [News(here, each.fact) for each in told.news]
        found = Delivery(f"{READ}comment:{comment.id}", "issue_comment", told.action, at, body)
        self._shop.doorbell.ring(self._shop.ledger.receive(found, *news).rings)


def _how_gone(error: Exception) -> str:
    """How a run ends of which GitHub says this for a day; empty for what says nothing of its place."""
    if isinstance(error, IssuesOff):
        return "Issues have been switched off in the repository for a day."
    if isinstance(error, MintDenied) and error.gone:
        return "GitHub has not shown the repository to the App for a day: it is not installed there any more."
    return ""


def _facts(reader: Reader, state: State, at: datetime) -> Iterator[Fact]:
    """What differs from what the run was told. A fact of which it has no use is refused when it is recorded."""
    if isinstance(state, Published):
        pull = reader.issue(state.pull.number)
        if pull.state == "closed":
            merged = bool((pull.pull_request or {}).get("merged_at"))
            yield PullRequestEnded(at=at, merged=merged, person=None)
        return
    try:
        issue = reader.issue(state.request.issue_number)
    except Moved:
        yield IssueEnded(at=at, how=IssueEnd.TRANSFERRED, person=None)
    except IssuesOff:
        raise
    except (Gone, NotFound):
        # Where the repository cannot be seen either, this says nothing of the issue.
        reader.repository()
        yield IssueEnded(at=at, how=IssueEnd.DELETED, person=None)
    else:
        yield from _of_issue(issue, state.request, at)


def _of_issue(issue: IssueView, request: Request, at: datetime) -> Iterator[Fact]:
    if issue.state == "closed":
        yield IssueEnded(at=at, happened_at=issue.updated_at, how=IssueEnd.CLOSED, person=None)
    elif not _carries_its_label(issue, request):
        yield LabelRemoved(at=at, happened_at=issue.updated_at, person=None)
    else:
        snapshot = IssueSnapshot(number=issue.number, title=issue.title, body=issue.body)
        yield IssueChanged(at=at, happened_at=issue.updated_at, issue_digest=snapshot.digest(), person=None)


def _carries_its_label(issue: IssueView, request: Request) -> bool:
    """By its id, which outlives a name (github-facts 4), or by its name."""
    names = {name.casefold() for name in (request.label, request.renamed_from) if name}
    for mark in issue.marks:
        if isinstance(mark, str):
            if mark.casefold() in names:
                return True
        elif (request.label_id is not None and mark.id == request.label_id) or mark.name.casefold() in names:
            return True
    return False


def _unheard(reader: Reader, view: RunView) -> Iterator[CommentView]:
    """The comments of which the run was not told, oldest first. One that was edited says nothing any more (35)."""
    heard = {getattr(told.fact, "comment_id", None) for told in view.facts}
    for comment in reader.comments(view.state.request.issue_number, since=view.opened_at - timedelta(minutes=5)):
        if comment.id not in heard and comment.updated_at == comment.created_at:
            yield comment


def _payload(comment: CommentView, one: OpenRun, request: Request) -> dict[str, object]:
    writer, author = comment.author, request.author
    said = {
        "id": comment.id,
        "body": comment.body,
        "created_at": comment.created_at.isoformat(),
        "user": {"id": writer.id, "login": writer.login, "type": writer.kind} if writer else None,
    }
    issue = {"number": request.issue_number, "user": {"id": author.id, "login": author.login} if author else None}
    repository = {"id": one.repository_id, "full_name": one.repository}
    return {"action": "created", "issue": issue, "comment": said, "repository": repository}


def _no_run() -> str:
    raise AssertionError("a comment opens no run")
