"""Missed deliveries are found in the log and asked for: each once, in bounded rounds, and with a rest on trouble."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.core.missed import IN_FLIGHT, KEPT_DAYS, ROUND, pause_after
from app.core.news import Delivery, Ignored
from tests.fakes.household import app_key
from tests.rooms.mint.conftest import CONNECTIONS, REPO, Desk
from worker.github.app import AppIdentity
from worker.mint.catching_up import INTERVAL, LONGEST_REST, QUICKER, Bounds, CatchingUp
from worker.mint.mint import Mint, Site
from worker.mint.surveying import REST

NOBODY = "http://127.0.0.1:9/hook"
SECOND = timedelta(seconds=1)
PLENTY = Bounds()


class Deaf:
    """A desk to which nothing is delivered, and its mint that looks for what is missing."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.control, self.ledger = desk, desk.control, desk.ledger
        self.control.set_hook(NOBODY, "a secret")
        clock = lambda: desk.now().timestamp()  # noqa: E731
        self.identity = AppIdentity(desk.twin.url, str(desk.twin.app.id), app_key()[0], clock, CONNECTIONS)
        self.mint = self.another_mint()

    def another_mint(self, bounds: Bounds = PLENTY, ahead: timedelta = 0 * SECOND) -> CatchingUp:
        clock = lambda: self.desk.now() + ahead  # noqa: E731
        mint = Mint(self.ledger, self.identity, Site(self.desk.twin.url, CONNECTIONS), clock)
        return CatchingUp(self.ledger, mint, self.desk.twin.url, clock, bounds)

    def misses(self, count: int) -> list[str]:
        """So much is told to nobody, long enough ago; the guids of it."""
        for _ in range(count):
            self.desk.twin.forge.webhooks.emit_lifecycle("installation", "created", self.desk.installation_id, {})
        self.control.settle()
        guids = [one["guid"] for one in self.control.deliveries() if not one["redelivery"]][-count:]
        self.later(IN_FLIGHT + 2 * SECOND)
        return guids

    def later(self, time: timedelta) -> None:
        self.desk.ahead += time
        self.control.set_clock(self.desk.ahead.total_seconds())

    def round(self) -> timedelta:
        """The next round, when it is due; how long the one after that is off."""
        due = self.ledger.due_at(ROUND)
        self.later(max((due or self.desk.now()) - self.desk.now(), timedelta()) + SECOND)
        began = self.desk.now()
        self.mint.round()
        self.control.settle()
        after = self.ledger.due_at(ROUND)
        assert after is not None
        return after - began

    def sent_again(self) -> Counter[str]:
        """How often each delivery was sent again."""
        return Counter(one["guid"] for one in self.control.deliveries() if one["redelivery"])

    def arrives(self, *guids: str) -> None:
        for guid in guids:
            self.ledger.receive(Delivery(guid, "installation", "created", self.desk.now(), b"{}"), Ignored("nothing"))

    def pages_read(self) -> list[str]:
        asked = [one for one in self.control.journal() if one["path"] == "/app/hook/deliveries"]
        assert {one["caller"] for one in asked} <= {"app"}
        return [one["query"].partition("cursor=")[2] for one in asked]


@pytest.fixture
def deaf(desk: Desk) -> Iterator[Deaf]:
    made = Deaf(desk)
    with made.identity:
        yield made


def about(time: timedelta, expected: timedelta) -> bool:
    return abs(time - expected) < 30 * SECOND / 2


def test_each_missed_delivery_is_asked_for_once_and_what_arrived_is_not(deaf: Deaf) -> None:
    guids = deaf.misses(4)
    deaf.arrives(guids[1])
    assert about(deaf.round(), QUICKER)
    assert deaf.sent_again() == {guids[0]: 1, guids[2]: 1, guids[3]: 1}
    deaf.arrives(*guids)
    assert about(deaf.round(), INTERVAL)
    deaf.round()
    assert deaf.sent_again() == {guids[0]: 1, guids[2]: 1, guids[3]: 1}
    assert deaf.ledger.missing() == ()


def test_what_may_be_under_way_is_left_alone_and_found_by_the_next_pass(deaf: Deaf) -> None:
    (guid,) = deaf.misses(1)
    deaf.later(-IN_FLIGHT)
    deaf.round()
    assert deaf.sent_again() == {}
    deaf.round()
    assert deaf.sent_again() == {guid: 1}


