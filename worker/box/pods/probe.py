"""Shows that a cluster's pods hold, by running one with the job that runs get, and looking from inside and outside."""

import os
import secrets
import select
import socket
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from worker.box.answers import answers
from worker.box.command import BoxUnavailable, Command, Profile, Ran
from worker.box.mounts import UID_INSIDE
from worker.box.pods.keeper import PodBox
from worker.box_terms import Cluster

_SECONDS = 20.0
_proved: dict[Cluster, PodBox] = {}
_proving = threading.Lock()

# Files are opened for appending, never truncated: were the seal broken, nothing would be lost.
_SCRIPT = r"""
say() { printf '%s=%s\n' "$1" "$2"; }
field() { grep "^$1:" /proc/self/status | tr -d '[:space:]' | cut -d: -f2; }
may() { if (: >> "$1") 2>/dev/null; then say "$2" yes; else say "$2" no; fi; }
reach() { if timeout 3 bash -c ": < /dev/tcp/$1/$2" 2>/dev/null; then say "$3" yes; else say "$3" no; fi; }
command -v bash > /dev/null || exit 9
say uid "$(id -u)"
say capabilities "$(field CapEff)"
say no_new_privileges "$(field NoNewPrivs)"
if [ -e /var/run/secrets/kubernetes.io ] || [ -e /run/secrets/kubernetes.io ]; then say token yes; else say token no; fi
may /countersign-probe write_root
may /usr/countersign-probe write_usr
may /src/tree write_source
may /work/new write_work
reach "$1" "$2" network
reach "$3" "$4" api
say kernel "$(uname -r)"
say processes "$(bash -c 'ulimit -u')"
say end "$5"
"""


def open_pods(cluster: Cluster) -> PodBox | BoxUnavailable:
    """A box of pods that was proved by this process with a run of its own; else the reason. A no is tried again."""
    with _proving:
        box = _proved.get(cluster) or prove_pods(cluster)
        if isinstance(box, PodBox):
            _proved[cluster] = box
        return box


def prove_pods(cluster: Cluster) -> PodBox | BoxUnavailable:
    """The same, looked at now."""
    if not cluster.runtime_class:
        return BoxUnavailable("No runtime class is named, so pods would share the nodes' kernel.", _REMEDY)
    box = PodBox(cluster)
    address, port = _api_of(cluster)
    with socket.socket() as listener, tempfile.TemporaryDirectory(prefix="countersign-") as folder:
        listener.bind(("", 0))
        listener.listen(8)
        (Path(folder) / "tree").write_text("a file of the tree\n")
        word = secrets.token_hex(8)
        words = (_own_address(address, port), str(listener.getsockname()[1]), address, str(port), word)
        command = Command(("/bin/sh", "-c", _SCRIPT, "probe", *words), _SECONDS, Profile.TEST)
        ran = box.run(Path(folder), command)
        if isinstance(ran, BoxUnavailable):
            return ran
        reasons = _deviations(ran, word)
        if select.select([listener], [], [], 0)[0]:
            reasons.append("a connection from inside reached this process")
    if reasons:
        return BoxUnavailable(f"The pods of this cluster do not hold: {'; '.join(reasons)}.", _REMEDY)
    box.tidy()
    return PodBox(cluster, "hard")


_REMEDY = (
    "Compare the cluster with infra/kubernetes: a runtime class of gVisor or Kata, and a network plugin that heeds "
    "network policies. Commands are refused until then."
)


def _api_of(cluster: Cluster) -> tuple[str, int]:
    parts = urlsplit(cluster.api)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _own_address(towards: str, port: int) -> str:
    """By which this process is seen from there; naming the other end of a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect((towards, port))
        return str(asking.getsockname()[0])


def _deviations(ran: Ran, word: str) -> list[str]:
    said = answers(ran)
    if isinstance(said, str):
        return [said]
    expected = {
        "uid": str(UID_INSIDE),
        "capabilities": "0" * 16,
        "no_new_privileges": "1",
        "token": "no",
        "network": "no",
        "api": "no",
        "write_root": "no",
        "write_usr": "no",
        "write_source": "no",
        "write_work": "yes",
        "end": word,
    }
    reasons = [f"{name} is {said.get(name)!r}" for name, value in expected.items() if said.get(name) != value]
    if said.get("kernel", "") in ("", os.uname().release):
        # On a node of another kernel this says nothing; the runtime class has to be right all the same.
        reasons.append("it shares this machine's kernel")
    if not said.get("processes", "").isdigit():
        reasons.append("its processes are not bounded")
    return reasons
