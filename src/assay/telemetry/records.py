"""The records of the search log: searches, clicks, votes and decisions as programs send them, read,
checked and redacted; and the relevance inferred from what people did.

A citation is the strongest sign there is (grade 3): somebody relied on the document, in public. A
vote (2) and a click (1) are weaker, and biased by position: people look at the top. Both are
corrected by the chance that a result at that rank was looked at, rank ** -eta (the position-based
model; Joachims, Swaminathan and Schnabel, "Unbiased Learning-to-Rank with Biased Feedback", WSDM
2017). Feedback is stored as observed and corrected where it is used."""

from __future__ import annotations

import hashlib
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from numbers import Real
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.language.hebrew import LETTER, PREFIX_LETTERS
from assay.law.queries import row_key
from assay.store.records import (
    CITATION_SCORE,
    CLICK_SCORE,
    SCORES,
    VOTE_SCORE,
    Decision,
    Feedback,
    SearchLog,
    ShownResult,
)

if TYPE_CHECKING:
    from assay.store import Store

# ── what one search or one click may hold ─────────────────────────────────────────────────────────

# taste: nobody looks further, and a caller that passes a million ids must not pay for them
MAX_SHOWN = 200
MAX_NAME = 500  # characters of an id or a name: a database's index takes no more
# our own: a program that seeds the common one must not repeat ids, nor a forked child
_dice = random.Random()
os.register_at_fork(after_in_child=_dice.seed)
NAMES = ("id", "corpus", "practice_area", "engine", "case_id", "by")  # of a search
_names_of = attrgetter(*NAMES)


def check_names(record: SearchLog | Feedback) -> None:
    """An id or a name that no database indexes is refused, never cut: two ids could become one."""
    if isinstance(record, Feedback):
        for name in ("log_id", "doc_id", "by"):
            check_name(name, getattr(record, name))
        return
    if max(map(len, _names_of(record))) > MAX_NAME:
        for name, value in zip(NAMES, _names_of(record), strict=True):
            check_name(name, value)
    for result in record.results:
        if len(result.doc_id) > MAX_NAME:
            check_name("doc_id", result.doc_id)


def check_name(name: str, value: str) -> None:
    if len(value) > MAX_NAME:
        raise InputError(f"{name} has {len(value):,} characters, at most {MAX_NAME} are allowed")


def shown_results(results: Sequence[Any]) -> tuple[ShownResult, ...]:
    """Results of any engine, in rank order. Only a list or tuple is read: an iterator would be used
    up."""
    if not isinstance(results, list | tuple):
        raise TypeError(f"results are {type(results).__name__}, expected a list")
    return tuple(
        [  # pairs of an id and a score, the usual kind, are read in place: the caller waits for it
            ShownResult(item[0], rank, item[1])
            if type(item) is tuple
            and len(item) == 2
            and type(item[0]) is str
            and type(item[1]) is float
            else _shown_result(item, rank)
            for rank, item in enumerate(results[:MAX_SHOWN], start=1)
        ]
    )


def _shown_result(item: Any, rank: int) -> ShownResult:
    """One result. The usual kinds come first."""
    if type(item) is str:
        return ShownResult(item, rank)
    if type(item) is dict and type(doc_id := item.get("doc_id")) is str:
        return ShownResult(doc_id, rank, number(item.get("score")))
    if isinstance(item, (str, UUID)):
        return ShownResult(str(item), rank)
    if isinstance(item, tuple) and len(item) == 2:
        return ShownResult(str(item[0]), rank, number(item[1]))
    if isinstance(item, Mapping):
        for key in ("doc_id", "id", "_id", "case_law_id"):
            if key in item:
                return ShownResult(str(item[key]), rank, number(item.get("score")))
    elif hasattr(item, "doc_id"):
        return ShownResult(str(item.doc_id), rank, number(getattr(item, "score", None)))
    raise TypeError(f"no document id in {type(item).__name__} at rank {rank}")


def number(value: Any) -> float | None:
    """Also of numpy's kinds, and of a database's decimals."""
    if type(value) is float:
        return value
    return float(value) if isinstance(value, int | float | Real | Decimal) else None


def new_id() -> str:
    """An id that sorts by time, so that a database appends: the millisecond and 48 random bits. It
    does not use os.urandom: that call releases the GIL, and the caller would wait for the writer
    thread."""
    return f"{time.time_ns() // 1_000_000:012x}{_dice.getrandbits(48):012x}"


# ── searches, feedback and decisions as JSON ──────────────────────────────────────────────────────


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
    """A click, a vote, or a `relevance_score` (3 cited, 2 right, 1 opened, 0 wrong)."""

    log_id: Annotated[str, msgspec.Meta(min_length=1)]
    doc_id: Annotated[str, msgspec.Meta(min_length=1)]
    kind: Literal["click", "vote", "score"] = "score"
    relevance_score: Annotated[int, msgspec.Meta(ge=0, le=CITATION_SCORE)] | None = None
    relevant: bool = True
    rank: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] | None = None
    by: str = ""
    at: str = ""


