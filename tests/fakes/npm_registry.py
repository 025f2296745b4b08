"""A package registry with TLS on loopback, to which the real npm speaks; every package's scripts leave a marker."""

import base64
import hashlib
import io
import json
import ssl
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.fakes.tls_registry import NAME, certificate

EVIL = "node -e \"require('fs').writeFileSync(process.env.INIT_CWD + '/marker', '')\""


def packed(name: str, version: str, files: dict[str, str]) -> bytes:
    """A package as npm packs it, with scripts that would leave a marker."""
    scripts = {"preinstall": EVIL, "install": EVIL, "postinstall": EVIL}
    manifest = {"name": name, "version": version, "main": "index.js", "scripts": scripts, "bin": {name: "run.js"}}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in {"package.json": json.dumps(manifest), "run.js": "#!/usr/bin/env node\n", **files}.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


class Registry:
    """The other side of the wire: the packages of the test, and what was asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.host = ""
        """As a plan names it."""
        self.settings: dict[str, str] = {}
        """What an operator sets for npm and for the box, so that both find it and trust it."""
        self.asked: list[str] = []
        self.tarballs: dict[str, bytes] = {}
        self.versions: dict[str, dict[str, Any]] = {}
        self.away: set[str] = set()
        """Packages for which it says that it cannot answer now."""

    def add(self, name: str, version: str, files: dict[str, str]) -> str:
        """Publishes; the integrity of the tarball."""
        content = packed(name, version, files)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        path = f"/{name}/-/{name}-{version}.tgz"
        self.tarballs[path] = content
        told = {"name": name, "version": version, "bin": {name: "run.js"}, "hasInstallScript": True}
        self.versions.setdefault(name, {})[version] = told | {
            "dist": {"tarball": self.url + path, "integrity": integrity}
        }
        return integrity

    def answer(self, path: str) -> bytes | None:
        self.asked.append(path)
        if path in self.tarballs:
            return self.tarballs[path]
        name = path.removeprefix("/")
        if name not in self.versions:
            return None
        newest = max(self.versions[name])
        return json.dumps({"name": name, "dist-tags": {"latest": newest}, "versions": self.versions[name]}).encode()


@contextmanager
def serving(folder: Path) -> Iterator[Registry]:
    """A registry that answers while the block lasts; its certificate, and a home for npm, lie in the folder."""
    made = Registry()
    folder.mkdir()
    (folder / "registry.pem").write_bytes(certificate())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "registry.pem")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            away = self.path.split("/")[1] in made.away
            body = None if away else made.answer(self.path)
            self.send_response(503 if away else 404 if body is None else 200)
            self.send_header("content-length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test reads `asked`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    made.host = f"{NAME}:{server.server_port}"
    made.url = f"https://{made.host}"
    made.settings = {
        "HOME": str(folder),
        "NPM_CONFIG_REGISTRY": made.url,
        "NPM_CONFIG_FETCH_RETRIES": "0",
        "NODE_EXTRA_CA_CERTS": str(folder / "registry.pem"),
        "COUNTERSIGN_BOX_NETWORKS": "127.0.0.1/32",
        "COUNTERSIGN_BOX_NAMES": f"{NAME}=127.0.0.1",
    }
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
