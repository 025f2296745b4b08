"""Reproducing: the planner runs a snippet or a check on a throw-away copy in the box, and sees what it went through."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from app.core.span import SpanKind
from app.core.verdict import Refused
from worker.belts.proving import BoxLost
from worker.belts.reproduced import briefly, told, whole
from worker.belts.trying import MOST_RUNS, Stood, Trials, Tried
from worker.box.checks import Ground, NamedCheck, command_for
from worker.box.command import BoxUnavailable, Runs
from worker.box.environment import KIND as PYTHON_KIND
from worker.box.environment import EnvironmentUnavailable
from worker.box.found_setup import NODE_KIND
from worker.box.preparing import Prepared
from worker.box.project import Project, UnreadableProject, read_project
from worker.box.reproduction import LANGUAGES, Stand, bare_place, followed, of_snippet, prepared_place
from worker.box.snippets import LONGEST
from worker.evidence.trace import Trace
from worker.model.conversation import Answer, Failed, Handler
from worker.model.words import Tool
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.ranking import Ranked, rank
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot

_RANKED = 10
NO_PROJECT = Project(None, "0", "", (), (), ".")

REPRODUCE = Tool(
    "reproduce",
    "Runs code (a program of yours, in a file of its own), or a check of the card, on a throw-away copy of the "
    "repository at /work, without network. Without arguments it runs what the issue itself shows. Says how it ended, "
    f"what it put out, and which functions of the repository it went through. At most {MOST_RUNS} runs.",
    {
        "type": "object",
        "properties": {
            "code": {"type": "string", "minLength": 1, "maxLength": LONGEST},
            "language": {"type": "string", "enum": list(LANGUAGES)},
            "check": {"type": "string", "minLength": 1, "maxLength": 100},
            "paths": {"type": "array", "maxItems": 20, "items": {"type": "string", "minLength": 1, "maxLength": 500}},
        },
        "additionalProperties": False,
    },
)


@dataclass(frozen=True)
class Workplace:
    """What a reproduction takes. The box and the environments are asked for when they are first needed."""

    tree: Path
    snapshot: Snapshot
    issue: IssueText
    checks: tuple[NamedCheck, ...]
    index: IndexCache
    trace: Trace
    open_box: Callable[[], Runs | BoxUnavailable]
    prepare: Callable[[set[str], Path], Prepared]

    @cached_property
    def _python(self) -> Stood:
        project, place = self._project(), bare_place(NO_PROJECT)
        prepared = self.prepare({PYTHON_KIND}, self.tree)
        if isinstance(prepared, EnvironmentUnavailable | Refused):
            note = f"What the project depends on is not there: {prepared} The tree alone can be imported."
            return Stood(Stand(self.tree, project, bare_place(project)), note)
        for one in prepared:
            place = prepared_place(one)
        return Stood(Stand(self.tree, project, place))

    @cached_property
    def _node(self) -> Stood:
        stand = Stand(self.tree, self._project())
        prepared = self.prepare({NODE_KIND}, self.tree) if any(one.needs == NODE_KIND for one in self.checks) else ()
        if isinstance(prepared, EnvironmentUnavailable | Refused):
            return Stood(stand, f"The project's packages are not there: {prepared}")
        return Stood(Stand(self.tree, stand.project, packages=next(iter(prepared), None)))

    def stood(self, language: str) -> Stood:
        """Where a program of the language runs."""
        if language == "python":
            return self._python
        return self._node if language == "javascript" else Stood(Stand(self.tree, self._project()))

    def _project(self) -> Project:
        try:
            return read_project(self.tree)
        except UnreadableProject:
            return NO_PROJECT


@dataclass
class Reproducing:
    """The tool, and how often each file was gone through so far."""

    workplace: Workplace
    executed: dict[str, int] = field(default_factory=dict)

    def every(self) -> dict[str, tuple[Tool, Handler[Any]]]:
        """The one tool of this group."""
        return {REPRODUCE.name: (REPRODUCE, self._reproduce)}

    @cached_property
    def _trials(self) -> Trials | BoxUnavailable:
        place = self.workplace
        box = place.open_box()
        if isinstance(box, BoxUnavailable):
            return box
        paths = frozenset(entry.path for entry in place.snapshot.list())
        return Trials(box, place.snapshot, paths, place.stood, place.trace)

    def _reproduce(self, asked: Mapping[str, Any]) -> Answer | Failed:
        if "code" in asked and "check" in asked:
            return Failed("One thing at a time: code or a check.")
        if ("language" in asked and "code" not in asked) or ("paths" in asked and "check" not in asked):
            return Failed("A language belongs to code, and paths to a check.")
        trials = self._trials
        if isinstance(trials, BoxUnavailable):
            return Failed(f"Nothing can be run here: {trials} Plan from what the files say.")
        try:
            return self._answer(list(self._tried(trials, asked)))
        except BoxLost as lost:
            return Failed(f"It was not run: {lost} Plan from what the files say.")

    def _tried(self, trials: Trials, asked: Mapping[str, Any]) -> Iterator[Tried | Refused]:
        if "check" in asked:
            yield self._check(trials, str(asked["check"]), tuple(map(str, asked.get("paths", ()))))
        elif "code" in asked:
            yield trials.one(of_snippet(str(asked.get("language", "python")), str(asked["code"])))
        else:
            yield from trials.of_issue(self.workplace.issue.body)

    def _check(self, trials: Trials, name: str, paths: tuple[str, ...]) -> Tried | Refused:
        named = next((one for one in self.workplace.checks if one.name == name), None)
        if named is None:
            known = ", ".join(one.name for one in self.workplace.checks) or "none"
            return Refused(f"There is no check {name!r}; the checks are: {known}.")
        tree = self.workplace.tree
        prepared = self.workplace.prepare({named.needs}, tree) if named.needs and not named.not_prepared else ()
        if isinstance(prepared, EnvironmentUnavailable | Refused):
            return Refused(f"What the check {name} needs cannot be prepared: {prepared}")
        command = command_for(named, paths, Ground(tree, frozenset(), prepared))
        if isinstance(command, Refused):
            return command
        return trials.run(" ".join((name, *paths)), followed(command), Stood(Stand(tree, NO_PROJECT)))

    def _answer(self, tried: list[Tried | Refused]) -> Answer | Failed:
        """The last of the runs, and in a line each what came of those before it."""
        if not tried:
            return Failed("The issue shows nothing that could be run. Write the code yourself.")
        before = [briefly(one) for one in tried[:-1]]
        last = tried[-1]
        if isinstance(last, Refused):
            return Failed("\n".join([*before, str(last)]))
        for path, passed in last.trail.executed().items():
            self.executed[path] = self.executed.get(path, 0) + len(passed)
        return Answer("\n".join([*before, told(last, self._ranked())]), whole(last))

    def _ranked(self) -> tuple[Ranked, ...]:
        """The files that a fix may touch, with what was gone through counted in; a hint, as the first list is."""
        place = self.workplace
        if not self.executed:
            return ()
        with place.trace.noting(SpanKind.TOOL, "rank again"):
            return rank(place.issue, place.snapshot, place.index, _RANKED, self.executed)
