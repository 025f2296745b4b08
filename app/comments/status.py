"""The status comment: one per run, edited in place. It says where the run stands and what comes next."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from app.comments.deciding import given, people
from app.comments.markdown import code, inline
from app.core.budget import Spent
from app.core.digest import short
from app.core.resuming import REFRESHED, way_on
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, Reporting, State, Wanted
from app.core.stalling import waits_for


def render(state: State, repository_url: str = "") -> str:
    """The whole status comment for a run in this state; links only where the repository's address is known."""
    first = f"**Countersign** · {_SAY[type(state)](state)}"
    lines = [first, _stalled(state), _kept(state, repository_url), _footer(state)]
    return "\n\n".join(line for line in lines if line)


def _wanted(state: Wanted) -> str:
    if not state.allowed:
        return "The label was seen; its setter's permission is being looked up."
    return "A plan is being made. It reads the repository only; nothing is changed. The plan will be a comment here."


def _needs_input(state: NeedsInput) -> str:
    author = state.request.author
    who = author.login if author else "the issue's author"
    return f"Planning waits for an answer from {inline(who)} (the question is a comment below)."


def _proposed(state: Proposed) -> str:
    plan = f"Plan version {state.proposal.version} ({code(short(state.proposal.digest))})"
    amends = state.proposal.amends
    if amends is not None:
        plan += f", which amends version {amends.version} at step {amends.step},"
    if state.drafting:
        return f"{plan} stands; a revision is being made."
    if state.proposal.issue_changed:
        return f"{plan} cannot be approved, since the issue was edited. `/revise` asks for a plan of the new text."
    so_far = given(state.policy, state.proposal, state.given)
    if so_far:
        return f"{plan} waits for another maintainer: `/approve` or a 👍 on its comment. {so_far}"
    return f"{plan} waits for a maintainer: `/approve` or a 👍 on its comment."


def _approved(state: Approved) -> str:
    approval = state.approval
    begun = (
        f"Plan version {approval.plan_version} ({code(short(approval.plan_digest))}) was approved by "
        f"{people((*state.also, approval))}"
    )
    if state.held:
        return f"{begun}. It waits and is kept: {inline(state.held, 2_000)}"
    return f"{begun} and is being carried out."


def _built(state: Built) -> str:
    plan = code(short(state.proposal.digest))
    made = "The change is made and was held against the plan"
    if state.policy is not None and state.policy.staged:
        return f"{made}; what would be written for plan {plan} is being put together. This run is staged."
    return f"{made}; the draft pull request for plan {plan} is being opened."


def _reporting(state: Reporting) -> str:
    return f"The questions of plan {code(short(state.proposal.digest))} were worked on; the report is being posted."


def _published(state: Published) -> str:
    kind = "Draft pull request" if state.pull.draft else "Pull request (not a draft; please treat it as one)"
    return f"{kind} #{state.pull.number} is open for review."


def _closed(state: Closed) -> str:
    words = f"Ended ({state.reason.replace('_', ' ')}): {inline(state.words, 2_500)}"
    if state.remedy:
        words += f" {inline(state.remedy, 1_000)}"
    if state.reason in REFRESHED:
        words += f" {way_on(state)}"
    if state.pull is not None:
        words += f" (pull request #{state.pull.number})"
    return words


def _stalled(state: State) -> str:
    if state.stall is None or state.stall.key != waits_for(state):
        return ""
    return f"It does not go on now ({state.stall.code.replace('_', ' ')}): {inline(state.stall.words, 2_000)}"


def _kept(state: State, repository_url: str) -> str:
    """What is left of work that did not become a pull request, and where it is."""
    if not isinstance(state, Closed) or state.pull is not None:
        return ""
    amends = state.proposal.amends if state.proposal else None
    if not state.report_ref and amends is None:
        return ""
    words = "The change is kept: its patch and the output of its checks are on the run's page."
    if state.branch and repository_url:
        # Against the default branch, which is the base of every run.
        address = f"{repository_url}/compare/{quote(state.branch, safe='')}?expand=1"
        words += f" [Open a pull request from its branch]({address})."
    return words


def _footer(state: State) -> str:
    return f"<sub>run {code(state.request.run)} · {cost(state.spent)}</sub>"


def cost(spent: Spent) -> str:
    """What was spent, in words; a call without a known price is said, not counted as free."""
    if spent.calls == 0:
        return "no model call so far"
    dollars = f"${spent.usd.quantize(Decimal('0.0001'))}"
    money = f"{spent.calls} model calls, {dollars}"
    if spent.unpriced_calls == spent.calls:
        money = f"{spent.calls} model calls of unknown price"
    elif spent.unpriced_calls:
        money += f" and {spent.unpriced_calls} calls of unknown price"
    return f"{money}, {spent.input_tokens + spent.cached_tokens:,} tokens in, {spent.output_tokens:,} out"


_SAY: dict[type, Callable[[Any], str]] = {
    Wanted: _wanted,
    NeedsInput: _needs_input,
    Proposed: _proposed,
    Approved: _approved,
    Built: _built,
    Reporting: _reporting,
    Published: _published,
    Closed: _closed,
}
