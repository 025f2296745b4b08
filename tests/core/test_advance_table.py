"""Single runs through the transition table: what once went wrong, or easily could."""

from datetime import datetime, timedelta

import pytest

from app.core import facts as f
from app.core.advance import advance, replay
from app.core.budget import Spent
from app.core.effects import DraftPlan, Effect, Execute, LookUpAuthority, OpenDraft, Purpose, Say, Slot, SourceKind
from app.core.run import Approved, Built, Closed, ClosedReason, NeedsInput, Proposed, State, Wanted
from app.core.verb import Verb
from app.core.verdict import Refused
from tests.fakes.facts import MIRA, OTTO, OUTSIDER, START, TEXTS, WIDE, a_pull, a_request, drafted, found, labelled, sha


class Life:
    """A run to which one thing after another happens; each must count."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.at = START
        self.effects: dict[str, Effect] = {}
        self.new: tuple[Effect, ...] = ()
        self.ids = WIDE

    def tell(self, fact: f.Fact) -> None:
        outcome = advance(self.state, fact)
        assert not isinstance(outcome, Refused), outcome
        self.state = outcome.state
        self.new = tuple(effect for effect in outcome.effects if effect.key not in self.effects)
        self.effects |= {effect.key: effect for effect in outcome.effects}

    def refuses(self, fact: f.Fact) -> None:
        assert isinstance(advance(self.state, fact), Refused)

    def now(self) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at

    def fresh(self) -> int:
        self.ids += 1
        return self.ids

    def owes(self, kind: type[Effect]) -> bool:
        return any(isinstance(effect, kind) for effect in self.new)

    def proposed(self) -> None:
        self.tell(labelled())
        self.decide(Purpose.LABEL, SourceKind.LABEL)
        self.tell(drafted(1, self.now()))
        self.post(1)

    def post(self, version: int) -> None:
        self.tell(
            f.Said(
                at=self.now(),
                slot=Slot.PLAN,
                plan_version=version,
                comment_id=self.fresh(),
                node_id="IC",
                comment_digest=sha("comment"),
            )
        )

    def decide(self, purpose: Purpose, source: SourceKind = SourceKind.COMMENT, **changes: object) -> None:
        look = LookUpAuthority(key="k", purpose=purpose, person=MIRA, source=source, source_id=self.fresh())
        version = self.state.proposal.version if isinstance(self.state, Proposed) else None
        self.tell(found(look, self.now(), **({"plan_version": version} | changes)))

    def built(self) -> None:
        assert isinstance(self.state, Approved)
        digest = self.state.proposal.digest
        self.tell(
            f.StepsDone(
                at=self.now(),
                plan_digest=digest,
                patch_ref=sha("patch"),
                report_ref=sha("report"),
                spent=Spent(),
            )
        )

    def void(self, reason: str = "The approving comment is gone.") -> None:
        assert isinstance(self.state, Approved | Built)
        self.tell(f.ApprovalVoided(at=self.now(), plan_digest=self.state.proposal.digest, reason=reason))


@pytest.fixture
def life() -> Life:
    return Life()


def test_the_same_patch_under_a_new_approval_is_published_after_all(life: Life) -> None:
    life.proposed()
    life.decide(Purpose.APPROVE)
    life.built()
    assert life.owes(OpenDraft)
    life.void()
    life.decide(Purpose.APPROVE)
    assert life.owes(Execute)
    life.built()
    assert life.owes(OpenDraft)


def test_a_wish_after_an_approval_that_overtook_another_wish_is_followed(life: Life) -> None:
    life.proposed()
    life.decide(Purpose.REVISE)
    life.decide(Purpose.APPROVE)
    life.void()
    life.decide(Purpose.REVISE, argument="smaller")
    assert life.owes(DraftPlan)


def test_a_second_edit_to_the_same_words_voids_a_second_approval_aloud(life: Life) -> None:
    life.proposed()
    for _ in range(2):
        life.decide(Purpose.APPROVE)
        life.tell(f.IssueChanged(at=life.now(), issue_digest=TEXTS[1], person=OUTSIDER))
        assert isinstance(life.state, Proposed)
        assert life.owes(Say)
        life.tell(f.IssueChanged(at=life.now(), issue_digest=TEXTS[0], person=OUTSIDER))
        assert life.owes(Say)


def test_a_reason_to_wait_that_comes_back_is_shown_again(life: Life) -> None:
    life.proposed()
    life.decide(Purpose.APPROVE)
    digest = life.state.proposal.digest if isinstance(life.state, Approved) else ""
    for reason in ("There is no box here.", "The box is full.", "There is no box here."):
        life.tell(f.ExecutionHeld(at=life.now(), plan_digest=digest, reason=reason))
        assert life.owes(Say)
        life.refuses(f.ExecutionHeld(at=life.now(), plan_digest=digest, reason=reason))


def test_what_a_planner_says_of_a_version_that_nobody_asked_for_does_not_count(life: Life) -> None:
    life.tell(labelled())
    life.refuses(f.PlanNotPossible(at=life.now(), version=1, reason="no"))
    life.decide(Purpose.LABEL, SourceKind.LABEL)
    life.refuses(f.PlanNotPossible(at=life.now(), version=2, reason="no"))
    life.refuses(f.InputNeeded(at=life.now(), version=2, question="Which?", spent=Spent()))
    life.tell(drafted(1, life.now()))
    life.refuses(f.InputNeeded(at=life.now(), version=2, question="Which?", spent=Spent()))
    life.refuses(drafted(2, life.now()))


def test_the_end_of_an_old_effect_does_not_end_a_run_that_waits_for_another(life: Life) -> None:
    life.proposed()
    life.decide(Purpose.REVISE)
    draft = next(effect for effect in life.new if isinstance(effect, DraftPlan))
    life.decide(Purpose.APPROVE)
    execute = next(effect for effect in life.new if isinstance(effect, Execute))
    life.tell(f.EffectAbandoned(at=life.now(), effect=draft.kind, key=draft.key, reason="no model"))
    assert isinstance(life.state, Approved)
    life.void()
    life.decide(Purpose.APPROVE)
    life.tell(f.EffectAbandoned(at=life.now(), effect=execute.kind, key=execute.key, reason="no box"))
    assert isinstance(life.state, Approved)


@pytest.mark.parametrize("stage", ["label", "plan", "execute", "open"])
def test_the_end_of_the_work_that_a_run_waits_for_ends_it_aloud(life: Life, stage: str) -> None:
    life.tell(labelled())
    if stage != "label":
        life.decide(Purpose.LABEL, SourceKind.LABEL)
    if stage in ("execute", "open"):
        life.tell(drafted(1, life.now()))
        life.post(1)
        life.decide(Purpose.APPROVE)
    if stage == "open":
        life.built()
    work = next(effect for effect in life.new if not isinstance(effect, Say))
    life.tell(f.EffectAbandoned(at=life.now(), effect=work.kind, key=work.key, reason="It fails each time."))
    assert isinstance(life.state, Closed)
    assert (life.state.reason, life.state.words) == (ClosedReason.FAILED, "It fails each time.")
    assert life.owes(Say)


def test_an_offer_outlives_a_revision_that_could_not_be_made(life: Life) -> None:
    life.proposed()
    for _ in range(2):
        life.decide(Purpose.REVISE)
        draft = next(effect for effect in life.new if isinstance(effect, DraftPlan))
        life.tell(f.EffectAbandoned(at=life.now(), effect=draft.kind, key=draft.key, reason="no model"))
        assert isinstance(life.state, Proposed)
        assert life.state.proposal.version == 1
        assert life.owes(Say)


def test_a_run_does_not_expire_before_its_time(life: Life) -> None:
    life.proposed()
    assert isinstance(life.state, Proposed)
    over = life.state.proposal.expires_at
    life.at = over - timedelta(hours=1)
    life.decide(Purpose.APPROVE)
    life.refuses(f.Expired(at=over))
    assert isinstance(life.state, Approved)
    life.tell(f.Expired(at=life.state.approval.expires_at))
    assert isinstance(life.state, Closed)


def test_only_the_issues_author_can_answer_the_question(life: Life) -> None:
    life.tell(labelled())
    life.decide(Purpose.LABEL, SourceKind.LABEL)
    life.tell(f.InputNeeded(at=life.now(), version=1, question="Which?", spent=Spent()))
    life.refuses(f.Answered(at=life.now(), comment_id=1, person=OTTO))
    assert isinstance(life.state, NeedsInput)
    life.tell(f.Answered(at=life.now(), comment_id=1, person=OUTSIDER))
    assert isinstance(life.state, Wanted)
    assert life.owes(DraftPlan)


def test_two_approvals_of_one_plan_lead_to_one_execution(life: Life) -> None:
    life.proposed()
    for person in (MIRA, OTTO):
        life.tell(
            f.CommandGiven(
                at=life.now(), verb=Verb.APPROVE, comment_id=life.fresh(), comment_digest=sha("/approve"), person=person
            )
        )
    looks = [effect for effect in life.effects.values() if isinstance(effect, LookUpAuthority) and effect.source_id]
    for look in looks:
        life.tell(found(look, life.now(), plan_version=1))
    assert len([effect for effect in life.effects.values() if isinstance(effect, Execute)]) == 1
    assert isinstance(life.state, Approved)
    assert life.state.approval.person == MIRA
    assert "already approved by mira" in str(life.new)


def test_a_pull_request_that_opens_after_the_end_is_named(life: Life) -> None:
    life.proposed()
    life.decide(Purpose.APPROVE)
    life.built()
    digest = life.state.proposal.digest if isinstance(life.state, Built) else ""
    life.tell(f.IssueEnded(at=life.now(), how=f.IssueEnd.CLOSED, person=MIRA))
    life.tell(f.DraftOpened(at=life.now(), plan_digest=digest, pull=a_pull()))
    assert isinstance(life.state, Closed)
    assert life.state.pull == a_pull()
    assert life.owes(Say)


def test_a_log_that_does_not_follow_is_not_replayed() -> None:
    with pytest.raises(ValueError, match="does not follow"):
        replay([labelled(), f.Expired(at=START), f.Expired(at=START)])


def test_a_label_without_a_sender_ends_at_once_and_says_why(life: Life) -> None:
    life.tell(labelled(a_request().model_copy(update={"labeller": None})))
    assert isinstance(life.state, Closed)
    assert life.state.reason is ClosedReason.NOT_ALLOWED
    assert life.owes(Say)


def test_somebody_who_goes_on_misspelling_is_answered_once_for_each_plan(life: Life) -> None:
    def hint(written: str, meant: str = "/approve") -> None:
        life.tell(f.CommandUnclear(at=life.now(), written=written, meant=meant, comment_id=life.fresh(), person=MIRA))

    life.proposed()
    hint("/aprove")
    assert life.owes(Say)
    for written in ("/approve it", "/approve!", "Please /approve"):
        hint(written)
        assert not life.owes(Say), written
    hint("/revize", "/revise and your words")
    assert life.owes(Say)


def test_a_label_that_is_gone_when_it_is_looked_at_starts_no_planning() -> None:
    """That it was taken off may have been told before that it was set."""
    life = Life()
    life.tell(labelled())
    look = LookUpAuthority(
        key="authority:label", purpose=Purpose.LABEL, person=MIRA, source=SourceKind.LABEL, source_id=0
    )
    life.tell(found(look, life.now(), source_found=f.Found.DELETED))
    assert isinstance(life.state, Closed) and life.state.reason is ClosedReason.CANCELLED
    assert "not on the issue any more" in life.state.words
    assert not life.owes(DraftPlan)
