"""An issue or pull request that the planner looked up: what it says, what was said to it, and who speaks of it."""

from dataclasses import dataclass

from app.core.issue import GHOST
from worker.belts.quoting import Quoting
from worker.github.reader import Reader
from worker.github.views import Account, CommentView, IssueView, Mention, PullFile, PullView
from worker.model.conversation import Answer

COMMENTS_READ = 40
ENTRIES_READ = 300
"""Entries of a timeline among which mentions are looked for."""

FILES_READ = 100


@dataclass(frozen=True, slots=True)
class Room:
    """How much of what was read is shown: characters of the body, comments and characters of each, mentions, files."""

    body: int
    comments: int
    comment: int
    mentions: int
    files: int


SEEN = Room(body=3_000, comments=5, comment=500, mentions=12, files=30)
WHOLE = Room(body=66_000, comments=COMMENTS_READ, comment=10_000, mentions=ENTRIES_READ, files=FILES_READ)


@dataclass(frozen=True, slots=True)
class Found:
    """What GitHub said of one number."""

    issue: IssueView
    comments: tuple[CommentView, ...]
    mentions: tuple[Mention, ...]
    pull: PullView | None
    files: tuple[PullFile, ...]
    repository_id: int

    def told(self, room: Room) -> str:
        """It in words, as far as there is room."""
        quoting, issue = Quoting(), self.issue
        kind = "pull request" if issue.is_pull_request else "issue"
        head = f"#{issue.number}, {kind}, {self._state()}, by {_author(issue.author)}"
        labels = f"; labels: {quoting.words('a label', ', '.join(issue.labels))}" if issue.labels else ""
        parts = [f"{head}{labels}\n{quoting.words('its title', issue.title, 256)}"]
        parts.append(quoting.text("its text", issue.body, room.body) or "(It has no text.)")
        parts += [self._changed(quoting, room)] if self.pull else []
        parts += self._said(quoting, room)
        parts += self._spoken_of(quoting, room)
        return "\n\n".join([*parts, *quoting.report()])

    def _state(self) -> str:
        pull, issue = self.pull, self.issue
        if pull is None:
            why = f" as {issue.reason.replace('_', ' ')}" if issue.reason and issue.state != "open" else ""
            return issue.state + why
        if pull.merged_at is not None:
            return f"merged {pull.merged_at:%Y-%m-%d} as {(pull.merge_commit or '')[:12]}"
        return ("open, a draft" if pull.draft else "open") if pull.state == "open" else "closed without being merged"

    def _changed(self, quoting: Quoting, room: Room) -> str:
        assert self.pull is not None
        total = self.pull.changed_files or len(self.files)
        rows = [
            f"  {quoting.words('a file name', file.path, 400)} {file.status} +{file.additions:,} -{file.deletions:,}"
            + (f", was {quoting.words('a file name', file.before, 400)}" if file.before else "")
            for file in self.files[: room.files]
        ]
        left = [f"  … {total - len(rows):,} more"] if total > len(rows) else []
        source, target = (quoting.words("a branch name", end.ref) for end in (self.pull.head, self.pull.base))
        head = f"From {source} into {target}, head {self.pull.head.sha[:12]}; {total:,} files changed:"
        return "\n".join([head, *rows, *left])

    def _said(self, quoting: Quoting, room: Room) -> list[str]:
        people = [one for one in self.comments if one.author is None or one.author.kind != "Bot"]
        if not people:
            return [f"Of {self.issue.comments} comments none by a person is among the first."] if self.comments else []
        told = people[: room.comments]
        parts = [f"The first {len(told)} of {self.issue.comments} comments (those of bots are left out):"]
        for one in told:
            text = quoting.text(f"a comment by {_author(one.author)}", one.body, room.comment)
            parts.append(f"{_author(one.author)}, {one.created_at:%Y-%m-%d %H:%M} UTC:\n{text}")
        return parts

    def _spoken_of(self, quoting: Quoting, room: Room) -> list[str]:
        if not self.mentions:
            return ["Nothing that may be seen here speaks of it."]
        rows = [_mention(one, self.repository_id, quoting) for one in self.mentions[-room.mentions :]]
        left = len(self.mentions) - len(rows)
        return ["\n".join(["Of it speak:", *([f"  ({left} older ones are left out)"] if left else []), *rows])]


def read(reader: Reader, number: int) -> Answer:
    """What a number stands for, bounded; the whole of what was read is kept beside it. Raises GitHubError."""
    issue = reader.issue(number)
    pull = reader.pull(number) if issue.is_pull_request else None
    found = Found(
        issue=issue,
        comments=reader.first_comments(number, COMMENTS_READ) if issue.comments else (),
        mentions=reader.mentions(number, ENTRIES_READ),
        pull=pull,
        files=reader.pull_files(number, FILES_READ) if pull else (),
        repository_id=reader.ref.id,
    )
    return Answer(found.told(SEEN), found.told(WHOLE))


def _author(account: Account | None) -> str:
    return account.login if account else GHOST


def _mention(one: Mention, home: int, quoting: Quoting) -> str:
    when = f", {one.created_at:%Y-%m-%d}" if one.created_at else ""
    speaking = one.speaking
    if speaking is None:
        return f"  commit {(one.commit_id or '')[:12]}{when}"
    elsewhere = speaking.repository is not None and speaking.repository.id != home
    place = speaking.repository.full_name if speaking.repository and elsewhere else ""
    kind = "pull request" if speaking.pull_request is not None else "issue"
    return f"  {place}#{speaking.number}, {kind}, {speaking.state}{when}: {quoting.words('a title', speaking.title)}"
