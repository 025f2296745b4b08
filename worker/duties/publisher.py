"""The publisher's duties: authority, words, reactions, drafts."""

from collections.abc import Callable, Mapping
from datetime import datetime

from app.core.belts import Belt
from app.core.digest import canonical
from app.core.effects import (
    FindDraft,
    LookUpAuthority,
    OpenDraft,
    PlanSaying,
    Purpose,
    React,
    ReportSaying,
    Say,
    Slot,
    StageDraft,
)
from app.core.facts import AmendmentProposed, DraftStaged, Expired, Fact, PlanDrafted, PullRequestRead, Said
from app.core.issue import Person
from app.core.outcome import MOST_COMMITS, BranchCommit, ended
from app.core.patch import Patch
from app.core.plan import Plan
from app.core.report import Findings, Report
from app.core.run import Built, Closed, Proposed, Reporting, grant_of
from app.ledger.outcomes import Claim, RunView
from worker.belts import landing, publisher
from worker.evidence.trace import Trace
from worker.github.commenter import Commenter
from worker.github.errors import Forbidden, Gone, Moved, NotFound
from worker.github.reader import Reader
from worker.github.views import Account
from worker.github.writer import Publisher
from worker.outcomes import MustWait, Wait
from worker.shop import Done, Line, Shop

WHILE_BUILT_SECONDS = 60.0


