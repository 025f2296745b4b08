"""What a readable tree of files is, whether it is a commit or an overlay with edits on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

FILE: Final = "100644"
EXECUTABLE: Final = "100755"
LINK: Final = "120000"
SUBMODULE: Final = "160000"

EntryKind = Literal["file", "link", "submodule"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree.

    `path` is as git gives it, with bytes that are not UTF-8 as surrogate escapes; `size` is in bytes (0 for a
    submodule); `blob` is the object's id, empty where the content is not in git yet.
    """

    path: str
    mode: str
    size: int
    blob: str

    @property
    def kind(self) -> EntryKind:
        if self.mode == LINK:
            return "link"
        return "submodule" if self.mode == SUBMODULE else "file"


class Tree(Protocol):
    """Files by path. No implementation follows a link: a link's content is the path it points to."""

    def entry(self, path: str) -> Entry | None:
        """The file, link or submodule at exactly this path; None for a folder or nothing."""
        ...

    def is_folder(self, path: str) -> bool:
        """True when files lie below this path."""
        ...

    def paths(self) -> Iterable[str]:
        """Every path of a file, link or submodule in it."""
        ...

    def read(self, path: str) -> bytes:
        """The content of the blob at this path. Raises `KeyError` where there is none."""
        ...
