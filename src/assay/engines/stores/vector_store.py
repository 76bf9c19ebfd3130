"""The base of the engines on vector stores: it encodes the query, connects when the first query is
asked, and reports errors of the store in one sentence."""

from __future__ import annotations

import contextlib
import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from assay.core import plugins
from assay.core.errors import AssayError, EngineError, InputError
from assay.core.extras import imported
from assay.core.types import Hit, SearchEngine
from assay.engines.secrets import values_of, with_secrets, without_secrets
from assay.search.dense import ENCODERS, named_encoder

ENCODER = "minilm-l6"  # the default encoder of queries
ID_KEYS = ("doc_id", "document_id")  # default fields of a document's id
SHOWN_CHARACTERS = 20_000  # characters of a text that are kept to be shown (taste)
# words in a store's error about a vector of the wrong length
WRONG_LENGTH = ("dim", "shape", "vector column")

Scalar = str | int | float | bool
Filters = Mapping[str, Scalar | Sequence[Scalar]]  # {field: value, or any of several}


class StoreTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of every vector store. `encoder` reads the query and must be the one that made
    the vectors; `id` is the field with the id of a document, by default `doc_id` or the store's
    own id."""

    collection: str
    encoder: str = ENCODER
    vector: str = ""
    id: str = ""
    title: str = "title"
    text: str = "text"
    key: str = ""


def query_vector(encoder: str, query: str) -> list[float]:
    """The vector of a query. Every engine on a store encodes its queries here."""
    return list(_encoded(encoder, query))


@lru_cache(maxsize=4096)
def _encoded(encoder: str, query: str) -> tuple[float, ...]:
    return tuple(map(float, named_encoder(encoder).queries([query])[0]))


class VectorStore(SearchEngine):
    """A search engine on one collection of a vector store. Each kind of store says how its client
    connects, how a collection is opened, and which documents are nearest."""

    kind: ClassVar[str]  # the key of the table with the store's place, and the extra it needs
    package: ClassVar[str]  # the module of its client
    title: ClassVar[str]
    noun: ClassVar[str] = "collection"

    def __init__(self, name: str, table: StoreTable) -> None:
        self._name = name
        self._table = table
        self._collection = table.collection
        self._description = f"{table.collection}__assay"  # the collection about a loaded corpus
        self._lock = threading.RLock()
        self._connected: Any = None
        self._opened: Any = None
        self._is_local = False

    def name(self) -> str:
        return self._name

    def search(self, query: str, top_k: int = 20, filters: Filters | None = None) -> list[Hit]:
        if not query.strip():
            return []
        vector = query_vector(self._table.encoder, query)
        try:
            with self._lock:
                if self._opened is None:
                    self._module()
                    self._refuse_missing_place()
                    self._opened = self._open(self._client())
            hits = self._nearest(vector, top_k, filters or {})
        except AssayError:
            if self._opened is None:
                self._connected = None  # lets go of the store, which others may open
            raise
        except Exception as error:  # every client has errors of its own
            raise EngineError(f"{self._name}: {self._reason(error, len(vector))}") from error
        if not hits and not filters and not getattr(self._table, "filter", None):
            # some document is always nearest, unless there is none
            raise EngineError(
                f"{self._name}: the collection {self._collection!r} is empty: fill it first"
            )
        return list({hit.doc_id: hit for hit in reversed(hits)}.values())[::-1][:top_k]

    @abstractmethod
    def _connect(self, place: str, key: str) -> Any:
        """The client of the store at this place."""

    @abstractmethod
    def _open(self, client: Any) -> Any:
        """The collection to search, or the client; a missing collection is refused."""

    @abstractmethod
    def _nearest(self, vector: list[float], top_k: int, filters: Filters) -> list[Hit]:
        """The best hits, best first, with falling scores."""

    # ── the client ────────────────────────────────────────────────────────────────────────────────

    def _module(self, part: str = "") -> Any:
        return imported(f"{self.package}{part}", self.title, self.kind)

    def _client(self) -> Any:
        """The client, connected when it is first needed."""
        with self._lock:
            if self._connected is None:
                place = self._filled(getattr(self._table, self.kind))
                self._is_local = not is_address(place)
                self._connected = self._connect(place, self._filled(self._table.key))
            return self._connected

    def _turn(self) -> contextlib.AbstractContextManager[object]:
        """A store on this machine serves one thread at a time, a server any number."""
        return self._lock if self._is_local else contextlib.nullcontext()

    def _call(self, method: str, *values: Any, **options: Any) -> Any:
        """Call a method of the client, to load a corpus or for Assay's ranking."""
        try:
            client = self._client()
            with self._turn():
                return getattr(client, method)(*values, **options)
        except AssayError:
            raise
        except Exception as error:  # every client has errors of its own
            raise EngineError(f"{self._name}: {self._without_secrets(str(error))}") from error

    def _reason(self, error: Exception, size: int) -> str:
        text = first_line(error)
        if any(word in str(error).lower() for word in WRONG_LENGTH):
            text += (
                f"; the encoder {self._table.encoder} gives {size} numbers: name the one that made "
                "the vectors with encoder ="
            )
        return self._without_secrets(text)

    def _without_secrets(self, text: str) -> str:
        values = msgspec.to_builtins(self._table).values()
        return without_secrets(text, values_of(value for value in values if isinstance(value, str)))

    def _filled(self, text: str) -> str:
        return with_secrets(text, f"engines.{self._name}")

    def target(self) -> tuple[str, str, str]:
        """What a corpus is loaded into: the word for it, its name, and the key of the table."""
        return self.noun, self._collection, "collection"

    # ── what is missing ───────────────────────────────────────────────────────────────────────────

    def _refuse_missing_place(self) -> None:
        """Refuse a file or folder that does not exist: clients would create an empty store."""
        place = self._filled(getattr(self._table, self.kind))
        if "://" not in place and not is_address(place) and not Path(place).exists():
            raise InputError(
                f"there is nothing at {place}",
                where=f"engines.{self._name}.{self.kind}",
                hint="Check the path, or fill the store first.",
            )

    def _missing_collection(self, known: Iterable[str]) -> InputError:
        return InputError(
            f"there is no {self.noun} {self._collection!r}",
            where=f"engines.{self._name}.collection",
            hint=f"There is: {', '.join(known) or 'none'}.",
        )

    # ── hits ──────────────────────────────────────────────────────────────────────────────────────

    def _hit(self, fields: Mapping[str, object], own_id: object, score: float) -> Hit:
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
            doc_id=str(own_id if found is None else found),
            score=score,
            title=title if isinstance(title, str) else "",
            text=text if isinstance(text, str) else "",
            metadata={
                str(key): value
                for key, value in fields.items()
                if key not in (*keys, table.title, table.text) and isinstance(value, Scalar)
            },
        )


