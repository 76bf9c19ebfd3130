"""Convert plain JSON values to records, with the JSON path in every error message."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.types import JsonObject

T = TypeVar("T", bound=msgspec.Struct)

# taste: far beyond real queries and ids; what is longer is a file read wrongly
MAX_QUERY_CHARACTERS = 100_000
MAX_ID_CHARACTERS = 4_096


def read_record(value: Any, kind: type[T], path: Path | str, at: str, hint: str = "") -> T:
    """Convert one JSON object; unknown keys are ignored here (`unknown_keys` collects them)."""
    try:
        return msgspec.convert(value, thread_safe(kind))
    except msgspec.ValidationError as error:
        raise record_error(error, path, at, hint) from error


def record_error(
    error: msgspec.ValidationError, path: Path | str, at: str, hint: str = ""
) -> InputError:
    """The error of msgspec in the words of people who edit JSON, with its place."""
    message, _, inner = str(error).partition(" - at `$")
    return InputError(_in_plain_words(message), where=f"{path}: {at}{inner.rstrip('`')}", hint=hint)


def unknown_keys(value: JsonObject, kind: type[msgspec.Struct]) -> JsonObject:
    known = kind.__struct_encode_fields__
    return {key: item for key, item in value.items() if key not in known}


def require_type(
    value: Any, kind: type | tuple[type, ...], path: Path | str, at: str, name: str
) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"expected {name}, got {type_in_words(value)}", where=f"{path}: {at}")
    return value


def text_of(value: str, path: Path | str, at: str) -> str:
    if not value.strip():
        raise InputError(
            "the text is empty", where=f"{path}: {at}", hint="Every query needs its text."
        )
    if len(value) > MAX_QUERY_CHARACTERS:
        raise InputError(
            f"the text has {len(value):,} characters, at most {MAX_QUERY_CHARACTERS:,} are read",
            where=f"{path}: {at}",
        )
    return value


def refuse_repeated(name: str, seen: set[str], path: Path | str, at: str, what: str) -> None:
    if name in seen:
        raise InputError(
            f"the {what} {name!r} appears twice", where=f"{path}: {at}", hint="Ids must be unique."
        )
    seen.add(name)


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that occurs more than once."""
    counts = Counter(names)
    return next((name for name in names if counts[name] > 1), None)


def judged_twice(query_id: str, doc_id: str, where: str) -> InputError:
    return InputError(
        f"document {doc_id!r} is judged twice on query {query_id!r}",
        where=where,
        hint="Keep one judgment per pair.",
    )


def id_of(value: str, path: Path, at: str) -> str:
    """An id that can be written, printed and compared."""
    if not value or len(value) > MAX_ID_CHARACTERS:
        size = "empty" if not value else f"{len(value):,} characters long"
        raise InputError(
            f"the id is {size}, expected 1 to {MAX_ID_CHARACTERS:,}", where=f"{path}: {at}"[:500]
        )
    return value


def finite_number(value: int | float, path: Path, at: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError("the score is too large for a number", where=f"{path}: {at}"[:500])
    return number


def grade_of(text: str, where: str, hint: str = "") -> int:
    """A grade written as text: a whole number that a small integer column holds. Spreadsheets and
    other tools write 2 as 2.0, or as 2,0 where that is the custom; 2.5 is no grade."""
    found = re.fullmatch(r"\s*(-?[0-9]{1,2})([.,]0+)?\s*", text)
    if found is None:
        raise InputError(
            f"the grade {text[:40]!r} is not a whole number between -99 and 99",
            where=where,
            hint=hint,
        )
    return int(found[1])


def type_in_words(value: Any) -> str:
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), type(value).__name__)


KIND_NAMES = {
    "int": "a whole number",
    "str": "a string",
    "array": "an array",
    "object": "an object",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}


def _in_plain_words(message: str) -> str:
    """The message of msgspec in the words of people who edit JSON: "Expected `int | null`, got
    `str`" becomes number and string."""
    message = re.sub(r"Object missing required field `([^`]*)`", r"the key \1 is missing", message)
    message = re.sub(r"`([^`]*)`", lambda kinds: _kinds_in_words(kinds[1]), message)
    return message[:1].lower() + message[1:]


def _kinds_in_words(kinds: str) -> str:
    names = kinds.split(" | ")
    told = [name for name in names if name != "int" or "float" not in names]
    return " or ".join(KIND_NAMES.get(name, name) for name in told)


_CONFLICT = re.compile(rb"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)


@contextlib.contextmanager
def explain_conflict(path: Path, content: bytes | None = None) -> Iterator[None]:
    """Explain how to resolve a git conflict, if that is why a gold file cannot be read."""
    try:
        yield
    except InputError as error:
        found = content if content is not None else path.read_bytes() if path.is_file() else b""
        if not _CONFLICT.search(found):
            raise
        raise InputError(
            "git left a conflict in the file",
            where=str(path),
            hint=f"`assay gold rebuild {path}` resolves it from the log of the set.",
        ) from error
