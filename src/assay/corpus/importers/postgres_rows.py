"""Import the rows of a PostgreSQL query, one document for each row, with the column mapping of
`importers/tabular.py`.

The source is an address (`postgresql://user@host/database`) and the option `query` a SELECT. The
password may stand in the address (it is not written to the corpus), in `PGPASSWORD` or in a
password file."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from assay.core import conninfo
from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.redaction import without_password
from assay.corpus.importers import tabular
from assay.corpus.importers.kinds import Options, Placed, Problem, Unit
from assay.law.citation import PLAIN

SCHEME = PLAIN
VERSION = 1  # raised when the same source gives other documents
OPTIONS = ("query", "map", "language")
ROWS_AT_A_TIME = 2000  # fetched from the server, to bound memory (taste)


def units(source: str, options: Options) -> list[Unit]:
    if not options.get("query"):
        hint = "Give one: --option query='SELECT id, title, text FROM …'."
        raise InputError("no query to read rows from", hint=hint)
    conninfo.address_parts(source)
    return [Unit(path="query", mtime_ns=-1)]  # the rows may change at any time: always read


def read(source: str, unit: Unit, options: Options) -> Iterator[Placed | Problem]:
    psycopg = imported("psycopg", "reading PostgreSQL", "postgres")
    given = tabular.given_mapping(options)
    language = str(options.get("language") or "")
    mapping: dict[str, str] | None = None
    try:
        with (
            psycopg.connect(**conninfo.address_parts(source)) as connection,
            connection.cursor(name="assay_import") as cursor,
        ):
            cursor.itersize = ROWS_AT_A_TIME
            cursor.execute(str(options["query"]))  # type: ignore[call-overload, unused-ignore]
            columns = [column.name for column in cursor.description or ()]
            for number, values in enumerate(cursor, start=1):
                row = {name: plain(value) for name, value in zip(columns, values, strict=True)}
                mapping = mapping or tabular.field_mapping(columns, given)
                made = tabular.document(row, mapping, language, f"row {number}")
                yield made if isinstance(made, Problem) else (f"row {number}", made)
    except psycopg.Error as error:
        message = f"PostgreSQL: {without_password(str(error).strip())}"
        raise InputError(message, hint="Check the address and the query.") from error


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (uuid.UUID, datetime.timedelta)):
        return str(value)
    if isinstance(value, (bytes, memoryview)):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value
