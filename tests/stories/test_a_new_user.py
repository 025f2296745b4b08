"""From nothing to a plan, as somebody does it who has read the README: real processes, and a GitHub that reaches none.

The App does not exist when this begins, nobody outside can connect to this machine, and all that is known of the
product is what it prints.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import httpx
import pytest

from app.registration import kept
from infra.scripted_model.server import ScriptedModel
from infra.twin.twin import NO_APP, Twin
from tests.fakes.greeting import FILES, ISSUE, SCRIPT
from tests.fakes.household import REPO
from tests.fakes.processes import children, told_of_each
from tests.fakes.registering import Registering
from tests.fakes.services import free_port
from worker.box.processes import Process, start_process

T = TypeVar("T")
PATIENCE_SECONDS = 120.0


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Twin]:
    """A GitHub with a repository of mira's, an issue in it, and no App."""
    made = Twin.start(tmp_path / "twin", NO_APP)
    made.control.add_user("mira")
    made.control.add_repo(REPO, FILES, collaborators={"mira": "admin"})
    made.control.open_issue(REPO, "mira", *ISSUE.split("\n", 1))
    yield made
    made.stop()


@pytest.fixture
def env(tmp_path: Path, twin: Twin) -> Iterator[dict[str, str]]:
    """What the new user has set: a model's key, where GitHub is, and nothing of an App."""
    model = ScriptedModel.start(SCRIPT)
    yield {
        "COUNTERSIGN_DATA_DIR": str(tmp_path / "data"), "PORT": str(free_port()), "GITHUB_API_URL": twin.url,
        "ANTHROPIC_API_KEY": "a key for stories", "ANTHROPIC_BASE_URL": model.url,
        "COUNTERSIGN_SWEEP_SECONDS": "0.5", "COUNTERSIGN_WATCH_SECONDS": "0.5",
    }  # fmt: skip
    model.stop()


@contextmanager
def typed(env: dict[str, str], log: Path, *words: str) -> Iterator[Process]:
    """`countersign WORDS` runs, its words going to the log; it is told to stop at the end of the block."""
    process = start_process([sys.executable, "-m", "app.cli", *words], env, log=log)
    try:
        yield process
    finally:
        process.terminate()
        if process.wait(60) is None:
            process.kill()


def printed(log: Path, pattern: str) -> str:
    """What the log says by the pattern, once it does."""
    return until(lambda: (re.findall(pattern, log.read_text("utf-8", "replace")) or [""])[-1], log)


def until(true: Callable[[], T], log: Path) -> T:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := true()):
        assert time.monotonic() < deadline, log.read_text("utf-8", "replace")[-4000:]
        time.sleep(0.05)
    return found


def memory_of(pid: int) -> bytes:
    """All that a process has in its memory and may itself read."""
    found = []
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb") as memory:
        for line in maps:
            span, rights = line.split()[:2]
            first, last = (int(one, 16) for one in span.split("-"))
            if rights.startswith("rw") and last - first < 2**30:
                with suppress(OSError, ValueError, OverflowError):
                    memory.seek(first)
                    found.append(memory.read(last - first))
    return b"".join(found)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_somebody_who_has_no_app_yet_types_up_and_reads_a_plan(twin: Twin, env: dict[str, str], tmp_path: Path) -> None:
    log, data = tmp_path / "up.log", tmp_path / "data"
    log.touch()
    with typed(env, log, "up") as up:
        mira = Registering(printed(log, r"http://\S+/setup\?key=\S+"))
        until(lambda: answers(mira.link.partition("?")[0]), log)
        mira.comes_in()
        mira.sends()
        mira.goes_to_github()
        done = mira.browser.get(mira.makes_it(twin.url))
        assert done.status_code == 200 and "/installations/new" in done.text
        # Everything goes on by itself; the App is installed as the printed words say.
        assert printed(log, r"Install it on your repositories: (\S+)").startswith(f"{twin.url}/apps/")
        link = printed(log, r"http://\S+/enter\?key=\S+")
        twin.control.install("acme")
        until(lambda: answers(link.partition("/enter")[0] + "/readyz"), log)
        twin.control.label(REPO, 1, "countersign", "mira")
        until(lambda: [one for one in twin.control.comments(REPO, 1) if "/approve" in one["body"]], log)
        browser = httpx.Client(follow_redirects=True, trust_env=False, timeout=60)
        page = browser.get(link)
        assert page.status_code == 200 and ISSUE.split("\n")[0] in page.text
        # The key is with the mint, and nowhere else: neither in what was said nor in what the web process holds.
        key = str(kept(data, "GITHUB_PRIVATE_KEY")).splitlines()[5]
        held = {name: key.encode() in memory_of(pid) for name, pid in members(up.pid).items()}
        assert held == dict.fromkeys(held, False) | {"mint": True} and held.keys() > {"web", "planner", "publisher"}
    said = log.read_text("utf-8", "replace")
    assert "Traceback" not in said
    for name in ("GITHUB_PRIVATE_KEY", "GITHUB_WEBHOOK_SECRET", "GITHUB_CLIENT_SECRET"):
        assert all(line not in said for line in str(kept(data, name)).splitlines()[-2:]), name


def members(above: int) -> dict[str, int]:
    """The product's processes below one, by what they are."""
    own = set(children(above))
    words = {pid: line.split(b"\0") for pid, line in told_of_each("cmdline") if pid in own}
    return {
        "web" if b"app.main" in told else told[-2].decode(): pid for pid, told in words.items() if len(told) > 3
    }


def answers(url: str) -> bool:
    """Whether somebody is there, whatever they say."""
    with suppress(httpx.HTTPError):
        return httpx.get(url, trust_env=False, timeout=60).status_code in (200, 403)
    return False
