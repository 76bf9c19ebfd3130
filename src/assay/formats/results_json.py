"""Results JSON: the suite's scorecard file, ours or another scorer's with the same keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.files import read_json
from assay.formats.schema import describe, expect, unique
from assay.runs import run_from_results
from assay.types import Hit, QueryResult, Run


def read_run(path: Path) -> Run:
    """The ranked ids by query. Hits may be strings, or objects with an id (`doc_id`, `id`, `opinion_id`, `node_id`)."""
    data = expect(read_json(path), dict, path, "$", "an object")
    key = "per_query" if "per_query" in data else "results"
    if key not in data:
        raise InputError("the key per_query is missing", where=f"{path}: $", hint="Is this a results file?")
    seen: set[str] = set()
    results = []
    for index, raw in enumerate(expect(data[key], list, path, f"$.{key}", "an array")):
        at = f"$.{key}[{index}]"
        result = _read_result(expect(raw, dict, path, at, "an object"), path, at)
        unique(result.query_id, seen, path, at, "query")
        results.append(result)
    return run_from_results(_engine(data, path), results)


def _engine(data: dict[str, Any], path: Path) -> str:
    engine = data.get("engine")
    return engine if isinstance(engine, str) else path.stem


def _read_result(raw: dict[str, Any], path: Path, at: str) -> QueryResult:
    query_id = raw.get("query_id", raw.get("id"))
    if not isinstance(query_id, str):
        raise InputError(f"query_id is {describe(query_id)}, expected a string", where=f"{path}: {at}")
    if "results" not in raw and "hits" not in raw and "error" not in raw:
        raise InputError("the key results is missing", where=f"{path}: {at}", hint="Expected the ranked ids.")
    items = raw.get("hits") if "results" not in raw else raw["results"]
    hits = expect(items if items is not None else [], list, path, f"{at}.results", "an array")
    return QueryResult(
        query_id=query_id,
        hits=tuple(_read_hit(hit, path, f"{at}.results[{rank}]") for rank, hit in enumerate(hits)),
        millis=_number(raw.get("latency_ms")),
        error=str(raw["error"]) if raw.get("error") else None,
        abstained=bool(raw.get("abstained", False)),
    )


def _read_hit(hit: Any, path: Path, at: str) -> Hit:
    if isinstance(hit, str):
        return Hit(doc_id=hit)
    if isinstance(hit, dict):
        for key in ("doc_id", "id", "opinion_id", "node_id"):
            if isinstance(hit.get(key), str):
                score = hit.get("score")
                if score is not None and (_number(score) is None or score != score):
                    raise InputError(f"the score is {describe(score)}, expected a number", where=f"{path}: {at}.score")
                return Hit(doc_id=hit[key], score=_number(score), title=str(hit.get("title") or ""))
    raise InputError(f"expected a document id, got {describe(hit)}", where=f"{path}: {at}")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
