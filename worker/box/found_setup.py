"""Set-ups that nobody wrote: what a tree's own package files make its ecosystem's client fetch.

Pure: it reads the tree, follows no link in it and starts nothing. The commands run in the install profile, with no
script of a package and with nothing of the project built.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from worker.box.environment import KIND as PYTHON_KIND
from worker.box.environment import PYTHON, CannotPrepare
from worker.box.mounts import HOME_INSIDE, MADE_INSIDE
from worker.box.project import Project, UnreadableProject, read_project

NODE_KIND, GO_KIND, CARGO_KIND, MAVEN_KIND = "node", "go", "cargo", "maven"
FOUND_KINDS = (CARGO_KIND, GO_KIND, MAVEN_KIND, NODE_KIND, PYTHON_KIND)
PROGRAMS = Path("/usr/bin")
SETS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
NPM_LOCKS = ("npm-shrinkwrap.json", "package-lock.json")
_OTHER_LOCKS = ("pnpm-lock.yaml", "yarn.lock")
PIP_INSIDE = f"{HOME_INSIDE}/pip"
_RUNNER = "pytest"
_LARGEST_FILE = 64 * 1024 * 1024
_WANTED = "wanted.txt"
_VERSION_MODULE = "own/written_by_the_build.py"
_ELSEWHERE = re.compile(r"^(git|github|gitlab|bitbucket|gist|ssh|https?)[+:]|^[\w.-]+/[\w.-]+(#|$)")
_NPM_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--replace-registry-host=always", "--loglevel=error")

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundSetUp:
    """The commands of one kind of environment, and what trusted code lays beside them.

    `beside` are files by their path below `/made`, there before the first command. `decides` is what the result
    depends on beside commands and tools; without it, it is the tree's package files. `pythonpath`, `links` and
    `program` are for the commands that use what was made.
    """

    kind: str
    commands: tuple[Words, ...]
    beside: Mapping[str, str] = field(default_factory=dict)
    decides: str = ""
    needs_python: str = ""
    """The versions of Python that the project is for, as it says; any, where it is empty."""
    pythonpath: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    program: str = ""
    borrows_pip: bool = False
    """Whether the box is lent the worker's own pip; the distribution's may not be there."""
    notes: tuple[str, ...] = ()


def find_set_up(kind: str, tree: Path, programs: Path = PROGRAMS) -> FoundSetUp:
    """What makes an environment of the kind for the tree, by the programs that the box has.

    Raises CannotPrepare where the tree's files give none.
    """
    match kind:
        case "python":
            return _python(tree)
        case "node":
            return _node(tree, programs)
        case "go":
            return FoundSetUp(GO_KIND, (("go", "mod", "download"),))
        case "cargo":
            locked = ("--locked",) if (tree / "Cargo.lock").is_file() else ()
            return FoundSetUp(CARGO_KIND, (("cargo", "fetch", *locked),))
        case "maven":
            return FoundSetUp(MAVEN_KIND, (("mvn", "--batch-mode", "dependency:go-offline"),))
    raise ValueError(f"no environment is of the kind {kind!r}")


def _python(tree: Path) -> FoundSetUp:
    try:
        project = read_project(tree)
    except UnreadableProject as error:
        raise CannotPrepare(f"The environment for the tests cannot be prepared: {error}.", "") from error
    # Started by its place and alone, so that no file of the tree stands in for a module of it.
    words: Words = ("python3", "-I", PIP_INSIDE, "install", "--only-binary", ":all:", "--quiet")
    words = (*words, "--target", f"{MADE_INSIDE}/packages", "--requirement", f"{MADE_INSIDE}/{_WANTED}")
    source = "/work" if project.source == "." else f"/work/{project.source}"
    return FoundSetUp(
        PYTHON_KIND,
        (words,),
        beside={_WANTED: "".join(f"{line}\n" for line in (*project.requirements, _RUNNER)), **_introduction(project)},
        decides=json.dumps(asdict(project)),
        needs_python=project.requires_python,
        pythonpath=(source, f"{MADE_INSIDE}/own", f"{MADE_INSIDE}/packages"),
        links={f"/work/{path}": f"{MADE_INSIDE}/{_VERSION_MODULE}" for path in project.version_files},
        program=PYTHON,
        notes=project.notes,
        borrows_pip=True,
    )


def _introduction(project: Project) -> dict[str, str]:
    """Says to `importlib.metadata` that the project is installed: its tests import it from the tree.

    What its build would have written from tags is kept beside the packages, and linked to where it is missing.
    """
    told = {_VERSION_MODULE: project.version_module()} if project.version_files else {}
    if project.name is None:
        return told
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?", project.name, re.ASCII):
        raise CannotPrepare("The project's name is not a name.", "")
    place = f"own/{project.name.replace('-', '_')}-{project.version}.dist-info"
    lines: list[str] = []
    for group in dict.fromkeys(entry[0] for entry in project.entry_points):
        lines += [f"[{group}]"] + [f"{name} = {to}" for each, name, to in project.entry_points if each == group]
    return told | {
        f"{place}/METADATA": f"Metadata-Version: 2.1\nName: {project.name}\nVersion: {project.version}\n",
        f"{place}/entry_points.txt": "".join(f"{line}\n" for line in lines),
    }


def _node(tree: Path, programs: Path) -> FoundSetUp:
    if (tree / "node_modules").exists():
        raise CannotPrepare("The repository holds a `node_modules` of its own.", "Its checks run without preparation.")
    _must_be_registrys(_json(tree / "package.json"))
    if (
        (tree / "pnpm-lock.yaml").is_file()
        and not any((tree / name).is_file() for name in NPM_LOCKS)
        and has_pnpm(programs)
    ):
        return FoundSetUp(NODE_KIND, (("pnpm", "install", "--frozen-lockfile", "--ignore-scripts"),))
    if any((tree / name).is_file() for name in NPM_LOCKS):
        return FoundSetUp(NODE_KIND, (("npm", "ci", *_NPM_OPTIONS),))
    unread = " and ".join(f"`{name}`" for name in _OTHER_LOCKS if (tree / name).is_file())
    told = (f"The packages for the checks were chosen anew by npm: {unread} is not read for them.",) if unread else ()
    return FoundSetUp(NODE_KIND, (("npm", "install", "--no-package-lock", *_NPM_OPTIONS),), notes=told)


def has_pnpm(programs: Path = PROGRAMS) -> bool:
    """Whether the box has a pnpm."""
    return (programs / "pnpm").exists()


def _must_be_registrys(manifest: Mapping[str, Any]) -> None:
    for name, spec in _wanted(manifest):
        if not isinstance(spec, str) or (_ELSEWHERE.search(spec) and not spec.startswith("npm:")):
            raise CannotPrepare(
                f"`package.json` wants {name} from elsewhere than the registry ({str(spec)[:100]}).",
                "Only packages of the registry are prepared.",
            )


def _wanted(manifest: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for kind in SETS:
        wanted = manifest.get(kind)
        yield from wanted.items() if isinstance(wanted, dict) else ()


def _json(path: Path) -> dict[str, Any]:
    """Raises CannotPrepare for a link, for what is too large, and for what is not a JSON object."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_FILE:
        raise CannotPrepare(f"`{path.name}` cannot be read.", "")
    try:
        value = json.loads(path.read_text())
    except (ValueError, RecursionError) as error:
        raise CannotPrepare(f"`{path.name}` is not JSON.", "") from error
    if not isinstance(value, dict):
        raise CannotPrepare(f"`{path.name}` is not a JSON object.", "")
    return value
