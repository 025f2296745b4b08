"""A folder of results: one file for each task that is done, and what they were made with."""

import json
import os
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from infra.eval.play import Result

MADE_WITH = "made_with.json"
LOST = "lost_usd"


class FolderUnusable(Exception):
    """Results cannot be kept in, or read from, a folder; the message says why."""


class Folder:
    """Results of one set-up. A second start finds what is done."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._tasks = place / "tasks"

    def begin(self, made_with: dict[str, str]) -> None:
        """The folder is there, for results of this set-up. Raises `FolderUnusable` where it holds those of another."""
        try:
            self._tasks.mkdir(parents=True, exist_ok=True)
            file = self.place / MADE_WITH
            known = json.loads(file.read_text("utf-8")) if file.exists() else made_with
        except (OSError, ValueError) as error:
            raise FolderUnusable(f"{self.place} cannot be used: {error}.") from error
        other = sorted(name for name in known | made_with if known.get(name) != made_with.get(name))
        if other:
            words = "; ".join(f"{name} was {known.get(name, '')!r}, now {made_with.get(name, '')!r}" for name in other)
            raise FolderUnusable(f"{self.place} holds results of another set-up ({words}). Take another folder.")
        _write(file, json.dumps(made_with, indent=1, sort_keys=True))

    def made_with(self) -> dict[str, str]:
        """What the results were made with. Raises `FolderUnusable` where the folder holds none."""
        try:
            told = json.loads((self.place / MADE_WITH).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise FolderUnusable(f"{self.place} holds no results of an evaluation: {error}.") from error
        return {str(name): str(value) for name, value in dict(told).items()}

    def keep(self, result: Result) -> None:
        """The result is kept, whole or not at all."""
        _write(self._tasks / f"{result.task}.json", result.model_dump_json(indent=1))

    def lose(self, usd: Decimal) -> None:
        """So much may have been spent on a task of which no result is there."""
        _write(self.place / LOST, str(self.lost() + usd))

    def lost(self) -> Decimal:
        """All that was spent without a result, at the most."""
        file = self.place / LOST
        return Decimal(file.read_text("utf-8").strip()) if file.exists() else Decimal(0)

    def results(self) -> dict[str, Result]:
        """What is done, by task. Raises `FolderUnusable` for a file that cannot be read."""
        found = {}
        for file in sorted(self._tasks.glob("*.json")):
            try:
                found[file.stem] = Result.model_validate_json(file.read_bytes())
            except (OSError, ValueError) as error:
                raise FolderUnusable(f"{file} cannot be read; remove it to have its task done again.") from error
        return found

    def leave(self, name: str, text: str) -> Path:
        """A file beside the results."""
        _write(self.place / name, text)
        return self.place / name


def spent_on(results: Iterable[Result]) -> Decimal:
    """What all of them cost."""
    return sum((Decimal(one.usd) for one in results), Decimal(0))


def _write(file: Path, text: str) -> None:
    half = file.with_name(f".{file.name}.half")
    half.write_text(text + "\n", "utf-8")
    os.replace(half, file)
