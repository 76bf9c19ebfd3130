"""Describe and check a corpus: counts, field coverage, scan quality, near-duplicates and unresolved
references.

**Near-duplicates.** Two documents are near-duplicates when they share most of their five-word
sequences (*shingles*), which survives a new heading or a corrected line. Comparing all pairs of
14,000 documents is out of the question, so each gets a signature by MinHash (Broder 1997): 64 hash
functions, and of each the smallest value over the document's shingles. The share of equal values in
two signatures estimates the share of shingles they have in common, with a standard error of 5% near
0.8. Candidates come from banding (Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, ch. 3):
signatures are cut into 16 bands of 4, and two documents are compared if one band is equal. A pair
that shares s of its shingles is found with probability 1 - (1 - s^4)^16: 99.98% at 0.8, 89% at 0.6,
and 1% at 0.16. A band in which very many are equal is boilerplate, and is cut at `MAX_BUCKET`.
"""

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
from assay.corpus.frozen import find_alterations
from assay.corpus.importers.kinds import importer
from assay.corpus.letters import LATER, REPAIRED

# problems of records that are imported all the same
ODD = "duplicate no-id odd-id bad-date future-date wrong-folder html left-out empty-section twice"
ONLY_ODD = frozenset(ODD.split())
LOW_QUALITY = 0.6  # a person should look at a lower score (taste)
SIGNATURE = 64  # values of a document's signature; the docstring has the reason for this and BANDS
BANDS = 16
SIMILAR = 0.8  # from this share on, two documents are near-duplicates (taste)
SHINGLE = 5  # words (taste)
# taste: bounds on the work for one document or band
MAX_BUCKET = 200  # documents with an equal band that are compared
MAX_WORDS = 20_000  # of a document that are looked at
MAX_SHINGLES = 1024  # of a document that count
MIN_WORDS = 20  # a shorter text is like any other (taste)
MIN_SHINGLES = MIN_WORDS - SHINGLE + 1
SIGNATURE_SEED = 20240229  # any number, so that signatures are always the same

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Signature = np.ndarray[Any, np.dtype[np.uint32]]


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
    length = pl.col("text").str.len_chars().alias("length")
    documents = corpus.frame.select(length, "type", "year", "language").collect()
    cited = corpus.citations.select("kind", "status", "in_record").collect()
    to_documents = pl.col("kind").is_in(["letter", "opinion", "reference", ""])
    in_records = cited.filter(pl.col("in_record") & to_documents)
    return Stats(
        name=corpus.name,
        kind=corpus.manifest.kind,
        fingerprint=corpus.fingerprint,
        documents=len(corpus),
        characters=int(documents["length"].sum() or 0),
        by_type=_value_counts(documents["type"]),
        by_year=_value_counts(documents["year"].cast(pl.String)),
        by_language=_value_counts(documents["language"]),
        coverage=coverage(corpus),
        citations=dict(corpus.manifest.citations),
        citations_by_kind={
            str(kind[0]) or "not understood": _value_counts(group["status"])
            for kind, group in cited.group_by("kind")
        },
        record_citations=_value_counts(in_records["status"]),
        quality=_quality(corpus),
        no_text=int((documents["length"] == 0).sum()),
        problems=dict(corpus.manifest.problems),
    )


def coverage(corpus: Corpus) -> dict[str, float]:
    """The share of documents that have each field. A kind with a published table (`COVERAGE`) gives
    its rows and names; any other kind its fields and metadata."""
    total = max(1, len(corpus))
    keys = _metadata_keys(corpus)
    kind = corpus.manifest.kind
    table: dict[str, str] = getattr(importer(kind), "COVERAGE", {}) if kind else {}
    if not table:
        fields = [f"fields.{name}" for name in corpus.manifest.fields]
        places = ["text", "title", "citations", *fields, *(f"metadata.{key}" for key in keys)]
        table = {place: place for place in places}
    schema = corpus.frame.collect_schema()
    columns = {name: place for name, place in table.items() if place in schema}
    sums = [_is_filled(place, schema[place]).sum().alias(name) for name, place in columns.items()]
    filled = corpus.frame.select(sums).collect()
    counts = {name: int(filled[name][0] or 0) for name in columns}
    for name, place in table.items():
        if name not in counts:
            counts[name] = keys.get(place.removeprefix("metadata."), 0)
    return {name: counts[name] / total for name in table}


