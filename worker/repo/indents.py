"""Indents carried over: what a line's indent in a model's text is in the file, seen from lines that are in both."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_TAB_WIDTHS = (4, 8, 2, 3)


def indent_of(line: str) -> str:
    """The blanks and tabs at the line's start."""
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(frozen=True, slots=True)
class Shift:
    """How indents change. `pairs` are of lines in both texts; `first` is one that goes for the first line alone."""

    pairs: tuple[tuple[str, str], ...]
    first: tuple[str, str] | None = None
    unit: str = "    "

    @property
    def same(self) -> bool:
        """True where no indent changes."""
        return self.first is None and all(old == file for old, file in self.pairs)

    def carried(self, indent: str) -> str | None:
        """The indent in the file; None where what is known of other lines does not say."""
        known = dict(self.pairs)
        if indent in known or self.same:
            return known.get(indent, indent)
        readings = [one for one in self.readings(indent) if one is not None]
        if len(set(readings)) > 1 and not any(indent.startswith(old) for old in known):
            return None  # Shallower than every known line, and two ways to read how much.
        return readings[0] if readings else None

    def readings(self, indent: str) -> list[str | None]:
        """What each way of reading all pairs makes of the indent, the plainest first."""
        if not self.pairs:
            return []
        ours, files = (any("\t" in pair[side] for pair in self.pairs) for side in (0, 1))
        if ours == files and not (indent and not indent.strip("\t") and not ours):
            return [_moved(self.pairs, indent), _scaled(self.pairs, indent)]
        return [self._expanded(indent) if ours or not files else self._tabbed(indent)]

    def _expanded(self, indent: str) -> str | None:
        """Tabs in the model's text, blanks in the file: at the one width that explains all lines, else the file's."""
        widths = [width for width in _TAB_WIDTHS if all(_wide(old, width) == file for old, file in self.pairs)]
        width = widths[0] if len(widths) == 1 else len(self.unit)
        if "\t" in self.unit:
            return None
        return _moved(tuple((_wide(old, width), file) for old, file in self.pairs), _wide(indent, width))

    def _tabbed(self, indent: str) -> str | None:
        """Blanks in the model's text, tabs in the file: at the one width that explains all lines."""
        found = set()
        for width in _TAB_WIDTHS:
            levels = [divmod(len(old), width) for old, _ in self.pairs]
            more = {len(file) - level for (level, _), (_, file) in zip(levels, self.pairs, strict=True)}
            level, rest = divmod(len(indent), width)
            if len(more) == 1 and not rest and not any(odd for _, odd in levels) and level + min(more) >= 0:
                found.add("\t" * (level + more.pop()))
        return found.pop() if len(found) == 1 else None


def shift_of(pairs: Sequence[tuple[str, str]], unit: str) -> Shift | None:
    """The shift that explains the indents of all lines, or of all but the first, whose own was cut off; else None."""
    whole = Shift(tuple(dict.fromkeys(pairs)), None, unit)
    if _is_one(pairs) and _explains(whole):
        return whole
    (cut, full), rest = pairs[0], pairs[1:]
    tail = Shift(tuple(dict.fromkeys(rest)), (cut, full), unit)
    if rest and cut != full and full.endswith(cut) and _is_one(rest) and _explains(tail):
        return tail
    return None


def unit_of(lines: Sequence[str]) -> str:
    """By what the file indents: a tab, or the blanks by which lines most often go in; four where nothing is."""
    indents = [indent_of(line) for line in lines if line.strip()]
    tabbed = sum(indent.startswith("\t") for indent in indents)
    if tabbed * 2 > sum(bool(indent) for indent in indents):
        return "\t"
    steps = Counter(len(below) - len(above) for above, below in pairwise(indents) if len(below) > len(above))
    usual = [step for step, _ in steps.most_common() if step in (2, 3, 4, 8)]
    return " " * (usual[0] if usual else 4)


def _is_one(pairs: Sequence[tuple[str, str]]) -> bool:
    """The same indent always became the same one, and deeper ones stayed deeper."""
    known: dict[str, str] = {}
    if any(known.setdefault(old, file) != file for old, file in pairs):
        return False
    ours, files = (sorted(known, key=_depth), [_depth(known[old]) for old in sorted(known, key=_depth)])
    return files == sorted(set(files)) and len({_depth(old) for old in ours}) == len(ours)


def _depth(indent: str) -> int:
    return len(_wide(indent, _TAB_WIDTHS[0]))


def _explains(shift: Shift) -> bool:
    """One way of reading makes of every indent what it is in the file."""
    if len(shift.pairs) == 1:
        return True
    tried = [shift.readings(old) for old, _ in shift.pairs]
    files = [file for _, file in shift.pairs]
    return any(list(reading) == files for reading in zip(*tried, strict=False))


def _moved(pairs: Sequence[tuple[str, str]], indent: str) -> str | None:
    """The same characters put before every indent, or taken off it."""
    old, file = pairs[0]
    more = file.removesuffix(old) if file.endswith(old) else None
    if more is not None and all(file == more + old for old, file in pairs):
        return more + indent
    less = old.removesuffix(file) if old.endswith(file) else None
    if less is not None and all(old == less + file for old, file in pairs):
        return indent.removeprefix(less) if indent.startswith(less) else None
    return None


def _scaled(pairs: Sequence[tuple[str, str]], indent: str) -> str | None:
    """Half or double as many blanks, as where a file goes in by two and a model by four."""
    if all(not old for old, _ in pairs) or "\t" in indent or any("\t" in old + file for old, file in pairs):
        return None
    if all(len(old) == 2 * len(file) for old, file in pairs):
        return " " * (len(indent) // 2) if len(indent) % 2 == 0 else None
    if all(2 * len(old) == len(file) for old, file in pairs):
        return " " * (2 * len(indent))
    return None


def _wide(indent: str, width: int) -> str:
    return indent.replace("\t", " " * width)
