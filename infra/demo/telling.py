"""What a fact means, in one plain line for the terminal."""

from app.core.digest import short
from app.core.facts import (
    AmendmentProposed,
    AuthorityFound,
    CommandGiven,
    DraftFound,
    DraftOpened,
    DraftStaged,
    ExecutionFailed,
    ExecutionHeld,
    Fact,
    InputNeeded,
    Labelled,
    PlanDrafted,
    PlanNotPossible,
    PublishFailed,
    RepairKept,
    Said,
    SplitProposed,
    Stalled,
    StepKept,
    StepsDone,
    ThumbSeen,
)


def told(fact: Fact) -> str:
    """One line, with the time."""
    return f"{fact.at:%H:%M:%S} {_words(fact)}"


def _words(fact: Fact) -> str:  # noqa: PLR0912 (one line for each kind)
    match fact:
        case Labelled():
            who = fact.request.labeller.login if fact.request.labeller else "somebody"
            return f"{who} set the label on issue {fact.request.issue_number}; a run begins ({fact.request.run})."
        case AuthorityFound():
            return f"GitHub says that {fact.person.login} has {fact.role_name} permission; asked for: {fact.purpose}."
        case PlanDrafted():
            return f"There is a plan, version {fact.version}, digest {short(fact.digest)}, on {fact.base_commit[:12]}."
        case PlanNotPossible():
            return f"There is no plan: {fact.reason}"
        case SplitProposed():
            return f"It is too much for one plan, and could be cut into {len(fact.split.pieces)}: {fact.split.reason}"
        case InputNeeded():
            return f"The planner asks the issue's author: {fact.question}"
        case Said():
            return f"A comment was written: {fact.slot}."
        case CommandGiven():
            return f"{fact.person.login} commented /{fact.verb}."
        case ThumbSeen():
            return f"{fact.person.login} put a 👍 on the plan."
        case StepKept():
            return f"Step {fact.kept.id} is done and kept."
        case RepairKept():
            return f"Repair {fact.repair.number} is made and kept."
        case AmendmentProposed():
            return f"Step {fact.step} takes more than the plan says; version {fact.version} is on offer: {fact.why}"
        case StepsDone():
            return "Every step is done, and the checks showed what the plan promised. No write token existed so far."
        case ExecutionFailed() | PublishFailed():
            return f"It stopped: {fact.reason}"
        case ExecutionHeld():
            return f"The approved plan is kept and waits: {fact.reason} {fact.remedy}"
        case Stalled():
            return f"It does not go on: {fact.reason} {fact.remedy}".strip()
        case DraftOpened():
            return f"Draft pull request #{fact.pull.number} was opened from {fact.pull.branch}."
        case DraftFound():
            what = f"pull request #{fact.pull.number}" if fact.pull else "no pull request"
            return f"The branch {fact.branch}, with {what}, was found to be left of an earlier attempt."
        case DraftStaged():
            return "What would be written was put together and kept; nothing was written, since the run is staged."
        case _:
            return f"{fact.kind.replace('_', ' ')}."
