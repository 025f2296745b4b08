"""Deliveries are taken once, whole, and for the runs that they concern."""

from datetime import timedelta
from typing import Any

import pytest

from app.core import facts as f
from app.core.belts import Belt
from app.core.budget import Spent
from app.core.effects import DraftPlan, LookUpAuthority, Purpose, SourceKind
from app.core.news import Ignored, News, OnInstallation, OnIssue, OnPull, OnRepository, Seen, Trigger
from app.core.policy import Approving, Policy
from app.core.run import Closed, Published
from app.core.verdict import Refused
from app.ledger.outcomes import Ring
from app.ledger.store import Ledger
from tests.fakes.deliveries import Told, a_delivery, on_issue
from tests.fakes.facts import MIRA, OTTO, START, TEXTS, WIDE, a_pull, a_request, drafted, found, labelled, sha


def test_a_label_opens_a_run_and_rings_for_what_is_owed(ledger: Ledger) -> None:
    request = a_request()
    received = ledger.receive(a_delivery("g-1"), on_issue(labelled(request), request))
    assert (received.new, received.runs, received.outcome) == (True, (request.run,), f"opened run {request.run}")
    assert [ring.belt for ring in received.rings] == [Belt.PUBLISHER]
    assert ledger.owed(Belt.PUBLISHER, START) == tuple(ring.effect_id for ring in received.rings)
    view = ledger.run(request.run)
    assert view is not None
    assert [(told.seq, told.fact, told.delivery) for told in view.facts] == [(1, labelled(request), "g-1")]
    assert ledger.open_run(request.repository_id, request.issue_number) == request.run


def test_names_and_titles_with_nul_are_kept_as_they_came(ledger: Ledger) -> None:
    strange = "a\0b\\u0000"
    named = {"issue_title": strange, "label": strange, "label_id": 7, "label_word": strange, "repository": strange}
    request = a_request().model_copy(update=named)
    trigger = Trigger(request.repository_id, 7, strange)
    seen = Seen(request.repository_id, strange, request.installation_id)
    told = News(OnIssue(request.repository_id, request.issue_number), labelled(request), seen, trigger)
    assert ledger.receive(a_delivery("g-1"), told).runs == (request.run,)
    view = ledger.run(request.run)
    assert view is not None and view.state.request == request
    assert [run.issue_title for run in ledger.runs()] == [strange]
    assert ledger.triggers(request.repository_id, (7,)) == {7: strange}
    known = ledger.repository(request.repository_id)
    assert known is not None and known.full_name == strange


def test_what_happens_to_an_installation_concerns_the_repositories_that_are_its_own_today(told: Told) -> None:
    told.labelled()
    old, new = told.request.installation_id, told.request.installation_id + 1
    told.ledger.remember(Seen(told.request.repository_id, "other/greet", new))
    ended = f.RepositoryEnded(at=told.tick(), how="The App was uninstalled.")
    for guid, installation, runs in (("g-old", old, ()), ("g-new", new, (told.request.run,))):
        received = told.ledger.receive(a_delivery(guid), News(OnInstallation(installation), ended))
        assert received.runs == runs


def test_a_delivery_that_comes_again_changes_nothing(ledger: Ledger) -> None:
    request = a_request()
    for guid in ("g-1", "g-2"):
        ledger.receive(a_delivery(guid), on_issue(labelled(request), request))
        before = (ledger.run(request.run), ledger.counts(), ledger.delivery(guid))
        again = ledger.receive(a_delivery(guid), on_issue(labelled(request), request))
        assert (again.new, again.runs, again.rings) == (False, (), ())
        assert (ledger.run(request.run), ledger.counts(), ledger.delivery(guid)) == before


