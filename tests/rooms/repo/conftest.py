from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from worker.repo.tree import Entry


@dataclass
class TreeInMemory:
    """A tree from a table of contents: the other side of the engine's only port."""

    files: dict[str, bytes]
    modes: dict[str, str] = field(default_factory=dict)

    def entry(self, path: str) -> Entry | None:
        if path not in self.files:
            return None
        return Entry(path, self.modes.get(path, "100644"), len(self.files[path]), f"{hash(path) % 10**9:040d}")

    def is_folder(self, path: str) -> bool:
        return any(name.startswith(path + "/") for name in self.files)

    def read(self, path: str) -> bytes:
        return self.files[path]


@pytest.fixture(scope="session")
def tree_of() -> Callable[..., TreeInMemory]:
    return TreeInMemory
