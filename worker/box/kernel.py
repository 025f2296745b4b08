"""How this process stands to those above and below it."""

import ctypes
import os
import signal
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def become_reaper() -> None:
    """Orphans below this process become its children.

    So the box can reap the first process of a namespace whose maker ended before it: its use of the processor
    is counted, and no zombie stays in a container whose first process does not reap.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def reap_group(group: int) -> None:
    """Orphans of an ended group that became children of this process are reaped."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-group, 0)


def die_with_parent(parent: int) -> None:
    """This process gets SIGTERM when the thread that started it ends. Raises SystemExit if `parent` is gone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit("the parent process is gone")
