"""Starts every process from one thread that lives as long as this process.

The kernel ties "die with your parent" to the *thread* that started the child (sandbox 3.2): a child started
from a thread that ends is killed with it.
"""

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_threads: list[ThreadPoolExecutor] = []


def _forget_threads() -> None:
    # A forked child has no copy of the thread, so it makes its own.
    _threads.clear()


os.register_at_fork(after_in_child=_forget_threads)


def start_kept(make: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """The process that `make` starts, started from the long-lived thread. What `make` raises is raised here."""
    if not _threads:
        _threads.append(ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeper"))
    return _threads[0].submit(make).result()
