"""Results and documents as pages read them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from assay.store import Store
from assay.workbench.project.service import Service
from assay.workbench.searching import documents, open_corpora, search
from assay.workbench.searching.corpora import corpus_named, import_corpus, index_corpus
from assay.workbench.searching.documents import Paragraph, marked
from assay.workbench.searching.filters import Filters, columns_of
from assay.workbench.searching.search import ResultPage, SearchRequest, search_page
from kit.corpora import SAMPLES, import_rows


@pytest.fixture
def service(store: Store, sample_home: Path) -> Service:
    return Service(store=store, home=sample_home)


def searched(
    service: Service, *, corpus: str = "", query: str = "", page: int = 1, **filters: Any
) -> ResultPage:
    asked = SearchRequest(corpus=corpus, query=query, page=page, filters=Filters(**filters))
    return search_page(service, asked)


def said(paragraphs: tuple[Paragraph, ...]) -> str:
    return "\n".join("".join(piece.text for piece in each.pieces) for each in paragraphs)


# ── results ───────────────────────────────────────────────────────────────────────────────────────


def test_a_result_has_question_answer_statutes_and_why(service: Service) -> None:
    page = searched(service, corpus="opinions", query="gift of travel to a conference")
    first = page.results[0]
    assert (page.state, first.rank) == ("found", 1)
    assert first.answer or first.passage
    assert first.score is not None
    assert 0 < first.score <= 1
    assert any(reason.kind == "words" and reason.words for reason in first.reasons)
    order = ["strong", "some", "little"]
    strengths = [order.index(reason.strength) for reason in first.reasons]
    assert strengths == sorted(strengths)
    assert any(result.statutes for result in page.results)
    assert all(result.date for result in page.results)


def test_pages_follow_each_other_and_the_last_is_the_last(service: Service) -> None:
    first = searched(service, corpus="opinions", query="gift")
    second = searched(service, corpus="opinions", query="gift", page=2)
    assert [hit.rank for hit in second.results][:1] == [11]
    assert not {hit.doc_id for hit in first.results} & {hit.doc_id for hit in second.results}
    beyond = searched(service, corpus="opinions", query="gift", page=99_999)
    assert beyond.asked.page == beyond.pages == first.pages
    assert beyond.results


@pytest.mark.parametrize(
    ("corpus", "query"),
    [
        ("opinions", "how long should sourdough rise before baking"),
        ("act", "Miten leivotaan ruisleipää uunissa?"),
        ("precedents", "מתכון לעוגת שוקולד עם אגוזים"),
    ],
)
def test_a_question_from_elsewhere_is_refused_and_the_nearest_shown(
    service: Service, corpus: str, query: str
) -> None:
    page = searched(service, corpus=corpus, query=query)
    assert page.state == "refused"
    assert page.results


def test_without_a_question_there_is_something_to_choose(service: Service) -> None:
    page = searched(service, corpus="opinions", query=" \n ")
    assert (page.state, page.results) == ("start", ())
    assert page.total > 0
    assert page.choices.topics
    chosen = page.choices.topics[0]
    listed = searched(service, corpus="opinions", topic=chosen.value)
    assert (listed.state, listed.total) == ("listed", chosen.documents)
    dates = [result.date for result in listed.results]
    assert dates == sorted(dates, reverse=True)
    assert all(result.topic == chosen.value for result in listed.results)


def test_every_filter_leaves_what_it_says(service: Service, sample_home: Path) -> None:
    page = searched(service, corpus="opinions", query="gift limit")
    statute = page.choices.statutes[0].value
    citing = searched(service, corpus="opinions", query="gift", statute=statute)
    assert citing.results
    number = statute.split()[-1]
    for result in citing.results:
        cited = documents.document_page(service, "opinions", result.doc_id).statutes
        assert any(number in each for each in cited)
    years = searched(service, corpus="opinions", query="gift", years=(2000, 2010))
    assert all("2000" <= result.date[:4] <= "2010" for result in years.results)
    act = searched(service, corpus="act", law="saaristokuntalaki")
    assert act.total == 133
    assert searched(service, corpus="act", law="9001/2031").total == 133
    assert searched(service, corpus="act", language="fi").total == 133
    before = searched(service, corpus="act", query="talousarvio", as_of="1999-01-01")
    assert before.state == "filtered"
    none = searched(service, corpus="opinions", query="gift", topic="nope")
    assert (none.state, none.results) == ("filtered", ())
    assert [one.documents for one in none.choices.topics if one.value == "nope"] == [0]


def test_what_is_chosen_is_counted_however_few_have_it(service: Service) -> None:
    """A place that one document cites is not offered, and may be chosen on that document's page."""
    columns = columns_of(corpus_named("opinions", service.home))
    counts = columns.cited.counts(columns.of_law)
    once = next(name for name, count in counts if count == 1)
    page = searched(service, corpus="opinions", statute=once.lower())
    chosen = [choice for choice in page.choices.statutes if choice.chosen]
    assert page.total >= 1
    assert [choice.documents for choice in chosen] == [page.total]


