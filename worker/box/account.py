"""The account that the box runs as: never root."""

import grp
import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from worker.box.command import BoxUnavailable
from worker.box.tool import ToolFailure, run_tool

ACCOUNT_NAME = "countersign-box"
_UNNAMED = range(65520, 65533)
"""Numbers that no distribution hands out; used where no account can be made (a read-only /etc)."""


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """The box runs as the account of this process, which is not root."""

    uid: int

    def __post_init__(self) -> None:
        """Raises ValueError for root."""
        _must_not_be_root(self.uid)


@dataclass(frozen=True, slots=True)
class BoxAccount:
    """This process is root, so the box runs as an account that owns nothing."""

    uid: int
    gid: int

    def __post_init__(self) -> None:
        """Raises ValueError for root, and for root's group."""
        _must_not_be_root(self.uid, self.gid)


def _must_not_be_root(*numbers: int) -> None:
    if 0 in numbers:
        raise ValueError("the box never runs as root")


Account = OwnAccount | BoxAccount


def account_for_the_box() -> Account | BoxUnavailable:
    """An account that is not root. As root, `countersign-box` is made when it is not there yet."""
    if os.geteuid() != 0:
        if os.getuid() == 0:
            return BoxUnavailable("This process holds root's real user id.", "Start the worker as its own user.")
        return OwnAccount(os.geteuid())
    found = _named() or _made() or _unnamed()
    if found is None:
        return BoxUnavailable(
            f"This process is root and there is no account named {ACCOUNT_NAME} for the box.",
            f"Make one with `useradd --system --shell /usr/sbin/nologin {ACCOUNT_NAME}`, "
            "or start the worker as its own user.",
        )
    return found


def named_account(uid: int, gid: int) -> BoxAccount | BoxUnavailable:
    """The account that this machine calls the box's."""
    if 0 in (uid, gid):
        return BoxUnavailable(f"The account {ACCOUNT_NAME} has root's number.", "Give it a number of its own.")
    return BoxAccount(uid, gid)


def _named() -> BoxAccount | BoxUnavailable | None:
    try:
        entry = pwd.getpwnam(ACCOUNT_NAME)
    except KeyError:
        return None
    return named_account(entry.pw_uid, entry.pw_gid)


def _made() -> BoxAccount | BoxUnavailable | None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin")
    if useradd is None:
        return None
    words = [useradd, "--system", "--no-create-home", "--home-dir", "/nonexistent"]
    words += ["--shell", "/usr/sbin/nologin", "--user-group", ACCOUNT_NAME]
    try:
        run_tool(words, cwd=Path("/"), environment={"PATH": "/usr/sbin:/usr/bin"}, timeout_seconds=20)
    except ToolFailure:
        return None
    # Another process may have made it at the same moment, so only the look-up counts, not the exit status.
    return _named()


def _unnamed() -> BoxAccount | None:
    for number in _UNNAMED:
        try:
            pwd.getpwuid(number)
        except KeyError:
            pass
        else:
            continue
        try:
            grp.getgrgid(number)
        except KeyError:
            return BoxAccount(number, number)
    return None
