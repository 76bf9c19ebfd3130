"""English provisions, which carry no questions: other words than the law's, what is not here."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.core.types import Document
from assay.search.engine import Engine, Hits
from assay.search.index import Index, build

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


@pytest.mark.parametrize("code", CODES, ids=lambda path: path.stem)
def test_every_statement_of_the_made_codes_has_its_article(code: Path) -> None:
    """benchmarks/codes.py measures on them; here that they are whole."""
    rows = [msgspec.json.decode(line) for line in code.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) > 300
    assert sum(len(row["statements"]) for row in rows) > 350
    assert all(row["text"].strip() and row["title"].strip() for row in rows)
