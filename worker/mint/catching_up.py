"""Catching up: deliveries that did not reach us are found in the App's delivery log and asked for again.

GitHub repeats nothing by itself, and only the App's own key opens the log (github-facts 17, 20). So the mint looks, at
its own interval and not when a bell rings: a delivery is recorded without a broker, and looked for without one.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from app.core.gap import Gap, gap_before
from app.core.missed import ROUND, kept_for, reaches_back, tidings
from app.ledger.errors import LedgerError
from app.ledger.outcomes import MissedView, Turn
from app.ledger.store import Ledger
from worker.github.errors import Broken, GitHubError, Gone, Invalid, NotFound, RateLimited, Unreachable
from worker.mint.mint import Mint
from worker.mint.surveying import Search, Surveying

INTERVAL = timedelta(minutes=1)
"""How long lies between two looks at the log while nothing is left to do."""

QUICKER = timedelta(seconds=30)
"""How long while something is."""

LATE = timedelta(minutes=5)
"""Each pass looks so far back behind the beginning of the one before: attempts may come into the log late, and those
under way were left out."""

LONGEST_ROUND = timedelta(minutes=5)
LONGEST_REST = timedelta(minutes=30)
TICK_SECONDS = 5.0

_LOG = logging.getLogger("countersign.mint")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one round does at the most; the next goes on behind it."""

    pages: int = 20
    """Of 100 attempts each."""
    asked_for: int = 80
    """In two rounds a minute that is 800 of the 900 points of one endpoint (github-facts 165)."""
    listed: int = 20
    """Pages of 100 repositories each, where labels are to be looked for."""


ONE_ROUND = Bounds()


@dataclass(frozen=True, slots=True)
class _Pass:
    """How far a pass over the log came. `floor`: everything older was seen by an earlier one; `top`: where this one
    began, which is the next one's floor; `following`: where it goes on, empty for a new pass."""

    floor: datetime | None = None
    top: datetime | None = None
    following: str = ""
    lost_before: datetime | None = None
    """When the ledger was restored from a copy: what was taken before, and it does not hold, is missed as well."""
    began: datetime | None = None
    """When this pass began to read."""
    read_at: datetime | None = None
    """When the last one that came to its end did."""
    search: Search = field(default_factory=Search)
    """For what the log does not tell, or what GitHub did not bring again."""

    @classmethod
    def read(cls, position: dict[str, Any]) -> "_Pass":
        names = ("floor", "top", "lost_before", "began", "read_at")
        floor, top, lost_before, began, read_at = (_time(position.get(name)) for name in names)
        search = Search.read(position.get("search") or {})
        return cls(floor, top, str(position.get("following") or ""), lost_before, began, read_at, search)

    @property
    def known_until(self) -> datetime | None:
        """Until when everything is known that GitHub sent; None where nothing was known before. How old the newest
        attempt is says it only in a restored ledger: otherwise it may have been quiet since."""
        return self.read_at or (self.floor if self.lost_before else None)

    @property
    def newest(self) -> datetime | None:
        """The newest attempt that is known."""
        return self.top or self.floor

    def ended(self) -> "_Pass":
        """The pass came to its end, and the next one is new."""
        return replace(self, floor=self.top, read_at=self.began, top=None, following="", began=None)

    def written(self) -> dict[str, Any]:
        times = {
            "floor": self.floor,
            "top": self.top,
            "lost_before": self.lost_before,
            "began": self.began,
            "read_at": self.read_at,
        }
        told = {name: time.isoformat() for name, time in times.items() if time}
        return told | {"following": self.following, "search": self.search.written()}


