"""What machine votes, corrected by people's, come to: the part of graded results that stands apart
from the figures that rest on labels alone."""

from __future__ import annotations

import msgspec

Bounds = tuple[float, float]

FEWEST = 10  # judged queries: with fewer there is no interval to be trusted
WIDE = 0.4  # of the scale of a measure: an interval wider than this says little


class MachineFigure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measure over all queries. `value` is machine votes corrected by people; it is people's
    mean where `weight`, that of the machine's values, is 0. Without a value `why` says why."""

    measure: str
    value: float | None = None
    interval: Bounds | None = None  # of all queries that could be asked
    these_queries: Bounds | None = None  # of what people would find had they judged all of these
    weight: float = 0.0
    people: float | None = None  # people's mean, over the judged queries that have a value
    people_interval: Bounds | None = None
    machine: float | None = None  # the machine's own mean over all, not corrected
    judged: int = 0  # queries that people judged in full, and the machine too
    queries: int = 0  # queries with machine votes on all that the measure looks at
    left_out: int = 0  # queries without them
    nothing_relevant: int = 0  # of the judged: without a value, people found nothing relevant
    why: str = ""


class Doubt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why the judged queries may be no random part of all: on `measure` the machine finds them
    other than the rest, or they have too many or too few of the queries of a topic or a type.
    `chance` is that of so much by drawing them at random."""

    chance: float
    measure: str = ""
    kind: str = ""  # topic or type
    name: str = ""
    judged: int = 0  # of the `queries` of that topic or type
    queries: int = 0


class MachineEstimate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """By the key of each measure. `judges` are the machines."""

    figures: dict[str, MachineFigure]
    judges: list[str] = []
    doubts: list[Doubt] = []


class OneJudge(msgspec.Struct, frozen=True, kw_only=True):
    """That a verdict rests on what one judge said, and nobody has checked: without the `documents`
    that only they judged it would be `without`."""

    judge: str
    documents: int
    without: str
