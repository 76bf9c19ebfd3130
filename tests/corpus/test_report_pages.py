"""What is read from the pages of a report: every word, headings with their levels, cells, signs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.corpus.importers.kinds import Problem
from assay.corpus.importers.pdf.report import (
    Passage,
    ReadPage,
    ReadTable,
    Survey,
    read_pages,
    survey,
)
from assay.corpus.importers.report_rows import grid_of, rows_of
from kit.drawn_reports import Sheet, drawn
from kit.sources import load

pypdfium2 = pytest.importorskip("pypdfium2", reason="needs the extra: pip install 'assay-ir[pdf]'")

PROSE = (
    "Kunnan talous kehittyi vuoden aikana odotetulla tavalla ja menot",
    "pysyivät lähellä sitä, mitä valtuusto oli talousarviossa päättänyt",
    "niille, vaikka korot nousivat ja rakentaminen kallistui nopeasti.",
)
SMALL = "Pienellä painettu huomautus kertoo, mistä luvut on koottu ja milloin."


def read(path: Path) -> list[ReadPage | Problem]:
    known = survey(path)
    assert isinstance(known, Survey)
    return list(read_pages(path, known))


@pytest.fixture
def pages(tmp_path: Path) -> Callable[..., list[ReadPage]]:
    def of(*sheets: Sheet) -> list[ReadPage]:
        path = tmp_path / "r.pdf"
        path.write_bytes(drawn(sheets))
        found = read(path)
        assert not [page for page in found if isinstance(page, Problem)]
        return [page for page in found if isinstance(page, ReadPage)]

    return of


def prose(sheet: Sheet, y: float) -> None:
    for number, line in enumerate(PROSE):
        sheet.text(60, y + 13 * number, line)


def tables(page: ReadPage) -> list[ReadTable]:
    return [part for part in page.parts if isinstance(part, ReadTable)]


def passages(page: ReadPage) -> list[Passage]:
    return [part for part in page.parts if isinstance(part, Passage)]


def columns(table: ReadTable) -> tuple[str, ...]:
    """As the documents name them."""
    return grid_of(table.header, cells(table)).columns


def cells(table: ReadTable) -> list[tuple[str, ...]]:
    return [row.cells for row in table.rows]


# ── sheets of every kind ──────────────────────────────────────────────────────────────────────────


def small_print() -> Sheet:
    """More small print than text, under a heading over two lines."""
    sheet = Sheet()
    sheet.text(60, 140, "2 Selvitys kunnan sisäisestä valvonnasta", size=16)
    sheet.text(60, 158, "ja riskienhallinnan järjestämisestä", size=16)
    prose(sheet, 190)
    for number in range(30):
        sheet.text(60, 260 + 9 * number, f"{number}) {SMALL}", size=6.5)
    return sheet


def heading_after_heading() -> Sheet:
    sheet = Sheet()
    sheet.text(60, 140, "3 Talous", size=16)
    sheet.text(60, 170, "3.1 Tulos", size=13)
    prose(sheet, 200)
    sheet.text(60, 260, "3.2 Rahoitus", size=13)
    sheet.text(60, 290, "3.3 Tase", size=13)
    prose(sheet, 320)
    sheet.text(60, 400, "4 Henkilöstö", size=16)
    return sheet


def numbered_goals() -> Sheet:
    sheet = heading_after_heading()
    sheet.text(60, 430, "4.1 Toimielimet", size=13)
    sheet.text(60, 460, "4.2 Tulosalueet", size=13)
    sheet.text(60, 490, "1. Palveleva verkko", size=11.7)
    prose(sheet, 510)
    sheet.text(60, 570, "2. Vahva talous", size=11.7)
    prose(sheet, 590)
    sheet.text(60, 650, "Tytäryhteisö Sataman Vesi Oy")
    sheet.text(60, 665, "Tunnusluvut")
    statement(sheet, 690, "Liikevaihto Kulut Tulos", header=True)
    return sheet


def merged_cells() -> Sheet:
    """A heading over two columns, and a goal over two rows."""
    sheet = Sheet()
    xs, ys = (60, 200, 330, 420, 510), (150, 172, 194, 216, 238, 260)
    for y in ys:
        left = 200 if y == 238 else 330 if y == 172 else 60
        sheet.line(left, y, 510, y)
    for x in xs:
        sheet.line(x, 172 if x == 420 else 150, x, 260)
    for x, y, text in (
        (65, 180, "Tavoite"),
        (205, 180, "Mittari"),
        (380, 165, "Asukkaita"),
        (335, 187, "2031"),
        (425, 187, "2030"),
        (65, 209, "Vesi riittää"),
        (205, 209, "Katkot"),
        (335, 209, "3"),
        (425, 209, "5"),
        (65, 240, "Tiet kestävät"),
        (205, 231, "Kuopat"),
        (335, 231, "17"),
        (425, 231, "21"),
        (205, 253, "Sillat"),
        (335, 253, "2"),
        (425, 253, "4"),
    ):
        sheet.text(x, y, text)
    return sheet


def side_by_side() -> Sheet:
    sheet = Sheet()
    for left, rows in (
        (60, (("Rakennukset", "120"), ("Koneet", "35"), ("Maa", "60"), ("Yhteensä", "215"))),
        (320, (("Peruspääoma", "150"), ("Lainat", "40"), ("Velat", "25"), ("Yhteensä", "215"))),
    ):
        sheet.figure(left + 200, 150, "2031")
        for number, (label, figure) in enumerate(rows):
            sheet.row(170 + 16 * number, label, [(left + 200, figure)], x=left)
    return sheet


def on_its_side() -> Sheet:
    sheet = Sheet(turned=True)
    sheet.text(60, 90, "Tuloslaskelma", size=14)
    sheet.figure(500, 120, "2031")
    sheet.figure(700, 120, "2030")
    for number, (label, *figures) in enumerate(
        (
            ("Tuotot", "7 725", "7 920"),
            ("Kulut", "-46 216", "-47 229"),
            ("Kate", "-38 490", "-39 309"),
        )
    ):
        sheet.row(140 + 16 * number, label, zip((500, 700), figures, strict=True))
    return sheet


def apart_signs() -> Sheet:
    sheet = Sheet()
    sheet.figure(350, 140, "2031")
    sheet.figure(450, 140, "2030")
    for y, label, first, second in (
        (160, "Tuotot", "725 767", "920 010"),
        (176, "Verot", "595 351", "172 130"),
        (192, "Siirrot", "551 587", "107 209"),
    ):
        sheet.row(y, label, [(350, first), (450, second)])
    sheet.row(208, "Lainat", [(350, "565 051"), (450, "12 004")])
    sheet.text(300, 208, "-")
    sheet.row(224, "Avustukset", [(350, "-"), (450, "7 003")])
    sheet.row(240, "Korot", [(350, "565 051"), (450, "48 111")])
    sheet.text(304, 236, "-")
    sheet.row(280, "Poistot", [(350, "11 565 051"), (450, "48 111")])
    sheet.text(340, 268, "-")
    return sheet


def touching() -> Sheet:
    """Two grids with other columns, one right under the other."""
    sheet = Sheet()
    for y in (150, 172, 194, 216, 238):
        sheet.line(60, y, 510, y)
    for x, y0, y1 in ((60, 150, 238), (510, 150, 238), (200, 150, 194), (400, 194, 238)):
        sheet.line(x, y0, x, y1)
    for x, y, text in (
        (65, 165, "Tavoite"),
        (205, 165, "Mittari"),
        (65, 187, "Vesi riittää"),
        (205, 187, "Katkot"),
        (65, 209, "Arviointi"),
        (405, 209, "Tila"),
        (65, 231, "Toteutui osin"),
        (405, 231, "Kesken"),
    ):
        sheet.text(x, y, text)
    return sheet


def ruled_columns() -> Sheet:
    """Rulings between columns and around totals only; a label over two lines."""
    sheet = Sheet()
    for y in (150, 172, 260, 282):
        sheet.line(60, y, 460, y)
    for x in (60, 260, 360, 460):
        sheet.line(x, 150, x, 282)
    sheet.figure(355, 165, "2031")
    sheet.figure(455, 165, "2030")
    for y, label, figures in (
        (186, "Lainat pankeilta", ("120,50", "98,00")),
        (202, "Lainat muilta kuin", ()),
        (214, "pankeilta", ("-7,25", "-6,00")),
        (230, "Muut", ("1,00", "2,00")),
        (246, "Ennakot", ("-", "3,00")),
        (275, "Yhteensä", ("114,25", "97,00")),
    ):
        sheet.row(y, label, zip((355, 455), figures, strict=False), x=65)
    return sheet


def statement(sheet: Sheet, y: float, labels: str, *, header: bool) -> None:
    if header:
        sheet.figure(350, y, "31.12.2031")
        sheet.figure(450, y, "31.12.2030")
    for number, label in enumerate(labels.split(), start=1):
        sheet.row(y + 16 * number, label, [(350, f"{number} 250"), (450, f"{number} 125")])


def goes_on() -> tuple[Sheet, Sheet]:
    first, second = Sheet(), Sheet()
    first.text(60, 130, "Tase, 1 000 €", size=14)
    statement(first, 160, "Maa Talot Tiet Koneet Osakkeet", header=True)
    statement(second, 130, "Lainat Saamiset Rahat", header=False)
    prose(second, 300)
    return first, second


def numbered(sheets: list[Sheet]) -> list[Sheet]:
    """With a running line above and the number of the page below, which is behind by two."""
    for number, sheet in enumerate(sheets, start=1):
        if not sheet.turned:
            sheet.text(60, 40, "Sataman kunta")
            sheet.text(290, 815, str(number + 2))
    return sheets


def every_kind() -> list[Sheet]:
    return numbered(
        [
            small_print(),
            heading_after_heading(),
            merged_cells(),
            side_by_side(),
            on_its_side(),
            apart_signs(),
            *goes_on(),
        ]
    )


# ── every word ────────────────────────────────────────────────────────────────────────────────────


def layer(path: Path) -> list[list[str]]:
    """The words of each page's text layer, as PDFium gives them without us."""
    with pypdfium2.PdfDocument(path) as document:
        return [re.findall(r"\w+", page.get_textpage().get_text_range()) for page in document]


