"""The citation graph of a whole corpus: every citation resolved, and who cites whom as arrays.

Opinions are resolved twice. The first round takes those that a citation names, and learns from them
which opinion stands at which volume and page (letters.py tells why); the second round has that to
go by. Each normal form is parsed once, however many documents cite it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay.corpus.citations import Resolver
from assay.corpus.disk import Part, Rows, read_arrow
from assay.corpus.parts import mentions_path, write_arrow
from assay.law.citation import STATUSES, Citation, Resolution
from assay.law.parse import parse

Parsed = dict[tuple[str, str], Citation | None]  # by normal form and language

NOT_UNDERSTOOD = Resolution("missing", (), "not in a form that is understood")
OWN_NUMBER = Resolution("self", (), "its own number, at the top of its pages")
CITATION_ROWS = 65_536  # read together from `citations.arrow`


def link(folder: Path, parts: tuple[Part, ...], resolver: Resolver) -> dict[str, int]:
    """Resolve every citation of every part; write `citations.arrow` and the graph; count what came
    of them."""
    starts = np.cumsum([0, *(part.rows for part in parts)])
    mentions = _all_mentions(folder, parts, starts)
    resolver.letters.read_text = _text_reader(folder, parts, starts)
    parsed: Parsed = {}
    opinions = mentions.filter(pl.col("kind") == "opinion")
    by_name = _resolutions(opinions, resolver, parsed)
    resolver.letters.learn(
        (normal, resolution.status, list(resolution.rows))
        for normal, resolution in zip(opinions["normal"], by_name, strict=True)
    )
    resolutions = list(_resolutions(mentions, resolver, parsed))
    rows = [list(resolution.rows) for resolution in resolutions]
    citations = mentions.with_columns(
        status=pl.Series([resolution.status for resolution in resolutions], dtype=pl.String),
        reason=pl.Series([resolution.reason for resolution in resolutions], dtype=pl.String),
        targets=pl.Series(rows, dtype=pl.List(pl.Int64)),
    )
    write_arrow(citations, folder / "citations.arrow", batch=CITATION_ROWS)
    resolved = citations.filter(pl.col("status") == "resolved").select("row", "targets")
    pairs = resolved.explode("targets").unique()
    _write_graph(folder, int(starts[-1]), pairs.to_numpy().astype(np.int64))
    counts = dict(citations["status"].value_counts().iter_rows())
    return {status: counts.get(status, 0) for status in STATUSES} | {"edges": pairs.height}


def _all_mentions(folder: Path, parts: tuple[Part, ...], starts: Rows) -> pl.DataFrame:
    """The citations of all parts, with rows of the corpus in place of rows of a part."""
    tables = []
    for part, start in zip(parts, starts[:-1], strict=True):
        table = read_arrow(mentions_path(folder, Path(part.file).stem))
        tables.append(table.with_columns(pl.col("row") + int(start)))
    return pl.concat(tables)


def _text_reader(folder: Path, parts: tuple[Part, ...], starts: Rows) -> Callable[[int], str]:
    def read_text(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        texts = pl.scan_ipc(folder / parts[part].file).select("text")
        return str(texts.slice(row - int(starts[part]), 1).collect().item())

    return read_text


def _resolutions(
    mentions: pl.DataFrame, resolver: Resolver, parsed: Parsed
) -> Iterator[Resolution]:
    no_documents = {
        kind: Resolution("no-document", (), f"no {kind} is a document of this corpus")
        for kind in ("statute", "regulation", "case")
        if not resolver.laws.places
    }
    columns = ("row", "normal", "kind", "language", "name", "own")
    for row, normal, kind, language, name, own in mentions.select(columns).iter_rows():
        if own:
            yield OWN_NUMBER
        elif not kind:
            yield NOT_UNDERSTOOD
        elif kind == "reference":
            yield resolver.laws.reference(normal, row)
        elif language == "en" and kind in no_documents:
            yield no_documents[kind]
        else:
            key = (normal, language)
            if key not in parsed:
                parsed[key] = next(iter(parse(normal, language, scheme=resolver.scheme)), None)
            citation = parsed[key]
            if citation is None:
                yield NOT_UNDERSTOOD
            else:
                yield resolver.resolve(msgspec.structs.replace(citation, name=name), row)


def _write_graph(folder: Path, rows: int, pairs: Rows) -> None:
    """Both directions as (offsets, rows), from pairs of a citing and a cited row."""
    for name, columns in (("cites", pairs), ("cited_by", pairs[:, ::-1])):
        order = np.lexsort((columns[:, 1], columns[:, 0]))
        ends = np.cumsum(np.bincount(columns[:, 0], minlength=rows))
        np.save(folder / f"{name}.offsets.npy", np.concatenate([[0], ends]).astype(np.int64))
        np.save(folder / f"{name}.rows.npy", columns[order, 1])
