"""A run's timeline as a drawing: a lane for people and for each belt, with long pauses drawn short."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.belts import Belt
from app.core.span import Span, SpanKind
from app.shown.happenings import PEOPLE, Happening

WIDTH = 1000
LEFT = 92
LANE = 34
PAUSE_WIDTH = 34
MOST_BARS = 1_500
LANES = (PEOPLE, *Belt)


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that took time, in its lane; places and sizes are of the drawing."""

    x: float
    y: float
    width: float
    height: float
    sort: str
    words: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Where nothing was done for long."""

    x: float
    words: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The drawing. `lanes` are names with the middle of each."""

    height: float
    lanes: tuple[tuple[str, float], ...]
    bars: tuple[Bar, ...]
    pauses: tuple[Pause, ...]
    seconds: float
    """Of work; the pauses are left out."""


@dataclass(frozen=True, slots=True)
class _Doing:
    lane: int
    begin: datetime
    end: datetime
    sort: str
    words: str


def timeline(happened: Sequence[Happening], spans: Sequence[Span]) -> Timeline:
    """The drawing of these facts of people and these spans."""
    doings = [_happened(one) for one in happened if one.by == PEOPLE] + [_did(span) for span in spans]
    doings = sorted(doings, key=lambda one: (one.begin, one.sort != "effect"))[:MOST_BARS]
    scale = _Scale(doings)
    return Timeline(
        height=LANE * len(LANES) + 26,
        lanes=tuple((str(name), LANE * at + LANE / 2) for at, name in enumerate(LANES)),
        bars=tuple(_bar(one, scale) for one in doings),
        pauses=tuple(Pause(x, words) for x, words in scale.pauses),
        seconds=scale.worked,
    )


def _happened(one: Happening) -> _Doing:
    return _Doing(0, one.at, one.at, PEOPLE, one.words)


def _did(span: Span) -> _Doing:
    name = span.name.replace("_", " ")
    said = "" if span.outcome == "ok" else f", {span.outcome}"
    words = f"{span.kind} {name}, {span.seconds:.1f} s{said}"
    end = span.began_at + timedelta(seconds=span.seconds)
    return _Doing(LANES.index(span.belt), span.began_at, end, str(span.kind), words)


class _Scale:
    """Where a moment stands. Work is drawn to scale; long pauses all have the same width."""

    def __init__(self, doings: Sequence[_Doing]) -> None:
        self.stretches = _stretches(doings)
        self.worked = sum((end - begin).total_seconds() for begin, end in self.stretches)
        room = WIDTH - LEFT - 8 - PAUSE_WIDTH * max(len(self.stretches) - 1, 0)
        self._per_second = max(room, 100) / self.worked if self.worked else 0.0
        self.places: list[float] = []
        self.pauses: list[tuple[float, str]] = []
        x, before = float(LEFT), None
        for begin, end in self.stretches:
            if before is not None:
                self.pauses.append((x + PAUSE_WIDTH / 2, _long(begin - before)))
                x += PAUSE_WIDTH
            self.places.append(x)
            x += (end - begin).total_seconds() * self._per_second
            before = end

    def __call__(self, at: datetime) -> float:
        for (begin, end), place in zip(self.stretches, self.places, strict=True):
            if at <= end:
                return place + max((at - begin).total_seconds(), 0.0) * self._per_second
        return float(WIDTH - 8)


def _stretches(doings: Sequence[_Doing]) -> list[tuple[datetime, datetime]]:
    """The times in which something was done, at most 12, with the longest pauses between them."""
    whole: list[tuple[datetime, datetime]] = []
    for one in doings:
        if whole and one.begin <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], one.end))
        else:
            whole.append((one.begin, one.end))
    worked = sum((end - begin).total_seconds() for begin, end in whole)
    gaps = sorted(((whole[at + 1][0] - whole[at][1]).total_seconds(), at) for at in range(len(whole) - 1))
    cut = {at for gap, at in gaps[-11:] if gap > max(5.0, worked / 4)}
    joined: list[tuple[datetime, datetime]] = []
    for at, (begin, end) in enumerate(whole):
        if at and at - 1 not in cut:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return joined


def _bar(one: _Doing, scale: _Scale) -> Bar:
    x, end, top = scale(one.begin), scale(one.end), LANE * one.lane
    if one.sort == PEOPLE:
        return Bar(x - 4, top + LANE / 2 - 4, 8, 8, one.sort, one.words)
    if one.sort == SpanKind.EFFECT:
        return Bar(x, top + 8, max(end - x, 3), LANE - 16, one.sort, one.words)
    return Bar(x, top + 12, max(end - x, 1.5), LANE - 24, one.sort, one.words)


def _long(pause: timedelta) -> str:
    seconds = pause.total_seconds()
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} s"
