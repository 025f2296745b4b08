"""On PostgreSQL each process writes with a role of its own, which may write its own facts and change none."""

import secrets
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import get_args

import psycopg
import pytest
from sqlalchemy import make_url, text

from app.core import facts as f
from app.core.belts import Belt
from app.core.budget import Spent
from app.core.days import DayCaps, Held, Paid
from app.core.effects import DraftPlan, Execute, LookUpAuthority, Slot
from app.core.gap import Gap
from app.core.kept_answer import KeptAnswer
from app.core.missed import Attempt, Tidings
from app.core.news import READ, Seen, Trigger
from app.core.recording import MINT, RECORDS, WEB
from app.core.run import Built
from app.core.verb import Verb
from app.ledger import migrate, open_ledger
from app.ledger.errors import LedgerForbids
from app.ledger.roles import roles_sql
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told, a_delivery, on_issue
from tests.fakes.facts import MIRA, START, a_request, drafted, found, labelled, sha
from tests.ledger.test_ledger_keeping import a_mint, a_plan, a_span

KINDS = [kind.model_fields["kind"].default for kind in get_args(get_args(f.Fact)[0])]
Ledgers = dict[str, Ledger]


def test_every_fact_is_somebody_s_to_record_and_every_belt_has_a_role() -> None:
    assert {kind for kinds in RECORDS.values() for kind in kinds} == set(KINDS)
    assert RECORDS.keys() == {WEB, MINT, *Belt}


@pytest.fixture
def ledgers(postgres_url: str) -> Iterator[Ledgers]:
    """The ledger as each process has it, over an account of its own."""
    migrate(postgres_url)
    prefix = f"t_{secrets.token_hex(4)}"
    opened: Ledgers = {}
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as owner:
        for _ in range(2):
            owner.execute(roles_sql(prefix).encode())
        for process in RECORDS:
            account = f"{prefix}_{process}_account"
            owner.execute(f"CREATE ROLE {account} LOGIN PASSWORD 'only for tests' IN ROLE {prefix}_{process}".encode())
            url = make_url(postgres_url).set(username=account, password="only for tests")
            opened[process] = open_ledger(url.render_as_string(hide_password=False))
        yield opened
        for ledger in opened.values():
            ledger.close()


def built(told: Told, ledgers: Ledgers) -> None:
    """A whole run until its change waits to be published, each fact by the process whose it is."""
    told.ledger = ledgers[WEB]
    told.deliver(labelled(told.request, told.now))
    told.ledger = ledgers["publisher"]
    look = told.claim(LookUpAuthority)
    told.settle(look, found(look.effect, told.tick()))  # type: ignore[arg-type]
    told.ledger = ledgers["planner"]
    told.ledger.put_plan(told.request.run, a_plan())
    told.ledger.put_artifact(b"an output", "text/plain")
    held = told.ledger.hold(told.request.run, Decimal(1), DayCaps(Decimal(9), Decimal(9)), told.now)
    assert isinstance(held, Held)
    draft = told.claim(DraftPlan)
    answer = KeptAnswer(draft.effect_id, "a" * 64, 0, b"{}")
    told.ledger.add_spans([a_span(run=told.request.run)], [Paid(held, Decimal("0.5"))], [answer])
    assert len(told.ledger.answers(draft.effect_id)) == 1
    told.settle(draft, drafted(1, told.tick()))
    told.ledger = ledgers["publisher"]
    assert len(told.ledger.marker_key()) == 32
    said = f.Said(
        at=told.tick(), slot=Slot.PLAN, plan_version=1, comment_id=9, node_id="n", comment_digest=sha("comment")
    )
    told.ledger.record(told.request.run, said)
    told.ledger = ledgers[WEB]
    command = f.CommandGiven(
        at=told.tick(), verb=Verb.APPROVE, comment_id=7, comment_digest=sha("/approve"), person=MIRA
    )
    told.deliver(command)
    told.ledger = ledgers["publisher"]
    owed = [one for one in told.ledger.debts() if one.key == "authority:comment:7"]
    claim = told.ledger.claim(owed[0].effect_id, Belt.PUBLISHER, told.now, LEASE)
    told.settle(claim, found(claim.effect, told.tick(), plan_version=1))  # type: ignore[arg-type, union-attr]
    told.ledger = ledgers["executor"]
    done = f.StepsDone(
        at=told.tick(), plan_digest=sha("plan 1"), patch_ref=sha("p"), report_ref=sha("r"), spent=Spent()
    )
    told.settle(told.claim(Execute), done)
    told.ledger = ledgers["publisher"]


