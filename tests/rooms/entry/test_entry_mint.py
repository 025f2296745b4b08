"""The mint as a process: keys in every form, a clock that is fast, and an end that leaves no token."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from app.core.belts import Belt, EffectKind
from tests.fakes import canaries
from tests.fakes.household import app_key
from tests.rooms.entry.conftest import ROOT, until
from tests.rooms.mint.conftest import Desk
from worker.mint.caller import MintCaller, MintDenied
from worker.mint.wire import Token

KEY = app_key()[0]
FORMS = {"one line": KEY.strip().replace("\n", "\\n"), "in quotes": f'"{KEY}"'}


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.close()


class MintProcess:
    """`countersign mint` with one line for each belt, as `up` starts it."""

    def __init__(self, desk, started, key):
        env = {
            "GITHUB_API_URL": desk.twin.url, "GITHUB_APP_ID": str(desk.twin.app.id), "GITHUB_PRIVATE_KEY": key,
            "DATABASE_URL": f"sqlite:///{desk.folder / 'ledger.db'}", "COUNTERSIGN_DATA_DIR": str(desk.folder),
        }  # fmt: skip
        self.control, theirs = socket.socketpair()
        self.log = desk.folder / "mint.log"
        env["COUNTERSIGN_MINT_LINES_FD"] = str(theirs.fileno())
        words = [sys.executable, "-m", "worker.main", "mint"]
        self.process = started(words, env, self.log, pass_fds=(theirs.fileno(),))
        theirs.close()
        self.lines = []

    def line(self, belt):
        ours, mints = socket.socketpair()
        with mints:
            socket.send_fds(self.control, [belt.value.encode()], [mints.fileno()])
        # A line that is forgotten ends, and its tokens with it.
        self.lines.append(MintCaller(ours))
        return self.lines[-1]


def cut(desk, mint, belt=Belt.PLANNER) -> Token:
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    return mint.line(belt).cut(claim.run, claim.effect_id, claim.fence)


@pytest.mark.parametrize("form", FORMS)
def test_the_mint_cuts_tokens_with_a_key_in_any_form_and_never_prints_it(desk, started, form):
    mint = MintProcess(desk, started, FORMS[form])
    token = cut(desk, mint)
    assert token.permissions["contents"] == "read"
    said = mint.log.read_text()
    assert KEY.splitlines()[5] not in said and token.value not in said
    assert KEY.splitlines()[5] not in " ".join(arguments(mint.process.pid))


def test_what_github_puts_into_an_error_is_told_to_no_belt_written_to_no_log_and_kept_nowhere_where_it_is_a_secret(
    desk, started
):
    mint = MintProcess(desk, started, KEY)
    words = json.dumps({"message": f"not like that: {' '.join(canaries.STRANGE)}"})
    desk.control.fault("POST .*/access_tokens", status=422, body=words)
    with pytest.raises(MintDenied) as refused:
        cut(desk, mint)
    told = refused.value.reason
    assert "not like that: [removed]" in told
    said = [told.encode(), refused.value.remedy.encode(), mint.log.read_bytes()]
    said += canaries.written(desk.folder / "ledger.db")
    for secret in (*canaries.STRANGE, KEY.splitlines()[5]):
        assert not canaries.heard(secret, said), secret[:12]


def arguments(pid):
    return open(f"/proc/{pid}/cmdline").read().split("\0")


def test_a_clock_that_is_45_seconds_fast_is_still_believed(desk, started):
    # The twin refuses an issue time that lies in its future, and its clock is behind ours.
    desk.control.set_clock(-45)
    assert cut(desk, MintProcess(desk, started, KEY)).value


def test_told_to_stop_the_mint_ends_every_token_even_where_github_falters(desk, started):
    mint = MintProcess(desk, started, KEY)
    cut(desk, mint)
    cut(desk, mint)
    desk.control.fault("DELETE /installation/token", status=502, times=2)
    mint.process.send_signal(signal.SIGTERM)
    assert mint.process.wait(15) == 0
    assert desk.living() == [] and desk.ledger.live_mints(desk.now()) == ()


def test_a_mint_whose_github_is_gone_ends_in_time_and_says_which_tokens_live_on(desk, started):
    mint = MintProcess(desk, started, KEY)
    cut(desk, mint)
    desk.control.fault("DELETE /installation/token", status=503, times=10_000)
    began = time.monotonic()
    mint.process.send_signal(signal.SIGTERM)
    assert mint.process.wait(15) == 0
    assert time.monotonic() - began < 12
    assert "1 tokens live on" in mint.log.read_text() and "is not revoked after" in mint.log.read_text()
    (kept,) = desk.ledger.live_mints(datetime.now(UTC) + timedelta(seconds=1))
    assert kept.id in mint.log.read_text()


def test_a_belt_whose_mint_has_fallen_ends_so_that_it_can_be_given_a_new_line(desk, started, tmp_path):
    ours, theirs = socket.socketpair()
    env = {
        "GITHUB_API_URL": desk.twin.url, "DATABASE_URL": f"sqlite:///{desk.folder / 'ledger.db'}",
        "COUNTERSIGN_DATA_DIR": str(tmp_path / "d"), "COUNTERSIGN_MINT_FD": str(theirs.fileno()),
    }  # fmt: skip
    words = [sys.executable, "-m", "worker.main", "worker", "publisher"]
    log = tmp_path / "publisher.log"
    run = desk.label()
    belt = started(words, env, log, pass_fds=(theirs.fileno(),))
    theirs.close()
    ours.close()
    # A sweep finds what is owed; its question finds the line broken.
    ring = (
        "from app.queue import *; from app.settings import *; from app.core.belts import Belt; import os;"
        "Doorbell(make_celery(queue_settings(environment()))).sweep(Belt.PUBLISHER)"
    )
    rung = subprocess.run(
        [sys.executable, "-c", ring], env=os.environ | env, cwd=ROOT, check=True, capture_output=True, timeout=60
    )
    assert rung.returncode == 0 and desk.view(run).effects
    until(lambda: belt.poll() is not None, 40, log.read_text)
    assert belt.returncode == 0, log.read_text()
