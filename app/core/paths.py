"""Paths inside a repository: which texts name one, and which paths are protected. Pure; no file is touched."""

import unicodedata
from enum import StrEnum

from app.core.verdict import Refused

MAX_PATH_BYTES = 4_096

# What HFS+ leaves out when it compares names; `.g\u200cit` is `.git` there.
_IGNORED = frozenset("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff") | frozenset(
    chr(point) for point in (*range(0x202A, 0x202F), *range(0x206A, 0x2070))
)

# Names that NTFS also accepts for `.git` and `.gitmodules`, by their short form.
_GIT_NAMES = frozenset({".git", "git~1"})
_GITMODULES_NAMES = {".gitmodules"}.union(f"{short}~{number}" for short in ("gitmod", "gi7eba") for number in range(10))

_LOCK_FILES = frozenset(
    {
        "bun.lock", "bun.lockb", "cargo.lock", "cartfile.resolved", "composer.lock", "conda-lock.yml", "deno.lock",
        "flake.lock", "gemfile.lock", "go.sum", "gradle.lockfile", "mix.lock", "npm-shrinkwrap.json",
        "package-lock.json", "package.resolved", "packages.lock.json", "pdm.lock", "pipfile.lock", "pnpm-lock.yaml",
        "podfile.lock", "poetry.lock", "pubspec.lock", "uv.lock", "yarn.lock",
    }
)  # fmt: skip


class Protection(StrEnum):
    """Why a path is protected."""

    WORKFLOW = "workflow"
    SUBMODULES = "submodules"
    POLICY = "policy"
    CODE_OWNERS = "code owners"
    LOCK_FILE = "lock file"


def folded(segment: str) -> str:
    """One path segment as the most forgiving file system compares it.

    Case, compatibility forms, ignorable characters, trailing dots and blanks, and an NTFS stream name make no
    difference.
    """
    plain = unicodedata.normalize("NFKC", "".join(c for c in segment if c not in _IGNORED))
    plain = "".join(c for c in plain if unicodedata.category(c) != "Cf").casefold()
    return plain.split(":", 1)[0].rstrip(". ")


def names_git_directory(segment: str) -> bool:
    """True for `.git` and everything that some file system takes for it."""
    return folded(segment) in _GIT_NAMES


def unsafe_in_tree(path: str) -> Refused | None:
    """Why a tree that holds `path` is not written to a disk, or None.

    Looser than `safe_path`: repositories do hold backslashes, blanks at the end and bytes that are not UTF-8.
    """
    if not path or path.startswith("/"):
        return Refused(f"{shown(path)} is not a path inside the repository.")
    for segment in path.split("/"):
        if segment in ("", ".", ".."):
            return Refused(f"{shown(path)} has an empty, `.` or `..` part.")
        if names_git_directory(segment):
            return Refused(f"{shown(path)} names a git directory.")
    if any(unicodedata.category(c) == "Cc" for c in path):
        return Refused(f"{shown(path)} holds a control character.")
    return None


def safe_path(text: str) -> str | Refused:
    """The same text when it is a plain path inside a repository, else the reason why not.

    Relative, `/` between parts, UTF-8, at most 4,096 bytes; never normalised, since git compares bytes (composed
    and decomposed letters are two files).
    """
    if not text:
        return Refused("The path is empty.")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return Refused(f"{shown(text)} is not UTF-8.")
    if size > MAX_PATH_BYTES:
        return Refused(f"The path is longer than {MAX_PATH_BYTES:,} bytes.")
    if "\\" in text:
        return Refused(f"{shown(text)} holds a backslash.")
    unsafe = unsafe_in_tree(text)
    if unsafe is not None:
        return unsafe
    for segment in text.split("/"):
        if segment != segment.rstrip(". ") or segment != segment.lstrip(" "):
            return Refused(f"{shown(text)} has a part that begins with a blank or ends in a dot or blank.")
        if any(c in _IGNORED or unicodedata.category(c) in ("Cf", "Zl", "Zp") for c in segment):
            return Refused(f"{shown(text)} holds an invisible character.")
    return text


def protection_of(path: str) -> Protection | None:
    """Why `path` is protected, or None. Compared by folded parts, so that another spelling is no way round."""
    parts = [folded(segment) for segment in path.split("/")]
    name = parts[-1]
    if parts[:2] == [".github", "workflows"] and len(parts) > 2:
        return Protection.WORKFLOW
    if name in _GITMODULES_NAMES:
        return Protection.SUBMODULES
    if parts in ([".github", "countersign.yml"], [".github", "countersign.yaml"]):
        return Protection.POLICY
    if name == "codeowners" and parts[:-1] in ([], [".github"], ["docs"]):
        return Protection.CODE_OWNERS
    if name in _LOCK_FILES:
        return Protection.LOCK_FILE
    return None


def is_protected(path: str) -> bool:
    """True when `path` has a protection; `protection_of` says which."""
    return protection_of(path) is not None


def shown(path: str) -> str:
    """A path as people can read it in one line: letters stay, what cannot be seen or printed is escaped."""
    out = []
    for c in path:
        if "\udc80" <= c <= "\udcff":
            out.append(f"\\x{ord(c) - 0xDC00:02x}")
        elif unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            out.append(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}")
        else:
            out.append(c)
    return "".join(out)
