"""The moves by which a run is taken up again: a plan made anew, and what failed tried once more."""

from app.core import facts as f
from app.core import gate
from app.core.effects import Execute, ReplyTopic, ReportSaying, Say
from app.core.move import (
    Move,
    Stay,
    draft,
    execute_key,
    kept,
    last_work,
    moment,
    refusal,
    reply,
    report_key,
    status,
)
from app.core.run import (
    Approved,
    Built,
    Closed,
    ClosedReason,
    NeedsInput,
    Proposed,
    Reporting,
    State,
    Wanted,
)
from app.core.staging import still_staged
from app.core.verb import Verb
from app.core.verdict import Refused

REFRESHED = (ClosedReason.EXPIRED, ClosedReason.STALE, ClosedReason.FAILED, ClosedReason.STAGED)
"""Ends after which a plan can be made anew."""

RETRIED = (ClosedReason.FAILED, ClosedReason.STAGED)
"""Ends after which what failed can be tried again, or what was not written be written."""


def is_resumed_by(state: Closed, verb: Verb) -> bool:
    """True where this command takes the ended run up again, if it is from somebody who may."""
    return state.reason in {Verb.REFRESH: REFRESHED, Verb.RETRY: RETRIED}.get(verb, ())


def way_on(state: Closed) -> str:
    """What somebody can do about a run that ended so."""
    ways = [f"`/{verb}`" for verb in (Verb.RETRY, Verb.REFRESH) if is_resumed_by(state, verb)]
    if not ways:
        return "Setting the label again starts a new run."
    again = "opens the draft from what is kept" if state.reason is ClosedReason.STAGED else "tries again what failed"
    says = {"`/retry`": again, "`/refresh`": "makes a plan anew"}
    return "; ".join(f"{way} {says[way]}" for way in ways) + "."


def ended(state: Closed, fact: f.CommandGiven) -> Move:
    """The run has ended: it is said once to each who asks for something, with the way on."""
    words = Refused(f"This run has ended ({state.reason.replace('_', ' ')}).", way_on(state))
    return Move(state, (reply(f"ended:{fact.person.id}:{state.resumed}", ReplyTopic.NOTE, fact.person, words),))


def refresh_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    """A plan is made on the newest commit and issue text, in place of the one that stands or stood."""
    verdict = gate.may_steer(found)
    if isinstance(verdict, Refused):
        return Move(state, (refusal(state, "refresh", found.person, verdict),))
    if isinstance(state, Closed):
        if not is_resumed_by(state, Verb.REFRESH):
            return Stay("The run ended otherwise meanwhile.")
        return _planned_anew(state, found)
    if isinstance(state, NeedsInput) or (isinstance(state, Proposed) and not state.drafting):
        return revised(state, found)
    words = Refused(
        "A plan is being made already." if isinstance(state, Wanted | Proposed) else "The plan was approved already.",
        "`/cancel` ends this run; after that the label starts a new one.",
    )
    return Move(state, (refusal(state, "refresh", found.person, words),))


def revised(state: NeedsInput | Proposed, found: f.AuthorityFound) -> Move:
    """Another version is made, of the issue as somebody with authority has read it now, under the policy of now."""
    request = state.request.model_copy(update={"issue_digest": found.issue_digest})
    changes = {"request": request, "policy": found.policy}
    made = (status(f"revising:{found.source_id}"), draft(state.last_version + 1, found.argument))
    if isinstance(state, Proposed):
        return Move(state.model_copy(update=changes | {"drafting": True, "narrowing": None}), made)
    return Move(Wanted(**(kept(state) | changes), allowed=True), made)


def retry_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    """What failed is tried again: the work under the approval that stands, or the planning."""
    if not isinstance(state, Closed) or not is_resumed_by(state, Verb.RETRY):
        return Stay("Nothing that failed is left to be tried again.")
    carried_out = state.proposal is not None and bool(state.approvals)
    verdict = gate.may_retry(found, state.request, state.proposal if carried_out else None)
    if isinstance(verdict, Refused):
        return Move(state, (refusal(state, "retry", found.person, verdict),))
    if state.reason is ClosedReason.STAGED and (still := still_staged(found.policy)) is not None:
        return Move(state, (refusal(state, "retry", found.person, still),))
    return _carried_out_anew(state, found) if carried_out else _planned_anew(state, found)


def _planned_anew(state: Closed, found: f.AuthorityFound) -> Move:
    request = state.request.model_copy(update={"issue_digest": found.issue_digest})
    # The number of the version that was not made is used up, so that this is a new effect.
    last = state.last_version + 1
    changes = {"request": request, "policy": found.policy, "last_version": last, "resumed": state.resumed + 1}
    after = Wanted(**(kept(state) | changes), allowed=True)
    return Move(after, (status(f"resumed:{state.resumed + 1}"), draft(last + 1)))


def _carried_out_anew(state: Closed, found: f.AuthorityFound) -> Move:
    """The approval binds as before; whether it still stands is asked of GitHub before anything is done with it."""
    assert state.proposal is not None
    *also, last = state.approvals
    over = last.expires_at <= found.at
    if over or found.issue_digest != last.issue_digest:
        why = "Its time is over." if over else "The issue was edited since."
        words = Refused(f"The approval does not stand any more. {why}", "`/refresh` makes a plan anew.")
        return Move(state, (refusal(state, "retry", found.person, words),))
    approval = last.model_copy(update={"attempt": last.attempt + 1})
    shared = kept(state) | {"policy": found.policy, "resumed": state.resumed + 1, "proposal": state.proposal}
    shared |= {"approval": approval, "also": tuple(also)}
    say = status(f"resumed:{state.resumed + 1}:{moment(found.at)}")
    if state.findings_ref:
        key = report_key(approval, state.findings_ref)
        report = Say(key=key, saying=ReportSaying(findings_ref=state.findings_ref))
        return Move(Reporting(**shared, findings_ref=state.findings_ref), (say, report))
    if state.patch_ref and state.report_ref:
        built = Built(**shared, patch_ref=state.patch_ref, report_ref=state.report_ref)
        return Move(built, (say, last_work(built)))
    work = Execute(key=execute_key(approval), plan_digest=state.proposal.digest)
    # With a report all steps were done, and what they made did not hold: then none of it is gone on with.
    behind = state.proposal.work() if state.report_ref else state.work.handed_on()
    return Move(Approved(**shared, work=behind), (say, work))
