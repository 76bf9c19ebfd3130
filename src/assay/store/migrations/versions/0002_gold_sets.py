"""Which gold set a name belongs to. Names that are in use and not listed go to the first set that
asks for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "gold_sets",
        sa.Column("identity", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.UniqueConstraint("name", name="gold_sets_name"),
    )


def downgrade() -> None:
    op.drop_table("gold_sets")
