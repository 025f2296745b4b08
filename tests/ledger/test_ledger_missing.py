"""Missed deliveries and rounds: noted once, asked for with pauses, settled when they come; one process at a time."""

from contextlib import closing
from datetime import timedelta

import pytest

from app.core import facts as f
from app.core.gap import Gap
from app.core.issue import Person
from app.core.missed import MOST_ASKED, Attempt, Tidings, pause_after, tidings
from app.core.news import READ, Ignored, News, Seen
from app.ledger import open_ledger
from app.ledger.outcomes import MissedView, UnheardPlace
from app.ledger.store import Ledger
from tests.fakes.deliveries import a_delivery, on_issue
from tests.fakes.facts import MIRA, OTTO, START, WIDE, a_request, labelled

DAYS = timedelta(days=3)
MINUTE = timedelta(minutes=1)
NOTHING = Ignored("nothing for us")


def missed(*numbers: int, status: str = "timed out") -> Tidings:
    """What the log says of these deliveries, each a second after the one before."""
    log = [
        Attempt(WIDE + n, f"g-{n}", START - MINUTE + timedelta(seconds=n), "issues", "labeled", status) for n in numbers
    ]
    return tidings(log, START)


def guids(views: tuple[MissedView, ...]) -> list[str]:
    return [view.guid for view in views]


def test_what_did_not_arrive_is_asked_for_oldest_first_and_then_not_before_its_pause_is_over(ledger: Ledger) -> None:
    ledger.note(missed(3, 1, 2), START)
    ledger.note(missed(2, 3), START)
    due = ledger.to_ask_for(START, START - DAYS, 2)
    assert [(one.guid, one.attempt_id, one.asked) for one in due] == [("g-1", WIDE + 1, 0), ("g-2", WIDE + 2, 0)]
    for one in due:
        ledger.asking(one, START)
    ledger.receive(a_delivery("g-1"), NOTHING)
    assert guids(ledger.to_ask_for(START, START - DAYS, 9)) == ["g-3"]
    assert guids(ledger.to_ask_for(START + pause_after(1), START + pause_after(1) - DAYS, 9)) == ["g-3", "g-2"]
    assert guids(ledger.missing()) == ["g-2", "g-3"]


def test_what_was_received_is_not_asked_for_whether_it_is_known_before_or_after(ledger: Ledger) -> None:
    ledger.receive(a_delivery("g-1"), NOTHING)
    ledger.note(missed(1, 2), START)
    assert guids(ledger.missing()) == ["g-2"]
    ledger.receive(a_delivery("g-2"), NOTHING)
    assert ledger.to_ask_for(START, START - DAYS, 9) == ()
    assert ledger.missing() == ()
    # A later failure of what came is no reason to ask again.
    ledger.note(missed(1, 2), START)
    assert ledger.to_ask_for(START, START - DAYS, 9) == ()


def test_what_was_answered_and_not_kept_is_settled_by_what_the_log_says(ledger: Ledger) -> None:
    ledger.note(missed(1, 2), START)
    ledger.note(missed(1, status="OK"), START)
    assert guids(ledger.missing()) == ["g-2"]


def test_a_newer_attempt_takes_the_place_of_an_older_one_and_never_the_other_way(ledger: Ledger) -> None:
    newer = Attempt(WIDE + 99, "g-1", START - MINUTE, "issues", "labeled", "timed out")
    for told in (missed(1), Tidings(frozenset(), (newer,)), missed(1)):
        ledger.note(told, START)
    assert [one.attempt_id for one in ledger.missing()] == [WIDE + 99]


def test_while_nothing_of_what_was_asked_for_comes_one_at_a_time_is_asked_for(ledger: Ledger) -> None:
    ledger.note(missed(*range(1, 9)), START)
    first = ledger.to_ask_for(START, START - DAYS, 3)
    assert len(first) == 3
    for one in first:
        ledger.asking(one, START)
    for again in range(2):
        (one,) = ledger.to_ask_for(START, START - DAYS, 3)
        ledger.asking(one, START + timedelta(seconds=again + 1))
    # One came: somebody receives again.
    ledger.receive(a_delivery("g-5"), NOTHING)
    assert guids(ledger.to_ask_for(START, START - DAYS, 3)) == ["g-6", "g-7", "g-8"]


def test_nothing_is_asked_for_that_github_keeps_no_longer_or_that_was_asked_for_too_often(ledger: Ledger) -> None:
    ledger.note(missed(1, 2), START)
    assert ledger.to_ask_for(START + DAYS, START + DAYS - DAYS, 9) == ()
    assert ledger.missing() == ()
    ledger.note(missed(3), START)
    now = START
    for _ in range(MOST_ASKED):
        (one,) = ledger.to_ask_for(now, now - 99 * DAYS, 9)
        ledger.asking(one, now)
        now += pause_after(one.asked + 1)
    assert ledger.to_ask_for(now, now - 99 * DAYS, 9) == ()
    assert ledger.missing() == ()


def test_what_github_will_not_send_again_is_given_up(ledger: Ledger) -> None:
    ledger.note(missed(1), START)
    ledger.give_up("g-1", "GitHub does not send it again", START)
    ledger.note(missed(1), START)
    assert ledger.to_ask_for(START, START - DAYS, 9) == ()


