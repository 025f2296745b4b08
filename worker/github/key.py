"""The App's private key as people hand it over, brought into the form it must have (case OP-01)."""

import base64
import binascii
import textwrap

_OPENING = "-----BEGIN "
_DASHES = "-----"


class KeyRefused(ValueError):
    """The private key cannot be used. Says what is wrong and which variable it came from; never shows the key."""


def private_key_of(given: str, variable: str) -> str:
    """`given` as a PEM RSA private key.

    Accepts a plain PEM, one in quotes, one flattened to a single line with the two characters `\\n` or with spaces,
    and base64 of any of these. Raises `KeyRefused`, naming `variable`, for everything else.
    """
    text = _unwrapped(given, variable)
    if not text.startswith(_OPENING):
        try:
            text = _unwrapped(base64.b64decode("".join(text.split()), validate=True).decode("ascii"), variable)
        except (binascii.Error, ValueError):
            text = ""
    if not text.startswith(_OPENING):
        raise KeyRefused(
            f"{variable} does not hold a private key: it must begin with '-----BEGIN RSA PRIVATE KEY-----'. "
            "Download the key again from the App's settings page and give the whole file."
        )
    pem = _relined(text, variable)
    _check(pem, variable)
    return pem


def _unwrapped(given: str, variable: str) -> str:
    text = given.strip().strip("'\"").strip()
    if not text:
        raise KeyRefused(f"{variable} is empty. Put the App's private key there, or the path of its file beside it.")
    return text.replace("\\r", "").replace("\\n", "\n").replace("\r\n", "\n").strip()


def _relined(text: str, variable: str) -> str:
    pieces = text.split(_DASHES)
    # "", "BEGIN ... KEY", body, "END ... KEY", ""
    if len(pieces) != 5 or pieces[3] != pieces[1].replace("BEGIN", "END", 1):
        raise KeyRefused(
            f"{variable} holds a private key without its last line, so it is cut off. Give the whole file."
        )
    body = "\n".join(textwrap.wrap("".join(pieces[2].split()), 64))
    return f"-----{pieces[1]}-----\n{body}\n-----{pieces[3]}-----\n"


def _check(pem: str, variable: str) -> None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    # The library's own words could quote the key, so they are not repeated.
    try:
        key = load_pem_private_key(pem.encode("ascii"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise KeyRefused(f"{variable} holds a private key that cannot be read as an RSA key without a passphrase.")
