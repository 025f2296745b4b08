"""Each wall of the house is real: a breach planted in a copy is found, and the house as it stands has none."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT, name, names_in, python_files

# The wall as import-linter names it → the file that is planted, and what stands in it.
BREACHES = {
    "app: imports run downwards only": ("app/core/planted.py", "import app.ledger"),
    "worker: imports run downwards only": ("worker/box/planted.py", "import worker.belts"),
    "worker stands above app, and the product needs nothing of infra": ("app/comments/planted.py", "import worker.box"),
    "belts are strangers to one another": ("worker/belts/executor.py", "import worker.belts.publisher"),
    "app.web reaches no key, no model and no command": ("app/web/planted.py", "import app.ledger.planted"),
    "app.core is pure": ("app/core/planted_too.py", "import socket"),
    "githubkit only in worker.github": ("worker/mint/planted.py", "import githubkit"),
    "anthropic only in worker.model": ("worker/evidence/planted.py", "from anthropic import Anthropic"),
    "httpcore and justhtml only in worker.docs": ("worker/github/planted.py", "import httpcore"),
    "detect_secrets only in worker.repo.secrets": ("worker/repo/planted_too.py", "import detect_secrets"),
    "databases are opened only by app.ledger": ("worker/repo/planted.py", "from sqlalchemy import text"),
    "fastapi only in app.web and the twin": ("app/comments/planted_too.py", "import fastapi"),
    "celery and kombu only where doorbells are rung and heard": ("worker/belts/stranger.py", "import kombu"),
    "opentelemetry only in worker.telemetry": ("worker/belts/stranger_too.py", "import opentelemetry.trace"),
    "processes are started only by worker.box": ("app/ledger/planted.py", "import subprocess"),
}


def copy_of_the_house(to: Path) -> Path:
    for path in python_files("app", "worker", "infra"):
        (to / name(path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to / name(path))
    shutil.copyfile(ROOT / ".importlinter", to / ".importlinter")
    return to


def broken_walls(house: Path) -> tuple[set[str], set[str]]:
    """The walls that import-linter found broken, and those it found whole."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache", "--no-logo"], cwd=house, capture_output=True, text=True, check=False)
    verdicts = re.findall(r"^(\S.*) (KEPT|BROKEN)(?: \(.*\))?$", done.stdout, re.MULTILINE)
    assert verdicts, done.stdout + done.stderr
    broken = {wall for wall, verdict in verdicts if verdict == "BROKEN"}
    assert bool(broken) == bool(done.returncode), done.stdout
    return broken, {wall for wall, verdict in verdicts if verdict == "KEPT"}


def test_the_house_as_it_stands_has_no_breach() -> None:
    broken, whole = broken_walls(ROOT)
    assert broken == set()
    assert whole == BREACHES.keys(), "every wall is proven by a breach below"


def test_a_breach_of_each_wall_is_found(tmp_path: Path) -> None:
    house = copy_of_the_house(tmp_path)
    for planted, line in BREACHES.values():
        with (house / planted).open("a") as file:
            file.write(f"\n{line}\n")
    broken, whole = broken_walls(house)
    assert broken == BREACHES.keys()
    assert whole == set()


@pytest.mark.parametrize(("stray", "wall"), [
    ("app/stray.py", "app: imports run downwards only"),
    ("worker/stray.py", "worker: imports run downwards only"),
])  # fmt: skip
def test_a_room_without_a_rung_on_the_ladder_is_found(tmp_path: Path, stray: str, wall: str) -> None:
    house = copy_of_the_house(tmp_path)
    before = broken_walls(house)[0]
    (house / stray).write_text('"""Planted."""\n')
    assert broken_walls(house)[0] - before == {wall}


def pieces(belts: Path, belt: str) -> set[str]:
    """The modules of the folder that a belt is made of: those it imports, and those that they import."""
    imports = {
        path.stem: {
            said.split(".")[2]
            for _, said in names_in(ast.parse(path.read_text()))
            if re.match(r"worker\.belts\.\w", said)
        }
        for path in belts.glob("*.py")
    }
    reached, ahead = set(), {belt}
    while ahead:
        reached |= ahead
        ahead = set().union(*(imports.get(piece, set()) for piece in ahead)) - reached
    return reached


def shared_pieces(belts: Path) -> list[str]:
    made_of = [pieces(belts, belt) for belt in ("planner", "executor", "publisher")]
    every = [piece for made in made_of for piece in made]
    return sorted({piece for piece in every if every.count(piece) > 1})


def test_belts_share_no_piece_of_code_of_their_own() -> None:
    assert shared_pieces(ROOT / "worker/belts") == []


def test_a_piece_that_two_belts_share_is_found(tmp_path: Path) -> None:
    (tmp_path / "planner.py").write_text("from worker.belts import wording")
    (tmp_path / "executor.py").write_text("import worker.belts.step")
    (tmp_path / "step.py").write_text("from worker.belts.wording import said")
    assert shared_pieces(tmp_path) == ["wording"]
