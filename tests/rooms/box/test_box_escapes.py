"""Ways out of the box that must lead nowhere. Numbers are those of the table in sandbox 5.11."""

import os
import platform
import resource
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from worker.box.account import BoxAccount, account_for_the_box
from worker.box.box import Box, Command, Ended, Profile, Ran
from worker.box.limits import SHARED_MEMORY_BYTES
from worker.box.profiles import limits_of
from worker.box.seccomp import ABSENT, ARCHITECTURES, REFUSED

pytestmark = pytest.mark.needs_userns
Attempts = Callable[..., dict[str, Any]]
Running = Callable[..., Ran]


@pytest.fixture
def canary() -> Iterator[int]:
    """The port of a listener on this machine's loopback, over TCP and UDP, that nothing may reach."""
    with socket.socket() as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        stream.bind(("127.0.0.1", 0))
        stream.listen()
        port: int = stream.getsockname()[1]
        datagram.bind(("127.0.0.1", port))
        stream.setblocking(False)
        datagram.setblocking(False)
        yield port
        with pytest.raises(BlockingIOError):
            stream.accept()
        with pytest.raises(BlockingIOError):
            datagram.recv(1)


def test_1_2_3_no_packet_leaves_over_the_network(attempts: Attempts, canary: int) -> None:
    found = attempts(f"""
def tcp(port): socket.create_connection(("127.0.0.1", port), timeout=1)
attempt("host", lambda: tcp({canary}))
attempt("proxy", lambda: tcp(3128))
attempt("datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {canary})))
attempt("names", lambda: socket.getaddrinfo("countersign.test", 443))
# Naming the other end of a datagram socket sends nothing: it only asks whether there is a way there.
def way(address): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((address, 53))
for address in ("192.0.2.1", "169.254.169.254", "10.0.0.1"): attempt(address, lambda: way(address))
found["routes"] = open("/proc/net/route").read().count("\\n")
found["interfaces"] = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
""")
    assert found["host"][0] == found["proxy"][0] == "ECONNREFUSED"
    assert found["names"][0] != "done"
    assert {found[address][0] for address in ("192.0.2.1", "169.254.169.254", "10.0.0.1")} == {"ENETUNREACH"}
    assert found["routes"] <= 1 and found["interfaces"] == ["lo"]


def test_4_only_internet_sockets_can_be_made(attempts: Attempts) -> None:
    found = attempts("""
for family in (1, 16, 17, 38, 40, 21, 31, 44):
    attempt(str(family), lambda: socket.socket(family, socket.SOCK_STREAM))
attempt("high bits", lambda: call(41 if os.uname().machine == "x86_64" else 198, (1 << 32) | 1, 1, 0))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("multipath", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt("tcp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close())
attempt("pair", lambda: socket.socketpair()[0].close())
""")
    for name in ("1", "16", "17", "38", "40", "21", "31", "44", "high bits"):
        assert found[name][0] == "EAFNOSUPPORT", (name, found[name])
    assert found["raw"][0] == found["multipath"][0] == "EPROTONOSUPPORT"
    assert found["tcp"][0] == found["pair"][0] == "done"


