"""The importers of opinions, acts, tables and rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import InputError
from assay.corpus import Corpus, import_corpus
from kit.sources import letter, load, opinion, write_lines, write_opinions

DATA = Path(__file__).parent / "data"
SAMPLES = Path(__file__).parents[2] / "samples"


# ── opinions ──────────────────────────────────────────────────────────────────────────────────────


def test_an_opinion_has_all_fields_of_the_table(tmp_path: Path) -> None:
    record = opinion("A-90-001", letter("A-90-001", "Ms. Roe"), cites=["A-89-142"])
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    document = corpus.get("A-90-001")
    assert document.title == "Roe Advice Letter, No. A-90-001"
    assert document.fields == {"question": "May she vote?", "qa_text": "May she vote?"}
    assert document.metadata["topic_primary"] == "conflicts_of_interest"
    assert document.metadata["quality_score"] == 0.9
    assert document.metadata["numbers"] == ["A-90-001"]
    assert document.citations == ("No. A-89-142",)
    assert document.valid_from == "1990-05-01"


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        (
            letter("A-01-030", "Ms. Price", "This"),
            "Price This",
            "Price Advice Letter, No. A-01-030",
        ),
        (
            letter("A-01-030", "Ms. Price").replace("Price:\n\n", "Price "),
            "Price You",
            "Price Advice Letter, No. A-01-030",
        ),
        (letter("A-01-030", "Mr. de la Cruz"), "De", "de la Cruz Advice Letter, No. A-01-030"),
        (letter("A-01-030", "Mr. Mc Neil"), "Mc", "McNeil Advice Letter, No. A-01-030"),
        (letter("A-01-030", "Mayor Pro Tem Lee"), "Pro", "Lee Advice Letter, No. A-01-030"),
        (
            letter("A-01-030", "Ms. Abich Garcia").replace("Ms. Abich", "Ana Abich", 1),
            "Garcia",
            "Abich Garcia Advice Letter, No. A-01-030",
        ),
        (letter("A-01-030", "Ms. Brian Doyle"), "Brian Doyle", "Doyle Advice Letter, No. A-01-030"),
        # the scan has the name once so and once so
        (
            letter("A-01-030", "Mr. Pusateri").replace("Mr. Pus", "Mr. Pns", 1),
            "Pus Thank",
            "Advice Letter, No. A-01-030",
        ),
        (letter("A-01-030", "Sirs"), "", "Advice Letter, No. A-01-030"),
    ],
)
def test_a_title_is_a_citation_with_a_name_that_can_be_read(
    tmp_path: Path, text: str, name: str, title: str
) -> None:
    record = opinion("A-01-030", text, name=name, title="Year: 2001 Advice Letter # 01-030")
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).title == title


def test_a_request_is_not_named_after_the_staff_it_greets(tmp_path: Path) -> None:
    text = (
        "May 1, 1990\n\nMr. Scott Hall\nGeneral Counsel, FPPC\n428 J Street\n\n"
        "Dear Mr. Hall:\n\nMay our mayor vote?\n\nJane Roe"
    )
    record = opinion("90123", text, name="Hall", title="Roe, Jane Year: 1990 Advice Letter # 90123")
    corpus = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path)
    assert corpus.at(0).title == "Roe Advice Letter, No. 90123"


def test_sections_are_read_as_the_text_writes_them(tmp_path: Path) -> None:
    body = (
        "Sections 84305.5 and 84305.5(a) apply. Section 1091 and Section 1091.5 apply; so does "
        "Section 1091.5(a). See Section 87103.1 The Act is Section 87103. Regulation 18702.2."
    )
    cited = {
        "government_code": ["84305", "84305(a)", "1091", "87103", 82048],
        "regulations": ["18702"],
    }
    record = opinion("A-90-001", letter("A-90-001", "Ms. Roe", body), citations=cited)
    document = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path).at(0)
    assert document.metadata["government_code"] == [
        "84305.5",
        "84305.5(a)",
        "1091",
        "1091.5",
        "87103",
        "82048",
    ]
    assert document.metadata["regulations"] == ["18702.2"]
    assert "Gov. Code § 84305.5" in document.citations


@pytest.mark.parametrize(
    ("question", "method", "misread"),
    [
        ("May the mayor vote on the parcel map?", "regex_validated", []),
        ("l\\fay thc rnayor votc on the parcel map?", "regex_validated", ["question"]),
        ("Whether somebody elected could decide", "llm", []),
        ("s, please call me.", "llm", ["question"]),
        ("COMMISSION\nP.O. Box 807\nMay the mayor vote?", "regex", ["question"]),
    ],
)
def test_a_question_from_a_worse_scan_is_marked(
    tmp_path: Path, question: str, method: str, misread: list[str]
) -> None:
    text = letter("A-90-001", "Ms. Roe", "May the mayor vote on the parcel map? Please call me.")
    parts = {"question": question, "extraction_method": method}
    record = opinion("A-90-001", text, sections=parts)
    document = load("fppc", write_opinions(tmp_path / "s", [record]), tmp_path).at(0)
    assert document.metadata.get("misread", []) == misread
    assert document.fields["question"] == question


def test_an_opinion_without_an_id_is_named_by_its_file(tmp_path: Path) -> None:
    nameless = {**opinion("x"), "id": None, "file": "None"}
    source = write_opinions(
        tmp_path / "s", [{**nameless, "year": 2021}, {**nameless, "year": 2022}]
    )
    assert load("fppc", source, tmp_path).ids == ["None", "2022/None"]


def test_what_is_no_opinion_is_reported_with_its_file(tmp_path: Path) -> None:
    source = write_opinions(tmp_path / "s", [opinion("A-90-001")])
    (source / "1990/broken.json").write_text('{"id": "A-90-002", ')
    (source / "1990/empty.json").write_text("")
    (source / "1990/list.json").write_text("[]")
    (source / "1990/latin.json").write_bytes('{"id": "Pää"}'.encode("latin-1"))
    (source / "1990/gone.json").symlink_to("nowhere.json")
    corpus = load("fppc", source, tmp_path)
    assert corpus.ids == ["A-90-001"]
    codes = {Path(problem.where.split(":")[0]).name: problem.code for problem in corpus.problems()}
    assert codes == {
        "broken.json": "bad-json",
        "empty.json": "bad-json",
        "gone.json": "unreadable",
        "latin.json": "bad-encoding",
        "list.json": "bad-record",
    }


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────


def test_an_act_in_finlex_shape_has_the_sections_and_moments_of_the_moment_lines(
    tmp_path: Path,
) -> None:
    act = load("akn", DATA / "act.xml", tmp_path)
    lines = load("finlex", DATA / "act.jsonl", tmp_path / "other")
    assert act.ids == lines.ids

    def places(corpus: Corpus) -> list[tuple[object, ...]]:
        return [
            (
                d.locator and d.locator.section,
                d.locator and d.locator.moment,
                d.locator and d.locator.version,
                " ".join(d.text.split()),
            )
            for d in corpus.iter()
        ]

    assert places(act) == places(lines)
    assert [section for section, *_ in places(act)] == [
        "1",
        "110",
        "110",
        "110",
        "110a",
        "110a",
        "111",
    ]


def test_an_act_keeps_its_parts_dates_and_versions(tmp_path: Path) -> None:
    corpus = load("akn", DATA / "act.xml", tmp_path)
    winter = corpus.get("9002/2032:fin@20340051:110a:2")
    assert winter.title == "Satamakuntalaki 110a § 2 mom. – Talvilaituri"
    assert winter.language == "fi"
    assert (winter.valid_from, corpus.get("9002/2032:fin@20340051:1:1").valid_from) == (
        "2034-02-01",
        "2032-05-01",
    )
    expected = {
        "part": "I OSA",
        "part_title": "YLEISET SÄÄNNÖKSET",
        "chapter": "1 luku",
        "amended_by": "51/2034",
    }
    assert {key: winter.metadata[key] for key in expected} == expected
    assert winter.metadata["eId"] == "part_1__chp_1__sec_110a__subsec_2v20340051"
    assert winter.locator is not None
    assert (winter.locator.part, winter.locator.chapter) == ("I", "1")


def test_references_of_an_act_lead_to_the_elements_they_name(tmp_path: Path) -> None:
    corpus = load("akn", DATA / "act.xml", tmp_path)
    start = "9002/2032:fin@20340051"
    assert corpus.cites(f"{start}:110a:1") == [f"{start}:110:1", f"{start}:110:2", f"{start}:110:3"]
    assert corpus.cites(f"{start}:110a:2") == [f"{start}:1:1", f"{start}:110a:1"]
    assert corpus.cited_by(f"{start}:1:1") == [f"{start}:110a:2"]


def test_a_hebrew_law_has_its_sections_and_schedules(tmp_path: Path) -> None:
    corpus = load("akn", DATA / "law_he.xml", tmp_path)
    assert corpus.ids == [
        "900001:1:גשר",
        "900001:2א",
        "900001:schedule-3:4:1",
        "900001:schedule-3:4:5",
    ]
    five = corpus.get("900001:schedule-3:4:5")
    assert five.title.endswith("סעיף 4(5) לתוספת השלישית – שומה")
    assert five.locator is not None
    assert (five.locator.section, five.locator.moment, five.locator.schedule) == ("4", "5", "3")
    assert five.metadata["law"] == "חוק הגשרים והמעברים"
    assert corpus.get("900001:1:גשר").fields["intro"] == "בחוק זה –"
    assert corpus.cites("900001:2א") == ["900001:schedule-3:4:1", "900001:schedule-3:4:5"]
    assert corpus.cites("900001:schedule-3:4:5") == ["900001:2א"]


BOMB = """<?xml version="1.0"?>
<!DOCTYPE akomaNtoso [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
<akomaNtoso><act><body><section><num>1</num><content><p>&c;</p></content></section></body></act></akomaNtoso>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE akomaNtoso [<!ENTITY file SYSTEM "file:///etc/hostname">]>
<akomaNtoso><act><body><section><num>1</num><content><p>&file;</p></content></section></body></act></akomaNtoso>"""


@pytest.mark.parametrize(
    ("xml", "code", "reason"),
    [
        (BOMB, "refused-xml", "DOCTYPE"),
        (OUTSIDE, "refused-xml", "DOCTYPE"),
        ("<akomaNtoso><act>", "bad-xml", "not well-formed"),
        ("<html/>", "bad-record", "not an Akoma Ntoso act"),
        (
            "<akomaNtoso>" + "<a>" * 300 + "</a>" * 300 + "</akomaNtoso>",
            "refused-xml",
            "nested deeper",
        ),
        ("<akomaNtoso><act><body/></act></akomaNtoso>", "no-text", "no section"),
    ],
)
def test_bad_xml_is_reported_and_the_good_act_imported(
    tmp_path: Path, xml: str, code: str, reason: str
) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "act.xml").write_bytes((DATA / "act.xml").read_bytes())
    (folder / "bad.xml").write_text(xml)
    corpus = load("akn", folder, tmp_path)
    assert len(corpus) == 7
    (problem,) = corpus.problems()
    assert problem.code == code
    assert "bad.xml" in problem.where
    assert reason in problem.reason


def test_moment_lines_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    source = tmp_path / "laki.jsonl"
    good = (DATA / "act.jsonl").read_text()
    source.write_text(good + '{"law": "X", "law_id": "1/2031", "text": "no section"}\n{"law": 5}\n')
    corpus = load("finlex", source, tmp_path)
    assert len(corpus) == 7
    assert [problem.where.rpartition(":")[2] for problem in corpus.problems()] == ["8", "9"]


# ── tables and rows ───────────────────────────────────────────────────────────────────────────────

ROWS = [
    {"no": "7", "heading": "Seven", "body": "text of seven", "topic": "x"},
    {"no": "8", "heading": "Eight", "body": "eight", "topic": "y"},
]
MAP = {
    "id": "no",
    "title": "heading",
    "text": "body",
    "fields.topic": "topic",
    "metadata.kind": "topic",
}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_a_table_is_read_by_its_mapping(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        write_lines(path, ROWS)
    elif suffix == "parquet":
        pl.DataFrame(ROWS).write_parquet(path)
    else:
        pl.DataFrame(ROWS).write_csv(path, separator="\t" if suffix == "tsv" else ",")
    corpus = load(
        "jsonl" if suffix == "jsonl" else suffix.replace("tsv", "csv"),
        path,
        tmp_path,
        map=MAP,
        language="en",
    )
    seven = corpus.get("7")
    assert (seven.title, seven.text, seven.language) == ("Seven", "text of seven", "en")
    assert seven.fields == {"topic": "x"}
    assert seven.metadata == {"kind": "x"}


def test_columns_with_well_known_names_need_no_mapping(tmp_path: Path) -> None:
    corpus = load("jsonl", SAMPLES / "he" / "precedents.jsonl", tmp_path)
    assert corpus.manifest.citations["resolved"] > 10
    document = next(corpus.iter())
    assert document.language == "he"
    assert document.metadata["aliases"] == [document.metadata["case_number"]]
    assert document.valid_from


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("id,text\n1,a\n2,b,c\n3,d\n", "bad-record"),
        ('id,text\n1,a\n2,"b\n', "bad-csv"),
        ("id,text\n1,a\n,b\n", "no-id"),
        ("id,text,page\n1,a,\n2,b,five\n", "bad-record"),
    ],
)
def test_a_bad_row_is_reported(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    corpus = load("csv", tmp_path / "t.csv", tmp_path)
    assert "1" in corpus
    assert [problem.code for problem in corpus.problems()] == [code]


def test_another_encoding_is_named_or_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("id,text\n1,pöytä\n".encode("latin-1"))
    with pytest.raises(InputError, match="say which with the option `encoding`"):
        load("csv", tmp_path / "t.csv", tmp_path)
    assert load("csv", tmp_path / "t.csv", tmp_path, encoding="latin-1").get("1").text == "pöytä"


def test_a_mapping_to_nothing_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", ROWS)
    with pytest.raises(InputError, match="a document does not have"):
        load("jsonl", path, tmp_path, map={"body": "body"})
    with pytest.raises(InputError, match="no column 'nr'"):
        load("jsonl", path, tmp_path, map={"id": "nr"})


def test_a_parquet_file_that_is_none_is_reported(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="not readable Parquet"):
        load("parquet", tmp_path / "t.parquet", tmp_path)


def test_postgres_needs_a_query_and_an_address_that_answers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no query"):
        import_corpus("postgres", "postgresql://u:secret@localhost:1/x", name="c", home=tmp_path)
    pytest.importorskip("psycopg", reason="needs the extra: pip install 'assay-ir[postgres]'")
    with pytest.raises(InputError, match="PostgreSQL"):
        import_corpus(
            "postgres",
            "postgresql://u:secret@localhost:1/x",
            name="c",
            home=tmp_path,
            options={"query": "SELECT 1"},
        )
    assert not any(
        "secret" in path.read_text(errors="replace")
        for path in tmp_path.rglob("*")
        if path.is_file()
    )


@pytest.mark.parametrize("kind", ["fppc", "akn", "finlex", "report", "jsonl"])
def test_an_empty_folder_or_a_missing_one_is_named(tmp_path: Path, kind: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file here ends with"):
        import_corpus(kind, tmp_path / "empty", name="c", home=tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        import_corpus(kind, tmp_path / "none", name="c", home=tmp_path)


def test_an_overlong_line_is_skipped_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.corpus.importers.foreign_json.MAX_LINE_BYTES", 2**20)
    source = tmp_path / "s.jsonl"
    with source.open("wb") as stream:
        stream.write(b'{"id": "a", "text": "x"}\n{"id": "b", "text": "')
        for _ in range(5):
            stream.write(b"x" * 2**20)
        stream.write(b'"}\n{"id": "c", "text": "y"}\n')
    corpus = load("jsonl", source, tmp_path)
    assert corpus.ids == ["a", "c"]
    (problem,) = corpus.problems()
    assert problem.code == "line-too-long"
    assert problem.where.endswith("s.jsonl:2")
    assert "5,24" in problem.reason
