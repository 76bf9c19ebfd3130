"""A workspace as large as a team's: a set of 10,000 pairs that two judges have graded, runs of two
engines, and a set made from logs whose rows wait for the chair. Made with the commands that people
use, on a corpus that is indexed; its texts stay where they are."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from assay.core.types import Document, Vote
from assay.core.workspace import workspace
from assay.corpus.disk import Corpus
from assay.corpus.lookup import corpus_named
from assay.judging.pool import read_pool
from assay.judging.votes import document_fingerprint
from assay.workbench.judging.votes_to_labels import append_votes, recompute_labels, rubric_version

JUDGES = ("Anna", "Bertil")
DEPTH = 50
LEFT = 400  # pairs that nobody has judged yet
APART = 0.12  # the share on which the two judges differ
ROWS = 400  # of the set that is made from logs
TYPES = ("keyword", "natural_language", "fact_pattern")
TOPICS = ("conflicts", "campaigns", "gifts", "lobbying")
REASONS = (
    "It decides the point that the query asks about.",
    "Same section, other facts: useful as background, but it does not answer.",
    "Names the words of the query and is about something else altogether.",
)
CONFIG = """
[gold.big]
path = "big.json"

[gold.rows]
path = "rows.jsonl"

[engines.own]
engine = "{corpus}"

[[gates]]
name = "good enough"
measure = "ndcg@10"
minimum = 0.5
"""


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"ASSAY_HOME": str(folder / "home")}


def assay(folder: Path, *words: str) -> str:
    """An `assay` command in the workspace."""
    command = [sys.executable, "-m", "assay", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    if done.returncode not in (0, 1, 3):  # a gate that does not pass is no failure here
        raise SystemExit(f"assay {' '.join(words)}: {done.stderr}")
    return done.stdout


def build(folder: Path, corpus: str, pairs: int, seed: int = 0) -> Path:
    """The set, in a folder that is a workspace of its own: the corpus is linked, not copied."""
    rng = random.Random(seed)
    home = folder / "home"
    home.mkdir(parents=True)
    for part in ("corpora", "indexes"):
        (home / part).mkdir()
        (home / part / corpus).symlink_to(workspace() / part / corpus)
    (folder / "assay.toml").write_text(CONFIG.format(corpus=corpus))
    opened = corpus_named(corpus, home)
    ids = rng.sample(sorted(opened.ids), max(pairs // DEPTH, 1) + ROWS)
    asked = [opened.get(doc_id) for doc_id in ids]
    dataset = _write_set(folder, asked[:-ROWS])
    _write_rows(folder, corpus, asked[-ROWS:], rng)
    _write_searches(folder, corpus, asked[-ROWS:], rng)
    assay(folder, "logs", "import", "searches.jsonl")
    assay(
        folder, "gold", "pool", "big.json", "--engine", corpus, "--corpus", corpus,
        "--depth", str(DEPTH), "--judges", ",".join(JUDGES), "--overlap", "1",
    )  # fmt: skip
    _vote(dataset, rng, opened)
    assay(folder, "run")
    _worse_run(folder, dataset, rng)
    assay(folder, "score", "--dataset", "big.json", "--run", "worse.run")
    return dataset


def _write_set(folder: Path, about: list[Document]) -> Path:
    dataset = folder / "big.json"
    queries = [
        {
            "id": f"q{number:04}",
            "text": _words_of(document),
            "type": TYPES[number % len(TYPES)],
            "topic": TOPICS[number % len(TOPICS)],
            "relevance_judgments": [],
        }
        for number, document in enumerate(about)
    ]
    taxonomy = {topic: {"name": topic.title(), "description": "", "issues": []} for topic in TOPICS}
    kept = {"rubric": "fppc-relevance-2", "taxonomy": taxonomy, "queries": queries}
    dataset.write_text(json.dumps(kept, ensure_ascii=False))
    return dataset


def _words_of(document: Document) -> str:
    own = (document.fields.get(name, "") for name in ("question", "question_synthetic"))
    text = next((text for text in own if text.strip()), "") or document.title or document.text
    return " ".join(text.split()[:30])


def _write_rows(folder: Path, corpus: str, about: list[Document], rng: random.Random) -> None:
    rows = []
    for number, document in enumerate(about):
        near = [each.id for each in rng.sample(about, 4) if each.id != document.id]
        rows.append(
            {
                "id": f"g{number:04}",
                "query": _words_of(document),
                "practice_area": TOPICS[number % len(TOPICS)],
                "corpus": corpus,
                "relevant_case_law_ids": [document.id, *near[:3]],
                "source": "bootstrap",
                "note": "",
            }
        )
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")


def _write_searches(folder: Path, corpus: str, about: list[Document], rng: random.Random) -> None:
    """What was searched for: every row ten times, with other results each time."""
    begun = datetime.now(UTC) - timedelta(days=60)
    lines = []
    for number, document in enumerate(about * 10):
        shown = [document.id, *(each.id for each in rng.sample(about, 9))]
        search = {
            "query": _words_of(document),
            "corpus": corpus,
            "practice_area": TOPICS[number % len(about) % len(TOPICS)],
            "at": (begun + timedelta(minutes=20 * number)).isoformat(timespec="seconds"),
            "results": list(dict.fromkeys(shown)),
        }
        lines.append(json.dumps(search, ensure_ascii=False))
    (folder / "searches.jsonl").write_text("\n".join(lines) + "\n")


def _vote(dataset: Path, rng: random.Random, corpus: Corpus) -> None:
    """Two people's votes on all pairs but the last ones, and the labels that follow."""
    pool = read_pool(dataset)
    assert pool is not None
    rubric, at = rubric_version(dataset), datetime.now(UTC) - timedelta(days=20)
    votes = []
    ids = {pair.doc_id for pair in pool.pairs}
    prints = {one.id: document_fingerprint(one) for one in corpus.iter() if one.id in ids}
    for number, pair in enumerate(pool.pairs[: len(pool.pairs) - LEFT]):
        grade = rng.choices((0, 1, 2), (5, 3, 2))[0]
        for judge in JUDGES:
            differs = judge == JUDGES[1] and rng.random() < APART
            said = (
                rng.choice([other for other in (0, 1, 2) if other != grade]) if differs else grade
            )
            votes.append(
                Vote(
                    id=f"{judge}-{number:06}",
                    query_id=pair.query_id,
                    doc_id=pair.doc_id,
                    grade=said,
                    judge=judge,
                    kind="human",
                    at=(at + timedelta(seconds=30 * number)).isoformat(timespec="milliseconds"),
                    rationale=REASONS[2 - said],
                    rubric=rubric,
                    document=prints[pair.doc_id],
                )
            )
    append_votes(dataset, votes)
    recompute_labels(dataset)


def _worse_run(folder: Path, dataset: Path, rng: random.Random) -> None:
    """What another engine might find: the pool's documents in another order."""
    pool = read_pool(dataset)
    assert pool is not None
    found: dict[str, list[str]] = {}
    for pair in pool.pairs:
        found.setdefault(pair.query_id, []).append(pair.doc_id)
    lines = []
    for query_id, docs in found.items():
        rng.shuffle(docs)
        for rank, doc_id in enumerate(docs[:20], 1):
            lines.append(f"{query_id} Q0 {doc_id} {rank} {1 / rank:.6f} worse")
    (folder / "worse.run").write_text("\n".join(lines) + "\n")
