"""Short replies: refusals, answers to commands, and notes."""

from app.comments.deciding import beyond_one, decider
from app.comments.markdown import block, inline
from app.comments.status import render as status
from app.core.effects import ReplySaying, ReplyTopic
from app.core.issue import Person
from app.core.policy import Policy
from app.core.resuming import way_on
from app.core.run import Approved, Built, Closed, NeedsInput, Proposed, Published, Reporting, State, Wanted
from app.core.standing import takes
from app.core.verb import COMMANDS


def _help() -> str:
    rows = "\n".join(f"- `{one.written}` ({one.who}): {one.does}." for one in COMMANDS)
    return (
        f"What I understand, each in a paragraph of its own:\n\n{rows}\n\n"
        "Who may is asked of GitHub at that moment, by this repository's policy. Quoted text, lists and code are never "
        "commands."
    )


def render(saying: ReplySaying, state: State) -> str:
    """The whole reply. Only the person it is for is mentioned; everybody else's words are plain text."""
    if saying.topic is ReplyTopic.HELP:
        return f"{_to(saying.to)}{_help()}"
    if saying.topic is ReplyTopic.WHY:
        return f"{_to(saying.to)}{_why(state)}\n\n{status(state)}"
    if saying.topic is ReplyTopic.QUESTION:
        # Each question is one line.
        how_many = "a few questions" if "\n" in saying.reason.strip() else "one question"
        return f"{_to(saying.to)}before a plan can be made, {how_many}:\n\n{block(saying.reason)}"
    lead = {
        ReplyTopic.REFUSED: "That was not done. ",
        ReplyTopic.UNCLEAR: "",
        ReplyTopic.NOTE: "",
        ReplyTopic.VOIDED: "**The approval does not stand.** " if isinstance(state, Proposed) else "",
    }[saying.topic]
    return f"{_to(saying.to)}{lead}{_words(saying)}"


def _words(saying: ReplySaying) -> str:
    return " ".join(part for part in (inline(saying.reason, 3_000), inline(saying.remedy, 1_500)) if part)


def _to(person: Person | None) -> str:
    # A bot is not called: that could start another agent (github-facts 190).
    if person is None or person.is_bot:
        return ""
    return f"@{person.login} "


def _why(state: State) -> str:
    if isinstance(state, Proposed):
        return _why_proposed(state)
    words = {
        Wanted: "A plan is being made; nothing is asked of anybody now.",
        NeedsInput: "The issue's author can unblock this by answering the question; `/answer` and their words is for "
        "everybody who may revise.",
        Approved: "The approved plan is being carried out; `/cancel` would end it.",
        Built: "The change is made; the last step is on its way, and nothing is asked of anybody now.",
        Reporting: "The report is being posted; nothing is asked of anybody now.",
        Published: "The rest is the review of the pull request.",
    }
    return f"The run has ended. {way_on(state)}" if isinstance(state, Closed) else words[type(state)]


def _why_proposed(state: Proposed) -> str:
    who = decider(state.policy)
    said = [f"{who[0].upper()}{who[1:]} can unblock this: `/approve` or a 👍 on the newest plan comment."]
    said.append(beyond_one(state.policy, state.proposal))
    policy = state.policy or Policy()
    if policy.revise is not None:
        said.append(f"`/revise` is for somebody with {inline(takes(policy.revise))}.")
    if policy.cancel is not None:
        said.append(f"`/reject` and `/cancel` are for somebody with {inline(takes(policy.cancel))}.")
    if policy.revise is None and policy.cancel is None:
        said.append("So are `/revise` and `/reject`.")
    return " ".join(part for part in said if part)
