"""Named checks: what a repository or its ecosystem calls its tests, as argument arrays without any shell text."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

from app.core.policy import POLICY_PATH, Policy
from app.core.verdict import Refused
from worker.box.command import Command, Profile
from worker.box.environment import KIND as PYTHON_KIND
from worker.box.environment import PYTHON, CheckEnvironment
from worker.box.found_setup import CARGO_KIND, GO_KIND, MAVEN_KIND, NODE_KIND, SETS, has_pnpm
from worker.box.setting_up import KIND as SETUP_KIND

_SECONDS = 900.0
_LARGEST_FILE = 1024 * 1024
_TOOLS = Path("/usr/bin")
_MAKE_GOALS = ("test", "check")
"""What GNU make projects call their tests, in the order in which they are looked for."""
_RULE = re.compile(r"^([^\s.#:=%][^#:=%\n]*)::?(?![:=])([^#;\n]*)", re.MULTILINE)
_COMPILED = frozenset({".c", ".cc", ".cpp", ".cxx"})
_BUILDS_NOTHING = frozenset({*_MAKE_GOALS, "help", "usage", "clean", "distclean", "install", "run"})
_NODE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\x00-\x1f]{1,200}\])?")
_NO_SCRIPT = "no test specified"
_NOT_NPMS = ("workspace:", "catalog:", "portal:", "patch:")
"""How other clients than npm say where a package comes from."""

PYTEST = (PYTHON, "-m", "pytest", "-q", "--tb=short", "-rfE", "--color=no", "-p", "no:cacheprovider")


class PathArguments(StrEnum):
    """Whether a check can be narrowed to some of its files."""

    ACCEPTED = "accepted"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check by name. `argv` is complete without paths; accepted paths are added at its end.

    `needs` says what has to be prepared first: the kind of an environment of `worker.box.preparing`; `may_need`, what
    would have to be once the tree's package files name a dependency. `not_prepared` is the reason why it cannot be run
    here; empty when it can.
    """

    name: str
    argv: tuple[str, ...]
    paths: PathArguments
    needs: str = ""
    not_prepared: str = ""
    may_need: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a check runs: the tree, the files that the plan will create there, and a prepared environment."""

    snapshot: Path
    created: frozenset[str] = frozenset()
    environments: tuple[CheckEnvironment, ...] = ()


def discover(snapshot: Path) -> tuple[NamedCheck, ...]:
    """The checks that the tree's own files speak of, in a fixed order; none when it speaks of none."""
    found = (_pytest(snapshot), _npm(snapshot), _go(snapshot), _cargo(snapshot), _maven(snapshot), _make(snapshot))
    return tuple(check for check in found if check is not None)


def checks_of(snapshot: Path, policy: Policy) -> tuple[NamedCheck, ...]:
    """The checks that the policy names, then those of the tree; one of a name, the policy's.

    Where the policy says how to set up, that prepares what each of them needs, and nothing else is prepared.
    """
    own = {name: _own(name, check.run, check.paths) for name, check in policy.checks.items()}
    found = {one.name: one for one in discover(snapshot)}
    checks = (*own.values(), *(one for name, one in found.items() if name not in own))
    if not policy.setup:
        return checks
    return tuple(replace(one, needs=SETUP_KIND, not_prepared=_missing(one.argv[0]), may_need="") for one in checks)


def _own(name: str, words: tuple[str, ...], paths: bool) -> NamedCheck:
    takes = PathArguments.ACCEPTED if paths else PathArguments.NONE
    return NamedCheck(name, words, takes, "", _missing(words[0]))


def _missing(program: str) -> str:
    """Why a program cannot be started here; a path within the tree is not judged."""
    if "/" in program and not program.startswith("/"):
        return ""
    place = Path(program) if program.startswith("/") else _TOOLS / program
    return "" if place.exists() else f"there is no {place} on this machine"


