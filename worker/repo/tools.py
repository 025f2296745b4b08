"""The reading tools as a model is offered them: names, schemas, and handlers over one commit or its edited form."""

from collections.abc import Mapping
from typing import Any

from app.core.verdict import Refused
from worker.model.conversation import Answer, Failed, Handler
from worker.model.words import Tool
from worker.repo import past, reading
from worker.repo.dependencies import dependency_files
from worker.repo.edits import Overlay, StepEdits
from worker.repo.reading import plainly
from worker.repo.searching import Query
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache

_PATH = {"type": "string", "maxLength": 4096}
_LINE = {"type": "integer", "minimum": 1}


def _tool(name: str, description: str, fields: Mapping[str, object], *required: str) -> Tool:
    schema = {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}
    return Tool(name, description, schema)


_PLACE = {"path": _PATH, "start": _LINE, "end": _LINE}

LIST_FILES = _tool(
    "list_files", "Names and sizes of files, below a folder and by a glob.", {"path": _PATH, "glob": _PATH}
)
READ_FILE = _tool("read_file", "Lines of a file, numbered from 1, both bounds included.", _PLACE, "path")
_YES = {"type": "boolean"}
SEARCH = _tool(
    "search",
    "Lines that contain a text (literal, which is the default) or match an expression (regex, Perl's kind), below a "
    "path and in files that a glob fits; with context, that many lines around each. shown paths lists the files only.",
    {
        "pattern": {"type": "string", "minLength": 1, "maxLength": 1000},
        "path": _PATH,
        "glob": _PATH,
        "mode": {"type": "string", "enum": ["literal", "regex"]},
        "ignore_case": _YES,
        "whole_word": _YES,
        "context": {"type": "integer", "minimum": 0, "maximum": reading.CONTEXT},
        "shown": {"type": "string", "enum": ["lines", "paths"]},
    },
    "pattern",
)
SYMBOLS = _tool(
    "symbols",
    "Definitions in one file, or those with a name below a folder.",
    {"path": _PATH, "name": {"type": "string", "maxLength": 200}},
)
HISTORY = _tool(
    "history",
    "The latest commits that touched a file, a range of its lines, or (with text) how often that text stands in it.",
    {**_PLACE, "text": {"type": "string", "maxLength": 300}},
    "path",
)
BLAME = _tool(
    "blame", "For each line of a file or range: the commit that last touched it, when, by whom and why.", _PLACE, "path"
)
COMMIT = _tool(
    "commit",
    "What a commit in the history did: its message, its files, and the patch (of one path).",
    {"commit": {"type": "string", "minLength": 7, "maxLength": 64}, "path": _PATH},
    "commit",
)


DEPENDENCY_FILES = _tool(
    "dependency_files",
    "Manifest and lock files, and what is declared in them; with a name, where that is declared and which versions "
    "are locked.",
    {"path": _PATH, "name": {"type": "string", "maxLength": 200}},
)


class ReadTools:
    """Reading in one commit; with `edited`, as the files stand after the edits so far.

    One answer shows at most `lines` lines of a file, and never more than 400.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        cache: SymbolCache,
        edited: Overlay | StepEdits | None = None,
        lines: int = reading.READ_LINES,
    ) -> None:
        self._snapshot = snapshot
        self._lines = lines
        self._cache = cache
        self._edited = edited
        self._tree = edited if edited is not None else snapshot

    def every(self) -> dict[str, tuple[Tool, Handler[Any]]]:
        """All reading tools, by name."""
        return {
            tool.name: (tool, handler)
            for tool, handler in (
                (LIST_FILES, self._list),
                (READ_FILE, self._read),
                (SEARCH, self._search),
                (SYMBOLS, self._symbols),
                (HISTORY, self._history),
                (BLAME, self._blame),
                (COMMIT, self._commit),
                (DEPENDENCY_FILES, self._dependency_files),
            )
        }

    def some(self, *names: str) -> dict[str, tuple[Tool, Handler[Any]]]:
        """Those named."""
        every = self.every()
        return {name: every[name] for name in names}

    def _told(self, answer: str | Refused) -> Answer | Failed:
        """In a tree that is edited the very characters of it, elsewhere what a reader would see of them."""
        text = str(answer)
        text = text if self._edited is not None else plainly(text)
        return Failed(text) if isinstance(answer, Refused) else Answer(text)

    def _list(self, asked: Mapping[str, object]) -> Answer | Failed:
        return self._told(reading.list_files(self._snapshot, _text(asked, "path"), _text(asked, "glob")))

    def _read(self, asked: Mapping[str, object]) -> Answer | Failed:
        start, end = _number(asked, "start"), _number(asked, "end")
        return self._told(reading.read_file(self._tree, _text(asked, "path"), start, end, self._lines))

    def _search(self, asked: Mapping[str, object]) -> Answer | Failed:
        query = Query(
            _text(asked, "pattern"),
            "regex" if asked.get("mode") == "regex" else "literal",
            _text(asked, "path"),
            glob=_text(asked, "glob"),
            ignore_case=asked.get("ignore_case") is True,
            whole_word=asked.get("whole_word") is True,
            shown="paths" if asked.get("shown") == "paths" else "lines",
        )
        wrong = query.refusal()
        context = _number(asked, "context") or 0
        return self._told(wrong if wrong is not None else reading.search(self._snapshot, self._edited, query, context))

    def _symbols(self, asked: Mapping[str, object]) -> Answer | Failed:
        return self._told(
            reading.symbols(self._tree, self._cache, self._snapshot, _text(asked, "path"), _text(asked, "name"))
        )

    def _history(self, asked: Mapping[str, object]) -> Answer | Failed:
        return self._told(past.history(self._snapshot, _text(asked, "path"), _lines(asked), _text(asked, "text")))

    def _dependency_files(self, asked: Mapping[str, object]) -> Answer | Failed:
        return self._told(dependency_files(self._tree, self._snapshot, _text(asked, "path"), _text(asked, "name")))

    def _blame(self, asked: Mapping[str, object]) -> Answer | Failed:
        return self._told(past.blame(self._snapshot, _text(asked, "path"), _lines(asked)))

    def _commit(self, asked: Mapping[str, object]) -> Answer | Failed:
        return self._told(past.commit(self._snapshot, _text(asked, "commit").strip().lower(), _text(asked, "path")))


def _text(asked: Mapping[str, object], name: str) -> str:
    value = asked.get(name)
    return value if isinstance(value, str) else ""


def _number(asked: Mapping[str, object], name: str) -> int | None:
    value = asked.get(name)
    return int(value) if isinstance(value, int | float) else None


def _lines(asked: Mapping[str, object]) -> tuple[int, int] | None:
    """The range that was asked for; one line where only one bound is given."""
    start, end = _number(asked, "start"), _number(asked, "end")
    first = start if start is not None else end
    last = end if end is not None else start
    return (first, last) if first is not None and last is not None else None
