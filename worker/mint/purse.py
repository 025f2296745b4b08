"""The purse: every token of this mint that lives, its record in the ledger, and its end."""

import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from app.core.belts import Belt
from app.core.span import Minted
from app.core.verdict import Refused
from app.ledger.errors import LedgerError
from app.ledger.store import Ledger
from worker.github.app import AppIdentity, Token
from worker.github.errors import GitHubError, RateLimited

LONGEST_LIFE = timedelta(hours=1)
"""How long GitHub lets a token live (github-facts 52)."""

AGAIN = timedelta(seconds=20)
"""In that time `tidy` has tried to revoke it a few times more, where no limit of GitHub's is met."""

ALARMING_TRIES = 3
"""After so many failed revocations the log says it as an error, for somebody to look."""

_LOG = logging.getLogger("countersign.mint")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a belt, over one line. A belt that is started again has another line."""

    belt: Belt
    line: int


@dataclass(frozen=True, slots=True)
class Place:
    """What a token is for. `effect_id` is None for watching, and only then are there repositories beside the one."""

    run: str
    effect_id: int | None
    repository_id: int
    repository: str
    installation_id: int
    caller: Caller
    purpose: str
    beside: tuple[int, ...] = ()


@dataclass(slots=True)
class Living:
    """A token that opens something until it is revoked. Once `ended` it is only waiting for that."""

    token: Token = field(repr=False)
    place: Place
    since: float
    ended: bool = False
    tries: int = 0
    not_before: datetime | None = None
    """When the limit of GitHub's is over that its revocation met."""

    def again(self, now: datetime) -> datetime:
        """When it is worth asking whether it still lives: after `tidy` has tried again, or when it has run out."""
        return min(max(self.not_before or now, now + AGAIN), self.token.expires_at)


class PurseClosed(Exception):
    """The mint is ending: the token that was just cut is revoked, and no other is handed out."""


