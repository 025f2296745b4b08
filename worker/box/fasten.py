"""Becomes another program that ends when its parent ends. Run as a file: `fasten.py PARENT PROGRAM [ARGUMENT...]`.

The wish to die with the parent survives `execve`, so the program itself needs to know nothing of it.
It imports nothing of the product: it runs before the program's own environment is set up.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_NOT_FOUND = 127


def main() -> None:
    """Never returns."""
    parent, *words = sys.argv[1:]
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0) != 0:
        sys.exit("the kernel does not tie this process to its parent")
    if os.getppid() != int(parent):
        sys.exit("the parent process is gone")
    try:
        os.execvp(words[0], words)  # noqa: S606 (no shell is the point)
    except OSError as error:
        sys.stderr.write(f"{words[0]} cannot be started: {error.strerror}\n")
        sys.exit(_NOT_FOUND)


if __name__ == "__main__":
    main()