def command_for(check: NamedCheck, paths: tuple[str, ...], ground: Ground) -> Command | Refused:
    """The command of the check for these paths, for a throw-away copy; or why there is none."""
    if check.not_prepared:
        return Refused(f"The check {check.name} cannot be run here: {check.not_prepared}.")
    if paths and check.paths is PathArguments.NONE:
        return Refused(f"The check {check.name} takes no paths.", "Plan it without paths.")
    for path in paths:
        refusal = _refusal_of(path, check, ground)
        if refusal is not None:
            return refusal
    words = (*check.argv, *paths)
    if not check.needs:
        return Command(words, _SECONDS, Profile.TEST)
    prepared = next((one for one in ground.environments if one.kind == check.needs), None)
    if prepared is None:
        return Refused(f"The check {check.name} needs an environment and none is prepared.")
    return Command(words, _SECONDS, Profile.TEST, prepared.variables, links=prepared.links, made=prepared.directory)


def wrong_paths(check: NamedCheck, paths: tuple[str, ...], ground: Ground, created: frozenset[str]) -> str | None:
    """What keeps the check from being run on these paths; `created` are those that the plan makes."""
    if check.needs and not check.not_prepared:
        # The environment is prepared when the plan is carried out; here only the paths are judged.
        bare = NamedCheck(check.name, check.argv, check.paths)
        outcome = command_for(bare, paths, Ground(ground.snapshot, created))
    else:
        outcome = command_for(check, paths, Ground(ground.snapshot, created))
    return str(outcome) if isinstance(outcome, Refused) else None


def _parts(argument: str, ground: Ground) -> list[str]:
    """The path, and the names of tests below it. A parameter in brackets may hold colons of its own."""
    if argument in ground.created or (ground.snapshot / argument).exists():
        return [argument]
    named, bracket, parameter = argument.partition("[")
    parts = named.split("::")
    return [*parts[:-1], f"{parts[-1]}{bracket}{parameter}"]


def _refusal_of(argument: str, check: NamedCheck, ground: Ground) -> Refused | None:
    """None when the argument names something in the tree; `path::name`, as pytest has it, is understood."""
    text, *nodes = _parts(argument, ground)
    path = PurePosixPath(text)
    bad_text = not text or "\\" in text or any(ord(letter) < 32 for letter in argument)
    if bad_text or text.startswith("-") or path.is_absolute() or ".." in path.parts or ".git" in path.parts:
        return Refused(f"{argument!r} is not a path inside the repository.")
    if any(_NODE.fullmatch(node) is None for node in nodes):
        return Refused(f"{argument!r} does not name a test.")
    if path.as_posix() in ground.created:
        return None
    place = ground.snapshot
    for part in path.parts:
        place = place / part
        if place.is_symlink():
            return Refused(f"{argument!r} leads through a link.")
    return None if place.exists() else Refused(f"{argument!r} is not in the repository.")


