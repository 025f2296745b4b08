"""The system-call filter, assembled by hand as a classic BPF program (sandbox 5.5).

Numbers are from the kernel's own headers (`asm/unistd_64.h` and `asm-generic/unistd.h`), which a test reads
again. A call that is not named here is allowed when its number was reviewed, and "not implemented" when the
kernel got it later.
"""

import errno
import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import MappingProxyType

LAST_REVIEWED = 456
"""futex_requeue; the same number on every architecture."""

REFUSED = MappingProxyType(
    {
        # name: (x86-64, aarch64)
        "ptrace": (101, 117),
        "process_vm_readv": (310, 270),
        "process_vm_writev": (311, 271),
        "pidfd_getfd": (438, 438),
        "kcmp": (312, 272),
        "process_madvise": (440, 440),
        "add_key": (248, 217),
        "request_key": (249, 218),
        "keyctl": (250, 219),
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "chroot": (161, 51),
        "unshare": (272, 97),
        "setns": (308, 268),
        "kexec_load": (246, 104),
        "kexec_file_load": (320, 294),
        "init_module": (175, 105),
        "finit_module": (313, 273),
        "delete_module": (176, 106),
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "reboot": (169, 142),
        "settimeofday": (164, 170),
        "clock_settime": (227, 112),
        "clock_adjtime": (305, 266),
        "adjtimex": (159, 171),
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
        "acct": (163, 89),
        "syslog": (103, 116),
        "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265),
        "fanotify_init": (300, 262),
        "fanotify_mark": (301, 263),
        "mbind": (237, 235),
        "set_mempolicy": (238, 237),
        "get_mempolicy": (239, 236),
        "migrate_pages": (256, 238),
        "move_pages": (279, 239),
        "set_mempolicy_home_node": (450, 450),
        "iopl": (172, None),
        "ioperm": (173, None),
        "modify_ldt": (154, None),
        "vhangup": (153, 58),
        "lookup_dcookie": (212, 18),
        "uselib": (134, None),
        "_sysctl": (156, None),
        "sethostname": (170, 161),
        "setdomainname": (171, 162),
        "nfsservctl": (180, 42),
    }
)
"""Answered with EPERM."""

ABSENT = MappingProxyType(
    {
        "clone3": (435, 435),
        "io_uring_setup": (425, 425),
        "io_uring_enter": (426, 426),
        "io_uring_register": (427, 427),
        "open_tree": (428, 428),
        "move_mount": (429, 429),
        "fsopen": (430, 430),
        "fsconfig": (431, 431),
        "fsmount": (432, 432),
        "fspick": (433, 433),
        "mount_setattr": (442, 442),
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "memfd_secret": (447, 447),
    }
)
"""Answered with ENOSYS, so that programs fall back."""

EXAMINED = MappingProxyType(
    {
        "clone": (56, 220),
        "ioctl": (16, 29),
        "socket": (41, 198),
        "socketpair": (53, 199),
        "personality": (135, 92),
    }
)
"""Decided by their arguments."""

NAMESPACE_FLAGS = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET together."""
_TERMINAL_REQUESTS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_PERSONALITIES = (0x0, 0xFFFFFFFF)  # the default, and the question which one is set
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_STREAM, _SEQPACKET, _KIND = 1, 5, 0xF
"""A pair of these stays one; a datagram could be sent from it to any socket that lies in a mounted folder."""
_PROTOCOLS = (0, 6, 17)  # any, TCP, UDP: neither raw sockets nor multipath TCP

_LOAD, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06, 0x54
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x40000000


@dataclass(frozen=True, slots=True)
class Architecture:
    """`column` picks the call numbers; `audit` is the kernel's name for it in the filter."""

    column: int
    audit: int
    has_x32: bool


ARCHITECTURES = MappingProxyType(
    {
        "x86_64": Architecture(column=0, audit=0xC000003E, has_x32=True),
        "aarch64": Architecture(column=1, audit=0xC00000B7, has_x32=False),
    }
)


@dataclass(slots=True)
class _Program:
    code: list[bytes] = field(default_factory=list)

    def emit(self, operation: int, value: int, on_true: int = 0, on_false: int = 0) -> None:
        self.code.append(struct.pack("<HBBI", operation, on_true, on_false, value))

    def error_if(self, test: int, value: int, error: int) -> None:
        self.emit(test, value, 0, 1)
        self.emit(_RETURN, _ERROR | error)

    def load_argument(self, index: int) -> None:
        """The low 32 bits: the kernel looks at no more of these, so high bits must not matter."""
        self.emit(_LOAD, _ARGUMENTS_AT + 8 * index)


def _argument_rule(index: int, allowed: Iterable[int], error: int, mask: int = 0xFFFFFFFF) -> list[bytes]:
    """Instructions that answer `error` unless the argument, or the part of it in `mask`, is one of `allowed`."""
    values = tuple(allowed)
    rule = _Program()
    rule.load_argument(index)
    rule.emit(_AND, mask)
    for position, value in enumerate(values):
        rule.emit(_EQUAL, value, len(values) - position, 0)
    rule.emit(_RETURN, _ERROR | error)
    return rule.code


def _examined_rule(name: str) -> list[bytes]:
    if name == "socket":
        families = _argument_rule(0, (_AF_INET, _AF_INET6), errno.EAFNOSUPPORT)
        return families + _argument_rule(2, _PROTOCOLS, errno.EPROTONOSUPPORT)
    if name == "socketpair":
        families = _argument_rule(0, (_AF_UNIX,), errno.EAFNOSUPPORT)
        return families + _argument_rule(1, (_STREAM, _SEQPACKET), errno.ESOCKTNOSUPPORT, _KIND)
    if name == "personality":
        return _argument_rule(0, _PERSONALITIES, errno.EPERM)
    rule = _Program()
    if name == "clone":
        rule.load_argument(0)
        rule.error_if(_ANY_BIT, NAMESPACE_FLAGS, errno.EPERM)
    else:
        rule.load_argument(1)
        for request in _TERMINAL_REQUESTS:
            rule.error_if(_EQUAL, request, errno.EPERM)
    return rule.code


def filter_for(machine: str) -> bytes | None:
    """The program as the kernel takes it (8 bytes an instruction), or None for a machine without a table."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        return None
    program = _Program()
    program.emit(_LOAD, _ARCHITECTURE_AT)
    program.emit(_EQUAL, architecture.audit, 1, 0)
    program.emit(_RETURN, _KILL)
    program.emit(_LOAD, _NUMBER_AT)
    if architecture.has_x32:
        program.emit(_AT_LEAST, _X32_BIT, 0, 1)
        program.emit(_RETURN, _KILL)
    program.error_if(_GREATER, LAST_REVIEWED, errno.ENOSYS)
    for table, error in ((REFUSED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            number = numbers[architecture.column]
            if number is not None:
                program.error_if(_EQUAL, number, error)
    for name, numbers in EXAMINED.items():
        rule = _examined_rule(name)
        program.emit(_EQUAL, numbers[architecture.column], 0, len(rule) + 1)
        program.code.extend(rule)
        program.emit(_RETURN, _ALLOW)
    program.emit(_RETURN, _ALLOW)
    return b"".join(program.code)


def filter_here() -> bytes | None:
    """The program for the machine this runs on, or None."""
    return filter_for(platform.machine())
