"""Addresses in settings: which of them can be one at all. Nothing is asked of the network."""

from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def is_address(url: str, schemes: tuple[str, ...]) -> bool:
    """Whether this is an address of one of these schemes."""
    scheme, there, _ = url.partition("://")
    if scheme not in schemes or not there:
        return False
    try:
        # Sentinels are several addresses in one.
        _ = urlsplit(url).port if scheme != "sentinel" else None
    except ValueError:
        return False
    return True


def is_web_address(url: str) -> bool:
    """Whether this is an https address without a user name, or a plain http one of this machine."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    named = bool(parts.hostname) and "@" not in url
    return named and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))
