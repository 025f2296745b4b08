"""Trying: one reproduction, run in the box on a throw-away copy, with what it put out and what it went through."""

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

from app.core.span import SpanKind
from app.core.verdict import Refused
from worker.belts.proving import BoxLost
from worker.belts.scratch import scratch
from worker.box.attempts import attempts
from worker.box.command import BoxUnavailable, Command, Runs
from worker.box.command import Ran as Result
from worker.box.reproduction import TRACED, Reproduction, Stand, Way, command_of
from worker.box.trail import Trail, read_trail
from worker.evidence.trace import Trace
from worker.repo.snapshot import Snapshot
from worker.repo.usual_imports import usual_imports

MOST_RUNS = 6
MOST_SECONDS = 240.0
"""Runs of one investigation, and their seconds together."""


@dataclass(frozen=True, slots=True)
class Stood:
    """Where it runs, and what has to be said about that."""

    stand: Stand
    note: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """One run. `followed` is false where no tracer knows the language: then its trail says nothing."""

    what: str
    ran: Result
    trail: Trail
    followed: bool = True
    notes: tuple[str, ...] = ()


@dataclass
class Trials:
    """Where trials take place, and how much of the bounds is used. `stand` may take minutes when first asked."""

    box: Runs
    snapshot: Snapshot
    paths: Set[str]
    stand: Callable[[str], Stood]
    trace: Trace
    runs: int = 0
    seconds: float = 0.0

    def one(self, reproduction: Reproduction) -> Tried | Refused:
        """The reproduction was run, or cannot be. Raises BoxLost."""
        stood = self.stand(reproduction.language)
        added = "; ".join(reproduction.added)
        note = f"Added, as the repository's own files have it: {added}." if added else ""
        with scratch() as folder:
            command = command_of(reproduction, stood.stand, folder / "snippet")
            if isinstance(command, Refused):
                return command
            return self.run(_words(reproduction), command, stood, note)

    def run(self, what: str, command: Command, stood: Stood, note: str = "") -> Tried | Refused:
        """The command was run, unless all runs were made. Raises BoxLost."""
        if self.runs >= MOST_RUNS:
            return Refused(f"All {MOST_RUNS} runs of this investigation were made.")
        if self.seconds >= MOST_SECONDS:
            return Refused(f"The {MOST_SECONDS:g} seconds for runs of this investigation are used up.")
        self.runs += 1
        with self.trace.noting(SpanKind.CHECK, f"try {what}") as noted:
            ran = self.box.run(stood.stand.tree, command, self.trace.wanted)
            if isinstance(ran, BoxUnavailable):
                noted.outcome = "no box"
                raise BoxLost(ran)
            noted.outcome = f"exit {ran.exit_status}" if ran.exit_status is not None else str(ran.ended)
        self.seconds += ran.seconds
        told = tuple(filter(None, (note, stood.note)))
        return Tried(what, ran, read_trail(ran, self.paths), command.trail, told)

    def of_issue(self, text: str) -> Iterator[Tried | Refused]:
        """What the issue itself shows, one after the other; the last is the first that goes through something.

        Raises BoxLost.
        """
        project = self.stand("python").stand.project
        for reproduction in attempts(text, project, lambda names: usual_imports(self.snapshot, names)):
            tried = self.one(reproduction)
            yield tried
            if isinstance(tried, Tried) and (tried.trail.executed() or reproduction.language not in TRACED):
                return


def _words(reproduction: Reproduction) -> str:
    """What is run, in a few words."""
    match reproduction.way:
        case Way.PROGRAM:
            return " ".join(reproduction.words).removeprefix("-m ")
        case Way.TESTS:
            return f"pytest on {', '.join(reproduction.files)}"
        case Way.SESSION:
            return f"{reproduction.language}, {', '.join(reproduction.files)} in turn"
        case Way.SCRIPT:
            return f"{reproduction.language} {next(iter(reproduction.files))}"
