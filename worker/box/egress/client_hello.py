"""The first message of a TLS client: the name that it wants, read from plain bytes and believed in no other form."""

from collections.abc import Iterator

LONGEST = 32 * 1024
"""Bytes of a first message; browsers with new key shares send some 2,000."""

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO, _HOST_NAME = 0, 0xFE0D, 0
_LONGEST_RECORD = 16 * 1024


class NotTls(Exception):
    """The bytes are no first message of TLS, or one that hides or lacks the name; the text says what."""


class NeedMore(Exception):
    """The message goes on beyond these bytes."""


def wanted_name(said: bytes) -> str:
    """The one host name that the client asks for, as it wrote it. Raises NeedMore or NotTls."""
    body = _message(said)
    at = _Reader(body)
    at.skip(2 + 32)
    at.vector(1)
    at.vector(2)
    at.vector(1)
    if at.is_at_end():
        raise NotTls("it names no host")
    extensions = _Reader(at.vector(2))
    names: list[str] = []
    while not extensions.is_at_end():
        kind, content = extensions.number(2), extensions.vector(2)
        if kind == _ENCRYPTED_HELLO:
            raise NotTls("it hides the name of its host")
        if kind == _SERVER_NAME:
            names += _names(content)
    if not at.is_at_end():
        raise NotTls("it has something behind its end")
    if len(names) != 1:
        raise NotTls("it names no host" if not names else "it names several hosts")
    return names[0]


def _message(said: bytes) -> bytes:
    """The body of the first handshake message, put together from its records."""
    content = bytearray()
    for record in _records(said):
        content += record
        if len(content) >= 4:
            length = int.from_bytes(content[1:4], "big")
            if content[0] != _CLIENT_HELLO or length > LONGEST:
                raise NotTls("it does not begin with a client's greeting")
            if len(content) >= 4 + length:
                return bytes(content[4 : 4 + length])
    raise NeedMore


def _records(said: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(said):
        if said[at] != _HANDSHAKE or (len(said) > at + 1 and said[at + 1] != 3):
            raise NotTls("it is not TLS")
        if len(said) < at + 5:
            raise NeedMore
        length = int.from_bytes(said[at + 3 : at + 5], "big")
        if not 0 < length <= _LONGEST_RECORD:
            raise NotTls("it is not TLS")
        yield said[at + 5 : at + 5 + length]
        if len(said) < at + 5 + length:
            raise NeedMore
        at += 5 + length


def _names(content: bytes) -> list[str]:
    listed = _Reader(content)
    entries, names = _Reader(listed.vector(2)), list[str]()
    while not entries.is_at_end():
        kind, name = entries.number(1), entries.vector(2)
        if kind != _HOST_NAME or not name.isascii():
            raise NotTls("the name of its host is no plain name")
        names.append(name.decode("ascii"))
    if not listed.is_at_end():
        raise NotTls("the list of its hosts has something behind its end")
    return names


class _Reader:
    """Numbers and vectors one after the other. Raises NotTls where the bytes end too early."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def is_at_end(self) -> bool:
        return self._at == len(self._content)

    def skip(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._content):
            raise NotTls("it is cut within a field")
        taken = self._content[self._at : end]
        self._at = end
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.skip(size), "big")

    def vector(self, size: int) -> bytes:
        return self.skip(self.number(size))
