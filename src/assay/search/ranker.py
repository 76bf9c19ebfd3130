"""The linear ranker: a score is the weighted sum of named features.

data/ranker.json has a set of weights for each encoder of provisions, made by `training/ranker.py`,
for each profile of longer texts, by `training/texts_ranker.py`, and for reports, by
`training/reports_ranker.py`. Chosen by hand, for want of questions to fit them on: "words" (no
encoder), "" (any other encoder), "generic", and `questions` and `windows` of longer texts.
Provisions are fitted on questions whose act had written questions and, as often, on questions whose
act had none while its neighbours did, so that an act is at no disadvantage for having none.
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
    total: Array | float = 0.0
    for name, weight in weights.items():
        if name in features:
            total = total + weight * features[name]
    return np.asarray(total, float)
