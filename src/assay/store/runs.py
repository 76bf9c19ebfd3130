"""The history of runs, each with its summary and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, select, update

from assay.store.database import insert_new, reading, row_of, writing
from assay.store.records import RunRecord
from assay.store.tables import runs


class Runs:
    """The methods of a store for runs. A run never changes; its summary and its verdict can be
    computed again and replaced."""

    _engine: Engine

    @writing
    def put_run(self, connection: Connection, run: RunRecord) -> None:
        """Keep a run. A run that is already there stays as it is."""
        connection.execute(insert_new(connection, runs), row_of(run))

    @reading
    def run(self, connection: Connection, run_id: str) -> RunRecord | None:
        """Return a run with its results."""
        row = connection.execute(select(runs).where(runs.c.id == run_id)).mappings().first()
        return None if row is None else _record(row)

    @reading
    def runs(
        self,
        connection: Connection,
        *,
        gold: str | Sequence[str] = "",
        engine: str = "",
        limit: int = 50,
        offset: int = 0,
    ) -> list[RunRecord]:
        """Return runs without their results, newest first: those on a gold set or on any of
        several names, and those of an engine."""
        query = select(*(column for column in runs.columns if column.name != "results"))
        if gold != "":
            query = query.where(runs.c.gold.in_([gold] if isinstance(gold, str) else gold))
        if engine:
            query = query.where(runs.c.engine == engine)
        query = query.order_by(runs.c.at.desc(), runs.c.id.desc()).limit(limit).offset(offset)
        return [_record(row) for row in connection.execute(query).mappings()]

    @reading
    def whole_runs(self, connection: Connection, run_ids: Sequence[str]) -> list[RunRecord]:
        """Return several runs with their results."""
        query = select(runs).where(runs.c.id.in_(run_ids))
        return [_record(row) for row in connection.execute(query).mappings()]

    @reading
    def run_golds(self, connection: Connection) -> list[str]:
        """Return the name of every gold set that has runs, in order."""
        return sorted(connection.execute(select(runs.c.gold).distinct()).scalars())

    @writing
    def keep_summaries(self, connection: Connection, records: Sequence[RunRecord]) -> None:
        """Keep the summary and the verdict of runs, with the digest of the gates and the baseline
        that the verdict answers."""
        names = ("summary", "verdict", "asked")
        kept = update(runs).where(runs.c.id == bindparam("run"))
        kept = kept.values({name: bindparam(f"new_{name}") for name in names})
        rows = [
            {"run": each.id} | {f"new_{name}": getattr(each, name) for name in names}
            for each in records
        ]
        if rows:
            connection.execute(kept, rows)


def _record(row: Any) -> RunRecord:
    return RunRecord(**{**row, "asked": row["asked"] or ""})
