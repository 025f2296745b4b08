"""What a step reports as done, held against what it changed. By code; no model's word counts for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.core.patch import FileChange, StepChanges
from app.core.paths import shown
from app.core.plan import FileStep
from app.core.result import own_paths
from app.core.verdict import Allowed, Refused, Verdict, all_of
from worker.belts.step import StepMade
from worker.repo.difference import step_changes
from worker.repo.edits import Layered
from worker.repo.secrets import no_secrets


@dataclass(frozen=True, slots=True)
class Change:
    """From one state of the work to another, and where contents are kept."""

    before: Layered
    after: Layered
    keep: Callable[[bytes], str]

    def files(self) -> tuple[FileChange, ...]:
        """What is different, file by file."""
        return step_changes(self.before, self.after, self.keep)

    def clean(self) -> Verdict:
        """Refused where it brings a credential in, even one that is taken out later: each step may be a commit."""
        paths = [one.path for one in self.files()]
        # What a moved file held stood at another path before.
        before = b"\n".join(_content(self.before, path) for path in paths)
        verdicts = [no_secrets(path, before, _content(self.after, path)) for path in paths]
        return all_of(*verdicts) if verdicts else Allowed()


def _content(tree: Layered, path: str) -> bytes:
    return b"" if tree.entry(path) is None else tree.read(path)


def reconciled(step: FileStep, made: StepMade, change: Change, former: Sequence[StepChanges]) -> StepChanges | Refused:
    """What the step changed on top of the former ones, where that is a change in its own path or explained.

    There was nothing to do where an edit of the step found its result in the file already, or where a former step
    has changed that path. That the model says so is no explanation.
    """
    clean = change.clean()
    if isinstance(clean, Refused):
        return clean
    changes = change.files()
    own = own_paths(step)
    if {change.path for change in changes} & own:
        return StepChanges(step=step.id, changes=changes)
    by = next((one.step for one in former if {change.path for change in one.changes} & own), None)
    if made.already & own:
        because = f"what it asks for was in {shown(step.path)} already"
    elif by is not None:
        because = f"step {by} had changed {shown(step.path)} already"
    else:
        return Refused(
            f"Step {step.id} was told as done and has changed nothing in {shown(step.path)}. Its note: {made.note}",
            "Set the label again for a new plan, if there is still something to do.",
        )
    return StepChanges(step=step.id, changes=changes, nothing_to_do=because)
