"""What the reviewer reads first: the approved plan, the difference, and what the checks said."""

from app.core.plan import Plan
from app.core.report import CheckRun, Report, When, showing
from worker.belts.reviewing import Shown
from worker.evidence.untrusted import fence
from worker.model.conversation import Opening

DIFFERENCE = "difference"
"""By what name a reviewer cites it; a check's output goes by the check's name."""

DIFF_SHOWN = 60_000
"""Characters of the difference that the reviewer reads; it can read the files for more."""

_NAMED = 100
"""Files of the rest that are named."""


def shown_to(plan: Plan, prompt: str, report: Report, diff: str) -> Shown:
    """The page, the criteria to judge, and everything on it that can be cited."""
    # What was printed before the change shows nothing of it, and is no source.
    since = [run for run in report.runs if run.when is not When.BEFORE]
    sources = {run.name: "" for run in since} | {DIFFERENCE: diff}
    for run in since:
        sources[run.name] += f"{run.excerpt}\n"
    shown = "\n".join(f"- {check.name}: {showing(check, report)}" for check in plan.checks) or "- none is planned"
    outputs = "\n\n".join(_output(run) for run in since if run.excerpt)
    repairs = "\n".join(f"- {one.number}, asked for by the {one.asked_by}: {one.note}" for one in report.repairs)
    notes = "\n".join(f"- {one}" for one in report.notes)
    parts = [
        fence("the approved plan", plan.model_dump_json(by_alias=True, indent=1)),
        fence(f"the {DIFFERENCE}", diff[:DIFF_SHOWN]) + _left_out(diff),
        f"Checks, run by trusted code:\n{shown}",
        outputs,
        f"Repairs so far:\n{fence('repairs', repairs)}" if repairs else "",
        f"Noted of the work:\n{fence('notes', notes)}" if notes else "",
    ]
    return Shown(Opening(prompt, "\n\n".join(part for part in parts if part)), plan.acceptance or (), sources)


def _left_out(diff: str) -> str:
    """What the reviewer is told of a difference that is too long for the page."""
    if len(diff) <= DIFF_SHOWN:
        return ""
    heads = [line.removeprefix("diff --git ") for line in diff.splitlines() if line.startswith("diff --git ")]
    whole = diff[:DIFF_SHOWN].count("\ndiff --git ")
    beyond = "\n".join(f"- {head[:300]}" for head in heads[whole : whole + _NAMED])
    more = f"\n- and {len(heads) - whole - _NAMED} more" if len(heads) > whole + _NAMED else ""
    return (
        f"\n\nThe difference is longer: {len(diff) - DIFF_SHOWN:,} of its {len(diff):,} characters are not above. Read "
        f"the files as they are now before you judge what they hold:\n{beyond}{more}"
    )


def _output(run: CheckRun) -> str:
    return fence(f"output of {run.name}, {run.when.replace('_', ' ')}, exit {run.exit_status}", run.excerpt)
