"""People: accounts, their sessions, invitations, keys of services, and the server's own secret. Of
a session, an invitation and a key only a digest is kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("key", sa.Text, primary_key=True),
        *_texts("name", "role", "password"),
        sa.Column("active", sa.Integer, nullable=False),
        *_moments("created_at"),
        *_texts("created_by"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("user_key"),
        *_moments("created_at", "expires_at"),
        *_texts("agent"),
    )
    op.create_index("sessions_user", "sessions", ["user_key"])
    op.create_table(
        "invitations",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("kind", "name", "role", "by"),
        *_moments("created_at", "expires_at"),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "service_keys",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("name", "kind", "by"),
        *_moments("created_at"),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "server_secrets",
        sa.Column("name", sa.Text, primary_key=True),
        *_texts("value"),
    )


def downgrade() -> None:
    for table in ("server_secrets", "service_keys", "invitations", "sessions", "users"):
        op.drop_table(table)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _moments(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in names]
