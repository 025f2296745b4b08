"""What no import rule can see: who starts processes, who reads the environment, who asks the clock."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, name, names_in, names_used, python_files

STARTS_A_PROCESS = re.compile(
    r"(subprocess|multiprocessing|pty)(\.|$)|os\.(system|popen|exec\w+|fork\w*|spawn\w+|posix_spawn\w*)$"
    r"|asyncio\.(create_)?subprocess\w*|concurrent\.futures\.ProcessPoolExecutor$|concurrent\.futures\.process"
)
READS_THE_ENVIRONMENT = re.compile(r"os\.(environb?|getenvb?|putenv|unsetenv)(\.|$)")
ASKS_THE_CLOCK = re.compile(r"(datetime\.)*(datetime|date)\.(now|utcnow|today)$|time\.(time|time_ns)$")

MAY_START = ("worker/box/",)
MAY_BECOME = ("app/cli.py",)
MAY_READ = ("app/settings.py", "worker/settings.py")


def breaches(files: list[Path], rule: re.Pattern[str]) -> list[str]:
    return sorted({
        f"{name(path)}:{line} {said}" for path in files for line, said in names_used(path) if rule.match(said)
    })  # fmt: skip


def outside(doors: tuple[str, ...]) -> list[Path]:
    return [path for path in python_files("app", "worker") if not name(path).startswith(doors)]


def test_only_the_box_starts_processes_and_only_the_command_line_becomes_another() -> None:
    found = breaches(outside(MAY_START), STARTS_A_PROCESS)
    assert [breach for breach in found if not (breach.startswith(MAY_BECOME) and " os.exec" in breach)] == []


def test_only_the_settings_read_the_environment() -> None:
    assert breaches(outside(MAY_READ), READS_THE_ENVIRONMENT) == []


def test_the_core_never_asks_what_time_it_is() -> None:
    assert breaches(python_files("app/core"), ASKS_THE_CLOCK) == []


@pytest.mark.parametrize("line", [
    "import subprocess", "from subprocess import run", "import os as o\no.system('true')",
    "from os import fork as f\nf()",
    "import asyncio\nasyncio.create_subprocess_exec('true')", "import multiprocessing.pool", "import pty",
    "from concurrent.futures import ProcessPoolExecutor", "import os\nos.posix_spawn('a', [], {})",
])  # fmt: skip
def test_every_way_to_start_a_process_is_seen(line: str) -> None:
    assert seen(line, STARTS_A_PROCESS)


@pytest.mark.parametrize("line", ["import os\nos.environ['A']", "from os import environ", "import os\nos.getenv('A')"])
def test_every_way_to_read_the_environment_is_seen(line: str) -> None:
    assert seen(line, READS_THE_ENVIRONMENT)


@pytest.mark.parametrize("line", [
    "import datetime\ndatetime.datetime.now()", "from datetime import datetime as d\nd.now()",
    "import time\ntime.time()", "from datetime import date\ndate.today()",
])  # fmt: skip
def test_every_way_to_ask_the_clock_is_seen(line: str) -> None:
    assert seen(line, ASKS_THE_CLOCK)


def seen(text: str, rule: re.Pattern[str]) -> bool:
    return any(rule.match(said) for _, said in names_in(ast.parse(text)))


def test_the_doors_that_are_named_here_are_in_the_house() -> None:
    assert all((ROOT / door).exists() for door in (*MAY_START, *MAY_BECOME, *MAY_READ))
