"""`make bench`: an unattended run, box overhead, a cached environment, and what a delivery costs, as JSON.

Seconds and bytes are of this machine at this hour; the ratios are what can be compared.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from infra.bench.environments import cached_environment
from infra.bench.receiver import compare
from worker.box.box import open_box
from worker.box.command import BoxUnavailable, Command, Profile
from worker.box.tool import run_tool

ROUNDS = 5
SPAWNS = 20


def unattended_run() -> dict[str, Any]:
    """One `make run AUTO=1`, the environment being there: seconds by phase, and memory by process in MB."""
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
        began = time.monotonic()
        words = [sys.executable, "-m", "infra.demo", "--auto", "--out", folder]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        whole = time.monotonic() - began
        result = json.loads((Path(folder) / "result.json").read_text("utf-8"))
    memory = result["memory_kb"]
    return {
        "seconds": round(whole, 1),
        "phases": result["seconds"],
        "idle_mb": {name: round(kb / 1024) for name, kb in memory["idle"].items()},
        "idle_total_mb": round(memory["idle_total"] / 1024),
        "after_total_mb": round(memory["after_total"] / 1024),
    }


def spawn_overhead() -> dict[str, Any]:
    """The box against a plain process, both running `true`, in turn; medians of 20."""
    box = open_box()
    if isinstance(box, BoxUnavailable):
        return {"not measured": str(box)}
    boxed, plain = [], []
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        Path(folder).chmod(0o711)
        for _ in range(SPAWNS):
            began = time.monotonic()
            box.run(tree, Command(("/usr/bin/true",), 10, Profile.READ))
            boxed.append(time.monotonic() - began)
            began = time.monotonic()
            run_tool(["/usr/bin/true"], cwd=tree, environment={}, timeout_seconds=10)
            plain.append(time.monotonic() - began)
    inside, outside = statistics.median(boxed) * 1000, statistics.median(plain) * 1000
    return {"box_ms": round(inside, 1), "plain_ms": round(outside, 1), "ratio": round(inside / outside, 1)}


def main() -> int:
    measured = {
        "unattended run": unattended_run(),
        "box": spawn_overhead(),
        "cached environment": cached_environment(ROUNDS),
        "receiver": compare(ROUNDS),
    }
    print(json.dumps(measured, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
