"""What one search or one click may hold: results of any engine, and names of a length that a
database can index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

from assay.core.errors import InputError
from assay.store.records import Feedback, SearchLog, Shown

# nobody looks further, and a caller that passes a million ids must not pay for them
MAX_SHOWN = 200
MAX_NAME = 500  # characters of an id or a name: a database's index takes no more
NAMES = ("id", "corpus", "practice_area", "engine", "case_id", "by")  # of a search


def check_names(record: SearchLog | Feedback) -> None:
    """An id or a name that no database indexes is refused, never cut: two ids could become one."""
    if isinstance(record, Feedback):
        for name in ("log_id", "doc_id", "by"):
            check_name(name, getattr(record, name))
        return
    for name in NAMES:
        check_name(name, getattr(record, name))
    for result in record.results:
        check_name("doc_id", result.doc_id)


def check_name(name: str, value: str) -> None:
    if len(value) > MAX_NAME:
        raise InputError(f"{name} has {len(value):,} characters, at most {MAX_NAME} are taken")


def shown(results: Sequence[Any]) -> tuple[Shown, ...]:
    """Results of any engine, in rank order. Only a list or tuple is read: an iterator would be used
    up."""
    if not isinstance(results, list | tuple):
        raise TypeError(f"results are {type(results).__name__}, expected a list")
    return tuple(_shown(item, rank) for rank, item in enumerate(results[:MAX_SHOWN], start=1))


def _shown(item: Any, rank: int) -> Shown:
    if isinstance(item, str | UUID):
        return Shown(str(item), rank)
    if isinstance(item, tuple) and len(item) == 2:
        return Shown(str(item[0]), rank, number(item[1]))
    if isinstance(item, Mapping):
        for key in ("doc_id", "id", "_id", "case_law_id"):
            if key in item:
                return Shown(str(item[key]), rank, number(item.get("score")))
    elif hasattr(item, "doc_id"):
        return Shown(str(item.doc_id), rank, number(getattr(item, "score", None)))
    raise TypeError(f"no document id in {type(item).__name__} at rank {rank}")


def number(value: Any) -> float | None:
    """Also of numpy's kinds, and of a database's decimals."""
    return float(value) if isinstance(value, int | float | Real | Decimal) else None
