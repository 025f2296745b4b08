"""Looks at a namespace from outside: how many processes, how much memory, how much processor time."""

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Survey:
    """`resident_bytes` counts a shared page once for every process that has it; `threads` is all of them."""

    processes: tuple[int, ...]
    threads: int
    resident_bytes: int
    cpu_seconds: float


def survey(first: int) -> Survey:
    """What `first` and everything below it use now. Processes that end meanwhile are left out."""
    processes: list[int] = []
    threads = resident = 0
    cpu = 0.0
    waiting = [first]
    while waiting:
        process = waiting.pop()
        try:
            fields = _stat(process)
            tasks = os.listdir(f"/proc/{process}/task")
            for task in tasks:
                waiting += map(int, Path(f"/proc/{process}/task/{task}/children").read_text().split())
        except (OSError, ValueError, IndexError):
            continue
        processes.append(process)
        threads += len(tasks)
        resident += int(fields[21]) * _PAGE
        # Own time, and that of children that were waited for.
        cpu += sum(int(fields[position]) for position in (11, 12, 13, 14)) / _TICKS
    return Survey(tuple(processes), threads, resident, cpu)


def proportional_bytes(processes: tuple[int, ...]) -> int:
    """Memory of the processes together, in which a page shared by N of them counts once. Slower than a survey."""
    total = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def tree_bytes(root: int) -> int:
    """Bytes that the files below the directory descriptor occupy; links are not followed."""
    total = 0
    for _, _, names, directory in os.fwalk(".", dir_fd=root, follow_symlinks=False):
        for name in names:
            try:
                total += os.stat(name, dir_fd=directory, follow_symlinks=False).st_blocks * 512
            except OSError:
                continue
    return total


def _stat(process: int) -> list[str]:
    # The name may hold blanks and brackets, so the fields are counted from the last bracket.
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
