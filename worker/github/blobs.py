"""Contents as blobs: one by one where they are few, and many small texts in one request where they are many.

A request for each file of a large change meets GitHub's limit on writes (github-facts 165). A tree takes texts in
itself and answers with the ids of their blobs; what it answers is held against the id that git gives to those bytes.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from app.core.digest import blob_id
from worker.github.place import Place

FEW = 40
"""So many contents are sent one by one, each exactly as it is, without a pause."""
LARGEST = 60_000
"""Bytes of a text that is sent with others."""
TOGETHER = 400_000
"""Bytes of texts in one request; GitHub fails at some megabytes (github-facts 118)."""
MOST_TOGETHER = 200


class _Sha(Struct):
    sha: str


class _Named(Struct):
    path: str
    sha: str


class _Tree(Struct):
    tree: tuple[_Named, ...]


class Blobs:
    """The blobs of one piece of work, by their contents."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._known: dict[bytes, str] = {}

    def have(self, contents: Iterable[bytes]) -> None:
        """Each of the contents is a blob in the repository."""
        new = [one for one in dict.fromkeys(contents) if one not in self._known]
        if len(new) <= FEW:
            self._known |= {one: self._place.add(_Sha, "/git/blobs", _body(one)).sha for one in new}
            return
        for group in _groups([one for one in new if _goes_in_a_tree(one)]):
            self._known |= self._sent_together(group)
        for one in new:
            if one not in self._known:
                self._known[one] = self._place.create(_Sha, "/git/blobs", _body(one)).sha

    def id(self, content: bytes) -> str:
        """The id of a content that is there. Raises KeyError for any other."""
        return self._known[content]

    def _sent_together(self, texts: Sequence[bytes]) -> dict[bytes, str]:
        """Those of the texts whose blobs GitHub made of exactly these bytes. The tree itself is nobody's."""
        entries = [
            {"path": f"{number:04d}", "mode": "100644", "type": "blob", "content": text.decode("utf-8")}
            for number, text in enumerate(texts)
        ]
        made = {one.path: one.sha for one in self._place.create(_Tree, "/git/trees", {"tree": entries}).tree}
        return {
            text: blob_id(text) for number, text in enumerate(texts) if made.get(f"{number:04d}") == blob_id(text)
        }


def _body(content: bytes) -> dict[str, str]:
    """As base64, so that nothing is re-encoded (github-facts 118)."""
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


def _goes_in_a_tree(content: bytes) -> bool:
    if not 0 < len(content) <= LARGEST or b"\0" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _groups(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for text in texts:
        if group and (size + len(text) > TOGETHER or len(group) >= MOST_TOGETHER):
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group
