import base64
import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from worker.repo.mirror import Mirror, Mirrors, Remote
from worker.repo.snapshot import Snapshot
from worker.repo.tree import Entry

TOKEN = "ghs_canary" + "A1b2C3d4E5" * 5


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

    def paths(self) -> Iterable[str]:
        return self.files

    def read(self, path: str) -> bytes:
        return self.files[path]


@pytest.fixture(scope="session")
def tree_of() -> Callable[..., TreeInMemory]:
    return TreeInMemory


@dataclass
class Origin:
    """A repository on a git server of its own, written to with plain git."""

    directory: Path

    def git(self, *words: str, input: bytes | None = None) -> bytes:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "mira" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        argv = ["git", f"--git-dir={self.directory}", *words]
        return subprocess.run(argv, input=input, env=environment, capture_output=True, check=True).stdout

    def commit(self, files: dict[str, bytes | tuple[str, bytes]], message: str = "a change") -> str:
        """A commit on `main` whose whole tree is `files` (content, or mode and content)."""
        rows = []
        for path, value in files.items():
            mode, content = value if isinstance(value, tuple) else ("100644", value)
            if mode == "160000":
                blob = content.decode()
            else:
                blob = self.git("hash-object", "-w", "--stdin", input=content).decode().strip()
            rows.append(f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0")
        index = {"GIT_INDEX_FILE": str(self.directory / "index.tmp")}
        (self.directory / "index.tmp").unlink(missing_ok=True)
        argv = ["git", f"--git-dir={self.directory}", "update-index", "-z", "--index-info"]
        subprocess.run(argv, input=b"".join(rows), env={**os.environ, **index}, check=True)
        argv = ["git", f"--git-dir={self.directory}", "write-tree"]
        tree = (
            subprocess.run(argv, env={**os.environ, **index}, check=True, capture_output=True).stdout.decode().strip()
        )
        return self.commit_tree(tree, message)

    def commit_tree(self, tree: str, message: str = "a change") -> str:
        heads = self.git("for-each-ref", "--format=%(objectname)", "refs/heads/main").decode().split()
        parents = [word for head in heads for word in ("-p", head)]
        commit = self.git("commit-tree", tree, *parents, "-m", message).decode().strip()
        self.git("update-ref", "refs/heads/main", commit)
        return commit


def origin_in(directory: Path) -> Origin:
    directory.mkdir(parents=True)
    origin = Origin(directory)
    origin.git("init", "-q", "--bare", "--initial-branch=main")
    return origin


@dataclass
class GitServer:
    """git's own HTTP backend behind basic authentication, and what it was asked."""

    root: Path
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    answer_with: int | None = None
    protocol: bool = True

    def remote(self, name: str = "shop", token: str = TOKEN) -> Remote:
        return Remote(f"{self.url}/{name}.git", token)


def _handler(server: GitServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            server.asked.append((self.command, self.path))
            wanted = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
            if self.headers.get("Authorization") != wanted:
                self._say(401, {"WWW-Authenticate": 'Basic realm="git"'})
                return
            if server.answer_with is not None:
                self._say(server.answer_with, {"Location": "/elsewhere.git/info/refs"})
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            environment = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(server.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", "") if server.protocol else "",
            }
            ran = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
            head, _, content = ran.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self._say(int(fields.pop("Status", "200").split()[0]), fields, content)

        do_POST = do_GET

        def _say(self, status: int, fields: dict[str, str], content: bytes = b"") -> None:
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


@pytest.fixture
def git_server(tmp_path: Path) -> Iterator[GitServer]:
    server = GitServer(tmp_path / "origin")
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    yield server
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def origin(git_server: GitServer) -> Origin:
    return origin_in(git_server.root / "shop.git")


@pytest.fixture
def mirrors(tmp_path: Path) -> Mirrors:
    return Mirrors(tmp_path / "mirrors")


@pytest.fixture
def mirror(mirrors: Mirrors) -> Mirror:
    return mirrors.mirror("github.example", 7001)


@pytest.fixture
def snapshot_of(git_server: GitServer, origin: Origin, mirror: Mirror) -> Iterator[Callable[[dict], Snapshot]]:
    opened: list[Snapshot] = []

    def make(files: dict) -> Snapshot:
        commit = origin.commit(files)
        mirror.fetch(git_server.remote(), commit)
        opened.append(Snapshot(mirror, commit))
        return opened[-1]

    yield make
    for snapshot in opened:
        snapshot.close()
