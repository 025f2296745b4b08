"""Makes directories reachable for the box's account, where this process is root and their path is private.

bubblewrap resolves the path of what it binds, even when it gets a descriptor, so every directory above must let
the account pass.
"""

import os
import shutil
import stat
import tempfile
from pathlib import Path

from worker.box.account import BoxAccount

RUNS = Path("/var/tmp")  # noqa: S108 (only names made by mkdtemp are used below it)

_NAME = "countersign-stage-"


def passable(path: Path) -> bool:
    """Whether any account may walk to the directory."""
    return all(above.stat().st_mode & stat.S_IXOTH for above in path.resolve().parents)


class Staging:
    """Copies below one neutral directory that only lets pass.

    The copies go when this object goes, and where its process was killed when the next one is made.
    """

    def __init__(self) -> None:
        _remove_orphans()
        self._place = tempfile.TemporaryDirectory(prefix=f"{_NAME}{os.getpid()}-", dir=RUNS, ignore_cleanup_errors=True)
        self._root = Path(self._place.name)
        self._root.chmod(0o711)
        self._lasting: dict[tuple[Path, int, int], Path] = {}

    def copy(self, source: Path) -> Path:
        """A copy of its own, which the caller removes with `drop`."""
        place = Path(tempfile.mkdtemp(dir=self._root))
        place.chmod(0o711)
        shutil.copytree(source, place / "tree", symlinks=True)
        return place / "tree"

    def drop(self, copy: Path) -> None:
        """The copy is gone."""
        shutil.rmtree(copy.parent, ignore_errors=True)

    def lasting(self, source: Path) -> Path:
        """The copy of a directory that does not change any more; made once."""
        seen = source.stat()
        key = (source, seen.st_ino, seen.st_ctime_ns)
        if key not in self._lasting:
            self._lasting[key] = self.copy(source)
        return self._lasting[key]


def _remove_orphans() -> None:
    for place in RUNS.glob(f"{_NAME}*-*"):
        process = place.name.removeprefix(_NAME).partition("-")[0]
        ours = not place.is_symlink() and place.stat().st_uid == os.geteuid()
        if ours and process.isdigit() and not Path("/proc", process).exists():
            shutil.rmtree(place, ignore_errors=True)


def make_readable(tree: int) -> None:
    """Any account that reaches the tree can read all of it. Links themselves are left alone."""
    for _, folders, files, directory in os.fwalk(".", dir_fd=tree, follow_symlinks=False):
        for name in (".", *folders, *files):
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                continue
            runs = stat.S_ISDIR(mode) or mode & stat.S_IXUSR
            wanted = stat.S_IMODE(mode) | stat.S_IROTH | (stat.S_IXOTH if runs else 0)
            if wanted != stat.S_IMODE(mode):
                os.chmod(name, wanted, dir_fd=directory)


def make_readable_path(tree: Path) -> None:
    """The same for a tree by its path, which is no link."""
    descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        make_readable(descriptor)
    finally:
        os.close(descriptor)


def give(tree: int, account: BoxAccount) -> None:
    """The account owns everything in the tree; links are not followed."""
    for _, folders, files, directory in os.fwalk(".", dir_fd=tree, follow_symlinks=False):
        for name in (".", *folders, *files):
            os.chown(name, account.uid, account.gid, dir_fd=directory, follow_symlinks=False)
