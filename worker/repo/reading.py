"""The read tools' answers for a model: bounded text with line numbers that says what it leaves out.

Every answer is plain text; a request that cannot be met is a `Refused` with the reason.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from app.core.paths import shown
from app.core.plan import made_visible
from app.core.verdict import Allowed, Refused, Verdict
from worker.repo.filetext import ends_in_returns
from worker.repo.git import GitError
from worker.repo.searching import Edited, Found, Hit, Query, Searchable, SearchRefused, search_edited
from worker.repo.snapshot import TooLarge
from worker.repo.symbols import Symbol, SymbolCache
from worker.repo.tree import Entry, Tree

READ_LINES = 400
"""The most lines in one answer, and the longest range that counts as evidence."""

READ_CHARACTERS = 24_000
LINE_CHARACTERS = 400
LISTED = 300
HITS = 60
CONTEXT = 5
SYMBOLS = 200
UNSEEN_TOLD = 8


class Listed(Protocol):
    """What can be listed."""

    def list(self, prefix: str = "", glob: str = "") -> tuple[Entry, ...]: ...


class Quoting(Protocol):
    """Lines of a file, and what is said to stand there."""

    @property
    def path(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def quote(self) -> str | None: ...


Answer = str | Refused


def plainly(text: str) -> str:
    """The text as a reader would see it: what nobody sees is written out by its number, much of it as a count.

    For those who read and do not edit; an edit must find the very characters.
    """
    text = text.replace("\r\n", "\n")
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    parts: list[str] = []
    for unseen, run in groupby(text, key=lambda each: made_visible(each) != each):
        part = "".join(run)
        much = unseen and len(part) > UNSEEN_TOLD
        parts.append(f"[{len(part):,} characters that nobody sees]" if much else made_visible(part))
    return "".join(parts)


def list_files(tree: Listed, path: str = "", glob: str = "") -> Answer:
    """Paths with sizes, below a folder and by a glob."""
    entries = tree.list(_normal(path), glob)
    if not entries:
        where = f" below {shown(path)}" if _normal(path) else ""
        return Refused(f"No file{where} fits." if glob else f"There is no file{where}.")
    lines = [f"{told_path(entry.path)}  {_kind(entry)}" for entry in entries[:LISTED]]
    if len(entries) > LISTED:
        folders = sorted({entry.path.rpartition("/")[0] or "." for entry in entries[LISTED:]})
        lines.append(
            f"… {len(entries) - LISTED:,} more of {len(entries):,} files; narrow by path or glob. They are in:"
        )
        lines += [f"  {shown(folder)}/" for folder in folders[:40]]
    return "\n".join(lines)


def read_file(
    tree: Tree, path: str, start: int | None = None, end: int | None = None, most: int = READ_LINES
) -> Answer:
    """Lines `start` to `end`, from 1 and both included, each with its number; at most `most` and at most 400."""
    text = text_of(tree, path)
    if isinstance(text, Refused):
        return text
    lines = lines_of(text)
    first = 1 if start is None else start
    last = len(lines) if end is None else min(end, len(lines))
    if not lines:
        return f"{told_path(path)} is empty."
    if first < 1 or first > len(lines):
        return Refused(f"{told_path(path)} has {len(lines):,} lines; line {first:,} is not among them.")
    if end is not None and end < first:
        return Refused(f"The range ends (line {end:,}) before it starts ({first:,}).")
    out: list[str] = []
    room = READ_CHARACTERS
    for number in range(first, min(last, first + min(most, READ_LINES) - 1) + 1):
        line = f"{number}| {_cut(lines[number - 1])}"
        room -= len(line) + 1
        if room < 0:
            break
        out.append(line)
    stop = first + len(out) - 1
    head = f"{told_path(path)}, lines {first}-{stop} of {len(lines):,}"
    cut = f"; cut at the limit, read on from line {stop + 1}" if stop < last else ""
    return f"{head}{cut}\n" + "\n".join(out)


def search(base: Searchable, edited: Edited | None, query: Query, context: int = 0) -> Answer:
    """Matching lines with totals, each with `context` lines (at most 5) around it; or the files that hold some.

    With `edited`, what the step has changed is searched as it is now.
    """
    tree: Tree = base if edited is None else edited
    path = _normal(query.path)
    if path and tree.entry(path) is None and not tree.is_folder(path):
        return Refused(f"There is no file or folder {told_path(path)}.", "A pattern for paths goes into glob.")
    query = replace(query, path=path, limit=min(query.limit, HITS))
    try:
        found = base.search(query) if edited is None else search_edited(base, edited, query)
    except (SearchRefused, GitError) as error:
        return Refused(str(error))
    if not found.counts:
        return _nothing(query)
    if query.shown == "paths":
        rows = [f"{told_path(one)}: {count:,}" for one, count in found.counts]
        return f"{found.lines:,} matching lines in {found.files:,} files\n" + _bounded(rows, LISTED, "files")
    return _found(found, tree, min(context, CONTEXT))


def symbols(tree: Tree, cache: SymbolCache, listed: Listed, path: str = "", name: str = "") -> Answer:
    """Definitions in one file, or those whose name holds `name` in all files below a folder."""
    path = _normal(path)
    if tree.entry(path) is not None:
        found = _symbols_of(tree, cache, path)
        if isinstance(found, Refused):
            return found
        lines = [_symbol(one) for one in found if name.lower() in one.name.lower()]
        return _bounded(lines, SYMBOLS, "definitions") or Refused(f"{told_path(path)} has no such definition.")
    if not name:
        return Refused(f"{shown(path) or 'The whole tree'} is not a file.", "Give a file, or a name to look for.")
    lines = []
    for entry in listed.list(path):
        if entry.kind != "file":
            continue
        in_file = _symbols_of(tree, cache, entry.path)
        if not isinstance(in_file, Refused):
            lines += [f"{told_path(entry.path)}: {_symbol(one)}" for one in in_file if name.lower() in one.name.lower()]
    return _bounded(lines, SYMBOLS, "definitions") or Refused(f"No definition's name holds {name!r}.")


def verify_citation(tree: Tree, path: str, start: int, end: int) -> Verdict:
    """Allowed when the path is a text file of the tree that has all these lines, at most 400 of them."""
    text = text_of(tree, path)
    if isinstance(text, Refused):
        return text
    if start < 1 or end < start:
        return Refused(f"{told_path(path)}:{start}-{end} is not a range of lines.")
    if end - start + 1 > READ_LINES:
        return Refused(
            f"{told_path(path)}:{start}-{end} cites more than {READ_LINES} lines.", "Cite the lines that show it."
        )
    count = len(lines_of(text))
    if end > count:
        return Refused(f"{told_path(path)} has {count:,} lines; {start}-{end} is not among them.")
    return Allowed()


def verify_quote(tree: Tree, evidence: Quoting) -> Verdict:
    """Allowed when the quoted text stands in the cited lines, letter by letter; line ends apart."""
    text = text_of(tree, evidence.path)
    if isinstance(text, Refused):
        return text
    place = f"{told_path(evidence.path)}:{evidence.start}-{evidence.end}"
    lines = [line.removesuffix("\r") for line in lines_of(text)]
    quote = (evidence.quote or "").replace("\r\n", "\n").strip("\n")
    if not quote.strip():
        return Refused(f"The quote of {place} is blank.")
    cited = "\n".join(lines[evidence.start - 1 : evidence.end])
    if quote in cited or quote in plainly(cited):
        return Allowed()
    found = "\n".join(lines).find(quote)
    if found < 0:
        return Refused(f"The quote of {place} stands nowhere in the file.", "Copy it letter by letter.")
    first = "\n".join(lines).count("\n", 0, found) + 1
    return Refused(f"The quote of {place} stands elsewhere: from line {first}.", "Cite the lines that hold it.")


def _normal(path: str) -> str:
    return path.removeprefix("./").strip("/") if path not in (".", "./") else ""


def text_of(tree: Tree, path: str) -> str | Refused:
    """A file as text with its own line ends; never the target of a link (case PI-03)."""
    entry = tree.entry(path)
    if entry is None:
        what = "is a folder" if tree.is_folder(_normal(path)) else "does not exist"
        return Refused(f"{told_path(path)} {what}.")
    if entry.kind == "submodule":
        return Refused(f"{told_path(path)} is a submodule; its files are not here.")
    try:
        content = tree.read(path)
    except TooLarge as error:
        return Refused(str(error))
    if entry.kind == "link":
        target = _cut(shown(content.decode("utf-8", "replace")))
        return Refused(f"{told_path(path)} is a link to {target} (not followed).")
    if b"\0" in content[:8_000]:
        return Refused(f"{told_path(path)} is a binary file of {len(content):,} bytes.")
    text = content.decode("utf-8", "replace")
    return text.replace("\r", "\n") if ends_in_returns(text) else text


def lines_of(text: str) -> list[str]:
    """Lines as git and editors count them: by LF alone, a last newline begins no line."""
    return text.removesuffix("\n").split("\n") if text else []


def _cut(line: str, column: int = 0) -> str:
    """The line, or of a long one the part around `column`."""
    line = line.removesuffix("\r")
    if len(line) <= LINE_CHARACTERS:
        return line
    start = 0 if column < LINE_CHARACTERS * 3 // 4 else column - LINE_CHARACTERS // 2
    before = f"[{start:,} characters] … " if start else ""
    after = len(line) - start - LINE_CHARACTERS
    return f"{before}{line[start : start + LINE_CHARACTERS]}" + (f" … [{after:,} more characters]" if after > 0 else "")


def told_path(path: str) -> str:
    """The path as a tool argument takes it back; in JSON quotes where it holds what cannot be seen."""
    return path if shown(path) == path and path == path.strip() else json.dumps(path)


def _kind(entry: Entry) -> str:
    if entry.kind != "file":
        return f"({entry.kind})"
    return f"{entry.size:,} bytes" + (", executable" if entry.mode == "100755" else "")


def _nothing(query: Query) -> str:
    """No match, and what was not looked at: a model that does not know it looks elsewhere for ever."""
    how = "as literal text" if query.mode == "literal" else "as a regular expression"
    case = "whatever its case" if query.ignore_case else "in this very case"
    where = (f" below {told_path(query.path)}" if query.path else "") + (f" in {query.glob}" if query.glob else "")
    whole = ", whole words" if query.whole_word else ""
    return f"No line matches{where} (searched {how}, {case}{whole}; binary files and submodules are left out)."


def _found(found: Found, tree: Tree, context: int) -> str:
    head = f"{found.lines:,} matching lines in {found.files:,} files"
    plain = len(found.hits), [_hit(one) for one in found.hits]
    shown, rows = _around(found.hits, tree, context) if context else plain
    left = f"; the first {shown} are shown, narrow the pattern, the path or the glob" if shown < found.lines else ""
    return "\n".join([f"{head}{left}", *rows, *([found.note] if found.note else [])])


def _hit(hit: Hit) -> str:
    return f"{told_path(hit.path)}:{hit.line}: {_cut(hit.text, hit.column)}"


def _around(hits: Sequence[Hit], tree: Tree, context: int) -> tuple[int, list[str]]:
    """The hits with the lines around them, as far as there is room; how many hits that are. `>` marks a hit."""
    rows: list[str] = []
    room, shown = READ_CHARACTERS, 0
    for path, of_file in groupby(hits, key=lambda hit: hit.path):
        text = text_of(tree, path)
        lines = [] if isinstance(text, Refused) else lines_of(text)
        matches = {hit.line: hit for hit in of_file}
        rows.append(f"{told_path(path)}:")
        last = 0
        for number in sorted({near for line in matches for near in range(line - context, line + context + 1)}):
            hit = matches.get(number)
            if hit is None and not 1 <= number <= len(lines):
                continue
            line = _cut(hit.text, hit.column) if hit else _cut(lines[number - 1])
            rows += ["…"] if last and number > last + 1 else []
            rows.append(f"{'>' if hit else ' '} {number}| {line}")
            last, room, shown = number, room - len(rows[-1]), shown + (hit is not None)
            if room < 0:
                return shown, rows
    return shown, rows


def _symbols_of(tree: Tree, cache: SymbolCache, path: str) -> tuple[Symbol, ...] | Refused:
    try:
        found = cache.symbols(tree, path)
    except KeyError:
        return Refused(f"{told_path(path)} is not a file.")
    except TooLarge as error:
        return Refused(str(error))
    return Refused(f"No grammar is here for {told_path(path)}.") if found is None else found


def _symbol(symbol: Symbol) -> str:
    return f"{symbol.start}-{symbol.end} {symbol.kind} {symbol.name}"


def _bounded(lines: list[str], limit: int, what: str) -> str:
    if len(lines) <= limit:
        return "\n".join(lines)
    return "\n".join(
        [*lines[:limit], f"… {len(lines) - limit:,} more of {len(lines):,} {what}; narrow the name or path"]
    )
