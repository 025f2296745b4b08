"""Markdown that cannot be turned against its reader: other people's words as plain text or in closed blocks."""

import re
import unicodedata
from dataclasses import dataclass, replace

from app.core.unseen import without_unseen

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
    return "".join(ch for ch in without_unseen(kept) if unicodedata.category(ch) != "Co")


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

    What is open where it is cut, fenced blocks and folded parts (not folded into one another more than once), is closed
    at the end of its part and opened again in the next one, with the same fence and language, or the same summary. A
    single line longer than a part is cut within the line.
    """
    parts: list[str] = []
    lines: list[str] = []
    size, still = 0, _Open()
    # A sixth for each: so a part has room for two summaries, a fence, a line and the closing of them all.
    for line in _short_lines(body, limit // 6):
        after = still.behind(line)
        if lines and size + len(line) + 1 + _length(after.closing()) > limit:
            parts.append("\n".join([*lines, *still.closing()]))
            lines = still.opening()
            size = _length(lines)
        lines.append(line)
        size += len(line) + 1
        still = after
    parts.append("\n".join([*lines, *still.closing()]))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class _Open:
    """What is open behind a line: a fence, by the line that opened it, and folded parts by their summaries."""

    fence: str = ""
    folded: tuple[str, ...] = ()

    def behind(self, line: str) -> "_Open":
        fence = _fence_after(self.fence, line)
        if fence or self.fence:
            return replace(self, fence=fence)
        match line.partition(">")[0]:
            case "<details":
                return replace(self, folded=(*self.folded, ""))
            case "<summary" if self.folded:
                return replace(self, folded=(*self.folded[:-1], line))
            case "</details":
                return replace(self, folded=self.folded[:-1])
            case _:
                return self

    def closing(self) -> list[str]:
        fence = [_closing(self.fence)] if self.fence else []
        # A blank line ends what stands before.
        return [*fence, *("\n</details>" for _ in self.folded)]

    def opening(self) -> list[str]:
        folds = [f"<details>\n{summary}\n" if summary else "<details>" for summary in self.folded]
        return [*folds, *([self.fence] if self.fence else [])]


def _length(lines: list[str]) -> int:
    return sum(map(len, lines)) + len(lines)


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
