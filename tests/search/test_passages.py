"""The passage that is shown is the same, found in the index or by reading the document."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.types import Document
from assay.corpus import open_corpus
from assay.engines.indexed import index_folder
from assay.language.analysis import English
from assay.search import index, index_files, signals, snippets
from assay.search.lexical import bm25, count_terms
from assay.search.sentence_index import passages_of, sentence_spans, shown_texts

QUESTIONS = (
    "May a mayor accept tickets to a concert as a gift?",
    "conflict of interest of a council member near the property",
    "87103(a) campaign contributions",
    "contribut reporting late filings of committees",
    "zzz",
)
WORDS = ["gift", "gifts", "mayor", "The", "87103(a)", "property.", "properties", "council;", "of"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
texts = st.lists(sentences, max_size=6).map(" \n\n".join)


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_is_the_one_that_reading_finds(home: Path, question: str) -> None:
    corpus = open_corpus(home, "opinions")
    opened = index_files.load(index_folder(corpus, home))
    assert opened.passages is not None
    without = replace(opened, passages=None)
    kept, read = (snippets.asked_for(each, question) for each in (opened, without))
    assert read.lemmas is None
    shown = [snippets.best_passage(opened, kept, each) for each in corpus.iter()]
    assert shown == [snippets.best_passage(without, read, each) for each in corpus.iter()]
    assert any(words for _, words in shown) == (question != "zzz")


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4), sentences)
def test_any_texts_give_what_reading_gives(drawn: list[tuple[str, str]], question: str) -> None:
    documents = [
        Document(id=str(n), text=text, fields={"question": asked}, language="en")
        for n, (text, asked) in enumerate(drawn)
    ]
    built = index.build([(each, each.id) for each in documents], dense=False)
    without = replace(built, passages=None)
    kept, read = (snippets.asked_for(each, question) for each in (built, without))
    for each in documents:
        expected = snippets.best_passage(without, read, each)
        assert snippets.best_passage(built, kept, each) == expected


def test_an_update_keeps_the_passages_of_what_did_not_change() -> None:
    first = [Document(id=key, text=f"{key} council voted on zoning. " * 3) for key in "abcd"]
    second = [
        first[3],
        Document(id="e", text="A gift of tickets to the mayor was returned."),
        first[1],
    ]
    before = index.build([(each, each.text) for each in first], dense=False)
    updated = index.build([(each, each.text) for each in second], dense=False, previous=before)
    fresh = passages_of(map(shown_texts, second), English())
    assert updated.passages is not None
    assert updated.passages.lemmas == fresh.lemmas
    for name in ("offsets", "starts", "words", "spans"):
        assert getattr(updated.passages, name).tolist() == getattr(fresh, name).tolist()


def test_an_index_of_the_version_before_opens_without_passages(home: Path, tmp_path: Path) -> None:
    corpus = open_corpus(home, "opinions")
    index_files.save(
        replace(index_files.load(index_folder(corpus, home)), passages=None), tmp_path, ""
    )
    manifest = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(manifest | {"format": 6}))
    opened = index_files.load(tmp_path)
    asked = snippets.asked_for(opened, QUESTIONS[0])
    assert opened.passages is None
    assert snippets.best_passage(opened, asked, corpus.at(0))[0]


# ── spelling ──────────────────────────────────────────────────────────────────────────────────────


def is_a_slip(typed: str, meant: str) -> bool:
    """By definition: drop, swap, or change of a letter to one beside it, gives the other."""
    short, long = sorted((typed, meant), key=len)
    if len(long) - len(short) == 1:
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    different = [at for at in range(len(short)) if short[at] != long[at]]
    pairs = [{typed[at], meant[at]} for at in different] if len(short) == len(long) else []
    return (len(pairs) == 1 and pairs[0] in ({"c", "d"}, {"e", "é"}, {"e", "d"})) or (
        len(pairs) == 2
        and different[1] == different[0] + 1
        and short[different[0]] == long[different[1]]
        and short[different[1]] == long[different[0]]
    )


@given(
    st.lists(st.text("abcdeé", min_size=3, max_size=6), min_size=1, max_size=60),
    st.text("abcdeé", min_size=4, max_size=6),
)
def test_an_unknown_word_is_read_as_the_most_frequent_one_a_slip_away(
    words: list[str], asked: str
) -> None:
    field = bm25(count_terms(words, str.split), k1=1.2, b=0.75)
    known = {word: words.count(word) for word in words}
    near = [
        (-count, word)
        for word, count in known.items()
        if count > 1 and word[0] == asked[0] and word != asked and is_a_slip(asked, word)
    ]
    expected = min(near)[1] if near and known.get(asked, 0) == 0 else asked
    assert signals.spelled([asked], field) == [expected]


def test_another_word_is_not_taken_for_a_slip() -> None:
    texts = ["break the list", "break the case", "lists and baker", "lists and baker", "a base"]
    field = bm25(count_terms(texts, str.split), k1=1.2, b=0.75)

    assert signals.spelled(["bread", "list"], field) == ["bread", "list"]
    assert signals.spelled(["lisst", "break"], field) == ["lists", "break"]
    assert signals.spelled(["lisst", "bakker"], field) == ["lisst", "bakker"]  # all is unknown


def test_a_sentence_goes_on_after_an_abbreviation() -> None:
    text = "It follows the Lyon Advice Letter, No. A-90-123, as to tickets. Another one comes."
    spans = [text[begin:end] for begin, end in sentence_spans([text])]
    assert spans[0].endswith("as to tickets.")


def test_a_rule_is_shown_before_its_special_case() -> None:
    rule = (
        "Kunnan taseeseen kertynyt vaje tulee kattaa neljän vuoden kuluessa tilinpäätöksen "
        "vahvistamista seuraavan vuoden alusta lukien. "
    )
    special = "Uuden kunnan vaje tulee kattaa kuuden vuoden kuluessa jaon voimaantulosta. "
    rest = "Selvitys annetaan keväällä. " * 9
    moment = Document(id="1", text=rule + special + rest, language="fi")
    others = [Document(id=each, text="Valtuusto kokoontuu.", language="fi") for each in "234"]
    built = index.build([(each, each.text) for each in (moment, *others)], dense=False)
    question = snippets.asked_for(built, "Missä ajassa kunnan vaje on katettava?")
    assert snippets.best_passage(built, question, moment)[0].startswith("Kunnan taseeseen")


def test_a_passage_begins_earlier_where_it_says_as_much_from_there() -> None:
    rule = (
        "Ylittävä osuus palautetaan valtiolle neljän vuoden kuluessa tilinpäätöksen vahvistamista "
        "seuraavan vuoden alusta lukien. "
    )
    special = "Samassa ajassa katetaan kunnan vaje. "
    rest = "Selvitys annetaan keväällä. " * 9
    moment = Document(id="1", text=rule + special + rest, language="fi")
    far = Document(id="5", text=rule + rest * 2 + special + rest, language="fi")
    others = [Document(id=each, text="Valtuusto kokoontuu.", language="fi") for each in "234"]
    built = index.build([(each, each.text) for each in (moment, far, *others)], dense=False)
    question = snippets.asked_for(built, "Missä ajassa kunnan vaje on katettava?")
    assert snippets.best_passage(built, question, moment)[0].startswith("Ylittävä osuus")
    shown = snippets.best_passage(built, question, far)[0]
    assert "Samassa ajassa katetaan kunnan vaje." in shown  # what is asked for stays in sight
