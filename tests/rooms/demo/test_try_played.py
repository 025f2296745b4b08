"""`countersign try` as somebody at a terminal has it: a real pseudo-terminal, all processes, a scripted model."""

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from infra.scripted_model.server import ScriptedModel
from tests.fakes.greeting import FILES, ISSUE, SCRIPT

pytestmark = [pytest.mark.needs_userns, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[3]


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


class Trial:
    """`countersign try` on a repository of its own at a pseudo-terminal."""

    def __init__(self, folder, model, *words):
        self.repository, self.out, self.temporary = folder / "greet", folder / "out", folder / "temporary"
        self.temporary.mkdir()
        for path, content in FILES.items():
            (self.repository / path).parent.mkdir(parents=True, exist_ok=True)
            (self.repository / path).write_text(content)
        git(folder, "init", "-q", str(self.repository))
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-qm", "first")
        # What is not committed is not tried on, and stays.
        (self.repository / "README.md").write_text("work in hand")
        (folder / "issue.md").write_text(ISSUE)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "COUNTERSIGN"))}
        more = {"TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        if model is not None:
            more |= {"ANTHROPIC_API_KEY": "a key", "ANTHROPIC_BASE_URL": model.url}
        ours, theirs = pty.openpty()
        self.terminal, self.text = ours, ""
        command = [sys.executable, "-c", HEEDING, "-m", "app.cli", "try", str(self.repository)]
        self.process = subprocess.Popen(
            [*command, str(folder / "issue.md"), "--out", str(self.out), *words],
            env=kept | more, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        os.set_blocking(ours, False)

    def says(self, words, seconds=200):
        deadline = time.monotonic() + seconds
        while words not in self.heard() and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert words in self.heard(), self.text

    def heard(self):
        with suppress(OSError):
            while chunk := os.read(self.terminal, 65_536):
                self.text += chunk.decode("utf-8", "replace")
        return self.text

    def types(self, key):
        os.write(self.terminal, key)

    def ends(self):
        try:
            return self.process.wait(100)
        finally:
            self.heard()
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


HEEDING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def test_a_plan_is_approved_by_a_key_and_becomes_a_patch_and_a_branch_and_ctrl_c_leaves_nothing(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken off").mkdir()
    with ScriptedModel.start(SCRIPT) as model:
        one = Trial(tmp_path / "whole", model)
        one.says("Press y to approve exactly this plan (")
        assert "### Plan, version 1" in one.text
        one.types(b"y")
        one.says("your work tree is as it was")
        assert one.ends() == 0, one.text
    with ScriptedModel.start(SCRIPT) as model:
        other = Trial(tmp_path / "broken off", model)
        other.says("Press y to approve exactly this plan (")
        other.types(b"y")
        other.says("commented /approve")
        other.process.send_signal(signal.SIGINT)
        assert other.ends() == 130, other.text
        assert "The same command begins anew." in other.text and "Traceback" not in other.text
    assert list(one.temporary.iterdir()) == [] and list(other.temporary.iterdir()) == []
    (patch,) = one.out.iterdir()
    (branch,) = git(one.repository, "branch", "--list", "countersign/*", "--format", "%(refname:short)").split()
    assert git(one.repository, "diff", "HEAD", branch, "--stat").splitlines()[-1].startswith(" 2 files changed")
    assert "hello $name" in git(one.repository, "show", f"{branch}:greet.sh") and "hello $name" in patch.read_text()
    assert git(one.repository, "status", "--porcelain") == "M README.md"
    assert git(other.repository, "branch", "--list", "countersign/*") == "" and not other.out.exists()


def test_without_a_key_or_a_terminal_it_says_what_is_missing_and_begins_nothing(tmp_path):
    without = Trial(tmp_path, None)
    assert without.ends() == 2 and "ANTHROPIC_API_KEY is not set" in without.text
    words = [sys.executable, "-m", "app.cli", "try", str(without.repository), str(tmp_path / "issue.md")]
    env = dict(os.environ) | {"ANTHROPIC_API_KEY": "a key"}
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--yes" in done.stderr
