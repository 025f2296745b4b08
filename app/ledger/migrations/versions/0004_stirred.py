"""When something last happened on a run's issue that is no fact of the run."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
oldest = "0004"

_WHEN = "when something last happened on its issue that is no fact of the run"


def upgrade() -> None:
    """Adds the column; for runs of before nothing is known to have happened."""
    op.add_column("runs", sa.Column("stirred_at", sa.DateTime(timezone=True), comment=_WHEN))
