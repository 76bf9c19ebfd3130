"""Check the answer to one golden question: whether it passes, and why not.

The rule of the golden set: a hit in the top k matches any expected place, and its score is at least
min_score. The other checks are hard negatives, evidence in the text, abstention, the version in
force and confusion traps. A question passes when every check it states holds; `failure` names the
kind of failure, and `reason` explains it in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from assay.core.errors import InputError, UsageError
from assay.core.types import GoldSet, Hit, Query, QueryResult, Run
from assay.language.amounts import amount_in, factor_of, unit_in
from assay.language.detect import detect, language_code
from assay.language.terms import contains_term, has_number, has_words, number_of_term
from assay.law.matching import (
    NOWHERE,
    CellText,
    KnownDocument,
    Locate,
    PlaceKey,
    hit_place,
    in_column,
    in_force,
    is_near,
    label,
    matches,
    place_of,
    same_law,
    unreadable,
)

DEFAULT_K = 5  # spec 002, as the next
DEFAULT_MIN_SCORE = 0.60  # spec 002

PLACE_HINT = (
    "State one place: section '110 a', moment '3', law 'Kuntalaki'; "
    "several are several expectations."
)

FAILURES = {
    "error": "the engine failed: {error}",
    "missing": "the run has no answer to this question",
    "nothing_expected": "the question expects nothing, so nothing can pass it",
    "answered": "should have abstained, but {top} came first with score {top_score}",
    "hard_negative": "{negative} must not {come}, and is at rank {negative_rank}",
    "confusion": "the wrong law is on top: {top}{instead}",
    "wrong_version": "{found} is at rank {rank} in a version {not_right}",
    "low_score": "{found} is at rank {rank}, but its score {score} is under {min_score}",
    "evidence": "{found} is at rank {rank}, but {lacks}",
    "near_miss": "close: {top} is on top instead of {expected}",
    "below_k": "{found} is at rank {rank}, below the top {k}",
    "empty": "nothing came back; expected {expected}",
    "not_found": "{expected} is not in the top {k}; {top} came first",
}


@dataclass(frozen=True, kw_only=True)
class Checks:
    """The expectations of a question in normal form."""

    k: int
    min_score: float
    expected: tuple[PlaceKey, ...] = ()
    negatives: tuple[PlaceKey, ...] = ()
    traps: tuple[PlaceKey, ...] = ()
    wrong_law_fails: bool = False
    evidence: tuple[str, ...] = ()
    evidence_of: tuple[tuple[str, ...], ...] = ()  # the terms a single expectation adds
    must_abstain: bool = False
    as_of: str = ""
    language: str = ""  # that places are read in, where languages write alike


@dataclass(frozen=True, kw_only=True)
class CheckedHit:
    """A hit checked against a question. `expected` are the numbers of the expectations that its
    place meets, `met` those that it meets in full; `problem` is why it still does not count."""

    rank: int
    hit: Hit
    place: PlaceKey
    expected: tuple[int, ...] = ()
    met: tuple[int, ...] = ()
    problem: str = ""
    lacks: str = ""  # which evidence, in words
    negative: bool = False
    trap: bool = False

    @property
    def score(self) -> float:
        return (
            self.hit.score if self.hit.score is not None else 0.0
        )  # the suite's runner: a missing score is 0.0

    @property
    def accepted(self) -> bool:
        return bool(self.expected) and not self.problem


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one question. `first_rank` is the rank of the first accepted hit; `placed` is
    the first hit at an expected place, accepted or not, in the top k or below it."""

    query: Query
    checks: Checks
    result: QueryResult | None
    passed: bool
    failure: str = ""
    reason: str = ""
    first_rank: int | None = None
    recall: float | None = None
    placed: CheckedHit | None = None
    negative: CheckedHit | None = None
    negative_violated: bool = False
    confused: bool | None = None
    near_miss: bool = False
    abstained: bool = False
    ranked: tuple[CheckedHit, ...] = ()

    @property
    def rr(self) -> float | None:
        """1/rank of the first accepted hit; no value for a question that asks for no hit."""
        if not self.checks.expected or self.failure == "error":
            return None
        return 1 / self.first_rank if self.first_rank else 0.0