def test_a_clock_that_is_slow_loses_nothing(deaf: Deaf) -> None:
    """By eight minutes: the App's key is still believed, and a pass looks back over five."""
    lost, *later = deaf.misses(1) + deaf.misses(1)
    slow, right = timedelta(minutes=8), deaf.desk.ahead
    deaf.desk.ahead -= slow
    deaf.mint.round()
    assert deaf.sent_again() == {lost: 1}
    deaf.desk.ahead = right
    deaf.round()
    assert set(deaf.sent_again()) == {lost, *later}


def test_a_round_that_a_wrong_clock_put_off_for_a_year_is_due(deaf: Deaf) -> None:
    deaf.desk.ahead += timedelta(days=365)
    turn = deaf.ledger.take_turn(ROUND, deaf.desk.now(), INTERVAL)
    assert turn is not None
    deaf.ledger.end_turn(turn, deaf.desk.now() + INTERVAL)
    deaf.desk.ahead -= timedelta(days=365)
    (guid,) = deaf.misses(1)
    deaf.mint.round()
    assert deaf.sent_again() == {guid: 1}


def test_a_clock_that_is_days_ahead_gives_up_nothing(deaf: Deaf) -> None:
    """The ledger's: with such a clock of its own the mint could not ask GitHub for anything."""
    far = timedelta(days=KEPT_DAYS + 1)
    (known,) = deaf.misses(1)
    deaf.control.fault(r"POST .*/attempts", mode="drop")
    deaf.round()
    (new,) = deaf.misses(1)
    deaf.another_mint(ahead=far).round()
    assert {one.guid for one in deaf.ledger.missing()} == {known, new}
    # What that one wrote down as due in days is due.
    for _ in range(3):
        deaf.mint.round()
        deaf.later(QUICKER + pause_after(2))
    assert set(deaf.sent_again()) == {known, new}
    # And a label that is given up now is not taken for one that was known then.
    for place in deaf.ledger.unheard(deaf.desk.now()):
        deaf.ledger.was_read(place)
    deaf.control.fault(r"POST .*/attempts", status=404, body='{"message": "Not Found"}', times=99)
    set_unheard(deaf)
    for _ in range(4):
        deaf.round()
    assert len(deaf.ledger.unheard(deaf.desk.now())) == 1


def test_what_a_clock_that_is_days_ahead_asked_for_in_vain_is_asked_for_again_when_it_is_right(deaf: Deaf) -> None:
    (guid,) = deaf.misses(1)
    deaf.control.fault(r"POST .*/attempts", mode="drop")
    deaf.another_mint(ahead=timedelta(days=KEPT_DAYS + 1)).round()
    assert deaf.sent_again() == {}
    deaf.mint.round()
    assert deaf.sent_again() == {guid: 1}


def test_events_that_nobody_follows_are_not_asked_for(deaf: Deaf) -> None:
    deaf.control.push_commit(REPO, "main", {"new.txt": "x"}, as_login="mira")
    deaf.misses(1)
    assert {"push"} < {one["event"] for one in deaf.control.deliveries()}
    deaf.round()
    again = [one["event"] for one in deaf.control.deliveries() if one["redelivery"]]
    assert again == ["installation"]


def test_a_long_log_is_read_in_bounded_rounds_by_whichever_mint_and_each_page_once(deaf: Deaf) -> None:
    guids = deaf.misses(230)
    few = Bounds(pages=1, asked_for=3)
    for round_, seen in enumerate((100, 200, 230), start=1):
        # Each round is another process: what an earlier one came to is in the ledger.
        deaf.mint = deaf.another_mint(few)
        assert about(deaf.round(), QUICKER)
        assert len(deaf.pages_read()) == round_
        assert sum(deaf.sent_again().values()) <= 3 + round_ - 1
        known = {one.guid for one in deaf.ledger.missing()}
        assert known == set(guids[-seen:])
    assert len(set(deaf.pages_read())) == 3
    deaf.arrives(*guids)
    deaf.round()
    # The next pass ends where the last one began: it reads one page.
    assert len(deaf.pages_read()) == 4


