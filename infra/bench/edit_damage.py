"""What models do to the texts of an edit on the way, done to real edits: one function for each kind of damage.

Each answers with the edit to make and the file that must come of it, or None where the damage does not apply.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from infra.bench.edit_cases import Hunk, Row, text
from worker.repo.indents import indent_of


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of `file`, and the only right file after it. Making nothing of it is right as well."""

    path: str
    file: str
    old: str
    new: str
    wanted: str


Damage = Callable[[Hunk, random.Random], Edit | None]


def _edit(hunk: Hunk, rows: tuple[Row, ...] | None = None) -> Edit | None:
    """The edit whose texts are these rows; the file and what becomes of it stay those of the hunk."""
    told = Hunk(hunk.path, hunk.lines, hunk.start, hunk.rows if rows is None else rows)
    if rows is not None and (rows == hunk.rows or told.old == told.new):
        return None
    return Edit(hunk.path, hunk.before, text(told.old), text(told.new), hunk.after) if told.old else None


def _each(hunk: Hunk, change: Callable[[str, str], str]) -> Edit | None:
    return _edit(hunk, tuple((sign, change(sign, line)) for sign, line in hunk.rows))


def undamaged(hunk: Hunk, _chance: random.Random) -> Edit | None:
    return _edit(hunk)


def trailing_blanks(hunk: Hunk, chance: random.Random) -> Edit | None:
    """At the ends of some lines of the search text."""
    edit = _edit(hunk)
    if edit is None:
        return None
    old = text(tuple(line + chance.choice(("", " ", "  ", "\t")) for line in hunk.old))
    return None if old == edit.old else replace(edit, old=old)


def crlf_in_the_file(hunk: Hunk, _chance: random.Random) -> Edit | None:
    edit = _edit(hunk)
    if edit is None:
        return None
    return replace(edit, file=edit.file.replace("\n", "\r\n"), wanted=edit.wanted.replace("\n", "\r\n"))


def crlf_in_the_texts(hunk: Hunk, _chance: random.Random) -> Edit | None:
    edit = _edit(hunk)
    return edit and replace(edit, old=edit.old.replace("\n", "\r\n"), new=edit.new.replace("\n", "\r\n"))


