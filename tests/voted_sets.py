"""Small sets to vote on, packets as judges send them back, and the log that they end up in."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from assay.core.types import Vote

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


# ── the log ───────────────────────────────────────────────────────────────────────────────────────


def log_of(dataset: Path) -> Path:
    return dataset.with_name(f"{dataset.stem}.log.jsonl")


def acts(dataset: Path) -> list[dict[str, Any]]:
    """The lines of the log of a set that can be read."""
    lines = log_of(dataset).read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def votes(dataset: Path) -> list[dict[str, Any]]:
    """The votes in a log with the names of their judges, in the order of its lines."""
    return [
        act | {"judge": named(dataset, act["who"])}
        for act in acts(dataset)
        if act["action"] in ("vote", "rule")
    ]


def named(dataset: Path, text: str) -> str:
    """A text with the names of people in the place of their ids."""
    file = dataset.with_name("people.toml")
    names = tomllib.loads(file.read_text()) if file.exists() else {}
    return re.sub(r"p-[0-9a-f]{8}", lambda found: names.get(found[0], found[0]), text)


def add_votes(dataset: Path, votes: Iterable[Vote]) -> None:
    """Append votes to the log of a set, as git does that merges another copy of it."""
    with log_of(dataset).open("ab") as stream:
        for vote in votes:
            line = {
                "v": 1,
                "id": vote.id,
                "at": vote.at,
                "who": vote.judge,
                "kind": vote.kind,
                "action": "vote",
                "subject": {"query": vote.query_id, "doc": vote.doc_id},
                "grade": vote.grade,
                "rationale": vote.rationale,
                "supersedes": vote.supersedes.split(),
            }
            stream.write(msgspec.json.encode(line) + b"\n")
