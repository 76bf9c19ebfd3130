"""The workspace: the folder that holds corpora, indexes, results and the database. One rule for
everybody."""

from __future__ import annotations

import os
from pathlib import Path

HOME = "ASSAY_HOME"
STORE = "ASSAY_STORE"
DEFAULT = ".assay"
DATABASE = "assay.db"


def workspace(home: Path | str | None = None) -> Path:
    """The folder given, else `$ASSAY_HOME`, else `.assay` in the current folder. A variable that is
    set to nothing is not set: otherwise the workspace would be scattered over the current
    folder."""
    return Path(home or os.environ.get(HOME) or DEFAULT)


def default_store(home: Path | str | None = None) -> str:
    """The address of the database: `$ASSAY_STORE`, unless a workspace is given, else one file in
    the workspace."""
    named = "" if home else os.environ.get(STORE, "")
    return named or str(workspace(home) / DATABASE)
