"""Keeps `Box.run`'s promise with pods: a tree goes in, what the command did comes out, and nothing of it is left."""

import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from worker.box.capture import Capture
from worker.box.command import BoxUnavailable, Command, Ended, Ran
from worker.box.handing import must_be_handed_over
from worker.box.keeping import clear
from worker.box.pods.cluster import ClusterFailed, Talk, talking
from worker.box.pods.job import Placed, job_of, seconds_of
from worker.box.profiles import TERMS, Network, Work, limits_of
from worker.box.staging import make_readable_path
from worker.box_terms import Cluster

_LOOK_EVERY = 0.5
_DAY = 24 * 3600.0
_STARTING_SECONDS = 120.0
_WILL_NOT_START = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)
_LOOK = "Look at the job's events in the namespace of the box, and at infra/kubernetes."


@dataclass(frozen=True, slots=True)
class _Over:
    """How a pod's container ended, as the kubelet told it."""

    status: int
    reason: str
    seconds: float


class _WillNotStart(Exception):
    """The pod does not come up; the text says why."""


@dataclass
class PodBox:
    """Runs commands in pods. Made by `open_pods` only; one whose probe did not hold is not handed out.

    A trail is not followed, and memory and processor time are not measured: the cluster bounds them.
    """

    cluster: Cluster
    limits: Literal["hard", "soft"] = "soft"
    softly: str = ""
    look_every: float = _LOOK_EVERY
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, tree: Path, command: Command, wanted: Callable[[], bool] = lambda: True) -> Ran | BoxUnavailable:
        """As `Box.run`: what the command did with the tree at `/work`, or why it could not start."""
        must_be_handed_over(tree, command)
        if TERMS[command.profile].network is not Network.NONE:
            return BoxUnavailable(
                "Set-up commands cannot run in pods, which reach nothing.",
                "Put what checks need into the image of the box and name them under `checks` in the policy file, or "
                "run the executor where there is bubblewrap.",
                lasting=True,
            )
        if TERMS[command.profile].work is Work.ITSELF:
            return BoxUnavailable("A tree that is written in place cannot be handed to a pod.", "")
        name, mark = f"countersign-{secrets.token_hex(8)}", secrets.token_hex(16)
        try:
            with self._placed(name, tree, command) as placed, talking(self.cluster) as talk:
                talk.make(job_of(name, command, mark, placed, self.cluster))
                try:
                    return self._watched(talk, name, command, mark, wanted)
                finally:
                    talk.remove(name)
        except (ClusterFailed, _WillNotStart, OSError) as error:
            return BoxUnavailable(f"The run's pod cannot be had: {error}.", _LOOK)

    @contextmanager
    def _placed(self, name: str, tree: Path, command: Command) -> Iterator[Placed]:
        """The parts of the run lie on the shared volume; what is of this run alone is gone with the block."""
        place = self.cluster.volume / "runs" / name
        place.mkdir(parents=True)
        try:
            shutil.copytree(tree, place / "tree", symlinks=True)
            make_readable_path(place / "tree")
            tools = tuple(self._lasting(path) for path in command.tools)
            made = self._lasting(command.made) if command.made else None
            yield Placed(f"runs/{name}/tree", tools, made)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _lasting(self, source: Path) -> str:
        """Where a directory that does not change any more lies on the volume; copied once."""
        seen = source.stat()
        key = f"{source} {seen.st_ino} {seen.st_ctime_ns}"
        path = f"lasting/{hashlib.sha256(key.encode()).hexdigest()}"
        place = self.cluster.volume / path
        with self._lock:
            if not place.is_dir():
                making = self.cluster.volume / "making" / secrets.token_hex(16)
                shutil.copytree(source, making, symlinks=True)
                making.chmod(0o755)
                make_readable_path(making)
                place.parent.mkdir(exist_ok=True)
                making.rename(place)
            os.utime(place)
        return path

    def tidy(self) -> None:
        """What killed processes left on the volume, and what was not used for days, is gone."""
        for folder, days in (("runs", 1), ("making", 1), ("lasting", 7)):
            place = self.cluster.volume / folder
            for one in place.iterdir() if place.is_dir() else ():
                if time.time() - one.stat().st_mtime > days * _DAY:
                    clear(one)

    def _watched(
        self, talk: Talk, name: str, command: Command, mark: str, wanted: Callable[[], bool]
    ) -> Ran | BoxUnavailable:
        limits = limits_of(command.profile)
        over = self._until_over(talk, name, command, wanted)
        if over is None:
            return self._ran(Ended.CALLED_OFF, None, Capture(0), 0.0)
        pod = talk.pod(name) or {}
        said = talk.output(str(pod.get("metadata", {}).get("name", "")), limits.output_killed_bytes + 1)
        first, newline, rest = said.partition(b"\n")
        if not newline or first != mark.encode():
            told = said[:300].decode(errors="replace")
            raise _WillNotStart(f"its first step ended with status {over.status} {over.reason}: {told}")
        capture = Capture(limits.output_kept_bytes)
        capture.add(rest)
        ended = _ended(over, len(said) > limits.output_killed_bytes, seconds_of(command))
        return self._ran(ended, over.status if ended is Ended.EXITED else None, capture, over.seconds)

    def _ran(self, ended: Ended, status: int | None, capture: Capture, seconds: float) -> Ran:
        content, dropped = capture.content(), capture.dropped
        return Ran(ended, status, content, dropped, seconds, 0.0, None, self.limits)

    def _until_over(self, talk: Talk, name: str, command: Command, wanted: Callable[[], bool]) -> _Over | None:
        """None where nobody wants it any more. Raises _WillNotStart, and ClusterFailed."""
        began = time.monotonic()
        while True:
            if not wanted():
                return None
            pod = talk.pod(name)
            over = _over(pod) if pod else None
            if over is not None:
                return over
            waited = time.monotonic() - began
            if not _has_started(pod) and waited > _STARTING_SECONDS:
                raise _WillNotStart(f"it did not start within {_STARTING_SECONDS:g} s")
            if waited > _STARTING_SECONDS + seconds_of(command) * 2:
                raise _WillNotStart("the cluster did not end it at its time limit")
            time.sleep(self.look_every)


