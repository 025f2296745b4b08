"""Why a run is where it is: for every state one sentence, who can move it on, and what they type."""

import random
from datetime import timedelta

import pytest

from app.core.policy import Policy
from app.core.run import Closed, ClosedReason, NeedsInput, Proposal, Proposed, Published, Stall, StallCode, Wanted
from app.core.verb import COMMANDS
from app.core.waiting import wait_of
from tests.fakes.facts import MIRA, OUTSIDER, START, a_pull, a_request, lived, sha

PROPOSAL = Proposal(
    version=2,
    digest=sha("plan 2"),
    base_branch="main",
    base_commit="c" * 40,
    issue_digest=sha("the issue"),
    drafted_at=START,
    expires_at=START + timedelta(days=7),
    comment_id=5,
    paths=("src/sizes.py",),
)
PROPOSED = Proposed(request=a_request(), proposal=PROPOSAL)


def test_a_plan_that_waits_names_who_may_approve_and_what_they_type_with_its_digest() -> None:
    wait = wait_of(PROPOSED)
    assert wait.because == "Version 2 of the plan waits for approval."
    assert wait.who == "somebody with write permission"
    assert wait.types[0] == f"/approve {sha('plan 2')[:12]}" and "/reject REASON" in wait.types
    assert "Somebody with write permission can type /approve" in wait.sentence()


def test_what_keeps_a_plan_from_being_approved_is_said_instead() -> None:
    edited = PROPOSED.model_copy(update={"proposal": PROPOSAL.model_copy(update={"issue_changed": True})})
    assert wait_of(edited).types == ("/refresh", "/revise WORDS")
    unsaid = PROPOSED.model_copy(update={"proposal": PROPOSAL.model_copy(update={"comment_id": None})})
    assert (wait_of(unsaid).who, wait_of(unsaid).types) == ("", ())
    drafting = wait_of(PROPOSED.model_copy(update={"drafting": True}))
    assert "another version is being made" in drafting.because and drafting.types == ("/cancel",)


def test_how_many_have_to_approve_is_told_where_it_takes_more_than_one() -> None:
    policy = Policy.model_validate({"version": 1, "approve": {"count": 2}})
    assert "(0 of 2 so far)" in wait_of(PROPOSED.model_copy(update={"policy": policy})).because


def test_a_question_is_for_the_author_and_a_label_without_an_answer_for_nobody() -> None:
    asked = wait_of(NeedsInput(request=a_request(), question="Which\nunit?"))
    assert asked.because == "The planner asks: Which unit?"
    assert OUTSIDER.login in asked.who and asked.types == ("/answer WORDS",)
    assert wait_of(Wanted(request=a_request())).types == ()
    planning = wait_of(Wanted(request=a_request(), allowed=True))
    assert MIRA.login in planning.who and planning.types == ("/cancel",)


def test_work_that_makes_no_progress_is_said_while_the_run_waits_for_it() -> None:
    stall = Stall(code=StallCode.WAITS, key="plan:1", words="The model does not answer.")
    state = Wanted(request=a_request(), allowed=True, stall=stall)
    assert wait_of(state).trouble == "The model does not answer."
    other = stall.model_copy(update={"key": "execute:1"})
    assert wait_of(state.model_copy(update={"stall": other})).trouble == ""


@pytest.mark.parametrize(("reason", "types"), [
    (ClosedReason.FAILED, ("/retry", "/refresh")), (ClosedReason.EXPIRED, ("/refresh",)), (ClosedReason.REJECTED, ()),
    (ClosedReason.STAGED, ("/retry", "/refresh")),
])  # fmt: skip
def test_an_end_says_why_and_how_the_run_is_taken_up_again(reason: ClosedReason, types: tuple[str, ...]) -> None:
    ended = wait_of(Closed(request=a_request(), reason=reason, words="It broke.", remedy="Mend it."))
    assert ended.because == f"It ended ({reason.replace('_', ' ')}): It broke. Mend it." and ended.types == types


def test_a_pull_request_is_where_the_rest_is_decided() -> None:
    world = None
    for seed in range(500):
        world = lived(random.Random(seed).choice, 60)
        if isinstance(world.state, Published):
            break
    assert world is not None and isinstance(world.state, Published)
    wait = wait_of(world.state.model_copy(update={"pull": a_pull(9)}))
    assert wait.link == a_pull(9).url and "Draft pull request #9" in wait.because


def test_every_state_that_can_be_has_a_sentence_and_only_commands_that_there_are() -> None:
    verbs = {f"/{one.verb}" for one in COMMANDS}
    for seed in range(80):
        world = lived(random.Random(seed).choice, 40)
        assert world.state is not None
        wait = wait_of(world.state)
        assert wait.because and {typed.split()[0] for typed in wait.types} <= verbs
        assert not wait.types or wait.who
