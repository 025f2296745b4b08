"""Paths that are two in git and one on a disk that tells neither case nor composed letters apart."""

import unicodedata
from collections.abc import Iterable, Mapping

from app.core.paths import shown
from app.core.verdict import Allowed, Refused, Verdict, all_of


def no_twins(paths: Iterable[str], new: Iterable[str]) -> Verdict:
    """Refused where a new path would be the twin of another, of a file or of a folder above it.

    `paths` is every path of the tree, the new ones among them. Twins that stood before are nobody's fault.
    """
    found = twins_of(paths, frozenset(new))
    verdicts = [
        Refused(f"{shown(path)} and {shown(other)} are one and the same where a disk does not tell case apart.")
        for path, other in found.items()
    ]
    return all_of(*verdicts) if verdicts else Allowed()


def twins_of(paths: Iterable[str], new: frozenset[str]) -> Mapping[str, str]:
    """The new paths that have a twin, each with it."""
    places = _places(path for path in paths if path not in new)
    found: dict[str, str] = {}
    for path in sorted(new):
        for place in _above(path):
            there = places.setdefault(_alike(place), {place})
            if place not in there:
                found[path] = min(there)
                break
    return found


def _places(paths: Iterable[str]) -> dict[str, set[str]]:
    """Every file and folder, by what a forgiving disk takes it for."""
    places: dict[str, set[str]] = {}
    seen: set[str] = set()
    for path in paths:
        for place in reversed(_above(path)):
            if place in seen:
                break
            seen.add(place)
            places.setdefault(_alike(place), set()).add(place)
    return places


def _above(path: str) -> list[str]:
    """The folders above a path, the outermost first, and the path itself."""
    ends = [at for at, letter in enumerate(path) if letter == "/"]
    return [*(path[:end] for end in ends), path]


def _alike(place: str) -> str:
    if place.isascii():
        return place.lower()
    composed = unicodedata.normalize("NFC", place)
    return unicodedata.normalize("NFD", composed.casefold())
