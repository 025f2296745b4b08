"""A patch told apart: its files, and of each line whether it was added, taken away or stands around."""

import re
from dataclasses import dataclass, field

_HEADER = re.compile(r"diff --git a/(.*) b/(.*)")


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file. Each line comes with its sort: `add`, `del`, `hunk`, `note`, or nothing."""

    path: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    added: int = 0
    removed: int = 0


def files_of(patch: str) -> list[FilePatch]:
    """The files of a patch in its order; what stands before the first is told under no path."""
    files: list[FilePatch] = []
    left = [0, 0]
    for line in patch.splitlines():
        header = _HEADER.fullmatch(line)
        if header and left == [0, 0]:
            files.append(FilePatch(header[2]))
            continue
        if not files:
            files.append(FilePatch(""))
        _take(files[-1], line, left)
    return files


def _take(file: FilePatch, line: str, left: list[int]) -> None:
    """Within a hunk, whose head says how long it is, a line is what its first character says; outside it is a note."""
    if left == [0, 0]:
        hunk = re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        if hunk:
            left[:] = [int(hunk[1] or 1), int(hunk[2] or 1)]
        if not line.startswith(("--- ", "+++ ", "index ")):
            file.lines.append(("hunk" if hunk else "note", line))
        return
    sort = {"+": "add", "-": "del", "\\": "note"}.get(line[:1], "")
    file.lines.append((sort, line))
    file.added += sort == "add"
    file.removed += sort == "del"
    if sort in ("del", ""):
        left[0] = max(left[0] - 1, 0)
    if sort in ("add", ""):
        left[1] = max(left[1] - 1, 0)
