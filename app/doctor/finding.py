"""What the doctor looks at and what it found: a check is a small named thing, and a finding says what to type.

A check is handed the settings that one process may hold and no others. One that needs another which failed is not
made: it is told as not looked at, never as well.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.redact import redact
from app.settings import SettingsWrong

MACHINE = "machine"
"""Who has no settings of their own: such a check sees the names of all, and is handed what is no secret."""

_LOG = logging.getLogger("countersign.doctor")


class Standing(StrEnum):
    """How a thing stands."""

    WELL = "well"
    WORTH_KNOWING = "worth knowing"
    FAULT = "fault"
    NOT_LOOKED_AT = "not looked at"
    """It could not be looked at; the finding says why."""
    ELSEWHERE = "elsewhere"
    """It is another machine's, or there is none here; nobody misses it."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: what is so; and for what is not well, why it matters and what to type."""

    standing: Standing
    what: str
    why: str = ""
    do: str = ""


def well(what: str) -> Found:
    """It is as it has to be."""
    return Found(Standing.WELL, what)


def fault(what: str, why: str, do: str) -> Found:
    """Something that has to be mended."""
    return Found(Standing.FAULT, what, why, do)


def worth_knowing(what: str, why: str, do: str = "") -> Found:
    """Nothing is broken by it."""
    return Found(Standing.WORTH_KNOWING, what, why, do)


def unseen(why: str, do: str = "") -> Found:
    """It could not be looked at."""
    return Found(Standing.NOT_LOOKED_AT, f"not looked at: {why}", "", do)


def elsewhere(what: str) -> Found:
    """There is nothing of it to look at here."""
    return Found(Standing.ELSEWHERE, what)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a check is handed: the settings that its process may hold, and what checks before it left for it."""

    of: str
    env: Mapping[str, str] = field(repr=False)
    left: dict[str, object] = field(default_factory=dict, repr=False)
    """By name; a check leaves what it had to fetch, so that others need not fetch it again."""


@dataclass(frozen=True, slots=True)
class Check:
    """A named look at one thing. `of`: the process whose settings it reads. `needs`: checks that have to be well."""

    name: str
    of: str
    look: Callable[[Scene], Iterable[Found]]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A finding and the check that made it."""

    check: str
    found: Found


def examine(
    checks: Iterable[Check], hold: Callable[[str], Mapping[str, str] | None], left: dict[str, object] | None = None
) -> Iterator[Told]:
    """Each check in its turn, told as it is made. `hold` gives what a process may hold, None for one that is not of
    this machine."""
    stood: dict[str, Standing] = {}
    shared: dict[str, object] = {} if left is None else left
    for check in checks:
        found = _looked(check, hold, stood, shared)
        stood[check.name] = worst(one.standing for one in found)
        for one in found:
            yield Told(check.name, Found(one.standing, redact(one.what), redact(one.why), redact(one.do)))


def chosen(checks: Iterable[Check], names: Iterable[str]) -> list[Check]:
    """The checks whose names begin so, and all that they need, in their order; every check where no name is given."""
    every, begins = list(checks), tuple(names)
    if not begins:
        return every
    wanted = {check.name for check in every if check.name.startswith(begins)}
    for check in reversed(every):
        wanted |= set(check.needs) if check.name in wanted else set()
    return [check for check in every if check.name in wanted]


def worst(standings: Iterable[Standing]) -> Standing:
    """The one that counts for those who need the check."""
    order = (Standing.FAULT, Standing.NOT_LOOKED_AT, Standing.ELSEWHERE, Standing.WORTH_KNOWING, Standing.WELL)
    there = set(standings)
    return next((one for one in order if one in there), Standing.NOT_LOOKED_AT)


def _looked(
    check: Check,
    hold: Callable[[str], Mapping[str, str] | None],
    stood: Mapping[str, Standing],
    left: dict[str, object],
) -> list[Found]:
    held = hold(check.of)
    if held is None:
        return [elsewhere(f"of the {check.of}, which is not of this machine: look there")]
    needed = {name: stood.get(name, Standing.NOT_LOOKED_AT) for name in check.needs}
    away = [name for name, standing in needed.items() if standing is Standing.ELSEWHERE]
    broken = [name for name, standing in needed.items() if standing in (Standing.FAULT, Standing.NOT_LOOKED_AT)]
    if broken:
        return [unseen(f"it needs that {_named(broken)} is well")]
    if away:
        return [elsewhere(f"it belongs to {_named(away)}")]
    try:
        return list(check.look(Scene(check.of, held, left))) or [unseen("the check said nothing")]
    except SettingsWrong as wrong:
        return [fault(str(wrong), "The process that reads this setting does not start.", f"Mend {wrong.name}.")]
    except Exception as problem:
        _LOG.exception("the check %s failed", check.name)
        return [unseen(f"the check itself failed with {type(problem).__name__}; the log says more")]


def _named(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def exit_code(told: Iterable[Told]) -> int:
    """0 where nothing is at fault and all was looked at, 1 for faults, 2 where something could not be looked at."""
    there = {one.found.standing for one in told}
    if Standing.FAULT in there:
        return 1
    return 2 if Standing.NOT_LOOKED_AT in there or not there else 0
