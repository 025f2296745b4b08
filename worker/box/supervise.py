"""Starts one command in the box, watches it, and ends all of it (sandbox 5.4)."""

import json
import os
import resource
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from worker.box.account import Account, BoxAccount
from worker.box.capture import Capture
from worker.box.command import BoxUnavailable, Ended, Ran
from worker.box.egress.rules import Rules
from worker.box.egress.start import Egress, NoEgress, start_egress
from worker.box.groups import Group
from worker.box.keeper import start_kept
from worker.box.kernel import reap_group
from worker.box.limits import Limits, lay_on
from worker.box.remedies import INSTALL, explain
from worker.box.survey import proportional_bytes, survey

_CHUNK = 256 * 1024
_LOOK_EVERY = 0.1
_DEATH_SECONDS = 10.0
_FIRST_WORDS = 64 * 1024
_NAMESPACES = ("mnt", "pid", "net", "ipc", "uts")


@dataclass(frozen=True, slots=True)
class Launch:
    """A bubblewrap call that is ready to start.

    `words` is its argument array up to `--`; `inside` follows. `mark` is the line that the first step says
    before it becomes the command. `used_disk` measures the tree of a writable run, in bytes. `trail` is this side's
    end of the command's trail; it does not block. Once `wanted` answers no, the command is ended. By `egress` the
    command may reach something; without it there is no way out. `group` bounds
    all of it together.
    """

    words: tuple[str, ...]
    inside: tuple[str, ...]
    descriptors: tuple[int, ...]
    mark: bytes
    account: Account
    limits: Limits
    timeout_seconds: float
    startup_seconds: float
    used_disk: Callable[[], int] | None = None
    trail: int | None = None
    wanted: Callable[[], bool] = lambda: True
    egress: Rules | None = None
    group: Group | None = None


class _SetupFailed(Exception):
    """The command was not started."""


def supervise(launch: Launch) -> Ran | BoxUnavailable:
    """What the command did, or why it could not start. No process of the run is alive afterwards.

    Raises RuntimeError when a killed process stays: then nothing about the run can be promised.
    """
    with ExitStack() as stack:
        pipes = _Pipes(stack)
        try:
            bwrap = start_kept(lambda: _start(launch, pipes))
        except OSError as error:
            return BoxUnavailable(f"{launch.words[0]} cannot be started: {error.strerror}.", INSTALL)
        pipes.close_far_ends()
        family = _Family(bwrap, stack)
        try:
            try:
                family.find_first(pipes.status, launch.startup_seconds)
                lay_on(family.first, launch.limits, launch.account)
                if launch.group is not None:
                    launch.group.take(family.first)
                egress = _way_out(launch, family, stack)
            except NoEgress as error:
                return BoxUnavailable(str(error), "What the command has to reach cannot be reached.")
            except (_SetupFailed, OSError, subprocess.SubprocessError) as error:
                family.end()
                return explain(_rest(pipes.output), str(error))
            watch = _Watch(launch, family, pipes)
            os.write(pipes.gate, b"!")
            watch.until_over()
            cpu = family.end()
            result = watch.result(cpu)
            return replace(result, reached=egress.end()) if egress and isinstance(result, Ran) else result
        finally:
            family.end()


def _way_out(launch: Launch, family: "_Family", stack: ExitStack) -> Egress | None:
    """The proxy of the run, ready before the command starts; it ends with the run, whatever becomes of that."""
    if launch.egress is None:
        return None
    egress = start_egress(launch.egress, family.first, launch.account, launch.startup_seconds)
    stack.callback(egress.end)
    return egress


class _Pipes:
    """Output and status come from the other side. A byte through the gate starts the first step, a line of
    words the command; when this process dies both come to their end."""

    def __init__(self, stack: ExitStack) -> None:
        self.output, self.output_far = os.pipe()
        self.status, self.status_far = os.pipe()
        self.gate_far, self.gate = os.pipe()
        self.words_far, self.words = os.pipe()
        self._far = [self.output_far, self.status_far, self.gate_far, self.words_far]
        for descriptor in (self.output, self.status, self.gate, self.words):
            stack.callback(os.close, descriptor)
        stack.callback(self.close_far_ends)
        os.set_blocking(self.output, False)
        os.set_blocking(self.status, False)

    def close_far_ends(self) -> None:
        while self._far:
            os.close(self._far.pop())


def _start(launch: Launch, pipes: _Pipes) -> subprocess.Popen[bytes]:
    words = [*launch.words, "--block-fd", str(pipes.gate_far), "--json-status-fd", str(pipes.status_far)]
    switch = launch.account if isinstance(launch.account, BoxAccount) else None
    return subprocess.Popen(
        [*words, "--", *launch.inside],
        executable=launch.words[0],
        cwd="/",
        env={},
        stdin=pipes.words_far,
        stdout=pipes.output_far,
        stderr=pipes.output_far,
        pass_fds=(*launch.descriptors, pipes.gate_far, pipes.status_far),
        user=switch.uid if switch else None,
        group=switch.gid if switch else None,
        extra_groups=[] if switch else None,
        start_new_session=True,
    )


