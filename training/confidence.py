"""Fit the models of confidence on several collections and write search/data/confidence.json.

    python training/confidence_data.py --data DATA --out MADE    # collections and questions
    python training/confidence.py ask --data DATA --made MADE --workspace HOME --cache CACHE
    python training/confidence.py fit --cache CACHE              # table, then the weights

HOME is a workspace with the indexed corpora of COLLECTIONS. `ask` puts the questions of every
collection to the engine as it is now, and keeps what `Hits.evidence` says and which hits are right.
Run it again, with an empty cache, when the ranker, an encoder or the evidence has changed. `fit`
fits on all kinds of collections but one, prints how the models do on the one left out, and then
writes weights fitted on all of them. With `--dry-run` nothing is written.

The right hit of a golden question is an expected place; of a graded one, a document from grade 2
on. Outside questions are those that a golden set says must be refused, and the questions of other
collections in the same language. Needs scikit-learn."""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zlib import crc32

import msgspec
import numpy as np
import ranker
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from assay.core.types import Query, QueryResult
from assay.engines.indexed import open_indexed
from assay.evaluation.golden.scoring import check_question
from assay.evaluation.reliability import expected_error
from assay.formats import read_gold
from assay.law.matching import known_document
from assay.search import confidence, document_questions, index
from assay.search.confidence import Calibration, Logistic, Models, Scale, ScoredPair
from assay.search.engine import Engine, Hits

HERE = Path(__file__).parent
EVAL = HERE.parent / "eval"
WEIGHTS = HERE.parent / "src/assay/search/data/confidence.json"
TOP = 10
RIGHT_GRADE = 2  # the least grade of a hit that answers
HOME_STRENGTH = 0.001  # of the penalty on weights where one collection is fitted
REFUSED = 0.04  # of the answered questions of a home collection
REFUSED_ELSEWHERE = 0.05  # and of a collection left out, on average in each language
SPREAD = 0.05  # least deviation by which evidence is scaled
FOLDS = 5  # of the questions on law
NOTHING = 1e-3  # a weight below it is none
FLAT = 0.7  # of the slope that is fitted
GOLDEN_SLOPE = 0.43
REPORT_SLOPE = 0.3
REPORT_REFUSED = 0.014  # with a report left out this refuses about 4% of what it answers
INSIDE = 0.6  # of the questions that people ask, those that a collection answers: taste
HOME = {"law-fi-1": ("six acts, with questions",), "law-he-1": ("73 acts, with questions",)}
HOME |= {"opinions-en-1": ("opinions",), "reports": ("reports", "each report")}
AGAINST = {"rarity", "missing", "names_missing"}  # evidence against an answer
MOST_OUTSIDE = 40  # questions of each other collection that are asked as outside ones
MOST_INSIDE = 250  # questions of a collection that it answers
ANSWERS = (
    "known",
    "here",
    "missing",
    "rarity",
    "cover",
    "gap",
    "near",
    "unusual",
    "asked",
    "names",
    "names_missing",
    "one_act",
    "act_gap",
)
RIGHT = (
    *("gap", "lead", "near", "near_ahead", "agree_near", "agree_words", "cover", "cover_ahead"),
    *("one_section", "names", "known", "unusual"),
)
# by words alone the first hit is the first by words, and says nothing more of the collection
WORDS = ("known", "rarity", "cover", "cover_ahead", "agree_words", "names", "names_missing")


@dataclass(frozen=True)
class Collection:
    """An indexed corpus with questions. `alone` asks each act with so many questions in an index of
    its own; `bare` leaves written questions out; `partly` leaves out first hits without grade;
    `unfit` keeps right hits out of the fit: the paper that a question of Cranfield was taken from
    comes first and was not judged, many opinions answer one question, and the questions on Python
    are sentences of its documentation. `together` are acts that share an index where they are
    asked alone; `beside` is a corpus whose documents are added."""

    name: str
    kind: str
    corpus: str
    gold: str
    language: str
    outside: tuple[str, ...] = ()
    alone: int = 0
    bare: bool = False
    partly: bool = False
    unfit: bool = False
    together: int = 1
    beside: str = ""


ENGLISH = ("english", "pydocs", "code-hard", "cranfield", "opinions-own")
OTHERS = ENGLISH[:4]
FINNISH = ("finnish-outside", "reports", "courts")


