"""Whether an effect is still worth doing: asked when it is claimed, since runs move on while effects wait."""

from app.core.effects import (
    DraftPlan,
    Effect,
    Execute,
    LookUpAuthority,
    OpenDraft,
    PlanSaying,
    Purpose,
    ReportSaying,
    Say,
    StageDraft,
)
from app.core.move import last_work
from app.core.run import Approved, Built, Closed, Proposed, Reporting, State, Wanted
from app.core.verdict import Allowed, Refused, Verdict


def still_owed(effect: Effect, state: State) -> Verdict:
    """Allowed while the run still needs this effect; else the reason why it is settled without being done."""
    if isinstance(effect, DraftPlan):
        return _draft_owed(effect, state)
    if isinstance(effect, Execute):
        owed = isinstance(state, Approved) and state.proposal.digest == effect.plan_digest
        return _yes_if(owed, "no approval of this plan stands any more")
    if isinstance(effect, OpenDraft | StageDraft):
        return _built_owed(effect, state)
    if isinstance(effect, LookUpAuthority):
        if effect.purpose is Purpose.LABEL:
            return _yes_if(isinstance(state, Wanted), "the label was decided already")
        resumes = effect.purpose in (Purpose.REFRESH, Purpose.RETRY)
        return _yes_if(resumes or not isinstance(state, Closed), "the run has ended")
    if isinstance(effect, Say) and isinstance(effect.saying, PlanSaying):
        newest = isinstance(state, Proposed) and state.proposal.version == effect.saying.version
        return _yes_if(newest, "this plan version is no longer on offer")
    if isinstance(effect, Say) and isinstance(effect.saying, ReportSaying):
        owed = isinstance(state, Reporting) and state.findings_ref == effect.saying.findings_ref
        return _yes_if(owed, "the run no longer waits for this report")
    return Allowed()


def _draft_owed(effect: DraftPlan, state: State) -> Verdict:
    waiting = (isinstance(state, Wanted) and state.allowed) or (isinstance(state, Proposed) and state.drafting)
    return _yes_if(waiting and effect.version == state.last_version + 1, "no plan of this version is asked for")


def _built_owed(effect: OpenDraft | StageDraft, state: State) -> Verdict:
    if not isinstance(state, Built) or state.proposal.digest != effect.plan_digest:
        return Refused("no built change of this plan stands any more")
    work = last_work(state)
    staged = isinstance(work, StageDraft)
    if staged != isinstance(effect, StageDraft):
        return Refused("the run is staged, so nothing is written" if staged else "the run is not staged")
    return _yes_if(work.key == effect.key, "what stands now was built under another approval")


def _yes_if(owed: bool, otherwise: str) -> Verdict:
    return Allowed() if owed else Refused(otherwise)
