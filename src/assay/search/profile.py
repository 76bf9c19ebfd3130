"""Which signals count how much, and what a fused score means. Chosen by the look of a collection,
not by its name.

**Profiles.** A profile is the kind of index and a weight for each signal (signals.py). There are
few of them, and each was fitted on judged questions of one kind of collection: many long opinions
that carry their own questions, few of them, other English texts, and short texts in inflected
languages. Which one a collection gets is decided by what can be seen of it (language, length,
whether it has questions), so that a new collection of a known kind gets what was fitted on others
like it.

**Calibration.** A fused score is only an order. A person, and a gate with `min_score`, needs to
know what .8 means. So a score is P(the collection answers this) times P(this hit is relevant): two
logistic regressions (Platt 1999) on a handful of signals, the first on questions from inside and
from outside the collection, the second on judged hits. benchmarks/reliability.py draws how often
hits with a score of .8 are relevant. With another encoder other cosines mean other things, so that
the models by words alone are used then.

The figures behind every number here are in research and docs/measured.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.search.ranker import weights_of


class Logistic(msgspec.Struct, frozen=True, kw_only=True):
    """A probability from named signals."""

    bias: float
    weights: dict[str, float]

    def __call__(self, signals: Mapping[str, float]) -> float:
        total = self.bias + sum(
            weight * signals.get(name, 0.0) for name, weight in self.weights.items()
        )
        return 1 / (1 + math.exp(-max(min(total, 50.0), -50.0)))


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """score = P(the collection answers this) * P(this hit is relevant), or its share of the best
    score to a power.

    `hit` reads `ratio`, the hit's share of the best fused score, and the first hit's signals.

    `first` is the probability that the first hit is right. Where it is given, a score is
    scope^SURE * (LEAST + (1 - LEAST) * first), so that what is right comes before what is wrong and
    a question that is here stays above the limits that golden sets state; half of that where the
    engine abstains.

    Below `abstain` the engine says that nothing here answers the question."""

    scope: Logistic
    first: Logistic | None = None
    hit: Logistic | None = None
    power: float = 0.5
    abstain: float = 0.5

    def sure(self, head: Mapping[str, float], scope: float) -> float:
        """The score of a first hit."""
        if self.first is None:
            return scope
        score = float(scope**SURE * (LEAST + (1 - LEAST) * self.first(head)))
        return score if scope >= self.abstain else score / 2


SURE = 0.1  # the power of the probability that the collection answers, in a score
LEAST = 0.7  # what is left of a score where the first hit is surely wrong
ROWS = "rows"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of index and the weight of each signal; every lexical signal is scaled to the
    query's best document."""

    name: str
    # "stems": BM25 over stems, made for longer texts; "soft": words that look alike, for short
    # ones; "rows": the tables and prose of reports
    kind: str
    language: str
    encoder: str = ""  # a name of dense.py; nothing where words alone decide
    k1: float = 1.2
    b: float = 0.75
    short: float = 0.0  # question, conclusion and summary fields
    characters: float = 0.0
    dense: float = 0.0
    # where the encoder's likeness begins to count: "" anywhere, "middle" above the middle document,
    # "best" the same, scaled to 1 for the best document (true in an index of an older version)
    spread: str | bool = ""
    feedback: float = 0.0  # likeness to the first eight hits
    citation: float = 0.5
    asked: float = 0.0  # questions that were written for documents, where there are any
    windows: bool = False  # documents are long: their windows are compared too
    calibration: Calibration


def _fitted(profile: Profile) -> Profile:
    """The profile with its weights in ranker.json."""
    weights: dict[str, Any] = weights_of(profile.name)
    return msgspec.structs.replace(profile, **weights)