def test_a_label_while_a_run_is_open_is_the_label_set_again(told: Told) -> None:
    told.labelled()
    other = told.request.model_copy(update={"run": "r-000002", "labeller": OTTO})
    received = told.deliver(labelled(other, told.now))
    assert received.runs == (told.request.run,)
    assert received.outcome == f"recorded labelled_again in {told.request.run}"
    view = told.ledger.run(told.request.run)
    assert view is not None
    assert view.facts[-1].fact == f.LabelledAgain(at=view.facts[-1].fact.at, person=OTTO)
    assert told.ledger.run("r-000002") is None


def test_a_label_without_a_sender_does_not_open_a_second_run(told: Told) -> None:
    told.labelled()
    other = told.request.model_copy(update={"run": "r-000002", "labeller": None})
    assert told.deliver(labelled(other, told.now)).runs == (told.request.run,)
    assert told.ledger.run("r-000002") is None


def test_after_the_end_of_a_run_the_label_opens_another(told: Told) -> None:
    told.labelled()
    told.deliver(f.LabelRemoved(at=told.tick(), person=MIRA))
    second = told.request.model_copy(update={"run": "r-000002"})
    assert told.deliver(labelled(second, told.now)).outcome == "opened run r-000002"
    assert [(run.id, run.open) for run in told.ledger.runs()] == [("r-000002", True), ("r-000001", False)]


def test_what_is_ignored_is_recorded_with_its_reason_and_its_body(ledger: Ledger) -> None:
    body = b"\x00\xff not even JSON"
    received = ledger.receive(a_delivery("g-1", body), Ignored("nobody asked for stars"))
    assert (received.new, received.runs, received.rings) == (True, (), ())
    view = ledger.delivery("g-1")
    assert view is not None
    assert (view.outcome, view.size) == ("ignored: nobody asked for stars", len(body))
    assert ledger.delivery_body("g-1") == body
    assert ledger.delivery("g-2") is None
    assert ledger.delivery_body("g-2") is None


def test_a_fact_of_which_no_run_has_use_is_ignored_with_its_reason(told: Told) -> None:
    edited = f.IssueChanged(at=START, issue_digest=TEXTS[0], person=MIRA)
    assert "no run" in told.deliver(edited).outcome
    told.labelled()
    assert told.deliver(edited).outcome == "ignored: The issue reads as it did."


@pytest.mark.parametrize("subject", [OnRepository(WIDE + 2), OnInstallation(WIDE + 3)])
def test_the_end_of_a_repository_or_an_installation_reaches_every_open_run(ledger: Ledger, subject: Any) -> None:
    for number in (1, 2, 3):
        Told(ledger, a_request(run=f"r-00000{number}", number=number)).labelled()
    elsewhere = a_request(run="r-000009", repository_id=99).model_copy(update={"installation_id": 98})
    Told(ledger, elsewhere).labelled()
    gone = f.RepositoryEnded(at=START, how="The repository was deleted.")
    received = ledger.receive(a_delivery("g-9"), News(subject, gone))
    assert received.runs == ("r-000001", "r-000002", "r-000003")
    assert received.outcome == "recorded repository_ended in 3 runs"
    assert [run.id for run in ledger.runs() if run.open] == ["r-000009"]


def test_a_pull_request_finds_its_run_by_number_even_after_the_end(told: Told) -> None:
    claim = told.approved()
    digest = sha("plan 1")
    told.settle(
        claim,
        f.StepsDone(
            at=told.tick(), plan_digest=digest, patch_ref=sha("patch"), report_ref=sha("report"), spent=Spent()
        ),
    )
    told.ledger.record(told.request.run, f.DraftOpened(at=told.tick(), plan_digest=digest, pull=a_pull(WIDE)))
    view = told.ledger.run(told.request.run)
    assert view is not None and isinstance(view.state, Published)
    assert told.ledger.run_of_pull(told.request.repository_id, WIDE) == told.request.run
    assert told.ledger.run_of_pull(told.request.repository_id, 42) is None
    merged = f.PullRequestEnded(at=told.tick(), merged=True, person=MIRA)
    news = News(OnPull(told.request.repository_id, WIDE), merged)
    assert told.ledger.receive(a_delivery("g-8"), news).runs == (told.request.run,)
    assert told.ledger.receive(a_delivery("g-9"), news).outcome.startswith("ignored: A run that is closed")
    assert told.ledger.run_of_pull(told.request.repository_id, WIDE) == told.request.run