def _is_filled(column: str, kind: pl.DataType) -> pl.Expr:
    if isinstance(kind, pl.List):
        return pl.col(column).list.len() > 0
    return pl.col(column).is_not_null() & (pl.col(column) != "")


def _metadata_keys(corpus: Corpus) -> dict[str, int]:
    """How many documents have each key of metadata; empty values are not stored."""
    counts: dict[str, int] = {}
    for part in corpus.manifest.parts:
        for text in read_arrow(corpus.data_folder / part.file, ["metadata"])["metadata"]:
            for key in msgspec.json.decode(text):
                counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))


def _value_counts(series: pl.Series) -> dict[str, int]:
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
        frame = read_arrow(corpus.data_folder / part.file, ["id", "text", "metadata"])
        for doc_id, text, metadata in frame.select("id", "text", "metadata").iter_rows():
            stated = msgspec.json.decode(metadata).get("quality_score")
            is_stated = isinstance(stated, (int, float))
            yield doc_id, float(stated) if is_stated else text_quality(text)


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
    r"""
    ["'“”„’‘(\[<*-]*                                # what opens
    (?:[^\W\d_]+(?:[-’'./:][^\W\d_]+)*             # a word, or several in one
      |[§$€£\#]?[\d.,:/()–-]+[a-z%€§]{0,3}   # a number with its unit
      |[&§–—•·|-]                               # a sign that stands alone
    )
    ["'“”’‘)\]>.,;:!?*%-]*                          # what closes
    """,
    re.VERBOSE,
)


# ── findings ──────────────────────────────────────────────────────────────────────────────────────


def check(corpus: Corpus, *, limit: int = 1000) -> list[Finding]:
    """Findings that a person should look at. At most `limit` of each code, and one that says how
    many more."""
    findings: list[Finding] = []
    for look in (
        _find_altered,
        _find_unread,
        _find_empty,
        _find_poor_scans,
        _find_near_duplicates,
        _find_unresolved,
        _find_repaired,
    ):
        findings += _at_most_of_each(look(corpus), limit)
    return findings


def _flag(code: str, where: str, message: str) -> Finding:
    return Finding(level="flag", code=code, where=where, message=message)


def _at_most_of_each(findings: Iterable[Finding], limit: int) -> Iterator[Finding]:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= limit:
            yield finding
    for code, count in counts.items():
        if count > limit:
            message = f"{count - limit:,} more of this kind are not listed"
            yield _flag(code, "", message)


def _find_altered(corpus: Corpus) -> Iterator[Finding]:
    """Documents that were changed after the import: digests are computed again."""
    for found in find_alterations(corpus):
        where = found.doc_id or str(corpus.path)
        yield Finding(level="error", code="altered", where=where, message=found.what)


def _find_unread(corpus: Corpus) -> Iterator[Finding]:
    for problem in corpus.problems():
        level: Literal["error", "flag"] = "flag" if problem.code in ONLY_ODD else "error"
        yield Finding(level=level, code=problem.code, where=problem.where, message=problem.reason)


def _find_empty(corpus: Corpus) -> Iterator[Finding]:
    is_empty = pl.col("text").str.strip_chars().str.len_chars() == 0
    for doc_id in corpus.frame.filter(is_empty).select("id").collect()["id"]:
        yield _flag("no-text", doc_id, "the document has no text")


def _find_poor_scans(corpus: Corpus) -> Iterator[Finding]:
    for doc_id, score in quality_scores(corpus):
        if score < LOW_QUALITY:
            message = f"text quality {score:.2f}, below {LOW_QUALITY}: a poor scan?"
            yield _flag("low-quality", doc_id, message)


def _find_near_duplicates(corpus: Corpus) -> Iterator[Finding]:
    for first, second, similarity in near_duplicates(corpus):
        yield _flag("near-duplicate", second, f"{similarity:.0%} the same words as {first}")


def _find_unresolved(corpus: Corpus) -> Iterator[Finding]:
    """References to a document that is not here, or that fit several; by what they name, the most
    cited first."""
    unresolved = corpus.citations.filter(pl.col("status").is_in(["missing", "ambiguous"]))
    by_target = unresolved.group_by("normal", "status", "reason")
    counted = by_target.agg(pl.len().alias("count"), pl.col("row").min())
    ordered = counted.sort("count", "normal", descending=[True, False]).collect()
    for normal, status, reason, count, row in ordered.iter_rows():
        code = "dangling-reference" if status == "missing" else "ambiguous-reference"
        where = corpus.at(row).id if count == 1 else normal
        yield _flag(code, where, f"{normal}: {reason} (cited by {count:,})")


