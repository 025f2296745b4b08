"""Who changed a file, or some of its lines, and why: `git log` with fixed arguments on the commit."""

from dataclasses import dataclass

from worker.repo.git import Bounds, Git, GitError

_FIELDS = "%H%x00%an%x00%aI%x00%s"


@dataclass(frozen=True, slots=True)
class PastChange:
    """One commit, newest first: full id, author's name as it stands in the commit, ISO time, first line."""

    commit: str
    author: str
    when: str
    subject: str


class HistoryMissing(Exception):
    """There is no history to read; the text says why."""


def past_changes(git: Git, commit: str, path: str, lines: tuple[int, int] | None, limit: int) -> tuple[PastChange, ...]:
    """The commits that touched the file (renames followed), or these lines of it, at most `limit`."""
    words = ["log", "--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature", f"--format={_FIELDS}", "-z"]
    words += [f"--max-count={limit}"]
    if lines is not None:
        words += ["--no-patch", f"-L{lines[0]},{lines[1]}:{path}", commit]
    else:
        words += ["--follow", commit, "--", path]
    try:
        out = git.run(*words, bounds=Bounds(60.0, 8_000_000))
    except GitError as error:
        raise HistoryMissing(str(error).split("\n")[0][:300]) from error
    fields = [part.lstrip("\n") for part in out.decode("utf-8", "replace").split("\0")[:-1]]
    return tuple(PastChange(*fields[at : at + 4]) for at in range(0, len(fields) - 3, 4))
