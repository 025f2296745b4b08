"""Indexes by which lists of runs are walked: by state, by repository, and those that go on."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
oldest = "0004"


def upgrade() -> None:
    """Adds the indexes; no row changes."""
    op.create_index("runs_by_state", "runs", ["state", "opened_at", "id"])
    op.create_index("runs_by_repository", "runs", ["repository_id", "opened_at", "id"])
    going_on = sa.text("open")
    op.create_index(
        "runs_open_by_age", "runs", ["opened_at", "id"], sqlite_where=going_on, postgresql_where=going_on
    )
