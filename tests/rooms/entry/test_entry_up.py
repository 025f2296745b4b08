"""Everything on one machine, as real processes: what each holds, who is started again, and that nothing stays."""

import json
import os
import signal
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from app.core.belts import Belt
from app.ledger import open_ledger
from app.settings import web_settings
from infra.scripted_model.server import ScriptedModel
from infra.twin.twin import AppWish, Twin
from tests.fakes import canaries
from tests.fakes.collector import Collector
from tests.fakes.greeting import FILES, MAKEFILE, PLAN, SCRIPT, calls, planning, script
from tests.fakes.household import app_key
from tests.fakes.processes import children
from tests.rooms.entry.conftest import ROOT, run, runs, until
from worker.settings import beat_settings, belt_settings, mint_settings
from worker.up import HOLDS, held_by

REPO = "acme/greet"
KEY = app_key()[0]
SECRET = "a webhook secret of this test"
MODEL_KEY = "a model key of this test"
CLIENT_SECRET = "a client secret of this test"
WATCHERS = "a token of who watches this test"
COLLECTORS = "a-key-of-this-test's-collector"
NAMES = ("web", "mint", "planner", "executor", "publisher", "beat")
MARKS = {"web": "app.main", "mint": "mint", "beat": "beat", **{belt.value: belt.value for belt in Belt}}
SINCE_START = {"LC_CTYPE"}
"""What the interpreter itself adds to its environment."""


class Running:
    """`countersign up` between the twin, a scripted model and a collector of traces; a check of the repository prints
    what it should not."""

    def __init__(self, started, folder, the_script):
        port = free_port()
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        back = (f"{self.url}/sign-in/back",)
        wish = AppWish(public_key=app_key()[1], client_secret=CLIENT_SECRET, callback_urls=back)
        self.twin = twin = Twin.start(folder / "twin", wish)
        self.control = twin.control
        self.model, self.collector = ScriptedModel.start(the_script), Collector()
        self.log = folder / "up.log"
        self.env = {
            "GITHUB_API_URL": twin.url, "GITHUB_APP_ID": str(twin.app.id), "GITHUB_PRIVATE_KEY": KEY,
            "GITHUB_WEBHOOK_SECRET": SECRET, "ANTHROPIC_API_KEY": MODEL_KEY, "ANTHROPIC_BASE_URL": self.model.url,
            "COUNTERSIGN_DATA_DIR": str(folder / "data"), "PORT": str(port), "COUNTERSIGN_SWEEP_SECONDS": "0.5",
            "COUNTERSIGN_WATCH_SECONDS": "0.5", "COUNTERSIGN_LEASE_SECONDS": "2", "HOME": str(folder),
            "STRANGER": "nobody's", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "COUNTERSIGN_URL": self.url,
            "GITHUB_CLIENT_ID": twin.app.client_id, "GITHUB_CLIENT_SECRET": CLIENT_SECRET,
            "COUNTERSIGN_METRICS_TOKEN": WATCHERS, "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {COLLECTORS}", "OTEL_BSP_SCHEDULE_DELAY": "100",
        }  # fmt: skip
        self.control.set_hook(f"{self.url}/webhooks/github", SECRET)
        for login in ("mira", "olga"):
            self.control.add_user(login)
        leaking = MAKEFILE.replace("test:\n", "test:\n" + canaries.printing(MODEL_KEY, *canaries.STRANGE))
        self.control.add_repo(REPO, FILES | {"Makefile": leaking}, collaborators={"mira": "maintain"})
        self.control.install("acme")
        self.control.open_issue(REPO, "olga", "The greeting is misspelt", "greet.sh says helo.")
        self.process = started([sys.executable, "-m", "app.cli", "up"], self.env, self.log)
        until(lambda: len(self.pids()) == len(NAMES) and self.web_answers(), 60, self.log.read_text)
        self.ledger = open_ledger(f"sqlite:///{folder / 'data' / 'ledger.db'}")

    def pids(self):
        """Each process that has become what it is, by name."""
        found = {}
        for pid in children(self.process.pid):
            words = arguments(pid)
            for name, mark in MARKS.items():
                if mark in words and "fasten.py" not in " ".join(words):
                    found[name] = pid
        return found

    def web_answers(self):
        try:
            socket.create_connection(("127.0.0.1", int(self.env["PORT"])), timeout=1).close()
        except OSError:
            return False
        return True

    def state(self):
        found = self.ledger.runs()
        view = self.ledger.run(found[0].id) if found else None
        return view.state if view else None

    def comes_to(self, name, seconds=60):
        return until(lambda: (state := self.state()) and state.name == name and state, seconds, self.told)

    def plan_is_posted(self):
        """The state in which it is."""
        return until(lambda: (s := self.comes_to("proposed")).proposal.comment_id and s, 60, self.told)

    def told(self):
        return f"{self.state()}\n{self.log.read_text()[-3000:]}"

    def close(self):
        if hasattr(self, "ledger"):
            self.ledger.close()
        self.model.stop()
        self.collector.stop()
        self.twin.stop()


