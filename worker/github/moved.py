"""Whether what a plan touches still stands on its branch as it did at the plan's commit."""

from dataclasses import dataclass

from app.core.run import Proposal
from worker.github.errors import NotFound
from worker.github.reader import Reader

MOST_FILES = 300
"""GitHub names no more files of a comparison than these; then it is not known what else changed."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The plan's paths that changed since; `problem` says why some may be missing."""

    paths: tuple[str, ...] = ()
    problem: str = ""


def moved(reader: Reader, proposal: Proposal | None, head: str | None) -> Moved:
    """What of the plan's paths changed between its base commit and `head`, in one question. Raises `GitHubError`."""
    if proposal is None or proposal.paths is None or head == proposal.base_commit:
        return Moved()
    if head is None:
        return Moved(problem=f"There is no branch {proposal.base_branch} any more.")
    try:
        since = reader.compared(proposal.base_commit, head)
    except NotFound:
        return Moved(problem=f"The commit of the plan is no part of {proposal.base_branch} any more.")
    if since.status not in ("ahead", "identical"):
        return Moved(problem=f"The commit of the plan is no part of {proposal.base_branch} any more.")
    changed = {name for file in since.files for name in (file.filename, file.previous_filename) if name}
    touched = tuple(path for path in proposal.paths if path in changed)
    if len(since.files) >= MOST_FILES and not touched:
        return Moved(
            problem=f"More than {MOST_FILES} files of {proposal.base_branch} changed since, so it is not known."
        )
    return Moved(touched)
