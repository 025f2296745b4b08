"""What an issue asks for: words, names, options, paths, messages and frames, weighted by where they stand."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from worker.repo.ranking.frames import Frame, frames_in
from worker.repo.ranking.words import CODE_WORDS, NAME, SILENT, looks_like_code, parts, trigrams

MAX_BODY = 60_000
"""Characters of an issue that are read; the rest of a longer one is a log."""


MAX_TITLE = 1_000


@dataclass(frozen=True, slots=True)
class IssueText:
    """An issue as it was filed; `body` is Markdown."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What to look for. Weights are positive; a greater one was said more plainly or more often.

    `words` are stems, `title` those of the title alone, `names` exact names, `calls` those that code in the issue
    calls or imports, `options` literals such as `--jobs` or `unused-import`, `phrases` fingerprints of three words,
    `numbers` those of other issues, `commits` beginnings of commit ids, `spelled` a stem as it stands in the issue.
    """

    words: dict[str, float]
    title: dict[str, float]
    names: dict[str, float]
    calls: dict[str, float]
    dotted: dict[str, float]
    options: dict[str, float]
    phrases: frozenset[int]
    paths: dict[str, float]
    frames: tuple[Frame, ...]
    numbers: frozenset[int]
    commits: frozenset[str]
    spelled: dict[str, str]


@dataclass(slots=True)
class _Heap:
    """Counts by kind of place, turned into weights at the end."""

    words: dict[str, Counter[str]] = field(default_factory=dict)
    names: dict[str, float] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)
    dotted: dict[str, float] = field(default_factory=dict)
    options: dict[str, float] = field(default_factory=dict)
    paths: dict[str, float] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)

    def read(self, kind: str, text: str) -> None:
        counted = self.words.setdefault(kind, Counter())
        for name in NAME.findall(text):
            if kind in ("title", "prose") and name.lower() in SILENT:
                continue
            for part in parts(name):
                if part not in SILENT:
                    counted[part] += 1
                    if len(name) < len(self.spelled.get(part, name + "_")):
                        self.spelled[part] = name


_AFTER_FRAME = 12
"""Lines after a frame that may still belong to it: its code, and the error."""

_WORD_WEIGHTS = {"title": 2.5, "prose": 1.0, "inline": 2.0, "code": 0.5, "trace": 0.5, "log": 0.4, "aside": 0.1}
_EVEN = 0.65
"""Weights of words to this power: what is said many times does not drown the rest."""

_LONG_TOKEN = re.compile(r"\S{300,}")
_FENCE = re.compile(r"^[ \t>]*(```+|~~~+)[ \t]*([\w.+-]*)[^\n]*$", re.MULTILINE)
_HEADING = re.compile(r"^(?:#{1,6}[ \t]+|\*\*)(?P<name>.+?)\**[ \t]*:?[ \t]*$")
_ASIDE_HEADING = re.compile(
    r"version|environment|\bos\b|system info|dependenc|platform|checklist|additional context|installed|setup info",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s)>\]\"'`]+")
_BLOB_URL = re.compile(r"/(?:blob|tree|raw|blame)/[^/\s]+/(?P<path>[^\s#?]+)")
_NUMBER = re.compile(r"(?:(?<![\w/])#|/(?:issues|pull)/|\bgh-)(\d{1,7})\b", re.IGNORECASE)
_COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_PATH = re.compile(r"(?<![\w@])[\w.~-]*(?:[/\\][\w.@+-]+)*[\w-]+\.[A-Za-z]{1,4}(?![\w(])")
_DOTTED = re.compile(r"(?<![\w/@.-])[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+(?![\w/]|\.\w)")
_OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]{2,}|(?<![\w./-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w./])")
_QUOTED = re.compile(r"""(?<![\w'])(["'])([\w][\w .:/-]{1,50}?)\1""")
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+?)\1(?!`)")
_CALL = re.compile(r"(?<![\w.])((?:[A-Za-z_]\w*\.)*)([A-Za-z_]\w*)\s*\(")
_CHAINED_CALL = re.compile(r"[)\]]\.([A-Za-z_]\w*)\s*\(")
_CHAIN = re.compile(r"\.([A-Za-z_]\w*)")
_KEYWORD = re.compile(r"(?<=[(,\s])([a-z_]\w*)=(?!=)")
_IMPORT = re.compile(
    r"^[ \t]*(?:>>> )?(?:from\s+([\w.]+)\s+import\s+([\w, *()]+)|import\s+([\w., ]+)|use\s+([\w:]+))", re.MULTILINE
)
_OWN = re.compile(r"^[ \t]*(?:async\s+)?(?:def|class|func|fn|function|interface|struct)\s+(\w+)", re.MULTILINE)
_CODE_HINT = re.compile(
    r"^[ \t]*(?:>>> |import |from \w|def |class |@\w|func |package |use |const |let |var |public |#include|"
    r"\w+\s*=\s*\S|\w[\w.]*\()",
    re.MULTILINE,
)
_CODE_LANGUAGES = re.compile(
    r"^(py|python\d?|js|jsx|ts|tsx|javascript|typescript|go|golang|java|rust|rs|rb|ruby|c|cpp|c\+\+|php|"
    r"kotlin|swift|scala)$"
)
_PACKAGE_LINE = re.compile(r"^\s*[\w.-]+(?:\s*[=~]=\s*|\s{1,}\(?v?)\d+(?:\.\w+)+\S*\)?\s*$")
_COMMAND = re.compile(r"^\s*(?:[$>%#]|PS [^>]*>)\s+(?:python\d? -m )?[\w./-]+\s+(?P<rest>.+)$")
_SUBCOMMAND = re.compile(r"[a-z][\w-]{2,30}")
_ERROR_LINE = re.compile(r"^(?:E\s+)?(?:[\w.]*\.)?(\w*(?:Error|Exception|Warning|Panic|Fault|Failure)\w*)\b:?(.*)$")


def read_issue(issue: IssueText) -> Asked:
    """What the issue asks for. Text in comments, lists of installed packages and the like count for little."""
    heap = _Heap()
    title = _LONG_TOKEN.sub(" ", issue.title[:MAX_TITLE])
    body = _LONG_TOKEN.sub(" ", _without_comments(issue.body[:MAX_BODY].replace("\r\n", "\n")))
    _read_prose(heap, title, "title")
    messages = [title]
    frames: list[Frame] = []
    for kind, text in _untraced(_blocks(body), heap, frames, messages):
        if kind == "code":
            _read_code(heap, text)
        elif kind == "prose":
            _read_prose(heap, text, "prose")
        else:
            _read_log(heap, text, kind)
        if kind in ("prose", "log"):
            messages.append(text)
    return Asked(
        words=_weighed(heap.words),
        title=_weighed({"title": heap.words.get("title", Counter())}),
        names=_kept(heap.names),
        calls=_kept(heap.calls),
        dotted=heap.dotted,
        options=_told(heap.options),
        phrases=frozenset(number for message in messages for number in trigrams(message)),
        paths=heap.paths,
        frames=tuple(frames),
        numbers=frozenset(int(number) for number in _NUMBER.findall(body)),
        commits=frozenset(_COMMIT.findall(_BLOB_URL.sub(" ", body))),
        spelled=heap.spelled,
    )


def _without_comments(text: str) -> str:
    """What stands between `<!--` and `-->` is for the author of the issue only."""
    kept = []
    while True:
        before, opened, rest = text.partition("<!--")
        kept.append(before)
        if not opened:
            return "".join(kept)
        text = rest.partition("-->")[2]


def _untraced(
    blocks: Iterator[tuple[str, str]], heap: _Heap, frames: list[Frame], messages: list[str]
) -> Iterator[tuple[str, str]]:
    """The blocks without their tracebacks, which are read here."""
    for kind, text in blocks:
        found = frames_in(text) if kind != "aside" else ()
        if not found:
            yield kind, text
            continue
        frames += found
        around, traced = _apart(text)
        _read_trace(heap, traced, messages)
        yield (_fenced_kind("", around) if kind in ("code", "log") else kind), around


def _blocks(body: str) -> Iterator[tuple[str, str]]:
    """Prose, code, logs and asides (environment, versions) in the order they stand."""
    at, aside = 0, False
    while True:
        opened = _FENCE.search(body, at)
        text = body[at : opened.start()] if opened else body[at:]
        for line_aside, part in _sections(text, aside):
            aside = line_aside
            yield ("aside" if aside else "prose"), part
        if opened is None:
            return
        fence = re.compile(rf"^[ \t>]*{re.escape(opened.group(1)[:3])}+[ \t]*$", re.MULTILINE)
        closed = fence.search(body, opened.end())
        inner = body[opened.end() : closed.start()] if closed else body[opened.end() :]
        yield ("aside" if aside else _fenced_kind(opened.group(2).lower(), inner)), inner
        if closed is None:
            return
        at = closed.end()


def _fenced_kind(language: str, text: str) -> str:
    if _CODE_LANGUAGES.match(language):
        return "code"
    lines = max(1, len([line for line in text.split("\n") if line.strip()]))
    return "code" if len(_CODE_HINT.findall(text)) * 2.5 >= lines else "log"


def _sections(text: str, aside: bool) -> Iterator[tuple[bool, str]]:
    """The text cut at headings, each part with whether it is about the environment only."""
    lines: list[str] = []
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        if heading is not None and len(heading["name"]) < 60:
            yield aside, "\n".join(lines)
            lines, aside = [], _ASIDE_HEADING.search(heading["name"]) is not None
        if not _PACKAGE_LINE.match(line):
            lines.append(line)
    yield aside, "\n".join(lines)


def _add(weights: dict[str, float], key: str, weight: float) -> None:
    """What is said again counts less and less."""
    weights[key] = max(weights.get(key, 0.0), weight) + (0.15 * weight if key in weights else 0.0)


def _read_prose(heap: _Heap, text: str, kind: str) -> None:
    scale = 1.5 if kind == "title" else 1.0
    for url in _URL.findall(text):
        if blob := _BLOB_URL.search(url):
            _add(heap.paths, blob["path"], 1.5)
    text = _URL.sub(" ", text)
    for _, span in _INLINE.findall(text):
        heap.read("inline", span)
        for name in NAME.findall(span):
            _add(heap.names, name, 2.0 * scale)
        for before, name in _CALL.findall(span):
            _add(heap.calls, name, scale)
            _chain(heap, before, name, 1.5)
        _read_common(heap, span, 1.5 * scale)
    _read_common(heap, text, scale)
    for name in NAME.findall(text):
        if looks_like_code(name):
            _add(heap.names, name, 1.5 * scale)
        elif kind == "title" or (name[0].isupper() and len(name) > 3):
            _add(heap.names, name, 0.5 * scale)
    for _, name in _CALL.findall(text):
        if f"{name}(" in text:
            _add(heap.names, name, 1.5 * scale)
    heap.read(kind, text)


def _read_common(heap: _Heap, text: str, scale: float) -> None:
    """Paths, dotted names and options, wherever they stand."""
    for path in _PATH.findall(text):
        if len(path) > 4:
            _add(heap.paths, path, scale)
    for dotted in _DOTTED.findall(text):
        _add(heap.dotted, dotted, scale)
        *before, last = re.split(r"\.|::", dotted)
        _add(heap.names, last, scale)
        for name in before:
            _add(heap.names, name, 0.7 * scale)
    for option in _OPTION.findall(text):
        _add(heap.options, option.lstrip("-"), scale)
    for _, quoted in _QUOTED.findall(text):
        _add(heap.options, quoted, 0.7 * scale)


def _chain(heap: _Heap, before: str, name: str, weight: float) -> None:
    for part in before.split("."):
        if part:
            _add(heap.names, part, 0.5 * weight)
    _add(heap.names, name, weight)


def _read_code(heap: _Heap, text: str) -> None:
    own = set(_OWN.findall(text))
    heap.read("code", text)
    for name in set(NAME.findall(text)) - own:
        _add(heap.names, name, 0.6 if looks_like_code(name) else 0.25)
    for before, name in _CALL.findall(text):
        if name not in own:
            _add(heap.calls, name, 1.0)
            _add(heap.names, name, 1.0)
        if before:
            _add(heap.dotted, before + name, 0.6)
            _add_classes(heap, before, own)
    for name in _CHAINED_CALL.findall(text):
        _add(heap.calls, name, 1.0)
        _add(heap.names, name, 1.0)
    for name in _CHAIN.findall(text):
        _add(heap.names, name, 0.7)
    for name in _KEYWORD.findall(text):
        _add(heap.names, name, 0.5)
    _read_imports(heap, text)
    for option in _OPTION.findall(text):
        _add(heap.options, option.lstrip("-"), 0.8)
    for _, quoted in _QUOTED.findall(text):
        _add(heap.options, quoted, 0.4)


def _add_classes(heap: _Heap, before: str, own: set[str]) -> None:
    for part in before.split("."):
        if part[:1].isupper() and part not in own:
            _add(heap.names, part, 1.6)


def _read_imports(heap: _Heap, text: str) -> None:
    for match in _IMPORT.finditer(text):
        source, imported, plain, used = match.groups()
        for name in NAME.findall(imported or ""):
            _add(heap.dotted, f"{source}.{name}", 1.0)
            _add(heap.names, name, 1.0)
        for name in re.findall(r"[\w.:]+", f"{plain or ''} {used or ''}"):
            _add(heap.dotted, name, 0.5)


def _apart(text: str) -> tuple[str, str]:
    """The text before the first and after the last traceback's lines, and what lies between."""
    lines = text.split("\n")
    framed = [number for number, line in enumerate(lines) if frames_in(line)]
    begin, end = framed[0], framed[-1] + 1
    while end < len(lines) and end < framed[-1] + _AFTER_FRAME and not _ERROR_LINE.match(lines[end - 1].strip()):
        end += 1
    return "\n".join([*lines[:begin], *lines[end:]]), "\n".join(lines[begin:end])


