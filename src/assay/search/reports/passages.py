"""What the prose of a report says, passage by passage: a page is about many things, a sentence or
two of it about one. The heading above them is left out, for it would make all passages of a page
alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.search.arrays import Array, Floats
from assay.search.dense import named_encoder
from assay.search.reports.documents import Reported, pairs_in
from assay.search.views import Parts

LONGEST = 254  # words of a passage that are encoded


@dataclass(frozen=True)
class PassageVectors:
    """The vectors of passages, and the row of the document of each."""

    vectors: Floats
    documents: Array


def vectors_of_passages(reports: Sequence[Reported | None], encoder: str) -> PassageVectors:
    passages = [
        (Parts(texts=((passage, LONGEST),), most=LONGEST), row)
        for row, report in enumerate(reports)
        if report and report.body
        for passage in pairs_in(report.body)
    ]
    texts = [text for text, _ in passages]
    vectors = named_encoder(encoder).documents(texts, lambda number: None)
    return PassageVectors(vectors, np.array([row for _, row in passages], np.int32))
