"""Guess the mapping of a search answer by its shape: the path to the list of hits, and in each hit
the paths to the id, score, title and text. All paths are JMESPath.

The guess is a proposal: `fields_of` lists every value of the hits with the parts that it could
play, for a person to choose from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from assay.core.types import Hit

# usual names, the likely ones first
LISTS = ("hits", "results", "docs", "documents", "items", "value", "children", "data", "candidates")
IDS = ("id", "_id", "doc_id", "document_id", "objectID", "docid", "_key", "key", "uuid", "url")
SCORES = ("score", "_score", "relevance", "similarity", "rank_score", "_rankingScore", "text_match")
TITLES = ("title", "name", "heading", "subject", "caption")
TEXTS = ("text", "content", "body", "snippet", "summary", "abstract", "highlight")
# taste: how much of an answer is looked at, and shown
DEEPEST = 4  # levels of objects that are looked into
HITS_READ = 20  # hits
EXAMPLE_CHARACTERS = 60  # characters of an example


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A value of the hits: its path, what it is in the first hit, the parts that it can play, and
    the `part` that it probably plays."""

    path: str
    example: str
    part: str = ""
    parts: list[str] = []


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """The paths that were chosen; empty where there is none. `lists` and `fields` are what there is
    to choose from."""

    hits: str = ""
    id: str = ""
    score: str = ""
    title: str = ""
    text: str = ""
    lists: list[str] = []
    fields: list[Field] = []

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a table of an engine."""
        paths = {name: getattr(self, name) for name in ("hits", "id", "score", "title", "text")}
        return {name: path for name, path in paths.items() if path}


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A table for a search service, guessed from one of its answers, and the hits that it reads."""

    name: str
    table: str
    mapping: Mapping
    hits: list[Hit] = []
    wrong: list[str] = []
    notes: list[str] = []


def guess_mapping(answer: object, **chosen: str) -> Mapping:
    """The likely mapping of a decoded answer. Paths that are `chosen` stay."""
    lists = lists_in(answer)
    hits = chosen.get("hits") or next(iter(lists), "")
    items = find(hits, answer)
    fields = fields_of(items) if isinstance(items, list) else []
    guessed = {
        part: chosen.get(part) or next((one.path for one in fields if one.part == part), "")
        for part in ("id", "score", "title", "text")
    }
    return Mapping(hits=hits, lists=lists, fields=fields, **guessed)


def find(path: str, value: object) -> Any:
    """The value at a path; none where the path is not valid, or finds nothing."""
    import jmespath

    try:
        return jmespath.search(path, value) if path else None
    except (jmespath.exceptions.JMESPathError, TypeError):
        return None


def lists_in(answer: object) -> list[str]:
    """The paths to possible lists of hits: those with ids and a usual name first."""
    found = list(_lists(answer, "", 0))
    return [path for _, path in sorted(found, key=lambda pair: pair[0])]


def _lists(value: object, path: str, depth: int) -> Iterator[tuple[tuple[bool, int, int], str]]:
    if isinstance(value, list):
        start = _first_row(value)
        rows = value[start:]
        if rows and (isinstance(rows[0], dict | str) or all(map(_is_row, rows))):
            parts = {one.part for one in fields_of(rows)}
            name = path.rpartition(".")[2]
            rank = ("id" not in parts, 2 - (name in LISTS) - ("score" in parts), depth)
            yield rank, f"{path}[{start}:]" if start else path or "@"
        elif not rows:
            yield (True, 2 - (path.rpartition(".")[2] in LISTS), depth), path or "@"
        elif depth < DEEPEST:
            for at, inner in enumerate(value[:2]):
                yield from _lists(inner, f"{path}[{at}]", depth + 1)
    elif isinstance(value, dict) and depth < DEEPEST:
        for name, inner in value.items():
            yield from _lists(inner, f"{path}.{_step(name)}" if path else _step(name), depth + 1)


def _first_row(rows: list[Any]) -> int:
    """Where the rows begin in a list of lists whose first entries are about the columns."""
    if not rows or not _is_row(rows[-1]):
        return 0
    start = len(rows)
    while start and _is_row(rows[start - 1]) and len(rows[start - 1]) == len(rows[-1]):
        start -= 1
    return start