def test_5_6_sockets_of_the_machine_cannot_be_reached_even_from_the_tree(attempts: Attempts, open_tree: Path) -> None:
    name = secrets.token_hex(8)
    with (
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as planted,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        abstract.bind(f"\0{name}")
        for path, one in (("s", planted), ("d", datagrams)):
            one.bind(str(open_tree / path))
            (open_tree / path).chmod(0o777)
        for listener in (abstract, planted):
            listener.listen()
        found = attempts(
            f"""
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0{name}"))
attempt("planted", lambda: socket.socket(socket.AF_UNIX).connect("/work/s"))
a, b = socket.socketpair()
attempt("through a pair", lambda: a.connect("/work/s"))
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    attempt("through a pair of kind %d" % kind, lambda: socket.socketpair(type=kind)[0].sendto(b"x", "/work/d"))
""",
            profile=Profile.READ,
            at=open_tree,
        )
        datagrams.setblocking(False)
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    assert found["abstract"][0] == found["planted"][0] == "EAFNOSUPPORT"
    assert found["through a pair"][0] != "done"
    assert found["through a pair of kind 2"][0] == found["through a pair of kind 3"][0] == "ESOCKTNOSUPPORT"


def test_7_nothing_of_the_workers_environment_can_be_read(attempts: Attempts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_CANARY", secret := secrets.token_hex(16))
    found = attempts("""
found["all"] = ""
for entry in filter(str.isdigit, os.listdir("/proc")):
    attempt(entry, lambda: open(f"/proc/{entry}/environ").read())
    try: found["all"] += open(f"/proc/{entry}/environ").read()
    except OSError: pass
""")
    assert found["1"] == ["done", "''"]
    assert secret not in str(found) and "HOME=/tmp/home" in found["all"]


def test_8_files_of_the_machine_are_not_there(attempts: Attempts, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    paths = ["/root", "/home", "/run", "/var", "/sys", "/boot", "/srv", "/opt", "/mnt", "/etc/shadow", "/etc/hostname"]
    paths += [str(tmp_path / "secret"), str(Path(__file__)), "/dev/kmsg", "/dev/mem", "/dev/vda", "/dev/net/tun"]
    found = attempts(f"for path in {paths!r}: attempt(path, lambda: os.stat(path))")
    assert {found[path][0] for path in paths} <= {"ENOENT", "EACCES"}


def test_9_links_out_of_the_tree_lead_nowhere(attempts: Attempts, open_tree: Path) -> None:
    outside = open_tree.parent / "outside"
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    (outside / "secret").write_text("secret\n")
    (outside / "secret").chmod(0o666)
    (open_tree / "notes.md").unlink()
    (open_tree / "notes.md").symlink_to("../outside/secret")
    (open_tree / "absolute").symlink_to(outside / "secret")
    (open_tree / "data").symlink_to("../outside")
    (open_tree / "fresh.txt").symlink_to(outside / "fresh.txt")
    (open_tree / "first").symlink_to("/proc/1/root/" + str(outside / "secret"))
    text = """
for name in ("notes.md", "absolute", "first", "data/secret"):
    attempt("read " + name, lambda: open(name).read())
for name in ("notes.md", "absolute", "first", "data/x.conf", "fresh.txt"):
    attempt("write " + name, lambda: open(name, "a").write("x"))
"""
    for profile in (Profile.WRITE, Profile.READ, Profile.TEST):
        found = attempts(text, profile=profile, at=open_tree)
        assert not [name for name, what in found.items() if what[0] == "done"], found
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
    assert (outside / "secret").read_text() == "secret\n"


def test_10_only_the_copy_and_scratch_can_be_written(attempts: Attempts, tree: Path) -> None:
    places = ["/", "/usr", "/usr/bin", "/etc", "/dev", "/src", "/proc", "/tools", "/bin"]
    found = attempts(f"""
for place in {places!r}: attempt(place, lambda: open(place + "/countersign-test", "x"))
attempt("passwd", lambda: open("/etc/passwd", "a").write("x"))
attempt("chmod", lambda: os.chmod("/usr/bin/env", 0o777))
for place in ("/work", "/tmp", "/tmp/home", "/dev/shm"):
    attempt("good " + place, lambda: open(place + "/x", "x").close())
""")
    for name in (*places, "passwd", "chmod"):
        assert found[name][0] in {"EROFS", "EACCES", "EPERM", "ENOENT"}, (name, found[name])
    assert {what[0] for name, what in found.items() if name.startswith("good")} == {"done"}


def test_11_switches_of_the_kernel_cannot_be_opened_for_writing(attempts: Attempts) -> None:
    # Opened for appending and never written: were the seal broken, the machine would stay as it is.
    found = attempts("""
paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname",
         "/proc/sysrq-trigger", "/proc/sys/user/max_user_namespaces",
         "/proc/1/oom_score_adj", "/proc/self/uid_map", "/proc/1/mem"]
for path in paths: attempt(path, lambda: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)))
""")
    # A kernel without that key has no such file.
    assert {what[0] for what in found.values()} <= {"EROFS", "EACCES", "EPERM", "ENOENT"}, found


def test_12_processes_of_the_machine_are_invisible(attempts: Attempts) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            found = attempts(f"""
found["seen"] = sorted(map(int, filter(str.isdigit, os.listdir("/proc"))))
attempt("signal", lambda: os.kill({max(sleeper.pid, 5000)}, 0))
attempt("handle", lambda: os.pidfd_open({max(sleeper.pid, 5000)}))
""")
        finally:
            sleeper.kill()
    assert found["signal"][0] == found["handle"][0] == "ESRCH"
    assert len(found["seen"]) <= 4


def test_13_namespaces_mounts_and_roots_stay_as_they_are(attempts: Attempts) -> None:
    found = attempts("""
attempt("unshare", lambda: subprocess.run(["unshare", "-U", "true"], check=True, capture_output=True))
attempt("unshare net", lambda: subprocess.run(["unshare", "-n", "true"], check=True, capture_output=True))
attempt("mount", lambda: subprocess.run(["mount", "-t", "tmpfs", "t", "/tmp"], check=True, capture_output=True))
attempt("remount", lambda: subprocess.run(["mount", "-o", "remount,rw", "/usr"], check=True, capture_output=True))
attempt("nsenter", lambda: subprocess.run(["nsenter", "-t", "1", "-m", "true"], check=True, capture_output=True))
attempt("chroot", lambda: os.chroot("/tmp"))
attempt("hostname", lambda: socket.sethostname("x"))
""")
    assert not [name for name, what in found.items() if what[0] == "done"], found


def test_14_no_program_and_no_call_gives_privileges(attempts: Attempts) -> None:
    found = attempts("""
attempt("su", lambda: subprocess.run(["su", "-c", "id"], check=True, capture_output=True, stdin=subprocess.DEVNULL))
attempt("setuid", lambda: os.setuid(0))
attempt("mknod", lambda: os.mknod("/tmp/m", 0o20666, os.makedev(1, 1)))
open("/tmp/f", "w").close()
attempt("chown", lambda: os.chown("/tmp/f", 0, 0))
names = ("CapEff", "CapPrm", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp:")
found["privileges"] = [line.split()[1] for line in open("/proc/self/status") if line.startswith(names)]
""")
    assert not [name for name in ("su", "setuid", "mknod", "chown") if found[name][0] == "done"], found
    assert found["privileges"] == ["0" * 16] * 4 + ["1", "2"]


def test_15_calls_that_reach_further_are_refused(attempts: Attempts) -> None:
    column = ARCHITECTURES[platform.machine()].column
    refused = {name: numbers[column] for name, numbers in REFUSED.items() if numbers[column] is not None}
    absent = {name: numbers[column] for name, numbers in ABSENT.items()}
    # Arguments that would do nothing: were a call let through, the machine would not notice.
    found = attempts(f"""
for name, number in {refused | absent!r}.items(): attempt(name, lambda: call(number, *[(1 << 64) - 1] * 6))
attempt("too new", lambda: call(10_000, 0))
""")
    assert {name: found[name][0] for name in refused} == dict.fromkeys(refused, "EPERM")
    assert {name: found[name][0] for name in absent} == dict.fromkeys(absent, "ENOSYS")
    assert found["too new"][0] == "ENOSYS"


def test_15_a_new_process_may_not_bring_a_new_namespace(attempts: Attempts) -> None:
    number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    found = attempts(f"""
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    attempt(hex(flag), lambda: call({number}, flag | 17, 0, 0, 0, 0) or os._exit(0))
""")
    assert {what[0] for what in found.values()} == {"EPERM"}


def test_16_no_character_can_be_pushed_into_a_terminal(attempts: Attempts) -> None:
    number = {"x86_64": 16, "aarch64": 29}[platform.machine()]
    found = attempts(f"""
master, slave = os.openpty()
letter = ctypes.c_char(b"x")
for name, request in (("push", 0x5412), ("paste", 0x541C)):
    for high in (0, 1 << 32, 0xFFFFFFFF << 32):
        attempt(f"{{name}} {{high}}", lambda: call({number}, slave, request | high, ctypes.byref(letter)))
attempt("terminal", lambda: os.open("/dev/tty", os.O_RDWR))
attempt("size", lambda: os.get_terminal_size(slave))
found["session"] = os.getsid(0)
""")
    assert {what[0] for name, what in found.items() if name.startswith("p")} == {"EPERM"}
    assert found["terminal"][0] in {"ENXIO", "ENOENT"} and found["size"][0] == "done"
    # A session that began outside has no number inside.
    assert found["session"] > 0


def test_19_a_fork_bomb_is_capped_and_ended(ran: Running) -> None:
    text = """
import os, time
made = 0
while True:
    try:
        if not os.fork(): time.sleep(30); os._exit(0)
        made += 1
    except OSError:
        print(made, flush=True); time.sleep(30)
"""
    result = ran("/usr/bin/python3", "-Ic", text, profile=Profile.READ, seconds=5)
    assert result.ended is Ended.PIDS and result.exit_status is None
    assert int(result.output.split()[0]) < limits_of(Profile.READ).processes
    assert subprocess.run(["true"], check=False).returncode == 0


def test_20_a_growing_heap_is_refused_and_shared_memory_is_ended(ran: Running) -> None:
    megabytes = limits_of(Profile.READ).memory_bytes // 2**20
    heap = ran("/usr/bin/python3", "-Ic", f"bytearray({megabytes + 50} << 20)", profile=Profile.READ)
    assert heap.exit_status == 1 and b"MemoryError" in heap.output
    text = f"""
import mmap, time
shared = mmap.mmap(-1, {megabytes + 50} << 20)
for _ in range({megabytes + 50}): shared.write(bytes(1 << 20))
time.sleep(9)
"""
    shared = ran("/usr/bin/python3", "-Ic", text, profile=Profile.READ)
    assert shared.ended is Ended.MEMORY and shared.exit_status is None
    assert (shared.peak_memory_bytes or 0) > limits_of(Profile.READ).memory_bytes


def test_20_many_processes_together_are_bounded_too(ran: Running) -> None:
    text = """
import os, time
for _ in range(5):
    if not os.fork(): held = bytearray(b"x") * (80 << 20); time.sleep(9)
time.sleep(9)
"""
    assert ran("/usr/bin/python3", "-Ic", text, profile=Profile.READ).ended is Ended.MEMORY


def test_21_the_kernel_holds_the_limits_of_the_profile(attempts: Attempts) -> None:
    found = attempts(
        "found |= {name: resource.getrlimit(getattr(resource, 'RLIMIT_' + name)) for name in"
        " ('CPU', 'DATA', 'FSIZE', 'NOFILE', 'NPROC', 'CORE', 'MEMLOCK', 'MSGQUEUE')}",
        profile=Profile.READ,
    )
    limits = limits_of(Profile.READ)
    expected = {"CPU": limits.cpu_seconds, "DATA": limits.memory_bytes, "FSIZE": limits.file_bytes, "CORE": 1}
    expected |= {"NPROC": limits.processes, "MSGQUEUE": 0}
    for name, value in expected.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        assert found[name] == [value, value] or hard < value


def test_23_disks_fill_up_inside_only(attempts: Attempts, ran: Running) -> None:
    found = attempts(
        """
def fill(path):
    with open(path, "wb", 0) as file:
        for _ in range(200): file.write(bytes(1 << 20))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for place in ("/dev/shm", "/tmp"):
    for n in "ab": attempt(place + n, lambda: fill(f"{place}/{n}"))
    for n in "ab": os.remove(f"{place}/{n}")
""",
        profile=Profile.READ,
    )
    assert found["/tmpb"][0] == found["/dev/shmb"][0] == "ENOSPC"
    limits = limits_of(Profile.TEST)
    found = attempts("""
for place in ("/dev/shm", "/tmp", "/work"):
    found[place] = os.statvfs(place).f_blocks * os.statvfs(place).f_frsize
""")
    assert found == {"/dev/shm": SHARED_MEMORY_BYTES, "/tmp": limits.scratch_bytes, "/work": limits.work_bytes}
    huge = ran("sh", "-c", "head -c 300000000 /dev/zero > huge")
    assert huge.ended is Ended.DISK or b"File too large" in huge.output


def test_24_a_flood_of_small_files_ends_with_its_time_and_leaves_nothing(ran: Running) -> None:
    before = os.statvfs("/var/tmp").f_ffree
    text = "import itertools\nprint('begun', flush=True)\nfor n in itertools.count(): open(f'/tmp/{n}', 'x').close()"
    result = ran("/usr/bin/python3", "-Ic", text, profile=Profile.READ, seconds=1)
    assert result.output == b"begun\n" and result.exit_status is None
    assert result.ended in (Ended.TIMEOUT, Ended.MEMORY)
    assert before - os.statvfs("/var/tmp").f_ffree < 1_000


def test_25_no_hard_link_reaches_into_another_mount(attempts: Attempts) -> None:
    found = attempts("""
attempt("usr", lambda: os.link("/usr/bin/env", "/work/env"))
attempt("src", lambda: os.link("/src/notes.md", "/work/other"))
""")
    assert found["usr"][0] == found["src"][0] == "EXDEV"


def test_35_the_command_is_never_root_on_this_machine(box: Box, open_tree: Path) -> None:
    command = Command(("sh", "-c", "echo x > made"), 5, Profile.WRITE)
    assert isinstance(box.run(open_tree, command), Ran)
    owner = (open_tree / "made").stat().st_uid
    account = account_for_the_box()
    assert owner != 0
    assert owner == (account.uid if isinstance(account, BoxAccount) else os.geteuid())


def test_38_no_descriptor_leaks_into_the_box(box: Box, tree: Path, attempts: Attempts) -> None:
    with tempfile.TemporaryFile() as leaked:
        os.set_inheritable(leaked.fileno(), True)
        found = attempts("""
found["own"] = sorted(os.listdir("/proc/self/fd"))
found["input"] = os.readlink("/proc/self/fd/0")
found["first"] = sorted(os.readlink(f"/proc/1/fd/{n}") for n in os.listdir("/proc/1/fd"))
""")
    assert found["own"] == ["0", "1", "2", "3"]  # 3 is the listing itself
    assert found["input"] == "/dev/null"
    assert [name.partition(":")[0] for name in found["first"]] == ["anon_inode", "pipe", "pipe", "pipe"]


def test_39_neither_the_mint_nor_any_socket_of_the_product_is_in_sight(attempts: Attempts, tmp_path: Path) -> None:
    near, far = socket.socketpair()
    with near, far, socket.socket(socket.AF_UNIX) as listener:
        near.set_inheritable(True)
        listener.bind(str(tmp_path / "mint"))
        listener.listen()
        found = attempts(f"""
attempt("path", lambda: os.stat({str(tmp_path / "mint")!r}))
attempt("connect", lambda: socket.socket(socket.AF_UNIX).connect({str(tmp_path / "mint")!r}))
found["sockets"] = open("/proc/net/unix").read().count("\\n") - 1
links = [os.readlink(f"/proc/{{who}}/fd/{{n}}") for who in ("self", "1") for n in os.listdir(f"/proc/{{who}}/fd")
         if os.path.lexists(f"/proc/{{who}}/fd/{{n}}")]
found["inherited"] = [name for name in links if name.startswith("socket:")]
""")
    assert found["path"][0] in {"ENOENT", "EACCES"} and found["connect"][0] == "EAFNOSUPPORT"
    assert found["sockets"] == 0 and found["inherited"] == []


ORDINARY = """
import sys
from pathlib import Path
from worker.box.box import Box, Command, Profile, open_box
box = open_box()
assert isinstance(box, Box), str(box)
for profile in Profile:
    print(box.run(Path(sys.argv[1]), Command(("sh", "-c", "id -u; cat notes.md"), 5, profile)).output)
"""


def test_an_ordinary_account_gets_a_box_as_well(open_tree: Path) -> None:
    as_root = os.geteuid() == 0
    root = Path(__file__).parents[3]
    place = open_tree.parent
    subprocess.run(["cp", "-r", "--parents", "worker/__init__.py", "worker/box", place], cwd=root, check=True)
    if as_root:
        subprocess.run(["chown", "-R", "65531:65531", place], check=True)
    done = subprocess.run(
        ["/usr/bin/python3", "-c", ORDINARY, str(open_tree)],
        cwd=place,
        env={"PATH": "/usr/bin:/bin"},
        user=65531 if as_root else None,
        group=65531 if as_root else None,
        extra_groups=[] if as_root else None,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == ["b'1000\\nfirst\\n'"] * len(Profile)
