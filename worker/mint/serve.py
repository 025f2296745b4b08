"""The mint's process: one thread for each belt's line, one that tidies, and an end that leaves no token alive."""

import hashlib
import hmac
import logging
import secrets
import socket
import threading
from collections.abc import Mapping

from app.core.belts import Belt
from worker.mint.mint import Mint
from worker.mint.wire import (
    ASKED,
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

_LOG = logging.getLogger("countersign.mint")


class MintServer:
    """Answers belts over inherited sockets, and over a listening socket where credentials are given."""

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self._stopping = threading.Event()
        self._listener: socket.socket | None = None

    def take_lines(self, descriptor: int) -> None:
        """On one machine: over this inherited socket `up` hands in one end of a pair for each belt it starts.

        The descriptor is the belt's identity, and nothing stands in the file system. A belt that is started
        again gets a new pair, so that no answer to its forerunner can reach it.
        """
        control = socket.socket(fileno=descriptor)
        control.set_inheritable(False)
        self._start("lines", self._take_each, control)

    def listen(self, address: tuple[str, int], credentials: Mapping[Belt, str]) -> tuple[str, int]:
        """Elsewhere: each belt proves itself with its own credential. Returns the address that is listened on."""
        if not credentials or any(len(value) < 16 for value in credentials.values()):
            raise ValueError("each belt's credential must have at least 16 characters")
        if len(set(credentials.values())) != len(credentials):
            raise ValueError("each belt needs a credential of its own")
        listener = socket.create_server(address)
        self._listener = listener
        self._start("listener", self._accept, listener, dict(credentials))
        host, port = listener.getsockname()[:2]
        return str(host), int(port)

    def run_until_stopped(self) -> None:
        """Tidies until `stop` is called, then ends every token."""
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
            self._listener.close()

    def _start(self, name: str, target: object, *args: object) -> None:
        threading.Thread(target=target, args=args, name=name, daemon=True).start()  # type: ignore[arg-type]

    def _take_each(self, control: socket.socket) -> None:
        while True:
            try:
                name, descriptors, _, _ = socket.recv_fds(control, 64, 1)
            except OSError:
                return
            if not name or len(descriptors) != 1:
                return
            sock = socket.socket(fileno=descriptors[0])
            sock.set_inheritable(False)
            belt = Belt(name.decode())
            self._start(f"line of {belt}", self._answer, belt, sock)

    def _accept(self, listener: socket.socket, credentials: dict[Belt, str]) -> None:
        while not self._stopping.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self._start("caller", self._greet, sock, credentials)

    def _greet(self, sock: socket.socket, credentials: dict[Belt, str]) -> None:
        """A fresh nonce for each caller; an unknown belt is asked as well, so that names cannot be probed."""
        sock.settimeout(10)
        nonce = secrets.token_hex(32)
        try:
            hello = receive(sock, ASKED)
            send(sock, Challenge(nonce=nonce))
            proof = receive(sock, ASKED)
            belt = _proven(hello, proof, nonce, credentials)
            send(sock, Done() if belt else Denied(reason="The credential was not accepted."))
        except WireBroken:
            belt = None
        if belt is None:
            sock.close()
            return
        self._answer(belt, sock)

    def _answer(self, belt: Belt, sock: socket.socket) -> None:
        sock.settimeout(IDLE_SECONDS)
        while not self._stopping.is_set():
            try:
                asked = receive(sock, ASKED)
            except WireBroken:
                sock.close()
                return
            try:
                answer = self._do(belt, asked)
            except Exception:
                _LOG.exception("a question of %s could not be answered", belt)
                answer = Denied(reason="The mint could not answer; its log says why.", retry_after=30)
            try:
                send(sock, answer)
            except WireBroken:
                sock.close()
                return

    def _do(self, belt: Belt, asked: object) -> Token | Done | Denied:
        match asked:
            case Cut():
                return self._mint.cut(belt, asked)
            case Watch():
                return self._mint.watch(belt, asked)
            case Release():
                return self._mint.release(belt, asked)
            case _:
                return Denied(reason="That is not a question for the mint.")


def _proven(hello: object, proof: object, nonce: str, credentials: Mapping[Belt, str]) -> Belt | None:
    if not isinstance(hello, Hello) or not isinstance(proof, Proof):
        return None
    for belt, credential in credentials.items():
        expected = hmac.new(credential.encode(), nonce.encode(), hashlib.sha256).hexdigest()
        if hello.belt == belt and hmac.compare_digest(expected.encode(), proof.mac.encode("utf-8", "replace")):
            return belt
    return None
