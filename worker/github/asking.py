"""What a request to GitHub is made of: the credential, the settings of a connection, the request itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Credential(Protocol):
    """Something that lets us in. Its text never shows in `repr`."""

    def bearer(self) -> str:
        """The value to send now; empty for no authorisation at all."""
        ...

    def renew(self) -> bool:
        """Called when GitHub refused what `bearer` gave: true when it gives another value now, worth one try."""
        ...


class InstallationToken:
    """A token that was minted for one effect. With `again` (which asks the mint) it is renewed once, when GitHub
    refuses it because it aged out (case GH-04); a second refusal stands."""

    def __init__(self, value: str, again: Callable[[], str] | None = None) -> None:
        self._value = value
        self._again = again

    def __repr__(self) -> str:
        return "InstallationToken(hidden)"

    def bearer(self) -> str:
        return self._value

    def renew(self) -> bool:
        if self._again is None:
            return False
        ask, self._again = self._again, None
        self._value = ask()
        return True


class Limit(Protocol):
    """How far GitHub's limits are reached, as all know it who share them."""

    def left(self) -> tuple[float, str] | None:
        """For how many seconds nothing may be sent, and why; None where something may."""
        ...

    def met(self, seconds: float, reason: str) -> None:
        """GitHub said that a limit is met: nobody who shares it sends anything for so long."""
        ...

    def turn(self, gap_seconds: float) -> float:
        """After how many seconds content may be created: nobody who shares it does for `gap_seconds` afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Anonymous:
    """No credential: only what anybody may read."""

    def bearer(self) -> str:
        return ""

    def renew(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Seconds to wait for a connection and for (each part of) an answer, seconds between content-creating writes,
    and GitHub's API version by date (github-facts 174, 175)."""

    connect_seconds: float = 10.0
    read_seconds: float = 20.0
    write_gap_seconds: float = 1.0
    api_version: str = "2022-11-28"


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `path` is below the API's base and already quoted, or a whole address on the same host; `expected`
    names the statuses that count as done, none for any below 300."""

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: object = None
    expected: tuple[int, ...] = ()
