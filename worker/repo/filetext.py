"""A file as text whose bytes come back exactly: byte order mark, line ends and last newline are kept."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.core.paths import shown
from app.core.verdict import Refused

UTF8_MARK = b"\xef\xbb\xbf"
MAX_TEXT_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines `start` to `end` (from 0, the end not included) become the lines `new`, which have no line ends."""

    start: int
    end: int
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileText:
    """A decoded file. `raw` has no byte order mark and keeps its own line ends.

    Where it has CR and no LF at all, each CR ends a line; else a lone CR is an ordinary character.
    """

    raw: str
    mark: bool

    @property
    def plain(self) -> str:
        """The text with LF line ends, as models read and write it."""
        if self.ends_in_returns:
            return self.raw.replace("\r", "\n")
        return self.raw.replace("\r\n", "\n") if "\r" in self.raw else self.raw

    @property
    def ends_in_returns(self) -> bool:
        """True where lines end in CR alone."""
        return ends_in_returns(self.raw)

    def encoded(self) -> bytes:
        """The file's bytes. Raises UnicodeEncodeError for a text that is none."""
        return (UTF8_MARK if self.mark else b"") + self.raw.encode("utf-8")

    def spliced(self, splices: Iterable[Splice]) -> "FileText":
        """This text with the splices made, which rise and do not overlap.

        Every other line keeps its bytes. A line that takes another's place takes its line end as well, a further one
        the file's prevailing one. The file ends as it did: with a last newline, or without.
        """
        if self.ends_in_returns:
            return FileText(FileText(self.plain, self.mark).spliced(splices).raw.replace("\n", "\r"), self.mark)
        lines = self.raw.split("\n")
        ended = not lines[-1]
        if ended:
            del lines[-1]
        usual = "\r" if prevailing_ending(self.raw) == "\r\n" else ""
        out: list[str] = []
        at, last = 0, ""
        for splice in splices:
            out += lines[at : splice.start]
            if not ended and at < splice.start == len(lines):
                out[-1] += usual  # It was the last line and had no end.
            new = _without_blank_end(splice.new, lines) if splice.end == len(lines) else splice.new
            for twin, content in enumerate(new, start=splice.start):
                replaces = twin < splice.end and (ended or twin < len(lines) - 1)
                last = _return_of(lines[twin]) if replaces else usual
                out.append(content + last)
            if not new:
                last = _return_of(out[-1]) if out else ""
            at = splice.end
        out += lines[at:]
        if at == len(lines) and out and not ended:
            out[-1] = out[-1].removesuffix(last)
        return FileText("\n".join(out) + ("\n" if ended and out else ""), self.mark)


def decode(path: str, content: bytes) -> FileText | Refused:
    """The file as text, or why it is none. No encoding is guessed: a wrong guess would rewrite other lines."""
    if len(content) > MAX_TEXT_BYTES:
        return Refused(f"{shown(path)} is larger than {MAX_TEXT_BYTES:,} bytes; it is not edited as text.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Refused(f"{shown(path)} is UTF-16; only UTF-8 text is edited.")
    if b"\0" in content:
        return Refused(f"{shown(path)} is a binary file.")
    mark = content.startswith(UTF8_MARK)
    try:
        return FileText(content[len(UTF8_MARK) if mark else 0 :].decode("utf-8"), mark)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Refused(f"{shown(path)} is not UTF-8 (line {line}); its encoding is not guessed.")


def ends_in_returns(raw: str) -> bool:
    """True for a text with CR and no LF, as an old system wrote it: its lines end in CR alone."""
    return "\r" in raw and "\n" not in raw


def prevailing_ending(raw: str) -> str:
    """CRLF where most lines of the text end so, else LF."""
    if "\r" not in raw:
        return "\n"
    pairs = raw.count("\r\n")
    return "\r\n" if pairs * 2 > raw.count("\n") else "\n"


def lines_of(plain: str) -> list[str]:
    """The lines of a text with LF line ends, without them; a last newline begins no line."""
    return plain.removesuffix("\n").split("\n") if plain else []


def _return_of(line: str) -> str:
    """The CR before the line's LF."""
    return "\r" if line.endswith("\r") else ""


def _without_blank_end(new: tuple[str, ...], lines: list[str]) -> tuple[str, ...]:
    """A file that does not end in a blank line does not get one."""
    if lines and not lines[-1].strip("\r"):
        return new
    last = len(new)
    while last and not new[last - 1]:
        last -= 1
    return new[:last]