def test_while_nobody_receives_there_is_one_request_a_round_and_then_all_at_once(deaf: Deaf) -> None:
    guids = deaf.misses(12)
    deaf.mint = deaf.another_mint(Bounds(asked_for=5))
    deaf.round()
    assert sum(deaf.sent_again().values()) == 5
    for _ in range(2):
        deaf.round()
    assert sum(deaf.sent_again().values()) == 7
    deaf.arrives(guids[0])
    deaf.round()
    assert sum(deaf.sent_again().values()) == 12


@pytest.mark.parametrize("what", ["GET .*/app/hook/deliveries$", r"POST .*/app/hook/deliveries/\d+/attempts"])
def test_a_github_that_fails_is_left_in_peace_for_longer_and_longer(deaf: Deaf, what: str) -> None:
    guids = deaf.misses(2)
    deaf.control.fault(what, status=503, times=99)
    rests = [deaf.round() for _ in range(8)]
    assert about(rests[0], INTERVAL) and about(rests[1], 2 * INTERVAL) and about(rests[-1], LONGEST_REST)
    deaf.control.clear_faults()
    for _ in range(2):
        deaf.round()
    assert set(deaf.sent_again()) == set(guids)
    deaf.arrives(*guids)
    assert about(deaf.round(), INTERVAL)


def test_a_limit_is_waited_out_as_long_as_github_says(deaf: Deaf) -> None:
    deaf.misses(1)
    deaf.control.fault("GET .*/app/hook/deliveries$", status=429, headers={"Retry-After": "700"})
    assert about(deaf.round(), 700 * SECOND)


def test_what_github_keeps_no_longer_is_given_up_and_the_rest_still_asked_for(deaf: Deaf) -> None:
    (old,) = deaf.misses(1)
    deaf.control.fault(r"POST .*/attempts", status=404, body='{"message": "Not Found"}')
    (new,) = deaf.misses(1)
    deaf.round()
    assert deaf.sent_again() == {new: 1}
    deaf.round()
    assert old not in deaf.sent_again() and [one.guid for one in deaf.ledger.missing()] == [new]


LOST = "is lost. Open runs are held against their issues"
DAYS = timedelta(days=KEPT_DAYS)
OUT_OF_REACH = DAYS + timedelta(hours=1)


def test_what_the_log_does_not_reach_any_more_after_a_long_absence_is_said_once(
    deaf: Deaf, caplog: pytest.LogCaptureFixture
) -> None:
    # The first look ever has missed nothing, and quiet days on which somebody looked have not either.
    deaf.arrives(*deaf.misses(1))
    for _ in range(3):
        deaf.round()
        deaf.later(OUT_OF_REACH / 2)
    assert LOST not in caplog.text
    last = deaf.desk.now() - OUT_OF_REACH / 2
    deaf.later(OUT_OF_REACH / 2)
    deaf.mint = deaf.another_mint()
    for _ in range(2):
        deaf.round()
    (said,) = [record.getMessage() for record in caplog.records if LOST in record.getMessage()]
    read_at = [f"last read at {last - late:%Y-%m-%d %H:%M} UTC" for late in (0 * SECOND, 30 * SECOND)]
    assert any(words in said for words in read_at) and "labels that were set then are looked for everywhere" in said
    # The App is installed in one place, with one repository, and no token is left of the listing.
    (place,) = deaf.ledger.unheard(deaf.desk.now())
    assert (place.installation_id, place.repository_id) == (deaf.desk.installation_id, deaf.desk.repository_id)
    assert about(place.gap.since - last, 0 * SECOND) and about(place.gap.until - deaf.desk.now(), -DAYS - INTERVAL)
    assert deaf.desk.living() == [] and {one.purpose for one in deaf.ledger.mints()} == {"list"}


def test_a_ledger_restored_from_before_the_log_s_reach_says_so_too(
    deaf: Deaf, caplog: pytest.LogCaptureFixture
) -> None:
    turn = deaf.ledger.take_turn(ROUND, deaf.desk.now(), SECOND)
    assert turn is not None
    now = deaf.desk.now()
    position = {"floor": (now - OUT_OF_REACH).isoformat(), "lost_before": now.isoformat()}
    deaf.ledger.end_turn(replace(turn, position=position), now)
    deaf.round()
    assert LOST in caplog.text


