"""A belt's side of the mint: asks for a token, and gives it back."""

import hashlib
import hmac
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


class MintDenied(Exception):
    """The mint said no. `voided`: the approval stands no longer. `retry_after`: seconds, where later may help."""

    def __init__(self, denied: Denied) -> None:
        self.reason = denied.reason
        self.remedy = denied.remedy
        self.voided = denied.voided
        self.retry_after = denied.retry_after
        super().__init__(f"{denied.reason} {denied.remedy}".strip())


class MintUnreachable(Exception):
    """The mint does not answer: nothing that needs a token can be done now."""


class MintCaller:
    """One belt's line to the mint; several threads may use it, one question at a time."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(ANSWER_SECONDS)
        self._sock = sock
        self._turn = threading.Lock()

    @classmethod
    def inherited(cls, descriptor: int) -> "MintCaller":
        """On one machine the belt is known by the socket that it inherited."""
        sock = socket.socket(fileno=descriptor)
        sock.set_inheritable(False)
        return cls(sock)

    @classmethod
    def over_network(cls, address: tuple[str, int], belt: str, credential: str) -> "MintCaller":
        """Elsewhere it proves itself with a credential of its own, which never travels."""
        try:
            caller = cls(socket.create_connection(address, timeout=10))
            challenge = caller._ask(Hello(belt=belt))
            if not isinstance(challenge, Challenge):
                raise MintUnreachable("The mint did not ask for a proof.")
            mac = hmac.new(credential.encode(), challenge.nonce.encode(), hashlib.sha256).hexdigest()
            welcome = caller._ask(Proof(mac=mac))
        except OSError as error:
            raise MintUnreachable(f"The mint cannot be reached: {error.strerror or error}.") from error
        if not isinstance(welcome, Done):
            raise MintUnreachable("The mint did not accept this belt's credential.")
        return caller

    def cut(self, run: str, effect_id: int, fence: int) -> Token:
        """The token for a claimed effect. Raises `MintDenied` or `MintUnreachable`."""
        return self._token(Cut(run=run, effect_id=effect_id, fence=fence))

    def watch(self, repository_id: int) -> Token:
        """The token for reading reactions in one repository."""
        return self._token(Watch(repository_id=repository_id))

    def release(self, token: Token) -> None:
        """The token is revoked, or will be by the mint itself, which keeps count."""
        self._ask(Release(mint_id=token.mint_id))

    @contextmanager
    def token(self, run: str, effect_id: int, fence: int) -> Iterator[Token]:
        """A token for as long as the block lasts."""
        token = self.cut(run, effect_id, fence)
        try:
            yield token
        finally:
            self.release(token)

    def _token(self, asked: Cut | Watch) -> Token:
        answer = self._ask(asked)
        if isinstance(answer, Denied):
            raise MintDenied(answer)
        if not isinstance(answer, Token):
            raise MintUnreachable("The mint gave an answer that does not fit the question.")
        return answer

    def _ask(self, asked: Asked) -> Answered:
        with self._turn:
            try:
                send(self._sock, asked)
                answer: Answered = receive(self._sock, ANSWERED)
                return answer
            except WireBroken as error:
                # A late answer must never be taken for that of the next question.
                self._sock.close()
                raise MintUnreachable(f"The mint does not answer ({error}).") from error
