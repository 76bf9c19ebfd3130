"""Read, write and extend the suite's graded dataset, `dataset.json`: taxonomy, queries, and graded
judgments with rationales."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode, read_bytes, read_strict_json, write_json
from assay.core.types import (
    Finding,
    GoldSet,
    Issue,
    JsonObject,
    Judgment,
    Labelling,
    Query,
    Targets,
    Topic,
    judgments_to_frame,
)
from assay.formats.schema import read_record, refuse_repeated, require_type, text_of, unknown_keys

QUERY_TYPES = ("keyword", "natural_language", "fact_pattern")
TOP_SCORE = 2  # of a file that does not say: the scale of the rubric in spec 001
HIGHEST = 100  # taste: the gain of a grade may be 2 to its power
TOP_KEYS = (
    "version",
    "created_at",
    "description",
    "taxonomy",
    "queries",
    "name",
    "rubric",
    "status",
    "top_score",
    "targets",
)


class _Query(msgspec.Struct):
    id: str
    text: str
    type: str = ""
    topic: str = ""
    issue: str = ""
    wording: str = ""
    notes: str | None = None
    corpus: str = ""
    language: str = ""
    as_of: str = ""
    relevance_judgments: list[Any] = []


class _Judgment(msgspec.Struct, rename={"doc_id": "opinion_id", "grade": "score"}):
    doc_id: str
    grade: int
    rationale: str = ""
    judge: str = ""
    source: str = ""
    rubric: str = ""
    at: str = ""
    supersedes: str = ""


def read_gold(path: Path) -> GoldSet:
    dataset = require_type(
        read_strict_json(path), dict, path, "$", "an object with taxonomy and queries"
    )
    taxonomy = _topics(dataset.get("taxonomy", {}), path, "$.taxonomy")
    top_score = _top_score(dataset.get("top_score", TOP_SCORE), path)
    queries: list[Query] = []
    judgments: list[Judgment] = []
    seen: set[str] = set()
    if "queries" not in dataset:
        raise InputError(
            "the key queries is missing",
            where=str(path),
            hint="A graded set is an object with queries, a golden set a list of questions. "
            "`assay gold init NEW.json` makes a graded set.",
        )
    for index, raw in enumerate(
        require_type(dataset["queries"], list, path, "$.queries", "an array")
    ):
        at = f"$.queries[{index}]"
        query = _read_query(require_type(raw, dict, path, at, "an object"), taxonomy, path, at)
        refuse_repeated(query.id, seen, path, f"{at}.id", "query id")
        queries.append(query)
        try:
            judgments.extend(_read_judgments(raw, top_score, path, at))
        except InputError as error:
            shape = f"A judgment is {{opinion_id, score}}; a score is 0 to {top_score}."
            where = f"{error.where} ({query.id})"
            raise InputError(error.message, where=where, hint=error.hint or shape) from error
    for key in ("name", "version", "created_at", "description", "rubric", "status"):
        require_type(dataset.get(key) or "", str, path, f"$.{key}", "a string")
    if dataset.get("status") not in (None, "", "provisional", "approved"):
        raise InputError(
            f"unknown status {dataset['status']!r}",
            where=f"{path}: $.status",
            hint="Expected provisional or approved.",
        )
    return GoldSet(
        name=str(dataset.get("name") or path.stem),
        version=str(dataset.get("version") or ""),
        created_at=str(dataset.get("created_at") or ""),
        description=str(dataset.get("description") or ""),
        rubric=str(dataset.get("rubric") or ""),
        status=dataset["status"] if dataset.get("status") in ("provisional", "approved") else "",
        top_grade=top_score,
        targets=_read_targets(dataset.get("targets"), path),
        taxonomy=taxonomy,
        queries=tuple(queries),
        judgments=judgments_to_frame(judgments),
        extra={key: value for key, value in dataset.items() if key not in TOP_KEYS},
    )


def read_taxonomy(path: Path) -> dict[str, Topic]:
    """The topics of a taxonomy.json, or those of a whole set."""
    content = require_type(read_strict_json(path), dict, path, "$", "an object of topics")
    inside = isinstance(content.get("taxonomy"), dict)
    topics = _topics(content["taxonomy"], path, "$.taxonomy") if inside else None
    topics = topics if topics is not None else _topics(content, path, "$")
    if not topics:
        raise InputError("there are no topics", where=f"{path}: $")
    return topics


def _topics(raw: Any, path: Path, at: str) -> dict[str, Topic]:
    return {
        topic_id: _read_topic(topic, path, f"{at}.{topic_id}")
        for topic_id, topic in require_type(raw, dict, path, at, "an object").items()
    }


def omissions(path: Path) -> list[Finding]:
    """Findings on what a readable file leaves out or states wrongly, which the set itself does not
    show."""
    dataset = read_strict_json(path)
    findings = []
    if not dataset.get("version"):
        message = "the set has no version: figures cannot say which state of it they are from"
        findings.append(
            Finding(level="flag", code="no-version", where="$.version", message=message)
        )
    created = dataset.get("created_at")
    if not created or not _is_timestamp(created):
        code = "bad-created-at" if created else "no-created-at"
        message = f"{created!r} is not an ISO 8601 time" if created else "the set has no created_at"
        hint = f"{message}: expected one such as 2026-01-15T09:00:00Z"
        findings.append(Finding(level="flag", code=code, where="$.created_at", message=hint))
    findings += [
        Finding(
            level="flag",
            code="no-judgments-key",
            where=query["id"],
            message="the key relevance_judgments is missing; [] says that nothing is judged yet",
        )
        for query in dataset["queries"]
        if "relevance_judgments" not in query
    ]
    return findings


def _is_timestamp(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _top_score(top: object, path: Path) -> int:
    if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= HIGHEST:
        raise InputError(
            f"expected a whole number from 1 to {HIGHEST}, got {top!r}",
            where=f"{path}: $.top_score",
            hint=f"It is the highest grade of the scale; without the key it is {TOP_SCORE}.",
        )
    return top


def _read_targets(targets: object, path: Path) -> Targets | None:
    if targets is None:
        return None
    return read_record(targets, Targets, path, "$.targets", "Ranges are [least, most].")


def _read_topic(raw: Any, path: Path, at: str) -> Topic:
    topic = read_record(require_type(raw, dict, path, at, "an object"), Topic, path, at)
    issues = tuple(
        msgspec.structs.replace(issue, extra=unknown_keys(raw["issues"][index], Issue))
        for index, issue in enumerate(topic.issues)
    )
    return msgspec.structs.replace(topic, issues=issues, extra=unknown_keys(raw, Topic))


def _topic_object(topic: Topic) -> JsonObject:
    dataset: JsonObject = msgspec.to_builtins(topic)
    for issue in dataset["issues"]:
        issue.update(issue.pop("extra"))
    dataset.update(dataset.pop("extra"))
    return dataset


def _read_query(raw: JsonObject, taxonomy: dict[str, Topic], path: Path, at: str) -> Query:
    row = read_record(raw, _Query, path, at)
    text_of(row.text, path, f"{at}.text")
    if row.type and row.type not in QUERY_TYPES:
        raise InputError(
            f"unknown query type {row.type!r}",
            where=f"{path}: {at}.type",
            hint=f"Expected one of: {', '.join(QUERY_TYPES)}.",
        )
    if row.topic and taxonomy and row.topic not in taxonomy:
        raise InputError(
            f"unknown topic {row.topic!r}",
            where=f"{path}: {at}.topic",
            hint=f"The taxonomy has: {', '.join(taxonomy)}.",
        )
    stated = msgspec.structs.asdict(row) | {"notes": row.notes or ""}
    del stated["relevance_judgments"]
    return Query(**stated, extra=unknown_keys(raw, _Query))


def _with_whole_score(item: object) -> object:
    """Other tools write 2 as 2.0."""
    score = item.get("score") if isinstance(item, dict) else None
    if isinstance(item, dict) and isinstance(score, float) and score.is_integer():
        return item | {"score": int(score)}
    return item


def _read_judgments(raw: JsonObject, top_score: int, path: Path, at: str) -> list[Judgment]:
    query_id = raw["id"]
    seen: set[str] = set()
    judgments = []
    for index, item in enumerate(raw.get("relevance_judgments", [])):
        where = f"{at}.relevance_judgments[{index}]"
        judgment = read_record(_with_whole_score(item), _Judgment, path, where)
        if not 0 <= judgment.grade <= top_score:
            raise InputError(
                f"the score is {judgment.grade}",
                where=f"{path}: {where}.score",
                hint=f"The scale is 0 to {top_score}; the key top_score of the file may set "
                "another (see docs/judging/rubric.md).",
            )
        if judgment.doc_id in seen:
            raise InputError(
                f"opinion {judgment.doc_id!r} is judged twice on query {query_id!r}",
                where=f"{path}: {where}.opinion_id",
                hint="Keep one judgment per pair.",
            )
        seen.add(judgment.doc_id)
        unknown = unknown_keys(item, _Judgment)
        judgments.append(
            Judgment(
                query_id=query_id,
                **msgspec.structs.asdict(judgment),
                extra=msgspec.json.encode(unknown).decode() if unknown else "",
            )
        )
    return judgments


def _judgment_object(judgment: Judgment) -> JsonObject:
    row: JsonObject = {
        "opinion_id": judgment.doc_id,
        "score": judgment.grade,
        "rationale": judgment.rationale,
    }
    row |= {
        key: getattr(judgment, key)
        for key in ("judge", "source", "rubric", "at", "supersedes")
        if getattr(judgment, key)
    }
    return row | (msgspec.json.decode(judgment.extra) if judgment.extra else {})


def with_queries(path: Path, queries: Sequence[Query]) -> bytes:
    """The file with queries without judgments at its end; everything else stays as it is
    written."""
    text, dataset = _as_written(path)
    dataset["queries"] += [_query_object(query, []) for query in queries]
    return encode_like(text, dataset)


def with_issue(path: Path, topic_id: str, issue: Issue) -> bytes:
    """The file with an issue of a topic, in the place of the one with its id or at the end; keys
    that are not ours, and everything else, stay as they are written."""
    text, dataset = _as_written(path)
    issues = dataset["taxonomy"][topic_id].setdefault("issues", [])
    stated = msgspec.to_builtins(issue)
    stated.pop("extra")
    before = next((each for each in issues if each["id"] == issue.id), None)
    if before is None:
        issues.append(stated)
    else:
        before.update(stated)
    return encode_like(text, dataset)


def _as_written(path: Path) -> tuple[str, Any]:
    text = decode(read_bytes(path), path)
    return text, json.loads(text)


def encode_like(text: str, dataset: object) -> bytes:
    """The dataset as JSON with the indentation, escapes and line ends of the file it replaces."""
    indent = re.search(r"\n([ \t]+)", text)
    written = json.dumps(dataset, indent=indent[1] if indent else None, ensure_ascii="\\u" in text)
    written = written.replace("\n", "\r\n") if "\r\n" in text else written
    return (written + text[len(text.rstrip()) :]).encode()


def _query_object(query: Query, judgments: list[JsonObject]) -> JsonObject:
    asked = {
        "wording": query.wording,
        "corpus": query.corpus,
        "language": query.language,
        "as_of": query.as_of,
    }
    return {
        "id": query.id,
        "text": query.text,
        "type": query.type,
        "topic": query.topic,
        "issue": query.issue,
        "notes": query.notes,
        **{key: value for key, value in asked.items() if value},
        **query.extra,
        "relevance_judgments": judgments,
    }


def _written_top(gold: GoldSet) -> int:
    """A format that does not say its scale may still be one of 0 to 2."""
    return gold.max_grade if gold.top_grade else max(gold.max_grade, TOP_SCORE)


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    graded: dict[str, list[JsonObject]] = {query.id: [] for query in gold.queries}
    for judgment in gold.iter_judgments():
        if not 0 <= judgment.grade <= HIGHEST:
            raise InputError(
                f"grade {judgment.grade} on query {judgment.query_id!r} does not fit a scale from "
                f"0 to at most {HIGHEST}, as dataset.json has",
                hint="Write to trec, beir or csv instead.",
            )
        graded[judgment.query_id].append(_judgment_object(judgment))
    dataset: JsonObject = {
        "version": gold.version or "1.0",
        "created_at": gold.created_at,
        "description": gold.description,
    }
    dataset |= {
        key: value
        for key, value in (("name", gold.name), ("rubric", gold.rubric), ("status", gold.status))
        if value and not (key == "name" and value == path.stem)
    }
    if (top_score := _written_top(gold)) != TOP_SCORE:
        dataset["top_score"] = top_score
    if gold.targets is not None:
        dataset["targets"] = msgspec.to_builtins(gold.targets)
    dataset |= dict(gold.extra)
    dataset["taxonomy"] = {key: _topic_object(topic) for key, topic in gold.taxonomy.items()}
    dataset["queries"] = [_query_object(query, graded[query.id]) for query in gold.queries]
    write_json(path, dataset)
    return [path]


# ── new labels ────────────────────────────────────────────────────────────────────────────────────

LABELS = "labels"
_OF_VOTES = (
    "judge",
    "source",
    "rubric",
    "at",
)  # what a row has of its votes beside grade and words


def content_with_labels(
    path: Path, judgments: Sequence[Judgment], labelling: Labelling, status: str
) -> bytes | None:
    """The file with these judgments and their labelling, everything else as it is written, so that
    the diff shows only what was judged; None where it already has them."""
    text, dataset = _as_written(path)
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


def _relabel_rows(before: Sequence[JsonObject], wanted: Mapping[str, Judgment]) -> list[JsonObject]:
    """The rows that stay, in their places, then the new ones in the order of ids."""
    known = {str(row["opinion_id"]) for row in before}
    kept = [
        _relabel_row(row, wanted[id]) for row in before if (id := str(row["opinion_id"])) in wanted
    ]
    return kept + [
        _relabel_row({}, wanted[doc_id]) for doc_id in sorted(wanted) if doc_id not in known
    ]


def _relabel_row(before: JsonObject, judgment: Judgment) -> JsonObject:
    """Keys that are not ours keep their value; a row that says the same keeps all of them."""
    stated: JsonObject = {
        "opinion_id": judgment.doc_id,
        "score": judgment.grade,
        "rationale": judgment.rationale,
    }
    stated |= {key: getattr(judgment, key) for key in _OF_VOTES if getattr(judgment, key)}
    same = all(
        (before.get(key) or "") == (stated.get(key) or "") for key in ("rationale", *_OF_VOTES)
    )
    if same and before.get("score") == judgment.grade:
        return before
    ours = ("opinion_id", "score", "rationale", "supersedes", *_OF_VOTES)
    return {**{k: v for k, v in before.items() if k in stated}, **stated} | {
        key: value for key, value in before.items() if key not in ours
    }


def _with_status(dataset: JsonObject, labelling: Labelling, status: str) -> JsonObject:
    """The dataset with `labels`, which says that there are votes, and the status, before the long
    keys."""
    stated: JsonObject = {LABELS: msgspec.to_builtins(labelling)}
    if status:
        stated["status"] = status
    kept = {key: value for key, value in dataset.items() if key != "status" or status}
    new = {key: value for key, value in stated.items() if key not in kept}
    place = next((at for at, key in enumerate(kept) if key in ("taxonomy", "queries")), len(kept))
    items = [(key, stated.get(key, value)) for key, value in kept.items()]
    return dict([*items[:place], *new.items(), *items[place:]])
