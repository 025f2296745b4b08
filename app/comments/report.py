"""The report comment: what came of an approved plan that answers questions."""

from app.comments.markdown import block, code, inline
from app.comments.opinion import opinion
from app.comments.places import cited
from app.comments.status import cost
from app.core.budget import Spent
from app.core.digest import short
from app.core.plan import Plan
from app.core.report import Findings, QuestionAnswered
from app.core.run import Approval


def render(plan: Plan, approval: Approval, findings: Findings, spent: Spent, repository_url: str) -> str:
    """The whole comment; longer than one body where much was found out."""
    parts = [
        f"### Report · {code(short(approval.plan_digest))}",
        block(plan.summary),
        *(_answer(one, plan, repository_url) for one in findings.answers),
        opinion(findings.review),
        f"Plan version {plan.version} was approved by {inline(approval.person.login)}; it was carried out by reading "
        f"{code(plan.base_branch)} at {code(plan.base_commit[:12])}. Code verified that the cited lines are there, "
        f"not that they mean what is said of them. Nothing was changed. Cost: {cost(spent)}.",
    ]
    return "\n\n".join(part for part in parts if part)


def _answer(one: QuestionAnswered, plan: Plan, repository_url: str) -> str:
    head = f"**{one.step}. {inline(one.question)}**"
    if one.open:
        return f"{head}\n\nNot answered: {inline(one.open, 3_000)}"
    places = "\n".join(cited(item, plan.base_commit, repository_url) for item in one.evidence)
    return "\n\n".join(part for part in (head, block(one.answer, 12_000), places) if part)
