"""Released packages, brought at test time by their own clients from wherever those are set up to look.

Nothing of them is kept in the repository: each archive is known by its SHA-256, and the place that it comes from is
the client's own configuration.
"""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from infra.demo.fetch_input import Archive, InputUnavailable, fetch_input

APT_HELPER = "/usr/lib/apt/apt-helper"
COMPONENTS = ("main", "universe")
"""Where a Debian or an Ubuntu keeps what it holds of free software."""


class NotFetched(Exception):
    """The package could not be brought; the message says why."""


@dataclass(frozen=True)
class Release:
    """One release and the SHA-256 of its archive."""

    name: str
    version: str
    sha256: str


def from_index(release: Release, folder: Path) -> Path:
    """The unpacked source distribution from the package index that pip uses."""
    try:
        return fetch_input(folder, Archive(release.name, release.version, release.sha256))
    except InputUnavailable as error:
        raise NotFetched(str(error)) from error


def from_npm(release: Release, folder: Path) -> Path:
    """The unpacked package from npm's registry."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{release.name}@{release.version}"
    _ran(["npm", "pack", "--silent", "--pack-destination", str(folder), wanted])
    return _unpacked(folder / f"{release.name}-{release.version}.tgz", release, folder)


def from_pool(release: Release, folder: Path) -> Path:
    """The unpacked upstream source from the pool of the distribution; the system's lists stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{release.name}_{release.version}.orig.tar.gz"
    pools = dict.fromkeys(
        line.split("'")[1].partition("/dists/")[0]
        for line in _ran(["apt-get", "update", "--print-uris"]).splitlines()
        if "/dists/" in line
    )
    tried = [NotFetched("apt is set up for no distribution")]
    for place in (f"{pool}/pool/{component}" for pool in pools for component in COMPONENTS):
        address = f"{place}/{release.name[0]}/{release.name}/{archive.name}"
        try:
            _ran([APT_HELPER, "download-file", address, str(archive), f"SHA256:{release.sha256}"])
            return _unpacked(archive, release, folder)
        except NotFetched as error:
            tried.append(error)
    raise tried[-1]


def _unpacked(archive: Path, release: Release, folder: Path) -> Path:
    if not archive.is_file() or hashlib.sha256(archive.read_bytes()).hexdigest() != release.sha256:
        raise NotFetched(f"{archive.name} is not there, or not the one that was released")
    tree = folder / f"{release.name}-{release.version}"
    tree.mkdir()
    words = ["--strip-components=1", "--no-same-owner", "-xzf", str(archive)]
    _ran(["tar", "-C", str(tree), *words])
    return tree


def _ran(words: list[str]) -> str:
    """What it printed."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100)
    except subprocess.CalledProcessError as error:
        raise NotFetched(f"{words[0]} could not bring it: {error.stderr.strip()[-300:]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotFetched(f"{words[0]} could not bring it: {error}") from error
    return done.stdout


def files_of(tree: Path) -> dict[str, bytes]:
    """Path → content; as for a story's repository, the path of an executable file ends in `*`."""
    files = [path for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {
        path.relative_to(tree).as_posix() + ("*" if path.stat().st_mode & 0o100 else ""): path.read_bytes()
        for path in files
    }
