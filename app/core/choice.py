"""Which version of a template a run gets: what the repository asks for, within what the operator allows."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.core.verdict import Refused

_ASKED = re.compile(r"([a-z0-9][a-z0-9-]{0,63})(?:@(\d+\.\d+\.\d+))?")
_RULED = re.compile(r"([a-z0-9][a-z0-9-]{0,63})(@|<=)(\d+\.\d+\.\d+)")
_SHARED = re.compile(r"([a-z0-9][a-z0-9-]{0,63})@(\d+\.\d+\.\d+):(\d{1,3})%?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that gets this share of the runs, in percent, while another one is current."""

    version: str
    percent: int


@dataclass(frozen=True, slots=True)
class VersionRules:
    """What the operator says of versions, by template: the only one, the highest one, and candidates."""

    pins: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, Candidate] = field(default_factory=dict)


class Why(StrEnum):
    """How a version came to be chosen."""

    CURRENT = "current"
    CANDIDATE = "candidate"
    PINNED = "pinned by the repository"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A template in a version."""

    name: str
    version: str
    why: Why


def choose(asked: str, run: str, known: Mapping[str, tuple[str, ...]], rules: VersionRules) -> Chosen | Refused:
    """The version for this run: always the same for the same run, rules and versions.

    A repository's own pin is met exactly or refused. Without one a candidate gets its share; the rest, by a number
    made of the run's id, get the current version.
    """
    match = _ASKED.fullmatch(asked)
    name, pin = (match[1], match[2]) if match else ("", None)
    if name not in known:
        return Refused(f"There is no template `{asked}`. There are: {', '.join(known)}.")
    if pin is not None:
        return _pinned(name, pin, known[name], rules)
    candidate = rules.candidates.get(name)
    if candidate is not None and candidate.version in known[name] and _percentile(run, name) < candidate.percent:
        return Chosen(name, candidate.version, Why.CANDIDATE)
    current = current_version(name, known[name], rules)
    return current if isinstance(current, Refused) else Chosen(name, current, Why.CURRENT)


def current_version(name: str, versions: tuple[str, ...], rules: VersionRules) -> str | Refused:
    """The newest version that the operator allows and that is no candidate."""
    candidate = rules.candidates.get(name)
    for version in reversed(versions):
        is_candidate = candidate is not None and candidate.version == version and rules.pins.get(name) != version
        if is_allowed(name, version, rules) and not is_candidate:
            return version
    return Refused(f"The operator's settings allow no version of the template `{name}` that is here.")


def is_allowed(name: str, version: str, rules: VersionRules) -> bool:
    """Whether the operator's pins and bounds admit this version."""
    within = name not in rules.bounds or _numbers(version) <= _numbers(rules.bounds[name])
    return within and rules.pins.get(name, version) == version


def read_rules(versions: str, candidates: str) -> VersionRules | Refused:
    """From the operator's two settings: `bugfix@1.0.0, docs<=1.2.0`, and `bugfix@1.1.0:20%`."""
    pins: dict[str, str] = {}
    bounds: dict[str, str] = {}
    for word in _words(versions):
        ruled = _RULED.fullmatch(word)
        if ruled is None:
            return Refused(f"{word!r} is not `NAME@1.2.3` or `NAME<=1.2.3`.")
        (pins if ruled[2] == "@" else bounds)[ruled[1]] = ruled[3]
    shares: dict[str, Candidate] = {}
    for word in _words(candidates):
        shared = _SHARED.fullmatch(word)
        if shared is None or not 0 <= int(shared[3]) <= 100:
            return Refused(f"{word!r} is not `NAME@1.2.3:20%`.")
        shares[shared[1]] = Candidate(shared[2], int(shared[3]))
    return VersionRules(pins, bounds, shares)


def ordered(versions: Iterable[str]) -> tuple[str, ...]:
    """Versions in rising order, by their numbers."""
    return tuple(sorted(versions, key=_numbers))


def _pinned(name: str, pin: str, versions: tuple[str, ...], rules: VersionRules) -> Chosen | Refused:
    if pin not in versions:
        return Refused(f"There is no version {pin} of the template `{name}`. There are: {', '.join(versions)}.")
    if not is_allowed(name, pin, rules):
        allowed = [version for version in versions if is_allowed(name, version, rules)]
        words = f"There may be used: {', '.join(allowed)}." if allowed else ""
        return Refused(f"The operator's settings do not allow version {pin} of the template `{name}`.", words)
    return Chosen(name, pin, Why.PINNED)


def _percentile(run: str, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{name}:{run}".encode()).digest()[:8], "big") % 100


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]
