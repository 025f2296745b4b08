"""Brings the demo's input, one source distribution, from the package index that pip is configured to use.

The index is read directly, since `pip download` first builds the package's metadata. Where that does not succeed
(an index that asks for a login, for example), pip itself is asked.
"""

import argparse
import ast
import contextlib
import hashlib
import html.parser
import os
import re
import ssl
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ISSUE = Path(__file__).parent / "humanize" / "issue.md"
SCRIPT = Path(__file__).parent / "humanize" / "script.yaml"

_OTHERWISE = "Or give a repository of your own with --repo PATH."
_LARGEST_PAGE = 20_000_000
_LARGEST_ARCHIVE = 5_000_000
_LARGEST_TREE = 50_000_000
_PAGE_SECONDS = 20
_PIP_SECONDS = 180


class InputUnavailable(Exception):
    """The input could not be brought; the message is a sentence for the person at the terminal."""


@dataclass(frozen=True)
class Archive:
    """A source distribution and the SHA-256 (hex) that it must have."""

    project: str
    version: str
    sha256: str

    @property
    def folder(self) -> str:
        """The one folder that the archive holds."""
        return f"{self.project}-{self.version}"

    @property
    def file(self) -> str:
        return f"{self.folder}.tar.gz"

    def is_pinned(self, content: bytes) -> bool:
        """True for the very bytes that were pinned."""
        return hashlib.sha256(content).hexdigest() == self.sha256


HUMANIZE = Archive("humanize", "4.15.0", "1dd098483eb1c7ee8e32eb2e99ad1910baefa4b75c3aff3a82f4d78688993b10")


@dataclass(frozen=True)
class Sources:
    """Where pip looks: index pages, folders of files, and the certificates that it trusts instead of the usual ones."""

    indexes: tuple[str, ...]
    folders: tuple[Path, ...]
    certificates: str | None


def fetch_input(cache: Path, wanted: Archive = HUMANIZE) -> Path:
    """The unpacked source tree, in `cache`; fetched at most once. Raises `InputUnavailable`."""
    tree = cache / wanted.folder
    if (tree / "PKG-INFO").is_file():
        return tree
    try:
        cache.mkdir(parents=True, exist_ok=True)
        archive = cache / wanted.file
        if not (archive.is_file() and wanted.is_pinned(archive.read_bytes())):
            archive.write_bytes(_bring(wanted))
        _unpack(archive, tree)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputUnavailable(f"{wanted.file} could not be unpacked in {cache}: {error}. {_OTHERWISE}") from error
    return tree


def _bring(wanted: Archive) -> bytes:
    """The archive's bytes, with the pinned hash."""
    tried: list[str] = []
    for found in _offers(wanted, pip_sources(), tried):
        if wanted.is_pinned(found):
            return found
        tried.append("an archive with another hash was turned down")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        found = _ask_pip(wanted)
        if wanted.is_pinned(found):
            return found
    why = f" ({tried[-1]})" if tried else ""
    raise InputUnavailable(
        f"{wanted.project} {wanted.version} could not be fetched from the package index that pip uses{why}. "
        f"Check the network and pip's configuration. {_OTHERWISE}"
    )


def pip_sources() -> Sources:
    """What pip's configuration names, read through pip's own commands."""
    try:
        config = _configuration(_pip("config", "list"))
        indexes = [config["index-url"]] if "index-url" in config else _default_index(_pip("help", "download"))
    except (OSError, subprocess.SubprocessError) as error:
        raise InputUnavailable(
            f"pip could not be asked for its package index ({error}). Install pip. {_OTHERWISE}"
        ) from error
    indexes += config.get("extra-index-url", "").split()
    folders = [Path(word.removeprefix("file://")) for word in config.get("find-links", "").split()]
    if config.get("no-index", "").lower() in {"1", "true", "yes"}:
        indexes = []
    return Sources(tuple(indexes), tuple(one for one in folders if one.is_dir()), config.get("cert"))


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=_PAGE_SECONDS, check=True).stdout


