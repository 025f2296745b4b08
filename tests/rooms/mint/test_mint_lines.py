"""The lines to the mint: who is believed, and what garbage, silence and crowds do to it."""

import hashlib
import hmac
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.belts import Belt, EffectKind
from tests.fakes.household import app_key
from worker.mint import wire
from worker.mint.caller import MintCaller, MintDenied, MintUnreachable
from worker.mint.serve import MOST_GREETINGS, MOST_LINES, MintServer

CREDENTIALS = {belt: f"{belt} and a credential of its own" for belt in Belt}


@pytest.fixture
def door(desk):
    """Address of a mint that listens."""
    return desk.serve().listen(("127.0.0.1", 0), CREDENTIALS)


def frame(word):
    content = json.dumps(word).encode() if isinstance(word, dict) else word
    return struct.pack(">I", len(content)) + content


def hear(sock, seconds=5.0):
    """The next answer as JSON; None where the line was closed."""
    sock.settimeout(seconds)
    try:
        head = sock.recv(4, socket.MSG_WAITALL)
        return json.loads(sock.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL)) if len(head) == 4 else None
    except ConnectionError:
        return None


def proof(credential, nonce):
    return hmac.new(credential.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def dialled(door, tries=3):
    """A planner's line; dialled again as a belt does, since behind a crowd a slow machine takes longer than a dial."""
    try:
        return MintCaller.over_network(door, "planner", CREDENTIALS[Belt.PLANNER])
    except MintUnreachable:
        if tries == 1:
            raise
        return dialled(door, tries - 1)


def is_served(desk, door):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    caller = dialled(door)
    return caller.cut(claim.run, claim.effect_id, claim.fence).permissions["contents"] == "read"


def is_served_soon(desk, door):
    """As `is_served`; who waits behind a crowd for longer than a dial lasts dials again, as belts do."""
    for _ in range(2):
        with suppress(MintUnreachable):
            return is_served(desk, door)
    return is_served(desk, door)


# -- who is believed ----------------------------------------------------------------------------------------


def test_a_belt_is_known_by_the_socket_that_it_inherited(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    executor, _ = desk.line(Belt.EXECUTOR)
    with pytest.raises(MintDenied, match="not the executor's"):
        executor.cut(claim.run, claim.effect_id, claim.fence)
    planner, _ = desk.line(Belt.PLANNER)
    token = planner.cut(claim.run, claim.effect_id, claim.fence)
    with pytest.raises(MintDenied, match="not the planner's"):
        planner.watch(desk.installation_id, [desk.repository_id])
    planner.release(token)
    assert desk.living() == []


def test_over_the_network_each_belt_proves_itself_with_its_own_credential(desk, door):
    assert is_served(desk, door)
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    executor = MintCaller.over_network(door, "executor", CREDENTIALS[Belt.EXECUTOR])
    with pytest.raises(MintDenied, match="not the executor's"):
        executor.cut(claim.run, claim.effect_id, claim.fence)


@pytest.mark.parametrize(
    ("belt", "credential"),
    [("planner", CREDENTIALS[Belt.EXECUTOR]), ("planner", ""), ("mint", CREDENTIALS[Belt.PLANNER]), ("", "")],
)
def test_a_wrong_credential_is_not_accepted(door, belt, credential):
    with pytest.raises(MintUnreachable, match="did not accept"):
        MintCaller.over_network(door, belt, credential).watch(1, [1])


def test_a_proof_that_was_overheard_proves_nothing_on_another_line(desk, door):
    with socket.create_connection(door) as first, socket.create_connection(door) as second:
        heard = []
        for sock in (first, second):
            sock.sendall(frame({"kind": "hello", "belt": "planner"}))
            heard.append(hear(sock)["nonce"])
        assert heard[0] != heard[1] and len(heard[0]) >= 64
        mac = proof(CREDENTIALS[Belt.PLANNER], heard[0])
        first.sendall(frame({"kind": "proof", "mac": mac}))
        assert hear(first)["kind"] == "done"
        second.sendall(frame({"kind": "proof", "mac": mac}))
        assert hear(second)["kind"] == "denied" and hear(second) is None
    assert is_served(desk, door)


def test_nothing_is_answered_before_the_proof(desk, door):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    cut = {"kind": "cut", "run": claim.run, "effect_id": claim.effect_id, "fence": claim.fence}
    for words in ([cut, cut], [{"kind": "proof", "mac": "00"}, cut], [{"kind": "hello", "belt": "planner"}, cut]):
        with socket.create_connection(door) as sock:
            for word in words:
                sock.sendall(frame(word))
            answers = [hear(sock), hear(sock), hear(sock)]
        assert {one["kind"] for one in answers if one} <= {"challenge", "denied"} and answers[-1] is None
    assert desk.tokens() == []


@pytest.mark.parametrize("mac", ["", "ö" * 64, "\x00", "f" * 63])
def test_an_odd_proof_is_refused_like_any_other(door, mac):
    with socket.create_connection(door) as sock:
        sock.sendall(frame({"kind": "hello", "belt": "planner"}))
        assert hear(sock)["kind"] == "challenge"
        sock.sendall(frame({"kind": "proof", "mac": mac}))
        assert hear(sock)["kind"] == "denied"


def test_a_line_for_a_belt_that_there_is_not_is_not_taken_and_the_next_one_is(desk):
    control, theirs = socket.socketpair()
    desk.serve().take_lines(theirs.detach())
    for name in (b"mint", b"\xff\xfe"):
        ours, mints = socket.socketpair()
        with mints:
            socket.send_fds(control, [name], [mints.fileno()])
        assert hear(ours) is None
    ours, mints = socket.socketpair()
    with mints:
        socket.send_fds(control, [b"planner"], [mints.fileno()])
    with pytest.raises(MintDenied, match="no such run"):
        MintCaller(ours).cut("r-nowhere", 1, 1)


# -- garbage, silence and crowds ----------------------------------------------------------------------------

GARBAGE = {
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no JSON": frame(b"{"),
    "an empty frame": struct.pack(">I", 0),
    "nested deep": frame(b"[" * 60_000),
    "an unknown word": frame({"kind": "give", "all": True}),
    "one field too many": frame({"kind": "hello", "belt": "planner", "admin": True}),
    "a number that no database holds": frame({"kind": "watch", "installation_id": 1, "repository_ids": [2**80]}),
    "a number below nothing": frame({"kind": "cut", "run": "r", "effect_id": -1, "fence": 1}),
    "a name without end": frame({"kind": "cut", "run": "r" * 5_000, "effect_id": 1, "fence": 1}),
    "not UTF-8": frame(b'{"kind": "hello", "belt": "\xff"}'),
}


def say_and_stop(sock, content):
    # The mint may have hung up before the last byte: that is what these tests are about.
    with suppress(OSError):
        sock.sendall(content)
        sock.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_ends_the_line_and_nothing_else(desk, door, what, said):
    with socket.create_connection(door) as sock:
        say_and_stop(sock, GARBAGE[what])
        assert hear(sock) is None
    _, ours = desk.line(Belt.PLANNER)
    say_and_stop(ours, GARBAGE[what])
    answer = hear(ours)
    assert answer is None or answer["kind"] == "denied"
    assert is_served(desk, door)
    assert "Traceback" not in said()


@pytest.mark.parametrize("length", [wire.MAX_FRAME + 1, 2**32 - 1])
def test_a_frame_that_is_too_long_is_not_waited_for(desk, length):
    _, ours = desk.line(Belt.PLANNER)
    ours.sendall(struct.pack(">I", length))
    assert hear(ours, wire.FRAME_SECONDS / 2) is None


def test_a_caller_that_leaves_before_its_answer_leaves_no_token_behind(desk):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    _, ours = desk.line(Belt.PLANNER)
    cut = {"kind": "cut", "run": claim.run, "effect_id": claim.effect_id, "fence": claim.fence}
    desk.control.fault("POST /app/installations", mode="delay", seconds_before=0.3)
    ours.sendall(frame(cut))
    ours.close()
    deadline = time.monotonic() + 5
    while not (desk.tokens() and not desk.living()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(desk.tokens()) == 1 and desk.living() == []


CROWD = """
import socket, sys
crowd = []
for _ in range(1_000):
    try:
        crowd.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1))
    except OSError:
        pass  # Faster than they can be taken, the kernel lets some wait.
print(len(crowd), flush=True)
sys.stdin.read()
"""


def test_a_thousand_connections_neither_crash_the_mint_nor_keep_a_belt_out(desk, door):
    words = [sys.executable, "-c", CROWD, str(door[1])]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as crowd:
        assert int(crowd.stdout.readline()) > 500
        assert sum(thread.name == "caller" for thread in threading.enumerate()) <= MOST_GREETINGS
        assert is_served_soon(desk, door)
        crowd.stdin.close()
    assert is_served(desk, door)


def test_a_belt_s_lines_are_bounded_and_the_oldest_one_ends(desk, door):
    callers = [MintCaller.over_network(door, "planner", CREDENTIALS[Belt.PLANNER]) for _ in range(MOST_LINES + 1)]
    for caller in callers:
        with pytest.raises(MintDenied):
            caller.cut("r-nowhere", 1, 1)
    with pytest.raises(MintUnreachable):
        callers[0].cut("r-nowhere", 1, 1)
    with pytest.raises(MintDenied):
        callers[-1].cut("r-nowhere", 1, 1)


def test_a_belt_dials_again_after_the_mint_was_away(desk, door):
    caller = MintCaller.over_network(("127.0.0.1", 1), "planner", "x")
    with pytest.raises(MintUnreachable, match="cannot be reached"):
        caller.watch(1, [1])
    away = desk.serve()
    address = away.listen(("127.0.0.1", 0), CREDENTIALS)
    caller = MintCaller.over_network(address, "planner", CREDENTIALS[Belt.PLANNER])
    with pytest.raises(MintDenied):
        caller.watch(1, [1])
    away.stop()
    caller._sock.close()
    with pytest.raises(MintUnreachable):
        caller.watch(1, [1])
    MintServer(desk.mint).listen(address, CREDENTIALS)
    with pytest.raises(MintDenied):
        caller.watch(1, [1])


def test_an_inherited_line_that_broke_is_told_so_that_the_belt_can_end(desk):
    ours, theirs = socket.socketpair()
    lost = threading.Event()
    caller = MintCaller.inherited(ours.detach(), lost.set)
    theirs.close()
    for _ in range(2):
        with pytest.raises(MintUnreachable):
            caller.watch(1, [1])
    assert lost.is_set()


def test_a_frame_that_comes_byte_by_byte_does_not_hold_the_line_for_long():
    ours, theirs = socket.socketpair()
    over = threading.Event()

    def drip():
        while not over.wait(0.05):
            try:
                theirs.send(b"\x00")
            except OSError:
                return

    theirs.sendall(struct.pack(">I", 60_000))
    threading.Thread(target=drip, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(wire.WireBroken, match="timed out"):
        wire._exactly(ours, 60_000, began + 0.4)
    assert time.monotonic() - began < 2
    over.set()


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_word_or_a_broken_line(content):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(content)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(wire.WireBroken):
            wire.receive(ours, wire.ASKED, 1.0)


WORDS = [
    wire.Hello(belt="planner"), wire.Proof(mac="00"), wire.Cut(run="r", effect_id=2**53 - 1, fence=1),
    wire.Watch(installation_id=7, repository_ids=(2**40,)), wire.Release(mint_id="ü"),
]  # fmt: skip


def test_every_word_arrives_as_it_was_sent():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for word in WORDS:
            wire.send(theirs, word)
            assert wire.receive(ours, wire.ASKED, 1.0) == word


# -- secrets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["stateless", "classic"])
def test_no_token_key_or_credential_is_in_a_log_an_exception_or_the_ledger(desk, door, said, form):
    desk.control.set_tokens(format=form)
    claims = [desk.claim(desk.label(), EffectKind.DRAFT_PLAN) for _ in range(2)]
    caller = MintCaller.over_network(door, "planner", CREDENTIALS[Belt.PLANNER])
    secrets = [caller.cut(claims[0].run, claims[0].effect_id, claims[0].fence).value]
    told = [repr(caller), repr(desk.mint.__dict__), repr(desk.mint._purse._living)]
    desk.control.fault("DELETE /installation/token", status=500, times=4, body=secrets[0])
    desk.control.fault("POST /app/installations", status=422, body=json.dumps({"message": f"no {secrets[0]}"}))
    with pytest.raises(MintDenied) as denied:
        caller.cut(claims[1].run, claims[1].effect_id, claims[1].fence)
    told += [str(denied.value), repr(denied.value.__dict__)]
    for _ in range(4):
        desk.mint.tidy()
        desk.mint.hung_up(desk.caller(Belt.PLANNER))
    caller._sock.sendall(frame(b"{" + secrets[0].encode()))
    files = [path.read_bytes() for path in desk.folder.glob("ledger.db*")]
    everything = "\n".join([*told, said(), repr(desk.ledger.mints())]).encode() + b"".join(files)
    for secret in [*secrets, *CREDENTIALS.values(), app_key()[0].splitlines()[5]]:
        assert secret.encode() not in everything
