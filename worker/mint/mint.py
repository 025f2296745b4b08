"""The mint itself: rules, GitHub asked again, a narrow token, a record of it, and its end."""

import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from app.core import gate
from app.core.belts import REACH, Belt, EffectKind, Reach
from app.core.run import Grant
from app.core.span import Minted
from app.core.verdict import Refused
from app.ledger.outcomes import EffectView
from app.ledger.store import Ledger
from worker.github.app import AppIdentity
from worker.github.app import Token as CutToken
from worker.github.authority import look_up, question_again
from worker.github.connection import ConnectionSettings, InstallationToken, connect
from worker.github.errors import Broken, GitHubError, Gone, NotFound, RateLimited, Suspended, Unreachable
from worker.github.reader import Reader
from worker.github.views import RepositoryRef
from worker.mint.rules import OwedRow, permissions, rule, watch_reach
from worker.mint.wire import Cut, Denied, Done, Release, Token, Watch

WATCH_SECONDS = 600.0
"""How long a token for watching reactions lives at the most, however often it is used."""

_LOG = logging.getLogger("countersign.mint")


@dataclass(frozen=True, slots=True)
class _Place:
    run: str
    effect_id: int | None
    repository_id: int
    repository: str
    installation_id: int
    belt: Belt
    purpose: str


@dataclass(slots=True)
class _Live:
    token: CutToken = field(repr=False)
    place: _Place
    began: float