def told(page: ReadPage) -> str:
    texts = list(page.running)
    for part in page.parts:
        texts += [heading.text for heading in part.trail]
        if isinstance(part, Passage):
            texts.append(part.text)
        else:
            texts += [part.title, *(text for row in part.header for text in row)]
            texts += [text for row in part.rows for text in row.cells]
    return "\n".join(texts)


def test_every_word_of_the_text_layer_is_in_a_part_of_its_page(tmp_path: Path) -> None:
    path = tmp_path / "r.pdf"
    path.write_bytes(drawn(every_kind()))
    found = read(path)
    assert len(found) == 8
    for page, words in zip(found, layer(path), strict=True):
        assert isinstance(page, ReadPage)
        assert words
        have = set(re.findall(r"\w+", told(page)))
        assert [word for word in words if word not in have] == []


TEXTS = ("12", "345", "-", "2024", "1 000", "%", "Vuosikate", "kunta", "(5)", "lai-", "osuus")


@pytest.mark.parametrize("seed", range(6))
def test_no_word_is_lost_however_words_and_rulings_stand(seed: int, tmp_path: Path) -> None:
    """Cells that are no rectangles, titles beside figures, text across rulings."""
    chance = random.Random(seed)
    sheets = []
    for _ in range(8):
        sheet = Sheet()
        for _ in range(60):
            x, y = chance.randrange(40, 540, 40), chance.randrange(60, 780, 11)
            sheet.text(x, y, chance.choice(TEXTS), size=chance.choice((8, 8, 14)))
        for _ in range(25):
            x, y = chance.randrange(40, 500, 40), chance.randrange(60, 700, 22)
            across, down = chance.choice(((40, 0), (400, 0), (0, 44), (0, 300)))
            sheet.line(x, y, x + across, y + down)
        sheets.append(sheet)
    path = tmp_path / "r.pdf"
    path.write_bytes(drawn(sheets))
    for page, words in zip(read(path), layer(path), strict=True):
        assert isinstance(page, ReadPage)
        have = re.sub(r"\W", "", told(page))
        assert [word for word in words if word not in have] == []