# ── reading the expectations ──────────────────────────────────────────────────────────────────────


def checks_of(
    query: Query, *, k: int | None = None, min_score: float | None = None, language: str = ""
) -> Checks:
    """The checks of a question; `k` and `min_score` given here override its own. `language` is that
    of the corpus, whose places are named; without it the question's, stated or guessed."""
    raw = query.checks
    language = language or language_code(query.language) or detect(query.text)
    expected = raw.get("expected_any") or ()
    traps = _as_list(raw.get("confusion"))
    least = next(
        value for value in (min_score, query.min_score, DEFAULT_MIN_SCORE) if value is not None
    )
    if not 0 <= least <= 1:
        raise UsageError(f"min_score is {least:g}, expected 0 to 1")
    return Checks(
        k=k or query.k or DEFAULT_K,
        min_score=least,
        expected=_stated_places(query, "expected_any", language),
        negatives=_stated_places(query, "expected_none", language),
        traps=_stated_places(query, "confusion", language),
        wrong_law_fails=True in traps,
        evidence=_evidence_terms(query, "evidence", raw.get("evidence")),
        evidence_of=tuple(
            _evidence_terms(query, f"expected_any[{number}].evidence", parts.get("evidence"))
            for number, parts in enumerate(expected)
        ),
        must_abstain=bool(raw.get("must_abstain")),
        as_of=query.as_of,
        language=language,
    )


def _stated_places(query: Query, check: str, language: str) -> tuple[PlaceKey, ...]:
    """The places a check states; in a trap a law may stand alone. A place that states nothing, or
    what cannot be read, would never be met, and as a negative or a trap never fail."""
    places = []
    stated = [place for place in _as_list(query.checks.get(check)) if place is not True]
    for number, place in enumerate(stated):
        parts = place if isinstance(place, Mapping) else {"law": place}
        key, why = unreadable(parts, language)
        if key:
            raise InputError(why, where=f"{query.id}: {check}[{number}].{key}", hint=PLACE_HINT)
        places.append(place_of(parts, language))
        if places[-1] == NOWHERE:
            raise InputError(
                "the place is empty",
                where=f"{query.id}: {check}[{number}]",
                hint="Is a section or a law left blank?",
            )
    return tuple(places)


def _evidence_terms(query: Query, check: str, stated: Any) -> tuple[str, ...]:
    """The terms of evidence; a number is a term too, a term without a letter or digit is in no
    text."""
    terms = _as_list(stated)
    for term in terms:
        if (
            isinstance(term, bool)
            or not isinstance(term, str | int | float)
            or not has_words(str(term))
        ):
            raise InputError(
                f"{term!r} is not a search term",
                where=f"{query.id}: {check}",
                hint="Evidence is a word or a list of words.",
            )
    return tuple(map(str, terms))


def _as_list(value: Any) -> list[Any]:
    if value is None or value is False:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


# ── one question ──────────────────────────────────────────────────────────────────────────────────


def check_questions(
    gold: GoldSet,
    results: Iterable[QueryResult],
    *,
    locate: Locate | None = None,
    k: int | None = None,
    min_score: float | None = None,
    language: str = "",
) -> tuple[Outcome, ...]:
    """Every question of the set against its answer, in the order of the set.

    `locate` looks a document id up in the corpus, for hits that carry an id and nothing else;
    `language` is the corpus's."""
    answers = {result.query_id: result for result in results}
    return tuple(
        check_question(
            query,
            answers.get(query.id),
            locate=locate,
            k=k,
            min_score=min_score,
            language=language,
        )
        for query in gold.queries
    )