def _find_repaired(corpus: Corpus) -> Iterator[Finding]:
    """References that name a letter by its addressee, under a number that is a slip away; and those
    to a letter of a later year."""
    resolved = corpus.citations.filter(pl.col("status") == "resolved")
    doubtful = resolved.filter(pl.col("reason").is_in([REPAIRED, LATER]))
    columns = ("row", "normal", "name", "targets", "reason")
    for row, normal, name, targets, reason in doubtful.select(columns).collect().iter_rows():
        title = corpus.at(targets[0]).title
        if reason == REPAIRED:
            message = f"{normal} to {name} is taken for {title}: one digit differs"
            yield _flag("repaired-reference", corpus.at(row).id, message)
        else:
            message = f"{normal}, {title}, is of a later year: superseded by it, or misread?"
            yield _flag("later-reference", corpus.at(row).id, message)


# ── near-duplicates ───────────────────────────────────────────────────────────────────────────────


def near_duplicates(corpus: Corpus, *, threshold: float = SIMILAR) -> list[tuple[str, str, float]]:
    """Pairs of documents that share most of their five-word sequences: (earlier id, later id,
    estimated share). Texts under 20 words are left out."""
    ids, signatures = _signatures(corpus)
    if not ids:
        return []
    matrix = np.vstack(signatures)
    alike = []
    for first, second in sorted(_candidates(matrix)):
        similarity = float((matrix[first] == matrix[second]).mean())
        if similarity >= threshold:
            alike.append((ids[first], ids[second], similarity))
    return alike


def _candidates(matrix: Signature) -> set[tuple[int, int]]:
    """Pairs of rows with a band in common."""
    width = SIGNATURE // BANDS
    pairs: set[tuple[int, int]] = set()
    for band in range(BANDS):
        columns = np.ascontiguousarray(matrix[:, band * width : (band + 1) * width])
        keys = columns.view(f"V{columns.itemsize * width}").ravel()
        order = np.argsort(keys, kind="stable")
        changes = keys[order][1:] != keys[order][:-1]
        starts = np.flatnonzero(np.concatenate([[True], changes, [True]]))
        for start, end in itertools.pairwise(starts):
            group = np.sort(order[start:end])[:MAX_BUCKET].tolist()
            pairs.update(itertools.combinations(group, 2))
    return pairs


def _signatures(corpus: Corpus) -> tuple[list[str], list[Signature]]:
    random = np.random.default_rng(SIGNATURE_SEED)
    factors = random.integers(1, 2**31, SIGNATURE, dtype=np.uint64) | np.uint64(1)
    shifts = random.integers(0, 2**31, SIGNATURE, dtype=np.uint64)
    ids = []
    signatures = []
    for part in corpus.manifest.parts:
        frame = read_arrow(corpus.data_folder / part.file, ["id", "text"])
        for doc_id, text in frame.select("id", "text").iter_rows():
            hashes = _shingles(text)
            if len(hashes) >= MIN_SHINGLES:
                # 64 hashes of each shingle by multiplying and shifting (Dietzfelbinger et al. 1997)
                mixed = (hashes[:, None] * factors[None, :] + shifts[None, :]) >> np.uint64(32)
                ids.append(doc_id)
                signatures.append(mixed.astype(np.uint32).min(axis=0))
    return ids, signatures


def _shingles(text: str) -> Hashes:
    """Hashes of the five-word sequences of a text. Of a long text those with the smallest hashes: a
    fair sample, and the same one for equal texts."""
    words = [zlib.crc32(word.encode()) for word in text.lower().split()[:MAX_WORDS]]
    if len(words) < MIN_WORDS:
        return np.empty(0, np.uint64)
    hashes = np.array(words, dtype=np.uint64)
    mixed = np.zeros(len(hashes) - SHINGLE + 1, dtype=np.uint64)
    for offset in range(SHINGLE):
        mixed = mixed * np.uint64(1000003) + hashes[offset : offset + len(mixed)]
    spread = (mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(1)
    return np.unique(spread)[:MAX_SHINGLES]
