"""What the executor's model reads first in a repair: what was found, what it may touch, and how that stands now."""

from app.core.paths import shown
from app.core.plan import Plan
from app.core.report import CheckRun
from app.core.verdict import Refused
from worker.belts.bench import Walk
from worker.belts.step_page import general_bounds, plan_in_short
from worker.evidence.untrusted import fence
from worker.repo.difference import unified_diff
from worker.repo.edits import Overlay
from worker.repo.reading import read_file

DIFFERENCE = 20_000
"""Characters of the difference so far that are shown."""
FILES = 16_000
"""Characters of the files as they are now; what does not fit is read with the tool."""
LINES = 300

HOW = (
    "Mend what was made so that this is gone, at its cause and in as few lines as it takes. What holds for the plan "
    "holds here: nothing beyond the paths above, every constraint, every stop condition. No test is weakened, skipped "
    "or taken away, and nothing is made to fit one test's values.\n"
    "End with `step_done`, whose note says in one sentence what was wrong and what is different now; or with `cannot`, "
    "where it cannot be mended so, saying what you saw. Trusted code runs the checks again."
)


def page_of(asked: str, plan: Plan, found: Refused, runs: tuple[CheckRun, ...], walk: Walk) -> str:
    """The opening message of one repair; `asked` is its first line."""
    outputs = "\n\n".join(
        fence(f"output of {run.name} ({run.when.replace('_', ' ')}), run by trusted code", run.excerpt) for run in runs
    )
    parts = [
        asked,
        f"Every step of the plan was carried out. After that this was found:\n{fence('what was found', found.reason)}",
        outputs,
        f"You may touch, as the plan says, and nothing else:\n{_paths(plan)}",
        HOW,
        plan_in_short(plan),
        general_bounds(plan),
        _so_far(walk.overlay),
        _as_they_are(plan, walk.overlay),
    ]
    return "\n\n".join(part for part in parts if part)


def _paths(plan: Plan) -> str:
    return "\n".join(f"- {shown(path)}" for path in sorted(plan.paths()))


def _so_far(overlay: Overlay) -> str:
    diff = unified_diff(overlay.base, overlay.changes())
    cut = "" if len(diff) <= DIFFERENCE else "\n(there is more of it)"
    return f"{fence('the difference so far', diff[:DIFFERENCE])}{cut}"


def _as_they_are(plan: Plan, overlay: Overlay) -> str:
    parts: list[str] = []
    room = FILES
    for path in sorted(plan.paths()):
        if overlay.entry(path) is None:
            continue
        read = read_file(overlay, path, 1, LINES)
        if isinstance(read, Refused) or len(read) > room:
            parts.append(f"({shown(path)} is not shown here; read it)")
            continue
        room -= len(read)
        parts.append(fence(f"{path} as it is now, its first {LINES} lines at most", read))
    return "\n\n".join(parts)
