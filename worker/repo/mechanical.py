"""Mechanical rules on a tree: which files a rule changes, where, and what each becomes. Nothing is written."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.core.paths import shown
from app.core.rule import LANGUAGES, LiteralRule, Rule, SyntaxRule, syntax_of
from app.core.verdict import Refused
from worker.box.tool import ToolFailure, ToolTimedOut, run_tool
from worker.repo.filetext import UTF8_MARK, FileText, decode
from worker.repo.globs import glob_pattern
from worker.repo.snapshot import Snapshot
from worker.repo.tree import Entry

MOST_FILES = 50_000
MOST_BYTES = 400_000_000
BATCH_CHARACTERS = 8_000_000
MOST_SECONDS = 120.0
"""For all files together."""

SIMPLER = "Make the rule simpler, or narrow its paths."

_PROGRAM = Path(__file__).with_name("rewriting.py")


@dataclass(frozen=True, slots=True)
class Place:
    """One place that changes: its lines (from 1, both included) as they are now, its text, and what comes there."""

    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """One file that changes, with its whole content afterwards."""

    path: str
    content: bytes
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Everything that a rule does in some files.

    `left_out` files are not UTF-8 text with line ends of one kind; `nested` places lie within others that change.
    """

    files: tuple[Rewritten, ...]
    left_out: tuple[str, ...]
    nested: int


def files_of(rule: Rule, snapshot: Snapshot) -> tuple[Entry, ...]:
    """The files that the rule's globs name; for a syntax rule those of its language alone."""
    wanted = [glob_pattern(glob) for glob in rule.paths if not glob.startswith("!")]
    unwanted = [glob_pattern(glob[1:]) for glob in rule.paths if glob.startswith("!")]
    endings = _endings(rule)
    return tuple(
        entry
        for entry in snapshot.list()
        if entry.kind == "file"
        and (endings is None or entry.path.rpartition(".")[2].lower() in endings)
        and any(glob.search(entry.path) for glob in wanted)
        and not any(glob.search(entry.path) for glob in unwanted)
    )


def rewrite(
    rule: Rule, snapshot: Snapshot, entries: tuple[Entry, ...], seconds: float = MOST_SECONDS
) -> Rewriting | Refused:
    """What the rule makes of these files; the same rule and files always give the same. Bounded in size and time."""
    if len(entries) > MOST_FILES or sum(entry.size for entry in entries) > MOST_BYTES:
        return Refused(f"The rule's paths name {len(entries):,} files, which are too many or too large.", SIMPLER)
    asked = _asked(rule)
    if isinstance(asked, Refused):
        return asked
    made: list[Rewritten] = []
    left_out: list[str] = []
    nested, began = 0, time.monotonic()
    for batch in _batches(rule, snapshot, entries, left_out):
        answer = _found(asked, batch, seconds - (time.monotonic() - began))
        if isinstance(answer, Refused):
            return answer
        nested += answer["nested"]
        made += [_rewritten(path, batch[path], edits) for path, edits in answer["edits"].items()]
    return Rewriting(tuple(sorted(made, key=lambda one: one.path)), tuple(left_out), nested)


def _endings(rule: Rule) -> tuple[str, ...] | None:
    syntax = syntax_of(rule.text) if isinstance(rule, SyntaxRule) else None
    return None if syntax is None or isinstance(syntax, Refused) else LANGUAGES[syntax.language]


def _asked(rule: Rule) -> dict[str, Any] | Refused:
    if not isinstance(rule, SyntaxRule):
        return rule.model_dump(mode="json")
    syntax = syntax_of(rule.text)
    return syntax if isinstance(syntax, Refused) else {"kind": "syntax", **syntax.model_dump(mode="json")}


def _batches(
    rule: Rule, snapshot: Snapshot, entries: Iterable[Entry], left_out: list[str]
) -> Iterator[dict[str, FileText]]:
    """The files as text, some megabytes at a time; what is no such text is written down in `left_out`."""
    batch: dict[str, FileText] = {}
    size = 0
    for entry, content in snapshot.read_many(entries):
        if isinstance(rule, LiteralRule) and rule.pattern.splitlines()[0].encode() not in content:
            continue
        text = decode(entry.path, content)
        mixed = not isinstance(text, Refused) and text.raw.count("\r\n") not in (0, text.raw.count("\n"))
        if isinstance(text, Refused) or mixed or text.ends_in_returns:
            left_out.append(entry.path)
            continue
        batch[entry.path] = text
        size += len(text.raw)
        if size > BATCH_CHARACTERS:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _found(asked: dict[str, Any], batch: dict[str, FileText], seconds: float) -> dict[str, Any] | Refused:
    files = [(path, text.plain) for path, text in batch.items()]
    words: list[str | Path] = [sys.executable, "-I", _PROGRAM]
    given = json.dumps({"rule": asked, "files": files}).encode()
    try:
        ran = run_tool(
            words,
            cwd=Path("/"),
            environment={"RUST_BACKTRACE": "0"},
            input=given,
            timeout_seconds=max(seconds, 1.0),
            output_limit=64 * 1024 * 1024,
        )
    except ToolTimedOut:
        return Refused("The rule took too long on these files.", SIMPLER)
    except ToolFailure as error:
        return Refused(f"The rule could not be carried out: {error}.", SIMPLER)
    if ran.exit_status != 0:
        return Refused("The rule could not be carried out: it used more memory than it may, or broke.", SIMPLER)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return Refused(answer["refused"]) if "refused" in answer else answer


def _rewritten(path: str, text: FileText, edits: list[tuple[int, int, str]]) -> Rewritten:
    plain = text.plain
    pieces, places, at, line = [], [], 0, 1
    for start, end, new in edits:
        line += plain.count("\n", at, start)
        old = plain[start:end]
        last = line + old.removesuffix("\n").count("\n")
        places.append(Place(line, last, old, new))
        line += old.count("\n")
        pieces += [plain[at:start], new]
        at = end
    whole = "".join([*pieces, plain[at:]]).replace("\r\n", "\n")
    if "\r\n" in text.raw:
        whole = whole.replace("\n", "\r\n")
    return Rewritten(path, (UTF8_MARK if text.mark else b"") + whole.encode("utf-8"), tuple(places))


def told(left_out: tuple[str, ...]) -> str:
    """The first of these paths, and how many there are."""
    more = f" and {len(left_out) - 3:,} more" if len(left_out) > 3 else ""
    return ", ".join(shown(path) for path in left_out[:3]) + more
