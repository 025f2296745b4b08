"""Surveying: of a gap in what GitHub told, every repository of the App is put on the list of those to be read for
labels. The mint alone can tell which these are; it reads nothing in them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from app.core.gap import Gap, gap_of_lost
from app.core.news import Seen
from app.ledger.store import Ledger
from worker.github.errors import Forbidden, GitHubError, Invalid, Moved, NotFound
from worker.mint.mint import Mint

REST = timedelta(hours=1)
"""From the beginning of one survey to that of the next: what is lost delivery by delivery is searched for together."""

_LOG = logging.getLogger("countersign.mint")


@dataclass(frozen=True, slots=True)
class Survey:
    """One that is under way: all installations up to `done` were listed, and of `at` what stands before `following`."""

    gap: Gap
    done: int = 0
    at: int = 0
    following: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """How the search for what nobody was told stands."""

    gap: Gap | None = None
    """What the next survey will be for."""
    survey: Survey | None = None
    begun_at: datetime | None = None
    """When the newest survey began."""
    given_up_until: datetime | None = None
    """Deliveries that were given up until then are in a gap."""

    @classmethod
    def read(cls, position: dict[str, Any]) -> "Search":
        """From the position of a round; a new one where that says nothing of it."""
        told = position.get("survey")
        survey = None
        if told is not None and (gap := _gap(told)) is not None:
            survey = Survey(gap, told["done"], told["at"], told["following"])
        gap = _gap(position.get("gap") or {})
        return cls(gap, survey, _time(position.get("begun_at")), _time(position.get("given_up_until")))

    def written(self) -> dict[str, Any]:
        """For the position of a round."""
        times = {"begun_at": self.begun_at, "given_up_until": self.given_up_until}
        told: dict[str, Any] = {"gap": _ends(self.gap), **times}
        if self.survey is not None:
            one = self.survey
            told["survey"] = _ends(one.gap) | {"done": one.done, "at": one.at, "following": one.following}
        return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in told.items() if one}

    def also(self, gap: Gap | None) -> "Search":
        """The gap is searched as well."""
        return self if gap is None else replace(self, gap=gap.joined(self.gap))


class Surveying:
    """Begins surveys and goes on with them; how far they are is its caller's to keep."""

    def __init__(
        self, ledger: Ledger, mint: Mint, kept_for: timedelta, clock: Callable[[], datetime], most_pages: int
    ) -> None:
        self._ledger = ledger
        self._mint = mint
        self._kept_for = kept_for
        self._clock = clock
        self._most_pages = most_pages

    def go_on(self, search: Search) -> Search:
        """A bounded part of it is done. What GitHub does not answer now is asked again in the next round; a place that
        is closed to the App is left out, and said."""
        now = self._clock()
        known = search.given_up_until
        # A clock that was ahead wrote a time by which nothing was known yet.
        after = now - self._kept_for if known is None or known > now else known
        lost = self._ledger.labels_given_up(after, now)
        search = replace(search.also(gap_of_lost(lost, self._kept_for)), given_up_until=now)
        rested = search.begun_at is None or not now - REST < search.begun_at <= now
        if search.survey is None and search.gap is not None and rested:
            search = replace(search, survey=Survey(search.gap), gap=None, begun_at=now)
        if search.survey is None:
            return search
        return replace(search, survey=self._listed(search.survey))

    def _listed(self, survey: Survey) -> Survey | None:
        """None once everything is on the list."""
        try:
            installations = sorted(self._mint.identity.installations(), key=lambda one: one.id)
        except GitHubError as error:
            _LOG.warning("where labels are to be looked for could not be listed: %s", error)
            return survey
        left = self._most_pages
        for one in installations:
            while one.id > survey.done:
                if not left:
                    return survey
                left -= 1
                try:
                    survey = self._page(survey, one.id)
                except (NotFound, Forbidden, Invalid) as error:
                    _LOG.warning("labels are not looked for in installation %s: %s", one.id, error)
                    survey = Survey(survey.gap, done=one.id)
                except GitHubError as error:
                    _LOG.warning("repositories of installation %s could not be listed: %s", one.id, error)
                    return replace(survey, following="") if isinstance(error, Moved) else survey
        return None

    def _page(self, survey: Survey, installation_id: int) -> Survey:
        following = survey.following if survey.at == installation_id else ""
        page = self._mint.repositories(installation_id, following)
        places = (Seen(one.id, one.full_name, installation_id) for one in page.repositories)
        self._ledger.to_be_read(places, survey.gap, self._clock())
        if page.following:
            return replace(survey, at=installation_id, following=page.following)
        return Survey(survey.gap, done=installation_id)


def _gap(told: dict[str, Any]) -> Gap | None:
    return Gap(datetime.fromisoformat(told["since"]), datetime.fromisoformat(told["until"])) if told else None


def _ends(gap: Gap | None) -> dict[str, str]:
    return {"since": gap.since.isoformat(), "until": gap.until.isoformat()} if gap is not None else {}


def _time(written: str | None) -> datetime | None:
    return datetime.fromisoformat(written) if written else None
