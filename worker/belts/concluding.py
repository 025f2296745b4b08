"""The end of the executor's work: the checks after the steps, the gate, a second model's reading, and repairs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.core.budget import Meter
from app.core.fit import beyond_plan, is_test, patch_fits
from app.core.patch import Patch
from app.core.plan import Plan
from app.core.report import Answer, CheckRun, Report, Review, When, fewer_tests, plan_shown, red, review_allows
from app.core.result import steps_fit
from app.core.verdict import Refused, Verdict, all_of
from worker.belts.believing import speaks_for_the_runner
from worker.belts.bench import Bench, Made, Stopped, Walk
from worker.belts.proving import tests_among
from worker.belts.repairing import Trouble, mend
from worker.belts.review_page import shown_to
from worker.belts.reviewing import review
from worker.model.conversation import Limits
from worker.repo.assertions import as_strict, told
from worker.repo.difference import file_changes, unified_diff
from worker.repo.edits import EditedFile
from worker.repo.ignoring import ignored_among
from worker.repo.secrets import no_secrets
from worker.repo.tools import ReadTools
from worker.repo.twins import no_twins


def conclude(plan: Plan, walk: Walk, bench: Bench, before: tuple[CheckRun, ...], meter: Meter) -> Made | Stopped:
    """1 the checks after, 2 the gate, 3 a second model's reading; again after each repair that one of them asks for.

    A repair that leaves things as they were is the last one. Raises as `executor.execute` does.
    """
    ending = _Ending(plan, walk, bench, before, meter)
    while True:
        outcome, trouble = ending.once()
        if trouble is None:
            return outcome
        report = outcome.report
        if any(trouble.is_as(one) for one in walk.repairs):
            return Stopped(_after_repairs(trouble.refused, walk, "and it is as it was"), report)
        if bench.models is None or len(walk.repairs) >= bench.template.limits.repairs:
            return Stopped(_after_repairs(trouble.refused, walk, "which is as often as may be"), report)
        refused = mend(plan, trouble, walk, bench, meter)
        if refused is not None:
            whole = Refused(f"{trouble.refused.reason} {refused.reason}", trouble.refused.remedy)
            return Stopped(whole, _with_work(report, walk, bench))


def _after_repairs(refused: Refused, walk: Walk, how: str) -> Refused:
    if not walk.repairs:
        return refused
    times = "once" if len(walk.repairs) == 1 else f"{len(walk.repairs)} times"
    return Refused(f"{refused.reason} It was repaired {times}, {how}.", refused.remedy)


@dataclass(slots=True)
class _Ending:
    """One run's end. What ran with the tests alone counts until the tests become others."""

    plan: Plan
    walk: Walk
    bench: Bench
    before: tuple[CheckRun, ...]
    meter: Meter
    tests: tuple[EditedFile, ...] | None = None
    alone: tuple[CheckRun, ...] = field(default=())

    def once(self) -> tuple[Made | Stopped, Trouble | None]:
        """How it stands now, and what a repair could mend of it; without that, the end."""
        shown = self._after()
        if isinstance(shown, Refused):
            return Stopped(shown, report_of(self.walk, self.bench, self.before)), None
        patch = _patch(self.plan, self.walk, self.bench)
        report = self._report(patch, (*self.before, *shown))
        policy = self.bench.policy
        named = self.plan.paths()
        fits = all_of(
            patch_fits(self.plan, patch, policy),
            steps_fit(self.plan, patch, policy),
            _clean(self.walk),
            no_twins(self.walk.overlay.paths(), _new(patch)),
            *(as_strict(*one) for one in _changed_tests(self.walk) if one[0] not in named),
        )
        if isinstance(fits, Refused):
            return Stopped(fits, report), None
        checked = plan_shown(self.plan, report, policy)
        if isinstance(checked, Refused):
            runs = red(self.plan, report, policy)
            return Stopped(checked, report), Trouble("checks", checked, runs) if runs else None
        report = self._reviewed(report)
        allowed = review_allows(report.review)
        if not isinstance(allowed, Refused):
            return Made(patch, report), None
        wished = report.review is not None and report.review.answer is Answer.REPAIR
        return Stopped(allowed, report), Trouble("reviewer", allowed) if wished else None

    def _after(self) -> tuple[CheckRun, ...] | Refused:
        changes = self.walk.overlay.changes()
        tests = tests_among(changes)
        if tests != self.tests:
            alone = self.bench.prover.run_all(self.plan, tests, When.TESTS_ONLY)
            if isinstance(alone, Refused):
                return alone
            self.tests, self.alone = tests, alone
        after = self.bench.prover.run_all(self.plan, changes, When.AFTER)
        return after if isinstance(after, Refused) else (*self.alone, *after)

    def _report(self, patch: Patch, runs: tuple[CheckRun, ...]) -> Report:
        beyond = beyond_plan(self.plan, patch)
        besides = [f"`{path}` was changed as a test beside a file of the plan." for path in beyond]
        for one in _changed_tests(self.walk):
            besides += [words for words in (told(*one), speaks_for_the_runner(*one)) if words]
        besides += [
            f"`{change.path}` is new, and git ignores it (`{change.ignored_by}`): the plan asks for it all the same."
            for change in patch.changes
            if change.ignored_by
        ]
        report = report_of(self.walk, self.bench, runs)
        return report.model_copy(update={"notes": (*report.notes, *besides, *fewer_tests(self.plan, report))})

    def _reviewed(self, report: Report) -> Report:
        """The report with the review, or with why there is none; without one the draft is opened all the same."""
        bench = self.bench
        if bench.models is None:
            return report
        limits = bench.template.limits
        overlay = self.walk.overlay
        reading = ReadTools(bench.snapshot, bench.symbols, overlay, limits.read_lines).some("read_file", "search")
        diff = unified_diff(overlay.base, overlay.changes())
        shown = shown_to(self.plan, bench.template.prompts.reviewer, report, diff)
        bounds = Limits(max_tokens=limits.reply_tokens, replies=20)
        outcome: Review | Refused = review(bench.models.reviewer, shown, reading, self.meter, bounds)
        if isinstance(outcome, Refused):
            return report.model_copy(update={"unreviewed": outcome.reason})
        return report.model_copy(update={"review": outcome})


