"""Questions that were written for documents, matched as questions.

**Idea.** People do not ask in the words of a statute, but they ask in each other's. So where
questions have been written for a document (by people, or by a language model that read it), a new
question is compared with each of them, by BM25 over n-grams, and the best one counts for the
document. That is document expansion (Nogueira et al. 2019, "Document Expansion by Query
Prediction"), with every question kept apart: in one text with the others, a long list of them
would drown the one that fits.

**How sure it is.** A score is divided by what a question would reach against itself, about, so that
1 means that the same was asked before. What was never asked has no good match, and adds little.

The questions for Finnish and Israeli statutes that the encoders were trained on ship with the
package, in data/LANGUAGE.questions.jsonl.gz. A file of one's own has the same lines:

    {"id": "410/2015:fin@20230780:1:1", "questions": ["…", "…"]}
"""

from __future__ import annotations

import gzip
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import iter_json_lines
from assay.search.arrays import TINY, Array, Floats, cosines, offsets_of
from assay.search.lexical import Bm25, bm25, count_terms

K1 = 1.2  # BM25; research/hebrew.md
B = 0.6  # its length normalisation; research/hebrew.md
MAX_QUESTION_CHARACTERS = 2_000  # characters of a question (taste)
HINT = 'A line is {"id": "…", "questions": ["…", "…"]}.'
_VERSION = re.compile(r"@\d+")


class DocumentQuestions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was written for one document."""

    id: str
    questions: list[str]


@dataclass(frozen=True, kw_only=True)
class WrittenQuestions:
    """Questions by document: `postings` has a row for each question, `documents` its document, in
    ascending order; `texts` and `vectors` are those of the questions, where they are kept."""

    postings: Bm25
    documents: Array
    texts: Sequence[str] = ()
    vectors: Array | None = None

    @cached_property
    def _starts(self) -> Array:
        """Of each document's questions."""
        return np.flatnonzero(np.r_[True, self.documents[1:] != self.documents[:-1]])

    @cached_property
    def _documents(self) -> list[int]:
        return [int(row) for row in self.documents]

    def nearest(self, vector: Floats, rows: Array) -> Array:
        """The cosine of each document's nearest question; nan where it has none."""
        assert self.vectors is not None
        starts, ends = np.searchsorted(self.documents, [rows, rows + 1])
        nearest = np.full(len(rows), np.nan)
        has = np.flatnonzero(ends > starts)
        if len(has):
            every = np.concatenate([np.arange(starts[at], ends[at]) for at in has])
            begins = offsets_of(ends[has] - starts[has])[:-1]
            nearest[has] = np.maximum.reduceat(cosines(self.vectors[every], vector), begins)
        return nearest

    def likeness(self, terms: Sequence[str]) -> Floats:
        """How alike each question is: about 1 for the same one."""
        reachable = self.postings.attainable(terms) / (self.postings.k1 + 1)
        by_question = self.postings.scores(self.postings.query(terms))
        return np.asarray(by_question / np.float32(max(reachable, TINY)))

    def scores(self, terms: Sequence[str], size: int) -> Floats:
        """For each document how alike the best of its questions is."""
        scores = np.zeros(size, np.float32)
        best = np.maximum.reduceat(self.likeness(terms), self._starts)
        scores[self.documents[self._starts]] = best
        return scores

    def best_question(self, likeness: Floats, row: int) -> tuple[str, float]:
        """The question of a document that is most alike, and how much; nothing where it has
        none."""
        start, end = bisect_left(self._documents, row), bisect_right(self._documents, row)
        if start == end or not self.texts:
            return "", 0.0
        best = start + int(np.argmax(likeness[start:end]))
        return self.texts[best], float(likeness[best])


def read_written(path: Path) -> list[DocumentQuestions]:
    """Of a file. Raises InputError that names the line."""
    read: list[DocumentQuestions] = []
    for number, raw in iter_json_lines(path, strict=True):
        where = f"{path}, line {number}"
        try:
            line = msgspec.convert(raw, thread_safe(DocumentQuestions))
        except msgspec.ValidationError as error:
            raise InputError(f"not questions to a document: {error}", where=where, hint=HINT) from (
                error
            )
        if not line.id.strip():
            raise InputError("the id is empty", where=where, hint=HINT)
        for question in line.questions:
            if not question.strip():
                raise InputError("a question is empty", where=where, hint=HINT)
            if len(question) > MAX_QUESTION_CHARACTERS:
                raise InputError(
                    f"a question has {len(question):,} characters, more than "
                    f"{MAX_QUESTION_CHARACTERS:,}",
                    where=where,
                )
        read.append(line)
    return read


def shipped(language: str) -> list[DocumentQuestions]:
    """What ships with the package for statutes in a language; nothing for most."""
    path = resources.files("assay.search") / "data" / f"{language}.questions.jsonl.gz"
    if not path.is_file():
        return []
    lines = gzip.decompress(path.read_bytes()).splitlines()
    return [msgspec.json.decode(line, type=thread_safe(DocumentQuestions)) for line in lines]


def asked_of(
    ids: Sequence[str],
    shipped: Iterable[DocumentQuestions],
    given: Iterable[DocumentQuestions],
    terms_of: Callable[[str], list[str]],
) -> WrittenQuestions | None:
    """The questions for these documents; None where there are none. Those that ship also hold for
    another version of the same provision."""
    row_of = {doc_id: row for row, doc_id in enumerate(ids)}
    versions: dict[str, list[int]] = {}
    for row, doc_id in enumerate(ids):
        versions.setdefault(_VERSION.sub("", doc_id), []).append(row)
    pairs: set[tuple[int, str]] = set()
    for written in shipped:
        exact = row_of.get(written.id)
        rows = versions.get(_VERSION.sub("", written.id), []) if exact is None else [exact]
        pairs.update((row, text) for row in rows for text in written.questions)
    for written in given:
        if written.id in row_of:
            pairs.update((row_of[written.id], text) for text in written.questions)
    if not pairs:
        return None
    ordered = sorted(pairs)
    counts = count_terms([text for _, text in ordered], terms_of)
    return WrittenQuestions(
        postings=bm25(counts, k1=K1, b=B),
        documents=np.array([row for row, _ in ordered], np.int32),
        texts=[text for _, text in ordered],
    )
