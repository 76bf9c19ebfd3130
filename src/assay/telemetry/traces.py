"""Searches and answers from traces: retriever spans as tracing tools export them, one JSON object a
line.

| export | how a line looks |
|---|---|
| Phoenix, OpenInference | `context`, `span_kind`, `attributes`, nested or flattened |
| OpenTelemetry (OTLP as JSON) | `resourceSpans` with spans whose attributes are a list |
| Langfuse | `id`, `traceId`, `type` RETRIEVER, `input`, `output` with the documents |

Every retriever span is a search. A trace that has one, and an output, is an answer: its question is
what came into the outermost span, its answer what came out, and `retrieved` are the documents of
all its retriever spans."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from assay.core.errors import InputError

HINT = "Expected spans of OpenTelemetry, Phoenix or Langfuse, one JSON object a line."
QUESTIONS = ("query", "question", "input", "text", "prompt", "content", "messages")
ANSWERS = ("answer", "output", "result", "response", "text", "content", "choices", "message")
# of a document before those of its passage
IDS = (
    *("metadata.doc_id", "metadata.document_id", "doc_id", "document_id", "id", "node_id"),
    *("metadata.id", "metadata.source"),
)
TEXTS = ("text", "content", "page_content")
LISTS = ("documents", "results", "nodes", "hits")
PARENTS = ("parent_id", "parentSpanId", "parentObservationId", "parent_observation_id")
RETRIEVED = re.compile(r"retrieval\.documents\.(\d+)\.document\.(.+)")


class TracedDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document that a retriever returned."""

    id: str
    text: str = ""
    score: float | None = None


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a trace. `kind` is RETRIEVER, LLM and so on, in capitals."""

    trace: str
    id: str
    parent: str
    kind: str
    name: str
    start: str
    millis: float | None
    input: Any
    output: Any
    documents: tuple[TracedDocument, ...]
    error: str


class TracedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was answered from documents, as `assay answers check` reads it."""

    id: str
    question: str
    answer: str
    retrieved: list[TracedDocument]


def spans_of(row: Any, where: str) -> Iterator[Span]:
    """The spans of one line."""
    if not isinstance(row, dict):
        raise InputError("a line is no object", where=where, hint=HINT)
    if "resourceSpans" in row:
        for resource in row["resourceSpans"]:
            for scope in resource.get("scopeSpans", ()):
                for span in scope.get("spans", ()):
                    yield _otlp(span)
    elif "type" in row and ("traceId" in row or "trace_id" in row):
        found = {key: _decoded(row.get(key)) for key in ("input", "output")}
        yield _span(row, **found)
    elif any(key in row for key in ("context", "context.trace_id", "traceId", "trace_id")):
        yield _otlp(row) if isinstance(row.get("attributes"), list) else _openinference(row)
    else:
        raise InputError("this is no span of a trace", where=where, hint=HINT)


def search_row(span: Span) -> dict[str, Any]:
    """A retriever span as a search of the log."""
    return {
        "id": span.id,
        "query": text_of(span.input, QUESTIONS),
        "at": span.start,
        "results": [
            {"doc_id": document.id, "score": document.score} for document in span.documents
        ],
        "engine": span.name,
        "millis": span.millis,
        "error": span.error,
    }


