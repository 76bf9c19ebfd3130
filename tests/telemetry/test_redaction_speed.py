"""A query that nobody typed holds nobody up."""

from __future__ import annotations

import re
import sys

import msgspec
import pytest

from assay.store.records import SearchLog
from assay.telemetry.recorder import Recorder
from assay.telemetry.records import (
    BUILT_IN,
    MAX_QUERY,
    MAX_READ,
    redact,
    redact_search,
    redactor,
    search_from,
)


def reads(head: str, text: str) -> int:
    """How many letters a pattern reads that begins at every place it may begin at."""
    begin = re.compile(head)
    return sum(len(found[0]) for at in range(len(text)) if (found := begin.match(text, at)))


def test_the_pattern_of_addresses_reads_a_long_word_once() -> None:
    before, _, _ = BUILT_IN["email"].pattern.partition("@")
    assert reads(before, "a" * 1000) == 1000
    rules = redactor(["email"])
    assert redact("write to a.b+c@d-e.co.il, please", rules) == "write to [email], please"
    assert redact(f"{'x' * 300}@y.fi", rules) == "[email]"
    assert redact("a@b, c@d.e and @f.g", rules) == "a@b, [email] and @f.g"


@pytest.mark.parametrize("rule", list(BUILT_IN))
def test_a_megabyte_is_redacted_while_one_waits(rule: str) -> None:
    """With a quadratic pattern this takes hours, not a second."""
    for text in ("a" * 2**20, "1" * 2**20, "a." * 2**19, "1-" * 2**19, "a@" * 2**19):
        found = redact(text, redactor([rule]))
        assert found == text or "[" in found


def test_a_query_from_a_program_is_cut_as_any_other() -> None:
    recorder = Recorder(lambda: sys.exit("no store is opened"))
    recorder._thread = object()  # type: ignore[assignment]
    assert recorder.put(search_from({"query": "q" * (MAX_QUERY * 5), "error": "e" * MAX_QUERY * 2}))
    [queued] = [record for record in recorder._queue if isinstance(record, SearchLog)]
    recorder._thread = None
    assert len(queued.query) == len(queued.error) == MAX_READ
    kept = redact_search(queued, ())
    assert (len(kept.query), len(kept.error)) == (MAX_QUERY, MAX_QUERY)


@pytest.mark.parametrize("place", [MAX_QUERY - 12, MAX_READ - 12])
@pytest.mark.parametrize("before", ["word ", "a.b@court.fi "])
def test_an_address_at_the_cut_leaves_no_half(place: int, before: str) -> None:
    """Also where what stands before it becomes shorter, and the end of what is read moves up."""
    query = (before * MAX_QUERY)[: place - 1] + " anna.virtanen@court.fi " + "x" * MAX_QUERY
    search = search_from({"query": query, "error": query})
    for sent in (search, msgspec.structs.replace(search, query=query[:MAX_READ])):
        kept = redact_search(sent, redactor(["email"]))
        assert "anna" not in kept.query + kept.error
        assert 0 < len(kept.query) <= MAX_QUERY
