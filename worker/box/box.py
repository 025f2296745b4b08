"""The box itself: made only when a probe has shown that it holds, and then asked to run commands."""

import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from worker.box.account import Account, BoxAccount, OwnAccount, account_for_the_box
from worker.box.command import BoxUnavailable, Command, Ended, Profile, Ran
from worker.box.egress.rules import TLS_PORT, Network, Rules
from worker.box.groups import Groups, NoGroups, open_groups
from worker.box.handing import must_be_handed_over
from worker.box.kernel import become_reaper
from worker.box.mounts import Handed, arguments, first_step
from worker.box.orphans import end_orphans
from worker.box.profiles import TERMS, Work, limits_of
from worker.box.remedies import INSTALL, wrong_system
from worker.box.seccomp import filter_here
from worker.box.staging import Staging, give, make_readable, passable
from worker.box.supervise import Launch, supervise
from worker.box.survey import tree_bytes

__all__ = ["Box", "BoxSettings", "BoxUnavailable", "Command", "Ended", "Profile", "Ran", "open_box"]

MOST_AT_ONCE = 4
_LOOK_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """What the operator may say about the box. `startup_seconds` bounds the making of the namespaces.

    `ports` are those that an install run may reach; `networks` reserved ranges in which its hosts may lie, such as
    that of a registry of one's own; `names` are addresses of hosts that no resolver knows. A plan or a repository
    has no say in any of it. `cgroup` is a control group whose subtree is handed to this process; with `hard_limits`
    there is no box where the kernel does not bound memory and processes of a run together.
    """

    bwrap: Path = Path("/usr/bin/bwrap")
    startup_seconds: float = 10.0
    ports: frozenset[int] = frozenset({TLS_PORT})
    networks: tuple[Network, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cgroup: Path | None = None
    hard_limits: bool = False
    through: tuple[str, int] | None = None
    """The installation's own way out, by which install runs go where this machine has no other."""


@dataclass(frozen=True, slots=True)
class _Keeper:
    """The file that a probe has judged. A changed file is another one."""

    path: Path
    device: int
    inode: int
    size: int
    changed: int


def _links(command: Command) -> tuple[str, ...]:
    """Pairs of place and target; none where the tree is not a copy."""
    if TERMS[command.profile].work is not Work.COPY:
        return ()
    return tuple(word for pair in command.links.items() for word in pair)


def _keeper(path: Path) -> _Keeper | BoxUnavailable:
    try:
        seen = path.stat()
    except OSError:
        return BoxUnavailable(f"There is no bubblewrap at {path}.", INSTALL)
    if not stat.S_ISREG(seen.st_mode) or not os.access(path, os.X_OK):
        return BoxUnavailable(f"{path} is not a program.", INSTALL)
    return _Keeper(path, seen.st_dev, seen.st_ino, seen.st_size, seen.st_ctime_ns)


_slots = threading.BoundedSemaphore(min(os.cpu_count() or 1, MOST_AT_ONCE))
_proved: dict[tuple[object, ...], "Box"] = {}
_proving = threading.Lock()


@contextmanager
def _turn(wanted: Callable[[], bool]) -> Iterator[bool]:
    """Waits for one of the slots and has it while the block runs; False where nobody wants it any more meanwhile."""
    while not (is_ours := _slots.acquire(timeout=_LOOK_EVERY)):
        if not wanted():
            break
    try:
        yield is_ours
    finally:
        if is_ours:
            _slots.release()


class Box:
    """Runs commands. Made by `open_box` only; a box that was not proved is not handed out."""

    def __init__(self, settings: BoxSettings, keeper: _Keeper, account: Account, program: bytes) -> None:
        self._settings = settings
        self._keeper = keeper
        self._account = account
        self._filter = program
        self._stage: Staging | None = None
        self._lock = threading.RLock()
        self._groups: Groups | None = None
        self.softly = ""

    def bounded_by(self, groups: Groups | NoGroups) -> "Box":
        """The same box, whose runs are bounded by control groups; where it has none, `softly` says why."""
        other = Box(self._settings, self._keeper, self._account, self._filter)
        other._groups = groups if isinstance(groups, Groups) else None
        other.softly = "" if isinstance(groups, Groups) else groups.reason
        return other

    def run(self, tree: Path, command: Command, wanted: Callable[[], bool] = lambda: True) -> Ran | BoxUnavailable:
        """What the command did with the tree at `/work`, or why it could not start.

        It is ended soon after `wanted` answers no.

        `tree` was exported by trusted code and holds no `.git`. When this returns no process of the command is
        alive, and only a write profile has changed the tree's content. Where this process is root the tree is
        made readable to the box's account (write profile: given to it), and copied first when a directory
        above it is private; a tree to write may not lie there. Waits while as many commands run as this
        machine has cores, at most four.
        Raises ValueError for a tree or tool directory that no caller may hand over.
        """
        must_be_handed_over(tree, command)
        if _keeper(self._settings.bwrap) != self._keeper:
            return BoxUnavailable(
                f"{self._settings.bwrap} changed since the box was proved.", "Start the worker again."
            )
        with _turn(wanted) as is_ours, ExitStack() as stack:
            if not is_ours:
                return Ran(Ended.CALLED_OFF, None, b"", 0, 0.0, 0.0, None, "hard" if self._groups else "soft")
            handed = Handed(stack)
            work = handed.directory(self._reachable_tree(tree, command.profile, stack))
            tools = [handed.directory(self._reachable_tool(path)) for path in command.tools]
            if isinstance(self._account, BoxAccount):
                if TERMS[command.profile].work is Work.ITSELF:
                    give(work, self._account)
                else:
                    make_readable(work)
            made = self._made(command, handed)
            launch = replace(self._launch(command, work, tools, made, handed), wanted=wanted)
            if self._groups is not None:
                try:
                    group = self._groups.one(launch.limits)
                except OSError as error:
                    return BoxUnavailable(f"No control group can be made for a run: {error.strerror or error}.", "")
                stack.callback(group.remove)
                launch = replace(launch, group=group)
            return supervise(_with_trail(launch, handed) if command.trail else launch)

    def _reachable_tree(self, tree: Path, profile: Profile, stack: ExitStack) -> Path:
        if isinstance(self._account, OwnAccount) or passable(tree):
            return tree
        if TERMS[profile].work is Work.ITSELF:
            raise ValueError(f"{tree} lies in a private directory, so the box's account cannot write there")
        copy = self._staging().copy(tree)
        stack.callback(self._staging().drop, copy)
        return copy

    def _reachable_tool(self, path: Path) -> Path:
        if isinstance(self._account, OwnAccount) or passable(path):
            return path
        with self._lock:
            return self._staging().lasting(path)

    def _staging(self) -> Staging:
        with self._lock:
            if self._stage is None:
                self._stage = Staging()
            return self._stage

    def _rules(self, command: Command) -> Rules | None:
        """None for an empty list: then there is no listener inside, and so no way out."""
        if not command.hosts:
            return None
        ours = self._settings
        return Rules(command.hosts, ours.ports, ours.networks, ours.names, through=ours.through)

    def _made(self, command: Command, handed: Handed) -> int | None:
        """The folder that an install run fills, the account's own from now on; or what one made before."""
        if command.made is None:
            return None
        if command.profile is not Profile.INSTALL:
            return handed.directory(self._reachable_tool(command.made))
        if isinstance(self._account, BoxAccount) and not passable(command.made):
            raise ValueError(f"{command.made} lies in a private directory, so the box's account cannot write there")
        made = handed.directory(command.made)
        if isinstance(self._account, BoxAccount):
            give(made, self._account)
        return made

    def _launch(self, command: Command, work: int, tools: list[int], made: int | None, handed: Handed) -> Launch:
        limits = limits_of(command.profile)
        mark = secrets.token_hex(16)
        words = arguments(command, work, tools, made, handed)
        script = handed.content("arguments", b"".join(word.encode() + b"\0" for word in words))
        program = handed.content("filter", self._filter)
        used: Callable[[], int] | None = None
        written = work if TERMS[command.profile].work is Work.ITSELF else None
        if command.profile is Profile.INSTALL:
            written = made
        if written is not None:
            place = written

            def used() -> int:
                return tree_bytes(place)

        return Launch(
            words=(str(self._keeper.path), "--args", str(script), "--seccomp", str(program)),
            inside=("/bin/sh", "-c", first_step(command.profile), "box", mark, *_links(command), "--", *command.argv),
            descriptors=tuple(handed.numbers),
            mark=mark.encode() + b"\n",
            account=self._account,
            limits=limits,
            timeout_seconds=min(command.timeout_seconds, limits.wall_seconds),
            startup_seconds=self._settings.startup_seconds,
            used_disk=used,
            egress=self._rules(command),
        )


def _with_trail(launch: Launch, handed: Handed) -> Launch:
    """bubblewrap keeps the pipe's end in the first process of the namespace and closes it for the command."""
    here, inside = os.pipe()
    handed.stack.callback(os.close, here)
    handed.own(inside)
    os.set_blocking(here, False)
    # Opened anew through /proc by an account that did not make it, and never to be read there.
    os.fchmod(inside, 0o222)
    words = (*launch.words, "--sync-fd", str(inside))
    return replace(launch, words=words, descriptors=(*launch.descriptors, inside), trail=here)


def open_box(settings: BoxSettings = BoxSettings()) -> Box | BoxUnavailable:
    """A box that was proved on this machine, by this process, with the arguments it will use; else the reason.

    The proof is kept while bubblewrap's file and the account stay the same. A failed one is tried again.
    """
    elsewhere = wrong_system(os.uname().sysname, os.uname().release)
    if elsewhere is not None:
        return elsewhere
    account = account_for_the_box()
    if isinstance(account, BoxUnavailable):
        return account
    keeper = _keeper(settings.bwrap)
    if isinstance(keeper, BoxUnavailable):
        return keeper
    program = filter_here()
    if program is None:
        return BoxUnavailable(
            f"There is no system-call filter for {os.uname().machine}.", "Use an x86-64 or aarch64 machine."
        )
    with _proving:
        names = tuple(sorted(settings.names.items()))
        operators = (settings.ports, settings.networks, names, settings.cgroup, settings.hard_limits)
        key = (keeper, account, *operators)
        known = _proved.get(key)
        if known is not None:
            return known
        become_reaper()
        end_orphans(account)
        box = _bounded(Box(settings, keeper, account, program), settings)
        if isinstance(box, Box):
            _proved[key] = box
        return box


def _bounded(box: Box, settings: BoxSettings) -> Box | BoxUnavailable:
    """A box that holds, with control groups where a run in one was seen to hold."""
    from worker.box.probe import prove

    groups = open_groups(settings.cgroup)
    if isinstance(groups, Groups):
        within = box.bounded_by(groups)
        refusal = prove(within, settings)
        if refusal is None:
            return within
        groups = NoGroups(f"A run in a control group does not hold: {refusal.reason}")
    if settings.hard_limits:
        return BoxUnavailable(f"{groups.reason} Limits have to be hard here.", groups.remedy)
    softly = box.bounded_by(groups)
    return prove(softly, settings) or softly
