"""What is true of every run, whatever happens to it and in whatever order."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core import facts as f
from app.core.advance import TRANSITIONS, advance, replay
from app.core.effects import (
    DraftPlan,
    Effect,
    Execute,
    LookUpAuthority,
    OpenDraft,
    Purpose,
    ReportSaying,
    Say,
    StageDraft,
    StatusSaying,
)
from app.core.facts import FACTS
from app.core.gate import approvals_needed
from app.core.owed import still_owed
from app.core.owners import Owned
from app.core.policy import Approving, Policy, Protecting
from app.core.run import (
    Approved,
    Built,
    Closed,
    ClosedReason,
    NeedsInput,
    Proposed,
    Published,
    Reporting,
    State,
    Wanted,
    grant_of,
)
from app.core.verdict import Allowed, Refused
from tests.fakes.facts import KINDS, OTTO, START, World, any_fact, any_fact_of, labelled, lived

_STATES: tuple[type[Any], ...] = (Wanted, NeedsInput, Proposed, Approved, Built, Reporting, Published, Closed)


_seeds = st.integers(0, 2**32)
"""A run's whole life by one number: quick to draw, and enough to live a failure again."""


def _recorded(told: list[f.Fact]) -> tuple[State | None, list[f.Fact], list[Effect]]:
    """Tells every fact; what came of it."""
    state: State | None = None
    counted: list[f.Fact] = []
    owed: list[Effect] = []
    for fact in told:
        outcome = advance(state, fact)
        if not isinstance(outcome, Refused):
            state = outcome.state
            counted.append(fact)
            owed.extend(outcome.effects)
    return state, counted, owed


@given(st.lists(any_fact, max_size=30))
@settings(max_examples=80)
def test_replaying_what_was_recorded_gives_the_state_that_was_lived(told: list[f.Fact]) -> None:
    state, counted, _ = _recorded([labelled(), *told])
    assert replay(counted) == state
    assert replay(FACTS.validate_json(FACTS.dump_json(fact)) for fact in counted) == state


@given(_seeds)
@settings(max_examples=100, deadline=None)
def test_a_log_that_is_cut_anywhere_goes_on_to_the_same_end(seed: int) -> None:
    world = lived(random.Random(seed).choice, 40)
    for cut in range(len(world.facts) + 1):
        state = replay(world.facts[:cut])
        for fact in world.facts[cut:]:
            outcome = advance(state, fact)
            assert not isinstance(outcome, Refused), f"{fact.kind} did not follow at {cut}: {outcome}"
            state = outcome.state
        assert state == world.state


@given(_seeds, st.data())
@settings(max_examples=100, deadline=None)
def test_refused_facts_between_the_recorded_ones_change_nothing(seed: int, data: st.DataObject) -> None:
    world = lived(random.Random(seed).choice, 25)
    state: State | None = None
    for fact in world.facts:
        stray = data.draw(any_fact)
        if isinstance(advance(state, stray), Refused):
            again = advance(state, fact)
            assert not isinstance(again, Refused)
        outcome = advance(state, fact)
        assert not isinstance(outcome, Refused)
        state = outcome.state
    assert state == world.state


@given(st.lists(any_fact, max_size=40))
@settings(max_examples=80)
def test_whoever_is_approved_has_a_digest_and_a_person_equal_to_the_proposal(told: list[f.Fact]) -> None:
    state: State | None = None
    for fact in [labelled(), *told]:
        outcome = advance(state, fact)
        if isinstance(outcome, Refused):
            continue
        if not isinstance(state, Approved) and isinstance(outcome.state, Approved):
            assert isinstance(fact, f.AuthorityFound)
            # What failed may be tried again by another person, under the approval that stands.
            by = state.approvals[-1].person if isinstance(state, Closed) else fact.person
            assert outcome.state.approval.person == by
        state = outcome.state
        _approval_binds(state)


