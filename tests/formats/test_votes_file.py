"""STEM.votes.jsonl, the votes of a set as earlier versions wrote them: how it is read, and how it
becomes a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.gold.upgrade import read_votes_file
from kit.commands import Assay
from kit.sets import acts, labels, votes, write_packet, write_set

AT = "2026-01-31T14:00:00+00:00"


def line(number: int, **fields: object) -> str:
    row = {"id": f"v{number}", "query_id": "q0", "doc_id": "d", "grade": 1, "judge": "ada"}
    return json.dumps(row | {"kind": "human", "at": AT} | fields)


def written(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "set.votes.jsonl"
    path.write_text("\n".join(lines) + end)
    return path


def ids(path: Path) -> list[str]:
    return [vote.id for vote in read_votes_file(path)]


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "last",
    [
        line(2, kind="expert"),
        line(2, grade=1.5),
        line(2, grade="1"),
        line(2, at="yesterday"),
        line(2, at="9999-12-31T23:59:59-10:00"),
        line(2, at="2026-13-01"),
        line(1),
        '{"id": "v2"}',
        line(2) + "\r" + line(3),
    ],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_what_is_no_vote_is_refused_with_its_line(tmp_path: Path, last: str, end: str) -> None:
    path = written(tmp_path, line(1), last, end=end)
    with pytest.raises(InputError) as refused:
        read_votes_file(path)
    assert refused.value.where.endswith("set.votes.jsonl:2")


def test_damage_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, line(1)[:-5], line(2))
    with pytest.raises(InputError, match=r"set\.votes\.jsonl:1: not valid JSON"):
        read_votes_file(path)
    path = written(tmp_path, line(1), line(2), line(1))
    with pytest.raises(InputError, match="the vote 'v1' is already on line 1") as refused:
        read_votes_file(path)
    assert refused.value.where == f"{path}:3"


@pytest.mark.parametrize("cut", range(1, len(line(2))))
def test_a_last_line_that_was_cut_is_no_vote(tmp_path: Path, cut: int) -> None:
    assert ids(written(tmp_path, line(1), line(2)[:cut], end="")) == ["v1"]


@pytest.mark.parametrize("tail", [b"\0\0\0", b'{"id": "b"\0\0', b'{"id": "b", "judge": "\xc3'])
def test_a_last_line_that_a_file_system_cut_is_no_vote(tmp_path: Path, tail: bytes) -> None:
    path = written(tmp_path, line(1))
    path.write_bytes(path.read_bytes() + tail)
    assert ids(path) == ["v1"]


def test_a_whole_vote_without_the_end_of_its_line_is_read(tmp_path: Path) -> None:
    assert ids(written(tmp_path, line(1), line(2), end="")) == ["v1", "v2"]


def test_no_file_and_an_empty_one_have_no_votes(tmp_path: Path) -> None:
    path = tmp_path / "set.votes.jsonl"
    assert ids(path) == []
    path.touch()
    assert ids(path) == []


def test_times_are_in_utc_and_days_stay_days(tmp_path: Path) -> None:
    given = ["2026-01-31T09:00:00+09:00", "2026-01-31T08:00:00Z", "2026-01-31T08:00:00", "20260131"]
    path = written(tmp_path, *(line(n, at=at) for n, at in enumerate(["2026-01-31", *given])))
    assert [vote.at for vote in read_votes_file(path)] == [
        "2026-01-31",
        "2026-01-31T00:00:00+00:00",
        "2026-01-31T08:00:00+00:00",
        "2026-01-31T08:00:00+00:00",
        "2026-01-31T00:00:00+00:00",
    ]


# ── from the file to a log ────────────────────────────────────────────────────────────────────────

OLD = [
    line(1, grade=2, at="2026-01-03", supersedes=""),
    line(2, grade=0, at="2026-01-02"),  # an older file of hers, merged later
    line(3, doc_id="e", judge="ben", grade=1, rationale="he wrote"),
    line(4, doc_id="e", judge="ben", grade=None, supersedes="v3", source="withdrawn"),
    line(5, doc_id="f", judge="cy", grade=0),
    line(6, doc_id="f", judge="dora", grade=2, source="adjudication", at="2026-02-01"),
    line(7, doc_id="f", judge="eve", grade=1, source="adjudication", at="2026-02-02"),
    line(8, doc_id="g", judge="bot", kind="machine", grade=1),
]


def test_reading_leaves_the_file_of_an_earlier_version_alone(
    assay_cli: Assay, tmp_path: Path
) -> None:
    write_set(tmp_path)
    written(tmp_path, *OLD)
    before = sorted(path.name for path in tmp_path.iterdir())
    for asked in (("gold", "adjudicate"), ("gold", "agreement"), ("gold", "policy")):
        assert assay_cli(*asked, "set.json").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_first_command_that_writes_makes_a_log_of_it(assay_cli: Assay, tmp_path: Path) -> None:
    """Ids, times and what holds stay; the file is put away, and people have ids."""
    gold = write_set(tmp_path)
    file = written(tmp_path, *OLD)
    content = file.read_bytes()
    done = assay_cli("gold", "merge", "set.json", "--json")
    assert (done.code, done.json["added"]) == (0, 0), done.err
    assert labels(gold) == {("q0", "d"): 2, ("q0", "f"): 1}
    assert not file.exists()
    assert file.with_name("set.votes.jsonl.before-log").read_bytes() == content
    begun, *rest = acts(gold)
    assert (begun["action"], begun["subject"]) == ("begin", {"set": "set.json"})
    given = {act["id"]: act for act in rest}
    assert [f"v{n}" in given for n in range(1, 9)] == [True] * 8
    assert given["v1"]["at"] == "2026-01-03"
    assert given["v1"]["supersedes"] == ["v2"]  # the later one stood
    assert given["v7"]["supersedes"] == ["v6"]  # and of rulings the later of anybody
    names = {vote["id"]: vote["judge"] for vote in votes(gold)}
    assert (names["v1"], names["v7"], given["v8"]["who"]) == ("ada", "eve", "bot")
    log = (tmp_path / "set.log.jsonl").read_text()
    assert not any(f'"{name}"' in log for name in ("ada", "eve"))


def test_a_team_can_go_back_to_the_file(assay_cli: Assay, tmp_path: Path) -> None:
    gold = write_set(tmp_path)
    old = written(tmp_path, *OLD)
    before = {vote.id: vote for vote in read_votes_file(old)}
    assert assay_cli("gold", "merge", "set.json").code == 0
    write_packet(tmp_path / "a.jsonl", "ada", {("q1", "a"): 1})
    assert assay_cli("gold", "merge", "set.json", "a.jsonl").code == 0
    done = assay_cli("gold", "export-votes", "set.json")
    assert (done.code, "9 votes written to set.votes.jsonl" in done.out + done.err) == (0, True)
    after = {vote.id: vote for vote in read_votes_file(old)}
    told: Any = ("query_id", "doc_id", "grade", "judge", "kind", "at", "rationale", "source")
    for id, vote in before.items():
        assert [getattr(after[id], name) for name in told] == [getattr(vote, name) for name in told]
    assert len(after) == 9
    log = (tmp_path / "set.log.jsonl").read_bytes()
    refused = assay_cli("gold", "export-votes", "set.json")
    assert (refused.code, "the file already exists" in refused.err) == (2, True)
    # where there is a log, it is the truth, and the file is only an export
    kept = labels(gold)
    assert assay_cli("gold", "merge", "set.json").code == 0
    assert (labels(gold), (tmp_path / "set.log.jsonl").read_bytes()) == (kept, log)
