"""The corpus on disk: what goes in comes out, once, whole, and under one fingerprint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.types import Document, Locator
from assay.corpus import (
    build,
    freeze,
    import_corpus,
    list_corpora,
    open_corpus,
    open_frozen,
    parts,
)
from assay.corpus.disk import document_frame, documents_of, read_arrow
from assay.law.citing import format_locator, parse_locator
from kit.sources import opinion, write_lines, write_opinions

FIVE = [
    {"id": f"d{n}", "title": f"Title {n}", "text": f"text number {n}", "year": 2000 + n}
    for n in range(5)
]


def imported(tmp_path: Path, records: list[dict[str, object]], name: str = "c") -> Path:
    import_corpus(
        "jsonl", write_lines(tmp_path / "source.jsonl", records), name=name, home=tmp_path
    )
    return tmp_path


def test_documents_come_back_as_they_were_read(tmp_path: Path) -> None:
    corpus = open_corpus(imported(tmp_path, FIVE), "c")
    assert len(corpus) == 5
    assert corpus.get("d3").text == "text number 3"
    assert corpus.get("d3").metadata == {"year": 2003}
    assert (
        [document.id for document in corpus.iter()] == corpus.ids == ["d0", "d1", "d2", "d3", "d4"]
    )
    assert "d9" not in corpus
    with pytest.raises(InputError, match="no document 'd9'"):
        corpus.get("d9")
    assert corpus.frame.filter(pl.col("year") > 2002).select("id").collect()["id"].to_list() == [
        "d3",
        "d4",
    ]
    assert list_corpora(tmp_path) == ["c"]


def test_the_fingerprint_is_of_the_content_alone(tmp_path: Path) -> None:
    first = import_corpus("jsonl", write_lines(tmp_path / "a.jsonl", FIVE), name="a", home=tmp_path)
    shuffled = import_corpus(
        "jsonl", write_lines(tmp_path / "b.jsonl", FIVE[::-1]), name="b", home=tmp_path
    )
    changed = [*FIVE[:4], {**FIVE[4], "text": "other"}]
    other = import_corpus(
        "jsonl", write_lines(tmp_path / "d.jsonl", changed), name="d", home=tmp_path
    )
    assert first.fingerprint == shuffled.fingerprint != other.fingerprint
    assert first.fingerprint.startswith("sha256:")


def test_an_unchanged_source_is_not_read_again(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "s.jsonl", FIVE)
    first = import_corpus("jsonl", source, name="c", home=tmp_path)
    manifest = (tmp_path / "corpora/c/corpus.json").read_bytes()
    again = import_corpus("jsonl", source, name="c", home=tmp_path)
    assert (first.unchanged, again.unchanged) == (False, True)
    source.touch()  # only the time differs: the content is compared
    assert import_corpus("jsonl", source, name="c", home=tmp_path).unchanged
    assert (tmp_path / "corpora/c/corpus.json").read_bytes() == manifest
    write_lines(source, FIVE[:2])
    assert import_corpus("jsonl", source, name="c", home=tmp_path).documents == 2
    assert len(list((tmp_path / "corpora/c").glob("data-*"))) == 1


def test_workers_read_the_same_as_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_opinions(tmp_path / "s", (opinion(f"A-90-{n:03d}") for n in range(1, 600)))
    alone = import_corpus("fppc", source, name="alone", home=tmp_path)
    monkeypatch.setattr(build, "WORKERS", 2)
    stages: list[tuple[str, int, int]] = []
    shared = import_corpus(
        "fppc",
        source,
        name="shared",
        home=tmp_path,
        progress=lambda *step: stages.append(step),
    )
    assert alone.fingerprint == shared.fingerprint
    assert alone.documents == shared.documents == 599
    assert ("reading", 599, 599) in stages


def test_what_is_wrong_is_said_the_same_by_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_opinions(tmp_path / "s", (opinion(f"A-90-{n:03d}") for n in range(1, 600)))
    broken = next(source.rglob("A-90-598.json"))
    broken.write_text("{")
    said = []
    for workers in (1, 2):
        monkeypatch.setattr(build, "WORKERS", workers)
        with pytest.raises(InputError) as refused:
            import_corpus("fppc", source, name="c", home=tmp_path, strict=True)
        said.append(str(refused.value))
    assert "not valid JSON" in said[0]
    assert said[0] == said[1]


LINES = [
    *(
        f'{{"id": "d{n}", "text": "kuntalain {n} § ja sana {n}", "title": "Ä {n}"}}'
        for n in range(40)
    ),
    *("", "not json", '{"text": "no id"}', '{"id": "d3", "text": "again"}', '{"id": "last"}'),
]
ROWS = [
    "\ufeffid,title,text",
    *(f'd{n},"A title, ""of"" row\n{n}","kuntalain {n} § ja\r\nsana {n}"' for n in range(40)),
    *("too,few", 'd3,again,"the same\nid"', "last,plain,line"),
]


@pytest.mark.parametrize(("kind", "lines"), [("jsonl", LINES), ("csv", ROWS)])
def test_a_large_file_is_read_in_ranges_as_if_it_were_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, lines: list[str]
) -> None:
    source = tmp_path / f"source.{kind}"
    source.write_text("\n".join(lines), encoding="utf-8", newline="")

    def read(name: str) -> list[object]:
        stages: list[tuple[str, int, int]] = []
        report = import_corpus(
            kind, source, name=name, home=tmp_path, progress=lambda *step: stages.append(step)
        )
        corpus = open_corpus(tmp_path, name)
        files = [corpus.data_folder / part.file for part in corpus.manifest.parts]
        rows = pl.concat([read_arrow(file) for file in files]).rows()
        ranges.append(stages[0][2])
        cited = corpus.citations.collect().rows()
        return [report.fingerprint, report.citations, rows, cited, corpus.problems()]

    ranges: list[int] = []
    whole = read("whole")
    monkeypatch.setattr(parts, "BATCH_BYTES", 300)
    in_ranges = read("ranges")
    monkeypatch.setattr(build, "WORKERS", 2)
    assert whole == in_ranges == read("workers")
    assert ranges[0] == 1
    assert ranges[1] == ranges[2] > 5
    assert whole[4]
    assert import_corpus(kind, source, name="whole", home=tmp_path).unchanged
    assert import_corpus(kind, source, name="workers", home=tmp_path).unchanged


KILLED = """
import os, sys
from pathlib import Path
from assay.corpus import import_corpus, parts
parts.PART_DOCUMENTS = 2
parts.BATCH_BYTES = int(sys.argv[3])
write, written = parts._write_part, []
def write_two(*args):
    write(*args)
    written.append(args)
    if len(written) == 2:
        os._exit(9)
