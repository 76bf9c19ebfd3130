"""Files that tests write for Assay to read."""

from __future__ import annotations

import json
from pathlib import Path


def write_json_lines(path: Path, *rows: object) -> Path:
    """Write each row as one line of JSON."""
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return path