def look_up_authority(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """What a person may do is asked of GitHub now."""
    assert isinstance(claim.effect, LookUpAuthority)
    if claim.effect.purpose is Purpose.LABEL:
        # The planner may have work soon: it loads what it needs while GitHub is asked.
        shop.doorbell.sweep(Belt.PLANNER)
    with shop.line(claim) as line:
        reader = Reader(line.connection, line.repository)
        bounds = shop.settings.bounds
        found = publisher.find_authority(reader, claim.effect, claim.state, shop.clock(), bounds)
    return [found], f"{found.permission} ({found.role_name})"


def react(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """An emoji shows that a comment was read."""
    assert isinstance(claim.effect, React)
    with shop.line(claim) as line:
        told = publisher.react(_commenter(line), claim.effect)
    return told.facts, told.outcome


def say(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """The words stand on the issue. The run may have moved on since the claim: what is said is what is true now."""
    assert isinstance(claim.effect, Say)
    view = _view(shop, claim)
    script = publisher.Script(
        state=view.state,
        plan=_plan_to_say(shop, claim.effect, view),
        amended=_amended_plan(shop, view),
        marker_key=shop.ledger.marker_key(),
        repository_url=shop.repository_url(view.state.request),
        older_plans=_older_plans(view),
        unheard_plans=_unheard_plans(claim.effect, view),
        findings=_findings(shop, claim.effect),
        before=_before(shop, claim.effect, view),
    )
    with shop.line(claim) as line:
        read = _pull_read(view, line, shop.clock())
        told = publisher.say(_commenter(line), claim.effect, script, shop.clock())
    return [*told.facts, *read], told.outcome


def _pull_read(view: RunView, line: Line, at: datetime) -> list[Fact]:
    """The commits of a pull request that has ended, read once, when that is said; nothing where they are not shown."""
    state = view.state
    if not isinstance(state, Closed) or not ended(state) or state.pull is None:
        return []
    if any(isinstance(one.fact, PullRequestRead) for one in view.facts):
        return []
    try:
        found = Reader(line.connection, line.repository).pull_commits(state.pull.number)
    except (Forbidden, Gone, Moved, NotFound):
        return []
    commits = [
        BranchCommit(id=one.sha, author=_person(one.author), merge=len(one.parents) > 1)
        for one in found[:MOST_COMMITS]
    ]
    return [PullRequestRead(at=at, number=state.pull.number, commits=tuple(commits))]


def _person(account: Account | None) -> Person | None:
    return Person(id=account.id, login=account.login, is_bot=account.kind == "Bot") if account is not None else None


def open_draft(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """Branch and draft stand. The write token lives within this block, against a live Grant."""
    assert isinstance(claim.effect, OpenDraft)
    if grant_of(claim.state, shop.clock()) is None:
        return _over(shop)
    finished = _finished(shop, claim)
    with shop.line(claim) as line:
        writer = Publisher(line.connection, line.repository, line.bot_user_id)
        told = landing.open_draft(writer, finished, shop.clock())
    return told.facts, told.outcome


def stage_draft(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """What would be written is kept, and nothing is: the token of this block only reads."""
    assert isinstance(claim.effect, StageDraft)
    if grant_of(claim.state, shop.clock()) is None:
        return _over(shop)
    finished = _finished(shop, claim)
    with shop.line(claim) as line:
        reader = Publisher(line.connection, line.repository, line.bot_user_id)
        staged = landing.stage_draft(reader, finished, shop.clock())
    if isinstance(staged, landing.Told):
        return staged.facts, staged.outcome
    kept = shop.keep(canonical(staged), "application/json")
    digest = finished.state.proposal.digest
    return [DraftStaged(at=shop.clock(), plan_digest=digest, staged_ref=kept)], f"staged for {staged.branch}"


def find_draft(shop: Shop, claim: Claim, trace: Trace) -> Done:
    """What was left behind is found, with a token that only reads. While a draft of the same plan is still to be opened
    it waits for that, which takes up what stands."""
    assert isinstance(claim.effect, FindDraft)
    if isinstance(claim.state, Built) and claim.state.proposal.digest == claim.effect.plan_digest:
        raise MustWait(Wait(WHILE_BUILT_SECONDS, "The draft of this plan is being opened."))
    with shop.line(claim) as line:
        reader = Publisher(line.connection, line.repository, line.bot_user_id)
        told = landing.find_draft(reader, claim.state.request, claim.effect.plan_digest, shop.clock())
    return told.facts, told.outcome


def _over(shop: Shop) -> Done:
    """The approval's time ended before anything was written: no token is asked for, and the run ends with words."""
    return [Expired(at=shop.clock())], "the time of the approval is over"


def _finished(shop: Shop, claim: Claim) -> landing.Finished:
    assert isinstance(claim.state, Built)
    return landing.Finished(
        state=claim.state,
        plan=shop.approved_plan(claim.state),
        patch=Patch.model_validate_json(shop.kept(claim.state.patch_ref)),
        report=Report.model_validate_json(shop.kept(claim.state.report_ref)),
        content=shop.kept,
    )


def _commenter(line: Line) -> Commenter:
    return Commenter(line.connection, line.repository, line.bot_user_id)


def _view(shop: Shop, claim: Claim) -> RunView:
    view = shop.ledger.run(claim.run)
    if view is None:
        raise KeyError(claim.run)
    return view


def _plan_to_say(shop: Shop, effect: Say, view: RunView) -> Plan | None:
    if isinstance(effect.saying, ReportSaying) and isinstance(view.state, Reporting):
        return shop.approved_plan(view.state)
    if not isinstance(effect.saying, PlanSaying):
        return None
    return shop.ledger.plan(view.id, effect.saying.version)


def _before(shop: Shop, effect: Say, view: RunView) -> Plan | None:
    """The version that was on offer before the one that is to be said."""
    if not isinstance(effect.saying, PlanSaying):
        return None
    older = _older_versions(effect.saying, view)
    return shop.ledger.plan(view.id, older[-1]) if older else None


def _amended_plan(shop: Shop, view: RunView) -> Plan | None:
    amends = view.state.proposal.amends if isinstance(view.state, Proposed) else None
    if amends is None:
        return None
    plan = shop.ledger.plan_by_digest(amends.digest)
    if plan is None:
        raise KeyError(f"plan {amends.version} of {view.id}")
    return plan


def _findings(shop: Shop, effect: Say) -> Findings | None:
    if not isinstance(effect.saying, ReportSaying):
        return None
    return Findings.model_validate_json(shop.kept(effect.saying.findings_ref))


def _older_plans(view: RunView) -> tuple[str, ...]:
    """Those that say nothing of the newest plan any more; an amendment rests on what its comment does not repeat."""
    told = [one.fact for one in view.facts if isinstance(one.fact, Said) and one.fact.slot is Slot.PLAN]
    amends = view.state.proposal.amends if isinstance(view.state, Proposed) else None
    standing = (view.state.last_version, *(amends.versions if amends else ()))
    return tuple(fact.node_id for fact in told if fact.plan_version not in standing)


def _older_versions(saying: PlanSaying, view: RunView) -> list[int]:
    drafted = [one.fact.version for one in view.facts if isinstance(one.fact, PlanDrafted | AmendmentProposed)]
    return [version for version in drafted if version < saying.version]


def _unheard_plans(effect: Say, view: RunView) -> tuple[int, ...]:
    """Versions that were on offer, and of whose comment nothing was heard."""
    if not isinstance(effect.saying, PlanSaying):
        return ()
    heard = {one.fact.plan_version for one in view.facts if isinstance(one.fact, Said) and one.fact.slot is Slot.PLAN}
    return tuple(version for version in _older_versions(effect.saying, view) if version not in heard)


DUTIES: Mapping[type, Callable[[Shop, Claim, Trace], Done]] = {
    LookUpAuthority: look_up_authority,
    Say: say,
    React: react,
    OpenDraft: open_draft,
    StageDraft: stage_draft,
    FindDraft: find_draft,
}
