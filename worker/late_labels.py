"""Late labels: in a repository on the list, labels that were set in a gap are found by reading, and come in as if they
had been delivered: by the same rules, through the same gate, and once.

Read is what an issue carries today. Of a label that was taken off again meanwhile, or whose issue is closed, nothing is
wanted any more.
"""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from app.core.gap import Gap
from app.core.news import READ, Delivery
from app.ledger.errors import RunLeftAside
from app.ledger.outcomes import UnheardPlace
from app.web.intake import Intake, Told, new_run_id
from worker.github.errors import GitHubError, Gone, Moved, NotFound, RateLimited
from worker.github.reader import Reader
from worker.github.views import Account, IssueView, LabelView, RepositoryRef, TimelineEvent
from worker.mint.caller import MintDenied, MintUnreachable
from worker.mint.wire import Token
from worker.shop import Shop
from worker.watching import Watch

MOST_AT_ONCE = 10
"""Repositories that one sweep reads, with one token: where nothing happened, one request each."""

AGAIN = timedelta(minutes=10)
"""What could not be read is read again after so long."""

_LOG = logging.getLogger("countersign.late_labels")


class LateLabels:
    """Reads what is on the list, a few repositories at a time. A repository is taken off once it was read to its end:
    who is ended in the midst has it read again, and what was found already is known by its guid."""

    def __init__(self, shop: Shop, watch: Watch) -> None:
        self._shop = shop
        self._watch = watch
        self._turn = threading.Lock()

    def look(self, at: datetime) -> None:
        """Runs are begun for what was found, and rung for. While another thread looks, nothing is done."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            due = self._shop.ledger.unheard(at)
            shut = {one for one in {place.installation_id for place in due} if self._shop.limit_of(one).left()}
            open_ = [place for place in due if place.installation_id not in shut]
            together = [place for place in open_ if place.installation_id == open_[0].installation_id]
            if together:
                self._read_all(together[:MOST_AT_ONCE], at)
        finally:
            self._turn.release()

    def _read_all(self, places: Sequence[UnheardPlace], at: datetime) -> None:
        try:
            token = self._watch.lend(places[0].installation_id, [place.repository_id for place in places], at)
        except MintDenied as denied:
            if denied.fewer:
                for place in places:
                    self._read_all([place], at)
            elif denied.gone:
                self._take_off(places[0], denied)
            else:
                self._put_off(places, denied, at)
        except MintUnreachable as error:
            self._put_off(places, error, at)
        else:
            for place in places:
                self._read(place, token, at)

    def _read(self, place: UnheardPlace, token: Token, at: datetime) -> None:
        try:
            with self._shop.connection(token, place.installation_id) as connection:
                reader = Reader(connection, RepositoryRef(place.repository_id, place.repository))
                intake = Intake(self._shop.settings.label, token.bot_user_id, new_run_id)
                for issue in reader.open_issues(place.gap.from_when):
                    self._look_through(issue, place, reader, intake)
            self._shop.ledger.was_read(place)
        except (NotFound, Gone) as error:
            # It has no issues any more, or is itself no more.
            self._take_off(place, error)
        except (GitHubError, RunLeftAside) as error:
            self._put_off([place], error, at)

    def _look_through(self, issue: IssueView, place: UnheardPlace, reader: Reader, intake: Intake) -> None:
        ids = [mark.id for mark in issue.marks if isinstance(mark, LabelView)]
        once = self._shop.ledger.triggers(place.repository_id, ids) if ids else {}
        carried = list(_triggers(issue, intake, once))
        try:
            happened = reader.timeline(issue.number) if carried else ()
        except (NotFound, Gone, Moved) as error:
            _LOG.info("an issue of %s went away while it was read: %s", place.repository, error)
            return
        for mark in carried:
            setting = last_setting(happened, {mark.name, once.get(mark.id, "")}, place.gap)
            if setting is None:
                continue
            at, body = self._shop.clock(), msgspec.json.encode(_payload(issue, mark, setting, place))
            told = intake.read("issues", body, at, once)
            if isinstance(told, Told):
                self._take_in(Delivery(f"{READ}label:{setting.id}", "issues", told.action, at, body), told)
            else:
                _LOG.info("label event %s of %s is nothing for us: %s", setting.id, place.repository, told)

    def _take_in(self, found: Delivery, told: Told) -> None:
        received = self._shop.ledger.receive(found, *told.news)
        self._shop.doorbell.ring(received.rings)
        if received.new:
            _LOG.info("a label of which nobody was told was found (%s): %s", found.guid, received.outcome)

    def _take_off(self, place: UnheardPlace, why: Exception) -> None:
        _LOG.warning("labels are not looked for in %s any more: %s", place.repository, why)
        self._shop.ledger.was_read(place)

    def _put_off(self, places: Sequence[UnheardPlace], why: Exception, at: datetime) -> None:
        """At a limit, which everybody minds, it stays due."""
        _LOG.warning("labels could not be looked for in %s: %s", ", ".join(one.repository for one in places), why)
        if not isinstance(why, RateLimited):
            for place in places:
                self._shop.ledger.read_later(place, at + AGAIN)


def last_setting(happened: Iterable[TimelineEvent], names: Iterable[str], gap: Gap) -> TimelineEvent | None:
    """When the label, which the issue carries, was set: the last time that one of these names was; None where that does
    not lie in the gap. Entries hold the name of then (github-facts 4)."""
    ours = {name.casefold() for name in names if name}
    last = None
    for one in happened:
        if one.event == "labeled" and one.label is not None and one.label.name.casefold() in ours:
            last = one
    inside = last is not None and last.id is not None and last.created_at is not None and gap.holds(last.created_at)
    return last if inside else None


def _triggers(issue: IssueView, intake: Intake, once: Mapping[int, str]) -> Iterator[LabelView]:
    """The labels of an open issue that trigger, by today's names or by those under which they did so once."""
    if issue.is_pull_request:
        return
    for mark in issue.marks:
        if isinstance(mark, LabelView) and any(
            intake.word_of(name) is not None for name in (mark.name, once.get(mark.id, ""))
        ):
            yield mark


def _payload(issue: IssueView, mark: LabelView, setting: TimelineEvent, place: UnheardPlace) -> dict[str, object]:
    """What GitHub would have delivered, of the issue as it is today."""
    told = {
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": issue.state,
        "user": _person(issue.author),
        "updated_at": setting.created_at.isoformat() if setting.created_at else None,
    }
    return {
        "action": "labeled",
        "issue": told,
        "label": {"id": mark.id, "name": mark.name},
        "repository": {"id": place.repository_id, "full_name": place.repository},
        "installation": {"id": place.installation_id},
        "sender": _person(setting.actor),
    }


def _person(account: Account | None) -> dict[str, object] | None:
    return {"id": account.id, "login": account.login, "type": account.kind} if account is not None else None
