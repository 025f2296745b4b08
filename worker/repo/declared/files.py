"""Which files of a tree declare needs, and what each of them says."""

import re
from dataclasses import dataclass
from typing import Protocol

from app.core.verdict import Refused
from worker.repo.declared import jvm, locks, others, python
from worker.repo.declared.words import Need, Reading, Role, Unread
from worker.repo.reading import text_of
from worker.repo.tree import Entry, Tree

MOST_BYTES = {"manifest": 1_000_000, "lock": 8_000_000}
MOST_NEEDS = 20_000
BROUGHT_ALONG = re.compile(r"(^|/)(node_modules|vendor|third_party|\.venv|venv|site-packages|dist|testdata)/")
"""Folders in which other people's manifests lie."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: how it is called, its ecosystem, what it is, and how it is read."""

    names: re.Pattern[str]
    ecosystem: str
    role: Role
    read: Reading


def _kind(names: str, ecosystem: str, read: Reading, role: Role = "manifest") -> Kind:
    return Kind(re.compile(rf"(?:^|/)(?:{names})\Z", re.IGNORECASE), ecosystem, role, read)


KINDS: tuple[Kind, ...] = (
    _kind(r"pyproject\.toml", "Python", python.pyproject),
    _kind(r"setup\.cfg", "Python", python.setup_cfg),
    _kind(r"setup\.py", "Python", python.setup_py),
    _kind(r"Pipfile", "Python", python.pipfile),
    _kind(r"environment\.ya?ml|conda\.ya?ml", "Python (conda)", python.conda),
    _kind(r"poetry\.lock|uv\.lock|pdm\.lock", "Python", locks.toml_packages, "lock"),
    _kind(r"Pipfile\.lock", "Python", locks.pipfile_lock, "lock"),
    _kind(r"[\w.-]*requirements[\w.-]*\.(?:txt|in|lock)", "Python", python.requirements),
    _kind(r"requirements/[\w.-]+\.(?:txt|in)|constraints[\w.-]*\.txt", "Python", python.requirements),
    _kind(r"package\.json", "JavaScript", others.package_json),
    _kind(r"package-lock\.json|npm-shrinkwrap\.json", "JavaScript", locks.package_lock, "lock"),
    _kind(r"yarn\.lock", "JavaScript", locks.yarn_lock, "lock"),
    _kind(r"pnpm-lock\.yaml", "JavaScript", locks.pnpm_lock, "lock"),
    _kind(r"go\.mod", "Go", others.go_mod),
    _kind(r"go\.sum", "Go", locks.go_sum, "lock"),
    _kind(r"Cargo\.toml", "Rust", others.cargo),
    _kind(r"Cargo\.lock", "Rust", locks.toml_packages, "lock"),
    _kind(r"pom\.xml", "Java (Maven)", jvm.pom),
    _kind(r"build\.gradle(?:\.kts)?|settings\.gradle(?:\.kts)?", "Java (Gradle)", jvm.gradle),
    _kind(r"[\w.-]+\.versions\.toml", "Java (Gradle)", jvm.catalogue),
    _kind(r"Gemfile|gems\.rb", "Ruby", others.gemfile),
    _kind(r"[\w.-]+\.gemspec", "Ruby", others.gemspec),
    _kind(r"Gemfile\.lock|gems\.locked", "Ruby", locks.gemfile_lock, "lock"),
    _kind(r"composer\.json", "PHP", others.composer),
    _kind(r"composer\.lock", "PHP", locks.composer_lock, "lock"),
    _kind(r"[\w.-]+\.(?:cs|fs|vb)proj|Directory\.Packages\.props", ".NET", others.dotnet),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Declared:
    """What one file says; `unread` holds why some of it, or all, is not told."""

    path: str
    ecosystem: str
    role: Role
    needs: tuple[Need, ...]
    unread: tuple[str, ...]


class Listed(Protocol):
    """What can be listed."""

    def list(self, prefix: str = "", glob: str = "") -> tuple[Entry, ...]: ...


def declaring(listed: Listed, prefix: str = "") -> list[tuple[str, Kind]]:
    """The files that declare needs, those nearest to the top first; what was brought along is left out."""
    found = [
        (entry.path, kind)
        for entry in listed.list(prefix)
        if entry.kind == "file" and not BROUGHT_ALONG.search(entry.path) and (kind := kind_of(entry.path))
    ]
    return sorted(found, key=lambda each: (each[0].count("/"), each[0]))


def kind_of(path: str) -> Kind | None:
    """What kind of declaring file a path names, or None."""
    return next((kind for kind in KINDS if kind.names.search(path)), None)


def declared(tree: Tree, path: str, kind: Kind) -> Declared:
    """What the file says. One that cannot be read says so and costs nothing else."""
    entry = tree.entry(path)
    if entry is not None and entry.size > MOST_BYTES[kind.role]:
        return Declared(path, kind.ecosystem, kind.role, (), (f"it has {entry.size:,} bytes",))
    text = text_of(tree, path)
    if isinstance(text, Refused):
        return Declared(path, kind.ecosystem, kind.role, (), (text.reason,))
    needs: list[Need] = []
    unread: list[str] = []
    try:
        for number, one in enumerate(kind.read(text.removeprefix("\ufeff")), 1):
            if number > MOST_NEEDS:
                unread.append(f"only the first {MOST_NEEDS:,} names of it were read")
                break
            if isinstance(one, Unread):
                unread.append(one.why)
            else:
                needs.append(one)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        unread.append(f"it could not be read to its end ({' '.join(str(error).split())[:200] or type(error).__name__})")
    return Declared(path, kind.ecosystem, kind.role, tuple(dict.fromkeys(needs)), tuple(dict.fromkeys(unread)))
