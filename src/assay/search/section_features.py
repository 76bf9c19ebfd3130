"""Features that the provisions of one section, or of one act, share.

A question is put to one moment, and its neighbours tell what it is about: a moment also counts by
the best cosine of its section. Where people's questions on an act are like this one, the act is
likely to be meant, even if none of them is the very same: the mean of its best few counts for all
that stands in it (research/hebrew.md).
"""

from __future__ import annotations

import numpy as np

from assay.search.arrays import Array, best_rows
from assay.search.index import Index

VOTING = 5  # documents of an act whose written questions speak for it
LOOKED_AT = 300  # of all documents, those whose written questions are most alike


def best_of_section(index: Index, values: Array) -> Array:
    """For each document the best value in its section."""
    starts = index.section_starts
    lengths = np.diff(np.append(starts, len(index)))
    return np.repeat(np.maximum.reduceat(values, starts), lengths)


def voted_act(index: Index, asked: Array) -> Array:
    """For each document how much written questions speak for its act."""
    rows = best_rows(asked, LOOKED_AT)
    by_act = rows[np.argsort(index.act_of[rows], kind="stable")]  # of each act the best first
    acts = index.act_of[by_act]
    voting = np.arange(len(acts)) - np.searchsorted(acts, acts) < VOTING
    votes = np.bincount(acts[voting], asked[by_act[voting]] / VOTING, len(index.acts))
    return np.asarray(votes[index.act_of])
