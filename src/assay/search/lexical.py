"""BM25 as flat arrays: counted once, impacts precomputed, memory-mapped; a query touches one list a
term.

**Idea.** What a term adds to a document's score does not depend on the query, so it is computed
when the index is built (its *impact*; Anh & Moffat 2002, "Impact transformation") and stored beside
the document's row, term by term. A query then adds up slices of one array by row, which numpy does
at memory speed, and no score is computed twice.

`TermCounts` is the forward side (document to terms), kept so that a changed corpus re-analyses
changed documents only. `Bm25` is the inverted side, which `Inverter` makes from it; the rows of a
term ascend. The formula is Robertson & Zaragoza 2009 ("The Probabilistic Relevance Framework"),
with log(1 + …) in the idf, which is never negative, and the mean length over the documents that
have the field at all.

**Building.** `Inverter` goes from documents in order to postings by term, within bounded memory.
Documents come in blocks. A block is sorted by term at once and, where a folder is given, written to
it; what stays in memory of it is how often each of its terms occurs. When all blocks are there, the
postings are laid out term by term, a range of terms at a time: every block gives its part of the
range, in the order of blocks, so that the rows of a term ascend. This is the merge of an external
sort (Heinz & Zobel 2003, "Efficient single-pass index construction for text databases"), with
counting in the place of comparing. Memory depends on the size of a block and of a range, not on the
collection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from assay.search.arrays import Array, Floats, offsets_of

Terms = Callable[[str], list[str]]
TOGETHER = 16  # lists of postings that are added up at a time (taste): most are short
MOST_COUNTED = 65_535  # of a term in one document: what two bytes hold


@dataclass(frozen=True)
class TermCounts:
    """How often each term stands in each document: row i has terms[offsets[i]:offsets[i+1]]."""

    vocabulary: list[str]
    offsets: Array
    terms: Array
    frequencies: Array

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1


def count_terms(texts: Sequence[str], terms_of: Terms) -> TermCounts:
    """How often each term stands in each text."""
    counter = TermCounter(terms_of)
    return replace(counter.count(texts), vocabulary=list(counter.numbers))


Text = TypeVar("Text")


class TermCounter(Generic[Text]):
    """Counts the terms of texts over one vocabulary that grows. What a token gives is found out
    once: `tokens` splits a text, `terms_of` is asked for every different token."""

    def __init__(
        self,
        tokens: Callable[[Text], Iterable[str]],
        terms_of: Callable[[str], Iterable[str]] = lambda token: (token,),
        known: Iterable[str] = (),
    ) -> None:
        self.numbers = {term: number for number, term in enumerate(known)}
        self._tokens = tokens
        self._terms_of = terms_of
        self._given = _TermNumbers(self._numbers_of)

    def count(
        self, texts: Sequence[Text], reuse: Sequence[int] = (), before: TermCounts | None = None
    ) -> TermCounts:
        """Of the next documents. Where `reuse[i]` is a row of `before`, its counts are taken over:
        the vocabulary then began with that one's. The vocabulary of the answer is empty."""
        terms: list[int] = []
        frequencies: list[int] = []
        sizes: list[int] = []
        for place, text in enumerate(texts):
            if before is not None and reuse[place] >= 0:
                held = slice(*before.offsets[reuse[place] : reuse[place] + 2])
                terms += before.terms[held].tolist()
                frequencies += before.frequencies[held].tolist()
                sizes.append(held.stop - held.start)
                continue
            given = map(self._given.__getitem__, self._tokens(text))
            counted = Counter(chain.from_iterable(given))
            terms += counted.keys()
            frequencies += counted.values()
            sizes.append(len(counted))
        times = np.minimum(np.array(frequencies, np.int64), MOST_COUNTED).astype(np.uint16)
        return TermCounts([], offsets_of(sizes), np.array(terms, np.int32), times)

    def _numbers_of(self, token: str) -> tuple[int, ...]:
        numbers = self.numbers
        return tuple(numbers.setdefault(term, len(numbers)) for term in self._terms_of(token))


class _TermNumbers(dict[str, tuple[int, ...]]):
    """The numbers of a token's terms, found when it is first asked for."""

    def __init__(self, find: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, token: str) -> tuple[int, ...]:
        found = self[token] = self._find(token)
        return found


def joined_counts(vocabulary: list[str], blocks: Sequence[TermCounts]) -> TermCounts:
    """Documents one after the other, numbered over one vocabulary."""
    return TermCounts(
        vocabulary,
        offsets_of(np.concatenate([np.diff(block.offsets) for block in blocks])),
        np.concatenate([block.terms for block in blocks]),
        np.concatenate([block.frequencies for block in blocks]),
    )


