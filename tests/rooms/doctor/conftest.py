"""An installation for the doctor: a twin, a scripted model, a web process and settings, one for all rows of a table.

The doctor runs in this process, over real HTTP; each row breaks one thing and puts it back.
"""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from app.ledger import migrate
from app.settings import web_settings
from infra.scripted_model.server import ScriptedModel
from infra.twin.control import TwinControl
from infra.twin.twin import AppWish, Twin
from tests.fakes.household import app_key
from tests.rooms.entry.conftest import run
from tests.rooms.web.conftest import running
from worker.doctor.command import doctor_command

REPO = "acme/greet"
SECRET = "a webhook secret for the doctor"
MODEL_KEY = "a model key for the doctor"
SCRIPT = {"name": "none", "parts": []}

Finding = Mapping[str, str]


class Seen:
    """What the doctor said, by check."""

    def __init__(self, said: dict[str, Any], text: str) -> None:
        self.findings: list[Finding] = said["findings"]
        self.exit: int = said["exit"]
        self.text = text

    def of(self, check: str) -> list[Finding]:
        return [one for one in self.findings if one["check"] == check]

    def standing(self, check: str) -> set[str]:
        return {one["standing"] for one in self.of(check)}

    def faults(self) -> list[Finding]:
        return [one for one in self.findings if one["standing"] == "fault"]


class Installation:
    """One installation, whole until a test breaks it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir(mode=0o711)
        self.twin = Twin.start(folder / "twin", AppWish(public_key=app_key()[1]))
        self.control: TwinControl = self.twin.control
        self.model = ScriptedModel.start(SCRIPT, MODEL_KEY)
        migrate(f"sqlite:///{self.data / 'ledger.db'}")
        self.env = {
            "PATH": os.environ["PATH"], "GITHUB_API_URL": self.twin.url, "GITHUB_APP_ID": str(self.twin.app.id),
            "GITHUB_PRIVATE_KEY": app_key()[0], "GITHUB_WEBHOOK_SECRET": SECRET, "ANTHROPIC_API_KEY": MODEL_KEY,
            "ANTHROPIC_BASE_URL": self.model.url, "COUNTERSIGN_DATA_DIR": str(self.data),
        }  # fmt: skip
        self.control.add_repo(REPO, {"a.txt": "a\n", ".github/workflows/ci.yml": "on: push\n"}, labels=["countersign"])

    def sees(self, *words: str, **changes: str) -> Seen:
        """What `countersign doctor --json` finds with these settings changed; empty ones are unset."""
        env = {name: value for name, value in (self.env | changes).items() if value}
        said = io.StringIO()
        with redirect_stdout(said):
            code = doctor_command([*words, "--json"], env)
        seen = Seen(json.loads(said.getvalue()), said.getvalue())
        assert code == seen.exit
        return seen

    def is_told(self, *words: str, **changes: str) -> Seen:
        """The same of `countersign doctor --json` as a process of its own: its output, and the code that it ended with.
        """
        env = {name: value for name, value in (self.env | changes).items() if value}
        ended = run("doctor", *words, "--json", env=env | {"NO_PROXY": "127.0.0.1"})
        seen = Seen(json.loads(ended.stdout), ended.stdout + ended.stderr)
        assert ended.returncode == seen.exit, ended.stderr
        return seen

    def close(self) -> None:
        self.model.stop()
        self.twin.stop()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A whole one, its web process running. Who breaks it puts it back."""
    made = Installation(tmp_path_factory.mktemp("installation"))
    env = {name: made.env[name] for name in ("GITHUB_WEBHOOK_SECRET", "COUNTERSIGN_DATA_DIR", "GITHUB_API_URL")}
    with running(web_settings(env)) as door:
        made.env["COUNTERSIGN_URL"] = door.url
        made.control.set_hook(f"{door.url}/webhooks/github", SECRET)
        made.control.install("acme")
        made.control.settle()
        yield made
    made.close()


@pytest.fixture
def own_data(installation: Installation, tmp_path: Path) -> Callable[[], Path]:
    """A data folder of the test's own, as the whole installation's stood."""

    def copied() -> Path:
        return Path(shutil.copytree(installation.data, tmp_path / "data"))

    return copied


@pytest.fixture
def open_tree() -> Iterator[Path]:
    """A folder within one that any account may reach: the box does not run as root."""
    place = Path(tempfile.mkdtemp(prefix="countersign-test-", dir="/var/tmp"))
    place.chmod(0o711)
    (place / "tree").mkdir()
    yield place / "tree"
    shutil.rmtree(place)
