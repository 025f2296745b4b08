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


def shown_to(plan: Plan, prompt: str, report: Report, diff: str) -> Shown:
    """The page, the criteria to judge, and everything on it that can be cited."""
    sources = {DIFFERENCE: diff} | {run.name: "" for run in report.runs}
    for run in report.runs:
        sources[run.name] += f"{run.excerpt}\n"
    shown = "\n".join(f"- {check.name}: {showing(check, report)}" for check in plan.checks) or "- none is planned"
    outputs = "\n\n".join(_output(run) for run in report.runs if run.excerpt and run.when is not When.BEFORE)
    repairs = "\n".join(f"- {one.number}, asked for by the {one.asked_by}: {one.note}" for one in report.repairs)
    parts = [
        fence("the approved plan", plan.model_dump_json(by_alias=True, indent=1)),
        fence(f"the {DIFFERENCE}", diff[:DIFF_SHOWN]),
        f"Checks, run by trusted code:\n{shown}",
        outputs,
        f"Repairs so far:\n{fence('repairs', repairs)}" if repairs else "",
    ]
    return Shown(Opening(prompt, "\n\n".join(part for part in parts if part)), plan.acceptance or (), sources)


def _output(run: CheckRun) -> str:
    return fence(f"output of {run.name}, {run.when.replace('_', ' ')}, exit {run.exit_status}", run.excerpt)