def check_question(
    query: Query,
    result: QueryResult | None,
    *,
    locate: Locate | None = None,
    k: int | None = None,
    min_score: float | None = None,
    language: str = "",
) -> Outcome:
    checks = checks_of(query, k=k, min_score=min_score, language=language)
    if result is None or result.error:
        failure = "error" if result else "missing"
        reason = FAILURES[failure].format(error=result.error if result else "")
        recall = 0.0 if checks.expected and not result else None
        return Outcome(
            query=query,
            checks=checks,
            result=result,
            passed=False,
            failure=failure,
            reason=reason,
            recall=recall,
        )
    every = tuple(
        _check_hit(checks, rank, hit, locate) for rank, hit in enumerate(result.hits, start=1)
    )
    top = every[: checks.k]
    first = next((ranked for ranked in top if ranked.accepted), None)
    placed = first or next((ranked for ranked in every if ranked.expected), None)
    negative = (
        next((ranked for ranked in top if ranked.negative), None) if not result.abstained else None
    )
    abstained = result.abstained or not any(
        r.hit.score is None or r.score >= checks.min_score for r in top
    )
    facts = _QuestionFacts(checks, top, first, placed, negative, abstained)
    failure = facts.failure()
    return Outcome(
        query=query,
        checks=checks,
        result=result,
        passed=not failure,
        failure=failure,
        reason=facts.reason(failure),
        first_rank=first.rank if first else None,
        recall=facts.recall(),
        placed=placed,
        negative=negative,
        negative_violated=facts.negative_violated,
        confused=facts.confused,
        near_miss=bool(failure and facts.near_miss),
        abstained=abstained,
        ranked=every,
    )


def _check_hit(checks: Checks, rank: int, hit: Hit, locate: Locate | None) -> CheckedHit:
    place = hit_place(hit, locate, checks.language)
    negative = any(matches(wanted, place) for wanted in checks.negatives)
    # 118 § but not its 2nd moment: what is named as a negative is never what was asked for
    expected = tuple(
        number
        for number, wanted in enumerate(checks.expected)
        if not negative and matches(wanted, place, any_version=True)
    )
    problem, met, lacks = _hit_problem(checks, expected, hit, place, locate)
    return CheckedHit(
        rank=rank,
        hit=hit,
        place=place,
        expected=expected,
        met=met,
        problem=problem,
        lacks=lacks,
        negative=negative,
        trap=any(matches(wanted, place) for wanted in checks.traps),
    )


def _hit_problem(
    checks: Checks, expected: Sequence[int], hit: Hit, place: PlaceKey, locate: Locate | None
) -> tuple[str, tuple[int, ...], str]:
    """Why a hit at an expected place does not count, the first of version, score, evidence; else
    what it meets; and which evidence it lacks."""
    if not expected:
        return "", (), ""
    met = tuple(number for number in expected if matches(checks.expected[number], place))
    if not met or (checks.as_of and not in_force(place, checks.as_of)):
        return "wrong_version", (), ""
    if (hit.score if hit.score is not None else 0.0) < checks.min_score:
        return "low_score", (), ""
    asked = {number: (*checks.evidence, *checks.evidence_of[number]) for number in met}
    if not any(asked.values()):
        return "", met, ""
    found = evidence_in_hit(hit, locate)
    lacks = {
        n: missing_terms(terms, checks.expected[n].column, found) for n, terms in asked.items()
    }
    full = tuple(number for number in met if not lacks[number])
    return ("", full, "") if full else ("evidence", (), _missing_evidence(checks, lacks, found))


def _missing_evidence(checks: Checks, lacks: Mapping[int, Sequence[str]], found: Evidence) -> str:
    """A sentence on the missing evidence of the expectation that lacks least."""
    number = min(lacks, key=lambda number: len(lacks[number]))
    place = checks.expected[number]
    column = place.column
    there = column_text(column, found) if column else ""
    where = f"its column {place.written.column}" if column and found.cells else "its text"
    where += f" says {there} and" if there else ""
    other = terms_in_other_columns(lacks[number], column, found)
    stands = f" ({'; '.join(other)})" if other else ""
    return f"{where} lacks the evidence: {', '.join(lacks[number])}{stands}"


