"""Searches, clicks, votes and decisions as other programs send them: JSON objects, over HTTP or in
files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from assay.core.errors import InputError
from assay.store.records import CLICK_SCORE, VOTE_SCORE, Decision, Feedback, SearchLog
from assay.telemetry.feedback import decision_from, moment
from assay.telemetry.recorder import check_name, check_names, new_id, shown


class SentSearch(msgspec.Struct, kw_only=True):
    query: str
    at: str = ""
    id: str = ""
    results: list[Any] = []
    corpus: str = ""
    practice_area: str = ""
    engine: str = ""
    case_id: str = ""
    by: str = ""
    millis: float | None = None
    error: str = ""


class SentDecision(msgspec.Struct, kw_only=True):
    id: str
    at: str
    cites: list[str] = []
    text: str = ""
    case_id: str = ""


class SentFeedback(msgspec.Struct, kw_only=True):
    log_id: Annotated[str, msgspec.Meta(min_length=1)]
    doc_id: Annotated[str, msgspec.Meta(min_length=1)]
    kind: Literal["click", "vote"]
    relevant: bool = True
    rank: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    by: str = ""
    at: str = ""


@contextmanager
def _errors_at(where: str) -> Iterator[None]:
    """Add the place of a row to errors about it."""
    try:
        yield
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(str(error), where=where) from error
    except InputError as error:
        raise InputError(error.message, where=where, hint=error.hint) from error


def _convert_row(row: Any, kind: Any, where: str) -> Any:
    with _errors_at(where):
        return msgspec.convert(row, kind)


def search_from(row: Any, where: str = "") -> SearchLog:
    """A search as another program sends it. An id makes sending it twice harmless."""
    sent: SentSearch = _convert_row(row, SentSearch, where)
    text = {
        name: getattr(sent, name)
        for name in ("corpus", "practice_area", "engine", "case_id", "by", "error")
    }
    with _errors_at(where):
        search = SearchLog(
            id=sent.id or new_id(),
            at=moment(sent.at) if sent.at else datetime.now(UTC),
            query=sent.query,
            millis=sent.millis,
            results=shown(sent.results),
            **text,
        )
        check_names(search)
    return search


def logged_search(row: Any, where: str) -> SearchLog:
    """A search from a file of old ones: it says when it was made, and without an id its content is
    its id."""
    sent: SentSearch = _convert_row(row, SentSearch, where)
    if not sent.at:
        raise InputError(
            "a logged search says when it was made",
            where=where,
            hint='Add "at", as 2026-05-31T12:00:00Z.',
        )
    content = hashlib.sha256(msgspec.json.encode(row, order="deterministic")).hexdigest()[:24]
    return msgspec.structs.replace(search_from(row, where), id=sent.id or content)


def feedback_from(row: Any, where: str, now: datetime) -> Feedback:
    sent: SentFeedback = _convert_row(row, SentFeedback, where)
    score = CLICK_SCORE if sent.kind == "click" else VOTE_SCORE if sent.relevant else 0
    with _errors_at(where):
        given = Feedback(
            log_id=sent.log_id,
            doc_id=sent.doc_id,
            kind=sent.kind,
            relevance_score=score,
            rank=sent.rank,
            by=sent.by,
            at=moment(sent.at) if sent.at else now,
        )
        check_names(given)
    return given


def decision_row(row: Any, where: str, resolve: Callable[[str, str], list[str]] | None) -> Decision:
    """`resolve` finds what a text cites; it is told of which decision the text is."""
    sent: SentDecision = _convert_row(row, SentDecision, where)
    with _errors_at(where):
        for name, value in (
            ("id", sent.id),
            ("case_id", sent.case_id),
            *(("cites", cited) for cited in sent.cites),
        ):
            check_name(name, value)
        return decision_from(
            sent.id,
            sent.at,
            cites=sent.cites,
            text=sent.text,
            resolve=partial(resolve, sent.id) if resolve is not None else None,
            case_id=sent.case_id,
        )