def _approval_binds(state: State | None) -> None:
    if not isinstance(state, Approved | Built | Reporting | Published):
        assert state is None or grant_of(state, START) is None
        return
    approval, proposal = state.approval, state.proposal
    assert approval.plan_digest == proposal.digest
    assert approval.plan_version == proposal.version
    assert approval.base_commit == proposal.base_commit
    assert approval.issue_digest == proposal.issue_digest
    assert not approval.person.is_bot
    assert approval.permission in ("write", "admin")


@given(_seeds, st.data())
@settings(max_examples=80, deadline=None)
def test_a_run_that_ended_stays_ended_and_owes_no_work(seed: int, data: st.DataObject) -> None:
    world = lived(random.Random(seed).choice, 20)
    end = f.RepositoryEnded(at=world.clock, how="The installation was removed.")
    outcome = advance(world.state, end)
    state = world.state if isinstance(outcome, Refused) else outcome.state
    assert isinstance(state, Closed)
    for fact in data.draw(st.lists(any_fact, max_size=10)):
        after = advance(state, fact)
        if isinstance(after, Refused):
            continue
        if isinstance(fact, f.AuthorityFound) and not isinstance(after.state, Closed):
            _is_taken_up_again(state, fact)
            return
        assert isinstance(after.state, Closed)
        assert (after.state.reason, after.state.words) == (state.reason, state.words)
        work = [effect for effect in after.effects if isinstance(effect, DraftPlan | Execute | OpenDraft)]
        looks = [effect for effect in after.effects if isinstance(effect, LookUpAuthority)]
        assert not work
        assert all(look.purpose in (Purpose.REFRESH, Purpose.RETRY) for look in looks)
        state = after.state


def _is_taken_up_again(ended: Closed, fact: f.AuthorityFound) -> None:
    """Only by somebody with a role, by the two commands for it, after an end that was nobody's wish."""
    assert (fact.purpose, ended.reason) in {
        (Purpose.REFRESH, ClosedReason.EXPIRED),
        (Purpose.REFRESH, ClosedReason.STALE),
        (Purpose.REFRESH, ClosedReason.FAILED),
        (Purpose.RETRY, ClosedReason.FAILED),
        (Purpose.REFRESH, ClosedReason.STAGED),
        (Purpose.RETRY, ClosedReason.STAGED),
    }
    assert fact.permission in ("write", "admin") and not fact.person.is_bot


def test_runs_are_taken_up_again_and_end_well() -> None:
    resumed: set[tuple[str, str]] = set()

    def note(world: World, before: State | None, owed: tuple[Effect, ...]) -> None:
        if isinstance(before, Closed) and world.state is not None and not isinstance(world.state, Closed):
            fact = world.facts[-1]
            assert isinstance(fact, f.AuthorityFound)
            _is_taken_up_again(before, fact)
            _not_stalled_by(world, owed)
            resumed.add((fact.purpose, world.state.name))

    for seed in range(400):
        lived(random.Random(seed).choice, 120, witness=note)
    assert {("refresh", "wanted"), ("retry", "wanted"), ("retry", "approved"), ("retry", "built")} <= resumed


def _not_stalled_by(world: World, owed: tuple[Effect, ...]) -> None:
    """The work for which the run was taken up again is a new effect."""
    work = [one for one in owed if isinstance(one, DraftPlan | Execute | OpenDraft | StageDraft)]
    assert work and all(one.key not in world.effects for one in work)


def _one_meaning_per_key(world: World, _before: State | None, owed: tuple[Effect, ...]) -> None:
    for effect in owed:
        earlier = world.effects.get(effect.key, effect)
        if effect.key.startswith("reply:again:"):
            # One answer per stage, whoever asks: it is not about the person.
            assert isinstance(effect, Say)
            assert isinstance(earlier, Say)
            assert effect.saying.model_copy(update={"to": None}) == earlier.saying.model_copy(update={"to": None})
        else:
            assert earlier == effect, f"{effect.key} meant something else before"


