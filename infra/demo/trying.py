"""`countersign try`: the whole way on a folder and an issue file, or on an issue of GitHub's, decided at this terminal.

The product's own processes run beside a GitHub look-alike on loopback; of GitHub an issue and its repository are only
read. What a maintainer would comment is a key here, what the issue's author would answer a line.
"""

import argparse
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from app.core.digest import short
from app.core.plan import made_visible
from app.core.report import Report
from app.core.run import Closed, ClosedReason, Published, State
from app.core.staged import Staged
from app.ledger import open_ledger
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from app.settings import MODEL_KEY, SettingsWrong
from infra.demo.brought import TOKENS, brought, named
from infra.demo.deciding import Answer, Decide, Over, next_act, why_none
from infra.demo.local import Kept, Subject, exported, keep_locally
from infra.demo.playing import Teller, say
from infra.demo.progress import Progress
from infra.demo.stage import DemoRefused, Stage, Wish, set_up, undisturbed

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
    for name in TOKENS:
        # No process that is started here has the user's own token in its environment.
        os.environ.pop(name, None)
    kept: list[str] = []
    try:
        refuse_early(asked, env, sys.stdin.isatty())
        return _tried(asked, env, kept)
    except (DemoRefused, SettingsWrong) as refused:
        print(refused, file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        left = "what is named above is kept" if kept else "nothing was changed or kept"
        print(f"Interrupted: everything has ended, and {left}. The same command begins anew.", flush=True)
        return INTERRUPTED


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="countersign try", description=__doc__)
    parser.add_argument(
        "what",
        metavar="PATH | OWNER/REPO#N",
        help="the repository's folder (of a git repository, what HEAD holds), or an issue of GitHub's",
    )
    parser.add_argument(
        "issue", type=Path, nargs="?", help="with a folder, a file: the issue's title on the first line, then its text"
    )
    parser.add_argument("--out", type=Path, help="where the patch and a clone are put; the current folder by default")
    parser.add_argument("--yes", action="store_true", help="approve the plan without looking, for scripts")
    return parser.parse_args(words)


def refuse_early(asked: argparse.Namespace, env: Mapping[str, str], at_terminal: bool) -> None:
    """Raises `DemoRefused` for what can be seen before anything begins."""
    if not env.get(MODEL_KEY, "").strip():
        raise DemoRefused(f"{MODEL_KEY} is not set: a plan is made by a model, and that takes a key.")
    if not asked.yes and not at_terminal:
        raise DemoRefused("A plan is approved by a key press at a terminal. In a script, --yes approves any plan.")
    if shutil.which("git", path=env.get("PATH", "")) is None:
        raise DemoRefused("git is not installed, or not on PATH: the change is made and kept with it. Install git.")
    if asked.issue is not None:
        if not Path(asked.what).is_dir():
            raise DemoRefused(f"{asked.what} is not a folder.")
    elif named(asked.what) is None:
        missing = f"{asked.what} is a folder, and the issue's file is missing behind it"
        unclear = f"{asked.what} is no issue of GitHub's; those are written OWNER/REPO#N"
        raise DemoRefused(f"{missing if Path(asked.what).is_dir() else unclear}. `countersign try --help` says more.")


def _subject(asked: argparse.Namespace, env: Mapping[str, str]) -> AbstractContextManager[Subject]:
    wanted = named(asked.what)
    if asked.issue is not None or wanted is None:
        return exported(Path(asked.what), asked.issue)
    say(f"{wanted} and its repository are read from GitHub; nothing is written there.")
    return brought(wanted, env)


def _tried(asked: argparse.Namespace, env: Mapping[str, str], kept: list[str]) -> int:
    plain = {name: value for name, value in env.items() if name not in TOKENS}
    with _subject(asked, env) as subject, set_up(Wish(subject.tree, subject.issue), plain, say) as stage:
        ledger = open_ledger(stage.ledger_url)
        try:
            progress = Progress(ledger)
            view = _decided(asked, stage, Teller(stage, ledger, progress.say, progress.watch), progress)
            state = view.state if view is not None else None
            made = branch_of(ledger, state)
            if state is None or made is None:
                _say_all(f"There is no change. {why_none(state)}".strip())
                return REJECTED
            with undisturbed():
                change = Kept(subject.commit, made[0], state.request.issue_title)
                keep_locally(subject, asked.out, made[1], change)
                kept.append(made[0])
            return 0
        finally:
            ledger.close()


def branch_of(ledger: Ledger, state: State | None) -> tuple[str, bytes] | None:
    """The branch's name and the change, of a draft that stands or that was staged; None where there is neither."""
    if isinstance(state, Published):
        branch = state.pull.branch
    elif isinstance(state, Closed) and state.reason is ClosedReason.STAGED:
        branch = Staged.model_validate_json(ledger.artifact(state.staged_ref) or b"").branch
    else:
        return None
    report = Report.model_validate_json(ledger.artifact(state.report_ref) or b"")
    return branch, ledger.artifact(report.diff_ref) or b""


def _decided(asked: argparse.Namespace, stage: Stage, teller: Teller, progress: Progress) -> RunView | None:
    """The run once it is over, or once this one person cannot bring it on. Each plan is shown and asked about."""
    done: list[str] = []
    stage.control.label(stage.repo, stage.issue, "countersign", "maintainer")
    while True:
        with progress.shown():
            view = teller.follow(lambda one: next_act(one, done) is not None, PATIENCE_SECONDS)
        act = next_act(view, done) if view is not None else None
        match act:
            case Decide():
                _show(stage, act.comment)
                words = f"Press y to approve exactly this plan ({short(act.digest)}), another ends it: "
                if not asked.yes and not _pressed(words):
                    return None
                stage.control.comment(stage.repo, stage.issue, f"/approve {short(act.digest)}", "maintainer")
            case Answer():
                _say_all(f"The planner asks the issue's author: {act.question}")
                words = "" if asked.yes else _typed("Your answer, in one line (nothing ends it): ")
                if not words:
                    return view
                stage.control.comment(stage.repo, stage.issue, f"/answer {words}", "reporter")
            case Over() | None:
                return view
        done.append(act.key)


def _show(stage: Stage, comment: int) -> None:
    shown = next(one for one in stage.control.comments(stage.repo, stage.issue) if one["id"] == comment)
    _say_all(str(shown["body"]).partition("<!-- countersign")[0])


def _say_all(text: str) -> None:
    """Each line, with nothing in it that a terminal would obey."""
    for line in text.splitlines():
        say(made_visible(line))


def _typed(words: str) -> str:
    """The line that is typed next; what was typed before it was asked does not count."""
    print(words, end="", flush=True)
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    return sys.stdin.readline().strip()


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
