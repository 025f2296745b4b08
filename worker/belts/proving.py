"""Proving: the plan's checks, run by the box on the tree before, with the tests alone, and after the change."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.core.fit import is_manifest, is_test
from app.core.plan import Check, Expectation, Plan
from app.core.report import NOT_RUN, CheckRun, When
from app.core.span import SpanKind
from app.core.verdict import Refused
from worker.belts.believing import heard
from worker.belts.scratch import scratch
from worker.box.checks import Ground, NamedCheck, command_for, discover
from worker.box.command import BoxUnavailable, Ran, Runs
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable
from worker.box.preparing import Prepared
from worker.evidence.distill import distill
from worker.evidence.trace import Trace
from worker.repo.edits import EditedFile
from worker.repo.export import materialise
from worker.repo.snapshot import Snapshot

EXCERPT = 3_000
"""Characters of a check's distilled output that the report holds; the whole output is an artifact."""


class BoxLost(Exception):
    """The box could not be built for a command, which says nothing about the command itself."""

    def __init__(self, unavailable: BoxUnavailable) -> None:
        self.unavailable = unavailable
        super().__init__(str(unavailable))


class NotPrepared(Exception):
    """What the checks need cannot be had here and now, which says nothing about the change."""

    def __init__(self, unavailable: EnvironmentUnavailable) -> None:
        self.unavailable = unavailable
        super().__init__(str(unavailable))


Prepare = Callable[[set[str], Path], Prepared]
"""Makes environments of these kinds for a tree."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A ground, and why what some kinds of checks need could not be prepared on it."""

    under: Ground
    lacking: Mapping[str, str]

    def lacks(self, named: NamedCheck) -> str:
        """Why the check cannot be run here; empty where it can."""
        return named.not_prepared or self.lacking.get(named.needs, "")


