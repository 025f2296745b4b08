"""Why a run is where it is: what it waits for, who can move it on, and what they type. Pure; plain words."""

from dataclasses import dataclass

from app.core.digest import short
from app.core.gate import approvals_needed
from app.core.policy import Policy
from app.core.resuming import is_resumed_by
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, Reporting, State, Wanted
from app.core.stalling import waits_for
from app.core.standing import reviser, takes
from app.core.verb import Verb


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run waits for. `who` and `types` are empty where nothing is asked of anybody."""

    because: str
    """One sentence."""
    who: str = ""
    """Who can move it on, in a few words."""
    types: tuple[str, ...] = ()
    """What they type as a comment on the issue, the likeliest first."""
    trouble: str = ""
    """What keeps it beside that: work that makes no progress, or that waits for something outside."""
    link: str = ""
    """The address where it is decided, where that is not the issue."""

    def sentence(self) -> str:
        """All of it in a line, for a terminal."""
        ways = f"{self.who} can type {' or '.join(self.types)}." if self.types and self.who else ""
        return " ".join(part for part in (self.because, self.trouble, ways[:1].upper() + ways[1:]) if part)


def wait_of(state: State) -> Wait:
    """Why the run is in this state."""
    match state:
        case Wanted():
            found = _wanted(state)
        case NeedsInput():
            found = _needs_input(state)
        case Proposed():
            found = _proposed(state)
        case Approved():
            found = _approved(state)
        case Built():
            staged = state.policy is not None and state.policy.staged
            last = "what would be written is being put together" if staged else "the draft pull request is being opened"
            found = Wait(f"The change is made and was held against the plan; {last}.")
        case Reporting():
            found = Wait("The plan's questions were worked on; the report is being posted.")
        case Published():
            found = _published(state)
        case Closed():
            found = _closed(state)
    stall = state.stall
    if stall is not None and stall.key == waits_for(state):
        found = Wait(found.because, found.who, found.types, stall.words, found.link)
    return found


def _wanted(state: Wanted) -> Wait:
    if not state.allowed:
        return Wait("The label was seen, and the permission of who set it is being looked up.")
    return Wait("A plan is being made; the repository is only read.", _enders(state), ("/cancel",))


def _needs_input(state: NeedsInput) -> Wait:
    author = state.request.author
    who = f"{author.login}, who wrote the issue," if author else "the issue's author"
    more = takes(reviser(state.policy or Policy()))
    return Wait(
        f"The planner asks: {' '.join(state.question.split())}", f"{who} or somebody with {more}", ("/answer WORDS",)
    )


def _proposed(state: Proposed) -> Wait:
    proposal, policy = state.proposal, state.policy or Policy()
    named = f"Version {proposal.version} of the plan"
    steering = f"somebody with {takes(reviser(policy))}"
    if state.drafting:
        return Wait(f"{named} stands; another version is being made.", _enders(state), ("/cancel",))
    if proposal.issue_changed:
        return Wait(
            f"{named} cannot be approved, since the issue was edited after it was made.",
            steering,
            ("/refresh", "/revise WORDS"),
        )
    if proposal.comment_id is None:
        return Wait(f"{named} is made and is being posted on the issue.")
    needed = max(approvals_needed(policy, proposal.paths), len(state.given) + 1)
    so_far = f" ({len(state.given)} of {needed} so far)" if needed > 1 else ""
    others = "" if not state.given else " who has not approved yet"
    owners = ", or a code owner of everything it touches" if policy.approve.code_owners == "may" else ""
    amends = proposal.amends
    what = "" if amends is None else f", which amends version {amends.version} at step {amends.step},"
    return Wait(
        f"{named}{what} waits for approval{so_far}.",
        f"somebody with {takes(policy.approve)}{owners}{others}",
        (f"/approve {short(proposal.digest)}", "/revise WORDS", "/reject REASON"),
    )


def _approved(state: Approved) -> Wait:
    people = " and ".join(one.person.login for one in (*state.also, state.approval))
    begun = f"Version {state.approval.plan_version} of the plan was approved by {people}"
    if state.held:
        return Wait(f"{begun}, and waits to be carried out.", _enders(state), ("/cancel",), state.held)
    return Wait(f"{begun} and is being carried out.", _enders(state), ("/cancel",))


def _published(state: Published) -> Wait:
    kind = "Draft pull request" if state.pull.draft else "Pull request"
    return Wait(
        f"{kind} #{state.pull.number} is open; the rest is a person's review.", "whoever reviews", link=state.pull.url
    )


def _closed(state: Closed) -> Wait:
    words = " ".join(part for part in (state.words, state.remedy) if part)
    because = f"It ended ({state.reason.replace('_', ' ')}): {words}"
    again = tuple(f"/{verb}" for verb in (Verb.RETRY, Verb.REFRESH) if is_resumed_by(state, verb))
    link = state.pull.url if state.pull else ""
    if not again:
        return Wait(because, link=link)
    return Wait(because, f"somebody with {takes((state.policy or Policy()).approve)}", again, link=link)


def _enders(state: State) -> str:
    policy = state.policy or Policy()
    labeller = state.request.labeller
    by = f"{labeller.login}, who set the label, or " if labeller else ""
    return f"{by}somebody with {takes(policy.cancel or policy.approve)}"
