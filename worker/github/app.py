"""The App itself: its key signs, it finds installations, cuts narrow tokens, revokes them, and reads its delivery log.

Only the mint may use this module: it is the one place that holds the private key.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import jwt
from jwt.algorithms import RSAAlgorithm
from msgspec import Struct, field

from app.core.missed import Attempt
from worker.github.asking import Anonymous, ConnectionSettings, Credential, InstallationToken, Limit, Request
from worker.github.connection import Connection, connect
from worker.github.errors import Call, GitHubError, Moved, Unauthorized
from worker.github.place import segment
from worker.github.views import Account, RepositoryRef, decode

T = TypeVar("T")

_LEVELS = ("read", "write", "admin")


class Token(Struct, frozen=True):
    """A token GitHub cut: for exactly these repositories and permissions. Its value never shows in `repr`."""

    value: str
    expires_at: datetime
    permissions: dict[str, str]
    repository_ids: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Token({self.permissions}, repositories {self.repository_ids}, until {self.expires_at:%H:%M:%S})"


class InstallationView(Struct, frozen=True):
    """Where the App is installed and what it was granted there (github-facts 67); times of suspension or None."""

    id: int
    account: Account | None = None
    permissions: dict[str, str] = {}
    events: tuple[str, ...] = ()
    repository_selection: str = ""
    suspended_at: datetime | None = None
    html_url: str = ""


class Identity(Struct, frozen=True):
    """Who the App is on GitHub; `bot_user_id` is not the App's id (github-facts 87)."""

    app_id: int
    slug: str
    bot_user_id: int

    @property
    def bot_login(self) -> str:
        return f"{self.slug}[bot]"


class LogPage(Struct, frozen=True):
    """A page of the delivery log, newest first, and the address of the next one; empty on the last."""

    attempts: tuple[Attempt, ...]
    following: str


class RepositoriesPage(Struct, frozen=True):
    """A page of an installation's repositories, and the address of the next one; empty on the last."""

    repositories: tuple[RepositoryRef, ...]
    following: str


class Fetched(Struct, frozen=True):
    """A delivery out of the log, with the payload that was to be delivered."""

    guid: str
    event: str
    payload: Any

    def __repr__(self) -> str:
        return f"Fetched({self.event}, {self.guid})"


class _Told(Struct):
    payload: Any


class _FetchedAnswer(Struct):
    guid: str
    event: str
    request: _Told


class _AttemptAnswer(Struct):
    """Redeliveries keep the `guid` and have an `id` of their own (github-facts 19)."""

    id: int
    guid: str
    delivered_at: datetime
    status: str
    event: str
    action: str | None = None


class BroaderThanAsked(GitHubError):
    """GitHub cut a token that is not exactly what was asked for; it was revoked, or `reason` says that it was not."""

    remedy_by_default = "Do not use it; look at the App's and the installation's settings."


class _AppAnswer(Struct):
    id: int
    slug: str


class _RepositoryId(Struct):
    id: int


class _Reached(Struct):
    repositories: tuple[RepositoryRef, ...]


class _TokenAnswer(Struct):
    token: str
    expires_at: datetime
    permissions: dict[str, str] = {}
    repositories: tuple[_RepositoryId, ...] | None = None
    selection: str = field(name="repository_selection", default="")


@functools.lru_cache(maxsize=1)
def _signing_key(pem: str) -> Any:
    """Parsed once: the parser checks the primes, which takes far longer than a signature."""
    return RSAAlgorithm(RSAAlgorithm.SHA256).prepare_key(pem)


class AppJwt:
    """Signs a new short proof for every request; `clock` gives seconds since the epoch."""

    def __init__(self, app_id: str, private_key: str, clock: Callable[[], float]) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._clock = clock

    def __repr__(self) -> str:
        return f"AppJwt({self._app_id!r})"

    def bearer(self) -> str:
        # A minute back and nine ahead: a clock that is somewhat fast or slow is still believed (github-facts 48, 49).
        now = int(self._clock())
        claims = {"iss": self._app_id, "iat": now - 60, "exp": now + 540}
        return jwt.encode(claims, _signing_key(self._private_key), algorithm="RS256")

    def renew(self) -> bool:
        return False


