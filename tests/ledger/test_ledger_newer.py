"""Two versions on one ledger: the older one leaves alone what only the newer one knows, and goes on with the rest."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text

import app.ledger
from app.core.belts import Belt
from app.core.effects import DraftPlan, LookUpAuthority
from app.core.verdict import Refused
from app.ledger import migrate, open_ledger
from app.ledger.copying import back_up
from app.ledger.errors import LedgerBehind, LedgerNewer
from app.ledger.fitting import UPGRADE
from app.ledger.outcomes import Claim
from app.ledger.schema import REVISION
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import a_request, drafted


@pytest.mark.parametrize(
    ("table", "body"),
    [
        ("facts", '{"kind":"of_a_later_version"}'),
        ("effects", '{"kind":"of_a_later_version","key":"k"}'),
    ],
)
def test_what_a_newer_version_wrote_is_left_to_it_and_costs_no_attempt(ledger: Ledger, table: str, body: str) -> None:
    newer, known = Told(ledger), Told(ledger, a_request(run="r-000002", number=2))
    [ring] = newer.labelled().rings
    known.labelled()
    there = {"run": newer.request.run, "body": body}
    with ledger._database.engine.begin() as connection:
        was = connection.execute(text(f"SELECT body FROM {table} WHERE run_id = :run"), there).scalar_one()
        connection.execute(text(f"UPDATE {table} SET body = :body WHERE run_id = :run"), there)
    refused = ledger.claim(ring.effect_id, Belt.PUBLISHER, newer.now, LEASE)
    assert isinstance(refused, Refused) and "A newer version" in str(refused)
    with pytest.raises(LedgerNewer) as kept:
        ledger.run(newer.request.run)
    debt = next(one for one in ledger.debts() if one.effect_id == ring.effect_id)
    assert (debt.attempts, debt.lease_until) == (0, None)
    assert isinstance(known.claim(LookUpAuthority), Claim)
    with ledger._database.engine.begin() as connection:
        connection.execute(text(f"UPDATE {table} SET body = :was WHERE run_id = :run"), there | {"was": was})
    assert isinstance(ledger.claim(ring.effect_id, Belt.PUBLISHER, newer.now, LEASE), Claim)
    # A reading that broke off does not hold on to the ledger of that moment.
    assert ledger.run(newer.request.run) is not None and kept.value.args


@contextmanager
def gone_on_with(ledger: Ledger, run: str) -> Iterator[None]:
    """Meanwhile a newer version's word is the newest fact of the run."""
    newest = "run_id = :run AND seq = (SELECT max(seq) FROM facts WHERE run_id = :run)"
    with ledger._database.engine.begin() as connection:
        was = connection.execute(text(f"SELECT body FROM facts WHERE {newest}"), {"run": run}).scalar_one()
        new = json.dumps(json.loads(was) | {"of_a_later_version": 1})
        connection.execute(text(f"UPDATE facts SET body = :body WHERE {newest}"), {"run": run, "body": new})
    yield
    with ledger._database.engine.begin() as connection:
        connection.execute(text(f"UPDATE facts SET body = :body WHERE {newest}"), {"run": run, "body": was})


def test_what_is_read_of_many_runs_leaves_out_the_one_with_which_a_newer_version_went_on(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    newer, known = Told(ledger), Told(ledger, a_request(run="r-000002", number=2))
    newer.proposed()
    known.proposed()
    with gone_on_with(ledger, newer.request.run):
        assert [one.run for one in ledger.watched()] == [known.request.run]
        ledger.template_scores()
        assert f"run {newer.request.run} is left to a newer version" in caplog.text
        assert len(ledger.runs()) == len(ledger.open_runs()) == 2
    assert len(ledger.watched()) == 2


def test_what_work_in_hand_is_watched_for_leaves_out_the_newer_version_s(ledger: Ledger) -> None:
    told = Told(ledger)
    told.approved()
    with gone_on_with(ledger, told.request.run):
        assert ledger.standing_thumbs() == ()
    planned = Told(ledger, a_request(run="r-000002", number=2))
    planned.allowed()
    planned.settle(planned.claim(DraftPlan), drafted(1, planned.tick()))
    with gone_on_with(ledger, planned.request.run):
        assert ledger.past_runs("any") == ()


def test_an_audit_log_tells_of_a_run_as_far_as_it_can_be_read_and_the_newer_version_adds_the_rest(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    newer, known = Told(ledger), Told(ledger, a_request(run="r-000002", number=2))
    newer.approved()
    known.proposed()
    with gone_on_with(ledger, newer.request.run):
        before = list(ledger.records(()))
        assert f"run {newer.request.run} is left to a newer version from its fact" in caplog.text
    rest = [one for one in ledger.records({one["id"] for one in before}) if one["run"] == newer.request.run]
    assert [one["type"] for one in rest] == ["fact"]
    assert {one["run"] for one in before if one["type"] == "fact"} == {newer.request.run, known.request.run}


@contextmanager
def newer_schema(url: str, oldest: str) -> Iterator[None]:
    """The ledger after a migration of a later version, which only adds, and says which is the oldest code for it."""
    with closing(open_ledger(url)) as ledger, ledger._database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE runs ADD COLUMN of_a_later_version TEXT"))
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        row = {"position": json.dumps({"revision": "9999", "oldest": oldest}), "name": UPGRADE}
        connection.execute(text("UPDATE rounds SET position = :position WHERE name = :name"), row)
    yield


def test_a_version_that_starts_again_beside_a_newer_one_goes_on_where_the_migration_only_added(
    ledger: Ledger, ledger_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.close()
    with newer_schema(ledger_url, REVISION):
        migrate(ledger_url)
        with closing(open_ledger(ledger_url)) as older:
            told = Told(older)
            told.approved()
            view = older.run(told.request.run)
            assert view is not None and view.state.name == "approved"
        assert "a newer version brought the ledger to schema 9999" in caplog.text
        # Its back-up would lack what it does not know.
        with pytest.raises(LedgerBehind, match="Use the newer version"):
            back_up(ledger_url, tmp_path / "copy")


def test_a_version_that_does_not_fit_any_more_says_which_one_to_start_and_changes_nothing(
    ledger: Ledger, ledger_url: str
) -> None:
    ledger.close()
    with newer_schema(ledger_url, "9999"):
        for start in (open_ledger, migrate):
            with pytest.raises(LedgerBehind, match=r"code for a schema older than 9999 .* Start the newest version"):
                start(ledger_url)


def test_every_migration_says_which_is_the_oldest_code_that_fits_and_the_ledger_keeps_the_newest_word(
    ledger: Ledger,
) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(app.ledger.__file__).parent / "migrations"))
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())
    words = {one.revision: getattr(one.module, "oldest", None) for one in scripts}
    assert all(word is not None and word <= revision for revision, word in words.items()), words
    with ledger._database.engine.begin() as connection:
        kept = connection.execute(text("SELECT position FROM rounds WHERE name = :name"), {"name": UPGRADE})
        assert json.loads(kept.scalar_one()) == {
            "revision": REVISION,
            "oldest": max(str(word) for word in words.values()),
        }
