"""Models that play from the known answer: one that does everything right, and others that each get one thing wrong.

With them an evaluation itself is tried: the perfect one has to score high, the others low, and each failure has to be
put down to whom it was built into.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from app.core.fit import is_test
from infra.eval.task import Task
from worker.belts.planner import MOST_PLANS_REFUSED
from worker.box.checks import NamedCheck, PathArguments, discover
from worker.repo.clone import Clone, NoClone
from worker.repo.snapshot import Snapshot

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", re.MULTILINE)
_FAR = 1_000_000
_DONE = "It is done, and every test passes."
_REMARK = "# This place was looked at.\n"


class Scripted(StrEnum):
    """What is played."""

    PERFECT = "perfect"
    WRONG_PLAN = "wrong-plan"
    """It plans another file than the known change's, and carries that out; it does so where it should have asked."""
    WRONG_LINES = "wrong-lines"
    """It cites lines that are not there, however often its plan is turned down."""
    NEEDLESS_QUESTION = "needless-question"
    """It asks what the issue says."""
    WRONG_WORK = "wrong-work"
    """It plans rightly, reaches outside of the plan, and changes nothing that matters."""
    STEP_LEFT_OUT = "step-left-out"
    """It plans rightly, and leaves out the last step, which it says is done."""
    FALSE_REPORT = "false-report"
    """It plans rightly, says that a step is done before it did anything, and then changes nothing that matters."""


_WRONG_STEPS = (Scripted.WRONG_PLAN, Scripted.WRONG_WORK, Scripted.FALSE_REPORT)
"""Those that put a remark where the change should be."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What the known change does to one file."""

    path: str
    kind: str
    diff: str

    def lines(self) -> Iterator[tuple[int, int]]:
        """The places in the base that it changes, first and last line."""
        for start, many in _HUNK.findall(self.diff):
            first = max(int(start), 1)
            yield first, first + max(int(many or 1), 1) - 1

    def added(self) -> str:
        """What a new file holds."""
        body = self.diff.split("\n@@", 1)[-1].split("\n")[1:]
        return "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))


def scripted_for(task: Task, how: Scripted, folder: Path) -> dict[str, Any]:
    """The script. Raises `NoClone` or KeyError where the task's repository is not there."""
    tree = _tree(task, folder / "scripted")
    parts = [one for one in _parts(task.gold_patch) if not is_test(one.path)]
    planned = parts if how is not Scripted.WRONG_PLAN and parts else [_other(task, tree)]
    asks = how is Scripted.NEEDLESS_QUESTION or (task.gold.unclear and how is not Scripted.WRONG_PLAN)
    ending = (
        _call("ask_author", questions=["What exactly should happen, and what happens instead?"])
        if asks
        else _call("submit_plan", **_plan(task, tree, planned))
    )
    turns = [ending]
    if how is Scripted.WRONG_LINES:
        for cited in ending["calls"][0]["input"]["evidence"]:
            cited |= {"start": cited["start"] + _FAR, "end": cited["end"] + _FAR}
        turns = [ending, *([ending | {"after_failure": True}] * MOST_PLANS_REFUSED)]
    left_out = len(planned) if how is Scripted.STEP_LEFT_OUT else 0
    steps = [
        _idle(number) if number == left_out else _step(number, one, task, how, tree)
        for number, one in enumerate(planned, 1)
    ]
    return {"name": f"{task.name}, {how}", "parts": [{"role": "planner", "turns": turns}, *steps, _REVIEW]}


def _call(name: str, **given: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "input": given}]}


_REVIEW = {
    "role": "reviewer",
    "turns": [
        _call(
            "review",
            verdict="accept",
            words="",
            findings=[],
            criteria=[{"id": 1, "met": "yes", "because": "So.", "where": "difference", "quote": "diff --git"}],
        )
    ],
}


def _tree(task: Task, folder: Path) -> Path:
    if task.clone is not None:
        clone = Clone(task.clone)
        if not clone.holds(task.commit):
            raise NoClone(f"{task.clone} has no commit {task.commit}.")
        with Snapshot(clone, task.commit) as snapshot:
            snapshot.export(folder)
        return folder
    for path, content in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, "utf-8")
    return folder


