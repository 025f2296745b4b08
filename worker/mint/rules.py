"""The mint's rules: a pure look at the ledger's rows before any token is cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.core.belts import REACH, WATCH, Belt, EffectKind, Needs, Reach, belt_of
from app.core.effects import Effect
from app.core.guarded import touches_workflows
from app.core.owed import still_owed
from app.core.run import Grant, State, grant_of
from app.core.verdict import Allowed, Refused, Verdict


@dataclass(frozen=True, slots=True)
class OwedRow:
    """What the ledger says of one effect."""

    effect: Effect
    settled: bool
    fence: int
    lease_until: datetime | None


@dataclass(frozen=True, slots=True)
class Ruling:
    """A token may be cut; with a `grant`, only after GitHub was asked again."""

    reach: Reach
    grant: Grant | None


def rule(belt: Belt, fence: int, row: OwedRow | None, state: State, now: datetime) -> Ruling | Refused:
    """Allowed for the belt that holds the effect's claim now, while the run still needs it.

    In this order: the effect is there, is this belt's, is not settled, is claimed by this fence, in time, still
    owed, and, where the table says so, backed by a live Grant.
    """
    if row is None:
        return Refused("There is no such effect.")
    kind = row.effect.kind
    if belt_of(kind) is not belt:
        return Refused(f"A {kind} is not the {belt}'s to do.")
    if row.settled:
        return Refused("The effect is settled already.")
    if row.fence != fence or row.lease_until is None or row.lease_until <= now:
        return Refused("The effect is not claimed by the one who asks.")
    owed = still_owed(row.effect, state)
    if isinstance(owed, Refused):
        return owed
    reach = REACH[kind]
    if reach.needs is Needs.OWED:
        return Ruling(reach, None)
    grant = grant_of(state, now)
    if grant is None:
        return Refused("There is no live approval, so nothing may be written or executed.")
    if touches_workflows(grant.proposal.paths or ()):
        reach = replace(reach, permissions={**reach.permissions, **reach.with_workflows})
    return Ruling(reach, grant)


def may_change_workflows(installed: dict[str, str]) -> Verdict:
    """Allowed where this installation lets the App write workflow files (github-facts 66). Asked before a plan that
    touches some is carried out, so that nothing is made in vain."""
    if installed.get("workflows") == "write":
        return Allowed()
    return Refused(
        "The plan touches workflow files, and the App may not write those here.",
        "Give the App the permission `workflows: write` and accept it for this installation; then approve again.",
    )


def lacking(asked: Mapping[str, str], installed: Mapping[str, str]) -> tuple[str, ...]:
    """What of this the installation does not grant, each as `contents: write`. Reading metadata is always granted."""
    held = {"metadata": "read"} | dict(installed)
    return tuple(f"{name}: {level}" for name, level in asked.items() if held.get(name) not in _AT_LEAST[level])


def may_publish(installed: Mapping[str, str]) -> Verdict:
    """Allowed where this installation lets the App write what an approved plan leads to. Asked before the plan is
    carried out, so that nothing is made and paid for in vain (github-facts 67)."""
    missing = lacking(REACH[EffectKind.OPEN_DRAFT].permissions, installed)
    if not missing:
        return Allowed()
    return Refused("What comes of the plan could not be published: the App lacks a permission here.", _grant(missing))


def not_granted(missing: Sequence[str]) -> Refused:
    """A token was refused for want of these permissions."""
    return Refused(f"The App is not permitted this here: it lacks {' and '.join(missing)}.", _grant(missing))


def _grant(missing: Sequence[str]) -> str:
    names = " and ".join(f"`{one}`" for one in missing)
    return f"Give the App {names} and accept that for this installation; then ask again."


_AT_LEAST: Mapping[str, tuple[str, ...]] = {"read": ("read", "write", "admin"), "write": ("write", "admin")}


def permissions(reach: Reach, installed: dict[str, str]) -> dict[str, str]:
    """What to ask for: what the effect needs, and of its optional reading what this installation has granted."""
    optional = {**reach.where_granted, **reach.where_added}
    extra = {name: level for name, level in optional.items() if name in installed}
    return {**extra, **reach.permissions}


def watch_reach(belt: Belt) -> Reach | Refused:
    """Only the publisher watches reactions."""
    return WATCH if belt is WATCH.belt else Refused(f"Watching reactions is not the {belt}'s to do.")
