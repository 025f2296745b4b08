"""What the box adds to the start of a command: `true` by itself, and in three profiles, in turn, in one process.

`python -m infra.bench.spawn [ROUNDS]`
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker.box.box import open_box
from worker.box.command import BoxUnavailable, Command, Profile, Ran
from worker.box.egress.rules import Host
from worker.box.tool import run_tool

SPAWNS = 20
_TRUE = "/usr/bin/true"
_NOBODY = Host("registry.example.test")


def spawn_overhead(rounds: int) -> dict[str, Any]:
    """Medians and minima in milliseconds, and what the medians are to that of a plain process."""
    box = open_box()
    if isinstance(box, BoxUnavailable):
        return {"not measured": str(box)}
    with tempfile.TemporaryDirectory(prefix="countersign-bench-", dir="/var/tmp") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        Path(folder).chmod(0o711)
        (tree / "file").write_text("a file\n")

        def boxed(command: Command) -> None:
            ran = box.run(tree, command)
            if not isinstance(ran, Ran) or ran.exit_status != 0:
                raise RuntimeError(str(ran))

        ways: dict[str, Callable[[], object]] = {
            "plain": lambda: run_tool([_TRUE], cwd=tree, environment={}, timeout_seconds=10),
            "read": lambda: boxed(Command((_TRUE,), 10, Profile.READ)),
            "copy": lambda: boxed(Command((_TRUE,), 10, Profile.TEST)),
            "proxy": lambda: boxed(Command((_TRUE,), 10, Profile.INSTALL, hosts=frozenset({_NOBODY}))),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                began = time.monotonic()
                way()
                took[name].append((time.monotonic() - began) * 1000)
    median = {name: statistics.median(times) for name, times in took.items()}
    return {
        "median_ms": {name: round(one, 1) for name, one in median.items()},
        "least_ms": {name: round(min(times), 1) for name, times in took.items()},
        "ratio": {name: round(one / median["plain"], 1) for name, one in median.items()},
        "limits": "soft" if box.softly else "hard",
    }


if __name__ == "__main__":
    print(json.dumps(spawn_overhead(int(sys.argv[1]) if sys.argv[1:] else SPAWNS), indent=2))
