"""Settings: one frozen value per process, holding only what that process may know.

`environment()` is the one place in `app` where the environment is read. Everything else takes a mapping, so that
a process sees what it was given and a test gives what it likes. A setting that is missing or cannot be used
stops the start with a sentence that names it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from app.addresses import is_address, is_web_address
from app.core.bounds import NO_BOUNDS, Bounds, parse_bounds
from app.core.choice import VersionRules, read_rules
from app.core.days import DayCaps
from app.core.verdict import Refused
from app.handed import HandedWrong, with_files
from app.registration import NotPrivate, kept

DEFAULT_LABEL = "countersign"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
DEFAULT_SWEEP_SECONDS = 10.0

APP_KEYS = ("GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH")
MODEL_KEY = "ANTHROPIC_API_KEY"
PULL_SECRET = "COUNTERSIGN_PULL_SECRET"  # noqa: S105 (a name)
DAY_USD = "COUNTERSIGN_DAY_USD"
REPOSITORY_DAY_USD = "COUNTERSIGN_REPOSITORY_DAY_USD"
PAGES_PASSWORD = "COUNTERSIGN_PAGES_PASSWORD"  # noqa: S105 (a name)
SHORTEST_CREDENTIAL = 16
"""Characters of a secret with which one process of ours proves itself to another."""
_WEB_SECRETS = ("GITHUB_WEBHOOK_SECRET", "GITHUB_WEBHOOK_SECRET_OLD", "GITHUB_CLIENT_SECRET")
WEB_KEYS = (*_WEB_SECRETS, PAGES_PASSWORD, "COUNTERSIGN_METRICS_TOKEN")
DEFAULT_API = "https://api.github.com"


class SettingsWrong(Exception):
    """A setting cannot be used. The message is one sentence for the operator and never holds a secret."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


class SettingsMissing(SettingsWrong):
    """A setting without which the process must not start is unset or empty."""

    def __init__(self, name: str, purpose: str) -> None:
        super().__init__(name, f"{name} is not set. {purpose}")


def environment() -> Mapping[str, str]:
    """A copy of the environment of this process, with what it names files for. Raises `SettingsWrong`."""
    try:
        return with_files(dict(os.environ))
    except HandedWrong as wrong:
        raise SettingsWrong(wrong.name, str(wrong)) from None


class LogForm(StrEnum):
    """How a line of a log is written."""

    TEXT = "text"
    JSON = "json"


def log_form(env: Mapping[str, str]) -> LogForm:
    """From `COUNTERSIGN_LOGS`: `text` for people, or `json`, an object a line."""
    text = env.get("COUNTERSIGN_LOGS", "").strip().lower() or LogForm.TEXT
    if text not in set(LogForm):
        raise SettingsWrong("COUNTERSIGN_LOGS", f"COUNTERSIGN_LOGS is {text!r}, and must be text or json.")
    return LogForm(text)


NO_APP = "Where no App is registered yet, type `countersign setup`."


def require(env: Mapping[str, str], name: str, purpose: str) -> str:
    """The value of `name`, exactly as given. Raises `SettingsMissing` when it is unset or blank."""
    value = env.get(name, "")
    if not value.strip():
        raise SettingsMissing(name, purpose)
    return value


def refuse_strangers(process: str, env: Mapping[str, str], names: tuple[str, ...]) -> None:
    """Raises `SettingsWrong` for a variable that is another process' to hold, and for anything that is a token."""
    for name, value in env.items():
        is_token = re.match(r"gh[oprsu]_|github_pat_|-----BEGIN [A-Z ]*PRIVATE KEY", value.strip(" '\"\n"))
        if (name in names and value.strip()) or (is_token and name not in APP_KEYS):
            raise SettingsWrong(name, f"{name} is set for the {process}, which must not hold it. Unset it there.")


def data_dir(env: Mapping[str, str]) -> Path:
    """Absolute path of the folder for everything that is kept on this machine. It need not exist yet."""
    return Path(env.get("COUNTERSIGN_DATA_DIR", "").strip() or ".countersign").expanduser().absolute()


