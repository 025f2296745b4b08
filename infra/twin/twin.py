"""A running twin: the application put together, served by uvicorn on loopback."""

import socket
import threading
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from infra.twin import (
    ci,
    control_routes,
    graphql,
    manifests,
    pages,
    rest_app,
    rest_git,
    rest_issues,
    rest_pulls,
    rest_repos,
    sign_in,
    smart_http,
)
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.control import TwinControl
from infra.twin.dispatch import routes
from infra.twin.door import Door
from infra.twin.forge import Forge, new_forge
from infra.twin.state import App
from infra.twin.wire import not_found

SLUG = "countersign"
PERMISSIONS = {"contents": "write", "issues": "write", "pull_requests": "write", "checks": "read", "members": "read"}
EVENTS = ("issues", "issue_comment", "pull_request", "label", "repository", "push")
STARTING_SECONDS = 15.0


@dataclass(frozen=True)
class AppWish:
    """The App that a twin starts with; without a key the twin makes one and keeps it in `Twin.private_key`."""

    id: int = 4711
    slug: str = SLUG
    public_key: str | None = None
    hook_url: str | None = None
    hook_secret: str = ""
    client_secret: str = ""
    callback_urls: tuple[str, ...] = ()


NO_APP = AppWish(slug="")
"""A twin on which no App is registered yet."""


def application(forge: Forge) -> ASGIApp:
    """The whole twin as one ASGI application."""
    handlers = (
        rest_app.HANDLERS | rest_issues.HANDLERS | rest_pulls.HANDLERS | rest_git.HANDLERS | rest_repos.HANDLERS
        | ci.HANDLERS
    )
    inside = Starlette(
        routes=[
            *control_routes.routes(forge),
            *routes(forge, handlers),
            *manifests.routes(forge),
            *sign_in.routes(forge),
            *graphql.routes(forge),
            *smart_http.routes(forge),
            *pages.routes(forge),
        ],
        exception_handlers={404: _unknown, 405: _unknown},
    )
    return Door(forge, inside)


async def _unknown(request: Request, problem: Exception) -> Response:
    reply = not_found().reply()
    return Response(reply.content(), reply.status, media_type=reply.kind)


def add_app(forge: Forge, wish: AppWish, public_key: str) -> App:
    """Register the App, owned by its own account, with its bot user."""
    world = forge.world
    owner = world.add_person(f"{wish.slug}-owner", "Organization")
    bot = world.add_person(f"{wish.slug}[bot]", "Bot")
    world.app = App(
        wish.id, wish.slug, wish.slug.capitalize(), owner, bot, public_key, dict(PERMISSIONS), list(EVENTS),
        world.now(), wish.hook_url, wish.hook_secret, wish.client_secret, list(wish.callback_urls),
    )
    return world.app


class Twin:
    """A twin served from a thread of this process (tests) or from the main thread (`python -m infra.twin`)."""

    def __init__(self, folder: Path, wish: AppWish = AppWish()) -> None:
        self.forge = new_forge(folder)
        self.private_key = None if wish.public_key or not wish.slug else new_private_key()
        if wish.slug:
            add_app(self.forge, wish, wish.public_key or public_key_of(self.private_key or ""))
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @classmethod
    def start(cls, folder: Path, wish: AppWish = AppWish(), port: int = 0) -> "Twin":
        """A twin that answers on a free port (or `port`); RuntimeError when it does not come up."""
        try:
            listener = socket.create_server(("127.0.0.1", port))
        except OSError as problem:
            raise RuntimeError(f"port {port} cannot be had: {problem.strerror}") from problem
        twin = cls(folder, wish)
        twin.forge.world.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        twin.forge.webhooks.start()
        config = uvicorn.Config(
            application(twin.forge), log_level="error", lifespan="off", access_log=False,
            # The door tells the time, by the twin's own clock.
            date_header=False,
        )
        twin._server = uvicorn.Server(config)
        twin._thread = threading.Thread(
            target=twin._server.run, kwargs={"sockets": [listener]}, name="twin", daemon=True
        )
        twin._thread.start()
        twin._wait()
        return twin

    def _wait(self) -> None:
        assert self._server is not None and self._thread is not None
        limit = time.monotonic() + STARTING_SECONDS
        while not self._server.started:
            if time.monotonic() > limit or not self._thread.is_alive():
                raise RuntimeError("the twin did not start")
            time.sleep(0.005)

    @property
    def app(self) -> App:
        """The App that is registered; LookupError when none is."""
        if self.forge.world.app is None:
            raise LookupError("no App is registered")
        return self.forge.world.app

    @property
    def url(self) -> str:
        """Where REST, GraphQL, git and the pages answer."""
        return self.forge.world.url

    @cached_property
    def control(self) -> TwinControl:
        """A client for the human and control calls."""
        return TwinControl(self.url)

    def stop(self) -> None:
        """Answer and deliver no more."""
        self.forge.webhooks.stop()
        if self._server and self._thread:
            self._server.should_exit = True
            self._thread.join(10)
