"""Repositories in which a label may have been set of which nothing was delivered."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None
oldest = "0004"

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Adds the table; older code neither reads nor writes it."""
    op.create_table(
        "unheard",
        sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("installation_id", sa.BigInteger, nullable=False),
        sa.Column("full_name", sa.Text, nullable=False, comment="its name when the mint listed it"),
        sa.Column("since", _MOMENT, nullable=False, comment="what happened from then"),
        sa.Column("until", _MOMENT, nullable=False, comment="until then may have been told to nobody"),
        sa.Column("due_at", _MOMENT, nullable=False, comment="not to be read before"),
    )
