"""Keeps the head and the tail of what a command says, whatever it says."""

from collections import deque


class Capture:
    """Takes bytes without end and holds at most `limit` of them: the first half and the last half."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.seen = 0

    def add(self, chunk: bytes) -> None:
        """The chunk counts, and is held where there is room for it."""
        self.seen += len(chunk)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._tail_limit:
            self._tail_size -= len(self._tail.popleft())

    @property
    def dropped(self) -> int:
        """How many bytes came and are not held."""
        return max(0, self.seen - self._head_limit - self._tail_limit)

    def content(self) -> bytes:
        """What is held; between head and tail a line says how many bytes are missing, when any are."""
        tail = b"".join(self._tail)[-self._tail_limit :] if self._tail else b""
        if not self.dropped:
            return bytes(self._head) + tail
        return bytes(self._head) + b"\n[%d bytes of output left out here]\n" % self.dropped + tail