# What tables and exports of other programs call our fields; the first name is ours.
SEARCH_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "log_id", "search_log_id", "search_id"),
    "query": ("query", "query_text"),
    "at": ("at", "created_at", "searched_at", "timestamp"),
    "corpus": ("corpus",),
    "practice_area": ("practice_area",),
}
FEEDBACK_NAMES: Mapping[str, tuple[str, ...]] = {
    "log_id": ("log_id", "search_log_id", "search_id"),
    "doc_id": ("doc_id", "case_law_id", "document_id"),
    "relevance_score": ("relevance_score", "score"),
    "at": ("at", "created_at"),
}


def with_our_names(row: Any, names: Mapping[str, tuple[str, ...]]) -> Any:
    """A row with the fields that another program named renamed to ours. Ids become texts."""
    if not isinstance(row, dict):
        return row
    renamed = dict(row)
    for ours, theirs in names.items():
        if ours not in row:
            known = next((name for name in theirs if name in row), None)
            if known is not None:
                renamed[ours] = renamed.pop(known)
    for name in ("id", "log_id", "doc_id"):
        if type(renamed.get(name)) is int:
            renamed[name] = str(renamed[name])
    return renamed


def score_of(value: Any, where: str) -> int:
    """A relevance score from a cell or a file."""
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = -1.0
    if isinstance(value, bool) or score not in SCORES:
        raise InputError(
            f"the score {value!r} is not 0, 1, 2 or 3",
            where=where,
            hint="A SELECT can translate another scale: CASE WHEN … THEN 3 ELSE 0 END.",
        )
    return int(score)


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
        return msgspec.convert(row, thread_safe(kind))


def search_from(row: Any, where: str = "") -> SearchLog:
    """A search as another program sends it. An id makes sending it twice harmless."""
    sent: SentSearch = _convert_row(row, SentSearch, where)
    return _search(sent, sent.id or new_id(), where)


def _search(sent: SentSearch, id: str, where: str) -> SearchLog:
    with _errors_at(where):
        search = SearchLog(
            id=id,
            at=time_of(sent.at) if sent.at else datetime.now(UTC),
            query=sent.query,
            corpus=sent.corpus,
            practice_area=sent.practice_area,
            engine=sent.engine,
            case_id=sent.case_id,
            by=sent.by,
            error=sent.error,
            millis=sent.millis,
            results=shown_results(sent.results),
        )
        check_names(search)
    return search


def logged_search(row: Any, where: str) -> SearchLog:
    """A search from a file of old ones: it says when it was made, and without an id its content is
    its id."""
    row = with_our_names(row, SEARCH_NAMES)
    sent: SentSearch = _convert_row(row, SentSearch, where)
    if not sent.at:
        raise InputError(
            "a logged search needs a time",
            where=where,
            hint='Add "at", as 2026-05-31T12:00:00Z.',
        )
    return _search(sent, sent.id or _content_id(row), where)


def _content_id(row: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(row, order="deterministic")).hexdigest()[:24]


