"""Reads what a Python project says of itself, without running a line of it."""

import ast
import configparser
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from worker.box.requirement_files import MAIN, TESTS, Listed, first_of

TEST_SETS = ("test", "tests", "testing")
DEVELOPMENT_SETS = ("dev", "develop", "development")
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml")
"""Those of clients that the box has not."""
_LARGEST_FILE = 1024 * 1024
_UNKNOWN_VERSION = "0"
_NEWEST = "999.0"


class UnreadableProject(Exception):
    """What the project says of itself cannot be read, or asks for what is not allowed."""


@dataclass(frozen=True, slots=True)
class Project:
    """`requirements` are those of the project and of its tests, in normal form, sorted.

    `version` is "0" where it is known only to the project's own build. `source` is the folder from which its
    packages are imported, relative to the tree; "." is the tree itself. `version_files` are modules that its
    build would write from the version control's tags; in a tree that was never built they are missing.
    """

    name: str | None
    version: str
    requires_python: str
    requirements: tuple[str, ...]
    entry_points: tuple[tuple[str, str, str], ...]
    source: str
    version_files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What of its files is not heeded, a sentence each."""

    def version_module(self) -> str:
        """What such a file says. Where the version is known to nobody it is one that no other is newer than."""
        version = self.version if self.version != _UNKNOWN_VERSION else _NEWEST
        parts = ", ".join(str(part) for part in Version(version).release)
        return f"__version__ = version = {version!r}\n__version_tuple__ = version_tuple = ({parts},)\n"


def read_project(snapshot: Path) -> Project:
    """What pyproject.toml, setup.cfg, PKG-INFO and literal arguments in setup.py say; requirement files only where
    these name no dependencies, or no set for tests. Raises UnreadableProject."""
    toml = _toml(snapshot / "pyproject.toml")
    ini = _ini(snapshot / "setup.cfg")
    call = _setup_call(snapshot / "setup.py")
    built = _headers(snapshot / "PKG-INFO")
    table = _table(toml.get("project"))
    name = _text(table.get("name")) or ini.get("metadata", "name", fallback=None) or _text(call.get("name"))
    version = (
        _text(table.get("version")) or built.get("Version") or _static(ini, "version") or _text(call.get("version"))
    )
    sets = _optional_sets(table, ini, call)
    wanted, listed = _main_requirements(table, ini, call), Listed()
    if wanted is None:
        first_of(MAIN, snapshot, listed)
    tests = [each for each in TEST_SETS if each in sets] or [each for each in DEVELOPMENT_SETS if each in sets]
    for each in tests:
        listed.requirements += sets[each]
    groups = _table(toml.get("dependency-groups"))
    grouped = [each for each in TEST_SETS if each in groups] or [each for each in DEVELOPMENT_SETS if each in groups]
    for each in grouped:
        listed.requirements += _group(groups, each, ())
    if not tests and not grouped:
        first_of(TESTS, snapshot, listed)
    return Project(
        name=name,
        version=_normal_version(version),
        requires_python=_text(table.get("requires-python")) or ini.get("options", "python_requires", fallback="") or "",
        requirements=_normal_requirements([*(wanted or ()), *listed.requirements], name, sets),
        entry_points=_entry_points(table, ini),
        source=_source(snapshot, toml, ini),
        version_files=_version_files(snapshot, toml, call),
        notes=(*listed.notes, *_unread(snapshot)),
    )


def _unread(snapshot: Path) -> tuple[str, ...]:
    names = " and ".join(f"`{name}`" for name in LOCKS if (snapshot / name).is_file())
    return (f"The packages for the tests were chosen by pip: {names} is not read for them.",) if names else ()


def _normal_requirements(wanted: list[str], name: str | None, sets: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Without the project itself: where it names its own extras, what is in them counts."""
    own = canonicalize_name(name) if name else None
    waiting, seen_sets, found = list(wanted), set[str](), set[str]()
    while waiting:
        try:
            requirement = Requirement(waiting.pop())
        except InvalidRequirement as error:
            raise UnreadableProject(f"a requirement cannot be read: {error}") from error
        if requirement.url is not None:
            raise UnreadableProject(f"{requirement.name} is to be fetched from an address of its own")
        if canonicalize_name(requirement.name) != own:
            found.add(str(requirement))
            continue
        for each in requirement.extras - seen_sets:
            seen_sets.add(each)
            waiting += sets.get(each, [])
    return tuple(sorted(found))


def _main_requirements(
    table: Mapping[str, Any], ini: configparser.ConfigParser, call: Mapping[str, Any]
) -> list[str] | None:
    """None where none of them says anything."""
    if "dependencies" in table:
        return _texts(table["dependencies"])
    listed = ini.get("options", "install_requires", fallback="")
    return _lines(listed) or _texts(call.get("install_requires", [])) or None


def _optional_sets(
    table: Mapping[str, Any], ini: configparser.ConfigParser, call: Mapping[str, Any]
) -> dict[str, list[str]]:
    sets = {str(key): _texts(value) for key, value in _table(call.get("extras_require")).items()}
    if ini.has_section("options.extras_require"):
        sets |= {key: _lines(value) for key, value in ini.items("options.extras_require")}
    return sets | {key: _texts(value) for key, value in _table(table.get("optional-dependencies")).items()}


