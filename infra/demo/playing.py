"""Playing the demo: the maintainer's part by a script, or by the person at the keyboard; and the telling of it."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.core.digest import short
from app.core.run import Closed, Proposed, Published
from app.ledger import open_ledger
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.web.links import new_link
from infra.demo.result import memory_of, result_of
from infra.demo.stage import DemoRefused, Stage, Wish, clone_bare, set_up
from infra.demo.telling import told

PATIENCE_SECONDS = 900.0


def play(wish: Wish, env: Mapping[str, str], alone: bool) -> int:
    """0 when a draft stands (alone), or when the person ends it; 1 when the run ended without one."""
    if wish.out is not None:
        _make_room(wish.out)
    with set_up(wish, env, say) as stage:
        ledger = open_ledger(stage.ledger_url)
        try:
            idle = memory_of(stage.pids())
            _introduce(stage)
            teller = Teller(stage, ledger)
            return _alone(teller, wish.out, idle) if alone else _accompany(teller)
        finally:
            ledger.close()


def say(words: str) -> None:
    print(words, flush=True)


@dataclass
class Teller:
    """Tells each fact as it is recorded, and tends the processes meanwhile. `watch` sees the run each time."""

    stage: Stage
    ledger: Ledger
    say: Callable[[str], None] = say
    watch: Callable[[RunView], None] = lambda view: None
    _seen: dict[str, int] = field(default_factory=dict)

    def follow(self, over: Callable[[RunView], bool], seconds: float) -> RunView | None:
        """The newest run once it is over in the sense asked for, or as it stands after that time."""
        deadline = time.monotonic() + seconds
        view: RunView | None = None
        while time.monotonic() < deadline:
            self.stage.household.tend()
            view = self._news()
            if view is not None and over(view):
                return view
            if view is not None:
                self.watch(view)
            time.sleep(0.05)
        self.say(f"Nothing more happened within {seconds:.0f} s.")
        return view

    def rest(self, seconds: float) -> None:
        """Nothing is owed and no token lives any more; or that time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.stage.household.tend()
            # Tokens for watching are given back when no plan waits any more; the next sweep does it.
            if not self.ledger.debts() and all(token["revoked"] for token in self.stage.control.tokens()):
                return
            time.sleep(0.05)

    def _news(self) -> RunView | None:
        newest: RunView | None = None
        for summary in self.ledger.runs(20):
            view = self.ledger.run(summary.id)
            if view is None:
                continue
            for one in view.facts[self._seen.get(view.id, 0) :]:
                self.say(f"  {told(one.fact)}")
            self._seen[view.id] = len(view.facts)
            newest = newest or view
        return newest


def _make_room(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "result.json").unlink(missing_ok=True)
    except OSError as error:
        raise DemoRefused(f"Nothing can be left in {out}: {error.strerror}.") from error


def _introduce(stage: Stage) -> None:
    say(f"Everything runs. Issue {stage.issue} of {stage.repo}: {stage.issue_url}")
    say(f"What the product recorded (the link works once): {new_link(stage.data, stage.web_url)}")


def _accompany(teller: Teller) -> int:
    say(
        "Open the issue, choose to act as `maintainer`, set the label `countersign`, read the plan, and approve it "
        "with `/approve` or a 👍. Then read the draft pull request. Ctrl-C ends everything."
    )
    teller.follow(lambda view: False, float("inf"))
    return 0


def _alone(teller: Teller, out: Path | None, idle: Mapping[str, int]) -> int:
    stage = teller.stage
    say("The maintainer sets the label `countersign`.")
    stage.control.label(stage.repo, stage.issue, "countersign", "maintainer")
    view = teller.follow(_plan_is_posted, PATIENCE_SECONDS)
    if view is not None and isinstance(view.state, Proposed):
        word = f"/approve {short(view.state.proposal.digest)}"
        say(f"The maintainer reads the plan and comments `{word}`.")
        stage.control.comment(stage.repo, stage.issue, word, "maintainer")
        view = teller.follow(lambda one: isinstance(one.state, Published | Closed), PATIENCE_SECONDS)
    teller.rest(30)
    if view is not None and out is not None:
        _leave(teller, view, out, idle)
    if view is None or not isinstance(view.state, Published):
        words = view.state.words if view is not None and isinstance(view.state, Closed) else ""
        say(f"No draft pull request was opened. {words}".strip())
        return 1
    pull = view.state.pull
    where = f"{stage.control.url}/{stage.repo}/pull/{pull.number}"
    say(f"Draft pull request #{pull.number} stood on branch {pull.branch} at {where}; everything ends now.")
    return 0


def _plan_is_posted(view: RunView) -> bool:
    state = view.state
    return isinstance(state, Closed) or (isinstance(state, Proposed) and state.proposal.comment_id is not None)


def _leave(teller: Teller, view: RunView, out: Path, idle: Mapping[str, int]) -> None:
    stage = teller.stage
    result = result_of(teller.ledger, teller.ledger.run(view.id) or view, stage, idle)
    (out / "result.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")
    (out / "journal.json").write_text(json.dumps(stage.control.journal(), indent=1) + "\n", "utf-8")
    clone_bare(f"{stage.control.url}/{stage.repo}.git", out / "repo.git")
    say(f"Left in {out}: result.json, journal.json (every request to the look-alike), repo.git")
