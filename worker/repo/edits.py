"""The edit engine: edits are values applied to an overlay in memory, never writes to a disk.

A step is a transaction: its edits are seen by its own reads, and reach the overlay together or not at all.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from app.core.patch import ChangeKind, FileMode
from app.core.paths import safe_path, shown
from app.core.verdict import Allowed, Refused, Verdict
from worker.repo.fence import Create, Delete, Edit, Fence, Insert, Move, Replace, Write
from worker.repo.placed import NotPlaced, Why
from worker.repo.textedits import Made, Outcome, inserted, line_in, made, replaced, written
from worker.repo.tree import EXECUTABLE, FILE, Entry, Tree
from worker.repo.udiff import Hunks, hunks_of

REMEMBERED = 16
"""How many earlier contents of a file a step keeps, to know what an edit of its own has changed."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The edit was made, or was found made already (`fresh` is false then). `said` is one sentence for the model."""

    said: str
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class EditedFile:
    """One file's difference to the base: `content` is None for a deletion; `base_blob` is None for a new file."""

    kind: ChangeKind
    path: str
    mode: FileMode
    content: bytes | None
    old_path: str | None
    base_blob: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """A file as the edits left it; `came_from` is the path of the base's file that was moved here."""

    content: bytes
    mode: FileMode
    came_from: str | None


_Layer = dict[str, Held | None]
"""Paths that differ from the base; None where the file is gone."""

BrokenAt = Callable[[str, bytes], int | None]
"""The first line at which a file does not parse; None where it does, or where its language is not known."""


def _never_broken(_path: str, _content: bytes) -> int | None:
    return None


class Layered:
    """A tree with a layer of edits on it; reads see the edits."""

    def __init__(self, base: Tree, layer: _Layer) -> None:
        self._base = base
        self._layer = layer

    def entry(self, path: str) -> Entry | None:
        if path in self._layer:
            held = self._layer[path]
            return None if held is None else Entry(path, held.mode, len(held.content), "")
        return self._base.entry(path)

    def is_folder(self, path: str) -> bool:
        """True when the base has files below this path, deleted ones included, or the layer does."""
        below = path + "/"
        new = any(held is not None and name.startswith(below) for name, held in self._layer.items())
        return new or self._base.is_folder(path)

    def paths(self) -> Iterable[str]:
        """Every path in it, those of the layer last."""
        yield from (path for path in self._base.paths() if path not in self._layer)
        yield from (path for path, held in self._layer.items() if held is not None)

    def read(self, path: str) -> bytes:
        if path not in self._layer:
            return self._base.read(path)
        held = self._layer[path]
        if held is None:
            raise KeyError(path)
        return held.content

    def edited_paths(self) -> frozenset[str]:
        """Every path that the layer holds or hides."""
        return frozenset(self._layer)


class Overlay(Layered):
    """The state of a patch in the making over a base tree. It changes only when a step is kept."""

    def __init__(self, base: Tree, broken_at: BrokenAt = _never_broken) -> None:
        super().__init__(base, {})
        self._broken_at = broken_at
        self._kept_steps = 0

    @property
    def base(self) -> Tree:
        """The tree below, without any edit."""
        return self._base

    def held(self) -> Mapping[str, Held | None]:
        """Every path that the kept steps touched, as they left it; None where the file is gone."""
        return dict(self._layer)

    def resume(self, held: Mapping[str, Held | None]) -> None:
        """Goes on from the steps that another overlay kept on the same base. Nothing may have been kept here before."""
        self._take(dict(held), 0)

    def at_present(self) -> Layered:
        """The tree as it is now, whatever is edited later."""
        return Layered(self._base, dict(self._layer))

    def begin(self, fence: Fence) -> "StepEdits":
        """A step over the present state. Dropping it without `keep` leaves nothing of it."""
        return StepEdits(self, fence)

    def apply_all(self, fence: Fence, edits: Iterable[Edit]) -> Verdict:
        """Makes all edits as one step, or none; the refusal says which edit failed."""
        step = self.begin(fence)
        for number, edit in enumerate(edits, start=1):
            made = step.apply(edit)
            if isinstance(made, Refused):
                name = type(edit).__name__.lower()
                return Refused(f"Edit {number} ({name} in {shown(edit.path)}): {made.reason}", made.remedy)
        return step.keep()

    def changes(self) -> tuple[EditedFile, ...]:
        """The differences to the base, by path. A file edited back to what it was is not among them."""
        out: list[EditedFile] = []
        moved_away = {held.came_from for path, held in self._layer.items() if held and self._is_move(path, held)}
        for path in sorted(self._layer):
            held, was = self._layer[path], self._base.entry(path)
            if held is None:
                if was is not None and path not in moved_away:
                    out.append(EditedFile("delete", path, cast(FileMode, was.mode), None, None, was.blob))
            elif self._is_move(path, held):
                origin = cast(str, held.came_from)
                blob = cast(Entry, self._base.entry(origin)).blob
                out.append(EditedFile("move", path, held.mode, held.content, origin, blob))
            elif was is None:
                out.append(EditedFile("create", path, held.mode, held.content, None, None))
            elif was.mode != held.mode or self._base.read(path) != held.content:
                out.append(EditedFile("change", path, held.mode, held.content, None, was.blob))
        return tuple(out)

    def _is_move(self, path: str, held: Held) -> bool:
        origin = held.came_from
        gone = origin is not None and origin != path and origin in self._layer and self._layer[origin] is None
        return gone and self._base.entry(path) is None

    def _take(self, layer: _Layer, began_at: int) -> None:
        if began_at != self._kept_steps:
            raise RuntimeError("another step was kept since this one began")
        self._layer = layer
        self._kept_steps += 1