def new_acts(code: str, language: str, home: str) -> Iterator[Collection]:
    """Acts of many fields that have no written questions and that no encoder has seen: eight
    together, and all beside the home acts with theirs."""
    kind = f"new {language} acts"
    own, rest = language.lower(), f"{language.lower()}-outside"
    facts = {"kind": kind, "corpus": f"{code}dev", "gold": f"{code}dev", "language": code}
    yield Collection(f"{kind}, eight each", outside=(own, rest), alone=2, together=8, **facts)
    yield Collection(f"{kind}, beside", outside=(rest,), beside=home, **facts)


COLLECTIONS = (
    Collection("six acts, with questions", "finnish", "six", "finnish", "fi", FINNISH),
    Collection("six acts", "finnish", "six", "finnish", "fi", FINNISH, bare=True),
    Collection("each Finnish act", "finnish", "six", "finnish", "fi", FINNISH, alone=10),
    Collection("73 acts, with questions", "hebrew", "israel", "hebrew", "he"),
    Collection("73 acts", "hebrew", "israel", "hebrew", "he", bare=True),
    Collection("each Hebrew act", "hebrew", "israel", "hebrew", "he", alone=6),
    *new_acts("fi", "Finnish", "six"),
    *new_acts("he", "Hebrew", "israel"),
    Collection("courts", "courts", "courts", "courts", "fi", ("finnish", "finnish-outside")),
    Collection("reports", "reports", "reports", "reports", "fi", ("finnish", "finnish-outside")),
    Collection("each report", "reports", "reports", "reports", "fi", ("finnish",), alone=20),
    Collection(
        "opinions", "opinions", "opinions", "opinions", "en", ENGLISH[:4], partly=True, unfit=True
    ),
    Collection("Cranfield", "cranfield", "cranfield", "cranfield", "en", ENGLISH, unfit=True),
    Collection("Python documentation", "python", "pydocs", "pydocs", "en", ENGLISH, unfit=True),
    Collection("made-up code, hard", "codes", "code-hard", "code-hard", "en", ENGLISH),
    Collection("made-up code, plain", "codes", "code-plain", "code-plain", "en", ENGLISH),
)

