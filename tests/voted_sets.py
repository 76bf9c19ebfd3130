"""Small sets to vote on, and packets as judges send them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RUBRIC = "fppc-relevance-2"


def write_set(folder: Path, *, queries: int = 2, **keys: Any) -> Path:
    path = folder / "set.json"
    asked = [{"id": f"q{n}", "text": f"question {n}"} for n in range(queries)]
    path.write_text(json.dumps({"rubric": RUBRIC, **keys, "queries": asked}, indent=1) + "\n")
    return path


def write_pool(folder: Path, pairs: list[tuple[str, str]], **keys: Any) -> None:
    rows = [{"query_id": query, "doc_id": doc, "judges": []} for query, doc in pairs]
    (folder / "set.pool.json").write_text(json.dumps({"format": 1, **keys, "pairs": rows}))


def write_packet(path: Path, judge: str, grades: dict[tuple[str, str], Any], **row: Any) -> Path:
    """A packet that was filled in; a grade of None is left blank, "?" is unsure."""
    header = {"packet": 1, "set": "set", "judge": judge, "pairs": len(grades)}
    rows = [
        {
            "query_id": query,
            "doc_id": doc,
            "grade": None if grade == "?" else grade,
            "rationale": f"{judge} on {doc}" if grade not in (None, "?") else "",
            "unsure": grade == "?",
            **row,
        }
        for (query, doc), grade in grades.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *rows)))
    return path


def labels(path: Path) -> dict[tuple[str, str], int]:
    return {
        (query["id"], row["opinion_id"]): row["score"]
        for query in json.loads(path.read_text())["queries"]
        for row in query.get("relevance_judgments", [])
    }
