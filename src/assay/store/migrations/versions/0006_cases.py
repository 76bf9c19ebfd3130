"""Decisions and searches are found by the case that they belong to."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_index("decisions_case", "decisions", ["case_id", "at"])
    op.create_index("search_logs_case", "search_logs", ["case_id"])


def downgrade() -> None:
    op.drop_index("search_logs_case", "search_logs")
    op.drop_index("decisions_case", "decisions")
