"""Control groups of version 2: the kernel bounds memory and processes of a whole run, where a subtree is handed to us.

Without one a run is bounded process by process and by looking (`limits="soft"`); which of the two it is, is told.
"""

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from worker.box.limits import Limits

_NEEDED = ("memory", "pids")
_LEAF = "countersign-worker"
_LOG = logging.getLogger("countersign.box")
_HOW = (
    "For hard limits hand a subtree to the worker: `Delegate=yes` in its systemd unit, or an empty group of its own in "
    "COUNTERSIGN_BOX_CGROUP."
)


@dataclass(frozen=True, slots=True)
class NoGroups:
    """Why limits are soft here, and what would make them hard."""

    reason: str
    remedy: str = _HOW


@dataclass(frozen=True, slots=True)
class Group:
    """The group of one run."""

    place: Path

    def take(self, process: int) -> None:
        """The process, and what it starts, is bounded together. Raises OSError when it is not in the group."""
        _write(self.place / "cgroup.procs", str(process))
        if str(process) not in (self.place / "cgroup.procs").read_text().split():
            raise OSError(f"process {process} did not enter its control group")

    def out_of_memory(self) -> bool:
        """Whether the kernel ended something in it for want of memory."""
        return _counted(self.place / "memory.events", "oom_kill") > 0

    def out_of_processes(self) -> bool:
        """Whether a process or thread more was refused."""
        return _counted(self.place / "pids.events", "max") > 0

    def peak_bytes(self) -> int | None:
        """The most memory that it ever held; None where the kernel does not count that."""
        with suppress(OSError, ValueError):
            return int((self.place / "memory.peak").read_text())
        return None

    def kill(self) -> None:
        """Everything in it is being ended, where the kernel knows how to."""
        with suppress(OSError):
            _write(self.place / "cgroup.kill", "1")

    def remove(self) -> None:
        """To be called when every process is dead. A group that stays is an alarm."""
        try:
            self.place.rmdir()
        except OSError as error:
            _LOG.error("the control group %s of a run that is over stays: %s", self.place.name, error.strerror)


@dataclass(frozen=True, slots=True)
class Groups:
    """A subtree in which groups for runs can be made."""

    place: Path

    def one(self, limits: Limits) -> Group:
        """A new group with the limits on it, as the kernel tells them back. Raises OSError."""
        group = Group(self.place / f"run-{secrets.token_hex(8)}")
        group.place.mkdir()
        try:
            # Swap would make the limit one of speed alone; a kernel without swap has no such file.
            with suppress(OSError):
                _write(group.place / "memory.swap.max", "0")
            _set(group.place / "memory.max", limits.memory_bytes)
            _set(group.place / "memory.oom.group", 1)
            _set(group.place / "pids.max", limits.processes)
        except OSError:
            group.remove()
            raise
        return group


def open_groups(named: Path | None, own: Path = Path("/proc/self")) -> Groups | NoGroups:
    """The subtree that the operator names, or this process's own group where it belongs to its account.

    Processes in it move into a leaf, since a group that hands on controllers may hold none. `own` is where the kernel
    tells of this process.
    """
    place = named or _own_group(own)
    if place is None:
        return NoGroups("This machine shows no control groups of version 2.")
    try:
        if not _is_group(place, own):
            return NoGroups(f"{place} is no control group of version 2.")
        if named is None and (os.geteuid() == 0 or place.stat().st_uid != os.geteuid()):
            return NoGroups("The control group of this process is not handed to its account.")
        missing = set(_NEEDED) - set((place / "cgroup.controllers").read_text().split())
        if missing:
            return NoGroups(f"The control group of this process may not bound {' and '.join(sorted(missing))}.")
        _empty(place)
        _write(place / "cgroup.subtree_control", " ".join(f"+{name}" for name in _NEEDED))
        missing = set(_NEEDED) - set((place / "cgroup.subtree_control").read_text().replace("+", " ").split())
    except OSError as error:
        return NoGroups(f"The control group of this process cannot be used: {error.strerror or error}.")
    return NoGroups("The kernel did not hand on the controllers.") if missing else Groups(place)


def _own_group(own: Path) -> Path | None:
    mount = next(_mounts(own), None)
    for line in (own / "cgroup").read_text().splitlines():
        if line.startswith("0::") and mount is not None:
            return mount / line.removeprefix("0::/")
    return None


def _mounts(own: Path) -> Iterator[Path]:
    """Where control groups of version 2 are mounted: the fifth word, before the dash and the kind."""
    for line in (own / "mountinfo").read_text().splitlines():
        words, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 "):
            yield Path(words.split()[4])


def _is_group(place: Path, own: Path) -> bool:
    return any(place.is_relative_to(mount) for mount in _mounts(own))


def _empty(place: Path) -> None:
    processes = (place / "cgroup.procs").read_text().split()
    if not processes:
        return
    leaf = place / _LEAF
    leaf.mkdir(exist_ok=True)
    for process in processes:
        # One that ended meanwhile is gone from the group as well.
        with suppress(ProcessLookupError):
            _write(leaf / "cgroup.procs", process)


def _set(file: Path, value: int) -> None:
    _write(file, str(value))
    if file.read_text().strip() != str(value):
        raise OSError(f"{file.name} does not say what was written to it")


def _write(file: Path, text: str) -> None:
    with file.open("w") as opened:
        opened.write(text)


def _counted(file: Path, name: str) -> int:
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0
