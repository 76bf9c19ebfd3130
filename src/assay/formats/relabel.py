"""Write new labels into the file of a gold set and leave everything else in it as it is written, so
that the diff shows only what was judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode, read_bytes
from assay.core.types import Judgment, Labelling, judgments_to_frame
from assay.formats import csv_gold, detect_gold
from assay.formats.dataset_json import encode_like

JsonRow = dict[str, object]  # a JSON object as the file has it

LABELS = "labels"
_OWN = ("judge", "source", "rubric", "at")  # what a row has of its votes beside grade and words


def require_writable(path: Path, labelling: Labelling | None = None) -> None:
    """Refuse a format that cannot keep the labels, or cannot say who made them, before anything is
    written."""
    problem = ""
    if detect_gold(path) not in _WRITERS:
        problem = "this format does not keep a grade 0, or who judged and when"
    elif detect_gold(path) == "csv" and labelling is not None and labelling.by_machine:
        problem = "CSV has no place to say that machines made the labels"
    if problem:
        raise InputError(
            problem,
            where=str(path),
            hint=f"Make a dataset.json of it first: assay gold convert {path} dataset.json",
        )


def relabelled(
    path: Path, judgments: Sequence[Judgment], *, labelling: Labelling, status: str
) -> bytes | None:
    """The file of the set with these judgments and their labelling; None where it already has
    them."""
    require_writable(path, labelling)
    return _WRITERS[detect_gold(path)](path, judgments, labelling, status)


# ── dataset.json ──────────────────────────────────────────────────────────────────────────────────


def _relabel_json(
    path: Path, judgments: Sequence[Judgment], labelling: Labelling, status: str
) -> bytes | None:
    text = decode(read_bytes(path), path)
    dataset = json.loads(text)
    by_query: dict[str, dict[str, Judgment]] = {}
    for judgment in judgments:
        by_query.setdefault(judgment.query_id, {})[judgment.doc_id] = judgment
    for query in dataset["queries"]:
        rows = _relabel_rows(query.get("relevance_judgments") or [], by_query.get(query["id"], {}))
        if rows or "relevance_judgments" in query:
            query["relevance_judgments"] = rows
    dataset = _with_status(dataset, labelling, status)
    if json.loads(json.dumps(dataset)) == json.loads(text):
        return None
    return encode_like(text, dataset)


def _relabel_rows(before: Sequence[JsonRow], wanted: Mapping[str, Judgment]) -> list[JsonRow]:
    """The rows that stay, in their places, then the new ones in the order of ids."""
    known = {str(row["opinion_id"]) for row in before}
    kept = [
        _relabel_row(row, wanted[id]) for row in before if (id := str(row["opinion_id"])) in wanted
    ]
    return kept + [
        _relabel_row({}, wanted[doc_id]) for doc_id in sorted(wanted) if doc_id not in known
    ]


def _relabel_row(before: JsonRow, judgment: Judgment) -> JsonRow:
    """Keys that are not ours keep their value; a row that says the same keeps all of them."""
    stated: JsonRow = {
        "opinion_id": judgment.doc_id,
        "score": judgment.grade,
        "rationale": judgment.rationale,
    }
    stated |= {key: getattr(judgment, key) for key in _OWN if getattr(judgment, key)}
    same = all((before.get(key) or "") == (stated.get(key) or "") for key in ("rationale", *_OWN))
    if same and before.get("score") == judgment.grade:
        return before
    ours = ("opinion_id", "score", "rationale", "supersedes", *_OWN)
    return {**{k: v for k, v in before.items() if k in stated}, **stated} | {
        key: value for key, value in before.items() if key not in ours
    }


def _with_status(dataset: JsonRow, labelling: Labelling, status: str) -> JsonRow:
    """The dataset with `labels`, which says that there are votes, and the status, before the long
    keys."""
    stated: JsonRow = {LABELS: msgspec.to_builtins(labelling)}
    if status:
        stated["status"] = status
    kept = {key: value for key, value in dataset.items() if key != "status" or status}
    new = {key: value for key, value in stated.items() if key not in kept}
    place = next((at for at, key in enumerate(kept) if key in ("taxonomy", "queries")), len(kept))
    items = [(key, stated.get(key, value)) for key, value in kept.items()]
    return dict([*items[:place], *new.items(), *items[place:]])


# ── CSV ───────────────────────────────────────────────────────────────────────────────────────────


def _relabel_csv(
    path: Path, judgments: Sequence[Judgment], labelling: Labelling, status: str
) -> bytes | None:
    gold = csv_gold.read_gold(path)
    before = {(row.query_id, row.doc_id): row for row in gold.iter_judgments()}
    new = {(row.query_id, row.doc_id): row for row in judgments}
    rows = [_relabel_csv_row(row, new[pair]) for pair, row in before.items() if pair in new]
    rows += [new[pair] for pair in sorted(new) if pair not in before]
    if rows == list(before.values()):
        return None
    return csv_gold.content_of(replace(gold, judgments=judgments_to_frame(rows))).encode()


def _relabel_csv_row(before: Judgment, after: Judgment) -> Judgment:
    same = msgspec.structs.replace(after, extra=before.extra, supersedes=before.supersedes)
    return before if same == before else msgspec.structs.replace(after, extra=before.extra)


_WRITERS: dict[str, Callable[[Path, Sequence[Judgment], Labelling, str], bytes | None]] = {
    "json": _relabel_json,
    "csv": _relabel_csv,
}
