"""What a path says about a file: test, document, somebody else's code; and which file a foreign path means."""

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

from worker.repo.symbols import language_of

Place = Literal["source", "aside", "test", "other"]
"""Source is what a fix touches; aside is source too, yet rarely where the fault is (examples, docs, vendored)."""

_TEST_FOLDERS = frozenset({"tests", "__tests__", "__mocks__", "testdata", "test-data", "test_data", "fixtures"})
_TOP_TEST_FOLDERS = frozenset({"test", "testing", "spec", "specs", "e2e"})
_TEST_NAME = re.compile(
    r"^(test_.*|.*_tests?|tests?|conftest|.*[._-](test|spec)|.*_spec|[A-Z].*(Test|Tests|TestCase|IT|Spec))\.\w+$"
)
_ASIDE = frozenset(
    {
        "doc", "docs", "documentation", "example", "examples", "sample", "samples", "demo", "demos", "benchmark",
        "benchmarks", "asv_bench", "bench", "tools", "scripts", "script", "ci", "contrib", "vendor", "vendored",
        "_vendor", "third_party", "thirdparty", "extern", "externals", "external", "node_modules", "dist", "build",
        "packages", "tutorial", "tutorials", "galleries", "gallery", "extra", "release", "licenses", "cextern",
    }
)  # fmt: skip
_VENDORED = frozenset(
    {"vendor", "vendored", "_vendor", "third_party", "thirdparty", "extern", "externals", "node_modules", "cextern"}
)
_INSTALLED = re.compile(
    r".*(?:site-packages|dist-packages|node_modules|lib/python\d(?:\.\d+)?|\.egg|[Pp]ython[\d.]*/[Ll]ib)/(.+)$"
)
_TOP_ASIDE_FILES = frozenset({"setup", "conf", "noxfile", "fabfile", "tasks", "versioneer", "ez_setup", "bootstrap"})
_OTHER_CODE = frozenset(
    {
        "cs", "php", "kt", "kts", "scala", "swift", "m", "mm", "lua", "pl", "pm", "r", "jl", "ex", "exs", "erl", "hs",
        "clj", "dart", "vue", "svelte", "sh", "ps1", "groovy", "zig", "nim", "ml", "fs", "pyx", "pxd", "cu",
    }
)  # fmt: skip


def is_code(path: str) -> bool:
    """True for source files in any language, known to a grammar here or not."""
    return language_of(path) is not None or path.rpartition(".")[2].lower() in _OTHER_CODE


def is_test(path: str) -> bool:
    """True for tests and what belongs to them. A library's own `testing` package below its code is not one."""
    *folders, name = path.split("/")
    if _TEST_NAME.match(name) or not _TEST_FOLDERS.isdisjoint(folders):
        return True
    if folders and folders[0] in _TOP_TEST_FOLDERS:
        return True
    return any(above == "src" and below == "test" for above, below in pairwise(folders))


def place_of(path: str) -> Place:
    """Where a file belongs."""
    if not is_code(path):
        return "other"
    if is_test(path):
        return "test"
    *folders, name = path.split("/")
    if folders and (folders[0].lower() in _ASIDE - {"packages"} or folders[0].startswith(".")):
        return "aside"
    if any(folder in _VENDORED or folder in {"examples", "node_modules"} for folder in folders):
        return "aside"
    if any(folder == "packages" for folder in folders[1:]):
        return "aside"
    if not folders and name.partition(".")[0] in _TOP_ASIDE_FILES:
        return "aside"
    return "source"


def stripped(path: str) -> str:
    """A path as importers know it: no ending, and a package's own file stands for the package."""
    head, _, name = path.rpartition("/")
    name = name.partition(".")[0] if not name.startswith(".") else name
    if name in ("__init__", "index", "mod") and head:
        return head
    return f"{head}/{name}" if head else name


class PathFinder:
    """Finds files of a tree by what other places call them: paths on other machines, dotted names, imports."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_end: dict[str, list[str]] = defaultdict(list)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            known = stripped(path).split("/")
            for at in range(max(0, len(known) - 6), len(known)):
                self._by_end["/".join(known[at:])].append(path)
            self._by_name[path.rpartition("/")[2]].append(path)

    def foreign(self, path: str) -> tuple[str, ...]:
        """The files that a path from a traceback or a text can mean, at most four.

        Installed packages must fit from the package on; other paths by their last two parts, or by a name that is
        there once.
        """
        path = re.sub(r"^(file:/+)?", "", path.replace("\\", "/")).lstrip("./")
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        if not parts:
            return ()
        named = self._by_name.get(parts[-1], [])
        installed = _INSTALLED.match(path)
        if installed is not None:
            tail = installed.group(1)
            return tuple(one for one in named if one == tail or ("/" in tail and one.endswith("/" + tail)))[:4]
        best, found = 0, []
        for one in named:
            same = _same_end(one.split("/"), parts)
            if same > best:
                best, found = same, [one]
            elif same == best:
                found.append(one)
        if best >= 2 or (best == len(parts) and len(found) <= 2) or (len(found) == 1 and not _generic(parts[-1])):
            return tuple(found[:4])
        return ()

    def is_own(self, path: str) -> bool:
        """True for a path into an installed copy of what this tree holds, whether the file is still there or not."""
        installed = _INSTALLED.match(path.replace("\\", "/"))
        if installed is None or "/" not in installed.group(1):
            return False
        package = installed.group(1).split("/")[0]
        return any(_is_top(one, package) for one in self._by_end.get(package, ()))

    def module(self, dotted: str) -> tuple[tuple[str, ...], str]:
        """The files that a dotted or slashed name leads to by its longest beginning, and what is left of the name."""
        names = [name for name in re.split(r"::|[./]", dotted) if name]
        for end in range(len(names), 0, -1):
            found = self._by_end.get("/".join(names[:end]), ())
            if found and (end > 1 or len(names) == 1 or any(_is_top(one, names[0]) for one in found)):
                if end == 1:
                    found = [one for one in found if _is_top(one, names[0])]
                return tuple(found[:4]), ".".join(names[end:])
        return (), dotted

    def beside(self, importer: str, name: str) -> tuple[str, ...]:
        """The files that a relative import in `importer` leads to."""
        folder = importer.split("/")[:-1]
        dots = len(name) - len(name.lstrip("."))
        if "/" in name:
            steps = name.split("/")
        else:
            steps = [".."] * (dots - 1) + [step for step in name[dots:].split(".") if step]
        for step in steps:
            if step == "..":
                folder = folder[:-1]
            elif step and step != ".":
                folder = [*folder, step]
        for end in (len(folder), len(folder) - 1):
            found = self._by_end.get("/".join(folder[:end][-6:]), ())
            if found:
                return tuple(found[:4])
        return ()


def _same_end(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(reversed(left), reversed(right), strict=False):
        if one != other:
            break
        count += 1
    return count


def _generic(name: str) -> bool:
    return name.partition(".")[0] in ("__init__", "index", "main", "mod", "utils", "test", "setup", "conf", "app")


def _is_top(path: str, name: str) -> bool:
    known = stripped(path)
    return known in (name, f"src/{name}", f"lib/{name}")
