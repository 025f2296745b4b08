"""Deliveries and the news in them, and a run that is told to a ledger step by step."""

from datetime import datetime, timedelta

from app.core import facts as f
from app.core.belts import Belt
from app.core.effects import DraftPlan, Effect, Execute, LookUpAuthority, Purpose, Say, Slot, SourceKind
from app.core.news import Delivery, News, OnIssue, Seen
from app.core.run import Request
from app.core.verdict import Refused
from app.ledger.outcomes import Claim, Received
from app.ledger.store import Ledger
from tests.fakes.facts import MIRA, START, WIDE, a_request, drafted, found, labelled, sha

LEASE = timedelta(minutes=5)


def a_delivery(guid: str, body: bytes = b'{"action":"labeled"}', at: datetime = START) -> Delivery:
    """A delivery of an issue event."""
    return Delivery(guid=guid, event="issues", action="labeled", received_at=at, body=body)


def on_issue(fact: f.Fact, request: Request, name: str = "acme/widgets") -> News:
    """The fact as news about the request's issue."""
    subject = OnIssue(request.repository_id, request.issue_number)
    return News(subject, fact, Seen(request.repository_id, name, request.installation_id))


class Told:
    """A run that a ledger is told, each step through the ledger's own doors."""

    def __init__(self, ledger: Ledger, request: Request | None = None) -> None:
        self.ledger = ledger
        self.request = request or a_request()
        self.now = START
        self.ids = WIDE

    def tick(self) -> datetime:
        """A minute later."""
        self.now += timedelta(minutes=1)
        return self.now

    def fresh(self) -> int:
        """An id that nothing else has."""
        self.ids += 1
        return self.ids

    def deliver(self, fact: f.Fact) -> Received:
        """The fact comes in a delivery of its own."""
        guid = f"{self.request.run}-{self.fresh()}"
        return self.ledger.receive(a_delivery(guid, at=self.tick()), on_issue(fact, self.request))

    def claim(self, kind: type[Effect]) -> Claim:
        """The oldest effect of this kind that is owed, claimed."""
        for debt in self.ledger.debts():
            if debt.run == self.request.run and debt.kind == kind.model_fields["kind"].default:
                claim = self.ledger.claim(debt.effect_id, debt.belt, self.now, LEASE)
                if isinstance(claim, Claim):
                    return claim
        raise AssertionError(f"no {kind.__name__} is owed")

    def settle(self, claim: Claim, *facts: f.Fact) -> None:
        """The claimed effect is done."""
        settled = self.ledger.settle(claim, facts, "done", self.now)
        assert not isinstance(settled, Refused), settled

    def labelled(self) -> Received:
        """The label is set."""
        return self.deliver(labelled(self.request, self.now))

    def allowed(self) -> None:
        """The label is set by somebody who may."""
        self.labelled()
        claim = self.claim(LookUpAuthority)
        assert isinstance(claim.effect, LookUpAuthority)
        self.settle(claim, found(claim.effect, self.tick()))

    def proposed(self) -> int:
        """A plan stands on the issue; the id of its comment."""
        self.allowed()
        self.settle(self.claim(DraftPlan), drafted(1, self.tick()))
        comment = self.fresh()
        for debt in self.ledger.debts():
            claim = self.ledger.claim(debt.effect_id, Belt.PUBLISHER, self.now, LEASE)
            if isinstance(claim, Claim) and isinstance(claim.effect, Say):
                slot = claim.effect.saying.slot
                version = 1 if slot is Slot.PLAN else None
                where = {"comment_id": comment if slot is Slot.PLAN else self.fresh(), "node_id": "IC_kwDO"}
                self.settle(
                    claim,
                    f.Said(at=self.tick(), slot=slot, plan_version=version, comment_digest=sha("comment"), **where),
                )
        return comment

    def approved(self) -> Claim:
        """A maintainer approved; the execution, claimed."""
        self.proposed()
        look = LookUpAuthority(
            key="k", purpose=Purpose.APPROVE, person=MIRA, source=SourceKind.COMMENT, source_id=self.fresh()
        )
        recorded = self.ledger.record(self.request.run, found(look, self.tick(), plan_version=1))
        assert not isinstance(recorded, Refused), recorded
        return self.claim(Execute)
