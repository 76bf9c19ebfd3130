"""Whatever stands in a file, it is read or refused with an InputError; no other exception escapes a
reader."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import read_gold, read_run
from assay.core.errors import InputError
from assay.core.types import GoldSet, Run
from kit.gold_examples import DATASET, GOLDEN, JSONL

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["", "q1", "2", "\x00", "a\tb", "[/b]", "٣", "²"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)

RESULTS = {
    "engine": "e",
    "per_query": [
        {
            "query_id": "q1",
            "results": ["a", {"doc_id": "b", "score": 1.0}],
            "latency_ms": 1.0,
            "error": None,
        }
    ],
}
BEIR = {"q1": {"a": 1.0, "b": 2}, "q2": {}}


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON value, itself included."""
    yield here
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield from places(item, (*here, key))


def replaced(value: Any, place: tuple[Any, ...], by: Any) -> Any:
    if not place:
        return by
    changed = copy.deepcopy(value)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = by
    return changed


@pytest.mark.parametrize(
    ("name", "example", "read"),
    [
        ("dataset.json", DATASET, read_gold),
        ("golden.json", GOLDEN, read_gold),
        ("gold-set.jsonl", JSONL[0], read_gold),
        ("results.json", RESULTS, read_run),
        ("beir.json", BEIR, read_run),
    ],
)
@given(data=st.data())
def test_any_json_value_anywhere(
    name: str,
    example: Any,
    read: Any,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = data.draw(st.sampled_from(list(places(example))))
    value = replaced(example, place, data.draw(JSON))
    path = tmp_path_factory.getbasetemp() / name
    path.write_text(json.dumps(value))
    with suppress(InputError):
        assert isinstance(read(path), GoldSet | Run)


WORDS = st.sampled_from(
    [
        "q1",
        "q2",
        "0",
        "Q0",
        "A",
        "B",
        "1",
        "2.5",
        "-1",
        "--1",
        "nan",
        "inf",
        "1e999",
        "²",
        "99999999999",
        "é",
        "תקדים",
        " ",
        "  ",
        "\t",
        "\n",
        "\n",
        "\r\n",
        "#",
        ",",
        '"',
        "\x00",
        "\ufeff",
        "query_id,query,doc_id,grade\n",
    ]
)


@pytest.mark.parametrize("name", ["x.run", "x.qrels", "x.csv", "x.jsonl", "x.json"])
@given(words=st.lists(WORDS, max_size=30), tail=st.binary(max_size=4))
def test_any_text_or_bytes(
    name: str, words: list[str], tail: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path: Path = tmp_path_factory.getbasetemp() / name
    path.write_bytes("".join(words).encode() + tail)
    with suppress(InputError):
        assert isinstance(read_run(path) if name == "x.run" else read_gold(path), GoldSet | Run)
