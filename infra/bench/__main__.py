"""`make bench`: an unattended run, box overhead, a cached environment, landing, a delivery, recovery; as JSON.

Seconds and bytes are of this machine at this hour; the ratios are what can be compared.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from infra.bench.environments import cached_environment
from infra.bench.landing import landing
from infra.bench.receiver import compare
from infra.bench.recovery import recovery
from infra.bench.spawn import spawn_overhead

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


def main() -> int:
    measured = {
        "unattended run": unattended_run(),
        "box": spawn_overhead(SPAWNS),
        "cached environment": cached_environment(ROUNDS),
        "landing": landing(),
        "receiver": compare(ROUNDS),
        "recovery": recovery(),
    }
    print(json.dumps(measured, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
