"""Golden questions by author: how many each author's questions find, and a set without one author.

    python benchmarks/questions.py eval/questions_hebrew_golden.json --engine israel
    python benchmarks/questions.py FILE [FILE …] --leave-author-out stranger --out rest.json
    python benchmarks/questions.py FILE [FILE …] --author stranger --out theirs.json

An author is who wrote a question (its key `author`): a weight that was chosen with an author's
questions in sight is measured on another author's. `--leave-author-out` also drops a question of
somebody else whose text the author has too: eight questions in eval/ were written twice.
`--out` writes the chosen questions as a golden set. With `--engine`, an indexed corpus, a table
says for each author: questions that the corpus answers, how many find an expected place in the
first k at any score, with the least score, and as the first hit, and how many are refused; then the
questions that it does not answer, and how many of those are refused. `--min-score` is the least
score in place of each question's own, since some of these sets have 0."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

import assay
from assay.core.results import GoldenEntry, GoldenResults
from assay.core.types import GoldSet, Query
from assay.formats import golden_json, read_gold

COLUMNS = ("author", "answered", "in k", "with score", "first", "refused", "outside", "refused")


def author_of(query: Query) -> str:
    return str(query.extra.get("author") or "")


def read_questions(files: Sequence[Path]) -> GoldSet:
    """The questions of all files as one set."""
    sets = [read_gold(file) for file in files]
    queries = tuple(query for gold in sets for query in gold.queries)
    return replace(sets[0], queries=queries)


def of_author(gold: GoldSet, author: str) -> GoldSet:
    return replace(gold, queries=tuple(q for q in gold.queries if author_of(q) == author))


def without_author(gold: GoldSet, author: str) -> GoldSet:
    """Everybody else's questions, less those that the author has word for word."""
    texts = {query.text for query in of_author(gold, author).queries}
    kept = (q for q in gold.queries if author_of(q) != author and q.text not in texts)
    return replace(gold, queries=tuple(kept))


def with_min_score(gold: GoldSet, score: float) -> GoldSet:
    raised = (msgspec.structs.replace(query, min_score=score) for query in gold.queries)
    return replace(gold, queries=tuple(raised))


def row(author: str, entries: Sequence[GoldenEntry]) -> tuple[str, ...]:
    answered = [entry for entry in entries if entry.expected_any]
    outside = [entry for entry in entries if entry.stated.get("must_abstain")]
    in_k = [e for e in answered if e.expected_rank is not None and e.expected_rank <= e.k]
    counts = (
        len(answered),
        len(in_k),
        sum(entry.passed for entry in answered),
        sum(entry.expected_rank == 1 for entry in answered),
        sum(entry.abstained for entry in answered),
        len(outside),
        sum(entry.passed for entry in outside),
    )
    return (author, *map(str, counts))


def table(gold: GoldSet, engine: str) -> list[tuple[str, ...]]:
    results = assay.evaluate(assay.run(engine, gold), gold).results
    if not isinstance(results, GoldenResults):
        raise SystemExit("these are graded sets; give golden questions")
    authors = {query.id: author_of(query) or "(no author)" for query in gold.queries}
    by_author: dict[str, list[GoldenEntry]] = {}
    for entry in results.per_query:
        by_author.setdefault(authors[entry.query_id], []).append(entry)
    rows = [row(author, entries) for author, entries in by_author.items()]
    return [COLUMNS, *rows, row("all", results.per_query)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--author", help="this author's questions alone")
    chosen.add_argument("--leave-author-out", metavar="NAME", help="all but this author's")
    parser.add_argument("--engine", help="an indexed corpus")
    parser.add_argument("--min-score", type=float)
    parser.add_argument("--out", type=Path, help="write the chosen questions here")
    args = parser.parse_args()
    gold = read_questions(args.files)
    known = sorted({author_of(query) for query in gold.queries} - {""})
    named = args.author or args.leave_author_out
    if named and named not in known:
        parser.error(f"no author {named!r} in these files; there are {', '.join(known)}")
    if args.author:
        gold = of_author(gold, args.author)
    elif args.leave_author_out:
        gold = without_author(gold, args.leave_author_out)
    if args.min_score is not None:
        gold = with_min_score(gold, args.min_score)
    if args.out:
        golden_json.write_gold(gold, args.out)
    if args.engine:
        for cells in table(gold, args.engine):
            sys.stdout.write(f"{cells[0]:14}" + "".join(f"{cell:>11}" for cell in cells[1:]) + "\n")
    else:
        authors = sorted({author_of(query) for query in gold.queries})
        sys.stdout.write(f"{len(gold.queries)} questions of {', '.join(authors)}\n")


if __name__ == "__main__":
    main()
