"""How far an execution has come: each verified step is kept at once, and the next attempt goes on behind the last."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.core.budget import Meter, Spent
from app.core.digest import canonical
from app.core.patch import StepChanges
from app.core.run import KeptStep, KeptWork
from worker.repo.difference import step_changes
from worker.repo.edits import Held, Layered
from worker.repo.layers import Layer, held_in, layer_of
from worker.repo.tree import Tree


@dataclass(slots=True)
class Progress:
    """What is kept of an execution. `tell` records a step, for good, or raises where this execution may not go on."""

    work: KeptWork
    base_commit: str
    put: Callable[[bytes, str], str]
    get: Callable[[str], bytes]
    tell: Callable[[KeptStep, Spent], None]
    _refs: dict[bytes, str] = field(default_factory=dict)

    def held(self) -> Mapping[str, Held | None]:
        """Every file that differs from the base, as the last kept step left it, to the byte."""
        if not self.work.steps:
            return {}
        return self._held_after(self.work.steps[-1])

    def changes(self, base: Tree) -> list[StepChanges]:
        """What each kept step changed on top of the former ones."""
        before, found = Layered(base, {}), []
        for one in self.work.steps:
            after = Layered(base, self._held_after(one))
            files = step_changes(before, after, self._put_once)
            found.append(StepChanges(step=one.id, changes=files, nothing_to_do=one.nothing_to_do))
            before = after
        return found

    def done(self, step: int) -> bool:
        """True for a step that is kept."""
        return step in [one.id for one in self.work.steps]

    def notes(self) -> list[str]:
        """What the report says of the kept steps."""
        return [note for one in self.work.steps for note in one.notes]

    def uncounted(self, meter: Meter) -> Spent:
        """What was spent and is in no fact so far."""
        return meter.spent.beyond(self.work.spent)

    def keep(self, step: StepChanges, notes: list[str], held: Mapping[str, Held | None], meter: Meter) -> None:
        """The step is kept with the files as they are now: whatever happens later, no model is asked for it again."""
        layer = layer_of(self.base_commit, held, self._put_once)
        files_ref = self.put(canonical(layer), "application/json")
        kept = KeptStep(id=step.step, files_ref=files_ref, notes=tuple(notes), nothing_to_do=step.nothing_to_do)
        spent = self.uncounted(meter)
        self.tell(kept, spent)
        self.work = self.work.plus(kept, spent)

    def _held_after(self, step: KeptStep) -> dict[str, Held | None]:
        layer = Layer.model_validate_json(self.get(step.files_ref))
        return held_in(layer, self.base_commit, self.get)

    def _put_once(self, content: bytes) -> str:
        if content not in self._refs:
            self._refs[content] = self.put(content, "application/octet-stream")
        return self._refs[content]
