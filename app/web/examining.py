"""The doctor's page: what the web process itself can look at, and what the ledger shows of the others."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastapi import Depends, FastAPI, Response

from app.doctor.finding import Standing, Told
from app.doctor.here import checks_here
from app.doctor.others import BY_OTHERS
from app.web.sheets import Sheets
from app.web.viewers import NotAdmitted, Viewer, Viewers

FRESH_SECONDS = 10.0
"""So long one examination is for all who ask: each looks through the open runs and writes to the ledger."""
PATIENCE_SECONDS = 20.0
"""How long somebody waits for an examination that another began."""

BY_ITSELF = frozenset(check.name for check in checks_here("web"))
"""What it looks at itself, and not by what others left."""

NOT_ALL = (
    "The doctor tells of the whole installation, and you see the runs of your own repositories. Whoever runs this "
    "installation types `countersign doctor` on its machine."
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, and when."""

    told: tuple[Told, ...]
    at: float
    """Monotonic."""

    def count(self, standing: Standing) -> int:
        """How many findings stand so."""
        return sum(one.found.standing is standing for one in self.told)


class Examinations:
    """Looks when it is asked, once for all who ask at the same time."""

    def __init__(self, examine: Callable[[], Iterable[Told]]) -> None:
        self._examine = examine
        self._lock = threading.Lock()
        self._last: Seen | None = None

    def now(self) -> Seen | None:
        """What is so, at most `FRESH_SECONDS` old; None where an examination takes longer than anybody waits."""
        if not self._lock.acquire(timeout=PATIENCE_SECONDS):
            return None
        try:
            if self._last is None or time.monotonic() - self._last.at > FRESH_SECONDS:
                self._last = Seen(tuple(self._examine()), time.monotonic())
            return self._last
        finally:
            self._lock.release()


def add_doctor(pages: FastAPI, viewers: Viewers, sheets: Sheets, examinations: Examinations) -> None:
    """The page, for who sees everything of this installation."""

    @pages.get("/doctor")
    def doctor(viewer: Viewer = Depends(viewers.admit)) -> Response:  # noqa: B008 (FastAPI's way)
        if viewer.repositories is not None:
            raise NotAdmitted(403, NOT_ALL)
        seen = examinations.now()
        if seen is None:
            return sheets.note("Doctor", "It is being looked at, and takes long. Load this page again.", 503)
        shown = {"seen": seen, "standings": Standing, "by_itself": BY_ITSELF, "by_others": BY_OTHERS}
        return sheets.page("doctor.html", **shown)