def arguments(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def variables(pid):
    return dict(one.split("=", 1) for one in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in one)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture
def make_running(started, tmp_path):
    made = []

    def make(the_script=SCRIPT):
        made.append(Running(started, tmp_path, the_script))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def running(make_running):
    return make_running()


@pytest.mark.needs_userns
@pytest.mark.slow
def test_a_run_through_real_processes_that_hold_only_what_is_theirs_and_do_not_outlive_their_supervisor(running):
    pids = running.pids()
    held = {name: variables(pid) for name, pid in pids.items()}
    for name in NAMES:
        extra = {"COUNTERSIGN_MINT_FD", "COUNTERSIGN_MINT_LINES_FD"} | SINCE_START
        expected = held_by(name, environment_of(running))
        assert set(held[name]) - extra == set(expected), name
        assert {key: held[name][key] for key in expected} == expected
    ours = (KEY, SECRET, MODEL_KEY, CLIENT_SECRET, WATCHERS)
    holders = {value: {name for name in NAMES if value in held[name].values()} for value in ours}
    of_web = {one: {"web"} for one in (SECRET, CLIENT_SECRET, WATCHERS)}
    assert holders == {KEY: {"mint"}, MODEL_KEY: {"planner", "executor"}, **of_web}
    seen = Overhearing(running)
    words = json.dumps({"message": f"not now: {' '.join(canaries.STRANGE)}"})
    running.control.fault("POST .*/issues/1/comments", status=502, body=words)
    running.control.label(REPO, 1, "countersign", "mira")
    plan = running.plan_is_posted().proposal.comment_id
    seen.look()
    assert not writing(running)
    running.control.react(plan, "+1", "mira")
    until(lambda: seen.look() or running.state().name == "published", 90, running.told)
    until(lambda: not running.ledger.debts() and all(one["revoked"] for one in running.control.tokens()), 30)
    (pull,) = running.control.pulls(REPO)
    assert pull["draft"] is True
    assert b"hello" in running.control.branch_files(REPO, pull["head"]["ref"])["greet.sh"]
    assert [one["repository_ids"] for one in writing(running)] == [[pull["base"]["repo"]["id"]]]
    no_canary_sings(running, seen.heard)
    tokens = [one.value for one in running.twin.forge.world.tokens.values()]
    words = " ".join(" ".join(one) for one in seen.arguments)
    assert not any(secret in words for secret in (*tokens, *ours[1:], KEY.splitlines()[5]))
    pids = children(running.process.pid)
    assert len(pids) >= len(NAMES)
    running.process.kill()
    assert running.process.wait(25) == -signal.SIGKILL
    until(lambda: not any(runs(pid) for pid in pids), 15)


def no_canary_sings(running, heard):
    """What is kept, said, sent, shown and exported holds no secret that was given to a process, and no token of the
    run. What merely has the form of one stays in the output of a check, and goes from everything that we say."""
    run_id = running.ledger.runs()[0].id
    shown = canaries.seen_by("mira", running.url, running.twin.url, run_id)
    told = httpx.get(f"{running.url}/metrics", headers={"authorization": f"Bearer {WATCHERS}"}, trust_env=False)
    assert "countersign_model_calls_total" in told.text
    folder = running.folder / "data"
    exported = run("export", env=running.env)
    assert exported.returncode == 0 and exported.stdout.count("\n") > 20, exported.stderr
    until(lambda: {one[0] for one in running.collector.taken} >= {"/v1/traces"}, 30)
    comments = running.control.comments(REPO, 1)
    said = [canaries.commented(comments), canaries.commented(running.control.pulls(REPO)), running.log.read_bytes()]
    said += [exported.stdout.encode(), told.content, *(body for _, _, body in running.collector.taken)]
    files = [path.read_bytes() for path in running.folder.rglob("*") if path.is_file() and "twin" not in path.parts]
    written = canaries.written(folder / "ledger.db")
    world = running.twin.forge
    tokens = [one.value for one in world.world.tokens.values()]
    assert len(tokens) > 8 and len(world.sign_ins.tokens) == 1
    ours = (KEY.splitlines()[5], SECRET, MODEL_KEY, CLIENT_SECRET, WATCHERS, COLLECTORS)
    for secret in (*ours, *tokens, *world.sign_ins.tokens):
        assert not canaries.heard(secret, [*said, *files, *written, *shown, *heard]), secret[:12]
    for secret in canaries.STRANGE:
        assert canaries.heard(secret, shown) and not canaries.heard(secret, said), secret[:12]


def writing(running):
    return [one for one in running.control.tokens() if one["permissions"].get("contents") == "write"]


def environment_of(running):
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)} | running.env


class Overhearing:
    """Arguments of every process below `up`, and the environments of those that are not the product's own."""

    def __init__(self, running):
        self.running, self.heard, self.arguments = running, [], []

    def look(self):
        own = set(self.running.pids().values())
        for pid in children(self.running.process.pid):
            self.arguments.append(arguments(pid))
            if pid not in own and "fasten.py" not in " ".join(arguments(pid)):
                try:
                    self.heard.append(Path(f"/proc/{pid}/environ").read_bytes())
                except OSError:
                    continue


