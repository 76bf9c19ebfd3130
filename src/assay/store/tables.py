"""The tables of the workspace database. Migrations create them; a test compares the two on both
databases.

To change a table, change four things: the table here; a new file in `store/migrations/versions`
with the next number and a `downgrade`; the record in `store/records.py`; and the methods that read
and write it, in `store/logs.py`, `store/store.py` or `store/accounts.py`. Never edit a migration
that was released, because stores have run it. `assay.testing.check_store` checks what a store
promises."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)


def clean(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


class CleanText(TypeDecorator[str]):
    """Text that both databases can hold: PostgreSQL takes neither NUL nor half of a surrogate
    pair."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean(value)


class UtcTime(TypeDecorator[datetime]):
    """An aware time. PostgreSQL has a type for it; SQLite gets UTC as text, which sorts the same
    way."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonText(TypeDecorator[Any]):
    """A small JSON value as text: the same bytes in both databases, read back with the project's
    own reader."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else msgspec.json.decode(value)


class FiniteNumber(TypeDecorator[float]):
    """A finite number or nothing: SQLite turns NaN into NULL by itself, so both do."""

    impl = Float(53)
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        return finite(value)


metadata = MetaData()

# Tables that migrations 0001 to 0003 made for the review queue and votes. The log beside each gold
# set replaced them. They stay as they are, because the upgrade of a project reads them
# (`gold/upgrade.py`); nothing writes them any more.
LEGACY = ("gold_sets", "issued_ids", "review_items", "votes")
# How the actions of earlier versions on gold sets began in the audit trail.
ABOUT_SETS = ("review.", "gold.", "flag query", "unflag query")


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, CleanText, nullable=False, **options)


def _texts(*names: str) -> list[Column[str]]:
    return [_text(name) for name in names]


search_logs = Table(
    "search_logs",
    metadata,
    _text("id", primary_key=True),
    Column("at", UtcTime, nullable=False),
    *_texts("query", "corpus", "practice_area", "engine", "case_id", "by"),
    Column("millis", FiniteNumber),
    _text("error"),
    Index("search_logs_at", "at"),
    Index("search_logs_query", "query", "corpus"),
    Index("search_logs_case", "case_id"),
)

shown_results = Table(
    "shown_results",
    metadata,
    Column("log_id", CleanText, ForeignKey("search_logs.id", ondelete="CASCADE"), primary_key=True),
    Column("rank", Integer, primary_key=True, autoincrement=False),
    _text("doc_id"),
    Column("score", FiniteNumber),
    Index("shown_results_doc", "doc_id", "log_id", "rank"),
    sqlite_with_rowid=False,
)

decisions = Table(
    "decisions",
    metadata,
    _text("id", primary_key=True),
    Column("at", UtcTime, nullable=False),
    _text("case_id"),
    Column("same_case", Integer, nullable=False),
    Index("decisions_at", "at"),
    Index("decisions_case", "case_id", "at"),
)

decision_citations = Table(
    "decision_citations",
    metadata,
    Column(
        "decision_id", CleanText, ForeignKey("decisions.id", ondelete="CASCADE"), primary_key=True
    ),
    _text("doc_id", primary_key=True),
    Index("decision_citations_doc", "doc_id"),
    sqlite_with_rowid=False,
)

# No foreign key to the log: a click may arrive before the search it belongs to, from another
# process.
relevance_feedback = Table(
    "relevance_feedback",
    metadata,
    _text("log_id", primary_key=True),
    _text("doc_id", primary_key=True),
    _text("kind", primary_key=True),
    _text("by", primary_key=True),
    Column("relevance_score", Integer, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("rank", Integer),
    _text("decision_id"),
    Index("relevance_feedback_decision", "decision_id"),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    _text("id", primary_key=True),
    Column("at", UtcTime, nullable=False),
    *_texts("engine", "gold", "gold_fingerprint", "corpus_fingerprint"),
    Column("results", JsonText, nullable=False),
    Column("summary", JsonText),
    Column("verdict", JsonText),
    Column("asked", CleanText),
    Index("runs_at", "at"),
)

audit_trail = Table(
    "audit_trail",
    metadata,
    _text("id", primary_key=True),
    Column("at", UtcTime, nullable=False),
    *_texts("by", "action", "subject", "reason"),
    Column("before", JsonText),
    Column("after", JsonText),
    Index("audit_trail_subject", "subject"),
)

# People. `key` is the name as it is compared; of sessions, invitations and keys a digest is kept.
users = Table(
    "users",
    metadata,
    _text("key", primary_key=True),
    *_texts("name", "role", "password"),
    Column("active", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    _text("created_by"),
)

sessions = Table(
    "sessions",
    metadata,
    _text("id", primary_key=True),
    _text("user_key"),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    _text("agent"),
    Index("sessions_user", "user_key"),
)

invitations = Table(
    "invitations",
    metadata,
    _text("id", primary_key=True),
    *_texts("kind", "name", "role", "by"),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("ended_at", UtcTime),
)

service_keys = Table(
    "service_keys",
    metadata,
    _text("id", primary_key=True),
    *_texts("name", "kind", "by"),
    Column("created_at", UtcTime, nullable=False),
    Column("ended_at", UtcTime),
)

server_secrets = Table("server_secrets", metadata, _text("name", primary_key=True), _text("value"))
