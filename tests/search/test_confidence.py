"""How sure a search is: words that are not here, outside questions, and a calibration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.core.types import Document
from assay.evaluation.reliability import expected_error, reliability
from assay.search import confidence
from assay.search.confidence import Calibration, Scale, fit_scale
from assay.search.engine import Engine, Hits
from assay.search.index import Index, build

DOCS = {
    "open": "Open a file and return a stream. The mode says whether it is read or written.",
    "copy": "Copy the contents of a file to another path, with its permissions.",
    "chmod": "Change the permissions of a path.",
    "walk": "Walk a directory tree and yield the names of files and folders.",
    "lock": "Acquire a lock, and wait until another thread has released it.",
    "join": "Wait until a thread terminates, or until the timeout has passed.",
    "hash": "Return the digest of the data that was passed to the update method.",
    "zip": "Read and write archives that are compressed with the deflate method.",
    "date": "Return the local date of a timestamp, as a year, a month and a day.",
}


def documents(texts: dict[str, str], language: str) -> list[tuple[Document, str]]:
    return [
        (Document(id=name, title=name, text=text, language=language), name)
        for name, text in texts.items()
    ]


@pytest.fixture(scope="module")
def manual() -> Index:
    return build(documents(DOCS, "en"))


def asked(index: Index, question: str) -> Hits:
    return Engine(index, lookup=lambda name: documents(DOCS, "en")[[*DOCS].index(name)][0]).search(
        question, 3
    )


def test_words_that_are_nowhere_and_words_that_were_corrected_are_said(manual: Index) -> None:
    hits = asked(manual, "copy the permisions of a spreadsheet")
    assert hits.corrected == {"permisions": "permissions"}
    assert hits.unknown == ("spreadsheet",)
    plain = asked(manual, "copy the permissions of a file")
    assert (plain.corrected, plain.unknown) == ({}, ())


def test_an_everyday_question_to_a_manual_is_refused(manual: Index) -> None:
    bread = asked(manual, "how do I bake bread")
    file = asked(manual, "how do I copy a file with its permissions")
    assert bread.abstained
    assert not file.abstained
    assert file.answers > 0.6 > bread.answers
    assert (file[0].score or 0) > (bread[0].score or 0)


def test_scores_are_marked_where_nothing_was_fitted_to_the_corpus(manual: Index) -> None:
    assert not asked(manual, "copy a file").calibrated
    bold = Calibration(answers=Scale(5.0, 1.0), right=Scale(2.0, 1.0), questions=30)
    hits = Engine(manual, calibration=bold).search("how do I copy bread", 3, texts=False)
    assert hits.calibrated
    assert not hits.abstained  # this corpus answers nearly everything
    assert (hits[0].score or 0) > (asked(manual, "how do I bake bread")[0].score or 0)
    nothing = Engine(manual, calibration=bold).search(" ", 3, texts=False)
    assert (list(nothing), nothing.calibrated) == ([], True)


@pytest.mark.parametrize("question", ["how do I bake bread", "איך אופים לחם"])
def test_another_language_is_refused_by_what_is_known(question: str) -> None:
    act = {
        str(number): text
        for number, text in enumerate(
            (
                "Kunnanvaltuusto päättää kunnan talousarviosta ja veroprosentista.",
                "Kunnanhallitus valvoo kunnan etua ja edustaa kuntaa.",
                "Tarkastuslautakunta arvioi tavoitteiden toteutumista.",
                "Kunnan jäsen on henkilö, jonka kotikunta kunta on.",
            )
        )
    }
    engine = Engine(build(documents(act, "fi")))
    assert engine.search(question, 3, texts=False).abstained
    assert not engine.search("kuka päättää kunnan talousarviosta", 3, texts=False).abstained


def test_scores_fall_with_rank_and_stay_probabilities(manual: Index) -> None:
    scores = [hit.score or 0 for hit in asked(manual, "wait until a thread has released a lock")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


# ── fitting ───────────────────────────────────────────────────────────────────────────────────────


def likelihood(scale: Scale, logits: np.ndarray, labels: np.ndarray) -> float:
    """The posterior, written out: labels under the scale, and the prior of both numbers."""
    sure = np.array([scale.probability(float(logit)) for logit in logits])
    seen = np.where(labels, np.log(sure), np.log(1 - sure)).sum()
    prior = (scale.shift / confidence.SHIFT) ** 2 + ((scale.slope - 1) / confidence.SLOPE) ** 2
    return float(seen - prior / 2)


def test_the_fit_is_the_best_of_all_shifts_and_slopes() -> None:
    random = np.random.default_rng(3)
    logits = random.normal(0.5, 1.5, 60)
    labels = random.random(60) < 1 / (1 + np.exp(-(0.6 * logits - 1)))
    found = fit_scale(logits, labels)
    grid = itertools.product(np.arange(-3, 3, 0.05), np.arange(0.2, 2, 0.05))
    best = max(likelihood(Scale(*map(float, pair)), logits, labels) for pair in grid)
    assert likelihood(found, logits, labels) >= best
    assert found.shift < -0.3


def test_few_questions_move_little() -> None:
    few = fit_scale(np.array([1.0, 1.0]), np.array([False, False]))
    many = fit_scale(np.ones(200), np.zeros(200, bool))
    assert -1.5 < few.shift < 0
    assert many.shift < few.shift


def test_the_expected_error_is_what_a_hand_computes() -> None:
    scores = np.array([0.95, 0.91, 0.15, 0.11])
    right = np.array([True, False, False, False])
    assert expected_error(scores, right) == pytest.approx(0.5 * 0.43 + 0.5 * 0.13)
    told = reliability(scores, right)
    assert told.auc == 1.0
    assert [(each.n, each.right) for each in told.bins] == [(2, 0.0), (2, 0.5)]
    assert reliability(scores, np.ones(4, bool)).auc is None
