"""Vectors made in chunks, by several processes, and taken up where the work was interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from test_index import write_corpus

from assay.core.errors import EngineError
from assay.corpus import import_corpus
from assay.engines import indexed
from assay.search import encoding
from assay.search.arrays import Floats
from assay.search.encoding import encoded
from assay.search.index_files import read_manifest
from assay.search.views import Parts
from assay.workbench.searching import corpora

TEXTS = [f"the council voted on item {number} of the agenda" for number in range(12)]
ENCODER = "codes-en-1"


def parts(text: str) -> Parts:
    return Parts(texts=((text, 60),), most=60)


def silent(done: int, of: int) -> None:
    """Nobody watches."""


def test_processes_give_the_vectors_that_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [parts(text) for text in TEXTS]
    alone = encoded(ENCODER, texts, None, silent)
    monkeypatch.setattr(encoding, "PARALLEL", 1)
    monkeypatch.setattr(encoding, "CHUNK", 5)
    monkeypatch.setattr(encoding, "WORKERS", 2)
    heard: list[tuple[int, int]] = []
    together = encoded(ENCODER, texts, None, lambda done, of: heard.append((done, of)))
    assert (alone == together).all()
    assert heard[0] == (0, 12)
    assert heard[-1] == (12, 12)
    assert len(heard) == 4


class Counting:
    """An encoder of a few numbers, which breaks off after `most` chunks."""

    def __init__(self, most: int = 1_000) -> None:
        self.most = most
        self.texts: list[str] = []

    def __call__(self, name: str, chunk: Sequence[Parts]) -> Floats:
        self.most -= 1
        if self.most < 0:
            raise EngineError("the power went out")
        said = [each.texts[0][0] for each in chunk]
        self.texts += said
        rows = np.array([[len(text), sum(map(ord, text)) % 97, 1] for text in said], np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_the_same_text_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    monkeypatch.setattr(encoding, "encode_chunk", counting)
    vectors = encoded("static-fi-1", [parts(text) for text in ("a", "b", "a", "a")], None, silent)
    assert counting.texts == ["a", "b"]
    assert (vectors[0] == vectors[2]).all()
    assert (vectors[0] != vectors[1]).any()


def test_a_file_that_is_not_whole_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [parts(text) for text in TEXTS]
    monkeypatch.setattr(encoding, "CHUNK", 6)
    first = Counting()
    monkeypatch.setattr(encoding, "encode_chunk", first)
    vectors = encoded("x", texts, tmp_path, silent)
    victim, kept = sorted(tmp_path.iterdir())
    victim.write_bytes(victim.read_bytes()[:90])
    again = Counting()
    monkeypatch.setattr(encoding, "encode_chunk", again)
    assert (encoded("x", texts, tmp_path, silent) == vectors).all()
    assert len(again.texts) == 6
    assert kept.exists()


def test_work_that_is_interrupted_is_searched_by_words_and_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "AWAITED", 4)
    monkeypatch.setattr(encoding, "CHUNK", 4)
    named = {f"d{number}": text for number, text in enumerate(TEXTS)}
    import_corpus("jsonl", write_corpus(tmp_path / "c.jsonl", named), name="c", home=tmp_path)
    folder = tmp_path / "indexes" / "c"
    first = Counting(2)
    monkeypatch.setattr(encoding, "encode_chunk", first)
    with pytest.raises(EngineError, match="the power went out"):
        corpora.index_corpus("c", home=tmp_path)
    assert read_manifest(folder).profile.encoder == ENCODER
    assert not read_manifest(folder).has_vectors

    said: list[str] = []
    engine = corpora.open_indexed("c", home=tmp_path, say=said.append)
    assert engine.search("agenda item 7")[0].doc_id == "d7"
    assert "dense" not in engine.search("agenda item 7", explain=True)[0].explanation
    assert "vectors are still missing (8 of 12 made)" in said[0]
    assert engine.is_by_words
    assert "vectors are still missing" in indexed.index_state(
        corpora.corpus_named("c", tmp_path), tmp_path
    )

    second = Counting()
    monkeypatch.setattr(encoding, "encode_chunk", second)
    done = corpora.index_corpus("c", home=tmp_path)
    assert len(first.texts) == 8
    assert len(second.texts) == 4
    assert done.encoder == ENCODER
    assert read_manifest(folder).has_vectors
    assert not corpora.open_indexed("c", home=tmp_path).is_by_words
    assert not (folder / encoding.FOLDER).exists()
    assert len(list(folder.glob("data-*"))) == 1


def test_an_index_with_vectors_stays_until_the_new_one_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "AWAITED", 4)
    named = {f"d{number}": text for number, text in enumerate(TEXTS)}
    import_corpus("jsonl", write_corpus(tmp_path / "c.jsonl", named), name="c", home=tmp_path)
    monkeypatch.setattr(encoding, "encode_chunk", Counting())
    corpora.index_corpus("c", home=tmp_path)
    monkeypatch.setattr(encoding, "encode_chunk", Counting(0))
    with pytest.raises(EngineError):
        corpora.index_corpus("c", home=tmp_path, fresh=True)
    assert read_manifest(tmp_path / "indexes" / "c").has_vectors
