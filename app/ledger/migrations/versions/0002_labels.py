"""The labels that trigger, by their ids: a label that is renamed goes on doing what it did."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
oldest = "0002"

_NAME = "the name by which it triggers, whatever it is called today"


def upgrade() -> None:
    """Adds the table."""
    op.create_table(
        "labels",
        sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("label_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False, comment=_NAME),
    )
