"""TLS in front of a plain server on loopback, under names of our own and an authority of our own."""

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_papers(folder: Path, names: Sequence[str]) -> tuple[Path, Path]:
    """A certificate for these names that is its own authority: the file to trust, and the file with the key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test authority")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    plain = serialization.NoEncryption()
    trusted, served = folder / "authority.pem", folder / "server.pem"
    trusted.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    served.write_bytes(private + trusted.read_bytes())
    return trusted, served


class TlsFront:
    """Serves TLS at `listen` (port 0: a free one) and hands everything on to the plain port behind it."""

    def __init__(self, papers: Path, behind: int, listen: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(papers)
        self._behind = behind
        self.names: list[str] = []
        """The name inside TLS of everyone who came."""
        self._context.sni_callback = lambda _, name, __: self.names.append(name or "")
        self._listener = socket.create_server(listen)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(client, server_side=True) as talk,
            socket.create_connection(("127.0.0.1", self._behind)) as server,
        ):
            back = threading.Thread(target=pass_on, args=(server, talk), daemon=True)
            back.start()
            pass_on(talk, server)
            back.join()


def pass_on(source: socket.socket, to: socket.socket) -> None:
    """What one side says reaches the other, until it has said all."""
    with suppress(OSError):
        while chunk := source.recv(65536):
            to.sendall(chunk)
    with suppress(OSError):
        to.shutdown(socket.SHUT_RDWR)
