"""A second model's reading, as it is shown: an opinion, which decides nothing."""

from app.comments.markdown import code, inline
from app.core.report import Review


def opinion(review: Review | None) -> str:
    """Whether the reviewer agrees, and its findings; empty where there was no review."""
    if review is None:
        return ""
    verdict = "agrees" if review.agrees else "has doubts"
    lines = [f"**A second model's reading** ({inline(review.model)}): {verdict}."]
    for finding in review.findings:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        lines.append(f"- {code(place)}: {inline(finding.text)}")
    return "\n".join(lines)
