"""Reads requirement files, of projects that say nowhere else on what they depend. No line reaches pip as it stands.

Requirements are taken, and what further files of the tree require. An option would change where pip looks or what it
builds: it is not heeded, and that is told. Versions stay as they are written; hashes are not compared.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

MAIN = ("requirements.txt",)
TESTS = (
    *("requirements-test.txt", "requirements-tests.txt", "requirements_test.txt", "test-requirements.txt"),
    *("test_requirements.txt", "requirements/test.txt", "requirements/tests.txt", "requirements/testing.txt"),
    *("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements/dev.txt"),
)
_LARGEST = 1024 * 1024
_MOST_FILES = 20
_FURTHER = re.compile(r"(?:-r|--requirement)[\s=]*(\S+)$")
_ITSELF = re.compile(r"(?:(?:-e|--editable)[\s=]*)?\.{1,2}/?(?:\[[^\]]*\])?$")


@dataclass(slots=True)
class Listed:
    """What files require, line by line, and what of them was not heeded, a sentence each."""

    requirements: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)


def first_of(names: tuple[str, ...], tree: Path, listed: Listed) -> None:
    """Adds what the first of these files that the tree holds requires; links are no files."""
    name = next((one for one in names if _text(tree / one) is not None), None)
    if name is not None:
        _read(name, tree, listed)


def _read(name: str, tree: Path, listed: Listed) -> None:
    text = _text(tree / name)
    if text is None or name in listed.files or len(listed.files) >= _MOST_FILES:
        return
    listed.files.add(name)
    for line in _lines(text):
        further = _FURTHER.match(line)
        if further:
            _read(_beside(name, further[1]), tree, listed)
        elif line.startswith("-") and not _ITSELF.match(line):
            listed.notes.append(f"`{name}`: `{line[:80]}` is not heeded when what the tests need is installed.")
        elif not _ITSELF.match(line):
            listed.requirements.append(re.split(r"\s--", line)[0].strip())


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        plain = re.sub(r"(^|\s)#.*$", "", line).strip()
        if plain:
            yield plain


def _beside(name: str, other: str) -> str:
    """The other file's path in the tree; one that leads out of it is none that is read."""
    parts: list[str] = list(PurePosixPath(name).parent.parts)
    for part in PurePosixPath(other).parts:
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _text(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    return path.read_text(errors="replace")
