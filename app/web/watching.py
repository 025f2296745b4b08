"""What machines that watch are told: whether the process could do its work, and how much there is."""

from collections import Counter
from contextlib import closing
from datetime import UTC, datetime

from app.ledger import open_ledger
from app.ledger.errors import LedgerError
from app.ledger.store import Ledger


def ledger_trouble(url: str) -> str:
    """Why nothing could be recorded now, as a sentence; empty when the database has this version's schema and something
    was recorded in it."""
    try:
        with closing(open_ledger(url)) as ledger:
            ledger.prove(datetime.now(UTC))
    except LedgerError as trouble:
        return str(trouble)
    return ""


def numbers(ledger: Ledger, answered: Counter[tuple[int, str]]) -> str:
    """Prometheus' text format. Without a ledger its numbers are left out and `countersign_ledger_up` is 0."""
    try:
        counts = ledger.counts()
    except LedgerError:
        counts = {}
    lines = _head("countersign_ledger_up", "gauge", "Whether the ledger answered.")
    lines.append(f"countersign_ledger_up {int(bool(counts))}")
    lines += _head("countersign_answers_total", "counter", "Answers to deliveries since the process began.")
    for (status, because), count in sorted(answered.items()):
        lines.append(f'countersign_answers_total{{status="{status}",because="{because}"}} {count}')
    if ledger.tried_again:
        name = "countersign_ledger_tried_again_total"
        lines += _head(name, "counter", "Transactions that this process began again.")
    for reason, count in sorted(ledger.tried_again.items()):
        lines.append(f'countersign_ledger_tried_again_total{{reason="{reason}"}} {count}')
    for prefix, name, label, what in _GROUPS:
        found = {key.removeprefix(prefix): count for key, count in counts.items() if _belongs(key, prefix)}
        lines += _head(name, "gauge", what)
        lines += [f'{name}{{{label}="{key}"}} {count}' for key, count in sorted(found.items())]
    return "\n".join(lines) + "\n"


_GROUPS = (
    ("runs.", "countersign_runs", "state", "Runs by state."),
    ("owed.", "countersign_owed_effects", "belt", "Effects that are not settled, by belt."),
    ("missed.", "countersign_missed", "what", "What GitHub could not deliver and has not come yet."),
    ("", "countersign_rows", "table", "Rows of the ledger's tables."),
)


def _belongs(key: str, prefix: str) -> bool:
    return key.startswith(prefix) if prefix else "." not in key


def _head(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]
