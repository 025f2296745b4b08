"""The demo as it is typed: a real package mended from label to draft, by itself and beside another demo."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from infra.demo.__main__ import main
from infra.demo.fetch_input import Archive, InputUnavailable, fetch_input
from infra.scripted_model.server import ScriptedModel
from tests.conftest import leave_out
from tests.fakes.greeting import FILES, ISSUE, SCRIPT
from tests.fakes.processes import told_of_each

ROOT = Path(__file__).resolve().parents[3]
LATER = Archive("humanize", "4.16.0", "7dc2244a2f84a4bfb1d36c37bac80cd78e35cdc5c119206d87b018e1445f3a3f")
"""The release in which upstream had mended the defect, with the tests that it wrote for it."""
FIELDS = {
    "run", "repository", "issue", "model", "state", "facts", "plan", "digest", "approver", "branch", "commit",
    "pull_request", "tokens", "seconds", "memory_kb", "cost",
}  # fmt: skip
PROCESSES = {"web", "mint", "planner", "executor", "publisher", "beat"}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A cache that holds the demo's input."""
    folder = tmp_path_factory.mktemp("cache")
    try:
        fetch_input(folder / "countersign")
    except InputUnavailable as reason:
        leave_out(str(reason))
    return folder


HEEDING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""A suite that was started in the background does not heed Ctrl-C, and so would all that it starts."""


class Demo:
    """`countersign demo WORDS`, with its own temporary folder."""

    def __init__(self, folder, *words, **env):
        self.temporary = folder
        folder.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "COUNTERSIGN"))}
        self.log = folder.with_suffix(".log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", HEEDING, "-m", "app.cli", "demo", *words],
                env=kept | {"TMPDIR": str(folder), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | env,
                cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def ends(self, seconds=180):
        try:
            return self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def says(self, words, seconds=60):
        deadline = time.monotonic() + seconds
        while words not in self.said() and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert words in self.said(), self.said()

    def said(self):
        return self.log.read_text("utf-8")


@pytest.fixture
def demo(tmp_path):
    made = []

    def start(*words, **env):
        made.append(Demo(tmp_path / f"demo-{len(made)}", *words, **env))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                one.process.wait(20)
            one.process.kill()
            one.process.wait()


def left_of(session):
    """Processes of the demo's session, or started by it in sessions of their own."""
    return [pid for pid, environment in told_of_each("environ") if str(session.temporary).encode() in environment]


@pytest.mark.needs_userns
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_real_package_is_mended_beside_a_repository_of_ones_own(demo, cache, tmp_path):
    out = tmp_path / "out"
    model = ScriptedModel.start(SCRIPT)
    try:
        beside = demo(*own_greeting(tmp_path), **real(model), **ASTRAY)
        alone = demo("--auto", "--out", str(out), XDG_CACHE_HOME=str(cache))
        check_own(beside, model)
        assert alone.ends() == 0, alone.said()
    finally:
        model.stop()
    assert alone.said().startswith("No model key is set: a SCRIPTED model plays")
    assert "Traceback" not in alone.said() and "Draft pull request #2" in alone.said()
    result = json.loads((out / "result.json").read_text("utf-8"))
    check_result(result)
    check_journal(result, json.loads((out / "journal.json").read_text("utf-8")))
    check_branch(result, out / "repo.git", cache, tmp_path)
    for one in (alone, beside):
        assert list(one.temporary.iterdir()) == [] and left_of(one) == []


def check_own(one, model):
    """It waits for its person, begins nothing before, plans by real models, and ends at Ctrl-C."""
    one.says("Ctrl-C ends everything.")
    assert one.said().startswith("ANTHROPIC_API_KEY is set: real models do the work, and cost money.")
    assert "a run begins" not in one.said() and not model.requests
    page = re.search(r"Issue 1 of demo/my-greet: (\S+)", one.said())[1]
    deed = {"deed": "label", "label": "countersign", "as_login": "maintainer", "repo": "demo/my-greet", "number": "1"}
    with httpx.Client(trust_env=False, timeout=20) as browser:
        assert ISSUE.splitlines()[0] in browser.get(page).text
        assert browser.post(urljoin(page, "/_twin/act"), data=deed).status_code == 303
    one.says("A comment was written: plan.")
    one.process.send_signal(signal.SIGINT)
    assert one.ends(100) == 0, one.said()
    assert one.said().endswith("Everything has ended.\n") and "Traceback" not in one.said()