def test_a_round_is_one_process_s_until_it_ends_or_takes_too_long(ledger: Ledger, ledger_url: str) -> None:
    with closing(open_ledger(ledger_url)) as other:
        turn = ledger.take_turn("deliveries", START, MINUTE)
        assert turn is not None and (turn.position, turn.failures) == ({}, 0)
        assert other.take_turn("deliveries", START, MINUTE) is None
        assert other.take_turn("something else", START, MINUTE) is not None
        turn.position["following"] = "\u2028 \ud800"
        ledger.end_turn(turn, START + 2 * MINUTE, "GitHub did not answer.")
        assert other.take_turn("deliveries", START + MINUTE, MINUTE) is None
        again = other.take_turn("deliveries", START + 2 * MINUTE, MINUTE)
        assert again is not None and (again.position, again.failures) == (turn.position, 1)
        # Whoever held it has died: the next goes on where the last one that ended came.
        last = ledger.take_turn("deliveries", START + 3 * MINUTE, MINUTE)
        assert last == again
        ledger.end_turn(last, START + 4 * MINUTE)
        assert ledger.due_at("deliveries") == START + 4 * MINUTE


@pytest.mark.parametrize("text", ["\x00", "a lone \ud83d", "back\\slash \\u0000"])
def test_whatever_github_says_of_an_attempt_is_kept(ledger: Ledger, text: str) -> None:
    ledger.note(Tidings(frozenset(), (Attempt(2**52, f"g{text}", START, text, text, text),)), START)
    (one,) = ledger.to_ask_for(START, START - DAYS, 1)
    assert (one.guid, one.event, one.attempt_id) == (f"g{text}", text, 2**52)


# -- what nobody will tell any more -----------------------------------------------------------------------------------

GAP = Gap(START - 2 * DAYS, START - DAYS)
PLACES = tuple(Seen(WIDE + number, f"acme/r-{number}", 7) for number in (1, 2))


def test_labels_that_were_given_up_are_told_by_their_last_attempts_and_none_that_came(ledger: Ledger) -> None:
    ledger.note(missed(1, 2, 3, 4), START)
    ledger.note(Tidings(frozenset(), (Attempt(WIDE, "g-9", START, "issues", "closed", "timed out"),)), START)
    ledger.receive(a_delivery("g-1"), NOTHING)
    ledger.note(missed(2, status="OK"), START)
    ledger.to_ask_for(START, START - DAYS, 9)
    assert ledger.labels_given_up(START - MINUTE, START) == ()
    ledger.give_up("g-3", "GitHub does not send it again", START)
    ledger.give_up("g-9", "GitHub does not send it again", START)
    assert ledger.labels_given_up(START - MINUTE, START) == (START - MINUTE + timedelta(seconds=3),)
    later = START + DAYS
    ledger.to_ask_for(later, later - DAYS, 9)
    assert ledger.labels_given_up(START, later) == (START - MINUTE + timedelta(seconds=4),)
    assert ledger.labels_given_up(later, later) == ()


def test_a_repository_is_to_be_read_until_it_was_read_for_every_gap(ledger: Ledger, ledger_url: str) -> None:
    ledger.to_be_read(PLACES, GAP, START)
    one, other = ledger.unheard(START)
    assert (one, other) == tuple(UnheardPlace(7, seen.repository_id, seen.full_name, GAP) for seen in PLACES)
    ledger.read_later(other, START + MINUTE)
    assert ledger.unheard(START) == (one,) and ledger.unheard_in(7) == {one.repository_id, other.repository_id}
    # While it was read another gap was found: it is to be read for both, under its name of now.
    renamed = Seen(one.repository_id, "acme/renamed", 8)
    ledger.to_be_read([renamed], Gap(START - MINUTE, START), START)
    ledger.was_read(one)
    both = UnheardPlace(8, one.repository_id, "acme/renamed", Gap(GAP.since, START))
    assert ledger.unheard(START) == (both,) and ledger.unheard_in(7) == {other.repository_id}
    ledger.to_be_read([renamed], GAP, START)
    assert ledger.unheard(START) == (both,)
    ledger.was_read(both)
    with closing(open_ledger(ledger_url)) as another:
        assert another.unheard(START) == () and another.unheard(START + MINUTE) == (other,)


def test_what_a_wrong_clock_put_off_for_a_year_is_due(ledger: Ledger) -> None:
    ledger.to_be_read(PLACES, GAP, START + timedelta(days=365))
    assert len(ledger.unheard(START)) == 2


def set_by(person: Person, run: str, later: timedelta = timedelta()) -> News:
    """The label, set by somebody a minute ago, or so much later."""
    when = START - MINUTE + later
    request = a_request(run=run).model_copy(update={"labelled_at": when, "labeller": person})
    return on_issue(labelled(request).model_copy(update={"happened_at": when}), request)


@pytest.mark.parametrize("guids", [(f"{READ}label:1", "g-1"), ("g-1", f"{READ}label:1")])
@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("apart", [0, 1, 2])
def test_a_label_that_was_told_and_read_has_one_run_whichever_came_first(
    ledger: Ledger, guids: tuple[str, str], over: bool, apart: int
) -> None:
    """What was told has the time of the issue's last change, what was read that of the label: a second lies between."""
    def again() -> int:
        view = ledger.run("r-000001")
        assert view is not None
        return [one.fact.kind for one in view.facts].count("labelled_again")

    assert ledger.receive(a_delivery(guids[0]), set_by(MIRA, "r-000001")).outcome == "opened run r-000001"
    if over:
        ended = f.IssueEnded(at=START, how=f.IssueEnd.CLOSED, person=MIRA)
        ledger.receive(a_delivery("g-2"), on_issue(ended, a_request()))
    later = timedelta(seconds=apart)
    assert "r-000001" in ledger.receive(a_delivery(guids[1]), set_by(MIRA, "r-000002", later)).outcome
    assert (again(), len(ledger.runs())) == (0, 1)
    # Somebody else who set it in that second did so besides.
    ledger.receive(a_delivery(f"{READ}label:2"), set_by(OTTO, "r-000003"))
    assert (again(), len(ledger.runs())) == ((0, 2) if over else (1, 1))
