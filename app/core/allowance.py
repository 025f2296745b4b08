"""The allowance of a run: how many attempts at its work may fail before a person has to say that it goes on. Pure.

Each effect has a bound of its own, where it is done. This one is the run's: whatever renews its work, a run whose work
fails again and again comes to an end. Only the word of a person who may brings it a new allowance, by having work owed:
an approval, a wish for another version, `/refresh`, `/retry`. Nothing that a machine does, nor an answer, renews it.
"""

from collections.abc import Sequence
from datetime import datetime

from app.core.belts import EffectKind
from app.core.effects import DraftPlan, Effect, Execute, OpenDraft, ReportSaying, Say, StageDraft
from app.core.facts import AuthorityFound, EffectAbandoned, Fact, Stalled
from app.core.run import StallCode, State

MOST_FAILED = 60
"""Attempts of a run that may fail: twelve effects, each given up after its five attempts."""

_OF_OTHERS = frozenset({EffectKind.LOOK_UP_AUTHORITY, EffectKind.REACT})
"""What hangs on words that anybody may write and take back: nobody ends a run by that."""

_REPLY = "reply:"
"""With this begin the keys of replies, which anybody's words call forth as well."""


def counted(before: int, fact: Fact, owed: Sequence[Effect]) -> int:
    """How many attempts failed since a person last said that the work goes on, once this fact counts too."""
    if isinstance(fact, AuthorityFound) and any(map(_is_work, owed)):
        return 0
    if isinstance(fact, EffectAbandoned) and fact.effect not in _OF_OTHERS and not fact.key.startswith(_REPLY):
        return before + fact.tried
    return before


def beyond(state: State, waits_for: str, now: datetime) -> Stalled | None:
    """The end of a run that waits for work of ours after too many failed attempts; None while there is room."""
    if not waits_for or state.failed < MOST_FAILED:
        return None
    reason = f"Attempts at this run's work failed {state.failed} times since a person last said that it goes on."
    remedy = f"Mend what failed first; the word of a person who may then gives the run {MOST_FAILED} attempts more."
    return Stalled(at=now, key=waits_for, code=StallCode.ATTEMPTS, reason=reason, remedy=remedy, over=True)


def told(state: State) -> str:
    """How much of the allowance is used, in a line; empty where nothing failed."""
    return f"{state.failed} of {MOST_FAILED} attempts that may fail" if state.failed else ""


def _is_work(effect: Effect) -> bool:
    report = isinstance(effect, Say) and isinstance(effect.saying, ReportSaying)
    return report or isinstance(effect, DraftPlan | Execute | OpenDraft | StageDraft)
