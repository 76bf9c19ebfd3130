"""Reading an answer: the list of hits, an id and a score for each, or what is wrong in words that
say what to change."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import msgspec

from assay.core.types import Hit
from assay.engines.http_table import Pattern
from assay.engines.transport import UNPACKED, Response

KEYS_SHOWN = 12
NAMES = ("id", "_id", "doc_id", "document_id", "objectID", "docid", "key", "uuid")
CLOSED_BY = {b"{": b"}", b"[": b"]"}
LISTS = ("hits", "results", "docs", "documents", "items", "value", "children", "data", "candidates")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read. Nothing counts where something is wrong, which `may_pass` if the answer was
    cut short; `notes` are for who looks."""

    hits: tuple[Hit, ...] = ()
    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    may_pass: bool = False


def not_read(why: str) -> Reading:
    return Reading(wrong=(why,))


def read_hits(response: Response, pattern: Pattern, top_k: int) -> Reading:
    """Where more hits came than were asked for, the first documents count: somebody may ask for
    many passages to get enough documents."""
    answer, wrong, cut_short = _decoded(response)
    if wrong:
        return Reading(wrong=(wrong,), may_pass=cut_short)
    if pattern.error is not None and (said := _found(pattern.error, answer)):
        return not_read(f"the answer says: {said if isinstance(said, str) else _short(said)}")
    found = _found(pattern.hits, answer)
    if not isinstance(found, list):
        return not_read(_no_list(pattern, answer, found))
    hits: list[Hit] = []
    for rank, item in enumerate(found, start=1):
        if len(hits) == top_k:
            break
        doc_id = _id(_found(pattern.id, item))
        if doc_id is None:
            return not_read(_no_id(pattern, item, rank))
        if len(found) > top_k and any(hit.doc_id == doc_id for hit in hits):
            continue
        said = _found(pattern.score, item) if pattern.score is not None else None
        score = _number(said)
        if said is not None and score is None:
            return not_read(
                f"score = {_text(pattern.score)} finds {_short(said)} at rank {rank}, "
                "which is no number"
            )
        hits.append(_hit(doc_id, score, pattern, item))
    notes = (*_notes(hits, pattern, found, top_k), *_unread_error(found, pattern, answer))
    return Reading(hits=tuple(hits), notes=notes)


def _decoded(response: Response) -> tuple[Any, str, bool]:
    """The JSON of an answer; else what is wrong with it, and whether it was cut short."""
    for text in (response.body, _respelled(response)):
        try:
            return msgspec.json.decode(text), "", False
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    start = " ".join(response.body[:160].decode("utf-8", "replace").split())
    if not response.body:
        wrong = f"the answer is empty (status {response.status}), and JSON is expected"
        return None, wrong, False
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed and packed not in UNPACKED:
        wrong = f"the answer is packed by {packed!r}, though it was asked for as it is"
        return None, wrong, False
    if "html" in kind or start.lower().startswith(("<!doctype html", "<html")):
        wrong = (
            "the answer is a web page and not JSON: is this the address of the service itself, and "
            f"not of a login page, a proxy or a console? It begins: {start}"
        )
        return None, wrong, False
    named = f" ({kind})" if kind else ""
    body = response.body.strip()
    if body[:1] in CLOSED_BY and not body.endswith(CLOSED_BY[body[:1]]):
        end = " ".join(response.body[-80:].decode("utf-8", "replace").split())
        return None, f"the answer{named} ends too soon, in the middle of its JSON: …{end}", True
    return None, f"the answer{named} is not JSON; it begins: {start}", False


def _respelled(response: Response) -> str | bytes:
    """The body by the letters that its header names, or that it begins with; JSON is UTF-8, and
    some servers write it otherwise."""
    _, _, named = response.headers.get("content-type", "").lower().partition("charset=")
    letters = named.partition(";")[0].strip(" \"'") or json.detect_encoding(response.body)
    if letters in ("utf-8", "utf8"):
        letters = "utf-8-sig"
    try:
        return response.body.decode(letters)
    except (LookupError, UnicodeDecodeError):
        return response.body


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


def _number(value: Any) -> float | None:
    """A number, or a text that is one: some servers write numbers so."""
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _hit(doc_id: str, score: float | None, pattern: Pattern, item: Any) -> Hit:
    return Hit(
        doc_id=doc_id,
        score=score,
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
    if _is_null(pattern, answer):
        path = pattern.hits.expression
        return (
            f"hits = {_text(pattern.hits)} is null in the answer. If that means that there are no "
            f'hits, write hits = "{path} || `[]`"'
        )
    what = "nothing" if found is None else f"{_short(found)}, which is no list,"
    here = "" if found is None else _keys(found) if isinstance(found, dict) else ""
    likely = _lists_in(answer)
    try_it = f" Perhaps hits = {likely[0]!r}?" if likely else ""
    return (
        f"hits = {_text(pattern.hits)} finds {what} in the answer. {here or _keys(answer)}{try_it}"
    )


def _is_null(pattern: Pattern, answer: Any) -> bool:
    """Whether a plain path leads to a null, and not to nothing."""
    for name in pattern.hits.expression.split("."):
        if not isinstance(answer, dict) or name not in answer:
            return False
        answer = answer[name]
    return answer is None


def _no_id(pattern: Pattern, item: Any, rank: int) -> str:
    found = _found(pattern.id, item)
    what = "nothing" if found is None else f"{_short(found)}, which is no id,"
    likely = [name for name in NAMES if isinstance(item, dict) and _id(item.get(name))]
    likely += ["@"] if _id(item) else []
    if isinstance(found, list) and found and _id(found[0]):
        likely = [f"{pattern.id.expression}[0]"]
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
    ids = [_id(_found(pattern.id, item)) for item in found[:top_k]]
    if len(set(ids)) < len(ids):
        notes.append(
            f"{len(ids) - len(set(ids))} ids come twice: a run keeps the first place of each"
        )
    if pattern.score is not None and hits and all(hit.score is None for hit in hits):
        notes.append(f"score = {_text(pattern.score)} finds nothing: the hits have no scores")
    if pattern.score is None and hits and isinstance(found[0], dict):
        key = next((key for key in SCORES if _number(found[0].get(key)) is not None), "")
        notes += [f'the hits have no scores: write score = "{key}" to read theirs'] if key else []
    scores = [hit.score for hit in hits if hit.score is not None]
    if any(later > earlier for earlier, later in pairwise(scores)):
        notes.append("scores rise further down: the order of the answer counts, not the scores")
    return notes


ERRORS = ("error", "errors", "exception", "message", "detail")  # what others call it


def _unread_error(found: list[Any], pattern: Pattern, answer: Any) -> list[str]:
    """An answer without hits may say why, where the table does not look."""
    if found or pattern.error is not None or not isinstance(answer, dict):
        return []
    key = next((key for key in ERRORS if answer.get(key)), "")
    told = f'the answer has a key {key}, {_short(answer.get(key))}: write error = "{key}"'
    return [f"{told} to have it read as an error"] if key else []