class AppIdentity:
    """Acts as the App, for the mint alone; a context manager.

    `private_key` is a PEM (see `worker.github.key`); `clock` gives seconds since the epoch.
    """

    def __init__(
        self,
        api_url: str,
        app_id: str,
        private_key: str,
        clock: Callable[[], float] = time.time,
        settings: ConnectionSettings | None = None,
    ) -> None:
        self._api_url = api_url
        self._settings = settings or ConnectionSettings()
        self._connection = connect(api_url, AppJwt(app_id, private_key, clock), self._settings)

    def keep_to(self, limit: Limit) -> None:
        """From now on nothing is asked as the App while its own limit is met, and whoever shares that learns of it."""
        self._connection.limit = limit

    def __enter__(self) -> Self:
        self._connection.__enter__()
        return self

    def __exit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._connection.__exit__(*failure)

    def installation(self, full_name: str) -> InstallationView:
        """The installation that covers a repository (`owner/name`). Raises `NotFound` when there is none."""
        owner, _, name = full_name.partition("/")
        return self._one(InstallationView, f"/repos/{segment(owner)}/{segment(name)}/installation")

    def installations(self) -> tuple[InstallationView, ...]:
        """Every installation, suspended ones too (github-facts 69)."""
        return installations_of(self._connection)

    def granted(self, installation_id: int) -> dict[str, str]:
        """What the App may do in an installation now, whatever its repositories are called (github-facts 25). Raises
        `NotFound` where there is no such installation any more."""
        return dict(self._one(InstallationView, f"/app/installations/{installation_id}").permissions)

    def mint(
        self, installation_id: int, repository_id: int, permissions: Mapping[str, str], beside: Sequence[int] = ()
    ) -> Token:
        """A token for that one repository, and for those beside it where any are named, with exactly `permissions`
        (and `metadata: read`, which GitHub adds).

        Raises ValueError for no permissions, which GitHub would take for all of them, and for unknown levels;
        `Suspended`, `NotFound` (uninstalled), `Forbidden` (not granted) or `Invalid` (a repository is not there any
        more) as GitHub says; `BroaderThanAsked`, after revoking it, when the token is not what was asked for.
        """
        if not permissions or any(level not in _LEVELS for level in permissions.values()):
            raise ValueError("a token needs at least one permission, each with the level read, write or admin")
        wanted = (repository_id, *beside)
        return self._cut(installation_id, {"repository_ids": list(wanted)}, permissions, wanted)

    def mint_to_list(self, installation_id: int) -> Token:
        """A token with which the installation's repositories are listed: it opens every one of them, and of none more
        than what it is called and how it is set up (`metadata: read`)."""
        answer, call = self._asked(installation_id, {"permissions": {"metadata": "read"}})
        token = Token(answer.token, answer.expires_at, answer.permissions, ())
        if answer.permissions != {"metadata": "read"}:
            raise BroaderThanAsked(self._drop(token, {"metadata": "read"}, 0), call)
        return token

    def mint_named(self, installation_id: int, name: str, permissions: Mapping[str, str]) -> Token:
        """As `mint`, for one repository of which only the name (without its owner) is known, and for reading only."""
        if not permissions or set(permissions.values()) != {"read"}:
            raise ValueError("a token for a name only reads")
        return self._cut(installation_id, {"repositories": [name]}, permissions)

    def _cut(
        self,
        installation_id: int,
        where: Mapping[str, list[int] | list[str]],
        permissions: Mapping[str, str],
        wanted: Sequence[int] = (),
    ) -> Token:
        """A token that is exactly what was asked for; where no ids are `wanted`, it is for one repository."""
        answer, call = self._asked(installation_id, {**where, "permissions": dict(permissions)})
        repository_ids = tuple(repository.id for repository in answer.repositories or ())
        token = Token(answer.token, answer.expires_at, answer.permissions, repository_ids)
        asked = dict(permissions) | {"metadata": permissions.get("metadata", "read")}
        granted = {"metadata": "read"} | answer.permissions
        same = sorted(repository_ids) == sorted(wanted) if wanted else len(repository_ids) == 1
        if answer.selection != "selected" or not same or granted != asked:
            raise BroaderThanAsked(self._drop(token, asked, len(wanted) or 1), call)
        return token

    def _asked(self, installation_id: int, body: Mapping[str, object]) -> tuple[_TokenAnswer, Call]:
        path = f"/app/installations/{installation_id}/access_tokens"
        call = Call("POST", path)
        return decode(_TokenAnswer, self._connection.write(Request("POST", path, {}, body, (201,))), call), call

    def revoke(self, token: Token) -> None:
        """The token works no more; one that had already expired counts as revoked."""
        self.revoke_value(token.value)

    def revoke_value(self, value: str) -> None:
        """As `revoke`, for who kept only the value."""
        try:
            with connect(self._api_url, InstallationToken(value), self._settings) as connection:
                connection.write(Request("DELETE", "/installation/token", expected=(204,)))
        except Unauthorized:
            return

    def identity(self, token: Token | None = None) -> Identity:
        """Who the App is. The bot's id is asked for with `token`, or openly where the server allows that."""
        app = self._one(_AppAnswer, "/app")
        path = f"/users/{segment(f'{app.slug}[bot]')}"
        credential: Credential = Anonymous() if token is None else InstallationToken(token.value)
        with connect(self._api_url, credential, self._settings) as connection:
            bot = decode(Account, connection.get(path), Call("GET", path))
        return Identity(app.id, app.slug, bot.id)

    def delivery_log(self, following: str = "") -> LogPage:
        """A page of the attempts to deliver, of all installations: the newest one, or the one that another names as
        following (github-facts 20)."""
        path = "/app/hook/deliveries"
        if following and not self._connection.leads_to(following, path):
            raise Moved("GitHub points to another place than its delivery log.", Call("GET", path), following)
        told, after = self._connection.page(following or path)
        answers = decode(tuple[_AttemptAnswer, ...], told, Call("GET", path))
        attempts = (Attempt(a.id, a.guid, a.delivered_at, a.event, a.action or "", a.status) for a in answers)
        return LogPage(tuple(attempts), after or "")

    def delivery(self, delivery_id: int) -> Fetched:
        """One attempt with its payload, whether it was received or not (github-facts 22)."""
        told = self._one(_FetchedAnswer, f"/app/hook/deliveries/{delivery_id}")
        return Fetched(told.guid, told.event, told.request.payload)

    def redeliver(self, delivery_id: int) -> None:
        """GitHub will send that delivery once more, with the same GUID."""
        self._connection.write(Request("POST", f"/app/hook/deliveries/{delivery_id}/attempts", expected=(202,)))

    def _one(self, kind: type[T], path: str) -> T:
        return decode(kind, self._connection.get(path), Call("GET", path))

    def _drop(self, token: Token, asked: Mapping[str, str], count: int) -> str:
        number = {0: "listing", 1: "one repository"}.get(count, f"{count} repositories")
        said = f"GitHub cut {token!r} where {dict(asked)} for {number} was asked."
        try:
            self.revoke(token)
        except GitHubError as problem:
            return f"{said} It could NOT be revoked: {problem.reason}"
        return f"{said} It was revoked."


def installations_of(connection: Connection) -> tuple[InstallationView, ...]:
    """What the App, whose connection it is, is told of where it is installed."""
    path = "/app/installations"
    pages = connection.pages(path)
    return tuple(one for page in pages for one in decode(tuple[InstallationView, ...], page, Call("GET", path)))


def repositories_of(connection: Connection, following: str = "") -> RepositoriesPage:
    """A page of what a token of `mint_to_list` opens: the first one, or the one that another names as following."""
    path = "/installation/repositories"
    call = Call("GET", path)
    if following and not connection.leads_to(following, path):
        raise Moved("GitHub points to another place than its listing.", call, following)
    told, after = connection.page(following or path)
    return RepositoriesPage(decode(_Reached, told, call).repositories, after or "")
