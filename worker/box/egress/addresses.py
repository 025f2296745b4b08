"""Which addresses may be dialled: public ones, that are not this machine's own, in whatever form they come."""

import ipaddress
import socket
from collections.abc import Callable, Sequence

from worker.box.egress.rules import NOT_RESOLVED, Network

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as text. Raises OSError."""

_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NEVER: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # a cloud's service for its machines that looks like any public address
        "192.0.0.0/24",
        "192.88.99.0/24",
        "100::/64",
        "2001::/23",
        "3fff::/20",
        "5f00::/16",
    )
)
"""What not every version of Python counts among the addresses that are not public."""


class NoAddress(Exception):
    """The host has no address that may be dialled; the text says why."""


def system_resolve(name: str, port: int) -> Sequence[str]:
    """As the machine resolves names."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]


def checked_addresses(name: str, port: int, resolve: Resolve, networks: Sequence[Network]) -> tuple[str, ...]:
    """The host's addresses that may be dialled, in the resolver's order. Raises NoAddress.

    They are to be dialled as they are: a second look-up might give others.
    """
    try:
        texts = resolve(name, port)
    except OSError as error:
        raise NoAddress(f"{NOT_RESOLVED} ({error.strerror or error})") from error
    reasons: list[str] = []
    good: list[str] = []
    for text in dict.fromkeys(texts):
        why = why_not(text, networks)
        if why:
            reasons.append(why)
        else:
            good.append(text)
    if not good:
        raise NoAddress("; ".join(dict.fromkeys(reasons)) or "the name has no address")
    return tuple(good)


def why_not(text: str, networks: Sequence[Network]) -> str:
    """Why the address may not be dialled; empty where it may."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "the resolver gave no plain address"
    if any(address in network for network in networks if network.version == address.version):
        return ""
    for form in (address, *embedded(address)):
        special = not form.is_global or form.is_multicast or form.is_reserved or form.is_unspecified
        if special or any(form in network for network in _NEVER if network.version == form.version):
            return f"{address} is not a public address"
    if _is_own(address):
        return f"{address} is this machine's own"
    return ""


def embedded(address: Address) -> tuple[Address, ...]:
    """The IPv4 addresses that an IPv6 address carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    found: list[Address] = [one for one in (address.ipv4_mapped, address.sixtofour) if one is not None]
    if address.teredo is not None:
        found += address.teredo
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(found)


def _is_own(address: Address) -> bool:
    """Only an address of one of its own interfaces can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
