"""Read and write results files. `to_json` and `from_json` are the only code that knows the flat
form of the file.

Inside the program slices are one table and what a gold set states beside what Assay knows is one
mapping; a results file has both flat, as `by_KIND` and as keys of the query. Files of earlier
versions do not say their `kind`, and say `skipped` of a gate that cannot be told.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.decoding import thread_safe
from assay.core.results import (
    LIMITS,
    Check,
    Entry,
    Gate,
    GoldenEntry,
    GoldenHit,
    GoldenResults,
    GradedEntry,
    GradedReceipt,
    GradedResults,
    MeasureLine,
    Receipt,
    Results,
    Verdict,
    Why,
    worst,
)
from assay.core.types import JsonObject


def encode(value: object) -> bytes:
    """JSON for a file or a pipe; results go through `to_json` first."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def to_json(results: Results) -> JsonObject:
    """The results file, ready to be encoded."""
    written = _with_flat_slices(msgspec.to_builtins(results))
    for name in ("intervals", "n", "baseline"):
        if name in written:
            written[name] = _with_flat_slices(written[name])
    if isinstance(results, GoldenResults):
        written["per_query"] = [entry_to_json(entry) for entry in results.per_query]
        checks = results.verdict.checks if results.verdict else ()
        written["gates"] = msgspec.to_builtins([_gate_line(check) for check in checks])
    last = {"kind": written.pop("kind"), "receipt": receipt_to_json(results.receipt)}
    return {key: value for key, value in written.items() if key != "receipt"} | last


def receipt_to_json(receipt: Receipt) -> JsonObject:
    """The receipt as a results file has it."""
    written: JsonObject = msgspec.to_builtins(receipt)
    written["measures"] = [_spread(line, "params") for line in written["measures"]]
    if isinstance(receipt, GradedReceipt):
        if not receipt.primary:  # nobody named one
            del written["primary"]
        written["n"] = _with_flat_slices(written["n"])
        if receipt.kept_hits is None:  # every hit is there, as in files of earlier versions
            del written["kept_hits"]
    if not receipt.served_by:  # one engine for all rows
        del written["served_by"]
    return written


def entry_to_json(entry: Entry) -> JsonObject:
    """One query as a results file has it."""
    written: JsonObject = msgspec.to_builtins(entry)
    if isinstance(entry, GradedEntry):
        return written
    written["hits"] = [_spread(hit, "fields") for hit in written["hits"]]
    names = {
        "id": entry.query_id,
        "category": entry.category,
        "must": entry.must,
        "query": entry.query_text,
    }
    stated = {
        key: value for key, value in entry.stated.items() if key not in written and key not in names
    }
    return {**names, **stated, **{key: value for key, value in written.items() if key != "stated"}}


def measure_to_json(line: MeasureLine) -> JsonObject:
    """One measure as a receipt has it."""
    return _spread(msgspec.to_builtins(line), "params")


def from_json(raw: object) -> Results:
    """The results that a file holds; keys that are not known are left out. Raises
    msgspec.ValidationError with the place when the shape is another."""
    if not isinstance(raw, dict):
        return msgspec.convert(raw, thread_safe(GradedResults))
    read = _prepare(raw)
    # Files of earlier versions do not say their kind; those of golden sets have `gates`.
    seen = "golden" if "gates" in raw else "graded"
    if read.setdefault("kind", seen) != seen:
        message = f"kind is {raw['kind']!r}, expected {seen!r} of a file with these keys"
        raise msgspec.ValidationError(f"{message} - at `$.kind`")
    if seen == "graded":
        if "receipt" in read:
            read["receipt"] = _prepare_receipt(read["receipt"], n=_with_slices)
        return msgspec.convert(read, thread_safe(GradedResults))
    if "receipt" in read:
        read["receipt"] = _prepare_receipt(read["receipt"])
    if "per_query" in read:
        read["per_query"] = _map_list(read["per_query"], _prepare_entry)
    if "verdict" not in read:
        read["verdict"] = _verdict_of(raw.get("gates"))
    return msgspec.convert(read, thread_safe(GoldenResults))


COUNTS = ("n_scored", "n_expected", "n_failed", "n_missing")  # that every graded file has


def refuse_unsound(results: Results) -> None:
    """Refuse results whose parts are valid but do not fit together, as in a file that was edited or
    damaged; raises the same error with the place."""
    share = results.receipt.gold.approved_share
    if share is not None and not 0 <= share <= 1:
        raise msgspec.ValidationError(
            f"{share:g} is not a share, expected 0 to 1 - at `$.receipt.gold.approved_share`"
        )
    if isinstance(results, GoldenResults):
        return
    for name in COUNTS:
        if name not in results.receipt.counts:
            raise msgspec.ValidationError(f"the key {name} is missing - at `$.receipt.counts`")
    for number, entry in enumerate(results.per_query):
        if len(entry.grades) != len(entry.results):
            message = (
                f"{len(entry.grades)} grades of {len(entry.results)} results, expected as many"
            )
            raise msgspec.ValidationError(f"{message} - at `$.per_query[{number}].grades`")


def _prepare(raw: JsonObject) -> JsonObject:
    """The raw results with slices in one table, and without the parts that a file leaves empty."""
    parts = dict(_gather_slices(raw))
    for name in ("intervals", "n", "baseline"):
        if name in parts:
            parts[name] = _with_slices(parts[name])
    optional = ("baseline", "verdict", "recorded", "robustness", "n", "failures")
    empty = [name for name in optional if not parts.get(name)]
    return {key: value for key, value in parts.items() if key not in empty}


