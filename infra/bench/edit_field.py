"""Edit blocks as models write them, each with the verdict that is right, held against what a step makes of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.core.verdict import Refused
from worker.repo.edits import Applied, Overlay, StepEdits
from worker.repo.fence import Fence, Outside
from worker.repo.placed import NotPlaced, Why
from worker.repo.syntax import broken_at
from worker.repo.tree import Entry

_BY_KIND = {
    Why.EMPTY: ("reject_overwrite",),
    Why.SEVERAL: ("reject_ambiguous",),
    Why.NOT_FOUND: ("reject_not_found", "ask_or_fuzzy"),
    Why.UNCLEAR: ("ask_or_fuzzy",),
    Why.LEFT_OUT: ("reject_lazy",),
    Why.CHANGED_BEFORE: ("reject_conflict_with_earlier",),
}
_CLEANED = ("line numbers", "escapes")


@dataclass(frozen=True, slots=True)
class _OneFile:
    """A tree that holds a single file."""

    path: str
    content: bytes

    def entry(self, path: str) -> Entry | None:
        return Entry(path, "100644", len(self.content), "0" * 40) if path == self.path else None

    def is_folder(self, path: str) -> bool:
        return self.path.startswith(path + "/")

    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def read(self, path: str) -> bytes:
        if path != self.path:
            raise KeyError(path)
        return self.content


def verdicts(file: Path) -> dict[str, Any]:
    """How many verdicts are right, and those that are not."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    given = {row["cls"]: (_verdicts(row), row["expect"]) for row in rows}
    wrong = {name: {"given": got, "right": right} for name, (got, right) in given.items() if right not in got}
    return {"blocks": len(rows), "right": len(rows) - len(wrong), "wrong": wrong}


def _verdicts(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The verdicts that what happened stands for. The plan changes the file itself and makes a voucher."""
    where = "docs/cart.rst" if row["path"].startswith("docs") else "shop/cart.py"
    tree = _OneFile(where, row["file"].encode())
    overlay = Overlay(tree, broken_at)
    step = overlay.begin(Fence({where: "change", "shop/voucher.py": "create"}))
    got = _made(step, row)
    if "then" in row and "apply" in got:
        after = _made(step, {**row, **row["then"]})
        return ("apply_in_order",) if row["then"]["expect"] in after and "dirty" not in _now(step, where) else after
    kept = step.keep()
    if any(word.startswith("apply") for word in got) and isinstance(kept, Refused):
        broken = "no longer parses" in kept.reason and overlay.read(where) == tree.content
        return ("apply_then_fail_check", "reject_truncated") if broken else (kept.reason,)
    return got


def _now(step: StepEdits, path: str) -> str:
    return step.read(path).decode()


def _made(step: StepEdits, row: Mapping[str, Any]) -> tuple[str, ...]:
    before = {path: _now(step, path) for path in (row["path"],) if step.entry(path) is not None}
    if "udiff" in row:
        outcome = step.patch(row["path"], row["udiff"])
    elif not row["search"] and not before:
        outcome = step.create(row["path"], row["replace"])
    else:
        outcome = step.replace(row["path"], row["search"], row["replace"])
    if isinstance(outcome, Applied):
        return _applied(outcome, row, before)
    if step.entry(row["path"]) is not None and _now(step, row["path"]) != before[row["path"]]:
        return ("refused, and yet the file changed",)
    return _refused(outcome)


def _applied(outcome: Applied, row: Mapping[str, Any], before: Mapping[str, str]) -> tuple[str, ...]:
    if not outcome.fresh:
        return ("noop",)
    if row["path"] not in before:
        return ("create",)
    if "udiff" in row:
        return ("apply_cleaned",) if "left out" in outcome.said else ("apply_by_context",)
    if any(word in outcome.said for word in _CLEANED):
        return ("apply_cleaned",)
    return ("apply_reindented",) if "the indent" in outcome.said else ("apply",)


def _refused(refused: Refused) -> tuple[str, ...]:
    if isinstance(refused, NotPlaced):
        return _BY_KIND.get(refused.why, (refused.reason,))
    if isinstance(refused, Outside):
        return ("reject_scope",)
    if "empty the whole file" in refused.reason:
        return ("ask_large_delete",)
    return (refused.reason,)
