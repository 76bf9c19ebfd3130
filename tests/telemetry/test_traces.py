"""Traces of other tools as searches and answers, by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.workbench.project.service import open_service
from kit.commands import Assay

ANSWER = {
    "id": "t1",
    "question": "gift limits?",
    "answer": "Fifty.",
    "retrieved": [
        {"id": "A-1", "text": "first text", "score": 0.9},
        {"id": "A-2", "text": "second text", "score": 0.5},
    ],
}


def phoenix(*, flat: bool) -> list[dict[str, Any]]:
    documents = [("A-1", "first text", 0.9), ("A-2", "second text", 0.5)]
    found: dict[str, Any] = {"openinference.span.kind": "RETRIEVER", "input.value": "gift limits"}
    if flat:
        for at, (key, text, score) in enumerate(documents):
            name = f"retrieval.documents.{at}.document"
            found |= {f"{name}.id": key, f"{name}.content": text, f"{name}.score": score}
    else:
        nested = [
            {"document": {"id": key, "content": text, "score": score}}
            for key, text, score in documents
        ]
        found = {
            "openinference": {"span": {"kind": "RETRIEVER"}},
            "input": {"value": "gift limits"},
            "retrieval": {"documents": nested},
        }
    times = {"start_time": "2026-05-01T10:00:00Z", "end_time": "2026-05-01T10:00:00.250Z"}
    root = {
        "openinference.span.kind": "CHAIN",
        "input.value": '{"question": "gift limits?"}',
        "output.value": "Fifty.",
    }
    return [
        {
            "name": "retrieve",
            "context": {"trace_id": "t1", "span_id": "s2"},
            "span_kind": "RETRIEVER",
            "parent_id": "s1",
            "status_code": "OK",
            "attributes": found,
            **times,
        },
        {
            "name": "chain",
            "context": {"trace_id": "t1", "span_id": "s1"},
            "span_kind": "CHAIN",
            "parent_id": None,
            "status_code": "OK",
            "attributes": root,
            **times,
        },
    ]


def dataframe() -> list[dict[str, Any]]:
    """The rows of Phoenix's frame: attributes as columns."""
    rows = []
    for span in phoenix(flat=False):
        attributes = span.pop("attributes")
        context = span.pop("context")
        row = {**span, **{f"context.{key}": value for key, value in context.items()}}
        if "retrieval" in attributes:
            row["attributes.retrieval.documents"] = attributes["retrieval"]["documents"]
            row["attributes.input.value"] = attributes["input"]["value"]
        else:
            row |= {f"attributes.{key}": value for key, value in attributes.items()}
        rows.append(row)
    return rows


def otlp() -> list[dict[str, Any]]:
    spans = []
    for span in phoenix(flat=True):
        kinds = {str: "stringValue", float: "doubleValue"}
        attributes = [
            {"key": key, "value": {kinds[type(value)]: value}}
            for key, value in span["attributes"].items()
        ]
        spans.append(
            {
                "traceId": span["context"]["trace_id"],
                "spanId": span["context"]["span_id"],
                "parentSpanId": span["parent_id"] or "",
                "name": span["name"],
                "startTimeUnixNano": "1777629600000000000",
                "endTimeUnixNano": "1777629600250000000",
                "attributes": attributes,
                "status": {},
            }
        )
    return [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}]


def langfuse(*, snake: bool) -> list[dict[str, Any]]:
    documents = [
        {"page_content": "first text", "metadata": {"doc_id": "A-1"}, "score": 0.9},
        {"page_content": "second text", "metadata": {"doc_id": "A-2"}, "score": 0.5},
    ]
    names = (
        ("trace_id", "parent_observation_id", "start_time", "end_time")
        if snake
        else ("traceId", "parentObservationId", "startTime", "endTime")
    )
    times = ("2026-05-01 10:00:00.000000", "2026-05-01 10:00:00.250000")
    common = dict(zip((names[0], *names[2:]), ("t1", *times), strict=True))
    found: dict[str, Any] = {"input": {"query": "gift limits"}, "output": {"documents": documents}}
    root: dict[str, Any] = {"input": {"question": "gift limits?"}, "output": {"answer": "Fifty."}}
    if snake:  # the export writes them as JSON inside JSON
        found = {key: json.dumps(value) for key, value in found.items()}
        root = {key: json.dumps(value) for key, value in root.items()}
    return [
        {"id": "s2", "type": "RETRIEVER", "name": "retrieve", names[1]: "s1", **common, **found},
        {"id": "s1", "type": "SPAN", "name": "chain", names[1]: None, **common, **root},
    ]


