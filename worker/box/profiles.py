"""The profiles by which commands run, each in full: its tree, its network, its limits and its time (sandbox 5.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from worker.box.command import Profile
from worker.box.limits import GIB, KIB, MIB, Limits


class Work(StrEnum):
    """What stands at `/work`."""

    READ_ONLY = "the tree, which cannot be written"
    COPY = "a copy of the tree, which is gone afterwards"
    ITSELF = "the tree, which can be written"


class Network(StrEnum):
    """What can be reached from inside."""

    NONE = "nothing"
    LISTED = "hosts that are listed, over TLS"


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a command of a profile runs. No caller, plan or repository changes them."""

    work: Work
    network: Network
    limits: Limits


_CHECKING = Limits(
    wall_seconds=900,
    cpu_seconds=600,
    memory_bytes=2 * GIB,
    processes=512,
    output_kept_bytes=1 * MIB,
    output_killed_bytes=16 * MIB,
    work_bytes=1 * GIB,
    scratch_bytes=512 * MIB,
    file_bytes=256 * MIB,
)
_WRITING = replace(_CHECKING, wall_seconds=300, cpu_seconds=300)
_REPRODUCING = replace(
    _CHECKING,
    wall_seconds=300,
    cpu_seconds=120,
    memory_bytes=1 * GIB,
    processes=128,
    output_killed_bytes=4 * MIB,
    scratch_bytes=256 * MIB,
    file_bytes=64 * MIB,
)
_INSTALLING = replace(_CHECKING, wall_seconds=600, processes=256, scratch_bytes=1 * GIB, file_bytes=512 * MIB)
_READING = Limits(
    wall_seconds=20,
    cpu_seconds=10,
    memory_bytes=256 * MIB,
    processes=32,
    output_kept_bytes=256 * KIB,
    output_killed_bytes=1 * MIB,
    work_bytes=1 * GIB,
    scratch_bytes=64 * MIB,
    file_bytes=64 * MIB,
)

TERMS: Mapping[Profile, Terms] = MappingProxyType(
    {
        Profile.READ: Terms(Work.READ_ONLY, Network.NONE, _READING),
        Profile.REPRO: Terms(Work.COPY, Network.NONE, _REPRODUCING),
        Profile.TEST: Terms(Work.COPY, Network.NONE, _CHECKING),
        Profile.WRITE: Terms(Work.ITSELF, Network.NONE, _WRITING),
        Profile.INSTALL: Terms(Work.COPY, Network.LISTED, _INSTALLING),
    }
)


def limits_of(profile: Profile) -> Limits:
    """The profile's limits."""
    return TERMS[profile].limits