def _group(groups: Mapping[str, Any], name: str, above: tuple[str, ...]) -> list[str]:
    """A dependency group with the groups that it includes (PEP 735)."""
    if name in above:
        raise UnreadableProject(f"the dependency group {name} includes itself")
    found: list[str] = []
    for entry in groups.get(name, []) if isinstance(groups.get(name), list) else []:
        if isinstance(entry, str):
            found.append(entry)
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            found += _group(groups, entry["include-group"], (*above, name))
    return found


def _entry_points(table: Mapping[str, Any], ini: configparser.ConfigParser) -> tuple[tuple[str, str, str], ...]:
    groups = {"console_scripts": _table(table.get("scripts")), **_table(table.get("entry-points"))}
    found = [
        (str(group), str(name), target)
        for group, entries in groups.items()
        for name, target in _table(entries).items()
        if isinstance(target, str)
    ]
    if ini.has_section("options.entry_points"):
        for group, listed in ini.items("options.entry_points"):
            pairs = (line.partition("=") for line in _lines(listed))
            found += [(group, name.strip(), target.strip()) for name, equals, target in pairs if equals]
    return tuple(sorted(entry for entry in found if all("\n" not in part and part for part in entry)))


def _source(snapshot: Path, toml: Mapping[str, Any], ini: configparser.ConfigParser) -> str:
    setuptools = _table(_table(toml.get("tool")).get("setuptools"))
    find = _table(_table(setuptools.get("packages")).get("find"))
    named = [_text(_table(setuptools.get("package-dir")).get("")), *_texts(find.get("where", []))]
    for line in _lines(ini.get("options", "package_dir", fallback="")):
        before, _, folder = line.partition("=")
        named += [folder.strip()] if not before.strip() else []
    for folder in filter(None, (*named, "src")):
        if folder != "." and ".." not in Path(folder).parts and not Path(folder).is_absolute():
            place = snapshot / folder
            if place.is_dir() and place.resolve().is_relative_to(snapshot.resolve()):
                return folder
    return "."


def _version_files(snapshot: Path, toml: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of setuptools-scm and hatch-vcs that the tree does not hold."""
    tool = _table(toml.get("tool"))
    hooks = _table(_table(_table(_table(tool.get("hatch")).get("build")).get("hooks")).get("vcs"))
    tables = (_table(tool.get("setuptools_scm")), _table(call.get("use_scm_version")), hooks)
    named = [_text(table.get(key)) for table in tables for key in ("version_file", "write_to", "version-file")]
    found = []
    for name in filter(None, named):
        path = PurePosixPath(name)
        if (
            path.suffix == ".py"
            and not path.is_absolute()
            and ".." not in path.parts
            and not (snapshot / path).exists()
        ):
            found.append(path.as_posix())
    return tuple(dict.fromkeys(found))


def _normal_version(version: str | None) -> str:
    try:
        return str(Version(version or _UNKNOWN_VERSION))
    except InvalidVersion:
        return _UNKNOWN_VERSION


def _static(ini: configparser.ConfigParser, name: str) -> str | None:
    value = ini.get("metadata", name, fallback=None)
    return None if value is None or value.startswith(("attr:", "file:")) else value


def _content(path: Path) -> bytes | None:
    """Nothing for a link: a repository does not choose which file of this machine is read."""
    if path.is_symlink() or not path.is_file():
        return None
    if path.stat().st_size > _LARGEST_FILE:
        raise UnreadableProject(f"{path.name} is too large")
    return path.read_bytes()


def _toml(path: Path) -> dict[str, Any]:
    content = _content(path)
    try:
        return tomllib.loads(content.decode()) if content else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableProject(f"{path.name} cannot be read: {error}") from error


def _ini(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    content = _content(path)
    try:
        parser.read_string(content.decode() if content else "")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise UnreadableProject(f"{path.name} cannot be read: {type(error).__name__}") from error
    return parser


def _setup_call(path: Path) -> dict[str, Any]:
    """The literal keyword arguments of the call of `setup`; anything that is computed is left out."""
    content = _content(path)
    if content is None:
        return {}
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup":
            return {each.arg: _literal(each.value, module) for each in node.keywords if each.arg}
    return {}


def _literal(node: ast.expr, module: ast.Module) -> object:
    """The value; of a name, the literal that the module gives it where it does so only once."""
    if isinstance(node, ast.Name):
        given = [
            each.value
            for each in ast.walk(module)
            if isinstance(each, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == node.id for target in each.targets)
        ]
        if len(given) != 1 or isinstance(given[0], ast.Name):
            return None
        node = given[0]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _headers(path: Path) -> Mapping[str, str]:
    content = _content(path)
    return dict(BytesHeaderParser().parsebytes(content).items()) if content else {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: object) -> list[str]:
    values = _lines(value) if isinstance(value, str) else value
    return [each for each in values if isinstance(each, str)] if isinstance(values, list | tuple) else []


def _lines(value: str) -> list[str]:
    """Without what stands behind a mark of its own, as setuptools reads such lists."""
    stripped = (line.partition(" #")[0].strip() for line in value.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]