@dataclass(frozen=True, slots=True)
class Prover:
    """Where checks are run, and where their output is kept."""

    box: Runs
    snapshot: Snapshot
    known: tuple[NamedCheck, ...]
    prepare: Prepare
    keep: Callable[[bytes, str], str]
    trace: Trace
    environments: list[str] = field(default_factory=list)
    """Digests of what was prepared for the last tree."""
    told: list[str] = field(default_factory=list)
    """What is to be told of how it was prepared."""
    look: Callable[[Path], tuple[NamedCheck, ...]] = discover
    """Finds the checks of a tree."""

    def run_all(self, plan: Plan, changes: tuple[EditedFile, ...], when: When) -> tuple[CheckRun, ...] | Refused:
        """Every check of the plan that this moment asks for, on the base with `changes` on it.

        One that cannot be run here is told as not run, with the reason. Raises `BoxLost` where the box could not be
        built, and `NotPrepared` where what the checks need may be had later. A check that is not the plan's own
        argument vector, or that is not here at all, is a refusal.
        """
        with self._tree(changes) as tree:
            known = self._known(changes, tree)
            ground = self._ground(plan, known, changes, tree)
            if isinstance(ground, Refused):
                return ground
            runs = []
            for check in plan.checks:
                if when is When.TESTS_ONLY and check.expect is not Expectation.FAILS_BEFORE_PASSES_AFTER:
                    continue
                if when is When.BEFORE and any(not (tree / path.split("::")[0]).exists() for path in check.paths):
                    continue  # The plan creates that test; there is nothing to run yet.
                named = next((one for one in known if one.name == check.name), None)
                if named is None:
                    return Refused(f"There is no check {check.name!r} in this repository.")
                lacks = ground.lacks(named)
                ran = self._not_run(check, when, lacks) if lacks else self._run(check, named, ground.under, when)
                if isinstance(ran, Refused):
                    return ran
                runs.append(ran)
            return tuple(runs)

    def _known(self, changes: tuple[EditedFile, ...], tree: Path) -> tuple[NamedCheck, ...]:
        """The base's checks, with what they need on this tree: a change may bring in the first dependency."""
        if not any(is_manifest(change.path) for change in changes):
            return self.known
        needs = {one.name: one.needs for one in self.look(tree)}
        return tuple(replace(one, needs=needs.get(one.name, one.needs)) for one in self.known)

    def _ground(
        self, plan: Plan, known: tuple[NamedCheck, ...], changes: tuple[EditedFile, ...], tree: Path
    ) -> "_Prepared | Refused":
        """The tree with what its checks need; prepared anew where the change touches what names dependencies."""
        planned = {check.name for check in plan.checks}
        kinds = {one.needs for one in known if one.name in planned and one.needs and not one.not_prepared}
        other_needs = any(is_manifest(change.path) for change in changes)
        prepared: list[CheckEnvironment] = []
        lacking: dict[str, str] = {}
        for kind in sorted(kinds):
            made = self.prepare({kind}, tree)
            if isinstance(made, Refused):
                return made
            if not isinstance(made, EnvironmentUnavailable):
                prepared += made
            elif made.passing or (made.unsure and not other_needs):
                raise NotPrepared(made)
            elif other_needs:
                reason = f"After the change, what the checks need cannot be prepared: {made.reason}"
                return Refused(reason, made.remedy)
            else:
                lacking[kind] = str(made)
        self.environments[:] = [one.digest for one in prepared]
        self.told.extend([note for one in prepared for note in one.notes if note not in self.told])
        return _Prepared(Ground(tree, frozenset(), tuple(prepared)), lacking)

    def _not_run(self, check: Check, when: When, reason: str) -> CheckRun:
        with self.trace.noting(SpanKind.CHECK, f"{check.name} ({when})") as noted:
            noted.outcome = NOT_RUN
        return CheckRun(
            name=check.name,
            argv=check.argv,
            when=when,
            ended=NOT_RUN,
            exit_status=None,
            seconds=0,
            output_ref=self.keep(reason.encode(), "text/plain"),
            excerpt=reason,
        )

    def _run(self, check: Check, named: NamedCheck, ground: Ground, when: When) -> CheckRun | Refused:
        command = command_for(named, check.paths, ground)
        if isinstance(command, Refused):
            return command
        if command.argv != check.argv:
            return Refused(f"The check {check.name} is another command here than the one that was approved.")
        with self.trace.noting(SpanKind.CHECK, f"{check.name} ({when})") as noted:
            ran = self.box.run(ground.snapshot, command, self.trace.wanted)
            if isinstance(ran, BoxUnavailable):
                noted.outcome = "no box"
                raise BoxLost(ran)
            noted.outcome = f"exit {ran.exit_status}" if ran.exit_status is not None else str(ran.ended)
        self.trace.must_be_wanted()
        return self._told(check, when, ran, ground.snapshot)

    def _told(self, check: Check, when: When, ran: Ran, tree: Path) -> CheckRun:
        text = ran.output.decode("utf-8", "replace")
        view = distill(check.name, text, EXCERPT).text
        counted, doubt = heard(check.argv, tree, text)
        ended_well = str(ran.ended) == "exited" and ran.exit_status == 0
        return CheckRun(
            name=check.name,
            argv=check.argv,
            when=when,
            ended=str(ran.ended),
            exit_status=ran.exit_status,
            seconds=round(ran.seconds, 3),
            output_ref=self.keep(ran.output, "text/plain"),
            limits=ran.limits,
            excerpt=view,
            tests=counted.ran,
            failing=counted.failing,
            failed=counted.failed,
            errors=() if ended_well else counted.errors,
            doubt=doubt if ended_well else "",
            marks="" if ended_well else _marks(view),
        )

    @contextmanager
    def _tree(self, changes: tuple[EditedFile, ...]) -> Iterator[Path]:
        with scratch() as folder:
            tree = folder / "tree"
            materialise(self.snapshot, changes, tree)
            yield tree


def _marks(view: str) -> str:
    """A digest of the view in which numbers count as the same, such as times, ports and addresses."""
    return hashlib.sha256(re.sub(r"0x[0-9a-f]+|\d+(?:\.\d+)?", "0", view).encode()).hexdigest()


def tests_among(changes: tuple[EditedFile, ...]) -> tuple[EditedFile, ...]:
    """The changes to tests alone: on these the regression test must fail."""
    return tuple(change for change in changes if is_test(change.path))
