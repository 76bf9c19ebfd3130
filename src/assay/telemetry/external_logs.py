"""The search log and the feedback of a team that has tables of its own: `[logs]` in assay.toml
(docs/search-logs.md).

The tables are read where they are, each time, so that the labels are those of the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.store.records import CITATION_SCORE, Support
from assay.telemetry.external_table import (
    address_mistake,
    column_names,
    iter_rows,
    located_address,
    quoted,
    relation,
    time_of,
)
from assay.telemetry.records import FEEDBACK_NAMES, SEARCH_NAMES, score_of

SECONDS = 120  # for one statement on a whole log; taste
HINT = "See docs/search-logs.md."
NEEDED = ("id", "query", "log_id", "doc_id", "relevance_score")


class LogsSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the team's own log is: a table, or one SELECT, for searches and for feedback."""

    url: str
    searches: str = "search_logs"
    feedback: str = "search_relevance_feedback"


def source_mistake(source: LogsSource) -> tuple[str, str]:
    """The key that is wrong, and what is wrong with it; both empty if nothing is."""
    if wrong := address_mistake(source.url):
        return "url", wrong
    for key in ("searches", "feedback"):
        if not getattr(source, key).strip():
            return key, "give a table or a SELECT"
    return "", ""


def with_absolute_path(source: LogsSource, folder: Path) -> LogsSource:
    """The source with the path of an SQLite file made absolute, from the configuration's folder."""
    return msgspec.structs.replace(source, url=located_address(source.url, folder))


class _Relation:
    """A table or a SELECT of a source, and its columns under our names."""

    def __init__(self, source: LogsSource, key: str, names: Mapping[str, Sequence[str]]) -> None:
        given = getattr(source, key).strip()
        is_query = len(given.split()) > 1
        self.sql = relation("", given) if is_query else relation(given)
        self.where = f"logs.{key}"
        found = {name.lower(): name for name in column_names(source.url, self.sql, self.where)}
        self._columns = {
            ours: found[known[0]]
            for ours, theirs in names.items()
            if (known := [name for name in theirs if name in found])
        }
        for ours, theirs in names.items():
            if ours in NEEDED and ours not in self._columns:
                known_names = ", ".join(theirs)
                raise InputError(
                    f"no column {ours} (known names: {known_names}); found: {', '.join(found)}",
                    where=self.where,
                    hint=f"Give a SELECT that names it: SELECT … AS {ours} FROM …",
                )

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, table: str, name: str) -> str:
        """A column of ours, NULL if the relation has none. It is named with its table: SQLite takes
        an unknown bare name for a text."""
        return f"{table}.{quoted(self._columns[name])}" if self.has(name) else "NULL"


class ExternalLogs:
    """The logs of a source, counted as a store counts its own."""

    address = "assay.toml: logs"  # for messages

    def __init__(self, source: LogsSource) -> None:
        self._source = source
        self.read = 0  # rows of feedback with a score
        self.without_search = 0  # of these, rows that belong to no search

    def support(
        self, *, min_score: int = CITATION_SCORE, since: datetime | None = None
    ) -> list[Support]:
        """Join feedback with the searches and count it by spelling and document."""
        self.read = self.without_search = 0
        searches: dict[tuple[str, str, str, str, int], set[str]] = {}
        for log_id, doc_id, score, found, query, corpus, area, at in self._feedback(since):
            if score is None:
                continue
            self.read += 1
            value = score_of(score, f"logs.feedback: search {log_id}, document {doc_id}")
            if found is None:
                self.without_search += 1
                continue
            used = value >= min_score or (value == 0 and min_score < CITATION_SCORE)
            made = time_of(at) if since is not None else None
            if not used or (since is not None and (made is None or made < since)):
                continue
            key = (_text(query), _text(corpus).strip(), _text(area), _text(doc_id), value)
            searches.setdefault(key, set()).add(log_id)
        return [
            Support(
                query=query,
                corpus=corpus,
                practice_area=area,
                doc_id=doc_id,
                kind="score",
                relevance_score=score,
                rank=None,
                searches=len(ids),
            )
            for (query, corpus, area, doc_id, score), ids in searches.items()
        ]

    def _feedback(self, since: datetime | None) -> Iterator[tuple[Any, ...]]:
        source = self._source
        searches = _Relation(source, "searches", SEARCH_NAMES)
        given = _Relation(source, "feedback", FEEDBACK_NAMES)
        if since is not None and not searches.has("at"):
            raise InputError(
                "the searches have no time, but only recent ones were requested",
                where=searches.where,
                hint="Give a SELECT that names it: SELECT … AS at FROM …",
            )
        log_id, search_id = given.column("f", "log_id"), searches.column("s", "id")
        columns = [f"CAST({log_id} AS TEXT)", f"CAST({given.column('f', 'doc_id')} AS TEXT)"]
        columns += [given.column("f", "relevance_score"), search_id]
        columns += [searches.column("s", n) for n in ("query", "corpus", "practice_area", "at")]
        statement = (
            f"SELECT {', '.join(columns)} FROM {given.sql} AS f LEFT JOIN {searches.sql} AS s "
            f"ON CAST({search_id} AS TEXT) = CAST({log_id} AS TEXT)"
        )
        return iter_rows(source.url, statement, "logs", HINT, seconds=SECONDS)

    def showings(
        self, queries: Sequence[str], *, since: datetime | None = None
    ) -> dict[tuple[str, str, str], int]:
        """How often each document was shown, which these tables do not say."""
        return {}

    def query_counts(self) -> dict[tuple[str, str], int]:
        """Count the searches for each spelling: (query, corpus) -> searches."""
        searches = _Relation(self._source, "searches", SEARCH_NAMES)
        columns = ", ".join(searches.column("s", name) for name in ("query", "corpus"))
        statement = f"SELECT {columns} FROM {searches.sql} AS s"
        rows = iter_rows(self._source.url, statement, "logs", HINT, seconds=SECONDS)
        return Counter((_text(query), _text(corpus)) for query, corpus in rows)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
