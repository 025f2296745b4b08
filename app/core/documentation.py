"""How far the reading of documentation goes: which hosts an operator lists, and which addresses may be connected to."""

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from app.core.verdict import Allowed, Refused, Verdict

HTTPS_PORT = 443
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=[^:]{{1,253}}(?::|$)){_LABEL}(?:\.{_LABEL})*(?::\d{{1,5}})?")

Network = IPv4Network | IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


_PUBLIC_6 = ip_network("2000::/3")
"""What of IPv6 is given out to the public; all else is this machine, a network near it, or IPv4 in disguise."""

_NOT_PUBLIC = _networks(
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)  # fmt: skip
"""From IANA's registries of special-purpose addresses (RFC 6890 and its updates)."""

_NEVER = _networks(
    "0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "100.100.100.200/32", "168.63.129.16/32",
    "192.0.0.192/32", "::/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128",
)  # fmt: skip
"""No documentation is there, whatever an operator lists: link-local, multicast, and where clouds hand out secrets."""

_DISGUISED = _networks(
    "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"
)  # fmt: skip
"""IPv6 that stands for an IPv4 address, by whatever translation is on the way; `::1` is this machine's own."""


@dataclass(frozen=True, slots=True)
class DocsReach:
    """The hosts whose pages may be read, as `name` or `name:port`, and networks of the operator's own in which they
    may be although the public has no part in them. No host: nothing is read."""

    hosts: tuple[str, ...] = ()
    networks: tuple[Network, ...] = field(default=())

    def within(self, chosen: tuple[str, ...] | None) -> "DocsReach":
        """As far as a repository chose: never further than the operator lists, all of it where nothing is chosen."""
        if chosen is None:
            return self
        return DocsReach(tuple(host for host in self.hosts if host in chosen), self.networks)

    def covers(self, host: str, port: int) -> bool:
        """Whether pages may be read there."""
        return f"{host}:{port}" in self.hosts or (port == HTTPS_PORT and host in self.hosts)

    def may_connect(self, address: str) -> Verdict:
        """Whether this very address may be connected to; a name says nothing about it."""
        try:
            parsed = ip_address(address.partition("%")[0])
        except ValueError:
            return Refused(f"{address[:80]} is no address.")
        if _holds(_NEVER, parsed) or (_holds(_DISGUISED, parsed) and str(parsed) != "::1"):
            return Refused(f"{parsed} is never an address of documentation.")
        if _holds(self.networks, parsed) or (_is_public(parsed) and not _holds(_NOT_PUBLIC, parsed)):
            return Allowed()
        return Refused(f"{parsed} is not a public address.")


def read_docs_reach(hosts: str, networks: str) -> DocsReach | Refused:
    """From an operator's two lists, parted by blanks or commas; or what in them cannot be meant."""
    named = _words(hosts.lower())
    for name in named:
        if not _HOST.fullmatch(name) or not 0 < int(name.partition(":")[2] or HTTPS_PORT) < 65_536:
            return Refused(f"`{name[:80]}` is no host, such as docs.example.com or docs.example.com:8443.")
    found: list[Network] = []
    for text in _words(networks):
        try:
            found.append(ip_network(text))
        except ValueError:
            return Refused(f"`{text[:80]}` is no network, such as 10.1.0.0/16.")
        if any(_within(found[-1], one) for one in _NEVER):
            return Refused(f"`{text[:80]}` is never a network of documentation.")
    return DocsReach(tuple(dict.fromkeys(_plain(name) for name in named)), tuple(found))


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]


def _plain(name: str) -> str:
    """The host without the port that https has by itself."""
    host, _, port = name.partition(":")
    return host if port in ("", str(HTTPS_PORT)) else f"{host}:{int(port)}"


def _holds(networks: tuple[Network, ...], address: IPv4Address | IPv6Address) -> bool:
    return any(address in network for network in networks)


def _within(network: Network, other: Network) -> bool:
    first, last = (int(end) for end in (other.network_address, other.broadcast_address))
    inside = first <= int(network.network_address) and int(network.broadcast_address) <= last
    return network.version == other.version and inside


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    return address.version == 4 or address in _PUBLIC_6
