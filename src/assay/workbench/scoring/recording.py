"""Recording the runs of a command in the store of the workspace, where there is one."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import AssayError
from assay.core.results import Results
from assay.core.workspace import default_store

NO_STORE = (
    "not recorded: this workspace has no store; `assay serve` makes one, and later runs are kept"
)


def record_here(
    runs: list[tuple[Results, Path, str]], *, home: Path | None = None, store: str = ""
) -> str:
    """Keep each (results, set, engine) in the store of the workspace, and make none. Gives one line
    that says where the runs are kept, or why not: a store that fails spoils no results."""
    target = store or default_store(home)
    if "://" not in target and not Path(target).expanduser().exists():
        return NO_STORE
    from assay.store import NoStore, open_store
    from assay.workbench.project.config import CONFIG_NAME, read_config
    from assay.workbench.project.service import Service
    from assay.workbench.scoring.run_records import record

    try:
        opened = open_store(target, create=False)
    except NoStore:
        return NO_STORE
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
