# ruff: noqa: S108 (the paths are those inside the box, where nobody else is)
"""What bubblewrap is told: the arguments and the small files, handed over by descriptor (sandbox 5.3)."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from worker.box.command import Command, Profile
from worker.box.egress.inside import PORT
from worker.box.limits import SHARED_MEMORY_BYTES
from worker.box.profiles import TERMS, Network, Work, limits_of

UID_INSIDE = 1000
HOME_INSIDE = "/tmp/home"
MADE_INSIDE = "/made"
FIXED_ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/bin:/bin",
    "HOME": HOME_INSIDE,
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
}

PROXY = f"http://127.0.0.1:{PORT}"
_INSTALL_ENVIRONMENT: Mapping[str, str] = {
    # What comes from a registry is unpacked and nothing in it is run, unless the command itself says otherwise.
    "NPM_CONFIG_IGNORE_SCRIPTS": "true",
    "NPM_CONFIG_AUDIT": "false",
    "NPM_CONFIG_FUND": "false",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "PIP_ONLY_BINARY": ":all:",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # The system's folder cannot be written here in any case; packages go into the home of the run.
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "YARN_ENABLE_SCRIPTS": "false",
}
_PROXY_ENVIRONMENT: Mapping[str, str] = {
    **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), PROXY),
    "NODE_USE_ENV_PROXY": "1",
}
"""A convenience only: what does not heed it reaches nothing."""

_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/usr/share/ca-certificates",
    "/etc/pki/ca-trust/extracted",
    # Without these Maven does not start; its settings, which may hold passwords, are left out.
    "/etc/maven/m2.conf",
    "/etc/maven/logging",
)
_SMALL_FILES: Mapping[str, str] = {
    "/etc/passwd": (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"box:x:{UID_INSIDE}:{UID_INSIDE}:box:{HOME_INSIDE}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "/etc/group": f"root:x:0:\nbox:x:{UID_INSIDE}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/resolv.conf": "",
}

_FIRST_STEP = 'mark=$1; shift; {copy}shift; printf "%s\\n" "$mark"; {held}exec "$@" < /dev/null'
_HELD = "read -r word || exit 1; "
_COPY = (
    "cp -a /src/. /work/ || exit 1; "
    'while [ "$1" != -- ]; do [ -e "$1" ] || [ -L "$1" ] || ln -s "$2" "$1" || exit 1; shift 2; done; '
)


def first_step(profile: Profile) -> str:
    """The fixed shell text that fills a throw-away copy, says the mark, waits for a word and becomes the command.

    Its arguments are the mark, pairs of place and target for links in the copy, `--`, and the command.

    Without the word it ends. bubblewrap ties its inner process to the outer one only shortly before that
    process starts, so a supervisor that died meanwhile must not leave a command behind that begins.
    """
    return _step(profile, _HELD)


def unheld_step(profile: Profile) -> str:
    """The same where nobody holds the command back: it begins when the mark was said."""
    return _step(profile, "")


def _step(profile: Profile, held: str) -> str:
    return _FIRST_STEP.format(copy=_COPY if TERMS[profile].work is Work.COPY else "", held=held)


@dataclass(slots=True)
class Handed:
    """Descriptors that bubblewrap gets. All are closed with `stack`."""

    stack: ExitStack
    numbers: list[int] = field(default_factory=list)

    def own(self, descriptor: int) -> int:
        self.stack.callback(os.close, descriptor)
        self.numbers.append(descriptor)
        return descriptor

    def content(self, name: str, text: bytes) -> int:
        """A descriptor from which `text` can be read; it is in memory only."""
        descriptor = self.own(os.memfd_create(name, os.MFD_CLOEXEC))
        view = memoryview(text)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def directory(self, path: Path) -> int:
        """A descriptor of the directory itself. Raises OSError for a link and for what is no directory."""
        return self.own(os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))


def arguments(command: Command, tree: int, tools: list[int], made: int | None, handed: Handed) -> list[str]:
    """Everything between the program's name and the command, in the order in which it is mounted."""
    words = ["--unshare-user", "--unshare-all", "--disable-userns", "--assert-userns-disabled"]
    words += ["--cap-drop", "ALL", "--uid", str(UID_INSIDE), "--gid", str(UID_INSIDE)]
    words += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--clearenv"]
    for name, value in {**_usual(command), **command.environment, **FIXED_ENVIRONMENT}.items():
        words += ["--setenv", name, value]
    words += _system(handed)
    words += _kernel_views()
    words += _scratch(command.profile)
    for position, descriptor in enumerate(tools):
        words += ["--ro-bind-fd", str(descriptor), f"/tools/{position}"]
    words += _work(command.profile, tree)
    if made is not None:
        words += ["--bind-fd" if command.profile is Profile.INSTALL else "--ro-bind-fd", str(made), MADE_INSIDE]
    return [*words, "--remount-ro", "/", "--chdir", "/work"]


def _usual(command: Command) -> dict[str, str]:
    """What an install run finds in its environment unless the command says otherwise."""
    if TERMS[command.profile].network is Network.NONE:
        return {}
    return {**_INSTALL_ENVIRONMENT, **(_PROXY_ENVIRONMENT if command.hosts else {})}


def _system(handed: Handed) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_LINKS:
        host = Path("/", name)
        if host.is_symlink():
            yield from ("--symlink", f"usr/{name}", f"/{name}")
        elif host.is_dir():
            yield from ("--ro-bind", f"/{name}", f"/{name}")
    for path in (*_ETC, *map(str, sorted(Path("/etc").glob("java-*-openjdk")))):
        yield from ("--ro-bind-try", path, path)
    for path, text in _SMALL_FILES.items():
        descriptor = handed.content(Path(path).name, text.encode())
        yield from ("--ro-bind-data", str(descriptor), path)


def _kernel_views() -> Iterator[str]:
    yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev")
    yield from ("--size", str(SHARED_MEMORY_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm")
    yield from ("--remount-ro", "/dev")


def _scratch(profile: Profile) -> Iterator[str]:
    yield from ("--size", str(limits_of(profile).scratch_bytes), "--perms", "1777", "--tmpfs", "/tmp")
    yield from ("--dir", HOME_INSIDE)


def _work(profile: Profile, tree: int) -> Iterator[str]:
    work = TERMS[profile].work
    if work is Work.READ_ONLY:
        yield from ("--ro-bind-fd", str(tree), "/work")
    elif work is Work.ITSELF:
        yield from ("--bind-fd", str(tree), "/work")
    else:
        yield from ("--ro-bind-fd", str(tree), "/src")
        yield from ("--size", str(limits_of(profile).work_bytes), "--perms", "0755", "--tmpfs", "/work")
