"""The index on disk: versioned, checksummed, updated in part, never half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.core.types import Document
from assay.corpus import import_corpus, open_corpus
from assay.engines.indexed import index_state
from assay.search import index, index_files
from assay.search.index_files import IndexProblem
from assay.workbench.searching import corpora


def write_corpus(path: Path, texts: dict[str, str]) -> Path:
    path.write_text(
        "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items())
    )
    return path


def small(home: Path, texts: dict[str, str]) -> None:
    import_corpus("jsonl", write_corpus(home / "c.jsonl", texts), name="c", home=home)


TEXTS = {
    "a": "the council voted on the zoning of the park",
    "b": "a gift of tickets to the mayor",
    "c": "filing a form",
}


def test_it_opens_as_it_was_built(tmp_path: Path) -> None:
    built = index.build(
        [(Document(id=key, text=text, language="en"), key) for key, text in TEXTS.items()],
        dense=False,
    )
    index_files.save(built, tmp_path / "i", "f")
    opened = index_files.load(tmp_path / "i", "f")
    assert (opened.ids, opened.profile) == (built.ids, built.profile)
    assert (opened.fields["full"].impacts == built.fields["full"].impacts).all()


def test_nothing_on_disk_is_a_pickle(tmp_path: Path) -> None:
    small(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    files = [path for path in (tmp_path / "indexes").rglob("*") if path.is_file()]
    assert files
    assert {path.suffix for path in files} <= {".npy", ".txt", ".json"}


@pytest.mark.parametrize("damage", ["truncate", "flip", "delete", "manifest", "version"])
def test_a_damaged_index_is_found_and_built_again(tmp_path: Path, damage: str) -> None:
    small(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    folder = tmp_path / "indexes" / "c"
    victim = next(folder.glob("data-*/full.impacts.npy"))
    manifest = folder / "index.json"
    if damage == "truncate":
        victim.write_bytes(victim.read_bytes()[:-4])
    elif damage == "flip":
        data = bytearray(victim.read_bytes())
        data[-1] ^= 1
        victim.write_bytes(data)
    elif damage == "delete":
        victim.unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text()[:40])
    else:
        manifest.write_text(
            manifest.read_text().replace(f'"format": {index_files.FORMAT}', '"format": 999')
        )
    with pytest.raises(IndexProblem):
        index_files.load(folder)
    said: list[str] = []
    engine = corpora.open_indexed("c", home=tmp_path, say=said.append)
    assert engine.search("zoning")[0].doc_id == "a"
    assert said
    assert "building the index" in said[0]


def test_an_index_of_an_older_version_opens_with_a_warning_until_it_is_built_again(
    tmp_path: Path,
) -> None:
    small(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    manifest = tmp_path / "indexes" / "c" / "index.json"
    now, before = (f'"format": {number}' for number in (index_files.FORMAT, index_files.FORMAT - 1))
    manifest.write_text(manifest.read_text().replace(now, before))
    told = "the index was built by an older version; run `assay index c` again"
    said: list[str] = []
    engine = corpora.open_indexed("c", home=tmp_path, say=said.append)
    assert (engine.is_older, said) == (True, [f"c: {told}"])
    assert engine.search("zoning")[0].doc_id == "a"
    assert index_state(open_corpus(tmp_path, "c"), tmp_path) == told
    done = corpora.index_corpus("c", home=tmp_path, dense=False)
    assert done.reused == 0  # what was read in another way is not taken over
    assert not corpora.open_indexed("c", home=tmp_path, say=said.append).is_older
    assert len(said) == 1


def test_a_changed_corpus_re_reads_changed_documents_only(tmp_path: Path) -> None:
    small(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    small(tmp_path, TEXTS | {"b": "a loan from a developer", "d": "lobbyist reports"})
    done = corpora.index_corpus("c", home=tmp_path, dense=False)
    assert (done.documents, done.reused) == (4, 2)
    engine = corpora.open_indexed("c", home=tmp_path)
    assert engine.search("developer loan")[0].doc_id == "b"
    assert engine.search("zoning")[0].doc_id == "a"


def test_an_updated_index_scores_as_a_fresh_one(tmp_path: Path) -> None:
    small(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    small(tmp_path, TEXTS | {"d": "the mayor filed a form late"})
    corpora.index_corpus("c", home=tmp_path, dense=False)
    updated = [
        (h.doc_id, h.score)
        for h in corpora.open_indexed("c", home=tmp_path).search("mayor form", 5)
    ]
    corpora.index_corpus("c", home=tmp_path, dense=False, fresh=True)
    fresh = [
        (h.doc_id, h.score)
        for h in corpora.open_indexed("c", home=tmp_path).search("mayor form", 5)
    ]
    assert dict(updated) == pytest.approx(dict(fresh))


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="no documents"):
        index.build([])


def test_an_unknown_encoder_is_refused_before_the_work(tmp_path: Path) -> None:
    small(tmp_path, TEXTS)
    with pytest.raises(InputError, match="unknown encoder"):
        corpora.index_corpus("c", home=tmp_path, encoder="no-such")


def test_a_disk_that_refuses_leaves_the_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(tmp_path, TEXTS)
    corpora.index_corpus("c", home=tmp_path, dense=False)
    before = (tmp_path / "indexes" / "c" / "index.json").read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index_files.np, "save", full)
    with pytest.raises(InputError, match="no space left"):
        corpora.index_corpus("c", home=tmp_path, dense=False, fresh=True)
    folder = tmp_path / "indexes" / "c"
    assert (folder / "index.json").read_bytes() == before
    assert len(list(folder.glob("data-*"))) == 1


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    small(tmp_path, TEXTS)
    (tmp_path / "indexes").write_text("in the way")
    with pytest.raises(InputError, match="cannot build the index"):
        corpora.index_corpus("c", home=tmp_path, dense=False)