OPINIONS = Profile(
    name="opinions",
    kind="stems",
    language="en",
    encoder="opinions-en-1",
    k1=2.5,
    b=0.9,
    calibration=Calibration(
        scope=Logistic(bias=-13.7, weights={"attained": 13.8, "dense": 20.7}),
        hit=Logistic(bias=-7.67, weights={"ratio": 7.94, "attained": 4.79, "dense": 1.48}),
    ),
)
GENERIC = Profile(
    name="generic",
    kind="stems",
    language="en",
    encoder="minilm-l6",
    spread="best",
    calibration=Calibration(scope=Logistic(bias=-3.4, weights={"attained": 3.0, "dense": 9.0})),
)
# English that does not carry questions of its own: provisions above all
TEXTS = msgspec.structs.replace(
    GENERIC,
    name="texts",
    encoder="codes-en-1",
    spread="middle",
    calibration=Calibration(
        scope=Logistic(bias=-10.3, weights={"attained": 1.9, "dense": 16.5, "known": 4.0})
    ),
)
_SOFT_WORDS = Calibration(
    scope=Logistic(bias=-2.89, weights={"coverage": 6.64, "attained": 11.14}), power=0.3
)
SOFT = Profile(
    name="soft",
    kind="soft",
    language="",
    dense=0.3,
    citation=3.0,
    calibration=_SOFT_WORDS,
)
# Provisions: one model whether or not questions were written for an act, fitted on questions asked
# with all written questions, with none, and with those of their own act left out
# (research/scores.md)
FINNISH = msgspec.structs.replace(
    SOFT,
    name="finnish",
    language="fi",
    encoder="law-fi-1",
    dense=3.0,
    calibration=Calibration(
        scope=Logistic(
            bias=-8.84,
            weights={
                **{"dense": 12.2, "known": 5.1, "one_act": 1.9, "one_section": 3.3},
                **{"act_ahead": 0.54, "elsewhere": -19.8, "foreign": -6.2},
            },
        ),
        first=Logistic(bias=-4.4, weights={"sole": 3.7, "gap": 1.7, "agree": 0.5, "dense": 4.3}),
        power=0.3,
    ),
)
HEBREW = msgspec.structs.replace(
    SOFT,
    name="hebrew",
    language="he",
    encoder="law-he-1",
    dense=2.0,
    calibration=Calibration(
        scope=Logistic(
            bias=-3.6,
            weights={
                **{"dense": 3.3, "known": 4.7, "one_act": 2.8, "one_section": 0.3},
                **{"act_ahead": 1.05, "elsewhere": -22.0, "foreign": -2.3},
            },
        ),
        first=Logistic(
            bias=-4.1,
            weights={"sole": 4.1, "says_more": 1.7, "agree": 0.4, "worded": 1.7, "dense": 2.6},
        ),
        power=0.3,
    ),
)
REPORTS = msgspec.structs.replace(
    FINNISH,
    name="reports",
    kind=ROWS,
    encoder="static-fi-1",
    # 348 questions to three reports, with and without the town, against 409 that they do not answer
    # (research/reports.md)
    calibration=Calibration(
        scope=Logistic(
            bias=-8.3,
            weights={
                **{"close": 2.7, "said": 1.2, "attained": 3.7, "dense": 5.35, "town": 1.5},
                **{"least": 2.2, "oneself": -6.0},
            },
        ),
        power=0.3,
    ),
)

_STEM_WORDS = Calibration(scope=Logistic(bias=-2.8, weights={"attained": 14.0}))
# What a score means without the encoder a profile was fitted with: other cosines mean other things,
# so words decide.
# Opinions: 105 queries against 40 from elsewhere, AUC .89; the hit model has the mean cosine in its
# bias. Generic: the
# 21 sample queries against the same, AUC .82. research/scores.md.
BY_WORDS = {
    "opinions": Calibration(
        scope=Logistic(bias=-4.7, weights={"attained": 11.5}),
        hit=Logistic(bias=-7.0, weights={"ratio": 7.94, "attained": 4.79}),
    ),
    "generic": _STEM_WORDS,
    "texts": _STEM_WORDS,
    "finnish": _SOFT_WORDS,
    "hebrew": _SOFT_WORDS,
    "soft": _SOFT_WORDS,
    # the mean cosine of the first hits is in the bias
    "reports": Calibration(
        scope=Logistic(
            bias=-8.1,
            weights={
                **{"close": 3.1, "said": 1.7, "attained": 2.8, "town": 2.4},
                **{"least": 2.9, "oneself": -6.4},
            },
        ),
        power=0.3,
    ),
}
OPINIONS, GENERIC, TEXTS = map(_fitted, (OPINIONS, GENERIC, TEXTS))
OWN = {profile.language: profile for profile in (FINNISH, HEBREW)}


def as_now(profile: Profile) -> Profile:
    """A profile that an index was built with, where scores mean what they mean in this version: the
    lists that they are read from are those of this version, too."""
    for now in (OPINIONS, GENERIC, TEXTS, SOFT, FINNISH, HEBREW, REPORTS):
        if (now.name, now.encoder) == (profile.name, profile.encoder):
            return msgspec.structs.replace(profile, calibration=now.calibration)
    return profile


def with_encoder(profile: Profile, encoder: str) -> Profile:
    """The profile with another encoder, or with none."""
    if encoder == profile.encoder:
        return profile
    return msgspec.structs.replace(
        profile,
        encoder=encoder,
        dense=profile.dense or 1.0,
        calibration=BY_WORDS[profile.name],
    )


# the weights that may be chosen for a collection; those of fields it lacks are 0 and stay 0
CHOSEN = ("short", "characters", "dense", "feedback", "citation", "asked")


def weighted(profile: Profile, weights: Mapping[str, object]) -> Profile:
    """The profile with other weights of its signals."""
    for name, weight in weights.items():
        if name not in CHOSEN:
            raise InputError(
                f"the index has no setting {name} to choose", hint=f"It has: {', '.join(CHOSEN)}."
            )
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
            raise InputError(f"{name} is {weight!r}, expected a number from 0")
    return msgspec.structs.replace(profile, **{name: float(w) for name, w in weights.items()})  # type: ignore[arg-type]


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
    if language in OWN:
        return OWN[language]
    if language != "en":
        return msgspec.structs.replace(SOFT, language=language)
    if not opinions:
        return TEXTS
    return OPINIONS if average > 2_400 and size >= 5_000 else GENERIC