def test_a_repository_keeps_its_id_and_changes_its_name(told: Told) -> None:
    told.proposed()
    id = told.request.repository_id
    told.ledger.receive(a_delivery("g-7"), News(OnRepository(id), None, Seen(id, "acme/gadgets", 77)))
    assert told.ledger.repository(id) == Seen(id, "acme/gadgets", 77)
    assert told.ledger.repository(1) is None
    assert told.ledger.runs()[0].repository == "acme/gadgets"
    [waiting] = told.ledger.waiting_proposals()
    assert (waiting.repository, waiting.installation_id) == ("acme/gadgets", 77)


def test_a_thumb_is_asked_about_once_for_each_version(told: Told) -> None:
    comment = told.proposed()
    [waiting] = told.ledger.waiting_proposals()
    assert (waiting.comment_id, waiting.comment_node_id, waiting.version) == (comment, "IC_kwDO", 1)
    assert waiting.seen_reactions == frozenset()
    thumb = f.ThumbSeen(at=told.tick(), reaction_id=WIDE, comment_id=comment, person=OTTO, created_at=told.now)
    recorded = told.ledger.record(told.request.run, thumb)
    assert not isinstance(recorded, Refused)
    assert [ring.belt for ring in recorded.rings] == [Belt.PUBLISHER]
    [waiting] = told.ledger.waiting_proposals()
    assert waiting.seen_reactions == frozenset({WIDE})
    again = told.ledger.record(told.request.run, thumb)
    assert not isinstance(again, Refused)
    assert again.rings == ()


def test_the_thumb_of_everybody_who_approved_is_held(told: Told) -> None:
    told.proposed()
    policy = Policy(approve=Approving(count=2))
    by_thumb = SourceKind.REACTION
    for number, person in enumerate([MIRA, OTTO], start=1):
        assert told.ledger.standing_thumbs() == ()
        key = f"k{number}"
        look = LookUpAuthority(key=key, purpose=Purpose.APPROVE, person=person, source=by_thumb, source_id=number)
        fact = found(look, told.tick(), plan_version=1, policy=policy, permission="write", role_name="write")
        assert not isinstance(told.ledger.record(told.request.run, fact), Refused)
    assert {thumb.reaction_id for thumb in told.ledger.standing_thumbs()} == {1, 2}


def test_a_fact_for_a_run_that_is_not_there_is_refused(ledger: Ledger) -> None:
    assert isinstance(ledger.record("r-nobody", f.Expired(at=START)), Refused)
    assert ledger.run("r-nobody") is None


def test_what_waits_too_long_is_due_to_expire(told: Told) -> None:
    told.proposed()
    view = told.ledger.run(told.request.run)
    assert view is not None
    over = view.state.proposal.expires_at  # type: ignore[union-attr]
    assert told.ledger.due_to_expire(over - timedelta(microseconds=1)) == ()
    assert told.ledger.due_to_expire(over) == (told.request.run,)
    told.ledger.record(told.request.run, f.Expired(at=over))
    assert told.ledger.due_to_expire(over) == ()
    view = told.ledger.run(told.request.run)
    assert view is not None and isinstance(view.state, Closed)


def test_a_question_stays_open_for_fourteen_days(told: Told) -> None:
    told.allowed()
    asked = told.tick()
    question = f.InputNeeded(at=asked, version=1, question="Which unit?", spent=Spent())
    told.ledger.record(told.request.run, question)
    told.deliver(f.LabelledAgain(at=told.tick(), person=OTTO))
    assert told.ledger.due_to_expire(asked + timedelta(days=14) - timedelta(seconds=1)) == ()
    assert told.ledger.due_to_expire(asked + timedelta(days=14)) == (told.request.run,)


