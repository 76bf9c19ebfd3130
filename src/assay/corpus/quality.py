"""What is in a corpus, and what is wrong with it: counts, coverage, scan quality, near-duplicates,
open references."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from assay.core.types import Finding
from assay.corpus.disk import Corpus, read_arrow
from assay.corpus.importers.source import importer

LOW_QUALITY = 0.6  # a stored or estimated score below this asks for a person to look
SIGNATURE = 64  # values of a document's signature; 16 bands of 4 find pairs of 0.6 and more
BANDS = 16
SIMILAR = 0.8
MAX_BUCKET = 200
SHINGLE = 5


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts by type, year and language; the share of documents that have each field; lengths; scan
    quality."""

    name: str
    kind: str
    fingerprint: str
    documents: int
    characters: int
    by_type: dict[str, int]
    by_year: dict[str, int]
    by_language: dict[str, int]
    coverage: dict[str, float]
    citations: dict[str, int]
    citations_by_kind: dict[str, dict[str, int]]
    record_citations: dict[str, int]
    quality: dict[str, float]
    no_text: int
    problems: dict[str, int]


def stats(corpus: Corpus) -> Stats:
    frame = corpus.frame
    lengths = frame.select(
        pl.col("text").str.len_chars().alias("n"), "type", "year", "language"
    ).collect()
    cited = corpus.citations.select("kind", "status", "in_record").collect()
    letters = cited.filter(
        pl.col("in_record") & pl.col("kind").is_in(["letter", "opinion", "reference", ""])
    )
    return Stats(
        name=corpus.name,
        kind=corpus.manifest.kind,
        fingerprint=corpus.fingerprint,
        documents=len(corpus),
        characters=int(lengths["n"].sum() or 0),
        by_type=_counted(lengths["type"]),
        by_year=_counted(lengths["year"].cast(pl.String)),
        by_language=_counted(lengths["language"]),
        coverage=coverage(corpus),
        citations=dict(corpus.manifest.citations),
        citations_by_kind={
            str(kind[0]) or "not understood": _counted(group["status"])
            for kind, group in cited.group_by("kind")
        },
        record_citations=_counted(letters["status"]),
        quality=_quality(corpus),
        no_text=int((lengths["n"] == 0).sum()),
        problems=dict(corpus.manifest.problems),
    )


def coverage(corpus: Corpus) -> dict[str, float]:
    """The share of documents that have each field. A kind with a published table (`COVERAGE`) gives
    its rows and names; any other kind its fields and metadata."""
    table: dict[str, str] = (
        getattr(importer(corpus.manifest.kind), "COVERAGE", {}) if corpus.manifest.kind else {}
    )
    columns = set(corpus.frame.collect_schema().names())
    total = max(1, len(corpus))
    if not table:
        table = {"text": "text", "title": "title", "citations": "citations"}
        table |= {f"fields.{name}": f"fields.{name}" for name in corpus.manifest.fields}
        table |= {f"metadata.{key}": f"metadata.{key}" for key in _metadata_keys(corpus)}
    plain = {name: place for name, place in table.items() if place in columns}
    filled = corpus.frame.select(
        _filled(place, corpus.frame.collect_schema()[place]).sum().alias(name)
        for name, place in plain.items()
    ).collect()
    shares = {name: float(filled[name][0] or 0) / total for name in plain}
    counts = _metadata_keys(corpus)
    for name, place in table.items():
        if place not in columns:
            shares[name] = counts.get(place.removeprefix("metadata."), 0) / total
    return {name: shares[name] for name in table}


def _filled(column: str, dtype: Any) -> pl.Expr:
    if isinstance(dtype, pl.List):
        return pl.col(column).list.len() > 0
    return pl.col(column).is_not_null() & (pl.col(column) != "")


def _metadata_keys(corpus: Corpus) -> dict[str, int]:
    """How many documents have each key of metadata; empty values are not stored."""
    counts: dict[str, int] = {}
    for part in corpus.manifest.parts:
        for text in read_arrow(corpus.data / part.file, ["metadata"])["metadata"]:
            for key in msgspec.json.decode(text):
                counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))


