"""The file of votes: nothing that was acknowledged is lost, and nothing is taken in twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from assay.core.errors import InputError
from assay.core.types import Document, GoldSet, Judgment, Query, Vote, judgments_to_frame
from assay.judging.votes import (
    append,
    current,
    document_fingerprint,
    read_votes,
    stale_in,
    votes_of_labels,
    votes_path,
)


def _vote(id: str, **fields: object) -> Vote:
    known = {"query_id": "q", "doc_id": "d", "grade": 1, "judge": "ada", "kind": "human"}
    return msgspec.convert({"id": id, "at": "2026-01-02", **known, **fields}, Vote)


def test_what_a_crash_left_of_a_line_goes_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "s.votes.jsonl"
    append(path, [_vote("a"), _vote("b")])
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines()[1])):
        path.write_bytes(whole[:-cut])
        assert [vote.id for vote in read_votes(path)] in (["a"], ["a", "b"])
        append(path, [_vote("c")])
        ids = [vote.id for vote in read_votes(path)]
        assert ids in (["a", "c"], ["a", "b", "c"])
        assert (ids == ["a", "b", "c"]) == (cut == 1)  # a whole vote that lacks its line end


def test_damage_in_the_middle_is_said_and_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s.votes.jsonl"
    append(path, [_vote("a"), _vote("b")])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0][:-5], lines[1], ""]))
    with pytest.raises(InputError, match=r"s\.votes\.jsonl:1: not valid JSON"):
        read_votes(path)
    path.write_text("\n".join([lines[0], lines[0], ""]))
    with pytest.raises(InputError, match="'a' is on line 1 already"):
        read_votes(path)


WRITER = """
import sys
from pathlib import Path
from assay.core.types import Vote
from assay.formats.votes_jsonl import append
path, name = Path(sys.argv[1]), sys.argv[2]
for n in range(40):
    vote = Vote(id=f"{name}{n}", query_id="q", doc_id=f"d{n}", grade=1, judge=name, kind="human",
                at="2026-01-02", rationale="x" * 5000)
    append(path, [vote])
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.votes.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    ids = [vote.id for vote in read_votes(path)]
    assert sorted(ids) == sorted(f"{name}{n}" for name in "ab" for n in range(40))
    assert [id for id in ids if id[0] == "a"] == [f"a{n}" for n in range(40)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.votes.jsonl"]


def test_the_later_vote_of_a_judge_holds_and_rulings_stand_beside() -> None:
    votes = [
        _vote("a", at="2026-01-03"),
        _vote("b", at="2026-01-02", grade=0),
        _vote("c", source="adjudication", grade=2),
        _vote("d", source="sample", grade=0),
        _vote("e", judge="ben", grade=2),
    ]
    assert sorted(vote.id for vote in current(votes)) == ["a", "c", "d", "e"]


def test_labels_become_votes_once_and_only_where_nobody_has_voted() -> None:
    labels = [
        Judgment(query_id="q", doc_id="d", grade=2),
        Judgment(query_id="q", doc_id="e", grade=0, judge="ada", rationale="no"),
    ]
    gold = GoldSet(
        name="s", queries=(Query(id="q", text="?"),), judgments=judgments_to_frame(labels)
    )
    first, second = votes_of_labels(gold)
    assert (first.judge, first.source, first.at) == ("imported", "imported", "")
    assert (second.judge, second.source, second.rationale) == ("ada", "", "no")
    assert votes_of_labels(gold, [first, second]) == []
    assert [vote.doc_id for vote in votes_of_labels(gold, [_vote("x")])] == ["e"]


def test_a_vote_on_a_document_that_has_changed_is_stale() -> None:
    was, now = (Document(id="d", text=text) for text in ("old", "new"))
    read, unknown = _vote("a", document=document_fingerprint(was)), _vote("b", judge="ben")
    assert stale_in([read, unknown], [was]) == []
    assert stale_in([read, unknown], [now]) == [read]
    again = _vote("c", document=document_fingerprint(now), at="2026-02-01")
    assert stale_in([read, again], [now]) == []  # who has read the new text is up to date


def test_the_votes_lie_beside_the_set_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "dataset.json"
    real.write_text(json.dumps({"queries": []}))
    (tmp_path / "link.json").symlink_to(real)
    assert votes_path(tmp_path / "link.json") == tmp_path / "real" / "dataset.votes.jsonl"


@pytest.mark.parametrize(
    "fields", [{"kind": "expert"}, {"grade": 1.5}, {"at": None}, {"at": "yesterday"}, {"id": "a"}]
)
def test_a_last_line_that_is_no_vote_is_refused_also_without_its_end(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    path = tmp_path / "s.votes.jsonl"
    append(path, [_vote("a")])
    wrong = msgspec.to_builtins(_vote("b")) | fields
    path.write_bytes(path.read_bytes() + json.dumps(wrong).encode())
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"s\.votes\.jsonl:2: "):
        read_votes(path)
    if "id" not in fields:  # what is there already is for the reader to see
        with pytest.raises(InputError, match=r"s\.votes\.jsonl:2: "):
            append(path, [_vote("c")])
        assert path.read_bytes() == before


def test_line_ends_of_another_system_wipe_no_votes(tmp_path: Path) -> None:
    path = tmp_path / "s.votes.jsonl"
    append(path, [_vote("a"), _vote("b")])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"s\.votes\.jsonl:1: "):
        read_votes(path)
    with pytest.raises(InputError, match=r"s\.votes\.jsonl:1: "):
        append(path, [_vote("c")])
    assert path.read_bytes() == before


def test_a_disk_that_is_full_takes_all_votes_or_none(tmp_path: Path) -> None:
    path = tmp_path / "s.votes.jsonl"
    append(path, [_vote("a")])
    before = path.read_bytes()
    limited = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from assay.core.types import Vote\n"
        "from assay.formats.votes_jsonl import append\n"
        "path = Path(sys.argv[1])\n"
        "most = path.stat().st_size + 300\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
        "append(path, [Vote(id=f'n{n}', query_id='q', doc_id=f'd{n}', grade=1, judge='b',"
        " kind='human', at='2026-01-02') for n in range(99)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, str(path)], capture_output=True, text=True, check=False
    )
    assert "cannot write" in done.stderr
    assert "Nothing was changed." in done.stderr
    assert path.read_bytes() == before


def test_times_with_another_offset_are_compared_as_times(tmp_path: Path) -> None:
    path = tmp_path / "s.votes.jsonl"
    early = _vote("early", at="2026-01-02T09:00:00+09:00", grade=0)  # midnight in UTC
    append(path, [_vote("late", at="2026-01-02T08:00:00+00:00", grade=2), early])
    assert [vote.id for vote in current(read_votes(path))] == ["late"]
