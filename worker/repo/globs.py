"""Path globs, as people write them in tools and policies."""

import re
from collections.abc import Callable
from dataclasses import dataclass

MOST_BY_EXPRESSION = 3
"""Wildcards up to which an expression is fast on every path; with more, its time would grow without bound."""


class Glob:
    """A glob that can be held against whole paths, in a time that no glob and no path can make long."""

    def __init__(self, glob: str) -> None:
        pieces = _pieces(glob)
        wild = sum(piece in _WILD for piece in pieces)
        self._fits: Callable[[str], object] = (
            expression(pieces).fullmatch if wild <= MOST_BY_EXPRESSION else _Positions(pieces).reach_the_end
        )

    def search(self, path: str) -> bool:
        """True where the whole path fits."""
        return bool(self._fits(path))


def glob_pattern(glob: str) -> Glob:
    """What `glob` fits.

    `*` and `?` stay within one part, `**` spans parts, `[...]` is a set; a glob without `/` is held against the file
    name alone, and one that ends in `/` against everything below that folder.
    """
    return Glob(glob)


_PARTS, _DEEP, _WITHIN = "(?:.*/)?", ".*", "[^/]*"
_WILD = (_PARTS, _DEEP, _WITHIN)


def _pieces(glob: str) -> list[str]:
    """The glob as expressions, each a wildcard or of one character."""
    glob = glob.removeprefix("./")
    out = [] if "/" in glob else [_PARTS]
    if glob.endswith("/"):
        glob += "**"
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", glob.lstrip("/"), re.DOTALL):
        if piece in ("**/", "**", "*"):
            out.append({"**/": _PARTS, "**": _DEEP, "*": _WITHIN}[piece])
        elif piece == "?":
            out.append("[^/]")
        elif piece.startswith("[") and len(piece) > 2:
            out.append(_set(piece))
        else:
            out.append(re.escape(piece))
    return [piece for before, piece in zip(["", *out], out, strict=False) if piece != before or piece not in _WILD]


def _set(piece: str) -> str:
    """The set that a piece in brackets is; one with a range that runs backwards fits nothing."""
    inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", piece[1:-1].removeprefix("!"))
    written = f"[^/{inner}]" if piece[1] == "!" else f"[{inner}]"
    try:
        re.compile(written)
    except re.error:
        return "(?!)"
    return written


def expression(pieces: list[str]) -> re.Pattern[str]:
    """One that a whole path is held against."""
    return re.compile("".join(pieces), re.DOTALL)


@dataclass(frozen=True)
class _Positions:
    """All positions in a path that the pieces so far can have reached, as the bits of one number."""

    pieces: list[str]

    def reach_the_end(self, path: str) -> bool:
        every = (1 << len(path)) - 1
        slashes = _bits("/", path)
        reached = 1
        for piece in self.pieces:
            if piece == _DEEP:
                reached = _onward(reached, every)
            elif piece == _WITHIN:
                reached = _onward(reached, every & ~slashes)
            elif piece == _PARTS:
                reached |= (_onward(reached, every) & slashes) << 1
            else:
                reached = (reached & _bits(piece, path)) << 1
        return bool(reached >> len(path) & 1)


def _onward(reached: int, over: int) -> int:
    """Also every position behind a run of these characters that a position stands in: the addition carries it there."""
    return reached | (((reached & over) + over) ^ over)


def _bits(piece: str, path: str) -> int:
    """The positions of the characters that an expression for one character fits."""
    return sum(1 << at for at, letter in enumerate(path) if re.fullmatch(piece, letter, re.DOTALL))
