"""What an issue itself shows how to run, made into reproductions without a model."""

import ast
import builtins
import re
from collections.abc import Callable, Mapping, Sequence

from worker.box.project import Project
from worker.box.reproduction import Reproduction, Way, of_snippet, own_command
from worker.box.snippets import Snippet, commands_in, settings_in, snippets_in

_TELLS_ITSELF = re.compile(r"v?\d+(?:\.\w+)+|-V|-h|--version|--help")
"""Words of a command that says what it is and does nothing."""

MOST = 4
"""Attempts for one issue."""


Importing = Callable[[Sequence[str]], tuple[str, ...]]
"""For names the imports that give them; a name that nobody knows has none."""


def attempts(text: str, project: Project, importing: Importing) -> tuple[Reproduction, ...]:
    """The issue's own reproductions, the plainest first: commands of the project, tests, programs in turn.

    Names that its code uses and nobody in it gives are imported first. Where its programs are whole and none speaks
    of the project, the project's own command is tried on them: they are what a linter or a compiler was given.
    """
    snippets = snippets_in(text)
    python = _named([one for one in snippets if one.language == "python"])
    imports = {name: importing(unbound_names(code)) for name, code in python.items()}
    settings = settings_in(text)
    shown = _by_commands(text, {**settings, **python}, project)
    found = list(shown)
    tests = {name for name, code in python.items() if _is_test(name, code)}
    if tests:
        found.append(_tests(python, imports, settings))
    rest = [name for name in python if name not in tests and name != "conftest.py"]
    if rest:
        found.append(_in_turn({name: python[name] for name in rest}, imports))
    found += [of_snippet(one.language, one.code) for one in snippets if one.language != "python"]
    command = own_command((project.name or "",), project)
    said = [*python.values(), *_added(imports)]
    whole = all(len(imports[name]) == len(unbound_names(code)) for name, code in python.items())
    if python and command is not None and whole and not any(_speaks_of(one, project) for one in said):
        found.insert(len(shown), Reproduction("python", {**settings, **python}, Way.PROGRAM, (*command, *python)))
    return tuple(found[:MOST])


def _tests(
    python: Mapping[str, str], imports: Mapping[str, tuple[str, ...]], settings: Mapping[str, str]
) -> Reproduction:
    files = {name: "".join(f"{line}\n" for line in imports[name]) + code for name, code in python.items()}
    files |= settings
    return Reproduction("python", files, Way.TESTS, added=_added(imports))


def _in_turn(files: Mapping[str, str], imports: Mapping[str, tuple[str, ...]]) -> Reproduction:
    """Each import is a cell of its own: what one of them lacks is no reason to do without the others."""
    added = _added({name: imports[name] for name in files})
    cells = {f"import_{number}.py": f"{line}\n" for number, line in enumerate(added, 1)}
    return Reproduction("python", {**cells, **files}, Way.SESSION, added=added)


def _added(imports: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for lines in imports.values() for line in lines))


def unbound_names(code: str) -> tuple[str, ...]:
    """Names that a program reads and nobody gives it, in their order. Nothing for what cannot be parsed."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    given = set(dir(builtins)) | {"__file__", "__name__"}
    read: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read[node.id] = None
        elif isinstance(node, ast.Name):
            given.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.alias):
            given.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            given.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            given.add(node.name)
    return tuple(name for name in read if name not in given)


def _named(snippets: Sequence[Snippet]) -> dict[str, str]:
    named: dict[str, str] = {}
    for number, one in enumerate(snippets, 1):
        test = "test_" if next(iter(of_snippet("python", one.code).files)).startswith("test_") else ""
        name = one.name if one.name.endswith(".py") and one.name not in named else f"{test}reproduction_{number}.py"
        named[name] = one.code
    return named


def _is_test(name: str, code: str) -> bool:
    return name != "conftest.py" and of_snippet("python", code).way is Way.TESTS


def _by_commands(text: str, files: Mapping[str, str], project: Project) -> list[Reproduction]:
    """Commands of the project, in a folder with what the issue shows; an empty file stands for one that it does not.

    The more a command says, the more of what matters it goes through.
    """
    found = []
    for words in commands_in(text):
        command = own_command(words, project)
        if command is None or not _does_something(command[1:], files):
            continue
        wanted = [word for word in command[1:] if not word.startswith("-") and word.endswith(".py")]
        given = _as_wanted(files, wanted)
        missing = {word: "" for word in wanted if word not in given and "/" not in word}
        added = tuple(f"an empty {word}" for word in missing)
        if all(word in given or word in missing for word in wanted):
            found.append(Reproduction("python", {**given, **missing}, Way.PROGRAM, command, added))
    return sorted(found, key=lambda one: (len(one.added), -len(one.words)))


def _as_wanted(files: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
    """The files; the only program under the only name that a command gives it."""
    programs = [name for name in files if name.endswith(".py")]
    if len(wanted) != 1 or wanted[0] in files or len(programs) != 1:
        return dict(files)
    name = wanted[0].rpartition("/")[2]
    return {name if one == programs[0] else one: code for one, code in files.items()}


def _does_something(words: Sequence[str], files: Mapping[str, str]) -> bool:
    """Without any words only where there are settings for it to read."""
    if words:
        return not all(_TELLS_ITSELF.fullmatch(word) for word in words)
    return any(not name.endswith(".py") for name in files)


def _speaks_of(code: str, project: Project) -> bool:
    own = (project.name or "").replace("-", "_").lower()
    return bool(own) and own in code.lower()
