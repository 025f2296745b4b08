"""Settings of the processes that act: one frozen value for each, holding only what that process may know.

The environment is read by `app.settings.environment()` and handed in; a belt has no field for a key that is not its.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from app.addresses import LOOPBACK
from app.core.belts import Belt
from app.core.bounds import NO_BOUNDS, Bounds
from app.core.days import DayCaps
from app.core.documentation import DocsReach, read_docs_reach
from app.core.leasing import LONGEST_LEASE
from app.core.verdict import Refused
from app.settings import (
    APP_KEYS,
    DEFAULT_API,
    DEFAULT_LABEL,
    MODEL_KEY,
    NO_APP,
    SHORTEST_CREDENTIAL,
    WEB_KEYS,
    LedgerSettings,
    QueueSettings,
    SettingsWrong,
    TemplateSettings,
    api_url,
    bounds_settings,
    data_dir,
    days_settings,
    label,
    ledger_settings,
    local_url,
    pull_secret,
    queue_settings,
    refuse_strangers,
    require,
    template_settings,
    web_address,
    whole_number,
    with_registered,
)
from worker.box_terms import BoxTerms, box_terms, egress_address

PLANNER_MODEL = "claude-fable-5-2"
EXECUTOR_MODEL = "claude-sonnet-5-5"
SCOUT_MODEL = "claude-haiku-5-5"
DEFAULT_MODEL_API = "https://api.anthropic.com"
DEFAULT_MINT_PORT = 8010
DEFAULT_BWRAP = "/usr/bin/bwrap"
DEFAULT_ENVIRONMENTS_GB = 10
MIRROR_GIGABYTES = 20
NO_MODELS = "none"
"""What `COUNTERSIGN_MODELS` says where an installation has no model: rules are still carried out."""



@dataclass(frozen=True, slots=True)
class GitHubSettings:
    """Where GitHub is, and the pause between two writes that create content (github-facts 169)."""

    api_url: str = DEFAULT_API
    write_gap_seconds: float = 1.0

    @property
    def web_url(self) -> str:
        """Where repositories are cloned from and read by people (github-facts 178, 179)."""
        return web_address(self.api_url)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How models are reached, and which one has which role. Two roles may be the same model."""

    api_key: str = field(repr=False)
    base_url: str | None = None
    planner: str = PLANNER_MODEL
    executor: str = EXECUTOR_MODEL
    scout: str = SCOUT_MODEL
    others: tuple[str, ...] = ()
    """Further models that a template may ask for by name."""

    def named(self, word: str) -> str | None:
        """The model behind a template's word: `strong`, `standard`, `small`, or a name on the operator's list."""
        words = {"strong": self.planner, "standard": self.executor, "small": self.scout}
        listed = (*words.values(), *self.others)
        return words.get(word) or (word if word in listed else None)


@dataclass(frozen=True, slots=True)
class MintLine:
    """How a belt reaches the mint: by an inherited descriptor, or over the network with its own credential."""

    descriptor: int | None = None
    address: tuple[str, int] | None = None
    credential: str = field(repr=False, default="")


@dataclass(frozen=True, slots=True)
class DocsSettings:
    """Which documentation the planner may read, and a PEM file of authorities to trust there beside the usual ones."""

    reach: DocsReach = field(default_factory=DocsReach)
    authorities: Path | None = None
    through: tuple[str, int] | None = None
    """The installation's own way out, where this machine has no other."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Spans go to a collector, and measurements as well. Where it is, OpenTelemetry's own exporters read."""

    metrics: bool = True


