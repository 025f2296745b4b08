"""Pulling: where nobody outside can reach the receiver, the mint fetches deliveries, payload and all, from the log.

Only outgoing connections. It is slower than being told (the log is read every ten seconds), and what GitHub's log has
dropped is lost (3 days; 7 on GHES): for trying, and for networks that let nothing in. What GitHub answers the App's
own key, over TLS, is what makes a delivery believed; the mint then vouches for it to the receiver with a secret that
those two share, because the payload is told as JSON that was read, and GitHub's signature is of bytes that are gone.
"""

import hashlib
import hmac
import json
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

import httpx

from app.core.missed import IN_FLIGHT
from app.ledger.missing import FETCHED
from app.ledger.outcomes import MissedView
from worker.mint.catching_up import CatchingUp

PATIENCE = 15.0

_LOG = logging.getLogger("countersign.mint")


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiver's address, and the secret that it accepts from the mint."""

    url: str
    secret: str = field(repr=False)


class Pulling(CatchingUp):
    """As catching up; and what is missing is not asked for again, but fetched and handed to the receiver."""

    interval = timedelta(seconds=10)
    quicker = timedelta(seconds=5)
    _receiver: Receiver

    def to(self, receiver: Receiver) -> Self:
        """Fetched deliveries go there."""
        self._receiver = receiver
        return self

    def _as_of(self) -> datetime:
        # No attempt can succeed, so none is waited for; who was handed one twice drops it by its GUID.
        return self._clock() + IN_FLIGHT

    def _again(self, one: MissedView) -> None:
        fetched = self._identity.delivery(one.attempt_id)
        body = json.dumps(fetched.payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        signature = hmac.new(self._receiver.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "content-type": "application/json",
            "x-github-event": fetched.event,
            "x-github-delivery": fetched.guid,
            "x-hub-signature-256": f"sha256={signature}",
        }
        try:
            answer = httpx.post(self._receiver.url, content=body, headers=headers, timeout=PATIENCE, trust_env=False)
        except httpx.HTTPError as error:
            _LOG.warning("the receiver cannot be reached for a fetched delivery: %s", type(error).__name__)
            return
        if answer.is_success:
            self._ledger.give_up(one.guid, FETCHED, self._clock())
        else:
            _LOG.warning("the receiver did not take a fetched delivery: status %d", answer.status_code)
