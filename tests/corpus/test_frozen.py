"""A frozen corpus from somebody else: it writes nowhere but into the workspace, and is what it says
it is."""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from assay.core.errors import AssayError, InputError
from assay.corpus import freeze, import_corpus, open_corpus, open_frozen
from assay.corpus.disk import digest_of, document_frame, documents_of, fingerprint_of
from assay.corpus.quality import check
from assay.engines.indexed import index_corpus, index_state, is_indexed, open_indexed
from assay.store import open_store
from assay.workbench.project.service import Service
from assay.workbench.searching.search import found_ids, found_page
from kit.sources import write_lines

DOCS = [{"id": f"d{n}", "title": f"Title {n}", "text": f"the dog of {n}"} for n in range(3)]
Files = dict[str, bytes]


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    import_corpus("jsonl", write_lines(tmp_path / "s.jsonl", DOCS), name="c", home=tmp_path / "h")
    return freeze(open_corpus(tmp_path / "h", "c"), tmp_path / "honest.zip")


def crafted(honest: Path, change: Callable[[Files, dict[str, Any]], None]) -> Path:
    """The archive with other content, and sums that fit it."""
    with zipfile.ZipFile(honest) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = msgspec.json.decode(files.pop("corpus.json"))
    del files["SHA256SUMS.json"]
    change(files, manifest)
    sums = {
        name.removeprefix("data/"): hashlib.sha256(content).hexdigest()
        for name, content in files.items()
    }
    path = honest.with_name("crafted.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("corpus.json", msgspec.json.encode(manifest))
        archive.writestr("SHA256SUMS.json", msgspec.json.encode(sums))
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def arrow(frame: pl.DataFrame, folder: Path, **options: Any) -> bytes:
    frame.write_ipc(folder / "part", **options)
    return (folder / "part").read_bytes()


def change_part(
    files: Files, folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame], **options: Any
) -> None:
    """Write the documents of the archive again, changed."""
    name = next(name for name in files if name.startswith("data/part-"))
    (folder / "p").write_bytes(files[name])
    files[name] = arrow(change(pl.read_ipc(folder / "p")), folder, **options)
    assert len(files[name]) < 10**6


def assert_refused(
    honest: Path, change: Callable[[Files, dict[str, Any]], None], match: str | None = None
) -> None:
    """A crafted archive is refused, and nothing of it stays."""
    there = honest.parent / "there"
    with pytest.raises(InputError, match=match):
        open_frozen(crafted(honest, change), home=there)
    assert not list(there.rglob("*.arrow"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "../../foreign"),
        ("name", "{foreign}"),
        ("name", ".."),
        ("name", "x" * 5000),
        ("fingerprint", "../../../foreign"),
        ("fingerprint", "sha256:../../foreign"),
        ("data", "../../foreign"),
        ("parts", [{"file": "../../../foreign/data-1/kept", "rows": 3}]),
    ],
)
def test_a_manifest_that_leads_elsewhere_is_refused(
    tmp_path: Path, honest: Path, key: str, value: Any
) -> None:
    foreign = tmp_path / "foreign"
    (foreign / "data-1").mkdir(parents=True)
    (foreign / "data-1" / "kept").write_text("theirs")
    (foreign / "data-1" / "written.txt").touch()
    before = sorted(foreign.rglob("*"))

    def change(files: Files, manifest: dict[str, Any]) -> None:
        manifest[key] = value.format(foreign=foreign) if isinstance(value, str) else value

    with pytest.raises(InputError, match="not a corpus manifest"):
        open_indexed(str(crafted(honest, change)), home=tmp_path / "there")
    assert sorted(foreign.rglob("*")) == before
    assert not list((tmp_path / "there").rglob("*.arrow"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("documents", -1),
        ("documents", 10**12),
        ("rows", 10**12),
        ("rows", -1),
        ("both", 10**12),
        ("problems", {"broken": -1}),
    ],
)
def test_numbers_of_a_manifest_are_those_of_its_files(honest: Path, key: str, value: Any) -> None:
    def change(files: Files, manifest: dict[str, Any]) -> None:
        if key in ("rows", "both"):
            manifest["parts"][0]["rows"] = value
        if key != "rows":
            manifest["documents" if key == "both" else key] = value

    assert_refused(honest, change, "not a corpus manifest|not a frozen corpus|has 3 rows")


