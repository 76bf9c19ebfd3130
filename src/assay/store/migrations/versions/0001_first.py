"""Create the first tables: gold sets, judgments, runs, search logs and the audit trail."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

APPEND_ONLY = ("judgments", "audit_trail")


def upgrade() -> None:
    for create in (_logs, _feedback, _review, _history):
        create()
    for table in APPEND_ONLY:
        for statement in _refuse_change(table):
            op.execute(statement)


def downgrade() -> None:
    for table in (
        "audit_trail",
        "runs",
        "issued_ids",
        "review_items",
        "judgments",
        "relevance_feedback",
        "decision_citations",
        "decisions",
        "shown_results",
        "search_logs",
    ):
        op.drop_table(table)
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION assay_append_only()")


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _logs() -> None:
    op.create_table(
        "search_logs",
        sa.Column("id", sa.Text, primary_key=True),
        _moment("at"),
        *_texts("query", "corpus", "practice_area", "engine", "case_id", "by"),
        sa.Column("millis", sa.Float(53)),
        *_texts("error"),
    )
    op.create_index("search_logs_at", "search_logs", ["at"])
    op.create_index("search_logs_query", "search_logs", ["query", "corpus"])
    op.create_table(
        "shown_results",
        sa.Column(
            "log_id", sa.Text, sa.ForeignKey("search_logs.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("rank", sa.Integer, primary_key=True, autoincrement=False),
        *_texts("doc_id"),
        sa.Column("score", sa.Float(53)),
        sqlite_with_rowid=False,
    )
    op.create_index("shown_results_doc", "shown_results", ["doc_id", "log_id", "rank"])


def _feedback() -> None:
    op.create_table(
        "decisions",
        sa.Column("id", sa.Text, primary_key=True),
        _moment("at"),
        *_texts("case_id"),
        sa.Column("same_case", sa.Integer, nullable=False),
    )
    op.create_index("decisions_at", "decisions", ["at"])
    op.create_table(
        "decision_citations",
        sa.Column(
            "decision_id",
            sa.Text,
            sa.ForeignKey("decisions.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("doc_id", sa.Text, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("decision_citations_doc", "decision_citations", ["doc_id"])
    op.create_table(
        "relevance_feedback",
        *(
            sa.Column(name, sa.Text, primary_key=True)
            for name in ("log_id", "doc_id", "kind", "by")
        ),
        sa.Column("relevance_score", sa.Integer, nullable=False),
        _moment("at"),
        sa.Column("rank", sa.Integer),
        *_texts("decision_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("relevance_feedback_decision", "relevance_feedback", ["decision_id"])


def _review() -> None:
    op.create_table(
        "judgments",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("gold", "query_id", "doc_id"),
        sa.Column("grade", sa.Integer, nullable=False),
        *_texts("judge"),
        _moment("at"),
        *_texts("rationale", "source", "rubric", "supersedes"),
    )
    op.create_index("judgments_query", "judgments", ["gold", "query_id"])
    op.create_table(
        "review_items",
        sa.Column("id", sa.Text, primary_key=True),
        *_texts("gold", "kind", "key", "ref", "query"),
        _moment("created_at"),
        *_texts("corpus", "practice_area", "doc_ids"),
        sa.Column("grade", sa.Integer),
        *_texts("rationale", "suggested_by", "state"),
        _moment("decided_at", nullable=True),
        *_texts("decided_by", "reason"),
        sa.UniqueConstraint("gold", "kind", "key", name="review_items_identity"),
    )
    op.create_index("review_items_state", "review_items", ["state", "created_at"])
    op.create_table(
        "issued_ids",
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("gold", "key")),
        *_texts("id"),
        sqlite_with_rowid=False,
    )


def _history() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        _moment("at"),
        *_texts("engine", "gold", "gold_fingerprint", "corpus_fingerprint", "results"),
    )
    op.create_index("runs_at", "runs", ["at"])
    op.create_table(
        "audit_trail",
        sa.Column("id", sa.Text, primary_key=True),
        _moment("at"),
        *_texts("by", "action", "subject", "reason"),
        sa.Column("before", sa.Text),
        sa.Column("after", sa.Text),
    )
    op.create_index("audit_trail_subject", "audit_trail", ["subject"])


def _refuse_change(table: str) -> Iterator[str]:
    yield from _TRIGGERS[op.get_context().dialect.name](table)


def _sqlite_triggers(table: str) -> Iterator[str]:
    for event in ("UPDATE", "DELETE"):
        yield (
            f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )


def _postgres_triggers(table: str) -> Iterator[str]:
    yield """CREATE OR REPLACE FUNCTION assay_append_only() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"""
    yield (
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION assay_append_only()"
    )


_TRIGGERS: dict[str, Callable[[str], Iterator[str]]] = {
    "sqlite": _sqlite_triggers,
    "postgresql": _postgres_triggers,
}
