"""A set with a pool and a small corpus, to judge on a page."""

from __future__ import annotations

import json
from pathlib import Path

from assay.judging.pool import Pool, PooledPair, write_pool

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
    corpus = folder / "corpus.jsonl"
    lines = [json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()]
    corpus.write_text("".join(lines))
    pooled = tuple(
        PooledPair(query_id=query, doc_id=doc, judges=asked)
        for (query, doc), asked in pairs.items()
    )
    write_pool(path, Pool(corpus=str(corpus), judges=judges, pairs=pooled))
    return path


def both(*pairs: tuple[str, str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Dealt to Ada and Ben."""
    return {pair: ("Ada", "Ben") for pair in pairs}
