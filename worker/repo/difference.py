"""Differences between two states of files: a unified diff that git can apply, and counts of changed lines."""

from collections.abc import Callable, Iterator
from typing import cast

from app.core.digest import blob_id
from app.core.patch import ChangeKind, FileChange, FileMode
from worker.repo.aligning import Opcode, opcodes
from worker.repo.edits import EditedFile, Layered
from worker.repo.tree import Tree

CONTEXT_LINES = 3


def unified_diff(base: Tree, changes: tuple[EditedFile, ...]) -> str:
    """All changes as git writes them. Bytes that are not UTF-8 are kept as surrogate escapes."""
    return "".join(_file_diff(_before(base, change), change) for change in changes)


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Lines added and lines removed; a binary content counts as none."""
    if b"\0" in before or b"\0" in after:
        return 0, 0
    added = removed = 0
    for tag, i1, i2, j1, j2 in opcodes(_lines(before), _lines(after)):
        if tag != "equal":
            removed += i2 - i1
            added += j2 - j1
    return added, removed


def file_changes(base: Tree, changes: tuple[EditedFile, ...], keep: Callable[[bytes], str]) -> tuple[FileChange, ...]:
    """The changes with their contents handed to `keep`, which answers with the SHA-256 that finds them again."""
    out = []
    for change in changes:
        added, removed = changed_lines(_before(base, change), change.content or b"")
        out.append(
            FileChange(
                kind=change.kind,
                path=change.path,
                mode=change.mode,
                content_ref=None if change.content is None else keep(change.content),
                size=len(change.content or b""),
                base_blob=change.base_blob,
                old_path=change.old_path,
                added_lines=added,
                removed_lines=removed,
            )
        )
    return tuple(out)


def step_changes(before: Layered, after: Layered, keep: Callable[[bytes], str]) -> tuple[FileChange, ...]:
    """What is different between two states of one patch; a moved file went and came."""
    changes = tuple(_changes_between(before, after))
    return file_changes(before, changes, keep)


def _changes_between(before: Layered, after: Layered) -> Iterator[EditedFile]:
    for path in sorted(before.edited_paths() | after.edited_paths()):
        was, now = before.entry(path), after.entry(path)
        blob = None if was is None else was.blob or blob_id(before.read(path))
        if now is None:
            if was is not None:
                yield EditedFile("delete", path, cast(FileMode, was.mode), None, None, blob)
        elif was is None or was.mode != now.mode or before.read(path) != after.read(path):
            kind: ChangeKind = "create" if was is None else "change"
            yield EditedFile(kind, path, cast(FileMode, now.mode), after.read(path), None, blob)


def _before(base: Tree, change: EditedFile) -> bytes:
    return b"" if change.kind == "create" else base.read(change.old_path or change.path)


def _file_diff(before: bytes, change: EditedFile) -> str:
    old_name, new_name = change.old_path or change.path, change.path
    after = change.content or b""
    head = [f"diff --git {_quoted('a/' + old_name)} {_quoted('b/' + new_name)}\n"]
    if change.kind == "create":
        head.append(f"new file mode {change.mode}\n")
    elif change.kind == "delete":
        head.append(f"deleted file mode {change.mode}\n")
    elif change.kind == "move":
        head.append(f"rename from {_quoted(old_name)}\nrename to {_quoted(new_name)}\n")
    if before == after:
        return "".join(head)
    old_side = "/dev/null" if change.kind == "create" else _sided("a/" + old_name)
    new_side = "/dev/null" if change.kind == "delete" else _sided("b/" + new_name)
    if b"\0" in before or b"\0" in after:
        return "".join([*head, f"Binary files {old_side.rstrip()} and {new_side.rstrip()} differ\n"])
    return "".join([*head, f"--- {old_side}\n+++ {new_side}\n", *_hunks(_lines(before), _lines(after))])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"' if '"' in name else name


def _sided(name: str) -> str:
    """A name after --- or +++; git ends one that holds a blank with a tab."""
    quoted = _quoted(name)
    return quoted + "\t" if " " in name and quoted == name else quoted


def _lines(content: bytes) -> list[str]:
    pieces = content.decode("utf-8", "surrogateescape").split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _grouped(every: list[Opcode]) -> Iterator[list[Opcode]]:
    """Runs of changes with at most three equal lines around them; runs that would touch are one."""
    group: list[Opcode] = []
    last = len(every) - 1
    for number, (tag, i1, i2, j1, j2) in enumerate(every):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        ahead = 0 if number == 0 else CONTEXT_LINES
        behind = 0 if number == last else CONTEXT_LINES
        if group and i2 - i1 <= ahead + behind and number != last:
            group.append((tag, i1, i2, j1, j2))
            continue
        if group:
            cut = min(ahead, i2 - i1)
            yield [*group, (tag, i1, i1 + cut, j1, j1 + cut)]
        keep = min(behind, i2 - i1)
        group = [(tag, i2 - keep, i2, j2 - keep, j2)] if behind else []
    if any(tag != "equal" for tag, *_ in group):
        yield group


def _hunks(before: list[str], after: list[str]) -> Iterator[str]:
    for group in _grouped(opcodes(before, after)):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@\n"
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                yield from (_marked(" ", line) for line in before[a1:a2])
                continue
            yield from (_marked("-", line) for line in before[a1:a2])
            yield from (_marked("+", line) for line in after[b1:b2])


def _marked(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _range(start: int, stop: int) -> str:
    count = stop - start
    if count == 1:
        return str(start + 1)
    return f"{start if count == 0 else start + 1},{count}"