def _prepare_receipt(raw: object, **parts: Callable[[object], object]) -> object:
    if not isinstance(raw, dict):
        return raw
    read: dict[str, Callable[[object], object]] = {
        "measures": lambda lines: _map_list(
            lines, lambda line: _collect_extra(line, "params", MeasureLine)
        ),
        **parts,
    }
    return raw | {name: read[name](raw[name]) for name in read if name in raw}


def _prepare_entry(raw: object) -> object:
    if not isinstance(raw, dict):
        return raw
    hits = _map_list(raw.get("hits") or [], lambda hit: _collect_extra(hit, "fields", GoldenHit))
    entry = {key: value for key, value in raw.items() if key not in ("id", "query")}
    return _collect_extra(entry | {"hits": hits}, "stated", GoldenEntry)


def _with_flat_slices(raw: JsonObject) -> JsonObject:
    """`slices: {kind: …}` as `by_KIND: …`, in its place."""
    flat: JsonObject = {}
    for key, value in raw.items():
        flat |= (
            {f"by_{kind}": part for kind, part in value.items()}
            if key == "slices"
            else {key: value}
        )
    return flat


def _with_slices(raw: object) -> object:
    return _gather_slices(raw) if isinstance(raw, dict) else raw


def _gather_slices(raw: JsonObject) -> JsonObject:
    """`by_KIND: …` as `slices: {kind: …}`."""
    slices = {key.removeprefix("by_"): part for key, part in raw.items() if key.startswith("by_")}
    return {key: part for key, part in raw.items() if not key.startswith("by_")} | {
        "slices": slices
    }


def _spread(raw: JsonObject, name: str) -> JsonObject:
    """The mapping `name` spread among the other keys, in its place; they win."""
    flat: JsonObject = {}
    for key, value in raw.items():
        flat |= {k: v for k, v in value.items() if k not in raw} if key == name else {key: value}
    return flat


def _collect_extra(raw: object, name: str, kind: type[msgspec.Struct]) -> object:
    """Keys that the struct does not have, collected in its mapping `name`: the inverse of
    `_spread`."""
    if not isinstance(raw, dict):
        return raw
    known = set(kind.__struct_encode_fields__) - {name}
    own = {key: value for key, value in raw.items() if key in known}
    return own | {name: {key: value for key, value in raw.items() if key not in own}}


def _map_list(raw: object, change: Callable[[object], object]) -> object:
    return list(map(change, raw)) if isinstance(raw, list | tuple) else raw


# The checks of a golden set as `gates`, as the suite's own reports have them.


class _GateLine(msgspec.Struct, frozen=True, kw_only=True):
    """A gate in a golden file; earlier versions say `skipped` of one that cannot be told."""

    name: str = ""
    measure: str
    slice: str | None = ""
    value: float | None = None
    kind: str = ""
    bound: float | None = None
    baseline: float | None = None
    limit: str = ""
    status: Literal["pass", "fail", "inconclusive", "skipped"]
    message: str = ""
    whys: list[Why] | msgspec.UnsetType = msgspec.UNSET


def _gate_line(check: Check) -> _GateLine:
    return _GateLine(
        name=check.title,
        measure=check.gate.measure,
        slice="" if check.gate.slice == "overall" else check.gate.slice,
        value=check.value,
        kind=check.limit_kind,
        bound=check.bound,
        baseline=check.baseline,
        limit=check.limit,
        status=check.status,
        message=check.message,
        whys=check.whys or msgspec.UNSET,
    )


def _verdict_of(raw: object) -> Verdict | None:
    lines = msgspec.convert(raw or [], thread_safe(list[_GateLine]))
    checks = [_check_of(line) for line in lines]
    return Verdict(status=worst(checks), checks=checks, fingerprints={}) if checks else None


def _check_of(line: _GateLine) -> Check:
    limit = {line.kind: line.bound} if line.kind in LIMITS and line.bound is not None else {}
    gate = msgspec.convert(
        {"measure": line.measure, "slice": line.slice or "overall", "name": line.name} | limit,
        thread_safe(Gate),
    )
    return Check(
        gate=gate,
        status="inconclusive" if line.status == "skipped" else line.status,
        value=line.value,
        message=line.message,
        baseline=line.baseline,
        whys=[] if isinstance(line.whys, msgspec.UnsetType) else line.whys,
        counts=not (line.status == "skipped" and line.kind == "max_drop" and line.baseline is None),
    )


# ── the published schema ──────────────────────────────────────────────────────────────────────────


def file_schema() -> JsonObject:
    """The JSON Schema of a results file, docs/results.schema.json: that of the structs, with what
    is written flat described as it stands in a file."""
    kinds = (GradedResults, GoldenResults)
    refs, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    gates = msgspec.json.schema(list[_GateLine])
    parts |= gates["$defs"]
    for name, part in parts.items():
        properties = part.get("properties", {})
        if "slices" in properties:
            by_name = properties.pop("slices")["additionalProperties"]
            part["patternProperties"] = {"^by_": by_name}
        for spread in ("params", "fields", "stated"):
            if spread in properties and name in ("MeasureLine", "GoldenHit", "GoldenEntry"):
                properties.pop(spread)
                part["additionalProperties"] = True
    for result in (parts["GradedResults"], parts["GoldenResults"]):
        result["required"].remove("kind")  # files of earlier versions do not say it
    parts["GoldenResults"]["properties"]["gates"] = {"type": "array", "items": gates["items"]}
    parts["GoldenEntry"]["properties"] |= {"id": {"type": "string"}, "query": {"type": "string"}}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Assay results file",
    }
    return {**head, "anyOf": list(refs), "$defs": parts}


if __name__ == "__main__":  # `make schema`
    Path(sys.argv[1]).write_bytes(encode(file_schema()))
