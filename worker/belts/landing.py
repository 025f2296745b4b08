"""Landing: the approved and proven change becomes a branch, a commit and a draft pull request."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.comments import draft
from app.core.branches import branch_names
from app.core.facts import DraftFound, DraftOpened, Fact, PublishFailed
from app.core.patch import FileChange, Patch
from app.core.plan import Plan
from app.core.policy import Policy
from app.core.redact import redact
from app.core.report import Report, not_run
from app.core.result import result_fits
from app.core.run import Built, PullRequest, Request
from app.core.staged import Staged
from app.core.verdict import Refused
from worker.github.errors import (
    AlreadyExists,
    BranchNotSeen,
    DraftUnsupported,
    Forbidden,
    GitHubError,
    Invalid,
    Suspended,
)
from worker.github.views import PullView
from worker.github.writer import Change, Delete, FileMode, Landed, Move, Portion, Publisher, PullRequested, Put, Work


@dataclass(frozen=True, slots=True)
class Told:
    """What was done: the facts it leads to, and a few words for the ledger."""

    facts: tuple[Fact, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class Finished:
    """What is to be published: the plan, what was made of it and what it showed."""

    state: Built
    plan: Plan
    patch: Patch
    report: Report
    content: Callable[[str], bytes]
    """Reads a file's new content by its reference."""


def open_draft(publisher: Publisher, finished: Finished, now: datetime) -> Told:
    """1 the gate once more, 2 branch and commit, 3 the draft. What was done before is found, not done again."""
    proposal = finished.state.proposal
    policy = finished.state.policy or Policy()
    fits = result_fits(finished.plan, finished.patch, finished.report, policy)
    if isinstance(fits, Refused):
        return _failed(finished, str(fits), "Nothing was written.", now)
    branch = ""
    try:
        landed = _land(publisher, finished)
        branch = landed.branch
        asked = _open(publisher, finished, landed)
    except GitHubError as error:
        if not is_final(error):
            error.branch = branch
            raise
        return _failed(finished, error.reason, error.remedy, now, branch)
    if isinstance(asked, Refused):
        return _failed(finished, asked.reason, asked.remedy, now, branch)
    pull = _as_pull(asked.pull, landed.branch, landed.commit.sha)
    opened = DraftOpened(at=now, plan_digest=proposal.digest, pull=pull)
    return Told((opened,), f"pull request {pull.number} {asked.how}")


def stage_draft(publisher: Publisher, finished: Finished, now: datetime) -> Staged | Told:
    """What `open_draft` would write, after the same gate and by reading alone; or why it would not."""
    fits = result_fits(finished.plan, finished.patch, finished.report, finished.state.policy or Policy())
    if isinstance(fits, Refused):
        return _failed(finished, str(fits), "Nothing was to be written.", now)
    plan_, approval, work = finished.plan, finished.state.approval, _work(finished)
    for name in branch_names(plan_.issue_number, plan_.run, approval.plan_digest):
        foreseen = publisher.foresee(name, plan_.base_branch, work)
        if foreseen is not None:
            break
    else:
        return _failed(finished, f"The branch {name} is there and holds something else.", "Remove it.", now)
    title, body = _words(finished)
    return Staged(
        branch=foreseen.branch,
        base_branch=plan_.base_branch,
        base_commit=work.parent,
        messages=foreseen.messages,
        title=redact(title),
        body=redact(body),
        diff_ref=finished.report.diff_ref,
        obstacles=foreseen.obstacles,
    )


def find_draft(reader: Publisher, request: Request, plan_digest: str, now: datetime) -> Told:
    """What stands on GitHub of earlier attempts to open a draft of this plan, by reading alone.

    Pull requests of ours from any of our names, open or not, and branches without one whose head is our commit of
    this plan. Somebody else's branch of such a name is none of it (case GT-01).
    """
    found: list[DraftFound] = []
    for name in branch_names(request.issue_number, request.run, plan_digest):
        pull = reader.find_pull(name)
        if pull is not None:
            opened = _as_pull(pull, name, pull.head.sha)
            found.append(DraftFound(at=now, plan_digest=plan_digest, branch=name, pull=opened))
        elif _is_our_work(reader, name, plan_digest):
            found.append(DraftFound(at=now, plan_digest=plan_digest, branch=name, pull=None))
    names = [f"pull request {one.pull.number}" if one.pull else f"branch {one.branch}" for one in found]
    return Told(tuple(found), f"found: {', '.join(names)}" if names else "nothing was left behind")


