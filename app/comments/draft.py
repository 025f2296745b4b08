"""The draft pull request's title and text, and the commit's message. Facts in it come from code, not from a model."""

import re
from dataclasses import dataclass
from typing import Literal

from app.comments.markdown import MAX_BODY, block, code, code_block, cut, details, inline, visible
from app.comments.opinion import reviewed
from app.comments.plan import criterion
from app.comments.status import cost
from app.core.budget import Spent
from app.core.digest import short
from app.core.patch import StepChanges
from app.core.plan import Check, Plan
from app.core.report import NOT_RUN, CheckRun, Report, When, showing
from app.core.run import Approval

MAX_TITLE = 200

_WHEN = {
    When.BEFORE: "before",
    When.AFTER: "after",
    When.TESTS_ONLY: "new tests, old code",
}


def title(plan: Plan) -> str:
    """One line of at most 200 characters (GitHub cuts at 256)."""
    return _sentence(plan.summary) or f"Plan for issue {plan.issue_number}"


def _sentence(words: str) -> str:
    """The first sentence, for a place without Markdown."""
    first = " ".join(visible(words).split()).split(". ")[0].rstrip(".")
    return cut(_dead(first), MAX_TITLE)


def _dead(line: str) -> str:
    """Words of a model for a place without Markdown: nobody is called, nothing closed or referred to, no CI skipped."""
    quiet = line.replace("@", "@\u200b").replace("[", "(").replace("]", ")").replace("://", ":\u200b//")
    return re.sub(r"\bGH-(?=\d)", "GH-\u200b", re.sub(r"#(?=\w)", "#\u200b", quiet), flags=re.IGNORECASE)


_KINDS = {
    "bugfix": "fix",
    "feature": "feat",
    "docs": "docs",
    "tests": "test",
    "refactor": "refactor",
    "dependency": "build",
}
"""The word that conventional commits have for what a template does; `chore` for any other."""


@dataclass(frozen=True, slots=True)
class Words:
    """The commits' messages: each with others as good, for repositories whose rules refuse it (github-facts 127).

    Each has a fixed form with one line of summary of at most 72 characters and no live mention (137): plain, as a
    conventional commit, and both with the issue's number; or those of one form, where the policy wants that.
    """

    plan: Plan
    approval: Approval
    also: tuple[Approval, ...] = ()
    form: Literal["as_the_rules_ask", "plain", "conventional"] = "as_the_rules_ask"

    def whole(self) -> tuple[str, ...]:
        """Of the one commit that holds everything."""
        about = f"For issue {self.plan.issue_number}, plan version {self.plan.version}."
        return self._messages(title(self.plan), about)

    def of(self, one: StepChanges) -> tuple[str, ...]:
        """Of the commit of one step or one repair."""
        whose = f"of plan version {self.plan.version}, for issue {self.plan.issue_number}."
        if one.repair:
            summary = f"Mend what the steps left, repair {one.repair}"
            return self._messages(summary, f"Repair {one.repair} {whose}")
        step = next(step for step in self.plan.steps if step.id == one.step)
        return self._messages(_sentence(step.intent) or f"Step {one.step}", f"Step {one.step} {whose}")

    def _messages(self, summary: str, about: str) -> tuple[str, ...]:
        kind, number = _KINDS.get(self.plan.template.name, "chore"), f" (#{self.plan.issue_number})"
        heads = {
            "as_the_rules_ask": [("", ""), (f"{kind}: ", ""), ("", number), (f"{kind}: ", number)],
            "plain": [("", ""), ("", number)],
            "conventional": [(f"{kind}: ", ""), (f"{kind}: ", number)],
        }[self.form]
        trailers = "".join(_trailer(one) for one in (*self.also, self.approval))
        return tuple(
            f"{before}{cut(summary, 72 - len(before + after))}{after}\n\n"
            f"{about}\n\nPlan-Digest: {self.approval.plan_digest}\n{trailers}"
            for before, after in heads
        )


def is_of_plan(message: str, plan_digest: str) -> bool:
    """Whether a commit of ours for this plan has that message."""
    return f"Plan-Digest: {plan_digest}" in message.splitlines()


def _trailer(approval: Approval) -> str:
    return f"Approved-By: {approval.person.login.replace('@', '')} (id {approval.person.id})\n"


def body(plan: Plan, approval: Approval, report: Report, spent: Spent, also: tuple[Approval, ...] = ()) -> str:
    """The pull request's text, at most 60,000 code points; the closing line comes first so that no cut takes it."""
    parts = [
        f"Fixes #{plan.issue_number}",
        block(plan.summary),
        _approved_by(plan, approval, also),
        _acceptance(plan),
        "**Evidence the plan rests on**\n\n"
        + "\n".join(
            f"- {code(f'{item.path}:{item.start}–{item.end}')}: {inline(item.shows)}" for item in plan.evidence
        ),
        _checks(plan, report),
        reviewed(plan, report),
        _repairs(report),
        *(["**Notes**\n\n" + "\n".join(f"- {inline(note)}" for note in report.notes)] if report.notes else []),
        f"Cost: {cost(spent)}. {report.changed_lines} changed lines.",
        *_outputs(report),
    ]
    return _within("\n\n".join(part for part in parts if part), plan)


