"""Runs set-up commands one after the other in /work, then keeps beside one another what is new there and at home.

`set_up.py COMMANDS`, a JSON list of lists of words. Run inside the box; what it does is believed by nobody.
"""

import json
import os
import shlex
import subprocess
import sys

MADE, BEFORE, WORK = "/made", "/src", "/work"
NOT_FOUND = 127


def main() -> None:
    """Ends with the status of the first command that fails, else with 0."""
    os.makedirs(f"{MADE}/home", exist_ok=True)
    for words in json.loads(sys.argv[1]):
        print("$", shlex.join(words), flush=True)  # noqa: T201
        status = run(words)
        if status:
            sys.exit(status if status > 0 else 128 - status)
    keep("")
    point_at_work()


def run(words: list[str]) -> int:
    try:
        return subprocess.call(words, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", flush=True)  # noqa: T201
        return NOT_FOUND


def keep(folder: str) -> None:
    """What the folder holds and did not hold before is copied, whole; folders of before are gone through."""
    for entry in sorted(os.scandir(f"{WORK}/{folder}"), key=lambda one: one.name):
        path = f"{folder}/{entry.name}".lstrip("/")
        if entry.name == ".git":
            continue
        if not os.path.lexists(f"{BEFORE}/{path}"):
            os.makedirs(f"{MADE}/work/{folder}", exist_ok=True)
            subprocess.run(["cp", "-a", f"{WORK}/{path}", f"{MADE}/work/{path}"], check=True)
        elif entry.is_dir(follow_symlinks=False) and not os.path.islink(f"{BEFORE}/{path}"):
            keep(path)


def point_at_work() -> None:
    """Links out of what is new, such as those to workspaces, lead to the tree under test."""
    new = f"{MADE}/work"
    for top, folders, names in os.walk(new):
        for name in folders + names:
            link = os.path.join(top, name)
            if not os.path.islink(link) or os.path.isabs(os.readlink(link)):
                continue
            path = os.path.normpath(os.path.join(os.path.relpath(top, new), os.readlink(link)))
            if not path.startswith("..") and not os.path.lexists(os.path.join(new, path)):
                os.remove(link)
                os.symlink(os.path.join(WORK, path), link)


if __name__ == "__main__":
    main()
