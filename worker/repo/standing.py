"""Whether a tree stands as the steps of a plan say: what is changed is there, and what is made is not."""

from app.core.lint import Code, Fault
from app.core.plan import Plan
from app.core.verdict import Allowed, Refused, Verdict
from worker.repo.tree import Tree
from worker.repo.twins import no_twins


def step_faults(plan: Plan, tree: Tree) -> list[Fault]:
    """Each step must find the tree as it says: what is changed exists, what is created does not."""
    made = {step.path for step in plan.file_steps() if step.kind == "create"}
    made |= {step.to for step in plan.file_steps() if step.kind == "move"}
    faults = []
    for step in plan.file_steps():
        entry = tree.entry(step.path)
        if step.kind == "create" and (entry is not None or tree.is_folder(step.path)):
            faults.append(f"Step {step.id} creates {step.path}, which exists already.")
        elif step.kind != "create" and entry is None and step.path not in made:
            faults.append(f"Step {step.id}: {step.path} does not exist.")
        elif entry is not None and entry.kind != "file":
            faults.append(f"Step {step.id}: {step.path} is a {entry.kind}, and only files are changed.")
        for path in (step.path, step.to) if step.kind == "move" else (step.path,):
            faults += [
                f"Step {step.id}: {folder} is no folder, so {path} cannot be there."
                for folder in _not_folders(path, tree)
            ]
        if step.kind == "move" and (tree.entry(step.to) is not None or tree.is_folder(step.to)):
            faults.append(f"Step {step.id} moves to {step.to}, which exists already.")
    twins = _twins(plan, tree)
    faults += [str(twins)] if isinstance(twins, Refused) else []
    return [Fault(Code.PATH, words) for words in faults]


def _twins(plan: Plan, tree: Tree) -> Verdict:
    """What the steps make beside what they leave. A file that only gets another case stands beside nothing."""
    steps = plan.file_steps()
    new = {step.to if step.kind == "move" else step.path for step in steps if step.kind in ("create", "move")}
    if not new:
        return Allowed()
    gone = {step.path for step in steps if step.kind in ("delete", "move")}
    return no_twins((path for path in tree.paths() if path not in gone), new)


def _not_folders(path: str, tree: Tree) -> list[str]:
    """What stands in the way of a path: a file, link or submodule where it has a folder (case PI-03)."""
    parts = path.split("/")
    above = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return [folder for folder in above if tree.entry(folder) is not None]
