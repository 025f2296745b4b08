"""Ends what a killed supervisor may have left: a namespace whose command was never started.

bubblewrap's inner process is tied to the outer one late, and waits for it without end. When a supervisor is
killed within that millisecond an idle process stays.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

from worker.box.account import Account
from worker.box.command import Profile
from worker.box.mounts import first_step


def end_orphans(account: Account) -> int:
    """How many first processes of a namespace were ended because their own bubblewrap is gone.

    Only processes of the box's account whose arguments are exactly those of a run are looked at.
    """
    ours = {int(entry) for entry in filter(str.isdigit, os.listdir("/proc")) if _is_run(int(entry), account)}
    ended = 0
    for process in ours:
        with suppress(OSError, IndexError, ValueError):
            handle = os.pidfd_open(process)
            try:
                # The outer bubblewrap's parent is no run either; it is told apart by its namespace.
                if _is_run(process, account) and _is_first(process) and _parent(process) not in ours:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    ended += 1
            finally:
                os.close(handle)
    return ended


def _is_run(process: int, account: Account) -> bool:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        owner = os.stat(f"/proc/{process}").st_uid
    except OSError:
        return False
    return owner == account.uid and b"--args" in words and any(step in words for step in _STEPS)


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _is_first(process: int) -> bool:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) > 1 and numbers[-1] == "1"
    return False


_STEPS = {first_step(profile).encode() for profile in Profile}
