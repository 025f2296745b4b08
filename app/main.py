"""The web process: settings in, a server that answers until it is told to stop."""

import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import uvicorn

from app.core.redact import learn, redact
from app.doctor.finding import examine
from app.doctor.here import checks_here
from app.doctor.others import checks_of_others
from app.ledger import open_ledger
from app.ledger.errors import LedgerError
from app.logs import set_up_logs
from app.queue import Doorbell, Ringer, bells_waiting, broker_trouble, make_celery
from app.settings import (
    SettingsWrong,
    WebSettings,
    environment,
    made_data_dir,
    web_address,
    web_settings,
)
from app.setup_settings import SetupSettings, setup_settings
from app.web.body import LIMITS, BodyReader, Limits
from app.web.connection import BoundedProtocol
from app.web.front import FrontDoor
from app.web.hooks import Hooks
from app.web.intake import Intake, new_run_id
from app.web.live import PACE, Pace
from app.web.numbers import Numbers
from app.web.pages import Told, make_pages
from app.web.sessions import machine_secret, seal_of
from app.web.signing_in import new_secret
from app.web.viewers import Viewers, Watchers
from app.web.watching import Readiness, ledger_trouble

REFUSED = 2
"""Exit code of a process that must not start as it was set up."""

KEEP_ALIVE_SECONDS = 30
GRACE_SECONDS = 5
"""How long deliveries in flight may take after the process was told to stop."""
CONNECTIONS = 512



@dataclass(frozen=True, slots=True)
class Web:
    """The ASGI application, and what is given back when it ends."""

    app: FrontDoor
    hooks: Hooks
    ending: ExitStack


def make_web(settings: WebSettings, limits: Limits = LIMITS, pace: Pace = PACE) -> Web:
    """The application on its ledger and its broker. Raises `LedgerError` where the ledger cannot be used."""
    ending = ExitStack()
    ledger = open_ledger(settings.ledger.url)
    ending.callback(ledger.close)
    celery = make_celery(settings.queue)
    ringer = Ringer(Doorbell(celery))
    ending.callback(ringer.close)
    hooks = Hooks(
        bodies=BodyReader(settings.secrets, limits),
        intake=Intake(settings.label, settings.bot_id, new_run_id),
        take=ledger.receive,
        triggers=ledger.triggers,
        stir=ledger.stir,
        ring_soon=ringer.ring_soon,
    )
    ending.callback(hooks.turns.close)

    checks, held = (*checks_here("web"), *checks_of_others(ledger, hooks.answered)), _environment_of(settings)
    told = Told(
        ledger=ledger,
        viewers=_viewers(settings),
        watchers=Watchers(settings.metrics_token),
        readiness=Readiness(lambda: ledger_trouble(settings.ledger.url), lambda: broker_trouble(celery)),
        counted=Numbers(ledger, hooks.answered, lambda: bells_waiting(celery)).told,
        github=settings.github_url,
        pace=pace,
        data=settings.queue.data_dir,
        examine=lambda: examine(checks, lambda _: held),
    )
    return Web(FrontDoor(hooks, make_pages(told)), hooks, ending)


def _environment_of(settings: WebSettings) -> Mapping[str, str]:
    """What the doctor's checks read, as the process was started with it."""
    queue = settings.queue
    broker, folder = ("CELERY_BROKER_URL", queue.broker_url), ("COUNTERSIGN_DATA_DIR", str(queue.data_dir))
    return dict((("DATABASE_URL", settings.ledger.url), broker, folder))


def _viewers(settings: WebSettings) -> Viewers:
    told, scheme = settings.sign_in, settings.public_url.partition(":")[0]
    if told is None:
        # Where a password opens the pages there are no sessions, and nothing is kept for them.
        secret = machine_secret(settings.queue.data_dir) if settings.pages_password is None else new_secret().encode()
        return Viewers(seal_of(secret, "http"), password=settings.pages_password)
    from app.web.github_sign_in import GitHubApp, GitHubSignIn

    callback = f"{settings.public_url}/sign-in/back"
    app = GitHubApp(told.client_id, told.client_secret, web_address(told.api_url), told.api_url, callback)
    return Viewers(seal_of(told.client_secret.encode(), scheme), GitHubSignIn(app))


def make_server(settings: WebSettings | SetupSettings, app: Callable[..., Any]) -> uvicorn.Server:
    """A server with every bound set; `run()` answers until SIGTERM or SIGINT, and then finishes what it began."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            http=BoundedProtocol,
            loop="uvloop",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def serve(settings: WebSettings) -> None:
    """Answers until told to stop; afterwards what was recorded is rung and everything is closed."""
    # uvicorn raises the signal that stopped it once more when it is done; by default that would end us at once.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    web = make_web(settings)
    with web.ending:
        make_server(settings, web.app).run()


def serve_setup(settings: SetupSettings) -> None:
    """Shows the set-up pages until an App is registered, or it is told to stop."""
    from app.web.handing import RegistrarLine
    from app.web.setup import SettingUp, make_setup

    line = RegistrarLine(socket.socket(fileno=settings.line))
    told = SettingUp(
        settings.data_dir, settings.address, settings.public_url, settings.fixed_api, line.hand_over,
        lambda: setattr(server, "should_exit", True),
    )  # fmt: skip
    server = make_server(settings, make_setup(told))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.run()


def main() -> None:
    """The process: exits with 2 and one sentence where it must not start."""
    try:
        set_up_logs("web", environment())
        if sys.argv[1:] == ["setup"]:
            serve_setup(setup_settings(environment()))
            return
        settings = web_settings(environment())
        # Kept ones as well, which its environment does not hold.
        learn([*map(bytes.decode, settings.secrets), settings.sign_in.client_secret if settings.sign_in else ""])
        made_data_dir(environment())
        serve(settings)
    except (SettingsWrong, LedgerError) as refused:
        print(redact(str(refused)), file=sys.stderr)  # noqa: T201 (for the one who starts it)
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