def made_data_dir(env: Mapping[str, str]) -> Path:
    """The data folder, which is there afterwards. Others may pass through it to the box's own, and list nothing."""
    path = data_dir(env)
    try:
        path.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        name = "COUNTERSIGN_DATA_DIR"
        raise SettingsWrong(name, f"The folder {name} cannot be made at {path}: {error.strerror}.") from error
    return path


def ledger_url(env: Mapping[str, str]) -> str:
    """SQLAlchemy URL of the ledger: `DATABASE_URL`, or an SQLite file in the data folder.

    The `postgres://` and `postgresql://` that hosting platforms hand out come back with the driver we ship.
    """
    url = env.get("DATABASE_URL", "").strip()
    if not url:
        return f"sqlite:///{data_dir(env) / 'ledger.db'}"
    if not is_address(url, ("sqlite", "postgres", "postgresql", "postgresql+psycopg")):
        # Not quoted: it can hold a password.
        sentence = "DATABASE_URL is not an address like sqlite:///file or postgresql://host/name."
        raise SettingsWrong("DATABASE_URL", sentence)
    for scheme in ("postgres://", "postgresql://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    return url


def broker_url(env: Mapping[str, str]) -> str:
    """URL of the broker: `CELERY_BROKER_URL`, or `filesystem://` for folders below the data folder."""
    url = env.get("CELERY_BROKER_URL", "").strip() or "filesystem://"
    if not is_address(url, ("filesystem", "redis", "rediss", "amqp", "amqps", "sentinel")):
        raise SettingsWrong("CELERY_BROKER_URL", "CELERY_BROKER_URL is not an address like redis://host:6379/0.")
    return url


def web_address(api_url: str) -> str:
    """The web address that belongs to an API's: github.com, a GHES host, a ghe.com tenant, or the same host."""
    parts = urlsplit(api_url.rstrip("/") or DEFAULT_API)
    host = parts.netloc
    if host == "api.github.com" or (host.startswith("api.") and host.endswith(".ghe.com")):
        host = host.removeprefix("api.")
    return f"{parts.scheme}://{host}"


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """Where the ledger is. The URL can hold a password and stays out of `repr`."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Where doorbells ring, and how often beat rings the sweep of each belt."""

    broker_url: str = field(repr=False)
    data_dir: Path
    sweep_seconds: float = DEFAULT_SWEEP_SECONDS


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """The App's OAuth client, and where GitHub is."""

    client_id: str
    client_secret: str = field(repr=False)
    api_url: str = DEFAULT_API


@dataclass(frozen=True, slots=True)
class WebSettings:
    """What the web process may know: no key of the App, no key of a model."""

    ledger: LedgerSettings
    queue: QueueSettings
    secrets: tuple[bytes, ...] = field(repr=False)
    """Webhook secrets that are accepted: the present one, and the old one while it is being replaced."""
    label: str = DEFAULT_LABEL
    bot_id: int | None = None
    """Numeric id of the App's own bot user, where it is known."""
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    metrics_token: bytes | None = field(default=None, repr=False)
    """Opens the numbers to who brings it."""
    pages_password: bytes | None = field(default=None, repr=False)
    """Opens the pages to who knows it."""
    github_url: str = web_address(DEFAULT_API)
    """Where people read repositories; the pages link there."""
    public_url: str = ""
    """Where people and GitHub reach this process, without a slash at its end; empty where only this machine does."""
    sign_in: SignInSettings | None = None
    """How people sign in. Without it and without a password the pages are for who sits at this machine."""


@dataclass(frozen=True, slots=True)
class TemplateSettings:
    """The operator's own templates, if there are any, and which versions may be used."""

    folder: Path | None = None
    rules: VersionRules = field(default_factory=VersionRules)


def template_settings(env: Mapping[str, str]) -> TemplateSettings:
    """From `COUNTERSIGN_TEMPLATES`, `COUNTERSIGN_TEMPLATE_VERSIONS` and `COUNTERSIGN_TEMPLATE_CANDIDATES`."""
    name = "COUNTERSIGN_TEMPLATES"
    own = env.get(name, "").strip()
    folder = Path(own).expanduser().absolute() if own else None
    if folder is not None and not folder.is_dir():
        raise SettingsWrong(name, f"{name} names no folder: {folder}.")
    versions, candidates = "COUNTERSIGN_TEMPLATE_VERSIONS", "COUNTERSIGN_TEMPLATE_CANDIDATES"
    rules = read_rules(env.get(versions, ""), env.get(candidates, ""))
    if isinstance(rules, Refused):
        raise SettingsWrong(versions, f"{versions} or {candidates}: {rules.reason}")
    return TemplateSettings(folder, rules)


def bounds_settings(env: Mapping[str, str]) -> Bounds:
    """What repositories may say in their policies, from the file that `COUNTERSIGN_BOUNDS` names, if it names one."""
    name = "COUNTERSIGN_BOUNDS"
    given = env.get(name, "").strip()
    if not given:
        return NO_BOUNDS
    path = Path(given).expanduser().absolute()
    try:
        bounds = parse_bounds(path.read_bytes().decode("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsWrong(name, f"{name} names a file that cannot be read: {path}.") from error
    if isinstance(bounds, Refused):
        raise SettingsWrong(name, f"{name}: {bounds.reason}")
    return bounds


def ledger_settings(env: Mapping[str, str]) -> LedgerSettings:
    """The ledger's part of a process' settings."""
    return LedgerSettings(ledger_url(env))


def queue_settings(env: Mapping[str, str]) -> QueueSettings:
    """The queue's part of a process' settings."""
    name = "COUNTERSIGN_SWEEP_SECONDS"
    text = env.get(name, "").strip()
    try:
        seconds = float(text) if text else DEFAULT_SWEEP_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise SettingsWrong(name, f"{name} is {text!r}, and must be a number of seconds from 0.1 to 3600.")
    return QueueSettings(broker_url(env), data_dir(env), seconds)


def label(env: Mapping[str, str]) -> str:
    """The trigger label, without blanks at its ends."""
    return env.get("COUNTERSIGN_LABEL", "").strip() or DEFAULT_LABEL


def whole_number(env: Mapping[str, str], name: str, default: int | None, bounds: tuple[int, int]) -> int | None:
    """The whole number in `name`, or `default`. Raises `SettingsWrong` outside `bounds`, both included."""
    text = env.get(name, "").strip()
    if not text:
        return default
    low, high = bounds
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise SettingsWrong(name, f"{name} is {text!r}, and must be a whole number from {low} to {high}.")
    return int(text)


def days_settings(env: Mapping[str, str]) -> DayCaps:
    """What models may cost in a day of UTC, from `COUNTERSIGN_DAY_USD` (everything together) and
    `COUNTERSIGN_REPOSITORY_DAY_USD` (each repository)."""
    return DayCaps(_dollars(env, DAY_USD), _dollars(env, REPOSITORY_DAY_USD))


def _dollars(env: Mapping[str, str], name: str) -> Decimal | None:
    text = env.get(name, "").strip()
    if not text:
        return None
    if not re.fullmatch(r"\d{1,7}(\.\d{1,4})?", text, re.ASCII) or Decimal(text) == 0:
        raise SettingsWrong(name, f"{name} is {text!r}, and must be a number of US dollars above 0, as 25 or 12.50.")
    return Decimal(text)


def web_settings(env: Mapping[str, str]) -> WebSettings:
    """The settings of the web process. Raises `SettingsWrong`; nothing fails open."""
    refuse_strangers("web process", env, (*APP_KEYS, MODEL_KEY))
    env = with_registered(env, ("GITHUB_WEBHOOK_SECRET", "GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET"))
    secret = require(
        env,
        "GITHUB_WEBHOOK_SECRET",
        "Without the App's webhook secret no delivery could be told from a forgery, so the web process does not start. "
        f"{NO_APP}",
    )
    old = env.get("GITHUB_WEBHOOK_SECRET_OLD", "")
    # The last is the mint's, where it fetches what nobody can deliver.
    secrets = (secret, *(one for one in (old, pull_secret(env)) if one.strip()))
    return WebSettings(
        ledger=ledger_settings(env),
        queue=queue_settings(env),
        secrets=tuple(each.encode() for each in secrets),
        label=label(env),
        bot_id=whole_number(env, "COUNTERSIGN_BOT_ID", None, (1, 2**53 - 1)),
        host=env.get("HOST", "").strip() or DEFAULT_HOST,
        port=whole_number(env, "PORT", DEFAULT_PORT, (0, 65535)) or 0,
        pages_password=_pages_password(env),
        github_url=web_address(api_url(env)),
        public_url=public_url(env),
        sign_in=_sign_in(env),
        metrics_token=env.get("COUNTERSIGN_METRICS_TOKEN", "").strip().encode() or None,
    )


def _pages_password(env: Mapping[str, str]) -> bytes | None:
    """As it is, blanks included. Raises `SettingsWrong` for one of blanks alone: anybody would guess it."""
    given = env.get(PAGES_PASSWORD, "")
    if given and not given.strip():
        raise SettingsWrong(PAGES_PASSWORD, f"{PAGES_PASSWORD} holds blanks alone. Give it a password, or unset it.")
    return given.encode() or None


def pull_secret(env: Mapping[str, str]) -> str:
    """What mint and web process share where deliveries are fetched, without outer blanks; empty where it is unset.
    Raises `SettingsWrong` for one that could be guessed."""
    secret = env.get(PULL_SECRET, "").strip()
    if secret and len(secret) < SHORTEST_CREDENTIAL:
        raise SettingsWrong(PULL_SECRET, f"{PULL_SECRET} is shorter than {SHORTEST_CREDENTIAL} characters.")
    return secret


def local_url(env: Mapping[str, str]) -> str:
    """Where the web process answers on this machine itself."""
    port = whole_number(env, "PORT", DEFAULT_PORT, (0, 65535)) or 0
    host = env.get("HOST", "").strip() or DEFAULT_HOST
    here = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(host, host)  # noqa: S104 (it is not bound here)
    return f"http://{here}:{port}"


def public_url(env: Mapping[str, str]) -> str:
    """`COUNTERSIGN_URL`, without a slash at its end; empty where it is unset. Plain http is for this machine only."""
    name = "COUNTERSIGN_URL"
    url = env.get(name, "").strip().rstrip("/")
    if url and not is_web_address(url):
        raise SettingsWrong(name, f"{name} is not an https address (without a user name in it).")
    return url


def api_url(env: Mapping[str, str]) -> str:
    """`GITHUB_API_URL`, the one that was set up, or the public API. Plain http is for this machine only."""
    name = "GITHUB_API_URL"
    url = env.get(name, "").strip() or with_registered(env, (name,)).get(name, "")
    url = url.strip().rstrip("/") or DEFAULT_API
    if not is_web_address(url):
        raise SettingsWrong(name, f"{name} is not an https address (without a user name in it).")
    return url


def with_registered(env: Mapping[str, str], names: tuple[str, ...]) -> Mapping[str, str]:
    """The environment, and the values of `names` that set-up kept in the data folder, where none of them is set: one
    App's settings are never mixed with another's. Only the files of these names are read."""
    if any(env.get(name, "").strip() for name in names):
        return env
    _refuse_no_folder(data_dir(env))
    try:
        found = {name: kept(data_dir(env), name) for name in names}
    except NotPrivate as problem:
        raise SettingsWrong(names[0], str(problem)) from None
    return {**env, **{name: value for name, value in found.items() if value is not None}}


def _refuse_no_folder(path: Path) -> None:
    """Raises `SettingsWrong` where the data folder cannot be one. That it is not there yet is no mistake."""
    try:
        os.scandir(path).close()
    except FileNotFoundError:
        pass
    except OSError as error:
        sentence = f"The folder COUNTERSIGN_DATA_DIR cannot be used at {path}: {error.strerror}."
        raise SettingsWrong("COUNTERSIGN_DATA_DIR", sentence) from None


def _sign_in(env: Mapping[str, str]) -> SignInSettings | None:
    """People sign in where the App's client id and secret are known and people can come from elsewhere."""
    names = ("GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET")
    client_id, client_secret = (env.get(name, "").strip() for name in names)
    if bool(client_id) != bool(client_secret):
        unset = names[0] if client_secret else names[1]
        raise SettingsMissing(unset, "The App's client id and client secret go together: people sign in with them.")
    if not client_id or not public_url(env):
        return None
    if env.get(PAGES_PASSWORD):
        sentence = f"{PAGES_PASSWORD} is set, and people sign in with GitHub as well. Unset one of the two."
        raise SettingsWrong(PAGES_PASSWORD, sentence)
    return SignInSettings(client_id, client_secret, api_url(env))
