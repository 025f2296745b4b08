"""A belt's side of the mint: asks for a token, and gives it back."""

import hashlib
import hmac
import logging
import socket
import threading
from collections.abc import Callable, Sequence

from worker.mint.wire import (
    ANSWERED,
    Answered,
    Asked,
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

ANSWER_SECONDS = 90.0
"""The mint itself asks GitHub several things before it cuts a write token."""
DIAL_SECONDS = 10.0

_LOG = logging.getLogger("countersign.mint")


class MintDenied(Exception):
    """The mint said no. `voided`: the approval stands no longer. `retry_after`: seconds, where later may help.
    `fewer`: fewer repositories may help. `gone`: the App is not installed on the repository."""

    def __init__(self, denied: Denied) -> None:
        self.reason = denied.reason
        self.remedy = denied.remedy
        self.voided = denied.voided
        self.retry_after = denied.retry_after
        self.fewer = denied.fewer
        self.gone = denied.gone
        super().__init__(f"{denied.reason} {denied.remedy}".strip())


class MintUnreachable(Exception):
    """The mint does not answer: nothing that needs a token can be done now."""


class MintCaller:
    """One belt's line to the mint; several threads may use it, one question at a time.

    `dial` makes a new line after one that broke. An inherited line cannot be had again.
    """

    def __init__(
        self,
        sock: socket.socket | None,
        dial: Callable[[], socket.socket] | None = None,
        lost: Callable[[], None] | None = None,
    ) -> None:
        self._sock = sock
        self._dial = dial or _not_again
        self._lost = lost
        self._turn = threading.Lock()

    @classmethod
    def inherited(cls, descriptor: int, lost: Callable[[], None]) -> "MintCaller":
        """On one machine the belt is known by the socket that it inherited. Raises OSError where it is none.

        `lost` is called when the line breaks: this process can do nothing any more that needs a token.
        """
        sock = socket.socket(fileno=descriptor)
        sock.set_inheritable(False)
        return cls(sock, None, lost)

    @classmethod
    def over_network(cls, address: tuple[str, int], belt: str, credential: str) -> "MintCaller":
        """Elsewhere it proves itself with a credential of its own, which never travels. It dials when it must."""
        return cls(None, lambda: _dialled(address, belt, credential))

    def cut(self, run: str, effect_id: int, fence: int) -> Token:
        """The token for a claimed effect. Raises `MintDenied` or `MintUnreachable`."""
        return self._token(Cut(run=run, effect_id=effect_id, fence=fence))

    def watch(self, installation_id: int, repository_ids: Sequence[int]) -> Token:
        """The token for reading reactions in those of these repositories where a plan waits; it names them."""
        return self._token(Watch(installation_id=installation_id, repository_ids=tuple(repository_ids)))

    def release(self, token: Token) -> None:
        """The token is revoked, or will be by the mint itself, which keeps count. Never raises for a lost mint."""
        try:
            self._ask(Release(mint_id=token.mint_id))
        except MintUnreachable as error:
            _LOG.warning("a token (%s) could not be given back; the mint ends it by itself: %s", token.mint_id, error)

    def _token(self, asked: Cut | Watch) -> Token:
        answer = self._ask(asked)
        if isinstance(answer, Denied):
            raise MintDenied(answer)
        if not isinstance(answer, Token):
            raise MintUnreachable("The mint gave an answer that does not fit the question.")
        return answer

    def _ask(self, asked: Cut | Watch | Release) -> Answered:
        with self._turn:
            if self._sock is None:
                self._sock = self._dial()
            try:
                return _asked(self._sock, asked, ANSWER_SECONDS)
            except WireBroken as error:
                # A late answer must never be taken for that of the next question.
                self._sock.close()
                self._sock = None
                if self._lost is not None:
                    self._lost()
                raise MintUnreachable(f"The mint does not answer ({error}).") from error


def _asked(sock: socket.socket, asked: Asked, seconds: float) -> Answered:
    send(sock, asked)
    answer: Answered = receive(sock, ANSWERED, seconds)
    return answer


def _dialled(address: tuple[str, int], belt: str, credential: str) -> socket.socket:
    """A line over which the belt has proved itself. Raises `MintUnreachable`."""
    try:
        sock = socket.create_connection(address, timeout=DIAL_SECONDS)
    except OSError as error:
        raise MintUnreachable(f"The mint cannot be reached: {error.strerror or error}.") from error
    try:
        challenge = _asked(sock, Hello(belt=belt), DIAL_SECONDS)
        if isinstance(challenge, Challenge):
            mac = hmac.new(credential.encode(), challenge.nonce.encode(), hashlib.sha256).hexdigest()
            if isinstance(_asked(sock, Proof(mac=mac), DIAL_SECONDS), Done):
                return sock
    except WireBroken as error:
        sock.close()
        raise MintUnreachable(f"The mint does not answer ({error}).") from error
    sock.close()
    raise MintUnreachable("The mint did not accept this belt's credential (COUNTERSIGN_MINT_CREDENTIAL).")


def prove_belt(address: tuple[str, int], belt: str, credential: str) -> None:
    """The mint answers there and took the belt's credential; the line is closed again. Raises `MintUnreachable`."""
    _dialled(address, belt, credential).close()


def _not_again() -> socket.socket:
    raise MintUnreachable("The line to the mint is broken.")
