"""Tasks, several at a time: what is done is left out, what is begun is paid for, and each end is told."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal

from infra.eval.folder import Folder, spent_on
from infra.eval.play import Result, Wish, play
from infra.eval.purse import Purse
from infra.eval.task import Task
from infra.eval.world import Means, Stop, Unmade


@dataclass(frozen=True, slots=True)
class Terms:
    """How an evaluation goes about its tasks."""

    wish: Wish
    jobs: int = 2
    cap: Decimal | None = None
    """What all tasks of the folder together may cost, those of earlier starts included."""
    each: Decimal = Decimal(3)
    """What is held for each task, and the most that one may cost."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a start came to: the results of all its tasks that are done, and why others are not."""

    results: dict[str, Result]
    undone: dict[str, str]


def run_all(tasks: Sequence[Task], terms: Terms, means: Means, folder: Folder, say: Callable[[str], None]) -> Ran:
    """Every task that is not done yet is played, as far as the money goes; each result is kept as soon as it is there.

    Ctrl-C lets nothing new begin and breaks off what is under way; what was kept stays.
    """
    whole, digests = folder.results(), {task.name: task.digest for task in tasks}
    done = {name: one for name, one in whole.items() if digests.get(name) == one.digest}
    if done:
        say(f"{len(done)} of {len(tasks)} tasks are done already.")
    purse = Purse(terms.cap, spent_on(whole.values()) + folder.lost())
    stop = Stop()
    bounded = replace(means, usd=str(terms.each) if terms.cap is not None else means.usd, stop=stop)
    round_ = _Round(terms, bounded, folder, purse, say, len(tasks), done)
    with ThreadPoolExecutor(terms.jobs, "task") as pool:
        try:
            list(pool.map(round_.one, [task for task in tasks if task.name not in done]))
        except KeyboardInterrupt:
            stop.now()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Ran(round_.done, round_.undone)


@dataclass(slots=True)
class _Round:
    terms: Terms
    means: Means
    folder: Folder
    purse: Purse
    say: Callable[[str], None]
    many: int
    done: dict[str, Result]
    undone: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def one(self, task: Task) -> None:
        """Plays one task and keeps what came of it. What one task meets does not end the others."""
        held = self.terms.each
        if not self.purse.take(held):
            self._told(task, f"not begun: less than ${held} is left under the cap of ${self.terms.cap}")
            return
        # Where nobody can say what it cost, it cost all that was held.
        spent, outcome = held, "It was broken off."
        try:
            result = play(task, self.terms.wish, self.means)
            if result is None:
                self.folder.lose(held)
            else:
                spent = held if result.unpriced else Decimal(result.usd)
                self.folder.keep(result)
        except Unmade as unmade:
            spent, result, outcome = Decimal(0), None, str(unmade)
        except Exception as error:
            self.folder.lose(held)
            result, outcome = None, f"{type(error).__name__}: {error}"
        finally:
            self.purse.settle(held, spent)
        self._told(task, result or outcome)

    def _told(self, task: Task, result: Result | str) -> None:
        with self.lock:
            if isinstance(result, str):
                self.undone[task.name] = result
            else:
                self.done[task.name] = result
            count, cost = f"[{len(self.done) + len(self.undone)}/{self.many}]", f"${self.purse.spent:.2f} so far"
            self.say(f"{count} {task.name}: {result if isinstance(result, str) else _line(result)}; {cost}")


def _line(result: Result) -> str:
    scores = result.scores
    told = [f"planner {shown(scores.plan.value() if scores.plan else None)}"]
    if scores.work is not None:
        told.append(f"executor {shown(scores.work.value())}")
    if scores.blame.why:
        told.append(f"{scores.blame.whose}: {'; '.join(scores.blame.why)}")
    return f"{', '.join(told)} ({result.seconds:.0f} s)"


def shown(value: float | bool | None) -> str:
    """A figure as a person reads it."""
    if value is None:
        return "–"
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:.2f}"
