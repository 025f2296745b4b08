"""A verdict: a thing is allowed, or refused with a reason. Nothing is allowed by absence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allowed:
    """The gate looked at evidence and says yes."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The gate says no.

    `reason` is one plain sentence for a person; `remedy`, when there is one, says what to do next.
    """

    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}".strip()


Verdict = Allowed | Refused


def all_of(*verdicts: Verdict) -> Verdict:
    """The first refusal, or `Allowed` when every verdict is; no verdict at all is a refusal."""
    if not verdicts:
        return Refused("Nothing was checked, so nothing is allowed.")
    for verdict in verdicts:
        if isinstance(verdict, Refused):
            return verdict
    return Allowed()
