"""`countersign eval`: tasks run and scored, planner and executor apart; results compared; production's runs scored."""

import argparse
import os
import signal
import sys
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

from app.core.paired import Judged, compare
from app.ledger import open_ledger
from app.ledger.errors import LedgerError
from app.settings import MODEL_KEY, SettingsWrong, ledger_settings
from infra.demo.reach import NETWORKS, reserved_networks
from infra.eval import production, report
from infra.eval.folder import Folder, FolderUnusable
from infra.eval.model import Scripted
from infra.eval.play import Wish
from infra.eval.running import Ran, Terms, run_all
from infra.eval.task import Task, TasksUnreadable, read_tasks
from infra.eval.world import NAMES_OF_MODELS, TEMPLATES, Means

DONE, WORSE, UNDONE, REFUSED, BROKEN_OFF = 0, 1, 1, 2, 130


def main(words: list[str]) -> int:
    """0 when every task is done, or nothing compared is worse; 1 when tasks are not done, or something is worse by more
    than noise; 2 when it could not begin; 130 when it was broken off, after which the same words go on."""
    asked = _arguments(words)
    try:
        if asked.compare:
            return _compare(*asked.compare)
        return _ledger(asked, os.environ) if asked.ledger else _run(asked, dict(os.environ))
    except (TasksUnreadable, FolderUnusable, SettingsWrong, LedgerError) as refused:
        print(refused, file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("It was broken off before anything was begun.", file=sys.stderr)
        return BROKEN_OFF


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="countersign eval", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tasks", type=Path, metavar="FILE", help="run these tasks, one JSON object a line")
    words_ = "whether the second folder of results differs from the first by more than noise"
    what.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"), help=words_)
    what.add_argument("--ledger", action="store_true", help="score the newest runs of this installation")
    parser.add_argument("--repos", type=Path, metavar="DIR", help="bare clones, owner+name.git each")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where results are kept, and found by a second start")
    parser.add_argument("--task", action="append", metavar="NAME", help="only this task; may be given again")
    parser.add_argument("--only", choices=("planner",), help="leave the executor out")
    parser.add_argument("--no-unseen", action="store_true", help="do not run unseen tests on what was built")
    parser.add_argument("--scripted", type=Scripted, choices=list(Scripted), help="no model: play the known answer")
    parser.add_argument("--jobs", type=int, default=2, choices=range(1, 17), metavar="N", help="tasks at a time; 2")
    parser.add_argument("--usd", type=_dollars, help="the most that all tasks together may cost")
    parser.add_argument("--usd-each", type=_dollars, default=Decimal(3), help="the most that one may cost; 3")
    parser.add_argument(
        "--minutes-each", type=int, default=60, choices=range(1, 721), metavar="N", help="how long one may take; 60"
    )
    parser.add_argument(
        "--limit", type=int, default=200, choices=range(1, 1001), metavar="N", help="of the ledger; 200"
    )
    parser.add_argument("--json", action="store_true", help="with --ledger: as JSON")
    return parser.parse_args(words)


def _dollars(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no sum of dollars") from error
    if not (value.is_finite() and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no sum of dollars above 0")
    return value


def _run(asked: argparse.Namespace, env: dict[str, str]) -> int:
    if asked.out is None:
        raise FolderUnusable("Name a folder for the results with --out.")
    if asked.scripted is None and not env.get(MODEL_KEY, "").strip():
        raise SettingsWrong(MODEL_KEY, f"Set {MODEL_KEY}, or play the known answer with --scripted.")
    if asked.scripted is None and asked.usd is None:
        raise SettingsWrong("--usd", "Real models cost money: say with --usd how much all of it may cost.")
    tasks = _chosen(read_tasks(asked.tasks, asked.repos), asked.task)
    folder = Folder(asked.out)
    made_with = _made_with(asked, env)
    folder.begin(made_with)
    wish = Wish(asked.only == "planner", asked.scripted, not asked.no_unseen)
    terms = Terms(wish, asked.jobs, asked.usd, asked.usd_each)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    means = Means({**env, NETWORKS: reserved_networks(env)}, seconds=asked.minutes_each * 60.0)
    ran = run_all(tasks, terms, means, folder, lambda line: print(line, file=sys.stderr, flush=True))
    _leave(folder, made_with, ran)
    if ran.broken_off:
        print("It was broken off. What is done is kept; the same words go on from there.", file=sys.stderr)
    if ran.stuck:
        sys.stdout.flush()
        os._exit(BROKEN_OFF)
    return BROKEN_OFF if ran.broken_off else UNDONE if ran.undone else DONE


def _chosen(tasks: tuple[Task, ...], names: list[str] | None) -> tuple[Task, ...]:
    missing = sorted(set(names or ()) - {task.name for task in tasks})
    if missing:
        raise TasksUnreadable(f"There is no task {missing[0]!r} in the file.")
    return tuple(task for task in tasks if not names or task.name in names)


def _made_with(asked: argparse.Namespace, env: Mapping[str, str]) -> dict[str, str]:
    """What two starts must have in common for their results to stand in one folder. No key is among it."""
    told = {"belts": asked.only or "planner and executor", "model": str(asked.scripted or "real")}
    told |= {"usd each": str(asked.usd_each), "minutes each": str(asked.minutes_each)}
    if asked.scripted is None:
        told |= {name: env[name] for name in env if name.startswith(NAMES_OF_MODELS)}
    return told | {name: value for name, value in env.items() if name.startswith(TEMPLATES)}


def _leave(folder: Folder, made_with: dict[str, str], ran: Ran) -> None:
    results = dict(sorted(ran.results.items()))
    folder.leave("report.json", report.as_json(made_with, results, ran.undone))
    page = folder.leave("report.html", report.as_html(made_with, results, ran.undone))
    print(report.as_text(results, ran.undone))
    print(f"\nThe same as JSON and as a page: {page.with_suffix('.json')}, {page}")


def _compare(before: Path, after: Path) -> int:
    told = [Folder(place) for place in (before, after)]
    for one in told:
        one.made_with()
    was, now = (folder.results() for folder in told)
    # A task that was changed in between is another one.
    same = {name for name in was.keys() & now.keys() if was[name].digest == now[name].digest}
    found = compare(*({name: results[name].scores.figures() for name in same} for results in (was, now)))
    if not found:
        raise FolderUnusable("The two folders hold no task in common.")
    print(report.compared(was, now, found))
    return WORSE if any(one.judged is Judged.WORSE for one in found) else DONE


def _ledger(asked: argparse.Namespace, env: Mapping[str, str]) -> int:
    ledger = open_ledger(ledger_settings(env).url)
    try:
        found = production.scores(ledger, asked.limit)
    finally:
        ledger.close()
    print(production.as_json(found) if asked.json else production.as_text(found))
    return DONE


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
