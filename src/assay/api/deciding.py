"""Decisions over scores: comparisons, gates, and the documents to judge next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.api.scores import as_scores
from assay.api.values import Picture, PrintedPage, as_gold, printed, small_table
from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.results import Gate, Pair, Status, Verdict
from assay.core.types import counted
from assay.reports import tuning
from assay.reports.drawings import PictureBar, changes_of
from assay.reports.shapes import ComparisonAnswer
from assay.reports.terminal import verdict_lines
from assay.reports.terminal_comparison import comparison_table
from assay.reports.wording import COMMAND, Sentences, answers, headlines
from assay.reports.words import Words
from assay.workbench.deciding.tune import TuneReport, tune_callable
from assay.workbench.deciding.tune import tune as tune_table
from assay.workbench.judging.next import write_pairs
from assay.workbench.scoring import in_memory, notebook_input
from assay.workbench.scoring.score import verdict_against

if TYPE_CHECKING:
    import polars as pl

# ── which setting? ────────────────────────────────────────────────────────────────────────────────


class Tuned:
    """The result of a sweep over settings. `verdict` is better, or none where no setting is better
    than the current one; `best` is the setting with the highest mean, `honest` its mean on queries
    that it was not chosen on, and `optimism` what its apparent mean has on top of that."""

    def __init__(self, report: TuneReport) -> None:
        self.report = report
        self.verdict = report.choice.verdict
        self.best = dict(report.trials[report.choice.winner].parameters)
        self.honest = report.choice.honest
        self.interval = (report.choice.low, report.choice.high)
        self.optimism = report.choice.optimism

    def __str__(self) -> str:
        return printed(tuning.terminal(tuning.view(self.report)))

    def __repr__(self) -> str:
        return f"Tuned on {self.report.gold}: {tuning.view(self.report).headline}"

    def _repr_html_(self) -> str:
        return tuning.page(tuning.view(self.report))

    @property
    def toml(self) -> str:
        """The setting to use as a table of assay.toml: `best` if it is better than the current one,
        otherwise the current one; empty where that has no known values."""
        return tuning.toml(self.report)

    def to_frame(self) -> pl.DataFrame:
        """A row a setting: its parameters, mean, change, unjudged results, time and cost."""
        import polars as pl

        head, *rows = tuning.trial_rows(self.report)
        return pl.DataFrame(rows, schema=[*map(str, head)], orient="row", strict=False)


def tune(
    engine: Any,
    gold: Any = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    current: Mapping[str, Any] | None = None,
    measure: str = "",
    budget: int = 40,
    search: str = "",
    config: str | Path | None = None,
) -> Tuned:
    """Try many settings and say honestly which to use. The engine is the name of a table
    `[tune.NAME]` in assay.toml, or a class or function that makes an engine from keywords; then
    `parameters` has the values of each keyword, and `current` those in use.

    >>> def make(depth=1):
    ...     return lambda query, top_k=20: ["B", "A"] if depth < 2 else ["A", "B"]
    >>> gold = {f"q{number}": {"A": 1} for number in range(12)}
    >>> tuned = assay.tune(make, gold, {"depth": [1, 2]}, measure="RR")
    >>> tuned.verdict, tuned.best, tuned.honest
    ('better', {'depth': 2}, 1.0)
    """
    if isinstance(engine, str):
        return Tuned(tune_table(engine, config=Path(config) if config is not None else None))
    if gold is None or not parameters:
        raise InputError("a sweep needs a gold set and parameters with their values")
    report = tune_callable(
        engine,
        as_gold(gold),
        msgspec.to_builtins(dict(parameters)),
        current=dict(current or {}),
        measure=measure,
        budget=budget,
        search=search,  # type: ignore[arg-type]
    )
    return Tuned(report)


# ── is B better? ──────────────────────────────────────────────────────────────────────────────────


class Comparison:
    """Each engine against the first. `verdict` is better or worse where the difference is
    significant, probably better, probably worse, not significant, or open: then too few documents
    are judged to say.

    >>> gold = "dataset.json"
    >>> a, b = (assay.evaluate(f"{name}.trec", gold) for name in ("random", "bm25"))
    >>> compared = assay.compare(a, b)
    >>> compared.verdict
    'better'
    >>> print(compared)  # doctest: +ELLIPSIS
    bm25 is significantly better than random: nDCG@10 ...
    """

    def __init__(self, comparison: in_memory.Comparison) -> None:
        self.found = comparison

    @property
    def verdict(self) -> str:
        """One word for two engines; for more, a word for each: see `verdicts`."""
        words = self.verdicts
        if len(words) == 1:
            return next(iter(words.values()))
        return "; ".join(f"{system}: {word}" for system, word in words.items())

    @property
    def verdicts(self) -> dict[str, str]:
        """A word for each engine against the first."""
        return {row.system: row.verdict for row in headlines(self.found)}

    @cached_property
    def _answers(self) -> list[ComparisonAnswer]:
        return list(answers(self.found, Sentences(Words("en"))))

    def __str__(self) -> str:
        return "\n".join(
            " ".join([f"{answer.text}: {answer.change}", *answer.notes]).replace(
                COMMAND, "assay.next_to_judge"
            )
            for answer in self._answers
        )

    def __repr__(self) -> str:
        systems = ", ".join(self.found.systems)
        return f"Comparison of {systems} with {self.found.baseline}: {self.verdict}"

    def interval(self, measure: str = "") -> tuple[float | None, float | None]:
        """The 95% interval of a difference, of two engines; without a name, of the measure that
        decides."""
        rows = self._rows(measure or self.found.headline)
        return rows[0].low, rows[0].high

    def difference(self, measure: str = "") -> float:
        """How much higher the second engine is, on average."""
        return float(self._rows(measure or self.found.headline)[0].difference)

    def _rows(self, measure: str) -> list[Any]:
        wanted = measure.casefold()
        rows = [
            row
            for row in self.found.differences
            if wanted in (row.measure.casefold(), row.key.casefold())
        ]
        if not rows:
            names = ", ".join(dict.fromkeys(row.measure for row in self.found.differences))
            hint = f"It has {names}."
            raise InputError(f"this comparison has no {measure!r}", hint=hint)
        return rows

    def to_frame(self) -> pl.DataFrame:
        """A row an engine and measure: values, difference, interval, p, wins, ties, losses."""
        import polars as pl

        names = ("system", "measure", "n", "baseline", "value", "difference", "low", "high")
        more = ("p", "low_adjusted", "high_adjusted", "p_adjusted", "wins", "ties", "losses")
        return pl.DataFrame(
            {
                name: [getattr(row, name) for row in self.found.differences]
                for name in (*names, *more)
            }
        )

    def to_pandas(self) -> Any:
        """The same as a frame of pandas."""
        return notebook_input.to_pandas(self.to_frame())

    def page(self) -> PrintedPage:
        """What `assay compare` prints: every measure, and the queries that moved."""
        return PrintedPage(printed(comparison_table(self.found)))

    def plot(self) -> Picture:
        """Every difference with its interval, on a line whose middle is no change."""
        title = f"{', '.join(self.found.systems)} against {self.found.baseline}"
        several = len(self.found.systems) > 1
        bars = [
            PictureBar(
                name=f"{row.system} {row.measure}" if several else row.measure,
                value=row.difference,
                bounds=(row.low, row.high),
            )
            for row in self.found.differences
        ]
        return Picture(changes_of(title, bars), title)

    def save(self, path: str | Path) -> Path:
        """Write what was found as .json."""
        return in_memory.save_value(self.found, Path(path))

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (row.system, row.measure, f"{row.baseline:.3f}", f"{row.value:.3f}", _span(row))
            for row in self.found.differences
        ]
        head = ("engine", "measure", self.found.baseline, "now", "change")
        return small_table(str(self), head, rows[:12], len(rows))


def _span(row: Any) -> str:
    if row.low is None or row.high is None:
        return f"{row.difference:+.3f}"
    return f"{row.difference:+.3f} ({row.low:+.3f} to {row.high:+.3f})"


def compare(
    first: Any,
    second: Any,
    *more: Any,
    primary: str = "",
    equivalence: float | None = None,
    force: bool = False,
    tests: bool = False,
    worst_case: bool = False,
) -> Comparison:
    """Is one better? Each of the scores, or files of them, against the first. `primary` is the
    measure that decides (else nDCG@10), `equivalence` a margin within which two count as the same,
    `force` compares even on different gold sets, `tests` adds other tests, and `worst_case` takes
    intervals that hold even where a few queries fail completely.

    >>> same = assay.evaluate("bm25.trec", "dataset.json")
    >>> assay.compare(same, same).verdict
    'not significant'
    """
    every = [as_scores(each, "compare") for each in (first, second, *more)]
    results = [scores.results for scores in every]
    names = _names([scores.engine for scores in every])
    return Comparison(
        in_memory.compare_results_in_memory(
            results,
            names,
            force=force,
            primary=primary,
            equivalence=equivalence,
            tests=tests,
            worst_case=worst_case,
        )
    )


def _names(engines: list[str]) -> list[str]:
    """The names of the engines, numbered if two are the same."""
    if len(set(engines)) == len(engines):
        return engines
    return [f"{engine} ({place})" for place, engine in enumerate(engines, start=1)]


# ── does it pass? ─────────────────────────────────────────────────────────────────────────────────


class Checked:
    """What gates say of scores: `status` is pass, fail or inconclusive, and it is true where it
    passes.

    >>> scores = assay.evaluate("bm25.trec", "dataset.json", ["nDCG@10"])
    >>> assay.check(scores, [assay.Gate("nDCG@10", minimum=0.99)]).status
    'fail'
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    @property
    def status(self) -> Status:
        return self.verdict.status

    @property
    def passed(self) -> bool:
        return self.verdict.status == "pass"

    @property
    def messages(self) -> list[str]:
        """A sentence for each gate."""
        return [check.message for check in self.verdict.checks]

    @property
    def judge_next(self) -> list[Pair]:
        """Where it cannot be told: the judgments expected to settle it."""
        return list(self.verdict.judge_next or [])

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return printed(verdict_lines(self.verdict))

    def __repr__(self) -> str:
        return f"Checked: {self.status} ({counted(len(self.verdict.checks), 'gate')})"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (check.status, check.title, check.message) for check in self.verdict.checks
        ]
        return small_table(repr(self), ("status", "gate", "what was found"), rows, len(rows))


