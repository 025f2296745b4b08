"""The egress process: drops root, gets its listener from inside the box, and says at its end what it did.

Run by `start.py` as `process.py PARENT NETWORK UID GID` (a uid of -1 stays what it is), the rules on its input.
"""

import encodings.idna  # noqa: F401 (looking up a name needs it, and after the change of account it may be out of reach)
import json
import os
import signal
import socket
import sys
from dataclasses import asdict

from worker.box.egress.inside import listen_inside
from worker.box.egress.proxy import Proxy
from worker.box.egress.rules import Reached, Rules
from worker.box.kernel import die_with_parent

READY = "ready"
_MOST_TOLD = 5_000


class _Record:
    """Every wish with the last that is known of it; said when this process is told to end."""

    def __init__(self) -> None:
        self._wishes: dict[int, Reached] = {}

    def tell(self, number: int, reached: Reached) -> None:
        if number in self._wishes or len(self._wishes) < _MOST_TOLD:
            self._wishes[number] = reached

    def say(self, *_: object) -> None:
        for one in list(self._wishes.values()):
            sys.stdout.write(json.dumps(asdict(one)) + "\n")
        sys.stdout.flush()
        os._exit(0)


def main() -> None:
    """Serves until it is told to end; then it says in lines of JSON what was wished and what came of it."""
    parent, network, uid, gid = map(int, sys.argv[1:])
    if uid >= 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    # The kernel forgets the wish when an account changes, so it comes after that.
    die_with_parent(parent)
    rules = Rules.from_json(sys.stdin.read())
    listener = _fetch_listener(network)
    os.close(network)
    sys.stdout.write(READY + "\n")
    sys.stdout.flush()
    record = _Record()
    signal.signal(signal.SIGTERM, record.say)
    Proxy(rules, record.tell).serve(listener)
    signal.pause()


def _fetch_listener(network: int) -> socket.socket:
    """From a child that goes in and does not come back: this process stays where it can dial."""
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        try:
            with listen_inside(network) as listener:
                socket.send_fds(there, [b"!"], [listener.fileno()])
        except OSError as error:
            there.sendall(str(error).encode()[:500])
        os._exit(0)
    there.close()
    with here:
        said, descriptors, _, _ = socket.recv_fds(here, 1024, 1)
    os.waitpid(child, 0)
    if not descriptors:
        sys.exit(f"no listener could be made inside the box: {said.decode('utf-8', 'replace')}")
    return socket.socket(fileno=descriptors[0])


if __name__ == "__main__":
    main()
