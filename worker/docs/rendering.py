"""From a parsed page to blocks of text: headings, paragraphs, lists, tables and code, without what nobody sees."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.core.documentation import DocsReach
from app.core.verdict import Refused
from worker.docs.page import Address, address_of

DEEPEST = 100
"""Elements within one another that are told apart; what lies deeper is told as one text."""

MOST_LINKS = 300

_UNSEEN = frozenset(
    (
        "audio", "button", "canvas", "datalist", "embed", "head", "iframe", "input", "map", "math", "noframes",
        "noscript", "object", "script", "select", "style", "svg", "template", "textarea", "video",
    )
)  # fmt: skip
_AROUND = frozenset(("nav", "dialog"))
"""Ways to other pages, which a reader of this one passes over."""

_BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
        "html", "li", "main", "ol", "p", "section", "summary", "table", "tbody", "tfoot", "thead", "ul",
    )
)  # fmt: skip
_INDENTS = {"li": "  ", "dd": "  ", "blockquote": "> "}
_HEADING = re.compile(r"h([1-6])")
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?<![\w-])opacity\s*:\s*0(?:\.0*)?(?![.\d])|font-size\s*:\s*0(?![.\d])"
    r"|text-indent\s*:\s*-\d{3,}|(?<![\w-])(?:left|top)\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*0",
    re.IGNORECASE,
)
_HIDING_CLASSES = frozenset(["sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"])
_LINK_MARKS = frozenset(["headerlink", "anchor-link", "header-anchor", "hash-link"])


@dataclass
class Rendered:
    """Blocks of text in order; `anchor` is the number of the block at which the wanted part begins, 0 for none."""

    title: str
    blocks: list[str] = field(default_factory=list)
    anchor: int = 0
    links: tuple[tuple[str, str], ...] = ()
    hidden: tuple[str, ...] = ()


def render(root: Any, address: Address, reach: DocsReach) -> Rendered:
    """The main part of the page below `root`, or all of it where it marks none."""
    page = _Page(address, reach)
    main = next((node for node in _elements(root) if _is_main(node) and len(node.to_text()) > 200), root)
    page.walk(main, 0, "")
    page.flush("")
    title = next((node.to_text() for node in _elements(root) if node.name == "title"), "")
    hidden = (f"{page.unseen} parts of the page that are not shown were left out.",) if page.unseen else ()
    links = tuple((words, url) for url, words in page.links.items())
    return Rendered(" ".join(title.split())[:300], page.blocks, page.anchor, links, hidden)


def _elements(node: Any) -> Iterator[Any]:
    """Every element below the node, in the page's order, however deep."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack += reversed([child for child in one.children or [] if not child.name.startswith("#")])


def _is_main(node: Any) -> bool:
    return node.name in ("main", "article") or (node.attrs or {}).get("role") == "main"


