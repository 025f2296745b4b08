"""What the twin keeps of Apps that were just made and of people who sign in."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from infra.twin.state import App, Person, World

TOKEN_SECONDS = 28_800
REFRESH_SECONDS = 15_897_600


@dataclass(frozen=True)
class Made:
    """What a code is worth, until when."""

    app: App
    pem: str
    until: datetime


@dataclass
class Asked:
    """A code that was handed out, and what has to fit when it is redeemed."""

    person: Person
    client_id: str
    callback: str
    challenge: str
    until: datetime


@dataclass
class UserToken:
    """A person's token for the App; `refresh` renews it once."""

    value: str
    refresh: str
    person: Person
    until: datetime
    refresh_until: datetime


@dataclass
class SignIns:
    """Who has authorised the App, codes and tokens."""

    authorised: set[str] = field(default_factory=set)
    codes: dict[str, Asked] = field(default_factory=dict)
    tokens: dict[str, UserToken] = field(default_factory=dict)

    def new_token(self, world: World, person: Person) -> dict[str, Any]:
        """A token as the token endpoint shows it."""
        one = UserToken(
            "ghu_" + secrets.token_hex(18), "ghr_" + secrets.token_hex(38), person,
            world.now() + timedelta(seconds=TOKEN_SECONDS), world.now() + timedelta(seconds=REFRESH_SECONDS),
        )
        self.tokens[one.value] = one
        return {
            "access_token": one.value, "expires_in": TOKEN_SECONDS, "refresh_token": one.refresh,
            "refresh_token_expires_in": REFRESH_SECONDS, "token_type": "bearer", "scope": "",
        }
