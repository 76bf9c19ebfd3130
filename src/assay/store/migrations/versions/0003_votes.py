"""Votes as they stand in the files beside the sets: a vote may be without a grade, and says whether
a person or a machine gave it, what was read, and how long it took. The table `judgments` becomes
`votes`; what it said by itself for a judge who wrote nothing is no rationale."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

SAID_BY_ITSELF = ("accepted", "not accepted", "read and approved")
SHARED = ("id", "gold", "query_id", "doc_id", "grade", "judge", "rationale", "source", "rubric")


def upgrade() -> None:
    votes = op.create_table(
        "votes",
        sa.Column("gold", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("query_id", "doc_id"),
        sa.Column("grade", sa.Integer),
        *_texts("judge", "kind", "at", "rationale", "rubric", "document"),
        sa.Column("seconds", sa.Float(53)),
        *_texts("supersedes", "source"),
    )
    op.create_index("votes_query", "votes", ["gold", "query_id"])
    rows = [
        {
            **{name: row[name] for name in (*SHARED, "supersedes")},
            "rationale": "" if row["rationale"] in SAID_BY_ITSELF else row["rationale"],
            "kind": "human",
            "at": _utc(row["at"]),
            "document": "",
            "seconds": None,
        }
        for row in op.get_bind().execute(sa.select(_judgments())).mappings()
    ]
    op.bulk_insert(votes, rows)
    op.drop_table("judgments")
    for statement in _refuse_change("votes"):
        op.execute(statement)


def downgrade() -> None:
    votes = sa.table("votes", *(sa.column(name) for name in (*SHARED, "at", "supersedes")))
    judgments = op.create_table(
        "judgments",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("gold", "query_id", "doc_id"),
        sa.Column("grade", sa.Integer, nullable=False),
        *_texts("judge"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        *_texts("rationale", "source", "rubric", "supersedes"),
    )
    op.create_index("judgments_query", "judgments", ["gold", "query_id"])
    graded = sa.select(votes).where(votes.c.grade.is_not(None))
    rows = [{**row, "at": _moment(row["at"])} for row in op.get_bind().execute(graded).mappings()]
    op.bulk_insert(judgments, list({row["id"]: row for row in rows}.values()))
    op.drop_table("votes")
    for statement in _refuse_change("judgments"):
        op.execute(statement)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _judgments() -> sa.TableClause:
    return sa.table(
        "judgments",
        *(sa.column(name) for name in (*SHARED, "supersedes")),
        sa.column("at", sa.DateTime(timezone=True)),
    )


def _utc(at: object) -> str:
    """SQLite has no time zones: its times are in UTC."""
    assert isinstance(at, datetime)
    moment = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return moment.isoformat(timespec="seconds")


def _moment(at: str) -> datetime:
    given = datetime.fromisoformat(at or "1970-01-01")
    return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)


def _refuse_change(table: str) -> Iterator[str]:
    if op.get_context().dialect.name == "postgresql":  # the function is there since 0001
        yield (
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION assay_append_only()"
        )
        return
    for event in ("UPDATE", "DELETE"):
        yield (
            f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )
