"""The mint's process: one thread for each line, one that tidies, and an end that leaves no token alive."""

import hashlib
import hmac
import itertools
import logging
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

from app.core.belts import Belt
from app.logs import about
from worker.mint.mint import Mint
from worker.mint.purse import Caller
from worker.mint.wire import (
    ASKED,
    FRAME_SECONDS,
    Challenge,
    Cut,
    Denied,
    Done,
    Hello,
    Proof,
    Release,
    Token,
    Watch,
    WireBroken,
    receive,
    send,
)

TIDY_SECONDS = 5.0
IDLE_SECONDS = 24 * 3_600.0
MOST_GREETINGS = 32
"""Callers that have not proved their belt. One more ends the oldest: who belongs here needs milliseconds."""
MOST_LINES = 16
"""Lines of one belt over the network. One more ends the oldest, which is one that died unheard."""

_LOG = logging.getLogger("countersign.mint")


class _Bounded:
    """At most so many open sockets, each with its thread; for one more the oldest is ended."""

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)
        self._open: deque[socket.socket] = deque()
        self._lock = threading.Lock()

    def add(self, sock: socket.socket) -> None:
        """Returns once there is room for it."""
        if not self._free.acquire(blocking=False):
            with self._lock:
                oldest = self._open.popleft() if self._open else None
            if oldest is not None:
                _shut(oldest)
            self._free.acquire()
        with self._lock:
            self._open.append(sock)

    def remove(self, sock: socket.socket) -> None:
        """Called once for each that was added, by its thread, when it is done."""
        with self._lock, suppress(ValueError):
            self._open.remove(sock)
        self._free.release()


class MintServer:
    """Answers belts over inherited sockets, and over a listening socket where credentials are given."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._stopping = threading.Event()
        self._listener: socket.socket | None = None
        self._numbers = itertools.count(1)
        self._greeting = _Bounded(MOST_GREETINGS)
        self._lines = {belt: _Bounded(MOST_LINES) for belt in Belt}

    def take_lines(self, descriptor: int) -> None:
        """On one machine: over this inherited socket `up` hands in one end of a pair for each belt it starts.

        The descriptor is the belt's identity, and nothing stands in the file system. A belt that is started
        again gets a new pair, so that no answer to its forerunner can reach it. Raises OSError for no socket.
        """
        control = socket.socket(fileno=descriptor)
        control.set_inheritable(False)
        self._start("lines", lambda: self._take_each(control))

    def listen(self, address: tuple[str, int], credentials: Mapping[Belt, str]) -> tuple[str, int]:
        """Elsewhere: each belt proves itself with its own credential. Returns the address that is listened on.

        Tokens travel over these lines as they are: the network between mint and belts must be a closed one.
        Raises OSError where the address cannot be had.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        listener = self._listener = socket.create_server(address, family=family, backlog=1_024)
        self._start("listener", lambda: self._accept(listener, dict(credentials)))
        host, port = listener.getsockname()[:2]
        return str(host), int(port)

    def run_until_stopped(self) -> None:
        """Tidies until `stop` is called, then ends every token."""
        self._mint.look_back()
        while not self._stopping.wait(TIDY_SECONDS):
            try:
                self._mint.tidy()
            except Exception:
                _LOG.exception("tidying failed; it is tried again")
        self._mint.end_all()

    def stop(self) -> None:
        """Asks `run_until_stopped` to end."""
        self._stopping.set()
        if self._listener is not None:
            _shut(self._listener)

    def _start(self, name: str, target: Callable[[], None]) -> None:
        threading.Thread(target=target, name=name, daemon=True).start()

    def _take_each(self, control: socket.socket) -> None:
        while True:
            try:
                name, descriptors, _, _ = socket.recv_fds(control, 64, 1)
            except OSError:
                return
            if not name:
                return
            for descriptor in descriptors:
                sock = socket.socket(fileno=descriptor)
                sock.set_inheritable(False)
                if name.decode("ascii", "replace") in set(Belt):
                    self._answer_on(Belt(name.decode()), sock)
                else:
                    _LOG.error("a line was handed in for a belt that there is not")
                    sock.close()

    def _answer_on(self, belt: Belt, sock: socket.socket) -> None:
        caller = Caller(belt, next(self._numbers))
        self._start(f"line {caller.line} of {belt}", lambda: self._answer(caller, sock))

    def _accept(self, listener: socket.socket, credentials: dict[Belt, str]) -> None:
        while not self._stopping.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                # Too many open files, say: that passes.
                self._stopping.wait(0.1)
                continue
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._greeting.add(sock)
            self._start("caller", lambda sock=sock: self._greet(sock, credentials))  # type: ignore[misc]

    def _greet(self, sock: socket.socket, credentials: dict[Belt, str]) -> None:
        """A fresh nonce for each caller; an unknown belt is asked as well, so that names cannot be probed."""
        nonce = secrets.token_hex(32)
        belt = None
        try:
            hello = receive(sock, ASKED, FRAME_SECONDS)
            send(sock, Challenge(nonce=nonce))
            proof = receive(sock, ASKED, FRAME_SECONDS)
            belt = _proven(hello, proof, nonce, credentials)
            send(sock, Done() if belt else Denied(reason="The credential was not accepted."))
        except WireBroken:
            belt = None
        if belt is None:
            _shut(sock)
        self._greeting.remove(sock)
        if belt is None:
            return
        self._lines[belt].add(sock)
        self._answer(Caller(belt, next(self._numbers)), sock)
        self._lines[belt].remove(sock)

    def _answer(self, caller: Caller, sock: socket.socket) -> None:
        """One question after the other, until the line breaks; then what was handed out over it is ended."""
        try:
            while True:
                asked = receive(sock, ASKED, IDLE_SECONDS)
                send(sock, self._do(caller, asked))
        except WireBroken as broken:
            _LOG.info("line %d of the %s has ended: %s", caller.line, caller.belt, broken)
        finally:
            _shut(sock)
            self._mint.hung_up(caller)

    def _do(self, caller: Caller, asked: object) -> Token | Done | Denied:
        began = time.monotonic()
        place: dict[str, str | int] = {"run": asked.run, "effect": asked.effect_id} if isinstance(asked, Cut) else {}
        try:
            with about(belt=str(caller.belt), **place):
                return self._answered(caller, asked)
        except Exception:
            _LOG.exception("a question of the %s failed after %.1f s", caller.belt, time.monotonic() - began)
            return Denied(reason="The mint could not answer; its log says why.", retry_after=30)

    def _answered(self, caller: Caller, asked: object) -> Token | Done | Denied:
        match asked:
            case Cut():
                return self._mint.cut(caller, asked)
            case Watch():
                return self._mint.watch(caller, asked)
            case Release():
                return self._mint.release(caller, asked)
            case _:
                return Denied(reason="That is not a question for the mint.")


def _shut(sock: socket.socket) -> None:
    """Closed, and whoever waits on it is woken."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def _proven(hello: object, proof: object, nonce: str, credentials: Mapping[Belt, str]) -> Belt | None:
    if not isinstance(hello, Hello) or not isinstance(proof, Proof):
        return None
    for belt, credential in credentials.items():
        expected = hmac.new(credential.encode(), nonce.encode(), hashlib.sha256).hexdigest()
        if hello.belt == belt and hmac.compare_digest(expected.encode(), proof.mac.encode("utf-8", "replace")):
            return belt
    return None
