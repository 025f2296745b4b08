"""A file as text whose bytes come back exactly: byte order mark, line ends and last newline are kept."""

import difflib
from dataclasses import dataclass

from app.core.paths import shown
from app.core.verdict import Refused

UTF8_MARK = b"\xef\xbb\xbf"
MAX_TEXT_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class FileText:
    """A decoded file. `raw` has no byte order mark and keeps its own line ends."""

    raw: str
    mark: bool

    @property
    def plain(self) -> str:
        """The text with LF line ends, as models read and write it. A lone CR is an ordinary character."""
        return self.raw.replace("\r\n", "\n")

    def encoded(self) -> bytes:
        return (UTF8_MARK if self.mark else b"") + self.raw.encode("utf-8")

    def spliced(self, start: int, end: int, new: str) -> "FileText":
        """This text with `plain[start:end]` replaced by `new`, which has LF line ends.

        Lines that stay the same keep their own ending; a changed line keeps the ending it had, a new one gets the
        file's prevailing one. The end of the file stays as it was: with a last newline, or without.
        """
        plain = self.plain
        lines = _lines(self.raw)
        first, begin = _line_at(lines, start)
        last, finish = first, begin
        while last < len(lines) and (finish < end or last == first):
            finish += len(_content(lines[last])) + _has_end(lines[last])
            last += 1
        region = plain[begin:start] + new + plain[end:finish]
        if last == len(lines) and plain.endswith("\n") and region and not region.endswith("\n"):
            region += "\n"
        fresh = _with_endings(lines[first:last], region, prevailing_ending(self.raw))
        whole = "".join(lines[:first]) + fresh + "".join(lines[last:])
        return FileText(whole if plain.endswith("\n") else _without_last_newline(whole), self.mark)


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


def prevailing_ending(raw: str) -> str:
    """CRLF where most lines of the text end so, else LF."""
    pairs = raw.count("\r\n")
    return "\r\n" if pairs * 2 > raw.count("\n") else "\n"


def _lines(raw: str) -> list[str]:
    pieces = raw.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _has_end(line: str) -> bool:
    return line.endswith("\n")


def _content(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def _line_at(lines: list[str], offset: int) -> tuple[int, int]:
    """Index of the line that holds `offset` of the plain text, and the offset where that line begins."""
    begin = 0
    for number, line in enumerate(lines):
        size = len(_content(line)) + _has_end(line)
        if offset < begin + size:
            return number, begin
        begin += size
    return len(lines), begin


def _without_last_newline(text: str) -> str:
    while text.endswith("\n"):
        text = text.removesuffix("\n").removesuffix("\r")
    return text


def _with_endings(old: list[str], region: str, ending: str) -> str:
    """`region` with, per line, the ending of the old line that it keeps or replaces."""
    fresh = _lines(region)
    was = [(_content(line), _has_end(line)) for line in old]
    now = [(line.removesuffix("\n"), _has_end(line)) for line in fresh]
    out: list[str] = []
    matcher = difflib.SequenceMatcher(None, was, now, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            out += old[i1:i2]
            continue
        for step, (content, ended) in enumerate(now[j1:j2]):
            twin = old[i1 + step] if i1 + step < i2 else ""
            own = twin[len(_content(twin)) :] or ending
            out.append(content + (own if ended else ""))
    return "".join(out)