def test_no_corpus_and_no_index_are_states(store: Store, tmp_path: Path) -> None:
    empty = Service(store=store, home=tmp_path)
    assert searched(empty, query="gift").state == "bare"
    import_rows(tmp_path, "c", [{"id": "a", "text": "gift"}])
    page = searched(empty, query="gift")
    assert (page.state, page.asked.corpus) == ("unindexed", "c")
    assert searched(empty, query="gift").state == "unindexed"


def test_a_corpus_is_opened_once_and_again_when_it_changed(store: Store, tmp_path: Path) -> None:
    service = Service(store=store, home=tmp_path)
    import_rows(tmp_path, "c", [{"id": "a", "text": "a gift of tickets"}])
    index_corpus("c", home=tmp_path, dense=False)
    opened: list[object] = []

    def open_it() -> None:
        opened.append(search.corpus_for(service, "c"))

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, opened))) == 1
    import_rows(tmp_path, "c", [{"id": "b", "text": "zoning appeals"}])
    index_corpus("c", home=tmp_path, dense=False)
    assert [hit.doc_id for hit in searched(service, query="zoning").results] == ["b"]


def test_only_so_many_corpora_are_kept(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_corpora, "MAX_OPEN_CORPORA", 1)
    service = Service(store=store, home=tmp_path)
    for name in ("one", "two"):
        import_rows(tmp_path, name, [{"id": name, "text": "a gift of tickets"}])
        index_corpus(name, home=tmp_path, dense=False)
    first = search.corpus_for(service, "one")
    search.corpus_for(service, "two")
    assert search.corpus_for(service, "one") is not first


def test_years_that_nobody_can_draw_are_not_drawn(store: Store, tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "gift", "year": year} for n, year in enumerate((1, 2_000_000))]
    import_rows(tmp_path, "c", rows)
    index_corpus("c", home=tmp_path, dense=False)
    page = search_page(Service(store=store, home=tmp_path), SearchRequest(query="gift"))
    assert page.choices.years == ()


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def test_an_opinion_is_read_answer_first(service: Service) -> None:
    found = searched(service, corpus="opinions", query="gift of travel to a conference")
    doc = documents.document_page(service, "opinions", found.results[0].doc_id, "gift of travel")
    names = [section.name for section in doc.sections]
    assert doc.form == "opinion"
    assert names[-1] == "text"
    assert names.index("question") < names.index("conclusion" if "conclusion" in names else "text")
    assert {"gift", "travel"} & set(doc.words)
    pieces = [piece for section in doc.sections for p in section.paragraphs for piece in p.pieces]
    assert {piece.text.lower() for piece in pieces if piece.marked} <= set(doc.words)
    assert doc.similar
    assert doc.id not in {other.doc_id for other in doc.similar}


def test_the_whole_text_is_there_whatever_is_marked(service: Service) -> None:
    for doc_id in columns_of(search.corpus_for(service, "opinions").corpus).corpus.ids[:20]:
        text = search.corpus_for(service, "opinions").get(doc_id).text
        shown = documents.document_page(
            service, "opinions", doc_id, "gift council member"
        ).sections[-1]
        assert said(shown.paragraphs).split() == text.split()


