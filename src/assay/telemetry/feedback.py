"""Relevance inferred from what people did: citations in decisions, votes and clicks.

A citation is the strongest sign there is (grade 3): somebody relied on the document, in public. A
vote (2) and a click (1) are weaker, and biased by position: people look at the top. Both are
corrected by the chance that a result at that rank was looked at, rank ** -eta (the position-based
model; Joachims, Swaminathan and Schnabel, "Unbiased Learning-to-Rank with Biased Feedback", WSDM
2017). Feedback is stored as observed and corrected where it is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from assay.core.errors import InputError
from assay.law.queries import row_key
from assay.store.records import Decision, Feedback

if TYPE_CHECKING:
    from assay.store import Store

ETA = 1.0
MAX_WEIGHT = 10.0  # one click far down the list must not outweigh everything else


def position_weight(rank: int | None, eta: float = ETA) -> float:
    """How much a sign at this rank counts against one at the top. An unknown rank is not
    corrected."""
    return min(float(max(rank, 1)) ** eta, MAX_WEIGHT) if rank is not None else 1.0


def moment(text: str) -> datetime:
    """A time in ISO 8601. A date alone means the end of that day: a decision of that day follows
    its searches; a time without a zone is UTC."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()):
            return datetime.fromisoformat(text.strip()).replace(tzinfo=UTC) + timedelta(
                days=1, microseconds=-1
            )
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (
        ValueError,
        OverflowError,
    ) as error:  # the first and the last hours of the calendar have no UTC
        raise InputError(
            f"not a date or time: {text!r}", hint="Write 2026-05-31 or 2026-05-31T12:00:00Z."
        ) from error


def days_before(now: datetime, days: float) -> datetime:
    """The moment that many days ago."""
    try:
        if days >= 0:
            return now - timedelta(days=days)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"{days:g} is not an age in days", hint="Give 365, for instance.")


def decision_from(
    id: str,
    at: str,
    *,
    cites: Iterable[str] = (),
    text: str = "",
    resolve: Callable[[str], Iterable[str]] | None = None,
    case_id: str = "",
) -> Decision:
    """A decision from what is known of it: the ids it cites, its text, or both. `resolve` finds the
    ids in a text."""
    if not id.strip():
        raise InputError("a decision needs an id")
    if text and resolve is None:
        hint = (
            "Name the corpus with --corpus (over HTTP ?corpus=), or give the cited ids as `cites`."
        )
        raise InputError(
            f"decision {id!r} has a text, and there is no corpus to resolve its citations in",
            hint=hint,
        )
    in_text = resolve(text) if text and resolve is not None else ()
    cited = tuple(dict.fromkeys(doc_id for doc_id in (*cites, *in_text) if doc_id and doc_id != id))
    return Decision(id=id, at=moment(at), cites=cited, case_id=case_id)


def signs_for(
    store: Store, query: str, doc_id: str, limit: int, *, key: str = ""
) -> list[Feedback]:
    """What made a document right for a query: first under the spelling shown, else under any
    spelling that has the same `key`."""
    exact = store.feedback(doc_id=doc_id, query=query, limit=limit)
    if exact or not key:
        return exact
    given = store.feedback(doc_id=doc_id)
    same = {
        search.id
        for search in store.searches([sign.log_id for sign in given])
        if row_key(search.query, search.corpus) == key
    }
    return [sign for sign in given if sign.log_id in same][:limit]


def infer_relevance_from_citations(
    store: Store, decisions: Sequence[Decision], *, same_case: bool = False
) -> int:
    """Give every earlier search that showed a cited document `relevance_score = 3` for it. Returns
    how many are new.

    In batches, so that log writers get their turn in between.
    """
    ordered = sorted(decisions, key=lambda decision: (decision.at, decision.id))
    return sum(
        store.add_decisions(ordered[start : start + 50], same_case=same_case)
        for start in range(0, len(ordered), 50)
    )
