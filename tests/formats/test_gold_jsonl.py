"""`gold-set.jsonl`: read as a set and as lines alike, kept byte for byte where a person wrote it,
and locked while it is written."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import InputError, NotWritten
from assay.core.types import GoldSet, Judgment, Query, judgments_to_frame
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import GoldRow, Line, read_lines, rows

BOM = b"\xef\xbb\xbf"
OURS = b'{"id":"g001","query":"q","relevant_case_law_ids":["a"],"source":"bootstrap"}'
CHAIR = b'{"id":"h1","query":"r","relevant_case_law_ids":["b"],"source":"chair"}'


def lines_of(tmp_path: Path, content: bytes) -> list[Line]:
    (tmp_path / "g.jsonl").write_bytes(content)
    return read_lines(tmp_path / "g.jsonl")


@pytest.mark.parametrize(
    ("content", "raws", "ids"),
    [
        (b"", [], []),
        (b"\n", [b"\n"], []),
        (OURS, [OURS], ["g001"]),
        (OURS + b"\n", [OURS + b"\n"], ["g001"]),
        (BOM + OURS + b"\r\n\r\n  // x", [BOM + OURS + b"\r\n", b"\r\n", b"  // x"], ["g001"]),
        (b"#" + OURS + b"\n" + CHAIR, [b"#" + OURS + b"\n", CHAIR], ["h1"]),
    ],
)
def test_a_file_is_its_lines(
    tmp_path: Path, content: bytes, raws: list[bytes], ids: list[str]
) -> None:
    lines = lines_of(tmp_path, content)
    assert [line.raw for line in lines] == raws
    assert [row.id for row in rows(lines)] == ids
    assert gold_jsonl.assemble(lines) == content
    assert [line.is_bootstrap for line in lines if line.row] == [id == "g001" for id in ids]


@pytest.mark.parametrize(
    ("raws", "end"),
    [
        ([], b"\n"),
        ([b"x"], b"\n"),
        ([b"x\n"], b"\n"),
        ([b"x\r\n"], b"\r\n"),
        ([b"x\r\n", b"y"], b"\r\n"),
        ([b"x\r\n", b"y\n"], b"\n"),
    ],
)
def test_how_lines_end(raws: list[bytes], end: bytes) -> None:
    lines = [Line(raw) for raw in raws]
    assert gold_jsonl.line_end(lines) == end
    # what had no end gets one as soon as another follows, and not before
    assert gold_jsonl.assemble([*lines, Line(b"z")]) == b"".join(
        raw if raw.endswith(b"\n") else raw + end for raw in raws
    ) + b"z"  # fmt: skip
    assert gold_jsonl.assemble([Line(b"x\r"), Line(b"z")]) == b"x\rz"


def test_a_line_of_ours() -> None:
    row = GoldRow(id="g1", query="q", relevant_case_law_ids=("a", "b"), source="bootstrap")
    plain = (
        b'{"id":"g1","query":"q","practice_area":"","corpus":"",'
        b'"relevant_case_law_ids":["a","b"],"source":"bootstrap","note":""'
    )
    assert gold_jsonl.row_line(row) == Line(plain + b"}\n", row)
    assert gold_jsonl.row_line(row, b"\r\n") == Line(plain + b"}\r\n", row)


def test_an_edited_line_keeps_what_is_not_changed(tmp_path: Path) -> None:
    raw = BOM + b'{ "x": 1, "id": "h1", "source": "bootstrap", "query": "q", "note": "n" }\r\n'
    (line,) = lines_of(tmp_path, raw)
    edited = gold_jsonl.edited_line(line, source="chair", relevant_case_law_ids=("a",))
    assert edited.raw == (
        BOM + b'{"x":1,"id":"h1","source":"chair","query":"q","note":"n",'
        b'"relevant_case_law_ids":["a"]}\r\n'
    )
    assert edited.row == GoldRow(
        id="h1", query="q", note="n", relevant_case_law_ids=("a",), source="chair"
    )
    assert gold_jsonl.edited_line(Line(b'{"id":"a","query":"q"}'), query="r").raw == (
        b'{"id":"a","query":"r"}'
    )


def test_of_a_persons_row_what_can_be_used_is_taken(tmp_path: Path) -> None:
    (line,) = lines_of(
        tmp_path, b'{"id":7,"query":"q","relevant_case_law_ids":[1,"a"],"source":"chair","note":[]}'
    )
    assert line.row == GoldRow(
        id="", query="q", relevant_case_law_ids=("1", "a"), source="chair", note=""
    )
    (line,) = lines_of(tmp_path, b'{"id":"h","relevant_case_law_ids":"a"}')
    assert line.row == GoldRow(id="h", query="")
    assert not line.is_bootstrap


def test_a_row_is_found_by_its_id_however_it_is_spelled(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    assert gold_jsonl.find_row(path, "g001") is None
    path.write_bytes(b'// "h1"\n' + OURS + b'\n{"id":"\\u0068\\u0031","query":"r","note":"g001"}\n')
    for id, query in (("g001", "q"), ("h1", "r")):
        found = gold_jsonl.find_row(path, id)
        assert found is not None
        assert (found.id, found.query) == (id, query)
    assert gold_jsonl.find_row(path, "none") is None


def test_two_rows_of_a_person_with_one_id(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    gold_jsonl.refuse_same_ids(lines_of(tmp_path, b"\n".join([OURS, OURS, CHAIR])), path)
    nameless = b'{"query":"x"}'
    gold_jsonl.refuse_same_ids(lines_of(tmp_path, b"\n".join([nameless, nameless])), path)
    with pytest.raises(InputError, match="id 'h1' is also on line 2") as error:
        gold_jsonl.refuse_same_ids(lines_of(tmp_path, b"\n".join([OURS, CHAIR, b"", CHAIR])), path)
    assert error.value.where == f"{path}:4"
    assert error.value.hint == "Give each row its own id. Nothing was changed."


def test_numbers_of_rows() -> None:
    for ids, number in (
        ([], 0), (["x"], 0), (["g007", "g2"], 7), (["g12", "g9", "ag99", "g99x", "g"], 12),
    ):  # fmt: skip
        assert gold_jsonl.highest_number(ids) == number
    assert [gold_jsonl.row_id(n) for n in (1, 12, 1234)] == ["g001", "g012", "g1234"]


def test_how_much_is_approved() -> None:
    chair, ours = (GoldRow(id="x", query="q", source=source) for source in ("chair", "bootstrap"))
    for given, found in (
        ([], (0, 0, 0.0)), ([ours], (0, 1, 0.0)), ([chair, ours], (1, 2, 0.5)),
        ([chair], (1, 1, 1)),
    ):  # fmt: skip
        done = gold_jsonl.approval(given)
        assert (done.approved, done.total, done.share) == found
        whole = bool(given) and done.approved == done.total
        assert (done.status == "approved") == whole


def test_a_set_that_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(OURS + b"\n" + CHAIR + b"\n# end\n")
    gold = gold_jsonl.read_gold(path)
    assert (gold.name, gold.status, gold.from_logs) == ("g", "provisional", True)
    assert [(each.query_id, each.doc_id, each.grade) for each in gold.iter_judgments()] == [
        ("g001", "a", 1), ("h1", "b", 1)]  # fmt: skip
    path.write_bytes(CHAIR)
    assert gold_jsonl.read_gold(path).status == "approved"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty"):
        gold_jsonl.read_gold(path)
    path.write_bytes(b"# none yet")
    assert gold_jsonl.read_gold(path).status == "provisional"
    path.write_bytes(CHAIR.replace(b'["b"]', b'["c","b","c"]'))
    with pytest.raises(InputError, match="document 'c' appears twice on query 'h1'") as error:
        gold_jsonl.read_gold(path)
    assert (error.value.where, error.value.hint) == (f"{path}:1", "Keep it once.")
    path.write_bytes(CHAIR.replace(b'"r"', b'" "'))
    with pytest.raises(InputError, match="query"):
        gold_jsonl.read_gold(path)
    path.write_bytes(CHAIR + b"\n" + CHAIR)
    with pytest.raises(InputError, match="h1") as error:
        gold_jsonl.read_gold(path)
    assert error.value.where.startswith(f"{path}:2")
    graded = GoldSet(
        name="g",
        queries=(Query(id="q", text="x", topic="t", corpus="c", source="s", notes="n",
                       extra={"k": 1}),),
        judgments=judgments_to_frame([Judgment(query_id="q", doc_id=doc, grade=grade)
                                      for doc, grade in (("a", 0), ("b", 1), ("c", 2))]),
    )  # fmt: skip
    assert gold_jsonl.write_gold(graded, path) == [path]
    assert path.read_bytes() == (
        b'{"id":"q","query":"x","practice_area":"t","corpus":"c",'
        b'"relevant_case_law_ids":["b","c"],"source":"s","note":"n"}\n'
    )


def test_a_file_that_would_not_change_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    assert not gold_jsonl.save(path, [])
    assert not path.exists()
    lines = [Line(OURS)]
    assert gold_jsonl.save(path, lines)
    before = path.stat().st_ino
    assert not gold_jsonl.save(path, lines)
    assert path.stat().st_ino == before
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert gold_jsonl.save(link, [Line(CHAIR)])
    assert (link.is_symlink(), path.read_bytes()) == (True, CHAIR)


def test_a_diff_has_one_line_around_each_change() -> None:
    old = b"".join(b"%d\n" % n for n in range(9))
    new = old.replace(b"4\n", b"x\n").removesuffix(b"8\n") + b"y"
    assert gold_jsonl.unified_diff(Path("/x/g.jsonl"), old, new) == (
        "--- a/g.jsonl\n+++ b/g.jsonl\n"
        "@@ -4,3 +4,3 @@\n 3\n-4\n+x\n 5\n"
        "@@ -8,2 +8,2 @@\n 7\n-8\n+y\n"
    )
    assert gold_jsonl.unified_diff(Path("g"), old, old) == ""


def test_a_lock_says_who_holds_it_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda wait: (looks.append(wait), sleep(wait)))
    path = tmp_path / "deep" / "g.jsonl"
    lock = path.with_name(".g.jsonl.lock")
    with gold_jsonl.lock_gold_set(path):
        assert lock.read_text().startswith(f"process {os.getpid()} since 2")
        assert lock.read_text().endswith(" UTC")
        began = time.monotonic()
        with (
            pytest.raises(InputError, match="another process is writing this gold set") as error,
            gold_jsonl.lock_gold_set(path, wait=0.06),
        ):
            raise AssertionError
        assert time.monotonic() - began >= 0.06
        assert set(looks) == {0.05}
        assert error.value.where == str(path)
        assert error.value.hint == (
            f"It says: {lock.read_text()}. Wait for it to end, then try again."
        )
    assert not lock.exists()
    with pytest.raises(KeyError), gold_jsonl.lock_gold_set(path):
        raise KeyError
    assert not lock.exists()
    with gold_jsonl.lock_gold_set(path):
        lock.unlink()  # by somebody else
    assert gold_jsonl._read_holder(lock) == "nothing"
    lock.touch()
    assert gold_jsonl._read_holder(lock) == "nothing"
    lock.write_text("x" * 200)  # of a holder that was killed
    with gold_jsonl.lock_gold_set(path, wait=0):
        assert lock.read_text().startswith(f"process {os.getpid()} since 2")
        assert lock.read_text().endswith(" UTC")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory") as error:
        read_lines(tmp_path)
    assert error.value.where == str(tmp_path)
    assert read_lines(tmp_path / "none") == []
    (tmp_path / "gone").symlink_to(tmp_path / "none")
    with pytest.raises(InputError, match="no such file"):
        read_lines(tmp_path / "gone")


def test_a_full_disk_for_a_moment_leaves_no_lock_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = tmp_path / "gold.jsonl"

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as now:
        now.setattr(os, "write", full)
        with gold_jsonl.lock_gold_set(gold, wait=0):
            pass  # the note in the lock file is for people: without it the lock holds as well
    with monkeypatch.context() as now:
        now.setattr(os, "fstat", full)
        with (
            pytest.raises(NotWritten, match="cannot write"),
            gold_jsonl.lock_gold_set(gold, wait=0),
        ):
            pass
    with gold_jsonl.lock_gold_set(gold, wait=0):
        pass


# ── one reader ────────────────────────────────────────────────────────────────────────────────────


def complaint(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b'{"id":"g002","id":"g003","query":"q"}',
        b'{"id":"g002","query":7,"source":"bootstrap"}',
        b'{"id":"g002","source":"bootstrap"}',
        b"\xff",
    ],
)
def test_both_ways_of_reading_say_the_same(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "gold-set.jsonl"
    path.write_bytes(b"# head\n" + OURS + b"\n" + line + b"\n")
    as_set, as_lines = (complaint(r, path) for r in (gold_jsonl.read_gold, gold_jsonl.read_lines))
    assert f"{path}:3: " in as_set
    if line != b"\xff":  # a set is read a bounded amount at a time, and counts in columns
        assert as_set == as_lines


def test_what_is_read_as_a_set_and_as_lines_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "gold-set.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf// head\r\n\r\n" + OURS + b"\n" + b'{"id":"g2","query":"r","x":1}'
    )
    gold, rows = gold_jsonl.read_gold(path), gold_jsonl.rows(gold_jsonl.read_lines(path))
    assert [(query.id, query.text) for query in gold.queries] == [
        (row.id, row.query) for row in rows
    ]
    assert gold.queries[1].extra == {"x": 1}
    assert gold_jsonl.assemble(gold_jsonl.read_lines(path)) == path.read_bytes()


def test_a_row_with_very_many_documents_is_read(tmp_path: Path) -> None:
    """Each is looked at once: looking for every one in all the others would take hours."""
    path = tmp_path / "gold-set.jsonl"
    ids = ",".join(f'"d{number}"' for number in range(300_000))
    path.write_text(f'{{"id":"g1","query":"q","relevant_case_law_ids":[{ids}],"source":"chair"}}\n')
    assert gold_jsonl.read_gold(path).judgments.height == 300_000
    path.write_text(path.read_text().replace('"d7"', '"d8"', 1))
    assert "document 'd8' appears twice" in complaint(gold_jsonl.read_gold, path)
