"""Grounds for old issues: the interpreter and the packages of their day, where the box may read them.

`uv` (on the PATH, or named) resolves the packages as they were on a date. Interpreters are found by uv or among those
of pyenv, and copied to a neutral folder. What cannot be had is said, and today's Python and packages stand in.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.demo.reach import box_of_this_machine
from worker.belts.trying import Stood
from worker.box.checks import PYTEST
from worker.box.command import BoxUnavailable
from worker.box.environment import KIND as PYTHON_KIND
from worker.box.environment import Workshop, registry_variables
from worker.box.preparing import of_this_machine, prepare
from worker.box.project import Project, UnreadableProject, read_project
from worker.box.reproduction import PythonPlace, Stand, bare_place, prepared_place

NO_PROJECT = Project(None, "0", "", (), (), ".")
_GONE = re.compile(r"there are no versions of (?P<name>[\w.-]+)")
_MOST_GONE = 4
_LEFT_OUT = shutil.ignore_patterns("test", "tests", "__pycache__", "idlelib", "*.a")


@dataclass(frozen=True, slots=True)
class Day:
    """When and with what an issue is known to run; a Python version without its last part, and a date."""

    python: str
    date: str


def days_in(file: Path) -> dict[str, Day]:
    """Of the issues in a file with one JSON object a line, those that are known to run, by name."""
    found = {}
    for line in file.read_text("utf-8").splitlines():
        one = json.loads(line)
        known = one.get("known_to_run")
        if known:
            found[one["instance_id"]] = Day(known["python"], known["date"])
    return found


class Grounds:
    """Makes them below one folder, which is kept, so that a second run makes nothing again."""

    def __init__(self, folder: Path, uv: str = "uv") -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        self._uv = shutil.which(uv) or ""

    def stood(self, tree: Path, name: str, package: str, day: Day | None) -> Stood:
        """Where the issue's snippets run; `package` is the project's name on the index."""
        try:
            project = read_project(tree)
        except UnreadableProject:
            project = NO_PROJECT
        if day is None:
            return self._today(tree, project, "It is not known to run on any day")
        python = self._interpreter(day.python)
        if python is None:
            return self._today(tree, project, f"There is no Python {day.python} (or no uv)")
        folder, version = self._folder / f"python-{day.python}", day.python
        packages = self._packages(name, package, project, day, python)
        source = "/work" if project.source == "." else f"/work/{project.source}"
        words = ("/usr/bin/env", "LD_LIBRARY_PATH=/tools/1/lib", f"/tools/1/bin/python{version}")
        place = PythonPlace(words, (source, "/tools/0"), (packages, folder))
        return Stood(Stand(tree, project, place))

    def _today(self, tree: Path, project: Project, why: str) -> Stood:
        workshop = Workshop(self._folder / "today", registry_variables(os.environ))
        box = box_of_this_machine(os.environ)
        if isinstance(box, BoxUnavailable):
            return Stood(Stand(tree, project, bare_place(project)), f"{why}, and {box}")
        made = prepare({PYTHON_KIND}, tree, workshop, of_this_machine(box, workshop, "bench"))
        if isinstance(made, tuple):
            return Stood(Stand(tree, project, prepared_place(made[0])), f"{why}; today's Python and packages stand in.")
        return Stood(Stand(tree, project, bare_place(project)), f"{why}, and {made}")

    def _interpreter(self, version: str) -> Path | None:
        """The interpreter that was copied; its own packages are left behind."""
        copied = self._folder / f"python-{version}"
        program = self._found(version)
        if program is None or not self._uv:
            return None
        if not copied.exists():
            making = self._folder / f".making-{version}"
            shutil.rmtree(making, ignore_errors=True)
            shutil.copytree(program.parents[1], making, symlinks=True, ignore=_LEFT_OUT)
            for inner in making.glob("lib/python*/site-packages"):
                shutil.rmtree(inner)
            making.chmod(0o755)
            making.rename(copied)
        return program

    def _found(self, version: str) -> Path | None:
        """The real program, not a stand-in that starts another."""
        kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        if kept:
            return kept[-1]
        words = [self._uv, "python", "find", "--no-project", version]
        ran = subprocess.run(words, capture_output=True, text=True, check=False) if self._uv else None
        path = Path(ran.stdout.strip()) if ran is not None and ran.returncode == 0 else None
        return path.resolve() if path is not None and path.exists() else None

    def _packages(self, name: str, package: str, project: Project, day: Day, python: Path) -> Path:
        """What could be had of that day: wheels, or built where there was none; with the project's own release or not.

        Building runs code of packages of that day, outside the box: this is a benchmark on a developer's machine.
        """
        folder = self._folder / "packages" / name
        if folder.exists():
            return folder
        making = folder.with_name(f".making-{name}")
        into = [self._uv, "pip", "install", "--quiet", "--python", str(python), "--target", str(making)]
        # What builds may be of a later day: old sources ask for a setuptools that was not there yet.
        words = [*into, "--exclude-newer", day.date, "--exclude-newer-package", "setuptools=2024-01-01"]
        own = [package, "pytest", *project.requirements]
        wheels = ["--only-binary", ":all:"]
        for wanted in ([*wheels, *own], own, [*wheels, *own[1:]], own[1:], own[:2], own[1:2], own[2:]):
            if _installed([*words, *wanted], making):
                break
        making.mkdir(parents=True, exist_ok=True)
        if not _starts(python, making):
            # A runner of that day that this Python cannot start, or none: one of today stands in, beside the rest.
            _installed([*words, *project.requirements], making)
            subprocess.run([*into, "pytest"], capture_output=True, check=False)
        subprocess.run([str(python), "-m", "compileall", "-q", str(making)], capture_output=True, check=False)
        making.rename(folder)
        return folder


def _starts(python: Path, packages: Path) -> bool:
    """Whether pytest can be started with these packages, and knows what checks say to it."""
    words = [str(python), *PYTEST[1:], "--version"]
    ran = subprocess.run(words, env={"PYTHONPATH": str(packages)}, cwd=packages, capture_output=True, check=False)
    return ran.returncode == 0


def _installed(words: list[str], target: Path) -> bool:
    """Whether all of it could be had. A package whose releases of that day are gone comes in a later one."""
    later: list[str] = []
    for _ in range(_MOST_GONE):
        shutil.rmtree(target, ignore_errors=True)
        ran = subprocess.run([*words, *later], capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            return True
        gone = _GONE.search(" ".join(ran.stderr.split()))
        if gone is None:
            return False
        later += ["--exclude-newer-package", f"{gone['name']}=2100-01-01"]
    return False


def default_folder() -> Path:
    """Where grounds are kept between runs, readable for the box's account."""
    return Path("/var/tmp") / f"countersign-grounds-{os.getuid()}"


def said(words: str) -> None:
    """Progress, for a person who waits."""
    print(words, file=sys.stderr, flush=True)