def _counted(series: pl.Series) -> dict[str, int]:
    counts = series.fill_null("").value_counts().sort("count", descending=True)
    pairs = {str(value) or "none": int(count) for value, count in counts.iter_rows()}
    return dict(sorted(pairs.items())) if all(key.isdigit() for key in pairs) else pairs


def _quality(corpus: Corpus) -> dict[str, float]:
    """Mean, tenth percentile and the share below LOW_QUALITY of what the source says, or of the
    estimate."""
    scores = np.array([score for _, score in quality_scores(corpus)])
    if not len(scores):
        return {}
    return {
        "mean": float(scores.mean()),
        "p10": float(np.quantile(scores, 0.1)),
        "low": float((scores < LOW_QUALITY).mean()),
        "estimated": float("quality_score" not in _metadata_keys(corpus)),
    }


def quality_scores(corpus: Corpus) -> Iterator[tuple[str, float]]:
    """(id, score from 0 to 1): the score the source gives, or an estimate from the words."""
    for part in corpus.manifest.parts:
        frame = read_arrow(corpus.data / part.file, ["id", "text", "metadata"])
        for doc_id, text, metadata in frame.select("id", "text", "metadata").iter_rows():
            stored = msgspec.json.decode(metadata).get("quality_score")
            yield doc_id, float(stored) if isinstance(stored, (int, float)) else text_quality(text)


def text_quality(text: str) -> float:
    """An estimate of how clean a text is: the share of its pieces that look like words, numbers or
    punctuation.

    A poor scan has pieces such as "c0n~lict" or "|l.,". It knows no dictionary, so it does not see
    a wrong word."""
    pieces = text.split()
    if not pieces:
        return 0.0
    good = sum(1 for piece in pieces if _WORDLIKE.fullmatch(piece))
    return good / len(pieces)


_WORDLIKE = re.compile(
    r"[\"'“”„’‘(\[<*-]*(?:[^\W\d_]+(?:[-’'./:][^\W\d_]+)*|[§$€£#]?[\d.,:/()–-]+[a-z%€§]{0,3}|[&§–—•·|-])[\"'“”’‘)\]>.,;:!?*%-]*"
)


# ── findings ──────────────────────────────────────────────────────────────────────────────────────


def check(corpus: Corpus, *, limit: int = 1000) -> list[Finding]:
    """What asks for a person to look. At most `limit` findings of each code, and one that says how
    many more."""
    found: list[Finding] = []
    for source in (
        _unread(corpus),
        _no_text(corpus),
        _poor(corpus),
        _near(corpus),
        _dangling(corpus),
    ):
        found += _limited(source, limit)
    return found


def _limited(findings: Iterable[Finding], limit: int) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= limit:
            yield finding
    for code, count in counts.items():
        if count > limit:
            message = f"{count - limit:,} more of this kind are not listed"
            yield Finding(level="flag", code=code, where="", message=message)


def _unread(corpus: Corpus) -> Iterator[Finding]:
    for problem in corpus.problems():
        level: Literal["error", "flag"] = (
            "flag" if problem.code == "duplicate" else "error"
        )  # the same twice is no loss
        yield Finding(level=level, code=problem.code, where=problem.where, message=problem.reason)


def _no_text(corpus: Corpus) -> Iterator[Finding]:
    empty = (
        corpus.frame.filter(pl.col("text").str.strip_chars().str.len_chars() == 0)
        .select("id")
        .collect()
    )
    for doc_id in empty["id"]:
        yield Finding(
            level="flag", code="no-text", where=doc_id, message="the document has no text"
        )


def _poor(corpus: Corpus) -> Iterator[Finding]:
    for doc_id, score in quality_scores(corpus):
        if score < LOW_QUALITY:
            message = f"text quality {score:.2f}, below {LOW_QUALITY}: a poor scan?"
            yield Finding(level="flag", code="low-quality", where=doc_id, message=message)


