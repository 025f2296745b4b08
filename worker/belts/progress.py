"""How far an execution has come: each verified step is kept at once, and so is each repair after them.

The next attempt goes on behind the last of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.core.budget import Meter, Spent
from app.core.digest import canonical
from app.core.patch import StepChanges
from app.core.report import Repair
from app.core.run import KeptRepair, KeptStep, KeptWork
from worker.repo.difference import step_changes
from worker.repo.edits import Held, Layered
from worker.repo.layers import Layer, held_in, layer_of
from worker.repo.tree import Tree


@dataclass(slots=True)
class Progress:
    """What is kept of an execution. `tell` records a step or a repair, for good, or raises where this execution may not
    go on."""

    work: KeptWork
    base_commit: str
    put: Callable[[bytes, str], str]
    get: Callable[[str], bytes]
    tell: Callable[[KeptStep | KeptRepair, Spent], None]
    _refs: dict[bytes, str] = field(default_factory=dict)

    def held(self) -> Mapping[str, Held | None]:
        """Every file that differs from the base, as what was kept last left it, to the byte."""
        return self._held_after(self._kept()[-1]) if self._kept() else {}

    def changes(self, base: Tree) -> list[StepChanges]:
        """What each kept step changed on top of the former ones, and then each repair."""
        before, found = Layered(base, {}), []
        for one in self._kept():
            after = Layered(base, self._held_after(one))
            files = step_changes(before, after, self._put_once)
            if isinstance(one, KeptStep):
                found.append(StepChanges(step=one.id, changes=files, nothing_to_do=one.nothing_to_do))
            else:
                found.append(StepChanges(repair=one.number, changes=files))
            before = after
        return found

    def repairs(self) -> list[Repair]:
        """What the report says of the kept repairs."""
        return [Repair.model_validate_json(self.get(one.told_ref)) for one in self.work.repairs]

    def done(self, step: int) -> bool:
        """True for a step that is kept."""
        return step in [one.id for one in self.work.steps]

    def notes(self) -> list[str]:
        """What the report says of the kept steps."""
        return [note for one in self.work.steps for note in one.notes]

    def uncounted(self, meter: Meter) -> Spent:
        """What was spent and is in no fact so far."""
        return meter.total.beyond(self.work.spent)

    def keep(self, step: StepChanges, notes: list[str], held: Mapping[str, Held | None], meter: Meter) -> None:
        """The step is kept with the files as they are now: whatever happens later, no model is asked for it again."""
        files_ref = self._files_ref(held)
        kept = KeptStep(id=step.step, files_ref=files_ref, notes=tuple(notes), nothing_to_do=step.nothing_to_do)
        spent = self.uncounted(meter)
        self.tell(kept, spent)
        self.work = self.work.plus(kept, spent)

    def keep_repair(self, told: Repair, held: Mapping[str, Held | None], meter: Meter) -> None:
        """The repair is kept with the files as they are now, and counts among those that the execution may have."""
        told_ref = self.put(canonical(told), "application/json")
        kept = KeptRepair(number=told.number, files_ref=self._files_ref(held), told_ref=told_ref)
        spent = self.uncounted(meter)
        self.tell(kept, spent)
        self.work = self.work.repaired(kept, spent)

    def _kept(self) -> tuple[KeptStep | KeptRepair, ...]:
        return (*self.work.steps, *self.work.repairs)

    def _files_ref(self, held: Mapping[str, Held | None]) -> str:
        return self.put(canonical(layer_of(self.base_commit, held, self._put_once)), "application/json")

    def _held_after(self, step: KeptStep | KeptRepair) -> dict[str, Held | None]:
        layer = Layer.model_validate_json(self.get(step.files_ref))
        return held_in(layer, self.base_commit, self.get)

    def _put_once(self, content: bytes) -> str:
        if content not in self._refs:
            self._refs[content] = self.put(content, "application/octet-stream")
        return self._refs[content]
