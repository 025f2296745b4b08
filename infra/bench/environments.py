"""A repeated run with a cached environment against the first: the demo's package, its environment and its own tests.

The first prepares into an empty cache, from wherever pip is set up to look; the others find it made.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from infra.demo.fetch_input import InputUnavailable, fetch_input
from infra.demo.reach import box_of_this_machine
from worker.box.box import Box
from worker.box.checks import Ground, command_for, discover
from worker.box.command import BoxUnavailable, Command, Ran
from worker.box.environment import Workshop, registry_variables
from worker.box.preparing import of_this_machine, prepare

TESTS = ("tests/test_filesize.py",)


def cached_environment(rounds: int) -> dict[str, Any]:
    """Seconds of preparing and of preparing with the check, first and repeated (medians), and their ratios."""
    box = box_of_this_machine(os.environ)
    if isinstance(box, BoxUnavailable):
        return {"not measured": str(box)}
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
        # The box's account passes through to the tree and to the environment.
        Path(folder).chmod(0o711)
        try:
            tree = fetch_input(Path(folder))
        except InputUnavailable as reason:
            return {"not measured": str(reason)}
        workshop = Workshop(Path(folder) / "environments", registry_variables(os.environ))
        told = [_once(box, tree, workshop) for _ in range(1 + rounds)]
    refused = [one for one in told if isinstance(one, str)]
    if refused:
        return {"not measured": refused[0]}
    times = [one for one in told if not isinstance(one, str)]
    first, again = times[0], tuple(statistics.median(column) for column in zip(*times[1:], strict=True))
    return {
        "first_s": {"prepare": round(first[0], 2), "prepare and check": round(first[1], 2)},
        "repeated_s": {"prepare": round(again[0], 3), "prepare and check": round(again[1], 2)},
        "ratio": {"prepare": round(first[0] / again[0]), "prepare and check": round(first[1] / again[1], 1)},
    }


def _once(box: Box, tree: Path, workshop: Workshop) -> tuple[float, float] | str:
    """Seconds until it is prepared, and until its check has ended; or what stood in the way."""
    check = next(one for one in discover(tree) if one.needs)
    began = time.monotonic()
    environments = prepare({check.needs}, tree, workshop, of_this_machine(box, workshop, "bench"))
    prepared = time.monotonic() - began
    if not isinstance(environments, tuple):
        return str(environments)
    command = command_for(check, TESTS, Ground(tree, environments=environments))
    if not isinstance(command, Command):
        return str(command)
    ran = box.run(tree, command)
    if not isinstance(ran, Ran) or ran.exit_status != 0:
        return f"the check did not pass: {ran}"
    return prepared, time.monotonic() - began
