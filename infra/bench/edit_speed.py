"""What the edit engine costs against bare string work on the same file, as ratios of one run."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from worker.repo.difference import unified_diff
from worker.repo.edits import Overlay
from worker.repo.fence import Fence
from worker.repo.textedits import replaced
from worker.repo.tree import Entry

ROUNDS = 7
EDITS = 1_000
_PATH = "large.py"


@dataclass(frozen=True, slots=True)
class _OneFile:
    content: bytes

    def entry(self, path: str) -> Entry | None:
        return Entry(path, "100644", len(self.content), "0" * 40) if path == _PATH else None

    def is_folder(self, path: str) -> bool:
        return False

    def paths(self) -> tuple[str, ...]:
        return (_PATH,)

    def read(self, path: str) -> bytes:
        return self.content


def speed() -> dict[str, Any]:
    """One edit in a file of 1 MB, and 1,000 edits in one of 100 kB."""
    large, small = _file(1_000_000), _file(100_000)
    middle = large.count(b"\ndef ") // 2
    old, new = _body(middle), _body(middle).replace("total", "sum")
    shifted = [text.replace("\n    ", "\n        ").replace("    ", "        ", 1) for text in (old, new)]
    bare = _seconds(lambda: _bare(large, old, new))
    every = small.count(b"\ndef ") - 1
    few = _seconds(lambda: _bare_many(small, every), 1)
    return {
        "1 MB, bare seconds": round(bare, 5),
        "1 MB, exact": round(_seconds(lambda: replaced(_PATH, large, old, new)) / bare, 1),
        "1 MB, another indent": round(_seconds(lambda: replaced(_PATH, large, *shifted)) / bare, 1),
        "1 MB, refused with the closest lines": round(
            _seconds(lambda: replaced(_PATH, large, old.replace("value", "vale"), new), 3) / bare, 1
        ),
        "1,000 edits, bare seconds": round(few, 3),
        "1,000 edits": round(_seconds(lambda: _many(small, every), 1) / few, 1),
        "their difference": round(_seconds(lambda: _difference(small, every), 1) / few, 1),
    }


def _file(size: int) -> bytes:
    out: list[str] = ["import os\n"]
    length = 0
    number = 0
    while length < size:
        out.append(f"\n\ndef function_{number}(value):\n{_body(number)}")
        length += len(out[-1])
        number += 1
    return "".join(out).encode()


def _body(number: int) -> str:
    return (
        f"    total_{number} = value * {number} + len(str(value))\n"
        f"    if total_{number} > {number}:\n"
        f"        total_{number} -= {number}\n"
        f"    return total_{number}\n"
    )


def _bare(content: bytes, old: str, new: str) -> bytes:
    """What one does without knowing anything: the yardstick."""
    text = content.decode()
    assert text.count(old) == 1
    return text.replace(old, new).encode()


def _bare_many(content: bytes, functions: int) -> bytes:
    for number in range(EDITS):
        old, new = _pair(number, functions)
        content = _bare(content, old, new)
    return content


def _pair(number: int, functions: int) -> tuple[str, str]:
    """Every function has its turn, and then once more."""
    which, turn = number % functions, number // functions
    line = f"    return total_{which}"
    return f"{line}{' + 1' * turn}\n", f"{line}{' + 1' * (turn + 1)}\n"


def _many(content: bytes, functions: int) -> Overlay:
    overlay = Overlay(_OneFile(content))
    step = overlay.begin(Fence({_PATH: "change"}))
    for number in range(EDITS):
        step.replace(_PATH, *_pair(number, functions))
    step.keep()
    return overlay


def _difference(content: bytes, functions: int) -> str:
    overlay = _many(content, functions)
    return unified_diff(overlay.base, overlay.changes())


def _seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)
