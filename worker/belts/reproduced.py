"""What a reproduction showed, in words for the planner: how it ended, what it put out, what it went through."""

from collections.abc import Sequence

from app.core.paths import shown
from app.core.verdict import Refused
from worker.belts.trying import Tried
from worker.box.command import Ended
from worker.box.trail import Passed
from worker.evidence.distill import distill
from worker.repo.ranking.frames import frames_in
from worker.repo.ranking.ranking import Ranked

OUTPUT_CHARACTERS = 3_000
MOST_FILES = 25
MOST_FUNCTIONS = 8
_ENDINGS = {
    Ended.TIMEOUT: "was ended at its time limit",
    Ended.MEMORY: "was ended at its memory limit",
    Ended.PIDS: "was ended for starting too many processes",
    Ended.OUTPUT: "was ended for putting out too much",
    Ended.DISK: "was ended for filling its disk",
}


def told(tried: Tried, ranked: Sequence[Ranked] = ()) -> str:
    """The observation: bounded, whatever the program did."""
    output = tried.ran.output.decode("utf-8", "replace")
    parts = [f"Ran {tried.what}: it {_ending(tried)}.", *tried.notes]
    parts.append(f"Output:\n{distill('', output, OUTPUT_CHARACTERS).text}" if output.strip() else "It put out nothing.")
    parts.append(_went_through(tried, output))
    if ranked:
        lines = [f"- {shown(one.path)}: {one.reason}" for one in ranked]
        parts.append("Likeliest files now, by what the issue says and what was gone through:\n" + "\n".join(lines))
    return "\n\n".join(parts)


def briefly(tried: Tried | Refused) -> str:
    """The run in one line."""
    if isinstance(tried, Refused):
        return f"Not run: {tried}"
    return f"Ran {tried.what}: it {_ending(tried)} and went through {_files(len(tried.trail.executed()))}."


def whole(tried: Tried) -> str:
    """Everything that is known of the run, for the shelf."""
    lines = [f"Ran {tried.what}: it {_ending(tried)}.", *tried.notes, "", "Functions in the order of their first call:"]
    lines += [f"{shown(one.path)}: {_function(one)}" for one in tried.trail.passed]
    lines += ["", "Only loaded:", *map(shown, _only_loaded(tried)), "", "Output:"]
    return "\n".join(lines) + "\n" + tried.ran.output.decode("utf-8", "replace")


def files_in_traceback(tried: Tried, output: str) -> tuple[str, ...]:
    """Files of the tree that a traceback in the output names, where it was raised first."""
    frames = sorted(frames_in(output), key=lambda frame: frame.depth)
    return tuple(dict.fromkeys(one.path.removeprefix("/work/") for one in frames if one.path.startswith("/work/")))


def _ending(tried: Tried) -> str:
    seconds = f"after {tried.ran.seconds:.1f} s"
    if tried.ran.exit_status is None:
        return f"{_ENDINGS[tried.ran.ended]} {seconds}"
    signal = tried.ran.exit_status - 128
    by_signal = f", which is signal {signal}" if 0 < signal < 65 else ""
    return f"ended with status {tried.ran.exit_status}{by_signal} {seconds}"


def _went_through(tried: Tried, output: str) -> str:
    named = files_in_traceback(tried, output)
    if not tried.followed:
        return f"Programs in this language are not followed.{_listed('The traceback names', named)}"
    executed = tried.trail.executed()
    loaded = _only_loaded(tried)
    if not executed:
        if loaded:
            return f"It only loaded {_files(len(loaded))} of the repository and called nothing in them."
        return "It went through no file of the repository."
    order = [*(path for path in named if path in executed), *(path for path in executed if path not in named)]
    lines = [f"- {shown(path)}: {_functions(executed[path])}" for path in order[:MOST_FILES]]
    if len(order) > MOST_FILES:
        lines.append(f"- and {len(order) - MOST_FILES} more files")
    cut = " Its record is cut: there were more." if tried.trail.cut else ""
    head = f"It went through {_files(len(executed))} (function:line, and ×N for at least so many calls).{cut}"
    return "\n".join([head, *lines, f"Beside those it loaded {_files(len(loaded))} and called nothing in them."])


def _functions(passed: Sequence[Passed]) -> str:
    more = f" and {len(passed) - MOST_FUNCTIONS} more" if len(passed) > MOST_FUNCTIONS else ""
    return ", ".join(map(_function, passed[:MOST_FUNCTIONS])) + more


def _function(one: Passed) -> str:
    times = f" ×{one.calls}" if one.calls > 1 else ""
    return f"{one.function}:{one.line}{times}{' (while loading)' if one.loading else ''}"


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"


def _only_loaded(tried: Tried) -> list[str]:
    executed = tried.trail.executed()
    return [path for path in tried.trail.loaded if path not in executed]


def _listed(words: str, paths: Sequence[str]) -> str:
    return f" {words} {', '.join(map(shown, paths[:MOST_FILES]))}." if paths else ""
