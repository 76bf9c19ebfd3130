"""One example of each format of gold sets, with keys that Assay does not know."""

from __future__ import annotations

from typing import Any

DATASET: dict[str, Any] = {
    "version": "2.1",
    "created_at": "2026-01-15T09:00:00Z",
    "description": "Everything the schema has, and more",
    "rubric": "fppc-relevance-1",
    "status": "approved",
    "licence": {"name": "CC0"},
    "taxonomy": {
        "gifts": {
            "name": "Gifts",
            "description": "Gifts to officials",
            "colour": "red",
            "issues": [
                {
                    "id": "limits",
                    "name": "Limits",
                    "description": "How much",
                    "key_statutes": ["89503"],
                    "example_opinion_ids": ["A-1"],
                    "weight": 3,
                }
            ],
        },
        "empty": {"name": "Empty", "description": "", "issues": []},
    },
    "queries": [
        {
            "id": "q1",
            "text": "lahjan arvo \u05de\u05ea\u05e0\u05d4",
            "type": "keyword",
            "topic": "gifts",
            "issue": "limits",
            "notes": "tests a word",
            "reviewed_by": ["anna"],
            "relevance_judgments": [
                {
                    "opinion_id": "A 1/§",
                    "score": 2,
                    "rationale": "same test",
                    "judge": "anna",
                    "source": "pool",
                    "rubric": "fppc-relevance-1",
                    "at": "2026-01-01",
                    "confidence": 0.9,
                },
                {"opinion_id": "A-2", "score": 0, "rationale": ""},
            ],
        },
        {
            "id": "q2",
            "text": "no judgments yet",
            "type": "",
            "topic": "",
            "issue": "",
            "notes": "",
            "relevance_judgments": [],
        },
    ],
}

GOLDEN: list[dict[str, Any]] = [
    {
        "id": "1",
        "category": "quorum",
        "must": True,
        "query": "Milloin valtuusto on päätösvaltainen?",
        "expected_any": [{"section_num": 103, "moment": "2"}, {"section_num": "110a"}],
        "k": 5,
        "min_score": 0.4,
        "reviewer": "matti",
    },
    {
        "id": "2",
        "must": False,
        "query": "Onko tätä laissa?",
        "must_abstain": True,
        "as_of": "2020-01-01",
        "language": "fi",
        "notes": "kumottu",
    },
    {
        "id": "3",
        "query": "x",
        "expected_any": [{"doc_id": "a"}],
        "expected_none": [{"doc_id": "b"}],
        "min_score": 0,
    },
]

JSONL: list[dict[str, Any]] = [
    {
        "id": "a",
        "query": "לשון הרע",
        "practice_area": "נזיקין",
        "corpus": "precedents",
        "relevant_case_law_ids": ["רע״א 1/20", "b"],
        "source": "chair",
        "note": "חשוב",
        "clicks": 12,
    },
    {
        "id": "b",
        "query": "nothing right",
        "practice_area": "",
        "corpus": "",
        "relevant_case_law_ids": [],
        "source": "logs",
        "note": "",
    },
]

CSV = (
    "query_id,query,topic,doc_id,grade,rationale\n"
    'q1,"gift, limit",gifts,A 1,2,"says ""yes""\nand more"\n'
    'q1,"gift, limit",gifts,A-2,-1,\n'
    "q2,no judgments,,,,\n"
)
