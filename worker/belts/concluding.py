"""The end of the executor's work: the checks after the steps, the gate, and a second model's reading."""

from app.core.budget import Meter
from app.core.fit import beyond_plan, patch_fits
from app.core.patch import Patch
from app.core.plan import Plan
from app.core.report import CheckRun, Report, Review, When, plan_shown
from app.core.verdict import Refused, Verdict, all_of
from worker.belts.bench import Bench, Made, Stopped, Walk
from worker.belts.proving import tests_among
from worker.belts.reviewing import review
from worker.evidence.untrusted import fence
from worker.model.conversation import Limits, Opening
from worker.repo.difference import file_changes, unified_diff
from worker.repo.edits import Overlay
from worker.repo.secrets import no_secrets
from worker.repo.tools import ReadTools

DIFF_SHOWN = 60_000
"""Characters of the difference that the reviewer reads; it can read the files for more."""


def conclude(plan: Plan, walk: Walk, bench: Bench, before: tuple[CheckRun, ...], meter: Meter) -> Made | Stopped:
    """1 the checks after, 2 the gate, 3 a second model's reading. Raises as `executor.execute` does."""
    shown = _after(plan, walk.overlay, bench)
    if isinstance(shown, Refused):
        return Stopped(shown, report_of(walk, bench, before))
    report = report_of(walk, bench, (*before, *shown))
    patch = _patch(plan, walk, bench)
    besides = [f"`{path}` was changed as a test beside a file of the plan." for path in beyond_plan(plan, patch)]
    report = report.model_copy(update={"notes": (*report.notes, *walk.notes, *besides)})
    verdict = all_of(patch_fits(plan, patch, bench.policy), _clean(walk.overlay), plan_shown(plan, report))
    if isinstance(verdict, Refused):
        return Stopped(verdict, report)
    return Made(patch, report.model_copy(update={"review": _review(plan, walk.overlay, report, bench, meter)}))


def report_of(walk: Walk, bench: Bench, runs: tuple[CheckRun, ...]) -> Report:
    """What is known of the work as it stands."""
    changes = walk.overlay.changes()
    files = file_changes(bench.snapshot, changes, lambda content: _kept(bench, content))
    return Report(
        runs=runs,
        environment=" ".join(bench.prover.environments),
        diff_ref=bench.prover.keep(_diff(walk.overlay).encode("utf-8", "surrogateescape"), "text/x-diff"),
        changed_lines=sum(change.added_lines + change.removed_lines for change in files),
        notes=tuple(bench.prover.told),
    )


def _patch(plan: Plan, walk: Walk, bench: Bench) -> Patch:
    changes = file_changes(bench.snapshot, walk.overlay.changes(), lambda content: _kept(bench, content))
    return Patch(base_commit=plan.base_commit, changes=changes)


def _after(plan: Plan, overlay: Overlay, bench: Bench) -> tuple[CheckRun, ...] | Refused:
    changes = overlay.changes()
    alone = bench.prover.run_all(plan, tests_among(changes), When.TESTS_ONLY)
    if isinstance(alone, Refused):
        return alone
    after = bench.prover.run_all(plan, changes, When.AFTER)
    return after if isinstance(after, Refused) else (*alone, *after)


def _kept(bench: Bench, content: bytes) -> str:
    return bench.prover.keep(content, "application/octet-stream")


def _diff(overlay: Overlay) -> str:
    return unified_diff(overlay.base, overlay.changes())


def _clean(overlay: Overlay) -> Verdict:
    def before(path: str | None, kind: str) -> bytes:
        return b"" if kind == "create" or path is None else overlay.base.read(path)

    changes = overlay.changes()
    verdicts = [no_secrets(c.path, before(c.old_path or c.path, c.kind), c.content or b"") for c in changes]
    return all_of(*verdicts) if verdicts else Refused("The change is empty.")


def _review(plan: Plan, overlay: Overlay, report: Report, bench: Bench, meter: Meter) -> Review | None:
    """An opinion to be shown; without one the draft is opened all the same, and says nothing of a review."""
    if bench.models is None:
        return None
    checks = "\n".join(f"- {run.name} ({run.when}): {run.ended}, exit {run.exit_status}" for run in report.runs)
    text = (
        f"{fence('the approved plan', plan.model_dump_json(by_alias=True, indent=1))}\n\n"
        f"{fence('the difference', _diff(overlay)[:DIFF_SHOWN])}\n\nChecks, run by trusted code:\n{checks}\n"
    )
    bounds = bench.template.limits
    reading = ReadTools(bench.snapshot, bench.symbols, overlay, bounds.read_lines).some("read_file", "search")
    limits = Limits(max_tokens=bounds.reply_tokens, replies=20)
    return review(bench.models.reviewer, Opening(bench.template.prompts.reviewer, text), reading, meter, limits)