@dataclass(slots=True)
class _Family:
    """bubblewrap and the first process of its namespace; when that one dies, the kernel kills all in it."""

    bwrap: subprocess.Popen[bytes]
    stack: ExitStack
    first: int = 0
    _handle: int = -1
    _cpu: float = 0.0
    peak_single: int = 0
    said: bytearray = field(default_factory=bytearray)

    def find_first(self, status: int, seconds: float) -> None:
        """`first` is known and held by a descriptor. Raises _SetupFailed."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.said:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _SetupFailed(f"bubblewrap said nothing within {seconds:g} s.")
            if select.select([status], [], [], left)[0] and not self.listen(status):
                raise _SetupFailed("bubblewrap ended before it made the namespaces.")
        try:
            made = json.loads(self.said.split(b"\n", 1)[0])
            first = int(made["child-pid"])
            parent = _parent_of(first)
            shared = [name for name in _NAMESPACES if made.get(f"{name}-namespace") in (None, _our_namespace(name))]
        except (ValueError, KeyError, TypeError, OSError, IndexError) as error:
            raise _SetupFailed("bubblewrap did not name the process that it made.") from error
        if parent != self.bwrap.pid:
            raise _SetupFailed("bubblewrap named a process that it did not make.")
        if shared:
            raise _SetupFailed(f"bubblewrap left these namespaces as they are: {', '.join(shared)}.")
        self._handle = os.pidfd_open(first)
        self.stack.callback(os.close, self._handle)
        self.first = first

    def listen(self, status: int) -> bytes:
        """What bubblewrap added to its status; nothing at the end or when it says too much."""
        with suppress(BlockingIOError):
            chunk = os.read(status, 4096)
            self.said += chunk
            return chunk if len(self.said) < _FIRST_WORDS else b""
        return b" "

    def watched(self) -> int:
        """A descriptor that becomes readable when bubblewrap, and with it the command, is over."""
        handle = os.pidfd_open(self.bwrap.pid)
        self.stack.callback(os.close, handle)
        return handle

    def exit_status(self) -> int | None:
        """The command's own status; None when it did not come to an end by itself, or never began."""
        for line in self.said.splitlines()[1:]:
            with suppress(ValueError, KeyError, TypeError):
                return int(json.loads(line)["exit-code"])
        return None

    def end(self) -> float:
        """Every process of the run is dead and reaped; the processor time of all of it in seconds."""
        if self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            if not select.select([self._handle], [], [], _DEATH_SECONDS)[0]:
                raise RuntimeError(f"process {self.first} of the box outlived SIGKILL")
        if self.bwrap.returncode is None:
            # It leads a process group of its own. What is still in there now was never in the namespace.
            os.killpg(self.bwrap.pid, signal.SIGKILL)
            self._reap_bwrap()
            self._reap_first()
            reap_group(self.bwrap.pid)
        return self._cpu

    def _reap_bwrap(self) -> None:
        reaped = os.wait4(self.bwrap.pid, 0)
        self._count(reaped)
        self.bwrap.returncode = os.waitstatus_to_exitcode(reaped[1])

    def _reap_first(self) -> None:
        # It is ours to reap when bubblewrap ended before it (see `become_reaper`). The descriptor says whether
        # it still is: the number alone might belong to another child by now.
        if self._handle < 0:
            return
        with suppress(ChildProcessError):
            if os.waitid(os.P_PIDFD, self._handle, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                self._count(os.wait4(self.first, 0))

    def _count(self, reaped: tuple[int, int, resource.struct_rusage]) -> None:
        usage = reaped[2]
        self._cpu += usage.ru_utime + usage.ru_stime
        self.peak_single = max(self.peak_single, usage.ru_maxrss * 1024)


def _our_namespace(name: str) -> int:
    return os.stat(f"/proc/self/ns/{name}").st_ino


def _parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _rest(output: int) -> str:
    with suppress(BlockingIOError):
        return os.read(output, _FIRST_WORDS).decode(errors="replace")
    return ""


class _Watch:
    """Reads the output and looks at the limits until the command is over or has to be ended."""

    def __init__(self, launch: Launch, family: _Family, pipes: _Pipes) -> None:
        self._launch = launch
        self._family = family
        self._pipes = pipes
        self._capture = Capture(launch.limits.output_kept_bytes)
        self._before_mark = bytearray()
        self._trail = bytearray()
        self._trail_seen = 0
        self._begun: float | None = None
        self._over = 0.0
        self._ended = Ended.EXITED
        self._peak = 0
        self._sampled_cpu = 0.0

    def until_over(self) -> None:
        """The command ended by itself, or `_ended` says which limit it ran into."""
        deadline = time.monotonic() + self._launch.timeout_seconds
        next_look = time.monotonic() + _LOOK_EVERY / 2
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipes.output, selectors.EVENT_READ, "output")
            selector.register(self._family.watched(), selectors.EVENT_READ, "end")
            if self._launch.trail is not None:
                selector.register(self._launch.trail, selectors.EVENT_READ, "trail")
            while self._ended is Ended.EXITED:
                now = time.monotonic()
                if now >= deadline:
                    self._ended = Ended.TIMEOUT
                    break
                if now >= next_look:
                    self._look()
                    next_look = time.monotonic() + _LOOK_EVERY
                ready = {key.data for key, _ in selector.select(max(0.0, min(deadline, next_look) - now))}
                if "output" in ready and not self._take():
                    selector.unregister(self._pipes.output)
                if "trail" in ready:
                    self._follow()
                if "end" in ready:
                    break
        self._over = time.monotonic()

    def _take(self) -> bool:
        """Whether there may be more."""
        try:
            chunk = os.read(self._pipes.output, _CHUNK)
        except BlockingIOError:
            return True
        if self._begun is None:
            self._before_mark += chunk
            found = self._before_mark.startswith(self._launch.mark)
            if not found and len(self._before_mark) < _FIRST_WORDS:
                return bool(chunk)
            if found:
                self._begin()
        else:
            self._capture.add(chunk)
        if self._capture.seen > self._launch.limits.output_killed_bytes:
            self._ended = Ended.OUTPUT
        return bool(chunk)

    def _follow(self) -> bool:
        """Whether something came over the trail. Beyond its limit it is read and forgotten, as output is."""
        try:
            chunk = os.read(self._launch.trail, _CHUNK) if self._launch.trail is not None else b""
        except BlockingIOError:
            return False
        self._trail += chunk[: self._launch.limits.trail_kept_bytes - len(self._trail)]
        self._trail_seen += len(chunk)
        if self._trail_seen > self._launch.limits.output_killed_bytes:
            self._ended = Ended.OUTPUT
        return bool(chunk)

    def _begin(self) -> None:
        """The first step is done and the command may start."""
        self._begun = time.monotonic()
        self._capture.add(bytes(self._before_mark[len(self._launch.mark) :]))
        # It may have ended meanwhile; then there is nobody to read the word.
        with suppress(BrokenPipeError):
            os.write(self._pipes.words, b"go\n")

    def _look(self) -> None:
        seen = survey(self._family.first)
        limits = self._launch.limits
        self._peak = max(self._peak, seen.resident_bytes)
        self._sampled_cpu = max(self._sampled_cpu, seen.cpu_seconds)
        if seen.threads >= limits.processes:
            self._ended = Ended.PIDS
        elif seen.resident_bytes > limits.memory_bytes and proportional_bytes(seen.processes) > limits.memory_bytes:
            self._ended = Ended.MEMORY
        elif self._launch.group is not None and self._launch.group.out_of_processes():
            self._ended = Ended.PIDS
        elif not self._launch.wanted():
            self._ended = Ended.CALLED_OFF
        elif self._launch.used_disk is not None and self._launch.used_disk() > limits.work_bytes:
            self._ended = Ended.DISK

    def result(self, cpu: float) -> Ran | BoxUnavailable:
        """To be called when every process is dead: what is still in the pipes is taken first."""
        while self._family.listen(self._pipes.status).strip():
            pass
        while self._ended is Ended.EXITED and self._take_left():
            pass
        while self._trail_seen <= self._launch.limits.output_killed_bytes and self._follow():
            pass
        status = self._family.exit_status()
        if self._begun is None:
            return self._not_begun()
        ended, group = self._ended, self._launch.group
        if ended is Ended.EXITED and status is None and not (group and group.out_of_memory()):
            return explain("", "bubblewrap ended without saying how the command ended.")
        if ended is Ended.EXITED and status == 128 + signal.SIGXFSZ:
            ended = Ended.DISK
        if group is not None and group.out_of_memory():
            ended = Ended.MEMORY
        return Ran(
            ended=ended,
            exit_status=status if ended is Ended.EXITED else None,
            output=self._capture.content(),
            dropped_bytes=self._capture.dropped,
            seconds=self._over - self._begun,
            cpu_seconds=max(cpu, self._sampled_cpu),
            peak_memory_bytes=max(self._peak, self._family.peak_single, (group and group.peak_bytes()) or 0) or None,
            limits="soft" if group is None else "hard",
            trail=bytes(self._trail),
            trail_cut=self._trail_seen > len(self._trail),
        )

    def _take_left(self) -> bool:
        return bool(select.select([self._pipes.output], [], [], 0)[0]) and self._take()

    def _not_begun(self) -> Ran | BoxUnavailable:
        said = bytes(self._before_mark).decode(errors="replace")
        if "No space left on device" in said:
            return BoxUnavailable(
                f"The tree does not fit into the {self._launch.limits.work_bytes} bytes that a copy may take.",
                "Only smaller repositories can be run here.",
            )
        if self._ended is not Ended.EXITED:
            said = said or f"the first step did not come to its end ({self._ended.value})."
        return explain(said, "bubblewrap ended without starting the command.")