@dataclass(frozen=True, slots=True)
class BeltSettings:
    """What one belt may know. `model` is None for the publisher, which never talks to one, and where there is none."""

    belt: Belt
    ledger: LedgerSettings
    queue: QueueSettings
    github: GitHubSettings
    mint: MintLine
    data_dir: Path
    model: ModelSettings | None
    templates: TemplateSettings = field(default_factory=TemplateSettings)
    transport: Mapping[str, str] = field(repr=False, default_factory=dict)
    """Proxy and certificates for git, under git's own names."""
    registry: Mapping[str, str] = field(repr=False, default_factory=dict)
    """What the package clients' own configuration says in this environment; for prepared check environments."""
    mirror_bytes: int = MIRROR_GIGABYTES * 10**9
    """What all mirrors of repositories on this machine may take."""
    docs: DocsSettings = field(default_factory=DocsSettings)
    bwrap: Path = Path(DEFAULT_BWRAP)
    """The bubblewrap that seals the box."""
    box: BoxTerms = field(default_factory=BoxTerms)
    environments_gb: int = DEFAULT_ENVIRONMENTS_GB
    """How much of the disk prepared check environments may take, in GiB."""
    bounds: Bounds = NO_BOUNDS
    """What the operator lets a repository's policy say; for the publisher, which reads it."""
    days: DayCaps = field(default_factory=DayCaps)
    """What models may cost in a day; for the belts that talk to one."""
    lease: timedelta = timedelta(seconds=60)
    watch_seconds: float = 30.0
    label: str = DEFAULT_LABEL
    threads: int = 2
    telemetry: Telemetry | None = None
    """What is sent to a collector; None where nobody asked for it."""


@dataclass(frozen=True, slots=True)
class MintSettings:
    """What the mint may know: the App's key, and how belts prove themselves."""

    ledger: LedgerSettings
    github: GitHubSettings
    app_id: str
    private_key: str = field(repr=False)
    """As it was given, in whatever form; `key_variable` is where it came from."""
    key_variable: str = "GITHUB_PRIVATE_KEY"
    lines: int | None = None
    """Descriptor of the socket over which `up` hands in each belt's line."""
    listen: tuple[str, int] | None = None
    credentials: Mapping[Belt, str] = field(repr=False, default_factory=dict)
    bounds: Bounds = NO_BOUNDS
    pull: tuple[str, str] | None = field(repr=False, default=None)
    """Address and secret of the receiver to which fetched deliveries go; None where GitHub reaches it itself."""


def github_settings(env: Mapping[str, str]) -> GitHubSettings:
    """From `GITHUB_API_URL`. Plain http is for this machine only: tokens travel over it."""
    url = api_url(env)
    # A server on this machine is not GitHub, and has no secondary limits that a pause would respect.
    return GitHubSettings(url, 0.0 if _host(url) in LOOPBACK else 1.0)


def model_settings(env: Mapping[str, str]) -> ModelSettings | None:
    """From `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, `COUNTERSIGN_{PLANNER,EXECUTOR,SCOUT}_MODEL` and the list of
    further models in `COUNTERSIGN_MODELS`. None where that list says `none`: then no key is needed, nor read.
    """
    listed = tuple(word for word in re.split(r"[,\s]+", env.get("COUNTERSIGN_MODELS", "")) if word)
    if listed == (NO_MODELS,):
        return None
    purpose = "Without a model's key this belt could not work, so it does not start."
    base_url = env.get("ANTHROPIC_BASE_URL", "").strip() or None
    if base_url is not None and not _host(base_url):
        raise SettingsWrong("ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL is not an http or https address.")
    return ModelSettings(
        api_key=require(env, MODEL_KEY, purpose),
        base_url=base_url,
        planner=env.get("COUNTERSIGN_PLANNER_MODEL", "").strip() or PLANNER_MODEL,
        executor=env.get("COUNTERSIGN_EXECUTOR_MODEL", "").strip() or EXECUTOR_MODEL,
        scout=env.get("COUNTERSIGN_SCOUT_MODEL", "").strip() or SCOUT_MODEL,
        others=listed,
    )


def git_transport(env: Mapping[str, str]) -> dict[str, str]:
    """What git is told of the proxy and the certificates that every other client of this process uses."""
    named = {
        "https_proxy": env.get("https_proxy") or env.get("HTTPS_PROXY"),
        "no_proxy": env.get("no_proxy") or env.get("NO_PROXY"),
        "GIT_SSL_CAINFO": env.get("SSL_CERT_FILE"),
        "GIT_SSL_CAPATH": env.get("SSL_CERT_DIR"),
    }
    return {name: value for name, value in named.items() if value}


