"""The front door: deliveries go straight to the receiver, everything else to FastAPI."""

from typing import Any

from app.web.body import Receive
from app.web.hooks import PATH, Hooks, Scope, Send


class FrontDoor:
    """The ASGI application of the web process."""

    def __init__(self, hooks: Hooks, rest: Any) -> None:
        self._hooks = hooks
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands one connection's event to whom it concerns."""
        if scope["type"] == "http" and scope["path"] == PATH:
            await self._hooks(scope, receive, send)
        else:
            await self._rest(scope, receive, send)