def _status(pod: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = ((pod or {}).get("status") or {}).get("containerStatuses") or [{}]
    state: Mapping[str, Any] = found[0].get("state") or {}
    return state


def _has_started(pod: Mapping[str, Any] | None) -> bool:
    return bool(_status(pod).get("running") or _status(pod).get("terminated"))


def _over(pod: Mapping[str, Any]) -> _Over | None:
    """How it ended; None while it has not. Raises _WillNotStart where it never will."""
    state, whole = _status(pod), pod.get("status") or {}
    waiting = state.get("waiting") or {}
    if waiting.get("reason") in _WILL_NOT_START:
        raise _WillNotStart(f"{waiting['reason']} {waiting.get('message', '')}".strip())
    end = state.get("terminated")
    if end is None and whole.get("phase") != "Failed":
        return None
    end = end or {"exitCode": 1}
    reason = str(whole.get("reason") or end.get("reason") or "")
    return _Over(int(end.get("exitCode", 1)), reason, _seconds(end))


def _seconds(end: Mapping[str, Any]) -> float:
    with suppress(KeyError, ValueError, TypeError):
        began, over = (datetime.fromisoformat(end[key]) for key in ("startedAt", "finishedAt"))
        return max(0.0, (over - began).total_seconds())
    return 0.0


def _ended(over: _Over, much: bool, seconds: int) -> Ended:
    if over.reason == "OOMKilled":
        return Ended.MEMORY
    if over.reason == "Evicted":
        return Ended.DISK
    # `timeout` kills at its limit, and says 137 of that as of any kill.
    if over.reason == "DeadlineExceeded" or (over.status == 137 and over.seconds >= seconds):
        return Ended.TIMEOUT
    return Ended.OUTPUT if much else Ended.EXITED
