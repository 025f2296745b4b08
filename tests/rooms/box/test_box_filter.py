"""The system-call filter, run by a small interpreter of the kernel's machine."""

import errno
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.box.seccomp import ABSENT, ARCHITECTURES, EXAMINED, LAST_REVIEWED, REFUSED, filter_for

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+) (\d+)"),
    "aarch64": ("/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}
machines = pytest.mark.parametrize("machine", ARCHITECTURES)


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter answers for a call."""
    program = filter_for(machine)
    assert program is not None
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    given = [*arguments, *[0] * (6 - len(arguments))]
    call = struct.pack("<IIQ6Q", number, ARCHITECTURES[machine].audit if audit is None else audit, 0, *given)
    at = accumulator = 0
    while True:
        operation, on_true, on_false, value = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", call, value)[0]
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x06:
            return value
        else:
            holds = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[operation]
            at += on_true if holds else on_false


def numbers(table: dict[str, tuple[int | None, ...]], machine: str) -> list[int]:
    column = ARCHITECTURES[machine].column
    return [entry[column] for entry in table.values() if entry[column] is not None]


@machines
def test_every_named_call_gets_its_answer(machine: str) -> None:
    assert {verdict(machine, number) for number in numbers(dict(REFUSED), machine)} == {ERROR | errno.EPERM}
    assert {verdict(machine, number) for number in numbers(dict(ABSENT), machine)} == {ERROR | errno.ENOSYS}


def test_no_call_that_reaches_further_was_taken_off_the_tables() -> None:
    refused = "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp add_key request_key keyctl mount umount2 "
    refused += "pivot_root chroot unshare setns kexec_load kexec_file_load init_module finit_module delete_module "
    refused += "swapon swapoff reboot settimeofday clock_settime clock_adjtime quotactl acct syslog iopl ioperm "
    refused += "modify_ldt name_to_handle_at open_by_handle_at fanotify_init fanotify_mark move_pages migrate_pages"
    absent = "clone3 io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount "
    absent += "fspick mount_setattr bpf perf_event_open userfaultfd"
    assert set(refused.split()) <= set(REFUSED) and set(absent.split()) <= set(ABSENT)
    assert set(EXAMINED) == {"clone", "ioctl", "socket", "socketpair", "personality"}


@machines
def test_every_reviewed_call_without_a_name_is_allowed_and_later_ones_are_absent(machine: str) -> None:
    named = {number for table in (REFUSED, ABSENT, EXAMINED) for number in numbers(dict(table), machine)}
    for number in range(LAST_REVIEWED + 50):
        if number not in named:
            assert verdict(machine, number) == (ALLOW if number <= LAST_REVIEWED else ERROR | errno.ENOSYS)


@machines
def test_a_foreign_architecture_is_killed(machine: str) -> None:
    for audit in (0x40000003, 0, *[other.audit for name, other in ARCHITECTURES.items() if name != machine]):
        assert verdict(machine, 1, audit=audit) == KILL


def test_the_other_numbering_of_x86_is_killed() -> None:
    assert verdict("x86_64", 0x40000000 | 1) == verdict("x86_64", 0xFFFFFFFF) == KILL


@machines
@settings(max_examples=60)
@given(high=st.integers(0, 2**32 - 1), low=st.integers(0, 2**32 - 1))
def test_only_the_low_word_of_an_argument_counts(machine: str, high: int, low: int) -> None:
    column = ARCHITECTURES[machine].column
    for name in ("socket", "socketpair", "personality", "clone"):
        number = EXAMINED[name][column]
        assert verdict(machine, number, high << 32 | low) == verdict(machine, number, low)
    ioctl = EXAMINED["ioctl"][column]
    for request in (0x5412, 0x541C):
        assert verdict(machine, ioctl, 0, high << 32 | request) == ERROR | errno.EPERM


@machines
@settings(max_examples=60)
@given(family=st.integers(0, 50), kind=st.integers(0, 10), protocol=st.integers(0, 300))
def test_a_socket_is_an_internet_socket_or_none(machine: str, family: int, kind: int, protocol: int) -> None:
    answer = verdict(machine, EXAMINED["socket"][ARCHITECTURES[machine].column], family, kind, protocol)
    assert (answer == ALLOW) == (family in (2, 10) and protocol in (0, 6, 17))


@machines
@settings(max_examples=60)
@given(family=st.integers(0, 50), kind=st.integers(0, 15), more=st.sampled_from((0, 0x800, 0x80000, 0x80800)))
def test_a_pair_of_sockets_is_tied_to_itself_alone(machine: str, family: int, kind: int, more: int) -> None:
    """Streams and sequences of packets; a datagram can be sent to any other address, and 3 means one here as well."""
    answer = verdict(machine, EXAMINED["socketpair"][ARCHITECTURES[machine].column], family, kind | more)
    assert (answer == ALLOW) == (family == 1 and kind in (1, 5))


@machines
def test_a_process_may_be_made_and_a_namespace_may_not(machine: str) -> None:
    clone = EXAMINED["clone"][ARCHITECTURES[machine].column]
    assert verdict(machine, clone, 0x01200011) == verdict(machine, clone, 0x003D0F00) == ALLOW
    # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h).
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, 0x11 | flag) == ERROR | errno.EPERM


@machines
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    path, pattern = HEADERS[machine]
    if not Path(path).exists():
        pytest.skip(f"{path} is not installed (apt-get install linux-libc-dev).")
    known = {name: int(number) for name, number in re.findall(pattern, Path(path).read_text())}
    for table in (REFUSED, ABSENT, EXAMINED):
        for name, entry in table.items():
            assert known.get(name) == entry[ARCHITECTURES[machine].column], name


def test_a_machine_without_a_table_gets_no_filter() -> None:
    assert filter_for("riscv64") is None
