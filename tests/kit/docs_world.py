"""A folder in which the commands of a how-to page run: corpora, a gold set with votes, two results
files, logs. All of it is made from the samples, once."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from assay.workbench.judging.packets import write_packet
from assay.workbench.judging.pool import PoolRequest, pool_gold
from assay.workbench.judging.set_edits import init_gold, read_queries
from assay.workbench.project import logs
from assay.workbench.project.service import open_service
from assay.workbench.scoring.score import ScoreRequest, score
from assay.workbench.searching import corpora

SAMPLES = Path(__file__).parents[2] / "samples"
QUERIES = """May a council member vote on a project near her home?
gift limit travel paid by a nonprofit
Who must register as a lobbyist?
"""
CONFIG = """[gold.opinions]
path = "dataset.json"

[engines.before]
run = "a.json"

[[gates]]
measure = "nDCG@10"
minimum = 0.3
unjudged = "count as wrong"
"""


def make_world(folder: Path, home: Path) -> None:
    """In `folder`, with copies of the corpora of `home`."""
    folder.joinpath("samples").symlink_to(SAMPLES)
    for name in ("opinions", "act", "precedents"):
        for part in ("corpora", "indexes"):
            shutil.copytree(home / part / name, folder / ".assay" / part / name)
    with contextlib.chdir(folder):
        shutil.copy(SAMPLES / "en" / "dataset.json", "dataset.json")
        shutil.copy(SAMPLES / "fi" / "questions_golden.json", "questions.json")
        dataset, corpus = Path("dataset.json"), SAMPLES / "en" / "corpus.jsonl"
        score(ScoreRequest(dataset=dataset, engine="bm25", corpus=corpus, output=Path("a.json")))
        score(ScoreRequest(dataset=dataset, engine="opinions", output=Path("b.json")))
        Path("assay.toml").write_text(CONFIG)
        Path("queries.txt").write_text(QUERIES)
        Path("more.csv").write_text("text,type\nreporting of gifts,keyword\n")
        _judged_set()
        _logs()


def _judged_set() -> None:
    """`set.json`, judged by two, with packets that are filled in."""
    dataset = Path("set.json")
    init_gold(dataset, read_queries(Path("queries.txt")), rubric="fppc-relevance-3")
    pool_gold(
        PoolRequest(
            dataset=dataset,
            engines=("bm25",),
            corpus=Path("opinions"),
            judges=("ada", "ben"),
            overlap=1.0,
            depth=5,
        )
    )
    for judge, least in (("ada", 1), ("ben", 2)):
        packet = Path(f"{judge}-lines.jsonl")
        write_packet(dataset, packet, judge=judge)
        fill_in(packet, Path(f"packet-{judge}.votes.jsonl"), least)
        packet.unlink()


def fill_in(packet: Path, saved: Path, least: int) -> None:
    """Grades by how many words of the query a document's passages have, beyond `least`. The file is
    the one that the page saves: without the texts."""
    head, *rows = [json.loads(line) for line in packet.read_text(encoding="utf-8").splitlines()]
    lines = [head]
    for row in rows:
        words = set(re.findall(r"\w{4,}", row["query"].lower()))
        found = len(words & set(re.findall(r"\w{4,}", " ".join(row["passages"]).lower())))
        kept = {key: row[key] for key in ("query_id", "doc_id", "document")}
        grade = min(max(found - least, 0), 2)
        lines.append(kept | {"grade": grade, "rationale": f"{found} words meet the query."})
    saved.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _logs() -> None:
    """Searches that showed precedents, and decisions that cite them."""
    ids = [row["id"] for row in _rows("precedents.jsonl")]
    rows = _rows("gold-set.jsonl")[:3]
    searches = [
        {
            "query": row["query"],
            "at": f"2026-05-0{day}T09:00:00Z",
            "corpus": "precedents",
            "results": [*row["relevant_case_law_ids"], *ids[:3]],
        }
        for day, row in enumerate(rows, 1)
    ]
    decisions = [
        {"id": f"d{day}", "at": f"2026-06-0{day}", "cites": row["relevant_case_law_ids"]}
        for day, row in enumerate(rows, 1)
    ]
    for name, found in (("searches", searches), ("decisions", decisions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        Path(f"{name}.jsonl").write_text(lines, encoding="utf-8")
    with open_service("", create=True) as service:
        logs.import_searches(service, Path("searches.jsonl"))
        logs.import_decisions(service, Path("decisions.jsonl"))


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (SAMPLES / "he" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def make_home(home: Path) -> None:
    """A workspace in which `assay demo` finds its corpus ready."""
    english = SAMPLES / "en" / "opinions"
    corpora.import_corpus("fppc", str(english), name="demo-opinions", home=home)
    corpora.index_corpus("demo-opinions", home=home)
