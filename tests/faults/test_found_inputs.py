"""Inputs that fuzzing found, and every parser on its samples changed at random for a moment."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from fuzz import changed, parsers  # type: ignore[import-not-found]

# parser, input: each escaped as something else than an error with a message
FOUND = [
    ("votes", b'{"ys_ago\x89: 20, "qrade": 2, "c_id'),
    ("votes", b'{"query_id": "q1"}\n{"doc_id": ' + b"[" * 9_999 + b"]" * 9_999 + b"}"),
    ("TREC qrels", b"q1 0\rq1 0\ra 210\n"),
    ("TREC qrels", b"\x10\x00\r 0q1 0\ra 220\n"),
    ("TREC qrels", b"q \r 000\x0e\x00 290\n"),
]


# what was found and is no mistake: it is read
READ = [("gold sets, CSV", b"query_id,query,doc_id,grade\nq1,x,a,\x1c2\n")]


@pytest.mark.parametrize(("parser", "data"), READ)
def test_what_was_found_is_read(parser: str, data: bytes) -> None:
    known()[parser][0](data)


@cache
def known() -> dict[str, Any]:
    table: dict[str, Any] = parsers()
    return table


@pytest.mark.parametrize(("parser", "data"), FOUND)
def test_what_was_found_is_refused_with_a_message(parser: str, data: bytes) -> None:
    with pytest.raises(AssayError):
        known()[parser][0](data)


@pytest.mark.parametrize("parser", list(known()))
def test_only_errors_with_a_message_escape(parser: str) -> None:
    parse, samples = known()[parser]
    dice = random.Random(0)
    for _ in range(60):
        with suppress(AssayError):
            parse(changed(dice, samples))
