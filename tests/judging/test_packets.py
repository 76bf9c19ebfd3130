"""Packets: what a judge is sent, and what must not be in it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from assay.core.types import Document
from assay.formats.ballots import read_ballots
from assay.formats.spreadsheet import guard_cell, unguard_cell
from assay.judging.passages import MAX_PASSAGES, PASSAGE_WORDS, passages
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.judging.rubrics import Grade, Rubric
from assay.reports.html import HERE
from assay.reports.words import LANGUAGES, page_table
from assay.workbench.judging.packets import level
from kit.commands import Assay
from kit.sets import add_votes, log_of
from kit.votes import vote_on

LETTERHEAD = "COMMISSION\n428 J Street\n\nDear Ms. Vane:\n\n"
DOCUMENTS = [
    {"id": "d1", "text": f"{LETTERHEAD}The gift limit covers tickets. A dinner is a gift."},
    {
        "id": "d2",
        "text": '</script><script>alert(1)</script> gift\u0000\u0007\u2028\u202e "quoted"',
    },
    {"id": "d3", "text": '=HYPERLINK("http://x") ' + "Nothing of the kind. " * 2000},
    {"id": "d4", "text": "מתנה לעובד הציבור אסורה."},
    {"id": "d5", "text": "Lahjan saa ottaa vastaan."},
]
QUERIES = [
    {"id": "q1", "text": "gift limit tickets", "type": "keyword", "notes": "SECRET: d1 is right"},
    {"id": "q2", "text": "=1+1 מתנה", "type": "natural_language", "notes": "SECRET"},
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Two queries, five documents, and a pool that is dealt to ann and bob."""
    path = tmp_path / "set.json"
    judged = [{**query, "judgments": []} for query in QUERIES]
    path.write_text(
        json.dumps(
            {
                "version": "1",
                "created_at": "2026-01-01T00:00:00Z",
                "description": "a try",
                "rubric": "fppc-relevance-2",
                "taxonomy": {},
                "queries": judged,
            }
        )
    )
    lines = "".join(json.dumps(document) + "\n" for document in DOCUMENTS)
    (tmp_path / "corpus.jsonl").write_text(lines)
    asked = [
        ("q1", "d3", ("ann", "bob")),
        ("q2", "d4", ("ann",)),
        ("q1", "d1", ("ann",)),
        ("q1", "d2", ("bob", "ann")),
        ("q2", "d5", ("bob",)),
    ]
    pairs = tuple(PooledPair(query_id=q, doc_id=d, judges=judges) for q, d, judges in asked)
    corpus = str(tmp_path / "corpus.jsonl")
    write_pool(
        path, Pool(depth=10, systems=("bm25",), corpus=corpus, judges=("ann", "bob"), pairs=pairs)
    )
    return path


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def pairs_of(path: Path) -> list[tuple[str, str]]:
    return [(row["query_id"], row["doc_id"]) for row in rows_of(path)[1:]]


# ── who gets what ─────────────────────────────────────────────────────────────────────────────────


def test_a_judge_gets_what_is_dealt_and_not_voted_on(assay_cli: Assay, dataset: Path) -> None:
    add_votes(dataset, [vote_on("q1", "d2", "ann"), vote_on("q1", "d3", "bob")])
    done = assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "p.jsonl", "--json")
    assert done.code == 0, done.err
    assert pairs_of(Path("p.jsonl")) == [("q1", "d3"), ("q1", "d1"), ("q2", "d4")]
    assert (done.json["pairs"], done.json["queries"], done.json["left"]) == (3, 2, 0)


def test_without_a_judge_it_is_what_nobody_has_judged(assay_cli: Assay, dataset: Path) -> None:
    said = [vote_on("q1", "d2", "ann"), vote_on("q1", "d3", "bob", grade=None)]
    add_votes(dataset, [*said, vote_on("q1", "d1", "gpt", kind="machine")])
    done = assay_cli("gold", "packet", dataset, "-o", "p.jsonl", "--limit", 3)
    assert pairs_of(Path("p.jsonl")) == [("q1", "d3"), ("q1", "d1"), ("q2", "d4")]
    assert "3 pairs on 2 queries written to p.jsonl; 1 left" in done.err


