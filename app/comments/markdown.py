"""Markdown that cannot be turned against its reader: other people's words as plain text or in closed blocks."""

import re
import unicodedata

MAX_BODY = 60_000
"""Code points in one body. GitHub's own limit is 65,536 (github-facts 144)."""

_GAP = "&#8203;"
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_SPECIAL = re.compile(r"([\\`*_\[\]|~!])")
_REFERENCE = re.compile(r"(?<!&)#(?=\w)")
_OLD_REFERENCE = re.compile(r"\b(GH)-(?=\d)", re.IGNORECASE)
_LINE_START = re.compile(r"^(\s*\d*)([-+=>#.)])")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b\].*?(?:\x07|\x1b\\)"  # titles and terminal hyperlinks
    r"|\x1b[@-Z\\-_]",
    re.DOTALL,
)


def visible(text: str) -> str:
    """The text without terminal sequences, overwritten progress lines, control and invisible characters."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    kept = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
    return "".join(ch for ch in kept if ch in "\n\t" or unicodedata.category(ch) not in ("Cc", "Cf", "Cs", "Co"))


def inline(text: str, limit: int = 1_000) -> str:
    """Somebody's words on one line. Code spans stay; nothing else is live."""
    return _plain_start(_quiet(cut(" ".join(visible(text).split()), limit)))


def block(text: str, limit: int = 4_000) -> str:
    """Somebody's words with their line breaks. Code spans stay; nothing else is live."""
    lines = cut(visible(text).strip(), limit).split("\n")
    return "\n".join(_plain_start(_quiet(line.strip())) for line in lines)


def code(text: str, limit: int = 300) -> str:
    """A code span that its content cannot close."""
    shown = cut(" ".join(visible(text).split()), limit)
    ticks = "`" * (_longest_run(shown, "`") + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def code_block(text: str, language: str = "", limit: int = 8_000) -> str:
    """A fenced block that its content cannot close."""
    shown = cut_middle(visible(text).strip("\n"), limit)
    fence = "`" * max(3, _longest_run(shown, "`") + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def details(summary: str, body: str) -> str:
    """A folded part; the blank lines keep the Markdown inside alive (github-facts 153)."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, with a sign where something was left out."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def cut_middle(text: str, limit: int) -> str:
    """Head and tail of a text that is too long, with a line that says how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def split(body: str, limit: int = MAX_BODY) -> tuple[str, ...]:
    """The body in parts of at most `limit` code points, cut between lines.

    A fenced block that is cut is closed at the end of its part and opened again in the next one, with the same
    fence and language. A single line longer than a part is cut within the line.
    """
    parts: list[str] = []
    lines: list[str] = []
    size, fence = 0, ""
    # A quarter for a fence, for a line and for the closing each: so a part has room for all three.
    for line in _short_lines(body, limit // 4):
        after = _fence_after(fence, line)
        closing = len(_closing(after)) + 1 if after else 0
        if lines and size + len(line) + 1 + closing > limit:
            parts.append("\n".join([*lines, _closing(fence)] if fence else lines))
            lines = [fence] if fence else []
            size = len(fence) + 1 if fence else 0
        lines.append(line)
        size += len(line) + 1
        fence = after
    parts.append("\n".join([*lines, _closing(fence)] if fence else lines))
    return tuple(parts)


def _short_lines(body: str, width: int) -> list[str]:
    return [line[i : i + width] for line in body.split("\n") for i in range(0, max(len(line), 1), width)]


def _fence_after(fence: str, line: str) -> str:
    match = re.match(r" {0,3}(`{3,}|~{3,})", line)
    if not match:
        return fence
    if not fence:
        return line
    mark = _mark(fence)
    closes = match[1].startswith(mark) and not line.strip().strip(mark[0])
    return "" if closes else fence


def _closing(fence: str) -> str:
    """As far in as the fence that it closes: within a list, a fence further out would open another block."""
    return " " * (len(fence) - len(fence.lstrip(" "))) + _mark(fence)


def _mark(fence: str) -> str:
    match = re.match(r" {0,3}(`{3,}|~{3,})", fence)
    return match[1] if match else ""


def _plain_start(line: str) -> str:
    """No list, heading, quotation or underline begins here."""
    return _LINE_START.sub(r"\1\\\2", line)


def _quiet(line: str) -> str:
    out, at = [], 0
    for span in _CODE_SPAN.finditer(line):
        out += [_escape(line[at : span.start()]), span.group()]
        at = span.end()
    return "".join([*out, _escape(line[at:])])


def _escape(text: str) -> str:
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _SPECIAL.sub(r"\\\1", safe)
    # A gap behind every dollar: no formula, whose text could be made invisible.
    safe = safe.replace("$", f"${_GAP}").replace("@", f"@{_GAP}")
    safe = safe.replace("://", f":{_GAP}//").replace("www.", f"www{_GAP}.")
    return _OLD_REFERENCE.sub(rf"\1{_GAP}-", _REFERENCE.sub(f"#{_GAP}", safe))


def _longest_run(text: str, mark: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(mark)}+", text)), default=0)
