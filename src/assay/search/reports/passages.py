"""What the prose of a report says, passage by passage: a page is about many things, a sentence or
two of it about one. The heading above them is left out, for it would make all passages of a page
alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.search.arrays import Array, Floats
from assay.search.dense import named_encoder
from assay.search.reports.fields import Reported, sentences_in
from assay.search.views import Parts

WORDS = 254  # of a passage that are read


@dataclass(frozen=True)
class Said:
    """The vectors of passages, and the row of the document of each."""

    vectors: Floats
    documents: Array


def said_in(reports: Iterable[Reported | None], encoder: str) -> Said:
    passages = [
        (passage, row)
        for row, report in enumerate(reports)
        if report and report.body
        for passage in _passages(report.body)
    ]
    texts = [Parts(texts=((text, WORDS),), most=WORDS) for text, _ in passages]
    vectors = named_encoder(encoder).documents(texts, lambda number: None)
    return Said(vectors, np.array([row for _, row in passages], np.int32))


def _passages(prose: str) -> list[str]:
    """Each sentence with the next."""
    sentences = sentences_in(prose)
    return [f"{one} {other}" for one, other in pairwise([*sentences, ""])]
