"""Find files that are other files one after the other, such as the page that prints a whole site.

Paragraphs are compared by their hashes. A file is such a copy where nearly all of its paragraphs
are those of at least three others, each of which is in it as a whole and about once. A contract of
clauses that other contracts have is none: it holds none of them as a whole. Nor is a page of which
every page like it has nearly all.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

SHORTEST = 40  # characters of a paragraph that is compared; a shorter one may be a heading (taste)
WHOLE = 0.95  # of the paragraphs of a file (taste)
OVERLAP = 2.0  # paragraphs that those files have together, for each of its own (taste)
LEAST = 20  # paragraphs of a copy; a shorter one does little harm (taste)
FEWEST = 3  # files that a copy is made of (taste)


def copies_among(texts: Iterable[pl.DataFrame]) -> dict[str, int]:
    """{file: how many other files it is made of}, from frames of the columns `source` and `text`:
    the file of each document, and its text."""
    paragraphs = pl.concat([_paragraphs(frame) for frame in texts]).unique()
    by_file = paragraphs.group_by("source").agg(pl.len().alias("all"))
    held = paragraphs.with_columns((pl.len().over("hash") - 1).alias("others"))
    shared = held.filter(pl.col("others") > 0)
    likely = (
        shared.group_by("source")
        .agg(pl.len().alias("shared"), pl.col("others").mean())
        .join(by_file, on="source")
        .filter(pl.col("shared") >= WHOLE * pl.col("all"), pl.col("others") <= 2 * OVERLAP)
        .filter(pl.col("all") >= LEAST)
        .sort("all", "source", descending=True)
    )
    sizes = dict(by_file.iter_rows())
    found: dict[str, int] = {}
    for source, size in likely.select("source", "all").iter_rows():
        rest = shared.filter(~pl.col("source").is_in(list(found)))
        own = rest.filter(pl.col("source") == source)["hash"].implode()
        inside = rest.filter(pl.col("hash").is_in(own) & (pl.col("source") != source))
        counts = inside.group_by("source").agg(pl.len().alias("inside"))
        whole = {
            other: count
            for other, count in counts.iter_rows()
            if sizes[other] < size and count >= WHOLE * sizes[other]
        }
        covered = inside.filter(pl.col("source").is_in(list(whole)))["hash"].n_unique()
        is_once = sum(whole.values()) <= OVERLAP * size
        if len(whole) >= FEWEST and covered >= WHOLE * size and is_once:
            found[source] = len(whole)
    return found


def _paragraphs(frame: pl.DataFrame) -> pl.DataFrame:
    pieces = frame.select("source", pl.col("text").str.split("\n\n").alias("hash")).explode("hash")
    return pieces.filter(pl.col("hash").str.len_chars() >= SHORTEST).with_columns(
        pl.col("hash").hash()
    )