class CatchingUp:
    """Looks at the log and asks for what is missing, in bounded rounds; what it has seen and asked for is in the
    ledger, so that any mint goes on where another one ended."""

    interval = INTERVAL
    quicker = QUICKER

    def __init__(
        self,
        ledger: Ledger,
        mint: Mint,
        api_url: str,
        clock: Callable[[], datetime],
        bounds: Bounds = ONE_ROUND,
    ) -> None:
        self._ledger = ledger
        self._identity = mint.identity
        self._bounds = bounds
        self._kept_for = kept_for(api_url)
        self._clock = clock
        self._surveying = Surveying(ledger, mint, self._kept_for, clock, bounds.listed)

    def go_on(self, over: threading.Event) -> None:
        """Rounds as they are due, the first at once, until `over`. Whatever goes wrong is logged and tried again."""
        while not over.is_set():
            try:
                self.round()
            except LedgerError as error:
                _LOG.warning("missed deliveries could not be looked for: %s", error)
            except Exception:
                _LOG.exception("missed deliveries could not be looked for; it is tried again")
            over.wait(TICK_SECONDS)

    def round(self) -> None:
        """One round, where it is due: what the log says is noted, and what is missing and due is asked for.

        Where GitHub does not answer, the next round comes later: twice as late each time, half an hour at the most.
        """
        turn = self._ledger.take_turn(ROUND, self._clock(), LONGEST_ROUND)
        if turn is None:
            return
        try:
            turn, left = self._look(turn)
            at = _Pass.read(turn.position)
            left = self._ask(at.newest) or left
            at = replace(at, search=self._surveying.go_on(at.search))
            turn, left = replace(turn, position=at.written()), left or at.search.survey is not None
        except GitHubError as error:
            self._ledger.end_turn(_begun_anew(turn, error), self._clock() + _rest(turn, error), error.reason)
            _LOG.warning("the delivery log could not be worked through: %s", error)
        else:
            self._ledger.end_turn(turn, self._clock() + (self.quicker if left else self.interval))

    def _look(self, turn: Turn) -> tuple[Turn, bool]:
        """The log is read down to what an earlier pass has seen; True where it goes on below."""
        at, oldest = _Pass.read(turn.position), self._clock() - self._kept_for
        for _ in range(self._bounds.pages):
            page = self._identity.delivery_log(at.following)
            if not at.following:
                at = replace(at, top=page.attempts[0].at if page.attempts else at.floor, began=self._clock())
                gap = gap_before(at.known_until, oldest)
                _say_what_is_lost(gap)
                at = replace(at, search=at.search.also(gap))
            since = reaches_back(self._clock(), at.newest, self._kept_for)
            since = max(since, at.floor - LATE) if at.floor else since
            inside = [attempt for attempt in page.attempts if attempt.at >= since]
            # By the log's own time as well: a clock that is slow would take for young what no later pass looks at.
            as_of = max(self._as_of(), at.top or self._as_of())
            self._ledger.note(tidings(inside, as_of, at.lost_before), self._clock())
            if not page.following or len(inside) < len(page.attempts):
                return replace(turn, position=at.ended().written()), False
            at = replace(at, following=page.following)
        return replace(turn, position=at.written()), True

    def _as_of(self) -> datetime:
        """The moment by which an attempt counts as over or under way."""
        return self._clock()

    def _again(self, one: MissedView) -> None:
        """GitHub is asked to send it once more."""
        self._identity.redeliver(one.attempt_id)

    def _ask(self, newest: datetime | None) -> bool:
        """What is due is asked for, each once; True where more may be due soon."""
        oldest = reaches_back(self._clock(), newest, self._kept_for)
        due = self._ledger.to_ask_for(self._clock(), oldest, self._bounds.asked_for)
        for one in due:
            # Recorded first: a mint that dies in between asks once too rarely, and again after the pause.
            self._ledger.asking(one, self._clock())
            try:
                self._again(one)
            except (NotFound, Gone, Invalid) as error:
                self._ledger.give_up(one.guid, f"GitHub does not send it again: {error.reason}", self._clock())
        if due:
            _LOG.info("%d deliveries that had not arrived were asked for again", len(due))
        return bool(due)


def _say_what_is_lost(gap: Gap | None) -> None:
    """What was sent in vain while nobody looked is found only as far back as the log reaches (github-facts 18)."""
    if gap is not None:
        words = (
            "GitHub's log of deliveries reaches back to %s, and it was last read at %s: what was sent in vain between "
            "is lost. Open runs are held against their issues, and labels that were set then are looked for everywhere"
        )
        _LOG.error(words, *(f"{when:%Y-%m-%d %H:%M} UTC" for when in (gap.until, gap.since)))


def _time(written: str | None) -> datetime | None:
    return datetime.fromisoformat(written) if written else None


def _begun_anew(turn: Turn, error: GitHubError) -> Turn:
    """An address within the log that GitHub does not know any more is forgotten: the pass begins anew."""
    if isinstance(error, Unreachable | Broken | RateLimited):
        return turn
    at = _Pass.read(turn.position)
    return replace(turn, position=replace(at, top=None, following="").written())


def _rest(turn: Turn, error: GitHubError) -> timedelta:
    if isinstance(error, RateLimited):
        return timedelta(seconds=error.retry_after)
    return min(INTERVAL * 2.0 ** min(turn.failures, 10), LONGEST_REST)
