"""A registry with TLS on this machine's loopback, under a name that no resolver knows."""

import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAME = "registry.example.test"


class Registry:
    """Answers every request over TLS with the same page, and counts who came."""

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "registry.pem"
        self.certificate.write_bytes(certificate())
        self.came = 0
        self.body = b"the package"
        self.pages: dict[str, bytes] = {}
        """What stands at a path, where it is not the package."""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.came += 1
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with suppress(OSError), self._context.wrap_socket(client, server_side=True) as talk:
            head = b""
            while b"\r\n\r\n" not in head:
                head += talk.recv(4096) or b"\r\n\r\n"
            path = head.split(b" ")[1].decode() if head.strip() else ""
            body = self.pages.get(path, self.body)
            kind = b"text/html" if path.endswith("/") else b"application/octet-stream"
            talk.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %b\r\n" % kind)
            talk.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def authority(self) -> bytes:
        """The certificate to trust, without its key."""
        _, mark, rest = self.certificate.read_bytes().partition(b"-----BEGIN CERT")
        return mark + rest

    def close(self) -> None:
        self._listener.close()


def certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False).sign(key, hashes.SHA256())
    )  # fmt: skip
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return private + made.public_bytes(serialization.Encoding.PEM)