LANGUAGE = {collection.name: collection.language for collection in COLLECTIONS}
OF_LAW = {
    f"law-{code}-1": {
        collection.kind
        for collection in COLLECTIONS
        if collection.language == code and collection.kind != "reports"
    }
    for code in ("fi", "he")
}
UNFIT = {collection.name for collection in COLLECTIONS if collection.unfit}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was asked: what the engine saw, and which hits are right. `right` is None for
    an outside question, and an item of it where nobody has judged the hit."""

    collection: str
    kind: str
    source: str
    text: str
    evidence: dict[str, float] | None
    score: float
    shares: list[float]  # of the first ranking score
    right: list[bool | None] | None


# ── asking ────────────────────────────────────────────────────────────────────────────────────────

Judge = Callable[[Hits], list[bool | None]]


@dataclass(frozen=True)
class Material:
    """Where the gold sets are."""

    data: Path
    made: Path
    known: dict[str, list[Query]] = field(default_factory=dict)

    def files(self, name: str) -> list[Path]:
        return {
            "cranfield": [self.data / "cranfield/dataset.json"],
            "opinions": [self.data / "fppc/dataset-dev.json", EVAL / "dataset.json"],
        }.get(name) or [
            path
            for path in (EVAL / f"questions_{name}_golden.json", self.made / f"{name}.golden.json")
            if path.exists()
        ]

    def questions(self, name: str) -> list[tuple[str, dict[str, int] | None, Query]]:
        """Each question with its grades, where it has any."""
        found = []
        for path in self.files(name):
            gold = read_gold(path)
            grades: dict[str, dict[str, int]] = defaultdict(dict)
            if gold.judgments is not None:
                rows = gold.judgments.select("query_id", "doc_id", "grade").iter_rows()
                for query_id, doc_id, grade in rows:
                    grades[query_id][doc_id] = grade
            if name == "opinions" and path.name == "dataset-dev.json":
                for line in (self.data / "fppc/judgments-dev-pooled.jsonl").open(encoding="utf-8"):
                    one = json.loads(line)
                    grades[one["query_id"]].setdefault(one["opinion_id"], one["score"])
            found += [(query.text, grades.get(query.id), query) for query in gold.queries]
        return found


def is_answered(query: Query, grades: dict[str, int] | None) -> bool:
    return bool(grades) or bool(query.checks.get("expected_any"))


def judge_of(
    query: Query, grades: dict[str, int] | None, engine: Engine, language: str, *, partly: bool
) -> Judge:
    def graded(hits: Hits) -> list[bool | None]:
        assert grades is not None
        missing = None if partly else False
        return [grades[h.doc_id] >= RIGHT_GRADE if h.doc_id in grades else missing for h in hits]

    def golden(hits: Hits) -> list[bool | None]:
        lookup = engine._lookup
        assert lookup is not None
        answer = QueryResult(query_id=query.id, hits=tuple(hits))
        outcome = check_question(
            query,
            answer,
            locate=lambda doc_id: known_document(lookup(doc_id)),
            k=TOP,
            min_score=0.0,
            language=language,
        )
        return [ranked.accepted for ranked in outcome.ranked]

    return graded if grades else golden


def ask(engine: Engine, name: str, kind: str, text: str, source: str, judge: Judge | None) -> Asked:
    hits = engine.search(text, TOP, texts=False)
    first = hits[0].score if hits else 0.0
    return Asked(
        collection=name,
        kind=kind,
        source=source,
        text=text,
        evidence=hits.evidence,
        score=first or 0.0,
        shares=[(hit.score or 0.0) / (first or 1.0) for hit in hits],
        right=judge(hits) if judge else None,
    )


def ask_all(collection: Collection, material: Material, home: Path) -> list[Asked]:
    engine = open_indexed(collection.corpus, home=home)
    if collection.beside:
        other = open_indexed(collection.beside, home=home)
        known = document_questions.shipped(collection.language)
        full = index.with_questions(ranker.joined(other, engine), known, [])
        new, old = engine._lookup, other._lookup
        here = set(engine._index.ids)
        engine = Engine(full, lookup=lambda doc_id: (new if doc_id in here else old)(doc_id))
    if collection.bare or collection.alone:
        engine = Engine(
            replace(engine._index, written=None), lookup=engine._lookup, standings=engine._standings
        )
    own = material.questions(collection.gold)
    inside = [one for one in own if is_answered(one[2], one[1])]
    if not collection.alone:
        inside = random.Random(1).sample(inside, min(MOST_INSIDE, len(inside)))
    outside = [("outside", text) for text, grades, q in own if not is_answered(q, grades)]
    random_ = random.Random(0)
    for name in collection.outside:
        base = name.removesuffix("-outside")
        is_rest = name.endswith("-outside")
        other = [
            text
            for text, grades, query in material.questions(base if is_rest else name)
            if name == "english" or is_answered(query, grades) != is_rest
        ]
        if name != collection.gold:
            chosen = random_.sample(other, min(MOST_OUTSIDE, len(other)))
            outside += [(name, text) for text in chosen]
    foreign = [n for code, n in (("fi", "finnish"), ("he", "hebrew"), ("en", "english"))]
    for code, name in zip(("fi", "he", "en"), foreign, strict=True):
        if code != collection.language:
            texts = [text for text, _, _ in material.questions(name)]
            outside += [("another language", text) for text in random_.sample(texts, 8)]
    if not collection.alone:
        return _ask_one(collection, engine, collection.name, inside, outside)
    return _ask_alone(collection, engine, inside, outside, random_)


Question = tuple[str, "dict[str, int] | None", Query]


def _ask_one(
    collection: Collection,
    engine: Engine,
    name: str,
    inside: Sequence[Question],
    outside: Sequence[tuple[str, str]],
) -> list[Asked]:
    found = []
    for text, grades, query in inside:
        judge = judge_of(query, grades, engine, collection.language, partly=collection.partly)
        found.append(ask(engine, name, collection.kind, text, "own", judge))
    found += [ask(engine, name, collection.kind, text, source, None) for source, text in outside]
    return found


def _ask_alone(
    collection: Collection,
    engine: Engine,
    inside: Sequence[Question],
    outside: Sequence[tuple[str, str]],
    random_: random.Random,
) -> list[Asked]:
    """Each act, or report, in an index of its own."""
    full, lookup = engine._index, engine._lookup
    assert lookup is not None
    of = [doc_id.split("#")[0].split(":")[0] for doc_id in full.ids]
    if collection.kind == "reports":
        of = [re.sub(r"(-\d{4}).*", r"\1", doc_id) for doc_id in full.ids]
    if collection.together > 1:
        acts = random_.sample(sorted(set(of)), len(set(of)))
        of = [f"group {acts.index(act) // collection.together}" for act in of]
    group_of = dict(zip(full.ids, of, strict=True))
    stems = set(of)

    def groups(query: Query) -> set[str]:
        ids = [str(place.get("doc_id") or "") for place in query.checks.get("expected_any") or ()]
        return {group_of.get(i, i if i in stems else "") for i in ids} - {""}

    found = []
    for group in dict.fromkeys(of):
        own = [one for one in inside if group in groups(one[2])]
        if len(own) < collection.alone:
            continue
        others = [one[0] for one in inside if groups(one[2]) and group not in groups(one[2])]
        rows = [row for row, name in enumerate(of) if name == group]
        small = index.build(
            ((lookup(full.ids[row]), full.digests[row]) for row in rows),
            previous=full,
            encoder=full.profile.encoder,
        )
        some = random_.sample(list(outside), min(MOST_OUTSIDE, len(outside)))
        other = random_.sample(others, min(MOST_OUTSIDE // 2, len(others)))
        some += [("another act", text) for text in other]
        alone = Engine(small, lookup=lookup)
        found += _ask_one(collection, alone, f"{collection.name}: {group}", own, some)
    return found


# ── fitting ───────────────────────────────────────────────────────────────────────────────────────


def is_first_right(one: Asked) -> bool:
    return bool(one.right and one.right[0])


def usable(asked: Iterable[Asked]) -> list[Asked]:
    """Without questions that found nothing at all, and first hits that nobody has judged."""
    return [
        one
        for one in asked
        if one.evidence is not None and not (one.right and one.right[0] is None)
    ]


def fit(
    asked: Sequence[Asked],
    names: Sequence[str],
    labels: Sequence[bool],
    *,
    strength: float,
    free: bool = False,
) -> Logistic:
    """A logistic regression in which more evidence never means less: what is negative only on
    these collections would not travel; `free` of that for one collection. Every kind of collection
    weighs the same. `strength` is that of the penalty on weights, of evidence scaled to deviation
    one."""
    values = np.array([[(one.evidence or {}).get(name, 0.0) for name in names] for one in asked])
    spread = np.maximum(values.std(axis=0), SPREAD)
    scaled = np.hstack([values / spread, np.ones((len(values), 1))])
    groups = [(one.kind, one.right is None) for one in asked]
    sizes = Counter(groups)
    share = {False: INSIDE, True: 1 - INSIDE}
    weights = np.array([share[group[1]] / (len(sizes) * sizes[group]) for group in groups])
    signs = np.where(np.array(labels), 1.0, -1.0)

    def loss(found: np.ndarray) -> tuple[float, np.ndarray]:
        margin = signs * (scaled @ found)
        wrong = weights * signs / (1 + np.exp(margin))
        penalty = strength * found[:-1]
        value = float(weights @ np.logaddexp(0, -margin) + penalty @ found[:-1] / 2)
        return value, np.append(penalty, 0.0) - scaled.T @ wrong

    bounds = [(None, 0.0) if name in AGAINST else (0.0, None) for name in names]
    start = np.zeros(len(names) + 1)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=None if free else [*bounds, (None, None)]
    ).x
    return Logistic(
        bias=round(float(found[-1]), 4),
        weights={
            name: round(float(weight), 4)
            for name, weight in zip(names, found[:-1] / spread, strict=True)
            if abs(weight) > NOTHING
        },
    )


def fit_pair(
    asked: Sequence[Asked], answers: Sequence[str] = ANSWERS, right: Sequence[str] = RIGHT
) -> ScoredPair:
    inside = [one for one in asked if one.right is not None and one.collection not in UNFIT]
    is_right = [is_first_right(one) for one in inside]
    return ScoredPair(
        answers=fit(asked, answers, [one.right is not None for one in asked], strength=0.01),
        right=flattened(fit(inside, right, is_right, strength=0.1), inside),
    )


def fit_law(asked: Sequence[Asked]) -> ScoredPair:
    """The models of an encoder of law, which also read its cosine."""
    return fit_pair(asked, (*ANSWERS, "cosine"), (*RIGHT, "cosine"))


def encoder_of(kind: str) -> str:
    """The encoder of law that a kind of collections has, or nothing."""
    return next((encoder for encoder, kinds in OF_LAW.items() if kind in kinds), "")


def flattened(model: Logistic, asked: Sequence[Asked]) -> Logistic:
    """The model with a smaller slope around its mean. It costs .007 of the mean ECE on collections
    left out, and 4 to 10% more of the golden questions that are answered stay above .55."""
    mean = float(np.mean([model.logit(one.evidence or {}) for one in asked]))
    return Logistic(
        bias=round((1 - FLAT) * mean + FLAT * model.bias, 4),
        weights={name: round(FLAT * weight, 4) for name, weight in model.weights.items()},
    )


def probabilities(model: Logistic, asked: Sequence[Asked]) -> np.ndarray:
    return np.array([Scale().probability(model.logit(one.evidence or {})) for one in asked])


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A collection under models that were fitted on all other kinds: logits that it answers."""

    name: str
    models: str  # an encoder of law, or the language of the shared models
    sure: np.ndarray
    right: np.ndarray
    inside: np.ndarray
    outside: np.ndarray


