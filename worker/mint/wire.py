"""The few words between a belt and the mint: length-framed JSON over a stream socket."""

import socket
import struct
import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

MAX_FRAME = 64 * 1024
FRAME_SECONDS = 10.0
"""How long a frame may take once it has begun."""


MOST_REPOSITORIES = 500
"""For how many repositories one token can be (github-facts 56)."""

Number = Annotated[int, Field(ge=0, lt=2**53)]
"""An id, or a count: what every database here can hold and JSON carries exactly."""


class _Word(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Hello(_Word):
    """From a belt that came over the network: which it says it is. The mint answers with a `Challenge`."""

    kind: Literal["hello"] = "hello"
    belt: str


class Challenge(_Word):
    """A nonce to be answered with the HMAC-SHA256 of it under the belt's credential, which never travels."""

    kind: Literal["challenge"] = "challenge"
    nonce: str


class Proof(_Word):
    """The answer to a challenge, in hex."""

    kind: Literal["proof"] = "proof"
    mac: str


class Cut(_Word):
    """Asks for the token of one claimed effect."""

    kind: Literal["cut"] = "cut"
    run: Annotated[str, Field(max_length=80)]
    effect_id: Number
    fence: Number


class Watch(_Word):
    """Asks for the token with which reactions on waiting plan comments are read in repositories of one installation."""

    kind: Literal["watch"] = "watch"
    installation_id: Number
    repository_ids: Annotated[tuple[Number, ...], Field(min_length=1, max_length=MOST_REPOSITORIES)]


class Release(_Word):
    """Says that a token is not needed any more: it is revoked."""

    kind: Literal["release"] = "release"
    mint_id: str


Asked = Annotated[Hello | Proof | Cut | Watch | Release, Field(discriminator="kind")]


class Token(_Word):
    """A token that was cut. Its value never shows in `repr`."""

    kind: Literal["token"] = "token"
    mint_id: str
    value: str = Field(repr=False)
    expires_at: str
    permissions: dict[str, str]
    repository_ids: tuple[int, ...]
    bot_user_id: int


class Done(_Word):
    """The mint did as it was asked."""

    kind: Literal["done"] = "done"


class Denied(_Word):
    """No token. `voided` says that the approval itself stands no longer; `retry_after` that asking later may help;
    `fewer` that asking for fewer repositories may; `gone` that the App is not installed on the repository."""

    kind: Literal["denied"] = "denied"
    reason: str
    remedy: str = ""
    voided: bool = False
    retry_after: float | None = None
    fewer: bool = False
    gone: bool = False


Answered = Annotated[Token | Done | Denied | Challenge, Field(discriminator="kind")]

ASKED: TypeAdapter[Asked] = TypeAdapter(Asked)
ANSWERED: TypeAdapter[Answered] = TypeAdapter(Answered)


class WireBroken(Exception):
    """The other side is gone, or sent what is not a word of this protocol."""


def send(sock: socket.socket, word: _Word) -> None:
    """The whole frame is sent within ten seconds, or `WireBroken` raised."""
    frame = word.model_dump_json().encode()
    try:
        sock.settimeout(FRAME_SECONDS)
        sock.sendall(struct.pack(">I", len(frame)) + frame)
    except OSError as error:
        raise WireBroken(f"the line: {error.strerror or 'timed out'}") from error


def receive(sock: socket.socket, words: TypeAdapter[Any], seconds: float) -> Any:
    """The next word, whose first byte may take `seconds` and the rest ten more.

    Raises `WireBroken` at the end of the stream, for a frame over 64 KiB, a late one and anything else.
    """
    first = _exactly(sock, 1, time.monotonic() + seconds)
    deadline = time.monotonic() + FRAME_SECONDS
    (length,) = struct.unpack(">I", first + _exactly(sock, 3, deadline))
    if length > MAX_FRAME:
        raise WireBroken("a frame that is too long")
    frame = _exactly(sock, length, deadline)
    try:
        return words.validate_json(frame)
    except (ValidationError, RecursionError):
        # The frame may hold a token, so it is not quoted.
        raise WireBroken("a frame that is no word of this protocol") from None


def _exactly(sock: socket.socket, count: int, deadline: float) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        try:
            # The deadline is for the whole, so that one byte now and then does not hold the line.
            sock.settimeout(max(deadline - time.monotonic(), 0.001))
            piece = sock.recv(count - len(parts))
        except OSError as error:
            raise WireBroken(f"the line: {error.strerror or 'timed out'}") from error
        if not piece:
            raise WireBroken("the other side has gone")
        parts += piece
    return bytes(parts)
