"""What one step may touch, and the edits that it may ask for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.core.patch import ChangeKind
from app.core.paths import shown
from app.core.plan import FileStep, MoveFile
from app.core.verdict import Refused
from worker.repo.placing import Where
from worker.repo.tree import Tree


@dataclass(frozen=True, slots=True)
class Outside(Refused):
    """The step does not reach this far."""


def _nowhere(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Fence:
    """What one step may touch: `allowed` says per path with which kind; `moves` where a moved path goes.

    `beside` is the plan's rule for sibling tests: such a path may be changed or created.
    """

    allowed: Mapping[str, ChangeKind]
    moves: Mapping[str, str] = field(default_factory=dict)
    beside: Callable[[str], bool] = _nowhere

    @classmethod
    def of(cls, step: FileStep, beside: Callable[[str], bool] = _nowhere) -> "Fence":
        """The fence of one step of a plan."""
        moves = {step.path: step.to} if isinstance(step, MoveFile) else {}
        return cls({step.path: step.kind}, moves, beside)

    def refusal(self, path: str, kind: ChangeKind, base: Tree) -> Outside | None:
        """Why the step may not do this, or None. A file made or moved by the step may be changed as well."""
        allowed = self.allowed.get(path)
        may_change = allowed == "change" or (allowed == "create" and base.entry(path) is None)
        if kind == "change" and (may_change or path in self.moves.values()):
            return None
        if kind != "change" and allowed == kind:
            return None
        if kind in ("change", "create") and self.beside(path):
            return None
        may = "; ".join(f"{each} {shown(name)}" for name, each in self.allowed.items()) or "nothing"
        return Outside(f"The step does not {kind} {shown(path)}.", f"It may: {may}.")


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces the one place where `old` stands in the file by `new`."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Insert:
    """Puts the lines of `text` before or after the whole lines of `anchor`; with none, at the file's start or end."""

    path: str
    anchor: str
    text: str
    where: Where = "after"


@dataclass(frozen=True, slots=True)
class Write:
    """Gives a file that is there a whole new content; for files that are not long."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Create:
    """Makes a new file with mode 100644."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Move:
    """Moves a file, with its mode, to a path where nothing is."""

    path: str
    to: str


Edit = Replace | Insert | Write | Create | Delete | Move
