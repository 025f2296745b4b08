"""What CI says of a commit: each check and status by name, and of those that did not pass what they say."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from worker.belts.quoting import Quoting
from worker.github.errors import Forbidden, Suspended
from worker.github.reader import Reader
from worker.github.views import Annotation, CheckRunView, Statuses, StatusView
from worker.model.conversation import Answer

T = TypeVar("T")

CHECKS_READ = 300
REMARKED = 6
"""Checks that did not pass whose remarks on lines are read, and how many of each."""

REMARKS_READ = 50
PASSED = ("success", "neutral", "skipped")


@dataclass(frozen=True, slots=True)
class Room:
    """How much is shown: checks by name, characters of each text, and remarks of each check."""

    names: int
    text: int
    remarks: int


SEEN = Room(names=40, text=700, remarks=8)
WHOLE = Room(names=CHECKS_READ, text=66_000, remarks=REMARKS_READ)


@dataclass(frozen=True, slots=True)
class Found:
    """What GitHub said of one commit; None where it may not be read here."""

    what: str
    runs: tuple[CheckRunView, ...] | None
    remarks: dict[int, tuple[Annotation, ...]]
    statuses: Statuses | None

    def told(self, room: Room) -> str:
        """It in words, as far as there is room: what did not pass comes first."""
        quoting = Quoting()
        return "\n".join([self.what, *self._checks(quoting, room), *self._statuses(quoting, room), *quoting.report()])

    def _checks(self, quoting: Quoting, room: Room) -> list[str]:
        if self.runs is None:
            return ["Its check runs may not be read: the App was not given checks=read."]
        if not self.runs:
            return ["No check run has reported on it."]
        bad = not_passed(self.runs)
        waiting = [run for run in self.runs if run.status != "completed"]
        good = [run for run in self.runs if run.status == "completed" and run.conclusion in PASSED]
        counts = f"{len(bad)} did not pass, {len(waiting)} are not finished, {len(good)} passed"
        rows = [row for run in bad[: room.names] for row in self._run(run, quoting, room)]
        rows += [_named(run, quoting) for run in [*waiting, *good][: room.names]]
        left = max(len(bad) - room.names, 0) + max(len(waiting) + len(good) - room.names, 0)
        return [f"{len(self.runs)} check runs: {counts}.", *rows, *([f"… {left} more"] if left else [])]

    def _run(self, run: CheckRunView, quoting: Quoting, room: Room) -> list[str]:
        where = f"the check {quoting.words('a check name', run.name)}"
        rows = [_named(run, quoting)]
        if run.output is not None:
            said = (run.output.title, run.output.summary, run.output.text)
            rows += [text for one in said if (text := quoting.text(where, one or "", room.text))]
        remarks = self.remarks.get(run.id, ())
        rows += [_remark(one, where, quoting, room) for one in remarks[: room.remarks]]
        total = run.output.annotations_count if run.output else 0
        left = total - min(len(remarks), room.remarks)
        return [*rows, *([f"  … {left} more remarks on lines"] if left > 0 else [])]

    def _statuses(self, quoting: Quoting, room: Room) -> list[str]:
        if self.statuses is None:
            return ["Its commit statuses may not be read: the App was not given statuses=read."]
        if not self.statuses.statuses:
            return ["No commit status was set on it."]
        ordered = sorted(self.statuses.statuses, key=lambda one: (one.state == "success", one.state == "pending"))
        rows = [_status(one, quoting) for one in ordered[: room.names]]
        left = self.statuses.total_count - len(rows)
        return [f"{self.statuses.total_count} commit statuses:", *rows, *([f"… {left} more"] if left > 0 else [])]


def read(reader: Reader, base_commit: str, number: int | None) -> Answer:
    """What CI says of the base commit or of a pull request's head, bounded; the whole is kept beside it.

    What the token may not read is told as that. Raises other GitHubErrors.
    """
    commit, what = base_commit, f"The base commit {base_commit[:12]}:"
    if number is not None:
        commit = reader.pull(number).head.sha
        what = f"The head {commit[:12]} of pull request #{number}:"
    runs = _permitted(lambda: reader.check_runs(commit, CHECKS_READ))
    remarked = [run for run in not_passed(runs or ()) if run.output and run.output.annotations_count][:REMARKED]
    remarks = {run.id: reader.annotations(run.id, REMARKS_READ) for run in remarked}
    found = Found(what, runs, remarks, _permitted(lambda: reader.statuses(commit)))
    return Answer(found.told(SEEN), found.told(WHOLE))


def _permitted(ask: Callable[[], T]) -> T | None:
    """What GitHub says, or None where the token may not read it."""
    try:
        return ask()
    except Suspended:
        raise
    except Forbidden:
        return None


def not_passed(runs: tuple[CheckRunView, ...]) -> list[CheckRunView]:
    """The checks that ended otherwise than well, failures first."""
    bad = [run for run in runs if run.status == "completed" and run.conclusion not in PASSED]
    return sorted(bad, key=lambda run: run.conclusion != "failure")


def _named(run: CheckRunView, quoting: Quoting) -> str:
    outcome = (run.conclusion or "ended") if run.status == "completed" else run.status
    return f"{outcome.replace('_', ' ')}: {quoting.words('a check name', run.name)}"


def _remark(one: Annotation, where: str, quoting: Quoting, room: Room) -> str:
    place = quoting.words("a file name", f"{one.path}:{one.start_line}", 400)
    said = " ".join(filter(None, (one.title, one.message, one.raw_details)))
    return f"  {place} {one.level or 'remark'}: {quoting.words(f'a remark of {where}', said, room.text)}"


def _status(one: StatusView, quoting: Quoting) -> str:
    said = f": {quoting.words('a status', one.description)}" if one.description else ""
    return f"{one.state}: {quoting.words('a status name', one.context)}{said}"
