"""Reading an answer: the list of hits, an id and a score for each, or what is wrong in words that
say what to change."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import msgspec

from assay.core.types import Hit
from assay.engines.http_table import Pattern
from assay.engines.transport import Response

KEYS_SHOWN = 12
NAMES = ("id", "_id", "doc_id", "document_id", "objectID", "docid", "key", "uuid")
LISTS = ("hits", "results", "docs", "documents", "items", "value", "children", "data", "candidates")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read. Nothing counts where something is wrong; `notes` are for who looks."""

    hits: tuple[Hit, ...] = ()
    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def not_read(why: str) -> Reading:
    return Reading(wrong=(why,))


def read_hits(response: Response, pattern: Pattern, top_k: int) -> Reading:
    answer, wrong = _decoded(response)
    if wrong:
        return not_read(wrong)
    if pattern.error is not None and (said := _found(pattern.error, answer)):
        return not_read(f"the answer says: {said if isinstance(said, str) else _short(said)}")
    found = _found(pattern.hits, answer)
    if not isinstance(found, list):
        return not_read(_no_list(pattern, answer, found))
    hits: list[Hit] = []
    for rank, item in enumerate(found[:top_k], start=1):
        doc_id = _id(_found(pattern.id, item))
        if doc_id is None:
            return not_read(_no_id(pattern, item, rank))
        score = _found(pattern.score, item) if pattern.score is not None else None
        if score is not None and not _is_number(score):
            return not_read(
                f"score = {_text(pattern.score)} finds {_short(score)} at rank {rank}, "
                "which is no number"
            )
        hits.append(_hit(doc_id, score, pattern, item))
    return Reading(hits=tuple(hits), notes=tuple(_notes(hits, pattern, found, top_k)))


def _decoded(response: Response) -> tuple[Any, str]:
    try:
        return msgspec.json.decode(response.body), ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    start = " ".join(response.body[:160].decode("utf-8", "replace").split())
    if not response.body:
        return None, f"the answer is empty (status {response.status}), and JSON is expected"
    if "html" in kind or start.lower().startswith(("<!doctype html", "<html")):
        return None, (
            "the answer is a web page and not JSON: is this the address of the service itself, and "
            f"not of a login page, a proxy or a console? It begins: {start}"
        )
    named = f" ({kind})" if kind else ""
    return None, f"the answer{named} is not JSON; it begins: {start}"


def _found(expression: Any, value: Any) -> Any:
    """What an expression finds; a function that does not fit what it is given finds nothing."""
    from jmespath.exceptions import JMESPathError

    try:
        return expression.search(value)
    except (JMESPathError, TypeError):
        return None


def _id(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) and value else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _hit(doc_id: str, score: Any, pattern: Pattern, item: Any) -> Hit:
    return Hit(
        doc_id=doc_id,
        score=None if score is None else float(score),
        title=_words(pattern.title, item),
        text=_words(pattern.text, item),
    )


def _words(expression: Any, item: Any) -> str:
    found = _found(expression, item) if expression is not None else None
    return found if isinstance(found, str) else ""


# ── in words ──────────────────────────────────────────────────────────────────────────────────────


def _text(expression: Any) -> str:
    return repr(expression.expression)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}…"


def _keys(value: Any) -> str:
    if isinstance(value, dict):
        names = list(value)
        more = ", …" if len(names) > KEYS_SHOWN else ""
        return f"It has the keys {', '.join(names[:KEYS_SHOWN])}{more}." if names else "It is {}."
    if isinstance(value, list):
        return f"It is a list of {len(value)}."
    return f"It is {_short(value)}."


def _no_list(pattern: Pattern, answer: Any, found: Any) -> str:
    what = "nothing" if found is None else f"{_short(found)}, which is no list,"
    here = "" if found is None else _keys(found) if isinstance(found, dict) else ""
    likely = _lists_in(answer)
    try_it = f" Perhaps hits = {likely[0]!r}?" if likely else ""
    return (
        f"hits = {_text(pattern.hits)} finds {what} in the answer. {here or _keys(answer)}{try_it}"
    )


def _no_id(pattern: Pattern, item: Any, rank: int) -> str:
    found = _found(pattern.id, item)
    what = "nothing" if found is None else f"{_short(found)}, which is no id,"
    likely = [name for name in NAMES if isinstance(item, dict) and _id(item.get(name))]
    likely += ["@"] if _id(item) else []
    try_it = f" Perhaps id = {likely[0]!r}?" if likely else ""
    return f"id = {_text(pattern.id)} finds {what} at rank {rank}. {_keys(item)}{try_it}"


def _lists_in(answer: Any, path: str = "", depth: int = 0) -> list[str]:
    """Where lists of hits may be, the likely ones first."""
    if isinstance(answer, list) and depth == 0:
        return ["@"]
    if not isinstance(answer, dict) or depth > 3:
        return []
    here, below = [], []
    for name, value in answer.items():
        plain = name.isascii() and name.isidentifier()
        step = name if plain else msgspec.json.encode(name).decode()
        place = f"{path}.{step}" if path else step
        if isinstance(value, list) and (not value or isinstance(value[0], dict | str)):
            here.append((name not in LISTS, place))
        below += _lists_in(value, place, depth + 1)
    return [place for _, place in sorted(here, key=lambda pair: pair[0])] + below


SCORES = ("score", "_score", "relevance", "similarity", "rank_score")  # what others call it


def _notes(hits: list[Hit], pattern: Pattern, found: list[Any], top_k: int) -> list[str]:
    notes = []
    if not found:
        notes.append("there are no hits for this query")
    if len(found) > top_k:
        notes.append(
            f"{len(found)} hits came and {top_k} were asked for: is {{{{top_k}}}} in the request?"
        )
    ids = [hit.doc_id for hit in hits]
    if len(set(ids)) < len(ids):
        notes.append(
            f"{len(ids) - len(set(ids))} ids come twice: a run keeps the first place of each"
        )
    if pattern.score is not None and hits and all(hit.score is None for hit in hits):
        notes.append(f"score = {_text(pattern.score)} finds nothing: the hits have no scores")
    if pattern.score is None and hits and isinstance(found[0], dict):
        key = next((key for key in SCORES if _is_number(found[0].get(key))), "")
        notes += [f'the hits have no scores: write score = "{key}" to read theirs'] if key else []
    scores = [hit.score for hit in hits if hit.score is not None]
    if any(later > earlier for earlier, later in pairwise(scores)):
        notes.append("scores rise further down: the order of the answer counts, not the scores")
    return notes
