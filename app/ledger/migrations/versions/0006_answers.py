"""What models answered in the doing of an effect, until it is settled."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None
oldest = "0004"


def upgrade() -> None:
    """Adds the table; older code neither reads nor writes it."""
    op.create_table(
        "answers",
        sa.Column("effect_id", sa.BigInteger, sa.ForeignKey("effects.id"), primary_key=True, autoincrement=False),
        sa.Column("question", sa.String(64), primary_key=True, comment="SHA-256 of what was asked"),
        sa.Column("nth", sa.Integer, primary_key=True, autoincrement=False, comment="0, 1, 2 … of one attempt"),
        sa.Column(
            "body",
            sa.LargeBinary,
            nullable=False,
            comment="the answer as JSON, zstd; gone once the effect is settled",
        ),
    )
