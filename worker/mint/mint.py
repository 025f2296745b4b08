"""The mint itself: rules, GitHub asked again, a narrow token. It trusts no caller's word."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from app.core.belts import REACH, Belt, EffectKind, Reach
from app.core.bounds import NO_BOUNDS, Bounds
from app.core.guarded import touches_workflows
from app.core.run import Grant
from app.core.verdict import Allowed, Refused
from app.ledger.errors import LedgerCorrupt, RunLeftAside
from app.ledger.limits import OF_THE_APP
from app.ledger.outcomes import EffectView
from app.ledger.store import Ledger
from worker.github.app import AppIdentity, BroaderThanAsked, RepositoriesPage, repositories_of
from worker.github.app import Token as CutToken
from worker.github.connection import ConnectionSettings, InstallationToken, connect
from worker.github.errors import (
    Broken,
    Call,
    Forbidden,
    GitHubError,
    Invalid,
    IssuesOff,
    LimitKind,
    NotFound,
    NotGranted,
    RateLimited,
    Suspended,
    Unauthorized,
    Unreachable,
)
from worker.github.limit import SharedLimit
from worker.github.reader import Reader
from worker.github.views import RepositoryRef
from worker.mint.again import plan_stands, still_approved
from worker.mint.purse import Caller, Place, Purse
from worker.mint.rules import (
    OwedRow,
    lacking,
    may_change_workflows,
    may_publish,
    not_granted,
    permissions,
    rule,
    watch_reach,
)
from worker.mint.wire import Cut, Denied, Done, Release, Token, Watch

WATCH_SECONDS = 600.0
"""How long a token for watching reactions lives at the most, however often it is used."""

LAST_SECONDS = 8.0
"""How long the end tries to revoke what lives. `up` gives a process ten seconds."""

ASIDE_SECONDS = 30.0
"""A run that cannot be read here is asked for again after so long."""

_ITSELF = Caller(Belt.PUBLISHER, 0)
"""For whom the mint lists: the publisher will read there. No line has this number."""

WORDS_SECONDS = 1_800.0
"""How long words wait for the permission to be said: there is no other place where they could be."""
_WORDS = frozenset({EffectKind.SAY, EffectKind.REACT})

PROOF_SECONDS = 60.0
"""A clock or a key that GitHub does not take is mended by a person: until then nothing can be done or said anywhere."""

_WAITS: dict[type[GitHubError], float] = {Suspended: 3_600.0, IssuesOff: 1_800.0, Unreachable: 20.0, Broken: 20.0}


@dataclass(frozen=True, slots=True)
class Site:
    """Where GitHub is, how it is spoken to, and what the operator lets repositories say."""

    api_url: str
    connections: ConnectionSettings
    bounds: Bounds = NO_BOUNDS


class Mint:
    """Cuts tokens for belts and ends them. Every token, refusal and revocation is in the ledger, by hash."""

    def __init__(
        self,
        ledger: Ledger,
        identity: AppIdentity,
        site: Site,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self.identity = identity
        self._site = site
        self._clock = clock
        self._purse = Purse(ledger, identity, clock)
        self._bot_user_id = 0
        identity.keep_to(SharedLimit(ledger, OF_THE_APP, clock))

    def cut(self, caller: Caller, asked: Cut) -> Token | Denied:
        """1 the ledger's rules, 2 for a grant: GitHub asked again, 3 the token. An effect has one token at a time."""
        nowhere = Place(asked.run, asked.effect_id, 0, "", 0, caller, "unknown")
        try:
            view = self._ledger.run(asked.run)
        except RunLeftAside as aside:
            # The mint of a newer version will be there soon, or somebody restores the run.
            self._ledger.say_left_aside(aside)
            return self._denied(nowhere, Refused(str(aside))).model_copy(update={"retry_after": ASIDE_SECONDS})
        if view is None:
            return self._denied(nowhere, Refused("There is no such run."))
        row = next((one for one in view.effects if one.id == asked.effect_id), None)
        request = view.state.request
        place = Place(
            request.run,
            asked.effect_id,
            request.repository_id,
            request.repository,
            request.installation_id,
            caller,
            str(row.effect.kind) if row else "unknown",
        )
        ruling = rule(caller.belt, asked.fence, _owed(row), view.state, self._clock())
        if isinstance(ruling, Refused):
            return self._denied(place, ruling)
        place = self._today(place)
        if (limited := self._still_alive(place, _of(asked)) or self._limited(place)) is not None:
            return limited
        try:
            voided = self._voided(place, ruling.grant) if ruling.grant else None
            if voided is not None:
                return self._denied(place, voided).model_copy(update={"voided": True})
            return self._still_alive(place, _of(asked)) or self._hand_out(place, ruling.reach)
        except GitHubError as error:
            return self._trouble(place, error)

    def watch(self, caller: Caller, asked: Watch) -> Token | Denied:
        """A token for reading issues and reactions in those of these repositories of one installation in which, by the
        ledger, a run is open or labels are to be looked for. Each line has one at a time for a repository."""
        waiting: dict[int, str] = {}
        for one in self._ledger.open_runs():
            if one.installation_id == asked.installation_id and one.repository_id in asked.repository_ids:
                waiting.setdefault(one.repository_id, one.run)
        for repository_id in self._ledger.unheard_in(asked.installation_id).intersection(asked.repository_ids):
            waiting.setdefault(repository_id, "")
        first, *beside = sorted(waiting) or asked.repository_ids[:1]
        run = waiting.get(first, "")
        place = Place(run, None, first, "", asked.installation_id, caller, "watch", tuple(beside))
        reach = watch_reach(caller.belt)
        if isinstance(reach, Refused):
            return self._denied(place, reach)
        if not waiting:
            return self._denied(place, Refused("No run is open in these repositories of that installation."))
        if (limited := self._limited(place)) is not None:
            return limited
        ours = self._still_alive(place, lambda one: (one.effect_id, one.caller) == (None, caller) and _meet(one, place))
        if ours is not None:
            return ours
        try:
            return self._hand_out(place, reach)
        except GitHubError as error:
            # GitHub does not say which of them it does not know.
            fewer = bool(beside) and isinstance(error, Invalid | BroaderThanAsked)
            return self._trouble(place, error).model_copy(update={"fewer": fewer})

    def repositories(self, installation_id: int, following: str = "") -> RepositoriesPage:
        """A page of the repositories that the App is installed on there: the first one, or the one that another names
        as following. The token for it lives no longer. Raises `GitHubError`."""
        place = Place("", None, 0, "", installation_id, _ITSELF, "list")
        where, connections = installation_id, self._site.connections
        limit = SharedLimit(self._ledger, where, self._clock)
        if (left := limit.left()) is not None:
            raise RateLimited(left[1], Call("GET", "/installation/repositories"), left[0], LimitKind.SECONDARY)
        listing = lambda: self.identity.mint_to_list(where)  # noqa: E731
        mint_id, token = self._kept(place, {"metadata": "read"}, listing)
        try:
            credential = InstallationToken(token.value)
            with connect(self._site.api_url, credential, connections, where, limit) as line:
                return repositories_of(line, following)
        finally:
            self._purse.end(mint_id)

    def release(self, caller: Caller, asked: Release) -> Done | Denied:
        """The token is revoked at GitHub. One that cannot be revoked now is tried again by `tidy`."""
        place = self._purse.place_of(asked.mint_id)
        if place is not None and place.caller.belt is not caller.belt:
            return self._denied(replace(place, caller=caller), Refused("That token is another belt's."))
        self._purse.end(asked.mint_id)
        return Done()

    def hung_up(self, caller: Caller) -> None:
        """Nobody is there any more to use the tokens that were handed out over this line: they are ended."""
        self._purse.end_where(lambda place: place.caller == caller)

    def look_back(self) -> None:
        """The log says which tokens an earlier mint left alive, since nobody can revoke those: they age out."""
        self._purse.look_back()

    def tidy(self) -> None:
        """Ends the tokens whose effect is settled or not claimed any more, and the old ones of watching."""
        self._purse.tidy(self._outlived)

    def end_all(self) -> None:
        """No token of this mint lives afterwards, unless GitHub cannot be reached."""
        self._purse.close(LAST_SECONDS)

    def _today(self, place: Place) -> Place:
        """The place under the repository's name of today; its id is what counts."""
        seen = self._ledger.repository(place.repository_id)
        if seen is None:
            return place
        return replace(place, repository=seen.full_name, installation_id=seen.installation_id)

    def _voided(self, place: Place, grant: Grant) -> Refused | None:
        """Why the grant must not be used, by the stored plan and by what GitHub says now."""
        try:
            kept = self._ledger.plan_by_digest(grant.approval.plan_digest)
            narrowing = grant.proposal.narrowing
            before = self._ledger.plan_by_digest(narrowing.digest) if narrowing is not None else None
            stands = plan_stands(grant, kept, before)
        except LedgerCorrupt as error:
            stands = Refused(str(error))
        if isinstance(stands, Allowed) and place.purpose == EffectKind.EXECUTE:
            stands = may_publish(self._installed(place))
        if isinstance(stands, Allowed) and touches_workflows(grant.proposal.paths or ()):
            stands = may_change_workflows(self._installed(place))
        if isinstance(stands, Refused):
            return stands
        asking = replace(place, purpose="ask_again")
        mint_id, token = self._cut(asking, REACH[EffectKind.LOOK_UP_AUTHORITY])
        try:
            bot = self._bot(token)
            where, connections = place.installation_id, self._site.connections
            credential, limit = InstallationToken(token.value), SharedLimit(self._ledger, where, self._clock)
            with connect(self._site.api_url, credential, connections, where, limit) as line:
                reader = Reader(line, RepositoryRef(place.repository_id, place.repository))
                verdict = still_approved(reader, grant, bot, self._clock(), self._site.bounds)
        finally:
            self._purse.end(mint_id)
        return verdict if isinstance(verdict, Refused) else None

    def _hand_out(self, place: Place, reach: Reach) -> Token:
        mint_id, token = self._cut(place, reach)
        try:
            bot = self._bot(token)
        except BaseException:
            self._purse.end(mint_id)
            raise
        return Token(
            mint_id=mint_id,
            value=token.value,
            expires_at=token.expires_at.isoformat(),
            permissions=dict(token.permissions),
            repository_ids=(place.repository_id, *place.beside),
            bot_user_id=bot,
        )

    def _cut(self, place: Place, reach: Reach) -> tuple[str, CutToken]:
        """A token in the purse, and the id under which it is there."""
        installed = self._installed(place) if reach.where_granted else {}
        asked = permissions(reach, installed)
        try:
            return self._kept(
                place,
                asked,
                lambda: self.identity.mint(place.installation_id, place.repository_id, asked, place.beside),
            )
        except GitHubError as error:
            raise self._named(place, asked, error) from None

    def _kept(
        self, place: Place, asked: Mapping[str, str], cut: Callable[[], CutToken]
    ) -> tuple[str, CutToken]:
        mint_id = self._purse.begin(place, asked)
        try:
            token = cut()
        except GitHubError as error:
            if not error.maybe_done:
                self._purse.forget(mint_id)
            raise
        self._purse.keep(mint_id, place, token)
        return mint_id, token

    def _named(self, place: Place, asked: Mapping[str, str], error: GitHubError) -> GitHubError:
        """The error; where GitHub refused a permission without saying which, one that names it."""
        if type(error) is not Forbidden:
            return error
        try:
            missing = lacking(asked, self._installed(place))
        except GitHubError:
            return error
        if not missing:
            return error
        said = not_granted(missing)
        return NotGranted(said.reason, error.call, said.remedy)

    def _installed(self, place: Place) -> dict[str, str]:
        """What was granted to the App where this place is."""
        return self.identity.granted(place.installation_id)

    def _bot(self, token: CutToken) -> int:
        if not self._bot_user_id:
            self._bot_user_id = self.identity.identity(token).bot_user_id
        return self._bot_user_id

    def _still_alive(self, place: Place, before: Callable[[Place], bool]) -> Denied | None:
        """The tokens that were cut before are ended. Where one lives on, no other is cut beside it."""
        seconds = self._purse.end_where(before)
        if seconds is None:
            return None
        reason = "GitHub does not revoke the token that was cut for this before, and there is one at a time."
        remedy = "It goes on when that one is revoked or has run out, within an hour."
        return self._denied(place, Refused(reason, remedy)).model_copy(update={"retry_after": seconds})

    def _limited(self, place: Place) -> Denied | None:
        """While a limit of the installation is met nothing could be done with a token, and none is asked for."""
        left = SharedLimit(self._ledger, place.installation_id, self._clock).left()
        if left is None:
            return None
        return self._denied(place, Refused(left[1])).model_copy(update={"retry_after": left[0]})

    def _outlived(self, place: Place, age: float) -> bool:
        if place.effect_id is None:
            return age > WATCH_SECONDS
        try:
            view = self._ledger.run(place.run)
        except RunLeftAside:
            # Whether its effect is done is not to be read; who still needs a token gets another.
            return age > WATCH_SECONDS
        row = next((one for one in view.effects if one.id == place.effect_id), None) if view else None
        # A settled effect has no lease any more.
        return row is None or row.lease_until is None or row.lease_until <= self._clock()

    def _denied(self, place: Place, refused: Refused) -> Denied:
        self._purse.refuse(place, refused)
        return Denied(reason=refused.reason, remedy=refused.remedy)

    def _trouble(self, place: Place, error: GitHubError) -> Denied:
        """GitHub did not cut the token: nothing is handed out, whatever the reason."""
        denied = self._denied(place, Refused(error.reason, error.remedy))
        later = next((seconds for kind, seconds in _WAITS.items() if isinstance(error, kind)), None)
        if isinstance(error, RateLimited):
            later = error.retry_after
        if isinstance(error, NotGranted) and place.purpose in _WORDS:
            later = WORDS_SECONDS
        if isinstance(error, Unauthorized) and error.call.path.startswith("/app"):
            later = PROOF_SECONDS
        return denied.model_copy(update={"retry_after": later, "gone": _is_gone(place, error)})


def _of(asked: Cut) -> Callable[[Place], bool]:
    """Whether a token is for the same effect."""
    return lambda one: one.effect_id == asked.effect_id


def _owed(row: EffectView | None) -> OwedRow | None:
    return OwedRow(row.effect, row.settled_at is not None, row.fence, row.lease_until) if row else None


def _is_gone(place: Place, error: GitHubError) -> bool:
    """Whether GitHub says that the App is not installed (any more) on the one repository that was asked for (69)."""
    of_the_cut = error.call.path.endswith("/access_tokens")
    return of_the_cut and not place.beside and isinstance(error, NotFound | Invalid)


def _meet(one: Place, other: Place) -> bool:
    """Whether some repository is of both."""
    return not {one.repository_id, *one.beside}.isdisjoint((other.repository_id, *other.beside))
