"""What is in a corpus and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import Corpus, check, near_duplicates, stats
from assay.corpus.quality import text_quality
from kit.sources import letter, load, opinion, write_lines, write_opinions

WORDS = [f"word{n}" for n in range(400)]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    poor = {
        **opinion("90-003", letter("A-90-003", "Mr. Doe")),
        "extraction": {"quality_score": 0.3},
    }
    empty = {
        **opinion("90-004"),
        "content": {"full_text": ""},
        "classification": {"topic_primary": None},
    }
    records = [
        opinion(
            "90-001", letter("A-90-001", "Ms. Roe", "See the Poe Advice Letter, No. A-88-777.")
        ),
        opinion("90-002", letter("A-90-002", "Ms. Roe"), sections={"conclusion": "No."}),
        poor,
        empty,
    ]
    source = write_opinions(tmp_path / "s", records)
    (source / "1990/bad.json").write_text("{")
    return load("fppc", source, tmp_path)


def test_stats_count_and_cover(corpus: Corpus) -> None:
    counts = stats(corpus)
    assert (counts.documents, counts.no_text, counts.problems) == (4, 1, {"bad-json": 1})
    assert counts.by_type == {"advice_letter": 4}
    assert counts.by_year == {"1990": 4}
    assert counts.by_language == {"en": 4}
    assert next(iter(counts.coverage)) == "sections.question"
    assert counts.coverage["sections.question"] == 0.75
    assert counts.coverage["sections.conclusion"] == 0.25
    assert counts.coverage["content.full_text"] == 0.75
    assert counts.coverage["classification.topic_primary"] == 0.75
    assert counts.coverage["extraction.quality_score"] == 1.0
    assert counts.quality["low"] == 0.25


def test_check_names_what_a_person_should_look_at(corpus: Corpus) -> None:
    findings = {(finding.code, finding.where) for finding in check(corpus)}
    assert ("no-text", "90-004") in findings
    assert ("low-quality", "90-003") in findings
    assert any(code == "bad-json" and where.endswith("bad.json") for code, where in findings)
    (dangling,) = [finding for finding in check(corpus) if finding.code == "dangling-reference"]
    assert dangling.where == "90-001"
    assert "No. A-88-777" in dangling.message


def test_findings_of_one_kind_are_limited_and_counted(corpus: Corpus) -> None:
    assert any("not listed" in finding.message for finding in check(corpus, limit=0))


def test_near_duplicates_share_most_of_their_words(tmp_path: Path) -> None:
    texts = {
        "a": " ".join(WORDS),
        "b": " ".join([*WORDS[:395], "changed", *WORDS[396:]]),
        "c": " ".join(WORDS[::-1]),
        "d": "too short to say",
        "e": "too short to say",
    }
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    corpus = load("jsonl", write_lines(tmp_path / "s.jsonl", rows), tmp_path)
    (pair,) = near_duplicates(corpus)
    assert pair[:2] == ("a", "b")
    assert pair[2] > 0.9


def test_a_clean_text_scores_above_a_poor_scan() -> None:
    clean = "The council may vote on 12 items, under Section 5(a), at $1,000 each."
    poor = "Th~ c0unc|l m?y v#te 0n l2 !tems, und=r S*cti@n 5{a}, a+ $l,0O0 ea¢h."
    assert text_quality(clean) > 0.95 > 0.5 > text_quality(poor)
    assert text_quality("") == 0.0