def answers_of(spans: Sequence[Span]) -> Iterator[TracedAnswer]:
    """The answers of traces, in the order in which they begin."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    for trace, own in traces.items():
        own.sort(key=lambda span: span.start)
        retrieved: dict[str, TracedDocument] = {}
        for span in own:
            for document in span.documents if span.kind == "RETRIEVER" else ():
                retrieved.setdefault(document.id, document)
        known = {span.id for span in own}
        root = next((span for span in own if span.parent not in known), own[0])
        models = [span for span in own if span.kind in ("LLM", "GENERATION")]
        last = models[-1].output if models else None
        answer = text_of(root.output, ANSWERS) or text_of(last, ANSWERS)
        asked = [root.input, *(span.input for span in own if span.kind == "RETRIEVER")]
        question = next((text for each in asked if (text := text_of(each, QUESTIONS))), "")
        if retrieved and question and answer:
            yield TracedAnswer(
                id=trace, question=question, answer=answer, retrieved=list(retrieved.values())
            )


def text_of(value: Any, keys: Sequence[str]) -> str:
    """The text of an input or output, which may be JSON, and may have it under a usual name. Of a
    list of messages it is the last one."""
    if isinstance(value, str):
        decoded = _decoded(value)
        return value.strip() if isinstance(decoded, str) else text_of(decoded, keys)
    if isinstance(value, list):
        return text_of(value[-1], keys) if value else ""
    if isinstance(value, Mapping):
        for key in (*keys, "content", "value"):
            if value.get(key) and (text := text_of(value[key], keys)):
                return text
    return ""


# ── the exports ───────────────────────────────────────────────────────────────────────────────────


def _span(values: Mapping[str, Any], **known: Any) -> Span:
    """A span from attributes by their dotted names; `known` are those that an export names in its
    own way."""

    def value(*names: str) -> Any:
        return next((values[name] for name in names if values.get(name) is not None), None)

    start, end = value("start_time", "startTime"), value("end_time", "endTime")
    failed = value("status_code", "level") == "ERROR"
    return Span(
        trace=str(value("context.trace_id", "trace_id", "traceId") or ""),
        id=str(value("context.span_id", "span_id", "spanId", "id") or ""),
        parent=str(value(*PARENTS) or ""),
        kind=str(value("openinference.span.kind", "span_kind", "type") or "").upper(),
        name=str(value("name") or ""),
        start=str(start or ""),
        millis=_millis(start, end),
        input=known.get("input", value("input.value")),
        output=known.get("output", value("output.value")),
        documents=tuple(_documents(known.get("output", _retrieved(values)))),
        error=str(value("status_message", "statusMessage") or "failed") if failed else "",
    )


def _otlp(span: Mapping[str, Any]) -> Span:
    attributes = {
        each["key"]: next(iter(each.get("value", {}).values()), None)
        for each in span.get("attributes", ())
    }
    status = span.get("status") or {}
    failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    times = {
        "start_time": _nanos(span.get("startTimeUnixNano")),
        "end_time": _nanos(span.get("endTimeUnixNano")),
        "status_code": "ERROR" if failed else "",
        "status_message": status.get("message"),
    }
    return _span({**span, **attributes, **times})


def _openinference(row: Mapping[str, Any]) -> Span:
    flat = _flattened(row, "")
    return _span({key.removeprefix("attributes."): value for key, value in flat})


def _flattened(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Nested attributes with dotted names, as OpenInference flattens them."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flattened(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for at, inner in enumerate(value):
            yield from _flattened(inner, f"{path}.{at}")
    else:
        yield path, value


def _retrieved(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The documents of flattened attributes: retrieval.documents.0.document.id and so on."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in values.items():
        if match := RETRIEVED.fullmatch(key):
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [fields for _, fields in sorted(found.items())]


def _documents(found: Any) -> Iterator[TracedDocument]:
    """Documents in the order of the retriever, each by the id of its document where it has one."""
    if isinstance(found, Mapping):
        found = next((found[key] for key in LISTS if isinstance(found.get(key), list)), [])
    for each in found if isinstance(found, list) else ():
        if isinstance(each, str):
            yield TracedDocument(each)
        elif isinstance(each, Mapping):
            inner = each.get("document") or each.get("node") or {}
            fields = {**each, **(inner if isinstance(inner, Mapping) else {})}
            fields |= dict(_flattened({"metadata": _decoded(fields.get("metadata"))}, ""))
            key = next((str(fields[name]) for name in IDS if fields.get(name)), "")
            text = next((str(fields[name]) for name in TEXTS if fields.get(name)), "")
            score = fields.get("score")
            if key:
                number = float(score) if isinstance(score, int | float) else None
                yield TracedDocument(key, text, number)


def _decoded(value: Any) -> Any:
    """A value that was written as JSON inside JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return value


def _nanos(value: Any) -> str:
    number = int(value) if str(value or "").isdigit() else 0
    return datetime.fromtimestamp(number / 1e9, UTC).isoformat() if number else ""


def _millis(start: Any, end: Any) -> float | None:
    with contextlib.suppress(ValueError, TypeError):
        began, ended = (datetime.fromisoformat(str(each)) for each in (start, end))
        return (ended - began).total_seconds() * 1000
    return None
