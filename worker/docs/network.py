"""Connections to documentation hosts: the address is checked when it is known, and that very address is connected to.

Nothing here asks for a name twice, so that a name cannot mean one address when it is checked and another when it is
used. The name stays what certificate and `Host` are held against.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore

from app.core.documentation import DocsReach
from app.core.verdict import Refused

MOST_ADDRESSES = 4
"""Addresses of one name that are tried, in the order in which they came."""

LookUp = Callable[[str, int], Sequence[str]]
"""The addresses of a name, for a port. Raises OSError where there are none."""


class AddressRefused(Exception):
    """A host has no address that may be connected to; the text says why."""


def addresses_of(host: str, port: int) -> list[str]:
    """What this machine's resolver says now."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class CheckedNetwork(httpcore.NetworkBackend):
    """Connects only to addresses within the reach, and ends whatever takes longer than until `deadline`."""

    def __init__(self, reach: DocsReach, look_up: LookUp, deadline: float) -> None:
        self._reach = reach
        self._look_up = look_up
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A stream to the first address of the name that may be connected to and answers."""
        try:
            found = self._look_up(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name has no address") from error
        verdicts = [(address, self._reach.may_connect(address)) for address in found]
        allowed = [address for address, verdict in verdicts if not isinstance(verdict, Refused)]
        if not allowed:
            raise AddressRefused(next((str(verdict) for _, verdict in verdicts), "The name has no address."))
        for address in allowed[:MOST_ADDRESSES]:
            try:
                stream = self._plain.connect_tcp(address, port, left(self._deadline), local_address, socket_options)
                return TimedStream(stream, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    def connect_unix_socket(self, *_: object, **__: object) -> httpcore.NetworkStream:
        """Nothing on this machine is a documentation host."""
        raise AddressRefused("A socket of this machine is not a documentation host.")


class Through(httpcore.NetworkBackend):
    """Connects to the installation's own way out and nowhere else; that checks addresses, and the names inside TLS."""

    def __init__(self, through: tuple[str, int], deadline: float) -> None:
        self._through = through
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A stream to the way out."""
        if (host, port) != self._through:
            raise AddressRefused("Only the way out is connected to.")
        stream = self._plain.connect_tcp(host, port, left(self._deadline), local_address, socket_options)
        return TimedStream(stream, self._deadline)

    def connect_unix_socket(self, *_: object, **__: object) -> httpcore.NetworkStream:
        """Nothing on this machine is a documentation host."""
        raise AddressRefused("A socket of this machine is not a documentation host.")


class TimedStream(httpcore.NetworkStream):
    """A connection that ends at its deadline, however slowly bytes drip in."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return TimedStream(self._stream.start_tls(ssl_context, server_hostname, left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def left(deadline: float) -> float:
    """Seconds until then. Raises httpcore.ReadTimeout where there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise httpcore.ReadTimeout("the time is over")
    return seconds
