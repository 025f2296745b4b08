"""Outputs of any size as the lines that a terminal would leave standing, with bounded memory."""

import codecs
import re
from collections.abc import Iterable, Iterator

PIECE = 262_144
LINE_LIMIT = 65_536
"""Characters of one line; of a longer one both ends stay, with the number of characters between them."""

# Terminal sequences: OSC (a title or a link) up to its end, CSI (colours, cursor), other two-character escapes.
# One set comes first, so that text without any is skipped at full speed.
_TERMINAL = re.compile(
    r"[\x1b\x9b\x9d](?:(?:(?<=\x9d)|(?<=\x1b)\])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:(?<=\x9b)|(?<=\x1b)\[)[0-?]*[ -/]*[@-~]?"
    r"|(?<=\x1b)(?:[PX^_][^\x1b\n]*(?:\x1b\\)?|[ -/]*[0-~]?))"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BACKSPACED = re.compile(r"[^\x08\n]\x08")

# What a CI service writes before each line: `job TAB step TAB`, and a time to the tenth of a microsecond.
_STAMP = re.compile(
    r"(?:\ufeff?|[^\t]{1,200}+\t[^\t]{1,200}+\t\ufeff?)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ?"
    r"|\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] ?"
)
_STAMPED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}")
# A title between rulers: `_____ title _____`. Three signs are enough of each.
_RULERS = ("______", "======")
_RULED = re.compile(r"^([_=])\1\1\1+(?= )|(?<= )([_=])\2\2\2+$")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],]|[^"{}\[\],]+')
_JSON_LINE = 400
_JSON_INDENT = 40
"""Levels that are set in; deeper ones stand below one another, so that no nesting makes text of blanks."""
_PROBE = 4_096


def plain_output(text: str) -> str:
    """The output as a terminal would leave it standing: no colours, links or control characters (case SE-02).

    Of a line that was written over with carriage returns the last state stays.
    """
    if not _CONTROL.search(text):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = _TERMINAL.sub("", text)
    if "\x08" in text:
        text = _backspaced(text)
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    return _CONTROL.sub("", text) if _CONTROL.search(text) else text


def _backspaced(text: str) -> str:
    while (once := _BACKSPACED.sub("", text)) != text:
        text = once
    return text


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part.strip()), "")


def cleaned_batches(chunks: Iterable[str | bytes]) -> Iterator[list[str]]:
    """The output's lines in batches, cleaned, without the times that a CI service puts before each.

    A line over 400 characters that is JSON is laid out, one value a line: only blanks are added.
    Memory is bounded by the largest chunk and `LINE_LIMIT`.
    """
    for text in _whole_lines(chunks):
        plain = plain_output(text)
        lines = plain.split("\n")
        if _STAMPED.search(plain, 0, _PROBE):
            lines = [_unstamped(line) for line in lines]
        if "_____ " in plain or "===== " in plain:
            lines = [_RULED.sub(_three, line) if line[:6] in _RULERS else line for line in lines]
        if len(plain) > _JSON_LINE * len(lines) or any(len(line) > _JSON_LINE for line in lines):
            lines = [part for line in lines for part in (laid_out(line) if len(line) > _JSON_LINE else (line,))]
        yield lines


def _unstamped(line: str) -> str:
    stamp = _STAMP.match(line)
    return line if stamp is None else line[stamp.end() :]


def _three(ruler: re.Match[str]) -> str:
    return ruler.group()[:3]


def _whole_lines(chunks: Iterable[str | bytes]) -> Iterator[str]:
    """Pieces that end where a line ends; they are the same however the output was cut into chunks."""
    carried = ""
    for text in _pieces(chunks):
        head, newline, rest = text.rpartition("\n")
        if newline:
            yield carried + head
            carried = rest
        else:
            carried += text
        if len(carried) > 2 * LINE_LIMIT:
            carried = bounded(carried, LINE_LIMIT)
    yield carried


def _pieces(chunks: Iterable[str | bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    waiting: list[str] = []
    size = 0
    for chunk in chunks:
        text = decoder.decode(chunk) if isinstance(chunk, bytes) else chunk
        waiting.append(text)
        size += len(text)
        if size >= PIECE:
            text = "".join(waiting)
            whole = size - size % PIECE
            yield from (text[start : start + PIECE] for start in range(0, whole, PIECE))
            waiting, size = [text[whole:]], size - whole
    yield "".join(waiting) + decoder.decode(b"", final=True)


def bounded(line: str, limit: int) -> str:
    """The line, or both its ends with the number of characters between them."""
    half = limit // 2
    return f"{line[:half]}[… {len(line) - 2 * half:,} …]{line[-half:]}"


def laid_out(line: str) -> list[str]:
    """A long line of JSON as one value a line; any other line as it is."""
    stripped = line.strip()
    if stripped[:1] not in ("{", "[") or stripped[-1:] not in ("}", "]") or not re.match(r'[{\[]\s*["{\[\d]', stripped):
        return [line]
    lines: list[str] = []
    depth, current = 0, ""
    for piece in _JSON_TOKEN.findall(stripped):
        if piece in ("{", "["):
            lines.append(_blanks(depth) + (current + piece).strip())
            depth, current = depth + 1, ""
        elif piece in ("}", "]"):
            if current.strip():
                lines.append(_blanks(depth) + current.strip())
            depth, current = max(depth - 1, 0), piece
        elif piece == ",":
            lines.append(_blanks(depth) + current.strip() + ",")
            current = ""
        else:
            current += piece
    if current.strip():
        lines.append(_blanks(depth) + current.strip())
    return lines


def _blanks(depth: int) -> str:
    return "  " * min(depth, _JSON_INDENT)
