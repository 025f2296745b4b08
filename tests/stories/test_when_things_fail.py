"""GitHub, the mint or a worker fails at any step: at the end there is one of everything, or words that say why not."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from app.core.belts import Belt
from app.core.run import Approved, Closed, Proposed, Published, Wanted
from app.core.stalling import PATIENCE
from app.core.verdict import Refused
from app.ledger.outcomes import Claim, DebtView
from app.web.links import new_link
from tests.fakes.household import Furnishing
from tests.fakes.story import REPO, Story
from worker import tasks
from worker.duties import executor, planner, publisher
from worker.evidence.trace import Trace
from worker.mint.caller import MintDenied
from worker.outcomes import MOST_WAITS, OUTAGE_SECONDS, rested

pytestmark = pytest.mark.needs_userns

SECONDARY = '{"message": "You have exceeded a secondary rate limit."}'
WAYS = {
    "plain 500": {"mode": "instead", "status": 500},
    "done but answered 502": {"mode": "after", "status": 502},
    "dropped before": {"mode": "drop"},
    "dropped after it was done": {"mode": "drop-after"},
    "secondary limit": {"mode": "instead", "status": 403, "body": SECONDARY},
}
WRITES = {
    "words": (
        ("POST .*/access_tokens", 2),
        ("DELETE .*/installation/token", 0),
        ("POST .*/issues/1/comments", 0),
        ("POST .*/issues/1/comments", 1),
        ("PATCH .*/issues/comments/", 0),
        ("POST .*/reactions", 0),
    ),
    "contents": (("POST .*/git/blobs", 0), ("POST .*/git/trees", 0), ("POST .*/git/commits", 0)),
    "branch and draft": (("POST .*/git/refs", 0), ("POST .*/pulls", 0)),
}


def one_of_everything(story: Story) -> None:
    """One status, one plan, one reaction, one branch with one commit, one draft, however often it was tried."""
    said = story.said()
    assert [body.partition(" ·")[0] for body in said] in (
        ["**Countersign**", "### Plan, version 1"],
        ["### Plan, version 1", "**Countersign**"],
    )
    pull = story.draft()
    assert set(story.control.branches(REPO)) == {"main", pull["head"]["ref"]}
    assert (pull["commits"], pull["changed_files"]) == (1, 2)
    words = [one for one in story.control.comments(REPO, 1) if one["user"]["login"] == "mira"]
    assert [one["reactions"]["eyes"] for one in words] == [1]


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("way", WAYS)
def test_whatever_write_fails_in_whatever_way_there_is_one_of_everything(story: Story, way: str, what: str) -> None:
    for pattern, skip in WRITES[what]:
        story.control.fault(pattern, skip=skip, **WAYS[way])
    story.mira.labels()
    story.wait_out()
    story.plan_is_read()
    story.mira.says("/approve")
    story.wait_out()
    one_of_everything(story)
    lost = what == "words" and way in ("done but answered 502", "dropped after it was done")
    story.ends(Published, lost_tokens=int(lost))


READS = {
    "issue and people": ("GET /repos/acme/greet$", "GET .*/collaborators/mira/permission", "GET .*/issues/1$"),
    "contents": ("GET .*/issues/1/comments", "GET .*/git/ref/heads/main", "GET .*/contents/"),
    "words and places": ("GET .*/issues/comments/", "POST .*/graphql", "GET .*/installation"),
}


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("way", ["plain 500", "secondary limit"])
def test_whatever_cannot_be_read_once_is_read_again(story: Story, way: str, what: str) -> None:
    def break_all() -> None:
        for pattern in READS[what]:
            story.control.fault(pattern, **WAYS[way])

    break_all()
    story.mira.labels()
    story.wait_out()
    story.plan_is_read()
    break_all()
    story.mira.says("/approve")
    story.wait_out()
    story.control.clear_faults()
    one_of_everything(story)
    story.ends(Published)


@pytest.mark.parametrize("way", ["plain 500", "dropped before"])
def test_a_fetch_that_fails_is_tried_again(story: Story, way: str) -> None:
    for pattern in ("info/refs", "git-upload-pack"):
        story.control.fault(pattern, **WAYS[way])
    story.mira.labels()
    story.wait_out()
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_an_outage_of_ten_minutes_costs_no_run(story: Story) -> None:
    began = story.now()
    story.control.fault("GET .*/collaborators/", status=503, times=4)
    story.mira.labels()
    story.wait_out()
    assert story.now() - began > timedelta(minutes=10)
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_github_that_stays_broken_ends_the_run_with_words(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.control.fault("POST .*/pulls", status=500, times=99)
    story.mira.says("/approve")
    story.wait_out()
    assert story.control.pulls(REPO) == []
    (branch,) = (name for name in story.control.branches(REPO) if name.startswith("countersign/"))
    link = f"/{REPO}/compare/{branch.replace('/', '%2F')}?expand=1"
    story.ends(Closed, "Ended (failed)", f"The work stands on the branch {branch}", "The change is kept", link)


def test_words_are_said_after_an_outage_however_long_it_was(story: Story) -> None:
    """The end of a run above all: nobody would hear of it otherwise."""
    story.mira.labels()
    story.plan_is_read()
    began = story.now()
    story.control.fault("(POST|PATCH) .*/comments", status=503, times=99)
    story.mira.says("/reject")
    while story.now() - began < timedelta(hours=2):
        story.crank()
        story.pass_time(timedelta(minutes=5))
    assert isinstance(story.state(), Closed) and len(story.ledger.debts()) == 1
    story.control.clear_faults()
    story.wait_out()
    story.ends(Closed, "rejected")


def test_what_is_waited_for_is_asked_about_less_often_and_costs_nothing_for_more_than_a_day() -> None:
    for seconds in (OUTAGE_SECONDS, 20.0):
        pauses = [rested(seconds, before) for before in range(MOST_WAITS)]
        assert pauses[0] == timedelta(seconds=seconds) and sum(pauses, timedelta()) > timedelta(days=1)
        assert pauses == sorted(pauses) and pauses[-1] <= timedelta(minutes=30) + timedelta(seconds=seconds)
    assert rested(3_600.0, MOST_WAITS) == timedelta(hours=1)


def test_an_approved_plan_waits_for_as_long_as_its_approval_stands_whatever_it_waited_for(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.away = {Belt.EXECUTOR}
    story.mira.says("/approve")
    with story.ledger._database.engine.begin() as connection:
        waited = "UPDATE effects SET postponements = :most, attempts = :most WHERE kind = 'execute'"
        connection.execute(text(waited), {"most": MOST_WAITS})
    story.control.fault("POST .*/access_tokens", status=503)
    story.away = set()
    story.crank()
    assert isinstance(story.state(), Approved)
    story.wait_out()
    one_of_everything(story)
    story.ends(Published)


def test_what_was_dropped_by_its_age_cannot_be_retried_and_that_is_said(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    story.control.fault("POST .*/pulls", status=500, times=99)
    story.mira.says("/approve")
    story.wait_out()
    story.control.clear_faults()
    story.read_status("Ended (failed)")
    assert story.ledger.prune(story.now() + timedelta(days=1)).artifacts
    story.mira.says("/retry")
    story.wait_out()
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "Ended (failed)", "it was dropped by its age")


# -- the mint -----------------------------------------------------------------------------------------------------


def test_while_the_mint_is_down_everything_waits_and_nothing_is_lost(story: Story) -> None:
    story.stop_mint()
    story.mira.labels()
    assert story.said() == []
    assert {debt.why.partition(": ")[2][:8] for debt in story.ledger.debts()} == {"The mint"}
    with story.ledger._database.engine.begin() as connection:
        connection.execute(text("UPDATE effects SET postponements = :most"), {"most": MOST_WAITS})
    story.pass_time(timedelta(minutes=5))
    story.crank()
    (waits,) = story.ledger.debts()
    assert waits.available_at is not None and waits.available_at > story.now() + timedelta(minutes=4)
    story.start_mint()
    story.wait_out()
    story.plan_is_read()
    story.stop_mint()
    story.mira.says("/approve")
    story.start_mint()
    story.wait_out()
    one_of_everything(story)
    story.ends(Published)


def test_a_write_token_is_refused_to_everybody_before_the_approval(story: Story) -> None:
    """The belts ask the mint for what is not owed: nothing is cut, and every refusal is on the books."""
    story.mira.labels()
    story.plan_is_read()
    view = story.view()
    for belt in Belt:
        for effect in view.effects:
            with pytest.raises(MintDenied):
                story.shops[belt].mint.cut(view.id, effect.id, effect.fence)
    assert all(one.refused for one in story.ledger.mints() if not one.token_sha256)
    assert sum(bool(one.refused) for one in story.ledger.mints()) == len(view.effects) * len(Belt)
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


# -- workers that die ---------------------------------------------------------------------------------------------

DUTIES = {**planner.DUTIES, **executor.DUTIES, **publisher.DUTIES}


def dies_after(story: Story, debt: DebtView) -> None:
    """A worker claims the effect, does it, and is killed before anything of it is recorded."""
    shop = story.shops[debt.belt]
    claim = story.ledger.claim(debt.effect_id, debt.belt, story.now(), shop.settings.lease)
    if isinstance(claim, Claim):
        DUTIES[type(claim.effect)](shop, claim, Trace(claim.run, debt.belt, claim.effect_id))


def by_workers_that_die(story: Story) -> int:
    """As `crank`; but whatever is owed is first done by a worker that dies. How many died."""
    died: set[int] = set()
    for _ in range(60):
        story.control.settle()
        debts = story.ledger.debts()
        if not debts:
            return len(died)
        for debt in debts:
            if debt.effect_id not in died:
                died.add(debt.effect_id)
                dies_after(story, debt)
        story.pass_time(timedelta(seconds=31))
        for belt in Belt:
            for effect_id in story.ledger.owed(belt, story.now()):
                if effect_id in died:
                    story.does(next(one for one in debts if one.effect_id == effect_id))
    raise AssertionError(f"the belts do not come to rest: {story.ledger.debts()}")


def test_every_worker_dies_between_doing_and_recording_and_there_is_one_of_everything(
    story_on_each_database: Story,
) -> None:
    """Case QU-04."""
    story = story_on_each_database
    story.control.label(REPO, 1, "countersign", "mira")
    assert by_workers_that_die(story) >= 4
    story.plan_is_read()
    story.mira.writes("/approve")
    assert by_workers_that_die(story) >= 5
    one_of_everything(story)
    story.ends(Published)


def test_a_worker_that_comes_back_after_its_lease_cannot_record_what_another_did(story: Story) -> None:
    story.away = set(Belt)
    story.mira.labels()
    shop, debt = story.shops[Belt.PUBLISHER], story.ledger.debts()[0]
    late = story.claim("look_up_authority")
    facts, outcome = DUTIES[type(late.effect)](shop, late, Trace(late.run, Belt.PUBLISHER))
    story.pass_time(timedelta(seconds=31))
    story.away.clear()
    story.does(debt)
    assert isinstance(story.ledger.settle(late, facts, outcome, story.now()), Refused)
    story.crank()
    assert story.kinds().count("authority_found") == 1
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


@contextmanager
def ledger_away(file: Path) -> Iterator[None]:
    """Whatever is asked of what is owed has no answer, as where a database starts again; a file of SQLite's, since
    PostgreSQL would call that a fault of the question's."""
    with closing(sqlite3.connect(file)) as beside:
        beside.execute("ALTER TABLE effects RENAME TO away")
        yield
        beside.execute("ALTER TABLE away RENAME TO effects")


