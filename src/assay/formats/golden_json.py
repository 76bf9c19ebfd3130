"""Read and write pass/fail golden sets: a JSON list of questions with `expected_any`, `k`,
`min_score` and `must`.

A new key is a field of `_Question`, and a line of docs/golden.md. A key that decides also joins
CHECKS here, in evaluation/golden/ `Checks` and `_QuestionFacts` of checks.py and DECIDING_KEYS of
changes.py, and the words `[failures]`. A key that slices figures joins GOLDEN_SLICES in
reports/view.py and SLICES in evaluation/golden/figures.py. A key for people is named in KNOWN_EXTRA
of set_checks.py there.

As files are found: the list may stand under `questions`, and a place may be a string, which is its
section ("110a", "kuntalaki 110 § 3 mom.")."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from assay.core.errors import InputError
from assay.core.files import read_strict_json, write_json
from assay.core.types import GoldSet, JsonObject, Query
from assay.formats.schema import (
    id_of,
    read_record,
    refuse_repeated,
    require_type,
    text_of,
    type_in_words,
    unknown_keys,
)
from assay.law.matching import EXPECTATION_KEYS

CHECKS = ("expected_any", "expected_none", "evidence", "must_abstain", "test_type", "confusion")

MAX_K = 10_000  # taste: more hits than any engine is asked for
SHAPE = "A question is {id, query, expected_any: [{section, moment, …}], …}: see docs/golden.md."


class _Question(msgspec.Struct):
    id: str
    query: str
    category: str = ""
    must: bool | UnsetType = UNSET
    k: int | UnsetType = UNSET
    min_score: float | UnsetType = UNSET
    as_of: str = ""
    language: str = ""
    notes: str = ""
    expected_any: list[JsonObject | str] = []
    expected_none: list[JsonObject | str] = []
    evidence: list[str | int | float] | str = []
    must_abstain: bool = False
    test_type: str = ""
    confusion: list[JsonObject | str] | str | bool = False


def read_gold(path: Path) -> GoldSet:
    content = read_strict_json(path)
    root = "$"
    if isinstance(content, dict) and "questions" in content:
        content, root = content["questions"], "$.questions"
    rows = require_type(content, list, path, root, "an array of questions")
    seen: set[str] = set()
    queries = []
    for index, raw in enumerate(rows):
        at = f"{root}[{index}]"
        try:
            query = _read_question(require_type(raw, dict, path, at, "an object"), path, at)
        except InputError as error:
            name = (
                f" ({raw['id']})"
                if isinstance(raw, dict) and isinstance(raw.get("id"), str)
                else ""
            )
            raise InputError(
                error.message, where=error.where + name, hint=error.hint or SHAPE
            ) from error
        refuse_repeated(query.id, seen, path, f"{at}.id", "question id")
        queries.append(query)
    if not queries:
        raise InputError("there are no questions", where=str(path), hint=SHAPE)
    return GoldSet(name=path.stem, queries=tuple(queries), rows_at=root)


def _read_question(raw: JsonObject, path: Path, at: str) -> Query:
    raw = {
        key: value for key, value in raw.items() if value is not None
    }  # null says what leaving the key out says
    row = read_record(raw, _Question, path, at)
    text_of(row.query, path, f"{at}.query")
    id_of(row.id.strip(), path, f"{at}.id")
    if row.k is not UNSET and not 1 <= row.k <= MAX_K:
        raise InputError(
            f"k is {row.k}, expected 1 to {MAX_K:,}",
            where=f"{path}: {at}.k",
            hint="It is the number of hits to check; the default is 5.",
        )
    if row.min_score is not UNSET and not 0 <= row.min_score <= 1:
        raise InputError(
            f"min_score is {row.min_score:g}, expected 0 to 1",
            where=f"{path}: {at}.min_score",
            hint="It is the lowest score of an accepted hit; the default is 0.6.",
        )
    for name in ("expected_any", "expected_none", "confusion"):
        for index, parts in enumerate(raw[name] if isinstance(raw.get(name), list) else ()):
            _check_place(parts, path, f"{at}.{name}[{index}]")
    if row.as_of:
        _check_date(row.as_of, path, f"{at}.as_of")
    checks = {name: _places_as_objects(name, raw[name]) for name in CHECKS if name in raw}
    if not {"expected_any", "expected_none", "must_abstain", "confusion"} & set(checks):
        raise InputError(
            "this question has no expectation",
            where=f"{path}: {at}",
            hint="Give expected_any, expected_none, must_abstain or confusion.",
        )
    return Query(
        id=row.id,
        text=row.query,
        category=row.category,
        must=raw.get("must"),
        k=raw.get("k"),
        min_score=None if row.min_score is UNSET else row.min_score,
        as_of=row.as_of,
        language=row.language,
        notes=row.notes,
        checks=checks,
        extra=unknown_keys(raw, _Question),
    )


def _places_as_objects(name: str, stated: object) -> object:
    """Expected places with every string turned into a section."""
    if name not in ("expected_any", "expected_none") or not isinstance(stated, list):
        return stated
    return [{"section": place} if isinstance(place, str) else place for place in stated]


def _check_place(parts: JsonObject | str, path: Path, at: str) -> None:
    if isinstance(parts, str):
        if not parts.strip():
            raise InputError("the place is empty", where=f"{path}: {at}")
        return
    stated = {
        key: value
        for key, value in parts.items()
        if key in EXPECTATION_KEYS and value not in (None, "")
    }
    if not stated:
        raise InputError(
            "the place is empty",
            where=f"{path}: {at}",
            hint="Give section, moment, law, doc_id, page, table, row or version.",
        )
    for key, value in stated.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"expected a string or a number, got {type_in_words(value)}",
                where=f"{path}: {at}.{key}",
            )


def _check_date(text: str, path: Path, at: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a date", where=f"{path}: {at}", hint="Write it as YYYY-MM-DD."
        ) from error


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    """Graded judgments become expectations: any document of the top grade the query has is an
    expected hit."""
    best: dict[str, tuple[int, list[str]]] = {}
    for judgment in gold.iter_judgments():
        grade, documents = best.setdefault(judgment.query_id, (max(judgment.grade, 1), []))
        if judgment.grade > grade:
            best[judgment.query_id] = (judgment.grade, [judgment.doc_id])
        elif judgment.grade == grade:
            documents.append(judgment.doc_id)
    rows = []
    for query in gold.queries:
        checks = dict(query.checks)
        if not checks and query.id in best:
            checks["expected_any"] = [{"doc_id": doc_id} for doc_id in best[query.id][1]]
        row: JsonObject = {
            "id": query.id,
            "category": query.category or query.topic,
            "must": query.must,
            "query": query.text,
            **checks,
            "k": query.k,
            "min_score": query.min_score,
            "as_of": query.as_of,
            "language": query.language,
            "notes": query.notes,
        }
        rows.append(
            {key: value for key, value in row.items() if value not in (None, "")}
            | dict(query.extra)
        )
    write_json(path, rows)
    return [path]