def _parts(patch: str) -> list[_Part]:
    parts = []
    for diff in re.split(r"(?m)^(?=diff --git )", patch):
        head = re.match(r"diff --git a/.+ b/(.+)\n", diff)
        if head:
            kind = "create" if "\nnew file mode" in diff else "delete" if "\ndeleted file mode" in diff else "change"
            parts.append(_Part(head.group(1), kind, diff))
    return parts


def _other(task: Task, tree: Path) -> _Part:
    """A file that the known change does not touch, of the same sort where there is one."""
    paths = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())
    code = [one for one in paths if one not in task.gold.files and not is_test(one) and not one.startswith(".")]
    sorts = {Path(one).suffix for one in task.gold.files}
    alike = [one for one in code if Path(one).suffix in sorts and (tree / one).stat().st_size > 0]
    return _Part((alike or code or paths)[0], "change", "@@ -1 +1 @@\n")


def _plan(task: Task, tree: Path, parts: list[_Part]) -> dict[str, Any]:
    check = _test_check(tree)
    paths = sorted(path for path in task.gold.tests if (tree / path).is_file())
    narrowed = paths if check is not None and check.paths is PathArguments.ACCEPTED else []
    evidence = [
        {"path": one.path, "start": first, "end": min(last, _length(tree / one.path)), "shows": "It happens here."}
        for one in parts
        if one.kind != "create"
        for first, last in one.lines()
    ]
    numbers = list(range(1, len(parts) + 1))
    names = [check.name] if check else []
    return {
        "summary": task.title[:300],
        "hypothesis": "The lines that are cited do not do what the issue asks for.",
        "evidence": evidence[:40] or [{"path": _other(task, tree).path, "start": 1, "end": 1, "shows": "Beside it."}],
        "acceptance": [{"id": 1, "words": "What the issue asks for holds.", "steps": numbers, "checks": names}],
        "no_test_because": "The tests that show it are kept aside.",
        "steps": [
            {"id": number, "kind": one.kind, "path": one.path, "intent": "Mend it.", "done_when": "It is mended."}
            for number, one in enumerate(parts, 1)
        ],
        "checks": [{"name": name, "paths": narrowed, "expect": "passes"} for name in names],
        "budget": {"usd": "1.00", "calls": 40, "minutes": 30, "files": 6, "lines": 300},
    }


def _test_check(tree: Path) -> NamedCheck | None:
    return next((one for one in discover(tree) if "test" in one.name), None)


def _length(file: Path) -> int:
    return max(len(file.read_bytes().splitlines()), 1)


def _step(number: int, part: _Part, task: Task, how: Scripted, tree: Path) -> dict[str, Any]:
    if task.gold.must_stop and how is Scripted.PERFECT:
        turns = [_call("cannot", reason="The plan does not hold: what it names is not what the issue is about.")]
        return {"role": "executor", "step": number, "turns": turns}
    done = _call("step_done", note=_DONE) | {"after_failure": True}
    turns = [_remark(part) if how in _WRONG_STEPS else _edit(part), done]
    if how is Scripted.WRONG_WORK:
        turns.insert(0, _call("replace", path=_other(task, tree).path, old="a", new="b"))
    if how is Scripted.FALSE_REPORT:
        turns.insert(0, _call("step_done", note=_DONE))
    if len(turns) > 2:
        turns[1] |= {"after_failure": True}
    return {"role": "executor", "step": number, "turns": turns}


def _idle(number: int) -> dict[str, Any]:
    """The step is said to be done, and again when that is turned down."""
    done = _call("step_done", note=_DONE)
    return {"role": "executor", "step": number, "turns": [done, done | {"after_failure": True}]}


def _edit(part: _Part) -> dict[str, Any]:
    given: Mapping[str, Mapping[str, Any]] = {
        "change": {"name": "apply_diff", "path": part.path, "diff": part.diff},
        "create": {"name": "create_file", "path": part.path, "content": part.added()},
        "delete": {"name": "delete_file", "path": part.path},
    }
    return _call(**given[part.kind])


def _remark(part: _Part) -> dict[str, Any]:
    if part.kind == "create":
        return _call("create_file", path=part.path, content=_REMARK)
    if part.kind == "delete":
        return _call("delete_file", path=part.path)
    return _call("insert", path=part.path, anchor="", text=_REMARK, where="after")