class StepEdits(Layered):
    """One step's edits. Every method answers with what it did or why it did not; nothing is done by halves."""

    def __init__(self, overlay: Overlay, fence: Fence) -> None:
        super().__init__(overlay.base, dict(overlay._layer))
        self._overlay = overlay
        self._fence = fence
        self._began_at = overlay._kept_steps
        self._missed: dict[str, str] = {}
        self._before: dict[str, deque[bytes]] = {}
        self._touched: set[str] = set()

    def apply(self, edit: Edit) -> Applied | Refused:
        """One edit of any kind."""
        match edit:
            case Replace(path, old, new):
                return self.replace(path, old, new)
            case Insert():
                return self.insert(edit)
            case Write(path, content):
                return self.write(path, content)
            case Create(path, content):
                return self.create(path, content)
            case Delete(path):
                return self.delete(path)
            case Move(path, to):
                return self.move(path, to)

    def replace(self, path: str, old: str, new: str) -> Applied | Refused:
        """Replaces the one place where `old` stands. A text that is not found stays owed until the path is mended."""
        return self._change(path, lambda content: self._named(path, replaced(path, content, old, new), old))

    def insert(self, edit: Insert) -> Applied | Refused:
        """Puts lines before or after those of an anchor, which must stand in one place; owed as with `replace`."""
        path, anchor = edit.path, edit.anchor
        return self._change(
            path,
            lambda content: self._named(path, inserted(path, content, anchor, edit.text, edit.where), anchor),
        )

    def write(self, path: str, content: str) -> Applied | Refused:
        """Gives a file a whole new content; its line ends, byte order mark, last newline and mode stay."""
        return self._change(path, lambda before: written(path, before, content))

    def patch(self, path: str, diff: str) -> Applied | Refused:
        """Makes the changes of a unified diff, found by their lines and not by its numbers: all of them, or none.

        What it holds for other files is left out, and said.
        """
        hunks = hunks_of(diff, path)
        if isinstance(hunks, Refused):
            return hunks
        return self._change(path, lambda content: self._patched(path, content, hunks))

    def _patched(self, path: str, content: bytes, hunks: Hunks) -> Outcome:
        said: list[str] = []
        changed = False
        for number, (old, new) in enumerate(hunks.changes, start=1):
            outcome = self._named(path, replaced(path, content, old, new), old)
            if isinstance(outcome, Refused):
                return replace(outcome, reason=f"Part {number} of the diff: {outcome.reason}")
            content, changed = outcome.content, changed or outcome.fresh
            said.append(outcome.said)
        if hunks.elsewhere:
            others = ", ".join(shown(name) for name in hunks.elsewhere)
            said.append(f"The parts of the diff for {others} were left out: this call is for one file.")
        return Made(content, " ".join(said), changed)

    def _change(self, path: str, change: Callable[[bytes], Outcome]) -> Applied | Refused:
        ready = self._ready(path, "change") or self._present(path)
        if ready is not None:
            return ready
        outcome = change(self.read(path))
        if isinstance(outcome, Refused):
            if not (isinstance(outcome, NotPlaced) and outcome.why is Why.DONE):
                self._missed[path] = outcome.reason
            return outcome
        self._missed.pop(path, None)
        if not outcome.fresh:
            return Applied(outcome.said, fresh=False)
        self._before.setdefault(path, deque(maxlen=REMEMBERED)).append(self.read(path))
        self._put(path, outcome.content)
        return Applied(outcome.said + self._broken_now(path))

    def _named(self, path: str, outcome: Outcome, old: str) -> Outcome:
        """A text that is not found but was, before an edit: then the refusal says which edit changed it."""
        if not isinstance(outcome, NotPlaced) or outcome.why is not Why.NOT_FOUND:
            return outcome
        for content in reversed(self._before.get(path, ())):
            if (line := line_in(path, content, old)) is not None:
                what = f"An earlier edit of this step changed what the search text names; it was at line {line}."
                return NotPlaced(what, outcome.remedy, Why.CHANGED_BEFORE)
        base = self._base.entry(path)
        changed = base is not None and base.kind == "file" and path in self._overlay.edited_paths()
        if changed and (line := line_in(path, self._base.read(path), old)) is not None:
            what = "The file has changed since the plan was made: an earlier step changed what is searched for"
            return NotPlaced(f"{what}; it was at line {line}.", outcome.remedy, Why.CHANGED_BEFORE)
        return outcome

    def rewrite(self, path: str, content: bytes) -> Applied | Refused:
        """Puts a whole new content into a file, byte for byte; for trusted code, whose results are pinned."""
        ready = self._ready(path, "change") or self._present(path)
        if ready is not None:
            return ready
        self._put(path, content)
        return Applied(f"Rewrote {shown(path)} ({len(content):,} bytes).")

    def create(self, path: str, content: str) -> Applied | Refused:
        """Makes a file where nothing is, byte for byte as given."""
        refused = self._ready(path, "create")
        if refused is not None:
            return refused
        raw = made(path, content)
        if isinstance(raw, Refused):
            return raw
        there = self.entry(path)
        if there is not None and self.read(path) == raw:
            return Applied(f"Already so: {shown(path)} has exactly this content. Nothing changed.", fresh=False)
        if there is not None or self.is_folder(path):
            return Refused(f"{shown(path)} exists already.", "Use replace on a file that exists.")
        self._layer[path] = Held(raw, FILE, None)
        self._done(path)
        return Applied(f"Created {shown(path)} ({len(raw):,} bytes)." + self._broken_now(path))

    def delete(self, path: str) -> Applied | Refused:
        """Deletes a file."""
        refused = self._ready(path, "delete") or self._present(path)
        if refused is not None:
            return refused
        self._layer[path] = None
        self._done(path)
        return Applied(f"Deleted {shown(path)}.")

    def move(self, path: str, to: str) -> Applied | Refused:
        """Moves a file to where nothing is; its mode and content stay."""
        refused = self._ready(path, "move") or self._present(path) or self._sound(to)
        if refused is not None:
            return refused
        if self._fence.moves.get(path) != to:
            return Refused(f"The plan does not move {shown(path)} to {shown(to)}.")
        if self.entry(to) is not None or self.is_folder(to):
            return Refused(f"{shown(to)} exists already.")
        held = self._held(path)
        origin = held.came_from or (path if self._base.entry(path) is not None else None)
        self._layer[path] = None
        self._layer[to] = Held(held.content, held.mode, origin)
        self._done(path)
        self._done(to)
        return Applied(f"Moved {shown(path)} to {shown(to)}.")

    def refusal(self) -> Refused | None:
        """Why the step cannot be kept as it is: an edit is owed, or a file no longer parses. None where it can."""
        for path, reason in self._missed.items():
            return Refused(
                f"An edit in {shown(path)} was not made: {reason}", "Make it, or say that the step cannot be done."
            )
        for path in sorted(self._touched):
            line = self.breaks(path)
            if line is not None:
                return Refused(f"{shown(path)} no longer parses: see line {line}.", "Mend it before the step is done.")
        return None

    def keep(self) -> Verdict:
        """Hands the step to the overlay; refused, with nothing kept, as `refusal` says."""
        refused = self.refusal()
        if refused is not None:
            return refused
        self._overlay._take(dict(self._layer), self._began_at)
        self._began_at += 1
        return Allowed()

    def breaks(self, path: str) -> int | None:
        """The first line at which the file does not parse, where it did before the step; else None."""
        if self.entry(path) is None:
            return None
        line = self._overlay._broken_at(path, self.read(path))
        was = self._overlay.entry(path)
        if line is None or (was is not None and self._overlay._broken_at(path, self._overlay.read(path)) is not None):
            return None
        return line

    def touched(self) -> frozenset[str]:
        """The paths that the step has edited, the two of a move among them."""
        return frozenset(self._touched)

    def _broken_now(self, path: str) -> str:
        line = self.breaks(path)
        return "" if line is None else f" As it stands now the file does not parse: see line {line}."

    def _ready(self, path: str, kind: ChangeKind) -> Refused | None:
        return self._sound(path) or self._fence.refusal(path, kind, self._base)

    def _sound(self, path: str) -> Refused | None:
        """Refuses unsafe spellings, and a link, a submodule or a file anywhere on the way (case PI-03)."""
        checked = safe_path(path)
        if isinstance(checked, Refused):
            return checked
        parts = path.split("/")
        for depth in range(1, len(parts)):
            above = self.entry("/".join(parts[:depth]))
            if above is not None:
                return Refused(
                    f"{shown(path)}: {shown(above.path)} is a {above.kind}, not a folder; nothing below it is touched."
                )
        there = self.entry(path)
        if there is not None and there.kind != "file":
            return Refused(f"{shown(path)} is a {there.kind}; it is not edited or replaced.")
        return None

    def _present(self, path: str) -> Refused | None:
        if self.entry(path) is not None:
            return None
        what = "is a folder" if self.is_folder(path) else "does not exist"
        return Refused(f"{shown(path)} {what}.")

    def _held(self, path: str) -> Held:
        known = self._layer.get(path)
        if known is not None:
            return known
        executable = cast(Entry, self.entry(path)).mode == EXECUTABLE
        return Held(self.read(path), EXECUTABLE if executable else FILE, None)

    def _put(self, path: str, content: bytes) -> None:
        held = self._held(path)
        self._layer[path] = Held(content, held.mode, held.came_from)
        self._done(path)

    def _done(self, path: str) -> None:
        self._touched.add(path)
        self._missed.pop(path, None)
