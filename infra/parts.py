"""Parts of the product in one process, where several of its processes are played by one: web, and the mint with a line
to each belt. Nothing of them is replaced.
"""

import socket
import threading
import time
from contextlib import suppress

from app.core.belts import Belt
from app.main import make_server, make_web
from app.settings import WebSettings
from worker.github.app import AppIdentity
from worker.mint.mint import Mint
from worker.mint.serve import MintServer


class WebPart:
    """The web process's part: it answers, from the making of this until `stop`."""

    def __init__(self, settings: WebSettings) -> None:
        self._web = make_web(settings)
        self._server = make_server(settings, self._web.app)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        """Nobody answers any more."""
        self._server.should_exit = True
        self._thread.join(20)
        self._web.ending.close()


class MintPart:
    """The mint's part: it answers on every line, from the making of this until `stop`. The identity is entered."""

    def __init__(self, mint: Mint, identity: AppIdentity) -> None:
        self._mint = mint
        self._identity = identity
        self._server = MintServer(mint)
        self._lines, theirs = socket.socketpair()
        self._server.take_lines(theirs.detach())
        self._ours: list[socket.socket] = []

    def line(self, belt: Belt) -> socket.socket:
        """A belt's end of a new line, by which the mint knows which belt calls."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self._lines, [belt.value.encode()], [theirs.fileno()])
        theirs.close()
        self._ours.append(ours)
        return ours

    def stop(self) -> None:
        """Every token has ended, and each line is dead."""
        self._server.stop()
        self._mint.end_all()
        self.dies()

    def dies(self) -> None:
        """Each line is dead, as where the process was killed: what lives of tokens lives on."""
        self._server.stop()
        self._identity.__exit__(None, None, None)
        self._lines.close()
        for line in self._ours:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
