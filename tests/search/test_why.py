"""Why a hit is here, in facts; and which hits are less likely to answer."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from assay.core.types import Document, Hit
from assay.corpus import import_corpus, open_corpus
from assay.engines.indexed import index_corpus, index_folder
from assay.reports.listing import search_page
from assay.reports.wording import hit_reasons_in_words
from assay.reports.words import END, ISOLATE
from assay.search import index, index_files, snippets
from assay.search.answers import FoundDocument, SearchAnswer
from assay.search.why import Why, less_likely, why_each
from assay.workbench.searching import corpora

MOMENTS = [
    ("5", 1, "Lautan haltijan on pidettävä köysi kunnossa."),
    ("5", 2, "Köydestä päätetään asetuksella."),
    ("6", 1, "Lossin kuljettajasta on voimassa, mitä 5 §:ssä säädetään haltijasta."),
    *((str(n), 1, f"Venevajan {n} vuokra maksetaan vuosittain.") for n in range(20, 80)),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("why")
    lines = [
        {"law": "Lauttalaki", "law_id": "7/2001", "section_id": section, "moment": n, "text": text}
        for section, n, text in MOMENTS
    ]
    (folder / "l.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    import_corpus("finlex", str(folder / "l.jsonl"), name="l", home=folder)
    index_corpus("l", home=folder, dense=False)
    return folder


def test_a_hit_says_which_words_it_has_and_which_it_has_not(home: Path) -> None:
    first = corpora.search("l", "köysi kunnossa moottori", home=home).hits[0]
    assert first.doc_id.endswith(":5:1")
    assert set(first.why.words) == {"köysi", "kunnossa"}
    assert first.why.missing == ("moottori",)


def test_a_hit_says_what_it_has_to_do_with_the_first(home: Path) -> None:
    hits = corpora.search("l", "lautan haltijan köysi kunnossa", home=home).hits
    whys = {hit.doc_id[-3:]: hit.why for hit in hits}
    assert hits[0].why.section == hits[0].why.refers_to == 0
    assert whys["5:2"].section == 1
    refers = whys["6:1"]
    assert (refers.refers_to, refers.place) == (1, "5 §")


def test_a_word_names_the_only_provision_that_has_it(home: Path) -> None:
    def named(question: str) -> list[bool]:
        return [hit.why.named for hit in corpora.search("l", question, home=home).hits]

    assert named("mikä on kuljettaja")[0]
    assert not any(named("mikä on köysi"))  # two have it
    assert named("6 §")[0]


def test_a_frequent_word_is_named_too() -> None:
    """It tells less than a rare one, and is a word of the question that the document has."""
    others = [f"Puistossa on {n} penkkiä." for n in range(60)]
    texts = ["Koira saa olla puistossa.", *others]
    documents = [Document(id=str(n), title="", text=t, language="fi") for n, t in enumerate(texts)]
    built = index.build([(each, each.id) for each in documents], dense=False)
    asked = snippets.asked_for(built, "koira puistossa")
    told = why_each(built, asked, [Hit(doc_id="0", score=0.5)], documents[:1], 1)[0]
    assert told.words == ("koira", "puistossa")


def test_a_word_that_no_document_has_is_said_once(home: Path) -> None:
    console = Console(file=io.StringIO(), record=True)
    console.print(search_page(corpora.search("l", "köysi kunnossa moottori", home=home)))
    assert console.export_text().count("moottori") == 1


def test_what_has_none_of_the_words_says_so() -> None:
    documents = [
        Document(id="1", title="", text="Venevaja on rannassa.", language="fi"),
        Document(id="2", title="", text="Lossi kulkee yöllä.", language="fi"),
    ]
    built = index.build([(each, each.id) for each in documents], dense=False)
    asked = snippets.asked_for(built, "venevaja")
    hits = [Hit(doc_id=each.id, score=0.5) for each in documents]
    one, other = why_each(built, asked, hits, documents, 1)
    assert (one.words, one.meaning) == (("venevaja",), False)
    assert (other.words, other.meaning) == ((), True)


def test_a_word_is_seen_in_a_compound_and_not_in_another_word() -> None:
    documents = [
        Document(id="1", title="", text="Toimi päättyy. Toimikauden pituus.", language="fi"),
        Document(id="2", title="", text="Kasematit suljetaan.", language="fi"),
    ]
    built = index.build([(each, each.id) for each in documents], dense=False)
    hits = [Hit(doc_id=each.id, score=0.5) for each in documents]
    one, _ = why_each(built, snippets.asked_for(built, "kauden"), hits, documents, 1)
    assert one.instead == {"kauden": "toimikauden"}
    _, other = why_each(built, snippets.asked_for(built, "asema"), hits, documents, 1)
    assert other.words == other.missing == ()


def _why(text: str, question: str, language: str, other: str) -> Why:
    """Of the first of two documents."""
    documents = [
        Document(id="1", title="", text=text, language=language),
        Document(id="2", title="", text=other, language=language),
    ]
    built = index.build([(each, each.id) for each in documents], dense=False)
    hits = [Hit(doc_id=each.id, score=0.5) for each in documents]
    return why_each(built, snippets.asked_for(built, question), hits, documents, 1)[0]


def test_a_term_stands_in_for_what_is_its_own_entry() -> None:
    told = _why("Kunnan talousarviosta päättää valtuusto.", "budjetti", "fi", "Lossi kulkee yöllä.")
    assert told.instead == {"budjetti": "talousarviosta"}
    told = _why("מעסיק ישלם לעובד שכר.", "הבוס", "he", "הרכבת יוצאת בלילה.")
    assert told.instead == {"הבוס": "מעסיק"}


@pytest.mark.parametrize(
    ("text", "question", "language"),
    [
        ("Kokouksesta laaditaan pöytäkirja.", "mulla", "fi"),  # minutes, minut, minä
        ("Viranomainen antaa asiasta lausunnon.", "kantapään", "fi"),  # only begins as *kanta* does
        ("Julkisista hankinnoista säädetään erikseen.", "paljonko maksoi", "fi"),  # hankintameno
        ("בעל המקרקעין ישלם אגרה.", "אדם", "he"),  # אדמה without its ending
        ("הועדה תדון בבקשה.", "תוך כמה זמן", "he"),  # ועדה and מועד without their ends
    ],
)
def test_what_only_has_the_same_letters_left_stands_in_for_nothing(
    text: str, question: str, language: str
) -> None:
    told = _why(text, question, language, "Lossi kulkee yöllä." if language == "fi" else "הרכבת")
    assert told.instead == {}


def test_words_that_mean_a_term_together_are_shown_in_one() -> None:
    told = _why("Jäsenen erottaminen edellyttää päätöstä.", "heittää ulos moottori", "fi", "Lossi.")
    assert told.instead == {"heittää ulos": "erottaminen"}
    assert told.words == ("heittää ulos",)
    assert told.missing == ("moottori",)


def test_the_words_of_a_term_stand_together() -> None:
    whole, apart = "שכר עבודה ישולם בכל חודש.", "השכר נקבע בחוזה. תנאי עבודה אחרים לא נפגעים."
    assert _why(whole, "משכורת", "he", "הרכבת").instead == {"משכורת": "שכר עבודה"}
    assert _why(apart, "משכורת", "he", "הרכבת").instead == {}


def test_words_that_only_ask_are_not_missed() -> None:
    told = _why("Lautta kulkee.", "montako lossia mulla pääseekö", "fi", "Lossi kulkee yöllä.")
    assert told.missing == ("lossia",)
    told = _why("הרכבת יוצאת.", "מהו וכמה מזחלת", "he", "שלג.")
    assert told.missing == ("מזחלת",)


def test_another_section_far_behind_is_less_likely(home: Path) -> None:
    built = index_files.load(index_folder(open_corpus(home, "l"), home))
    ids = sorted(built.ids)
    of = {
        place: next(one for one in ids if one.endswith(f":{place}"))
        for place in ("5:1", "5:2", "6:1")
    }
    hits = [
        Hit(doc_id=of["5:1"], score=0.9),
        Hit(doc_id=of["5:2"], score=0.8),
        Hit(doc_id=of["6:1"], score=0.7),
    ]
    assert less_likely(built, hits) == [False, False, True]
    assert less_likely(built, [hits[0], hits[2]]) == [False, True]
    lower = [hits[0], hits[2], Hit(doc_id=of["5:2"], score=0.6)]
    assert less_likely(built, lower) == [False] * 3, "below a lower score it would say otherwise"
    near = [hits[0], Hit(doc_id=of["6:1"], score=0.85)]
    assert less_likely(built, near) == [False, False]


def test_the_line_is_in_the_words_of_the_reader() -> None:
    why = Why(words=("vene",), instead={"vene": "lossi"}, missing=("vaja",), section=2)
    assert (
        hit_reasons_in_words(why) == "contains vene (lossi), but not vaja · same section as hit 2"
    )
    assert (
        hit_reasons_in_words(why, "fi")
        == "sisältää: vene (lossi); ei sisällä: vaja · sama pykälä kuin osumassa 2"
    )
    assert f"{ISOLATE}vene (lossi){END}" in hit_reasons_in_words(why, "he", isolated=True)
    assert hit_reasons_in_words(Why(refers_to=1, place="5 §")) == "refers to hit 1, 5 §"
    assert hit_reasons_in_words(Why(meaning=True)).startswith("close in meaning")
    assert hit_reasons_in_words(Why()) == ""


def test_a_word_that_another_document_has_in_any_form_is_not_called_missing(
    tmp_path: Path,
) -> None:
    texts = [
        "Kunnan omat tulot riittävät sen menoihin, ja tehtävä kuuluu sille.",
        *(text for _, _, text in MOMENTS),
    ]
    rows = [
        {"law": "Lauttalaki", "law_id": "7/2001", "section_id": str(n), "moment": 1, "text": text}
        for n, text in enumerate(texts, start=1)
    ]
    (tmp_path / "l.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    import_corpus("finlex", str(tmp_path / "l.jsonl"), name="l", home=tmp_path)
    index_corpus("l", home=tmp_path, dense=False)
    answer = corpora.search("l", "kuuluuko lossin köysi omasta zzyzx", top_k=1, home=tmp_path)
    assert not {"omasta", "kuuluuko"} & set(answer.hits[0].why.words)
    assert answer.unknown == ["zzyzx"]


def _found(rank: int, *, behind: bool) -> FoundDocument:
    return FoundDocument(
        rank=rank,
        doc_id=f"d{rank}",
        score=0.5,
        title=f"title {rank}",
        snippet=f"passage {rank}",
        words=[],
        signals={},
        why=Why(words=("vene",)),
        less_likely=behind,
    )


def test_what_is_less_likely_stands_below_with_its_rank_and_why() -> None:
    hits = [_found(1, behind=False), _found(2, behind=True), _found(3, behind=False)]
    answer = SearchAnswer(query="q", corpus="c", abstained=False, calibrated=True, hits=hits)
    page = io.StringIO()
    Console(file=page, width=80).print(search_page(answer))
    text = page.getvalue()
    assert text.index("title 3") < text.index("Less likely to answer:") < text.index("2. 0.50")
    assert "passage 3" in text
    assert "passage 2" not in text
    assert text.count("Why: contains vene") == 3


def test_a_passage_ends_with_its_sentence_where_that_is_near() -> None:
    sentence = "a" * 290 + " b. "
    assert snippets.shortened(sentence + "c" * 300) == sentence.strip() + " …"
    assert snippets.shortened("word " * 100).endswith("word …")
    assert len(snippets.shortened("word " * 100)) <= snippets.PASSAGE_CHARACTERS + 2


def test_a_word_that_a_result_has_in_another_form_is_not_called_missing(home: Path) -> None:
    answer = corpora.search("l", "lautat köysi moottorit", home=home)
    assert "lautat" in answer.hits[0].why.words
    assert answer.unknown == ["moottorit"]
