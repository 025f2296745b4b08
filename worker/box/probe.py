"""Shows that the box holds, by running it with its own arguments and looking from inside and outside (sandbox 5.9)."""

import os
import re
import select
import socket
import tempfile
from pathlib import Path

from worker.box.answers import answers
from worker.box.box import Box, BoxSettings
from worker.box.command import BoxUnavailable, Command, Profile, Ran
from worker.box.mounts import FIXED_ENVIRONMENT, UID_INSIDE
from worker.box.remedies import INSTALL
from worker.box.tool import ToolFailure, run_tool

OLDEST = (0, 8, 0)
_SECONDS = 15.0
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")

# Files are opened for appending, never truncated: were the seal broken, nothing would be lost.
_SCRIPT = r"""
say() { printf '%s=%s\n' "$1" "$2"; }
field() { grep "^$2:" "$1" | tr -d '[:space:]' | cut -d: -f2; }
may() { if (: >> "$1") 2>/dev/null; then say "$2" yes; else say "$2" no; fi; }
say uid "$(id -u)"
say capabilities "$(field /proc/self/status CapEff)"
say no_new_privileges "$(field /proc/self/status NoNewPrivs)"
say filter "$(field /proc/self/status Seccomp)"
say filter_of_first "$(field /proc/1/status Seccomp)"
for name in cgroup ipc mnt net pid user uts; do say "ns_$name" "$(readlink /proc/self/ns/$name)"; done
say interfaces "$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | tr '\n' ' ')"
say variables "$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | cut -d= -f1 | sort -u | tr '\n' ' ')"
seen=no
for path in "$1" /root /home /run /var /sys; do if [ -e "$path" ]; then seen=$path; fi; done
say host_files "$seen"
may /usr/countersign-probe write_usr
may /countersign-probe write_root
may /etc/countersign-probe write_etc
may /dev/countersign-probe write_dev
may /proc/sys/kernel/core_pattern write_kernel
may "$2/tree" write_work
if unshare -U true 2>/dev/null; then say nested yes; else say nested no; fi
if bash -c ": < /dev/tcp/127.0.0.1/$3" 2>/dev/null; then say network yes; else say network no; fi
sleep 300 &
say end "$4"
"""


def prove(box: Box, settings: BoxSettings) -> BoxUnavailable | None:
    """None when the box holds; else what does not. Anything unexpected is a no."""
    old = _too_old(settings.bwrap)
    if old is not None:
        return old
    for profile in (Profile.READ, Profile.TEST):
        refusal = _prove_profile(box, profile)
        if refusal is not None:
            return refusal
    return None


def _too_old(bwrap: Path) -> BoxUnavailable | None:
    try:
        ran = run_tool([bwrap, "--version"], cwd=Path("/"), environment={}, timeout_seconds=5, output_limit=4096)
    except ToolFailure as failure:
        return BoxUnavailable(f"bubblewrap does not answer: {failure}.", INSTALL)
    said = ran.stdout.decode(errors="replace").strip()
    found = re.fullmatch(r"bubblewrap (\d+)\.(\d+)\.(\d+)", said)
    if ran.exit_status != 0 or found is None:
        return BoxUnavailable(f"{bwrap} does not say a version of bubblewrap.", INSTALL)
    if tuple(map(int, found.groups())) < OLDEST:
        return BoxUnavailable(f"{said} is too old.", INSTALL)
    return None


def _prove_profile(box: Box, profile: Profile) -> BoxUnavailable | None:
    with tempfile.TemporaryDirectory(prefix="countersign-", dir="/var/tmp") as name, socket.socket() as listener:
        place = Path(name)
        place.chmod(0o711)
        tree = place / "tree"
        tree.mkdir()
        (tree / "tree").write_text("a file of the tree\n")
        canary = place / "canary"
        canary.write_text("a file of the host\n")
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        word = place.name
        target = "/work" if profile is Profile.READ else "/src"
        words = (str(canary), target, str(listener.getsockname()[1]), word)
        command = Command(("/bin/sh", "-c", _SCRIPT, "probe", *words), _SECONDS, profile)
        ran = box.run(tree, command)
        if isinstance(ran, BoxUnavailable):
            return ran
        reasons = _deviations(ran, word)
        if select.select([listener], [], [], 0)[0]:
            reasons.append("a connection from inside reached this machine")
        if (tree / "tree").read_text() != "a file of the tree\n":
            reasons.append("the tree changed")
    if reasons:
        return BoxUnavailable(
            f"The box does not hold ({profile.value}): {'; '.join(reasons)}.",
            "Commands are refused on this machine until it does.",
        )
    return None


def _deviations(ran: Ran, word: str) -> list[str]:
    said = answers(ran)
    if isinstance(said, str):
        return [said]
    expected = {
        "uid": str(UID_INSIDE),
        "capabilities": "0" * 16,
        "no_new_privileges": "1",
        "filter": "2",
        "filter_of_first": "2",
        "interfaces": "lo",
        "host_files": "no",
        "nested": "no",
        "network": "no",
        "end": word,
    }
    expected |= {f"write_{place}": "no" for place in ("usr", "root", "etc", "dev", "kernel", "work")}
    reasons = [f"{name} is {said.get(name)!r}" for name, value in expected.items() if said.get(name) != value]
    for name in _NAMESPACES:
        inside = said.get(f"ns_{name}", "")
        if not inside.startswith(f"{name}:") or inside == os.readlink(f"/proc/self/ns/{name}"):
            reasons.append(f"the {name} namespace is not its own")
    known = {*FIXED_ENVIRONMENT, "PWD", "OLDPWD", "SHLVL", "_"}
    strangers = set(said.get("variables", "").split()) - known
    if strangers or "PATH" not in said.get("variables", ""):
        reasons.append(f"the environment holds {', '.join(sorted(strangers)) or 'nothing'}")
    return reasons
