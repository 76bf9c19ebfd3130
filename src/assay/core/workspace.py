"""Find the workspace: the folder that holds corpora, indexes, results and the database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = "ASSAY_HOME"
STORE = "ASSAY_STORE"
IN_START = "ASSAY_IN_START"  # set for commands that `assay start` runs, and says what is next
DEFAULT = ".assay"
DATABASE = "assay.db"


def workspace(home: Path | str | None = None) -> Path:
    """The workspace folder: the one given, else `$ASSAY_HOME`, else `.assay` in the folder of the
    configuration that a command names (`workspace_beside`), else in the current folder. An empty
    variable counts as not set: otherwise the workspace would be scattered over the current
    folder."""
    return Path(home or os.environ.get(HOME) or DEFAULT)


@contextmanager
def workspace_beside(config: Path) -> Iterator[None]:
    """While a named configuration is in use, its workspace is the `.assay` in its folder, unless
    `$ASSAY_HOME` names another; where only the current folder has one, that one is used. Processes
    started meanwhile see the same."""
    folder = config.absolute().parent.resolve()
    only_here = Path(DEFAULT).exists() and not (folder / DEFAULT).exists()
    if os.environ.get(HOME) or only_here or folder == Path.cwd().resolve():
        yield
        return
    before = os.environ.get(HOME)
    os.environ[HOME] = str(folder / DEFAULT)
    try:
        yield
    finally:
        os.environ.pop(HOME)
        if before is not None:
            os.environ[HOME] = before


def default_store(home: Path | str | None = None) -> str:
    """The address of the database: `$ASSAY_STORE`, unless a workspace is given, else one file in
    the workspace."""
    named = "" if home else os.environ.get(STORE, "")
    return named or str(workspace(home) / DATABASE)
