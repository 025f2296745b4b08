"""What the executor's model reads first: its step, what it may touch, the lines that the plan cites, and no more.

It is made of the approved plan and of files. The issue and its conversation are not on it.
"""

from app.core.paths import shown
from app.core.plan import Evidence, FileStep, MoveFile, Plan, sibling_tests
from app.core.verdict import Refused
from worker.evidence.untrusted import fence
from worker.repo.edits import Overlay
from worker.repo.reading import read_file
from worker.repo.tree import Tree

CITED_CHARACTERS = 12_000
CITED_LINES = 120


_MORE = (
    "Where the plan would do with more than it says (another behaviour, further files, checks or hosts), call "
    "`propose_amendment` instead.\n"
)


def page_of(step: FileStep, plan: Plan, overlay: Overlay) -> str:
    """The opening message for one step."""
    at = [one.id for one in plan.steps].index(step.id) + 1
    target = f"{step.path} to {step.to}" if isinstance(step, MoveFile) else step.path
    own = "\n".join(f"- {one}" for one in step.constraints) or "- none of its own"
    return (
        f"Step {at} of {len(plan.steps)}\n\n"
        f"Kind: {step.kind}\nPath: {target}\nIntent: {step.intent}\nConstraints:\n{own}\n"
        f"Done when: {step.done_when}\n\n"
        f"{_may_touch(step)}\n\n{plan_in_short(plan)}\n\n{general_bounds(plan)}\n{_MORE}\n"
        f"{cited_lines(plan, step.path, overlay)}"
    )


def _may_touch(step: FileStep) -> str:
    path = step.to if isinstance(step, MoveFile) else step.path
    tests = sorted(sibling_tests(path))
    beside = f" Tests beside it may be changed or made as well: {', '.join(tests)}." if tests else ""
    return f"You may touch {shown(step.path)} as said above, and nothing else.{beside}"


def plan_in_short(plan: Plan) -> str:
    """What it changes and why."""
    return fence("the approved plan, in short", f"{plan.summary}\n\n{plan.hypothesis}")


def general_bounds(plan: Plan) -> str:
    """What holds for every step, and when to stop."""
    general = "\n".join(f"- {one}" for one in plan.constraints) or "- none"
    stops = "\n".join(f"- {one}" for one in plan.stop_conditions) or "- you find that the plan does not fit the code"
    return f"Constraints of the whole plan:\n{general}\n\nStop, and call `cannot`, when:\n{stops}\n"


def cited_lines(plan: Plan, path: str, overlay: Overlay) -> str:
    """The lines that the plan's evidence cites, those of `path` first, as they stand now. Bounded."""
    ordered = sorted(plan.evidence, key=lambda one: one.path != path)
    parts: list[str] = []
    room = CITED_CHARACTERS
    for item in ordered:
        text = _cited(item, overlay)
        if len(text) > room:
            parts.append(f"(the plan cites {shown(item.path)}:{item.start}-{item.end} as well; read it there)")
            continue
        room -= len(text)
        parts.append(text)
    return "\nLines that the plan cites:\n\n" + "\n\n".join(parts) + "\n" if parts else ""


def _cited(item: Evidence, overlay: Overlay) -> str:
    """Lines that an earlier step changed are shown as the plan saw them, and it is said."""
    tree: Tree = overlay
    when = ""
    if item.path in overlay.edited_paths():
        tree, when = overlay.base, ", before the steps so far; read the file for what it is now"
    read = read_file(tree, item.path, item.start, min(item.end, item.start + CITED_LINES - 1))
    text = str(read) if isinstance(read, Refused) else read
    return fence(f"{item.path} lines {item.start}-{item.end}{when}", f"{item.shows}\n\n{text}")