def docs_settings(env: Mapping[str, str]) -> DocsSettings:
    """From `COUNTERSIGN_DOCS_HOSTS` (none: no page is read), `COUNTERSIGN_DOCS_NETWORKS` for documentation on the
    operator's own network, and `COUNTERSIGN_DOCS_CA_FILE`."""
    hosts, networks = "COUNTERSIGN_DOCS_HOSTS", "COUNTERSIGN_DOCS_NETWORKS"
    reach = read_docs_reach(env.get(hosts, ""), env.get(networks, ""))
    if isinstance(reach, Refused):
        raise SettingsWrong(hosts, f"{hosts} or {networks}: {reach.reason}")
    name = "COUNTERSIGN_DOCS_CA_FILE"
    given = env.get(name, "").strip()
    authorities = Path(given).expanduser().absolute() if given else None
    if authorities is not None and not authorities.is_file():
        raise SettingsWrong(name, f"{name} names no file: {authorities}.")
    return DocsSettings(reach, authorities, egress_address(env))


def belt_settings(belt: Belt, env: Mapping[str, str]) -> BeltSettings:
    """What the belt may know, and nothing else. Refuses an environment that holds another process' keys."""
    with_model = belt is not Belt.PUBLISHER
    refuse_strangers(str(belt), env, (*APP_KEYS, *WEB_KEYS, *(() if with_model else (MODEL_KEY,))))
    return BeltSettings(
        belt=belt,
        ledger=ledger_settings(env),
        queue=queue_settings(env),
        github=github_settings(env),
        mint=_mint_line(env),
        data_dir=data_dir(env),
        model=model_settings(env) if with_model else None,
        templates=template_settings(env) if with_model else TemplateSettings(),
        transport=git_transport(env),
        registry=env if belt in (Belt.PLANNER, Belt.EXECUTOR) else {},
        mirror_bytes=(whole_number(env, "COUNTERSIGN_MIRROR_GB", MIRROR_GIGABYTES, (1, 100_000)) or 1) * 10**9,
        docs=docs_settings(env) if belt is Belt.PLANNER else DocsSettings(),
        bwrap=Path(env.get("COUNTERSIGN_BWRAP", "").strip() or DEFAULT_BWRAP),
        environments_gb=whole_number(env, "COUNTERSIGN_ENVIRONMENTS_GB", DEFAULT_ENVIRONMENTS_GB, (1, 100_000)) or 1,
        box=box_terms(env) if with_model else BoxTerms(),
        bounds=bounds_settings(env) if belt is Belt.PUBLISHER else NO_BOUNDS,
        days=days_settings(env) if with_model else DayCaps(),
        lease=timedelta(seconds=_seconds(env, "COUNTERSIGN_LEASE_SECONDS", 60.0, LONGEST_LEASE.total_seconds())),
        watch_seconds=_seconds(env, "COUNTERSIGN_WATCH_SECONDS", 30.0),
        label=label(env) if belt is Belt.PUBLISHER else DEFAULT_LABEL,
        telemetry=telemetry_settings(env),
    )


def telemetry_settings(env: Mapping[str, str]) -> Telemetry | None:
    """None unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set, and where `OTEL_SDK_DISABLED` says so. Only http/protobuf."""
    if not env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip():
        return None
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    name = "OTEL_EXPORTER_OTLP_PROTOCOL"
    if env.get(name, "").strip() not in ("", "http/protobuf"):
        raise SettingsWrong(name, f"{name} must be http/protobuf: nothing else is spoken here.")
    off = {kind: env.get(f"OTEL_{kind}_EXPORTER", "").strip().lower() == "none" for kind in ("TRACES", "METRICS")}
    return None if off["TRACES"] else Telemetry(metrics=not off["METRICS"])


def mint_settings(env: Mapping[str, str]) -> MintSettings:
    """The App's key from `GITHUB_PRIVATE_KEY` or the file at `GITHUB_PRIVATE_KEY_PATH`; the rest as it is set."""
    refuse_strangers("mint", env, (MODEL_KEY, *WEB_KEYS))
    why = f"Without the App's id and key no token could be cut, so the mint does not start. {NO_APP}"
    name = "COUNTERSIGN_MINT_LISTEN"
    listen = address_in(env, name)
    lines = _descriptor(env, "COUNTERSIGN_MINT_LINES_FD")
    if lines is None and listen is None:
        raise SettingsWrong(name, f"{name} is not set, and no belt's socket was inherited: nobody could ask the mint.")
    credentials = _credentials(env)
    if listen is not None and not credentials:
        missing = credential_name(Belt.PLANNER)
        raise SettingsWrong(missing, f"{name} is set, but neither {missing} nor another belt's: nobody could ask.")
    env = with_registered(env, ("GITHUB_APP_ID", *APP_KEYS[:1])) if not env.get(APP_KEYS[1], "").strip() else env
    app_id = require(env, "GITHUB_APP_ID", why).strip()
    if not re.fullmatch(r"\d{1,15}|Iv[\w.]{8,60}", app_id, re.ASCII):
        raise SettingsWrong("GITHUB_APP_ID", f"GITHUB_APP_ID is {app_id!r}, and must be the App's number or client id.")
    given, key_variable = _private_key(env, why)
    return MintSettings(
        ledger=ledger_settings(env),
        github=github_settings(env),
        app_id=app_id,
        private_key=given,
        key_variable=key_variable,
        lines=lines,
        listen=listen,
        credentials=credentials,
        bounds=bounds_settings(env),
        pull=_pull(env),
    )


