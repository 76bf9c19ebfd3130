"""Which features count how much in a collection, chosen by its look and not by its name.

**Profiles.** A profile is the kind of index. There are few of them, each for one kind of collection
that questions were judged on: many long opinions that carry their own questions, few of them, other
English texts, and short texts in inflected languages. Which one a collection gets is decided by
what can be seen of it (language, length, whether it has questions), so that a new collection of a
known kind gets what was fitted on others like it.

**Weights.** A score is the weighted sum of named features (signals.py). data/ranker.json has a set
of weights for each encoder of provisions, made by `training/ranker.py`, for each profile of longer
texts, by `training/texts_ranker.py`, and for reports, by `training/reports_ranker.py`. Chosen by
hand, for want of questions to fit them on: "words" (no encoder), "" (any other encoder), "generic",
and `questions` and `windows` of longer texts. Provisions are fitted on questions whose act had
written questions and, as often, on questions whose act had none while its neighbours did, so that
an act is at no disadvantage for having none. The figures behind the weights are in research and
docs/measured.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
import numpy as np

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.search.arrays import Array

Weights = dict[str, float]


@cache
def weights_of(name: str) -> Weights:
    """The weight of each feature in an index of provisions with this encoder, or of longer texts
    with this profile."""
    file = resources.files("assay.search") / "data" / "ranker.json"
    known = msgspec.json.decode(file.read_bytes(), type=thread_safe(dict[str, Weights]))
    return known.get(name or "words", known[""])


def ranked(features: Mapping[str, Array], weights: Weights) -> Array:
    """The score of each document; a feature that a collection does not have counts nothing."""
    total: Array | float = 0.0
    for name, weight in weights.items():
        if name in features:
            total = total + weight * features[name]
    return np.asarray(total, float)


# ── profiles ──────────────────────────────────────────────────────────────────────────────────────

ROWS = "rows"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of index, and the weights that somebody chose in the place of those that ship."""

    name: str
    # "stems": BM25 over stems, made for longer texts; "soft": words that look alike, for short
    # ones; "rows": the tables and prose of reports
    kind: str
    language: str
    encoder: str = ""  # a name of dense.py; nothing where words alone decide
    k1: float = 1.2
    b: float = 0.75
    # of short texts in an external store: the encoder beside words, set by hand
    dense: float = 0.0
    # where the encoder's likeness begins to count: "" anywhere, "middle" above the middle document,
    # "best" the same, scaled to 1 for the best document (true in an index of an older version)
    spread: str | bool = ""
    windows: bool = False  # documents are long: their windows are compared too
    chosen: dict[str, float] = {}  # over the weights of ranker.json

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each feature: of longer texts by the kind of collection, of provisions by
        the encoder."""
        return weights_of(self.name if self.kind == "stems" else self.encoder) | self.chosen


# k1 and b: research/opinions.md, lines 1 and 2 of its log
OPINIONS = Profile(
    name="opinions",
    kind="stems",
    language="en",
    encoder="opinions-en-1",
    k1=2.5,
    b=0.9,
)
GENERIC = Profile(
    name="generic",
    kind="stems",
    language="en",
    encoder="minilm-l6",
    spread="best",
)
# English that does not carry questions of its own: provisions above all
TEXTS = msgspec.structs.replace(
    GENERIC,
    name="texts",
    encoder="codes-en-1",
    spread="middle",
)
SOFT = Profile(
    name="soft",
    kind="soft",
    language="",
    dense=0.3,
)
FINNISH = msgspec.structs.replace(
    SOFT,
    name="finnish",
    language="fi",
    encoder="law-fi-1",
    dense=3.0,
)
HEBREW = msgspec.structs.replace(
    SOFT,
    name="hebrew",
    language="he",
    encoder="law-he-1",
    dense=2.0,
)
REPORTS = msgspec.structs.replace(
    FINNISH,
    name="reports",
    kind=ROWS,
)

PROFILES = {profile.language: profile for profile in (FINNISH, HEBREW)}


def with_encoder(profile: Profile, encoder: str) -> Profile:
    """The profile with another encoder, or with none."""
    return msgspec.structs.replace(profile, encoder=encoder)


# the weights that may be chosen for a collection; one of a field that it lacks changes nothing
CHOSEN = ("short", "characters", "dense", "feedback", "citation", "questions")


def weighted(profile: Profile, weights: Mapping[str, object]) -> Profile:
    """The profile with other weights of its signals."""
    chosen = dict(profile.chosen)
    for name, weight in weights.items():
        if name not in CHOSEN:
            raise InputError(
                f"the index has no setting {name} to choose", hint=f"It has: {', '.join(CHOSEN)}."
            )
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
            raise InputError(f"{name} is {weight!r}, expected a number from 0")
        chosen[name] = float(weight)
    return msgspec.structs.replace(profile, chosen=chosen)


def read_alike(one: Profile, other: Profile) -> bool:
    """Whether documents are read the same way for both, so that what was counted can be taken
    over; vectors can where the encoder is the same too."""
    return (one.kind, one.language, one.windows) == (other.kind, other.language, other.windows)


def choose(
    language: str, average: float, size: int, *, opinions: bool, reports: bool = False
) -> Profile:
    """Rows of tables: reports. English that carries its own questions: opinions where it is much
    and long, else generic. Other English: texts. Anything else: words that look alike. `average`
    is in characters."""
    if reports:
        own = REPORTS if language == "fi" else with_encoder(REPORTS, "")
        return msgspec.structs.replace(own, language=language)
    if language in PROFILES:
        return PROFILES[language]
    if language != "en":
        return msgspec.structs.replace(SOFT, language=language)
    if not opinions:
        return TEXTS
    return OPINIONS if average > 2_400 and size >= 5_000 else GENERIC