def _read_trace(heap: _Heap, text: str, messages: list[str]) -> None:
    heap.read("trace", text)
    for line in text.split("\n"):
        if error := _ERROR_LINE.match(line.strip()):
            _add(heap.names, error.group(1), 1.0)
            heap.read("prose", error.group(2))
            messages.append(line)
    _read_common(heap, _without_frames(text), 0.3)


def _without_frames(text: str) -> str:
    """The text less the lines that name files of the machine it ran on."""
    return "\n".join(line for line in text.split("\n") if not frames_in(line))


def _read_log(heap: _Heap, text: str, kind: str) -> None:
    heap.read(kind, text)
    if kind == "aside":
        return
    for name in set(NAME.findall(text)):
        if looks_like_code(name):
            _add(heap.names, name, 0.4)
    _read_common(heap, text, 0.6)
    for line in text.split("\n"):
        if error := _ERROR_LINE.match(line.strip()):
            _add(heap.names, error.group(1), 0.8)
        if command := _COMMAND.match(line):
            for word in command["rest"].split()[:6]:
                if _SUBCOMMAND.fullmatch(word):
                    _add(heap.options, word, 0.7)
                    _add(heap.names, word, 0.5)


def _weighed(counts: dict[str, Counter[str]]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for kind, counted in counts.items():
        for word, count in counted.items():
            weights[word] = weights.get(word, 0.0) + _WORD_WEIGHTS[kind] * (1 + math.log(count))
    return {word: weight**_EVEN for word, weight in weights.items()}


def _kept(names: dict[str, float]) -> dict[str, float]:
    return {
        name: weight
        for name, weight in names.items()
        if len(name) > 2 and name not in CODE_WORDS and (looks_like_code(name) or name.lower() not in SILENT)
    }


def _told(options: dict[str, float]) -> dict[str, float]:
    return {option: weight for option, weight in options.items() if option not in CODE_WORDS}
