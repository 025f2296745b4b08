"""A worker of the product that only writes down what it hears, in a process of its own; and beat."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.belts import Belt
from app.settings import QueueSettings

SWEEP_SECONDS = 0.3
EARS = 2
"""Threads that hear."""
TAKES_A_WHILE = 999
"""The effect that is at work for two seconds."""

# Hears one belt's bells and writes down what it heard; "beat" rings instead.
EAR = """
import json, logging, sys, time
from pathlib import Path
from app.core.belts import Belt
from app.queue import SWEEP, WORK, make_celery, ring_sweeps
from app.queue.listening import Ears, listen
from app.settings import QueueSettings

broker, folder, role, heard, sweeps, deaf = sys.argv[1:]
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
celery = make_celery(QueueSettings(broker, Path(folder), float(sweeps)))

def hear(name, argument):
    with open(heard, "a") as file:
        file.write(json.dumps([name, argument]) + chr(10))
    if argument == 999:
        time.sleep(2)

if role == "beat":
    ring_sweeps(celery)
else:
    raise SystemExit(
        listen(
            celery,
            Ears(
                belt=Belt(role),
                threads=2,
                work=lambda argument: hear(WORK, argument),
                sweep=lambda name: hear(SWEEP, name),
                stopping=lambda: hear("stop", ""),
                deaf_seconds=float(deaf),
            ),
        )
    )
"""


@dataclass(frozen=True)
class Owed:
    """What is rung for."""

    belt: Belt
    effect_id: int


@dataclass
class Ear:
    """A process that hears."""

    process: subprocess.Popen[bytes]
    notes: Path
    log: Path

    def heard(self) -> list[list[object]]:
        """What it heard so far."""
        return [json.loads(line) for line in self.notes.read_text().splitlines()]

    def works(self) -> list[object]:
        """The effects for which it was rung, in order."""
        return [argument for name, argument in self.heard() if name == "countersign.work"]


@contextmanager
def ear(settings: QueueSettings, role: str, deaf_seconds: float = 60.0) -> Iterator[Ear]:
    """A worker of a belt, or beat."""
    folder = settings.data_dir
    folder.mkdir(exist_ok=True)
    notes, log = (folder / f"{what}-{role}-{time.monotonic_ns()}" for what in ("heard", "log"))
    notes.touch()
    words = [settings.broker_url, str(folder), role, str(notes), str(settings.sweep_seconds), str(deaf_seconds)]
    with log.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-c", EAR, *words],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd()},
            stdout=told,
            stderr=told,
        )
    try:
        yield Ear(process, notes, log)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
