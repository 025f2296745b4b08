"""Comments as HTML that cannot do anything: Markdown rendered, foreign HTML shown as text, HTML comments hidden."""

import html
import re
from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

PLAIN_TAGS = re.compile(r"(<!--.*?-->|</?(?:details|summary|kbd|sub|sup|br)>)", re.DOTALL | re.IGNORECASE)
"""HTML comments (dropped, as GitHub hides them) and the few tags without attributes that are let through."""


def harmless(text: str) -> str:
    """HTML source with comments dropped, a few bare tags kept and everything else escaped."""
    parts = PLAIN_TAGS.split(text)
    kept = []
    for index, part in enumerate(parts):
        if index % 2 == 0:
            kept.append(html.escape(part))
        elif not part.startswith("<!--"):
            kept.append(part.lower())
    return "".join(kept)


class _Renderer(RendererHTML):
    """markdown-it's renderer with `harmless` for every piece of HTML."""

    def html_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """A block of HTML."""
        return harmless(tokens[idx].content)

    def html_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """HTML within a line."""
        return harmless(tokens[idx].content)


_ENGINE = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable(["table", "strikethrough"])


def rendered(text: str | None) -> Markup:
    """Safe HTML for a Markdown text; links keep only the schemes that markdown-it lets through."""
    return Markup(_ENGINE.render(text or ""))
