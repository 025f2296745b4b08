"""What the moves share: where a run stands afterwards, and the few ways of owing something."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.core.budget import Spent
from app.core.digest import short, text_digest
from app.core.effects import (
    DraftPlan,
    Effect,
    Narrow,
    OpenDraft,
    ReplySaying,
    ReplyTopic,
    Say,
    StageDraft,
    StatusSaying,
)
from app.core.issue import Person
from app.core.run import Approval, Approved, Built, Closed, ClosedReason, Published, Reporting, State
from app.core.verdict import Refused


@dataclass(frozen=True, slots=True)
class Move:
    """Where the run stands now, and what is owed because of it."""

    state: State
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Stay:
    """The fact says nothing new here; it is not recorded."""

    because: str


CLOCKS_DIFFER = timedelta(minutes=5)
"""By how much GitHub's clock and ours may differ before what one says is compared with the other."""


def is_well_before(theirs: datetime | None, ours: datetime | None) -> bool:
    """True where something on GitHub happened before something here, however the clocks differ."""
    return theirs is not None and ours is not None and theirs < ours - CLOCKS_DIFFER


def kept(state: State) -> dict[str, Any]:
    return {
        "request": state.request,
        "policy": state.policy,
        "spent": state.spent,
        "last_version": state.last_version,
        "amendments": state.amendments,
        "status_comment_id": state.status_comment_id,
        "resumed": state.resumed,
    }


def with_cost(state: State, spent: Spent) -> dict[str, Any]:
    return kept(state) | {"spent": state.spent.plus(spent)}


def status(why: str) -> Say:
    return Say(key=f"status:{why}", saying=StatusSaying())


def reply(key: str, topic: ReplyTopic, to: Person | None, refused: Refused) -> Say:
    reply = ReplySaying(topic=topic, to=to, reason=refused.reason, remedy=refused.remedy)
    return Say(key=f"reply:{key}", saying=reply)


def refusal(state: State, about: str, person: Person, refused: Refused) -> Say:
    """One reply per person, matter and reason, however often it is repeated."""
    key = f"{about}:{person.id}:v{state.last_version}:{text_digest(refused.reason)[:12]}"
    return reply(key, ReplyTopic.REFUSED, person, refused)


def closed(state: State, reason: ClosedReason, words: Refused, **more: Any) -> Move:
    stood = {"proposal": getattr(state, "proposal", None), "patch_ref": getattr(state, "patch_ref", "")}
    if isinstance(state, Reporting):
        stood["findings_ref"] = state.findings_ref
    if isinstance(state, Approved):
        stood["work"] = state.work
    if isinstance(state, Built):
        stood["report_ref"] = state.report_ref
    if isinstance(state, Approved | Built | Reporting | Published):
        stood["approvals"] = (*state.also, state.approval)
    after = Closed(**(kept(state) | stood | more), reason=reason, words=words.reason, remedy=words.remedy)
    again = f":{state.resumed}" if state.resumed else ""
    return Move(after, (status(f"closed:{reason}{again}"),))


def execute_key(approval: Approval) -> str:
    """One execution per approval: a digest that is approved anew is carried out anew."""
    return f"execute:{_of(approval)}"


def open_key(approval: Approval, patch_ref: str) -> str:
    """One publication per approval and patch: the same patch under a new approval is a new effect."""
    return f"open:{_of(approval)}:{patch_ref[:12]}"


def last_work(state: Built) -> OpenDraft | StageDraft:
    """What is owed of a change that is built: the draft; of a staged run, that it is shown what would be written."""
    key, digest = open_key(state.approval, state.patch_ref), state.proposal.digest
    if state.policy is not None and state.policy.staged:
        return StageDraft(key=f"stage:{key}", plan_digest=digest)
    return OpenDraft(key=key, plan_digest=digest)


def report_key(approval: Approval, findings_ref: str) -> str:
    """One report per approval and what was found out."""
    return f"report:{_of(approval)}:{findings_ref[:12]}"


def _of(approval: Approval) -> str:
    again = f":{approval.attempt}" if approval.attempt > 1 else ""
    return f"{short(approval.plan_digest)}:{approval.source}:{approval.source_id}{again}"


def moment(at: datetime) -> str:
    """A time as part of a key, for what can come back: each time is said anew."""
    return f"{at:%Y%m%dT%H%M%S.%f}"


def draft(version: int, wish: str = "", narrow: Narrow | None = None) -> DraftPlan:
    return DraftPlan(key=f"plan:{version}", version=version, wish=wish[:4_000], narrow=narrow)