def test_the_same_documents_with_another_manifest_are_another_corpus(
    tmp_path: Path, honest: Path
) -> None:
    def change(files: Files, manifest: dict[str, Any]) -> None:
        manifest |= {"kind": "finlex", "source": "https://finlex.fi", "problems": {"broken": 7}}

    home = tmp_path / "there"
    first = open_frozen(crafted(honest, change), home=home)
    assert (first.manifest.kind, first.manifest.source) == ("finlex", "")
    second = open_frozen(honest, home=home)
    assert (second.manifest.kind, second.manifest.problems) == ("jsonl", {})
    assert open_frozen(honest, home=home).path == second.path


def test_a_frozen_corpus_leaves_the_index_of_its_name_alone(tmp_path: Path, honest: Path) -> None:
    home = tmp_path / "there"
    others = [{"id": "e", "text": "cat"}, {"id": "f", "text": "bird"}]
    import_corpus("jsonl", write_lines(tmp_path / "o.jsonl", others), name="c", home=home)
    index_corpus("c", home=home, dense=False)
    before = (home / "indexes/c/index.json").read_bytes()
    assert open_frozen(honest, home=home).name == "c"
    open_indexed(str(honest), home=home)
    assert (home / "indexes/c/index.json").read_bytes() == before
    assert is_indexed(open_frozen(honest, home=home), home)
    said: list[str] = []
    open_indexed("c", home=home, say=said.append)
    open_indexed(str(honest), home=home, say=said.append)
    assert said == []


@pytest.mark.parametrize("encoder", ["learned", "gone"])
def test_an_index_is_built_again_without_the_encoder_it_had(
    tmp_path: Path, honest: Path, encoder: str
) -> None:
    """Other documents may not suit one of ours; one of others may be there no more."""
    home = tmp_path / "h"
    index_corpus("c", home=home, dense=False)
    path = home / "indexes/c/index.json"
    manifest = msgspec.json.decode(path.read_bytes())
    manifest["profile"]["encoder"], manifest["corpus"] = encoder, "another"
    path.write_bytes(msgspec.json.encode(manifest))
    if encoder == "learned":
        open_indexed("c", home=home)
        assert index_state(open_corpus(home, "c"), home) == "ready"
        return
    with pytest.raises(InputError, match="again with the encoder 'gone'") as raised:
        open_indexed("c", home=home)
    assert "assay index c" in raised.value.hint
    index_corpus("c", home=home, dense=False)
    assert index_state(open_corpus(home, "c"), home) == "ready"


def test_a_manifest_in_the_workspace_is_read_as_strictly(tmp_path: Path, honest: Path) -> None:
    path = tmp_path / "h/corpora/c/corpus.json"
    path.write_bytes(path.read_bytes().replace(b'"name": "c"', b'"name": "../../x"'))
    with pytest.raises(InputError, match="name is"):
        open_corpus(tmp_path / "h", "c")


def test_a_forged_fingerprint_is_refused_and_leaves_the_cache_clean(
    tmp_path: Path, honest: Path
) -> None:
    def change(files: Files, manifest: dict[str, Any]) -> None:
        change_part(files, tmp_path, lambda frame: frame.with_columns(text=pl.lit("the cat lies")))

    assert_refused(honest, change, "its content is not what its digest says")
    assert open_frozen(honest, home=tmp_path / "there").get("d1").text == "the dog of 1"