def _is_row(value: object) -> bool:
    """Whether a hit is a list of plain values, as in a table."""
    plain = isinstance(value, list) and not any(isinstance(one, list | dict) for one in value)
    return plain and len(value) > 1  # type: ignore[arg-type]


def _step(name: str) -> str:
    plain = name.isascii() and name.isidentifier()
    return name if plain else msgspec.json.encode(name).decode()


# ── the values of the hits ────────────────────────────────────────────────────────────────────────


def fields_of(items: Sequence[object]) -> list[Field]:
    """The values of the first hits. Each part is played by one of them at most."""
    items = items[:HITS_READ]
    if not items:
        return []
    values = {path: [find(path, item) for item in items] for path in _paths(items[0], "", 0)}
    likely = {part: _likely_path(part, values) for part in ("id", "score", "title", "text")}
    played: dict[str, str] = {}
    for part, paths in likely.items():
        if path := next((path for path in paths if path not in played), ""):
            played[path] = part
    return [
        Field(
            path=path,
            example=_shown_keys(column[0]),
            part=played.get(path, ""),
            parts=[part for part, paths in likely.items() if path in paths],
        )
        for path, column in values.items()
    ]


def _paths(item: object, path: str, depth: int) -> Iterator[str]:
    if isinstance(item, dict) and depth < DEEPEST:
        for name, value in item.items():
            yield from _paths(value, f"{path}.{_step(name)}" if path else _step(name), depth + 1)
    elif isinstance(item, list) and depth < DEEPEST:
        for at, value in enumerate(item if not path else item[:1]):
            yield from _paths(value, f"{path}[{at}]", depth + 1)
    elif isinstance(item, str | int | float) and not isinstance(item, bool):
        yield path or "@"


def _likely_path(part: str, values: dict[str, list[Any]]) -> list[str]:
    """The paths that can play a part, the likely ones first."""
    names = {"id": IDS, "score": SCORES, "title": TITLES, "text": TEXTS}[part]
    can = {"id": _is_id, "score": _is_score, "title": _is_title, "text": _is_text}[part]
    found = []
    for path, column in values.items():
        name = path.rpartition(".")[2].partition("[")[0].strip('"@')
        place = next((n for n, usual in enumerate(names) if usual.lower() == name.lower()), 99)
        by_name = place < 99 or any(name.lower().endswith(usual.lower()) for usual in names)
        if can(column, by_name or (part == "score" and path.startswith("["))):
            found.append(((place, not by_name, path.count(".")), path))
    return [path for _, path in sorted(found, key=lambda pair: pair[0])]


def _is_id(column: list[Any], by_name: bool) -> bool:
    if not all(isinstance(value, str | int) and value != "" for value in column):
        return False
    if any(len(str(value)) > 200 for value in column):
        return False
    few_words = all(str(value).count(" ") <= 2 for value in column)  # or it is a title
    return by_name or (few_words and len(set(column)) == len(column) and isinstance(column[0], str))


def number(value: object) -> float | None:
    """The number, which some servers write as a text."""
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _is_score(column: list[Any], by_name: bool) -> bool:
    numbers = [number(value) for value in column]
    known = [value for value in numbers if value is not None]
    if len(known) < len(numbers):
        return False
    falls = all(first >= second for first, second in pairwise(known))
    return by_name or (falls and any(isinstance(value, float) for value in column))


def _is_title(column: list[Any], by_name: bool) -> bool:
    texts = [value for value in column if isinstance(value, str)]
    return len(texts) == len(column) and by_name and max(map(len, texts)) < 400


def _is_text(column: list[Any], by_name: bool) -> bool:
    texts = [value for value in column if isinstance(value, str)]
    is_long = bool(texts) and sum(map(len, texts)) / len(texts) > 80
    return len(texts) == len(column) and (by_name or is_long)


def _shown_keys(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= EXAMPLE_CHARACTERS else f"{text[:EXAMPLE_CHARACTERS]}…"