def left_out(asked: Sequence[Asked]) -> list[LeftOut]:
    """Each collection under models that were fitted without its kind; those of law under models of
    their encoder that were fitted without a fifth of the questions, in turn."""
    fitted: dict[tuple[str, int], ScoredPair] = {}
    for one in asked:
        if (key := _part(one)) in fitted:
            continue
        kinds = OF_LAW.get(key[0])
        others = [other for other in asked if _part(other) != key]
        of_law = [other for other in others if kinds and other.kind in kinds]
        fitted[key] = fit_law(of_law) if kinds else fit_pair(others)
    found = []
    for name in dict.fromkeys(one.collection.partition(":")[0] for one in asked):
        here = [one for one in asked if one.collection.partition(":")[0] == name]
        logits = np.array([fitted[_part(one)].answers.logit(one.evidence or {}) for one in here])
        is_inside = np.array([one.right is not None for one in here])
        inside = [one for one in here if one.right is not None]
        found.append(
            LeftOut(
                name=name,
                models=encoder_of(here[0].kind) or LANGUAGE[name],
                sure=np.concatenate(
                    [probabilities(fitted[_part(one)].right, [one]) for one in inside]
                ),
                right=np.array([is_first_right(one) for one in inside]),
                inside=logits[is_inside],
                outside=logits[~is_inside],
            )
        )
    return found


