"""One table of spellings, and every user of the reader goes through it: golden sets, `assay cite`,
search, the importers, the normal form of a query."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from spelled import KPL, KUNTALAKI, ONE, OYL, PL, PLANNING, RL, SEVERAL, TABLE, Row, ids

from assay.core.types import Document, Hit, Locator, Query, QueryResult
from assay.corpus import cite, import_corpus, open_corpus
from assay.corpus.importers import akn, finlex
from assay.evaluation.golden.scoring import check_question, checks_of
from assay.law.matching import hit_place, matches, place_of, unreadable
from assay.law.places import Cited, read_citation, read_section, sections_named
from assay.law.queries import normal_query
from assay.law.spellings import BARE, GRAMMARS, SPELLINGS, Spelling
from assay.search import index
from assay.search.engine import Engine

each = pytest.mark.parametrize("row", TABLE, ids=ids(TABLE))
each_one = pytest.mark.parametrize("row", ONE, ids=ids(ONE))


@each
def test_running_text(row: Row) -> None:
    assert tuple(sections_named(row.written, row.language)) == row.names
    if row.alone:
        return
    between = {"he": "ראו {} כאמור", "fi": "katso {} ja muuta", "en": "see {} here"}
    between["sv"] = "enligt {} gäller"
    assert (
        tuple(sections_named(between[row.language].format(row.written), row.language)) == row.names
    )


@each
def test_without_a_corpus_to_say_the_language(row: Row) -> None:
    if row.written != "§ 12.2":  # where nobody says more, the dot is part of the number
        assert tuple(sections_named(row.written)) == row.names


# ── golden sets ───────────────────────────────────────────────────────────────────────────────────


@each_one
def test_an_expectation_and_a_hit_of_a_golden_set(row: Row) -> None:
    (named,) = row.names
    assert read_section(row.written, row.language) == named
    assert unreadable({"section": row.written}, row.language) == ("", "")
    stated = {
        "law": named.law,
        "law_id": named.law_id,
        "chapter": named.chapter,
        "schedule": named.schedule,
        "section": named.section,
        "moment": named.moment,
    }
    apart = {key: value for key, value in stated.items() if value}
    assert place_of({"section": row.written}, row.language) == place_of(apart)
    by_itself = Hit(doc_id="x", metadata={"section": row.written})
    assert matches(place_of(apart), hit_place(by_itself, language=row.language))
    by_locator = Hit(doc_id="x", locator=Locator(section=row.written))
    asked = place_of({"section": named.section})
    assert matches(asked, hit_place(by_locator, language=row.language))


@each_one
def test_the_corpus_or_the_question_says_in_what_language(row: Row) -> None:
    """Of a golden test: the corpus, else what the question states, else its words."""
    words = {
        "fi": "Miten valtuusto valitaan kunnassa?",
        "he": "מהו היטל?",
        "en": "What is the law?",
        "sv": "Vad gäller enligt stiglagen?",
    }
    stated: Any = {"expected_any": [{"section": row.written}]}
    wanted = place_of({"section": row.written}, row.language)
    by_words = Query(id="q", text=words[row.language], checks=stated)
    by_statement = Query(id="q", text="?", language=row.language, checks=stated)
    by_corpus = Query(id="q", text="?", checks=stated)
    assert checks_of(by_words).expected == (wanted,)
    assert checks_of(by_statement).expected == (wanted,)
    assert checks_of(by_corpus, language=row.language).expected == (wanted,)
    found = QueryResult(
        query_id="q", hits=(Hit(doc_id="x", score=0.9, metadata={"section": row.written}),)
    )
    assert check_question(by_statement, found).passed


@pytest.mark.parametrize("row", SEVERAL, ids=ids(SEVERAL))
def test_where_one_section_is_wanted_several_are_refused(row: Row) -> None:
    assert read_section(row.written, row.language) is None
    assert unreadable({"section": row.written}, row.language)[0] == "section"


# ── assay cite ────────────────────────────────────────────────────────────────────────────────────


@each
def test_a_citation_and_its_normal_form(row: Row) -> None:
    found = [answer.citation for answer in cite(row.written, language=row.language)]
    assert tuple(read_citation(citation) for citation in found) == row.names
    for citation in found:
        (again,) = cite(citation.normal, language=row.language)
        assert again.citation.parts == citation.parts


@pytest.fixture(scope="module")
def laws(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three Finnish laws, in two of which numbers begin anew in each chapter."""
    home = tmp_path_factory.mktemp("laws")
    moments = [
        (KUNTALAKI, "410/2015", "", f"{n}", m) for n in (12, 110, 111, 112, 129, 148) for m in "123"
    ]
    moments += [(KUNTALAKI, "410/2015", "", "110a", m) for m in "123"]
    moments += [
        (OYL, "624/2006", f"{c} luku", f"{n}", m) for c in "56" for n in (1, 2, 21) for m in "12"
    ]
    moments += [(KPL, "1336/1997", f"{c} luku", f"{n}", "1") for c in "13" for n in (1, 2)]
    moments += [(PL, "731/1999", "", "21", m) for m in "12"]
    moments += [("hallintolaki", "434/2003", "", n, "1") for n in "56"]
    moments += [(RL, "39/1889", f"{c} luku", "8", "1") for c in (29, 30)]
    lines = [
        json.dumps(
            {
                "law": law.title(),
                "law_id": law_id,
                "chapter": chapter,
                "section_id": section,
                "moment": moment,
                "node_id": ":".join(
                    filter(None, (law, chapter.split()[0] if chapter else "", section, moment))
                ),
                "text": f"Säännös numero {number} valtuustosta.",
            }
        )
        for number, (law, law_id, chapter, section, moment) in enumerate(moments)
    ]
    (home / "laws.jsonl").write_text("\n".join(lines), encoding="utf-8")
    import_corpus("finlex", home / "laws.jsonl", name="laws", home=home)
    return home


