"""The outline of a page: its title, headings, texts, links and fields, one a line, as a reader meets them."""

from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "math"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "title"})
_BLOCKS = frozenset(
    {"p", "div", "li", "td", "th", "tr", "section", "article", "header", "footer", "main", "nav", "ul", "ol", "table"}
    | {"form", "button", "label", "option", "pre", "blockquote", "dt", "dd", "figure", "br", "hr", "body", "aside"}
    | _HEADINGS
)
_LINE = 300


def outline(html: str, limit: int) -> str:
    """At most `limit` characters; what is beyond is counted. Never raises, whatever the page is."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_line()
    lines, room = [], limit - 40
    for line in reader.lines:
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    left = len(reader.lines) - len(lines)
    return "\n".join([*lines, *([f"[… {left:,} more lines]"] if left else [])])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self._words: list[str] = []
        self._lead = ""
        self._silent = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in _SILENT:
            self._silent += 1
        if tag in _BLOCKS:
            self.end_line()
            self._lead = f"{tag}: " if tag in _HEADINGS else "button: " if tag == "button" else ""
        if tag == "a":
            self._links.append(given.get("href", ""))
        elif tag == "img":
            self._add(f"[image {given.get('src', '')[:120]} “{given.get('alt', '')}”]")
        elif tag in ("input", "textarea", "select"):
            shown = given.get("value") or given.get("placeholder", "")
            self._add(f"[{tag} {given.get('type', '')} {given.get('name', '')} “{shown}”]".replace("  ", " "))

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        if tag == "a" and self._links:
            self._add(f"→ {self._links.pop()[:200]}")
        if tag in _BLOCKS:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._words += data.split()

    def end_line(self) -> None:
        """What stands so far is a line of its own."""
        text = " ".join(self._words)
        if text:
            self.lines.append((self._lead + text)[:_LINE])
        self._words, self._lead = [], ""

    def _add(self, text: str) -> None:
        if not self._silent:
            self._words.append(" ".join(text.split()))
