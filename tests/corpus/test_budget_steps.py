"""A budget over its changes: labels and figures share a ruled cell, and are one row in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.corpus import import_corpus, open_corpus
from kit.drawn_reports import Sheet, drawn

pytest.importorskip("pypdfium2")


def unit(sheet: Sheet, top: float, name: str, *, income: str) -> None:
    """The table of a unit, under a heading whose words stand over its columns."""
    sheet.text(60, top - 24, "Tulosalue")
    sheet.text(220, top - 24, name, size=17)
    for y in (top, top + 20, top + 130):
        sheet.line(60, y, 500, y)
    for x in (60, 200, 340, 420, 500):
        sheet.line(x, top, x, top + 130)
    for right, text in ((335, "Talousarvio"), (415, "Toteutuma"), (495, "Poikkeama")):
        sheet.figure(right, top + 14, text)
    for y, label, step, figures in (
        (36, "Toimintatulot", "Alkuperäinen", (income,)),
        (50, "Kv 22.4. §26", "Muutos", ("-15 000",)),
        (64, "", "Yhteensä", ("813 800", "685 689", "-128 111")),
        (84, "Toimintamenot", "Alkuperäinen", ("1 040 500",)),
        (98, "", "Yhteensä", ("1 040 500", "958 448", "82 052")),
        (122, "Netto", "", ("-226 700", "-272 759", "-46 059")),
    ):
        sheet.row(top + y, label, zip((335, 415, 495), figures, strict=False), x=65)
        sheet.text(205, top + y, step)


def test_a_budget_with_its_changes_is_one_row(tmp_path: Path) -> None:
    sheet = Sheet()
    unit(sheet, 150, "660 Rakennusvalvonta", income="828 800")
    unit(sheet, 400, "670 Kirjasto", income="328 800")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "lapua-2031.pdf").write_bytes(drawn([sheet]))
    import_corpus("report", tmp_path / "source", name="r", home=tmp_path)
    corpus = open_corpus(tmp_path, "r")
    rows = [row for row in corpus.iter() if row.metadata["type"] == "row"]
    assert [row.fields["label"] for row in rows] == ["Toimintatulot", "Toimintamenot", "Netto"] * 2
    figures = [(figure["column"], figure["text"]) for figure in rows[0].metadata["figures"]]
    assert figures == [
        ("Talousarvio Alkuperäinen", "828 800"),
        ("Talousarvio Muutos Kv 22.4. §26", "-15 000"),
        ("Talousarvio Yhteensä", "813 800"),
        ("Toteutuma", "685 689"),
        ("Poikkeama", "-128 111"),
    ]
    assert [row.fields["entity"] for row in rows[::3]] == ["660 Rakennusvalvonta", "670 Kirjasto"]