# ── the verdict ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _QuestionFacts:
    checks: Checks
    top: tuple[CheckedHit, ...]
    first: CheckedHit | None
    placed: CheckedHit | None
    negative: CheckedHit | None
    abstained: bool

    @property
    def placed_in_top(self) -> bool:
        return self.placed is not None and self.placed.rank <= self.checks.k

    @property
    def negative_violated(self) -> bool:
        """A hard negative before the first expected hit; anywhere in the top k when no hit is
        expected or found."""
        if self.negative is None:
            return False
        return (
            not self.placed_in_top or self.placed is None or self.negative.rank < self.placed.rank
        )

    @property
    def confused(self) -> bool | None:
        """A trap or the wrong law on top; None where neither the question nor the top hit tells the
        law."""
        if not self.top:
            return False if self.checks.traps or self.checks.wrong_law_fails else None
        place = self.top[0].place
        laws = [wanted for wanted in self.checks.expected if wanted.names_law]
        if self.top[0].trap:
            return True
        if laws and len(laws) == len(self.checks.expected) and place.names_law:
            return not any(same_law(wanted, place) for wanted in laws)
        return False if self.checks.traps else None

    @property
    def near_miss(self) -> bool:
        return bool(self.top) and any(
            is_near(wanted, self.top[0].place) for wanted in self.checks.expected
        )

    def failure(self) -> str:
        checks = self.checks
        if checks.must_abstain and not self.abstained:
            return "answered"
        if self.negative_violated:
            return "hard_negative"
        if self.top and (self.top[0].trap or (checks.wrong_law_fails and self.confused)):
            return "confusion"
        if checks.must_abstain or (checks.negatives and not checks.expected):
            return ""
        if self.first is not None:
            return ""
        return self._miss_reason()

    def _miss_reason(self) -> str:
        if not self.checks.expected:
            return "" if self.checks.traps else "nothing_expected"
        if self.placed is not None and self.placed_in_top:
            return self.placed.problem
        if not self.top:
            return "empty"
        if self.confused:
            return "confusion"
        if self.near_miss:
            return "near_miss"
        return "below_k" if self.placed is not None else "not_found"

    def recall(self) -> float | None:
        """The share of the expected places that an accepted hit in the top k stands at."""
        if not self.checks.expected:
            return None
        met = {number for ranked in self.top for number in ranked.met}
        return len(met) / len(self.checks.expected)

    def reason(self, failure: str) -> str:
        if not failure:
            if self.first is not None:
                stands = f"is at rank {self.first.rank} with score {self.first.score:.3g}"
                return f"{label(self.first.place)} {stands}"
            return (
                "abstained, as it should"
                if self.checks.must_abstain
                else "nothing that must not come is there"
            )
        top, placed = (self.top[0] if self.top else None), self.placed
        expected = " or ".join(label(place) for place in self.checks.expected)
        return FAILURES[failure].format(
            expected=expected,
            instead=f" instead of {expected}" if expected else "",
            top=_top_label(top.place, self.checks.expected) if top else "",
            top_score=f"{top.score:.3g}" if top else "",
            found=label(placed.place) if placed else "",
            rank=placed.rank if placed else "",
            score=f"{placed.score:.3g}" if placed else "",
            negative=label(self.negative.place) if self.negative else "",
            negative_rank=self.negative.rank if self.negative else "",
            lacks=placed.lacks if placed else "",
            come="come before what is expected"
            if self.checks.expected
            else f"be in the top {self.checks.k}",
            not_right=f"that was not in force on {self.checks.as_of}"
            if self.checks.as_of
            else "other than asked for",
            k=self.checks.k,
            min_score=f"{self.checks.min_score:g}",
        )


def _top_label(place: PlaceKey, wanted: Sequence[PlaceKey]) -> str:
    """The label of the first hit; of a whole row without the wanted column, with its columns."""
    lacks = any(each.column and matches(replace(each, column=""), place) for each in wanted)
    has = sorted(place.columns) if lacks and not place.column else []
    return label(place) + (f" (columns {', '.join(has)})" if has else "")


