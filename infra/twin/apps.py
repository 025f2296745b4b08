"""The App's own identity: JWTs verified for real, installation tokens minted, narrowed, looked up and revoked."""

import base64
import hashlib
import json
import secrets
import string
from datetime import datetime, timedelta
from typing import Any

import jwt

from infra.twin.permissions import RANK
from infra.twin.state import App, Installation, Token, World
from infra.twin.wire import Refused

LONGEST_AHEAD = 600
"""Seconds that `exp` of a JWT may lie ahead (github-facts 48)."""

UNDECODABLE = "A JSON web token could not be decoded"
SUSPENDED = "This installation has been suspended"


def verify_jwt(world: World, text: str) -> App:
    """The App that signed this JWT; 401 with GitHub's sentence for what is wrong, 404 for an unknown issuer.

    The twin's clock decides: `iat` may not lie in the future at all, `exp` at most ten minutes ahead.
    """
    app = world.app
    if app is None:
        raise Refused(404, "Integration not found")
    try:
        claims = jwt.decode(
            text, app.public_key, algorithms=["RS256"],
            options={"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False},
        )
    except jwt.PyJWTError:
        raise Refused(401, UNDECODABLE) from None
    now = world.seconds()
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(expires, int) or isinstance(expires, bool) or expires <= now:
        raise Refused(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time "
                           "at which the assertion expires")
    if expires > now + LONGEST_AHEAD:
        raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
    if not isinstance(issued, int) or isinstance(issued, bool) or issued > now:
        raise Refused(401, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion "
                           "was issued")
    if str(claims.get("iss")) not in {str(app.id), app.client_id}:
        raise Refused(404, "Integration not found")
    return app


def token_digest(value: str) -> str:
    """How tokens are named in the journal: hex SHA-256."""
    return hashlib.sha256(value.encode()).hexdigest()


def mint(world: World, installation: Installation, fields: dict[str, Any], style: str | None) -> Token:
    """A new token narrowed by `repositories`, `repository_ids` and `permissions`; refusals as GitHub's."""
    if installation.suspended:
        raise Refused(403, SUSPENDED)
    permissions = _narrowed_permissions(installation, fields.get("permissions"))
    repo_ids = _narrowed_repositories(world, installation, fields)
    now = world.moment()
    expires = world.now() + timedelta(seconds=world.token_seconds)
    value = _token_text(world, installation, style, expires)
    token = Token(value, token_digest(value), installation.id, permissions, repo_ids, now, expires)
    world.tokens[token.digest] = token
    return token


def _narrowed_permissions(installation: Installation, wanted: Any) -> dict[str, str]:
    if not wanted:
        return {"metadata": "read", **installation.permissions}
    if not isinstance(wanted, dict):
        raise Refused(422, "Invalid request.\n\nFor 'properties/permissions', value is not an object.")
    held = {"metadata": "read", **installation.permissions}
    for name, level in wanted.items():
        if level not in RANK or RANK[level] > RANK[held.get(name, "none")]:
            raise Refused(422, "The permissions requested are not granted to this installation.")
    return {"metadata": "read", **wanted}


def _narrowed_repositories(world: World, installation: Installation, fields: dict[str, Any]) -> list[int] | None:
    covered = world.covered(installation)
    ids, names = fields.get("repository_ids"), fields.get("repositories")
    if not ids and not names:
        return None
    chosen = [repo.id for repo in covered if repo.id in (ids or []) or repo.name in (names or [])]
    if len(chosen) != len(set(ids or [])) + len(set(names or [])):
        raise Refused(422, "There is at least one repository that does not exist or is not accessible to the "
                           "parent installation.")
    return chosen


def _token_text(world: World, installation: Installation, style: str | None, expires: datetime) -> str:
    stateless = {"enabled": True, "disabled": False}.get(style or "", world.token_format == "stateless")
    if not stateless or world.app is None:
        return "ghs_" + "".join(secrets.choice(string.ascii_letters) for _ in range(36))
    head = _segment({"alg": "ES256", "typ": "JWT", "kid": secrets.token_hex(8)})
    payload = _segment({
        "iss": "twin", "app": world.app.id, "installation": installation.id, "jti": secrets.token_hex(32),
        "exp": int(expires.timestamp()), "pad": secrets.token_hex(60),
    })
    return f"ghs_{world.app.id}_{head}.{payload}.{_encode(secrets.token_bytes(64))}"


def _segment(claims: dict[str, Any]) -> str:
    return _encode(json.dumps(claims, separators=(",", ":")).encode())


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def find_token(world: World, value: str) -> tuple[Token, Installation]:
    """A live token and its installation; 401 when unknown, expired or revoked, 403 when suspended."""
    token = world.tokens.get(token_digest(value))
    if token is None or token.revoked or world.now() >= token.expires:
        raise Refused(401, "Bad credentials")
    installation = world.installations.get(token.installation_id)
    if installation is None:
        raise Refused(401, "Bad credentials")
    if installation.suspended:
        raise Refused(403, SUSPENDED)
    return token, installation


def reach(world: World, token: Token) -> set[int]:
    """The repository ids that a token reaches *now*: its own list within what the installation still covers."""
    installation = world.installations[token.installation_id]
    covered = {repo.id for repo in world.covered(installation)}
    return covered if token.repo_ids is None else covered & set(token.repo_ids)
