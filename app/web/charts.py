"""Charts as drawings: places and sizes worked out here, so that templates only write them down."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 560
HEIGHT = 220
LEFT = 52
BOTTOM = 34
TOP = 14


@dataclass(frozen=True, slots=True)
class Column:
    """One column or point of a chart; without a value there is only its name."""

    x: float
    middle: float
    y: float
    width: float
    height: float
    name: str
    told: str
    """Its value in words; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its lines of reference."""

    columns: tuple[Column, ...]
    rules: tuple[tuple[float, str], ...]
    """Heights of the lines of reference, and what they stand for."""
    floor: float


def columns_of(values: Sequence[tuple[str, float | None, str]], most: float | None = None) -> Chart:
    """A chart of these values, each with its name and in words; `most` is the top, where it does not follow of them."""
    top = most or _round_up(max((value for _, value, _ in values if value is not None), default=1.0))
    floor, room = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    step = (WIDTH - LEFT - 8) / max(len(values), 1)
    drawn = []
    for at, (name, value, told) in enumerate(values):
        tall = room * min((value or 0.0) / top, 1.0)
        width = min(step * 0.62, 56.0)
        middle = LEFT + step * (at + 0.5)
        words = told if value is not None else ""
        drawn.append(Column(middle - width / 2, middle, floor - tall, width, tall, name, words))
    rules = tuple((floor - room * part / 4, _short(top * part / 4)) for part in range(5))
    return Chart(tuple(drawn), rules, floor)


def _round_up(value: float) -> float:
    """The next number that is easy to read: 1, 2, 2.5 or 5 with noughts."""
    if value <= 0:
        return 1.0
    size: float = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * size >= value * 0.999)


def _short(value: float) -> str:
    return f"{value:.3g}"
