"""`make bench-checks REPOS=dir`: how many real fixes are proved by the product's own checks, as JSON.

For each issue that is known to run: the fix as the plan's change must show *failed before, passes after* for the named
tests and keep the others passing, and the same plan without the fix must be refused. Checks run in the box, with the
interpreter and packages of the issue's day.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.patch import ChangeKind, FileMode
from app.core.plan import Check, Expectation, Plan
from app.core.report import CheckRun, Report, When, checks_shown
from app.core.verdict import Allowed, Refused
from infra.bench.grounds import Day, Grounds, days_in, default_folder, said
from infra.bench.rank_cases import clone_of
from worker.belts.proving import BoxLost, Prover, tests_among
from worker.belts.scratch import scratch
from worker.box.box import Box, open_box
from worker.box.checks import PYTEST, NamedCheck, PathArguments
from worker.box.command import BoxUnavailable
from worker.box.environment import KIND, CheckEnvironment
from worker.box.project import UnreadableProject, read_project
from worker.evidence.trace import Trace
from worker.repo.edits import EditedFile
from worker.repo.snapshot import Snapshot
from worker.repo.tree import Entry

_NAMES_AT_ONCE = 40
"""A plan's argument vector has at most 64 words."""
_VERSION = "written_by_the_build.py"


@dataclass(frozen=True, slots=True)
class Fix:
    """An issue's fix: patches, tests that it makes pass, and tests that pass before and after."""

    name: str
    repository: str
    commit: str
    gold: str
    tests: str
    failing: tuple[str, ...]
    passing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proved:
    """What came of one. `why` is empty where the fix was proved and its absence was seen."""

    name: str
    why: str
    first_seconds: float
    repeated_seconds: float


def fixes_in(file: Path) -> list[Fix]:
    """Those that are known to run, of a file with one JSON object a line."""
    fixes = []
    for line in file.read_text("utf-8").splitlines():
        one = json.loads(line)
        known = one.get("known_to_run")
        if known:
            # Some names of the data set end at their first blank; then the whole function stands for its cases.
            failing = tuple(dict.fromkeys(_function(test) for test in known["fail_to_pass_here"]))
            whole = (test for test in one["pass_to_pass"] if test == _function(test))
            passing = tuple(test for test in whole if test not in failing)
            patches = one["gold_patch"], one["test_patch"]
            fixes.append(Fix(one["instance_id"], one["repo"], one["base_commit"], *patches, failing, passing))
    return fixes


def prove(fix: Fix, day: Day, repos: Path, grounds: Grounds, box: Box) -> Proved:
    """The fix, and the plan without it; then both once more, with everything prepared and nothing to make."""
    began = time.perf_counter()
    try:
        with Snapshot(clone_of(repos, fix.repository), fix.commit) as snapshot, _tree(snapshot) as tree:
            ground = _ground(fix, day, tree, grounds)
            if isinstance(ground, str):
                return Proved(fix.name, ground, 0.0, 0.0)
            changes = _changes(snapshot, fix.tests + fix.gold)
            prover = _prover(ground, snapshot, box)
            why = _why(fix, prover, changes)
            first, began = time.perf_counter() - began, time.perf_counter()
            _why(fix, prover, changes)
    except (BoxLost, _NotRun) as lost:
        return Proved(fix.name, f"{type(lost).__name__.strip('_')}: {lost}"[:300], 0.0, 0.0)
    return Proved(fix.name, why, round(first, 1), round(time.perf_counter() - began, 1))


def _why(fix: Fix, prover: Prover, changes: tuple[EditedFile, ...]) -> str:
    """Why it counts as not proved; empty where it is."""
    argv = prover.known[0].argv
    checks = _checks(argv, fix.failing, Expectation.FAILS_BEFORE_PASSES_AFTER)
    # Proving reads nothing else of a plan.
    part: dict[str, Any] = {"checks": (*checks, *_checks(argv, fix.passing[:_NAMES_AT_ONCE], Expectation.PASSES))}
    plan = Plan.model_construct(**part)
    tests = tests_among(changes)
    alone = _runs(prover, plan, tests, When.TESTS_ONLY)
    after = _runs(prover, plan, changes, When.AFTER)
    shown = checks_shown(plan.checks, _report(alone, after))
    if isinstance(shown, Refused):
        return f"{shown.reason[:160]} {_cause(after)}".strip()
    told = _failing(alone) - _failing(after)
    if not all(any(_same(name, one) for one in fix.failing) for name in told) or not all(
        any(_same(name, one) for name in told) for one in fix.failing
    ):
        return f"failed before and passes after is told of {sorted(told)}"[:300]
    if failed := _failing(after):
        return f"still fails: {sorted(failed)}"[:300]
    without = _runs(prover, plan, tests, When.AFTER)
    empty = checks_shown(plan.checks, _report(alone, without))
    return "the plan without the fix is taken for proved" if isinstance(empty, Allowed) else ""


def _runs(prover: Prover, plan: Plan, changes: tuple[EditedFile, ...], when: When) -> tuple[CheckRun, ...]:
    ran = prover.run_all(plan, changes, when)
    if isinstance(ran, Refused):
        raise _NotRun(ran.reason)
    return ran


def _cause(runs: tuple[CheckRun, ...]) -> str:
    """Why the first of them that failed did, in the runner's last words about an error."""
    text = next((run.excerpt for run in runs if not run.passed()), "")
    if "Name or service not known" in text or "Temporary failure in name resolution" in text:
        return "It reaches for a host, and the box has no network."
    errors = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return errors[-1][:160] if errors else ""


def _function(test: str) -> str:
    """The test's name; without its parameter where that is cut."""
    return test if test.endswith("]") or "[" not in test else test.partition("[")[0]