ASTRAY = {"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1", "COUNTERSIGN_LABEL": "other"}
"""What is set for other things must not lead astray."""


def real(model):
    """A demo asks this model as if it were a real one."""
    return {"ANTHROPIC_API_KEY": "a key", "ANTHROPIC_BASE_URL": model.url}


def own_greeting(tmp_path):
    """The words that name a repository and an issue of one's own."""
    repository, issue = tmp_path / "my greet", tmp_path / "issue.md"
    for path, content in FILES.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(content)
    issue.write_text(ISSUE)
    return "--repo", str(repository), "--issue", str(issue)


def check_result(result):
    assert result.keys() >= FIELDS
    assert (result["state"], result["model"]) == ("published", "scripted")
    kinds = [fact["kind"] for fact in result["facts"]]
    order = ("labelled", "plan_drafted", "command_given", "steps_done", "draft_opened")
    assert [kind for kind in kinds if kind in order] == list(order)
    assert result["plan"]["schema"] == "countersign.plan/1" and len(result["digest"]) == 64
    assert result["approver"]["person"]["login"] == "maintainer"
    assert result["pull_request"] == {"number": 2, "draft": True}
    assert result["memory_kb"]["idle"].keys() == PROCESSES == result["memory_kb"]["after"].keys()
    assert all(kb > 1_000 for kb in result["memory_kb"]["after"].values())
    for phase in ("label to plan comment", "approve to draft"):
        times = result["seconds"][phase]
        assert times["whole"] >= times["outside_model"] >= times["outside_model_and_checks"] > 0
    for token in result["tokens"]:
        assert {"belt", "purpose", "permissions", "repository_id", "repository", "seconds"} <= token.keys()
        assert token["repository"] == "demo/humanize"
        assert token["refused"] or (token["seconds"] is not None and token["seconds"] < 60)


def check_journal(result, journal):
    """What the look-alike itself wrote down: nothing could write contents before the approval, nothing can now."""
    approved = datetime.fromisoformat(result["approver"]["approved_at"]).timestamp()
    could_write = [one for one in journal if (one["permissions"] or {}).get("contents") == "write"]
    assert could_write and min(one["at"] for one in could_write) > approved
    changing = [one for one in journal if "/git/" in one["path"] and one["method"] in {"POST", "PATCH"}]
    assert changing and {one["token"] for one in changing} == {one["token"] for one in could_write}
    used = {one["token"] for one in journal if one["token"]}
    revoked = {one["token"] for one in journal if one["path"] == "/installation/token" and one["status"] == 204}
    assert used == revoked
    cut = [one for one in journal if one["path"].endswith("/access_tokens") and one["status"] == 201]
    told = [token for token in result["tokens"] if not token["refused"]]
    assert len(cut) == len(told) and {token["sha256"] for token in told} == revoked
    writers = [token for token in told if token["permissions"].get("contents") == "write"]
    assert [(token["belt"], token["purpose"]) for token in writers] == [("publisher", "open_draft")]
    assert datetime.fromisoformat(writers[0]["minted_at"]).timestamp() > approved


def check_branch(result, repository, cache, tmp_path):
    """Upstream's later tests for the defect pass on the branch, and did not pass before it."""
    later = fetch_input(cache / "countersign", LATER)
    parent = f"{result['commit']}^"
    for commit, passes in ((parent, False), (result["commit"], True)):
        copy = tmp_path / ("after" if passes else "before")
        copy.mkdir()
        packed = subprocess.run(["git", "archive", commit], cwd=repository, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(copy)], input=packed, check=True)
        shutil.copyfile(later / "tests" / "test_filesize.py", copy / "tests" / "test_filesize.py")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_filesize.py"]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{copy / 'src'}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(words, cwd=copy, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is passes, done.stdout


