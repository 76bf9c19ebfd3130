"""The citation graph of a whole corpus: every citation resolved, and who cites whom as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from assay.corpus.disk import Part, read_arrow
from assay.corpus.parts import write_arrow
from assay.corpus.resolve import Resolver
from assay.law.citation import STATUSES, Citation, Resolution
from assay.law.parse import parse


def link(folder: Path, parts: tuple[Part, ...], resolver: Resolver) -> dict[str, int]:
    """Resolve every citation of every part; write `citations.arrow` and the graph; count what came
    of them."""
    starts = np.cumsum([0, *(part.rows for part in parts)])
    tables = [
        read_arrow(folder / f"{Path(part.file).stem}.mentions").with_columns(
            pl.col("row") + int(start)
        )
        for part, start in zip(parts, starts[:-1], strict=True)
    ]
    mentions = pl.concat(tables)

    def read_text(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        rows = (
            pl.scan_ipc(folder / parts[part].file).select("text").slice(row - int(starts[part]), 1)
        )
        return str(rows.collect().item())

    resolver.letters.read_text = read_text
    known: dict[tuple[str, str], Citation | None] = {}
    opinions = mentions.filter(pl.col("kind") == "opinion")
    first = _outcomes(opinions, resolver, known)
    resolver.letters.learn(
        (normal, found.status, list(found.rows))
        for normal, found in zip(opinions["normal"], first, strict=True)
    )
    outcomes = list(_outcomes(mentions, resolver, known))
    citations = mentions.with_columns(
        status=pl.Series([outcome.status for outcome in outcomes], dtype=pl.String),
        reason=pl.Series([outcome.reason for outcome in outcomes], dtype=pl.String),
        targets=pl.Series([list(outcome.rows) for outcome in outcomes], dtype=pl.List(pl.Int64)),
    )
    write_arrow(citations, folder / "citations.arrow", batch=65536)
    pairs = (
        citations.filter(pl.col("status") == "resolved")
        .select("row", "targets")
        .explode("targets")
        .unique()
    )
    _write_graph(folder, int(starts[-1]), pairs.to_numpy().astype(np.int64))
    counts = dict(citations["status"].value_counts().iter_rows())
    return {status: counts.get(status, 0) for status in STATUSES} | {"edges": pairs.height}


def _outcomes(
    mentions: pl.DataFrame, resolver: Resolver, known: dict[tuple[str, str], Citation | None]
) -> Iterator[Resolution]:
    plain: dict[str, Resolution] = {}
    fixed = {kind for kind in ("statute", "regulation", "case") if not resolver.laws.places}
    columns = ("row", "normal", "kind", "language", "name", "own")
    for row, normal, kind, language, name, own in mentions.select(columns).iter_rows():
        if own:
            yield Resolution("self", (), "its own number, at the top of its pages")
        elif not kind:
            yield Resolution("missing", (), "not in a form that is understood")
        elif kind == "reference":
            yield resolver.laws.reference(normal, row)
        elif language == "en" and kind in fixed:
            if kind not in plain:
                plain[kind] = Resolution(
                    "no-document", (), f"no {kind} is a document of this corpus"
                )
            yield plain[kind]
        else:
            key = (normal, language)
            if key not in known:
                known[key] = next(iter(parse(normal, language, scheme=resolver.scheme)), None)
            citation = known[key]
            if citation is None:
                yield Resolution("missing", (), "not in a form that is understood")
            else:
                yield resolver.resolve(msgspec.structs.replace(citation, name=name), row)


def _write_graph(folder: Path, rows: int, pairs: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    for name, columns in (("cites", pairs), ("cited_by", pairs[:, ::-1])):
        order = np.lexsort((columns[:, 1], columns[:, 0]))
        ends = np.cumsum(np.bincount(columns[:, 0], minlength=rows))
        np.save(folder / f"{name}.offsets.npy", np.concatenate([[0], ends]).astype(np.int64))
        np.save(folder / f"{name}.rows.npy", columns[order, 1])
