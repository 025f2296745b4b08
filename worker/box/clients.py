"""Where package clients look: read at run time from the configuration of the clients themselves, outside the box.

No registry is written here. What is found goes into a plan, where an approver sees it, and into set-up runs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from worker.box.egress.rules import TLS_PORT, Host, NotAHost
from worker.box.environment import CannotPrepare, Workshop, registry_variables
from worker.box.node import NPM
from worker.box.tool import ToolFailure, run_tool

GO = "/usr/bin/go"
_SECONDS = 30.0
_PIP = frozenset({"pip", "pip3", "pipx", "uv", "poetry", "pdm", "tox", "nox"})
_NPM = frozenset({"npm", "npx", "pnpm", "pnpx", "yarn", "corepack"})
_GO = frozenset({"go"})
_PIP_OWN = "from pip._internal.models.index import PyPI as own; print(own.simple_url); print(own.file_storage_domain)"
"""What pip asks where nobody configured anything: the index, and the host from which its files come."""


@dataclass(frozen=True, slots=True)
class Registries:
    """The hosts of the registries, over TLS, and the variables by which clients in the box find them."""

    hosts: frozenset[Host] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)


def registries_of(commands: Iterable[tuple[str, ...]], workshop: Workshop) -> Registries:
    """The registries of those clients that the commands name by a word of their own.

    Raises CannotPrepare where one can be had with a password only, which never enters the box.
    """
    named = {Path(word).name for words in commands for word in words}
    found: list[Registries] = []
    for names, look in ((_PIP, _pips), (_NPM, _npms), (_GO, _gos)):
        if names & named:
            found.append(look(workshop))
    variables = {name: value for one in found for name, value in one.variables.items()}
    return Registries(frozenset(host for one in found for host in one.hosts), variables)


def _pips(workshop: Workshop) -> Registries:
    configured = dict(_pip_settings(_said((*workshop.pip, "config", "list"), workshop)))
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
    return _registries([index, *extra, *files], variables)


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
    address = _said((NPM, "config", "get", "registry"), workshop).strip()
    return _registries([address], {"NPM_CONFIG_REGISTRY": address})


def _gos(workshop: Workshop) -> Registries:
    said = _said((GO, "env", "GOPROXY"), workshop).strip()
    return _registries(re.split(r"[,|]", said), {"GOPROXY": said})


def _said(words: tuple[str, ...], workshop: Workshop) -> str:
    """What the client says of its configuration; nothing where it is not here."""
    environment = {**registry_variables(workshop.registry), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    try:
        ran = run_tool(words, cwd=Path("/"), environment=environment, timeout_seconds=_SECONDS)
    except ToolFailure:
        return ""
    return ran.stdout.decode(errors="replace") if ran.exit_status == 0 else ""


def _registries(addresses: Iterable[str], variables: Mapping[str, str]) -> Registries:
    hosts = []
    for address in filter(None, addresses):
        parts = urlsplit(address)
        if "@" in parts.netloc:
            raise CannotPrepare(
                f"The registry {parts.hostname} of this machine wants a password, and none enters the box.",
                "Let set-up commands find a registry that asks for none, such as a mirror that only serves.",
            )
        try:
            if parts.scheme == "https":
                hosts.append(Host(parts.hostname or "", parts.port or TLS_PORT))
        except NotAHost:
            continue
    return Registries(frozenset(hosts), {name: value for name, value in variables.items() if value})
