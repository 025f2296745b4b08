"""What bubblewrap's own words mean for the operator (sandbox 4)."""

from worker.box.command import BoxUnavailable

INSTALL = (
    "Install the distribution's bubblewrap, version 0.8.0 or newer: `apt-get install bubblewrap`, "
    "`dnf install bubblewrap` or `pacman -S bubblewrap`."
)
_LOOK = "Run `countersign doctor` on this machine to see what the box tried."

_KNOWN: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("No permissions to create new namespace", "Creating new namespace failed: Operation not permitted"),
        "This machine or container forbids user namespaces. Allow unprivileged user namespaces for it (in a "
        "container: a seccomp profile that permits them), or run the executor where they are allowed. "
        "Commands are refused until then.",
    ),
    (
        ("Can't mount proc",),
        "This container masks /proc. Run it with an unmasked /proc (Kubernetes: `procMount: Unmasked` together "
        "with `hostUsers: false`), or run the executor on a machine of its own.",
    ),
    (
        ("setting up uid map: Permission denied", "Failed RTM_NEWADDR"),
        "AppArmor restricts user namespaces here. Install the distribution's AppArmor profile for bubblewrap "
        "(bwrap-userns-restrict), or a profile that grants `userns` to /usr/bin/bwrap. Do not switch the "
        "restriction off for the whole machine.",
    ),
    (
        ("max_user_namespaces", "nesting depth"),
        "No further user namespace may be made here. Raise the sysctl user.max_user_namespaces, and do not "
        "start the worker inside another sandbox.",
    ),
    (("Unknown option",), INSTALL),
)


def explain(said: str, fallback: str) -> BoxUnavailable:
    """The refusal for what bubblewrap said; `fallback` is the reason when it said nothing."""
    text = " ".join(said.split())[:500]
    for signs, remedy in _KNOWN:
        if any(sign in text for sign in signs):
            return BoxUnavailable(f"The box cannot be built: {text}", remedy)
    return BoxUnavailable(f"The box cannot be built: {text or fallback}", _LOOK)