def feedback_from(row: Any, where: str, now: datetime) -> Feedback:
    sent: SentFeedback = _convert_row(row, SentFeedback, where)
    if (sent.kind == "score") != (sent.relevance_score is not None):
        raise InputError(
            "feedback is a click, a vote or a score",
            where=where,
            hint='Give either "kind": "click" or "vote", or "relevance_score": 0 to 3.',
        )
    score = CLICK_SCORE if sent.kind == "click" else VOTE_SCORE if sent.relevant else 0
    score = sent.relevance_score if sent.relevance_score is not None else score
    with _errors_at(where):
        given = Feedback(
            log_id=sent.log_id,
            doc_id=sent.doc_id,
            kind=sent.kind,
            relevance_score=score,
            rank=sent.rank,
            by=sent.by,
            at=time_of(sent.at) if sent.at else now,
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


def time_of(text: str) -> datetime:
    """A time in ISO 8601. A date alone means the end of that day: a decision of that day follows
    its searches; a time without a zone is UTC."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()):
            return datetime.fromisoformat(text.strip()).replace(tzinfo=UTC) + timedelta(
                days=1, microseconds=-1
            )
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:  # the ends of the calendar have no UTC
        raise InputError(
            f"not a date or time: {text!r}", hint="Write 2026-05-31 or 2026-05-31T12:00:00Z."
        ) from error


def days_before(now: datetime, days: float) -> datetime:
    """The time that many days ago."""
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
    return Decision(id=id, at=time_of(at), cites=cited, case_id=case_id)


# ── redaction ─────────────────────────────────────────────────────────────────────────────────────

MAX_QUERY = 10_000  # characters of a query, or of an error, that are kept; taste
MARGIN = 1000  # taste: longer than anything that a rule takes out
MAX_READ = MAX_QUERY + MARGIN


class Redaction(msgspec.Struct, frozen=True):
    """Text that matches `pattern` is stored as `replacement`. The pattern is a regular expression,
    as in `re`."""

    name: str
    pattern: str
    replacement: str = ""


# Identity numbers and addresses that no legal query needs. Names are the team's own: a list is a
# rule like any other.
BUILT_IN: Mapping[str, Redaction] = {
    rule.name: rule
    for rule in (
        # From the beginning of a word, and never back into it: a long text without an @ takes one
        # pass, not one for each of its letters.
        Redaction("email", r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++", "[email]"),
        # A dash or stroke with a digit beyond it belongs to a case number; with a word beyond it,
        # to the sentence.
        Redaction("israeli-id", r"(?<!\d)(?<!\d[/-])(?:\d{9}|\d{8}-\d)(?!\d|[/-]\d)", "[id]"),
        Redaction("finnish-id", r"(?i)\b\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]\b", "[id]"),
        Redaction("us-ssn", r"\b\d{3}-\d{2}-\d{4}\b", "[id]"),
        Redaction(
            "phone",
            r"(?<!\d)(?<!\d[/-])"
            r"(?:(?:\+\d{1,3}[ -]?)?0?\d{1,3}[ -]\d{3}[ -]?\d{4}|\+\d{9,14}|0\d{8,9})"
            r"(?!\d|[/-]\d)",
            "[phone]",
        ),
    )
}


def redactor(rules: Iterable[str | Redaction]) -> Sequence[tuple[re.Pattern[str], str]]:
    """Rules by name, by value or as NAME=PATTERN, compiled. A pattern that does not compile is an
    error here, not at the first query."""
    compiled = []
    for rule in rules:
        if isinstance(rule, str) and "=" in rule:
            name, _, pattern = rule.partition("=")
            if not name.strip() or not pattern:
                raise InputError(
                    f"redaction rule {rule!r} has no name or no pattern", hint="Write NAME=PATTERN."
                )
            rule = Redaction(name.strip(), pattern)
        elif isinstance(rule, str):
            if rule not in BUILT_IN:
                known = ", ".join(BUILT_IN)
                hint = f"Known: {known}; or NAME=PATTERN, a regular expression of your own."
                raise InputError(f"no redaction rule {rule!r}", hint=hint)
            rule = BUILT_IN[rule]
        try:
            compiled.append((re.compile(rule.pattern), rule.replacement or f"[{rule.name}]"))
        except re.error as error:
            raise InputError(
                f"redaction rule {rule.name!r} is not a regular expression: {error}"
            ) from error
    return compiled


_PREFIXES = f"(?:[{PREFIX_LETTERS}]{{1,3}}[-־]?(?={LETTER}))?"


def names_rule(names: Iterable[str], name: str = "name") -> Redaction:
    """A rule for a list of names, whole words, whatever their case and however many spaces or a
    dash part them; in Hebrew also with the little words that are written together with a name
    (לדפנה, ושמדפנה)."""
    listed = sorted(
        {" ".join(name.split()) for name in names if name.strip()},
        key=lambda name: (-len(name), name),
    )
    if not listed:
        raise InputError("a list of names to redact is empty")
    written = "|".join(r"[\s־-]+".join(map(re.escape, entry.split())) for entry in listed)
    return Redaction(name, rf"(?i)(?<!\w){_PREFIXES}(?:{written})(?!\w)", f"[{name}]")


def redact_search(search: SearchLog, rules: Sequence[tuple[re.Pattern[str], str]]) -> SearchLog:
    """A search as it may be stored. An error message may quote the query."""
    if not rules and max(len(search.query), len(search.error)) <= MAX_QUERY:
        return search
    query, error = _redact_and_cut(search.query, rules), _redact_and_cut(search.error, rules)
    return msgspec.structs.replace(search, query=query, error=error)


def _redact_and_cut(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    """Redact a text, then cut it. Of a text that was cut before, the end goes too: half an address
    may stand there, and half is not recognised."""
    clean = redact(text[:MAX_READ], rules)
    return (clean if len(text) < MAX_READ else clean[:-MARGIN])[:MAX_QUERY]


def redact(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(lambda _, new=replacement: new, text)  # type: ignore[misc]
    return text


# ── relevance ─────────────────────────────────────────────────────────────────────────────────────

BATCH = 200  # decisions written in one transaction (taste)
MAX_WEIGHT = 10.0  # taste: one click far down the list must not outweigh everything else


def position_weight(rank: int | None) -> float:
    """How much a sign at this rank counts against one at the top: a rank is looked at 1/rank times,
    as is usually assumed. An unknown rank is not corrected."""
    return min(float(max(rank, 1)), MAX_WEIGHT) if rank is not None else 1.0


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
        store.add_decisions(ordered[start : start + BATCH], same_case=same_case)
        for start in range(0, len(ordered), BATCH)
    )