# ── headings ──────────────────────────────────────────────────────────────────────────────────────


def test_beside_small_print_the_text_is_no_heading(pages: Callable[..., list[ReadPage]]) -> None:
    (page,) = pages(small_print())
    (text,) = passages(page)
    assert text.text.startswith(PROSE[0])
    assert SMALL in text.text
    (heading,) = text.trail
    assert heading.text == (
        "2 Selvitys kunnan sisäisestä valvonnasta ja riskienhallinnan järjestämisestä"
    )


def test_a_heading_right_after_another_is_kept_and_levels_make_a_trail(
    pages: Callable[..., list[ReadPage]],
) -> None:
    (page,) = pages(heading_after_heading())
    trails = [[heading.text for heading in part.trail] for part in page.parts]
    assert trails[0] == ["3 Talous", "3.1 Tulos"]
    assert ["3 Talous", "3.3 Tase"] in trails
    assert [heading.level for heading in page.parts[0].trail] == [1, 2]
    alone = [part.text for part in passages(page) if part.text in ("3.2 Rahoitus", "4 Henkilöstö")]
    assert alone == ["3.2 Rahoitus", "4 Henkilöstö"]


def test_a_numbered_goal_is_no_chapter(pages: Callable[..., list[ReadPage]]) -> None:
    (page,) = pages(numbered_goals())
    trails = [[heading.text for heading in part.trail] for part in page.parts]
    assert ["4 Henkilöstö", "4.2 Tulosalueet", "2. Vahva talous"] in trails


