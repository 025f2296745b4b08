"""What decides what a set-up makes: by the digest of all of it, what was made is found again.

The rule for files: manifests, lock files and the clients' own settings in the tree always count. Where a command runs
what the repository holds (by a file that it names which is no manifest, or by a program that is no package client),
there count besides everything in the folder of such a file and below it (at the top of the tree: the files beside it),
everything below a folder that it names, makefiles, and every program of the tree, since one script calls others.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from app.core.clients import client_of
from app.core.fit import is_manifest

_INTERPRETERS = ("python3", "node", "npm", "go", "cargo", "rustc", "java", "mvn", "make", "cc", "ruby", "sh")
_SETTINGS = frozenset({".npmrc", ".pnpmfile.cjs", ".yarnrc.yml", "go.work", "go.work.sum", "pnpm-workspace.yaml"})
_SETTING_FOLDERS = frozenset({".cargo", ".mvn"})
_MAKEFILES = frozenset({"GNUmakefile", "makefile", "Makefile"})

Commands = tuple[tuple[str, ...], ...]


def files_that_decide(tree: Path, commands: Commands) -> Mapping[str, str]:
    """SHA-256 by path of the files of the tree on which these commands depend; links are not followed."""
    entries = dict(_entries(tree))
    named = {PurePosixPath(word).as_posix().removeprefix("./") for one in commands for word in one} - {"."}
    scripts = {path for path in named & entries.keys() if not is_manifest(path)}
    own = bool(scripts) or any(not client_of(one) for one in commands)
    folders = {PurePosixPath(path).parent.as_posix() for path in scripts}
    folders |= {path for path in named if (tree / path).is_dir() and not (tree / path).is_symlink()}
    chosen = [path for path, mode in entries.items() if _counts(path) or (own and _called(path, mode, named, folders))]
    return {path: _digest(tree / path) for path in sorted(chosen)}


def tools_that_decide(programs: Path, commands: Commands) -> Mapping[str, list[object]]:
    """The programs of the system by which it is made; another version of one is another file."""
    found: dict[str, list[object]] = {}
    for name in sorted({*_INTERPRETERS, *(one[0] for one in commands)}):
        place = programs / name
        if "/" not in name and place.exists():
            real = place.resolve()
            seen = real.stat()
            found[name] = [str(real), seen.st_size, seen.st_mtime_ns]
    return found


def _entries(tree: Path) -> Iterator[tuple[str, int]]:
    """Every plain file by its path, with its mode."""
    for top, folders, names in os.walk(tree):
        folders[:] = [one for one in folders if one not in (".git", "node_modules")]
        for name in names:
            place = Path(top, name)
            mode = place.lstat().st_mode
            if stat.S_ISREG(mode):
                yield place.relative_to(tree).as_posix(), mode


def _counts(path: str) -> bool:
    parts = path.split("/")
    return is_manifest(path) or parts[-1] in _SETTINGS or bool(_SETTING_FOLDERS & set(parts[:-1]))


def _called(path: str, mode: int, named: set[str], folders: set[str]) -> bool:
    """Whether a script that a command names may come to it."""
    if path in named or mode & stat.S_IXUSR or path.rpartition("/")[2] in _MAKEFILES or path.endswith(".mk"):
        return True
    above = [parent.as_posix() for parent in PurePosixPath(path).parents]
    return above == ["."] if above[0] == "." and "." in folders else any(one in folders for one in above[:-1])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