def test_one_query_alone(assay_cli: Assay, dataset: Path) -> None:
    assay_cli("gold", "packet", dataset, "--query", "q2", "-o", "p.jsonl")
    assert pairs_of(Path("p.jsonl")) == [("q2", "d4"), ("q2", "d5")]


def test_when_all_is_judged_no_file_is_written(assay_cli: Assay, dataset: Path) -> None:
    asked = [("q2", "d4"), ("q1", "d1"), ("q1", "d2"), ("q1", "d3")]
    add_votes(dataset, [vote_on(query, doc, "ann") for query, doc in asked])
    done = assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "p.html")
    assert (done.code, Path("p.html").exists()) == (0, False)
    assert "nothing is left to judge for ann" in done.err


# ── blind ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ["html", "jsonl", "csv"])
def test_nothing_gives_the_answer_away(assay_cli: Assay, dataset: Path, ending: str) -> None:
    add_votes(dataset, [vote_on("q1", "d3", "bob", rationale="BOBSAID")])
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", f"p.{ending}")
    content = Path(f"p.{ending}").read_text(encoding="utf-8")
    for secret in ("SECRET", "BOBSAID", "bm25", "bob", str(dataset.parent)):
        assert secret not in content
    assert "must read it" in content  # the rubric
    assert "Poor scan" in content
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", f"again.{ending}")
    assert Path(f"again.{ending}").read_text(encoding="utf-8") == content


# ── the files ─────────────────────────────────────────────────────────────────────────────────────


def test_lines_have_all_that_a_judge_reads(assay_cli: Assay, dataset: Path) -> None:
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "p.jsonl")
    head, *rows = rows_of(Path("p.jsonl"))
    assert (head["packet"], head["set"], head["judge"], head["pairs"]) == (1, "set", "ann", 4)
    assert head["rubric"]["version"].startswith("fppc-relevance-2@")
    assert "Edge cases" in head["rubric"]["markdown"]
    row = next(row for row in rows if row["doc_id"] == "d1")
    assert row["passages"] == ["The gift limit covers tickets. A dinner is a gift."]
    assert row["text"] == DOCUMENTS[0]["text"]
    empty = {"grade": None, "rationale": "", "seconds": None, "unsure": False}
    assert {key: row[key] for key in empty} == empty
    assert read_ballots(Path("p.jsonl")).blank == 4


def test_a_filled_in_packet_comes_back_and_is_not_overwritten(
    assay_cli: Assay, dataset: Path
) -> None:
    path = Path("p.jsonl")
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", path)
    lines = rows_of(path)
    lines[1] |= {"grade": 1, "rationale": "A neighbouring rule."}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ballot = read_ballots(path).rows[0]
    assert (ballot.judge, ballot.grade, ballot.rubric) == ("ann", 1, lines[0]["rubric"]["version"])
    assert ballot.document == lines[1]["document"]
    again = assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", path)
    assert (again.code, rows_of(path)) == (2, lines)
    assert "1 judgment already" in again.err


def test_a_table_is_safe_in_a_spreadsheet_and_comes_back(assay_cli: Assay, dataset: Path) -> None:
    path = Path("p.csv")
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", path)
    text = path.read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    cells = [value for row in rows for value in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert max(map(len, cells)) < 32_767
    assert "\x00" not in text
    long = next(row for row in rows if row["doc_id"] == "d3")["text"]
    assert long.startswith("'=HYPERLINK")
    assert long.endswith("[Cut here: 42,023 characters in all]")
    rows[0] |= {"grade": "2", "rationale": "'-1 is not a grade"}
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ballots = read_ballots(path)
    assert (ballots.rows[0].rationale, ballots.blank) == ("-1 is not a grade", 3)


@pytest.mark.parametrize("cell", ["", "a", "=1", "'=1", "''=1", "'a", "-", "+3", "@x", "\t=1"])
def test_guarding_a_cell_is_undone(cell: str) -> None:
    assert not guard_cell(cell).startswith(("=", "+", "-", "@", "\t"))
    assert unguard_cell(guard_cell(cell)) == cell


def test_every_word_of_the_page_is_a_word(assay_cli: Assay, dataset: Path) -> None:
    """A word that is called like a method of Python's dicts is no exception."""
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "p.html")
    page = Path("p.html").read_text(encoding="utf-8")
    assert "<kbd>z</kbd> clear</p>" in page
    assert "&lt;built-in" not in page
    assert "<built-in" not in page


