"""The plan comment: a view of the plan object, and how to say yes to exactly it."""

from app.comments.markdown import block, code, code_block, details, inline
from app.core.digest import short
from app.core.plan import Evidence, Expectation, MoveFile, Plan, Step
from app.core.run import Proposal

_DO = {"change": "Change", "create": "Create", "delete": "Delete", "move": "Move"}


def render(plan: Plan, proposal: Proposal, repository_url: str) -> str:
    """The whole comment; longer than one body where the plan is, so the approval part comes first.

    `repository_url` is the repository's page; evidence links to its lines at the base commit.
    """
    parts = [
        f"### Plan, version {plan.version} · {code(short(proposal.digest))}",
        block(plan.summary),
        _approval(plan, proposal),
        *_notices(proposal),
        f"**What is wrong, we think.** {inline(plan.hypothesis, 3_000)}",
        "**Evidence**\n\n" + "\n".join(_evidence(item, plan, repository_url) for item in plan.evidence),
        "**Steps**\n\n" + "\n".join(_step(step) for step in plan.steps),
        _checks(plan),
        *_lists(plan),
        _limits(plan),
    ]
    return "\n\n".join(part for part in parts if part)


def _approval(plan: Plan, proposal: Proposal) -> str:
    return (
        "> [!IMPORTANT]\n"
        f"> To approve exactly this plan, comment `/approve {short(proposal.digest)}` (or just `/approve`), "
        "or put a 👍 on this comment.\n"
        f"> It is then carried out on {code(plan.base_branch)} at {code(plan.base_commit[:12])}, in a sealed box, "
        "and opened as a draft pull request.\n"
        "> `/revise` and your words ask for another version; `/reject` ends it. "
        f"The offer stands until {proposal.expires_at:%Y-%m-%d %H:%M} UTC."
    )


def _notices(proposal: Proposal) -> list[str]:
    if not proposal.notices:
        return []
    lines = "\n".join(f"- {inline(notice, 1_500)}" for notice in proposal.notices)
    return [f"**Please note**\n\n{lines}"]


def _evidence(item: Evidence, plan: Plan, repository_url: str) -> str:
    lines = f"{item.start}" if item.start == item.end else f"{item.start}–{item.end}"
    name = code(f"{item.path}:{lines}")
    if repository_url and all(ch.isalnum() or ch in "/._-" for ch in item.path):
        anchor = f"#L{item.start}" if item.start == item.end else f"#L{item.start}-L{item.end}"
        name = f"[{name}]({repository_url}/blob/{plan.base_commit}/{item.path}{anchor})"
    return f"- {name}: {inline(item.shows)}"


def _step(step: Step) -> str:
    target = f"{code(step.path)} → {code(step.to)}" if isinstance(step, MoveFile) else code(step.path)
    lines = [f"{step.id}. **{_DO[step.kind]}** {target}: {inline(step.intent)}"]
    lines += [f"   - keep: {inline(constraint)}" for constraint in step.constraints]
    lines.append(f"   - done when: {inline(step.done_when)}")
    if step.who == "strong":
        lines.append("   - done by the stronger model")
    return "\n".join(lines)


def _checks(plan: Plan) -> str:
    words = {
        Expectation.PASSES: "must pass after the change",
        Expectation.FAILS_BEFORE_PASSES_AFTER: "must fail without the fix and pass with it",
    }
    rows = [f"- {code(check.name)}, {words[check.expect]}: {code(' '.join(check.argv), 600)}" for check in plan.checks]
    return "**Checks**, run by the box\n\n" + "\n".join(rows)


def _lists(plan: Plan) -> list[str]:
    titled = (
        ("Constraints", plan.constraints),
        ("Out of scope", plan.out_of_scope),
        ("Open risks", plan.risks),
        ("Stop when", plan.stop_conditions),
        ("Hosts the box may reach", plan.hosts),
        ("Protected paths that are touched", plan.protected_paths),
    )
    return [f"**{title}**\n\n" + "\n".join(f"- {inline(item)}" for item in items) for title, items in titled if items]


def _limits(plan: Plan) -> str:
    budget = plan.budget
    caps = (
        f"Hard limits: ${budget.usd}, {budget.calls} model calls, {budget.minutes} minutes, "
        f"{budget.files} files, {budget.lines} changed lines. Tests beside a touched file are in scope."
    )
    facts = (
        f"run {plan.run}, template {plan.template.name} {plan.template.version}, planner {plan.models.planner}, "
        f"executor {plan.models.executor}, reviewer {plan.models.reviewer}"
    )
    return caps + "\n\n" + details("Details", code_block(facts))
