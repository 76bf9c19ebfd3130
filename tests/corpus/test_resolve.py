"""Which documents a citation names, and why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.corpus import Corpus, Resolver, cite, import_corpus, open_corpus
from kit.sources import letter, load, opinion, write_lines, write_opinions

DATA = Path(__file__).parent / "data"
SAMPLES = Path(__file__).parents[2] / "samples"


COMMISSION = (
    "BEFORE THE FAIR POLITICAL PRACTICES COMMISSION\n\nIn the Matter of:\n\nOpinion requested by  )"
    "   No. 76-005\nCity Attorney William L. Owen, Jr.   )   June 2, 1976\nCity of Davis     )\n\n"
    "BY THE COMMISSION: We have been asked."
)


def opinions(tmp_path: Path, *records: dict[str, Any]) -> Corpus:
    return load("fppc", write_opinions(tmp_path / "s", records), tmp_path)


def outcome(text: str, corpus: Corpus) -> tuple[str, tuple[str, ...]]:
    (resolved,) = cite(text, corpus)
    assert resolved.reason
    return resolved.status, resolved.targets


@pytest.mark.parametrize(
    ("doc_id", "cited"),
    [
        ("89-142", "A-89-142"),
        ("89142", "A-89-142"),
        ("80A001", "No. 80-001"),
        ("A-24-003", "I-24-003"),
        ("77ADV-77-012", "Advice Letter, No. 77-012"),
        ("14-012-1090", "No. A-14-012"),
        ("92-481-523-614", "No. I-92-523"),
        ("97-251(a)", "No. A-97-251a"),
        ("01-018A", "No. I-01-018a"),
    ],
)
def test_every_shape_of_an_id_is_found_by_its_number(
    tmp_path: Path, doc_id: str, cited: str
) -> None:
    corpus = opinions(tmp_path, {**opinion(doc_id, "no heading"), "file": "x"})
    assert outcome(cited, corpus) == ("resolved", (doc_id,))


def test_the_number_in_the_heading_is_what_a_letter_is_cited_by(tmp_path: Path) -> None:
    corpus = opinions(
        tmp_path,
        opinion("UNK-91-10313", letter("I-91-506", "Mr. Pardee"), year=1991, title="a scan"),
    )
    assert outcome("Pardee Advice Letter, No. I-91-506", corpus) == ("resolved", ("UNK-91-10313",))


def test_an_opinion_is_not_the_letter_that_was_filed_under_its_number(tmp_path: Path) -> None:
    corpus = opinions(
        tmp_path,
        {**opinion("78ADV-78-009", "Dear Mr. Knox:\n\nYou may vote.", year=1978), "file": "x"},
        {**opinion("76111", COMMISSION, year=1976), "file": "y"},
    )
    for text in (
        "4 FPPC Ops. 62 (No. 78-009, Nov. 7, 1978)",
        "Opinion requested by John Ferraro, Councilman, No. 78-009",
        "the Ferraro Opinion, No. 78-009",
    ):
        assert cite(text, corpus)[-1].status == "missing"
    assert outcome("(See Ferraro, No. 78-009, Nov. 7, 1978.)", corpus)[0] == "ambiguous"
    assert outcome("Knox Advice Letter, No. 78-009", corpus) == ("resolved", ("78ADV-78-009",))
    assert cite("2 FPPC Ops. 77 (No. 76-005)", corpus)[-1].targets == ("76111",)
    assert cite("9 FPPC Opinions 1, No. 85-001", corpus)[-1].citation.name == "In re"
    assert not cite("City Resolution No. 78-009", corpus)


def test_the_answer_is_meant_and_not_the_request(tmp_path: Path) -> None:
    request = (
        "CITY OF X\nApril 2, 1990\n\nPublic Integrity Commission\nCastellan\n\n"
        "Dear Commissioners:\n\nMay I vote?"
    )
    corpus = opinions(
        tmp_path, opinion("90284", request), opinion("90-284", letter("A-90-284", "Mr. Knox"))
    )
    assert outcome("No. A-90-284", corpus) == ("resolved", ("90-284",))
    alone = opinions(tmp_path / "alone", opinion("90284", request))
    (resolved,) = cite("No. A-90-284", alone)
    assert (resolved.status, resolved.targets) == ("missing", ())
    assert "not the answer" in resolved.reason


def test_the_addressee_finds_a_letter_whose_number_is_one_digit_off(tmp_path: Path) -> None:
    corpus = opinions(
        tmp_path,
        opinion(
            "90-213", letter("A-90-213", "Mr. Jones"), name="Jones", title="Jones, Ann Year: 1990"
        ),
        opinion(
            "90-231", letter("A-90-231", "Ms. Walsh"), name="Walsh", title="Walsh, Ida Year: 1990"
        ),
    )
    assert outcome("Walsh Advice Letter, No. A-90-213", corpus) == ("resolved", ("90-231",))
    assert outcome("Walsh Advice Letter, No. A-91-231", corpus) == ("resolved", ("90-231",))
    (resolved,) = cite("Kohn Advice Letter, No. A-90-213", corpus)
    assert (resolved.status, resolved.targets) == ("ambiguous", ("90-213",))
    assert "Kohn" in resolved.reason


def test_what_cannot_be_told_apart_is_ambiguous_and_says_why(tmp_path: Path) -> None:
    same = letter("A-90-300", "Ms. Smith")
    corpus = opinions(tmp_path, opinion("90300~1", same), opinion("90300~2", same))
    (resolved,) = cite("No. A-90-300", corpus)
    assert resolved.status == "ambiguous"
    assert set(resolved.targets) == {"90300~1", "90300~2"}
    assert resolved.reason == "2 documents carry this number"


def test_a_supplement_is_not_the_letter_it_adds_to(tmp_path: Path) -> None:
    corpus = opinions(tmp_path, opinion("90-300", letter("A-90-300", "Ms. Smith")))
    (resolved,) = cite("No. A-90-300a", corpus)
    assert resolved.status == "missing"
    assert "not a" in resolved.reason


def test_a_reported_opinion_is_found_by_page_or_by_name_and_year(tmp_path: Path) -> None:
    caption = (
        "BEFORE THE PUBLIC INTEGRITY COMMISSION\nIn the Matter of:\nOpinion requested by\n{} )\n"
        "No. 75-083\n\n"
    )
    corpus = opinions(
        tmp_path,
        opinion("75134", "1 FPPC OPINIONS 71\n" + caption.format("Thomas W. Oglesby"), year=1975),
        opinion("75138", caption.format("Tom Thorner").replace("083", "089"), year=1975),
        *(
            opinion(
                f"90-10{n}",
                letter(f"A-90-10{n}", "Ms. Roe", "In re Thorner (1975) 1 FPPC Ops. 198."),
            )
            for n in range(5)
        ),
    )
    assert outcome("1 FPPC Ops. 71", corpus) == ("resolved", ("75134",))
    assert outcome("In re Thorner (1975) 1 FPPC Ops. 198", corpus) == ("resolved", ("75138",))
    # the page that no heading has is learned from those who cite it by name
    assert outcome("In re Thomer (1975) 1 FPPC Ops. 198", corpus) == ("resolved", ("75138",))
    assert corpus.cited_by("75138") == [f"90-10{n}" for n in range(5)]


def test_statutes_that_are_no_documents_still_group_those_who_cite_them(tmp_path: Path) -> None:
    corpus = opinions(
        tmp_path,
        opinion("90-001", letter("A-90-001", "Ms. Roe", "Section 1090 applies.")),
        opinion(
            "90-002",
            letter("A-90-002", "Mr. Doe", "Under Government Code section 1090 it does not."),
        ),
    )
    assert corpus.citing("Gov. Code § 1090") == ["90-001", "90-002"]
    assert outcome("Gov. Code § 1090", corpus) == ("no-document", ())


def test_a_letter_does_not_cite_itself(tmp_path: Path) -> None:
    both = letter("A-90-001 and A-90-002", "Ms. Roe", "File No. A-90-001\nPage 2\n")
    corpus = opinions(
        tmp_path, opinion("90-001", both, cites=["A-90-001", "A-90-002"]), opinion("90-002", both)
    )
    assert corpus.cites("90-001") == []
    assert set(corpus.citations_of("90-001")["status"]) == {"self"}


def test_the_sample_opinions_resolve_whole(tmp_path: Path) -> None:
    corpus = load("fppc", SAMPLES / "en" / "opinions", tmp_path)
    assert corpus.manifest.citations["missing"] == corpus.manifest.citations["ambiguous"] == 0
    assert "81-027" in corpus.cites("A-19-112")
    assert "A-19-112" in corpus.cited_by("A-97-208")


# ── documents that say how they are cited ─────────────────────────────────────────────────────────


def table(tmp_path: Path, *rows: dict[str, Any]) -> Corpus:
    plain = {"title": "t", "text": "x"}
    source = write_lines(tmp_path / "rows.jsonl", [plain | row for row in rows])
    return load("jsonl", source, tmp_path)


def test_a_case_is_found_by_the_number_that_its_row_gives(tmp_path: Path) -> None:
    both = "לפי ערר 8012/19 ולפי ערר 8013/19, ולא ערר 9999/19"
    corpus = table(
        tmp_path,
        {"id": "a", "case_number": "ערר 8011/19", "text": "ראו ערר 8011/19 וכן ערר 8013/19"},
        {"id": "b", "case_number": "ערר 8012/19", "text": both},
        {"id": "c", "case_number": "ערר 8012/19"},
        {"id": "d", "aliases": ["ערר 8013/19", "ערר 8014/19"], "request": "false"},
    )
    assert outcome("ערר 8011/19", corpus) == ("resolved", ("a",))
    assert outcome("ערר 8012/19", corpus) == ("ambiguous", ("b", "c"))
    assert outcome("ערר 8014/19", corpus) == ("resolved", ("d",))
    assert outcome("ערר 8015/19", corpus) == ("no-document", ())
    assert cite("ערר 8015/19", corpus)[0].reason == "no case is a document of this corpus"
    assert corpus.cites("a") == corpus.cites("b") == ["d"]  # not itself, nor its namesake
    assert sorted(corpus.citations_of("b")["status"]) == ["no-document", "resolved", "self"]


def test_a_row_with_a_section_and_no_law_is_found_by_its_number(tmp_path: Path) -> None:
    corpus = table(tmp_path, {"id": "90-300", "section": "2"})
    assert outcome("No. A-90-300", corpus) == ("resolved", ("90-300",))


def test_a_question_is_read_in_the_language_of_the_letters_or_the_one_asked_for(
    tmp_path: Path,
) -> None:
    corpus = opinions(tmp_path, opinion("90-300", letter("A-90-300", "Ms. Smith")))
    finnish = "kuntalain 110 §"
    assert cite(finnish, corpus) == []
    (resolved,) = cite(finnish, corpus, language="fi")
    assert (resolved.citation.language, resolved.status) == ("fi", "no-document")
    assert cite("No. A-90-300", corpus, language="fi") == []


def test_a_range_around_the_citing_section_means_the_others(tmp_path: Path) -> None:
    law = {"law": "Laki laivoista", "law_id": "77/2031", "moment": "1", "chapter": "1 luku"}
    rows = [
        {**law, "node_id": f"77/2031:{n}:1", "section_id": n, "text": text}
        for n, text in (("1", "Katso 1–3 §."), ("2", "Tyhjä."), ("3", "Tyhjä."))
    ]
    corpus = load("finlex", write_lines(tmp_path / "laivalaki-77-2031.jsonl", rows), tmp_path)
    assert corpus.cites("77/2031:1:1") == ["77/2031:2:1", "77/2031:3:1"]


@pytest.mark.parametrize(("many", "known"), [(3, 2), (2, 0)])
def test_the_names_of_laws_help_to_read_unless_they_are_too_many(
    finnish: Corpus, monkeypatch: pytest.MonkeyPatch, many: int, known: int
) -> None:
    monkeypatch.setattr("assay.corpus.citations.MANY_LAWS", many)
    assert len(Resolver.of_corpus(finnish).scheme.laws) == known


# ── laws ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def finnish(tmp_path: Path) -> Corpus:
    """Two laws; the numbers of the second begin anew in each chapter."""
    source = tmp_path / "laws"
    source.mkdir()
    (source / "satamakuntalaki-9002-2032.jsonl").write_bytes((DATA / "act.jsonl").read_bytes())
    base = {"law": "Laki laivoista ja laitureista", "law_id": "77/2031", "moment": "1"}
    rows = [
        (1, "1", "Katso tämän luvun 2 §."),
        (1, "2", "Katso 1 §:n 1 momentti."),
        (2, "1", "Kuten satamakuntalain 110 a §:ssä."),
    ]
    write_lines(
        source / "laivalaki-77-2031.jsonl",
        [
            {
                **base,
                "node_id": f"77/2031:{chapter}l:{section}:1",
                "chapter": f"{chapter} luku",
                "section_id": section,
                "text": text,
            }
            for chapter, section, text in rows
        ],
    )
    return load("finlex", source, tmp_path)


def test_a_law_is_found_by_its_name_number_or_short_name(finnish: Corpus) -> None:
    for text in ("satamakuntalain 110 a §:n 2 momentti", "lain (9002/2032) 110a §:n 2 momentissa"):
        assert outcome(text, finnish) == ("resolved", ("9002/2032:fin@20340051:110a:2",))
    assert outcome("laivalain 1 luvun 2 §", finnish) == ("resolved", ("77/2031:1l:2:1",))


def test_a_section_without_a_moment_is_all_its_moments(finnish: Corpus) -> None:
    status, targets = outcome("satamakuntalain 110 §", finnish)
    assert (status, len(targets)) == ("resolved", 3)
    assert len(outcome("satamakuntalain 110–111 §", finnish)[1]) == 6


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("1 §", "ambiguous", "no law is named, and 2 laws"),
        ("laivalain 1 §", "ambiguous", "no chapter is named"),
        ("1 momentissa", "ambiguous", "which one is not known"),
        ("tämän lain 1 §", "ambiguous", "only inside a law"),
        ("satamakuntalain 999 §", "missing", "no such section"),
        ("satamakuntalain 110 §:n 9 momentti", "missing", "no moment 9"),
        ("kuntalain 1 §", "missing", "'kuntalaki' is not in the corpus"),
    ],
)
def test_a_citation_that_names_no_document_says_why(
    finnish: Corpus, text: str, status: str, reason: str
) -> None:
    (resolved,) = cite(text, finnish)
    assert resolved.status == status
    assert reason in resolved.reason


def test_a_section_that_many_documents_have_means_none_of_them(
    finnish: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(outcome("1 §", finnish)[1]) == 3
    monkeypatch.setattr("assay.corpus.citations.MANY_PLACES", 2)
    assert outcome("1 §", finnish) == ("ambiguous", ())
    assert outcome("satamakuntalain 110 §", finnish)[0] == "resolved"


def test_inside_a_law_what_is_left_out_is_the_law_itself(finnish: Corpus) -> None:
    assert finnish.cites("77/2031:1l:1:1") == ["77/2031:1l:2:1"]
    assert finnish.cites("77/2031:1l:2:1") == ["77/2031:1l:1:1"]
    assert set(finnish.cites("77/2031:2l:1:1")) == {
        "9002/2032:fin@20340051:110a:1",
        "9002/2032:fin@20340051:110a:2",
    }


def test_another_countrys_law_of_the_same_name_is_not_here(finnish: Corpus) -> None:
    assert outcome("Ruotsin satamakuntalain 110 §", finnish)[0] == "missing"
    assert outcome("erityisalojen satamakuntalain 110 §", finnish)[0] == "missing"


def test_this_law_has_no_meaning_outside_a_law_in_hebrew_too(tmp_path: Path) -> None:
    corpus = load("akn", DATA / "law_he.xml", tmp_path)
    assert outcome("סעיף 2א(ב) לחוק זה", corpus) == ("ambiguous", ())


def test_a_number_in_brackets_does_not_choose_the_law(tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "law": "חוק הגשרים",
            "law_id": "1",
            "section": "20",
            "moment": "4",
            "text": "גשר.",
        },
        {"id": "2", "law": "חוק הספינות", "law_id": "2", "section": "20", "text": "(4) ספינה."},
    ]
    assert outcome("סעיף 20(4)", table(tmp_path, *rows))[0] == "ambiguous"


def test_a_hebrew_law_is_found_in_either_spelling(tmp_path: Path) -> None:
    corpus = load("akn", DATA / "law_he.xml", tmp_path)
    five = ("resolved", ("900001:schedule-3:4:5",))
    assert outcome("סעיף 4(5) לתוספת השלישית", corpus) == five
    assert outcome("סעיף 4(5) לתוספת השלישית לחוק הגשרים והמעבריים", corpus) == five
    assert outcome('לפי סעיף 2א(ב) לחוק הגשרים והמעברים, התשצ"א-2031', corpus) == (
        "resolved",
        ("900001:2א",),
    )


def test_without_a_corpus_a_citation_is_parsed_and_no_more() -> None:
    (resolved,) = cite("kuntalain 110 §:n 3 momentti")
    assert (resolved.citation.normal, resolved.status, resolved.targets) == (
        "kuntalaki 110 § 3 mom.",
        "no-document",
        (),
    )


def test_an_english_act_is_told_by_its_year_and_its_schedules(tmp_path: Path) -> None:
    acts = {"1998/9": "Pilots Act 1998", "2019/4": "Pilots Act 2019", "2012/7": "Ports Act"}
    for uri, title in acts.items():
        schedules = "".join(
            f'<hcontainer name="schedule" eId="sched_{number}"><paragraph><num>1</num><content>'
            f"<p>Paragraph of {number}.</p></content></paragraph></hcontainer>"
            for number in (1, 2)[: 1 if uri == "1998/9" else 2]
        )
        (tmp_path / f"{uri[:4]}.xml").write_text(
            f'<akomaNtoso><act><meta><identification><FRBRWork><FRBRuri value="/akn/xx/act/{uri}"/>'
            '</FRBRWork><FRBRExpression><FRBRlanguage language="eng"/></FRBRExpression>'
            f"</identification></meta><preface><docTitle>{title}</docTitle></preface><body>"
            '<section eId="sec_2"><num>2</num><content><p>A pilot is aboard.</p></content>'
            f"</section>{schedules}</body></act></akomaNtoso>",
            encoding="utf-8",
        )
    import_corpus("akn", tmp_path, name="c", home=tmp_path / "home")
    corpus = open_corpus(tmp_path / "home", "c")
    assert outcome("section 2 of the Pilots Act 2019", corpus) == ("resolved", ("4/2019:2:1",))
    assert outcome("Pilots Act 1998, s 2", corpus) == ("resolved", ("9/1998:2:1",))
    assert outcome("section 2 of the Ports Act 2012", corpus) == ("resolved", ("7/2012:2:1",))
    for other in ("Pilots Act 2005", "Ports Act 2013", "Pilots (Fees) Act 2019", "Pilots Bill Act"):
        assert outcome(f"section 2 of the {other}", corpus)[0] == "missing"
    assert outcome("section 2 of the Pilots Act", corpus)[0] == "ambiguous"
    resolved = ("resolved", ("4/2019:schedule-2:1:1",))
    assert outcome("paragraph 1 of Schedule 2 to the Pilots Act 2019", corpus) == resolved
    only = ("resolved", ("9/1998:schedule-1:1:1",))
    assert outcome("paragraph 1 of the Schedule to the Pilots Act 1998", corpus) == only
    assert outcome("paragraph 1 of the Schedule to the Pilots Act 2019", corpus)[0] == "ambiguous"
    assert outcome("paragraph 9 of Schedule 2 to the Pilots Act 2019", corpus)[0] == "missing"
    assert outcome("Schedule 2 to the Pilots Act 2019", corpus)[0] == "no-document"


def test_in_a_schedule_a_section_of_the_law_is_one_of_its_body(tmp_path: Path) -> None:
    act = {"law": "חוק הגשרים", "law_id": "1", "section": "6"}
    rows = [
        {**act, "id": "body", "text": "גשר."},
        {**act, "id": "item", "schedule": "1", "text": "פרט."},
        {**act, "id": "a", "schedule": "1", "section": "8", "text": "לפי סעיף 6 לחוק, יש לציין"},
        {**act, "id": "b", "schedule": "1", "section": "9", "text": "לפי סעיף 6, יש לציין"},
    ]
    corpus = load("jsonl", write_lines(tmp_path / "laws.jsonl", rows), tmp_path)
    assert corpus.cites("a") == ["body"]
    assert corpus.cites("b") == ["item"]


def test_a_regulation_is_no_section_of_a_law(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "law": "חוק הגשרים", "law_id": "1", "section": "4", "text": "גשר."},
        {"id": "b", "law": "תקנות הגשרים", "law_id": "2", "section": "4", "text": "אגרה."},
        {"id": "c", "law": "חוק הגשרים", "law_id": "1", "section": "9", "text": "לפי תקנה 4"},
        {"id": "form", "law": "חוק הגשרים", "law_id": "1", "text": "הצהרה לפי סעיף 4 לחוק"},
    ]
    corpus = load("jsonl", write_lines(tmp_path / "laws.jsonl", rows), tmp_path)
    assert corpus.cites("c") == []
    assert outcome("תקנה 4", corpus) == ("resolved", ("b",))
    assert corpus.cites("form") == ["a"]  # a form is of its law, though it has no number


def test_a_law_without_numbered_sections_does_not_stop_an_import(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "law": "חוק הדיג", "section": "1", "text": "דגים", "language": "he"},
        {"id": "form", "law": "תקנות הדיג", "text": "לפי תקנה 5 ולפי סעיף 9.", "language": "he"},
    ]
    corpus = load("jsonl", write_lines(tmp_path / "laws.jsonl", rows), tmp_path)
    cited = corpus.citations_of("form")
    assert list(cited["status"]) == ["missing", "missing"]
