"""The doctor's page: what the web process sees itself, what others left in the ledger, and what it cannot look at."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path

import httpx
import pytest

from app.core.belts import Belt
from app.core.missed import ROUND, Attempt, Tidings
from app.doctor.finding import Standing, examine
from app.doctor.others import LATE, checks_of_others, of_belt
from app.ledger import open_ledger
from app.ledger.gauges import OwedKind
from app.ledger.store import Ledger
from app.settings import web_settings
from app.web.examining import Examinations
from tests.fakes.facts import START, a_request, labelled
from tests.rooms.web.conftest import SECRET, Door, labeled, running
from tests.rooms.web.test_pages import opened


def findings(page: str) -> dict[str, tuple[str, str]]:
    """By the name of the check: its standing, and its words without markup; the last one of a name counts."""
    items = re.findall(r'<li class="line finding">(.*?)</li>', page, re.DOTALL)
    found = {}
    for item in items:
        words = unescape(re.sub(r"<[^>]*>", "", item))
        chips = re.findall(r'class="chip \w+">([^<]*)<', item)
        standing = chips[0] if chips else "by others"
        (name,) = re.findall(r"<strong>([^<]*)</strong>", item)
        found[name] = (standing, words)
    return found


def test_it_tells_what_is_well_what_is_not_and_what_is_not_looked_at_here(door: Door) -> None:
    door.post("issues", labeled(), guid="one")
    door.post("issues", labeled(), guid="two", headers={"x-hub-signature-256": ""})
    page = door.client.get(f"{door.url}/doctor")
    found = findings(page.text)
    assert page.status_code == 200 and "1 fault." in page.text
    assert found["ledger"][0] == found["data folder"][0] == found["broker"][0] == "well"
    assert "something was recorded in it" in found["ledger"][1]
    assert found["mint"][0] == "fault" and "has never looked" in found["mint"][1]
    assert found["deliveries"][0] == "well" and "1 of the deliveries was refused" in unescape(page.text)
    assert "1 effect is owed" in found["work of the publisher"][1]
    assert found["work of the planner"][0] == "elsewhere"
    assert "countersign doctor --of mint" in page.text and "Not looked at here" in page.text
    assert SECRET not in page.text


def test_it_is_told_also_where_the_ledger_is_broken_and_what_needs_that_is_not_looked_at(
    door: Door, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as beside, beside:
        beside.execute("UPDATE alembic_version SET version_num = '0003'")
    (tmp_path / "ledger.db").chmod(0o600)
    page = door.client.get(f"{door.url}/doctor")
    found = findings(page.text)
    assert page.status_code == 200
    assert found["ledger"][0] == "fault" and "schema is 0003" in found["ledger"][1]
    assert "Type: countersign migrate" in found["ledger"][1]
    others = ("mint", "deliveries", *(f"work of the {belt}" for belt in Belt))
    assert {found[name][0] for name in others} == {"not looked at"}


def test_who_has_not_come_in_is_not_told(door: Door) -> None:
    refused = httpx.get(f"{door.url}/doctor")
    assert refused.status_code == 401 and "Seen from here" not in refused.text


def test_each_page_leads_there_where_all_see_all_and_to_who_one_is_where_one_stays(
    door: Door, env: dict[str, str]
) -> None:
    def links(page: str) -> set[str]:
        return set(re.findall(r'<a href="(/doctor|/you)"', page))

    assert links(door.client.get(f"{door.url}/runs").text) == {"/doctor", "/you"}
    with running(web_settings(env | {"COUNTERSIGN_PAGES_PASSWORD": "a word"})) as guarded:
        known = httpx.BasicAuth("anybody", "a word")
        assert links(guarded.client.get(f"{guarded.url}/runs", auth=known).text) == {"/doctor"}
        assert guarded.client.get(f"{guarded.url}/doctor", auth=known).status_code == 200
    there = {"COUNTERSIGN_URL": "http://127.0.0.1:9", "GITHUB_CLIENT_ID": "c", "GITHUB_CLIENT_SECRET": "s"}
    with running(web_settings(env | there)) as signed_in:
        assert links(signed_in.client.get(f"{signed_in.url}/runs").text) == {"/you"}


@pytest.fixture
def ledger(env: dict[str, str], tmp_path: Path) -> Iterator[Ledger]:
    opened_one = open_ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield opened_one
    opened_one.close()


def of(ledger: Ledger, check: str) -> list[tuple[Standing, str]]:
    """What that check finds in this ledger."""
    checks = [one for one in checks_of_others(ledger, {}) if one.name == check]
    alone = [type(one)(one.name, one.of, one.look) for one in checks]
    return [(one.found.standing, one.found.what) for one in examine(alone, lambda _: {})]


def test_the_mint_is_well_while_its_rounds_are_on_time_and_went_well(ledger: Ledger) -> None:
    now = ledger.clock()

    def after(due_in: timedelta, *troubles: str) -> tuple[Standing, str]:
        for trouble in troubles:
            turn = ledger.take_turn(ROUND, now + timedelta(hours=1), timedelta(minutes=1))
            assert turn is not None
            ledger.end_turn(turn, now + due_in, trouble)
        ((standing, what),) = of(ledger, "mint")
        return standing, what

    assert after(timedelta(minutes=1), "")[0] is Standing.WELL
    assert after(-LATE / 2, "")[0] is Standing.WELL
    standing, what = after(-2 * LATE, "")
    assert standing is Standing.FAULT and "and did not" in what
    assert after(timedelta(minutes=1), "GitHub does not take the key.") == (
        Standing.FAULT, "The mint last could not look into GitHub's delivery log: GitHub does not take the key.",
    )  # fmt: skip
    assert ", 3 times in a row: Away." in after(timedelta(minutes=1), "Away.", "Away.")[1]


def test_what_did_not_arrive_is_told(ledger: Ledger) -> None:
    assert [one[1] for one in of(ledger, "deliveries")] == ["No delivery came yet."]
    opened(ledger, labelled(a_request(), START))
    attempt = Attempt(1, "lost", ledger.clock() - timedelta(minutes=9), "issues", "labeled", "timed out")
    ledger.note(Tidings(frozenset(), (attempt,)), ledger.clock())
    (newest, missed) = of(ledger, "deliveries")
    assert newest[0] is Standing.WELL and missed == (
        Standing.WORTH_KNOWING, "1 of GitHub's deliveries did not arrive and did not come since.",
    )  # fmt: skip


@pytest.mark.parametrize(("since", "held", "standing"), [
    (LATE / 2, 0, Standing.WELL), (2 * LATE, 1, Standing.WELL), (2 * LATE, 0, Standing.WORTH_KNOWING),
])  # fmt: skip
def test_work_that_waits_long_and_that_nobody_has_in_hand_is_worth_knowing(
    since: timedelta, held: int, standing: Standing
) -> None:
    owed = [OwedKind("planner", "draft_plan", 2, START - since, 1), OwedKind("planner", "x", 1, START, 0)]
    found = of_belt(Belt.PLANNER, owed, held, START)
    assert found.standing is standing and found.what.startswith("3 effects are owed, the oldest since")


def test_who_asks_at_the_same_time_or_soon_after_is_told_of_one_examination() -> None:
    looked: list[int] = []
    both = threading.Barrier(2, timeout=10)

    def examined() -> tuple[()]:
        looked.append(1)
        both.wait()
        return ()

    examinations = Examinations(examined)
    asking = [threading.Thread(target=examinations.now) for _ in range(3)]
    for one in asking:
        one.start()
    both.wait()
    for one in asking:
        one.join(30)
    assert examinations.now() is not None and len(looked) == 1
