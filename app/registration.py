"""What is kept of a registered App: one private file for each value, so that a process reads its own and no other.

Set-up writes them; the environment wins over them. All are in `app/` below the data folder: the folder is for its
account alone (0700), and so is each file (0600). They appear together or not at all.
"""

import hmac
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

FOLDER = "app"
ANSWER = "app.answer"
PENDING = "setup.json"
OTHERS = 0o077
HOUR = 3600.0
"""For which GitHub's code is good (github-facts 89)."""

FILES: Mapping[str, str] = {
    "GITHUB_APP_ID": "id",
    "GITHUB_PRIVATE_KEY": "private-key.pem",
    "GITHUB_WEBHOOK_SECRET": "webhook-secret",
    "GITHUB_CLIENT_ID": "client-id",
    "GITHUB_CLIENT_SECRET": "client-secret",
    "GITHUB_API_URL": "api-url",
    "COUNTERSIGN_APP_PAGE": "page",
    "COUNTERSIGN_PULL": "pull",
}
"""The setting that each file stands for. The last two are no secrets: the App's page on GitHub, and whether its
deliveries have to be fetched because nobody outside can reach this machine."""


class NotPrivate(Exception):
    """A kept file cannot be used: the message says which and why, and nothing of what is in it."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A set-up under way, as it outlives a crash. Secrets are kept as their SHA-256."""

    key_sha256: str = ""
    """Of the printed one-time secret; empty once it was used."""
    visitor_sha256: str = ""
    """Of the cookie of the browser that used it."""
    state: str = ""
    """What GitHub has to bring back; empty while nothing was sent there."""
    began: float = 0.0
    """When it was sent, in seconds since 1970: GitHub's code is good for one hour (github-facts 89)."""
    api_url: str = ""


def is_registered(data: Path) -> bool:
    """Whether an App was set up here."""
    return (data / FOLDER).is_dir()


def kept(data: Path, name: str) -> str | None:
    """The kept value of a setting, or None. Raises `NotPrivate` for a file that others may read, or nobody can."""
    path = data / FOLDER / FILES[name]
    try:
        if path.stat().st_mode & OTHERS:
            raise NotPrivate(f"{path} can be read by others: `chmod 600` it, and think about whether anybody has.")
        return path.read_text("ascii")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise NotPrivate(f"{path} cannot be read: {getattr(error, 'strerror', '') or 'it is no text'}.") from None


def keep(data: Path, values: Mapping[str, str]) -> None:
    """The App is registered here. `values` names settings; a crash in between is made good by `finish`."""
    write_private(data / ANSWER, json.dumps(dict(values)))
    finish(data)


def finish(data: Path) -> bool:
    """What an answer of GitHub's that was stored still lacks is done; True where there was something to do."""
    answer, partial = data / ANSWER, data / f"{FOLDER}.partial"
    if not answer.exists():
        return False
    shutil.rmtree(partial, ignore_errors=True)
    if not is_registered(data):
        partial.mkdir(mode=0o700)
        for name, value in json.loads(answer.read_text("ascii")).items():
            write_private(partial / FILES[name], value)
        partial.rename(data / FOLDER)
    answer.unlink()
    (data / PENDING).unlink(missing_ok=True)
    return True


def pending(data: Path) -> Pending:
    """The set-up that is under way; an empty one where none is, or where its file cannot be understood."""
    known = {one.name for one in fields(Pending)}
    try:
        told = json.loads((data / PENDING).read_text("ascii"))
        return Pending(**{name: value for name, value in told.items() if name in known})
    except (OSError, ValueError, AttributeError):
        return Pending()


def note(data: Path, one: Pending, **changes: str | float) -> Pending:
    """The set-up as it now stands, which outlives this process."""
    changed = replace(one, **changes)  # type: ignore[arg-type]
    write_private(data / PENDING, json.dumps(asdict(changed)))
    return changed


def expected(data: Path, state: str, now: float) -> Pending | None:
    """The set-up under way, if this is the state that was sent and its hour is not over."""
    one = pending(data)
    fits = bool(one.state) and hmac.compare_digest(one.state.encode(), state.encode())
    return one if fits and 0 <= now - one.began <= HOUR else None


def write_private(path: Path, text: str) -> None:
    """The file holds exactly this, whole or not at all, and is its account's alone from its first byte on."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
