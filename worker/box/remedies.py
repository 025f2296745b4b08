"""What stands in the way of the box on a machine, and what its operator can do about it (sandbox 4)."""

from enum import StrEnum
from pathlib import Path

from worker.box.command import BoxUnavailable

INSTALL = (
    "Install the distribution's bubblewrap, version 0.8.0 or newer: `apt-get install bubblewrap`, "
    "`dnf install bubblewrap` or `pacman -S bubblewrap`."
)
_LOOK = (
    "Try `bwrap --unshare-all --ro-bind / / true` as the worker's account: what it says names what is forbidden here."
)
_REFUSED = "Commands are refused until then."


class Place(StrEnum):
    """Where this process runs, as far as it decides what its operator can do."""

    MACHINE = "machine"
    CONTAINER = "container"
    KUBERNETES = "kubernetes"


def place_here(root: Path = Path("/")) -> Place:
    """By the files that Docker, Podman and the kubelet leave in a container."""
    hosts = root / "etc/hosts"
    managed = hosts.is_file() and "Kubernetes-managed" in hosts.read_text(errors="replace")
    if managed or (root / "run/secrets/kubernetes.io").exists() or (root / "var/run/secrets/kubernetes.io").exists():
        return Place.KUBERNETES
    marks = (root / ".dockerenv", root / "run/.containerenv")
    return Place.CONTAINER if any(mark.exists() for mark in marks) else Place.MACHINE


_NAMESPACES = {
    Place.MACHINE: (
        "This machine forbids unprivileged user namespaces. Allow them (on Debian the sysctl "
        f"kernel.unprivileged_userns_clone), or run the executor where they are allowed. {_REFUSED}"
    ),
    Place.CONTAINER: (
        "This container's seccomp profile forbids user namespaces. Start it with a profile that permits clone, "
        "unshare, mount and pivot_root and with an unmasked /proc (`--security-opt seccomp=PROFILE.json --security-opt "
        f"systempaths=unconfined`), or run the executor on a machine of its own. {_REFUSED}"
    ),
    Place.KUBERNETES: (
        "This pod's seccomp profile forbids user namespaces. Give the executor's pod `hostUsers: false`, `procMount: "
        "Unmasked` and a `Localhost` seccomp profile that permits them, on nodes where `runtimeClassName` is gvisor or "
        f"kata if repositories are not yours. {_REFUSED}"
    ),
}
_MASKED = {
    Place.MACHINE: "Something masks /proc here. Run the executor where it is not masked.",
    Place.CONTAINER: (
        "This container masks /proc. Start it with `--security-opt systempaths=unconfined`, or run the executor on a "
        "machine of its own."
    ),
    Place.KUBERNETES: "This pod masks /proc. Give the executor's pod `procMount: Unmasked` with `hostUsers: false`.",
}
_APPARMOR = (
    "AppArmor restricts user namespaces here, as Ubuntu does from 23.10 on. Install the distribution's AppArmor "
    "profile for bubblewrap (bwrap-userns-restrict), or a profile that grants `userns` to /usr/bin/bwrap. Do not "
    "switch the restriction off for the whole machine."
)
_ROOT = (
    "This process is root without the right to hand on accounts (CAP_SETFCAP). Start the worker as its own user: "
    "the box never runs as root."
)
_NESTED = (
    "No further user namespace may be made here. Raise the sysctl user.max_user_namespaces, and do not start the "
    "worker inside another sandbox."
)

_KNOWN: tuple[tuple[tuple[str, ...], str | dict[Place, str]], ...] = (
    (("No permissions to create new namespace", "Creating new namespace failed: Operation not permitted"), _NAMESPACES),
    (("Can't mount proc",), _MASKED),
    (("setting up uid map: Permission denied", "Failed RTM_NEWADDR"), _APPARMOR),
    (("setting up uid map: Operation not permitted",), _ROOT),
    (("max_user_namespaces", "nesting depth", "max_*_namespaces"), _NESTED),
    (("Unknown option",), INSTALL),
)


def explain(said: str, fallback: str, place: Place | None = None) -> BoxUnavailable:
    """The refusal for what bubblewrap said at this place; `fallback` is the reason when it said nothing."""
    text = " ".join(said.split())[:500]
    for signs, remedy in _KNOWN:
        if any(sign in text for sign in signs):
            words = remedy if isinstance(remedy, str) else remedy[place or place_here()]
            return BoxUnavailable(f"The box cannot be built: {text}", words)
    return BoxUnavailable(f"The box cannot be built: {text or fallback}", _LOOK)


def wrong_system(system: str, release: str) -> BoxUnavailable | None:
    """Why there can be no box on a system of this name and release, as `uname` gives them; None where there can."""
    if system == "Darwin":
        return BoxUnavailable(
            "There is no box on macOS: it has no namespaces, and its own sandbox bounds neither memory nor names.",
            "Run the worker in a Linux virtual machine (Lima, Colima, Docker Desktop's with an unmasked /proc). Plans "
            "are made here all the same; nothing of a repository is run.",
        )
    if system != "Linux":
        return BoxUnavailable(f"There is no box on {system}.", "Run the worker on Linux.")
    if release.endswith("-Microsoft"):
        return BoxUnavailable("WSL 1 has no namespaces.", "Use WSL 2: `wsl --set-version DISTRIBUTION 2`.")
    return None
