"""News: what a delivery means once it is believed, and whom it concerns."""

from dataclasses import dataclass
from datetime import datetime

from app.core.facts import Fact

READ = "read:"
"""How the guid begins of what no delivery told and was found by reading."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What GitHub sent, as the door took it. `guid` is the same again for a redelivery (github-facts 19)."""

    guid: str
    event: str
    action: str
    received_at: datetime
    body: bytes


@dataclass(frozen=True, slots=True)
class OnIssue:
    """The open run of one issue, or of one pull request that asked for a plan."""

    repository_id: int
    number: int


@dataclass(frozen=True, slots=True)
class OnPull:
    """The run whose own pull request this is."""

    repository_id: int
    number: int


@dataclass(frozen=True, slots=True)
class OnRepository:
    """Every open run of a repository."""

    repository_id: int


@dataclass(frozen=True, slots=True)
class OnInstallation:
    """Every open run of an installation."""

    installation_id: int


Subject = OnIssue | OnPull | OnRepository | OnInstallation


@dataclass(frozen=True, slots=True)
class Seen:
    """A repository's name of today: ids stay, names change."""

    repository_id: int
    full_name: str
    installation_id: int


@dataclass(frozen=True, slots=True)
class Trigger:
    """A label that triggers: ids stay, names change (github-facts 4)."""

    repository_id: int
    label_id: int
    name: str
    """The name by which it triggers, whatever it is called later."""
    renamed_to: str = ""
    """Its name of today, where it was just renamed: what was known of the label before is known no longer then, unless
    this is the very name that it had before it came to trigger."""


@dataclass(frozen=True, slots=True)
class News:
    """One fact and whom it concerns. `fact` is None where only the names, or what can go on now, are news."""

    subject: Subject
    fact: Fact | None
    seen: Seen | None = None
    trigger: Trigger | None = None
    hurry: bool = False
    """Whether what waits there is due at once: what it waited for may be over."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing for us, and why. `stirs` names the issue on which it happened, where one is known: what waits there
    for something that GitHub does not tell is looked at sooner."""

    why: str
    stirs: OnIssue | None = None
