"""`make bench-distill`: facts that a distilled view keeps, of logs whose facts are known, and the speed, as JSON.

A folder holds `NAME.log` and `NAME.keep.json` (`facts`, each with the spellings of which one must be in the view).
A fact counts as kept when one of its spellings is there after colours are removed and blanks folded.
"""

import argparse
import json
import re
import resource
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.evidence.distill import distill, distill_stream, plain_output

LIMITS = (2_000, 4_000, 10_000)


@dataclass(frozen=True)
class Log:
    """A raw output and the facts in it."""

    name: str
    text: str
    facts: tuple[tuple[str, ...], ...]

    @property
    def family(self) -> str:
        return self.name.split("_")[1] if self.name.startswith("own_") else self.name.split("_")[0]


def logs_in(folder: Path) -> list[Log]:
    """All logs of the folder, by name."""
    found = []
    for keep in sorted(folder.glob("*.keep.json")):
        name = keep.name.removesuffix(".keep.json")
        facts = tuple(
            tuple(_folded(one) for one in fact["any"]) for fact in json.loads(keep.read_text("utf-8"))["facts"]
        )
        found.append(Log(name, (folder / f"{name}.log").read_text("utf-8", "replace"), facts))
    return found


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", plain_output(text)).strip()


def kept(log: Log, view: str) -> list[bool]:
    """Which facts the view holds."""
    folded = _folded(view)
    return [any(one in folded for one in fact) for fact in log.facts]


def head_and_tail(text: str, limit: int) -> str:
    """What one does without knowing anything: the yardstick."""
    plain = plain_output(text)
    return plain if len(plain) <= limit else plain[: limit // 2] + "\n…\n" + plain[-limit // 2 :]


def shares(logs: Iterable[Log], views: Iterable[str]) -> dict[str, float]:
    """Facts kept in percent: the mean over logs, and over all facts; and the logs of which nothing was kept."""
    found = [kept(log, view) for log, view in zip(logs, views, strict=True)]
    if not found:
        return {}
    return {
        "mean of logs": round(100 * statistics.mean(sum(each) / len(each) for each in found), 1),
        "of all facts": round(100 * sum(map(sum, found)) / sum(map(len, found)), 1),
        "nothing kept": sum(not any(each) for each in found),
    }


def facts_kept(logs: list[Log]) -> dict[str, Any]:
    """Shares at each limit, over all, by half (every other log) and by family."""
    told: dict[str, Any] = {}
    for limit in LIMITS:
        views = {log.name: distill("", log.text, limit).text for log in logs}
        too_long = [name for name, view in views.items() if len(view) > limit]
        parts = {"all": logs, "even half": logs[::2], "odd half": logs[1::2]}
        parts |= {
            family: [log for log in logs if log.family == family] for family in sorted({log.family for log in logs})
        }
        told[f"{limit:,}"] = {
            "too long": too_long,
            "head and tail": shares(logs, (head_and_tail(log.text, limit) for log in logs)),
            **{part: shares(some, (views[log.name] for log in some)) for part, some in parts.items()},
        }
    return told


def speed(logs: list[Log], megabytes: int) -> dict[str, Any]:
    """MB per second of processor time over all logs in turn, and over the largest again and again; memory grown."""
    texts = [log.text for log in logs]
    size = sum(len(text.encode()) for text in texts)
    began = time.process_time()
    for text in texts:
        distill("", text, 4_000)
    once = time.process_time() - began
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    distill_stream(_stream(max(texts, key=len).encode(), megabytes * 1_000_000), 4_000)
    streamed = time.process_time() - began
    return {
        "MB per CPU second": round(size / once / 1e6, 1),
        "streamed MB": megabytes,
        "streamed MB per CPU second": round(megabytes / streamed, 1),
        "memory grew by MB": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, 1),
    }


def _stream(piece: bytes, size: int) -> Iterator[bytes]:
    for _ in range(size // len(piece) + 1):
        yield piece


def missed(logs: list[Log], limit: int) -> dict[str, list[str]]:
    """The facts that a view of this size does not hold, by log."""
    told = {}
    for log in logs:
        found = kept(log, distill("", log.text, limit).text)
        lost = [fact[0] for fact, there in zip(log.facts, found, strict=True) if not there]
        if lost:
            told[f"{log.name} {len(log.facts) - len(lost)}/{len(log.facts)}"] = lost
    return told


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench-distill", description=__doc__)
    parser.add_argument("logs", type=Path, help="the folder with NAME.log and NAME.keep.json")
    parser.add_argument("--megabytes", type=int, default=100, help="size of the stream whose speed is measured")
    parser.add_argument("--missed", type=int, metavar="CHARS", help="only tell which facts a view of this size loses")
    asked = parser.parse_args(words)
    logs = logs_in(asked.logs)
    if not logs:
        print(f"There are no logs in {asked.logs}.", file=sys.stderr)
        return 1
    told = (
        missed(logs, asked.missed)
        if asked.missed
        else {
            "facts kept": facts_kept(logs),
            "speed": speed(logs, asked.megabytes),
        }
    )
    print(json.dumps(told, indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
