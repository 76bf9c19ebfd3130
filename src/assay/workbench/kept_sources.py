"""Documents that are handed over in memory, kept as a file of the workspace, so that a corpus made
of them has a source like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import write_atomic
from assay.core.workspace import workspace

KINDS = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def kind_of_source(source: str) -> str:
    """By the ending, where that says it."""
    kind = KINDS.get(Path(source).suffix.lower())
    if kind is None:
        raise InputError(
            f"what kind of documents {source} holds cannot be told",
            hint='Say it: kind="fppc", "akn", "finlex", "report", "jsonl", "csv", "parquet" or '
            '"postgres".',
        )
    return kind


def keep_documents(
    rows: Sequence[Mapping[str, object]], name: str, home: Path | None = None
) -> Path:
    if not rows:
        raise InputError("there are no documents to import")
    without = next((place for place, row in enumerate(rows) if not row.get("id")), None)
    if without is not None:
        has = ", ".join(map(str, rows[without])) or "nothing"
        raise InputError(
            f"document {without + 1} has no id; it has {has}",
            hint='A document is {"id": …, "title": …, "text": …}.',
        )
    if not name or Path(name).name != name:
        raise InputError(
            f"{name!r} is no name for a corpus", hint="Use letters, digits and dashes."
        )
    path = (home or workspace()) / "sources" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path
