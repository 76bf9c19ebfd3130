"""What the tools answer about runs: the verdict first, in words, and figures rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from assay.core.results import (
    Entry,
    GoldenEntry,
    GoldenResults,
    MeasureLine,
    Results,
)
from assay.core.results_file import measure_to_json
from assay.mcp.models import EMPTY, LONGEST, Answer, Line, length
from assay.workbench.for_agents import (
    CLOSE,
    deciding,
    failed_entries,
    failed_of,
    hits_in_words,
    story_of,
    summary_of,
)
from assay.workbench.history import Comparison, Difference, KeptRun, Leaderboard, Moved

MOST_FAILED = 50
Interval = tuple[float | None, float | None]


class Evaluation(Answer):
    run_id: str = Field(description="For compare_runs and explain_score.")
    summary: str = Field(
        description="In words, with what nobody has judged. Do not report the figure without it."
    )
    may_ship: str = Field(
        default="",
        description="Whether it may ship, by the gates of the project, and what each gate found.",
    )
    engine: str
    gold: str
    gold_status: str
    queries: int
    overall: dict[str, float | None] = Field(
        description="Mean of every measure over all queries. Of a golden set, n_failed counts "
        "calls of the engine that ended in an error, where any did; the questions it failed are "
        "under failed."
    )
    intervals: dict[str, Interval] = Field(default={}, description="95 % interval of every mean.")
    failed: list[str] = Field(
        default=[],
        description="Of a golden set: the questions that failed; list_failures says why.",
    )

    @classmethod
    def of(cls, run: KeptRun, gold: str, may_ship: str) -> Evaluation:
        results = run.results
        return cls(
            run_id=run.id,
            summary=summary_of(results),
            may_ship=may_ship,
            engine=run.engine,
            gold=gold,
            gold_status=results.receipt.gold.status or "not recorded",
            queries=len(results.per_query),
            overall={
                name: _rounded(value)
                for name, value in results.overall.items()
                if name != "n_failed" or value
            },
            intervals={
                name: (_rounded(low), _rounded(high))
                for name, (low, high) in results.intervals.overall.items()
                if low is not None
            },
            failed=failed_of(results)[:MOST_FAILED],
        )


class Change(Answer):
    """A measure of one system against the baseline, rounded."""

    system: str
    measure: str
    before: float
    now: float
    change: float
    low: float | None = Field(description="The 95 % interval of the change.")
    high: float | None
    better: int = Field(description="Queries that got better; then the same, and worse.")
    same: int
    worse: int
    p: float = Field(
        description="Of the randomization test. Of the measure that decides, corrected for the "
        "number of systems; of any other, for all tests (Holm)."
    )

    @classmethod
    def of(cls, row: Difference) -> Change:
        return cls(
            system=row.system,
            measure=row.measure,
            before=_rounded(row.baseline) or 0.0,
            now=_rounded(row.value) or 0.0,
            change=_rounded(row.difference) or 0.0,
            low=_rounded(row.low),
            high=_rounded(row.high),
            better=row.wins,
            same=row.ties,
            worse=row.losses,
            p=_rounded(row.p_holm) or 0.0,
        )


class MovedQuery(Answer):
    query_id: str
    before: float
    now: float


# The fields of a Comparison stand here again: the SDK takes no struct, and a dataclass at the top
# would lose what each field means to an agent. A test holds the two together.
class WholeComparison(Answer):
    """Everything, not rounded."""

    baseline: str
    systems: list[str]
    headline: str
    differences: list[Difference]
    moved: list[Moved]
    warnings: list[str]
    gold_status: str = ""
    variants: list[Difference] = []
    margin: float | None = None
    leaderboard: Leaderboard | None = None
    gold_changed: Literal["", "some", "all"] = ""
    tests: int = 1


MOST_MOVED = 3
MOST_CHANGES = 3  # measures of a short answer, the one that decides first


class RunComparison(Answer):
    verdict: str = Field(description="Is it better? In words, with the figure that decides.")
    may_ship: str = Field(
        default="",
        description="Whether each system may ship, by the gates of the project. Being better and "
        "being good enough are two questions.",
    )
    word: str = Field(description="better, worse, no difference or open, for each system.")
    baseline: str
    systems: list[str]
    decided_by: str = Field(description="The measure that decides; the others inform.")
    changes: list[Change]
    moved: list[MovedQuery] = Field(description="The queries that moved most.")
    warnings: list[str] = []
    gold_status: str = Field(
        default="",
        description="How far the gold set is approved; empty where that is not recorded.",
    )
    details: WholeComparison | None = Field(
        default=None, description="Everything, where details was asked for."
    )

    @classmethod
    def of(
        cls, found: Comparison, verdicts: list[str], ships: list[str], *, details: bool
    ) -> RunComparison:
        deciding = [row for row in found.differences if row.measure == found.headline]
        others = [row for row in found.differences if row.measure != found.headline]
        short = cls(
            verdict=" ".join(verdicts),
            may_ship=" ".join(ships),
            word="; ".join(f"{row.system}: {row.verdict}" for row in deciding),
            baseline=found.baseline,
            systems=found.systems,
            decided_by=found.headline,
            changes=[Change.of(row) for row in [*deciding, *others][:MOST_CHANGES]],
            moved=[
                MovedQuery(
                    query_id=row.query_id,
                    before=_rounded(row.baseline) or 0.0,
                    now=_rounded(row.value) or 0.0,
                )
                for row in found.moved[:MOST_MOVED]
                if row.value != row.baseline
            ],
            warnings=_told(found)[:2],
            gold_status=found.gold_status,
        )
        if not details:
            return _fitted(short)
        whole = WholeComparison.model_validate(found, from_attributes=True)
        return short.model_copy(update={"details": whole})


def _told(found: Comparison) -> list[str]:
    """Without what the verdict says already."""
    said = "different gold sets" if found.gold_changed else ""
    return [warning for warning in found.warnings if not said or said not in warning]


def _fitted(answer: RunComparison) -> RunComparison:
    """Short enough to be read whole: what says least goes first, and the verdict last of all."""
    cuts: list[dict[str, object]] = [
        {"moved": []},
        {"changes": answer.changes[:1]},
        {"changes": [], "warnings": []},
        {"word": "see verdict", "may_ship": "ask for details"},
    ]
    for cut in cuts:
        if length(answer) <= LONGEST:
            return answer
        answer = answer.model_copy(update=cut)
    if over := max(0, length(answer) - LONGEST):
        answer = answer.model_copy(
            update={"verdict": f"{answer.verdict[: -over - 40]} … (details)"}
        )
    return answer


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


class RunLine(Line):
    run_id: str
    engine: str
    gold: str
    at: str
    figures: dict[str, float | None] = Field(default={}, description="The figures that say most.")
    may_ship: str = Field(
        default="", description="By the gates of the project: yes, no, not_yet or no_gates."
    )
    why: str = Field(default="", description="Why not, or why not yet.")
    failed: list[str] = Field(
        default=[],
        description="Of a golden set: the questions that failed, the first ones; list_failures "
        "says why.",
    )


class Runs(Answer):
    runs: list[RunLine]
    next_offset: int | None = None


class EngineLine(Line):
    name: str
    kind: str
    gold_sets: list[str] = Field(description="The sets that run_evaluation may score it on.")


class Engines(Answer):
    engines: list[EngineLine]
    message: str = ""


class MeasureFormula(BaseModel):
    """A measure: the key of its values, its formula, and its settings (rel, gain, p, …) as further
    fields."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int | float | str | None]

    key: str
    measure: str
    cutoff: int | None = None
    formula: str = Field(default="", description="Told once, where two differ by the cutoff alone.")
    source: str = ""

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, whole: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in whole(self).items() if value not in EMPTY}


