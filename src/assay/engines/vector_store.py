"""What the vector stores have in common: the question becomes a vector here and nowhere else, a
store is opened when it is first asked, and what is missing is said in one sentence."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from assay.core import plugins
from assay.core.errors import EngineError, InputError
from assay.core.types import Hit, SearchEngine
from assay.engines.secrets import filled, hidden, values_of
from assay.search.dense import ENCODERS, named_encoder

ENCODER = "minilm-l6"  # what reads a question, where nobody says
ID_KEYS = ("doc_id", "document_id")  # where a store keeps the id of a document, if nobody says
# words by which stores say that a vector is longer or shorter than theirs
OF_ANOTHER_SIZE = ("dim", "shape", "vector column")

Scalar = str | int | float | bool
Filters = Mapping[str, Scalar | Sequence[Scalar]]  # {field: value, or any of several}


class StoreTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of every vector store. `encoder` reads the question and must be the one that made
    the vectors; `id` is where the id of a document is, by default `doc_id` or the store's own."""

    collection: str
    encoder: str = ENCODER
    vector: str = ""
    id: str = ""
    title: str = "title"
    text: str = "text"
    key: str = ""


def query_vector(encoder: str, query: str) -> list[float]:
    """The one place where a question becomes a vector."""
    return list(_encoded(encoder, query))


@lru_cache(maxsize=4096)
def _encoded(encoder: str, query: str) -> tuple[float, ...]:
    return tuple(map(float, named_encoder(encoder).queries([query])[0]))


class VectorStore(SearchEngine):
    """An engine on a store. A kind of store says how it is opened and what is nearest."""

    def __init__(self, name: str, table: StoreTable) -> None:
        self._name = name
        self._table = table
        self._opened: Any = None
        self._lock = threading.RLock()

    def name(self) -> str:
        return self._name

    def search(self, query: str, top_k: int = 20, filters: Filters | None = None) -> list[Hit]:
        if not query.strip():
            return []
        vector = query_vector(self._table.encoder, query)
        return self._asked(vector, top_k, filters or {})

    def nearest_to(self, vector: Sequence[float], top_k: int) -> list[Hit]:
        """The hits for a vector that is made already."""
        return self._asked(list(vector), top_k, {})

    def _asked(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        try:
            with self._lock:
                if self._opened is None:
                    self._opened = self._open()
            hits = self._nearest(vector, top_k, filters)
            if not hits and not filters and not getattr(self._table, "filter", None):
                # something is nearest to every question, where there is anything at all
                raise EngineError(
                    f"{self._name}: the collection {self._table.collection!r} is empty: fill it "
                    "first"
                )
        except (EngineError, InputError):
            raise
        except Exception as error:  # every store has errors of its own
            raise EngineError(f"{self._name}: {self._said(error, len(vector))}") from error
        return list({hit.doc_id: hit for hit in reversed(hits)}.values())[::-1][:top_k]

    def _said(self, error: Exception, size: int) -> str:
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if any(word in str(error).lower() for word in OF_ANOTHER_SIZE):
            text += (
                f"; the encoder {self._table.encoder} gives {size} numbers: name the one that made "
                "the vectors with encoder ="
            )
        return hidden(text, values_of(self._texts()))

    def _texts(self) -> list[str]:
        """What the table says, with the names of what is secret."""
        values = msgspec.to_builtins(self._table).values()
        return [value for value in values if isinstance(value, str)]

    def _filled(self, text: str) -> str:
        return filled(text, f"engines.{self._name}")

    def _existing(self, key: str, place: str) -> str:
        """The place of a store. One on this machine must be there: clients make what they do not
        find, and an empty store would be asked."""
        if "://" not in place and not is_address(place) and not Path(place).exists():
            raise InputError(
                f"there is nothing at {place}",
                where=f"engines.{self._name}.{key}",
                hint="Check the path, or fill the store first.",
            )
        return place

    def _hit(self, fields: Mapping[str, object], own: object, score: float) -> Hit:
        table = self._table
        keys = (table.id,) if table.id else ID_KEYS
        found = next((fields[key] for key in keys if fields.get(key) not in (None, "")), None)
        if found is None and table.id:
            known = ", ".join(map(str, fields)) or "none"
            raise InputError(
                f"a document has nothing under {table.id!r}",
                where=f"engines.{self._name}.id",
                hint=f"It has: {known}.",
            )
        title, text = fields.get(table.title), fields.get(table.text)
        return Hit(
            doc_id=str(own if found is None else found),
            score=score,
            title=title if isinstance(title, str) else "",
            text=text if isinstance(text, str) else "",
            metadata={
                str(key): value
                for key, value in fields.items()
                if key not in (*keys, table.title, table.text) and isinstance(value, Scalar)
            },
        )

    @abstractmethod
    def _open(self) -> Any:
        """The collection, opened."""

    @abstractmethod
    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        """The best hits, best first, with scores that fall."""


def is_address(place: str) -> bool:
    return place.startswith(("http://", "https://", "tcp://", "unix:"))


def any_of(value: Scalar | Sequence[Scalar]) -> list[Scalar]:
    return [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)


def quoted(value: Scalar, quote: str = "'") -> str:
    """A value as a filter in text has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if quote == "'":
        return "'" + value.replace("'", "''") + "'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_encoder(table: StoreTable) -> tuple[str, str]:
    """What is wrong with a table before anything is opened."""
    if not table.collection:
        return "collection", "the collection has no name"
    return check_encoded(table.encoder)


def check_encoded(encoder: str) -> tuple[str, str]:
    """An encoder that nobody knows; others are not loaded yet."""
    try:
        if not encoder.startswith("st:") and not plugins.is_known(ENCODERS, encoder):
            named_encoder(encoder)
    except InputError as error:
        return "encoder", f"{error.message}. {error.hint}"
    return "", ""
