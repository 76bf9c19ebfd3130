"""The files of a corpus on disk: documents as lines, also where an earlier version wrote none, and
arrays that are damaged."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_corpus import FIVE, documents

from assay.core.errors import InputError
from assay.core.types import Document
from assay.corpus import freeze, open_frozen
from assay.corpus.disk import FILES, LINES, Corpus, open_lines, write_lines
from kit.sources import load
from kit.sources import write_lines as write_source

ARRAYS = ("ids.hash.npy", "ids.row.npy", "cites.offsets.npy", "cites.rows.npy")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return load("jsonl", write_source(tmp_path / "source.jsonl", FIVE), tmp_path)


@given(st.lists(documents, min_size=1, max_size=4))
def test_any_document_is_read_as_it_was_written(drawn: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        write_lines(Path(folder), drawn)
        lines = open_lines(Path(folder), len(drawn))
        assert lines is not None
        assert [lines.at(row) for row in range(len(drawn))] == drawn
        assert [lines.id_at(row) for row in range(len(drawn))] == [each.id for each in drawn]
        assert open_lines(Path(folder), len(drawn) + 1) is None


def test_a_corpus_of_an_earlier_version_reads_the_same_and_is_completed(corpus: Corpus) -> None:
    rows = range(len(corpus))
    assert corpus.is_complete
    for name in FILES:
        (corpus.data_folder / name).unlink()
    earlier = Corpus(corpus.path, corpus.manifest)
    assert not earlier.is_complete
    assert list(map(earlier.at, rows)) == list(map(corpus.at, rows))
    assert earlier.row("d3") == corpus.row("d3") == 3
    earlier.complete()
    assert earlier.is_complete
    assert list(map(earlier.at, rows)) == list(map(corpus.at, rows))


def test_lines_that_are_cut_short_are_not_used(corpus: Corpus) -> None:
    path = corpus.data_folder / LINES
    path.write_bytes(path.read_bytes()[:-3])
    damaged = Corpus(corpus.path, corpus.manifest)
    assert not damaged.is_complete
    assert damaged.at(4).id == "d4"


def test_a_line_that_cannot_be_read_is_named(corpus: Corpus) -> None:
    path = corpus.data_folder / LINES
    path.write_bytes(b"?" * path.stat().st_size)
    with pytest.raises(InputError, match="cannot read document 2"):
        Corpus(corpus.path, corpus.manifest).at(2)


def test_a_frozen_corpus_travels_without_them_and_has_them_again(
    corpus: Corpus, tmp_path: Path
) -> None:
    with_lines = freeze(corpus, tmp_path / "with.assay").read_bytes()
    thawed = open_frozen(tmp_path / "with.assay", home=tmp_path / "there")
    assert thawed.is_complete
    assert list(map(thawed.at, range(5))) == list(corpus.iter())
    for name in FILES:
        (corpus.data_folder / name).unlink()
    assert freeze(corpus, tmp_path / "without.assay").read_bytes() == with_lines


@pytest.mark.parametrize("share", [0, 0.5, None])
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_damaged_is_named(corpus: Corpus, name: str, share: float | None) -> None:
    path = corpus.data_folder / name
    if share is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match=f"damaged: {name}") as refused:
        _ = "d1" in corpus, corpus.cites("d1")
    assert refused.value.hint


def test_offsets_that_are_damaged_cost_only_speed(corpus: Corpus) -> None:
    (corpus.data_folder / "documents.offsets.npy").write_bytes(b"")
    assert corpus.get("d1").text == "text number 1"