SHOWN = 20  # hits of an explanation
MOST_KINDS = 6  # of queries, the worst
MOST_MISSED = 5  # relevant documents of an explanation that are not among them
LONGEST_QUERY = 200  # characters of a query in a list


class HitLine(Line):
    """A hit of a golden question."""

    rank: int
    doc_id: str
    what: str = Field(
        default="", description="Of a golden question: expected, negative, trap, or nothing."
    )
    place: str = Field(
        default="", description="Of a golden question: the place in words, and the score."
    )


class Explanation(Answer):
    query_id: str
    query: str
    passed: bool | None = Field(default=None, description="Of a golden question.")
    expected: str = Field(description="What a good answer has.")
    outcome: str = Field(description="What came, and why it passed, failed or scored so.")
    results: list[str] = Field(description="The ranking; of a golden question see hits.")
    grades: list[int | None] = Field(
        description="The grade at every rank; none where nobody has judged."
    )
    missed: dict[str, int] = Field(
        default={},
        description="Relevant documents that are not in the ranking, each with its grade, the best "
        "first. Read one to see why.",
    )
    more_missed: int = Field(default=0, description="How many there are beside these.")
    hits: list[HitLine] = Field(default=[], description="The first hits with what each is.")
    metrics: dict[str, float | None]
    measures: list[MeasureFormula] = Field(description="The formula behind every number.")

    @classmethod
    def of(
        cls, entry: Entry, lines: list[MeasureLine], relevant: dict[str, int] | None = None
    ) -> Explanation:
        expected, outcome = story_of(entry)
        golden = isinstance(entry, GoldenEntry)
        shown = entry.results[:SHOWN]
        missed = [each for each in (relevant or {}).items() if each[0] not in shown]
        answer = cls(
            query_id=entry.query_id,
            query=entry.query_text,
            passed=entry.passed if isinstance(entry, GoldenEntry) else None,
            expected=expected,
            outcome=outcome,
            results=[] if golden else shown,
            grades=[] if golden else entry.grades[:SHOWN],
            missed=dict(missed[:MOST_MISSED]),
            more_missed=max(len(missed) - MOST_MISSED, 0),
            hits=_golden_hits(entry) if isinstance(entry, GoldenEntry) else [],
            metrics={name: _rounded(value) for name, value in entry.metrics.items()},
            measures=[] if golden else _formulas(lines),
        )
        if length(answer) <= LONGEST:
            return answer
        short = [each.model_copy(update={"source": ""}) for each in answer.measures]
        return answer.model_copy(update={"measures": short})


