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

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from assay.core.errors import InputError

HINT = "Expected spans of OpenTelemetry, Phoenix or Langfuse, one JSON object a line."
QUESTIONS = ("query", "question", "input", "text", "prompt", "content", "messages")
ANSWERS = ("answer", "output", "result", "response", "text", "content", "choices", "message")
IDS = ("id", "doc_id", "document_id", "node_id")
TEXTS = ("text", "content", "page_content")
LISTS = ("documents", "results", "nodes", "hits")


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
        yield _langfuse(row)
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


def _openinference(row: Mapping[str, Any]) -> Span:
    flat = dict(_flattened(row, ""))
    attributes = {key.removeprefix("attributes."): value for key, value in flat.items()}
    return _span(
        attributes,
        trace=attributes.get("context.trace_id") or attributes.get("trace_id"),
        id=attributes.get("context.span_id") or attributes.get("span_id"),
        parent=attributes.get("parent_id"),
        kind=attributes.get("openinference.span.kind") or attributes.get("span_kind"),
        times=(attributes.get("start_time"), attributes.get("end_time")),
        failed=attributes.get("status_code") == "ERROR",
        message=attributes.get("status_message"),
    )


def _otlp(span: Mapping[str, Any]) -> Span:
    attributes = {
        each["key"]: next(iter(each.get("value", {}).values()), None)
        for each in span.get("attributes", ())
    }
    status = span.get("status") or {}
    return _span(
        {**attributes, "name": span.get("name")},
        trace=span.get("traceId"),
        id=span.get("spanId"),
        parent=span.get("parentSpanId"),
        kind=attributes.get("openinference.span.kind"),
        times=(_nanos(span.get("startTimeUnixNano")), _nanos(span.get("endTimeUnixNano"))),
        failed=status.get("code") in (2, "STATUS_CODE_ERROR"),
        message=status.get("message"),
    )


def _span(
    attributes: Mapping[str, Any],
    *,
    trace: Any,
    id: Any,
    parent: Any,
    kind: Any,
    times: tuple[Any, Any],
    failed: bool,
    message: Any,
) -> Span:
    return Span(
        trace=str(trace or ""),
        id=str(id or ""),
        parent=str(parent or ""),
        kind=str(kind or "").upper(),
        name=str(attributes.get("name") or ""),
        start=str(times[0] or ""),
        millis=_millis(*times),
        input=attributes.get("input.value"),
        output=attributes.get("output.value"),
        documents=tuple(_flat_documents(attributes)),
        error=(str(message or "") or "failed") if failed else "",
    )


def _langfuse(row: Mapping[str, Any]) -> Span:
    def value(*names: str) -> Any:
        return next((row[name] for name in names if row.get(name) is not None), None)

    times = value("startTime", "start_time"), value("endTime", "end_time")
    kind = str(value("type")).upper()
    found = _decoded(value("output"))
    return Span(
        trace=str(value("traceId", "trace_id") or ""),
        id=str(value("id") or ""),
        parent=str(value("parentObservationId", "parent_observation_id") or ""),
        kind=kind,
        name=str(value("name") or ""),
        start=str(times[0] or ""),
        millis=_millis(*times),
        input=_decoded(value("input")),
        output=found,
        documents=tuple(_listed_documents(found)) if kind == "RETRIEVER" else (),
        error=str(value("statusMessage", "status_message") or "failed")
        if value("level") == "ERROR"
        else "",
    )


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


def _flat_documents(attributes: Mapping[str, Any]) -> Iterator[TracedDocument]:
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        parts = key.split(".")
        if parts[:2] == ["retrieval", "documents"] and len(parts) >= 5 and parts[2].isdigit():
            found.setdefault(int(parts[2]), {})[".".join(parts[4:])] = value
    for _, fields in sorted(found.items()):
        yield from _listed_documents([fields])


def _listed_documents(found: Any) -> Iterator[TracedDocument]:
    """Documents in the order of the retriever, each by the id of its document where it has one."""
    if isinstance(found, Mapping):
        found = next((found[key] for key in LISTS if isinstance(found.get(key), list)), [])
    for each in found if isinstance(found, list) else []:
        if isinstance(each, str):
            yield TracedDocument(each)
        elif isinstance(each, Mapping):
            inner = each.get("document") or each.get("node") or each
            fields = {**each, **inner} if isinstance(inner, Mapping) else dict(each)
            metadata = _decoded(fields.get("metadata"))
            named = dict(metadata) if isinstance(metadata, Mapping) else {}
            named |= {
                key.removeprefix("metadata."): value
                for key, value in fields.items()
                if key.startswith("metadata.")
            }
            ids = [named.get("doc_id"), named.get("document_id"), *(fields.get(k) for k in IDS)]
            ids += [named.get("id"), named.get("source")]
            key = next((str(one) for one in ids if one not in (None, "")), "")
            score = fields.get("score")
            if key:
                yield TracedDocument(
                    key,
                    next((str(fields[name]) for name in TEXTS if fields.get(name)), ""),
                    float(score) if isinstance(score, int | float) else None,
                )


def _decoded(value: Any) -> Any:
    """A value that was written as JSON inside JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return value


def _nanos(value: Any) -> str:
    if not str(value or "").isdigit():
        return ""
    return datetime.fromtimestamp(int(value) / 1e9, UTC).isoformat()


def _millis(start: Any, end: Any) -> float | None:
    try:
        began, ended = (datetime.fromisoformat(str(each)) for each in (start, end))
        return (ended - began).total_seconds() * 1000
    except (ValueError, TypeError):
        return None