def test_the_list_of_runs_goes_on_where_it_stopped(ledger: Ledger) -> None:
    for number in range(1, 8):
        # Two at a time are opened in the same moment.
        request = a_request(run=f"r-00000{number}", number=number)
        Told(ledger, request).deliver(labelled(request, START + timedelta(seconds=number // 2)))
    first = ledger.runs(limit=4)
    rest = ledger.runs(limit=4, before=first[-1].id)
    assert [run.id for run in first + rest] == [f"r-00000{number}" for number in (7, 6, 5, 4, 3, 2, 1)]


def test_what_waits_on_an_issue_or_an_installation_is_due_when_it_may_go_on(told: Told) -> None:
    told.labelled()
    claim = told.claim(LookUpAuthority)
    later = told.now + timedelta(hours=1)
    assert told.ledger.postpone(claim, later, "locked", told.now) is None
    request = told.request
    elsewhere = News(OnIssue(request.repository_id, request.issue_number + 1), None, hurry=True)
    assert told.ledger.receive(a_delivery("u-1"), elsewhere).rings == ()
    assert told.ledger.owed(Belt.PUBLISHER, told.now) == ()
    for guid, subject in (
        ("u-2", OnIssue(request.repository_id, request.issue_number)),
        ("u-3", OnInstallation(request.installation_id)),
    ):
        received = told.ledger.receive(a_delivery(guid), News(subject, None, hurry=True))
        assert received.rings == (Ring(Belt.PUBLISHER, claim.effect_id),)
        assert told.ledger.owed(Belt.PUBLISHER, told.now) == (claim.effect_id,)
        again = told.claim(LookUpAuthority)
        # What is in hand stays with its holder.
        assert told.ledger.receive(a_delivery(f"{guid}-held"), News(subject, None, hurry=True)).rings == ()
        assert told.ledger.postpone(again, later, "suspended", told.now) is None


RENAMES = {
    "used and renamed": ([("countersign", ""), ("countersign", "plan it")], "countersign"),
    "renamed to the trigger's name and used": ([("bug", ""), ("countersign", "")], "bug"),
    "lent the name, used, and given back its own": (
        [("bug", ""), ("countersign", ""), ("countersign", "bug")],
        "bug",
    ),
    "given the name for good, and another later": ([("bug", ""), ("countersign", "plan it")], "countersign"),
    "back to the trigger's name after a while": ([("countersign", "plan it"), ("plan it", "")], "countersign"),
}


@pytest.mark.parametrize("how", RENAMES)
def test_a_label_that_only_lent_the_trigger_s_name_is_known_by_its_own_again(ledger: Ledger, how: str) -> None:
    seen, known = RENAMES[how]
    for number, (name, renamed_to) in enumerate(seen):
        news = News(OnRepository(7), None, None, Trigger(7, 9, name, renamed_to))
        ledger.receive(a_delivery(f"g-{number}"), news)
    assert ledger.triggers(7, [9]) == {9: known}


def test_a_run_that_waits_for_us_is_found_once_nothing_was_told_of_it(told: Told) -> None:
    run = told.request.run
    told.allowed()
    assert told.ledger.last_sign(run) == told.now
    assert told.ledger.at_work_since(told.now) == ()
    assert told.ledger.at_work_since(told.tick()) == (run,)
    told.settle(told.claim(DraftPlan), drafted(1, told.tick()))
    assert told.ledger.at_work_since(told.tick()) == ()
    look = LookUpAuthority(key="k", purpose=Purpose.REVISE, person=MIRA, source=SourceKind.COMMENT, source_id=9)
    told.ledger.record(run, found(look, told.tick(), plan_version=1))
    assert told.ledger.at_work_since(told.tick()) == (run,)
    assert told.ledger.last_sign("r-nowhere") is None