def meant(named: Cited, document: Document) -> bool:
    """What a lawyer would open, said once more without the code under test."""
    locator = document.locator
    assert locator is not None
    return (
        named.section == locator.section
        and named.moment in ("", locator.moment)
        and named.chapter in ("", locator.chapter)
        and named.law in ("", str(document.metadata["law"]).lower())
        and named.law_id in ("", locator.doc_id)
    )


FINNISH = [row for row in ONE if row.language == "fi"]


@pytest.mark.parametrize("row", FINNISH, ids=ids(FINNISH))
def test_what_a_citation_resolves_to(laws: Path, row: Row) -> None:
    corpus = open_corpus(laws, "laws")
    (answer,) = cite(row.written, corpus)
    documents = [corpus.at(number) for number in range(len(corpus))]
    wanted = {document.id for document in documents if meant(row.names[0], document)}
    assert set(answer.targets) == wanted
    assert answer.status == "resolved"


# ── search ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def engine(laws: Path) -> Engine:
    corpus = open_corpus(laws, "laws")
    documents = [corpus.at(number) for number in range(len(corpus))]
    built = index.build([(document, document.id) for document in documents], dense=False)
    return Engine(built, lookup=corpus.get)


@pytest.mark.parametrize("row", FINNISH, ids=ids(FINNISH))
def test_a_search_finds_the_section_that_is_named_first(
    laws: Path, engine: Engine, row: Row
) -> None:
    corpus = open_corpus(laws, "laws")
    documents = [corpus.at(number) for number in range(len(corpus))]
    wanted = {document.id for document in documents if meant(row.names[0], document)}
    hits = engine.search(row.written, top_k=len(wanted))
    assert {hit.doc_id for hit in hits} == wanted
    assert not hits.abstained


def test_the_moment_after_a_dot_comes_first(engine: Engine) -> None:
    assert engine.search("12.2 §")[0].doc_id == f"{KUNTALAKI}:12:2"
    assert engine.search("OYL 6:21.1")[0].doc_id == f"{OYL}:6:21:1"


HEBREW = [row for row in ONE if row.language == "he" and row.names[0].law in ("", PLANNING)]


@pytest.mark.parametrize("row", HEBREW, ids=ids(HEBREW))
def test_a_search_in_hebrew(row: Row) -> None:
    """Every section of the table, in the body and in a schedule."""
    numbers = ("4", "5", "12", "12א", "197")
    moments = ("5", "א", "ב")
    documents = [
        Document(
            id=f"{schedule}:{section}:{moment}",
            text=f"הוראה {section} {moment} בעניין היטל",
            locator=Locator(doc_id="1", section=section, moment=moment, schedule=schedule or None),
            metadata={"law": PLANNING, "law_id": "1"},
            language="he",
        )
        for schedule in ("", "3")
        for section in numbers
        for moment in moments
    ]
    built = index.build([(document, document.id) for document in documents], dense=False)
    (named,) = row.names
    schedule, section, moment = Engine(built).search(row.written)[0].doc_id.split(":")
    assert section == named.section
    assert named.moment in ("", moment)
    assert named.schedule in ("", schedule)


