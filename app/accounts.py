"""What was done, for those who look afterwards: a run's trace, and an audit log that can be held against itself."""

import argparse
import json
import sys
from pathlib import Path

from app.core.chain import Broken, Whole, chained, verified
from app.core.tree import drawn, told
from app.settings import environment, ledger_settings

NOT_FOUND = 1
BROKEN = 1
REFUSED = 2


def add_accounts(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The commands `trace` and `export`; each sets `do`, which answers with an exit code."""
    trace = commands.add_parser("trace", help="what was done for a run: calls, tools, checks, with time and cost")
    trace.add_argument("run")
    trace.add_argument("--json", action="store_true", help="the whole tree, for programs")
    trace.set_defaults(do=_trace)
    export = commands.add_parser("export", help="the audit log, as JSON Lines in a chain of hashes")
    export.add_argument("--after", type=Path, metavar="FILE", help="go on behind this log: only what it does not hold")
    export.add_argument("--verify", type=Path, metavar="FILE", help="say whether this log is whole, or where it breaks")
    export.set_defaults(do=_export)


def _trace(asked: argparse.Namespace) -> int:
    from app.ledger import open_ledger

    ledger = open_ledger(ledger_settings(environment()).url)
    spans = ledger.spans(asked.run)
    known = bool(spans) or ledger.run(asked.run) is not None
    ledger.close()
    if not known:
        sys.stderr.write(f"There is no run {asked.run!r}; `countersign runs` lists them.\n")
        return NOT_FOUND
    if asked.json:
        sys.stdout.write(json.dumps(told(asked.run, spans), indent=2) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in drawn(asked.run, spans))
    return 0


def _export(asked: argparse.Namespace) -> int:
    if asked.verify is not None:
        return _verified(asked.verify)
    behind = Whole() if asked.after is None else _read(asked.after)
    if not isinstance(behind, Whole):
        why = f"{asked.after} cannot be gone on with: {behind}"
        sys.stderr.write(f"{why}\n")
        return REFUSED
    from app.ledger import open_ledger

    ledger = open_ledger(ledger_settings(environment()).url)
    try:
        for line in chained(ledger.records(behind.ids), behind):
            sys.stdout.write(line.decode() + "\n")
    finally:
        ledger.close()
    return 0


def _verified(file: Path) -> int:
    found = _read(file)
    if isinstance(found, Whole):
        sys.stdout.write(f"{file} is whole: {found.lines} lines, the last one's hash is {found.last}.\n")
        return 0
    sys.stdout.write(f"{file} is broken at {found}\n" if isinstance(found, Broken) else f"{found}\n")
    return BROKEN


def _read(file: Path) -> Whole | Broken | str:
    try:
        with file.open("rb") as lines:
            return verified(lines)
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}."
