"""Small graded sets: to vote on, or with a pool and a corpus to judge on a page; packets as judges
send them back; and the log of a set."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.types import Vote
from assay.judging import pool
from kit.files import write_json_lines

RUBRIC = "fppc-relevance-2"


def write_set(folder: Path, *, queries: int = 2, **keys: Any) -> Path:
    path = folder / "set.json"
    asked = [{"id": f"q{n}", "text": f"question {n}"} for n in range(queries)]
    path.write_text(json.dumps({"rubric": RUBRIC, **keys, "queries": asked}, indent=1) + "\n")
    return path


def write_pool(folder: Path, pairs: list[tuple[str, str]], **keys: Any) -> None:
    rows = [{"query_id": query, "doc_id": doc, "judges": []} for query, doc in pairs]
    (folder / "set.pool.json").write_text(json.dumps({"format": 1, **keys, "pairs": rows}))


def write_packet(
    path: Path, judge: str, grades: Mapping[tuple[str, str], Any], *, set: str = "set", **row: Any
) -> Path:
    """A packet that was filled in; a grade of None is left blank, "?" is unsure."""
    header = {"packet": 1, "set": set, "judge": judge, "pairs": len(grades)}
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
    return write_json_lines(path, header, *rows)


def labels(path: Path) -> dict[tuple[str, str], int]:
    return {
        (query["id"], row["opinion_id"]): row["score"]
        for query in json.loads(path.read_text())["queries"]
        for row in query.get("relevance_judgments", [])
    }


# ── a set to judge on a page ──────────────────────────────────────────────────────────────────────

HOSTILE = "</script><img src=x onerror=alert(1)> \u202e <b>&quot;gift"
TEXTS = {
    "d1": "The gift limit covers tickets. An official may accept two.",
    "d2": f"{HOSTILE} A loan is no gift. " + "Nothing to see in this sentence. " * 60,
    "d3": "Travel paid by a nonprofit for a speech is outside the gift limit.",
    "d4": "מתנה לעובד הציבור אסורה, ואין נפקא מינה מה שוויה.",
    "d5": "Behested payments are reported within thirty days.",
}
QUERIES = {"q1": "gift limit tickets", "q2": "מתנה לעובד ציבור", "q3": f"{HOSTILE} tickets"}
TAXONOMY = {
    "gifts": {
        "name": "Gifts",
        "description": "What officials may accept.",
        "issues": [{"id": "limit", "name": "Limits", "description": "How much.", "odd": 1}],
    }
}


def judged_set(
    folder: Path,
    pairs: dict[tuple[str, str], tuple[str, ...]],
    *,
    judges: tuple[str, ...] = (),
    rubric: str = "fppc-relevance-2",
) -> Path:
    path = folder / "set.json"
    queries = [
        {"id": id, "text": text, "type": "keyword", "topic": "gifts", "issue": "limit"}
        for id, text in QUERIES.items()
    ]
    head = {"version": "1", "created_at": "2026-01-01T00:00:00Z", "description": ""}
    content = {**head, "rubric": rubric, "taxonomy": TAXONOMY, "queries": queries}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    documents = [{"id": id, "text": text} for id, text in TEXTS.items()]
    corpus = write_json_lines(folder / "corpus.jsonl", *documents)
    pooled = tuple(
        pool.PooledPair(query_id=query, doc_id=doc, judges=asked)
        for (query, doc), asked in pairs.items()
    )
    pool.write_pool(path, pool.Pool(corpus=str(corpus), judges=judges, pairs=pooled))
    return path


def both(*pairs: tuple[str, str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Dealt to Ada and Ben."""
    return {pair: ("Ada", "Ben") for pair in pairs}


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
