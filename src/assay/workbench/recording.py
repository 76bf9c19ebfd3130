"""Keeping a run in the history: who scores with a store in the workspace finds the run on the
pages."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.errors import AssayError
from assay.core.results import Results
from assay.core.results_file import to_json
from assay.core.workspace import default_store
from assay.store import NoStore, open_store
from assay.store.records import RunRecord
from assay.workbench.config import CONFIG_NAME, read_config
from assay.workbench.opening import Service, run_name
from assay.workbench.run_summary import as_recorded

HOW = "not recorded: this workspace has no store; `assay serve` makes one, and later runs are kept"


def record(
    service: Service,
    results: Results,
    dataset: Path,
    *,
    engine: str = "",
    at: datetime | None = None,
) -> RunRecord:
    """Keep results under the name of their set, with their summary. Without `at` it is now, and the
    same results are kept once: `assay run` brings what is unchanged again and again."""
    kept = to_json(results)
    made = RunRecord(
        id=hashlib.sha256(msgspec.json.encode([kept, engine, at])).hexdigest()[:24],
        at=at or datetime.now(UTC),
        engine=engine or results.engine,
        gold=run_name(service, dataset),
        results=kept,
        gold_fingerprint=results.receipt.gold.fingerprint,
        corpus_fingerprint=results.receipt.corpus_fingerprint or "",
    )
    made = as_recorded(service, made, results)
    service.store.put_run(made)
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
        config = read_config(Path(CONFIG_NAME)) if Path(CONFIG_NAME).exists() else None
        service = Service(store=opened, config=config)
        made = [record(service, results, path, engine=engine) for results, path, engine in runs]
    except AssayError as error:
        return f"warning: not recorded: {error}"
    finally:
        opened.close()
    what = f"run {made[0].id}" if len(made) == 1 else f"{len(made)} runs"
    return f"recorded as {what} in {opened.address}"
