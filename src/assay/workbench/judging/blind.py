"""Runs as a judge sees them who still has documents to judge: engines have letters for names, and
queries with a document left show no ranks and no grades."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from assay.core.errors import AssayError
from assay.core.results import GoldenEntry, Results
from assay.judging.pool import pool_path
from assay.law.queries import normal_query
from assay.store.records import ANSWERS, RunRecord
from assay.workbench.judging.session import open_session
from assay.workbench.project.config import Config
from assay.workbench.project.service import Service, run_name
from assay.workbench.scoring.history import run_records

if TYPE_CHECKING:
    from assay.store import Store

KNOWN = 2_000  # newest runs whose engines have a letter; chosen
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEPT_INPUTS = ("corpus", "gold", "dataset")  # of a receipt; others may be named after an engine


@dataclass(frozen=True, kw_only=True)
class OpenPairs:
    """The documents that a judge has left: how many, and by set (as runs name it) and query."""

    documents: int
    queries: Mapping[str, Mapping[str, int]]
    texts: frozenset[str]

    def hides(self, gold: str, query_id: str) -> bool:
        return query_id in self.queries.get(gold, ())

    def asks(self, question: str) -> bool:
        """Whether a question is that of a query with a document left."""
        return _normal(question) in set(map(_normal, self.texts))


_normal = lru_cache(maxsize=8_192)(normal_query)


def open_pairs(service: Service, judge: str) -> OpenPairs | None:
    """The pairs that a judge has left in all sets; None if there are none."""
    queries: dict[str, dict[str, int]] = {}
    texts = set[str]()
    for path in service.gold_sets.values():
        if not pool_path(path).exists():
            continue
        try:
            session = open_session(path)
            counts = session.counts(judge, session.pool_by_query)
        except (AssayError, OSError):  # the set's own page says why
            continue
        left = {query: count.assigned - count.judged for query, count in counts.items()}
        left = {query: n for query, n in left.items() if n}
        if left:
            queries[run_name(service, path)] = left
            texts |= {one.text for one in session.gold.queries if one.id in left}
    if not queries:
        return None
    documents = sum(sum(left.values()) for left in queries.values())
    return OpenPairs(documents=documents, queries=queries, texts=frozenset(texts))


def without_names(service: Service, first: Sequence[str] = ()) -> Service:
    """The project with a letter for the name of every engine. Those of the runs in `first` are A
    and B; the others are in an order that tells nothing."""
    config = service.config or Config()
    ran = {run.id: run.engine for run in run_records(service, limit=KNOWN)}
    known = sorted({*config.engines, *ran.values()}, key=lambda name: _digest(service, name))
    order = dict.fromkeys([*(ran[run] for run in first if run in ran), *known])
    names = {engine: _letter(number) for number, engine in enumerate(order)}
    gold = {
        name: msgspec.structs.replace(one, engines=tuple(names.get(e, e) for e in one.engines))
        for name, one in config.gold.items()
    }
    hidden = msgspec.structs.replace(
        config,
        engines={names[name]: engine for name, engine in config.engines.items()},
        gates=tuple(
            msgspec.structs.replace(gate, engine=names.get(gate.engine, gate.engine))
            for gate in config.gates
        ),
        gold=gold,
    )
    store = cast("Store", _StoreWithoutNames(service.store, names))
    return replace(service, store=store, config=hidden if service.config else None)


def _digest(service: Service, name: str) -> bytes:
    return hashlib.sha256(f"{service.store.address}\n{name}".encode()).digest()


def _letter(number: int) -> str:
    more, letter = divmod(number, len(LETTERS))
    return LETTERS[letter] + (str(more) if more else "")


class _StoreWithoutNames:
    """A store to read from. It lists no checks of answers: their figures are for chairs. It has an
    address of its own, so that caches keep its runs apart."""

    read_only = True

    def __init__(self, store: Store, names: Mapping[str, str]) -> None:
        self._store, self._names = store, dict(names)
        self.address = f"{store.address} without names {sorted(self._names.items())}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def runs(self, *, engine: str = "", **asked: Any) -> list[RunRecord]:
        real = next((name for name, letter in self._names.items() if letter == engine), engine)
        found = self._store.runs(engine=real, **asked)
        return [self._hide(run) for run in found if not run.gold.startswith(ANSWERS)]

    def run(self, run_id: str) -> RunRecord | None:
        found = self._store.run(run_id)
        return self._hide(found) if found is not None else None

    def whole_runs(self, run_ids: Sequence[str]) -> list[RunRecord]:
        return [self._hide(run) for run in self._store.whole_runs(run_ids)]

    def _hide(self, run: RunRecord) -> RunRecord:
        name = self._names.get(run.engine, "–")
        results = dict(run.results)
        if results:
            receipt = dict(results.get("receipt") or {})
            inputs = receipt.get("inputs") or {}
            receipt["inputs"] = {key: inputs[key] for key in KEPT_INPUTS if key in inputs}
            receipt |= {"served_by": {}, "versions": {}}
            results |= {"engine": name, "receipt": receipt, "baseline": None, "recorded": None}
        summary = run.summary and {**run.summary, "engine": name}
        return msgspec.structs.replace(run, engine=name, results=results, summary=summary)


def without_rankings(results: Results, open: OpenPairs, gold: str) -> Results:
    """Results whose queries with a document left have no hits and no grades."""
    nothing: dict[str, Any] = {"results": [], "grades": [], "known_grades": [], "reason": ""}
    places: dict[str, Any] = {
        "hits": [],
        "first_rank": None,
        "expected_rank": None,
        "negative_rank": None,
    }
    entries = [
        msgspec.structs.replace(
            entry,
            **nothing,
            **(places if isinstance(entry, GoldenEntry) else {"judged_on_request": []}),
        )
        if open.hides(gold, entry.query_id)
        else entry
        for entry in results.per_query
    ]
    return msgspec.structs.replace(results, per_query=entries)
