"""The ledger's upkeep on the command line: a back-up, its way back, what goes by its age, and who may write what."""

import argparse
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.core.verdict import Refused
from app.settings import environment, ledger_settings, made_data_dir

REFUSED = 2
PLAIN_DAYS = 90
LONGEST_DAYS = 36_500


def add_upkeep(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The commands `backup`, `restore`, `prune` and `roles`; each sets `do`, which answers with an exit code."""
    backup = commands.add_parser("backup", help="the whole ledger, as it stands now, in one file")
    backup.add_argument("file", type=Path, help="a file that is not there yet; it will hold secrets")
    backup.set_defaults(do=_backed_up)
    restore = commands.add_parser("restore", help="a back-up into an empty database, SQLite or PostgreSQL")
    restore.add_argument("file", type=Path)
    restore.set_defaults(do=_restored)
    prune = commands.add_parser("prune", help="drop full outputs and bodies of deliveries by their age; facts stay")
    days = f"how old, 1 to {LONGEST_DAYS}; {PLAIN_DAYS} by default"
    prune.add_argument("--days", type=_days, default=PLAIN_DAYS, help=days)
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")
    prune.set_defaults(do=_pruned)
    roles = commands.add_parser("roles", help="SQL for PostgreSQL: a role for each process, which writes only its own")
    roles.set_defaults(do=_roles)


def _roles(asked: argparse.Namespace) -> int:
    from app.ledger.roles import roles_sql

    sys.stdout.write(roles_sql())
    return 0


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LONGEST_DAYS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {LONGEST_DAYS}")
    return int(text)


def _backed_up(asked: argparse.Namespace) -> int:
    from app.ledger.copying import back_up

    copied = back_up(ledger_settings(environment()).url, asked.file)
    if isinstance(copied, Refused):
        return _refused(copied)
    held = f"{copied.runs} runs with {copied.facts} facts and {copied.artifacts} outputs"
    _out(f"{asked.file} holds {held}, read again there. It also holds the key of our markers: keep it private.")
    return 0


def _restored(asked: argparse.Namespace) -> int:
    from app.ledger.copying import restore

    env = environment()
    if not env.get("DATABASE_URL", "").strip():
        made_data_dir(env)
    copied = restore(asked.file, ledger_settings(env).url, datetime.now(UTC))
    if isinstance(copied, Refused):
        return _refused(copied)
    until = f"{copied.newest:%Y-%m-%d %H:%M:%S} UTC" if copied.newest else "the beginning"
    _out(f"The ledger holds {copied.runs} runs with {copied.facts} facts, as told until {until}.")
    _out("Once the mint runs, it asks GitHub for what was delivered since.")
    return 0


def _pruned(asked: argparse.Namespace) -> int:
    from app.ledger import open_ledger

    ledger = open_ledger(ledger_settings(environment()).url)
    before = datetime.now(UTC) - timedelta(days=asked.days)
    found = ledger.prunable(before) if asked.dry_run else ledger.prune(before)
    ledger.close()
    did = "would go" if asked.dry_run else "are gone"
    _out(f"{len(found.artifacts)} outputs ({_size(found.artifact_bytes)}) older than {asked.days} days {did},")
    _out(f"and the bodies of {len(found.deliveries)} deliveries ({_size(found.delivery_bytes)}). Every fact stays.")
    return 0


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")


def _refused(refused: Refused) -> int:
    sys.stderr.write(f"{refused}\n")
    return REFUSED