def test_docs_and_messages_name_the_keys_of_the_page() -> None:
    script = (HERE / "packet.js").read_text(encoding="utf-8")
    keys = set(re.findall(r'(?:^ |,) +"?(\w|\?)"?: \[told', script, re.M))
    assert 'e: [told("key_e"), save]' in script
    docs = (Path(__file__).parents[2] / "docs/judging/packet.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", docs, re.M)
    assert {key for row in rows for key in row.split("`")[1::2]} - keys == set("09→←") | {"Enter"}
    assert all(page_table("packet", one)["all_judged_key"].endswith(" E.") for one in LANGUAGES)


def test_no_document_can_break_out_of_the_page(assay_cli: Assay, dataset: Path) -> None:
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "p.html")
    page = Path("p.html").read_text(encoding="utf-8")
    assert "alert(1)</script>" not in page
    assert page.count("<script") == page.count("</script>") == 6  # data, four texts, the program
    assert "\x00" not in page
    assert "http://" not in page.replace("http://x", "")
    assert "https://" not in page


# ── errors ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--judge", "eve", "-o", "p.html"], "no pairs are assigned to the judge 'eve'"),
        (["--query", "q9", "-o", "p.html"], "no query 'q9'"),
        (["-o", "p.pdf"], "a packet must be .html, .jsonl or .csv, not .pdf"),
        (["-o", "p.html", "--corpus", "nowhere"], "there is no corpus 'nowhere'"),
        (["-o", "set.json"], "not .json"),
    ],
)
def test_what_cannot_be_packed_is_said(
    assay_cli: Assay, dataset: Path, args: list[str], said: str
) -> None:
    done = assay_cli("gold", "packet", dataset, *args)
    assert done.code == 2
    assert said in done.err
    assert not list(Path().glob("p.*"))


def test_a_document_that_the_corpus_lacks_is_named(assay_cli: Assay, dataset: Path) -> None:
    corpus = dataset.with_name("corpus.jsonl")
    corpus.write_text("".join(corpus.read_text().splitlines(keepends=True)[:3]))
    done = assay_cli("gold", "packet", dataset, "-o", "p.html")
    assert (done.code, Path("p.html").exists()) == (2, False)
    assert "no document 'd4', which query 'q2' asks for, and 1 more" in done.err


def test_the_votes_are_never_the_output(assay_cli: Assay, dataset: Path) -> None:
    add_votes(dataset, [vote_on("q1", "d3", "bob")])
    done = assay_cli("gold", "packet", dataset, "-o", log_of(dataset))
    assert (done.code, len(rows_of(log_of(dataset)))) == (2, 1)


def test_without_a_pool_it_says_how_to_make_one(assay_cli: Assay, dataset: Path) -> None:
    dataset.with_name("set.pool.json").unlink()
    done = assay_cli("gold", "packet", dataset, "-o", "p.html")
    assert done.code == 2
    assert "assay gold pool" in done.err


# ── passages ──────────────────────────────────────────────────────────────────────────────────────


def test_passages_are_short_few_and_in_the_order_of_the_document() -> None:
    filler = "This sentence says nothing at all about it. " * 40
    text = f"{filler}Tickets are gifts. {filler}The limit is low. {filler}Gifts, tickets, limit! "
    found = passages("gift limit for tickets", Document(id="d", text=text * 3))
    assert 2 <= len(found.texts) <= MAX_PASSAGES
    assert all(len(passage.split()) <= PASSAGE_WORDS for passage in found.texts)
    assert found.texts[0].startswith(("Gifts, tickets, limit!", "Tickets are gifts."))
    assert found.words == ("gifts", "limit", "tickets")


