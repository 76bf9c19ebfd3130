"""Statements that both databases spell in their own dialect, and rows of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from assay.store.records import Kept

T = TypeVar("T")
CHUNK = 5000  # below both databases' limits on parameters in one statement


def chunks(items: Sequence[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def insert_into(connection: Connection, table: Any) -> Any:
    """INSERT in the dialect of the connection, which can say what happens on a conflict."""
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)


def insert_new(connection: Connection, table: Any) -> Any:
    """INSERT that leaves existing rows alone."""
    return insert_into(connection, table).on_conflict_do_nothing()


def row_of(record: msgspec.Struct) -> Kept:
    return {name: getattr(record, name) for name in record.__struct_fields__}