# ── importers ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", FINNISH, ids=ids(FINNISH))
def test_the_finlex_importer(row: Row) -> None:
    moment = finlex.FinlexMoment(law="Laki", law_id="1/2000", section_id=row.written, text="…")
    locator = finlex.document(moment).locator
    assert locator is not None
    named = row.names[0]
    assert (locator.section, locator.moment or "") == (named.section, named.moment)
    assert locator.chapter == (named.chapter or None)


HEADINGS = [row for row in ONE if "(" not in row.written]  # brackets are part of a printed number


@pytest.mark.parametrize("row", HEADINGS, ids=ids(HEADINGS))
def test_the_akoma_ntoso_importer(tmp_path: Path, row: Row) -> None:
    """The number before a section, as the source prints it."""
    root = ElementTree.Element("akomaNtoso")
    ElementTree.SubElement(root, "FRBRlanguage", language=row.language)
    section = ElementTree.SubElement(ElementTree.SubElement(root, "body"), "section")
    ElementTree.SubElement(section, "num").text = row.written
    ElementTree.SubElement(section, "p").text = "text"
    path = tmp_path / "act.xml"
    path.write_bytes(ElementTree.tostring(root, "utf-8"))
    (unit,) = akn.units(str(path), {})
    (document,) = akn.read(str(path), unit, {})
    assert isinstance(document, Document)
    assert document.locator is not None
    assert document.locator.section == row.names[0].section


# ── the normal form of a query ────────────────────────────────────────────────────────────────────


def test_one_place_is_one_query_however_it_is_written() -> None:
    forms: dict[tuple[Cited, ...], set[str]] = {}
    for row in TABLE:
        if row.written in ("§ 12.2",):
            continue  # a query has no corpus to say its language, and these words show none
        unit = re.sub(r"^Reg(?:\.|ulation)?(?= )", "regulation", row.written).split()[0]
        kind = unit if unit in ("regulation", "תקנה", "בסעיף") else row.language == "he"
        forms.setdefault((*row.names, Cited(str(kind))), set()).add(normal_query(row.written))
    assert {places: texts for places, texts in forms.items() if len(texts) > 1} == {}
    keys = [next(iter(texts)) for texts in forms.values()]
    assert len(set(keys)) == len(keys), "and two places are two queries"


# ── the table itself ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", SPELLINGS, ids=lambda row: f"{row.language} {row.name}")
def test_every_example_of_the_table_is_read(row: Spelling) -> None:
    for example in row.examples:
        found = cite(example, language=row.language)
        assert found, example
        assert {answer.citation.language for answer in found} == {row.language}


@pytest.mark.parametrize("row", BARE, ids=lambda row: str(row.name))
def test_a_number_alone_is_a_section_in_a_field_and_nowhere_else(row: Spelling) -> None:
    for example in row.examples:
        cited = read_section(example, row.language)
        assert cited is not None
        assert re.fullmatch(r"\d+[a-z]?(\.\d)?", cited.section), example
    assert sections_named("110a ja 5:21, 18702.2") == []


@pytest.mark.parametrize(
    "text",
    [
        "klo 6:21",
        "HPK voitti 3:1",
        "PL 100, 00101 Helsinki",
        "USA 110",
        "katso PL 21 ja muuta",
        "pelattiin rl 30:8",
        "1.5.2015",
        "21.5.2021/419",
        "vuonna 2024",
        "(תיקון מס' 62)",
        "500 feet",
        "see s. 12 and Article 5 there",
        "it took 30 sec 12 times",
    ],
)
def test_what_names_no_section(text: str) -> None:
    assert sections_named(text) == []


def test_every_spelling_is_of_a_language_that_there_is() -> None:
    languages = {row.language for row in GRAMMARS}
    for row in (*SPELLINGS, *BARE):
        assert row.language in languages | {""}


def test_a_question_is_not_refused_for_what_it_cites(engine: Engine) -> None:
    asked = engine.search("Mitä 148 §:ssä sanotaan?")
    assert not asked.abstained
    assert asked[0].doc_id.startswith(f"{KUNTALAKI}:148:")
    assert engine.search("tieliikennelain 148 §").abstained
