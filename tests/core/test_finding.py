"""A draft of which a run did not hear in time: it is looked for once, and what stands is named, wherever the run is."""

import pytest

from app.core import facts as f
from app.core.advance import advance
from app.core.branches import branch_name, branch_names
from app.core.effects import Execute, FindDraft, OpenDraft, Purpose, ReplySaying, Say
from app.core.move import last_work
from app.core.owed import still_owed
from app.core.run import Built, Closed, Proposed, Published, State, grant_of
from app.core.verdict import Allowed, Refused
from tests.core.test_advance_table import Life
from tests.core.test_who_may_what import STATES
from tests.fakes.facts import START, a_pull, sha

PLAN = sha("plan 1")
KEY = "open:plan:comment:1:patch"
UNSETTLED = f.DraftUnsettled(at=START, plan_digest=PLAN, key=KEY)


def found(pull: int | None = 41, plan: str = PLAN, branch: str = "fix") -> f.DraftFound:
    there = None if pull is None else a_pull(pull)
    return f.DraftFound(at=START, plan_digest=plan, branch=branch, pull=there)


def replies(state: State, fact: f.Fact) -> list[str]:
    outcome = advance(state, fact)
    assert not isinstance(outcome, Refused), outcome
    says = [one.saying for one in outcome.effects if isinstance(one, Say)]
    return [f"{one.reason} {one.remedy}" for one in says if isinstance(one, ReplySaying)]


@pytest.mark.parametrize("name", STATES)
def test_whatever_a_run_is_now_the_draft_is_looked_for_once_and_needs_no_approval(name: str) -> None:
    outcome = advance(STATES[name], UNSETTLED)
    assert not isinstance(outcome, Refused) and outcome.state == STATES[name]
    assert outcome.effects == (FindDraft(key=f"find:{KEY}", plan_digest=PLAN),)
    assert still_owed(outcome.effects[0], STATES[name]) == Allowed()


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("told", ["found", "opened"])
def test_a_pull_request_that_the_run_does_not_know_is_named_wherever_the_run_is(name: str, told: str) -> None:
    state, other = STATES[name], sha("plan 9")
    fact = found(7, other) if told == "found" else f.DraftOpened(at=START, plan_digest=other, pull=a_pull(7))
    outcome = advance(state, fact)
    assert not isinstance(outcome, Refused)
    assert "#7 of plan" in replies(state, fact)[0] and "Close it" in replies(state, fact)[0]
    if isinstance(state, Closed):
        assert outcome.state == state.model_copy(update={"pull": a_pull(7)})
    else:
        assert outcome.state == state


def test_an_offer_of_the_plan_that_was_opened_all_the_same_ends_with_its_pull_request() -> None:
    outcome = advance(STATES["proposed"], found())
    assert not isinstance(outcome, Refused) and isinstance(outcome.state, Closed)
    assert outcome.state.pull == a_pull() and "#41 was opened" in outcome.state.words


@pytest.mark.parametrize("name", ["published", "closed"])
def test_what_is_known_is_not_told_again(name: str) -> None:
    published = STATES["published"]
    assert isinstance(published, Published)
    merged = advance(published, f.PullRequestEnded(at=START, merged=True, person=None))
    assert not isinstance(merged, Refused)
    state = published if name == "published" else merged.state
    assert isinstance(advance(state, found(published.pull.number)), Refused)
    assert isinstance(advance(state, found(None, branch=published.pull.branch)), Refused)


@pytest.mark.parametrize("name", STATES)
def test_a_branch_without_a_pull_request_is_named_with_what_to_do(name: str) -> None:
    state, fact = STATES[name], found(None, branch="countersign/left")
    outcome = advance(state, fact)
    assert not isinstance(outcome, Refused)
    [words] = replies(state, fact)
    assert "countersign/left" in words and "open a pull request from it" in words
    if isinstance(state, Closed):
        assert isinstance(outcome.state, Closed) and outcome.state.branch == "countersign/left"
        assert isinstance(advance(outcome.state, fact), Refused)
    else:
        assert outcome.state == state


def test_what_is_found_while_the_same_plan_is_built_anew_is_not_taken_for_what_was_built() -> None:
    """It holds what an earlier attempt made; a newer opening takes it up itself where it is the same."""
    outcome = advance(STATES["built"], found())
    assert not isinstance(outcome, Refused) and outcome.state == STATES["built"]
    assert replies(STATES["built"], found())


@pytest.mark.parametrize("name", STATES)
def test_what_could_not_be_looked_for_is_told_with_the_name_to_look_for(name: str) -> None:
    key, branch = f"find:{KEY}", "countersign/a"
    lost = f.EffectAbandoned(at=START, effect="find_draft", key=key, reason="No answer.", branch=branch)
    outcome = advance(STATES[name], lost)
    assert not isinstance(outcome, Refused) and outcome.state == STATES[name]
    [words] = replies(STATES[name], lost)
    assert "No answer." in words and "countersign/a" in words


def test_a_draft_is_opened_for_the_approval_for_which_it_was_built_and_for_no_other() -> None:
    life = Life()
    life.proposed()
    life.decide(Purpose.APPROVE)
    life.built()
    assert isinstance(life.state, Built)
    first = last_work(life.state)
    assert still_owed(first, life.state) == Allowed()
    life.void()
    assert isinstance(life.state, Proposed) and isinstance(still_owed(first, life.state), Refused)
    life.decide(Purpose.APPROVE)
    assert life.owes(Execute)
    life.built()
    assert life.owes(OpenDraft) and isinstance(life.state, Built) and grant_of(life.state, START)
    assert isinstance(still_owed(first, life.state), Refused)
    assert still_owed(last_work(life.state), life.state) == Allowed()


def test_branches_are_named_by_run_and_plan_and_all_their_names_are_known() -> None:
    first = branch_name(7, "r-000001", PLAN)
    assert first == f"countersign/issue-7-{PLAN[:8]}-000001"
    assert branch_names(7, "r-000001", PLAN) == (first, *(f"{first}-{number}" for number in range(2, 6)))
