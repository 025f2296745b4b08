"""`countersign try`: the whole way on a folder and an issue file, decided at this terminal; nothing leaves the machine.

The product's own processes run beside a GitHub look-alike on loopback. What a maintainer would comment is a key here.
"""

import argparse
import os
import signal
import sys
import termios
import tty
from collections.abc import Mapping
from pathlib import Path

from app.core.digest import short
from app.core.effects import Purpose
from app.core.facts import AuthorityFound
from app.core.plan import made_visible
from app.core.report import Report
from app.core.run import Closed, ClosedReason, NeedsInput, Proposed, Published, State
from app.core.staged import Staged
from app.ledger import open_ledger
from app.ledger.outcomes import RunView
from app.settings import MODEL_KEY, SettingsWrong
from infra.demo.local import Kept, exported, keep_locally
from infra.demo.playing import Teller, say
from infra.demo.stage import DemoRefused, Stage, Wish, set_up

PATIENCE_SECONDS = 6 * 3_600.0
REJECTED, REFUSED, INTERRUPTED = 1, 2, 130


def main(words: list[str]) -> int:
    """0 when the change is here as a patch, 1 when there is none, 2 when it could not begin, 130 when interrupted.

    Nothing runs or lies about afterwards, and no branch is there but a whole one.
    """
    asked = _arguments(words)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    env = dict(os.environ)
    try:
        if not env.get(MODEL_KEY, "").strip():
            raise DemoRefused(f"{MODEL_KEY} is not set: a plan is made by a model, and that takes a key.")
        if not asked.yes and not sys.stdin.isatty():
            raise DemoRefused("A plan is approved by a key press at a terminal. In a script, --yes approves any plan.")
        if not asked.path.is_dir():
            raise DemoRefused(f"{asked.path} is not a folder.")
        return _tried(asked, env)
    except (DemoRefused, SettingsWrong) as refused:
        print(refused, file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("Interrupted: everything has ended, and nothing was changed. The same command begins anew.", flush=True)
        return INTERRUPTED


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="countersign try", description=__doc__)
    parser.add_argument("path", type=Path, help="the repository's folder; of a git repository, what HEAD holds")
    parser.add_argument("issue", type=Path, help="a file: the issue's title on the first line, then its text")
    parser.add_argument("--out", type=Path, help="where the patch is put; the current folder by default")
    parser.add_argument("--yes", action="store_true", help="approve the plan without looking, for scripts")
    return parser.parse_args(words)


def _tried(asked: argparse.Namespace, env: Mapping[str, str]) -> int:
    with exported(asked.path) as (tree, commit), set_up(Wish(tree, asked.issue), env, say) as stage:
        ledger = open_ledger(stage.ledger_url)
        try:
            view = _decided(asked, stage, Teller(stage, ledger))
            state = view.state if view is not None else None
            if isinstance(state, Published):
                branch = state.pull.branch
            elif isinstance(state, Closed) and state.reason is ClosedReason.STAGED:
                branch = Staged.model_validate_json(ledger.artifact(state.staged_ref) or b"").branch
            else:
                return _without(state)
            report = Report.model_validate_json(ledger.artifact(state.report_ref) or b"")
            title = state.request.issue_title
            keep_locally(asked, ledger.artifact(report.diff_ref) or b"", Kept(commit, branch, title))
            return 0
        finally:
            ledger.close()


def _decided(asked: argparse.Namespace, stage: Stage, teller: Teller) -> RunView | None:
    """The run once it is over, or once this one person cannot bring it on. Each plan is shown and asked about."""
    shown: list[str] = []

    def is_for_a_person(view: RunView) -> bool:
        state = view.state
        if not isinstance(state, Proposed):
            return isinstance(state, Closed | NeedsInput | Published)
        offered = state.proposal.comment_id is not None and not state.drafting
        return offered and (state.proposal.digest not in shown or _answers(view) >= len(shown))

    stage.control.label(stage.repo, stage.issue, "countersign", "maintainer")
    while True:
        view = teller.follow(is_for_a_person, PATIENCE_SECONDS)
        if view is None or not isinstance(view.state, Proposed) or view.state.proposal.digest in shown:
            return view
        digest = view.state.proposal.digest
        _show(stage, view.state.proposal.comment_id or 0)
        if not asked.yes and not _pressed(f"Press y to approve exactly this plan ({short(digest)}), another ends it: "):
            return None
        shown.append(digest)
        stage.control.comment(stage.repo, stage.issue, f"/approve {short(digest)}", "maintainer")


def _answers(view: RunView) -> int:
    """How often it was decided about an approval."""
    return sum(isinstance(one.fact, AuthorityFound) and one.fact.purpose is Purpose.APPROVE for one in view.facts)


def _without(state: State | None) -> int:
    """Says why there is no change."""
    words = "Nothing was approved, so nothing was carried out."
    if isinstance(state, Closed):
        words = f"{state.words} {state.remedy}"
    elif isinstance(state, NeedsInput):
        words = f"The planner asks: {state.question} Put the answer into the issue file and try again."
    elif isinstance(state, Proposed):
        words = "The repository's own policy lets one person alone not approve this; `countersign policy` explains it."
    say(made_visible(f"There is no change. {words}".strip()))
    return REJECTED


def _show(stage: Stage, comment: int) -> None:
    shown = next(one for one in stage.control.comments(stage.repo, stage.issue) if one["id"] == comment)
    for line in str(shown["body"]).partition("<!-- countersign")[0].splitlines():
        say(made_visible(line))


def _pressed(words: str) -> bool:
    """Whether the next key is y; what was typed before it was asked does not count."""
    print(words, end="", flush=True)
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSAFLUSH)
        key = os.read(sys.stdin.fileno(), 1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    print(flush=True)
    return key in (b"y", b"Y")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
