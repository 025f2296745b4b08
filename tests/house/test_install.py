"""The scripts that see to system packages, against a system whose package manager only writes down what it is asked."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.tree import ROOT

PLAIN_TOOLS = ("cp", "bash", "sh", "env", "dirname", "sed", "grep", "cat", "mktemp", "rm", "tail", "chmod", "true")
APT_GET = """#!/bin/sh
echo "apt-get $*" >>"$SYSTEM/asked"
case $* in *install*) for name in bwrap rg git redis-server postgres gcc ip make npm chromium; do
    printf '#!/bin/sh\\n' >"$SYSTEM/bin/$name"; chmod +x "$SYSTEM/bin/$name"; done ;; esac
"""
PYTHON = """#!/bin/sh
case $2 in *%d.%d*) echo 3.12 ;; *ensurepip*) [ ! -e "$SYSTEM/no-ensurepip" ] ;; esac
"""
APT_CACHE = """#!/bin/sh
[ -e "$SYSTEM/lists" ] && echo "  Candidate: 1.0" || echo "  Candidate: (none)"
"""


@dataclass(frozen=True)
class System:
    """A machine of its own: only what stands in `folder/bin` is installed."""

    folder: Path

    def put(self, name: str, text: str = "#!/bin/sh\n") -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def see_to(self, what: str, ci: str = "") -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.folder / "bin"), "SYSTEM": str(self.folder), "CI": ci, "TMPDIR": str(self.folder)}
        env["COUNTERSIGN_SYSTEM_ROOT"] = str(self.folder)
        command = [shutil.which("bash") or "bash", str(self.folder / "infra/install/system.sh"), what]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=30)

    def put_in_the_box(self, *names: str) -> None:
        """Programs of the distribution itself, which the box sees."""
        (self.folder / "usr/bin").mkdir(parents=True, exist_ok=True)
        for name in names:
            self.put(f"../usr/bin/{name}")

    def asked(self) -> list[str]:
        asked = self.folder / "asked"
        return asked.read_text().splitlines() if asked.exists() else []


@pytest.fixture
def system(tmp_path: Path) -> System:
    """A Debian machine with Python and git only, its package lists fresh, and nobody privileged at the keyboard."""
    here = System(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "lists").touch()
    shutil.copytree(ROOT / "infra/install", tmp_path / "infra/install")
    for name in PLAIN_TOOLS:
        os.symlink(shutil.which(name) or name, tmp_path / "bin" / name)
    here.put("git")
    here.put("python3", PYTHON)
    here.put("id", "#!/bin/sh\necho 1000\n")
    here.put("apt-get", APT_GET)
    here.put("apt-cache", APT_CACHE)
    return here


def as_root(system: System) -> None:
    system.put("id", "#!/bin/sh\necho 0\n")


def test_where_it_may_not_install_it_stops_with_the_one_line_to_type(system: System) -> None:
    done = system.see_to("run")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].strip() == "sudo apt-get install -y bubblewrap"
    assert system.asked() == []


def test_the_one_line_also_holds_the_half_of_venv_that_the_system_ships_apart(system: System) -> None:
    (system.folder / "no-ensurepip").touch()
    line = system.see_to("run").stderr.splitlines()[-1].strip()
    assert line == "sudo apt-get install -y python3.12-venv bubblewrap"
    done = system.see_to("test")
    assert done.returncode == 1, "without an environment there is nothing to go on with"
    assert "python3.12-venv" in done.stderr


def test_an_environment_that_is_there_needs_no_second_making(system: System) -> None:
    (system.folder / "no-ensurepip").touch()
    (system.folder / ".venv/bin").mkdir(parents=True)
    shutil.copy(system.folder / "bin/python3", system.folder / ".venv/bin/python")
    assert system.see_to("venv").returncode == 0


def test_a_python_that_is_too_old_is_named_as_what_is_missing(system: System) -> None:
    system.put("python3", "#!/bin/sh\nexit 1\n")
    assert system.see_to("run").stderr.startswith("Python 3.11 or newer is needed and was not found.")


@pytest.mark.parametrize(("manager", "line"), [
    ("dnf", "sudo dnf install -y bubblewrap"),
    ("pacman", "sudo pacman -S --needed bubblewrap"),
    ("zypper", "sudo zypper install bubblewrap"),
])  # fmt: skip
def test_the_line_to_type_is_the_one_of_the_system(system: System, manager: str, line: str) -> None:
    (system.folder / "bin/apt-get").unlink()
    system.put(manager)
    assert system.see_to("run").stderr.splitlines()[-1].strip() == line


def test_root_gets_what_is_missing_and_nothing_else(system: System) -> None:
    as_root(system)
    system.put("rg")
    done = system.see_to("run")
    assert done.returncode == 0
    assert system.asked() == ["apt-get install -q -y --no-install-recommends bubblewrap"]
    assert done.stderr.splitlines() == ["Installing bubblewrap: the sealed box in which commands of a repository run."]


def test_package_lists_are_fetched_only_when_the_package_is_not_in_them(system: System) -> None:
    as_root(system)
    (system.folder / "lists").unlink()
    assert system.see_to("run").returncode == 0
    assert [line.split()[1] for line in system.asked()] == ["update", "install"]


def test_sudo_is_used_only_where_it_asks_for_no_password(system: System) -> None:
    system.put("sudo", "#!/bin/sh\nexit 1\n")
    assert system.see_to("run").returncode == 1
    system.put("sudo", '#!/bin/sh\n[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n')
    assert system.see_to("run").returncode == 0
    assert system.asked() == ["apt-get install -q -y --no-install-recommends bubblewrap"]


def test_nothing_is_said_and_nothing_asked_when_everything_is_there(system: System) -> None:
    for name in ("bwrap", "rg", "redis-server", "postgres", "gcc", "ip", "make", "npm", "chromium"):
        system.put(name)
    system.put_in_the_box("mvn", "pip")
    for what in ("run", "test"):
        done = system.see_to(what)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert system.asked() == []


def test_a_failed_installation_shows_what_the_package_manager_said(system: System) -> None:
    as_root(system)
    system.put("apt-get", '#!/bin/sh\necho "E: Unable to locate package"\nexit 100\n')
    done = system.see_to("run")
    assert done.returncode == 1
    assert "E: Unable to locate package" in done.stderr


def test_a_package_that_the_system_does_not_know_keeps_no_other_away(system: System) -> None:
    as_root(system)
    for name in ("bwrap", "redis-server", "postgres", "make", "gcc", "ip"):
        system.put(name)
    system.put_in_the_box("mvn", "pip")
    asked = 'echo "apt-get $*" >>"$SYSTEM/asked"'
    npm = 'case "$*" in *npm) cp "$SYSTEM/bin/gcc" "$SYSTEM/bin/npm" ;; esac'
    system.put("apt-get", f'#!/bin/sh\n{asked}\ncase "$*" in *chromium*) exit 100 ;; esac\n{npm}\n')
    done = system.see_to("test")
    assert done.returncode == 0
    assert "apt-get install -q -y --no-install-recommends npm" in system.asked()
    assert done.stderr.splitlines()[-1].strip() == "sudo apt-get install -y chromium-headless-shell"


def test_for_tests_a_missing_package_is_named_and_the_rest_goes_on(system: System) -> None:
    system.put("bwrap")
    system.put("rg")
    done = system.see_to("test")
    assert done.returncode == 0
    assert "redis-server" in done.stderr


def test_a_compiler_that_finds_no_headers_is_not_there(system: System) -> None:
    for name in ("bwrap", "redis-server", "postgres", "make", "ip", "npm", "chromium"):
        system.put(name)
    system.put_in_the_box("mvn", "pip")
    system.put("gcc", "#!/bin/sh\necho 'stdio.h: No such file or directory' >&2\nexit 1\n")
    done = system.see_to("test")
    assert done.stderr.splitlines()[-1].strip() == "sudo apt-get install -y build-essential"


def test_for_tests_in_ci_a_missing_package_stops_it(system: System) -> None:
    system.put("bwrap")
    system.put("rg")
    done = system.see_to("test", ci="true")
    assert done.returncode == 1
    assert "In CI nothing may be left out" in done.stderr


def test_a_pip_that_the_box_does_not_see_is_not_there(system: System) -> None:
    for name in ("bwrap", "redis-server", "postgres", "make", "gcc", "ip", "npm", "chromium", "pip"):
        system.put(name)
    system.put_in_the_box("mvn")
    done = system.see_to("test")
    assert done.stderr.splitlines()[-1].strip() == "sudo apt-get install -y python3-pip"