def own(tmp_path, issue=b"A title\n\nText", files=("a.txt",)):
    folder = tmp_path / "own"
    folder.mkdir()
    for name in files:
        (folder / name).write_text("x")
    (tmp_path / "issue.md").write_bytes(issue)
    return ["--repo", str(folder), "--issue", str(tmp_path / "issue.md")]


KEY = {"ANTHROPIC_API_KEY": "a key"}
REFUSED = {
    "a repository without an issue": (lambda at: own(at)[:2], KEY, "--repo and --issue go together"),
    "an issue without a repository": (lambda at: own(at)[2:], KEY, "--repo and --issue go together"),
    "a place for the result of nothing": (lambda at: ["--out", str(at / "out")], {}, "--out goes with --auto"),
    "no key": (own, {}, "--repo needs real models: set ANTHROPIC_API_KEY"),
    "no folder": (lambda at: ["--repo", str(at / "no"), *own(at)[2:]], KEY, "is not a folder"),
    "an empty folder": (lambda at: own(at, files=()), KEY, "is empty"),
    "no issue": (lambda at: [*own(at)[:3], str(at / "no.md")], KEY, "no.md cannot be read: No such file"),
    "an empty issue": (lambda at: own(at, b" \n#\n"), KEY, "is empty. Its first line is the issue's title"),
    "an issue that is no text": (lambda at: own(at, b"\xff\xfe\x00"), KEY, "is not UTF-8 text"),
    "a port that is none": (lambda at: [], {"PORT": "http"}, "PORT is 'http'"),
    "a place that cannot be made": (lambda at: ["--auto", "--out", "/dev/null/x"], {}, "Nothing can be left in"),
}


@pytest.fixture
def temporary(tmp_path):
    """Where temporary files of this process go; signals are afterwards taken as they were."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    usual, tempfile.tempdir = tempfile.tempdir, str(folder)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield folder
    tempfile.tempdir = usual
    for number, taken in before.items():
        signal.signal(number, taken)


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_played_is_refused_in_one_sentence(temporary, tmp_path, monkeypatch, capsys, what):
    make, env, words = REFUSED[what]
    for name in [*os.environ]:
        if name.startswith(("ANTHROPIC", "COUNTERSIGN")):
            monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(make(tmp_path)) == 2
    said = "".join(capsys.readouterr())
    assert words in said and "Traceback" not in said
    assert list(temporary.iterdir()) == []


def test_a_port_that_another_has_is_said_so(demo):
    with socket.create_server(("127.0.0.1", 0)) as other:
        one = demo(PORT=str(other.getsockname()[1]))
        assert one.ends(100) == 2 and "cannot be had" in one.said() and "set another PORT" in one.said()
    assert "Traceback" not in one.said() and list(one.temporary.iterdir()) == []


def test_an_index_out_of_reach_is_said_and_a_repository_of_one_s_own_offered(demo, tmp_path):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}
    one = demo("--auto", XDG_CACHE_HOME=str(tmp_path / "cache"), PIP_EXTRA_INDEX_URL="", PIP_FIND_LINKS="", **nowhere)
    assert one.ends(200) == 2
    assert "could not be fetched from the package index" in one.said() and "--repo PATH" in one.said()
    assert "Traceback" not in one.said() and list(one.temporary.iterdir()) == []


def test_ctrl_c_while_it_begins_leaves_nothing_and_an_unattended_demo_says_it_was_interrupted(demo, cache):
    one = demo("--auto", XDG_CACHE_HOME=str(cache))
    deadline = time.monotonic() + 30
    while not list(one.temporary.glob("*/logs/mint.log")) and time.monotonic() < deadline:
        time.sleep(0.02)
    one.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    one.process.send_signal(signal.SIGINT)
    assert one.ends(110) == 130, one.said()
    assert list(one.temporary.iterdir()) == [] and left_of(one) == [] and "Traceback" not in one.said()