def test_a_line_names_whom_a_table_is_about(pages: Callable[..., list[ReadPage]]) -> None:
    (page,) = pages(numbered_goals())
    assert [table.entity for table in tables(page)] == ["Sataman Vesi Oy"]


def test_printed_numbers_and_running_lines_are_kept_apart(
    pages: Callable[..., list[ReadPage]],
) -> None:
    found = pages(
        *numbered([small_print(), heading_after_heading(), merged_cells(), apart_signs()])
    )
    assert [page.printed for page in found] == ["3", "4", "5", "6"]
    assert found[0].running == ("Sataman kunta", "3")
    assert "Sataman" not in " ".join(part.text for page in found for part in passages(page))


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def test_merged_cells_stand_in_every_row_and_column_they_cover(
    pages: Callable[..., list[ReadPage]],
) -> None:
    (page,) = pages(merged_cells())
    (table,) = tables(page)
    assert columns(table) == ("Tavoite", "Mittari", "Asukkaita 2031", "Asukkaita 2030")
    assert cells(table) == [
        ("Vesi riittää", "Katkot", "3", "5"),
        ("Tiet kestävät", "Kuopat", "17", "21"),
        ("Tiet kestävät", "Sillat", "2", "4"),
    ]


def test_tables_that_touch_are_two(pages: Callable[..., list[ReadPage]]) -> None:
    (page,) = pages(touching())
    above, below = tables(page)
    assert (columns(above), cells(above)) == (("Tavoite", "Mittari"), [("Vesi riittää", "Katkot")])
    assert (columns(below), cells(below)) == (("Arviointi", "Tila"), [("Toteutui osin", "Kesken")])


def test_where_only_columns_are_ruled_every_line_is_a_row(
    pages: Callable[..., list[ReadPage]],
) -> None:
    (page,) = pages(ruled_columns())
    (table,) = tables(page)
    assert columns(table) == ("", "2031", "2030")
    assert cells(table) == [
        ("Lainat pankeilta", "120,50", "98,00"),
        ("Lainat muilta kuin pankeilta", "-7,25", "-6,00"),
        ("Muut", "1,00", "2,00"),
        ("Ennakot", "-", "3,00"),
        ("Yhteensä", "114,25", "97,00"),
    ]


def test_tables_side_by_side_are_two(pages: Callable[..., list[ReadPage]]) -> None:
    (page,) = pages(side_by_side())
    left, right = tables(page)
    assert cells(left)[0] == ("Rakennukset", "120")
    assert cells(right) == [
        ("Peruspääoma", "150"),
        ("Lainat", "40"),
        ("Velat", "25"),
        ("Yhteensä", "215"),
    ]
    assert columns(left) == columns(right) == ("", "2031")


def test_a_page_stored_on_its_side_is_read_upright(pages: Callable[..., list[ReadPage]]) -> None:
    (page,) = pages(on_its_side())
    (table,) = tables(page)
    assert columns(table) == ("", "2031", "2030")
    assert cells(table)[1] == ("Kulut", "-46 216", "-47 229")


def test_a_minus_apart_from_its_number_is_put_before_it(
    pages: Callable[..., list[ReadPage]],
) -> None:
    (page,) = pages(apart_signs())
    (table,) = tables(page)
    figures = {row.cells[0]: row.cells[1:] for row in table.rows}
    assert figures["Lainat"] == ("-565 051", "12 004")
    assert figures["Korot"] == ("-565 051", "48 111")
    assert figures["Poistot"] == ("-11 565 051", "48 111")
    assert figures["Avustukset"] == ("-", "7 003")
    assert figures["Siirrot"] == ("551 587", "107 209")


def test_a_table_that_goes_on_has_the_headings_and_the_unit_of_the_page_before(
    pages: Callable[..., list[ReadPage]],
) -> None:
    first, second = pages(*goes_on())
    (table,) = tables(second)
    assert columns(table) == columns(tables(first)[0]) == ("", "31.12.2031", "31.12.2030")
    assert table.units[1:] == ("1 000 €", "1 000 €")
    assert cells(table)[0] == ("Lainat", "1 250", "1 125")


