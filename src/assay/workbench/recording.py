"""Keeping a run in the history: who scores with a store in the workspace finds the run on the
pages."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.core.errors import AssayError
from assay.core.results import Results
from assay.core.results_file import to_json
from assay.core.workspace import default_store
from assay.review.identity import name_of
from assay.store import NoStore, open_store
from assay.store.records import RunRecord

if TYPE_CHECKING:
    from assay.store import Store

HOW = "not recorded: this workspace has no store; `assay serve` makes one, and later runs are kept"


def record(
    store: Store, results: Results, dataset: Path, *, engine: str = "", at: datetime | None = None
) -> RunRecord:
    """Keep results under the name that the store has for the set. Without `at` it is now, and the
    same results are kept once: `assay run` brings what is unchanged again and again."""
    kept = to_json(results)
    made = RunRecord(
        id=hashlib.sha256(msgspec.json.encode([kept, engine, at])).hexdigest()[:24],
        at=at or datetime.now(UTC),
        engine=engine or results.engine,
        gold=name_of(store, dataset),
        results=kept,
        gold_fingerprint=results.receipt.gold.fingerprint,
        corpus_fingerprint=results.receipt.corpus_fingerprint or "",
    )
    store.put_run(made)
    return made


def record_here(
    runs: list[tuple[Results, Path, str]], *, home: Path | None = None, store: str = ""
) -> str:
    """Keep (results, set, engine) in the store of the workspace, where there is one: none is made
    for it. Says in one line what became of it; a store that fails spoils no results."""
    target = store or default_store(home)
    if "://" not in target and not Path(target).expanduser().exists():
        return HOW
    try:
        opened = open_store(target, create=False)
    except NoStore:
        return HOW
    except AssayError as error:
        return f"warning: not recorded: {error}"
    try:
        made = [record(opened, results, path, engine=engine) for results, path, engine in runs]
    except AssayError as error:
        return f"warning: not recorded: {error}"
    finally:
        opened.close()
    what = f"run {made[0].id}" if len(made) == 1 else f"{len(made)} runs"
    return f"recorded as {what} in {opened.address}"