def _near(corpus: Corpus) -> Iterator[Finding]:
    for first, second, similarity in near_duplicates(corpus):
        yield Finding(
            level="flag",
            code="near-duplicate",
            where=second,
            message=f"{similarity:.0%} the same words as {first}",
        )


def _dangling(corpus: Corpus) -> Iterator[Finding]:
    """References to a document that is not here, or that fit several; by what they name, the most
    cited first."""
    open_ones = corpus.citations.filter(pl.col("status").is_in(["missing", "ambiguous"]))
    grouped = open_ones.group_by("normal", "status", "reason").agg(
        pl.len().alias("n"), pl.col("row").min()
    )
    for normal, status, reason, count, row in (
        grouped.sort("n", "normal", descending=[True, False]).collect().iter_rows()
    ):
        code = "dangling-reference" if status == "missing" else "ambiguous-reference"
        message = f"{normal}: {reason} (cited by {count:,})"
        yield Finding(
            level="flag",
            code=code,
            where=corpus.at(row).id if count == 1 else normal,
            message=message,
        )


# ── near-duplicates ───────────────────────────────────────────────────────────────────────────────


def near_duplicates(corpus: Corpus, *, threshold: float = SIMILAR) -> list[tuple[str, str, float]]:
    """Pairs of documents that share most of their five-word sequences: (earlier id, later id,
    estimated share).

    MinHash signatures, compared where a band of them is equal (Broder 1997; Leskovec et al., Mining
    of Massive Datasets, ch. 3). Texts under 20 words are left out."""
    ids, signatures = _signatures(corpus)
    if not ids:
        return []
    matrix = np.vstack(signatures)
    width = SIGNATURE // BANDS
    pairs: set[tuple[int, int]] = set()
    for band in range(BANDS):
        keys = (
            np.ascontiguousarray(matrix[:, band * width : (band + 1) * width])
            .view(f"V{4 * width}")
            .ravel()
        )
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(
            np.concatenate([[True], keys[order][1:] != keys[order][:-1], [True]])
        )
        for start, end in itertools.pairwise(starts):
            group = np.sort(order[start:end])[:MAX_BUCKET]
            pairs.update((int(a), int(b)) for i, a in enumerate(group) for b in group[i + 1 :])
    found = []
    for a, b in sorted(pairs):
        similarity = float((matrix[a] == matrix[b]).mean())
        if similarity >= threshold:
            found.append((ids[a], ids[b], similarity))
    return found


def _signatures(corpus: Corpus) -> tuple[list[str], list[np.ndarray[Any, np.dtype[np.uint32]]]]:
    random = np.random.default_rng(20240229)
    factors = random.integers(1, 2**31, SIGNATURE, dtype=np.uint64) | np.uint64(1)
    shifts = random.integers(0, 2**31, SIGNATURE, dtype=np.uint64)
    ids, signatures = [], []
    for part in corpus.manifest.parts:
        frame = read_arrow(corpus.data / part.file, ["id", "text"])
        for doc_id, text in frame.select("id", "text").iter_rows():
            hashes = _shingles(text)
            if len(hashes) >= 16:
                mixed = (hashes[:, None] * factors[None, :] + shifts[None, :]) >> np.uint64(32)
                ids.append(doc_id)
                signatures.append(mixed.astype(np.uint32).min(axis=0))
    return ids, signatures


def _shingles(text: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Hashes of the five-word sequences of a text, at most a few thousand of them, chosen by their
    hash."""
    words = np.array(
        [zlib.crc32(word.encode()) for word in text.lower().split()[:20000]], dtype=np.uint64
    )
    if len(words) < SHINGLE + 15:
        return np.empty(0, np.uint64)
    mixed = np.zeros(len(words) - SHINGLE + 1, dtype=np.uint64)
    for offset in range(SHINGLE):
        mixed = mixed * np.uint64(1000003) + words[offset : offset + len(mixed)]
    mixed = np.unique((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(1))
    return mixed[:1024]  # the smallest hashes are a fair sample, and the same one for equal texts