def test_a_moment_is_read_in_its_section(service: Service) -> None:
    ids = search.corpus_for(service, "act").corpus.ids
    doc = documents.document_page(service, "act", ids[1])
    assert doc.form == "act"
    assert [part.label for part in doc.parts][:2] == ["1", "2"]
    assert [part.here for part in doc.parts][:2] == [False, True]
    assert doc.before is None
    assert doc.after is not None
    following = documents.document_page(service, "act", doc.after.doc_id)
    assert following.before is not None
    assert following.before.doc_id == ids[0]
    assert doc.path[0] == "Saaristokuntalaki (9001/2031)"
    seen = {part.doc_id for part in doc.parts}
    while following.after is not None:  # from end to end nothing is left out
        seen |= {part.doc_id for part in following.parts}
        following = documents.document_page(service, "act", following.after.doc_id)
    assert seen | {part.doc_id for part in following.parts} == set(ids)


def test_citations_are_links_with_titles(service: Service) -> None:
    shelf = search.corpus_for(service, "act")
    citing = next(doc_id for doc_id in shelf.corpus.ids if shelf.corpus.cites(doc_id))
    doc = documents.document_page(service, "act", citing)
    assert [link.doc_id for link in doc.cites] == shelf.corpus.cites(citing)
    assert all(link.title for link in doc.cites)
    back = documents.document_page(service, "act", doc.cites[0].doc_id)
    assert citing in {link.doc_id for link in back.cited_by}
    leads = {piece.to for part in doc.parts for p in part.paragraphs for piece in p.pieces}
    assert leads - {""}


def test_versions_of_one_place(store: Store, tmp_path: Path) -> None:
    lines = (SAMPLES / "fi" / "saaristokuntalaki.jsonl").read_text().splitlines()
    old = lines[0]
    new = old.replace("fin@20330042", "fin@20340001").replace("2032-01-01", "2034-01-01")
    source = tmp_path / "law.jsonl"
    source.write_text(f"{old}\n{new}\n")
    import_corpus("finlex", source, name="law", home=tmp_path)
    index_corpus("law", home=tmp_path, dense=False)
    service = Service(store=store, home=tmp_path)
    first, last = search.corpus_for(service, "law").corpus.ids
    doc = documents.document_page(service, "law", first)
    assert [(v.valid_from, v.valid_to, v.here) for v in doc.versions] == [
        ("2034-01-01", "", False),
        ("2032-01-01", "2033-12-31", True),
    ]
    assert doc.versions[0].doc_id == last
    found = searched(service, query="pysyvä asuminen", as_of="2033-01-01")
    assert [hit.doc_id for hit in found.results] == [first]


def test_marking_keeps_every_letter() -> None:
    pieces = marked("Tickets, תב״ע and tickets' end", ("tickets", "תב״ע"))
    assert "".join(piece.text for piece in pieces) == "Tickets, תב״ע and tickets' end"
    assert [piece.text for piece in pieces if piece.marked][:2] == ["Tickets", "תב״ע"]


@pytest.mark.parametrize(
    ("value", "kept"),
    [("https://example.org/a", True), ("javascript:alert(1)", False), (7, False), ("//x", False)],
)
def test_only_addresses_of_the_web_are_links(value: object, kept: bool) -> None:
    assert bool(documents._web_address(value)) is kept


@pytest.mark.parametrize(
    ("query", "reader", "corpus"),
    [
        ("may a council member accept a gift", "fi", "opinions"),
        ("Missä ajassa alijäämä on katettava", "en", "act"),
        ("פטור מהיטל השבחה", "en", "precedents"),
        ("", "he", "precedents"),
        ("87103", "en", "opinions"),
        ("87103", "", "act"),  # the largest
    ],
)
def test_without_a_corpus_the_language_chooses(
    service: Service, query: str, reader: str, corpus: str
) -> None:
    assert search_page(service, SearchRequest(query=query), reader=reader).asked.corpus == corpus
