"""Make an App key pair for the twin, as GitHub would hand one out (PKCS#1 PEM, github-facts 51)."""

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


def new_private_key() -> str:
    """A fresh 2048-bit RSA private key as PKCS#1 PEM text."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


def public_key_of(private_pem: str) -> str:
    """The public half of a private key, as SubjectPublicKeyInfo PEM text; ValueError when it is no key."""
    key = serialization.load_pem_private_key(private_pem.encode(), password=None)
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def write_key_pair(folder: Path) -> tuple[Path, Path]:
    """Write `app.private-key.pem` (readable by its owner only) and `app.public-key.pem`; returns both paths."""
    folder.mkdir(parents=True, exist_ok=True)
    private, public = folder / "app.private-key.pem", folder / "app.public-key.pem"
    pem = new_private_key()
    descriptor = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(pem)
    public.write_text(public_key_of(pem))
    return private, public
