"""What it takes to run a snippet, or a command of the project's own, on a throw-away copy with a tracer beside it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from app.core.verdict import Refused
from worker.box.checks import PYTEST
from worker.box.command import Command, Profile
from worker.box.environment import PYTHON, CheckEnvironment
from worker.box.project import Project
from worker.box.trail import INSIDE, NODE_TRACER, SESSION_RUNNER

NODE = "/usr/bin/node"
SECONDS = 60.0
_NAME = re.compile(r"\.?\w[\w-]{0,60}(?:\.[\w-]{1,20}){0,4}", re.ASCII)
_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+){0,8}", re.ASCII)
_LARGEST_MANIFEST = 1_000_000
_PACKAGE_NAME = re.compile(r"(?:@[a-z0-9._~-]{1,80}/)?[a-z0-9._~-]{1,100}")
_ENTRY_POINT = re.compile(r"(?P<module>[A-Za-z_][\w.]*)\s*:\s*(?P<name>[A-Za-z_][\w.]*)")
_MODULE_SYNTAX = re.compile(r"^\s*(?:import\b(?!\s*\()|export\b)", re.MULTILINE)
_TESTS = re.compile(r"^(?:async +)?def test_|^class Test\w*|^class \w+\(.*TestCase\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program under /usr/bin for files with this ending. `before` stands between it and the file."""

    program: str
    ending: str
    before: tuple[str, ...] = ()


OTHERS: Mapping[str, Interpreter] = {
    "ruby": Interpreter("/usr/bin/ruby", "rb", ("-I/work/lib", "-I/work")),
    "perl": Interpreter("/usr/bin/perl", "pl", ("-I/work/lib", "-I/work")),
    "php": Interpreter("/usr/bin/php", "php"),
}
LANGUAGES = ("python", "javascript", *OTHERS)
TRACED = frozenset({"python", "javascript"})
"""Languages whose programs are followed; of the others only the output is known."""