def _pull(env: Mapping[str, str]) -> tuple[str, str] | None:
    secret = pull_secret(env)
    to = env.get("COUNTERSIGN_PULL_TO", "").strip() or f"{local_url(env)}/webhooks/github"
    return (to, secret) if secret else None


def beat_settings(env: Mapping[str, str]) -> QueueSettings:
    """Beat only rings, so it holds nobody's keys."""
    refuse_strangers("beat", env, (*APP_KEYS, *WEB_KEYS, MODEL_KEY))
    return queue_settings(env)


def credential_name(belt: Belt) -> str:
    """The variable in which the mint finds a belt's credential."""
    return f"COUNTERSIGN_MINT_CREDENTIAL_{belt.upper()}"


def _credentials(env: Mapping[str, str]) -> dict[Belt, str]:
    found: dict[Belt, str] = {}
    for belt in Belt:
        name = credential_name(belt)
        value = env.get(name, "").strip()
        if value and len(value) < SHORTEST_CREDENTIAL:
            raise SettingsWrong(name, f"{name} is shorter than {SHORTEST_CREDENTIAL} characters and could be guessed.")
        if value in found.values():
            raise SettingsWrong(name, f"{name} is another belt's credential as well; each belt needs one of its own.")
        if value:
            found[belt] = value
    return found


def _private_key(env: Mapping[str, str], why: str) -> tuple[str, str]:
    name = "GITHUB_PRIVATE_KEY"
    given = env.get(name, "")
    if given.strip():
        return given, name
    name = "GITHUB_PRIVATE_KEY_PATH"
    path = env.get(name, "").strip()
    if not path:
        require(env, "GITHUB_PRIVATE_KEY", f"(Nor is {name}.) {why}")
    try:
        return Path(path).expanduser().read_text(encoding="ascii", errors="replace"), name
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise SettingsWrong(name, f"The file that {name} names cannot be read: {reason}.") from None


def _mint_line(env: Mapping[str, str]) -> MintLine:
    descriptor = _descriptor(env, "COUNTERSIGN_MINT_FD")
    if descriptor is not None:
        return MintLine(descriptor=descriptor)
    address = address_in(env, "COUNTERSIGN_MINT")
    if address is None:
        name = "COUNTERSIGN_MINT"
        raise SettingsWrong(name, f"{name} is not set (host:port of the mint), and no socket to it was inherited.")
    why = "A belt proves itself to the mint with a credential of its own."
    return MintLine(address=address, credential=require(env, "COUNTERSIGN_MINT_CREDENTIAL", why).strip())


def _host(url: str) -> str:
    """The host of an http or https address; empty for anything else."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""


def _descriptor(env: Mapping[str, str], name: str) -> int | None:
    return whole_number(env, name, None, (3, 65_535))


def address_in(env: Mapping[str, str], name: str) -> tuple[str, int] | None:
    """The host and port that a setting names; None where it is unset."""
    text = env.get(name, "").strip()
    if not text:
        return None
    match = re.fullmatch(r"\[?([^\]\[]+?)\]?:(\d{1,5})", text)
    if not match or not 0 <= int(match[2]) <= 65_535:
        raise SettingsWrong(name, f"{name} is {text!r}, and must be host:port.")
    return match[1], int(match[2])


def _seconds(env: Mapping[str, str], name: str, default: float, most: float = 86_400.0) -> float:
    text = env.get(name, "").strip()
    try:
        seconds = float(text) if text else default
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= most:
        raise SettingsWrong(name, f"{name} is {text!r}, and must be a number of seconds from 0.05 to {most:.0f}.")
    return seconds