@pytest.mark.needs_userns
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_whoever_falls_is_started_again_and_the_run_goes_on(make_running):
    """Case QU-02, the whole worker: a belt that is killed while it plans is followed by another; nothing is twice."""
    slow = planning({**calls(("list_files", {})), "delay": 3.0}, calls(("submit_plan", PLAN)))
    running = make_running(script(slow))
    before = running.pids()
    running.control.label(REPO, 1, "countersign", "mira")
    until(lambda: running.model.requests, 30, running.told)
    for name in ("planner", "web", "beat"):
        os.kill(before[name], signal.SIGKILL)
    until(lambda: {n: p for n, p in running.pids().items() if before[n] != p}.keys() >= {"planner", "web", "beat"}, 30)
    running.plan_is_posted()
    ours = [one for one in running.control.comments(REPO, 1) if one["user"]["login"].endswith("[bot]")]
    assert sum(one["body"].startswith("### Plan") for one in ours) == 1
    until(running.web_answers, 30)
    middle = running.pids()
    os.kill(middle["mint"], signal.SIGKILL)
    os.kill(middle["executor"], signal.SIGKILL)
    changed = {"mint", *(belt.value for belt in Belt)}
    until(lambda: {n for n, p in running.pids().items() if middle[n] != p} >= changed, 40, running.told)
    running.control.comment(REPO, 1, "/approve", "mira")
    running.comes_to("published")
    pids = children(running.process.pid)
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(25) == 0
    assert not any(runs(pid) for pid in pids)
    living = [one for one in running.control.tokens() if not one["revoked"]]
    # A token of the mint that was killed cannot be given back by anybody; it reads only, and the ledger names it: by
    # hash, or as one that was about to be cut when the mint was killed in just that moment.
    named = {one.token_sha256 for one in running.ledger.mints() if one.revoked_at is None}
    begun = [one.permissions for one in running.ledger.unfinished_mints(datetime.now(UTC))]
    for one in living:
        if one["token"] not in named:
            begun.remove(one["permissions"])
    assert all("write" not in one["permissions"].values() for one in living)


def test_up_says_in_one_sentence_that_a_port_or_a_folder_cannot_be_had(tmp_path):
    env = {
        "GITHUB_APP_ID": "7", "GITHUB_PRIVATE_KEY": KEY, "GITHUB_WEBHOOK_SECRET": SECRET, "ANTHROPIC_API_KEY": "x",
    }  # fmt: skip
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "data", tmp_path / "file"):
        done = run("up", env=env | {"COUNTERSIGN_DATA_DIR": str(folder)})
        assert done.returncode == 2 and "COUNTERSIGN_DATA_DIR" in done.stderr and "Traceback" not in done.stderr


def test_every_variable_that_a_process_may_hold_is_written_down_once():
    assert set(HOLDS) == set(NAMES)
    assert all(len(names) == len(set(names)) for names in HOLDS.values())


class Listening(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, held: dict[str, str]) -> None:
        super().__init__(held)
        self.asked: set[str] = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


HANDED_IN = {"COUNTERSIGN_MINT_FD", "COUNTERSIGN_MINT_LINES_FD"}
SPREAD_OUT = {"COUNTERSIGN_MINT_LISTEN", "COUNTERSIGN_MINT", "COUNTERSIGN_MINT_CREDENTIAL"} | {
    f"COUNTERSIGN_MINT_CREDENTIAL_{belt.upper()}" for belt in Belt
}
"""How belts find a mint on another machine; here they have a line to it."""


@pytest.mark.parametrize("name", NAMES)
def test_each_process_gets_every_setting_that_it_reads(tmp_path, name):
    """One that it did not get would count as unset: a bound that nobody heard of."""
    env = {"GITHUB_APP_ID": "7", "GITHUB_PRIVATE_KEY": KEY, "GITHUB_WEBHOOK_SECRET": SECRET}
    env |= {"ANTHROPIC_API_KEY": MODEL_KEY, "COUNTERSIGN_DATA_DIR": str(tmp_path)}
    listening = Listening(held_by(name, env) | {"COUNTERSIGN_MINT_FD": "3", "COUNTERSIGN_MINT_LINES_FD": "3"})
    reads = {"web": web_settings, "mint": mint_settings, "beat": beat_settings}
    reads.get(name, lambda given: belt_settings(Belt(name), given))(listening)
    strangers = {"GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH", "GITHUB_WEBHOOK_SECRET", "ANTHROPIC_API_KEY"}
    # The publisher runs nothing and keeps no mirror, whatever these say.
    strangers |= {"COUNTERSIGN_BWRAP", "COUNTERSIGN_MIRROR_GB", "COUNTERSIGN_ENVIRONMENTS_GB"} - set(HOLDS[name])
    got = set(held_by(name, dict.fromkeys(listening.asked, "x")))
    assert listening.asked - got - HANDED_IN - SPREAD_OUT - strangers == set()
