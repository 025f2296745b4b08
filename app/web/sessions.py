"""Sessions: who was let in, sealed into a cookie that only this installation can open and nobody can change.

Nothing is kept here, so that several web processes need not share anything. The cookie holds the person's own token
for asking GitHub what they may see; it is encrypted (Fernet), unreadable for scripts, and ends with the session.
"""

import base64
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastapi import Request, Response

from app.registration import write_private

LASTS = 8 * 3600
"""Seconds after which one has to come in again."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who it is, until when (seconds since 1970), and the word that each of their forms has to bring along."""

    name: str
    until: float
    form: str
    token: str = ""
    """The person's own token at GitHub; empty for who sits at the machine."""


@dataclass(frozen=True, slots=True)
class Seal:
    """Makes and opens cookies. `secure`: they are sent over TLS only, and for this host alone."""

    fernet: Fernet
    secure: bool
    clock: Callable[[], float] = time.time

    @property
    def cookie(self) -> str:
        """The session cookie's name: the prefix makes browsers hold us to what `secure` says."""
        return "__Host-countersign" if self.secure else "countersign"

    def begin(self, response: Response, name: str, token: str = "", seconds: float = LASTS) -> None:
        """The answer begins a session, of `seconds` at the most."""
        lasts = int(min(seconds, LASTS))
        session = Session(name, self.clock() + lasts, secrets.token_urlsafe(18), token)
        self.put(response, self.cookie, asdict(session), lasts)

    def put(self, response: Response, cookie: str, value: dict[str, object], seconds: int) -> None:
        """The answer leaves this value, sealed, for so long."""
        sealed = self.fernet.encrypt_at_time(json.dumps(value).encode(), int(self.clock())).decode()
        response.set_cookie(cookie, sealed, seconds, path="/", secure=self.secure, httponly=True, samesite="lax")

    def end(self, response: Response, cookie: str = "") -> None:
        """The browser forgets the session, or that other cookie."""
        response.delete_cookie(cookie or self.cookie, path="/", secure=self.secure, httponly=True, samesite="lax")

    def session(self, request: Request) -> Session | None:
        """The session of who asks, while it lasts."""
        value = self.opened(request, self.cookie, LASTS)
        if value is None:
            return None
        try:
            session = Session(**value)  # type: ignore[arg-type]
        except TypeError:
            return None
        return session if self.clock() < session.until else None

    def opened(self, request: Request, cookie: str, seconds: int) -> dict[str, object] | None:
        """What we sealed into this cookie no longer ago than that; None for anything else."""
        try:
            value = self.fernet.decrypt_at_time(request.cookies.get(cookie, ""), seconds, int(self.clock()))
        except InvalidToken:
            return None
        found = json.loads(value)
        return found if isinstance(found, dict) else None


def seal_of(secret: bytes, secure: str) -> Seal:
    """The seal whose key is derived from a secret of the installation. `secure` is the scheme of our address."""
    key = HKDF(SHA256(), 32, None, b"countersign sessions").derive(secret)
    return Seal(Fernet(base64.urlsafe_b64encode(key)), secure == "https")


def machine_secret(data: Path) -> bytes:
    """A secret of this data folder's own, made when there is none."""
    path = data / "session-key"
    if not path.exists():
        data.mkdir(mode=0o711, parents=True, exist_ok=True)
        write_private(path, secrets.token_hex(32))
    return path.read_bytes()
