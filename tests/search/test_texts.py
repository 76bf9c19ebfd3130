"""English provisions, which carry no questions: other words than the law's, what is not here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.core.types import Document
from assay.search.engine import Engine, Hits
from assay.search.index import Index, build
from assay.workbench.searching import corpora

CODES = sorted((Path(__file__).parents[2] / "eval").glob("made_code_*.jsonl"))
ACT = {
    "roots": "Branches and roots. An owner may cut off and keep what grows over the boundary from"
    " the adjoining land, if its owner has not removed it within a reasonable time after notice.",
    "water": "Flow of water. The lower land must accept water that runs naturally from the higher"
    " land.",
    "window": "Distance of windows. A window that looks onto adjoining land is built one metre or"
    " more from the boundary.",
    "wall": "Party walls. The cost of a wall on the boundary is borne by both owners in equal"
    " parts.",
    "bees": "Swarms. The owner of a swarm may enter the land of another to recapture it, and makes"
    " good the damage done.",
    "well": "Wells. Whoever digs a well keeps two metres from the boundary.",
}


@pytest.fixture(scope="module")
def act() -> Index:
    documents = []
    for name, text in ACT.items():
        title, _, body = text.partition(". ")
        documents.append((Document(id=name, title=title, text=body, language="en"), name))
    return build(documents)


def found(act: Index, question: str) -> Hits:
    return Engine(act).search(question, 3, texts=False)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("The tree next door has pushed under my fence, can I chop it back?", "roots"),
        ("My hives flew next door. Am I allowed to go and get them?", "bees"),
        (
            "Rain comes down the hill from their plot into mine, do I have to put up with it?",
            "water",
        ),
    ],
)
def test_other_words_find_the_provision(act: Index, asked: str, meant: str) -> None:
    hits = found(act, asked)
    assert hits[0].doc_id == meant


def test_what_is_not_in_the_act_is_refused(act: Index) -> None:
    assert found(act, "What is the corporate income tax rate for foreign banks?").abstained
    assert found(act, "How do I bake sourdough bread?").abstained


def test_an_outside_word_beside_known_ones_does_not_hide_the_answer(act: Index) -> None:
    hits = found(act, "How far from the boundary must I dig a well with my new excavator?")
    assert hits[0].doc_id == "well"
    assert not hits.abstained


@pytest.fixture(scope="module")
def acts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two acts, by section and subsection; one section in two versions."""
    home = tmp_path_factory.mktemp("acts")
    rows = [
        ("f:11", "Ferries Act 2030", "11", "1", "A company may charge a fare that was approved."),
        ("f:12:1", "Ferries Act 2030", "12", "1", "A passenger may take one dog without charge."),
        ("f:12:2", "Ferries Act 2030", "12", "2", "Cattle travel on the lower deck."),
        ("f:13", "Ferries Act 2030", "13", "1", "After two hours half of the fare is paid back."),
        ("h:12", "Harbours Act 2019", "12", "1", "Dues are paid before a vessel departs."),
        ("h:13", "Harbours Act 2019", "13", "1", "A fee of section 2 is no due."),
    ]
    lines = [
        {"id": place, "law": law, "section": section, "moment": moment, "text": text}
        for place, law, section, moment, text in rows
    ]
    lines[4]["title"] = "Berths"
    file = home / "acts.jsonl"
    file.write_text("\n".join(msgspec.json.encode(line).decode() for line in lines))
    corpora.import_corpus("jsonl", file, name="acts", home=home)
    corpora.index_corpus("acts", home=home)
    return home


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("section 13 of the Ferries Act 2030", "f:13"),
        ("s. 12(2) of the Ferries Act 2030", "f:12:2"),
        ("Section 12 of the Harbours Act", "h:12"),
        ("What does section 11 say?", "f:11"),
        ("Is my dog free of charge under section 12 when we come on board late?", "f:12:1"),
    ],
)
def test_a_section_that_is_cited_comes_first(acts: Path, asked: str, first: str) -> None:
    answer = corpora.search("acts", asked, home=acts)
    assert answer.hits[0].doc_id == first
    assert not answer.abstained


def test_the_title_of_a_row_with_a_section_is_its_heading(acts: Path) -> None:
    hit = corpora.search("acts", "berths", home=acts).hits[0]
    assert (hit.doc_id, hit.title) == ("h:12", "Berths")


def test_what_cites_a_section_is_not_taken_for_it(acts: Path) -> None:
    """The number in another provision's text says nothing of its own place."""
    assert corpora.search("acts", "section 2", home=acts).abstained


def test_a_section_that_is_not_here_is_refused(acts: Path) -> None:
    for asked in ("section 99", "Section 12 of the Railways Act"):
        assert corpora.search("acts", asked, home=acts).abstained, asked


@pytest.mark.parametrize("code", CODES, ids=lambda path: path.stem)
def test_every_statement_of_the_made_codes_has_its_article(code: Path) -> None:
    """benchmarks/codes.py measures on them; here that they are whole."""
    rows = [msgspec.json.decode(line) for line in code.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) > 300
    assert sum(len(row["statements"]) for row in rows) > 350
    assert all(row["text"].strip() and row["title"].strip() for row in rows)
