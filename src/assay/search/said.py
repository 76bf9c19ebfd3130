"""What the prose of a report says, passage by passage: a page is about many things, two sentences
of it about one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.search.arrays import Array, Floats
from assay.search.dense import named_encoder
from assay.search.reported import Reported, passages_in


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
        for passage in passages_in(report.context, report.body)
    ]
    vectors = named_encoder(encoder).queries([text for text, _ in passages])
    return Said(vectors, np.array([row for _, row in passages], np.int32))
