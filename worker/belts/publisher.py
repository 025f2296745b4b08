"""The publisher: looks up authority and says what is to be said. It has no model and no box."""

from dataclasses import dataclass
from datetime import datetime

from app.comments import amendment, pieces, plan, reply, report, status
from app.comments.markdown import split
from app.comments.marker import mark
from app.core.bounds import Bounds
from app.core.digest import text_digest
from app.core.effects import (
    LookUpAuthority,
    PlanSaying,
    Purpose,
    React,
    ReplySaying,
    ReportSaying,
    Say,
    Slot,
    SplitSaying,
    StatusSaying,
)
from app.core.facts import AuthorityFound, Said
from app.core.plan import Plan
from app.core.report import Findings
from app.core.run import Closed, PlanPart, Proposed, Reporting, State
from worker.belts.landing import Told
from worker.github.authority import Question, look_up
from worker.github.commenter import Commenter, Smile
from worker.github.errors import NotFound
from worker.github.reader import Reader
from worker.github.views import CommentView


@dataclass(frozen=True, slots=True)
class Script:
    """What the publisher may say: the run as it is now, its plan, and the key that authenticates markers."""

    state: State
    plan: Plan | None
    marker_key: bytes
    repository_url: str
    older_plans: tuple[str, ...] = ()
    """Node ids of the comments of older plan versions, to be hidden as outdated."""
    unheard_plans: tuple[int, ...] = ()
    """Older versions whose comment the ledger does not know: it may stand, by somebody who died over it."""
    amended: Plan | None = None
    """The plan that the one to be shown amends."""
    findings: Findings | None = None
    """What was found out, where a report is to be said."""
    before: Plan | None = None
    """The version in whose place the plan stands."""

    def marker(self, slot: str) -> str:
        return mark(self.marker_key, self.state.request.run, slot)


def find_authority(
    reader: Reader, effect: LookUpAuthority, state: State, now: datetime, bounds: Bounds
) -> AuthorityFound:
    """The fact that decides what a person's word leads to. Raises `GitHubError`: no answer is no authority."""
    # A word is about the plan that stood when it was given, not about one that came while GitHub was being asked.
    stood = isinstance(state, Proposed) and state.proposal.version == effect.plan_version
    # What failed is tried again by those who may approve it: then it is asked who owns what it touches.
    failed = isinstance(state, Closed) and effect.purpose is Purpose.RETRY
    question = Question(
        request=state.request,
        purpose=effect.purpose,
        person=effect.person,
        source=effect.source,
        source_id=effect.source_id,
        source_digest=effect.source_digest,
        argument=effect.argument,
        proposal=state.proposal if (stood or failed) and isinstance(state, Proposed | Closed) else None,
        bounds=bounds,
    )
    found = look_up(reader, question, now)
    return found.model_copy(update={"plan_version": effect.plan_version})


def react(commenter: Commenter, effect: React) -> Told:
    """The emoji is on the comment; a comment that is gone needs none."""
    try:
        commenter.react(effect.comment_id, Smile(effect.content))
    except NotFound:
        return Told((), "the comment is gone")
    return Told((), "reacted")


def say(commenter: Commenter, effect: Say, script: Script, now: datetime) -> Told:
    """The words stand on the issue, once, however often this is called."""
    match effect.saying:
        case StatusSaying():
            return _say_status(commenter, script, now)
        case PlanSaying():
            return _say_plan(commenter, script, now)
        case ReplySaying():
            body = reply.render(effect.saying, script.state)
            return _say_reply(commenter, f"{effect.key}", body, script, now)
        case SplitSaying():
            body = pieces.render(effect.saying.split, script.state.request)
            said, *_ = _say_long(commenter, f"split-{effect.saying.version}", body, script)
            return Told((_said(Slot.SPLIT, None, said, now),), "split said")
        case ReportSaying():
            return _say_report(commenter, effect.saying, script, now)


def _say_status(commenter: Commenter, script: Script, now: datetime) -> Told:
    body = f"{status.render(script.state, script.repository_url)}\n\n{script.marker('status')}"
    known = script.state.status_comment_id
    if known is not None:
        try:
            commenter.update_comment(known, body)
            return Told((), "status updated")
        except NotFound:
            pass  # Somebody deleted it; the run still owes words, so it is written anew below.
    said = commenter.say(script.state.request.issue_number, script.marker("status"), body)
    return Told((_said(Slot.STATUS, None, said.comment, now),), "status said")


def _say_plan(commenter: Commenter, script: Script, now: datetime) -> Told:
    state, shown = script.state, script.plan
    if not isinstance(state, Proposed) or shown is None:
        return Told((), "no plan is on offer any more")
    words = _plan_in_words(shown, state, script)
    said, *further = _say_long(commenter, f"plan-{shown.version}", words, script)
    for node_id in (*script.older_plans, *_unheard(commenter, script)):
        commenter.minimise(node_id)
    parts = tuple(PlanPart(node_id=one.node_id, comment_digest=text_digest(one.body)) for one in further)
    fact = _said(Slot.PLAN, shown.version, said, now).model_copy(update={"further_parts": parts})
    return Told((fact,), f"plan {shown.version} said")


def _unheard(commenter: Commenter, script: Script) -> list[str]:
    """Node ids of the comments that are found by the markers of versions that were never heard to be said."""
    number = script.state.request.issue_number
    looked = [commenter.find_comment(number, script.marker(f"plan-{version}")) for version in script.unheard_plans]
    return [one.node_id for one in looked if one is not None]


def _plan_in_words(shown: Plan, state: Proposed, script: Script) -> str:
    """The whole plan; of an amendment the difference alone."""
    if script.amended is None:
        return plan.render(shown, state.proposal, script.repository_url, state.policy, script.before)
    issue_url = f"{script.repository_url}/issues/{state.request.issue_number}"
    return amendment.render(script.amended, shown, state.proposal, issue_url, state.policy)


def _say_report(commenter: Commenter, saying: ReportSaying, script: Script, now: datetime) -> Told:
    state, asked, findings = script.state, script.plan, script.findings
    if not isinstance(state, Reporting) or asked is None or findings is None:
        return Told((), "no report is owed any more")
    words = report.render(asked, state.approval, findings, state.spent, script.repository_url)
    said, *_ = _say_long(commenter, f"report-{saying.findings_ref[:12]}", words, script)
    return Told((_said(Slot.REPORT, None, said, now),), "report said")


def _say_long(commenter: Commenter, slot: str, words: str, script: Script) -> list[CommentView]:
    """In as many comments as the words need; all of them, in order."""
    number = script.state.request.issue_number
    first, *rest = split(words)
    if rest:
        first += f"\n\n(Continued in {len(rest)} more comments below.)"
    said = [commenter.say(number, script.marker(slot), f"{first}\n\n{script.marker(slot)}").comment]
    for at, part in enumerate(rest, start=2):
        more = script.marker(f"{slot}.{at}")
        said.append(commenter.say(number, more, f"{part}\n\n{more}").comment)
    return said


def _say_reply(commenter: Commenter, slot: str, body: str, script: Script, now: datetime) -> Told:
    marker = script.marker(slot)
    said = commenter.say(script.state.request.issue_number, marker, f"{body}\n\n{marker}")
    return Told((_said(Slot.REPLY, None, said.comment, now),), "replied")


def _said(slot: Slot, version: int | None, comment: CommentView, now: datetime) -> Said:
    return Said(
        at=now,
        slot=slot,
        plan_version=version,
        comment_id=comment.id,
        node_id=comment.node_id,
        comment_digest=text_digest(comment.body),
    )