def _pytest(snapshot: Path) -> NamedCheck | None:
    project = any((snapshot / name).is_file() for name in ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini"))
    folder = any((snapshot / name).is_dir() for name in ("tests", "test"))
    own = next(snapshot.glob("test_*.py"), None) or next(snapshot.glob("*_test.py"), None)
    if own is None and not (project and (folder or _says(snapshot / "pyproject.toml", "[tool.pytest"))):
        return None
    missing = "" if Path(PYTHON).exists() else f"there is no {PYTHON} on this machine"
    return NamedCheck("pytest", PYTEST, PathArguments.ACCEPTED, PYTHON_KIND, missing, PYTHON_KIND)


def _npm(snapshot: Path) -> NamedCheck | None:
    try:
        package = json.loads(_text(snapshot / "package.json") or "null")
    except (ValueError, RecursionError):
        return None
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(script, str) or _NO_SCRIPT in script:
        return None
    wants = any(package.get(name) for name in ("dependencies", "devDependencies", "workspaces"))
    own = (snapshot / "node_modules").is_dir()
    check = _with_tool("npm test", "npm", ("test", "--silent"), NODE_KIND, needed=bool(wants) and not own)
    other = "" if own else _other_client(snapshot, package)
    return replace(check, not_prepared=check.not_prepared or other)


def _other_client(snapshot: Path, package: Mapping[str, object]) -> str:
    """Why npm cannot stand in for the package client that the project is made for; empty where it can."""
    specs = [spec for kind in SETS if isinstance(wanted := package.get(kind), dict) for spec in wanted.values()]
    rule = next((rule for rule in _NOT_NPMS if any(str(spec).startswith(rule) for spec in specs)), None)
    if rule is None and not re.search(r"^packages:", _text(snapshot / "pnpm-workspace.yaml") or "", re.MULTILINE):
        return ""
    client = "pnpm" if (snapshot / "pnpm-lock.yaml").is_file() or rule is None else "yarn"
    if client == "pnpm" and has_pnpm():
        return ""
    what = f"`{rule}` in package.json" if rule else "pnpm-workspace.yaml"
    return f"npm does not know {what}; {_say_how(client, 'install', '--frozen-lockfile')}"


def _go(snapshot: Path) -> NamedCheck | None:
    text = _text(snapshot / "go.mod")
    if text is None:
        return None
    wants = re.search(r"^\s*require\b", text, re.MULTILINE) and not (snapshot / "vendor").is_dir()
    return _with_tool("go test", "go", ("test", "./..."), GO_KIND, needed=bool(wants))


def _cargo(snapshot: Path) -> NamedCheck | None:
    text = _text(snapshot / "Cargo.toml")
    if text is None:
        return None
    wants = re.search(r"^\s*\[.*dependencies", text, re.MULTILINE) and not (snapshot / "vendor").is_dir()
    words = ("test", "--offline", "--quiet")
    return _with_tool("cargo test", "cargo", words, CARGO_KIND, needed=bool(wants))


def _maven(snapshot: Path) -> NamedCheck | None:
    if not (snapshot / "pom.xml").is_file():
        return None
    return _with_tool("mvn test", "mvn", ("--offline", "--batch-mode", "--quiet", "test"), MAVEN_KIND, needed=True)


def _make(snapshot: Path) -> NamedCheck | None:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        text = _text(snapshot / name)
        if text is not None:
            rules = _rules(text)
            goal = next((one for one in _MAKE_GOALS if one in rules), None)
            if goal is None:
                return None
            return _with_tool(f"make {goal}", "make", (*_built_before(goal, rules, snapshot), goal))
    return None


def _rules(makefile: str) -> Mapping[str, str]:
    """The targets of its plain rules, in their order, each with what it needs first."""
    found: dict[str, str] = {}
    for targets, needs in _RULE.findall(makefile):
        for target in targets.split():
            found[target] = f"{found.get(target, '')} {needs}".strip()
    return found


def _built_before(goal: str, rules: Mapping[str, str], snapshot: Path) -> tuple[str, ...]:
    """The goal of a bare `make`, where the tests of a compiled project build nothing by themselves."""
    first = next(iter(rules))
    sources = (path for folder in (snapshot, snapshot / "src") if folder.is_dir() for path in folder.iterdir())
    compiled = any(path.suffix in _COMPILED for path in sources)
    known = "$" not in first and first not in _BUILDS_NOTHING
    return (first,) if known and compiled and not rules[goal] else ()


def _with_tool(name: str, tool: str, arguments: tuple[str, ...], kind: str = "", *, needed: bool = False) -> NamedCheck:
    program = _TOOLS / tool
    missing = "" if program.exists() else f"there is no {program} on this machine"
    needs = kind if needed else ""
    return NamedCheck(name, (str(program), *arguments), PathArguments.NONE, needs, missing, kind)


def _say_how(*words: str) -> str:
    """What a repository says to have prepared what only its own client can prepare."""
    return (
        f"what it depends on is not in the tree, and only a set-up command brings it: `setup: [[{', '.join(words)}]]` "
        f"in `{POLICY_PATH}`, with the `hosts` that it reaches"
    )


def _says(path: Path, words: str) -> bool:
    return words in (_text(path) or "")


def _text(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_FILE:
        return None
    return path.read_text(errors="replace")
