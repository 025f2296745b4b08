"""A second model's reading, as it is shown: what it says of each criterion, and what code found of that."""

from app.comments.markdown import code, inline
from app.core.plan import Plan
from app.core.report import Answer, Judgement, Report, Review

_ANSWERS = {Answer.ACCEPT: "accepts", Answer.REPAIR: "asks for a repair", Answer.STOP: "says to stop"}
_MET = {"yes": "met", "no": "not met", "unclear": "unclear"}


def reviewed(plan: Plan, report: Report) -> str:
    """The review of what was made by models, or that there was none."""
    if report.review is not None or plan.rule is not None:
        return opinion(report.review)
    why = f": {inline(report.unreviewed)}" if report.unreviewed else "."
    return f"**No second model reviewed this**{why}"


def opinion(review: Review | None) -> str:
    """What the reviewer says, and its findings; empty where there was no review."""
    if review is None:
        return ""
    lines = [f"**A second model's reading** ({inline(review.model)}): {_said(review)}"]
    lines += [_judged(one) for one in review.judgements]
    for finding in review.findings:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        lines.append(f"- {code(place)}: {inline(finding.text)}")
    return "\n".join(lines)


def _said(review: Review) -> str:
    if review.answer is None:
        return "agrees." if review.agrees else "has doubts."
    words = f": {inline(review.words, 2_000)}" if review.words else "."
    return f"{_ANSWERS[review.answer]}{words}"


def _judged(one: Judgement) -> str:
    cites = f" ({one.where}: {code(' '.join(one.quote.split()))})" if one.believed else ""
    unbelieved = one.met != "unclear" and not one.believed
    doubt = " **Not believed:** what it cites is not there." if unbelieved else ""
    return f"- Criterion {one.criterion}: {_MET[one.met]}. {inline(one.because)}{cites}{doubt}"