def outdented(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """Until the shallowest line of the search text has no indent."""
    indents = [indent_of(line) for line in (*hunk.old, *hunk.new) if line.strip()]
    least = min((indent_of(line) for line in hunk.old if line.strip()), key=len, default="")
    if not least or not all(indent.startswith(least) for indent in indents):
        return None
    return _each(hunk, lambda _, line: line.removeprefix(least) if line.strip() else line)


def indented(hunk: Hunk, chance: random.Random) -> Edit | None:
    more = chance.choice(("  ", "    ", "        "))
    return _each(hunk, lambda _, line: more + line if line.strip() else line)


def tabbed(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """Every four blanks of an indent are a tab."""
    if not any(indent_of(line) for line in hunk.old):
        return None
    return _each(hunk, lambda _, line: indent_of(line).replace("    ", "\t") + line[len(indent_of(line)) :])


def blank_lines_dropped(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """From both texts. Blank lines that the change itself takes away or puts in could not be known then."""
    if any(sign != " " and not line.strip() for sign, line in hunk.rows):
        return None
    return _edit(hunk, tuple(row for row in hunk.rows if row[0] != " " or row[1].strip()))


def blank_lines_not_searched(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """Dropped from the search text alone."""
    edit = _edit(hunk)
    old = text(tuple(line for line in hunk.old if line.strip()))
    removes = any(sign == "-" and not line.strip() for sign, line in hunk.rows)
    return replace(edit, old=old) if edit and old and not removes else None


def quotes_changed(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """In the lines that stand in the file; where the change itself turns the quotes, nothing would be damaged."""
    other = str.maketrans("\"'", "'\"")
    fresh = {line for sign, line in hunk.rows if sign == "+"}
    if any(line.translate(other) in fresh for sign, line in hunk.rows if sign == "-"):
        return None
    return _each(hunk, lambda sign, line: line if sign == "+" else line.translate(other))


def _numbered(hunk: Hunk, form: str) -> Edit | None:
    old = [form.format(number, line) for number, line in enumerate(hunk.old, hunk.start + 1)]
    new = [form.format(number, line) for number, line in enumerate(hunk.new, hunk.start + 1)]
    edit = _edit(hunk)
    return edit and replace(edit, old=text(old), new=text(new))


def line_numbers_pasted(hunk: Hunk, _chance: random.Random) -> Edit | None:
    return _numbered(hunk, "{}| {}")


def line_numbers_with_tabs(hunk: Hunk, _chance: random.Random) -> Edit | None:
    return _numbered(hunk, "{:6}\t{}")


def middle_elided(hunk: Hunk, chance: random.Random) -> Edit | None:
    """Lines above the place are given, then `...` for what is between."""
    first = hunk.start - 9
    between = chance.choice(("...", "# ... existing code ...", "    # ...", "// ..."))
    if first < 0 or not any(line.strip() for line in hunk.lines[first : first + 2]):
        return None
    above = tuple((" ", line) for line in hunk.lines[first : first + 2])
    return _edit(hunk, (*above, (" ", between), *hunk.rows))


def removed_lines_elided(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """Of the lines to remove only the first and the last are given."""
    gone = [number for number, (sign, _) in enumerate(hunk.rows) if sign == "-"]
    if len(gone) < 4 or gone != list(range(gone[0], gone[-1] + 1)):
        return None
    return _edit(hunk, (*hunk.rows[: gone[0] + 1], ("-", "..."), *hunk.rows[gone[-1] :]))


def one_word_typo(hunk: Hunk, chance: random.Random) -> Edit | None:
    """In one line that stands in the file: a letter is missing."""
    standing = [number for number, (sign, line) in enumerate(hunk.rows) if sign != "+" and len(line.strip()) > 3]
    if not standing:
        return None
    number = chance.choice(standing)
    sign, line = hunk.rows[number]
    letters = [at for at, letter in enumerate(line) if letter.isalnum()]
    if not letters:
        return None
    at = chance.choice(letters)
    return _edit(hunk, (*hunk.rows[:number], (sign, line[:at] + line[at + 1 :]), *hunk.rows[number + 1 :]))


def first_indent_cut(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """Both texts begin at their first letter, as a trimmed argument does."""
    edit = _edit(hunk)
    if edit is None or not indent_of(hunk.old[0]) or not hunk.new or indent_of(hunk.old[0]) != indent_of(hunk.new[0]):
        return None
    return replace(edit, old=edit.old.lstrip(" \t"), new=edit.new.lstrip(" \t"))


def first_line_cut(hunk: Hunk, chance: random.Random) -> Edit | None:
    """The search text begins inside its first line; the new text does not."""
    edit = _edit(hunk)
    body = hunk.old[0].strip() if hunk.old else ""
    if edit is None or len(body) < 6:
        return None
    cut = len(indent_of(hunk.old[0])) + chance.randrange(2, len(body) - 2)
    return replace(edit, old=edit.old[cut:])


def first_line_lost(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """The search text lacks its first line, which the new text has."""
    edit = _edit(hunk)
    shared = len(hunk.old) > 1 and hunk.rows[0][0] == " " and hunk.old[0] != hunk.old[1]
    shared = shared and any(letter.isalnum() for letter in hunk.old[0])
    return replace(edit, old=text(hunk.old[1:])) if edit and shared else None


def last_line_cut(hunk: Hunk, chance: random.Random) -> Edit | None:
    """The search text ends inside its last line; the new text does not."""
    edit = _edit(hunk)
    body = hunk.old[-1].strip() if hunk.old else ""
    if edit is None or len(body) < 6:
        return None
    return replace(edit, old=edit.old[: -1 - chance.randrange(2, len(body) - 2)])


def wrapped_line_joined(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """Two lines that stay are given as one."""
    rows = hunk.rows
    for number in range(len(rows) - 1):
        (sign, line), (after, next_line) = rows[number], rows[number + 1]
        if sign == after == " " and line.strip() and next_line.strip():
            return _edit(hunk, (*rows[:number], (" ", f"{line.rstrip()} {next_line.strip()}"), *rows[number + 2 :]))
    return None


def comment_left_out(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """A comment among the lines that stay is not given."""
    rows = hunk.rows
    said = [n for n, (sign, line) in enumerate(rows) if sign == " " and line.strip().startswith(("#", "//", "*", ".."))]
    return _edit(hunk, (*rows[: said[0]], *rows[said[0] + 1 :])) if said else None


def already_applied(hunk: Hunk, _chance: random.Random) -> Edit | None:
    """The same edit once more, of one that stands in a single place."""
    edit = _edit(hunk)
    if edit is None or edit.file.count(edit.old) != 1 or (edit.old in edit.wanted and edit.old not in edit.new):
        return None
    return replace(edit, file=edit.wanted)


DAMAGES: dict[str, Damage] = {
    damage.__name__.replace("_", " "): damage
    for damage in (
        undamaged, trailing_blanks, crlf_in_the_file, crlf_in_the_texts, outdented, indented, tabbed,
        blank_lines_dropped, blank_lines_not_searched, quotes_changed, line_numbers_pasted, line_numbers_with_tabs,
        middle_elided,
        removed_lines_elided, one_word_typo, first_indent_cut, first_line_cut, first_line_lost, last_line_cut,
        wrapped_line_joined, comment_left_out, already_applied,
    )
}  # fmt: skip
