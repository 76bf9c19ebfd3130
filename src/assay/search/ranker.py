"""The linear ranker: a score is the weighted sum of named features.

`training/ranker.py` fits the weights and writes them to data/ranker.json: one set for each encoder
of provisions that it was run with, and one for each profile of longer texts. The sets "words" (no
encoder) and "" (any other encoder) are chosen by hand. It fits on questions whose act had written
questions and, as often, on questions whose act had none while its neighbours did, so that an act is
at no disadvantage for having none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
import numpy as np

from assay.search.arrays import Array

Weights = dict[str, float]


@cache
def weights_of(name: str) -> Weights:
    """The weight of each feature in an index of provisions with this encoder, or of longer texts
    with this profile."""
    file = resources.files("assay.search") / "data" / "ranker.json"
    known = msgspec.json.decode(file.read_bytes(), type=dict[str, Weights])
    return known.get(name or "words", known[""])


def ranked(features: Mapping[str, Array], weights: Weights) -> Array:
    """The score of each document; a feature that a collection does not have counts nothing."""
    parts = [weight * features[name] for name, weight in weights.items() if name in features]
    return np.asarray(np.sum(parts, axis=0), float)