parts._write_part = write_two
import_corpus("jsonl", sys.argv[1], name="c", home=Path(sys.argv[2]))
"""


@pytest.mark.parametrize("batch_bytes", [2**20, 100])
def test_a_killed_import_changes_nothing_and_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_bytes: int
) -> None:
    monkeypatch.setattr(parts, "BATCH_BYTES", batch_bytes)
    home = imported(tmp_path, FIVE[:1])
    before = open_corpus(home, "c").fingerprint
    source = write_lines(tmp_path / "more.jsonl", FIVE)
    command = [sys.executable, "-c", KILLED, str(source), str(home), str(batch_bytes)]
    done = subprocess.run(command, check=False)
    assert done.returncode == 9
    assert open_corpus(home, "c").fingerprint == before
    report = import_corpus("jsonl", source, name="c", home=home)
    assert (report.resumed, report.documents) == (2, 5)
    fresh = import_corpus("jsonl", source, name="fresh", home=home)
    assert report.fingerprint == fresh.fingerprint
    assert not (home / "corpora/c/building").exists()


def test_of_two_documents_with_one_id_the_first_is_kept_and_the_other_reported(
    tmp_path: Path,
) -> None:
    twice = [*FIVE, {**FIVE[0]}, {**FIVE[1], "text": "another text; § 5"}]
    report = import_corpus(
        "jsonl", write_lines(tmp_path / "s.jsonl", twice), name="c", home=tmp_path
    )
    assert report.problems == {"duplicate": 1, "duplicate-id": 1}
    corpus = open_corpus(tmp_path, "c")
    assert len(corpus) == 5
    assert corpus.get("d1").text == "text number 1"
    assert corpus.citations.collect().is_empty()
    assert "'d1' was read before with other content" in corpus.problems()[1].reason


def test_signs_that_python_counts_as_digits_are_no_year_and_no_page(tmp_path: Path) -> None:
    odd = ["²⁰²⁴", "①②③④", "20²⁴", "x"]
    rows = [{"id": text, "text": "x", "valid_from": text} for text in (*odd, "٢٠٢٤")]
    home = imported(tmp_path, [*rows, {"id": "page", "text": "y", "page": "²"}])
    corpus = open_corpus(home, "c")
    assert corpus.ids == [*odd, "٢٠٢٤"]
    assert corpus.frame.collect()["year"].to_list() == [*[None] * len(odd), 2024]


def test_a_bad_record_is_reported_and_the_rest_imported(tmp_path: Path) -> None:
    source = tmp_path / "s.jsonl"
    source.write_bytes(
        b'{"id": "a", "text": "x"}\n{"id": \n{"text": "no id"}\n\xff\xfe\n[1]\n'
        b'{"id": "b", "text": "y"}\n'
    )
    report = import_corpus("jsonl", source, name="c", home=tmp_path)
    assert report.documents == 2
    problems = open_corpus(tmp_path, "c").problems()
    assert {problem.where.rpartition(":")[2] for problem in problems} == {"2", "3", "4", "5"}
    with pytest.raises(InputError, match=r"s\.jsonl:2"):
        import_corpus("jsonl", source, name="d", home=tmp_path, strict=True)


@pytest.mark.parametrize("name", ["../up", "x" * 5000, "א" * 200])
def test_a_name_that_no_file_system_takes_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        open_corpus(tmp_path, name)


def test_an_unknown_kind_or_corpus_is_named_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown kind") as unknown:
        import_corpus("doc", tmp_path, name="c", home=tmp_path)
    assert "fppc" in unknown.value.hint
    with pytest.raises(InputError, match="unknown kind") as markdown:
        import_corpus("md", tmp_path, name="c", home=tmp_path)
    assert "Leave the kind out" in markdown.value.hint
    with pytest.raises(InputError, match="no corpus 'c'"):
        open_corpus(tmp_path, "c")


def test_only_one_import_of_a_corpus_runs_at_a_time(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="file locks need a POSIX system")
    home = imported(tmp_path, FIVE)
    with (home / "corpora/c/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another import"):
            import_corpus("jsonl", tmp_path / "source.jsonl", name="c", home=home)


def test_a_first_import_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tmp_path / "source.jsonl"
    source.write_text("not a record\n")
    with pytest.raises(InputError, match="nothing could be imported"):
        import_corpus("jsonl", source, name="c", home=tmp_path)
    assert not (tmp_path / "corpora/c").exists()
    home = imported(tmp_path, FIVE)
    source.write_text("not a record\n")
    with pytest.raises(InputError, match="nothing could be imported"):
        import_corpus("jsonl", source, name="c", home=home)
    assert len(open_corpus(home, "c")) == len(FIVE)


def test_a_frozen_corpus_opens_elsewhere_with_the_same_fingerprint(tmp_path: Path) -> None:
    corpus = open_corpus(imported(tmp_path, FIVE), "c")
    file = freeze(corpus, tmp_path / "c.assay")
    assert freeze(corpus, tmp_path / "again.assay").read_bytes() == file.read_bytes()
    thawed = open_frozen(file, home=tmp_path / "there")
    assert thawed.fingerprint == corpus.fingerprint
    assert list(thawed.iter()) == list(corpus.iter())
    assert open_frozen(file, home=tmp_path / "there").path == thawed.path


def test_a_damaged_frozen_file_is_refused(tmp_path: Path) -> None:
    file = freeze(open_corpus(imported(tmp_path, FIVE), "c"), tmp_path / "c.assay")
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(InputError, match="not a frozen corpus"):
        open_frozen(file, home=tmp_path / "there")
    with pytest.raises(InputError, match="no such file"):
        open_frozen(tmp_path / "none", home=tmp_path)


# ── what is written reads back ────────────────────────────────────────────────────────────────────

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
locators = st.builds(
    Locator,
    doc_id=st.none() | texts,
    part=st.none() | texts,
    chapter=st.none() | texts,
    schedule=st.none() | texts,
    section=st.none() | texts,
    moment=st.none() | texts,
    page=st.none() | st.integers(0, 10**9),
    table=st.none() | texts,
    row=st.none() | texts,
    column=st.none() | texts,
    version=st.none() | texts,
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3),
)
documents = st.builds(
    Document,
    id=texts.filter(str.strip),
    title=texts,
    text=texts,
    fields=st.dictionaries(st.sampled_from(["question", "facts"]), texts, max_size=2),
    locator=st.none() | locators.filter(lambda locator: locator != Locator()),
    citations=st.lists(texts, max_size=3).map(tuple),
    language=st.sampled_from(["", "en", "fi", "he"]),
    valid_from=texts,
    metadata=st.dictionaries(texts, plain, max_size=3),
)


@given(st.lists(documents, min_size=1, max_size=4))
def test_any_document_is_stored_as_it_is(drawn: list[Document]) -> None:
    assert list(documents_of(document_frame(drawn, [""] * len(drawn)))) == drawn


def test_a_corpus_from_before_a_locator_had_chapters_opens_and_keeps_its_fingerprint() -> None:
    document = Document(id="a", locator=Locator(doc_id="1/2000", chapter="6", section="21"))
    frame = document_frame([document], [""])
    later = [f"locator.{name}" for name in ("part", "chapter", "schedule", "column")]
    (opened,) = documents_of(frame.drop(later))
    assert opened.locator == Locator(doc_id="1/2000", section="21")
    assert document_frame([opened], [""])["digest"].to_list() == frame["digest"].to_list()


@given(locators)
def test_any_locator_round_trips(locator: Locator) -> None:
    assert parse_locator(format_locator(locator)) == locator


def test_a_locator_is_one_readable_line() -> None:
    assert (
        format_locator(Locator(doc_id="410/2015", section="110a", moment="2"))
        == "410/2015?section=110a&moment=2"
    )
    with pytest.raises(InputError, match="not a locator"):
        parse_locator("410/2015?paragraph=2")
    with pytest.raises(InputError, match="not a locator"):
        parse_locator("r?page=two")