class Purse:
    """Keeps the only copies of tokens. Each is in the ledger, by hash, before anybody gets it."""

    def __init__(self, ledger: Ledger, identity: AppIdentity, clock: Callable[[], datetime]) -> None:
        self._ledger = ledger
        self._identity = identity
        self._clock = clock
        self._living: dict[str, Living] = {}
        self._lock = threading.Lock()
        self._closed = False

    def begin(self, place: Place, permissions: Mapping[str, str]) -> str:
        """The mint id of a token that is about to be cut. The ledger says so before GitHub is asked, so that one
        that is lost between the cut and its record, with the mint or with GitHub's answer, is named all the same."""
        mint_id = secrets.token_hex(12)
        until = self._clock() + LONGEST_LIFE
        self._ledger.record_mint(self._record(mint_id, place, until, dict(permissions), ""))
        return mint_id

    def forget(self, mint_id: str) -> None:
        """GitHub said that it cut none."""
        self._ledger.forget_mint(mint_id)

    def keep(self, mint_id: str, place: Place, token: Token) -> None:
        """The token that was begun is recorded by hash and may be handed out. One that could not be recorded is ended
        at once."""
        with self._lock:
            self._living[mint_id] = Living(token, place, time.monotonic())
            closed = self._closed
        try:
            expires_at, permissions = token.expires_at, dict(token.permissions)
            self._ledger.finish_mint(self._record(mint_id, place, expires_at, permissions, _hashed(token)))
            if closed:
                raise PurseClosed
        except BaseException:
            self.end(mint_id)
            raise

    def refuse(self, place: Place, refused: Refused) -> None:
        """The refusal is in the ledger."""
        mint_id, now = secrets.token_hex(12), self._clock()
        record = self._record(mint_id, place, now, {}, "")
        self._ledger.record_mint(record.model_copy(update={"revoked_at": now, "refused": str(refused)}))

    def place_of(self, mint_id: str) -> Place | None:
        """What a living token is for; None for one that has ended."""
        with self._lock:
            one = self._living.get(mint_id)
        return one.place if one else None

    def end(self, mint_id: str) -> None:
        """The token is revoked, and that is recorded; or `tidy` tries again until it is. Never raises for either."""
        with self._lock:
            one = self._living.get(mint_id)
            if one is None:
                return
            one.ended = True
        try:
            self._identity.revoke(one.token)
            self._ledger.mark_revoked(mint_id, self._clock())
        except (GitHubError, LedgerError) as error:
            one.tries += 1
            if isinstance(error, RateLimited):
                one.not_before = self._clock() + timedelta(seconds=error.retry_after)
            level = logging.ERROR if one.tries >= ALARMING_TRIES else logging.WARNING
            words = "the token (%s, %s of %s) is not revoked after %d tries and lives until %s: %s"
            until = f"{one.token.expires_at:%H:%M:%S} UTC"
            reason = getattr(error, "reason", error)
            _LOG.log(level, words, mint_id, one.place.purpose, one.place.run, one.tries, until, reason)
            return
        with self._lock:
            self._living.pop(mint_id, None)

    def end_where(self, over: Callable[[Place], bool]) -> float | None:
        """Every token whose place is over is ended. Where GitHub did not revoke one, and it has not run out by itself:
        the seconds after which that may be so."""
        with self._lock:
            chosen = [mint_id for mint_id, one in self._living.items() if over(one.place)]
        for mint_id in chosen:
            self.end(mint_id)
        now = self._clock()
        with self._lock:
            left = [self._living[mint_id] for mint_id in chosen if mint_id in self._living]
        alive = [one for one in left if one.token.expires_at > now]
        return max(((one.again(now) - now).total_seconds() for one in alive), default=None)

    def look_back(self) -> None:
        """The log names the tokens in the ledger that live, or may live, and are not in here."""
        for one in self._ledger.live_mints(self._clock()):
            words = "a token (%s, %s of %s) was left alive by an earlier mint and lives until %s"
            _LOG.error(words, one.id, one.purpose, one.run, f"{one.expires_at:%H:%M:%S} UTC")
        for one in self._ledger.unfinished_mints(self._clock()):
            words = "a token (%s, %s of %s) was asked for and its answer was lost; if it was cut, it lives until %s"
            _LOG.error(words, one.id, one.purpose, one.run, f"{one.expires_at:%H:%M:%S} UTC")

    def tidy(self, outlived: Callable[[Place, float], bool]) -> None:
        """Ends what was to end and has not, and what `outlived` says so of, given its place and age in seconds."""
        with self._lock:
            living = dict(self._living)
        for mint_id, one in living.items():
            if one.not_before is not None and self._clock() < one.not_before:
                continue
            if one.ended or outlived(one.place, time.monotonic() - one.since):
                self.end(mint_id)

    def close(self, seconds: float) -> None:
        """No token lives afterwards, unless GitHub could not be reached for that long. None is kept any more."""
        deadline = time.monotonic() + seconds
        with self._lock:
            self._closed = True
        self.end_where(lambda place: True)
        while True:
            self.tidy(lambda place, age: True)
            with self._lock:
                left = len(self._living)
                soonest = min((one.not_before or self._clock() for one in self._living.values()), default=None)
            if left == 0 or soonest is None:
                return
            if time.monotonic() + max((soonest - self._clock()).total_seconds(), 0.0) >= deadline:
                _LOG.error("%d tokens live on, since GitHub did not revoke them; the ledger names them", left)
                return
            time.sleep(0.25)

    def _record(
        self, mint_id: str, place: Place, expires_at: datetime, permissions: dict[str, str], sha256: str
    ) -> Minted:
        return Minted(
            id=mint_id,
            run=place.run,
            effect_id=place.effect_id,
            belt=place.caller.belt,
            purpose=place.purpose,
            repository_id=place.repository_id,
            beside=place.beside,
            permissions=permissions,
            token_sha256=sha256,
            minted_at=self._clock(),
            expires_at=expires_at,
        )


def _hashed(token: Token) -> str:
    return hashlib.sha256(token.value.encode()).hexdigest()
