"""What is in force: what texts say of themselves, versions of one place, and places that are told
apart by chapter and schedule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.corpus import cite
from assay.corpus.build import import_corpus
from assay.corpus.disk import Corpus, open_corpus
from assay.corpus.in_force import provision_statuses
from assay.engines.indexed import index_corpus, open_indexed
from assay.law.citing import citation_of
from assay.law.versions import status_of_text, with_status_mark
from assay.search.answers import found_documents


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("(בוטל).", "repealed"),
        ("(ב) (בוטל מכללא),", "repealed"),
        ("”המנהל“ – (בוטלה).", "repealed"),
        ("(ספרור שגוי במקור; בוטל).", "repealed"),
        ("(הפרק בוטל; אך ימשיך לחול על הליכים שנפתחו קודם לכן)", "repealed"),
        ("(בוטל); [במקור: החלטה]", "repealed"),
        ("2 momentti on kumottu L:lla 21.5.2021/419.", "repealed"),
        ("(3) (repealed);", "repealed"),
        ("[Repealed by the Fisheries Act 2015, s. 3]", "repealed"),
        ("Revoked.", "repealed"),
        ("[Spent]", "placeholder"),
        ("The levy is repealed by this Act; what was paid is not returned.", ""),
        ("A licence that was revoked by the Minister may be applied for again.", ""),
        ("(הושמט)", "placeholder"),
        ("(הטופס הושמט)", "placeholder"),
        ("הנוסח שולב בפקודת מס הכנסה.", "placeholder"),
        ("(4) הנוסח שולב בפקודת הפרוצדורה, 1938;", "placeholder"),
        ("(א) בוטל רישומו של בית בפנקס, תירשם השכירות.", ""),
        ("(ג) בוטל זיכיון שניתן לפי סעיף 46, בטל ההיתר.", ""),
        ("פקע תוקפו של העיצוב העיקרי, יפקע גם המוסף.", ""),
        ("(ב) הנוסח של בקשת האיחוד ייקבע בתקנות.", ""),
        ("Tällä lailla kumotaan kuntalaki (365/1995).", ""),
    ],
)
def test_a_text_says_what_became_of_it(text: str, status: str) -> None:
    assert status_of_text(text) == status


def test_a_title_is_marked_once() -> None:
    once = with_status_mark("Kuntalaki 5 §", "repealed", "fi")
    assert once == "Kuntalaki 5 § (kumottu)"
    assert with_status_mark(once, "repealed", "fi") == once
    assert with_status_mark("x", "in force", "he") == "x"
    assert with_status_mark("Kuntalaki 5 § (ei enää voimassa)", "in force", "fi") == "Kuntalaki 5 §"


def _moment(number: str, section: str, text: str, **said: object) -> dict[str, object]:
    return {
        "law": "Lauttalaki",
        "law_id": "7/2001",
        "chapter": "1 luku",
        "section_id": section,
        "section_title": "Lautan kuljettaminen",
        "moment": 1,
        "node_id": f"7/2001:{number}",
        "text": text,
        **said,
    }


@pytest.fixture(scope="module")
def ferries(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    home = tmp_path_factory.mktemp("ferries")
    lines = [
        _moment("old", "5", "Lauttaa saa kuljettaa lauttakirjalla.", effective_from="2001-01-01"),
        _moment("new", "5", "Lauttaa saa kuljettaa lautturi.", effective_from="2020-01-01"),
        _moment("later", "5", "Lauttaa kuljettaa kone.", effective_from="2999-01-01"),
        _moment("gone", "6", "6 § on kumottu L:lla 1.2.2003/9.", effective_from="2001-01-01"),
        _moment("other", "5", "Lautan vuokraa maksetaan.", chapter="2 luku"),
        _moment("ended", "8", "Lauttaa saa kuljettaa sunnuntaina.", in_force=False),
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (home / "lautta.jsonl").write_text(text, encoding="utf-8")
    import_corpus("finlex", str(home / "lautta.jsonl"), name="f", home=home)
    index_corpus("f", home=home, dense=False)
    return open_corpus(home, "f")


def _statuses(corpus: Corpus, day: str) -> dict[str, str]:
    standing = provision_statuses(corpus)
    ids = [doc_id.partition(":")[2] for doc_id in corpus.ids]
    return {doc_id: standing.status(row, day) for row, doc_id in enumerate(ids)}


def test_each_version_holds_until_the_next_begins(ferries: Corpus) -> None:
    assert _statuses(ferries, "2026-01-01") == {
        "old": "superseded",
        "new": "in force",
        "later": "not yet in force",
        "gone": "repealed",
        "other": "in force",
        "ended": "superseded",
    }
    then = _statuses(ferries, "2010-06-01")
    assert (then["old"], then["new"]) == ("in force", "not yet in force")


def test_what_is_in_force_comes_first_and_the_rest_is_marked(ferries: Corpus) -> None:
    engine = open_indexed("f", home=ferries.path.parents[1])
    question = "lautan kuljettaminen lauttakirjalla"
    found = found_documents(engine.search(question), engine, question, ferries.get)
    order = [hit.doc_id.partition(":")[2] for hit in found]
    assert order.index("new") < order.index("old")
    assert "gone" not in order or order.index("gone") > order.index("other")
    titles = {hit.doc_id.partition(":")[2]: hit.title for hit in found}
    assert titles["old"].endswith("(ei enää voimassa)")
    assert titles["later"].endswith("(ei vielä voimassa)")
    scores = [hit.score or 0 for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_on_a_day_the_version_of_that_day_is_found_unmarked(ferries: Corpus) -> None:
    engine = open_indexed("f", home=ferries.path.parents[1])
    hits = engine.search("lautan kuljettaminen", as_of="2010-06-01")
    found = found_documents(hits, engine, "kuljettaminen", ferries.get, as_of="2010-06-01")
    titles = {hit.doc_id.partition(":")[2]: hit.title for hit in found}
    assert "new" not in titles
    assert titles["old"] == "Lauttalaki 1 luku 5 § 1 mom. – Lautan kuljettaminen"


def test_a_record_that_is_not_in_force_today_was_in_force_in_its_time(tmp_path: Path) -> None:
    lines = [
        _moment("old", "5", "Lupakirjan antaa kunta.", effective_from="2001-01-01", in_force=False),
        _moment("new", "5", "Lupakirjan antaa valtio.", effective_from="2020-01-01", in_force=True),
        _moment("two", "6", "Lauttaa ei saa myydä.", effective_from="2001-01-01", in_force=False),
    ]
    (tmp_path / "lautta.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    import_corpus("finlex", tmp_path / "lautta.jsonl", name="g", home=tmp_path)
    corpus = open_corpus(tmp_path, "g")
    then, now = _statuses(corpus, "2010-06-01"), _statuses(corpus, "2023-06-01")
    assert then == {"old": "in force", "new": "not yet in force", "two": "superseded"}
    assert now == {"old": "superseded", "new": "in force", "two": "superseded"}
    index_corpus("g", home=tmp_path, dense=False)
    engine = open_indexed("g", home=tmp_path)
    hits = engine.search("kuka antaa lupakirjan", as_of="2010-06-01")
    found = found_documents(hits, engine, "lupakirja", corpus.get, as_of="2010-06-01")
    assert found[0].title == "Lauttalaki 5 § 1 mom. – Lautan kuljettaminen"


def test_a_citation_names_what_is_in_force_first(ferries: Corpus) -> None:
    (answer,) = cite("lauttalain 1 luvun 5 §", ferries)
    assert answer.targets[0] == "7/2001:new"
    assert answer.not_in_force["7/2001:old"] == "superseded"
    (gone,) = cite("lauttalain 6 §", ferries)
    assert gone.not_in_force == {"7/2001:gone": "repealed"}


def test_a_chapter_is_part_of_the_place_where_numbers_begin_anew(ferries: Corpus) -> None:
    assert citation_of(ferries.get("7/2001:new")) == "Lauttalaki (7/2001) 1 luku 5 § 1 mom."
    assert citation_of(ferries.get("7/2001:gone")).endswith("6 § 1 mom. (kumottu)")


PROTOCOL = """<akomaNtoso><act><meta><identification><FRBRWork>
<FRBRuri value="/akn/il/act/1990/9"/></FRBRWork><FRBRlanguage language="heb"/></identification>
</meta><body><list><point eId="point_none"><list><point eId="point_none__point_1"><num>1.</num>
<content><p>שם החוק</p></content></point></list></point>
<point eId="point_2"><num>2.</num><content><p>תוקף</p></content></point></list>
<appendix eId="appendix"><title><p>תוספת</p></title>
<subtitle><content><p>סעיף 2 חסינות</p></content></subtitle>
<list><point eId="appendix__point_none"><num/><list>
<point eId="appendix__point_none__point_1"><num>1.</num><content><p>חסינות מלאה</p></content>
</point>
</list></point></list></appendix></body></act></akomaNtoso>"""


def test_no_subsection_hangs_without_its_section(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(PROTOCOL, encoding="utf-8")
    import_corpus("akn", str(tmp_path / "a.xml"), name="a", home=tmp_path)
    corpus = open_corpus(tmp_path, "a")
    assert set(corpus.ids) == {"9/1990:1", "9/1990:2", "9/1990:schedule-1:2:1"}
    in_schedule = corpus.get("9/1990:schedule-1:2:1")
    assert in_schedule.title.endswith("סעיף 2(1) לתוספת הראשונה – חסינות")
    assert citation_of(in_schedule).startswith("סעיף 2(1) לתוספת הראשונה ל")
