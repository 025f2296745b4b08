"""Each wall of the house is real: a breach planted in a copy is found, and the house as it stands has none."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT, name, python_files

# The wall as import-linter names it → the file that is planted, and what stands in it.
BREACHES = {
    "app: imports run downwards only": ("app/core/planted.py", "import app.ledger"),
    "worker: imports run downwards only": ("worker/box/planted.py", "import worker.belts"),
    "worker stands above app, and the product needs nothing of infra": ("app/comments/planted.py", "import worker.box"),
    "belts are strangers to one another": ("worker/belts/planted.py", "import worker.belts.stranger"),
    "app.web reaches no key, no model and no command": ("app/web/planted.py", "import app.ledger.planted"),
    "app.core is pure": ("app/core/planted_too.py", "import socket"),
    "githubkit only in worker.github": ("worker/mint/planted.py", "import githubkit"),
    "anthropic only in worker.model": ("worker/evidence/planted.py", "from anthropic import Anthropic"),
    "databases are opened only by app.ledger": ("worker/repo/planted.py", "from sqlalchemy import text"),
    "fastapi only in app.web and the twin": ("app/comments/planted_too.py", "import fastapi"),
    "celery and kombu only where doorbells are rung and heard": ("worker/belts/stranger.py", "import kombu"),
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
        (house / planted).write_text(f'"""Planted."""\n\n{line}\n')
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
