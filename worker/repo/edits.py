"""The edit engine: edits are values applied to an overlay in memory, never writes to a disk.

A step is a transaction: its edits are seen by its own reads, and reach the overlay together or not at all.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from app.core.patch import ChangeKind, FileMode
from app.core.paths import safe_path, shown
from app.core.verdict import Allowed, Refused, Verdict
from worker.repo.fence import Create, Delete, Edit, Fence, Move, Replace
from worker.repo.filetext import MAX_TEXT_BYTES, FileText, decode
from worker.repo.placing import AlreadyThere, place
from worker.repo.tree import EXECUTABLE, FILE, Entry, Tree

_LEFT_OUT = re.compile(
    r"^\s*(?:#|//|/\*|--|<!--|;|%|\*)?\s*(?:\.\.\.|…).*\b(?:existing|rest|unchanged|remaining|same|previous|omitted)\b"
    r"|^\s*(?:#|//|/\*|--|<!--|;|%)\s*(?:existing|rest of|unchanged|remaining)\b.*(?:\.\.\.|…)",
    re.IGNORECASE | re.MULTILINE,
)


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
class _Held:
    content: bytes
    mode: FileMode
    came_from: str | None


_Layer = dict[str, _Held | None]
"""Paths that differ from the base; None where the file is gone."""

BrokenAt = Callable[[str, bytes], int | None]
"""The first line at which a file does not parse; None where it does, or where its language is not known."""


def _never_broken(_path: str, _content: bytes) -> int | None:
    return None


class _Layered:
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


class Overlay(_Layered):
    """The state of a patch in the making over a base tree. It changes only when a step is kept."""

    def __init__(self, base: Tree, broken_at: BrokenAt = _never_broken) -> None:
        super().__init__(base, {})
        self._broken_at = broken_at
        self._kept_steps = 0

    @property
    def base(self) -> Tree:
        """The tree below, without any edit."""
        return self._base

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

    def _is_move(self, path: str, held: _Held) -> bool:
        origin = held.came_from
        gone = origin is not None and origin != path and origin in self._layer and self._layer[origin] is None
        return gone and self._base.entry(path) is None

    def _take(self, layer: _Layer, began_at: int) -> None:
        if began_at != self._kept_steps:
            raise RuntimeError("another step was kept since this one began")
        self._layer = layer
        self._kept_steps += 1


class StepEdits(_Layered):
    """One step's edits. Every method answers with what it did or why it did not; nothing is done by halves."""

    def __init__(self, overlay: Overlay, fence: Fence) -> None:
        super().__init__(overlay.base, dict(overlay._layer))
        self._overlay = overlay
        self._fence = fence
        self._began_at = overlay._kept_steps
        self._missed: dict[str, str] = {}
        self._touched: set[str] = set()

    def apply(self, edit: Edit) -> Applied | Refused:
        """One edit of any kind."""
        match edit:
            case Replace(path, old, new):
                return self.replace(path, old, new)
            case Create(path, content):
                return self.create(path, content)
            case Delete(path):
                return self.delete(path)
            case Move(path, to):
                return self.move(path, to)

    def replace(self, path: str, old: str, new: str) -> Applied | Refused:
        """Replaces the one place where `old` stands. A text that is not found stays owed until the path is mended."""
        ready = self._ready(path, "change") or self._present(path)
        if ready is not None:
            return ready
        text = decode(path, self.read(path))
        if isinstance(text, Refused):
            return text
        made = self._replaced(path, text, old.replace("\r\n", "\n"), new.replace("\r\n", "\n"))
        if isinstance(made, Refused):
            self._missed[path] = made.reason
        else:
            self._missed.pop(path, None)
        return made

    def _replaced(self, path: str, text: FileText, old: str, new: str) -> Applied | Refused:
        if _LEFT_OUT.search(new) and not _LEFT_OUT.search(old):
            return Refused("The new text holds a placeholder for code that it leaves out.", "Write the lines in full.")
        placed = place(text.plain, old, new)
        if isinstance(placed, AlreadyThere):
            return Applied(
                f"Already so: {shown(path)} has this text at line {placed.line}. Nothing changed.", fresh=False
            )
        if isinstance(placed, Refused):
            return placed
        edited = text.spliced(placed.start, placed.end, placed.new)
        if edited.raw == text.raw:
            return Refused("The edit would change nothing: the end of a file stays as it was.")
        if not edited.raw.strip() and text.raw.strip():
            return Refused("The edit would empty the whole file.", "Delete the file where the plan says so.")
        try:
            content = edited.encoded()
        except UnicodeEncodeError:
            return Refused("The new text is not valid Unicode.")
        if len(content) > MAX_TEXT_BYTES:
            return Refused(f"The file would become larger than {MAX_TEXT_BYTES:,} bytes.")
        self._write(path, content)
        line = text.plain.count("\n", 0, placed.start) + 1
        overlooked = f" Overlooked: {placed.how}." if placed.how else ""
        return Applied(f"Replaced at line {line} of {shown(path)}.{overlooked}")

    def rewrite(self, path: str, content: bytes) -> Applied | Refused:
        """Puts a whole new content into a file, byte for byte; for trusted code, whose results are pinned."""
        ready = self._ready(path, "change") or self._present(path)
        if ready is not None:
            return ready
        self._write(path, content)
        return Applied(f"Rewrote {shown(path)} ({len(content):,} bytes).")

    def create(self, path: str, content: str) -> Applied | Refused:
        """Makes a file where nothing is, byte for byte as given."""
        refused = self._ready(path, "create")
        if refused is not None:
            return refused
        if self.entry(path) is not None or self.is_folder(path):
            return Refused(f"{shown(path)} exists already.", "Use replace on a file that exists.")
        if _LEFT_OUT.search(content):
            return Refused("The content holds a placeholder for code that it leaves out.", "Write the file in full.")
        try:
            raw = content.encode("utf-8")
        except UnicodeEncodeError:
            return Refused("The content is not valid Unicode.")
        if len(raw) > MAX_TEXT_BYTES or b"\0" in raw:
            return Refused(f"A new file is text of at most {MAX_TEXT_BYTES:,} bytes.")
        self._layer[path] = _Held(raw, FILE, None)
        self._done(path)
        return Applied(f"Created {shown(path)} ({len(raw):,} bytes).")

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
        self._layer[to] = _Held(held.content, held.mode, origin)
        self._done(path)
        self._done(to)
        return Applied(f"Moved {shown(path)} to {shown(to)}.")

    def keep(self) -> Verdict:
        """Hands the step to the overlay. Refused, with nothing kept, while an edit is owed or a file is broken."""
        for path, reason in self._missed.items():
            return Refused(
                f"An edit in {shown(path)} was not made: {reason}", "Make it, or say that the step cannot be done."
            )
        for path in sorted(self._touched):
            line = self._breaks(path)
            if line is not None:
                return Refused(f"{shown(path)} no longer parses: see line {line}.", "Mend it before the step is done.")
        self._overlay._take(dict(self._layer), self._began_at)
        self._began_at += 1
        return Allowed()

    def _breaks(self, path: str) -> int | None:
        if self.entry(path) is None:
            return None
        line = self._overlay._broken_at(path, self.read(path))
        was = self._overlay.entry(path)
        if line is None or (was is not None and self._overlay._broken_at(path, self._overlay.read(path)) is not None):
            return None
        return line

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

    def _held(self, path: str) -> _Held:
        known = self._layer.get(path)
        if known is not None:
            return known
        executable = cast(Entry, self.entry(path)).mode == EXECUTABLE
        return _Held(self.read(path), EXECUTABLE if executable else FILE, None)

    def _write(self, path: str, content: bytes) -> None:
        held = self._held(path)
        self._layer[path] = _Held(content, held.mode, held.came_from)
        self._done(path)

    def _done(self, path: str) -> None:
        self._touched.add(path)
        self._missed.pop(path, None)
