"""What may be reached, and how much of it: exact hosts and ports, no patterns, no addresses."""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

TLS_PORT = 443
NOT_LISTED = "it is not on the list"
NOT_RESOLVED = "the name cannot be resolved"
NOT_REACHED = "no connection could be made"
MIB = 1024 * 1024
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?", re.ASCII)
_LONGEST_HOST = 253


class NotAHost(ValueError):
    """The text names no host that could be listed."""


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """A host by its full name in lower case, and a port."""

    name: str
    port: int = TLS_PORT

    def __post_init__(self) -> None:
        """Raises NotAHost for addresses, patterns, single labels and anything that is not plain ASCII."""
        if len(self.name) > _LONGEST_HOST or not _HOST.fullmatch(self.name):
            raise NotAHost(f"{self.name[:100]!r} is not the full name of a host")
        if not 0 < self.port < 65536:
            raise NotAHost(f"{self.port} is no port")

    def __str__(self) -> str:
        return f"{self.name}:{self.port}"


def read_host(text: str) -> Host:
    """`name` or `name:port`, as people and plans write it. Raises NotAHost."""
    name, colon, port = text.strip().lower().partition(":")
    if colon and not re.fullmatch(r"[1-9][0-9]{0,4}", port, re.ASCII):
        raise NotAHost(f"{text[:100]!r} has no port behind its colon")
    return Host(name, int(port) if colon else TLS_PORT)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that one run may take; bytes and seconds. A connection is idle when neither side says anything."""

    connections: int = 16
    total_connections: int = 2_000
    header_bytes: int = 8 * 1024
    opening_seconds: float = 10.0
    dial_seconds: float = 15.0
    idle_seconds: float = 60.0
    up_bytes: int = 1 * MIB
    down_bytes: int = 500 * MIB


@dataclass(frozen=True, slots=True)
class Rules:
    """`ports`, `networks` and `names` are the operator's word: what else than 443 may be reached, reserved ranges that
    may be dialled, and addresses of hosts that no resolver knows. `through` is another such proxy, by which hosts are
    reached instead of being resolved and dialled here.
    """

    hosts: frozenset[Host]
    ports: frozenset[int] = frozenset({TLS_PORT})
    networks: tuple[Network, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    through: tuple[str, int] | None = None

    def allows(self, host: Host) -> bool:
        """Whether exactly this host and port is listed, and the port is one that may be."""
        return host in self.hosts and host.port in self.ports

    def to_json(self) -> str:
        """For the process that keeps them."""
        hosts = sorted([host.name, host.port] for host in self.hosts)
        networks = [str(network) for network in self.networks]
        said = {"hosts": hosts, "ports": sorted(self.ports), "networks": networks, "names": dict(self.names)}
        return json.dumps({**said, "caps": asdict(self.caps), "through": self.through})

    @classmethod
    def from_json(cls, text: str) -> "Rules":
        """Raises ValueError, KeyError or TypeError for what `to_json` did not write."""
        said = json.loads(text)
        return cls(
            hosts=frozenset(Host(name, port) for name, port in said["hosts"]),
            ports=frozenset(said["ports"]),
            networks=read_networks(said["networks"]),
            names={name: tuple(addresses) for name, addresses in said["names"].items()},
            caps=Caps(**said["caps"]),
            through=(str(said["through"][0]), int(said["through"][1])) if said["through"] else None,
        )


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Ranges of addresses as the operator writes them. Raises ValueError."""
    return tuple(ipaddress.ip_network(text.strip()) for text in texts)


@dataclass(frozen=True, slots=True)
class Reached:
    """One wish to reach something, and what came of it. `refused` is the reason, empty where it was allowed.

    `target` is what was asked for, shortened and printable; bytes are counted after the handshake began.
    """

    target: str
    refused: str
    up_bytes: int = 0
    down_bytes: int = 0