def _formulas(lines: list[MeasureLine]) -> list[MeasureFormula]:
    told: set[str] = set()
    formulas = []
    for line in lines:
        formula = MeasureFormula.model_validate(measure_to_json(line))
        if formula.formula in told:
            formula = formula.model_copy(update={"formula": "", "source": ""})
        told.add(formula.formula)
        formulas.append(formula)
    return formulas


def _golden_hits(entry: GoldenEntry) -> list[HitLine]:
    return [
        HitLine(rank=rank, doc_id=hit.doc_id, what=hit.match, place=told)
        for rank, (hit, told) in enumerate(hits_in_words(entry), start=1)
    ]


class FailureLine(Line):
    query_id: str
    query: str
    kind: str = Field(default="", description="The type of the query, else its category or topic.")
    must: bool | None = Field(default=None, description="Of a golden question: it must pass.")
    score: float | None = Field(default=None, description="Of a graded query, by `measure`.")
    expected: str = Field(description="What a good answer has.")
    outcome: str = Field(description="What came, and why it failed or scored so.")
    first: str = Field(default="", description="Of a golden question: what came first.")


class Failures(Answer):
    summary: str
    kinds: list[str] = Field(
        default=[],
        description="How good each kind of query is, the worst first, with how many there are. Of "
        "fewer than ten, say that they are few.",
    )
    measure: str = Field(default="", description="What graded queries are sorted by.")
    failures: list[FailureLine]
    next_offset: int | None = None

    @classmethod
    def of(cls, results: Results, limit: int, offset: int) -> Failures:
        line = None if isinstance(results, GoldenResults) else deciding(results)
        entries, end = failed_entries(results), offset + limit
        return cls(
            summary=summary_of(results),
            kinds=[] if offset else _kinds(results.per_query, line.key if line else ""),
            measure=line.measure if line else "",
            failures=[_failure(entry, line.key if line else "") for entry in entries[offset:end]],
            next_offset=end if len(entries) > end else None,
        )


def _kind(entry: Entry) -> str:
    if isinstance(entry, GoldenEntry):
        return entry.category or entry.query_type or entry.query_topic
    return entry.query_type or entry.query_category or entry.query_topic


def _kinds(entries: Sequence[Entry], key: str) -> list[str]:
    """What each kind of query comes to, the worst first; nothing where there is one kind."""
    values: dict[str, list[float]] = {}
    for entry in entries:
        value = float(entry.passed) if isinstance(entry, GoldenEntry) else entry.metrics.get(key)
        if value is not None:
            values.setdefault(_kind(entry), []).append(value)
    if len(values) < 2:
        return []
    golden = isinstance(entries[0], GoldenEntry)
    means = sorted((sum(each) / len(each), kind, len(each)) for kind, each in values.items())
    said = "{1}: {0:.0%} of {2} passed" if golden else "{1}: {0:.3f} over {2}"
    return [said.format(*each) for each in means[:MOST_KINDS]]


def _failure(entry: Entry, key: str) -> FailureLine:
    expected, outcome = story_of(entry)
    golden = isinstance(entry, GoldenEntry)
    hits = hits_in_words(entry, 1) if isinstance(entry, GoldenEntry) else []
    return FailureLine(
        query_id=entry.query_id,
        query=entry.query_text[:LONGEST_QUERY],
        kind=_kind(entry),
        must=entry.must or None if isinstance(entry, GoldenEntry) else None,
        score=None if golden else _rounded(entry.metrics.get(key)),
        expected=expected,
        outcome=outcome.replace(f" {CLOSE}", ""),
        first=hits[0][1] if hits else "",
    )
