"""What signing in can come to, for pages that do not load the client itself: that takes long, and few need it."""

import secrets
from dataclasses import dataclass, field


class NotAsked(Exception):
    """GitHub could not be asked, or gave no answer of use: nothing may be shown. The message is a sentence."""


class TokenOver(Exception):
    """GitHub does not take this person's token any more."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person who came back from GitHub; the token ends in `seconds`."""

    login: str
    token: str = field(repr=False)
    seconds: float


def new_secret() -> str:
    """A state or a PKCE verifier: 64 characters nobody guesses (RFC 7636 asks for 43 to 128)."""
    return secrets.token_urlsafe(48)
