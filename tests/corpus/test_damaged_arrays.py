"""Array files of a corpus that are empty, or half there: said with the file and what to do, and no
exit code that means a failed gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_sources import write_lines

from assay.core.errors import InputError
from assay.corpus import Corpus, import_corpus, open_corpus

DOCS = [{"id": f"d{n}", "title": f"Title {n}", "text": f"the dog of {n}"} for n in range(3)]
ARRAYS = ("ids.hash.npy", "ids.row.npy", "cites.offsets.npy", "cites.rows.npy")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    import_corpus("jsonl", write_lines(tmp_path / "s.jsonl", DOCS), name="c", home=tmp_path / "h")
    return open_corpus(tmp_path / "h", "c")


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
    assert corpus.get("d1").text == "the dog of 1"