@given(_seeds)
@settings(max_examples=200, deadline=None)
def test_an_effect_key_never_comes_again_with_another_meaning(seed: int) -> None:
    lived(random.Random(seed).choice, 60, witness=_one_meaning_per_key)


def _said_aloud(world: World, before: State | None, owed: tuple[Effect, ...]) -> None:
    after, fact = world.state, world.facts[-1]
    assert after is not None
    turned = before is None or before.name != after.name
    if not turned or not isinstance(after, NeedsInput | Proposed | Approved | Published | Closed):
        return
    nowhere = isinstance(fact, f.RepositoryEnded) or (
        isinstance(fact, f.IssueEnded) and fact.how is not f.IssueEnd.CLOSED
    )
    said = [effect for effect in owed if isinstance(effect, Say) and effect.key not in world.effects]
    if nowhere:
        assert not said
    else:
        assert any(isinstance(say.saying, StatusSaying) for say in said), f"{fact.kind} led to silence"


@given(_seeds)
@settings(max_examples=200, deadline=None)
def test_every_pause_and_every_end_is_said_anew_where_there_is_a_place_to_say_it(seed: int) -> None:
    lived(random.Random(seed).choice, 60, witness=_said_aloud)


def _not_stalled(world: World) -> None:
    state = world.state
    assert state is not None
    pending = [world.effects[key] for key in [*world.owed, *world.held]]
    alive = [effect for effect in pending if isinstance(still_owed(effect, state), Allowed)]
    needed: type[Any] | None = None
    if isinstance(state, Wanted):
        needed = DraftPlan if state.allowed else LookUpAuthority
    elif isinstance(state, Proposed) and state.drafting:
        needed = DraftPlan
    elif isinstance(state, Approved):
        needed = Execute
    elif isinstance(state, Built):
        needed = OpenDraft
    elif isinstance(state, Reporting):
        reports = [one for one in alive if isinstance(one, Say) and isinstance(one.saying, ReportSaying)]
        assert [one.saying.findings_ref for one in reports] == [state.findings_ref]
    if needed is not None:
        assert any(isinstance(effect, needed) for effect in alive), f"a run that is {state.name} waits for nothing"


@given(_seeds)
@settings(max_examples=200, deadline=None)
def test_a_run_that_waits_for_us_always_owes_the_work_it_waits_for(seed: int) -> None:
    world = World(random.Random(seed).choice)
    for _ in range(60):
        world.step()
        _not_stalled(world)


@given(_seeds)
@settings(max_examples=80, deadline=None)
def test_a_status_comment_follows_every_change_that_it_would_show(seed: int) -> None:
    def shown(world: World, before: State | None, owed: tuple[Effect, ...]) -> None:
        after = world.state
        if isinstance(before, Proposed) and isinstance(after, Proposed):
            changed = before.proposal.issue_changed != after.proposal.issue_changed
        elif isinstance(before, Approved) and isinstance(after, Approved):
            changed = before.held != after.held
        else:
            return
        anew = [effect for effect in owed if effect.key not in world.effects]
        if changed:
            assert any(isinstance(effect, Say) and isinstance(effect.saying, StatusSaying) for effect in anew)

    lived(random.Random(seed).choice, 60, witness=shown)


def _reported_is_posted(world: World, before: State | None, _owed: tuple[Effect, ...]) -> None:
    """A run ends as reported only when the report stood as a comment, and no report comes of a change."""
    after, fact = world.state, world.facts[-1]
    if isinstance(after, Reporting):
        writes = [effect for effect in world.effects.values() if isinstance(effect, OpenDraft)]
        assert not any(isinstance(still_owed(effect, after), Allowed) for effect in writes)
        assert grant_of(after, world.clock) is None
    if isinstance(after, Closed) and after.reason is ClosedReason.REPORTED and not isinstance(before, Closed):
        assert isinstance(before, Reporting)
        assert isinstance(fact, f.Said)
        assert fact.slot == "report"
        assert after.findings_ref == before.findings_ref


