"""The command table: what a person can ask for on an issue, who may, and what happens then.

The parser, the help on the issue and the README are made from it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Verb(StrEnum):
    """What a person can ask for on an issue."""

    APPROVE = "approve"
    REVISE = "revise"
    REFRESH = "refresh"
    REJECT = "reject"
    ANSWER = "answer"
    CANCEL = "cancel"
    RETRY = "retry"
    STATUS = "status"
    WHY = "why"
    HELP = "help"


class Behind(StrEnum):
    """What may stand behind a verb."""

    PLAN = "plan"
    """Nothing, the digest of the newest plan, or the numbers of some of its steps."""
    WORDS = "words"
    """Words, to the end of the paragraph."""
    MAYBE_WORDS = "maybe words"
    NOTHING = "nothing"
    WHATEVER = "whatever"
    """It is not read: what the verb does needs no care."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: how it is written, who may, and what happens."""

    verb: Verb
    argument: str
    who: str
    does: str

    @property
    def written(self) -> str:
        """The command with its argument, as somebody would write it."""
        return f"/{self.verb} {self.argument}".rstrip()


BEHIND: dict[Verb, Behind] = {
    Verb.APPROVE: Behind.PLAN,
    Verb.REVISE: Behind.MAYBE_WORDS,
    Verb.REFRESH: Behind.NOTHING,
    Verb.REJECT: Behind.MAYBE_WORDS,
    Verb.ANSWER: Behind.WORDS,
    Verb.CANCEL: Behind.WHATEVER,
    Verb.RETRY: Behind.NOTHING,
    Verb.STATUS: Behind.WHATEVER,
    Verb.WHY: Behind.WHATEVER,
    Verb.HELP: Behind.WHATEVER,
}

COMMANDS: tuple[Entry, ...] = (
    Entry(
        Verb.APPROVE,
        "",
        "who may approve",
        "approves exactly the newest plan; the plan's digest behind it makes sure of which. A 👍 on the plan's comment "
        "does the same",
    ),
    Entry(
        Verb.APPROVE,
        "steps 1,3",
        "who may approve",
        "makes a version with these steps alone, by code, and shows what was dropped; policy says whether that version "
        "is approved with it or waits. Taking the tick off a step in the plan's comment makes one that waits",
    ),
    Entry(Verb.REVISE, "WORDS", "who may revise (or else approve)", "asks the planner for another version"),
    Entry(
        Verb.REFRESH,
        "",
        "who may revise",
        "plans anew on the newest commit and issue text, and shows what differs; a plan that expired comes back so",
    ),
    Entry(
        Verb.REJECT,
        "REASON",
        "who may cancel: whoever may approve or set the label",
        "ends the run with its plan; the reason, if any, is kept and said",
    ),
    Entry(
        Verb.ANSWER,
        "WORDS",
        "the issue's author, and who may revise",
        "answers the planner's question; any comment of the author's does",
    ),
    Entry(Verb.CANCEL, "", "who may cancel", "ends the run at any stage before the pull request or report"),
    Entry(
        Verb.RETRY,
        "",
        "who may approve; for planning alone, who may set the label",
        "tries again what failed: the planning, the work under its standing approval, or the opening of the draft",
    ),
    Entry(Verb.STATUS, "", "anybody", "says where the run stands"),
    Entry(Verb.WHY, "", "anybody", "says who can unblock it and what is missing"),
    Entry(Verb.HELP, "", "anybody", "gives this list"),
)