def undrafted_title(drafted: str) -> str:
    """For a repository without drafts (case GH-01)."""
    return cut(f"[not reviewed] {drafted}", MAX_TITLE)


def undrafted_body(drafted: str) -> str:
    """The same, with what a draft would have said by itself."""
    warning = (
        "> [!WARNING]\n> This repository has no draft pull requests. "
        "Please treat this one as a draft: nobody has reviewed it, and it must not be merged before somebody has."
    )
    return f"{warning}\n\n{drafted}"


def unshown_title(drafted: str) -> str:
    """For a draft some of whose checks could not be run."""
    return cut(f"[not shown to pass] {drafted}", MAX_TITLE)


def unshown_body(drafted: str, checks: tuple[Check, ...]) -> str:
    """The same, with what was not shown."""
    names = ", ".join(code(check.name) for check in checks)
    warning = (
        f"> [!WARNING]\n> **Not shown to pass.** These checks of the approved plan could not be run here: {names}. "
        "The table below says why. This repository's policy lets such drafts be opened "
        "(`checks_not_run: draft`); run the checks before you merge."
    )
    return f"{warning}\n\n{drafted}"


def _repairs(report: Report) -> str:
    """What was mended after the steps, and why."""
    if not report.repairs:
        return ""
    lines = [
        f"{one.number}. Asked for by the {one.asked_by}: {inline(one.because)} "
        f"Mended: {inline(one.note)} ({', '.join(map(code, one.paths))}; {one.calls} model calls)"
        for one in report.repairs
    ]
    return "**Repairs** after the steps\n\n" + "\n".join(lines)


def _acceptance(plan: Plan) -> str:
    if not plan.acceptance:
        return ""
    return "**What it is to bring about**\n\n" + "\n".join(criterion(one) for one in plan.acceptance)


def _approved_by(plan: Plan, approval: Approval, also: tuple[Approval, ...]) -> str:
    by = ", and by ".join(_yes(one) for one in (*also, approval))
    return (
        f"Plan version {plan.version}, digest {code(approval.plan_digest)}, was approved by {by}, "
        f"on {code(plan.base_branch)} at {code(plan.base_commit[:12])}. "
        "The change was compared with the plan by code before it left the box."
        f"{_by_rule(plan)}{_amends(plan)}"
    )


def _yes(approval: Approval) -> str:
    how = "a comment" if approval.source == "comment" else "a 👍"
    return (
        f"{inline(approval.person.login)} ({inline(approval.role_name or approval.permission)}) with {how} on "
        f"{approval.approved_at:%Y-%m-%d %H:%M} UTC"
    )


def _by_rule(plan: Plan) -> str:
    return "" if plan.rule is None else " It was made by the plan's rule, without a model, as the plan lists it."


def _amends(plan: Plan) -> str:
    if plan.amends is None:
        return ""
    earlier, at = code(short(plan.amends.plan)), plan.amends.step
    return f" It amends the approved plan {earlier}, since step {at} took more: {inline(plan.amends.why)}"


def _checks(plan: Plan, report: Report) -> str:
    if not report.runs:
        return "**Checks**\n\nNone was run: the approved plan names none."
    head = "**Checks**, run by the box\n\n| check | on | result | exit | seconds |\n|---|---|---|---|---|\n"
    rows = "\n".join(
        f"| {code(run.name)} | {_WHEN[run.when]} | {_result(run)} | "
        f"{run.exit_status if run.exit_status is not None else '–'} | {run.seconds:.1f} |"
        for run in report.runs
    )
    limits = (
        ""
        if not report.soft_limits()
        else ("\n\nThe box ran with soft limits: this machine offers no cgroup to bound memory and processes.")
    )
    shown = "\n".join(f"- {code(check.name)}: {showing(check, report)}" for check in plan.checks)
    return f"{head}{rows}\n\n{shown}{limits}"


def _result(run: CheckRun) -> str:
    if run.ended == NOT_RUN:
        return f"could not be run: {inline(run.excerpt)}"
    if run.ended != "exited":
        return f"stopped ({run.ended})"
    if run.doubt:
        return f"not believed: {inline(run.doubt)}"
    return "passed" if run.exit_status == 0 else "failed"


def _outputs(report: Report) -> list[str]:
    return [
        details(f"Output of {run.name} ({_WHEN[run.when]})", code_block(run.excerpt, limit=4_000))
        for run in report.runs
        if run.excerpt and run.ended != NOT_RUN
    ]


def _within(text: str, plan: Plan) -> str:
    if len(text) <= MAX_BODY:
        return text
    room = MAX_BODY - 200
    at = text.rfind("\n<details>", 0, room)
    kept = text[:at] if at > 0 else text[: text.rfind("\n", 0, room)]
    return f"{kept}\n\nThe rest did not fit; run {code(plan.run)} has all of it ({code(short(plan.issue_digest))})."
