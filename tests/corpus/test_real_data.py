"""Real public records, where they are at hand: ASSAY_DATA names the folder with fppc/, finlex/,
municipal/, israel/."""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path

import pytest

from assay.corpus import cite
from kit.sources import load

DATA = Path(os.environ.get("ASSAY_DATA", ""))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("ASSAY_DATA"), reason="set ASSAY_DATA to the folder of real data"
    ),
]


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def test_the_opinions(tmp_path: Path) -> None:
    corpus = load("fppc", unpacked(DATA / "fppc/opinions.tar.xz", tmp_path / "s"), tmp_path)
    assert len(corpus) == 14096
    letters = corpus.citations.collect()
    letters = letters.filter(letters["in_record"] & (letters["kind"] == "letter"))
    assert (letters["status"] == "resolved").sum() > 10000
    name = r"(?:(?:[a-z]{2,3}|[A-Z]\w*\.?)[ -])*[A-ZÀ-Þ][\w’'-]+"
    kind = r"(?:Advice Letter|Correspondence|(?:Commission )?Opinion)"
    titles = [document.title for document in corpus.iter()]
    odd = [title for title in titles if not re.fullmatch(rf"(?:{name} )?{kind}, No\. \S+", title)]
    odd += [title for title in titles if re.search(r"\b(?:This|Thank|Re|The|You|Your)\b", title)]
    assert odd == ["Re Advice Letter, No. 76348"]  # Donald Re


def test_the_six_finnish_acts(tmp_path: Path) -> None:
    corpus = load("finlex", DATA / "finlex", tmp_path)
    assert len(corpus) == 2648
    (resolved,) = cite("kuntalain 110 §:n 3 momentti", corpus)
    assert resolved.targets == ("410/2015:fin@20230780:110:3",)


def test_the_hebrew_statutes(tmp_path: Path) -> None:
    corpus = load("akn", unpacked(DATA / "israel/akn-he.tar.xz", tmp_path / "s"), tmp_path)
    assert not corpus.problems()
    (resolved,) = cite("סעיף 4(5) לתוספת השלישית לחוק התכנון והבנייה", corpus)
    assert resolved.targets == ("148917:schedule-3:4:5",)


FIGURES = [
    ("kauhava-tilinpaatos-2024", 127, "Toimintakate/Jäämä", "2024", "-38 396 165,19"),
    ("kauhava-tilinpaatos-2024", 127, "Vuosikate", "2023", "10 107 209,90"),
    ("kauhava-tilinpaatos-2024", 128, "Investointimenot", "2024", "-12 331 778,01"),
    ("kauhava-tilinpaatos-2024", 130, "VASTAAVAA YHTEENSÄ", "31.12.2024", "138 420 745,79"),
    ("seinajoki-tilinpaatos-2024", 149, "Verotulot", "1.1.-31.12.2024", "166 889 242,84"),
    ("seinajoki-tilinpaatos-2024", 150, "Investointimenot", "1.1.-31.12.2023", "-33 348 012,84"),
    ("seinajoki-tilinpaatos-2024", 152, "I Peruspääoma", "31.12.2024", "208 909 445,60"),
]


def test_figures_of_the_reports(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra: pip install 'assay-ir[pdf]'")
    corpus = load("report", DATA / "municipal", tmp_path)
    for report, page, row, column, figure in FIGURES:
        table = corpus.get(f"{report}:p{page}:t1").metadata["table"]
        header = next(cells for cells in table["header"] if column in cells)
        (cells,) = [cells for cells in table["rows"] if cells[0] == row]
        assert cells[header.index(column)] == figure


def test_every_word_of_the_reports_is_in_a_document(tmp_path: Path) -> None:
    """Word by word against the text layer as PDFium gives it; where it puts a word together over
    two cells, its parts count."""
    pypdfium2 = pytest.importorskip("pypdfium2")
    corpus = load("report", DATA / "municipal", tmp_path)
    told: dict[tuple[str, int], str] = {}
    for document in corpus.iter():
        if document.locator is not None and document.locator.page is not None:
            place = (str(document.locator.doc_id), document.locator.page)
            parts = [
                document.title,
                document.text,
                str(document.metadata),
                *document.fields.values(),
            ]
            told[place] = told.get(place, "") + " ".join(parts)
    lost = []
    for path in sorted((DATA / "municipal").glob("*.pdf")):
        with pypdfium2.PdfDocument(path) as file:
            for number, page in enumerate(file, start=1):
                have = re.sub(r"[\W_]", "", told.get((path.stem, number), ""))
                words = re.findall(r"[^\W_]+", page.get_textpage().get_text_range())
                lost += [(path.stem, number, word) for word in words if word not in have]
    assert lost == []