def test_a_run_goes_its_whole_way_with_each_process_in_its_own_role(ledgers: Ledgers) -> None:
    told = Told(ledgers[WEB])
    built(told, ledgers)
    view = ledgers[MINT].run(told.request.run)
    assert view is not None and isinstance(view.state, Built)
    mint = ledgers[MINT]
    mint.record_mint(a_mint())
    mint.mark_revoked(a_mint().id, START)
    turn = mint.take_turn("deliveries", START, LEASE)
    assert turn is not None
    mint.end_turn(turn, START + LEASE)
    mint.note(Tidings(frozenset(), (Attempt(1, "g", START, "issues", "labeled", "timed out"),)), START)
    for one in mint.to_ask_for(START, START - timedelta(days=3), 9):
        mint.asking(one, START)
    ledgers[WEB].prove(START)
    # A label of which nobody was told, in a repository that the mint names.
    lost = a_request(run="r-000002", number=8)
    mint.to_be_read([Seen(lost.repository_id, lost.repository, lost.installation_id)], Gap(START, START), START)
    publisher = ledgers["publisher"]
    (place,) = publisher.unheard(START)
    trigger = Trigger(lost.repository_id, 5, "countersign")
    news = replace(on_issue(labelled(lost), lost), trigger=trigger)
    for number in (1, 2):
        assert publisher.receive(a_delivery(f"{READ}label:{number}"), news).new
    publisher.read_later(place, START)
    publisher.was_read(place)


def test_nobody_records_what_is_another_s_nor_changes_a_fact_nor_reads_the_marker_s_key(ledgers: Ledgers) -> None:
    told = Told(ledgers[WEB])
    built(told, ledgers)
    for process, ledger in ledgers.items():
        for kind in KINDS:
            row = f"INSERT INTO facts VALUES ('{told.request.run}', 99, '{kind}', now(), NULL, '{{}}')"
            assert _may(ledger, row) == (kind in RECORDS[process]), (process, kind)
        for change in ("UPDATE facts SET body = ''", "DELETE FROM facts", "DELETE FROM deliveries", "TRUNCATE runs"):
            assert not _may(ledger, change), (process, change)
        assert not _may(ledger, "UPDATE effects SET body = '{}'"), process
        assert not _may(ledger, "UPDATE runs SET installation_id = 1"), process
        assert not _may(ledger, "UPDATE plans SET body = ''"), process
        assert _may(ledger, "SELECT secret FROM keys") == (process == "publisher")
        assert _may(ledger, "UPDATE mints SET refused = true") == (process == MINT)
        # Where labels are looked for is the mint's to say, and the publisher's to have done.
        assert _may(ledger, "INSERT INTO unheard VALUES (1, 1, 'a/b', now(), now(), now())") == (process == MINT)
        assert _may(ledger, "UPDATE unheard SET repository_id = 1") == (process == MINT)
        assert _may(ledger, "UPDATE unheard SET due_at = now()") == (process in (MINT, "publisher"))
        assert _may(ledger, "DELETE FROM unheard") == (process == "publisher")
        asking = ("planner", "executor")
        for name, writers in (("limit 42", RECORDS), ("money 42", (WEB, MINT, *asking)), ("deliveries", (WEB, MINT))):
            row = f"INSERT INTO rounds VALUES ('{name}', now(), '{{}}', 0, '')"
            assert _may(ledger, row + " ON CONFLICT DO NOTHING") == (process in writers), (process, name)


def test_what_a_role_may_not_do_is_said_and_leaves_nothing(ledgers: Ledgers) -> None:
    told = Told(ledgers[WEB])
    told.deliver(labelled(told.request, told.now))
    told.ledger = ledgers["planner"]
    look = ledgers["publisher"].debts()[0]
    claim = told.ledger.claim(look.effect_id, Belt.PUBLISHER, told.now, LEASE)
    with pytest.raises(LedgerForbids, match="may not"):
        told.settle(claim, found(claim.effect, told.tick()))  # type: ignore[arg-type, union-attr]
    view = ledgers[WEB].run(told.request.run)
    assert view is not None and len(view.facts) == 1


def _may(ledger: Ledger, sql: str) -> bool:
    """Whether the database lets this process do so; nothing stays of it."""
    with ledger._database.engine.connect() as connection:
        try:
            connection.execute(text(sql.replace(":", r"\:")))
        except Exception as error:
            assert "permission denied" in str(error) or "row-level security" in str(error), error
            return False
        finally:
            connection.rollback()
    return True


@pytest.mark.parametrize("prefix", ["", "a b", 'a"; DROP TABLE runs; --', "A"])
def test_a_prefix_is_a_plain_name(prefix: str) -> None:
    with pytest.raises(ValueError, match="plain name"):
        roles_sql(prefix)
