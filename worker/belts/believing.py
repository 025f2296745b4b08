"""Whether a check that ended with status 0 can be believed: what its runner said of itself, and what its script hides.

An exit status is a claim as well. A pipe, `|| true` or a runner without tests makes it one that shows nothing.
Status and summary must agree, and neither is more than what the code under test lets its runner say.
"""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

from worker.evidence.tallies import Runner, Tally, tally

_LARGEST = 1_000_000
_MOST_SCRIPTS = 40
_HIDES = (
    (
        re.compile(r"(?P<hidden>[^;&|]*)\|\|\s*(?:true|:|exit\s+0|echo\b[^|;&]*)(?=\s*(?:$|[;&)]))"),
        "takes a failure for a success",
    ),
    (
        re.compile(r"(?<![|>&])\|(?!\||\s*(?:[a-z]*grep|rg|diff|cmp|test|\[)\s)"),
        "ends with the status of the last command of a pipe",
    ),
    (re.compile(r";\s*(?:true|:|exit\s+0|echo\b[^;&|]*)\s*$"), "ends well whatever came before"),
    (re.compile(r"(?<!&)&\s*$"), "does not wait for what it starts"),
)
_GOES_ON = re.compile(r"\s*@?-@?(?P<hidden>.*)")
_TIDIES = re.compile(
    r"\s*(?:sudo\s+)?(?:rm|rmdir|mkdir|touch|cp|mv|ln|chmod|echo|printf|kill|pkill|killall|find|which|command|type)\b"
)
"""What comes before and after tests: nobody asks whether it went well."""
_CLIENTS = ("npm", "pnpm", "yarn", "bun")
_RUNS = re.compile(r"\b(?:npm|pnpm|yarn|bun)(?:\s+run(?:-script)?)?\s+(?:--silent\s+|-s\s+)?([\w:.-]+)")
_RULE = re.compile(r"^([^\s.#:=%][^#:=%\n]*)::?(?![:=])([^#;\n]*)(?:;(.*))?$")


def heard(words: tuple[str, ...], tree: Path, said: str) -> tuple[Tally, str]:
    """What the command's runner said of itself, and why a passing end would show nothing all the same."""
    told = tally(said, runner_of(words))
    return told, doubt(words, tree, told)


def doubt(words: tuple[str, ...], tree: Path, told: Tally) -> str:
    """Why a passing end of this command shows nothing; empty where it does.

    What a script hides does no harm where the runner itself said that tests ran and that none failed.
    """
    if told.failed:
        return f"it ended with status 0 and reports {told.failed} failed test{'' if told.failed == 1 else 's'}"
    if told.ran == 0:
        return "it ended with status 0 and ran no test"
    if told.ran is not None:
        return ""
    if runner_of(words) is not None:
        return "it ended with status 0 and did not say that its tests ran to the end"
    return next((f"its script {what}: `{line}`" for line, what in _hidden(words, tree)), "")


_WRAPPERS = {"hatch", "pdm", "pipenv", "poetry", "rye", "uv"}
"""Programs that run another one in an environment: `uv run pytest`."""


def runner_of(words: tuple[str, ...]) -> Runner | None:
    """The runner that a command is, of those that end with a summary; without one something else ended it."""
    tool, *further = (Path(words[0]).name, *words[1:])
    if "-m" in further and (tool.startswith("python") or (tool == "coverage" and further[0] == "run")):
        module = further[further.index("-m") + 1 :]
        return Runner.UNITTEST if module[:1] == ["unittest"] else runner_of(tuple(module)) if module else None
    if tool in _WRAPPERS and further[:1] == ["run"]:
        wrapped = list(itertools.dropwhile(lambda word: word.startswith("-"), further[1:]))
        return runner_of(tuple(wrapped)) if wrapped else None
    if tool in ("pytest", "py.test"):
        return Runner.PYTEST
    tells = further[:1] == ["test"] and not {"-json", "-c"} & set(further)
    return Runner(tool) if tool in ("go", "cargo") and tells else None


_ENDS = re.compile(r"\b_exit\s*\(|\bprocess\.(?:exit|reallyExit)\s*\(|\bos\.abort\s*\(|\bpytest\.exit\s*\(")


def speaks_for_the_runner(path: str, before: bytes, after: bytes) -> str:
    """What a reader should know of a test that prints a runner's summary, or ends its process; else empty."""
    was = set(before.decode("utf-8", "replace").splitlines())
    fresh = [line.strip() for line in after.decode("utf-8", "replace").splitlines() if line not in was]
    found = [line for line in fresh if _ENDS.search(line) or any(tally(text).ran for text in _texts(line))]
    if not found:
        return ""
    return f"The test `{path}` speaks for its runner, or ends it, in a line that is new: `{found[0][:120]}`."


def _texts(line: str) -> Iterator[str]:
    """What stands in quotes in a line of code."""
    for match in re.finditer(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`", line):
        text = next(text for text in match.groups() if text is not None)
        yield text.replace("\\n", "\n").replace("\\t", "\t").strip()


def _hidden(words: tuple[str, ...], tree: Path) -> Iterator[tuple[str, str]]:
    tool = Path(words[0]).name
    lines = _npm_lines(words, tree) if tool in _CLIENTS else _make_lines(words, tree) if tool == "make" else ()
    for line in lines:
        if "pipefail" in line:
            continue
        for pattern, what in _HIDES:
            if any(not _tidies(match) for match in pattern.finditer(_without_strings(line))):
                yield line.strip()[:120], what
        if tool == "make" and (match := _GOES_ON.match(line)) and not _tidies(match):
            yield line.strip()[:120], "goes on after a failure"


def _tidies(match: re.Match[str]) -> bool:
    return bool(_TIDIES.match(match.groupdict().get("hidden") or ""))


def _without_strings(line: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", line)


def _npm_lines(words: tuple[str, ...], tree: Path) -> Iterator[str]:
    """The script that is run, what npm runs before and after it, and the scripts that these run."""
    try:
        package = json.loads(_text(tree / "package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return
    asked = [one for one in _RUNS.findall(" ".join((Path(words[0]).name, *words[1:]))) if one in scripts]
    wanted, seen = asked or ["test"], set[str]()
    while wanted and len(seen) < _MOST_SCRIPTS:
        name = wanted.pop()
        for part in (f"pre{name}", name, f"post{name}"):
            text = scripts.get(part)
            if isinstance(text, str) and part not in seen:
                seen.add(part)
                yield text
                wanted += _RUNS.findall(text)


def _make_lines(words: tuple[str, ...], tree: Path) -> Iterator[str]:
    """The recipes of the goals, and of what they need first."""
    text = next((found for name in ("GNUmakefile", "makefile", "Makefile") if (found := _text(tree / name))), "")
    recipes: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            for target in current:
                recipes[target].append(line)
            continue
        match = _RULE.match(line)
        current = match[1].split() if match else []
        for target in current:
            recipes.setdefault(target, []).extend([match[3]] if match and match[3] else [])
            needs.setdefault(target, []).extend(match[2].split() if match else [])
    asked = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    wanted, seen = asked or list(recipes)[:1], set[str]()
    while wanted and len(seen) < _MOST_SCRIPTS:
        name = wanted.pop()
        if name in recipes and name not in seen:
            seen.add(name)
            yield from recipes[name]
            wanted += needs[name]


def _text(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    return path.read_text("utf-8", "replace")
