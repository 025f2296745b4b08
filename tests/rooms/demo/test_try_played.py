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
from infra.twin.apps import mint
from infra.twin.twin import Twin
from tests.fakes.greeting import FILES, ISSUE, PLAN, SCRIPT, calls, planning, script
from tests.fakes.processes import told_of_each

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[3]


ASKS = planning(calls(("ask_author", {"questions": ["Which spelling does the school of greeting want?"]})))
ANSWERED = planning(calls(("submit_plan", PLAN)), about=("two letters l",))


def environment(temporary, model, **more):
    """What the command is started with: nothing that is set here for other things, and its own temporary folder."""
    strange = ("ANTHROPIC", "COUNTERSIGN", "GITHUB_", "GH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    if model is not None:
        more |= {"ANTHROPIC_API_KEY": "a key", "ANTHROPIC_BASE_URL": model.url}
    return kept | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "TERM": "xterm"} | more


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
        ours, theirs = pty.openpty()
        self.terminal, self.text = ours, ""
        command = [sys.executable, "-c", HEEDING, "-m", "app.cli", "try", str(self.repository)]
        self.process = subprocess.Popen(
            [*command, str(folder / "issue.md"), "--out", str(self.out), *words],
            env=environment(self.temporary, model), cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
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
        assert "planner: investigates and plans (" in one.text and "model calls, $" in one.text
        one.types(b"y")
        one.says("your work tree is as it was")
        assert one.ends() == 0, one.text
    with ScriptedModel.start(script(ANSWERED, ASKS)) as model:
        other = Trial(tmp_path / "broken off", model)
        other.says("Your answer, in one line")
        assert "Which spelling does the school of greeting want?" in other.text
        other.types(b"It has two letters l.\n")
        other.says("Press y to approve exactly this plan (")
        other.types(b"y")
        other.says("commented /approve")
        other.process.send_signal(signal.SIGINT)
        assert other.ends() == 130, other.text
        assert "nothing was changed or kept. The same command begins anew." in other.text
        assert "Traceback" not in other.text and other.text.count("\x1b[?25l") == other.text.count("\x1b[?25h")
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
    env = environment(without.temporary, None) | {"ANTHROPIC_API_KEY": "a key"}
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--yes" in done.stderr


@pytest.fixture
def private(tmp_path):
    """A private repository on GitHub, as the look-alike has it, whose policy lets nothing be written; and a token."""
    twin = Twin.start(tmp_path / "twin")
    for login in ("mira", "olga"):
        twin.control.add_user(login)
    files = FILES | {".github/countersign.yml": "mode: staged\n"}
    twin.control.add_repo("octo/greet", files, collaborators={"mira": "maintain", "olga": "read"}, private=True)
    title, _, body = ISSUE.partition("\n")
    twin.control.open_issue("octo/greet", "olga", title, body)
    twin.control.comment("octo/greet", 1, "/approve", "mira")
    twin.control.install("octo")
    (installation,) = twin.forge.world.installations.values()
    reads = {"contents": "read", "issues": "read", "metadata": "read"}
    yield twin, mint(twin.forge.world, installation, {"permissions": reads}, None).value
    twin.stop()


def test_an_issue_of_github_is_tried_by_a_script_with_a_token_that_no_other_process_and_no_file_has(private, tmp_path):
    (twin, own), out, temporary, log = private, tmp_path / "out", tmp_path / "temporary", tmp_path / "log"
    temporary.mkdir()
    more = {"GITHUB_API_URL": twin.url, "GH_ENTERPRISE_TOKEN": own}
    command = [sys.executable, "-m", "app.cli", "try", "octo/greet#1", "--yes", "--out", str(out)]
    with ScriptedModel.start(SCRIPT) as model, log.open("wb") as to:
        one = subprocess.Popen(
            command, env=environment(temporary, model, **more), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=to,
            stderr=to, start_new_session=True,
        )  # fmt: skip
        try:
            until = time.monotonic() + 200
            while "There is a plan" not in log.read_text() and one.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            holders = {pid for pid, text in told_of_each("environ") if own.encode() in text}
            known = [path for path in temporary.rglob("*") if path.is_file() and own.encode() in path.read_bytes()]
            assert one.wait(200) == 0, log.read_text()
        finally:
            one.kill()
            one.wait()
    said = log.read_text()
    assert holders == {one.pid} and known == [] and own not in said and "Traceback" not in said
    assert "nothing was written, since the run is staged" in said and "\x1b" not in said
    assert "  planner: investigates and plans (" in said and "  executor: carries out the plan in the box (" in said
    (patch,), clone = out.glob("*.patch"), out / "greet-issue-1"
    assert f"The clone is {clone}, one commit deep" in said and "Nothing went to GitHub." in said
    (branch,) = git(clone, "branch", "--list", "countersign/*", "--format", "%(refname:short)").split()
    assert f"It is the branch {branch} as well" in said and "hello $name" in patch.read_text()
    assert "hello $name" in git(clone, "show", f"{branch}:greet.sh") and git(clone, "status", "--porcelain") == ""
    assert git(clone, "rev-parse", "main") == twin.control.branches("octo/greet")["main"]
    journal = twin.control.journal()
    assert {one["path"] for one in journal if one["method"] != "GET"} == {"/octo/greet.git/git-upload-pack"}
    assert len(twin.control.comments("octo/greet", 1)) == 1 and list(temporary.iterdir()) == []