@given(_seeds)
@settings(max_examples=100, deadline=None)
def test_a_run_that_is_to_report_ends_when_the_report_stands_and_can_write_nothing_meanwhile(seed: int) -> None:
    lived(random.Random(seed).choice, 60, witness=_reported_is_posted)


OWNERS = (Owned(path="src/sizes.py", count=1, owners=("@otto",)),)
STRICT = (
    (Policy(approve=Approving(count=2)), ()),
    (Policy(protected=Protecting(approvals=2, paths=("src/",))), ()),
    (Policy(approve=Approving(code_owners="must")), OWNERS),
    (Policy(approve=Approving(count=2, labeller_may_approve=False)), ()),
    (Policy(approve=Approving(count=2, dropped_steps="approve")), ()),
)


def _enough_approved(world: World, before: State | None, _owed: tuple[Effect, ...]) -> None:
    """Nothing is carried out before as many people approved as the policy asks for, each of them for this plan."""
    after = world.state
    if not isinstance(after, Approved) or isinstance(before, Approved):
        return
    approvals = (*after.also, after.approval)
    people = {approval.person.id for approval in approvals}
    assert len(people) == len(approvals) >= approvals_needed(world.policy, after.proposal.paths)
    assert {approval.plan_digest for approval in approvals} == {after.proposal.digest}
    assert after.approval.expires_at <= min(approval.expires_at for approval in approvals)
    if world.owners:
        assert OTTO.id in people
    if not world.policy.approve.labeller_may_approve and world.request.labeller is not None:
        assert world.request.labeller.id not in people


@given(_seeds, st.sampled_from(STRICT))
@settings(max_examples=150, deadline=None)
def test_nothing_is_carried_out_before_enough_people_approved(
    seed: int, strict: tuple[Policy, tuple[Owned, ...]]
) -> None:
    policy, owners = strict
    lived(random.Random(seed).choice, 60, witness=_enough_approved, policy=policy, owners=owners)


def test_even_a_strict_policy_lets_runs_be_approved() -> None:
    for policy, owners in STRICT[:3]:
        reached: set[type] = set()

        def note(world: World, _before: State | None, _owed: tuple[Effect, ...], reached: set[type] = reached) -> None:
            reached.add(type(world.state))

        for seed in range(120):
            lived(random.Random(seed).choice, 100, witness=note, policy=policy, owners=owners)
        assert Approved in reached


def test_every_state_is_reached() -> None:
    states: set[type] = set()

    def note(world: World, _before: State | None, _owed: tuple[Effect, ...]) -> None:
        states.add(type(world.state))

    for seed in range(120):
        lived(random.Random(seed).choice, 60, witness=note)
    assert states == set(_STATES)


@given(_seeds, st.data())
@settings(max_examples=100, deadline=None)
def test_any_fact_in_any_state_counts_or_is_refused_with_a_sentence(seed: int, data: st.DataObject) -> None:
    world = lived(random.Random(seed).choice, 15)
    for kind in KINDS:
        fact = data.draw(any_fact_of(kind))
        outcome = advance(world.state, fact)
        if world.state is not None and (type(world.state), kind) not in TRANSITIONS:
            assert outcome == Refused(f"A run that is {world.state.name} has no use for {fact.kind}.")
        elif isinstance(outcome, Refused):
            assert outcome.reason.endswith(".")


@given(st.data(), st.sampled_from([kind for kind in KINDS if kind is not f.Labelled]))
@settings(max_examples=100)
def test_nothing_but_a_label_begins_a_run(data: st.DataObject, kind: type[Any]) -> None:
    refused = advance(None, data.draw(any_fact_of(kind)))
    assert isinstance(refused, Refused)
    assert data.draw(any_fact_of(kind)).kind in str(refused)
