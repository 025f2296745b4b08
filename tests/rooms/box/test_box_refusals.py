"""Where the box cannot be had it says so, and nothing of the command has run (SB-01)."""

import json
import os
import select
import subprocess
from pathlib import Path

import pytest

from worker.box.account import BoxAccount, OwnAccount, account_for_the_box, named_account
from worker.box.box import Box, BoxSettings, BoxUnavailable, Command, Profile, Ran, open_box
from worker.box.mounts import first_step
from worker.box.orphans import end_orphans
from worker.box.remedies import Place, explain, place_here, wrong_system

STAND_IN = '''#!/usr/bin/python3 -I
"""Stands in for bubblewrap. `words` are the arguments that came by descriptor, `outer` all others."""
import json, os, subprocess, sys, time
if sys.argv[1:] == ["--version"]:
    print("bubblewrap VERSION")
    sys.exit()
cut = sys.argv.index("--")
outer, inside = sys.argv[1:cut], sys.argv[cut + 1 :]
def handed(name):
    return int(outer[outer.index(name) + 1])
os.environ["STAND_IN"] = sys.argv[0]
words = os.fdopen(os.dup(handed("--args"))).read().split("\\0")[:-1]
def say(value):
    os.write(handed("--json-status-fd"), json.dumps(value).encode() + b"\\n")
def become_real():
    changed = os.memfd_create("words", 0)
    os.write(changed, b"".join(word.encode() + b"\\0" for word in words))
    os.lseek(changed, 0, os.SEEK_SET)
    outer[outer.index("--args") + 1] = str(changed)
    os.execve("/usr/bin/bwrap", ["bwrap", *outer, "--", *inside], {})
APART = {name + "-namespace": 1 for name in ("mnt", "pid", "net", "ipc", "uts")}
SAME = {name + "-namespace": os.stat("/proc/self/ns/" + name).st_ino for name in ("mnt", "pid", "net", "ipc", "uts")}
def child():
    return {"child-pid": subprocess.Popen(["sleep", "60"]).pid}
'''


def stand_in(folder: Path, body: str, version: str = "0.8.0") -> BoxSettings:
    """Settings that name the stand-in, which does what `body` says."""
    place = folder / "bwrap"
    place.unlink(missing_ok=True)
    place.write_text(STAND_IN.replace("VERSION", version) + body)
    place.chmod(0o755)
    return BoxSettings(bwrap=place, startup_seconds=0.5)


@pytest.fixture
def reachable(open_tree: Path) -> Path:
    """A directory that the box's account may reach, for the stand-in."""
    return open_tree.parent


MISBEHAVIOUR = {
    "exits at once without running anything": ("sys.exit(0)", "made the namespaces"),
    "fails": ("sys.exit('bwrap: something broke')", "something broke"),
    "hangs": ("time.sleep(60)", "within 0.5 s"),
    "hangs in a child that holds everything": ("os.fork() and os._exit(0); time.sleep(60)", "within 0.5 s"),
    "says garbage": ("say('no table'); time.sleep(60)", "did not name"),
    "says half a table": ("say({'child-pid': 'x'}); time.sleep(60)", "did not name"),
    "names the first process of the machine": ("say({'child-pid': 1, **APART}); time.sleep(60)", "did not make"),
    "does not separate": ("say({**child(), **SAME}); time.sleep(60)", "as they are: mnt, pid, net, ipc, uts"),
    "claims that all went well": (
        "say({**child(), **APART}); time.sleep(0.1); say({'exit-code': 0}); os._exit(0)",
        "without starting the command",
    ),
    "does not say how the command ended": (
        "say({**child(), **APART}); os.read(handed('--block-fd'), 1); print(inside[4], flush=True); os._exit(0)",
        "without saying how",
    ),
    "runs the command on the machine itself": (
        "say({**child(), **APART}); os.read(handed('--block-fd'), 1); os.chdir('/tmp')\n"
        "print(inside[4], flush=True); status = subprocess.run(inside[inside.index('--') + 1 :]).returncode\n"
        "say({'exit-code': status}); os._exit(status)",
        "namespace is not its own",
    ),
}


