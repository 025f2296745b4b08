"""How much a command may use, and how the kernel is told (sandbox 5.6)."""

import resource
import subprocess
from dataclasses import dataclass

from worker.box.account import Account, BoxAccount

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

SHARED_MEMORY_BYTES = 64 * MIB
OPEN_FILES = 4096
LOCKED_BYTES = 64 * KIB
CORE_BYTES = 1
"""The kernel's special value: no dump, not even into a program named by core_pattern (sandbox 2)."""

_PRLIMIT = "/usr/bin/prlimit"
_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; bytes and seconds. `processes` counts threads too.

    `trail_kept_bytes` is what is held of what a command says on its trail (see `Command`).
    """

    wall_seconds: float
    cpu_seconds: int
    memory_bytes: int
    processes: int
    output_kept_bytes: int
    output_killed_bytes: int
    work_bytes: int
    scratch_bytes: int
    file_bytes: int
    trail_kept_bytes: int = 1 * MIB


def lay_on(process: int, limits: Limits, account: Account) -> None:
    """The process, and what it starts, is bounded by the kernel.

    To be called on the first process inside, while it is held back: a count of processes set before the user
    namespace exists would count every process of that account on the machine (sandbox 3.2).
    Raises OSError or subprocess.SubprocessError when the kernel refuses.
    """
    bounds = {
        "core": (resource.RLIMIT_CORE, CORE_BYTES),
        "cpu": (resource.RLIMIT_CPU, limits.cpu_seconds),
        "data": (resource.RLIMIT_DATA, limits.memory_bytes),
        "fsize": (resource.RLIMIT_FSIZE, limits.file_bytes),
        "memlock": (resource.RLIMIT_MEMLOCK, LOCKED_BYTES),
        "msgqueue": (resource.RLIMIT_MSGQUEUE, 0),
        "nofile": (resource.RLIMIT_NOFILE, OPEN_FILES),
        "nproc": (resource.RLIMIT_NPROC, limits.processes),
    }
    lowered = {name: (kind, _lowered(kind, value)) for name, (kind, value) in bounds.items()}
    if not isinstance(account, BoxAccount):
        for kind, value in lowered.values():
            resource.prlimit(process, kind, (value, value))
        return
    # Root in a container often lacks the right to bound another account's process; that account has it.
    words = [f"--{name}={value}:{value}" for name, (_, value) in lowered.items()]
    subprocess.run(
        [_PRLIMIT, "--pid", str(process), *words],
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=_SECONDS,
        user=account.uid,
        group=account.gid,
        extra_groups=[],
    )


def _lowered(kind: int, value: int) -> int:
    # The child has inherited our bounds and nobody there may raise them.
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
