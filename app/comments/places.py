"""Places in a repository as people can open them: cited lines with a link at the commit where they stand."""

from app.comments.markdown import code, code_block, inline
from app.core.plan import Evidence

WHOLE = 5_000
"""More than the longest text or path that a plan can hold."""


def cited(item: Evidence, commit: str, repository_url: str) -> str:
    """A part of a list: the place, linked where its name is plain, what it shows, and the text that stands there."""
    lines = f"{item.start}" if item.start == item.end else f"{item.start}–{item.end}"
    name = code(f"{item.path}:{lines}", WHOLE)
    if repository_url and all(ch.isalnum() or ch in "/._-" for ch in item.path):
        anchor = f"#L{item.start}" if item.start == item.end else f"#L{item.start}-L{item.end}"
        name = f"[{name}]({repository_url}/blob/{commit}/{item.path}{anchor})"
    return f"- {name}: {inline(item.shows, WHOLE)}{_quoted(item)}"


def _quoted(item: Evidence) -> str:
    """The quoted text in a block of its own, inside the list."""
    if item.quote is None:
        return ""
    return "".join(f"\n  {line}" for line in code_block(item.quote).split("\n"))
