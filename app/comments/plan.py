"""The plan comment: a view of the plan object, and how to say yes to exactly it."""

from decimal import Decimal

from app.comments.deciding import beyond_one
from app.comments.difference import differs
from app.comments.markdown import block, code, code_block, details, inline
from app.comments.places import WHOLE, cited
from app.core.boxes import box
from app.core.digest import short
from app.core.plan import AnswerQuestion, Basis, Check, Criterion, Estimate, Expectation, FileStep, MoveFile, Plan, Who
from app.core.policy import Policy
from app.core.rule import LiteralRule, RegexRule, Rule
from app.core.run import Proposal

_MUST = {
    Expectation.PASSES: "must pass after the change",
    Expectation.FAILS_BEFORE_PASSES_AFTER: "must fail without the fix and pass with it",
}
_DO = {"change": "Change", "create": "Create", "delete": "Delete", "move": "Move"}


def render(
    plan: Plan, proposal: Proposal, repository_url: str, policy: Policy | None = None, before: Plan | None = None
) -> str:
    """The whole comment; longer than one body where the plan is, so the approval part comes first.

    `repository_url` is the repository's page; evidence links to its lines at the base commit. `policy` is the one of
    now, which says whom it takes; that is asked again when somebody approves. `before` is the version in whose place
    this one stands: what differs is shown.
    """
    parts = [
        f"### Plan, version {plan.version} · {code(short(proposal.digest))}",
        block(plan.summary),
        _approval(plan, proposal, policy),
        *([differs(before, plan)] if before is not None else []),
        *_notices(proposal),
        _reason(plan),
        "**Evidence**\n\n" + "\n".join(cited(item, plan.base_commit, repository_url) for item in plan.evidence),
        _acceptance(plan),
        _steps(plan),
        _checks(plan),
        *_lists(plan),
        _limits(plan),
    ]
    return "\n\n".join(part for part in parts if part)


def _approval(plan: Plan, proposal: Proposal, policy: Policy | None) -> str:
    place = f"{code(plan.base_branch)} at {code(plan.base_commit[:12])}"
    if plan.questions():
        what = f"The questions are then worked on by reading {place}; the report is a comment here. Nothing is changed."
    elif plan.rule is not None:
        what = (
            f"The rule is then applied by code to {place}, in a sealed box with the checks, and {_end(policy)}. "
            "No model has a part in it."
        )
    else:
        what = f"It is then carried out on {place}, in a sealed box, and {_end(policy)}."
    more = beyond_one(policy, proposal)
    return (
        "> [!IMPORTANT]\n"
        f"> To approve exactly this plan, comment `/approve {short(proposal.digest)}` (or just `/approve`), "
        "or put a 👍 on this comment.\n"
        f"{f'> **{more}**{chr(10)}' if more else ''}"
        f"> {what}\n"
        f"> {'' if plan.rule else '`/approve steps 1,3`, or taking the tick off a step, drops steps. '}"
        "`/revise` and your words ask for another version; `/reject` ends it. "
        f"The offer stands until {proposal.expires_at:%Y-%m-%d %H:%M} UTC."
    )


def _end(policy: Policy | None) -> str:
    if policy is not None and policy.staged:
        return "shown as it would be written: **this run is staged, and no branch or pull request is made**"
    return "opened as a draft pull request"


def _notices(proposal: Proposal) -> list[str]:
    if not proposal.notices:
        return []
    lines = "\n".join(f"- {inline(notice, WHOLE)}" for notice in proposal.notices)
    return [f"**Please note**\n\n{lines}"]


def _reason(plan: Plan) -> str:
    if plan.rule is not None:
        return f"**The rule**\n\n{_rule(plan.rule)}"
    lead = "What is known so far." if plan.questions() else "Why, we think."
    return f"**{lead}** {inline(plan.hypothesis, WHOLE)}"


def _rule(rule: Rule) -> str:
    paths = f"Files: {', '.join(code(glob) for glob in rule.paths)}"
    if isinstance(rule, LiteralRule | RegexRule):
        how = "This text" if isinstance(rule, LiteralRule) else "Each match of this regular expression"
        put = f"becomes\n\n{code_block(rule.replacement)}" if rule.replacement else "is taken out."
        return f"{how}\n\n{code_block(rule.pattern)}\n\n{put}\n\n{paths}"
    return f"{code_block(rule.text, 'yaml')}\n\n{paths}"


def _acceptance(plan: Plan) -> str:
    if not plan.acceptance:
        return ""
    return "**What will be true then**\n\n" + "\n".join(criterion(one) for one in plan.acceptance)


def criterion(one: Criterion) -> str:
    """One line of a list: what will be true, and which steps and checks of the plan see to it."""
    steps = f"step{'s' if len(one.steps) > 1 else ''} {', '.join(map(str, one.steps))}" if one.steps else ""
    checks = ", ".join(code(name) for name in dict.fromkeys(one.checks))
    by = "; ".join(part for part in (steps, f"shown by {checks}" if checks else "") if part)
    return f"{one.id}. {inline(one.words, WHOLE)} ({by})"


