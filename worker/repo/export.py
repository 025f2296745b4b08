"""Writes files into a new directory: links are made and never followed, modes are 644 and 755."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from worker.repo.beneath import open_beneath
from worker.repo.edits import EditedFile
from worker.repo.tree import EXECUTABLE, FILE, LINK

_FOLDERS_KEPT_OPEN = 64


class TreeWriter:
    """Writes below one directory that nobody else writes to.

    Every folder is opened beneath the directory and through no link, and every file is made anew: a tree that holds a
    link where a folder is needed (possible where names differ only in case) ends in an OSError and not outside.
    """

    def __init__(self, directory: Path) -> None:
        self._root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._open: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()
        os.close(self._root)

    def write(self, path: str, mode: str, content: bytes) -> None:
        """Makes the file or link; FileExistsError where one is."""
        above, _, name = path.rpartition("/")
        parent = self._folder(above)
        if mode == LINK:
            os.symlink(content, os.fsencode(name), dir_fd=parent)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(open_beneath(parent, name, flags, 0o600), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o755 if mode == EXECUTABLE else 0o644)

    def folder(self, path: str) -> None:
        """Makes the folder where it is not there yet."""
        self._folder(path)

    def remove(self, path: str) -> None:
        """Removes a file or link, and the folders that are empty then."""
        above, _, name = path.rpartition("/")
        os.unlink(name, dir_fd=self._folder(above))
        self._close()
        while above:
            higher, _, last = above.rpartition("/")
            try:
                os.rmdir(last, dir_fd=self._folder(higher))
            except OSError:
                return
            self._close()
            above = higher

    def _folder(self, path: str) -> int:
        """An open descriptor of the folder, made where it is not there; good until the next call."""
        if not path:
            return self._root
        if path in self._open:
            return self._open[path]
        if len(self._open) >= _FOLDERS_KEPT_OPEN:
            self._close()
        above = path
        while above and above not in self._open:
            above = above.rpartition("/")[0]
        at = self._open[above] if above else self._root
        for name in path[len(above) :].strip("/").split("/"):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=at)
            above = f"{above}/{name}".lstrip("/")
            at = open_beneath(self._root, above, os.O_RDONLY | os.O_DIRECTORY)
            self._open[above] = at
        return at

    def _close(self) -> None:
        for opened in self._open.values():
            os.close(opened)
        self._open.clear()


class Exportable(Protocol):
    """What can be written out as a whole."""

    def export(self, directory: Path) -> int: ...


def materialise(snapshot: Exportable, changes: tuple[EditedFile, ...], directory: Path) -> None:
    """Afterwards the new `directory` holds the snapshot with the changes on it, and no `.git`.

    Nothing of it is left when this raises.
    """
    try:
        snapshot.export(directory)
        with TreeWriter(directory) as writer:
            for change in changes:
                if change.kind != "create":
                    writer.remove(change.old_path or change.path)
            for change in changes:
                if change.content is not None:
                    writer.write(change.path, change.mode if change.mode == EXECUTABLE else FILE, change.content)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
