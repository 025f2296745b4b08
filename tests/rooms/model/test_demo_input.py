"""The demo's input, from a package index of our own over real HTTP, named by pip's own configuration."""

import functools
import hashlib
import http.server
import io
import os
import tarfile
import threading
from pathlib import Path

import pytest

from infra.demo.fetch_input import HUMANIZE, Archive, InputUnavailable, fetch_input, pip_sources


def archive(*members: tuple[str, bytes, str], top: str = "gadget-1.0") -> bytes:
    """A source distribution with these members: name, content, and kind (`file` or `link`)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as writing:
        for name, content, kind in (("PKG-INFO", b"Name: gadget\n", "file"), *members):
            member = tarfile.TarInfo(name if name.startswith("/") else f"{top}/{name}")
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            if kind == "link":
                member.type, member.linkname = tarfile.SYMTYPE, content.decode()
                writing.addfile(member)
            else:
                member.size = len(content)
                writing.addfile(member, io.BytesIO(content))
    return packed.getvalue()


GADGET = archive(("src/gadget.py", b"x = 1\n", "file"), ("run.sh", b"true\n", "file"))
PINNED = Archive("gadget", "1.0", hashlib.sha256(GADGET).hexdigest())


class Index:
    """A simple index in a folder, its server, and the paths that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, []
        index = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, format, *words):
                index.asked.append(self.path)

        handler = functools.partial(Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/simple"

    def offer(self, content: bytes, file: str = "gadget-1.0.tar.gz") -> None:
        (self.folder / "files").mkdir(exist_ok=True)
        (self.folder / "files" / file).write_bytes(content)
        page = self.folder / "simple" / "gadget"
        page.mkdir(parents=True, exist_ok=True)
        wheel = '<a href="../../files/gadget-1.0-py3-none-any.whl">gadget-1.0-py3-none-any.whl</a>'
        (page / "index.html").write_text(f'<!DOCTYPE html>{wheel}<a href="../../files/{file}#sha256=00">{file}</a>')


@pytest.fixture
def index(tmp_path, monkeypatch):
    """pip knows this index and nothing else; it does not try twice."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "index").mkdir()
    index = Index(tmp_path / "index")
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    yield index
    index.server.shutdown()
    index.server.server_close()


def test_the_input_comes_from_the_index_that_pip_names_and_is_fetched_once(index, tmp_path):
    index.offer(GADGET)
    tree = fetch_input(tmp_path / "cache", PINNED)
    assert tree == tmp_path / "cache" / "gadget-1.0"
    assert (tree / "src" / "gadget.py").read_bytes() == b"x = 1\n"
    assert os.access(tree / "run.sh", os.X_OK)
    assert not os.access(tree / "PKG-INFO", os.X_OK)
    assert index.asked == ["/simple/gadget/", "/files/gadget-1.0.tar.gz"]
    assert fetch_input(tmp_path / "cache", PINNED) == tree
    assert len(index.asked) == 2


def test_an_index_on_disk_and_a_folder_of_files_serve_as_well(index, tmp_path, monkeypatch):
    index.offer(GADGET)
    monkeypatch.setenv("PIP_INDEX_URL", (index.folder / "simple").as_uri())
    assert fetch_input(tmp_path / "one", PINNED).is_dir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index.folder / "files"))
    assert fetch_input(tmp_path / "two", PINNED).is_dir()
    assert index.asked == []


def test_another_archive_than_the_pinned_one_is_turned_down(index, tmp_path):
    index.offer(archive(("setup.py", b"raise SystemExit('not run')", "file")))
    with pytest.raises(InputUnavailable, match=r"another hash was turned down.*--repo PATH"):
        fetch_input(tmp_path / "cache", PINNED)
    assert not (tmp_path / "cache" / "gadget-1.0").exists()


def test_an_index_out_of_reach_is_said_and_another_way_offered(index, tmp_path):
    index.server.shutdown()
    index.server.server_close()
    with pytest.raises(InputUnavailable, match=r"could not be fetched.*--repo PATH"):
        fetch_input(tmp_path / "cache", PINNED)


@pytest.mark.parametrize(
    "member",
    [("../../outside", b"x", "file"), ("/outside", b"x", "file"), ("src/link", b"/etc/passwd", "link")],
    ids=["above", "absolute", "link"],
)
def test_an_archive_that_reaches_outside_its_folder_leaves_nothing_behind(index, tmp_path, member):
    content = archive(member)
    index.offer(content)
    with pytest.raises(InputUnavailable, match="something unexpected"):
        fetch_input(tmp_path / "cache", Archive("gadget", "1.0", hashlib.sha256(content).hexdigest()))
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["gadget-1.0.tar.gz"]


def test_where_no_index_is_configured_pip_says_which_one_it_uses(index, monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL")
    (only,) = pip_sources().indexes
    assert only.startswith("https://")
    assert only.rstrip("/").endswith("/simple")


def test_the_demo_pins_one_version_by_its_hash():
    assert (HUMANIZE.file, len(HUMANIZE.sha256)) == ("humanize-4.15.0.tar.gz", 64)
