"""Annual reports: sections and tables with page, row and column."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.core.errors import InputError
from assay.corpus.importers import annual_report
from assay.corpus.importers.kinds import Unit
from kit.sources import encrypted_pdf, load, pdf_with_image, pdf_with_text

PARSED = {
    "city": "satama",
    "year": 2031,
    "title": "Sataman tilinpäätös 2031",
    "pages": [
        {
            "page_num": 7,
            "sections": [
                {
                    "title": "Talous",
                    "paragraphs": ["Tilinpäätös on laadittu kuntalain 113 §:n mukaisesti."],
                    "tables": [
                        {
                            "title": "Tuloslaskelma",
                            "rows": [
                                {"cells": ["Toimintakate", "-45", 12]},
                                {"cells": ["Vuosikate", None]},
                            ],
                        }
                    ],
                    "subsections": [{"title": "Riskit", "paragraphs": ["Riskejä on."]}],
                }
            ],
        }
    ],
    "metrics": {"vuosikate": 3.4},
}

STATEMENT = [
    (60, 780, "3.1 Tuloslaskelma"),
    (300, 750, "2031"),
    (420, 750, "2030"),
    *(
        (x, y, text)
        for y, row in zip(
            range(730, 600, -16),
            [
                ("Toimintatuotot", "7 725 767,34", "7 920 010,67"),
                ("Toimintakulut", "-46 216 718,06", "-47 229 756,27"),
                ("Toimintakate", "-38 490 950,72", "-39 309 745,60"),
                ("Verotulot", "33 595 351,41", "33 172 130,90"),
                ("Vuosikate", "9 551 587,40", "10 107 209,90"),
            ],
            strict=False,
        )
        for x, text in zip((60, 358 - 5.0 * len(row[1]), 478 - 5.0 * len(row[2])), row, strict=True)
    ),
    (
        60,
        560,
        "Toimintakate osoittaa verorahoituksen osuuden toiminnan kuluista, ja se on kunnassa",
    ),
    (60, 546, "aina negatiivinen, koska toiminnan tuotot kattavat vain osan kuluista joka vuosi."),
]


def test_a_parsed_report_keeps_pages_sections_and_cells(tmp_path: Path) -> None:
    path = tmp_path / "satama.json"
    path.write_bytes(msgspec.json.encode(PARSED))
    corpus = load("report", path, tmp_path)
    assert corpus.ids == [
        "satama:p7:s1",
        "satama:p7:t1",
        "satama:p7:t1:r1",
        "satama:p7:s2",
        "satama:metrics",
    ]
    row = corpus.get("satama:p7:t1:r1")
    assert row.text == "Satama 2031 | Talous | Tuloslaskelma | Toimintakate | 2031: -45 | 2030: 12"
    assert row.locator is not None
    assert (row.locator.table, row.locator.row) == ("p7-t1", "Toimintakate")
    table = corpus.get("satama:p7:t1")
    assert table.locator is not None
    assert (table.locator.doc_id, table.locator.page, table.locator.table) == ("satama", 7, "p7-t1")
    assert table.metadata["table"]["rows"] == [["Toimintakate", "-45", "12"], ["Vuosikate", ""]]
    assert "Toimintakate | -45 | 12" in table.text
    assert corpus.get("satama:p7:s2").fields["section_title"] == "Talous / Riskit"
    assert corpus.citing("kuntalaki 113 §") == ["satama:p7:s1"]


@pytest.mark.parametrize("content", ["{", '{"pages": [{"sections": []}]}', "[]"])
def test_json_that_is_no_report_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"r\.json"):
        load("report", path, tmp_path)


# ── PDF ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def pdf() -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra: pip install 'assay-ir[pdf]'")


@pytest.mark.usefixtures("pdf")
def test_aligned_figures_become_a_table_with_rows_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "satama-2031.pdf"
    path.write_bytes(pdf_with_text(STATEMENT))
    corpus = load("report", path, tmp_path)
    table = corpus.get("satama-2031:p1:t1")
    cells = table.metadata["table"]
    assert cells["header"] == [["", "2031", "2030"]]
    assert len(cells["rows"]) == 5
    assert cells["rows"][2] == ["Toimintakate", "-38 490 950,72", "-39 309 745,60"]
    assert table.locator is not None
    assert (table.locator.page, table.locator.table) == (1, "p1-t1")
    (prose,) = [document for document in corpus.iter() if document.metadata["type"] == "section"]
    assert prose.text.startswith("Toimintakate osoittaa")
    assert "33 595" not in prose.text


@pytest.mark.usefixtures("pdf")
def test_a_page_of_prose_has_no_table(tmp_path: Path) -> None:
    lines = [
        (
            60,
            780 - 14 * n,
            f"Vuonna 20{n:02d} kunnan tulos oli {n} miljoonaa euroa ja se parani {n} prosenttia.",
        )
        for n in range(10, 40)
    ]
    path = tmp_path / "prose.pdf"
    path.write_bytes(pdf_with_text(lines))
    assert {document.metadata["type"] for document in load("report", path, tmp_path).iter()} == {
        "section"
    }


@pytest.mark.usefixtures("pdf")
def test_rulings_that_cross_make_a_table_of_words(tmp_path: Path) -> None:
    rows = [
        ("Tavoite", "Mittari", "Toteuma"),
        ("Vesi riittää", "Katkokset", "ei yhtään"),
        ("Tie kestää", "Kuopat", "kolme"),
    ]
    texts = [
        (60 + 150 * i, 700 - 30 * n, text)
        for n, row in enumerate(rows)
        for i, text in enumerate(row)
    ]
    across = b"".join(b"55 %d m 500 %d l S\n" % (y, y) for y in (720, 690, 660, 630))
    down = b"".join(b"%d 720 m %d 630 l S\n" % (x, x) for x in (55, 205, 355, 500))
    path = tmp_path / "goals.pdf"
    path.write_bytes(pdf_with_text(texts, extra=across + down))
    table = load("report", path, tmp_path).get("goals:p1:t1").metadata["table"]
    assert [table["header"], table["rows"]] == [[list(rows[0])], [list(row) for row in rows[1:]]]


@pytest.mark.usefixtures("pdf")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pdf_with_image(), "without a text layer"),
        (encrypted_pdf(), "encrypted and needs a password"),
        (b"%PDF-1.4 and then nothing", "not a readable PDF"),
    ],
)
def test_a_pdf_that_cannot_be_read_is_named_and_the_rest_imported(
    tmp_path: Path, data: bytes, message: str
) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "bad.pdf").write_bytes(data)
    with pytest.raises(InputError, match=message):
        load("report", folder, tmp_path)
    (folder / "good.pdf").write_bytes(pdf_with_text(STATEMENT))
    corpus = load("report", folder, tmp_path)
    assert "good:p1:t1" in corpus
    (problem,) = corpus.problems()
    assert "bad.pdf" in problem.where
    assert message in problem.reason


def test_without_the_extra_a_pdf_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdfium2", None)
    (tmp_path / "r.pdf").write_bytes(pdf_with_text(STATEMENT))
    with pytest.raises(InputError) as missing:
        list(annual_report.read(str(tmp_path), Unit(path="r.pdf", id="r"), {}))
    assert "[pdf]" in str(missing.value)