def _part(one: Asked) -> tuple[str, int]:
    """What is left out together with a question: its kind of collection, or a fifth of the
    questions on law."""
    if encoder := encoder_of(one.kind):
        return encoder, crc32(one.text.encode()) % FOLDS
    return one.kind, 0


def limits(found: Sequence[LeftOut]) -> dict[str, float]:
    """The logit by encoder or language under which a collection left out refuses, on average, as
    many of the questions that it answers as REFUSED_ELSEWHERE says: one number for each."""
    steps = np.arange(-6, 6, 0.01)
    chosen = {}
    for name in dict.fromkeys(one.models for one in found):
        here = [one for one in found if one.models == name]
        refused = np.mean([[(one.inside < step).mean() for step in steps] for one in here], axis=0)
        most = int(np.searchsorted(refused, REFUSED_ELSEWHERE, side="right")) - 1
        chosen[name] = round(float(steps[max(most, 0)]), 2)
    return chosen


def table(found: Sequence[LeftOut], limit: dict[str, float]) -> None:
    """How models fitted on all other kinds of collections do on each."""
    say(
        f"{'left out':26} {'n':>4} {'right':>5} {'AUC':>5} {'ECE':>5} {'mean':>5} "
        f"{'refused':>7} {'outside':>7} {'refused':>7} {'AUC':>5}"
    )
    for one in found:
        least = limit[one.models]
        labels = [1] * len(one.inside) + [0] * len(one.outside)
        scope = roc_auc_score(labels, np.r_[one.inside, one.outside])
        say(
            f"{one.name:26} {len(one.inside):4} {one.right.mean():5.2f} "
            f"{roc_auc_score(one.right, one.sure):5.3f} "
            f"{expected_error(one.sure, one.right):5.3f} {one.sure.mean():5.2f} "
            f"{(one.inside < least).mean():7.3f} {len(one.outside):7} "
            f"{(one.outside < least).mean():7.3f} {scope:5.3f}"
        )
    say(f"limits: {limit}")


