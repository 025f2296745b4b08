"""A small cluster on loopback: the API that runs of the box ask, and a kubelet that starts their containers.

The kubelet is bubblewrap with the mounts that the job's manifest asks for, under another kernel's name.
"""

import json
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from worker.box_terms import Cluster

TOKEN = "the token of the belts"
Status = dict[str, Any]


@dataclass
class Weakness:
    """What is wrong with this cluster."""

    network: bool = False
    token: bool = False
    writable: bool = False
    kernel: bool = False


@dataclass
class Kubernetes:
    """The other side of the wire. `says` stands in for the kubelet where it is given: a pod's status, whole."""

    folder: Path
    weakness: Weakness = field(default_factory=Weakness)
    says: Callable[[], Status] | None = None
    refuses: tuple[int, str] | None = None
    url: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    pods: dict[str, Status] = field(default_factory=dict)
    logs: dict[str, bytes] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def cluster(self) -> Cluster:
        """What the operator would say of it."""
        (self.folder / "volume").mkdir(exist_ok=True)
        (self.folder / "token").write_text(f"{TOKEN}\n")
        volume, token = self.folder / "volume", self.folder / "token"
        return Cluster(self.url, "countersign-box", "box:1", "gvisor", "countersign-trees", volume, token)

    def make(self, job: dict[str, Any]) -> None:
        name = job["metadata"]["name"]
        self.jobs[name] = job
        if self.says is not None:
            self.pods[name], self.logs[name] = self.says(), b""
            return
        self.pods[name] = {"phase": "Pending"}
        threading.Thread(target=self._run, args=(name, job), daemon=True).start()

    def remove(self, name: str) -> None:
        self.removed.append(name)
        self.jobs.pop(name, None)
        self.pods.pop(name, None)
        if (process := self.running.pop(name, None)) is not None:
            process.kill()

    def _run(self, name: str, job: Mapping[str, Any]) -> None:
        began = datetime.now(UTC)
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                self._words(job["spec"]["template"]["spec"]), stdin=subprocess.DEVNULL, stdout=said, stderr=said, env={}
            )
            self.running[name] = process
            self.pods[name] = status({"running": {"startedAt": began.isoformat()}}, "Running")
            code = process.wait()
            said.seek(0)
            self.logs[name] = said.read()
        over = {"exitCode": code % 256, "startedAt": began.isoformat(), "finishedAt": datetime.now(UTC).isoformat()}
        if name in self.jobs:
            self.pods[name] = status({"terminated": over | {"reason": "Error" if code else "Completed"}}, "Succeeded")

    def _words(self, pod: Mapping[str, Any]) -> list[str]:
        container = pod["containers"][0]
        user = str(pod["securityContext"]["runAsUser"])
        words = [] if self.weakness.kernel else ["/usr/bin/setarch", "--uname-2.6"]
        words += [
            "/usr/bin/bwrap",
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--die-with-parent",
        ]
        words += ["--uid", user, "--gid", user, "--cap-drop", "ALL", "--clearenv"]
        words += [] if self.weakness.network else ["--unshare-net"]
        words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        for name in ("bin", "sbin", "lib", "lib64"):
            words += ["--symlink", f"usr/{name}", f"/{name}"]
        words += ["--dir", "/run/secrets/kubernetes.io"] if self.weakness.token else []
        for mount in container["volumeMounts"]:
            if mount["name"] == "handed":
                words += ["--ro-bind", str(self.folder / "volume" / mount["subPath"]), mount["mountPath"]]
            else:
                words += ["--perms", "1777", "--tmpfs", mount["mountPath"]]
        words += [] if self.weakness.writable else ["--remount-ro", "/"]
        for one in container["env"]:
            words += ["--setenv", one["name"], expanded(one["value"])]
        return [*words, "--chdir", container["workingDir"], "--", *map(expanded, container["command"])]


def expanded(text: str) -> str:
    """As a kubelet does it: one dollar sign for two, and what is between brackets is the name of a variable."""
    return re.sub(r"\$\$|\$\((\w+)\)", lambda found: "$" if found[1] is None else f"the value of {found[1]}", text)


def status(state: Mapping[str, Any], phase: str, **more: Any) -> Status:
    """A pod's status with one container."""
    return {"phase": phase, "containerStatuses": [{"name": "box", "state": dict(state)}], **more}


@contextmanager
def serving(folder: Path) -> Iterator[Kubernetes]:
    """A cluster that answers while the block lasts."""
    made = Kubernetes(folder)

    class Handler(BaseHTTPRequestHandler):
        def answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def say(self, code: int, body: Mapping[str, Any]) -> None:
            self.answer(code, json.dumps(body).encode())

        def admitted(self) -> bool:
            if self.headers["authorization"] != f"Bearer {TOKEN}":
                self.say(401, {"message": "Unauthorized"})
                return False
            if made.refuses is not None:
                self.say(made.refuses[0], {"message": made.refuses[1]})
                return False
            return True

        def do_POST(self) -> None:
            job = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.admitted() and self.path == "/apis/batch/v1/namespaces/countersign-box/jobs":
                made.make(job)
                self.say(201, job)

        def do_GET(self) -> None:
            if not self.admitted():
                return
            parts = urlsplit(self.path)
            asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
            if parts.path == "/api/v1/namespaces/countersign-box/pods":
                job = asked["labelSelector"].removeprefix("job-name=")
                shown = made.pods.get(job)
                items = [{"metadata": {"name": f"{job}-x"}, "status": shown}] if shown else []
                self.say(200, {"items": items})
            elif match := re.fullmatch(r"/api/v1/namespaces/countersign-box/pods/(.+)-x/log", parts.path):
                self.answer(200, made.logs.get(match[1], b"")[: int(asked["limitBytes"])])
            else:
                self.say(404, {"message": f"there is no {parts.path}"})

        def do_DELETE(self) -> None:
            name = self.path.rsplit("/", 1)[1]
            self.rfile.read(int(self.headers["content-length"]))
            if self.admitted():
                known = name in made.jobs
                made.remove(name)
                self.say(200 if known else 404, {"message": "" if known else "not found"})

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test reads what was made and removed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield made
    finally:
        for name in list(made.jobs):
            made.remove(name)
        server.shutdown()
        server.server_close()
