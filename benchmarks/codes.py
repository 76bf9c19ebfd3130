"""How well statements find the article that decides them, in two made-up codes.

    python benchmarks/codes.py [FILE.jsonl …]

Each line of a file is an article: id, title, text, and statements that it decides. Printed are
nDCG@10 and first hits right of BM25 over stems, of the profile with the stock MiniLM encoder (what
English texts had before), and of the engine as it is; and the difference of the last two with its
95% interval. The two codes of eval/ were written for this; nobody trained on them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from assay.core.types import Document
from assay.evaluation.statistics import change_intervals
from assay.search.engine import Engine
from assay.search.index import Index, build
from assay.search.profile import GENERIC

CODES = sorted((Path(__file__).parent.parent / "eval").glob("made_code_*.jsonl"))
DEPTH = 10


class Article(msgspec.Struct, frozen=True):
    id: str
    title: str
    text: str
    statements: list[str]


def read(file: Path) -> list[Article]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Article) for line in lines]


def indexed(articles: list[Article], *, encoder: str = "") -> Index:
    documents = [
        (Document(id=one.id, title=one.title, text=one.text, language="en"), one.id)
        for one in articles
    ]
    return build(documents, encoder=encoder)


def gains(index: Index, articles: list[Article]) -> np.ndarray:
    """nDCG@10 of each statement: one article decides it."""
    engine = Engine(index)
    values = []
    for article in articles:
        for statement in article.statements:
            hits = [hit.doc_id for hit in engine.search(statement, DEPTH, texts=False)]
            rank = hits.index(article.id) + 1 if article.id in hits else None
            values.append(1 / np.log2(rank + 1) if rank else 0.0)
    return np.array(values)


def main() -> None:
    for file in [Path(name) for name in sys.argv[1:]] or CODES:
        articles = read(file)
        now = indexed(articles)
        words = replace(now, vectors=None, fields={"full": now.fields["full"]})
        stock = indexed(articles, encoder=GENERIC.encoder)
        stock = replace(stock, profile=GENERIC)
        rows = [("BM25", words), ("before", stock), ("now", now)]
        found = {name: gains(index, articles) for name, index in rows}
        sys.stdout.write(f"{file.stem}: {len(articles)} articles, {len(found['now'])} statements\n")
        for name, values in found.items():
            first = float((values == 1).mean())
            sys.stdout.write(f"  {name:8} nDCG@10 {values.mean():.3f}   first hit {first:.1%}\n")
        difference = found["now"] - found["before"]
        (interval,) = change_intervals(difference[:, None])
        sys.stdout.write(f"  now - before {difference.mean():+.3f}")
        sys.stdout.write(f" [{interval.low:+.3f}, {interval.high:+.3f}]\n")


if __name__ == "__main__":
    main()
