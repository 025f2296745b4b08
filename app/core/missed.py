"""Deliveries that GitHub made in vain: which are asked for again, when, and for how long. Pure.

GitHub repeats nothing by itself (github-facts 17); it keeps a log of its attempts, in which a delivery counts as missed
while no attempt at it has the status `OK`, whatever its code (21).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

ROUND = "deliveries"
"""The name of the round in which the log is looked at."""

FOLLOWED = frozenset(
    ("issues", "issue_comment", "pull_request", "repository", "label", "installation", "installation_repositories")
)
"""The events whose deliveries are missed when they do not arrive; of others nothing would be read."""

MOST_ASKED = 14
"""How often one delivery is asked for in all: with the pauses between, that is beyond any outage GitHub's log spans."""

LONGEST_PAUSE = timedelta(hours=6)

IN_FLIGHT = timedelta(seconds=30)
"""An attempt so young may still be under way: the receiver has 10 seconds, on GHES 30 (github-facts 12)."""

KEPT_DAYS, KEPT_DAYS_ON_SERVERS = 3, 7
"""How long an attempt can be found and asked for again: on GitHub's own hosts, on GHES (github-facts 18)."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to deliver, as GitHub's log tells it. Another attempt at the same delivery has the same `guid`."""

    id: int
    guid: str
    at: datetime
    event: str
    action: str
    status: str

    @property
    def arrived(self) -> bool:
        """GitHub got an answer with a 2xx status."""
        return self.status == "OK"


@dataclass(frozen=True, slots=True)
class Tidings:
    """What a part of the log says: the deliveries that arrived, and the newest attempt at each that did not."""

    arrived: frozenset[str]
    missed: tuple[Attempt, ...]


def tidings(attempts: Iterable[Attempt], now: datetime, lost_before: datetime | None = None) -> Tidings:
    """Grouped by delivery. Attempts that may be under way say nothing yet; events that nobody follows never do.

    What was taken before `lost_before` is lost again, since the ledger was restored then from an older copy.
    """
    newest: dict[str, Attempt] = {}
    arrived: set[str] = set()
    for attempt in attempts:
        if attempt.arrived and (lost_before is None or attempt.at >= lost_before):
            arrived.add(attempt.guid)
        elif attempt.event in FOLLOWED and attempt.at <= now - IN_FLIGHT:
            known = newest.get(attempt.guid)
            if known is None or (attempt.at, attempt.id) > (known.at, known.id):
                newest[attempt.guid] = attempt
    missed = (attempt for guid, attempt in newest.items() if guid not in arrived)
    return Tidings(frozenset(arrived), tuple(sorted(missed, key=lambda one: (one.at, one.id))))


def pause_after(asked: int) -> timedelta:
    """How long what was asked for so often may take to arrive: a minute at first, then twice as long each time."""
    return min(timedelta(minutes=2.0 ** max(asked - 1, 0)), LONGEST_PAUSE)


def reaches_back(now: datetime, newest: datetime | None, kept: timedelta) -> datetime:
    """Since when GitHub can still have an attempt. By the log's own time, told by its `newest` attempt, where our clock
    says later: one that is days ahead must not give up what GitHub keeps. What it keeps no longer it says itself."""
    return min(now, newest or now) - kept


def kept_for(api_url: str) -> timedelta:
    """How long the server at this API keeps its log: a GHES is known by its path (github-facts 178)."""
    on_server = api_url.rstrip("/").endswith("/api/v3")
    return timedelta(days=KEPT_DAYS_ON_SERVERS if on_server else KEPT_DAYS)