def results_of(run: Run) -> list[QueryResult]:
    """The answers of a run whose hits are columns (TREC, BEIR): ids and scores, in rank order."""
    documents, scores = run.hits["doc_id"].to_list(), run.hits["score"].to_list()
    columns = {
        name: run.queries[name].to_list()
        for name in ("millis", "error", "abstained")
        if name in run.queries.columns
    }
    answers = []
    for row, query_id in enumerate(run.rows_by_query):
        begin, end = int(run.offsets[row]), int(run.offsets[row + 1])
        hits = zip(documents[begin:end], scores[begin:end], strict=True)
        answers.append(
            QueryResult(
                query_id=query_id,
                hits=tuple(Hit(doc_id=doc_id, score=score) for doc_id, score in hits),
                **{
                    name: values[row] for name, values in columns.items() if values[row] is not None
                },
            )
        )
    return answers


# ── evidence ──────────────────────────────────────────────────────────────────────────────────────


class Evidence(NamedTuple):
    """The text and the cells in which evidence is looked for; `beside` is the text before the
    cells."""

    text: str
    cells: tuple[CellText, ...] = ()
    beside: str = ""
    year: str = ""  # of the report


def evidence_in_hit(hit: Hit, locate: Locate | None) -> Evidence:
    """The evidence that a hit offers; its title does not count."""
    known = locate(hit.doc_id) if locate is not None else None
    text = hit.text or str(hit.metadata.get("text") or "") or (known.text if known else "")
    own = _own_cell(hit)
    others = known.cells if known else ()
    cells = (*own, *(cell for cell in others if cell.column not in {one.column for one in own}))
    year = known.place.year if known else ""
    return Evidence(text, cells, _text_before_cells(text, others or cells), year)


def evidence_in_document(known: KnownDocument) -> Evidence:
    beside = _text_before_cells(known.text, known.cells)
    return Evidence(known.text, known.cells, beside, known.place.year)


def _own_cell(hit: Hit) -> tuple[CellText, ...]:
    cell = hit.metadata.get("cell")
    if not isinstance(cell, Mapping) or not cell.get("column") or not cell.get("text"):
        return ()
    return (CellText(*(str(cell.get(key) or "") for key in CellText._fields)),)


def _text_before_cells(text: str, cells: Sequence[CellText]) -> str:
    """The text of a row up to its first cell; without cells nobody asks for it."""
    parts = text.split(" | ")
    return " | ".join(parts[: -len(cells)])


def missing_terms(terms: Sequence[str], column: str, found: Evidence) -> tuple[str, ...]:
    """The terms that are not there; with a column, a figure that is not in it."""
    if not column or not found.cells:
        return tuple(term for term in terms if not contains_term(found.text, term))
    cells = in_column(column, found.cells, found.year)
    return tuple(term for term in terms if not _is_term_in_cells(term, cells, found.beside))


def column_text(column: str, found: Evidence) -> str:
    """What the asked column says, for a reader."""
    return "; ".join(cell_text(cell) for cell in in_column(column, found.cells, found.year))


def terms_in_other_columns(terms: Sequence[str], column: str, found: Evidence) -> list[str]:
    """Where the terms stand that the asked column lacks."""
    if not column:
        return []
    return [
        f"{term} stands in the column {cell.column}"
        for term in terms
        for cell in found.cells
        if cell.column and _is_term_in_cells(term, [cell], "")
    ]


def _is_term_in_cells(term: str, cells: Sequence[CellText], beside: str) -> bool:
    """A figure stands in the cell, as it is printed or in full; a word may stand beside it."""
    number = number_of_term(term)
    if number is not None:
        return any(has_number(cell.text, number, {1, factor_of(cell.unit)}) for cell in cells)
    if amount_in(term) is not None:
        return any(contains_term(cell_text(cell), term) for cell in cells)
    return contains_term(" | ".join((beside, *map(cell_text, cells))), term)


def cell_text(cell: CellText) -> str:
    """A cell with its unit, as the text of a row has it."""
    return f"{cell.text} ({cell.unit})" if cell.unit and not unit_in(cell.text) else cell.text
