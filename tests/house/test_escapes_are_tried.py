"""Every way out of the box that is known has its test, whose name begins with the way's number."""

import ast
import re

import pytest

from tests.house.tree import parsed, python_files

WAYS = {
    1: "TCP to a public address, the machine's loopback, the metadata address",
    2: "looking up a name, UDP to a resolver",
    3: "the proxy's port in a profile without a network",
    4: "sockets of every other family",
    5: "an abstract unix socket of the machine",
    6: "a unix socket that lies in the tree",
    7: "a secret in the worker's environment",
    8: "files of the machine",
    9: "links that lead out of the tree",
    10: "writing to system, root, devices and source",
    11: "switches of the kernel",
    12: "processes of the machine",
    13: "namespaces, mounts, other roots",
    14: "programs and calls that give privileges",
    15: "system calls that reach further",
    16: "characters for a terminal",
    17: "daemons that outlive the command",
    18: "a supervisor that is killed",
    19: "a fork bomb",
    20: "memory without end, in every form of it",
    21: "processor time without end",
    22: "output without end",
    23: "files without end",
    24: "small files without number",
    25: "hard links into another mount",
    26: "other forms of asking the proxy",
    27: "slow, large and many requests to the proxy",
    28: "a folder that is swapped for a link while results are read",
    29: "a pipe, device, socket or setuid file among the results",
    30: "hooks and settings for git in the tree",
    31: "changes outside the plan, and names that mean git's own folder",
    32: "options and commands in a pattern to search for",
    33: "no bubblewrap, a mount that fails",
    34: "a bubblewrap that is old, hangs, or lies",
    35: "root",
    36: "a repository or a model that asks for less of a box",
    37: "a thread that ends before the run",
    38: "open descriptors",
    39: "the mint's sockets",
}
NUMBERS = re.compile(r"test_((?:\d+_)+)")


def tried() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {number: [] for number in WAYS}
    for path in python_files("tests"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef) and (match := NUMBERS.match(node.name)):
                for number in filter(None, match[1].split("_")):
                    found.setdefault(int(number), []).append(node.name)
    return found


@pytest.mark.parametrize("number", WAYS)
def test_a_way_out_is_tried(number: int) -> None:
    assert tried()[number], f"no test tries {WAYS[number]!r}"


def test_no_test_names_a_way_that_is_not_listed() -> None:
    assert tried().keys() - WAYS.keys() == set()
