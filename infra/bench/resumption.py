"""From a worker's death to the resumption of its work: a belt is killed in the middle of its work, as by the kernel.

The demo's input, its scripted model and the product's own processes with their usual settings; seconds from the kill
to the claim that follows, and to the plan's comment or the draft. `python -m infra.bench.resumption` prints JSON.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from app.core.belts import Belt
from app.core.digest import short
from app.core.run import Proposed, Published
from app.ledger import open_ledger
from app.ledger.outcomes import DebtView
from app.ledger.store import Ledger
from infra.demo.stage import Stage, Wish, set_up

PATIENCE = 300.0


def resumption() -> dict[str, Any]:
    """For the planner and the executor: seconds until the work is claimed again, and until its result is told."""
    with set_up(Wish(), os.environ, lambda words: None) as stage:
        ledger = open_ledger(stage.ledger_url)
        try:
            stage.control.label(stage.repo, stage.issue, "countersign", "maintainer")
            planned = _killed(stage, ledger, Belt.PLANNER, lambda: _offered(ledger))
            stage.control.comment(stage.repo, stage.issue, f"/approve {_offered(ledger)}", "maintainer")
            carried_out = _killed(stage, ledger, Belt.EXECUTOR, lambda: isinstance(_state(ledger), Published))
        finally:
            ledger.close()
    return {"planner": planned, "executor": carried_out}


def _killed(stage: Stage, ledger: Ledger, belt: Belt, told: Callable[[], object]) -> dict[str, float]:
    _until(stage, lambda: any(one.lease_until for one in _owed(ledger, belt)))
    os.kill(stage.pids()[belt.value], signal.SIGKILL)
    died = time.monotonic()
    _until(stage, lambda: any(one.attempts > 1 for one in _owed(ledger, belt)))
    claimed = time.monotonic() - died
    _until(stage, told)
    return {"claimed again": round(claimed, 1), "told": round(time.monotonic() - died, 1)}


def _owed(ledger: Ledger, belt: Belt) -> list[DebtView]:
    return [one for one in ledger.debts() if one.belt is belt]


def _state(ledger: Ledger) -> object:
    view = ledger.run(ledger.runs()[0].id)
    return view and view.state


def _offered(ledger: Ledger) -> str:
    state = _state(ledger)
    shown = isinstance(state, Proposed) and state.proposal.comment_id is not None
    return short(state.proposal.digest) if isinstance(state, Proposed) and shown else ""


def _until(stage: Stage, so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not so():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to that")
        stage.household.tend()
        time.sleep(0.02)


if __name__ == "__main__":
    print(json.dumps(resumption(), indent=2))
