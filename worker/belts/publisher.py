"""The publisher: looks up authority, says what is to be said, and opens the draft. It has no model and no box."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.comments import draft, plan, reply, report, status
from app.comments.markdown import split
from app.comments.marker import mark
from app.core.digest import text_digest
from app.core.effects import LookUpAuthority, PlanSaying, React, ReplySaying, ReportSaying, Say, Slot, StatusSaying
from app.core.facts import AuthorityFound, DraftOpened, Fact, PublishFailed, Said
from app.core.fit import patch_fits
from app.core.patch import FileChange, Patch
from app.core.plan import Plan
from app.core.policy import Policy
from app.core.report import Findings, Report, plan_shown
from app.core.run import Built, PlanPart, Proposed, PullRequest, Reporting, State
from app.core.verdict import Refused, all_of
from worker.github.authority import Question, look_up
from worker.github.errors import AlreadyExists, DraftUnsupported, Forbidden, GitHubError, Invalid, NotFound, Suspended
from worker.github.reader import Reader
from worker.github.views import CommentView
from worker.github.writer import (
    Change,
    Commenter,
    Delete,
    FileMode,
    Landed,
    Move,
    Publisher,
    PullRequested,
    Put,
    Smile,
    Work,
)

BRANCH_TRIES = 5
"""Names tried before giving up, where somebody else's branch has ours (case GT-01)."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was done: the facts it leads to, and a few words for the ledger."""

    facts: tuple[Fact, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class Script:
    """What the publisher may say: the run as it is now, its plan, and the key that authenticates markers."""

    state: State
    plan: Plan | None
    marker_key: bytes
    repository_url: str
    older_plans: tuple[str, ...] = ()
    """Node ids of the comments of older plan versions, to be hidden as outdated."""
    findings: Findings | None = None
    """What was found out, where a report is to be said."""

    def marker(self, slot: str) -> str:
        return mark(self.marker_key, self.state.request.run, slot)


@dataclass(frozen=True, slots=True)
class Finished:
    """What is to be published: the plan, what was made of it and what it showed."""

    state: Built
    plan: Plan
    patch: Patch
    report: Report
    content: Callable[[str], bytes]
    """Reads a file's new content by its reference."""


def find_authority(reader: Reader, effect: LookUpAuthority, state: State, now: datetime) -> AuthorityFound:
    """The fact that decides what a person's word leads to. Raises `GitHubError`: no answer is no authority."""
    # A word is about the plan that stood when it was given, not about one that came while GitHub was being asked.
    stood = isinstance(state, Proposed) and state.proposal.version == effect.plan_version
    question = Question(
        request=state.request,
        purpose=effect.purpose,
        person=effect.person,
        source=effect.source,
        source_id=effect.source_id,
        source_digest=effect.source_digest,
        argument=effect.argument,
        proposal=state.proposal if stood and isinstance(state, Proposed) else None,
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
        case ReportSaying():
            return _say_report(commenter, effect.saying, script, now)


def _say_status(commenter: Commenter, script: Script, now: datetime) -> Told:
    body = f"{status.render(script.state)}\n\n{script.marker('status')}"
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
    words = plan.render(shown, state.proposal, script.repository_url)
    said, *further = _say_long(commenter, f"plan-{shown.version}", words, script)
    for node_id in script.older_plans:
        commenter.minimise(node_id)
    parts = tuple(PlanPart(node_id=one.node_id, comment_digest=text_digest(one.body)) for one in further)
    fact = _said(Slot.PLAN, shown.version, said, now).model_copy(update={"further_parts": parts})
    return Told((fact,), f"plan {shown.version} said")


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


def open_draft(publisher: Publisher, finished: Finished, now: datetime) -> Told:
    """1 the gate once more, 2 branch and commit, 3 the draft. What was done before is found, not done again."""
    proposal = finished.state.proposal
    policy = finished.state.policy or Policy()
    fits = all_of(patch_fits(finished.plan, finished.patch, policy), plan_shown(finished.plan, finished.report))
    if isinstance(fits, Refused):
        return _failed(finished, str(fits), "Nothing was written.", now)
    try:
        landed = _land(publisher, finished)
        asked = _open(publisher, finished, landed)
    except GitHubError as error:
        if not is_final(error):
            raise
        return _failed(finished, error.reason, error.remedy, now)
    if isinstance(asked, Refused):
        return _failed(finished, asked.reason, asked.remedy, now)
    pull = PullRequest(
        number=asked.pull.number,
        url=asked.pull.html_url,
        branch=landed.branch,
        commit=landed.commit.sha,
        draft=asked.pull.draft,
    )
    opened = DraftOpened(at=now, plan_digest=proposal.digest, pull=pull)
    return Told((opened,), f"pull request {pull.number} {asked.how}")


def branch_name(issue_number: int, run: str, plan_digest: str, attempt: int = 1) -> str:
    """Derived from run and plan, so that it is found again; never from the issue's number alone (case GT-01)."""
    name = f"countersign/issue-{issue_number}-{plan_digest[:8]}-{run.rsplit('-', 1)[-1][:6]}"
    return name if attempt == 1 else f"{name}-{attempt}"


def _land(publisher: Publisher, finished: Finished) -> Landed:
    plan_, approval = finished.plan, finished.state.approval
    work = Work(
        parent=plan_.base_commit,
        message=draft.message(plan_, approval),
        changes=tuple(_change(change, finished.content) for change in finished.patch.changes),
    )
    for attempt in range(1, BRANCH_TRIES + 1):
        name = branch_name(plan_.issue_number, plan_.run, approval.plan_digest, attempt)
        try:
            return publisher.land(name, plan_.base_branch, work)
        except AlreadyExists:
            if attempt == BRANCH_TRIES:
                raise
    raise AssertionError("the loop returns or raises")


def _open(publisher: Publisher, finished: Finished, landed: Landed) -> PullRequested | Refused:
    plan_, approval = finished.plan, finished.state.approval
    title = draft.title(plan_)
    body = draft.body(plan_, approval, finished.report, finished.state.spent)
    try:
        return publisher.open_draft(landed.branch, plan_.base_branch, title, body)
    except DraftUnsupported as error:
        policy = finished.state.policy
        if policy is None or policy.without_draft == "stop":
            return Refused(
                f"{error.reason} The work stands on the branch {landed.branch}.",
                "Open a pull request from it, or set `without_draft: open` in the policy file.",
            )
    return publisher.open_undrafted(
        landed.branch, plan_.base_branch, draft.undrafted_title(title), draft.undrafted_body(body)
    )


def _change(change: FileChange, content: Callable[[str], bytes]) -> Change:
    if change.content_ref is None:
        return Delete(change.path)
    mode = FileMode(change.mode)
    if change.old_path is not None:
        return Move(change.old_path, change.path, content(change.content_ref), mode)
    return Put(change.path, content(change.content_ref), mode)


def _failed(finished: Finished, reason: str, remedy: str, now: datetime) -> Told:
    digest = finished.state.proposal.digest
    return Told((PublishFailed(at=now, plan_digest=digest, reason=reason, remedy=remedy),), "not published")


def is_final(error: GitHubError) -> bool:
    """True for an answer that asking again will not change."""
    return isinstance(error, Invalid | Forbidden) and not isinstance(error, Suspended)
