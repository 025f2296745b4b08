"""Playing the demo: the maintainer's part by a script, or by the person at the keyboard; and the telling of it."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from app.core.digest import short
from app.core.run import Closed, Proposed, Published
from app.ledger import open_ledger
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from infra.demo.result import memory_of, result_of
from infra.demo.stage import Stage, Wish, clone_bare, set_up
from infra.demo.telling import told

PATIENCE_SECONDS = 900.0


def play(wish: Wish, env: Mapping[str, str], alone: bool) -> int:
    """0 when a draft stands (alone), or when the person ends it; 1 when the run ended without one."""
    with set_up(wish, env, _say) as stage:
        ledger = open_ledger(stage.ledger_url)
        try:
            idle = memory_of(stage.pids())
            _introduce(stage)
            if not alone:
                return _accompany(stage, ledger)
            return _alone(stage, ledger, wish.out, idle)
        finally:
            ledger.close()


def _say(words: str) -> None:
    print(words, flush=True)


def _introduce(stage: Stage) -> None:
    _say(f"Everything runs. Issue {stage.issue} of {stage.repo}: {stage.issue_url}")
    _say(f"What the product recorded: {stage.web_url}/runs")


def _accompany(stage: Stage, ledger: Ledger) -> int:
    _say(
        "Open the issue, choose to act as `maintainer`, set the label `countersign`, read the plan, and approve it "
        "with `/approve` or a 👍. Then read the draft pull request. Ctrl-C ends everything."
    )
    _follow(stage, ledger, lambda view: False, float("inf"))
    return 0


def _alone(stage: Stage, ledger: Ledger, out: Path | None, idle: Mapping[str, int]) -> int:
    _say("The maintainer sets the label `countersign`.")
    stage.control.label(stage.repo, stage.issue, "countersign", "maintainer")
    view = _follow(stage, ledger, _plan_is_posted, PATIENCE_SECONDS)
    if view is not None and isinstance(view.state, Proposed):
        word = f"/approve {short(view.state.proposal.digest)}"
        _say(f"The maintainer reads the plan and comments `{word}`.")
        stage.control.comment(stage.repo, stage.issue, word, "maintainer")
        view = _follow(stage, ledger, lambda one: isinstance(one.state, Published | Closed), PATIENCE_SECONDS)
    _come_to_rest(ledger)
    if view is not None and out is not None:
        _leave(stage, ledger, view, out, idle)
    if view is None or not isinstance(view.state, Published):
        _say("No draft pull request was opened; the lines above say why.")
        return 1
    pull = view.state.pull
    where = f"{stage.control.url}/{stage.repo}/pull/{pull.number}"
    _say(f"Draft pull request #{pull.number} stands on branch {pull.branch}: {where}")
    return 0


def _plan_is_posted(view: RunView) -> bool:
    state = view.state
    return isinstance(state, Closed) or (isinstance(state, Proposed) and state.proposal.comment_id is not None)


def _follow(stage: Stage, ledger: Ledger, over: Callable[[RunView], bool], seconds: float) -> RunView | None:
    """Tells each fact as it is recorded, and tends the processes, until it is over."""
    deadline = time.monotonic() + seconds
    seen: dict[str, int] = _SEEN
    view: RunView | None = None
    while time.monotonic() < deadline:
        stage.household.tend()
        for summary in reversed(ledger.runs(20)):
            view = ledger.run(summary.id)
            assert view is not None
            for one in view.facts[seen.get(view.id, 0) :]:
                _say(f"  {told(one.fact)}")
            seen[view.id] = len(view.facts)
        if view is not None and over(view):
            return view
        time.sleep(0.05)
    _say(f"Nothing more happened within {seconds:.0f} s; the logs are in {stage.folder / 'logs'}.")
    return view


_SEEN: dict[str, int] = {}


def _come_to_rest(ledger: Ledger) -> None:
    deadline = time.monotonic() + 30
    while ledger.debts() and time.monotonic() < deadline:
        time.sleep(0.05)


def _leave(stage: Stage, ledger: Ledger, view: RunView, out: Path, idle: Mapping[str, int]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    # Tokens for watching are given back when no plan waits any more; the next sweep does it.
    deadline = time.monotonic() + 15
    while any(not token["revoked"] for token in stage.control.tokens()) and time.monotonic() < deadline:
        time.sleep(0.1)
    current = ledger.run(view.id) or view
    result = result_of(ledger, current, stage, idle)
    (out / "result.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")
    (out / "journal.json").write_text(json.dumps(stage.control.journal(), indent=1) + "\n", "utf-8")
    clone_bare(f"{stage.control.url}/{stage.repo}.git", out / "repo.git")
    print(f"Left in {out}: result.json, journal.json, repo.git", file=sys.stdout, flush=True)