class Mint:
    """Cuts tokens for belts, keeps the only copies, and ends them.

    Every token and every refusal is in the ledger, by hash; a token that could not be recorded is revoked at once.
    """

    def __init__(
        self,
        ledger: Ledger,
        identity: AppIdentity,
        api_url: str,
        connections: ConnectionSettings,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._ledger = ledger
        self._identity = identity
        self._api_url = api_url
        self._connections = connections
        self._clock = clock
        self._live: dict[str, _Live] = {}
        self._lock = threading.Lock()
        self._bot_user_id = 0

    def cut(self, belt: Belt, asked: Cut) -> Token | Denied:
        """1 the ledger's rules, 2 for a grant: GitHub asked again, 3 the token, 4 its record."""
        view = self._ledger.run(asked.run)
        if view is None:
            return Denied(reason="There is no such run.")
        row = next(
            (
                OwedRow(e.effect, e.settled_at is not None, e.fence, e.lease_until)
                for e in view.effects
                if e.id == asked.effect_id
            ),
            None,
        )
        ruling = rule(belt, asked.fence, row, view.state, self._clock())
        request = view.state.request
        place = self._place(belt, request.run, asked.effect_id, request.repository_id)
        place = place or _Place(
            request.run, asked.effect_id, request.repository_id, request.repository, request.installation_id, belt, ""
        )
        if isinstance(ruling, Refused) or row is None:
            return self._denied(place, ruling if isinstance(ruling, Refused) else Refused("There is no such effect."))
        place = _named(place, row.effect.kind)
        try:
            if ruling.grant is not None:
                again = self._ask_again(place, ruling.grant)
                if again is not None:
                    return again
            return self._hand_out(place, ruling.reach)
        except GitHubError as error:
            return self._trouble(place, error)

    def watch(self, belt: Belt, asked: Watch) -> Token | Denied:
        """A token for reading reactions, only while a plan waits in that repository."""
        waiting = [plan for plan in self._ledger.waiting_proposals() if plan.repository_id == asked.repository_id]
        reach = watch_reach(belt)
        if isinstance(reach, Refused) or not waiting:
            reason = str(reach) if isinstance(reach, Refused) else "No plan waits in this repository."
            return Denied(reason=reason)
        place = self._place(belt, waiting[0].run, None, asked.repository_id)
        if place is None:
            return Denied(reason="The repository is not known.")
        try:
            return self._hand_out(_named(place, "watch"), reach)
        except GitHubError as error:
            return self._trouble(_named(place, "watch"), error)

    def release(self, belt: Belt, asked: Release) -> Done | Denied:
        """The token is revoked at GitHub. One that cannot be revoked now is tried again by `tidy`."""
        with self._lock:
            live = self._live.get(asked.mint_id)
        if live is None:
            return Done()
        if live.place.belt is not belt:
            return Denied(reason="That token is another belt's.")
        self._end(asked.mint_id, live)
        return Done()

    def tidy(self) -> None:
        """Ends the tokens whose effect is settled or not claimed any more, and the old ones of watching."""
        with self._lock:
            live = dict(self._live)
        for mint_id, one in live.items():
            if self._outlived(one):
                self._end(mint_id, one)

    def end_all(self) -> None:
        """No token of this mint lives afterwards, unless GitHub cannot be reached."""
        with self._lock:
            live = dict(self._live)
        for mint_id, one in live.items():
            self._end(mint_id, one)

    def _place(self, belt: Belt, run: str, effect_id: int | None, repository_id: int) -> _Place | None:
        seen = self._ledger.repository(repository_id)
        if seen is None:
            return None
        return _Place(run, effect_id, repository_id, seen.full_name, seen.installation_id, belt, "")

    def _ask_again(self, place: _Place, grant: Grant) -> Denied | None:
        """Reads the approving word, its giver's permission, the plan comment and the issue from GitHub once more."""
        token = self._cut(_named(place, "ask_again"), REACH[EffectKind.LOOK_UP_AUTHORITY])
        mint_id = self._keep(_named(place, "ask_again"), token)
        try:
            with connect(
                self._api_url, InstallationToken(token.value), self._connections, place.installation_id
            ) as line:
                reader = Reader(line, RepositoryRef(place.repository_id, place.repository))
                question = question_again(grant.request, grant.proposal, grant.approval)
                found = look_up(reader, question, self._clock())
        except (NotFound, Gone) as error:
            return self._denied(place, Refused(f"The approval cannot be found again: {error.reason}"), voided=True)
        finally:
            self._end(mint_id, self._live[mint_id])
        verdict = gate.still_approved(grant.approval, found, grant.proposal, self._clock())
        return self._denied(place, verdict, voided=True) if isinstance(verdict, Refused) else None

    def _hand_out(self, place: _Place, reach: Reach) -> Token:
        token = self._cut(place, reach)
        mint_id = self._keep(place, token)
        return Token(
            mint_id=mint_id,
            value=token.value,
            expires_at=token.expires_at.isoformat(),
            permissions=dict(token.permissions),
            repository_id=place.repository_id,
            bot_user_id=self._bot(token),
        )

    def _cut(self, place: _Place, reach: Reach) -> CutToken:
        installed = dict(self._identity.installation(place.repository).permissions) if reach.where_granted else {}
        return self._identity.mint(place.installation_id, place.repository_id, permissions(reach, installed))

    def _keep(self, place: _Place, token: CutToken) -> str:
        mint_id = secrets.token_hex(12)
        with self._lock:
            self._live[mint_id] = _Live(token, place, time.monotonic())
        try:
            self._ledger.record_mint(self._record(mint_id, place, token))
        except BaseException:
            self._identity.revoke(token)
            with self._lock:
                self._live.pop(mint_id, None)
            raise
        return mint_id

    def _record(self, mint_id: str, place: _Place, token: CutToken) -> Minted:
        return Minted(
            id=mint_id,
            run=place.run,
            effect_id=place.effect_id,
            belt=place.belt,
            purpose=place.purpose,
            repository_id=place.repository_id,
            permissions=dict(token.permissions),
            token_sha256=hashlib.sha256(token.value.encode()).hexdigest(),
            minted_at=self._clock(),
            expires_at=token.expires_at,
        )

    def _bot(self, token: CutToken) -> int:
        if not self._bot_user_id:
            self._bot_user_id = self._identity.identity(token).bot_user_id
        return self._bot_user_id

    def _end(self, mint_id: str, live: _Live) -> None:
        try:
            self._identity.revoke(live.token)
        except GitHubError as error:
            _LOG.warning("token %s of %s could not be revoked yet: %s", mint_id, live.place.purpose, error.reason)
            return
        with self._lock:
            self._live.pop(mint_id, None)
        self._ledger.mark_revoked(mint_id, self._clock())

    def _outlived(self, live: _Live) -> bool:
        if live.place.purpose == "ask_again":
            return time.monotonic() - live.began > WATCH_SECONDS
        if live.place.effect_id is None:
            return time.monotonic() - live.began > WATCH_SECONDS
        view = self._ledger.run(live.place.run)
        row = next((e for e in view.effects if e.id == live.place.effect_id), None) if view else None
        return row is None or row.settled_at is not None or row.lease_until is None or row.lease_until <= self._clock()

    def _denied(self, place: _Place, refused: Refused, voided: bool = False) -> Denied:
        now = self._clock()
        self._ledger.record_mint(
            Minted(
                id=secrets.token_hex(12),
                run=place.run,
                effect_id=place.effect_id,
                belt=place.belt,
                purpose=place.purpose or "unknown",
                repository_id=place.repository_id,
                permissions={},
                token_sha256="",
                minted_at=now,
                expires_at=now,
                revoked_at=now,
                refused=str(refused),
            )
        )
        return Denied(reason=refused.reason, remedy=refused.remedy, voided=voided)

    def _trouble(self, place: _Place, error: GitHubError) -> Denied:
        """GitHub did not cut the token: nothing is handed out, whatever the reason."""
        denied = self._denied(place, Refused(error.reason, error.remedy))
        waits = {Suspended: 3_600.0, Unreachable: 20.0, Broken: 20.0}
        later = next((seconds for kind, seconds in waits.items() if isinstance(error, kind)), None)
        if isinstance(error, RateLimited):
            later = error.retry_after
        return denied.model_copy(update={"retry_after": later})


def _row(effect: EffectView) -> OwedRow:
    return OwedRow(effect.effect, effect.settled_at is not None, effect.fence, effect.lease_until)


def _named(place: _Place, purpose: str) -> _Place:
    return replace(place, purpose=purpose)
