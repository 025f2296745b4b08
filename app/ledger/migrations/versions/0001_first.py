"""The first ledger: deliveries, repositories, runs, facts, effects, plans, artifacts, spans, mints, keys."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
oldest = "0001"

# 64 bits on both: SQLite makes ids by itself only for its own INTEGER.
_BIG_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """From nothing."""
    _what_comes_in()
    _runs()
    _facts_and_effects()
    _what_is_kept()


def _what_comes_in() -> None:
    op.create_table(
        "deliveries",
        sa.Column("guid", sa.Text, primary_key=True, comment="X-GitHub-Delivery; the same again for a redelivery"),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("received_at", _MOMENT, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False, comment="what came of it, in words"),
        sa.Column("size", sa.Integer, nullable=False, comment="bytes of the body as GitHub sent it"),
        sa.Column("body", sa.LargeBinary, nullable=False, comment="the body as GitHub sent it, zstd"),
    )
    op.create_index("ix_deliveries_received_at", "deliveries", ["received_at"])
    op.create_table(
        "repositories",
        sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("full_name", sa.Text, nullable=False, comment="today's name; the id stays"),
        sa.Column("installation_id", sa.BigInteger, nullable=False),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("installation_id", sa.BigInteger, nullable=False),
        sa.Column("repository_id", sa.BigInteger, nullable=False),
        sa.Column("repository", sa.Text, nullable=False, comment="its name when the label was set"),
        sa.Column("issue_number", sa.BigInteger, nullable=False),
        sa.Column("issue_title", sa.Text, nullable=False, comment="as it stood when the label was set"),
        sa.Column("opened_at", _MOMENT, nullable=False),
        sa.Column("updated_at", _MOMENT, nullable=False, comment="cached: when the last fact happened"),
        sa.Column(
            "state", sa.String(20), nullable=False, comment="cached: the name of the state; the truth is the fold"
        ),
        sa.Column("open", sa.Boolean, nullable=False, comment="cached: whether the run goes on"),
        sa.Column("pull_number", sa.BigInteger, comment="cached: the number of the pull request that was opened"),
        sa.Column("deadline", _MOMENT, comment="cached: when what the run waits for is over"),
    )
    op.create_index("one_open_run", "runs", ["repository_id", "issue_number"], unique=True, **_where("open"))
    op.create_index("runs_by_pull", "runs", ["repository_id", "pull_number"])
    op.create_index("runs_by_installation", "runs", ["installation_id"])
    op.create_index("runs_by_age", "runs", ["opened_at", "id"])
    op.create_index("runs_by_deadline", "runs", ["deadline"], **_where("open"))


def _facts_and_effects() -> None:
    op.create_table(
        "facts",
        sa.Column("run_id", sa.String(40), sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False, comment="1, 2, 3 … without a gap"),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("delivery", sa.Text, comment="guid of the delivery that told it, if one did"),
        sa.Column("body", sa.Text, nullable=False, comment="the fact as JSON"),
    )
    op.create_table(
        "effects",
        sa.Column("id", _BIG_ID, primary_key=True),
        sa.Column("run_id", sa.String(40), sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("key", sa.Text, nullable=False, comment="nothing is owed twice"),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("belt", sa.String(20), nullable=False),
        sa.Column("body", sa.Text, nullable=False, comment="the effect as JSON"),
        sa.Column("owed_since", _MOMENT, nullable=False),
        sa.Column("available_at", _MOMENT, comment="not to be claimed before; empty: at once"),
        sa.Column(
            "fence", sa.BigInteger, nullable=False, comment="rises with every claim; only the newest holder may write"
        ),
        sa.Column("attempts", sa.Integer, nullable=False, comment="claims so far"),
        sa.Column(
            "postponements",
            sa.Integer,
            nullable=False,
            comment="claims that ended in waiting for something outside",
        ),
        sa.Column("lease_until", _MOMENT, comment="until when its holder may work undisturbed"),
        sa.Column("settled_at", _MOMENT),
        sa.Column("outcome", sa.Text, nullable=False, comment="what came of it; before that, why it waits"),
        sa.UniqueConstraint("run_id", "key", name="one_effect_per_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("effects_owed", "effects", ["belt", "available_at"], **_where("settled_at IS NULL"))


def _what_is_kept() -> None:
    op.create_table(
        "plans",
        sa.Column("nr", _BIG_ID, primary_key=True, comment="order of arrival"),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("run_id", sa.String(40), sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column(
            "body", sa.LargeBinary, nullable=False, comment="canonical JSON, byte for byte what the digest is of"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("plans_by_version", "plans", ["run_id", "version"])
    op.create_table(
        "artifacts",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("media", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False, comment="bytes before compression"),
        sa.Column("kept_since", _MOMENT, nullable=False, comment="by this machine's clock"),
        sa.Column("body", sa.LargeBinary, nullable=False, comment="zstd"),
    )
    op.create_table(
        "spans",
        sa.Column("id", _BIG_ID, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("belt", sa.String(20), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("began_at", _MOMENT, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False, comment="the span as JSON"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_spans_run_id", "spans", ["run_id"])
    op.create_table(
        "mints",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("minted_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("revoked_at", _MOMENT),
        sa.Column("refused", sa.Boolean, nullable=False),
        sa.Column("body", sa.Text, nullable=False, comment="what was minted as JSON; never the token"),
    )
    op.create_index("ix_mints_run_id", "mints", ["run_id"])
    op.create_index("mints_live", "mints", ["expires_at"], **_where("revoked_at IS NULL AND NOT refused"))
    op.create_table(
        "keys",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("secret", sa.LargeBinary, nullable=False),
    )


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
