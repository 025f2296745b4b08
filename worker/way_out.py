"""`countersign egress PROCESS`: the one way out of a process that has no other, to exactly the hosts that the belt
table gives it.

It holds no key and ends no TLS. It is the proxy of the box with other bounds: exact names, the name inside TLS equal to
the name outside, and no address that is not public unless the operator names its network.
"""

import logging
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.belts import CONNECTIONS, Outside
from app.handed import FROM_FILES
from app.settings import APP_KEYS, MODEL_KEY, SettingsWrong, refuse_strangers
from worker.box.egress.proxy import Proxy
from worker.box.egress.rules import TLS_PORT, Caps, Host, NotAHost, Reached, Rules, read_host
from worker.box_terms import listed, read_names, read_reserved
from worker.settings import DEFAULT_MODEL_API, GitHubSettings, docs_settings, github_settings

DEFAULT_LISTEN = ("0.0.0.0", 3128)  # noqa: S104 (it is asked from other machines, and only from the network it is in)
_ENDLESS = 2**62
CAPS = Caps(connections=256, total_connections=_ENDLESS, idle_seconds=900.0, up_bytes=_ENDLESS, down_bytes=_ENDLESS)
"""A model may think for minutes before its first word, and what a belt asks in its life is not counted."""

_LOG = logging.getLogger("countersign.egress")


@dataclass(frozen=True, slots=True)
class WayOut:
    """The way out of one process: where it listens, and what it lets through."""

    process: str
    listen: tuple[str, int]
    rules: Rules


def ways_out() -> tuple[str, ...]:
    """The processes that reach anything outside the installation."""
    return tuple(process for process, reached in CONNECTIONS.items() if reached.outside)


def way_out(process: str, env: Mapping[str, str]) -> WayOut:
    """From the variables that the process itself has for GitHub, the model and documentation (`GITHUB_CLIENT_ID` says
    whether people sign in), and
    `COUNTERSIGN_EGRESS_LISTEN`, `…_HOSTS` (for set-up commands), `…_NETWORKS` and `…_NAMES` (as those of the box).

    Raises `SettingsWrong`, also for a process that reaches nothing outside.
    """
    refuse_strangers("way out", env, (*APP_KEYS, MODEL_KEY, *FROM_FILES))
    if process not in ways_out():
        raise SettingsWrong("egress", f"The {process} reaches nothing outside; there is no way out for it.")
    hosts = hosts_of(process, env)
    rules = Rules(
        hosts=hosts,
        ports=frozenset(host.port for host in hosts),
        networks=read_reserved(env, "COUNTERSIGN_EGRESS_NETWORKS"),
        names=read_names(env, "COUNTERSIGN_EGRESS_NAMES"),
        caps=CAPS,
    )
    return WayOut(process, _listen(env), rules)


def hosts_of(process: str, env: Mapping[str, str]) -> frozenset[Host]:
    """Every host that the process may reach in this installation. Raises `SettingsWrong`."""
    github = github_settings(env)
    found: set[Host] = set()
    for reached in CONNECTIONS[process].outside:
        found |= _hosts(reached, env, github)
    return frozenset(found)


def _hosts(reached: Outside, env: Mapping[str, str], github: GitHubSettings) -> set[Host]:
    match reached:
        case Outside.GITHUB:
            return {_host_of("GITHUB_API_URL", github.api_url)}
        case Outside.CODE:
            return {_host_of("GITHUB_API_URL", github.web_url)}
        case Outside.SIGN_IN:
            wanted = bool(env.get("GITHUB_CLIENT_ID", "").strip())
            return {_host_of("GITHUB_API_URL", url) for url in (github.api_url, github.web_url) if wanted}
        case Outside.MODEL:
            return {_host_of("ANTHROPIC_BASE_URL", env.get("ANTHROPIC_BASE_URL", "").strip() or DEFAULT_MODEL_API)}
        case Outside.DOCUMENTATION:
            return {_read("COUNTERSIGN_DOCS_HOSTS", host) for host in docs_settings(env).reach.hosts}
        case Outside.SET_UPS:
            return {_read("COUNTERSIGN_EGRESS_HOSTS", host) for host in listed(env, "COUNTERSIGN_EGRESS_HOSTS")}


def _host_of(name: str, url: str) -> Host:
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise SettingsWrong(name, f"{name} is not an https address, and the way out carries nothing but TLS.")
    return _read(name, f"{parts.hostname}:{parts.port or TLS_PORT}")


def _read(name: str, text: str) -> Host:
    try:
        return read_host(text)
    except NotAHost as error:
        raise SettingsWrong(name, f"{name}: {error}; the way out knows hosts by their full names alone.") from error


def _listen(env: Mapping[str, str]) -> tuple[str, int]:
    name = "COUNTERSIGN_EGRESS_LISTEN"
    text = env.get(name, "").strip()
    if not text:
        return DEFAULT_LISTEN
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise SettingsWrong(name, f"{name} is {text!r}, and must be host:port.")
    return host.strip("[]"), int(port)


def open_way_out(process: str, env: Mapping[str, str]) -> int:
    """Serves until it is told to stop. Raises `SettingsWrong`."""
    way = way_out(process, env)
    try:
        listener = socket.create_server(way.listen, backlog=128)
    except OSError as error:
        name = "COUNTERSIGN_EGRESS_LISTEN"
        raise SettingsWrong(name, f"{name} cannot be used: {error.strerror or error}.") from error
    hosts = ", ".join(map(str, sorted(way.rules.hosts)))
    _LOG.info("the way out of the %s, port %d, leads to %s", process, listener.getsockname()[1], hosts)
    # Closing would not wake whoever waits for the next connection; this does.
    signal.signal(signal.SIGTERM, lambda *_: listener.shutdown(socket.SHUT_RDWR))
    signal.signal(signal.SIGINT, lambda *_: listener.shutdown(socket.SHUT_RDWR))
    with listener:
        Proxy(way.rules, _tell).serve(listener)
    return 0


def _tell(number: int, reached: Reached) -> None:
    if reached.refused:
        _LOG.warning("%s was refused: %s", reached.target or "a connection", reached.refused)
    elif reached.down_bytes or reached.up_bytes:
        _LOG.info("%s: %d bytes out, %d bytes in", reached.target, reached.up_bytes, reached.down_bytes)