# ── values and errors ─────────────────────────────────────────────────────────────────────────────


def is_address(place: str) -> bool:
    return place.startswith(("http://", "https://", "tcp://", "unix:"))


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def any_of(value: Scalar | Sequence[Scalar]) -> list[Scalar]:
    return [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)


def hash_terms(terms: Mapping[str, float]) -> tuple[list[int], list[float]]:
    """The terms of a sparse vector as numbers, by their hash; the values of terms with the same
    hash are added up."""
    mmh3 = imported("mmh3", "Qdrant", "qdrant")
    values: dict[int, float] = {}
    for term, value in terms.items():
        key = mmh3.hash(term, 0, signed=False) % HASHES
        values[key] = values.get(key, 0.0) + value
    return list(values), list(values.values())


HASHES = 2**32 - 1  # possible indices of a sparse vector: they have 32 bits


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def check_store_table(table: StoreTable) -> tuple[str, str]:
    """The first mistake in a table, as (key, message), or two empty texts."""
    if not table.collection:
        return "collection", "the collection has no name"
    return check_encoder(table.encoder)


def check_encoder(encoder: str) -> tuple[str, str]:
    """Refuse an unknown encoder; no encoder is loaded."""
    try:
        if not encoder.startswith("st:") and not plugins.is_known(ENCODERS, encoder):
            named_encoder(encoder)
    except InputError as error:
        return "encoder", f"{error.message}. {error.hint}"
    return "", ""
