"""The proxy: one protocol (CONNECT), one grammar, exact hosts, the name inside TLS equal to the name outside."""

import re
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from worker.box.egress.addresses import NoAddress, Resolve, checked_addresses, system_resolve
from worker.box.egress.client_hello import LONGEST, NeedMore, NotTls, wanted_name
from worker.box.egress.rules import NOT_LISTED, NOT_REACHED, Host, NotAHost, Reached, Rules

_CONNECT = re.compile(rb"CONNECT (?P<host>[A-Za-z0-9.-]{1,253}):(?P<port>[1-9][0-9]{0,4}) HTTP/1\.[01]\r\n")
_CHUNK = 64 * 1024
_SHOWN = 120
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class _Refused(Exception):
    """The wish is not granted."""


class Proxy:
    """Serves what comes over a listening socket, in threads, until the socket is closed.

    `tell` is called from any thread, with the number of a wish and what is known of it: when it is refused or
    granted, and once more when it is over. `resolve` gives a host's addresses.
    """

    def __init__(self, rules: Rules, tell: Callable[[int, Reached], None], resolve: Resolve = system_resolve) -> None:
        self._rules = rules
        self._tell = tell
        self._resolve = resolve
        self._slots = threading.BoundedSemaphore(rules.caps.connections)
        self._lock = threading.Lock()
        self._up_left = rules.caps.up_bytes
        self._down_left = rules.caps.down_bytes

    def serve(self, listener: socket.socket) -> None:
        """Returns when the listener is closed, or when more connections came than one run may make."""
        most = self._rules.caps.total_connections
        for number in range(most):
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if not self._slots.acquire(blocking=False):
                self._tell(number, Reached("", "too many connections at once"))
                client.close()
                continue
            threading.Thread(target=self._attend, args=(number, client), daemon=True).start()
        self._tell(most, Reached("", "too many connections in one run"))

    def _attend(self, number: int, client: socket.socket) -> None:
        try:
            with client:
                self._tell(number, self._talk(number, client))
        finally:
            self._slots.release()

    def _talk(self, number: int, client: socket.socket) -> Reached:
        target = ""
        try:
            head = _read_head(client, self._rules)
            target = _shown(head)
            host = _asked_for(head)
            target = str(host)
            if not self._rules.allows(host):
                raise _Refused(NOT_LISTED)
            addresses = () if self._rules.through else self._addresses(host)
            client.sendall(_ESTABLISHED)
            hello = _read_hello(client, host, self._rules)
        except _Refused as refused:
            with suppress(OSError):
                client.settimeout(1.0)
                client.sendall(_REFUSED)
            return Reached(target, str(refused))
        except OSError:
            return Reached(target, "the other side went away before it had said what it wants")
        self._tell(number, Reached(target, ""))
        server = self._further(host, self._rules.through) if self._rules.through else self._dialled(host, addresses)
        if server is None:
            return Reached(target, NOT_REACHED)
        return self._carry(client, server, hello, Reached(target, ""))

    def _addresses(self, host: Host) -> tuple[str, ...]:
        try:
            return checked_addresses(host.name, host.port, self._look_up, self._rules.networks)
        except NoAddress as error:
            raise _Refused(str(error)) from error

    def _look_up(self, name: str, port: int) -> Sequence[str]:
        return self._rules.names.get(name) or self._resolve(name, port)

    def _dialled(self, host: Host, addresses: tuple[str, ...]) -> socket.socket | None:
        for address in addresses:
            with suppress(OSError):
                return socket.create_connection((address, host.port), self._rules.caps.dial_seconds)
        return None

    def _further(self, host: Host, through: tuple[str, int]) -> socket.socket | None:
        """A line to the host by way of the next proxy, which looks at it by its own rules."""
        try:
            server = socket.create_connection(through, self._rules.caps.dial_seconds)
        except OSError:
            return None
        try:
            server.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("ascii"))
            if _read_head(server, self._rules).startswith((b"HTTP/1.1 200 ", b"HTTP/1.0 200 ")):
                return server
        except (OSError, _Refused):
            pass
        server.close()
        return None

    def _carry(self, client: socket.socket, server: socket.socket, hello: bytes, reached: Reached) -> Reached:
        with server:
            passage = _Passage(client, server, self._rules.caps.idle_seconds, self._take)
            try:
                refused = passage.carry(hello)
            except OSError:
                refused = ""
        return Reached(reached.target, refused, passage.up, passage.down)

    def _take(self, up: int, down: int) -> str:
        """Takes from what the run has left; the reason where there is not enough."""
        with self._lock:
            self._up_left -= up
            self._down_left -= down
            if self._up_left < 0:
                return f"more than {self._rules.caps.up_bytes:,} bytes were sent"
            return f"more than {self._rules.caps.down_bytes:,} bytes came" if self._down_left < 0 else ""


