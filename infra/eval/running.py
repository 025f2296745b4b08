"""Tasks, several at a time: what is done is left out, what is begun is paid for, and each end is told."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from decimal import Decimal

from infra.eval.folder import Folder, spent_on
from infra.eval.play import Result, Wish, play
from infra.eval.purse import Purse
from infra.eval.task import Task
from infra.eval.world import Means, Stop, Unmade

LAST_SECONDS = 20.0
"""How long is waited for what was broken off."""


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
    broken_off: bool = False
    stuck: bool = False
    """Whether something did not let itself be broken off: only the end of this process ends that."""


def run_all(tasks: Sequence[Task], terms: Terms, means: Means, folder: Folder, say: Callable[[str], None]) -> Ran:
    """Every task that is not done yet is played, as far as the money goes; each result is kept as soon as it is there.

    Ctrl-C lets nothing new begin and breaks off what is under way, which a second one does not wait for; what was kept
    stays, and another start goes on from there.
    """
    whole, digests = folder.results(), {task.name: task.digest for task in tasks}
    done = {name: one for name, one in whole.items() if digests.get(name) == one.digest}
    if done:
        say(f"{len(done)} of {len(tasks)} tasks are done already.")
    purse = Purse(terms.cap, spent_on(whole.values()) + folder.lost())
    stop = Stop()
    bounded = replace(means, usd=str(terms.each) if terms.cap is not None else means.usd, stop=stop)
    round_ = _Round(terms, bounded, folder, purse, say, len(tasks), done)
    pool = ThreadPoolExecutor(terms.jobs, "task")
    playing = [pool.submit(round_.one, task) for task in tasks if task.name not in done]
    try:
        wait(playing)
    except KeyboardInterrupt:
        left = _broken_off(pool, playing, stop, say)
        return round_.ran(tasks, broken_off=True, stuck=left)
    pool.shutdown()
    for one in playing:
        one.result()
    return round_.ran(tasks)


def _broken_off(
    pool: ThreadPoolExecutor, playing: Sequence[Future[None]], stop: Stop, say: Callable[[str], None]
) -> bool:
    """True where something is under way all the same."""
    say("It is broken off: what is under way is given back. Once more ends it at once.")
    try:
        stop.now()
        pool.shutdown(wait=False, cancel_futures=True)
        return bool(wait([one for one in playing if not one.cancelled()], LAST_SECONDS).not_done)
    except KeyboardInterrupt:
        return True


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
    begun: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def one(self, task: Task) -> None:
        """Plays one task and keeps what came of it. What one task meets does not end the others."""
        held = self.terms.each
        if not self.purse.take(held):
            self._told(task, f"not begun: less than ${held} is left under the cap of ${self.terms.cap}")
            return
        with self.lock:
            self.begun.add(task.name)
        # Where nobody can say what it cost, it cost all that was held.
        spent, outcome, result = held, "it was broken off", None
        try:
            played = play(task, self.terms.wish, self.means)
            if isinstance(played, Result):
                result, spent = played, held if played.unpriced else Decimal(played.usd)
                self.folder.keep(played)
            else:
                spent = min(played.usd, held)
                self.folder.lose(spent)
        except Unmade as unmade:
            spent, outcome = Decimal(0), str(unmade)
        except Exception as error:
            self.folder.lose(held)
            result, outcome = None, f"{type(error).__name__}: {error}"
        finally:
            self.purse.settle(held, spent)
        self._told(task, result or outcome)

    def ran(self, tasks: Sequence[Task], broken_off: bool = False, stuck: bool = False) -> Ran:
        """What it came to. What is under way still costs all that is held for it, and tells nothing any more."""
        with self.lock:
            ends = self.done.keys() | self.undone.keys()
            for task in tasks:
                if task.name not in ends:
                    self.undone[task.name] = "it was broken off" if task.name in self.begun else "not begun"
            if stuck:
                self.folder.lose(self.terms.each * len(self.begun - ends))
            return Ran(dict(self.done), dict(self.undone), broken_off, stuck)

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