def test_a_passage_does_not_repeat_what_is_shown_anyway() -> None:
    document = Document(id="d", text="Is a ticket a gift?\n\nYes. A ticket is worth its price.")
    found = passages("ticket gift", document, shown_texts=("Is a ticket\na gift?",))
    assert found.texts == ("A ticket is worth its price.",)


@pytest.mark.parametrize(
    "letter",
    [
        "GIFT COMMISSION\n428 Gift Street, Suite 8\n\nRe: your gift\n\nDear Ms. Gift:\n\n{body}",
        "{body}\n\nGift Commission, P.O. Box 8\nGift City, CA 95814\ngift@example.org",
        "Lahjavirasto, PL 8\n00171 GIFT\npuh. 09 1234, gift\n\n{body}",
        "{body}",
    ],
)
def test_passages_have_no_letterhead_and_no_address(letter: str) -> None:
    body = "A gift of tickets counts against the limit."
    found = passages("gift limit", Document(id="d", text=letter.format(body=body), language="en"))
    assert found.texts == (body,)


def test_hebrew_and_finnish_words_are_found_in_their_forms() -> None:
    hebrew = passages("היטל השבחה", Document(id="h", text="שומה של ההיטל. דבר אחר לגמרי נאמר כאן."))
    assert "ההיטל" in hebrew.words
    finnish = passages("lahja", Document(id="f", text="Virkamies ei saa ottaa vastaan lahjaa."))
    assert finnish.words == ("lahjaa",)


def test_a_text_without_the_words_gives_its_beginning() -> None:
    found = passages("zebra", Document(id="d", text="Nothing here. " * 100))
    assert [len(passage.split()) for passage in found.texts] == [PASSAGE_WORDS]
    assert passages("zebra", Document(id="d", text="")).texts == ()


@pytest.mark.parametrize("count", range(2, 11))
def test_every_grade_of_a_scale_has_a_colour_of_its_own(count: int) -> None:
    grades = tuple(Grade(value=n, label=f"L{n}", definition="D") for n in reversed(range(count)))
    for relevant in range(1, count):
        rubric = Rubric(
            id="r", title="R", grades=grades, relevant_from=relevant, highly_relevant_from=count - 1
        )
        levels = [level(rubric, grade.value) for grade in grades]
        assert len(set(levels)) == count
        styles = (HERE / "packet.css").read_text()
        assert all(f".{name} {{" in styles for name in levels)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_has_every_word_that_its_script_says(language: str) -> None:
    """Also those that it puts together: why it asks for a reason."""
    script = (HERE / "packet.js").read_text(encoding="utf-8")
    said = set(re.findall(r'(?<!\w)told\("(\w+)"', script))
    said |= {
        key for pair in re.findall(r'told\([^"()]*\? "(\w+)" : "(\w+)"', script) for key in pair
    }
    kinds = get_args(
        next(each.type for each in msgspec.structs.fields(Rubric) if each.name == "rationale")
    )
    assert len(kinds) == 3
    wanted = said - {"why_"} | {f"why_{kind}" for kind in kinds}
    assert len(wanted) > 40
    assert wanted <= page_table("packet", language).keys()


def test_the_language_of_the_page_can_be_chosen(assay_cli: Assay, dataset: Path) -> None:
    assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "p.html", "--language", "fi")
    page = Path("p.html").read_text(encoding="utf-8")
    assert '<html lang="fi" dir="ltr">' in page
    assert "Tallenna tiedostoon" in page
    assert "Save to a file" not in page
    done = assay_cli("gold", "packet", dataset, "--judge", "ann", "-o", "q.html", "--language", "x")
    assert (done.code, Path("q.html").exists()) == (2, False)
