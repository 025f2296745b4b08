"""Control groups, where a subtree is handed over: at the edges on a folder that looks like one, and on this machine."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.box.box import Box, BoxSettings, BoxUnavailable, Command, Ended, Profile, Ran, open_box
from worker.box.groups import Group, Groups, NoGroups, open_groups
from worker.box.profiles import limits_of

LIMITS = limits_of(Profile.READ)


class Kernel:
    """A folder with the files of a control group, and what the kernel would say of this process."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "cgroup" / "unit"
        self.place.mkdir(parents=True)
        self.own = folder / "self"
        self.own.mkdir()
        (self.own / "cgroup").write_text("1:cpu:/\n0::/unit\n")
        self.mounted("cgroup2")
        self.says("cgroup.controllers", "cpu memory pids\n")
        self.says("cgroup.subtree_control", "")
        self.says("cgroup.procs", "")

    def mounted(self, kind: str) -> None:
        line = f"30 24 0:26 / {self.place.parent} rw,nosuid shared:4 - {kind} {kind} rw\n"
        (self.own / "mountinfo").write_text(f"24 1 0:2 / / rw - ext4 /dev/x rw\n{line}")

    def says(self, name: str, text: str) -> None:
        (self.place / name).write_text(text)

    def runs(self) -> list[Path]:
        return [path for path in self.place.iterdir() if path.name.startswith("run-")]


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


@pytest.fixture
def groups(kernel: Kernel) -> Groups:
    opened = open_groups(kernel.place, kernel.own)
    assert isinstance(opened, Groups), opened
    return opened


def test_the_limits_are_written_to_a_group_of_the_run_and_read_back(groups: Groups, kernel: Kernel) -> None:
    group = groups.one(LIMITS)
    said = {path.name: path.read_text() for path in group.place.iterdir()}
    assert said == {
        "memory.max": str(LIMITS.memory_bytes),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": str(LIMITS.processes),
    }
    assert kernel.runs() == [group.place] and groups.one(LIMITS).place != group.place
    assert (kernel.place / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_processes_of_the_group_move_into_a_leaf_first(kernel: Kernel) -> None:
    kernel.says("cgroup.procs", "41\n")
    assert isinstance(open_groups(kernel.place, kernel.own), Groups)
    assert (kernel.place / "countersign-worker" / "cgroup.procs").read_text() == "41"


SOFT: dict[str, tuple[Callable[[Kernel], object], str]] = {
    "a controller is missing": (lambda kernel: kernel.says("cgroup.controllers", "cpu pids"), "may not bound memory"),
    "it is no control group": (lambda kernel: kernel.mounted("tmpfs"), "no control group of version 2"),
    "nothing is there": (lambda kernel: (kernel.place / "cgroup.controllers").unlink(), "No such file"),
}


@pytest.mark.parametrize("case", SOFT)
def test_where_no_group_can_be_had_the_reason_and_the_remedy_are_told(case: str, kernel: Kernel) -> None:
    change, words = SOFT[case]
    change(kernel)
    refused = open_groups(kernel.place, kernel.own)
    assert isinstance(refused, NoGroups)
    assert words in refused.reason and "Delegate=yes" in refused.remedy and "COUNTERSIGN_BOX_CGROUP" in refused.remedy


def test_a_group_that_nobody_named_is_taken_only_by_the_account_that_it_is_handed_to(kernel: Kernel) -> None:
    opened = open_groups(None, kernel.own)
    if os.geteuid() == 0:
        assert isinstance(opened, NoGroups) and "not handed" in opened.reason
    else:
        assert opened == Groups(kernel.place)
    kernel.mounted("tmpfs")
    refused = open_groups(None, kernel.own)
    assert isinstance(refused, NoGroups) and "shows no control groups" in refused.reason


def test_what_the_kernel_counted_is_read_and_nothing_is_read_as_nothing(tmp_path: Path) -> None:
    group = Group(tmp_path)
    assert (group.out_of_memory(), group.out_of_processes(), group.peak_bytes()) == (False, False, None)
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    (tmp_path / "pids.events").write_text("max 3\n")
    (tmp_path / "memory.peak").write_text("4096\n")
    assert (group.out_of_memory(), group.out_of_processes(), group.peak_bytes()) == (True, True, 4096)


def test_a_group_that_stays_is_an_alarm(groups: Groups, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        groups.one(LIMITS).remove()
    assert "of a run that is over stays" in caplog.text


@pytest.mark.needs_userns
class TestInTheBox:
    def test_20_a_run_in_a_group_is_bounded_hard_and_says_so(
        self, box: Box, tree: Path, groups: Groups, kernel: Kernel
    ) -> None:
        ran = box.bounded_by(groups).run(tree, Command(("true",), 5, Profile.READ))
        assert isinstance(ran, Ran) and (ran.limits, ran.exit_status) == ("hard", 0)
        (run,) = kernel.runs()
        assert (run / "cgroup.procs").read_text().isdigit()

    @pytest.mark.parametrize("refusal", [
        ("memory.events", "oom_kill 1\n", Ended.MEMORY), ("pids.events", "max 1\n", Ended.PIDS),
    ])  # fmt: skip
    def test_20_what_the_kernel_refused_ends_the_run_with_that_reason(
        self, box: Box, tree: Path, kernel: Kernel, refusal: tuple[str, str, Ended]
    ) -> None:
        groups, (name, said, ended) = open_groups(kernel.place, kernel.own), refusal
        over = threading.Event()

        def refuse() -> None:
            while not over.wait(0.01):
                for run in kernel.runs():
                    if not (run / name).exists():
                        (run / "memory.peak").write_text(str(1 << 40))
                        (run / name).write_text(said)

        refusing = threading.Thread(target=refuse)
        refusing.start()
        try:
            ran = box.bounded_by(groups).run(tree, Command(("sleep", "1"), 5, Profile.READ))
        finally:
            over.set()
            refusing.join()
        assert isinstance(ran, Ran) and ran.ended is ended and ran.exit_status is None
        assert ran.peak_memory_bytes == 1 << 40

    def test_where_the_machine_has_none_the_box_says_why_and_is_refused_if_limits_have_to_be_hard(self) -> None:
        opened, refused = open_box(), open_box(BoxSettings(hard_limits=True))
        assert isinstance(opened, Box)
        if isinstance(open_groups(None), Groups) and not opened.softly:
            assert isinstance(refused, Box) and not refused.softly  # This machine hands a subtree to the tests.
            return
        assert opened.softly
        assert isinstance(refused, BoxUnavailable)
        assert refused.reason.endswith("Limits have to be hard here.") and "Delegate=yes" in refused.remedy

    def test_a_folder_that_is_no_group_is_not_taken_for_one(self, tmp_path: Path) -> None:
        refused = open_box(BoxSettings(cgroup=tmp_path, hard_limits=True))
        assert isinstance(refused, BoxUnavailable) and "no control group" in refused.reason
