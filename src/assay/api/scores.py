"""Run an engine, score its answers, and the scores as a notebook uses them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.api.values import (
    GoldSet,
    Picture,
    PrintedPage,
    Run,
    as_gold,
    as_run,
    make_run,
    path_of,
    printed,
    small_table,
)
from assay.core import types
from assay.core.errors import InputError
from assay.core.results import Entry, GoldenEntry, GoldenResults, GradedResults, Results
from assay.core.types import ScoreSheet, counted
from assay.reports.drawings import PictureBar, picture_of
from assay.reports.numbers import decimal
from assay.reports.terminal import explanation
from assay.workbench.scoring import in_memory, notebook_input
from assay.workbench.scoring.in_memory import Sources, ask_any, parse_measure
from assay.workbench.scoring.request import measures_of_set

if TYPE_CHECKING:
    import polars as pl

UNSAVED = Path("gold.json")  # where a rubric would be looked for beside a set that has no file


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Scores(ScoreSheet):
    """The scores of one run on one gold set. `scores["nDCG@10"]` is a mean; a golden set has
    figures such as "pass_rate_must".

    >>> scores = assay.evaluate({"q1": {"A": 2.0, "B": 1.0}}, {"q1": {"B": 1}}, ["RR", "P@5"])
    >>> scores["RR"]
    0.5
    """

    engine: str
    make: Callable[[], Results]

    @cached_property
    def results(self) -> Results:
        """What `assay score` writes: every query with its ranking, intervals and the receipt."""
        return self.make()

    @property
    def is_golden(self) -> bool:
        """Whether the questions pass or fail."""
        return isinstance(self.results, GoldenResults)

    # ── figures ───────────────────────────────────────────────────────────────────────────────────

    def __getitem__(self, measure: str) -> float | None:
        return self.overall.means[self._measure_name(measure)]

    def keys(self) -> tuple[str, ...]:
        return self.measures

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def __contains__(self, measure: object) -> bool:
        try:
            return self._measure_name(str(measure)) in self.measures
        except InputError:
            return False

    def _measure_name(self, measure: object) -> str:
        """A measure in any spelling: nDCG@10, ndcg@10."""
        known = {name.casefold(): name for name in self.measures}
        wanted = str(measure)
        if wanted.casefold() not in known:
            try:
                wanted = str(parse_measure(wanted))
            except InputError:
                wanted = str(measure)
        if wanted.casefold() in known:
            return known[wanted.casefold()]
        names = ", ".join(self.measures)
        raise InputError(f"these scores have no {str(measure)!r}", hint=f"They have {names}.")

    def interval(self, measure: str = "") -> tuple[float | None, float | None]:
        """The 95% interval of a mean; without a name, of nDCG@10, or else of the first measure.

        >>> scores = assay.evaluate("bm25.trec", "dataset.json", ["nDCG@10"])
        >>> low, high = scores.interval("nDCG@10")
        >>> low < scores["nDCG@10"] < high
        True
        """
        usual = "nDCG@10" if "nDCG@10" in self else self.measures[0]
        name = self._measure_name(measure or usual)
        keys = {line.measure: line.key for line in self.results.receipt.measures}
        return self.results.intervals.overall.get(keys.get(name, name), (None, None))

    # ── tables ────────────────────────────────────────────────────────────────────────────────────

    def to_frame(self) -> pl.DataFrame:
        """A row a query with the value of every measure; of a golden set whether it passed, and
        why not.

        >>> scores = assay.evaluate({"q1": ["A"]}, {"q1": {"A": 1}}, ["P@1"])
        >>> scores.to_frame()["P@1"].to_list()
        [1.0]
        """
        if not _golden(self):
            return super().to_frame()
        import polars as pl

        return pl.DataFrame([_row(entry) for entry in self.results.per_query])

    def to_pandas(self) -> Any:
        """The same as a frame of pandas."""
        return notebook_input.to_pandas(self.to_frame())

    # ── one query ─────────────────────────────────────────────────────────────────────────────────

    def explain(self, query_id: str) -> PrintedPage:
        """The sum behind every number of one query, rank by rank; of a golden question what was
        expected, and why it failed. Print it, or let the notebook show it.

        >>> scores = assay.evaluate({"q1": ["A", "B"]}, {"q1": {"B": 1}}, ["RR"])
        >>> print(scores.explain("q1"))  # doctest: +ELLIPSIS
        q1 ...
        RR  =  0.500000  1 / 2  (first hit with grade >= 1)
        """
        entries: dict[str, Entry] = {entry.query_id: entry for entry in self.results.per_query}
        if query_id not in entries:
            some = ", ".join(list(entries)[:5])
            raise InputError(f"no query {query_id!r} in these scores", hint=f"They have {some}, …")
        lines = [] if self.is_golden else self.results.receipt.measures
        return PrintedPage(printed(explanation(entries[query_id], lines)))

    # ── showing and saving ────────────────────────────────────────────────────────────────────────

    def plot(self) -> Picture:
        """Every mean on a line from 0 to 1, with its interval: a drawing that a notebook shows and
        `.save("scores.svg")` writes.

        >>> assay.evaluate({"q1": ["A"]}, {"q1": {"A": 1}}, ["P@1"]).plot()
        Picture: Scores of run
        """
        bars = [
            PictureBar(name=name, value=value, bounds=self.interval(name))
            for name, value in self.overall.means.items()
            if value is not None and 0 <= value <= 1
        ]
        return Picture(picture_of(f"Scores of {self.engine}", bars), f"Scores of {self.engine}")

    def save(self, path: str | Path, *, language: str = "en") -> Path:
        """Write the results (.json), which every command and `load_scores` read, or a report:
        .html, .md, .csv, .tex, or .xml for JUnit.

        >>> scores = assay.evaluate({"q1": ["A"]}, {"q1": {"A": 1}}, ["P@1"])
        >>> assay.load_scores(scores.save("scores.json"))["P@1"]
        1.0
        """
        in_memory.save_results(self.results, Path(path), language=language)
        return Path(path)

    def __repr__(self) -> str:
        shown = list(self.overall.means.items())
        if _golden(self):
            shown = [each for each in shown if each[0].startswith("pass_rate")]
        figures = ", ".join(f"{name} {decimal(value)}" for name, value in shown[:4])
        more = ", …" if len(shown) > 4 else ""
        return f"Scores of {self.engine}: {figures}{more} ({counted(self.overall.n, 'query')})"

    def _repr_html_(self) -> str:
        if not _golden(self):
            from assay.reports.html import score_sheet_table  # templates take long to load

            return score_sheet_table(self)
        failed = [row for row in map(_row, self.results.per_query) if not row["passed"]]
        rows = [(row["query_id"], row["query"], row["reason"]) for row in failed[:10]]
        return small_table(repr(self), ("failed", "question", "why"), rows, len(failed))


def _golden(scores: Scores) -> bool:
    """Known without making the results: a golden set has figures, and is made at once."""
    return "pass_rate_total" in scores.measures


def _row(entry: Entry) -> dict[str, object]:
    assert isinstance(entry, GoldenEntry)
    return {
        "query_id": entry.query_id,
        "query": entry.query_text,
        "category": entry.category,
        "must": entry.must,
        "passed": entry.passed,
        "rank": entry.first_rank,
        "failure": entry.failure,
        "reason": entry.reason,
    }


def _scores(sheet: ScoreSheet, engine: str, make: Callable[[], Results]) -> Scores:
    values = {each.name: getattr(sheet, each.name) for each in fields(ScoreSheet)}
    return Scores(**values, engine=engine, make=make)


# ── the verbs ─────────────────────────────────────────────────────────────────────────────────────


def run(
    engine: Any,
    gold: Any,
    top_k: int = 20,
    *,
    corpus: str | Path | None = None,
    config: str | Path | None = None,
) -> Run:
    """Ask an engine every query. The engine is a function of (query, top_k), an object with
    `search`, a retriever of LangChain, LlamaIndex, Haystack or PyTerrier, or a name: of a table in
    assay.toml, of a corpus, a baseline (bm25, with `corpus`), a module or a file. The queries are
    those of a gold set, or {id: text}.

    >>> def mine(query, top_k=20):
    ...     return ["A", "B"]
    >>> assay.run(mine, {"q1": "gift limits"})
    Run of mine: 1 query, 2 hits
    """
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:
        raise InputError(f"top_k must be a whole number of 1 or more, not {top_k!r}")
    asked = as_gold(gold) if isinstance(gold, str | Path) else gold
    queries = notebook_input.queries_of(asked)
    named = _corpus_name(engine)
    found = ask_any(
        named or engine,
        queries,
        top_k=top_k,
        corpus=Path(corpus) if corpus is not None else None,
        config=Path(config) if config is not None else None,
    )
    carries = any(
        hit.locator or hit.metadata or hit.text for answer in found.answers for hit in answer.hits
    )
    answers = tuple(found.answers) if carries else ()
    return make_run(found.run, corpus=found.corpus, given_answers=answers)


def _corpus_name(engine: Any) -> str:
    """A corpus is asked by its name; what one is takes long to load, and then it is loaded."""
    if type(engine).__module__ != "assay.api.library":
        return ""
    return str(engine.name)


def evaluate(
    run: Any,
    gold: Any,
    measures: Iterable[Any] | None = None,
    *,
    corpus: str | Path | None = None,
) -> Scores:
    """Score a run against a gold set. Both may be objects, dictionaries, frames of pandas or
    polars, or paths; a TREC run is then scored while it is read. Without `measures` the set's own
    suite is taken: nDCG@10, P@5 and others. A golden set passes or fails, and `corpus` says which
    section a hit is where the run has ids alone. A query that the run lacks scores 0.

    >>> scores = assay.evaluate({"q1": {"A": 2.0, "B": 1.0}}, {"q1": {"B": 1}}, ["RR", "P@5"])
    >>> dict(scores)
    {'RR': 0.5, 'P@5': 0.2}
    """
    wanted = _measures(measures)
    if isinstance(run, types.GoldSet):
        as_run(run)  # which says so
    if isinstance(gold, Mapping) and isinstance(run, Mapping) and _is_plain(run, gold):
        return _from_dicts(run, gold, wanted)
    with _right_way_round(gold):
        known = as_gold(gold)
    with _right_way_round(run):
        if known.is_golden:
            return _golden_scores(run, known, wanted, corpus)
        return _graded_scores(run, known, wanted)


@contextmanager
def _right_way_round(given_file: Any) -> Iterator[None]:
    """A file that cannot be read may be the other of the two."""
    try:
        yield
    except InputError as error:
        if error.hint or not isinstance(given_file, str | Path):
            raise
        hint = "The run comes first, then the gold set: evaluate(run, gold)."
        raise InputError(error.message, where=error.where, hint=hint) from error


def _measures(measures: Any) -> tuple[str, ...]:
    if measures is None:
        return ()
    if isinstance(measures, str):
        quoted = '"{}"'.format
        names = [measures] if "(" in measures else re.split(r"[,\s]+", measures.strip())
        raise InputError(
            f"measures must be a list of names, but was given the text {measures!r}",
            hint=f"Write measures=[{', '.join(map(quoted, names))}].",
        )
    if not isinstance(measures, Iterable):
        hint = 'Write measures=["nDCG@10", "P@5"].'
        raise InputError(f"measures must be a list of names, not {measures!r}", hint=hint)
    found = tuple(str(parse_measure(str(each))) for each in measures)
    if not found:
        raise InputError("measures is empty", hint="Leave it out for the set's own suite.")
    return tuple(dict.fromkeys(found))


def _is_plain(run: Mapping[Any, Any], gold: Mapping[Any, Any]) -> bool:
    """Whether dictionaries can be scored as they are, without a copy: texts, whole grades and
    numbers only."""
    if not run or not gold:
        return False
    if {*map(type, run.values()), *map(type, gold.values())} != {dict}:
        return False
    ids = {*map(type, run), *map(type, gold)}
    ids |= {kind for hits in run.values() for kind in set(map(type, hits))}
    ids |= {kind for grades in gold.values() for kind in set(map(type, grades))}
    numbers = {kind for hits in run.values() for kind in set(map(type, hits.values()))}
    grades = {kind for each in gold.values() for kind in set(map(type, each.values()))}
    plain = ids <= {str} and numbers <= {int, float} and grades <= {int}
    return plain and all(
        abs(grade) <= notebook_input.MAX_GRADE for each in gold.values() for grade in each.values()
    )


def _from_dicts(run: Any, gold: Any, wanted: tuple[str, ...]) -> Scores:
    def make() -> Results:
        return in_memory.score_graded_run(as_run(run), as_gold(gold), measures, Sources())

    measures = wanted or measures_of_set(as_gold(gold), UNSAVED)
    if not run.keys() & gold.keys():
        raise in_memory.no_common_queries(as_gold(gold), list(run))
    return _scores(in_memory.evaluate(run, gold, measures), "run", make)


def _graded_scores(run: Any, gold: GoldSet, wanted: tuple[str, ...]) -> Scores:
    if not gold.queries:
        raise InputError("the gold set has no queries", where=str(gold.source or ""))
    measures = wanted or measures_of_set(gold, gold.source or UNSAVED)
    if isinstance(run, str | Path):
        source: types.Run | Path = Path(run)
        sheet = in_memory.evaluate(source, gold, measures)
        engine = Path(run).stem
        has: list[str] = [] if sheet.counts["n_run"] else list(as_run(run).rows_by_query)
        sources = Sources(gold=gold.source, run=Path(run))
    else:
        source = as_run(run)
        sheet = in_memory.evaluate(source, gold, measures)
        engine, has = source.engine, list(source.rows_by_query)
        sources = Sources(
            gold=gold.source,
            run=getattr(source, "source", None),
            corpus=getattr(source, "corpus", None),
        )
    if not sheet.counts["n_run"]:
        raise in_memory.no_common_queries(gold, has) if has else InputError("the run is empty")
    return _scores(
        sheet, engine, partial(in_memory.score_graded_run, source, gold, measures, sources)
    )


def _golden_scores(
    run: Any, gold: GoldSet, measures: tuple[str, ...], corpus: str | Path | None
) -> Scores:
    if measures:
        raise InputError(
            "a golden set has its own figures, because its questions pass or fail",
            hint="Leave measures out.",
        )
    asked = as_run(run)
    where = Path(corpus) if corpus is not None else getattr(asked, "corpus", None)
    answers = asked.answers if isinstance(asked, Run) else in_memory.results_of(asked)
    sources = Sources(gold=gold.source, run=getattr(asked, "source", None), corpus=where)
    results = in_memory.score_golden_run(gold, asked.engine, answers, sources)
    return _scores(in_memory.sheet_of(results), asked.engine, lambda: results)


def load_scores(path: str | Path) -> Scores:
    """Read scores that `Scores.save` or `assay score -o` wrote.

    >>> scores = assay.evaluate({"q1": ["A"]}, {"q1": {"A": 1}}, ["P@1"])
    >>> assay.load_scores(scores.save("scores.json"))
    Scores of run: P@1 1.000 (1 query)
    """
    results = in_memory.read_results(Path(path_of(path, "load_scores")))
    return _scores(in_memory.sheet_of(results), results.engine, lambda: results)


def as_scores(value: Any, verb: str) -> Scores:
    """Scores, or the path of saved ones."""
    if isinstance(value, Scores):
        return value
    if isinstance(value, str | Path):
        return load_scores(value)
    if isinstance(value, GradedResults | GoldenResults):
        return _scores(in_memory.sheet_of(value), value.engine, lambda: value)
    if isinstance(value, types.Run):
        hint = f"Score it first: {verb}(evaluate(run, gold), …)."
        raise InputError(f"{verb} takes scores, but was given a run", hint=hint)
    raise InputError(
        f"{verb} takes scores, but was given a {type(value).__name__}",
        hint="Scores come from evaluate(run, gold) or load_scores(path).",
    )
