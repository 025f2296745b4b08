"""How the App and this machine stand with GitHub: the time that GitHub tells, the App with its permissions, where it is
installed, where its deliveries go and how the newest ones fared. It reads only.

For the mint's kind alone, like `worker.github.app`: it signs with the App's key.
"""

import time
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Self

from msgspec import Struct, field

from worker.github.app import AppJwt, InstallationView, installations_of
from worker.github.asking import Anonymous, ConnectionSettings, Request
from worker.github.connection import Connection, connect
from worker.github.errors import Call, Conflict, NotFound
from worker.github.place import Place, segment, segments
from worker.github.reader import Reader
from worker.github.rules import Rule
from worker.github.views import Account, RepositoryRef, RepositoryView, decode


class AppView(Struct, frozen=True):
    """The App as its owner set it up: what it asks for, which an installation may not have accepted (fact 67)."""

    id: int
    slug: str
    permissions: dict[str, str] = {}
    events: tuple[str, ...] = ()
    owner: Account | None = None
    html_url: str = ""


class HookView(Struct, frozen=True):
    """Where deliveries go; the secret is never told."""

    url: str = ""
    content_type: str = ""
    insecure: str | float = field(name="insecure_ssl", default="0")


class DeliveryView(Struct, frozen=True):
    """One attempt to deliver: `status` is `OK` or GitHub's word for what went wrong, `code` our own answer's status or
    0 where there was none (facts 20, 21)."""

    guid: str
    at: datetime = field(name="delivered_at")
    event: str
    status: str
    code: int = field(name="status_code", default=0)


def clock_ahead(api_url: str, now: Callable[[], float] = time.time) -> float | None:
    """Seconds by which this machine's clock is ahead of GitHub's, by the middle of one question; negative where it is
    behind, None where GitHub does not say its time. Any answer will do. Raises `Unreachable`."""
    from worker.github.kit import Kit

    kit = Kit(api_url, Anonymous(), ConnectionSettings())
    try:
        before = now()
        _, answer = kit.send(Request("GET", "/meta"))
        after = now()
    finally:
        kit.close()
    try:
        told = parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    except ValueError:
        return None
    # GitHub tells whole seconds, cut off.
    return (before + after) / 2 - (told + 0.5)


class AppStanding:
    """Asks as the App; a context manager. `private_key` is a PEM (see `worker.github.key`)."""

    def __init__(self, api_url: str, app_id: str, private_key: str) -> None:
        self._connection = connect(api_url, AppJwt(app_id, private_key, time.time), ConnectionSettings())

    def __enter__(self) -> Self:
        self._connection.__enter__()
        return self

    def __exit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._connection.__exit__(*failure)

    def app(self) -> AppView:
        """The App to which the key belongs. Raises `Unauthorized` for another key or a clock that is off, `NotFound`
        where there is no App of that id."""
        return decode(AppView, self._connection.get("/app"), Call("GET", "/app"))

    def installations(self) -> tuple[InstallationView, ...]:
        """Every installation, suspended ones too (fact 69)."""
        return installations_of(self._connection)

    def hook(self) -> HookView:
        """Where GitHub delivers to."""
        return decode(HookView, self._connection.get("/app/hook/config"), Call("GET", "/app/hook/config"))

    def newest_deliveries(self) -> tuple[DeliveryView, ...]:
        """The newest hundred attempts of all installations, newest first."""
        path = "/app/hook/deliveries"
        told, _ = self._connection.page(path)
        return decode(tuple[DeliveryView, ...], told, Call("GET", path))


class RepositoryStanding:
    """What a repository says that a run will meet, with a token that reads."""

    def __init__(self, connection: Connection, repository: RepositoryRef) -> None:
        self._place = Place(connection, repository)
        self._reader = Reader(connection, repository)

    def repository(self) -> RepositoryView:
        """Its flags."""
        return self._reader.repository()

    def has_label(self, name: str) -> bool:
        """Whether the repository has a label of this name."""
        try:
            self._place.get(f"/labels/{segment(name)}")
        except NotFound:
            return False
        return True

    def has_branch(self, name: str) -> bool:
        """Whether there is a branch of this name; an empty repository has none."""
        try:
            return self._reader.find_branch(name) is not None
        except Conflict:
            return False

    def file(self, path: str, branch: str) -> bytes | None:
        """A file on a branch; None where there is none."""
        found = self._reader.file_at(path, branch)
        return None if found is None else found.content

    def has_folder(self, path: str, branch: str) -> bool:
        """Whether there is a folder on the branch."""
        try:
            return isinstance(self._place.get(f"/contents/{segments(path)}", {"ref": branch}), list)
        except NotFound:
            return False

    def rules(self, branch: str) -> tuple[Rule, ...]:
        """The active rules for a branch of this name, which need not exist (fact 124)."""
        return tuple(self._place.every(Rule, f"/rules/branches/{segment(branch)}"))
