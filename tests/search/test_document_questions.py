"""Questions that were written for documents: matched one by one, kept with the index."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.types import Document, Locator
from assay.corpus import import_corpus
from assay.search import index, index_files, signals
from assay.search.document_questions import DocumentQuestions, asked_of, read_written, shipped
from assay.search.signals import SoftQuestion, soft_signals
from assay.workbench.searching import corpora

# no letter pair of the lay question is in the law that answers it
LAW = {
    "1": "Kunnanhallitus päättää irtaimen omaisuuden luovuttamisesta.",
    "2": "Valtuusto kokoontuu päättäminään aikoina ja puheenjohtajan kutsusta.",
    "3": "Tilintarkastaja antaa lausunnon toimintakertomuksesta.",
    "4": "Lautakunnan esittelijä on virassa oleva henkilö.",
}
ASKED = [
    DocumentQuestions("2", ["koska ne pitää tapaamisia", "milloin seuraava istunto on"]),
    DocumentQuestions("3", ["kuka katsoo numerot läpi"]),
]


def words(text: str) -> list[str]:
    return text.split()


def written(path: Path, lines: list[DocumentQuestions]) -> Path:
    rows = [{"id": line.id, "questions": line.questions} for line in lines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def corpus(home: Path, texts: dict[str, str]) -> None:
    source = home / "law.jsonl"
    rows = [{"id": key, "text": text, "language": "fi"} for key, text in texts.items()]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_corpus("jsonl", source, name="law", home=home)


def first(home: Path, query: str) -> str:
    return corpora.open_indexed("law", home=home).search(query, top_k=1)[0].doc_id


def test_the_best_question_of_a_document_counts_and_not_how_many_it_has() -> None:
    many = DocumentQuestions("a", ["may I fish here", "may I swim here", "may I camp here"])
    one = DocumentQuestions("b", ["who pays for the fence"])
    asked = asked_of(["a", "b", "c"], [], [many, one], words)
    assert asked is not None
    scores = asked.scores(words("who pays for a fence"), 3)
    assert scores.argmax() == 1
    assert scores[2] == 0
    same = asked.scores(words("who pays for the fence"), 3)
    assert same[1] == pytest.approx(1, abs=0.2)
    assert scores[1] < same[1]
    assert same[0] == 0


def test_what_ships_holds_for_another_version_of_a_provision_too() -> None:
    ships = [DocumentQuestions("410/2015:fin@20230780:1:1", ["what for"])]
    there = asked_of(["410/2015:fin@20250101:1:1", "x"], ships, [], words)
    assert there is not None
    assert there.documents.tolist() == [0]
    assert asked_of(["410/2015:fin@20230780:1:2"], ships, [], words) is None


@pytest.mark.parametrize("language", ["fi", "he"])
def test_questions_ship(language: str) -> None:
    lines = shipped(language)
    assert len(lines) > 2_000
    assert all(line.id and line.questions for line in lines)
    assert len({line.id for line in lines}) == len(lines)
    assert shipped("en") == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "1"}', "questions"),
        ('{"id": 1, "questions": []}', "str"),
        ('{"id": "1", "questions": "why"}', "array"),
        ('{"id": "1", "questions": [" "]}', "a question is empty"),
        ('{"id": "", "questions": ["why"]}', "the id is empty"),
        ('{"id": "1", "question": ["why"]}', "question"),
        ("[]", "array"),
        ("{", "not valid JSON"),
        (json.dumps({"id": "1", "questions": ["x" * 2_001]}), "2,001 characters"),
    ],
)
def test_a_bad_line_is_named(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "1", "questions": ["why"]}\n' + line + "\n")
    with pytest.raises(InputError, match=said) as caught:
        read_written(path)
    assert "2" in str(caught.value.where)


def test_a_question_finds_what_only_a_written_question_says(tmp_path: Path) -> None:
    corpus(tmp_path, LAW)
    query = "koska pidetään tapaamisia"
    corpora.index_corpus("law", home=tmp_path, dense=False)
    before = corpora.open_indexed("law", home=tmp_path).search(query, explain=True)
    assert all("asked" not in hit.explanation for hit in before)
    path = written(tmp_path / "q.jsonl", [*ASKED, DocumentQuestions("gone", ["minne se meni"])])
    done = corpora.index_corpus("law", home=tmp_path, dense=False, questions=str(path))
    assert (done.questions.given, done.questions.documents) == (3, 2)
    assert done.questions.unknown_ids == 1
    hits = corpora.open_indexed("law", home=tmp_path).search(query, explain=True)
    assert hits[0].doc_id == "2"
    assert hits[0].explanation["question_likeness"] > 0.4


def test_questions_are_kept_until_something_else_is_said(tmp_path: Path) -> None:
    corpus(tmp_path, LAW)
    path = written(tmp_path / "q.jsonl", ASKED)
    corpora.index_corpus("law", home=tmp_path, dense=False, questions=str(path))
    path.unlink()
    corpus(tmp_path, LAW | {"5": "Kuntalaisella on aloiteoikeus."})
    assert first(tmp_path, "koska pidetään tapaamisia") == "2"  # built again on its own
    assert corpora.index_corpus("law", home=tmp_path, dense=False).questions.given == 3
    fresh = corpora.index_corpus("law", home=tmp_path, dense=False, fresh=True)
    assert fresh.questions.given == 3
    for choice in ("none", ""):
        done = corpora.index_corpus("law", home=tmp_path, dense=False, questions=choice)
        assert done.questions is None
    with pytest.raises(InputError, match="missing"):
        corpora.index_corpus("law", home=tmp_path, dense=False, questions="missing.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(InputError, match="empty"):
        corpora.index_corpus("law", home=tmp_path, dense=False, questions=str(empty))


def test_what_ships_is_used_where_ids_match(tmp_path: Path) -> None:
    line = next(line for line in shipped("fi") if line.id.startswith("410/2015"))
    corpus(tmp_path, LAW | {line.id: "Tämän lain tarkoituksena on luoda edellytykset."})
    done = corpora.index_corpus("law", home=tmp_path, dense=False)
    assert (done.questions.shipped, done.questions.documents) == (len(line.questions), 1)
    without = corpora.index_corpus("law", home=tmp_path, dense=False, questions="none")
    assert without.questions is None
    again = corpora.index_corpus("law", home=tmp_path, dense=False, questions="shipped")
    assert again.questions == done.questions


def test_english_texts_are_found_by_questions_too(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "The landlord shall keep the premises in good repair."},
        {"id": "b", "text": "A tenancy at will terminates upon the decease of either party."},
        {"id": "c", "text": "Rent is payable in arrears unless otherwise agreed."},
    ]
    source = tmp_path / "c.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_corpus("jsonl", source, name="c", home=tmp_path)
    path = written(
        tmp_path / "q.jsonl", [DocumentQuestions("b", ["what happens if my flatmate dies"])]
    )
    corpora.index_corpus("c", home=tmp_path, dense=False, questions=str(path))
    engine = corpora.open_indexed("c", home=tmp_path)
    assert engine.search("my flatmate died, what happens now")[0].doc_id == "b"


def test_an_index_has_its_questions_again_when_it_is_opened(tmp_path: Path) -> None:
    corpus(tmp_path, LAW)
    built = index.build(
        (document, document.id) for document in corpora.corpus_named("law", home=tmp_path).iter()
    )
    asked = index.with_questions(built, [], ASKED)
    index_files.save(asked, tmp_path / "i", "x")
    opened = index_files.load(tmp_path / "i", "x")
    assert opened.written is not None
    assert asked.written is not None
    terms = index.question_terms(built.profile, "milloin on istunto")
    assert (opened.written.scores(terms, 4) == asked.written.scores(terms, 4)).all()
    assert opened.fields.keys() == built.fields.keys()


def test_a_question_whose_words_stand_in_a_section_or_its_questions_is_surer(
    tmp_path: Path,
) -> None:
    corpus(tmp_path, LAW)
    given = written(tmp_path / "asked.jsonl", ASKED)
    corpora.index_corpus("law", home=tmp_path, dense=False, questions=str(given))
    made = index_files.load(tmp_path / "indexes" / "law")

    def worded(question: str, row: int) -> float:
        places = np.where(np.arange(len(made)) == row, 0, -1)
        shares = signals.shares_of(made, made.analyzer.words(question), places, 1, made.soft)
        return float(sum(share[0] for share in shares.values())) / max(1, len(shares))

    row = made.row_of["3"]
    assert worded("kuka katsoo numerot läpi", row) == 1
    assert worded("tilintarkastaja katsoo numerot", row) == 1  # text and question together
    assert worded("tilintarkastaja katsoo numerot", made.row_of["1"]) < 0.5
    assert 0 < worded("tilintarkastaja katsoo kalastuslupaa", row) < 1
    assert worded("", row) == 0


def test_the_question_that_is_most_alike_is_told() -> None:
    asked = asked_of(
        ["a", "b"], [], [DocumentQuestions("a", ["may I fish", "who pays for it"])], words
    )
    assert asked is not None
    text, likeness = asked.best_question(asked.likeness(words("who pays for a fence")), 0)
    assert text == "who pays for it"
    assert 0.2 < likeness < 1
    assert asked.best_question(asked.likeness(words("a boat")), 0)[1] == 0
    assert asked.best_question(asked.likeness(words("who pays")), 1) == ("", 0.0)


def test_an_act_without_written_questions_is_at_no_disadvantage() -> None:
    """A new act beside one that has questions gains what the best of these adds."""
    texts = {
        "Kuntalaki": "Valtuusto hyväksyy talousarvion vuoden loppuun mennessä.",
        "Kirkkolaki": "Kirkkovaltuusto hyväksyy seurakunnan talousarvion ennen vuoden alkua.",
    }
    documents = [
        Document(
            id=law,
            title=law,
            text=text,
            language="fi",
            locator=Locator(doc_id=law, section="1"),
            metadata={"law": law},
        )
        for law, text in texts.items()
    ]
    built = index.build([(document, document.id) for document in documents], dense=False)
    asked = index.with_questions(
        built, [], [DocumentQuestions("Kuntalaki", ["milloin budjetti on valmis"])]
    )
    signals = soft_signals(asked, SoftQuestion(text="milloin budjetti on valmis"))
    new, home = (asked.row_of[law] for law in ("Kirkkolaki", "Kuntalaki"))
    assert signals["questions"][home] == signals["no_questions"][new] > 0
    assert signals["no_questions"][home] == signals["questions"][new] == 0
    assert signals["act_questions"][home] == signals["act_no_questions"][new] > 0
