"""A documentation host: https on loopback with a certificate of its own authority, and names that mean what we say."""

import datetime
import ipaddress
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.core.documentation import DocsReach, read_docs_reach
from worker.docs.fetching import Documentation

NAMES = ("localhost", "docs.test", "wiki.test")


@dataclass(frozen=True)
class Papers:
    """The authority's certificate, and a server's certificate with its key, as files."""

    authority: Path
    server: Path


@dataclass
class Host:
    """What the host serves: path → (status, headers, body); and what it was asked, with the name in TLS and `Host`."""

    port: int = 0
    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    drips: set[str] = field(default_factory=set)
    endless: set[str] = field(default_factory=set)
    names: dict[str, list[str]] = field(default_factory=dict)
    """Name → the addresses that it means, one after another; the last one stays."""
    looked_up: list[str] = field(default_factory=list)
    papers: Papers | None = None

    def serve(self, path: str, body: str | bytes, kind: str = "text/html; charset=utf-8", **headers: str) -> None:
        raw = body.encode() if isinstance(body, str) else body
        self.pages[path] = (200, {"Content-Type": kind, **headers}, raw)

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.pages[path] = (status, {"Location": to}, b"")

    def look_up(self, name: str, port: int) -> list[str]:
        self.looked_up.append(name)
        meant = self.names[name]
        return [meant.pop(0) if len(meant) > 1 else meant[0]]

    def reach(self, *hosts: str, networks: str = "127.0.0.0/8") -> DocsReach:
        made = read_docs_reach(" ".join(host if ":" in host else f"{host}:{self.port}" for host in hosts), networks)
        assert isinstance(made, DocsReach), made
        return made

    def documentation(self, *hosts: str, networks: str = "127.0.0.0/8", seconds: float = 20.0) -> Documentation:
        assert self.papers is not None
        return Documentation(self.reach(*hosts, networks=networks), self.papers.authority, self.look_up, seconds)

    def url(self, path: str, name: str = "docs.test") -> str:
        return f"https://{name}:{self.port}{path}"


def _certificate(name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test authority")])
    authority = (
        _certificate("a test authority", root_key, root)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    names = [*(x509.DNSName(name) for name in NAMES), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    leaf = (
        _certificate(NAMES[0], key, root)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "authority.pem").write_bytes(authority.public_bytes(pem))
    (folder / "server.pem").write_bytes(leaf.public_bytes(pem) + private)
    return Papers(folder / "authority.pem", folder / "server.pem")


def _handler(host: Host) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = getattr(self.connection, "server_name_told", "")
            host.asked.append((self.path, told, self.headers["Host"]))
            host.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, body = host.pages.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            with suppress(OSError):
                self.end_headers()
                while self.path in host.endless:
                    self.wfile.write(b"x" * 65_536)
                if self.path in host.drips:
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.05)
                else:
                    self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    return Handler


@pytest.fixture
def host(papers: Papers) -> Iterator[Host]:
    host = Host(papers=papers)
    host.names = {name: ["127.0.0.1"] for name in NAMES}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(papers.server)

    def told(sock: ssl.SSLObject, name: str | None, _: object) -> None:
        sock.server_name_told = name or ""  # type: ignore[attr-defined]

    context.sni_callback = told
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(host))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign,assignment]
    server.socket = context.wrap_socket(server.socket, server_side=True)
    host.port = server.server_port
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield host
    server.shutdown()
    server.server_close()
