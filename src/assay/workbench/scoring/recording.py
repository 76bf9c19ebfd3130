"""Recording the runs of a command in the store of the workspace, where there is one."""

from __future__ import annotations

from pathlib import Path

from assay.core.errors import AssayError
from assay.core.results import AnswerResults, Results
from assay.core.workspace import default_store
from assay.reports.words import Words


def record_here(
    runs: list[tuple[Results | AnswerResults, Path, str]],
    *,
    home: Path | None = None,
    language: str = "en",
) -> str:
    """Keep each (results, set or file of answers, engine) in the store of the workspace, and make
    none. Gives one line that says where the runs are kept, or why not: a store that fails spoils no
    results. Empty where there is no store."""
    words = Words(language)
    target = default_store(home)
    if "://" not in target and not Path(target).expanduser().exists():
        return ""
    from assay.store import NoStore, open_store
    from assay.workbench.project.config import CONFIG_NAME, read_config
    from assay.workbench.project.service import Service
    from assay.workbench.scoring.history import record

    try:
        opened = open_store(target, create=False)
    except NoStore:
        return ""
    except AssayError as error:
        return words("command.not_recorded", error=error)
    try:
        config = read_config(Path(CONFIG_NAME)) if Path(CONFIG_NAME).exists() else None
        service = Service(store=opened, config=config)
        made = [record(service, results, path, engine=engine) for results, path, engine in runs]
    except AssayError as error:
        return words("command.not_recorded", error=error)
    finally:
        opened.close()
    if len(made) == 1:
        return words("command.recorded_run", id=made[0].id, store=opened.address)
    return words("command.recorded_runs", n=len(made), store=opened.address)