@dataclass(frozen=True)
class Bm25:
    """Postings with their BM25 impact. A term occurs once a document, so adding impacts by fancy
    index is exact."""

    numbers: dict[str, int]
    starts: Array
    rows: Array
    impacts: Floats
    idf: Floats
    documents: int
    k1: float

    @cached_property
    def letters(self) -> str:
        """All that terms are written with."""
        return "".join(sorted(set("".join(self.numbers))))

    def query(self, terms: Iterable[str]) -> dict[int, float]:
        """{term number: how often it is asked for}; unknown terms are left out."""
        asked: dict[int, float] = {}
        for term in terms:
            number = self.numbers.get(term)
            if number is not None:
                asked[number] = asked.get(number, 0.0) + 1.0
        return asked

    def scores(self, asked: dict[int, float]) -> Floats:
        scores = np.zeros(self.documents, np.float32)
        every = list(asked)
        for first in range(0, len(every), TOGETHER):
            numbers = every[first : first + TOGETHER]
            lists = [slice(*self.starts[number : number + 2].tolist()) for number in numbers]
            impacts = np.concatenate([self.impacts[each] for each in lists])
            times = np.array([asked[number] for number in numbers], np.float32)
            if (times != 1).any():
                impacts *= np.repeat(times, [each.stop - each.start for each in lists])
            # a third of the time of scores[rows] +=
            np.add.at(scores, np.concatenate([self.rows[each] for each in lists]), impacts)
        return scores

    def attainable(self, terms: Iterable[str]) -> float:
        """The score of a document that has every asked term without end; unknown terms count as the
        rarest."""
        return sum(self.rarity(term) * (self.k1 + 1) for term in terms)

    def rarity(self, term: str) -> float:
        """Its idf; that of the rarest where no document has it."""
        number = self.numbers.get(term)
        return self._rarest if number is None else float(self.idf[number])

    @cached_property
    def _rarest(self) -> float:
        return float(np.log1p((self.documents + 0.5) / 0.5))

    def held_among(self, numbers: Sequence[int], rows: Array) -> Array:
        """Which of these terms each of these rows has: all lists are halved at once, until of each
        one entry is left."""
        low = np.repeat(self.starts[np.array(numbers, int)][:, None], len(rows), axis=1)
        end = np.repeat(self.starts[np.array(numbers, int) + 1][:, None], len(rows), axis=1)
        high = end.copy()
        last = max(len(self.rows) - 1, 0)
        while (open_ := low < high).any():
            middle = (low + high) // 2
            is_before = open_ & (self.rows[np.minimum(middle, last)] < rows)
            low = np.where(is_before, middle + 1, low)
            high = np.where(open_ & ~is_before, middle, high)
        found = low < end
        found[found] = self.rows[low[found]] == np.broadcast_to(rows, found.shape)[found]
        return found

    def postings(self, number: int) -> Array:
        return self.rows[self.starts[number] : self.starts[number + 1]]


# ── from documents to postings ────────────────────────────────────────────────────────────────────

BLOCK_POSTINGS = 4_000_000  # sorted at a time, to bound memory (taste)
RANGE = 16_000_000  # postings that are laid out at a time, to bound memory (taste)
# a key of 64 bits has the term in its high half and the place in its low half
SHIFT = np.uint64(32)
LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True)
class _Block:
    """Postings sorted by term: `terms` are those it has, `counts` how many postings each, whose
    rows and frequencies are arrays, or the files that hold them."""

    terms: Array
    counts: Array
    rows: Array | Path
    frequencies: Array | Path

    def slice(self, first: int, last: int) -> tuple[Array, Array]:
        return (
            _part(self.rows, np.int32, first, last),
            _part(self.frequencies, np.uint16, first, last),
        )