@pytest.mark.parametrize(
    "rows",
    [
        phoenix(flat=True),
        phoenix(flat=False),
        dataframe(),
        otlp(),
        langfuse(snake=False),
        langfuse(snake=True),
        [{"data": phoenix(flat=True), "next_cursor": None}],
        [langfuse(snake=False)],
    ],
    ids=[
        *("phoenix", "nested", "dataframe", "otlp", "langfuse", "langfuse-export"),
        *("phoenix-rest", "langfuse-list"),
    ],
)
def test_a_retriever_span_is_a_search_and_its_trace_an_answer(
    assay_cli: Assay, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = assay_cli("logs", "traces", "spans.jsonl", "--answers", "answers.jsonl", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json == {"read": 1, "new": 1, "spans": 2, "answers": 1}
    (line,) = (tmp_path / "answers.jsonl").read_text().splitlines()
    assert json.loads(line) == ANSWER
    again = assay_cli("logs", "traces", "spans.jsonl", "--json")
    assert again.json["new"] == 0
    with open_service() as service:
        (search,) = service.store.searches(["s2"])
    assert (search.query, search.engine) == ("gift limits", "retrieve")
    assert [(each.doc_id, each.rank, each.score) for each in search.results] == [
        ("A-1", 1, 0.9),
        ("A-2", 2, 0.5),
    ]
    assert search.millis == pytest.approx(250)


def test_a_passage_is_known_by_the_document_of_its_metadata(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """LangChain gives passages without ids: OpenInference writes their metadata as JSON in a text,
    Langfuse as it is, from JavaScript with the text as pageContent."""
    (retriever, chain) = phoenix(flat=True)
    kept = {"openinference.span.kind": "RETRIEVER", "input.value": "gift limits"}
    for at, source in enumerate(("a.pdf", "b.pdf")):
        name = f"retrieval.documents.{at}.document"
        kept |= {f"{name}.content": "text", f"{name}.metadata": json.dumps({"source": source})}
    javascript = langfuse(snake=False)
    javascript[0] |= {
        "id": "s9",
        "traceId": "t9",
        "input": "gift limits",
        "output": [
            {"pageContent": "text", "metadata": {"source": name}} for name in ("a.pdf", "b.pdf")
        ],
    }
    rows = [{**retriever, "attributes": kept}, chain, javascript[0]]
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert assay_cli("logs", "traces", "spans.jsonl", "--answers", "a.jsonl").code == 0
    with open_service() as service:
        found = service.store.searches(["s2", "s9"])
    assert [[each.doc_id for each in one.results] for one in found] == [["a.pdf", "b.pdf"]] * 2
    assert [one.query for one in found] == ["gift limits"] * 2


def test_names_are_hidden_in_searches_and_answers(assay_cli: Assay, tmp_path: Path) -> None:
    rows = phoenix(flat=True)
    rows[0]["attributes"]["input.value"] = "gifts to ann@example.com"
    rows[1]["attributes"]["output.value"] = "Ask ann@example.com."
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = assay_cli(
        "logs", "traces", "spans.jsonl", "--answers", "answers.jsonl", "--redact", "email"
    )
    assert outcome.code == 0, outcome.err
    assert "ann@example.com" not in (tmp_path / "answers.jsonl").read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"query": "no span"}', "this is not a span of a trace"),
        ("3", "this is not a span of a trace"),
        ("[]", "there is no retriever span here"),
        (json.dumps(phoenix(flat=True)[1]), "there is no retriever span here"),
    ],
)
def test_mistakes_are_named(assay_cli: Assay, tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "spans.jsonl").write_text(line + "\n")
    outcome = assay_cli("logs", "traces", "spans.jsonl", "--answers", "answers.jsonl")
    assert outcome.code == 2
    assert said in outcome.err
    assert not (tmp_path / "answers.jsonl").exists()
