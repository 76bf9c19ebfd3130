"""The votes file in hard places: what is not ours is never cut away, what does not fit is not half
written, and times are compared as times."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats.votes_jsonl import append, read_votes, votes_from
from assay.judging.votes import current

AT = "2026-01-31T14:00:00+00:00"


def vote(number: int, **fields: object) -> Vote:
    given = {"grade": 1, "judge": "ada", "at": AT} | fields
    return Vote(id=f"v{number}", query_id="q1", doc_id="d", kind="human", **given)  # type: ignore[arg-type]


def line(number: int, **fields: object) -> str:
    row = {"id": f"v{number}", "query_id": "q1", "doc_id": "d", "grade": 1, "judge": "ada"}
    return json.dumps(row | {"kind": "human", "at": AT} | fields)


@pytest.mark.parametrize(
    "last",
    [
        line(2, kind="expert"),
        line(2, grade=1.5),
        line(2, grade="1"),
        line(2, at="yesterday"),
        line(1),
        '{"id": "v2"}',
        line(2) + "\r" + line(3),
    ],
)
def test_what_somebody_wrote_is_refused_and_stays(tmp_path: Path, last: str) -> None:
    path = tmp_path / "set.votes.jsonl"
    content = (line(1) + "\n" + last).encode()
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"\w"):
        read_votes(path)
    with pytest.raises(InputError, match=r"\w"):
        append(path, [vote(9)])
    assert path.read_bytes() == content


def test_carriage_returns_alone_are_refused_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    content = "".join(line(number) + "\r" for number in range(50)).encode()
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"\w"):
        append(path, [vote(99)])
    assert path.read_bytes() == content


@pytest.mark.parametrize("cut", range(1, len(line(2))))
def test_a_write_that_was_cut_goes_with_the_next(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "set.votes.jsonl"
    path.write_text(line(1) + "\n" + line(2)[:cut])
    assert [each.id for each in read_votes(path)] == ["v1"]
    append(path, [vote(3)])
    assert [each.id for each in read_votes(path)] == ["v1", "v3"]


def test_a_whole_vote_without_the_end_of_its_line_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    path.write_text(line(1) + "\n" + line(2))
    append(path, [vote(3)])
    assert [each.id for each in read_votes(path)] == ["v1", "v2", "v3"]


FULL = """
import resource, sys
from pathlib import Path
from assay.core.errors import InputError
from assay.core.types import Vote
from assay.formats.votes_jsonl import append
path, limit = Path(sys.argv[1]), int(sys.argv[2])
votes = [Vote(id=f"n{i}", query_id="q", doc_id="d", grade=1, judge="a", kind="human", at="")
         for i in range(500)]
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    append(path, votes)
except InputError as error:
    sys.exit(str(error))
"""


def test_what_does_not_fit_is_not_half_written(tmp_path: Path) -> None:
    assert resource.RLIMIT_FSIZE
    path = tmp_path / "set.votes.jsonl"
    path.write_text(line(1) + "\n")
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), "4096"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Nothing was changed" in done.stderr
    assert path.read_bytes() == before


def test_times_are_compared_as_times(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    earlier = line(1, at="2026-01-31T09:00:00+09:00", grade=0)  # midnight UTC
    later = line(2, at="2026-01-31T08:00:00Z", grade=2)
    path.write_text(later + "\n" + earlier + "\n")
    assert [each.grade for each in current(read_votes(path))] == [2]


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-10:00", "soon", "2026-13-01"])
def test_what_is_no_time_is_refused_with_its_line(tmp_path: Path, at: str) -> None:
    path = tmp_path / "set.votes.jsonl"
    path.write_text(line(1) + "\n" + line(2, at=at) + "\n")
    with pytest.raises(InputError, match="not a vote") as refused:
        read_votes(path)
    assert refused.value.where.endswith(":2")


def test_a_new_file_is_on_disk_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("assay.formats.votes_jsonl.sync_folder", synced.append)
    append(tmp_path / "set.votes.jsonl", [vote(1)])
    assert synced == [tmp_path]
    append(tmp_path / "set.votes.jsonl", [vote(2)])
    assert synced == [tmp_path]  # the name is there already


def test_a_write_that_was_cut_within_a_letter_goes_with_the_next(tmp_path: Path) -> None:
    path, letter = tmp_path / "set.votes.jsonl", "ä".encode()
    path.write_bytes(f'{line(1)}\n{{"id": "v2", "judge": "'.encode() + letter[:1])
    assert [each.id for each in read_votes(path)] == ["v1"]
    append(path, [vote(3)])
    assert [each.id for each in read_votes(path)] == ["v1", "v3"]


def test_what_is_no_text_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    content = f'{line(1)}\n{{"id": "v2", "judge": "'.encode() + b'\xff", "grade": 1'
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"\w"):
        append(path, [vote(9)])
    assert path.read_bytes() == content


def test_what_was_appended_since_is_read_from_there(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    append(path, [vote(1)])
    first, at = votes_from(path, 0)
    assert ([each.id for each in first], at) == (["v1"], path.stat().st_size)
    append(path, [vote(2)])
    with path.open("a") as stream:
        stream.write(line(3)[:20])  # half a line is left for the next time
    later, end = votes_from(path, at)
    assert ([each.id for each in later], end) == (["v2"], path.stat().st_size - 20)
    path.write_text("{}\n")
    with pytest.raises(InputError, match="not a vote"):
        votes_from(path, 0)


def test_no_votes_leave_no_file(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    append(path, [])
    assert not path.exists()