@dataclass
class Inverter:
    """Takes the counts of documents in the order of rows. `folder` is for blocks and for what comes
    of them; without it everything stays in memory."""

    folder: Path | None
    name: str
    documents: int = 0
    _waiting: list[TermCounts] = field(default_factory=list)
    _lengths: list[Array] = field(default_factory=list)
    _blocks: list[_Block] = field(default_factory=list)

    def add(self, counts: TermCounts) -> None:
        """The next documents. Terms are numbers of the whole collection."""
        self._waiting.append(counts)
        if sum(len(each.terms) for each in self._waiting) >= BLOCK_POSTINGS:
            self._sort()

    def _sort(self) -> None:
        """A block of what came since the last."""
        if not self._waiting:
            return
        counts = joined_counts([], self._waiting)
        self._waiting.clear()
        size = counts.documents
        row = np.repeat(np.arange(size, dtype=np.int32), np.diff(counts.offsets))
        self._lengths.append(np.bincount(row, weights=counts.frequencies, minlength=size))
        keys = (counts.terms.astype(np.uint64) << SHIFT) | np.arange(len(row), dtype=np.uint64)
        keys.sort()
        order = (keys & LOW).astype(np.int64)
        terms = (keys >> SHIFT).astype(np.int32)
        firsts = np.flatnonzero(np.r_[True, terms[1:] != terms[:-1]]) if len(terms) else order
        block = _Block(
            terms[firsts],
            np.diff(np.r_[firsts, len(terms)]).astype(np.int64),
            self._store_array("rows", row[order] + np.int32(self.documents)),
            self._store_array("frequencies", counts.frequencies[order]),
        )
        self._blocks.append(block)
        self.documents += size

    def bm25(self, vocabulary: Sequence[str], *, k1: float, b: float) -> Bm25:
        self._sort()
        lengths = np.concatenate([np.empty(0), *self._lengths])
        filled = lengths > 0
        average = float(lengths[filled].mean()) if filled.any() else 1.0
        holding = np.zeros(len(vocabulary), np.int64)
        for block in self._blocks:
            holding[block.terms] += block.counts
        idf = np.log1p((int(filled.sum()) - holding + 0.5) / (holding + 0.5)).astype(np.float32)
        norm = (k1 * (1 - b + b * lengths / average)).astype(np.float32)
        rows = _Output(self._path("postings"), np.int32)
        impacts = _Output(self._path("impacts"), np.float32)
        for first, last in _ranges(holding):
            merged, frequencies = self._merged(holding, first, last)
            frequency = frequencies.astype(np.float32)
            gain = np.repeat(idf[first:last], holding[first:last]) * frequency * np.float32(k1 + 1)
            rows.append(merged)
            impacts.append((gain / (frequency + norm[merged])).astype(np.float32))
        self._forget()
        return Bm25(
            numbers={term: number for number, term in enumerate(vocabulary)},
            starts=offsets_of(holding),
            rows=rows.array(),
            impacts=impacts.array(),
            idf=idf,
            documents=self.documents,
            k1=k1,
        )

    def _merged(self, holding: Array, first: int, last: int) -> tuple[Array, Array]:
        """The postings of the terms `first` to `last`, one term after the other."""
        following = offsets_of(holding[first:last])
        rows = np.empty(int(following[-1]), np.int32)
        frequencies = np.empty(len(rows), np.uint16)
        following = following[:-1].copy()  # where the next posting of each term goes
        for block in self._blocks:
            begin, end = np.searchsorted(block.terms, [first, last])
            starts = offsets_of(block.counts[begin:end])
            before = int(block.counts[:begin].sum())
            own_rows, own = block.slice(before, before + int(starts[-1]))
            terms = block.terms[begin:end] - first
            counts = block.counts[begin:end]
            places = np.repeat(following[terms] - starts[:-1], counts) + np.arange(len(own))
            rows[places] = own_rows
            frequencies[places] = own
            following[terms] += counts
        return rows, frequencies

    def _path(self, what: str) -> Path | None:
        return self.folder / f"{self.name}.{what}" if self.folder else None

    def _store_array(self, what: str, array: Array) -> Array | Path:
        path = self._path(f"{len(self._blocks)}.{what}")
        if path is None:
            return array
        array.tofile(path)
        return path

    def _forget(self) -> None:
        for block in self._blocks:
            for part in (block.rows, block.frequencies):
                if isinstance(part, Path):
                    part.unlink(missing_ok=True)
        self._blocks.clear()


class _Output:
    """An array that is made piece by piece: in memory, or in a file as numpy writes them."""

    def __init__(self, path: Path | None, dtype: type) -> None:
        self._dtype = np.dtype(dtype)
        self._path = path
        self._pieces: list[Array] = [np.empty(0, dtype)]
        self._bare = path.with_suffix(f"{path.suffix}.bare") if path else None
        if self._bare:
            self._bare.write_bytes(b"")

    def append(self, piece: Array) -> None:
        if self._bare is None:
            self._pieces.append(piece)
            return
        with self._bare.open("ab") as stream:
            piece.tofile(stream)

    def array(self) -> Array:
        if self._bare is None or self._path is None:
            return np.concatenate(self._pieces)
        size = self._bare.stat().st_size // self._dtype.itemsize
        path = self._path.with_name(f"{self._path.name}.npy")
        with path.open("wb") as stream, self._bare.open("rb") as bare:
            header = {"descr": self._dtype.str, "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(stream, header)
            while piece := bare.read(2**24):
                stream.write(piece)
        self._bare.unlink()
        made: Array = np.load(path, mmap_mode="r" if size else None, allow_pickle=False)
        return made


def _part(held: Array | Path, dtype: type, first: int, last: int) -> Array:
    if isinstance(held, Path):
        width = np.dtype(dtype).itemsize
        return np.fromfile(held, dtype, last - first, offset=first * width)
    return held[first:last]


def _ranges(holding: Array) -> Iterator[tuple[int, int]]:
    """Terms from … to …, with about as many postings each."""
    ends = np.cumsum(holding)
    first = 0
    while first < len(holding):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + RANGE, side="right")))
        yield first, last
        first = last


def bm25(counts: TermCounts, *, k1: float, b: float) -> Bm25:
    """The inverted side of counts, in memory."""
    inverter = Inverter(None, "")
    inverter.add(counts)
    return inverter.bm25(counts.vocabulary, k1=k1, b=b)