def report_of(walk: Walk, bench: Bench, runs: tuple[CheckRun, ...]) -> Report:
    """What is known of the work as it stands."""
    changes = walk.overlay.changes()
    diff = unified_diff(walk.overlay.base, changes)
    files = file_changes(bench.snapshot, changes, bench.keep)
    return Report(
        runs=runs,
        environment=" ".join(bench.prover.environments),
        diff_ref=bench.prover.keep(diff.encode("utf-8", "surrogateescape"), "text/x-diff"),
        changed_lines=sum(change.added_lines + change.removed_lines for change in files),
        notes=(*bench.prover.told, *walk.notes),
        repairs=tuple(walk.repairs),
    )


def _with_work(report: Report | None, walk: Walk, bench: Bench) -> Report:
    """The report with what a repair left that did not come to an end; the runs are those before it."""
    now = report_of(walk, bench, report.runs if report else ())
    return now if report is None else now.model_copy(update={"review": report.review, "notes": report.notes})


def _patch(plan: Plan, walk: Walk, bench: Bench) -> Patch:
    changes = file_changes(bench.snapshot, walk.overlay.changes(), bench.keep)
    patch = Patch(base_commit=plan.base_commit, changes=changes, steps=tuple(walk.kept))
    ignored = ignored_among(bench.snapshot.git, walk.overlay, _new(patch))
    told = tuple(change.model_copy(update={"ignored_by": ignored.get(change.path, "")}) for change in changes)
    return patch.model_copy(update={"changes": told})


def _changed_tests(walk: Walk) -> Iterator[tuple[str, bytes, bytes]]:
    """Each test that is made or changed, with what it held and what it holds."""
    for change in walk.overlay.changes():
        if change.kind != "delete" and is_test(change.path):
            was = b"" if change.kind == "create" else walk.overlay.base.read(change.old_path or change.path)
            yield change.path, was, change.content or b""


def _new(patch: Patch) -> tuple[str, ...]:
    """The paths at which nothing was before."""
    return tuple(change.path for change in patch.changes if change.kind in ("create", "move"))


def _clean(walk: Walk) -> Verdict:
    overlay = walk.overlay

    def before(path: str | None, kind: str) -> bytes:
        return b"" if kind == "create" or path is None else overlay.base.read(path)

    changes = overlay.changes()
    verdicts = [no_secrets(c.path, before(c.old_path or c.path, c.kind), c.content or b"") for c in changes]
    return all_of(*verdicts) if verdicts else Refused("The change is empty.")
