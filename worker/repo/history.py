"""Who changed a file, or some of its lines, and why: `git log` and `git blame` with fixed arguments on the commit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from worker.repo.git import Bounds, Git, GitError, GitTooLong, GitTooSlow

_FIELDS = "%H%x00%an%x00%aI%x00%s"
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature")
_LONG = Bounds(60.0, 8_000_000)
_PULL = re.compile(r"\(#(\d{1,9})\)\s*$|^Merge pull request #(\d{1,9})\b")
_BOUNDARY = re.compile(r"bad object|missing blob|unable to read|could not fetch|lazy fetching disabled", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PastChange:
    """One commit, newest first: full id, author's name as it stands in the commit, ISO time, first line."""

    commit: str
    author: str
    when: str
    subject: str

    @property
    def pull(self) -> int | None:
        """The pull request that brought it, where its first line tells as GitHub writes it."""
        found = _PULL.search(self.subject)
        return int(found[1] or found[2]) if found else None


@dataclass(frozen=True, slots=True)
class Traced:
    """What is followed into the past: a file (renames too), some lines of it, or how often a text stands in it."""

    path: str
    lines: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class LastTouch:
    """Lines `first` to `last` stand as `change` left them, in the file that was then called `path`."""

    first: int
    last: int
    change: PastChange
    path: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What one commit did: its whole message, the files with added and removed lines (-1 in binary ones), the patch.

    `patch` is None where it is larger than 8 MB. A merge is compared with its first parent.
    """

    change: PastChange
    message: str
    files: tuple[tuple[str, int, int], ...]
    patch: str | None


class HistoryMissing(Exception):
    """There is no history to read; the text says why."""


def past_changes(git: Git, commit: str, traced: Traced, limit: int) -> tuple[PastChange, ...]:
    """The commits that touched what is traced, newest first, at most `limit`."""
    words = ["log", *_PLAIN, f"--format={_FIELDS}", "-z", f"--max-count={limit}"]
    words += [f"-S{traced.text}"] if traced.text else []
    if traced.lines is not None:
        words += ["--no-patch", f"-L{traced.lines[0]},{traced.lines[1]}:{traced.path}", commit, "--"]
    else:
        words += ["--follow", commit, "--", traced.path]
    fields = [part.lstrip("\n") for part in _told(git, words).split("\0")[:-1]]
    return tuple(PastChange(*fields[at : at + 4]) for at in range(0, len(fields) - 3, 4))


def last_touches(git: Git, commit: str, traced: Traced, passed_over: Sequence[str] = ()) -> tuple[LastTouch, ...]:
    """Who last touched each of the lines (all of the file without `lines`), blanks aside, neighbours joined.

    Commits in `passed_over`, such as those that only formatted, are looked through where git can.
    """
    words = ["blame", "--porcelain", "-w", "--encoding=UTF-8"]
    words += [f"--ignore-rev={one}" for one in _commits_among(git, passed_over)]
    words += [f"-L{traced.lines[0]},{traced.lines[1]}"] if traced.lines else []
    known: dict[str, dict[str, str]] = {}
    touches: list[LastTouch] = []
    told: dict[str, str] = {}
    name, line = "", 0
    for row in _told(git, [*words, commit, "--", traced.path]).split("\n"):
        if row.startswith("\t"):
            touches = _joined(touches, LastTouch(line, line, _change(name, told), told.get("filename", traced.path)))
        elif head := re.fullmatch(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?", row):
            name, line = head[1], int(head[2])
            told = known.setdefault(name, {})
        else:
            field, _, value = row.partition(" ")
            told[field] = value
    return tuple(touches)


def what_changed(git: Git, commit: str, below: str, path: str = "") -> Changed:
    """What a commit in the history of `below`, named by its id or the beginning of one, did (to one path)."""
    status, found, _ = git.ask(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"])
    name = found.decode().strip()
    if status != 0 or git.ask(["merge-base", "--is-ancestor", name, below])[0] != 0:
        raise HistoryMissing("no such commit is in the history of the base commit")
    of = ["log", *_PLAIN, "--max-count=1", "--first-parent", "-m", "--find-renames"]
    fields = _told(git, [*of, f"--format={_FIELDS}%x00%B%x00", "--no-patch", name, "--"]).split("\0")
    limits = [name, "--", *([path] if path else [])]
    rows = _told(git, [*of, "--format=", "--numstat", *limits]).split("\n")
    counts = [row.split("\t", 2) for row in rows if row.count("\t") >= 2]
    files = tuple((file, _count(added), _count(removed)) for added, removed, file in counts)
    try:
        patch = _told(git, [*of, "--format=", "--patch", *limits])
    except HistoryTooLong:
        patch = None
    return Changed(PastChange(*fields[:4]), fields[4].strip(), files, patch)


class HistoryTooLong(HistoryMissing):
    """It is more than is read at once."""


def _told(git: Git, words: Sequence[str]) -> str:
    try:
        return git.run(*words, bounds=_LONG).decode("utf-8", "replace")
    except GitTooLong as error:
        raise HistoryTooLong("it is too long to be read at once; ask for a narrower range") from error
    except GitTooSlow as error:
        raise HistoryMissing("reading it took too long; ask for a narrower range") from error
    except GitError as error:
        said = str(error).split("\n")[0][:300]
        if _BOUNDARY.search(said):
            said = f"some old content of it was not brought here ({said})"
        raise HistoryMissing(said) from error


def _commits_among(git: Git, names: Sequence[str]) -> list[str]:
    """The names that are commits which are here; git would end at any other."""
    if not names:
        return []
    out = git.run("cat-file", "--batch-check", input="".join(f"{one}\n" for one in names).encode())
    return [row.split()[0] for row in out.decode().splitlines() if row.split()[1:2] == ["commit"]]


def _joined(touches: list[LastTouch], one: LastTouch) -> list[LastTouch]:
    last = touches[-1] if touches else None
    if last is None or (last.change, last.path) != (one.change, one.path):
        return [*touches, one]
    return [*touches[:-1], LastTouch(last.first, one.last, last.change, last.path)]


def _change(name: str, told: dict[str, str]) -> PastChange:
    when = datetime.fromtimestamp(int(told.get("author-time", "0")), UTC).isoformat()
    return PastChange(name, told.get("author", ""), when, told.get("summary", ""))


def _count(text: str) -> int:
    return int(text) if text.isdigit() else -1