def check(
    scores: Any, gates: Iterable[Gate | Mapping[str, object]] = (), baseline: Any = None
) -> Checked:
    """Hold scores to gates; `baseline` is what a drop is counted from: scores, or a file of them. A
    golden set without gates is held to its own policy.

    >>> scores = assay.evaluate("bm25.trec", "dataset.json", ["nDCG@10"])
    >>> bool(assay.check(scores, [assay.Gate("nDCG@10", minimum=0.1)]))
    True
    """
    held = as_scores(scores, "check")
    if isinstance(gates, Gate | Mapping | str) or not isinstance(gates, list | tuple | Iterator):
        hint = 'Write [Gate("nDCG@10", minimum=0.5)].'
        raise InputError("gates must be a list of Gate", hint=hint)
    asked = [_gate(gate) for gate in gates]
    if not asked and not held.is_golden:
        raise InputError("there are no gates", hint='Write [Gate("nDCG@10", minimum=0.5)].')
    recorded = as_scores(baseline, "check").results if baseline is not None else None
    return Checked(verdict_against(held.results, asked, recorded))


class _StatedGate(Gate, frozen=True, forbid_unknown_fields=True):
    """A gate that somebody wrote: a condition that there is not is a mistake."""


def _gate(given_gate: Any) -> Gate:
    if isinstance(given_gate, Gate):
        return given_gate
    try:
        return msgspec.convert(given_gate, thread_safe(_StatedGate))
    except msgspec.ValidationError as error:
        known = ", ".join(Gate.__struct_fields__)
        raise InputError(f"not a gate: {error}", hint=f"A gate has {known}.") from error


