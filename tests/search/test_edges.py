"""What a stranger does first: odd input, odd languages, other encoders, and an index that
changes."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from assay.core.errors import EngineError, InputError
from assay.core.types import Document
from assay.corpus import import_corpus
from assay.language.analysis import analyzer
from assay.language.detect import detect, language_code
from assay.reports.listing import search_page
from assay.search import dense, encoding, index, index_files
from assay.workbench.searching import corpora, filters

TEXTS = {
    "a": "A council member may not vote on a contract in which she has a financial interest.",
    "b": "Gifts of more than fifty dollars must be reported within thirty days.",
    "c": "A lobbyist shall register with the Secretary of State before lobbying the legislature.",
}
SWEDISH = (
    "Fullmäktige beslutar i ärenden av principiell beskaffenhet eller annars av större vikt "
    "för kommunen under året. "
    "Det är i allmänhet inte tillåtet att överklaga beslut som rör ren förberedelse i en nämnd."
)


def corpus(home: Path, texts: dict[str, str], **more: Any) -> None:
    path = home / "c.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": k, "text": v} | more) for k, v in texts.items()),
        encoding="utf-8",
    )
    import_corpus("jsonl", path, name="c", home=home)


def first(home: Path, query: str) -> tuple[str, bool]:
    answer = corpora.search("c", query, home=home)
    return answer.hits[0].doc_id if answer.hits else "", answer.abstained


# ── queries ───────────────────────────────────────────────────────────────────────────────────────


def test_what_nobody_sees_changes_nothing(home: Path) -> None:
    plain = [
        hit.doc_id
        for hit in corpora.open_indexed("opinions", home=home).search("lobbyist registration", 5)
    ]
    for query in (
        "lob\u00adbyist regis\u200btration",
        "\u200flobbyist registration\ufeff",
        "lobbyist\udcff\x85registration",
    ):
        assert [
            hit.doc_id for hit in corpora.open_indexed("opinions", home=home).search(query, 5)
        ] == plain


@pytest.mark.parametrize("name", ["opinions", "act", "precedents"])
def test_a_long_query_of_strange_words_is_answered_soon(home: Path, name: str) -> None:
    query = " ".join(
        f"{'bcdfghkl'[n % 8]}{'aeiou'[n % 5]}qz{n:x}xy vote talousarvio" for n in range(5_000)
    )
    began = time.process_time()
    corpora.search(name, query, home=home)
    assert time.process_time() - began < 15


def test_nothing_found_is_an_abstention(home: Path) -> None:
    assert corpora.search("act", "laki", home=home).abstained
    assert corpora.open_indexed("act", home=home).search("\x01").abstained


def test_nothing_is_not_called_the_nearest(home: Path) -> None:
    console = Console(file=io.StringIO(), record=True)
    console.print(search_page(corpora.search("act", "🎉", home=home)))
    assert console.export_text().strip() == "Nothing found."


def test_what_finds_nothing_has_its_words_named(tmp_path: Path) -> None:
    source = tmp_path / "rules.jsonl"
    source.write_text('{"id": "a", "text": "Receipts are kept for six years in the archive."}\n')
    import_corpus("jsonl", source, name="rules", home=tmp_path)
    corpora.index_corpus("rules", home=tmp_path, dense=False)
    answer = corpora.search("rules", "bake sourdough", home=tmp_path)
    assert (answer.hits, answer.unknown) == ([], ["bake", "sourdough"])
    console = Console(file=io.StringIO(), record=True)
    console.print(search_page(answer))
    assert console.export_text().strip() == "Nothing found. No document contains: bake, sourdough."


def test_a_code_in_small_letters_is_a_citation(tmp_path: Path) -> None:
    text = "Under Government Code section 4503 an officer reports gifts."
    corpus(tmp_path, {**TEXTS, "d": text, "e": text.replace("4503", "4504")})
    asked = [
        corpora.search("c", f"{code} 4503", home=tmp_path) for code in ("gov code", "Gov. Code")
    ]
    for answer in asked:
        assert (answer.hits[0].doc_id, answer.hits[0].why.named) == ("d", True)
        assert "gov" not in (*answer.unknown, *answer.hits[0].why.missing)


def test_like_keeps_to_the_filters(home: Path) -> None:
    chosen = corpora.corpus_named("opinions", home)
    like = corpora.more_like(
        "opinions", chosen.at(0).id, home=home, filters=corpora.Filters(years=(2000, 2010))
    )
    assert like.hits
    assert all(2000 <= chosen.get(hit.doc_id).metadata["year"] <= 2010 for hit in like.hits)


@pytest.mark.parametrize(
    ("asked", "cited", "held"),
    [
        ("87103", "Gov. Code § 87103(a)", True),
        ("gov. code  § 87103", "Gov. Code § 87103", True),
        ("8710", "Gov. Code § 87103", False),
        ("87103", "Gov. Code § 87103.5", False),
        ("7103", "Gov. Code § 87103", False),
        ("18702", "2 Cal. Code Regs. § 18702.", True),
    ],
)
def test_a_statute_is_not_a_part_of_a_number(asked: str, cited: str, held: bool) -> None:
    assert bool(filters.names_statute(asked)(cited)) is held


def test_a_hit_names_the_words_that_look_alike(home: Path) -> None:
    hits = corpora.search("act", "talousarvion hyväksyminen", home=home).hits
    assert any(word.startswith("talousarvio") for word in hits[0].words)


def test_a_short_text_shows_its_words(tmp_path: Path) -> None:
    corpus(tmp_path, {"a": "Zoning appeals", "b": "Gift limits"}, language="en")
    corpora.index_corpus("c", home=tmp_path, dense=False)
    assert corpora.search("c", "zoning", home=tmp_path).hits[0].words == ["zoning"]


# ── languages ─────────────────────────────────────────────────────────────────────────────────────


def test_swedish_is_neither_english_nor_finnish(tmp_path: Path) -> None:
    assert detect([SWEDISH]) == ""
    assert detect(TEXTS.values()) == "en"
    corpus(tmp_path, {f"s{n}": part for n, part in enumerate(SWEDISH.split(". "))})
    assert corpora.index_corpus("c", home=tmp_path).encoder == ""
    assert first(tmp_path, "överklaga beslut") == ("s1", False)


@pytest.mark.parametrize(
    ("said", "code"), [("EN", "en"), ("en-US", "en"), ("eng", "en"), ("fin", "fi"), ("sv", "sv")]
)
def test_a_language_by_any_of_its_names(said: str, code: str) -> None:
    assert language_code(said) == code


def test_a_tie_of_languages_is_settled_the_same_way_everywhere() -> None:
    built = index.build(
        [(Document(id=c, text="x y z", language=c), c) for c in ("sv", "de", "fr")], dense=False
    )
    assert built.profile.language == "de"


def test_hebrew_abbreviations_in_any_quotes() -> None:
    assert (
        analyzer("he").words("תב”ע") == analyzer("he").words('תב"ע') == analyzer("he").words("תב״ע")
    )


@pytest.mark.parametrize("language", ["en", "fi", "he", "sv"])
def test_a_corpus_without_words_is_indexed(tmp_path: Path, language: str) -> None:
    corpus(tmp_path, {"a": ""}, language=language)
    corpora.index_corpus("c", home=tmp_path)
    assert first(tmp_path, "hello")[1]


# ── without the encoder, and with another ─────────────────────────────────────────────────────────


def test_without_the_encoder_scores_still_mean_something(home: Path, tmp_path: Path) -> None:
    corpus(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    assert first(tmp_path, "May a council member vote on a contract?") == ("a", False)
    assert first(tmp_path, "gifts reported") == ("b", False)


def test_another_encoder_leaves_the_kind_of_collection_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoding, "named_encoder", lambda name: Fake())
    text = "A council member asked whether the member may vote. " * 60
    documents = [
        (Document(id=str(n), text=text, language="en", fields={"question": "May I?"}), str(n))
        for n in range(5_000)
    ]
    assert index.build(documents, encoder="openai:m@http://x").profile.name == "opinions"


class Fake:
    name, size = "fake", 4

    def queries(self, texts: Any) -> Any:
        return np.ones((len(texts), self.size), np.float32) / 2

    def documents(self, texts: Any, tick: Any) -> Any:
        return self.queries(texts)


@pytest.mark.parametrize("language", ["en", "fi"])
def test_a_rebuild_keeps_the_encoder_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    for module in (
        "assay.search.encoding.named_encoder",
        "assay.engines.indexed.named_encoder",
        "assay.search.signals.named_encoder",
    ):
        monkeypatch.setattr(module, lambda name: Fake())
    chosen = {"encoder": "openai:m@http://x"}, {"dense": False}
    for options, kept in zip(chosen, ("openai:m@http://x", ""), strict=True):
        corpus(tmp_path, TEXTS, language=language)
        corpora.index_corpus("c", home=tmp_path, **options)  # type: ignore[arg-type]
        corpus(tmp_path, TEXTS | {"d": "one more"}, language=language)
        corpora.open_indexed("c", home=tmp_path)
        assert index_files.read_manifest(tmp_path / "indexes" / "c").profile.encoder == kept


def test_a_model_of_another_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("assay.search.encoding.named_encoder", "assay.engines.indexed.named_encoder"):
        monkeypatch.setattr(module, lambda name: Fake())
    corpus(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, encoder="st:x")
    corpus(tmp_path, TEXTS | {"d": "one more"})
    monkeypatch.setattr(Fake, "size", 8)
    with pytest.raises(EngineError, match="the model is another one"):
        corpora.index_corpus("c", home=tmp_path, encoder="st:x")


@pytest.mark.parametrize(
    "answer",
    [
        b"[]",
        b'{"data": null}',
        b'{"data": []}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}',
        b"<html>",
    ],
)
def test_an_endpoint_that_answers_nonsense_is_named(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *args, **options: io.BytesIO(answer))
    with pytest.raises(EngineError, match="embedding endpoint"):
        dense.EndpointEncoder("openai:m@http://host/v1").queries(["one", "two"])


@pytest.mark.parametrize(
    "spec", ["openai:m", "openai:m@nohost", "openai:@http://x", "openai:m@ftp://x"]
)
def test_an_endpoint_without_an_address_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match="not an embedding endpoint"):
        dense.EndpointEncoder(spec)


# ── an index that changes ─────────────────────────────────────────────────────────────────────────


def test_an_updated_dense_index_is_the_same_as_a_fresh_one(tmp_path: Path) -> None:
    """A text's vector does not depend on what is encoded along with it."""
    corpus(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path)
    corpus(
        tmp_path,
        {"d": "A mayor filed a form late. " * 20, "b": TEXTS["b"], "a": TEXTS["a"] + " Never."},
    )
    corpora.index_corpus("c", home=tmp_path)
    queries = ("vote on a contract", "gift", "lobbyst")
    engine = corpora.open_indexed("c", home=tmp_path)
    updated = [[(hit.doc_id, hit.score) for hit in engine.search(query, 9)] for query in queries]
    corpora.index_corpus("c", home=tmp_path, fresh=True)
    engine = corpora.open_indexed("c", home=tmp_path)
    assert updated == [
        [(hit.doc_id, hit.score) for hit in engine.search(query, 9)] for query in queries
    ]


def test_a_manifest_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)

    def full(*args: object) -> None:
        raise InputError("cannot write: no space left on device")

    monkeypatch.setattr(index_files, "write_atomic", full)
    with pytest.raises(InputError, match="no space left"):
        corpora.index_corpus("c", home=tmp_path, dense=False, fresh=True)
    assert len(list((tmp_path / "indexes" / "c").glob("data-*"))) == 1


def test_what_another_process_writes_is_left_alone(tmp_path: Path) -> None:
    corpus(tmp_path, TEXTS)
    other = tmp_path / "indexes" / "c" / "data-0000"
    other.mkdir(parents=True)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    assert other.exists()
    (other / index_files.WRITTEN).touch()
    corpora.index_corpus("c", home=tmp_path, dense=False, fresh=True)
    assert not other.exists()


def test_the_words_of_a_citation_are_not_missing(tmp_path: Path) -> None:
    corpus(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path)
    engine = corpora.open_indexed("c", home=tmp_path)
    assert engine.search("Section 12 gifts zzyzx").unknown == ("zzyzx",)
    assert engine.search("gifts 12 zzyzx").unknown == ("12", "zzyzx")
