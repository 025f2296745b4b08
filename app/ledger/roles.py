"""Database roles on PostgreSQL: each process may write what is its own to write, and nobody changes a fact.

The tables' owner is bound by none of it: it migrates, backs up, restores and prunes.
"""

import re

from app.core.recording import MINT, RECORDS, WEB
from app.ledger.limits import LIMIT
from app.ledger.money import MONEY
from app.ledger.schema import metadata

PREFIX = "countersign"

_EFFECTS = "fence, attempts, postponements, available_at, lease_until, settled_at, outcome"
_RUNS = "updated_at, state, open, pull_number, deadline, stirred_at"

_BELTS = (
    "INSERT ON facts, effects, plans, artifacts, spans",
    f"UPDATE ({_EFFECTS}) ON effects",
    f"UPDATE ({_RUNS}) ON runs",
    "UPDATE (kept_since, body) ON artifacts",
    "INSERT, DELETE ON answers",
    "INSERT, UPDATE ON rounds",
)

_WRITES: dict[str, tuple[str, ...]] = {
    WEB: (
        "INSERT ON deliveries, repositories, labels, runs, facts, effects, rounds",
        "UPDATE (outcome) ON deliveries",
        "UPDATE ON repositories, labels, rounds",
        "UPDATE (available_at) ON effects",
        f"UPDATE ({_RUNS}) ON runs",
    ),
    MINT: ("INSERT, UPDATE, DELETE ON mints", "INSERT, UPDATE ON missed, rounds, unheard"),
    "planner": _BELTS,
    "executor": _BELTS,
    "publisher": (
        *_BELTS,
        # A label that it read comes in as if it had been delivered. Where it is to read, the mint says.
        "INSERT ON deliveries, repositories, labels, runs",
        "UPDATE (outcome) ON deliveries",
        "UPDATE ON repositories, labels",
        "UPDATE (due_at), DELETE ON unheard",
        "SELECT, INSERT ON keys",
    ),
}


def roles_sql(prefix: str = PREFIX) -> str:
    """SQL for the owner of the tables to run, again after each migration: a role `PREFIX_PROCESS` for each process, to
    be granted to the account with which that process connects. Raises ValueError for a prefix that is no plain name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", prefix):
        raise ValueError("a prefix is a plain name in small letters")
    everything = ", ".join(table.name for table in metadata.sorted_tables if table.name != "keys")
    lines = ["BEGIN;", "ALTER TABLE facts ENABLE ROW LEVEL SECURITY;"]
    lines += ["DROP POLICY IF EXISTS all_read ON facts;", "CREATE POLICY all_read ON facts FOR SELECT USING (true);"]
    lines += ["ALTER TABLE rounds ENABLE ROW LEVEL SECURITY;", "DROP POLICY IF EXISTS all_read ON rounds;"]
    lines += ["CREATE POLICY all_read ON rounds FOR SELECT USING (true);"]
    for process, kinds in RECORDS.items():
        role = f"{prefix}_{process}"
        lines += [
            f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;",
            f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role};",
            f"GRANT SELECT ON {everything}, alembic_version TO {role};",
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};",
            *(f"GRANT {right} TO {role};" for right in _WRITES[process]),
            f"DROP POLICY IF EXISTS {process}_records ON facts;",
            f"DROP POLICY IF EXISTS {process}_rounds ON rounds;",
            f"CREATE POLICY {process}_rounds ON rounds TO {role} USING ({_rounds_of(process)});",
        ]
        if kinds:
            listed = ", ".join(f"'{kind}'" for kind in sorted(kinds))
            records = f"CREATE POLICY {process}_records ON facts FOR INSERT TO {role} WITH CHECK (kind IN ({listed}));"
            lines.append(records)
    return "\n".join((*lines, "COMMIT;", ""))


def _rounds_of(process: str) -> str:
    """A belt says how far an installation is, and one that talks to a model what a day has cost; it has no say in what
    is done again and again."""
    if process in (WEB, MINT):
        return "true"
    own = (LIMIT,) if process == "publisher" else (LIMIT, MONEY)
    return " OR ".join(f"starts_with(name, '{name}')" for name in own)
