"""`make bench-snapshot`: a snapshot from a warm mirror against a fresh shallow clone, and search over it, as JSON.

A folder holds bare clones, `owner+name.git` or `owner+name/repo`; each is served by git's own HTTP backend on loopback.
Seconds are of this machine at this hour; the ratios are what can be compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from worker.repo.clone import Clone
from worker.repo.mirror import Mirrors, Remote
from worker.repo.searching import Query
from worker.repo.snapshot import Snapshot

ROUNDS = 5
BACK = 5
"""The warm mirror is this many commits behind: an ordinary day's fetch."""

PATTERNS = (Query("import"), Query(r"def \w+_for\(", "regex"), Query("no such words anywhere"))


def served(root: Path) -> ThreadingHTTPServer:
    """git's own HTTP backend over the folder, on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            length = self.headers.get("Content-Length")
            body = self.rfile.read(int(length)) if length else b""
            if self.headers.get("Transfer-Encoding") == "chunked":
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            environment = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
            }
            ran = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
            head, _, content = ran.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def timed(deed: Callable[[], object]) -> float:
    """Seconds of one deed."""
    began = time.monotonic()
    deed()
    return time.monotonic() - began


def compare(url: str, bare: Path, work: Path) -> dict[str, Any]:
    """One repository: medians of five rounds, each with a fresh clone and a mirror that is some commits behind."""
    there = Clone(bare)
    head, before = there.commit("HEAD"), there.commit(f"HEAD~{BACK}")
    remote = Remote(url)
    mirrors = Mirrors(work / "mirrors")
    mirror = mirrors.mirror("bench", 1)
    first = timed(lambda: mirror.fetch(remote, before))
    seconds: dict[str, list[float]] = {"clone": [], "fetch": [], "export": []}
    for number in range(ROUNDS):
        tree, clone = work / f"tree{number}", work / f"clone{number}"
        words = ["git", "-c", "advice.detachedHead=false", "clone", "-q", "--depth=1", url, str(clone)]
        seconds["clone"].append(timed(partial(subprocess.run, words, check=True, capture_output=True)))
        if number == 0:
            seconds["fetch"].append(timed(lambda: mirror.fetch(remote, head)))
        with Snapshot(mirror, head) as snapshot:
            seconds["export"].append(timed(partial(snapshot.export, tree)))
    with Snapshot(mirror, head) as snapshot:
        files = len(snapshot.list())
        opened = timed(partial(snapshot.search, PATTERNS[0]))
        found = [timed(partial(snapshot.search, query)) for query in PATTERNS for _ in range(ROUNDS)]
    clone_s, fetch_s, export_s = (statistics.median(seconds[key]) for key in ("clone", "fetch", "export"))
    return {
        "files": files, "first_fetch_s": round(first, 2), "shallow_clone_s": round(clone_s, 2),
        f"fetch_{BACK}_commits_s": round(fetch_s, 2), "export_s": round(export_s, 2),
        "snapshot_from_warm_mirror_s": round(fetch_s + export_s, 2),
        "clone_over_snapshot": round(clone_s / (fetch_s + export_s), 1),
        "clone_over_snapshot_of_a_commit_that_is_here": round(clone_s / export_s, 1),
        "first_search_ms": round(opened * 1000), "search_ms": round(statistics.median(found) * 1000),
    }  # fmt: skip


def main() -> int:
    """Compares each repository of the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repos", type=Path)
    folder = parser.parse_args().repos.resolve()
    bare = sorted(path.parent for path in (*folder.glob("*.git/HEAD"), *folder.glob("*/repo/HEAD")))
    server = served(folder)
    results = {}
    for one in bare:
        place = one.relative_to(folder).as_posix()
        with tempfile.TemporaryDirectory(prefix="countersign-bench-") as work:
            results[place.removesuffix("/repo").removesuffix(".git")] = compare(
                f"http://127.0.0.1:{server.server_port}/{place}", one, Path(work)
            )
    server.shutdown()
    print(json.dumps(results, indent=1))
    return 0 if results else 1


if __name__ == "__main__":
    raise SystemExit(main())