class Way(StrEnum):
    """How the files are run."""

    SCRIPT = "script"
    """The first file, by its language's interpreter."""
    SESSION = "session"
    """All files in turn, in one namespace, as the cells of a notebook."""
    TESTS = "tests"
    """All files, by pytest."""
    PROGRAM = "program"
    """A command that the project itself installs, with its words, in a folder where the files stand."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One thing to run. `files` are by name, without folders; `words` are those of a PROGRAM, its name first.

    `added` are lines in them that are not the author's.
    """

    language: str
    files: Mapping[str, str]
    way: Way = Way.SCRIPT
    words: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonPlace:
    """An interpreter as the box sees it, where it imports from, and the folders that have to be mounted for that."""

    words: tuple[str, ...] = (PYTHON,)
    pythonpath: tuple[str, ...] = ("/work",)
    tools: tuple[Path, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    made: Path | None = None
    """The prepared environment."""


def prepared_place(environment: CheckEnvironment) -> PythonPlace:
    """The place in which the project's checks run."""
    return PythonPlace((environment.program,), environment.pythonpath, (), environment.links, environment.directory)


def bare_place(project: Project) -> PythonPlace:
    """The tree alone, without anything that the project depends on."""
    return PythonPlace(pythonpath=("/work" if project.source == "." else f"/work/{project.source}",))


def of_snippet(language: str, code: str) -> Reproduction:
    """The snippet as a file of its own; Python that defines tests is run as tests."""
    if language == "python":
        tests = _TESTS.search(code) is not None and "__main__" not in code
        name = "test_reproduction.py" if tests else "reproduction.py"
        return Reproduction(language, {name: code}, Way.TESTS if tests else Way.SCRIPT)
    if language == "javascript":
        ending = "mjs" if _MODULE_SYNTAX.search(code) else "cjs"
    else:
        ending = OTHERS[language].ending if language in OTHERS else "txt"
    return Reproduction(language, {f"reproduction.{ending}": code})


@dataclass(frozen=True, slots=True)
class Stand:
    """Where reproductions run: the exported tree, what the project says of itself, its Python and its packages."""

    tree: Path
    project: Project
    place: PythonPlace = field(default_factory=PythonPlace)
    packages: CheckEnvironment | None = None
    """Those of Node, where there are any."""


def command_of(reproduction: Reproduction, stand: Stand, folder: Path) -> Command | Refused:
    """The command, its files written into `folder`, which is new; or why it cannot be run on this machine."""
    wrong = [name for name in reproduction.files if not _NAME.fullmatch(name)]
    if wrong or (not reproduction.files and reproduction.way is not Way.PROGRAM):
        return Refused(f"{(wrong or [''])[0]!r} is no name for a file.")
    folder.mkdir(mode=0o755)
    (folder / "files").mkdir(mode=0o755)
    for name, code in reproduction.files.items():
        (folder / "files" / name).write_text(code, "utf-8", "surrogateescape")
    if reproduction.language == "python":
        return _python(reproduction, stand, folder)
    if reproduction.language == "javascript":
        return _node(reproduction, stand, folder)
    return _other(reproduction, folder)


def followed(command: Command) -> Command:
    """The command of a check as a reproduction: on a throw-away copy, in the tight profile, with a tracer."""
    environment, number = dict(command.environment), len(command.tools)
    argv = command.argv
    if "PYTHONPATH" in environment:
        environment["PYTHONPATH"] = f"/tools/{number}:{environment['PYTHONPATH']}"
    elif Path(argv[0]).name in ("node", "npm", "npx") and Path(NODE).exists():
        argv = (NODE, f"/tools/{number}/{NODE_TRACER}", *argv)
    return replace(
        command,
        argv=argv,
        environment=environment,
        profile=Profile.REPRO,
        timeout_seconds=SECONDS,
        tools=(*command.tools, INSIDE),
        trail=True,
    )


def _python(reproduction: Reproduction, stand: Stand, folder: Path) -> Command | Refused:
    place = stand.place
    if place.words == (PYTHON,) and not Path(PYTHON).exists():
        return Refused(f"There is no {PYTHON} on this machine.")
    number = len(place.tools)
    files = f"/tools/{number + 1}/files"
    words: tuple[str, ...] | Refused = (f"{files}/{next(iter(reproduction.files), '')}",)
    if reproduction.way is Way.SESSION:
        words = (f"/tools/{number}/{SESSION_RUNNER}", *(f"{files}/{name}" for name in reproduction.files))
    elif reproduction.way is Way.PROGRAM:
        words = _program(reproduction.words, stand.project, folder, files)
    elif reproduction.way is Way.TESTS:
        tests = [name for name in reproduction.files if name.endswith(".py") and name != "conftest.py"]
        words = (*PYTEST[1:], *(f"{files}/{name}" for name in tests))
    if isinstance(words, Refused):
        return words
    path = ":".join((f"/tools/{number}", *place.pythonpath))
    tools = (*place.tools, INSIDE, folder)
    links = {**_version_links(stand.project, folder, files), **place.links}
    words = (*place.words, *words)
    variables = {"PYTHONPATH": path}
    return Command(words, SECONDS, Profile.REPRO, variables, tools, trail=True, links=links, made=place.made)


def _version_links(project: Project, folder: Path, files: str) -> dict[str, str]:
    """A tree that was never built gets the modules that its build would have written."""
    if not project.version_files:
        return {}
    (folder / "version.py").write_text(project.version_module())
    return {f"/work/{path}": f"{files.removesuffix('/files')}/version.py" for path in project.version_files}


_STUB = """\
import os, shutil, sys
shutil.copytree({files!r}, "/tmp/reproduction")
os.chdir("/tmp/reproduction")
"""
_ENTER = """\
sys.argv[0] = {program!r}
from {module} import {first}
sys.exit({name}())
"""
_MODULE = """\
import runpy
sys.argv[:] = [{module!r}, *sys.argv[1:]]
sys.path[0] = "/tmp/reproduction"
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
"""


def own_command(words: tuple[str, ...], project: Project) -> tuple[str, ...] | None:
    """The words as the project's own command, `python -m` made short; None where it is not the project's.

    The first word is then the name of an installed script, or `-m NAME` of a module.
    """
    program, rest = (words[0].rpartition("/")[2], words[1:]) if words else ("", ())
    scripts = {name for group, name, _ in project.entry_points if group == "console_scripts"}
    if re.fullmatch(r"python[\d.]*|py", program) and len(rest) > 1 and rest[0] == "-m":
        program, rest = f"-m {rest[1]}", rest[2:]
    if program == "py.test" and "pytest" in scripts:
        program = "pytest"
    module = program.removeprefix("-m ").partition(".")[0]
    own = {name.replace("-", "_").lower() for name in (*scripts, project.name or "")}
    return (program, *rest) if program in scripts or (program.startswith("-m ") and module.lower() in own) else None


def _program(words: tuple[str, ...], project: Project, folder: Path, files: str) -> tuple[str, ...] | Refused:
    """As the script that an installer makes of an entry point."""
    program, *rest = words or ("",)
    targets = {name: target for group, name, target in project.entry_points if group == "console_scripts"}
    target = _ENTRY_POINT.match(targets.get(program, ""))
    module = program.removeprefix("-m ")
    if target is not None:
        name = target["name"]
        enter = _ENTER.format(program=program, module=target["module"], first=name.partition(".")[0], name=name)
    elif module != program and _MODULE_NAME.fullmatch(module):
        enter = _MODULE.format(module=module)
    else:
        return Refused(f"{program!r} is no command that the project installs.")
    (folder / "bin").mkdir(mode=0o755)
    (folder / "bin" / "start").write_text(_STUB.format(files=files) + enter)
    return (f"{files.removesuffix('/files')}/bin/start", *rest)


def _node(reproduction: Reproduction, stand: Stand, folder: Path) -> Command | Refused:
    if not Path(NODE).exists():
        return Refused(f"There is no {NODE} on this machine.")
    _link_package(stand.tree, folder)
    packages = stand.packages
    words = (NODE, f"/tools/0/{NODE_TRACER}", NODE, f"/tools/1/files/{next(iter(reproduction.files))}")
    links, made = (packages.links, packages.directory) if packages else ({}, None)
    return Command(words, SECONDS, Profile.REPRO, {}, (INSIDE, folder), trail=True, links=links, made=made)


def _link_package(tree: Path, folder: Path) -> None:
    """The project can be imported by its name."""
    manifest = tree / "package.json"
    if manifest.is_symlink() or not manifest.is_file() or manifest.stat().st_size > _LARGEST_MANIFEST:
        return
    try:
        name = json.loads(manifest.read_text("utf-8", "replace")).get("name")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(name, str) and _PACKAGE_NAME.fullmatch(name) and ".." not in name.split("/"):
        link = folder / "node_modules" / name
        link.parent.mkdir(parents=True)
        link.symlink_to("/work")


def _other(reproduction: Reproduction, folder: Path) -> Command | Refused:
    interpreter = OTHERS.get(reproduction.language)
    if interpreter is None:
        known = ", ".join(LANGUAGES)
        return Refused(f"Snippets in {reproduction.language!r} are not run; the languages are {known}.")
    if not Path(interpreter.program).exists():
        return Refused(f"There is no {interpreter.program} on this machine.")
    words = (interpreter.program, *interpreter.before, f"/tools/0/files/{next(iter(reproduction.files))}")
    return Command(words, SECONDS, Profile.REPRO, {}, (folder,))