def _same(told: str, test: str) -> bool:
    """Whether the runner's word is about this test: by its name, as one of its cases, or by a file it cannot read."""
    return told in (test, test.partition(" ")[0], test.partition("::")[0]) or told.partition("[")[0] == test


def _failing(runs: tuple[CheckRun, ...]) -> set[str]:
    """The tests that the runner named as failed; a name ends at its first blank, as in the runner's summary."""
    return {name for run in runs for name in run.failing}


class _NotRun(Exception):
    pass


def _report(*runs: tuple[CheckRun, ...]) -> Report:
    return Report(runs=tuple(run for some in runs for run in some), diff_ref="0" * 64, changed_lines=0)


def _checks(argv: tuple[str, ...], tests: Sequence[str], expect: Expectation) -> tuple[Check, ...]:
    some = [tuple(tests[at : at + _NAMES_AT_ONCE]) for at in range(0, len(tests), _NAMES_AT_ONCE)]
    return tuple(Check(name="pytest", argv=(*argv, *names), paths=names, expect=expect) for names in some)


@contextmanager
def _tree(snapshot: Snapshot) -> Iterator[Path]:
    with scratch() as folder:
        snapshot.export(folder / "tree")
        yield folder / "tree"


def _ground(fix: Fix, day: Day, tree: Path, grounds: Grounds) -> CheckEnvironment | str:
    """Interpreter and packages of the day in one folder, since a check has one; or why there are none."""
    place = grounds.stood(tree, fix.name, fix.repository.rpartition("/")[2], day).stand.place
    if len(place.tools) != 2:
        return f"there is no Python {day.python} here"
    packages, python = place.tools
    folder = packages.parent.parent / "checks" / fix.name
    if not folder.exists():
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=_made(folder.parent)))
        shutil.copytree(packages, making / "packages", symlinks=True, copy_function=os.link)
        shutil.copytree(python, making / "python", symlinks=True, copy_function=os.link)
        making.chmod(0o755)
        making.rename(folder)
    try:
        project = read_project(tree)
    except UnreadableProject:
        files: tuple[str, ...] = ()
    else:
        files = tuple(project.version_files)
        (folder / _VERSION).write_text(project.version_module() if files else "")
    links = {f"/work/{path}": f"/made/{_VERSION}" for path in files}
    pythonpath = (place.pythonpath[0], "/made/packages")
    digest = hashlib.sha256(f"{fix.name} {day}".encode()).hexdigest()
    return CheckEnvironment(folder, f"/made/python/bin/python{day.python}", pythonpath, digest, links=links)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def _prover(ground: CheckEnvironment, snapshot: Snapshot, box: Box) -> Prover:
    words = ("/usr/bin/env", "LD_LIBRARY_PATH=/made/python/lib", ground.program, *PYTEST[1:])
    known = NamedCheck("pytest", words, PathArguments.ACCEPTED, KIND)
    return Prover(
        box=box,
        snapshot=snapshot,
        known=(known,),
        prepare=lambda kinds, tree: (ground,),
        keep=lambda content, media: hashlib.sha256(content).hexdigest(),
        trace=Trace("bench", Belt.EXECUTOR),
    )


def _changes(snapshot: Snapshot, patch: str) -> tuple[EditedFile, ...]:
    """The patch as the executor's edits would leave it."""
    with _tree(snapshot) as tree:
        before = {entry.path: entry for entry in snapshot.list()}
        words = ["git", "apply", "--whitespace=nowarn", "--numstat", "--apply", "-"]
        done = subprocess.run(words, cwd=tree, input=patch.encode(), capture_output=True, check=True)
        paths = [line.split("\t", 2)[2] for line in done.stdout.decode().splitlines()]
        return tuple(_edited(tree / path, path, before.get(path)) for path in dict.fromkeys(paths))


def _edited(file: Path, path: str, entry: Entry | None) -> EditedFile:
    content = file.read_bytes() if file.exists() else None
    kind: ChangeKind = "create" if entry is None else "delete" if content is None else "change"
    mode: FileMode = "100755" if entry is not None and entry.mode == "100755" else "100644"
    return EditedFile(kind, path, mode, content, None, entry.blob if entry else None)


def summary(proved: Sequence[Proved]) -> Mapping[str, Any]:
    """How many, how long, and why not."""
    done = [one for one in proved if not one.why]
    return {
        "instances": len(proved),
        "proved": len(done),
        "median seconds, first": statistics.median([one.first_seconds for one in done] or [0.0]),
        "median seconds, repeated": statistics.median([one.repeated_seconds for one in done] or [0.0]),
        "why not": {one.name: one.why for one in proved if one.why},
        "reasons": Counter(one.why[:60] for one in proved if one.why),
    }


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repos", type=Path, help="a folder of bare clones, owner+name.git")
    parser.add_argument("issues", type=Path)
    parser.add_argument(
        "--grounds", type=Path, default=default_folder(), help="where interpreters and packages are kept"
    )
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--only", default="", help="instances whose name holds this")
    parser.add_argument("--each", action="store_true", help="each instance, too")
    asked = parser.parse_args()
    box = open_box()
    if isinstance(box, BoxUnavailable):
        print(box, file=sys.stderr)
        return 1
    grounds, days, proved = Grounds(asked.grounds, asked.uv), days_in(asked.issues), []
    for fix in fixes_in(asked.issues):
        if asked.only in fix.name:
            proved.append(prove(fix, days[fix.name], asked.repos, grounds, box))
            said(f"{fix.name}: {proved[-1].why or 'proved'}, {proved[-1].first_seconds} s")
    told = dict(summary(proved))
    if asked.each:
        told["each"] = [asdict(one) for one in proved]
    print(json.dumps(told, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
