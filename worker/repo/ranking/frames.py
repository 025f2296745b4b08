"""Frames of tracebacks as people paste them: Python (plain, IPython, pytest), Java, JavaScript, Go, Rust, Ruby, C."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ENDINGS = "py|pyx|js|jsx|mjs|cjs|ts|tsx|go|rs|rb|c|cc|cpp|cxx|h|hpp|php|cs|kt|scala|swift|ex|exs"
_PATH = rf"(?P<path>(?:[A-Za-z]:)?[~\w./\\@+-]*?[\w.-]+\.(?:{_ENDINGS}))"

_DEEPEST_LAST = (
    re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[\w.<>]+))?'),
    re.compile(rf"^(?:File )?\[?{_PATH}\]?(?:\([^)\n]*\))?(?::(?P<line>\d+))?,? in (?P<function>[\w.<>]+)\("),
    re.compile(rf"^{_PATH}:(?P<line>\d+): (?:in (?P<function>[\w<>]+)|[\w.]*(?:Error|Exception|Warning|Exit)\b)?"),
)
_DEEPEST_FIRST = (
    re.compile(r"at (?P<function>[\w.$<>]+)\((?P<path>\w+\.(?:java|kt|scala|groovy)):(?P<line>\d+)\)"),
    re.compile(rf"at (?:(?P<function>[^\s(]+)(?: \[as [^\]]+\])? )?\(?(?:file://)?{_PATH}:(?P<line>\d+)(?::\d+)?\)?"),
    re.compile(rf"{_PATH}:(?P<line>\d+):in [`'](?P<function>[^'\n]+)'"),
    re.compile(rf"panicked at (?:'[^'\n]*', )?{_PATH}:(?P<line>\d+)"),
    re.compile(rf"^\s+{_PATH}:(?P<line>\d+) \+0x[0-9a-f]+"),
    re.compile(rf"#\d+ .* in (?P<function>[\w:~<>]+).* (?:at )?{_PATH}:(?P<line>\d+)"),
)
_NEW_TRACE = re.compile(r"Traceback \(most recent call last\)|During handling of the above|direct cause of the follow")
_SAME_TRACE_LINES = 25


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback; `depth` is 0 where the error was raised and grows towards the caller."""

    path: str
    function: str
    line: int
    depth: int


def frames_in(text: str) -> tuple[Frame, ...]:
    """Every frame of every traceback in the text."""
    return tuple(frame for trace in _traces(text) for frame in trace)


def _traces(text: str) -> Iterator[list[Frame]]:
    found: list[tuple[str, str, int]] = []
    upwards = False
    last = -_SAME_TRACE_LINES
    for number, whole in enumerate(text.split("\n")):
        line = whole[:500] if whole.startswith((" ", "\t")) else whole[:500].lstrip("> ")
        match, first = _frame(line)
        cut = _NEW_TRACE.search(line) is not None or number - last > _SAME_TRACE_LINES
        if found and (cut or (match is not None and first != upwards)):
            yield _numbered(found, upwards)
            found = []
        if match is None:
            continue
        upwards, last = first, number
        groups = match.groupdict()
        found.append((_java_path(groups), groups.get("function") or "", int(groups.get("line") or 0)))
    if found:
        yield _numbered(found, upwards)


def _frame(line: str) -> tuple[re.Match[str] | None, bool]:
    for pattern in _DEEPEST_LAST:
        if match := pattern.search(line.lstrip() if pattern is _DEEPEST_LAST[0] else line.strip()):
            return match, False
    for pattern in _DEEPEST_FIRST:
        if match := pattern.search(line):
            return match, True
    return None, False


def _java_path(groups: dict[str, str | None]) -> str:
    """Java names the file only; its folder is in the class's name."""
    path, function = groups["path"] or "", groups.get("function") or ""
    if re.search(r"\.(java|kt|scala|groovy)$", path) and function.count(".") >= 2:
        return "/".join([*function.split(".")[:-2], path])
    return path.strip()


def _numbered(found: list[tuple[str, str, int]], upwards: bool) -> list[Frame]:
    ordered = found if upwards else list(reversed(found))
    return [Frame(path, function, line, depth) for depth, (path, function, line) in enumerate(ordered)]