def left_below(folder: Path) -> list[str]:
    """Command lines of processes that were started with something of the folder in their surroundings."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(folder).encode() in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(Path(f"/proc/{entry}/cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("case", MISBEHAVIOUR)
def test_34_a_bubblewrap_that_misbehaves_is_a_refusal_with_its_reason(case: str, reachable: Path) -> None:
    body, reason = MISBEHAVIOUR[case]
    opened = open_box(stand_in(reachable, body))
    assert isinstance(opened, BoxUnavailable), opened
    assert reason in opened.reason and opened.remedy
    assert not left_below(reachable)


def test_33_a_missing_bubblewrap_names_what_to_install(tmp_path: Path) -> None:
    opened = open_box(BoxSettings(bwrap=tmp_path / "bwrap"))
    assert isinstance(opened, BoxUnavailable)
    assert "no bubblewrap" in opened.reason and "apt-get install bubblewrap" in opened.remedy


def test_35_no_account_of_the_box_can_be_root() -> None:
    for make in (lambda: OwnAccount(0), lambda: BoxAccount(0, 65531), lambda: BoxAccount(65531, 0)):
        with pytest.raises(ValueError, match="root"):
            make()


@pytest.mark.parametrize("version", ["0.7.9", "0.4.0", "eight"])
def test_34_an_old_bubblewrap_names_what_to_install(version: str, reachable: Path) -> None:
    opened = open_box(stand_in(reachable, "sys.exit(1)", version))
    assert isinstance(opened, BoxUnavailable)
    assert "apt-get install bubblewrap" in opened.remedy


def test_a_bubblewrap_that_cannot_be_run_is_a_refusal(reachable: Path) -> None:
    (reachable / "bwrap").write_text("not a program")
    assert isinstance(open_box(BoxSettings(bwrap=reachable / "bwrap")), BoxUnavailable)
    (reachable / "bwrap").chmod(0o755)
    assert isinstance(open_box(BoxSettings(bwrap=reachable / "bwrap")), BoxUnavailable)


WEAKENED = {
    "the network is shared": (
        "words.insert(words.index('--unshare-all') + 1, '--share-net')",
        "as they are: net",
    ),
    "the filter is missing": ("del outer[outer.index('--seccomp') : outer.index('--seccomp') + 2]", "filter is '0'"),
    "the root can be written": ("del words[-4:-2]", "write_root is 'yes'"),
    "devices can be written": (
        "at = words.index('/dev/shm'); del words[at + 1 : at + 3]",
        "write_dev is 'yes'",
    ),
    "the machine's files are there": ("words[-4:-4] = ['--ro-bind', '/var', '/var']", "host_files is '/var'"),
    "a variable came along": ("words += ['--setenv', 'CANARY', 'x']", "the environment holds CANARY"),
    "another number inside": ("words[words.index('--uid') + 1] = '0'", "uid is '0'"),
}


@pytest.mark.needs_userns
@pytest.mark.parametrize("case", WEAKENED)
def test_a_box_that_does_not_hold_is_not_handed_out(case: str, reachable: Path) -> None:
    body, reason = WEAKENED[case]
    unchanged = open_box(stand_in(reachable, "become_real()"))
    assert isinstance(unchanged, Box), str(unchanged)
    opened = open_box(stand_in(reachable, f"{body}\nbecome_real()"))
    assert isinstance(opened, BoxUnavailable), "the proof passed"
    assert reason in opened.reason


@pytest.mark.needs_userns
def test_without_the_filter_a_nested_namespace_is_still_refused(reachable: Path) -> None:
    opened = open_box(stand_in(reachable, f"{WEAKENED['the filter is missing'][0]}\nbecome_real()"))
    assert isinstance(opened, BoxUnavailable)
    assert "filter is '0'" in opened.reason and "nested" not in opened.reason


@pytest.mark.needs_userns
def test_a_command_does_not_start_when_bubblewrap_changed_since_the_proof(reachable: Path, open_tree: Path) -> None:
    box = open_box(stand_in(reachable, "become_real()"))
    assert isinstance(box, Box), str(box)
    assert isinstance(box.run(open_tree, Command(("true",), 5, Profile.READ)), Ran)
    stand_in(reachable, "become_real() ")
    refusal = box.run(open_tree, Command(("touch", "marker"), 5, Profile.WRITE))
    assert isinstance(refusal, BoxUnavailable) and "changed" in refusal.reason
    assert not (open_tree / "marker").exists()


@pytest.mark.needs_userns
def test_33_a_mount_that_fails_is_a_refusal_and_no_failed_command(reachable: Path, open_tree: Path) -> None:
    spoil = "if inside[-1] == 'marker': words[0:0] = ['--ro-bind', '/nowhere', '/nowhere']\nbecome_real()"
    box = open_box(stand_in(reachable, spoil))
    assert isinstance(box, Box), str(box)
    refusal = box.run(open_tree, Command(("touch", "marker"), 5, Profile.WRITE))
    assert isinstance(refusal, BoxUnavailable) and "/nowhere" in refusal.reason
    assert not (open_tree / "marker").exists()


@pytest.mark.needs_userns
def test_an_idle_namespace_that_a_killed_supervisor_left_is_ended(box: Box) -> None:
    account = account_for_the_box()
    assert not isinstance(account, BoxUnavailable)
    switch = account if isinstance(account, BoxAccount) else None
    gate_read, gate = os.pipe()
    status_read, status = os.pipe()
    words = os.memfd_create("words")
    arguments = ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "--die-with-parent"]
    os.write(words, b"".join(word.encode() + b"\0" for word in arguments))
    os.lseek(words, 0, os.SEEK_SET)
    inside = ["/bin/sh", "-c", first_step(Profile.READ), "box", "mark", "true"]
    options = ["--block-fd", str(gate_read), "--json-status-fd", str(status)]
    bwrap = subprocess.Popen(
        ["/usr/bin/bwrap", "--args", str(words), *options, "--", *inside],
        env={},
        stdin=subprocess.DEVNULL,
        pass_fds=(words, gate_read, status),
        user=switch.uid if switch else None,
        group=switch.gid if switch else None,
        extra_groups=[] if switch else None,
    )
    try:
        said = b""
        while b"\n" not in said:
            said += os.read(status_read, 4096)
        first = json.loads(said)["child-pid"]
        assert end_orphans(account) == 0
        bwrap.kill()
        bwrap.wait()
        handle = os.pidfd_open(first)
        assert not select.select([handle], [], [], 0.1)[0]
        assert end_orphans(account) == 1
        assert select.select([handle], [], [], 5)[0]
        os.close(handle)
    finally:
        bwrap.kill()
        bwrap.wait()
        for end in (gate_read, gate, status_read, status, words):
            os.close(end)


@pytest.mark.needs_userns
def test_a_tree_that_cannot_be_copied_is_a_refusal_and_no_failed_command(box: Box, open_tree: Path) -> None:
    # Holes stay holes in a copy, so the one file is larger than any file may be.
    with (open_tree / "huge").open("wb") as file:
        file.truncate(300 * 2**20)
    refusal = box.run(open_tree, Command(("echo", "ran"), 20, Profile.TEST))
    assert isinstance(refusal, BoxUnavailable)


FORBIDDEN = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
MASKED = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
MAP = "bwrap: setting up uid map: "


@pytest.mark.parametrize(("said", "place", "word"), [
    (FORBIDDEN, Place.MACHINE, "unprivileged_userns_clone"), (FORBIDDEN, Place.CONTAINER, "systempaths=unconfined"),
    (FORBIDDEN, Place.KUBERNETES, "hostUsers: false"), (MASKED, Place.CONTAINER, "systempaths=unconfined"),
    (MASKED, Place.KUBERNETES, "procMount: Unmasked"), (f"{MAP}Permission denied", Place.MACHINE, "AppArmor"),
    ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", Place.MACHINE, "bwrap-userns-restrict"),
    (f"{MAP}Operation not permitted", Place.MACHINE, "CAP_SETFCAP"),
    ("bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded", Place.MACHINE,
     "user.max_user_namespaces"),
    ("bwrap: Unknown option --disable-userns", Place.MACHINE, "apt-get install bubblewrap"),
    ("anything else", Place.MACHINE, "`bwrap --unshare-all --ro-bind / / true`"),
])  # fmt: skip
def test_what_bubblewrap_says_becomes_what_the_operator_can_do(said: str, place: Place, word: str) -> None:
    refusal = explain(said, "nothing", place)
    assert word in refusal.remedy and said in refusal.reason


@pytest.mark.parametrize(("file", "text", "place"), [
    (".dockerenv", "", Place.CONTAINER), ("run/.containerenv", "", Place.CONTAINER),
    ("run/secrets/kubernetes.io/namespace", "", Place.KUBERNETES),
    ("etc/hosts", "# Kubernetes-managed hosts file.\n", Place.KUBERNETES), ("etc/hosts", "127.0.0.1\n", Place.MACHINE),
])  # fmt: skip
def test_where_it_runs_is_seen_by_what_a_container_holds(file: str, text: str, place: Place, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert place_here(tmp_path) is place


@pytest.mark.parametrize(("system", "release", "word"), [
    ("Darwin", "24.0.0", "Linux virtual machine"), ("FreeBSD", "14.1", "on Linux"),
    ("Linux", "4.4.0-19041-Microsoft", "WSL 2"),
])  # fmt: skip
def test_a_system_without_namespaces_is_named_with_what_to_use(system: str, release: str, word: str) -> None:
    refusal = wrong_system(system, release)
    assert refusal is not None and word in refusal.remedy
    assert wrong_system("Linux", "5.15.90.1-microsoft-standard-WSL2") is None


def test_an_account_that_has_roots_number_is_refused_with_what_to_do() -> None:
    refusal = named_account(0, 0)
    assert isinstance(refusal, BoxUnavailable) and "number of its own" in refusal.remedy
    assert named_account(65531, 65531) == BoxAccount(65531, 65531)