def ruled(sheet: Sheet, xs: Sequence[float], ys: Sequence[float]) -> None:
    for y in ys:
        sheet.line(xs[0], y, xs[-1], y)
    for x in xs:
        sheet.line(x, ys[0], x, ys[-1])


def test_text_in_two_columns_is_read_one_column_after_the_other(
    pages: Callable[..., list[ReadPage]],
) -> None:
    left = (
        "Kunnan talous kehittyi",
        "vuoden aikana odotetulla",
        "tavalla ja menot olivat",
        "ennallaan koko vuoden.",
    )
    right = (
        "Tulot kasvoivat sekin",
        "hieman enemmän kuin oli",
        "talousarviossa päätetty",
        "koko vuodelle alussa.",
    )
    sheet = Sheet()
    sheet.text(60, 140, "1 Talous", size=16)
    for number, texts in enumerate(zip(left, right, strict=True)):
        for x, text in zip((60, 320), texts, strict=True):
            sheet.text(x, 170 + 13 * number, text)
    (page,) = pages(sheet)
    text = " ".join(passages(page)[-1].text.split())
    assert " ".join((*left, *right)) in text


def test_names_and_offices_side_by_side_are_read_by_rows(
    pages: Callable[..., list[ReadPage]],
) -> None:
    offices = (
        "Tarkastuslautakunta",
        "Kaupunginhallitus",
        "Tekninen lautakunta",
        "Ympäristölautakunta",
    )
    sheet = Sheet()
    for number, office in enumerate(offices):
        sheet.text(60, 170 + 13 * number, office)
        sheet.text(320, 170 + 13 * number, f"johtaja {number} Virtanen Maija")
    (page,) = pages(sheet)
    assert "Kaupunginhallitus johtaja 1" in passages(page)[-1].text


def test_years_over_columns_that_no_ruling_parts_stand_in_one_each(
    pages: Callable[..., list[ReadPage]],
) -> None:
    sheet = Sheet()
    ruled(sheet, (60, 240, 320, 400), (180, 200, 220))
    for y in (140, 160):
        sheet.line(60, y, 400, y)
    for x in (60, 240, 400):
        sheet.line(x, 140, x, 180)
    sheet.text(64, 154, "Saamiset")
    sheet.text(300, 154, "Kaupunki")
    sheet.text(265, 174, "2031")
    sheet.text(345, 174, "2030")
    sheet.row(194, "Korvaukset", ((316, "906 689"), (396, "819 655")), x=64)
    sheet.row(214, "Ennakot", ((316, "4 974"), (396, "3 984")), x=64)
    (page,) = pages(sheet)
    (table,) = tables(page)
    assert columns(table)[1:] == ("Kaupunki 2031", "Kaupunki 2030")


def test_shares_over_figures_are_headings_and_not_their_unit(
    pages: Callable[..., list[ReadPage]],
) -> None:
    sheet = Sheet()
    ruled(sheet, (60, 240, 320, 400), (140, 160, 180, 200, 220))
    for x, text in ((64, "Pankki"), (244, "Kun korko laskee"), (324, "Kun se nousee")):
        sheet.text(x, 154, text, size=8)
    for right, text in ((316, "-1 %"), (396, "1 %")):
        sheet.figure(right, 174, text)
    sheet.row(194, "Osuuspankki", ((316, "-32 076 487"), (396, "23 228 486")), x=64)
    sheet.row(214, "Yhteensä", ((316, "-32 087 140"), (396, "32 976 804")), x=64)
    (page,) = pages(sheet)
    (table,) = tables(page)
    assert columns(table) == ("Pankki", "Kun korko laskee -1 %", "Kun se nousee 1 %")
    (first, _) = rows_of(grid_of(table.header, cells(table)))
    assert [(figure.value, figure.unit) for figure in first.figures] == [
        (-32_076_487.0, ""),
        (23_228_486.0, ""),
    ]


def test_a_text_that_goes_on_over_a_page_is_no_heading_of_what_follows(
    pages: Callable[..., list[ReadPage]],
) -> None:
    sheet = Sheet()
    sheet.line(60, 140, 460, 140)
    for x in (60, 240, 460):
        sheet.line(x, 140, x, 160)
    ruled(sheet, (60, 240, 310, 380, 460), (160, 180, 200, 220))
    sheet.text(244, 154, "näkymät ovat paremmat kuin vuosi sitten.")
    for x, text in zip((64, 244, 314, 384), ("Mittari", "Nyt", "Tavoite", "Toteuma"), strict=True):
        sheet.text(x, 174, text)
    sheet.row(194, "Tontit", ((300, "46"), (370, "50"), (450, "26")), x=64)
    sheet.row(214, "Kaavat", ((300, "8"), (370, "8"), (450, "6")), x=64)
    (page,) = pages(sheet)
    assert columns(tables(page)[-1]) == ("Mittari", "Nyt", "Tavoite", "Toteuma")
    assert cells(tables(page)[-1])[0] == ("Tontit", "46", "50", "26")
    assert "näkymät ovat paremmat" in str(tables(page)[0].rows)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (("kymmenen TY-", "tonttia"), "kymmenen TY-tonttia"),
        (("muut Etelä-", "Pohjanmaan kunnat"), "muut Etelä-Pohjanmaan kunnat"),
        (("nuorten vapaa-", "ajan tilat"), "nuorten vapaa-ajan tilat"),
        (("kunnan talous-", "arvio"), "kunnan talousarvio"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_stays_where_the_word_has_one(
    lines: tuple[str, str], text: str, pages: Callable[..., list[ReadPage]]
) -> None:
    sheet = Sheet()
    for number, line in enumerate(lines):
        sheet.text(60, 170 + 13 * number, line)
    (page,) = pages(sheet)
    assert passages(page)[-1].text.replace("\n", " ") == text


# ── files that are not whole ──────────────────────────────────────────────────────────────────────


def test_a_scanned_page_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    scan = Sheet()
    scan.image()
    sheets = numbered([small_print(), heading_after_heading(), scan, apart_signs()])
    path = tmp_path / "r.pdf"
    path.write_bytes(drawn(sheets))
    found = read(path)
    (problem,) = [page for page in found if isinstance(page, Problem)]
    assert problem.code == "no-text-layer"
    assert problem.where == f"{path}: page 3"
    texts = [told(page) for page in found if isinstance(page, ReadPage)]
    assert PROSE[0] in texts[1]
    assert passages(found[3])[0].text == "Sataman kunta\n5"
    assert "565 051" in texts[3]


@pytest.mark.parametrize(
    ("line", "is_scan"),
    [
        ("5", True),
        ("- 5 -", True),
        ("Sivu 5", True),
        ("5 (12)", True),
        ("Page 5 of 12", True),
        ("5 henkilöä", False),
    ],
)
def test_an_image_with_the_number_of_its_page_is_a_scan(
    line: str, is_scan: bool, tmp_path: Path
) -> None:
    scan = Sheet()
    scan.image()
    scan.text(290, 815, line)
    path = tmp_path / "r.pdf"
    path.write_bytes(drawn([scan]))
    found = read(path)
    assert [one.code for one in found if isinstance(one, Problem)] == ["no-text-layer"] * is_scan
    assert line in told(next(one for one in found if isinstance(one, ReadPage)))


def test_the_unit_of_figures_is_the_one_that_is_said_above_them() -> None:
    rows = [["Takaukset (1 000 €):", ""], ["Tytäryhteisöt", "202 231"], ["Muut", "1 285"]]
    grid = grid_of([["", "2024"]], rows, title="Vastuut ovat yhteensä 208,6 milj. euroa")
    assert [row.figures[0].unit for row in rows_of(grid)] == ["1 000 €", "1 000 €"]


def test_a_broken_page_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.pdf"
    whole = drawn([small_print(), heading_after_heading(), apart_signs()])
    path.write_bytes(whole.replace(b"[6 0 R 8 0 R", b"[6 0 R 1 0 R", 1))
    found = read(path)
    assert [page.code for page in found if isinstance(page, Problem)] == ["bad-page"]
    assert [page.number for page in found if isinstance(page, ReadPage)] == [1, 3]


# ── a budget over its changes: labels and figures share a ruled cell, and are one row in the end ──


def budget_of_unit(sheet: Sheet, top: float, name: str, *, income: str) -> None:
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
    budget_of_unit(sheet, 150, "660 Rakennusvalvonta", income="828 800")
    budget_of_unit(sheet, 400, "670 Kirjasto", income="328 800")
    (tmp_path / "lapua-2031.pdf").write_bytes(drawn([sheet]))
    corpus = load("report", tmp_path / "lapua-2031.pdf", tmp_path)
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
