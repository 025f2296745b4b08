"""Set-up from a terminal: two processes and a printed link, until an App is registered.

The web process shows the pages and never sees a key; the registrar, of the mint's kind, exchanges GitHub's code and
keeps what comes; a socket pair is all they share. Afterwards the product's processes read their own kept files.
"""

import hashlib
import secrets
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from app.registration import expected, finish, is_registered, kept, note, pending
from app.settings import SettingsWrong, data_dir, local_url, made_data_dir, public_url
from worker.box.processes import Process, start_process
from worker.mint.registering import register

EVERYBODY = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "COUNTERSIGN_DATA_DIR",
    "COUNTERSIGN_LOGS",
)
GITHUB = ("GITHUB_API_URL", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "NO_PROXY", "https_proxy", "no_proxy")

EXPLICIT = (
    "GITHUB_APP_ID",
    "GITHUB_PRIVATE_KEY",
    "GITHUB_PRIVATE_KEY_PATH",
    "GITHUB_WEBHOOK_SECRET",
    "GITHUB_CLIENT_ID",
    "GITHUB_CLIENT_SECRET",
)
"""With any of these set the App comes from the environment, and nothing is set up."""

HOLDS: Mapping[str, tuple[str, ...]] = {
    "setup": (*EVERYBODY, "HOST", "PORT", "COUNTERSIGN_URL", "GITHUB_API_URL"),
    "registrar": (*EVERYBODY, *GITHUB),
}
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "setup": ("-m", "app.main", "setup"),
    "registrar": ("-m", "worker.main", "registrar"),
}
VARIABLE = "COUNTERSIGN_SETUP_FD"
GRACE = 10.0


def is_set_up(env: Mapping[str, str]) -> bool:
    """Whether there is an App, in the environment or kept. What a crash left undone of keeping it is done first."""
    if any(env.get(name, "").strip() for name in EXPLICIT):
        return True
    data = data_dir(env)
    return is_registered(data) or (data.is_dir() and finish(data) and is_registered(data))


def set_up(env: Mapping[str, str], say: Callable[[str], None], stopped: Callable[[float], bool]) -> bool:
    """True once an App is registered. `stopped` waits so many seconds and says whether to give up: then what was begun
    is kept, and the next set-up goes on with it. Raises `SettingsWrong` where the pages cannot be shown."""
    data = made_data_dir(env)
    key = secrets.token_urlsafe(24)
    note(data, pending(data), key_sha256=hashlib.sha256(key.encode()).hexdigest())
    say("No App is set up. Open this once, in your own browser, and follow it (Ctrl-C leaves, what was begun is kept):")
    say(f"  {public_url(env) or local_url(env)}/setup?key={key}")
    with ExitStack() as ending:
        ours, theirs = socket.socketpair()
        pages = _begin("setup", env, ours)
        ending.callback(_ended, pages)
        registrar = _begin("registrar", env, theirs)
        ending.callback(_ended, registrar)
        while pages.poll() is None and not stopped(0.1):
            if registrar.poll() not in (None, 0):
                raise SettingsWrong("", "The process that registers the App has ended; its words stand above.")
        if pages.poll() not in (None, 0):
            raise SettingsWrong("PORT", "The set-up pages could not be shown; their words stand above.")
    return is_registered(data)


def setup_command(words: list[str], env: Mapping[str, str], stopped: Callable[[float], bool]) -> int:
    """`countersign setup [--answer ADDRESS]`: 0 once an App is registered, 1 where not, 2 for words of no use."""
    if is_set_up(env):
        _say("An App is set up already. Its files are below", data_dir(env) / "app", "or in the environment.")
        return 0
    match words:
        case []:
            done = set_up(env, _say, stopped)
        case ["--answer", address]:
            done = _answered(env, address)
        case _:
            _say("usage: countersign setup [--answer ADDRESS]   (where GitHub led your browser, if nothing was shown)")
            return 2
    if done:
        tell_what_is_next(env)
    return 0 if done else 1


def tell_what_is_next(env: Mapping[str, str]) -> None:
    """What was kept where, and how to go on."""
    data = data_dir(env)
    _say(f"The App is set up; its key and secrets are in {data / 'app'}, for this account alone.")
    _say(f"Install it on your repositories: {kept(data, 'COUNTERSIGN_APP_PAGE')}/installations/new")
    _say("`countersign up` runs everything. On several machines each gets the file of its own: see the README.")


def _answered(env: Mapping[str, str], address: str) -> bool:
    """The address at which a browser ended is taken here: its state must be the one that was sent."""
    data, told = made_data_dir(env), parse_qs(urlsplit(address).query)
    code, state = (told.get(name, [""])[0] for name in ("code", "state"))
    now = expected(data, state, time.time())
    if now is None or not code:
        _say("This is not the answer to what was sent from here within the last hour. Begin again: countersign setup")
        return False
    made = register(data, {"code": code, "api_url": now.api_url, "hook": "public" if public_url(env) else "pulled"})
    if "refused" in made:
        _say(made["refused"])
    return "refused" not in made


def _begin(name: str, env: Mapping[str, str], inherited: socket.socket) -> Process:
    environment = {key: env[key] for key in HOLDS[name] if env.get(key)} | {VARIABLE: str(inherited.fileno())}
    with inherited:
        return start_process([sys.executable, *_COMMANDS[name]], environment, (inherited.fileno(),))


def _ended(process: Process) -> None:
    if process.poll() is None:
        process.terminate()
    if process.wait(GRACE) is None:
        process.kill()


def _say(*words: str | Path) -> None:
    print(*words, flush=True)  # noqa: T201 (for the one who typed it)
