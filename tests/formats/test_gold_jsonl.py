"""`gold-set.jsonl` has one reader: a set to score with and lines to change complain alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.formats import gold_jsonl

ROW = b'{"id":"g001","query":"q","relevant_case_law_ids":["a"],"source":"bootstrap"}\n'


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
    path.write_bytes(b"# head\n" + ROW + line + b"\n")
    as_set, as_lines = (complaint(r, path) for r in (gold_jsonl.read_gold, gold_jsonl.read_lines))
    assert f"{path}:3: " in as_set
    if line != b"\xff":  # a set is read a bounded amount at a time, and counts in columns
        assert as_set == as_lines


def test_what_is_read_as_a_set_and_as_lines_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "gold-set.jsonl"
    path.write_bytes(b"\xef\xbb\xbf// head\r\n\r\n" + ROW + b'{"id":"g2","query":"r","x":1}')
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
    assert "document 'd8' comes twice" in complaint(gold_jsonl.read_gold, path)
