"""Where package clients look: read at run time from the configuration of the clients themselves, outside the box.

No registry is written here. What is found goes into a plan, where an approver sees it, and into set-up runs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from worker.box.authorities import AUTHORITIES, authorities_of
from worker.box.egress.rules import TLS_PORT, Host, NotAHost
from worker.box.environment import CannotPrepare, Workshop, registry_variables
from worker.box.other_clients import cargos_settings, mavens_settings
from worker.box.tool import ToolFailure, run_tool

GO = "/usr/bin/go"
NPM = "/usr/bin/npm"
_SECONDS = 30.0
_PIP = frozenset({"pip", "pip3", "pipx", "uv", "poetry", "pdm", "tox", "nox"})
_NPM = frozenset({"npm", "npx", "pnpm", "pnpx", "yarn", "corepack"})
_GO = frozenset({"go"})
_CARGO = frozenset({"cargo"})
_MAVEN = frozenset({"mvn", "mvnw"})
_PATIENCE = frozenset({"PIP_RETRIES", "PIP_DEFAULT_TIMEOUT", "NPM_CONFIG_FETCH_RETRIES"})
"""How often clients ask again, where their configuration says so."""
_PIP_OWN = "from pip._internal.models.index import PyPI as own; print(own.simple_url); print(own.file_storage_domain)"
"""What pip asks where nobody configured anything: the index, and the host from which its files come."""


@dataclass(frozen=True, slots=True)
class Registries:
    """The hosts of the registries, over TLS, and the variables and files by which clients in the box find them.

    `beside` are files by their path below `/made`. `not_reached` says of a registry why none of this leads there.
    `bundles` are the files on this machine in which the clients find whom to trust.
    """

    hosts: frozenset[Host] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    not_reached: str = ""
    bundles: tuple[str, ...] = ()

    def lacking(self, client: str) -> str:
        """Why a client finds nothing from the box; empty where it has a host to ask."""
        if self.hosts:
            return ""
        why = self.not_reached or f"No registry is known in which {client} looks on this machine."
        return f"{why} Set-up commands reach hosts over TLS alone."


NO_REGISTRIES = Registries()


def registries_of(commands: Iterable[tuple[str, ...]], workshop: Workshop) -> Registries:
    """The registries of those clients that the commands name by a word of their own.

    Raises CannotPrepare where one can be had with a password only, which never enters the box.
    """
    named = {Path(word).name for words in commands for word in words}
    found: list[Registries] = []
    looks = ((_PIP, _pips), (_NPM, _npms), (_GO, _gos), (_CARGO, _cargos), (_MAVEN, _mavens))
    for names, look in looks:
        if names & named:
            found.append(look(workshop))
    if not found:
        return NO_REGISTRIES
    variables = {name: value for one in found for name, value in one.variables.items()}
    variables |= {name: value for name, value in workshop.registry.items() if name in _PATIENCE}
    trusted, authorities = authorities_of(workshop.registry, [path for one in found for path in one.bundles])
    beside = {path: text for one in found for path, text in one.beside.items()}
    return Registries(
        frozenset(host for one in found for host in one.hosts),
        {**variables, **trusted},
        beside | ({AUTHORITIES: authorities} if authorities else {}),
        next((one.not_reached for one in found if one.not_reached), ""),
    )


def _pips(workshop: Workshop) -> Registries:
    configured = dict(_pip_settings(_said((*workshop.pip, "config", "list"), workshop)))
    if _first(configured, "no-index").lower() in ("1", "true", "yes", "on"):
        return NO_REGISTRIES
    index = _first(configured, "index-url")
    extra = _first(configured, "extra-index-url").split()
    own: list[str] = []
    if not index:
        own = _said((*_python_of(workshop.pip), "-c", _PIP_OWN), workshop).split()
        index = own[0] if own else ""
    files = [f"https://{one}/" for one in own[1:2]]
    # What is on a disk of this machine is not there in the box.
    index, extra = index if index.startswith("http") else "", [one for one in extra if one.startswith("http")]
    variables = {"PIP_INDEX_URL": index, "UV_INDEX_URL": index, "PIP_EXTRA_INDEX_URL": " ".join(extra)}
    return replace(_registries([index, *extra, *files], variables), bundles=(_first(configured, "cert"),))


def _python_of(pip: tuple[str, ...]) -> tuple[str, ...]:
    """The interpreter by which pip is run, with its switches: the words before `-m`."""
    return pip[: pip.index("-m")] if "-m" in pip else pip[:1]


def _pip_settings(listed: str) -> Iterable[tuple[str, str]]:
    for line in listed.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            yield name, re.sub(r"\\n", " ", value.strip("'\""))


def _first(configured: Mapping[str, str], key: str) -> str:
    """The value that counts: of the environment, for installing, for everything."""
    return next(
        (configured[name] for one in (":env:", "install", "global") if (name := f"{one}.{key}") in configured), ""
    )


def _npms(workshop: Workshop) -> Registries:
    lines = _said((NPM, "config", "get", "registry", "cafile"), workshop).splitlines()
    said = {name: value for name, _, value in (line.partition("=") for line in lines)}
    address, bundle = said.get("registry", ""), said.get("cafile", "")
    found = _registries([address], {"NPM_CONFIG_REGISTRY": address})
    return replace(found, bundles=(bundle,) if bundle.startswith("/") else ())


def _gos(workshop: Workshop) -> Registries:
    proxy, _, sums = _said((GO, "env", "GOPROXY", "GOSUMDB"), workshop).strip().partition("\n")
    # A database of sums is named by its host, with its key and an address behind where it is not the usual one.
    named = [word for word in sums.split() if "+" not in word and word != "off"]
    checked = [word if "://" in word else f"https://{word}" for word in named[-1:]]
    return _registries([*re.split(r"[,|]", proxy), *checked], {"GOPROXY": proxy, "GOSUMDB": sums})


def _cargos(workshop: Workshop) -> Registries:
    addresses, text = cargos_settings(workshop.registry)
    return _registries(addresses, {}, {"home/.cargo/config.toml": text} if text else {})


def _mavens(workshop: Workshop) -> Registries:
    addresses, text = mavens_settings(workshop.registry)
    return _registries(addresses, {}, {"home/.m2/settings.xml": text} if text else {})


def _said(words: tuple[str, ...], workshop: Workshop) -> str:
    """What the client says of its configuration; nothing where it is not here. Raises CannotPrepare."""
    environment = {**registry_variables(workshop.registry), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    try:
        ran = run_tool(words, cwd=Path("/"), environment=environment, timeout_seconds=_SECONDS)
    except ToolFailure:
        return ""
    if ran.exit_status != 0 and b"protected" in ran.stderr:
        # npm keeps an address with a password to itself.
        raise _wants_a_password(f"for {Path(words[0]).name}")
    return ran.stdout.decode(errors="replace") if ran.exit_status == 0 else ""


def _wants_a_password(registry: str) -> CannotPrepare:
    return CannotPrepare(
        f"The registry {registry} of this machine wants a password, and none enters the box.",
        "Let set-up commands find a registry that asks for none, such as a mirror that only serves.",
    )


def _registries(
    addresses: Iterable[str], variables: Mapping[str, str], beside: Mapping[str, str] | None = None
) -> Registries:
    hosts, not_reached = [], ""
    for address in filter(None, addresses):
        parts = urlsplit(address)
        if "@" in parts.netloc:
            raise _wants_a_password(parts.hostname or "")
        try:
            if parts.scheme == "https":
                hosts.append(Host(parts.hostname or "", parts.port or TLS_PORT))
            elif parts.scheme == "http":
                not_reached = f"The registry {parts.netloc} of this machine does not speak TLS."
        except (NotAHost, ValueError):
            not_reached = f"The registry {parts.netloc[:100]} of this machine has no full name."
    kept = {name: value for name, value in variables.items() if value}
    return Registries(frozenset(hosts), kept, beside or {}, not_reached)
