"""The audit log tells everything once, in a chain, whatever is written meanwhile."""

import threading
from collections import Counter
from datetime import timedelta

from app.core.belts import Belt
from app.core.chain import Whole, chained, verified
from app.core.span import Minted
from tests.fakes.deliveries import Told
from tests.fakes.facts import MIRA, a_request


def minted(told, name, **changes):
    values = {
        "id": name, "run": told.request.run, "effect_id": 1, "belt": Belt.PLANNER, "purpose": "draft_plan",
        "repository_id": told.request.repository_id, "permissions": {"contents": "read"}, "token_sha256": "ab" * 32,
        "minted_at": told.now, "expires_at": told.now + timedelta(hours=1),
    } | changes  # fmt: skip
    return Minted(**values)


def records(ledger, behind=None):
    return list(ledger.records((behind or Whole()).ids))


def kinds(found):
    return Counter(one["type"] for one in found)


def test_every_delivery_fact_approval_grant_token_and_settled_effect_is_told_once(told: Told):
    told.approved()
    told.ledger.record_mint(minted(told, "m-1"))
    told.ledger.record_mint(minted(told, "m-2", token_sha256="", refused="no"))
    told.ledger.record_mint(minted(told, "m-3", token_sha256=""))
    told.ledger.record_mint(minted(told, "m-4", run=""))
    found = records(told.ledger)
    view = told.ledger.run(told.request.run)
    settled = [one for one in view.effects if one.settled_at is not None]
    assert kinds(found) == {
        "log": 1, "delivery": 1, "fact": len(view.facts), "approval": 1, "grant": 1, "token": 3, "effect": len(settled)
    }  # fmt: skip
    (approval,) = [one["approval"] for one in found if one["type"] == "approval"]
    assert approval["person"]["id"] == MIRA.id and approval["plan_digest"] == view.state.approval.plan_digest
    (grant,) = [one for one in found if one["type"] == "grant"]
    assert grant["people"] == [MIRA.id] and grant["base_commit"] == view.state.approval.base_commit
    # An unfinished one is told once it has an end; a token's end is a record of its own.
    told.ledger.finish_mint(minted(told, "m-3", token_sha256="cd" * 32))
    told.ledger.mark_revoked("m-1", told.tick())
    behind = verified([line + b"\n" for line in chained(found, Whole())])
    assert isinstance(behind, Whole)
    later = records(told.ledger, behind)
    assert [(one["type"], one.get("token")) for one in later] == [("token", "m-3"), ("token_ended", "m-1")]


def test_what_is_written_while_it_is_read_comes_with_the_next_one(told: Told):
    """Two that write all the time, and exports one behind another: in the end all is told, and nothing twice."""
    over = threading.Event()

    def write(first):
        number = first
        while not over.is_set() and number < first + 40:
            Told(told.ledger, a_request(f"r-{number:06}", number)).allowed()
            number += 1

    writers = [threading.Thread(target=write, args=(first,)) for first in (1_000, 2_000)]
    for writer in writers:
        writer.start()
    log = []
    for _ in range(6):
        behind = verified(log)
        assert isinstance(behind, Whole)
        log += [line + b"\n" for line in chained(told.ledger.records(behind.ids), behind)]
    over.set()
    for writer in writers:
        writer.join()
    behind = verified(log)
    log += [line + b"\n" for line in chained(told.ledger.records(behind.ids), behind)]
    whole = verified(log)
    assert isinstance(whole, Whole) and whole.lines == len(whole.ids)
    fresh = {one["id"] for one in told.ledger.records(())}
    assert whole.ids == fresh
