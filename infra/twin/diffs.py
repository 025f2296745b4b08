"""What changed between two commits: files with their patches, byte-exact names, and the whole diff as text."""

from dataclasses import dataclass

from infra.twin.git_store import GitStore

STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}
LONGEST_PATCH = 500_000


@dataclass(frozen=True)
class ChangedFile:
    """One changed file; `sha` is the blob afterwards (before, when removed), `patch` None for binary files."""

    path: str
    status: str
    sha: str
    additions: int
    deletions: int
    patch: str | None
    previous: str | None
    mode_before: str
    mode_after: str


def changed_files(git: GitStore, repo_id: int, old: str, new: str) -> list[ChangedFile]:
    """The files that differ, in git's order, renames detected."""
    raw = _parts(git, repo_id, ["diff", "--raw", "-z", "-M", "--abbrev=40", old, new])
    counts = _counts(_parts(git, repo_id, ["diff", "--numstat", "-z", "-M", old, new]))
    patches = _patches(diff_text(git, repo_id, old, new))
    files: list[ChangedFile] = []
    index = 0
    while index < len(raw):
        before, after, sha_before, sha_after, kind = raw[index].lstrip(":").split(" ")
        moved = kind[0] in "RC"
        path = raw[index + 2] if moved else raw[index + 1]
        number = len(files)
        added, removed = counts[number]
        files.append(
            ChangedFile(
                path, STATUS[kind[0]], sha_before if kind[0] == "D" else sha_after, added, removed,
                patches[number] if number < len(patches) else None, raw[index + 1] if moved else None, before, after,
            )
        )
        index += 3 if moved else 2
    return files


def diff_text(git: GitStore, repo_id: int, old: str, new: str) -> str:
    """The unified diff, as the `.diff` media type gives it."""
    return git.git(repo_id, ["diff", "-M", "--full-index", old, new]).decode("utf-8", "replace")


def mail_text(git: GitStore, repo_id: int, old: str, new: str) -> str:
    """The commits as mails, as the `.patch` media type gives them."""
    return git.git(repo_id, ["format-patch", "--stdout", f"{old}..{new}"]).decode("utf-8", "replace")


def _parts(git: GitStore, repo_id: int, arguments: list[str]) -> list[str]:
    return [part for part in git.git(repo_id, arguments).decode("utf-8", "surrogateescape").split("\0") if part]


def _counts(parts: list[str]) -> list[tuple[int, int]]:
    found, index = [], 0
    while index < len(parts):
        added, removed, path = parts[index].split("\t", 2)
        found.append((int(added) if added != "-" else 0, int(removed) if removed != "-" else 0))
        index += 1 if path else 3
    return found


def _patches(text: str) -> list[str | None]:
    """The hunks of each file; lines inside hunks never begin with `diff --git`, so the headers part the files."""
    found: list[str | None] = []
    for part in ("\n" + text).split("\ndiff --git ")[1:]:
        start = part.find("\n@@ ")
        body = part[start + 1 :].removesuffix("\n") if start >= 0 else None
        found.append(body if body is None or len(body) <= LONGEST_PATCH else None)
    return found
