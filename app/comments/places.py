"""Places in a repository as people can open them: cited lines with a link at the commit where they stand."""

from app.comments.markdown import code, inline
from app.core.plan import Evidence

WHOLE = 5_000
"""More than the longest text or path that a plan can hold."""


def cited(item: Evidence, commit: str, repository_url: str) -> str:
    """One line of a list: the place, linked where its name is plain, and what it shows."""
    lines = f"{item.start}" if item.start == item.end else f"{item.start}–{item.end}"
    name = code(f"{item.path}:{lines}", WHOLE)
    if repository_url and all(ch.isalnum() or ch in "/._-" for ch in item.path):
        anchor = f"#L{item.start}" if item.start == item.end else f"#L{item.start}-L{item.end}"
        name = f"[{name}]({repository_url}/blob/{commit}/{item.path}{anchor})"
    return f"- {name}: {inline(item.shows, WHOLE)}"