def test_a_lease_is_kept_and_what_was_done_is_settled_once_a_ledger_that_was_away_is_back(
    make_story: Callable[..., Story], tmp_path: Path
) -> None:
    file = tmp_path / "ledger.db"
    story = make_story(ledger_url=f"sqlite:///{file}", furnishing=Furnishing(lease=timedelta(seconds=1.5)))
    story.away = {Belt.PUBLISHER}
    story.mira.labels()
    shop, claim = story.shops[Belt.PUBLISHER], story.claim("look_up_authority")
    trace = Trace(claim.run, Belt.PUBLISHER, claim.effect_id)
    facts, outcome = DUTIES[type(claim.effect)](shop, claim, trace)
    with tasks._lease_kept(shop, claim, trace):
        with ledger_away(file):
            time.sleep(0.7)
        time.sleep(1.0)
        assert trace.wanted() and claim.effect_id not in story.ledger.owed(Belt.PUBLISHER, story.now())
        with ledger_away(file):
            settling = threading.Thread(target=tasks._settle, args=(shop, claim, facts, outcome))
            settling.start()
            time.sleep(0.2)
        settling.join(20)
    assert story.kinds().count("authority_found") == 1
    story.away.clear()
    story.crank()
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


@pytest.mark.parametrize("broker", ["folders", "redis"])
def test_an_effect_that_kills_every_worker_is_given_up_aloud_and_stands_before_nobody(
    broker: str, make_story: Callable[..., Story], request: pytest.FixtureRequest
) -> None:
    """Case QU-02: it is never under way for ever, and the attempts are counted."""
    url = request.getfixturevalue("redis_url") if broker == "redis" else "filesystem://"
    story = make_story(furnishing=Furnishing({"CELERY_BROKER_URL": url}))
    story.control.open_issue(REPO, "olga", "Another one", "greet.sh says helo.")
    story.away = {Belt.PLANNER}
    story.mira.labels()
    story.mira.labels(number=2)
    for death in range(5):
        # Whoever was started again takes up the oldest first, and what another belt rings for meanwhile.
        assert story.claim("draft_plan").state.request.issue_number == 1
        story.away.clear()
        story.crank()
        assert isinstance(story.state(2), Proposed) and isinstance(story.state(1), Wanted), death
        story.away = {Belt.PLANNER}
        story.pass_time(timedelta(seconds=31))
    story.away.clear()
    story.crank()
    story.next_comment("### Plan, version 1")
    story.mira.says("/reject", 2)
    story.read_status("rejected", number=2)
    story.ends(Closed, "Ended (failed)", "It was tried 5 times")