def _configuration(listed: str) -> Mapping[str, str]:
    """`pip config list` as a mapping. A command's own section beats `global`, the environment beats both."""
    ranks = {"global": 0, "install": 1, "download": 2, ":env:": 3}
    found: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        key, is_pair, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if not is_pair or section not in ranks:
            continue
        with contextlib.suppress(ValueError, SyntaxError):
            ranked = (ranks[section], str(ast.literal_eval(value)))
            found[name] = max(found.get(name, ranked), ranked, key=lambda pair: pair[0])
    return {name: value for name, (_, value) in found.items()}


def _default_index(help_text: str) -> list[str]:
    """The index that pip uses where none is configured, from the help of its `--index-url` option."""
    unbroken = " ".join(help_text.split())
    found = re.search(r"--index-url <url>.*?\(default\s+(\S+?)\)", unbroken)
    return [found.group(1)] if found else []


def _offers(wanted: Archive, sources: Sources, tried: list[str]) -> Iterator[bytes]:
    for folder in sources.folders:
        if (folder / wanted.file).is_file():
            yield (folder / wanted.file).read_bytes()
    for index in sources.indexes:
        try:
            link = _link(f"{index.rstrip('/')}/{wanted.project}/", wanted.file, sources)
            if link:
                yield _get(link, sources, _LARGEST_ARCHIVE)
        except (OSError, ValueError) as error:
            tried.append(str(getattr(error, "reason", error)))


def _link(page: str, file: str, sources: Sources) -> str | None:
    """The address of the file on a page of the simple index, or None."""
    if page.startswith("file://"):
        page += "index.html"
    reader = _Links()
    reader.feed(_get(page, sources, _LARGEST_PAGE).decode("utf-8", "replace"))
    for link in reader.links:
        address = urllib.parse.urljoin(page, link)
        if urllib.parse.urlsplit(address).path.endswith(f"/{file}"):
            return urllib.parse.urldefrag(address).url
    return None


class _Links(html.parser.HTMLParser):
    """Every `href` of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _get(address: str, sources: Sources, most: int) -> bytes:
    """The bytes at an address of the index; more than `most` of them are a ValueError."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in {"https", "http", "file"} or parts.username:
        raise ValueError("the index needs a login or an unusual protocol")
    wish = urllib.request.Request(address, headers={"Accept": "text/html", "User-Agent": "countersign-demo"})
    context = ssl.create_default_context(cafile=sources.certificates) if parts.scheme == "https" else None
    with urllib.request.urlopen(wish, timeout=_PAGE_SECONDS, context=context) as response:
        content: bytes = response.read(most + 1)
    if len(content) > most:
        raise ValueError("the answer of the index is too large")
    return content


def _ask_pip(wanted: Archive) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        words = ["-q", "--no-deps", "--no-binary", ":all:", "-d", folder, f"{wanted.project}=={wanted.version}"]
        # The index was asked once already: a second try is enough.
        words += ["--retries", "1"]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", *words]
        subprocess.run(command, capture_output=True, timeout=_PIP_SECONDS, check=True)
        return (Path(folder) / wanted.file).read_bytes()


def _unpack(archive: Path, tree: Path) -> None:
    """The archive's one folder as `tree`, whole or not at all. Only files and folders inside it, with plain modes."""
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder, tarfile.open(archive, "r:gz") as opened:
        size = 0
        for member in opened:
            parts = Path(member.name).parts
            if member.isdir():
                continue
            size += member.size
            if not member.isfile() or parts[0] != tree.name or ".." in parts or size > _LARGEST_TREE:
                raise InputUnavailable(f"{archive.name} holds something unexpected: {member.name!r}. {_OTHERWISE}")
            target = Path(folder).joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            content = opened.extractfile(member)
            assert content is not None
            target.write_bytes(content.read())
            target.chmod(0o755 if member.mode & 0o100 else 0o644)
        os.replace(Path(folder) / tree.name, tree)


def main() -> int:
    """`python -m infra.demo.fetch_input DIR` prints the folder of the source tree; 1 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m infra.demo.fetch_input", description=__doc__)
    parser.add_argument("cache", type=Path)
    try:
        print(fetch_input(parser.parse_args().cache))
    except InputUnavailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