def calibrated(
    shared: ScoredPair, encoders: dict[str, ScoredPair], asked: Sequence[Asked]
) -> dict[str, Calibration]:
    """The calibrations of the acts that ship with written questions, by encoder. The
    slope of `right` is not fitted: golden sets state least scores of .55 and .60, and the scores of
    questions that are answered stay above them."""
    found = {}
    for encoder, home in HOME.items():
        name = home[0]
        here = [one for one in asked if one.collection.partition(":")[0] in home]
        inside = [one for one in here if one.right is not None]
        if not inside:
            continue
        right = np.array([is_first_right(one) for one in inside])
        if name == "reports":  # what is asked often stands on a page that nobody expected, too
            right |= np.array([bool(one.right and any(one.right[:2])) for one in inside])
        models = encoders.get(encoder, shared)
        logits = np.array([models.right.logit(one.evidence or {}) for one in inside])
        share = float(right.mean())
        slope = REPORT_SLOPE if name == "reports" else GOLDEN_SLOPE
        shift = float(np.log(share / (1 - share)) - slope * logits.mean())
        scale = Scale(round(shift, 4), slope)
        if name == "opinions":
            scale = confidence.fit_scale(logits, right)
        answered = [one.right is not None for one in here]
        names = sorted({name for one in here for name in one.evidence or {}})
        own = fit(here, names, answered, strength=HOME_STRENGTH, free=True)
        scope = np.array([own.logit(one.evidence or {}) for one in here])
        refusal = REPORT_REFUSED if name == "reports" else REFUSED
        least = float(np.quantile(scope[answered], refusal))
        own = msgspec.structs.replace(own, bias=round(own.bias - least, 4))
        found[encoder] = Calibration(own=own, right=scale, questions=len(inside))
        sure = np.array([scale.probability(float(logit)) for logit in logits])
        refused = (scope < least)[~np.array(answered)].mean()
        say(
            f"{name}, calibrated: ECE {expected_error(sure, right):.3f}, refused {refusal}, "
            f"outside refused {refused:.3f}"
        )
    return found


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def read_cache(cache: Path) -> list[Asked]:
    return [
        one
        for path in sorted(cache.glob("*.json"))
        for one in msgspec.json.decode(path.read_bytes(), type=list[Asked])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=["ask", "fit"])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument(
        "--made", type=Path, default=Path("made"), help="what confidence_data.py wrote"
    )
    parser.add_argument("--workspace", type=Path, action="append", default=[])
    parser.add_argument("--cache", type=Path, default=Path("confidence-cache"))
    parser.add_argument("--only", default="", help="collections whose name has this")
    parser.add_argument("--law", choices=["fi", "he"], help="fit one encoder of law alone")
    parser.add_argument("--reports", action="store_true", help="fit that of reports alone")
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args()
    if given.command == "ask":
        given.cache.mkdir(parents=True, exist_ok=True)
        material = Material(given.data, given.made)
        for collection in COLLECTIONS:
            path = given.cache / (re.sub(r"\W+", "-", collection.name) + ".json")
            homes = [h for h in given.workspace if (h / "indexes" / collection.corpus).is_dir()]
            if path.exists() or not homes or given.only not in collection.name:
                continue
            asked = ask_all(collection, material, homes[0])
            path.write_bytes(msgspec.json.encode(asked))
            say(f"{collection.name}: {len(asked)} questions")
        return
    asked = usable(read_cache(given.cache))
    before = confidence.shipped()
    if given.reports:
        asked = [one for one in asked if one.kind == "reports"]
        fitted = before.calibrations | calibrated(before.dense, {}, asked)
        write(msgspec.structs.replace(before, calibrations=fitted), given.dry_run)
        return
    if given.law:
        asked = [one for one in asked if one.kind in OF_LAW[f"law-{given.law}-1"]]
    found = left_out(asked)
    limit = limits(found)
    table(found, limit)
    encoders = dict(before.encoders)
    for encoder in {found_one.models for found_one in found} & {*OF_LAW}:
        kinds = OF_LAW[encoder]
        pair = fit_law([one for one in asked if one.kind in kinds])
        bias = round(pair.answers.bias - limit.pop(encoder), 4)
        answers = msgspec.structs.replace(pair.answers, bias=bias)
        encoders[encoder] = ScoredPair(answers=answers, right=pair.right)
    dense = before.dense if given.law else fit_pair(asked)
    models = Models(
        dense=dense,
        words=before.words if given.law else fit_pair(asked, WORDS[:3] + WORDS[-2:], WORDS),
        encoders=encoders,
        limits=before.limits if given.law else limit,
        calibrations=before.calibrations | calibrated(dense, encoders, asked),
    )
    write(models, given.dry_run)


def write(models: Models, is_dry: bool) -> None:
    if not is_dry:
        WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(models), indent=1) + b"\n")
        say(f"wrote {WEIGHTS.name}")


if __name__ == "__main__":
    main()
