"""The Hebrew set in eval/: its shape always, every expected section where the statutes are at
hand."""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.types import Document, GoldSet
from assay.corpus.importers import akn
from assay.evaluation.golden.set_checks import check_expectations
from assay.formats import read_gold
from assay.law.matching import known_document

HEBREW = Path(__file__).parents[2] / "eval" / "questions_hebrew_golden.json"


def _by(author: str) -> GoldSet:
    """The questions of one author."""
    gold = read_gold(HEBREW)
    return replace(gold, queries=tuple(q for q in gold.queries if q.extra["author"] == author))


@pytest.fixture
def statutes(tmp_path: Path) -> Path:
    folder = os.environ.get("ASSAY_DATA") or Path(__file__).parents[3] / "shared" / "data"
    archive = Path(folder) / "israel" / "akn-he.tar.xz"
    if not archive.exists():
        pytest.skip(f"{folder} has no israel/akn-he.tar.xz; ASSAY_DATA names another folder")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path


def test_the_set_on_israeli_statutes() -> None:
    gold = _by("levy")
    types = Counter(str(query.checks.get("test_type", "")) for query in gold.queries)
    assert types == {"question": 30, "prefix": 4, "niqqud": 3, "variant": 3}
    assert len({query.text for query in gold.queries}) == 40
    assert {query.language for query in gold.queries} == {"he"}
    assert check_expectations(gold) == []


def test_the_second_set_on_israeli_statutes() -> None:
    gold = _by("statutes")
    assert len({query.text for query in gold.queries}) == 140
    assert sum(bool(query.checks.get("must_abstain")) for query in gold.queries) == 40
    assert check_expectations(gold) == []


def test_a_variant_expects_what_its_parent_expects() -> None:
    questions = {query.id: query for query in _by("levy").queries}
    variants = [query for query in questions.values() if "parent" in query.extra]
    assert len(variants) == 10
    for variant in variants:
        parent = questions[variant.extra["parent"]]
        assert "parent" not in parent.extra
        assert variant.checks["expected_any"] == parent.checks["expected_any"]


def test_every_expected_section_is_in_the_statutes(statutes: Path) -> None:
    source = str(statutes)
    read = (document for unit in akn.units(source, {}) for document in akn.read(source, unit, {}))
    known = [known_document(document) for document in read if isinstance(document, Document)]
    assert check_expectations(read_gold(HEBREW), known) == []
