"""Edits of one file's text: what its bytes are afterwards, or why the edit is not made. Nothing is written here."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.paths import shown
from app.core.verdict import Refused
from worker.repo.filetext import MAX_TEXT_BYTES, FileText, Splice, decode, lines_of
from worker.repo.leftout import placeholder_in
from worker.repo.literal import line_at, occurrences
from worker.repo.placed import AlreadyThere, NotPlaced, Placed, Placement, Why
from worker.repo.placing import Where, insertion, place
from worker.repo.weaving import woven_exactly

WHOLE_FILE_LINES = 300
"""The longest file that is written anew as a whole: in a longer one too much else is lost on the way."""


@dataclass(frozen=True, slots=True)
class Made:
    """The file's content afterwards, and one sentence on it. It is not `fresh` where nothing had to be changed."""

    content: bytes
    said: str
    fresh: bool = True


Outcome = Made | Refused


def replaced(path: str, content: bytes, old: str, new: str) -> Outcome:
    """`new` in the one place where `old` stands."""
    old, new = _plain(old), _plain(new)

    def find(file: FileText) -> Placed | Refused:
        return _left_out(path, new, file, old) or place(file.plain, old, new)

    return _edited(path, content, find, "Replaced at")


def inserted(path: str, content: bytes, anchor: str, text: str, where: Where) -> Outcome:
    """The lines of `text` before or after those of the anchor; without an anchor, at the file's start or end."""
    anchor, body = _plain(anchor), _plain(text)

    def find(file: FileText) -> Placed | Refused:
        if not body:
            return Refused("There is no text to insert.")
        left_out = _left_out(path, body, file)
        if left_out is not None:
            return left_out
        if not anchor.strip("\n"):
            return _at_an_end(lines_of(file.plain), tuple(lines_of(body)), where)
        pair = insertion(file.plain, anchor, body, where)
        return pair if isinstance(pair, NotPlaced) else place(file.plain, *pair)

    return _edited(path, content, find, f"Inserted {where}")


def written(path: str, content: bytes, whole: str) -> Outcome:
    """`whole` in the place of everything, in a file that is not long. Lines that stay the same keep their bytes."""
    plain = _plain(whole)

    def find(file: FileText) -> Placed | Refused:
        lines = lines_of(file.plain)
        if len(lines) > WHOLE_FILE_LINES:
            return Refused(
                f"{shown(path)} has {len(lines):,} lines; a file is written anew up to {WHOLE_FILE_LINES}.",
                "Replace the lines that change.",
            )
        splices = woven_exactly(lines, lines_of(plain))
        line = splices[0].start + 1 if splices else 1
        return _left_out(path, plain, file) or (Placement(splices, line) if splices else AlreadyThere(1, same=True))

    return _edited(path, content, find, "Changed from")


def made(path: str, whole: str) -> bytes | Refused:
    """The bytes of a new file, as given."""
    return _left_out(path, whole, FileText("", mark=False)) or _encoded(FileText(whole, mark=False))


def line_in(path: str, content: bytes, old: str) -> int | None:
    """The line at which a text stands byte for byte in a file, where that is one place."""
    file = decode(path, content)
    spots = [] if isinstance(file, Refused) else list(occurrences(file.plain, _plain(old)))
    return line_at(file.plain, spots[0]) if not isinstance(file, Refused) and len(spots) == 1 else None


def _edited(path: str, content: bytes, find: Callable[[FileText], Placed | Refused], did: str) -> Outcome:
    file = decode(path, content)
    if isinstance(file, Refused):
        return file
    placed = find(file)
    if isinstance(placed, Refused):
        return placed
    if isinstance(placed, AlreadyThere):
        return Made(content, _already(path, placed), fresh=False)
    edited = file.spliced(placed.splices)
    if edited.raw == file.raw:
        return Refused("The edit would change nothing: the end of a file stays as it was.")
    if not edited.raw.strip() and file.raw.strip():
        return Refused("The edit would empty the whole file.", "Delete the file where the plan says so.")
    encoded = _encoded(edited)
    overlooked = f" Overlooked: {placed.how}." if placed.how else ""
    said = f"{did} line {placed.line} of {shown(path)}.{overlooked}"
    return encoded if isinstance(encoded, Refused) else Made(encoded, said)


def _at_an_end(lines: list[str], body: tuple[str, ...], where: Where) -> Placed:
    if where == "before":
        return AlreadyThere(1) if tuple(lines[: len(body)]) == body else Placement((Splice(0, 0, body),), 1)
    last = len(lines)
    if tuple(lines[-len(body) :]) == body:
        return AlreadyThere(last - len(body) + 1)
    return Placement((Splice(last, last, body),), max(last, 1))


def _already(path: str, there: AlreadyThere) -> str:
    if there.same:
        return f"Nothing to do: the new text is the same as what stands at line {there.line} of {shown(path)}."
    return f"Already so: {shown(path)} has this text at line {there.line}. Nothing changed."


def _left_out(path: str, new: str, file: FileText, old: str = "") -> NotPlaced | None:
    """The refusal of a text that says `rest unchanged` where neither the file nor the search text does."""
    if placeholder_in(path, new, frozenset()) is None:
        return None
    known = frozenset(line.strip() for line in f"{old}\n{file.plain}".split("\n"))
    found = placeholder_in(path, new, known)
    if found is None:
        return None
    return NotPlaced(
        f"The new text holds a placeholder for code that it leaves out: `{found[:120]}`.",
        "Write the lines in full.",
        Why.LEFT_OUT,
    )


def _encoded(file: FileText) -> bytes | Refused:
    try:
        encoded = file.encoded()
    except UnicodeEncodeError:
        return Refused("The new text is not valid Unicode.")
    if b"\0" in encoded:
        return Refused("The new text holds a NUL character, which no text file does.")
    if len(encoded) > MAX_TEXT_BYTES:
        return Refused(f"The file would become larger than {MAX_TEXT_BYTES:,} bytes.")
    return encoded


def _plain(text: str) -> str:
    """As the file's text is given to us: LF line ends, and no byte order mark."""
    return text.replace("\r\n", "\n").removeprefix("\ufeff")