def test_documents_for_quick_reading_are_not_taken_from_the_archive(
    tmp_path: Path, honest: Path
) -> None:
    quick = tmp_path / "h/corpora/c"

    def change(files: Files, manifest: dict[str, Any]) -> None:
        folder = next(quick.glob("data-*"))
        lines = (folder / "documents.jsonl").read_bytes()
        files["data/documents.jsonl"] = lines.replace(b"dog", b"cat")
        files["data/documents.offsets.npy"] = (folder / "documents.offsets.npy").read_bytes()

    thawed = open_frozen(crafted(honest, change), home=tmp_path / "there")
    assert thawed.get("d1").text == "the dog of 1"


def test_check_computes_digests_again(tmp_path: Path, honest: Path) -> None:
    corpus = open_corpus(tmp_path / "h", "c")
    assert [found for found in check(corpus) if found.code == "altered"] == []
    part = corpus.data_folder / corpus.manifest.parts[0].file
    frame = pl.read_ipc(part)
    texts = pl.Series("text", ["another", *frame["text"][1:]])
    frame.with_columns(texts).write_ipc(part)
    found = check(open_corpus(tmp_path / "h", "c"))
    assert {finding.where for finding in found if finding.code == "altered"} >= {"d0"}
    assert {finding.level for finding in found if finding.code == "altered"} == {"error"}


def test_check_sees_other_text_in_the_copy_for_quick_reading(tmp_path: Path, honest: Path) -> None:
    lines = next((tmp_path / "h/corpora/c").glob("data-*/documents.jsonl"))
    lines.write_bytes(lines.read_bytes().replace(b"dog of 2", b"cat of 2"))
    found = check(open_corpus(tmp_path / "h", "c"))
    assert [finding.where for finding in found if finding.code == "altered"] == ["d2"]


def test_what_unpacks_to_very_much_is_refused(tmp_path: Path, honest: Path) -> None:
    def large_file(files: Files, manifest: dict[str, Any]) -> None:
        files["data/x.npy"] = bytes(300 * 2**20)

    def packed(files: Files, manifest: dict[str, Any]) -> None:
        change_part(files, tmp_path, lambda frame: frame, compression="zstd")

    assert_refused(honest, large_file, "it would unpack to")
    assert_refused(honest, packed, "its columns are packed")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda frame: frame.with_columns(text=pl.lit("x" * 10**5))[[0] * 200], "far longer"),
        (
            lambda frame: frame.with_columns(citations=pl.lit(["x" * 10**5]))[[0] * 200],
            "far longer",
        ),
        (lambda frame: frame.with_columns(odd=pl.lit([None])), "'odd' is of an odd kind"),
    ],
)
def test_columns_that_are_small_in_a_file_alone_are_refused(
    tmp_path: Path, honest: Path, change: Callable[[pl.DataFrame], pl.DataFrame], match: str
) -> None:
    """The rows of a column of texts may all be one text in the file."""
    assert_refused(honest, lambda files, _: change_part(files, tmp_path, change), match)


def test_a_manifest_without_end_is_refused(honest: Path) -> None:
    def change(files: Files, manifest: dict[str, Any]) -> None:
        manifest["source"] = "x" * (64 * 2**20 + 1)

    assert_refused(honest, change, r"corpus\.json alone is larger")


def test_a_graph_of_another_corpus_is_refused(honest: Path) -> None:
    def change(files: Files, manifest: dict[str, Any]) -> None:
        files["data/cites.rows.npy"] = files["data/ids.row.npy"]

    assert_refused(honest, change, "graph")


