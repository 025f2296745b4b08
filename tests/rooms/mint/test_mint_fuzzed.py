"""Whatever is said at the mint's door: no token without the claim that it is for, no trace, and others are served."""

import copy
import json
import socket

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.belts import Belt, EffectKind
from tests.rooms.mint.test_mint_lines import CREDENTIALS, frame, hear, is_served, say_and_stop

SHORT = settings(max_examples=40, database=None, suppress_health_check=list(HealthCheck))

STRANGE = st.sampled_from([None, True, -1, 0, 1.5, 2**31, 2**53, 10**40, "", "\0", "\ud800", "x" * 90, [], [[]], {}])


def words(claim) -> list[dict]:
    """A word of each kind; what is asked for is asked with a claim that stands, and only the belt that holds it may."""
    return [
        {"kind": "hello", "belt": "planner"},
        {"kind": "proof", "mac": "0" * 64},
        {"kind": "cut", "run": claim.run, "effect_id": claim.effect_id, "fence": claim.fence},
        {"kind": "watch", "installation_id": 1, "repository_ids": [1, 2]},
        {"kind": "release", "mint_id": "m-1"},
        {"kind": "token", "value": "x"},
    ]


@st.composite
def spoilt(draw: st.DrawFn, usual: list[dict]) -> bytes:
    """A frame, of which something is another thing than it should be, or nothing is."""
    word = copy.deepcopy(draw(st.sampled_from(usual)))
    for _ in range(draw(st.integers(0, 2))):
        word[draw(st.sampled_from([*word, "kind", "more"]))] = draw(STRANGE)
    sent = frame(json.dumps(word).encode())
    how = draw(st.sampled_from(["", "", "", "cut", "bytes", "longer"]))
    if how == "cut":
        return sent[: draw(st.integers(0, len(sent)))]
    if how == "bytes":
        at = draw(st.integers(0, len(sent) - 1))
        return sent[:at] + draw(st.binary(min_size=1, max_size=3)) + sent[at + 1 :]
    return sent + (b"\0" * 5 if how == "longer" else b"")


def answers(sock) -> list[dict]:
    """Everything that is answered until the line ends."""
    heard = []
    while (one := hear(sock)) is not None:
        heard.append(one)
    return heard


def test_a_stranger_gets_no_word_but_a_challenge_and_a_refusal_whatever_it_says(desk, said):
    door = desk.serve().listen(("127.0.0.1", 0), CREDENTIALS)
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)

    usual = words(claim)
    greeting = b"".join(frame(word) for word in usual[:2])

    @SHORT
    @given(st.sampled_from([b"", greeting]), st.lists(spoilt(usual), min_size=1, max_size=4))
    def holds(greeted, frames):
        with socket.create_connection(door) as sock:
            say_and_stop(sock, greeted + b"".join(frames))
            assert {one["kind"] for one in answers(sock)} <= {"challenge", "denied"}

    holds()
    assert desk.tokens() == []
    assert is_served(desk, door)
    assert "Traceback" not in said()


def test_a_belt_gets_no_token_with_a_claim_that_it_does_not_hold_whatever_it_says(desk, said):
    claim = desk.claim(desk.label(), EffectKind.DRAFT_PLAN)
    door = desk.serve().listen(("127.0.0.1", 0), CREDENTIALS)

    @SHORT
    @given(st.lists(spoilt(words(claim)), min_size=1, max_size=4))
    def holds(frames):
        _, ours = desk.line(Belt.EXECUTOR)
        with ours:
            say_and_stop(ours, b"".join(frames))
            assert {one["kind"] for one in answers(ours)} <= {"denied", "done"}

    holds()
    assert desk.tokens() == []
    assert is_served(desk, door)
    assert "Traceback" not in said()
