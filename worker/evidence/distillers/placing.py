"""Where each kept line stands among its likes, seen when the whole output has been read."""

import re
from collections.abc import Sequence

from worker.evidence.distillers.marks import Mark, Role

ECHO = 30
"""Where a failure stands that only says what others have said."""
_SHAPED = frozenset({Role.HEAD, Role.MESSAGE, Role.ALARM, Role.NOTE})
_NAMES = re.compile(r"\S*[\d/\\.]\S*|\s+")
_SHAPE_CHARACTERS = 160


def place(marks: Sequence[Mark]) -> None:
    """Failures are counted from whichever end is nearer: the first cause, the last word. So are lines within one.

    Lines that are alike but for names and numbers know how many stand before and after.
    """
    told = {mark.block for mark in marks if mark.role is Role.MESSAGE}
    echoes = {mark.block for mark in marks if mark.first_role is Role.MESSAGE} - told
    _count_alike(marks)
    order: dict[int, int] = {}
    for mark in marks:
        if mark.role in (Role.HEAD, Role.MESSAGE) and mark.block not in echoes:
            order.setdefault(mark.block, len(order))
    _count_within(marks)
    last = len(order) - 1
    for mark in marks:
        at = order.get(mark.block)
        mark.block = ECHO if at is None else min(at, last - at)


def _count_alike(marks: Sequence[Mark]) -> None:
    shapes: dict[str, list[Mark]] = {}
    for mark in marks:
        if mark.role in _SHAPED:
            shapes.setdefault(_NAMES.sub("", mark.line[:_SHAPE_CHARACTERS]), []).append(mark)
    for alike in shapes.values():
        for at, mark in enumerate(alike):
            mark.likeness = min(at, len(alike) - 1 - at)


def _count_within(marks: Sequence[Mark]) -> None:
    """Frames are counted anew after each message: the cause's own come before the end of what it caused."""
    groups: dict[tuple[Role, int, int], list[Mark]] = {}
    trace = 0
    for mark in marks:
        role = mark.role
        if role is Role.MESSAGE:
            trace += 1
        key = (role, 0 if role is Role.ID else mark.block, trace if role is Role.FRAME else 0)
        groups.setdefault(key, []).append(mark)
    for (role, _, _), group in groups.items():
        last = len(group) - 1
        for at, mark in enumerate(group):
            mark.place = at if role in (Role.FRAME, Role.DETAIL) else min(at, last - at)
