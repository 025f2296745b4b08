"""The yardstick: an ASGI application that checks a delivery's signature and does nothing else."""

import hashlib
import hmac
import sys
from typing import Any

import uvicorn


class Bare:
    """Answers 202 where the signature fits the body, and 401 where it does not."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers one request."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        signature = next((value for name, value in scope["headers"] if name == b"x-hub-signature-256"), b"")
        expected = b"sha256=" + hmac.new(self._secret, body, hashlib.sha256).hexdigest().encode()
        status = 202 if hmac.compare_digest(expected, signature) else 401
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})


if __name__ == "__main__":
    uvicorn.run(
        Bare(sys.argv[2].encode()),
        port=int(sys.argv[1]),
        http="httptools",
        loop="uvloop",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )
