"""No table that we write has a cell that a spreadsheet computes; reading takes the guard off."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay import formats
from assay.core.types import GoldSet, Judgment, Query, judgments_to_frame
from assay.formats import csv_gold, quepid, trec
from assay.formats.spreadsheet import guard_cell, guarded_row, unguard_cell
from assay.workbench.judging import next, pool

EVIL = '=HYPERLINK("http://evil","x")'


def cells(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        return [cell for row in csv.reader(stream) for cell in row]


def computed(path: Path) -> list[str]:
    return [cell for cell in cells(path) if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.fixture
def gold() -> GoldSet:
    judged = [
        Judgment(query_id="=q", doc_id="@d", grade=2, rationale="+1!"),
        Judgment(query_id="=q", doc_id="-d", grade=0, rationale="'=quoted"),
    ]
    queries = (Query(id="=q", text=EVIL),)
    return GoldSet(name="g", queries=queries, judgments=judgments_to_frame(judged))


def test_a_gold_set_as_csv_comes_back_as_it_was(tmp_path: Path, gold: GoldSet) -> None:
    csv_gold.write_gold(gold, tmp_path / "g.csv")
    assert computed(tmp_path / "g.csv") == []
    again = formats.read_gold(tmp_path / "g.csv")
    assert again.queries == gold.queries
    assert list(again.iter_judgments()) == list(gold.iter_judgments())


def test_quepid_gets_no_formulas(tmp_path: Path, gold: GoldSet) -> None:
    quepid.write_gold(gold, tmp_path / "q.csv")
    assert computed(tmp_path / "q.csv") == []
    again = quepid.read_gold(tmp_path / "q.csv")
    assert {row.doc_id for row in again.iter_judgments()} == {"@d", "-d"}


def test_topics_beside_a_qrels_file_have_none(tmp_path: Path) -> None:
    texts = [EVIL, "-1 day's notice", "'=quoted", "levy; =1+1", "a plain question"]
    asked = tuple(Query(id=f"q{n}", text=text) for n, text in enumerate(texts))
    judged = [Judgment(query_id=query.id, doc_id="d", grade=1) for query in asked]
    gold = GoldSet(name="g", queries=asked, judgments=judgments_to_frame(judged))
    _, topics = trec.write_gold(gold, tmp_path / "g.qrels")
    cells = [line.partition("\t")[2] for line in topics.read_text().splitlines()]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []
    assert cells[-1] == texts[-1]
    assert trec.read_gold(tmp_path / "g.qrels").queries == asked


def test_pairs_to_judge_have_none(tmp_path: Path, gold: GoldSet) -> None:
    pairs: Any = [pool.PooledPair(query_id="=q", doc_id="@d")]
    pool.write_pairs(pairs, gold, tmp_path / "p.csv")
    assert computed(tmp_path / "p.csv") == []


def test_every_writer_of_tables_guards_its_cells() -> None:
    """A new one that does not is found here."""
    writers = ("csv.writer(", "csv.DictWriter(", "csv_text(")
    written = [
        path
        for path in (Path(__file__).parents[2] / "src" / "assay").rglob("*.py")
        if any(writer in path.read_text() for writer in writers)
    ]
    assert len(written) > 5
    assert [path.name for path in written if "guard" not in path.read_text()] == []


def test_numbers_stay_numbers() -> None:
    assert guarded_row(["-0.25", "+1e-5", -3, EVIL, "-a", None]) == [
        "-0.25",
        "+1e-5",
        -3,
        f"'{EVIL}",
        "'-a",
        None,
    ]


def test_pairs_worth_judging_have_none(tmp_path: Path) -> None:
    pair = SimpleNamespace(query_id="=q", query_text=EVIL, doc_id="@d", narrowing=0.5)
    decision: Any = SimpleNamespace(pairs=[pair])
    next.write_pairs(decision, tmp_path / "p.csv")
    assert computed(tmp_path / "p.csv") == []


BEHIND = ["x;=1+1", "x; \u200b@SUM(A1)", "a\t=1+1", "a\n=1+1", "a\r\n-cmd|' /C calc'!A0", "x;'=1"]
BEHIND += [
    'see also;"=HYPERLINK(A1);x',
    'x;""=1',
    'x; "\u061c"=1',
    'x;"+cmd|x"',
    "x;'\"=1",
    'x\n"=1',
]
HIDDEN = ["\u061c=1", "\u180e=1", "\u2800=1", "\u3164=1", "\ufe0f=1", "\U000e0020=1", "﹦1"]
HIDDEN += [" =1", "\u00a0=1", "\ufeff=1", "\u200b=1", "\x0b=1", "' =1", "\t=1", "\n\n=1"]


@pytest.mark.parametrize("cell", BEHIND + HIDDEN)
def test_no_way_to_divide_a_line_shows_a_formula(cell: str) -> None:
    """Quotes do not help: a program that divides at semicolons takes them for text."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(["q1", guard_cell(cell), "d"])
    for separator in ",;\t":
        rows = csv.reader(io.StringIO(line.getvalue(), newline=""), delimiter=separator)
        for shown in [one for row in rows for one in row]:
            seen = shown.strip(
                "\u00a0\ufeff\u200b\u061c\u180e\u2800\u3164\ufe0f\U000e0020\x0b\t\r\n "
            )
            assert not seen.startswith(tuple("=+-@﹦"))
    assert unguard_cell(guard_cell(cell)) == cell
    assert unguard_cell(guard_cell(guard_cell(cell))) == guard_cell(cell)


def test_lists_of_points_are_left_alone() -> None:
    points = "The court held:\n- the levy is due; -5 % of it\n- no more"
    assert guard_cell(points) == points
