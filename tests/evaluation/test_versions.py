"""The law as it stood on a day: corpora with several versions, the built-in engine, and questions
with `as_of`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.law.matching import KnownDocument, close_versions, place_of
from assay.law.versions import holds_on, valid_periods
from kit.commands import Assay

TEXTS = {
    1: "Kunnan talousarvio hyväksytään vuosittain valtuustossa ennen vuoden loppua.",
    2: "Kunta voi ottaa lainaa investointien rahoittamiseen valtuuston päätöksellä.",
    3: "Tilinpäätös allekirjoitetaan maaliskuun loppuun mennessä.",
}


def _moment(version: str, section: int, text: str, **dates: str) -> dict[str, Any]:
    return {
        "law": "Kuntalaki",
        "law_id": "410/2015",
        "law_key": "fi:act:410/2015",
        "finlex_version": version,
        "node_id": f"410/2015:{version}:{section}:1",
        "section_id": str(section),
        "section_num": section,
        "section_title": "",
        "moment": "1",
        "text": text,
        "in_force": True,
        "source": {},
    } | dates


def _amended(ends: bool) -> list[dict[str, Any]]:
    """Sections 1 to 3, of which 3 was amended from 2020; the first version says when it ended, or
    not."""
    old = {"effective_from": "2015-05-01"} | ({"effective_to": "2019-12-31"} if ends else {})
    rows = [
        _moment("fin@1", number, text, effective_from="2015-05-01")
        for number, text in TEXTS.items()
    ]
    rows[2] |= old
    later = TEXTS[3].replace("maaliskuun", "huhtikuun")
    return [*rows, _moment("fin@2", 3, later, effective_from="2020-01-01")]


@pytest.mark.parametrize("ends", [True, False])
def test_the_engine_returns_the_version_in_force_on_the_day(
    assay_cli: Assay, tmp_path: Path, ends: bool
) -> None:
    rows = "\n".join(json.dumps(row, ensure_ascii=False) for row in _amended(ends))
    (tmp_path / "act.jsonl").write_text(rows, encoding="utf-8")
    assert assay_cli("corpus", "import", "finlex", "act.jsonl", "--name", "act").code == 0
    assert assay_cli("index", "act").code == 0
    question = {
        "query": "Milloin tilinpäätös allekirjoitetaan?",
        "expected_any": [{"section": "3"}],
        "min_score": 0,
    }
    days = {"2015-05-01": "fin@1", "2019-12-31": "fin@1", "2020-01-01": "fin@2"}
    gold = [question | {"id": day, "as_of": day} for day in days]
    gold.append(question | {"id": "early", "as_of": "2014-01-01"})
    (tmp_path / "gold.json").write_text(json.dumps(gold), encoding="utf-8")
    found = assay_cli("score", "--engine", "act", "--dataset", "gold.json", "--json")
    *asked, early = found.json["per_query"]
    assert [(entry["id"], "fin@" + entry["hits"][0]["version"]) for entry in asked] == list(
        days.items()
    )
    assert all(entry["passed"] for entry in asked)
    assert all(
        len({hit["section_num"] for hit in entry["hits"]}) == len(entry["hits"]) for entry in asked
    )
    assert (early["hits"], early["passed"]) == ([], False)
    assert "error: early: expected_any[0]: 3 § was not in force on 2014-01-01" in found.err
    for day, version in days.items():
        hits = assay_cli("search", "act", "tilinpäätös", "--as-of", day, "--json").json["hits"]
        assert hits[0]["locator"]["version"] == version
    assert {
        hit["locator"]["version"]
        for hit in assay_cli("search", "act", "tilinpäätös", "--json").json["hits"]
    } == {
        "fin@1",
        "fin@2",
    }
    written = assay_cli("search", "act", "tilinpäätös", "--as-of", "1.5.2015", "--json").json
    assert written["hits"][0]["locator"]["version"] == "fin@1"
    assert assay_cli("search", "act", "tilinpäätös", "--as-of", "31.2.2015").code == 2
    assert assay_cli("search", "act", "tilinpäätös", "--as-of", "2014-01-01").code == 2


def test_another_systems_old_version_fails_also_where_only_the_next_one_tells_its_end(
    assay_cli: Assay, tmp_path: Path
) -> None:
    rows = "\n".join(json.dumps(row, ensure_ascii=False) for row in _amended(False))
    (tmp_path / "act.jsonl").write_text(rows, encoding="utf-8")
    assay_cli("corpus", "import", "finlex", "act.jsonl", "--name", "act")
    gold = [{"id": "q", "query": "?", "expected_any": [{"section": "3"}], "as_of": "2021-01-01"}]
    (tmp_path / "gold.json").write_text(json.dumps(gold), encoding="utf-8")
    for version, failure in (("fin@1", "wrong_version"), ("fin@2", "")):
        run = {
            "results": [{"id": "q", "hits": [{"doc_id": f"410/2015:{version}:3:1", "score": 0.9}]}]
        }
        (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
        found = assay_cli(
            "score", "--dataset", "gold.json", "--run", "run.json", "--corpus", "act", "--json"
        )
        assert found.json["per_query"][0]["failure"] == failure


def test_lines_of_json_may_leave_dates_out(assay_cli: Assay, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "first", "text": "Officials and their travel."},
        {
            "id": "old",
            "law": "Gift Act",
            "section": "5",
            "text": "Gifts over $50 are reported.",
            "date": "2001-01-01",
        },
        {
            "id": "new",
            "law": "Gift Act",
            "section": "5",
            "text": "Gifts over $90 are reported.",
            "date": "2020-01-01",
        },
        {"id": "gone", "text": "Gifts were free once.", "valid_to": "2010-12-31"},
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assay_cli("corpus", "import", "jsonl", "c.jsonl", "--name", "c")
    for day, expected in (
        ("2005-01-01", {"old", "gone"}),
        ("2015-01-01", {"old"}),
        ("2021-01-01", {"new"}),
    ):
        hits = assay_cli("search", "c", "gifts", "--as-of", day, "--json").json["hits"]
        assert {hit["doc_id"] for hit in hits} - {"first"} == expected


def test_a_version_ends_when_the_next_begins() -> None:
    periods = valid_periods(
        [
            ("a", "1.5.2015", ""),
            ("a", "2020-01-01", None),
            ("b", "2015", ""),
            (None, "2015-05-01", ""),
        ]
    )
    assert periods == [
        ("2015-05-01", "2019-12-31"),
        ("2020-01-01", ""),
        ("2015", ""),
        ("2015-05-01", ""),
    ]
    assert (
        valid_periods([("a", "2015-01-01", "2016-01-01"), ("a", "2020-01-01", "")])[0][1]
        == "2016-01-01"
    )
    parts = {"law": "X", "section": "1"}
    known = {
        "old": KnownDocument(place_of(parts | {"valid_from": "2001-01-01"})),
        "new": KnownDocument(place_of(parts | {"valid_from": "2002-01-01"})),
    }
    assert close_versions(known)["old"].place.valid_to == "2001-12-31"


def test_a_year_alone_is_the_whole_year() -> None:
    assert holds_on("2024-06-01", "2024", "2024")
    assert not holds_on("2023-12-31", "2024", "")
    assert not holds_on("2025-01-01", "", "2024")
