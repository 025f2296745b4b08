"""Deliveries that GitHub made in vain, and rounds: what is done again and again, and how far it came."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
oldest = "0003"

_MOMENT = sa.DateTime(timezone=True)
_BY_ATTEMPT = "the newest attempt that failed; by it one asks again"


def upgrade() -> None:
    """Adds the two tables."""
    op.create_table(
        "missed",
        sa.Column("guid", sa.Text, primary_key=True),
        sa.Column("attempt_id", sa.BigInteger, nullable=False, comment=_BY_ATTEMPT),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("failed_at", _MOMENT, nullable=False, comment="when that attempt was made, by GitHub's clock"),
        sa.Column("why", sa.Text, nullable=False, comment="how GitHub says that it failed"),
        sa.Column("asked", sa.Integer, nullable=False, comment="how often it was asked for"),
        sa.Column("asked_at", _MOMENT, comment="when that was last"),
        sa.Column("due_at", _MOMENT, nullable=False, comment="not to be asked for before"),
        sa.Column("settled_at", _MOMENT),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    still = sa.text("settled_at IS NULL")
    op.create_index("missed_open", "missed", ["due_at"], sqlite_where=still, postgresql_where=still)
    op.create_table(
        "rounds",
        sa.Column("name", sa.String(40), primary_key=True, comment="what is done again and again"),
        sa.Column("due_at", _MOMENT, nullable=False, comment="not before; one that is under way moves it ahead"),
        sa.Column("position", sa.Text, nullable=False, comment="how far it came, as JSON"),
        sa.Column("failures", sa.Integer, nullable=False, comment="of the last rounds, one after another"),
        sa.Column("trouble", sa.Text, nullable=False, comment="why the last one failed, if it did"),
    )
