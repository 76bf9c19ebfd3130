"""Signs that Python counts as digits and cannot read as a number: they are no year and no page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.types import Document
from assay.corpus.disk import year_of
from kit.commands import Assay


@pytest.mark.parametrize("text", ["²⁰²⁴", "①②③④", "20²⁴", "x"])
def test_no_year(text: str) -> None:
    assert year_of(Document(id="d", title="t", text="x", valid_from=text)) is None
    assert year_of(Document(id="d", title="t", text="x", valid_from="٢٠٢٤")) == 2024


def test_an_import_goes_on(assay_cli: Assay) -> None:
    rows = [
        {"id": "a", "title": "t", "text": "x", "valid_from": "²⁰²⁴"},
        {"id": "b", "title": "t", "text": "y", "page": "²"},
        {"id": "c", "title": "t", "text": "z"},
    ]
    Path("d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = assay_cli("corpus", "import", "jsonl", "d.jsonl", "--name", "c", "--json")
    assert done.code in (0, 1), done.err
    assert done.json["documents"] == 2