class _Passage:
    """Bytes in both directions until both sides are done, one falls silent, or the run has had enough."""

    def __init__(
        self, client: socket.socket, server: socket.socket, idle: float, take: Callable[[int, int], str]
    ) -> None:
        self._client, self._server, self._idle, self._take = client, server, idle, take
        self.up = self.down = 0

    def carry(self, hello: bytes) -> str:
        """The reason why it was cut, if it was. Raises OSError."""
        self._client.settimeout(self._idle)
        self._server.settimeout(self._idle)
        self.up = len(hello)
        if refused := self._take(len(hello), 0):
            return refused
        self._server.sendall(hello)
        with selectors.DefaultSelector() as selector:
            selector.register(self._client, selectors.EVENT_READ, self._server)
            selector.register(self._server, selectors.EVENT_READ, self._client)
            while selector.get_map():
                ready = selector.select(self._idle)
                if not ready:
                    return "neither side said anything for too long"
                for key, _ in ready:
                    source: socket.socket = key.fileobj  # type: ignore[assignment]
                    chunk = source.recv(_CHUNK)
                    if not chunk:
                        selector.unregister(source)
                        with suppress(OSError):
                            key.data.shutdown(socket.SHUT_WR)
                        continue
                    if refused := self._count(source, len(chunk)):
                        return refused
                    key.data.sendall(chunk)
        return ""

    def _count(self, source: socket.socket, size: int) -> str:
        if source is self._client:
            self.up += size
            return self._take(size, 0)
        self.down += size
        return self._take(0, size)


def _read_head(client: socket.socket, rules: Rules) -> bytes:
    """Everything up to the empty line, and not a byte more than may stand there."""
    deadline = time.monotonic() + rules.caps.opening_seconds
    head = b""
    while b"\r\n\r\n" not in head:
        if len(head) >= rules.caps.header_bytes:
            raise _Refused("its request is too long")
        chunk = _receive(client, rules.caps.header_bytes - len(head), deadline)
        head += chunk
    if not head.endswith(b"\r\n\r\n"):
        raise _Refused("it said more before it was answered")
    return head


def _asked_for(head: bytes) -> Host:
    match = _CONNECT.match(head)
    if match is None:
        raise _Refused("it is no plain request to connect to a host")
    try:
        return Host(match["host"].decode("ascii").lower(), int(match["port"]))
    except NotAHost as error:
        raise _Refused("it is no plain request to connect to a host") from error


def _read_hello(client: socket.socket, host: Host, rules: Rules) -> bytes:
    deadline = time.monotonic() + rules.caps.opening_seconds
    hello = b""
    while True:
        hello += _receive(client, LONGEST + 1 - len(hello), deadline)
        try:
            name = wanted_name(hello)
        except NeedMore:
            if len(hello) > LONGEST:
                raise _Refused("its greeting is too long") from None
            continue
        except NotTls as error:
            raise _Refused(str(error)) from error
        if name != host.name:
            raise _Refused(f"inside it asks for another host, {_shown(name.encode())}")
        return hello


def _receive(client: socket.socket, most: int, deadline: float) -> bytes:
    """Some bytes before the deadline. Raises _Refused when there are none by then, OSError when it is gone."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise _Refused("it took too long to say what it wants")
    client.settimeout(left)
    try:
        chunk = client.recv(most)
    except TimeoutError:
        raise _Refused("it took too long to say what it wants") from None
    if not chunk:
        raise OSError("closed")
    return chunk


def _shown(said: bytes) -> str:
    """The first line as it can be printed."""
    line = said.split(b"\r\n", 1)[0][:_SHOWN].decode("ascii", "backslashreplace")
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in line)