def set_unheard(deaf: Deaf) -> datetime:
    """Mira sets a label, and nobody receives it; when that was."""
    at, desk = deaf.desk.now(), deaf.desk
    number = desk.control.open_issue(desk.repo, "outsider", "It is misspelt", "helo")["number"]
    desk.control.label(desk.repo, number, "countersign", "mira")
    deaf.control.settle()
    deaf.later(IN_FLIGHT + 2 * SECOND)
    return at


def test_labels_whose_deliveries_are_given_up_are_to_be_read_and_others_are_not(deaf: Deaf) -> None:
    deaf.control.fault(r"POST .*/attempts", status=404, body='{"message": "Not Found"}', times=99)
    deaf.misses(1)
    deaf.round()
    assert deaf.ledger.missing() == () and deaf.ledger.unheard(deaf.desk.now()) == (), "that is no label"
    at = set_unheard(deaf)
    for _ in range(4):
        deaf.round()
    (place,) = deaf.ledger.unheard(deaf.desk.now())
    assert deaf.ledger.missing() == () and place.gap.holds(at)
    # It is searched for once.
    deaf.ledger.was_read(place)
    deaf.later(2 * REST)
    for _ in range(2):
        deaf.round()
    assert deaf.ledger.unheard(deaf.desk.now()) == ()


def test_what_is_to_be_read_is_listed_in_bounded_rounds_by_whichever_mint_and_each_page_once(
    deaf: Deaf, caplog: pytest.LogCaptureFixture
) -> None:
    world, control = deaf.desk.twin.forge.world, deaf.control
    some = world.repos[deaf.desk.repository_id]
    for number in range(1, 120):
        world.repos[some.id + 10_000 + number] = replace(some, id=some.id + 10_000 + number, name=f"r-{number}")
    for owner in ("shut", "other"):
        control.add_repo(f"{owner}/greet", {"greet.sh": "echo helo\n"}, collaborators={"mira": "maintain"})
        control.install(owner)
    control.suspend("shut")
    deaf.round()
    deaf.later(OUT_OF_REACH)
    listed = []
    for _ in range(4):
        deaf.mint = deaf.another_mint(Bounds(listed=1))
        deaf.round()
        listed.append(len(deaf.ledger.unheard(deaf.desk.now())))
    assert listed == [100, 120, 120, 121]
    asked = [one for one in control.journal() if one["path"] == "/installation/repositories"]
    assert len(asked) == 3 and "suspended" in caplog.text
    assert deaf.desk.living() == []


def test_a_github_that_lists_nothing_now_is_asked_again_and_its_log_is_read_meanwhile(deaf: Deaf) -> None:
    deaf.round()
    deaf.later(OUT_OF_REACH)
    control = deaf.control
    (guid,) = deaf.misses(1)
    for what in ("GET .*/app/installations$", "POST .*/access_tokens$", "GET .*/installation/repositories$"):
        control.fault(what, status=503)
        deaf.round()
        assert deaf.ledger.unheard(deaf.desk.now()) == () and deaf.desk.living() == []
    assert deaf.sent_again()[guid] >= 1
    # Of an installation at its limit nothing is asked at all.
    deaf.ledger.pause(deaf.desk.installation_id, deaf.desk.now() + 10 * INTERVAL, "a limit", deaf.desk.now())
    before = len(control.tokens())
    deaf.round()
    assert deaf.ledger.unheard(deaf.desk.now()) == () and len(control.tokens()) == before
    deaf.later(10 * INTERVAL)
    deaf.round()
    assert len(deaf.ledger.unheard(deaf.desk.now())) == 1


def test_an_address_in_the_log_that_is_not_known_any_more_begins_the_pass_anew(deaf: Deaf) -> None:
    guids = deaf.misses(120)
    deaf.mint = deaf.another_mint(Bounds(pages=1))
    deaf.round()
    deaf.control.fault("GET .*/app/hook/deliveries$", status=422, body='{"message": "Invalid cursor"}')
    deaf.round()
    for _ in range(2):
        deaf.round()
    assert {one.guid for one in deaf.ledger.missing()} == set(guids)


def test_after_a_mint_that_died_while_asking_the_next_asks_once_the_pause_is_over(deaf: Deaf) -> None:
    (guid,) = deaf.misses(1)
    deaf.control.fault(r"POST .*/attempts", mode="drop")
    deaf.round()
    assert deaf.sent_again() == {}
    deaf.mint = deaf.another_mint()
    for _ in range(2):
        deaf.round()
    assert deaf.sent_again() == {guid: 1}
