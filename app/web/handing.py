"""The line to the registrar: a code goes over it, and the name of an App comes back; a key never does.

The web process must never hold the App's private key, and GitHub gives key, webhook secret and client secret in one
answer. So it does not ask: it hands the code, which is worth that answer once, over a socket that it inherited to a
process of the mint's kind (`worker.mint.registering`), which exchanges it and keeps what comes. One JSON object a line.
"""

import json
import socket
from dataclasses import dataclass

PATIENCE = 90.0


@dataclass(frozen=True, slots=True)
class AppMade:
    """The App is registered and kept. `page` is its page on GitHub."""

    name: str
    page: str


@dataclass(frozen=True, slots=True)
class NotMade:
    """Why not, in a sentence; with `again` the same code may be tried once more."""

    sentence: str
    again: bool


class RegistrarLine:
    """Asks over a connected socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def hand_over(self, code: str, api_url: str, hook: str) -> AppMade | NotMade:
        """What became of it. `hook` is `pulled` where nobody outside can reach us, else `public`."""
        self._sock.settimeout(PATIENCE)
        try:
            self._sock.sendall(json.dumps({"code": code, "api_url": api_url, "hook": hook}).encode() + b"\n")
            with self._sock.makefile("rb") as lines:
                told = json.loads(lines.readline(100_000))
            if "refused" in told:
                return NotMade(str(told["refused"]), bool(told["again"]))
            return AppMade(str(told["name"]), str(told["page"]))
        except (OSError, ValueError, KeyError):
            return NotMade("The process that registers the App has ended. Start the set-up again, then reload.", True)