# ── what to judge ─────────────────────────────────────────────────────────────────────────────────


class NextToJudge:
    """Pairs of query and document, the one whose grade settles most first. `needed` is how many are
    expected to be enough."""

    def __init__(self, decision: in_memory.Decision, limit: int) -> None:
        self.decision = decision
        self.pairs = decision.pairs[:limit]

    @property
    def needed(self) -> int:
        return self.decision.needed

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, place: int) -> Pair:
        return self.pairs[place]

    def to_frame(self) -> pl.DataFrame:
        """A row a pair."""
        import polars as pl

        names = ("query_id", "query_text", "doc_id", "narrowing")
        return pl.DataFrame({name: [getattr(pair, name) for pair in self] for name in names})

    def to_pandas(self) -> Any:
        """The same as a frame of pandas."""
        return notebook_input.to_pandas(self.to_frame())

    def save(self, path: str | Path) -> Path:
        """Write a .csv to fill in, or .json."""
        write_pairs(msgspec.structs.replace(self.decision, pairs=self.pairs), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        sure = f"{self.decision.confidence:.0%} sure now"
        return f"NextToJudge: {counted(len(self), 'pair')}; {self.needed} expected to do ({sure})"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (pair.query_text or pair.query_id, pair.doc_id, f"{pair.narrowing:.1%}")
            for pair in self.pairs[:10]
        ]
        head = ("query", "document", "of the doubt")
        return small_table(repr(self), head, rows, len(self.pairs))


def next_to_judge(
    first: Any,
    second: Any = None,
    *,
    measure: str = "nDCG@10",
    threshold: float | None = None,
    limit: int = 20,
) -> NextToJudge:
    """What to judge to know whether the second is better than the first, or whether the first
    reaches `threshold`.

    >>> a, b = (assay.evaluate(f"{name}.trec", "dataset.json") for name in ("random", "bm25"))
    >>> len(assay.next_to_judge(a, b, limit=3))
    3
    """
    first_results = as_scores(first, "next_to_judge").results
    two = as_scores(second, "next_to_judge").results if second is not None else None
    decision = in_memory.next_pairs_of(first_results, two, measure=measure, threshold=threshold)
    return NextToJudge(decision, limit)