class _Page:
    """The text so far, and the line that is being gathered."""

    def __init__(self, address: Address, reach: DocsReach) -> None:
        self.blocks: list[str] = []
        self.links: dict[str, str] = {}
        self.anchor = 0
        self.unseen = 0
        self._address = address
        self._reach = reach
        self._line: list[str] = []
        self._mark = ""
        self._row_at: int | None = None

    def walk(self, node: Any, depth: int, indent: str) -> None:
        """Everything that is seen of a node."""
        if node.name == "#text":
            self._line.append(node.data or "")
            return
        if not self._is_seen(node):
            return
        self._look_for_part(node, indent)
        if depth > DEEPEST:
            self._line.append(node.to_text())
            return
        self._element(node, depth, indent)

    def _look_for_part(self, node: Any, indent: str) -> None:
        named = (node.attrs.get("id"), node.attrs.get("name"))
        if self._address.part and not self.anchor and self._address.part in named:
            self.flush(indent)
            self.anchor = len(self.blocks) if self._row_at is None else self._row_at

    def flush(self, indent: str) -> None:
        """What was gathered is a block; nothing, where that is blank."""
        lines = [" ".join(line.split()) for line in "".join(self._line).split("\n\0")]
        self._line = []
        text = "\n".join(line for line in lines if line)
        if text:
            first = self._mark or indent
            rest = indent if first == indent else " " * len(first)
            self.blocks.append(first + text.replace("\n", f"\n{rest}"))
            self._mark = ""

    def _is_seen(self, node: Any) -> bool:
        if node.name.startswith("#") and node.name not in ("#document", "#document-fragment"):
            return False
        if node.name in _UNSEEN or node.name in _AROUND or node.name == "!doctype":
            return False
        attributes = node.attrs or {}
        classes = set((attributes.get("class") or "").lower().split())
        if classes & _LINK_MARKS:
            return False
        hidden = (
            "hidden" in attributes
            or (attributes.get("aria-hidden") or "").lower() == "true"
            or _HIDING.search(attributes.get("style") or "") is not None
            or bool(classes & _HIDING_CLASSES)
        )
        self.unseen += hidden and bool(node.to_text().strip())
        return not hidden

    def _element(self, node: Any, depth: int, indent: str) -> None:
        name = node.name
        if name == "br":
            self._line.append("\n\0")
        elif name == "pre":
            self._code(node, indent)
        elif name == "tr":
            self._row(node, depth, indent)
        elif name in _BLOCKS:
            self._block(node, depth, indent)
        elif name in ("code", "kbd", "samp", "tt") and "`" not in (text := node.to_text()):
            self._line.append(f"`{' '.join(text.split())}`" if text.strip() else text)
            self._link_in(node)
        else:
            self._link(node)
            self._children(node, depth, indent)

    def _block(self, node: Any, depth: int, indent: str) -> None:
        self.flush(indent)
        heading = _HEADING.fullmatch(node.name)
        if heading:
            self._mark = "#" * int(heading[1]) + " "
        elif node.name == "li":
            self._mark = f"{indent}- "
        inner = indent + _INDENTS.get(node.name, "")
        self._children(node, depth, inner)
        self.flush(inner)
        self._mark = ""

    def _row(self, node: Any, depth: int, indent: str) -> None:
        """A table's row is one line, unless code stands in it: that keeps its lines."""
        self.flush(indent)
        seen = [cell for cell in node.children or [] if cell.name in ("td", "th") and self._is_seen(cell)]
        if any(inner.name == "pre" for cell in seen for inner in _elements(cell)):
            for cell in seen:
                if "linenos" not in (cell.attrs.get("class") or ""):
                    self._children(cell, depth, indent)
                    self.flush(indent)
            return
        cells = []
        blocks, row_at = self.blocks, self._row_at
        self._row_at = len(blocks) if row_at is None else row_at
        for cell in seen:
            self.blocks = []
            self._look_for_part(cell, "")
            self._children(cell, depth, "")
            self.flush("")
            cells.append(" ".join(" ".join(self.blocks).split()))
        self.blocks, self._row_at = blocks, row_at
        if any(cells):
            self.blocks.append(indent + " | ".join(cells))

    def _code(self, node: Any, indent: str) -> None:
        self.flush(indent)
        self._mark = ""
        text = node.to_text(separator="", strip=False).replace("\r\n", "\n").strip("\n")
        if text.strip():
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text) or [""]))
            self.blocks.append("\n".join([fence, text, fence]))

    def _children(self, node: Any, depth: int, indent: str) -> None:
        for child in node.children or []:
            self.walk(child, depth + 1, indent)

    def _link(self, node: Any) -> None:
        target = node.attrs.get("href") if node.name == "a" else None
        if not target or target.startswith("#") or len(self.links) >= MOST_LINKS:
            return
        address = address_of(target.strip(), self._reach, self._address)
        words = " ".join(node.to_text().split())[:120]
        if not isinstance(address, Refused) and words and str(address) != str(self._address):
            self.links.setdefault(f"{address}#{address.part}" if address.part else str(address), words)

    def _link_in(self, node: Any) -> None:
        for inner in _elements(node):
            self._link(inner)
