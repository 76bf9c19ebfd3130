"""What a person sees of a hit: the answer first, statutes, date and writer; signals on request."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from assay.core.types import Document
from assay.corpus import import_corpus
from assay.corpus.letters import readable_part
from assay.engines.indexed import index_corpus
from assay.reports.listing import search_page, shown_texts
from assay.search import index, snippets
from assay.search.answers import FoundDocument, HitFacts, SearchAnswer, written_by
from assay.workbench.searching import corpora


def test_a_request_letter_says_so() -> None:
    asks = Document(id="1", metadata={"request": True, "type": "advice_letter"})
    answers = Document(id="2", metadata={"type": "advice_letter", "requestor_name": "Lee"})
    assert written_by(asks) == "a request letter to the Commission, not its advice"
    assert written_by(answers) == "advice of the Commission's staff to Lee"
    assert written_by(Document(id="3", metadata={"court": "KHO"})) == "KHO"
    assert written_by(Document(id="4")) == ""


def test_a_misread_question_is_not_shown() -> None:
    parts = {
        "question": "l\\fay hc votc?",
        "question_synthetic": "May he vote?",
        "conclusion": "No",
    }
    document = Document(id="1", fields=parts, metadata={"misread": ["question"]})
    assert readable_part(document, "question", "question_synthetic") == "question_synthetic"
    assert readable_part(document, "question") == ""
    assert readable_part(document, "summary", "conclusion") == "conclusion"


def _hit(snippet: str, words: list[str], told: HitFacts) -> FoundDocument:
    return FoundDocument(
        rank=1,
        doc_id="d",
        score=0.5,
        title="t",
        snippet=snippet,
        words=words,
        signals={},
        facts=told,
    )


def test_what_is_longer_than_a_line_stays_below_the_title() -> None:
    hit = _hit("one two three four five six", ["four"], HitFacts())
    answer = SearchAnswer(query="q", corpus="c", abstained=False, calibrated=True, hits=[hit])
    page = io.StringIO()
    Console(file=page, width=24).print(search_page(answer))
    first, *rest = page.getvalue().rstrip().splitlines()
    assert first.startswith(" 1. 0.50")
    assert rest[:2] == ["    one two three", "    four five six"]
    assert all(line.startswith("    ") and line == line.rstrip() for line in rest)


def test_the_answer_comes_first_and_nothing_is_said_twice() -> None:
    told = HitFacts(answer="No. Gifts are limited.", question="May a mayor accept tickets?")
    assert shown_texts(_hit("Gifts are limited.", ["gifts"], told)) == [
        "No. Gifts are limited.",
        "Asked: May a mayor accept tickets?",
    ]
    more = shown_texts(_hit("A concert is no ceremony.", ["concert"], told))
    assert more[2:] == ["A concert is no ceremony."]
    assert shown_texts(_hit("Only this.", [], HitFacts())) == ["Only this."]
    known = HitFacts(answers="Who pays?")
    assert shown_texts(_hit("Only this.", [], known)) == ["Only this.", "Answers: Who pays?"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ferry")
    items = "; ".join(f"{n}) lautan osa {word}" for n, word in enumerate(("köysi", "ranta"), 1))
    text = f"Lautan haltijan tulee: {items}. " + "Muusta päätetään asetuksella erikseen. " * 9
    line = {"law": "Lauttalaki", "law_id": "7/2001", "section_id": "5", "moment": 1, "text": text}
    (folder / "lautta.jsonl").write_text(json.dumps(line), encoding="utf-8")
    import_corpus("finlex", str(folder / "lautta.jsonl"), name="f", home=folder)
    index_corpus("f", home=folder, dense=False)
    return folder


def test_an_item_of_a_list_is_shown_with_the_words_before_it(home: Path) -> None:
    (hit,) = corpora.search("f", "ranta", home=home).hits
    assert hit.snippet.startswith("Lautan haltijan tulee:")
    assert "2) lautan osa ranta" in hit.snippet


def test_signals_are_told_in_words_and_only_on_request(home: Path) -> None:
    answer = corpora.search("f", "ranta", home=home)
    pages = []
    for explain in (False, True):
        console = Console(record=True, width=200, file=io.StringIO())
        console.print(search_page(answer, explain=explain))
        pages.append(console.export_text())
    assert "attained" not in "".join(pages)
    assert "It has your words: ranta." in pages[1]
    assert "your words" not in pages[0]


def test_a_provision_is_shown_from_where_its_rare_words_stand() -> None:
    """What every provision says tells least of why one is there."""
    common = "Kunta päättää asiasta kunnan tavalla. "
    filler = "Muutoin noudatetaan, mitä muualla säädetään ja mitä hallintosäännössä määrätään. " * 4
    text = f"{common}{filler}Venepaikka vuokrataan kesäksi."
    others = [f"Kunta päättää asiasta {number} kunnan tavalla." for number in range(150)]
    documents = [
        Document(id=str(number), title="", text=each, language="fi")
        for number, each in enumerate([text, *others])
    ]
    built = index.build([(each, each.id) for each in documents], dense=False)
    asked = snippets.asked_for(built, "kunta päättää asiasta venepaikka")
    assert asked.weight(built.lemma("venepaikka")) > asked.weight(built.lemma("kunta"))
    assert snippets.best_passage(built, asked, documents[0])[0].endswith("kesäksi.")
