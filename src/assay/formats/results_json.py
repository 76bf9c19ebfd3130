"""Read results JSON: scorecard files of Assay or of another scorer, and results of the golden
suite's runner."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay import __version__
from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import read_bytes, read_json
from assay.core.results import AnswerResults, Results
from assay.core.results_file import from_json, refuse_unsound
from assay.core.runs import run_from_results
from assay.core.types import Hit, JsonObject, QueryResult, Run
from assay.formats.schema import id_of, record_error, refuse_repeated, require_type, type_in_words

NOT_OURS = (
    "It is not a results file of Assay; score results of another tool first: assay score --run."
)

MAX_FIGURE = 1e15  # taste: far above any figure of ours; beyond 2**53, floats lose digits
_HUGE = re.compile(rb"(?<![0-9.])[0-9]{16}|[0-9][eE]\+?[0-9]{2}")

ID_KEYS = ("doc_id", "id", "opinion_id", "node_id")
PLACE_KEYS = (
    "law_id",
    "law",
    "law_key",
    "section_id",
    "section_num",
    "section",
    "moment",
    "page",
    "table",
    "row",
    "column",
)
OWN_FIELDS = ("doc_id", "score", "title", "text", "match")


@dataclass(frozen=True)
class _SavedRun:
    """The engine, answers and environment that a results file holds."""

    engine: str
    environment: JsonObject  # what the receipt says of the search
    answers: list[QueryResult]


def read_run(path: Path) -> Run:
    """The ranked ids by query. Hits may be strings, or objects with an id (`doc_id`, `id`,
    `opinion_id`, `node_id`)."""
    saved = _read_saved_run(path)
    return run_from_results(saved.engine, saved.answers, **saved.environment)


def read_results(path: Path) -> Results:
    """A results file of Assay, of any version."""
    raw = read_json(path)
    _refuse_huge_numbers(raw, path)
    try:
        results = from_json(raw)
        refuse_unsound(results)
        return results
    except msgspec.ValidationError as error:
        problem = record_error(error, path, "$", _newer_version_hint(raw) or NOT_OURS)
        # Slices are one table inside the program; a file has a key for each kind.
        where = problem.where.replace(".slices[...]", _slice_key(raw))
        raise InputError(problem.message, where=where, hint=problem.hint) from error


def is_answer_results(path: Path) -> bool:
    """Whether a file holds the results of an answer check, by its `kind`."""
    if not path.is_file():
        return False
    raw = read_json(path)
    return isinstance(raw, dict) and raw.get("kind") == "answers"


def read_answer_results(path: Path) -> AnswerResults:
    """A results file that `assay answers check` wrote."""
    raw = read_json(path)
    _refuse_huge_numbers(raw, path)
    hint = _newer_version_hint(raw) or "`assay answers check` writes such a file."
    if not isinstance(raw, dict) or raw.get("kind") != "answers":
        raise InputError("not the results of an answer check", where=str(path), hint=hint)
    try:
        return msgspec.convert(raw, thread_safe(AnswerResults))
    except msgspec.ValidationError as error:
        raise record_error(error, path, "$", hint) from error


def _newer_version_hint(raw: object) -> str:
    """The hint for a file that a newer Assay wrote and that cannot be read; empty for other
    files."""
    said = raw
    for key in ("receipt", "versions", "assay"):
        said = said.get(key) if isinstance(said, dict) else None
    numbers = [
        tuple(map(int, re.findall(r"\d+", version)[:3])) for version in (str(said), __version__)
    ]
    if not isinstance(said, str) or numbers[0] <= numbers[1]:
        return ""
    return f"Assay {said} wrote it, which is newer than this one ({__version__}): upgrade Assay."


def _refuse_huge_numbers(raw: object, path: Path) -> None:
    """A number that no figure of ours has is damage, and overflows in the first sum. Looked for
    only where the file has one with that many digits."""
    if not _HUGE.search(read_bytes(path)):
        return
    for at, value in _iter_numbers(raw, "$"):
        if abs(value) > MAX_FIGURE:
            raise InputError(
                f"the number {value:g} is too large, expected at most {MAX_FIGURE:g}",
                where=f"{path}: {at}"[:500],
                hint=NOT_OURS,
            )


def _iter_numbers(value: object, at: str) -> Iterator[tuple[str, int | float]]:
    if isinstance(value, int | float):
        yield at, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _iter_numbers(member, f"{at}.{key}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _iter_numbers(member, f"{at}[{index}]")


def _slice_key(raw: object) -> str:
    """`.by_category` where it is that one which holds no slices, else `.by_…`."""
    members = raw.items() if isinstance(raw, dict) else ()
    wrong = [
        key for key, slices in members if key.startswith("by_") and not isinstance(slices, dict)
    ]
    return f".{wrong[0]}" if wrong else ".by_…"


def read_answers(path: Path) -> tuple[str, list[QueryResult]]:
    """The engine's name and every answer with all its hits carry: law, section_num, moment, page,
    text, …

    Reads `per_query` of a results file and `results` of the golden suite's runner. A hit listed
    twice stays twice, so that ranks are those of the file."""
    saved = _read_saved_run(path)
    return saved.engine, saved.answers


def _read_saved_run(path: Path) -> _SavedRun:
    saved: JsonObject = require_type(read_json(path), dict, path, "$", "an object")
    key = "per_query" if "per_query" in saved else "results"
    if key not in saved:
        raise InputError(
            "the key per_query is missing", where=f"{path}: $", hint="Is this a results file?"
        )
    seen: set[str] = set()
    results = []
    for index, raw in enumerate(require_type(saved[key], list, path, f"$.{key}", "an array")):
        at = f"$.{key}[{index}]"
        result = _read_result(require_type(raw, dict, path, at, "an object"), path, at)
        refuse_repeated(result.query_id, seen, path, at, "query")
        results.append(result)
    engine, receipt = saved.get("engine"), saved.get("receipt")
    receipt_values = receipt if isinstance(receipt, dict) else {}
    environment = {
        name: receipt_values[name]
        for name in ("corpus_fingerprint", "kept_hits")
        if receipt_values.get(name)
    }
    return _SavedRun(engine if isinstance(engine, str) else path.stem, environment, results)


def _read_result(raw: JsonObject, path: Path, at: str) -> QueryResult:
    query_id = raw.get("query_id", raw.get("id"))
    if not isinstance(query_id, str):
        raise InputError(
            f"query_id is {type_in_words(query_id)}, expected a string", where=f"{path}: {at}"
        )
    if "results" not in raw and "hits" not in raw and "error" not in raw:
        raise InputError(
            "the key results is missing", where=f"{path}: {at}", hint="Expected the ranked ids."
        )
    # a golden results file has both, and hits say more
    key = "hits" if raw.get("hits") or "results" not in raw else "results"
    items = raw.get(key)
    if items is None and not raw.get("error"):
        raise InputError(
            f"{key} is null and there is no error",
            where=f"{path}: {at}",
            hint="An answer is a list, empty or not; a failed call says so in error.",
        )
    hits = require_type(items if items is not None else [], list, path, f"{at}.{key}", "an array")
    return QueryResult(
        query_id=query_id,
        hits=tuple(_read_hit(hit, path, f"{at}.{key}[{rank}]") for rank, hit in enumerate(hits)),
        millis=_float_or_none(raw.get("latency_ms")),
        error=str(raw["error"]) if raw.get("error") else None,
        abstained=raw.get("abstained") is True,
    )


def _read_hit(hit: Any, path: Path, at: str) -> Hit:
    if isinstance(hit, str):
        return Hit(doc_id=id_of(hit, path, at))
    if isinstance(hit, dict) and (doc_id := _doc_id(hit)):
        score = _float_or_none(hit.get("score"))
        if hit.get("score") is not None and (score is None or not math.isfinite(score)):
            given = type_in_words(hit["score"])
            raise InputError(
                f"the score is {given}, expected a number", where=f"{path}: {at}.score"
            )
        return Hit(
            doc_id=id_of(doc_id, path, at),
            score=score,
            title=str(hit.get("title") or ""),
            text=hit["text"] if isinstance(hit.get("text"), str) else "",
            metadata={key: value for key, value in hit.items() if key not in OWN_FIELDS},
        )
    raise InputError(f"expected a document id, got {type_in_words(hit)}", where=f"{path}: {at}")


def _doc_id(hit: JsonObject) -> str:
    """The id; a hit without one is named by the place it states (law:section:moment)."""
    for key in ID_KEYS:
        if isinstance(hit.get(key), str | int) and hit[key] != "":
            return str(hit[key])
    return ":".join(
        str(hit[key])
        for key in PLACE_KEYS
        if isinstance(hit.get(key), str | int) and hit[key] != ""
    )


def _float_or_none(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