def rewritten(files: Files, manifest: dict[str, Any], folder: Path, **columns: Any) -> None:
    """The part with other columns, and digests and a fingerprint that fit wherever they can."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        frame = frame.with_columns(**columns)
        with contextlib.suppress(Exception):
            documents = list(documents_of(frame))
            digests = [digest_of(document) for document in documents]
            manifest["fingerprint"] = fingerprint_of([one.id for one in documents], digests)
            frame = frame.with_columns(pl.Series("digest", digests))
        return frame

    change_part(files, folder, change)


TEXT = pl.lit(None, pl.String)


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"text": TEXT}, "'text' is empty"),
        ({"language": TEXT}, "'language' is empty"),
        ({"metadata": TEXT}, "'metadata' is empty"),
        ({"citations": pl.lit(None, pl.List(pl.String))}, "'citations' is empty"),
        ({"citations": pl.lit([None], pl.List(pl.String))}, "'citations' is empty"),
        ({"fields.question": pl.lit(1)}, "wrong type"),
        ({"valid_from": pl.lit(1)}, "wrong type"),
        ({"metadata": pl.lit("null")}, "not a frozen corpus"),
        ({"metadata": pl.lit('{"a":' + "[" * 10**5 + "]" * 10**5 + "}")}, "not a frozen corpus"),
        ({"id": pl.lit("d0")}, "an id appears twice"),
        ({"id": pl.concat_str("id", pl.lit("\0"))}, "null character"),
    ],
)
def test_documents_that_no_import_writes_are_refused(
    tmp_path: Path, honest: Path, columns: dict[str, Any], match: str
) -> None:
    assert_refused(honest, lambda files, told: rewritten(files, told, tmp_path, **columns), match)


@pytest.mark.parametrize(
    "rest", ["missing", "other columns", "rows", "targets", "problems", "floats"]
)
def test_what_lies_beside_the_documents_is_that_of_the_corpus(
    tmp_path: Path, honest: Path, rest: str
) -> None:
    def change(files: Files, manifest: dict[str, Any]) -> None:
        name = "data/citations.arrow"
        (tmp_path / "c").write_bytes(files[name])
        empty = pl.read_ipc(tmp_path / "c")
        one = pl.DataFrame({"row": [7 if rest == "rows" else 0], "targets": [[7]]})
        if rest == "missing":
            del files[name]
        elif rest == "other columns":
            files[name] = arrow(pl.DataFrame({"row": [1]}), tmp_path)
        elif rest == "problems":
            files["data/problems.jsonl"] = b"{bad"
        elif rest == "floats":
            for array, floats in (("offsets", np.zeros(4)), ("rows", np.zeros(0))):
                np.save(tmp_path / "a.npy", floats)
                files[f"data/cites.{array}.npy"] = (tmp_path / "a.npy").read_bytes()
        else:
            files[name] = arrow(pl.concat([empty, one], how="diagonal"), tmp_path)

    assert_refused(honest, change)


@pytest.mark.parametrize(
    ("local", "central", "value"),
    [(6, 8, b"\1\0"), (8, 10, b"\x63\0"), (4, 6, b"\xff\0"), (28, 30, b"\xff\xff")],
    ids=["encrypted", "packed in another way", "of a later version", "without end"],
)
def test_an_odd_archive_is_refused(
    tmp_path: Path, honest: Path, local: int, central: int, value: bytes
) -> None:
    raw = bytearray(honest.read_bytes())
    for mark, place in ((b"PK\3\4", local), (b"PK\1\2", central)):
        at = raw.find(mark) + place
        raw[at : at + 2] = value
    bad = tmp_path / "odd.zip"
    bad.write_bytes(raw)
    with pytest.raises(InputError, match="not a frozen corpus"):
        open_frozen(bad, home=tmp_path / "there")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(InputError, match="not a regular file"):
        open_frozen(tmp_path / "pipe.zip", home=tmp_path / "there")


def test_agents_and_pages_open_no_files(tmp_path: Path, honest: Path) -> None:
    store = open_store(tmp_path / "assay.db")
    service = Service(store=store, home=tmp_path / "h")
    for ask in (found_page, found_ids):
        with pytest.raises(AssayError, match="no corpus"):
            ask(service, str(honest), "dog", 3)
    assert not (tmp_path / "h" / "frozen").exists()
    store.close()


def test_a_document_keeps_its_digest_on_the_way_through_a_file(
    tmp_path: Path, honest: Path
) -> None:
    corpus = open_corpus(tmp_path / "h", "c")
    frame = pl.read_ipc(corpus.data_folder / corpus.manifest.parts[0].file)
    again = document_frame(list(documents_of(frame)), list(frame["source"]))
    assert list(again["digest"]) == list(frame["digest"])
