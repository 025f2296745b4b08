"""What happened to a run, in a line for each fact, and whose doing it was."""

from dataclasses import dataclass
from datetime import datetime

from app.core import facts as f
from app.core.digest import short
from app.core.issue import GHOST, Person
from app.core.recording import RECORDS, WEB
from app.ledger.outcomes import FactView

PEOPLE = "people"
_BY_PEOPLE = RECORDS[WEB] | {"thumb_seen"}


@dataclass(frozen=True, slots=True)
class Happening:
    """A fact in its place. `by` is a belt, or `people`."""

    seq: int
    at: datetime
    kind: str
    by: str
    words: str
    fact: f.Fact
    delivery: str | None


def happening(view: FactView) -> Happening:
    """The line of this fact."""
    fact = view.fact
    return Happening(view.seq, fact.at, fact.kind, whose(fact.kind), _words(fact), fact, view.delivery)


def whose(kind: str) -> str:
    """Who brings facts of this kind about: people, or the belt that records them."""
    if kind in _BY_PEOPLE:
        return PEOPLE
    belts = [process for process, kinds in RECORDS.items() if kind in kinds]
    return belts[0] if len(belts) == 1 else "belts"


def _words(fact: f.Fact) -> str:
    return _of_people(fact) or _of_belts(fact) or meaning(fact)


def _of_people(fact: f.Fact) -> str:
    match fact:
        case f.Labelled():
            return f"{_name(fact.request.labeller)} set the label {fact.request.label}; this opens the run."
        case f.LabelledAgain() | f.LabelRemoved() | f.IssueChanged() | f.IssueEnded() | f.Answered():
            return f"{meaning(fact)} ({_name(fact.person)})"
        case f.CommandGiven():
            return f"{_name(fact.person)}: /{fact.verb} {fact.argument}".rstrip()
        case f.CommandUnclear():
            return f"{_name(fact.person)} wrote {fact.written}, which may have meant {fact.meant}."
        case f.ThumbSeen():
            return f"{_name(fact.person)} gave the plan a 👍."
        case f.PullRequestEnded():
            return f"{_name(fact.person)} {'merged' if fact.merged else 'closed'} the pull request."
        case f.AuthorityFound():
            role = f" (as {fact.role_name})" if fact.role_name and fact.role_name != fact.permission else ""
            has = f"{_name(fact.person)} has {fact.permission} permission{role}"
            return f"GitHub says that {has}; asked for: {fact.purpose}."
        case _:
            return ""


def _of_belts(fact: f.Fact) -> str:  # noqa: PLR0912 (one line for each kind)
    match fact:
        case f.PlanDrafted():
            return f"Plan version {fact.version} ({short(fact.digest)}) was made on {fact.base_commit[:12]}."
        case f.AmendmentProposed():
            return f"Version {fact.version} ({short(fact.digest)}) is proposed at step {fact.step}: {fact.why}"
        case f.InputNeeded():
            return f"The planner asks: {fact.question}"
        case f.Said():
            version = f" of version {fact.plan_version}" if fact.plan_version else ""
            return f"A comment was written: {fact.slot}{version}."
        case f.StepKept():
            return f"Step {fact.kept.id} is done and verified."
        case f.RepairKept():
            return f"Repair {fact.repair.number} is done."
        case f.DraftOpened():
            return f"Pull request #{fact.pull.number} was opened from {fact.pull.branch}."
        case f.PullRequestRead():
            by_hand = sum(one.by_hand() for one in fact.commits)
            return f"Pull request #{fact.number} ended with {len(fact.commits)} commits, {by_hand} of them by people."
        case f.DraftFound():
            what = f"pull request #{fact.pull.number}" if fact.pull else "no pull request"
            return f"The branch {fact.branch}, with {what}, was found to be left of an earlier attempt."
        case f.DraftStaged():
            return "What would be written was put together and kept; nothing was written, since the run is staged."
        case f.PlanNotPossible() | f.ExecutionFailed() | f.ExecutionHeld() | f.ApprovalVoided() | f.PublishFailed():
            return " ".join(part for part in (fact.reason, fact.remedy) if part)
        case f.Stalled() | f.EffectAbandoned():
            return fact.reason
        case _:
            return ""


def meaning(fact: f.Fact) -> str:
    """What a fact of this kind means: the first line that its class says of itself."""
    return (type(fact).__doc__ or "").partition("\n")[0]


def _name(person: Person | None) -> str:
    return person.login if person else GHOST