def test_work_that_nobody_takes_up_is_said_on_the_issue_until_it_goes_on(story: Story) -> None:
    story.away.add(Belt.PLANNER)
    story.mira.labels()
    story.sweep()
    story.crank()
    assert "does not go on" not in story.read_status("A plan is being made")
    for _ in range(2):
        story.pass_time(timedelta(minutes=16))
        story.sweep()
        story.crank()
    assert story.kinds().count("stalled") == 1
    story.read_status("does not go on now (not taken up): The planner has not taken it up for 15 minutes", "/cancel")
    story.away.clear()
    story.crank()
    story.plan_is_read()
    assert "does not go on" not in story.read_status()
    story.mira.says("/reject")
    story.ends(Closed, "rejected by mira")


def test_a_run_that_a_newer_version_went_on_with_stops_no_sweep_and_what_is_said_of_it_is_not_lost(
    story: Story,
) -> None:
    story.away.add(Belt.PLANNER)
    story.mira.labels()
    with story.ledger._database.engine.begin() as connection:
        row = {"kind": '{"kind":"of_a_later_version"}', "run": story.view().id}
        last = connection.exec_driver_sql("SELECT body FROM facts ORDER BY seq LIMIT 1").scalar_one()
        connection.execute(text("UPDATE facts SET body = :kind WHERE run_id = :run AND seq = 1"), row)
        connection.execute(text("UPDATE runs SET deadline = opened_at WHERE id = :run"), row)
    story.pass_time(2 * PATIENCE)
    story.sweep()
    story.reads_again()
    story.mira.says("/cancel")
    assert story.control.deliveries()[-1]["status_code"] == 503
    with httpx.Client(trust_env=False) as browser:
        browser.get(new_link(Path(story.env["COUNTERSIGN_DATA_DIR"]), story.web_url))
        page = browser.get(f"{story.web_url}/runs/{row['run']}")
    assert page.status_code == 503 and "A newer version went on with this run" in page.text
    with story.ledger._database.engine.begin() as connection:
        connection.execute(text("UPDATE facts SET body = :was WHERE run_id = :run AND seq = 1"), row | {"was": last})
        connection.execute(text("UPDATE runs SET deadline = NULL WHERE id = :run"), row)
    story.catch_up(3)
    story.away.clear()
    story.ends(Closed, "cancelled by mira")