def _is_our_work(reader: Publisher, name: str, plan_digest: str) -> bool:
    head = reader.find_branch(name)
    return head is not None and draft.is_of_plan(reader.message_of(head), plan_digest)


def _land(publisher: Publisher, finished: Finished) -> Landed:
    plan_, approval = finished.plan, finished.state.approval
    work = _work(finished)
    names = branch_names(plan_.issue_number, plan_.run, approval.plan_digest)
    for name in names:
        try:
            return publisher.land(name, plan_.base_branch, work)
        except AlreadyExists:
            if name == names[-1]:
                raise
    raise AssertionError("the loop returns or raises")


def _work(finished: Finished) -> Work:
    """One commit in all, or one for each step and repair that changed something, as the policy says."""
    policy, patch = finished.state.policy or Policy(), finished.patch
    words = draft.Words(finished.plan, finished.state.approval, finished.state.also, policy.commits)
    whole = _changes(patch.changes, finished)
    steps = [one for one in patch.steps if one.changes] if policy.commit_for_each == "step" else []
    if len(steps) < 2:
        return Work.at_once(patch.base_commit, words.whole(), whole)
    portions = tuple(Portion(words.of(one), _changes(one.changes, finished)) for one in steps)
    return Work(patch.base_commit, portions, whole)


def _changes(changes: tuple[FileChange, ...], finished: Finished) -> tuple[Change, ...]:
    return tuple(_change(change, finished.content) for change in changes)


def _open(publisher: Publisher, finished: Finished, landed: Landed) -> PullRequested | Refused:
    base = finished.plan.base_branch
    title, body = _words(finished)
    try:
        return publisher.open_draft(landed.branch, base, title, body)
    except DraftUnsupported as error:
        policy = finished.state.policy
        if policy is None or policy.without_draft == "stop":
            return Refused(
                f"{error.reason} The work stands on the branch {landed.branch}.",
                "Open a pull request from it, or set `without_draft: open` in the policy file.",
            )
    return publisher.open_undrafted(landed.branch, base, draft.undrafted_title(title), draft.undrafted_body(body))


def _words(finished: Finished) -> tuple[str, str]:
    """Title and text of the draft."""
    plan_, approval = finished.plan, finished.state.approval
    title = draft.title(plan_)
    body = draft.body(plan_, approval, finished.report, finished.state.spent, finished.state.also)
    if unrun := not_run(plan_, finished.report):
        return draft.unshown_title(title), draft.unshown_body(body, unrun)
    return title, body


def _change(change: FileChange, content: Callable[[str], bytes]) -> Change:
    if change.content_ref is None:
        return Delete(change.path)
    mode = FileMode(change.mode)
    if change.old_path is not None:
        return Move(change.old_path, change.path, content(change.content_ref), mode)
    return Put(change.path, content(change.content_ref), mode)


def _as_pull(pull: PullView, branch: str, commit: str) -> PullRequest:
    return PullRequest(number=pull.number, url=pull.html_url, branch=branch, commit=commit, draft=pull.draft)


def _failed(finished: Finished, reason: str, remedy: str, now: datetime, branch: str = "") -> Told:
    digest = finished.state.proposal.digest
    failed = PublishFailed(at=now, plan_digest=digest, reason=reason, remedy=remedy, branch=branch)
    return Told((failed,), "not published")


def is_final(error: GitHubError) -> bool:
    """True for an answer that asking again will not change."""
    return isinstance(error, Invalid | Forbidden) and not isinstance(error, Suspended | BranchNotSeen)