def _steps(plan: Plan) -> str:
    questions = plan.questions()
    if questions:
        return "**Questions**\n\n" + "\n".join(_question(step) for step in questions)
    return "**Steps**\n\n" + "\n".join(planned_step(step, box(step.id)) for step in plan.file_steps())


def _question(step: AnswerQuestion) -> str:
    return _with_more([f"{box(step.id)}** {inline(step.intent, WHOLE)}"], step, "answered when")


def planned_step(step: FileStep, begins: str) -> str:
    """A part of a list: what is done to which file, what is kept, and how one sees that it is done.

    `begins` stands before what is done, within bold type that is closed here.
    """
    target = code(step.path, WHOLE)
    if isinstance(step, MoveFile):
        target += f" → {code(step.to, WHOLE)}"
    does = f"{target}: {inline(step.intent, WHOLE)}"
    if step.who is Who.RULE:
        return f"{step.id}. **{_DO[step.kind]}** {does}"
    return _with_more([f"{begins} {_DO[step.kind]}** {does}"], step, "done when")


def _with_more(lines: list[str], step: FileStep | AnswerQuestion, done: str) -> str:
    lines += [f"  - keep: {inline(constraint, WHOLE)}" for constraint in step.constraints]
    lines.append(f"  - {done}: {inline(step.done_when, WHOLE)}")
    if step.no_criterion_because is not None:
        lines.append(f"  - serves none of the above: {inline(step.no_criterion_because, WHOLE)}")
    if step.who is Who.STRONG:
        lines.append("  - done by the stronger model")
    return "\n".join(lines)


def _checks(plan: Plan) -> str:
    if plan.questions():
        return ""
    rows = [planned_check(check) for check in plan.checks]
    if plan.no_test_because is not None:
        rows.append(f"- **no regression test**: {inline(plan.no_test_because, WHOLE)}")
    setup = [f"- first: {code(' '.join(words), 300_000)}" for words in plan.setup or ()]
    rows = [*setup, *rows]
    return "**Checks**, run by the box\n\n" + ("\n".join(rows) or "None: no command will show that the change works.")


def planned_check(check: Check) -> str:
    """A part of a list: the check, what it must show, and its whole command."""
    return f"- {code(check.name)}, {_MUST[check.expect]}: {code(' '.join(check.argv), 300_000)}"


def _lists(plan: Plan) -> list[str]:
    titled = (
        ("Constraints", plan.constraints),
        ("Out of scope", plan.out_of_scope),
        ("Open risks", plan.risks),
        ("Stop when", plan.stop_conditions),
        ("Hosts the box may reach", plan.hosts),
        ("Protected paths that are touched", plan.protected_paths),
    )
    return [
        f"**{title}**\n\n" + "\n".join(f"- {inline(item, WHOLE)}" for item in items) for title, items in titled if items
    ]


def _limits(plan: Plan) -> str:
    budget = plan.budget
    model = f"${budget.usd}, {budget.calls} model calls" if budget.calls else "no model call"
    caps = f"Hard limits: {model}, {budget.minutes} minutes"
    if not plan.questions():
        caps += f", {budget.files} files, {budget.lines} changed lines"
    beside = "" if plan.questions() or plan.rule else " Tests beside a touched file are in scope."
    facts = f"run {plan.run}, template {plan.template.name} {plan.template.version}"
    if plan.rule is None:
        models = plan.models
        facts += f", planner {models.planner}, executor {models.executor}, reviewer {models.reviewer}"
    cost = f"{_cost(plan.estimate, plan.budget.usd)}\n\n" if plan.estimate is not None else ""
    return f"{cost}{caps}.{beside}\n\n{details('Details', code_block(facts))}"


def _cost(estimate: Estimate, cap: str) -> str:
    """The range in words, with what it rests on; and a word where the cap may end the work before it is done."""
    where = {
        Basis.REPOSITORY: "of this kind of work in this repository",
        Basis.SIMILAR: "of this kind of work in repositories of a similar size",
        Basis.TEMPLATE: "of this kind of work, in repositories of other sizes",
    }
    if estimate.basis is Basis.BUDGET:
        words = (
            f"Estimated cost: up to ${estimate.high}, what this kind of work usually gets; too few plans of it were "
            "carried out yet to say more"
        )
    else:
        words = (
            f"Estimated cost: ${estimate.low} to ${estimate.high}, the middle half of {estimate.runs} past runs "
            f"{where[estimate.basis]}"
        )
    files = f"{estimate.files:,} file{'' if estimate.files == 1 else 's'}"
    beyond = " A part of them cost more than the limit of this plan." if _more(estimate, cap) else ""
    return f"{words} ({files} here).{beyond}"


def _more(estimate: Estimate, cap: str) -> bool:
    return estimate.basis is not Basis.BUDGET and Decimal(estimate.high) > Decimal(cap)
