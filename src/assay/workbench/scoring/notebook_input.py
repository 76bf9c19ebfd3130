"""Reading runs, gold sets and queries from the values of a notebook: dictionaries, lists, and
frames of pandas or polars; and converting to and from PyTerrier. Errors say what was expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.runs import run_from_results, run_from_scores
from assay.core.types import Document, GoldSet, Hit, Query, QueryResult, Run, judgment_frame
from assay.engines.calling import run_engine
from assay.engines.python import as_engine

Table = Mapping[str, list[Any]]  # columns by name

# Column names, those of trec_eval, BEIR, PyTerrier and ir_datasets among them; the first is ours.
QUERY_IDS = ("query_id", "qid", "q_id", "query-id", "topic_id", "topic")
DOC_IDS = ("doc_id", "docno", "docid", "doc", "corpus-id", "document_id", "document")
GRADES = ("grade", "label", "relevance", "rel", "score")
SCORES = ("score",)
RANKS = ("rank",)
MAX_GRADE = 1_000_000  # far above any scale; a larger number is a score or an id in the wrong place
TEXTS = ("query", "text", "query_text")

RUN_SHAPE = "A run is {query_id: {doc_id: score}}, or {query_id: [doc_id, …]} with the best first."
GOLD_SHAPE = "A gold set is {query_id: {doc_id: grade}} with whole grades: 0, 1, 2, …"
SWAPPED = "If this is a run, give it first: evaluate(run, gold)."


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


def run_from_dict(hits_by_query: Mapping[Any, Any], engine: str = "run") -> Run:
    """A run from {query_id: {doc_id: score}}, ranked as trec_eval does, or from {query_id: [doc_id,
    …]} in the order given; a hit may also be a Hit or a pair of id and score."""
    if not isinstance(hits_by_query, Mapping):
        raise InputError(f"a run is not {_describe(hits_by_query)}", hint=RUN_SHAPE)
    if not hits_by_query:
        raise InputError("the run is empty", hint=RUN_SHAPE)
    if all(isinstance(hits, Mapping) for hits in hits_by_query.values()):
        return _run_from_scores(hits_by_query, engine)
    answers = [
        QueryResult(query_id=str(query_id), hits=tuple(_ranked_hits(hits, query_id)))
        for query_id, hits in hits_by_query.items()
    ]
    return run_from_results(engine, answers)


def _run_from_scores(scores_by_query: Mapping[Any, Mapping[Any, Any]], engine: str) -> Run:
    for query_id, hits in scores_by_query.items():
        for doc_id, score in hits.items():
            _score_of(score, query_id, doc_id)
    documents = [str(doc_id) for hits in scores_by_query.values() for doc_id in hits]
    scores = [float(score) for hits in scores_by_query.values() for score in hits.values()]
    lengths = np.array([len(hits) for hits in scores_by_query.values()], np.int64)
    return run_from_scores(
        engine,
        [str(query_id) for query_id in scores_by_query],
        lengths,
        pl.Series(documents, dtype=pl.String),
        pl.Series(scores, dtype=pl.Float64),
    )


def _ranked_hits(hits: object, query_id: object) -> Iterable[Hit]:
    if isinstance(hits, Mapping):
        ranked = sorted(hits.items(), key=lambda hit: (_score_of(hit[1], query_id, hit[0]), hit[0]))
        return [Hit(doc_id=str(doc_id), score=float(score)) for doc_id, score in reversed(ranked)]
    if isinstance(hits, str) or not isinstance(hits, Iterable):
        raise InputError(f"query {query_id!r}: the hits are {_describe(hits)}", hint=RUN_SHAPE)
    return [_hit(hit, query_id) for hit in hits]


def _hit(value: object, query_id: object) -> Hit:
    if isinstance(value, Hit):
        return value
    if isinstance(value, str):
        return Hit(doc_id=value)
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], str):
        return Hit(doc_id=value[0], score=_score_of(value[1], query_id, value[0]))
    raise InputError(f"query {query_id!r}: a hit is {_describe(value)}", hint=RUN_SHAPE)


def _score_of(value: object, query_id: object, doc_id: object) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or math.isnan(float(value)):  # type: ignore[arg-type]
        shown_value = "NaN" if is_number else _describe(value)
        raise InputError(
            f"query {query_id!r}, document {doc_id!r}: the score is {shown_value}",
            hint="Every score must be a number.",
        )
    return float(value)  # type: ignore[arg-type]


def run_from_table(given: Any, engine: str = "run") -> Run:
    """A run from a frame of pandas or polars, or from rows that are dictionaries: a column for the
    query, one for the document, and one with the score, or the rank, or rows in order."""
    table = _read_table(given)
    queries, documents = (
        _id_column(table, QUERY_IDS, "query"),
        _id_column(table, DOC_IDS, "document"),
    )
    if not queries:
        raise InputError("the run is empty", hint="A run has a row for each hit.")
    scores, ranks = _find_column(table, SCORES), _find_column(table, RANKS)
    by_query: dict[str, list[tuple[float, int]]] = {}
    values = scores if scores is not None else ranks if ranks is not None else [0.0] * len(queries)
    for row, (query_id, value) in enumerate(zip(queries, values, strict=True)):
        number = _score_of(value, query_id, documents[row])
        by_query.setdefault(query_id, []).append((number, row))
    if scores is not None:
        given_scores = {
            query_id: {documents[row]: score for score, row in reversed(hits)}
            for query_id, hits in by_query.items()
        }
        return _run_from_scores(given_scores, engine)
    answers = [
        QueryResult(
            query_id=query_id,
            hits=tuple(Hit(doc_id=documents[row]) for _, row in sorted(hits)),
        )
        for query_id, hits in by_query.items()
    ]
    return run_from_results(engine, answers)


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


def gold_from_dict(
    grades_by_query: Mapping[Any, Any], queries: Mapping[str, str] | None = None, name: str = ""
) -> GoldSet:
    """A gold set from {query_id: {doc_id: grade}}; `queries` has the texts by id."""
    if not isinstance(grades_by_query, Mapping):
        raise InputError(f"a gold set is not {_describe(grades_by_query)}", hint=GOLD_SHAPE)
    if not grades_by_query:
        raise InputError("the gold set is empty", hint=GOLD_SHAPE)
    rows: list[tuple[str, str, int]] = []
    for query_id, grades in grades_by_query.items():
        if not isinstance(grades, Mapping):
            raise InputError(
                f"query {query_id!r}: the grades are {_describe(grades)}",
                hint=f"{GOLD_SHAPE} {SWAPPED}",
            )
        rows += [(str(query_id), str(doc), _grade(g, query_id, doc)) for doc, g in grades.items()]
    return _gold_from_rows(list(map(str, grades_by_query)), rows, queries or {}, name)


def gold_from_table(
    given: Any, queries: Mapping[str, str] | None = None, name: str = ""
) -> GoldSet:
    """A gold set from a frame of pandas or polars, or from rows that are dictionaries: a column for
    the query, one for the document, one for the grade, and where there is one, the query's text."""
    table = _read_table(given)
    ids, documents = _id_column(table, QUERY_IDS, "query"), _id_column(table, DOC_IDS, "document")
    if not ids:
        raise InputError("the gold set is empty", hint="A gold set has a row for each judgment.")
    grades = _require_column(table, GRADES, "grade")
    rows = [
        (query_id, doc_id, _grade(grade, query_id, doc_id))
        for query_id, doc_id, grade in zip(ids, documents, grades, strict=True)
    ]
    written = _find_column(table, TEXTS)
    texts = dict(zip(ids, map(str, written), strict=True)) if written is not None else {}
    return _gold_from_rows(list(dict.fromkeys(ids)), rows, {**texts, **(queries or {})}, name)


def _gold_from_rows(
    ids: Sequence[str], rows: Sequence[tuple[str, str, int]], texts: Mapping[str, str], name: str
) -> GoldSet:
    seen: dict[tuple[str, str], int] = {}
    for query_id, doc_id, grade in rows:
        if seen.setdefault((query_id, doc_id), grade) != grade:
            raise InputError(f"query {query_id!r}: document {doc_id!r} has two grades")
    pairs = list(seen)
    return GoldSet(
        name=name,
        queries=tuple(Query(id=each, text=str(texts.get(each, ""))) for each in ids),
        judgments=judgment_frame(
            [query_id for query_id, _ in pairs],
            [doc_id for _, doc_id in pairs],
            list(seen.values()),
        ),
    )


def _grade(value: object, query_id: object, doc_id: object) -> int:
    """A grade, which a frame may have as 2.0."""
    number = float(value) if isinstance(value, Real) else math.nan
    if math.isfinite(number) and number.is_integer() and abs(number) <= MAX_GRADE:
        return int(number)
    shown_value = f"{value!r}" if isinstance(value, Real) else _describe(value)
    raise InputError(
        f"query {query_id!r}, document {doc_id!r}: the grade is {shown_value}, not a whole number",
        hint=f"{GOLD_SHAPE} {SWAPPED}",
    )


# ── queries ───────────────────────────────────────────────────────────────────────────────────────


def queries_of(source: object) -> tuple[Query, ...]:
    """The queries to ask: of a gold set, of {id: text}, or from a list of texts or queries."""
    if isinstance(source, GoldSet):
        found = source.queries
    elif isinstance(source, Mapping):
        found = tuple(Query(id=str(id), text=_query_text(text, id)) for id, text in source.items())
    elif isinstance(source, Iterable) and not isinstance(source, str):
        found = tuple(
            each
            if isinstance(each, Query)
            else Query(id=f"q{number:03}", text=_query_text(each, number))
            for number, each in enumerate(source, start=1)
        )
    else:
        raise InputError(
            f"queries are not {_describe(source)}", hint="Give a gold set, or {id: text}."
        )
    if not found:
        raise InputError("there are no queries to ask")
    if silent := next((query.id for query in found if not query.text.strip()), None):
        raise InputError(
            f"query {silent!r} has no text to ask",
            hint="Give the texts too: GoldSet.from_dict(grades, queries={id: text}).",
        )
    return found


def _query_text(text: object, place: object) -> str:
    if not isinstance(text, str):
        hint = "Queries are a gold set, {id: text}, or a list of texts."
        raise InputError(f"query {place!r} is {_describe(text)}", hint=hint)
    return text


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def is_table(value: object) -> bool:
    """A frame of pandas or polars, a table of pyarrow, or rows that are dictionaries."""
    rows = isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    return rows or (not isinstance(value, Mapping) and _column_names(value) is not None)


def rows_of(given: Any) -> list[dict[str, object]]:
    """Documents as rows: of a frame, or of a list of dictionaries or documents."""
    if isinstance(given, list | tuple) and all(isinstance(row, Document) for row in given):
        return [msgspec.to_builtins(row) for row in given]
    table = _read_table(list(given) if isinstance(given, tuple) else given)
    columns = {("id" if name in DOC_IDS else name): values for name, values in table.items()}
    count = len(next(iter(columns.values()), []))
    return [
        {name: values[row] for name, values in columns.items() if _has_value(values[row])}
        for row in range(count)
    ]


def _has_value(value: object) -> bool:
    """A frame fills gaps with None or NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _column_names(table: Any) -> list[Any] | None:
    """The names of the columns; None if it is no frame."""
    if isinstance(table, pl.LazyFrame):
        return []  # it is read, and then it says
    names = getattr(table, "column_names", None)
    names = names if names is not None else getattr(table, "columns", None)
    return None if names is None or callable(names) else list(names)


def _read_table(given: Any) -> Table:
    if isinstance(given, list) and all(isinstance(row, dict) for row in given):
        keys = dict.fromkeys(name for row in given for name in row)
        return {str(name): [row.get(name) for row in given] for name in keys}
    if _column_names(given) is None or isinstance(given, Mapping):
        raise InputError(
            f"a table is not {_describe(given)}",
            hint="Give a frame of pandas or polars, or a list of rows.",
        )
    try:
        frame = given.collect() if isinstance(given, pl.LazyFrame) else given
        return {str(name): _column_values(frame[name], name) for name in _column_names(frame) or ()}
    except InputError:
        raise
    except Exception as error:  # each library has errors of its own
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"the table cannot be read: {reason}") from error


def _column_values(column: Any, name: object) -> list[Any]:
    for way in ("to_list", "to_pylist", "tolist"):
        if callable(read := getattr(column, way, None)):
            return list(read())
    raise InputError(f"the column {name!r} cannot be read")


def _find_column(table: Table, known: Sequence[str]) -> list[Any] | None:
    return next((table[name] for name in known if name in table), None)


def _require_column(table: Table, known: Sequence[str], what: str) -> list[Any]:
    found = _find_column(table, known)
    if found is None:
        has = ", ".join(table) or "none"
        raise InputError(
            f"the table has no column for the {what}; it has {has}",
            hint=f"Call it {known[0]}; also known: {', '.join(known[1:])}.",
        )
    return found


def _id_column(table: Table, known: Sequence[str], what: str) -> list[str]:
    values = _require_column(table, known, what)
    if any(value is None or value != value for value in values):
        raise InputError(f"a row of the table has no {what}")
    return [value if isinstance(value, str) else _id_text(value) for value in values]


def _id_text(value: object) -> str:
    """1.0, as a frame with gaps has it, is the id 1."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole and isinstance(value, float) else str(value)


def to_pandas(frame: pl.DataFrame) -> Any:
    """Convert a table to a pandas frame."""
    try:
        import pandas
    except ImportError as error:
        raise InputError(
            "to_pandas needs the package pandas", hint="pip install pandas; or use to_frame()."
        ) from error
    return pandas.DataFrame({name: frame[name].to_list() for name in frame.columns})


def _describe(value: object) -> str:
    """A short description of a wrong value."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, bool | int | float):
        return repr(value)
    return f"of type {type(value).__name__}"


# ── PyTerrier: its tables are pandas frames with qid, docno, score, rank; qid, query; label ───────


def run_from_frame(frame: Any, engine: str = "pyterrier") -> Run:
    """A table with qid, docno and score as a run, in trec_eval's order, as PyTerrier's own
    evaluation has it."""
    missing = {"qid", "docno", "score"} - set(frame.columns)
    if missing:
        names = ", ".join(sorted(missing))
        raise InputError(
            f"the table has no column {names}", hint="A table of results has qid, docno, score."
        )
    qids = frame["qid"].astype(str)
    ids = list(dict.fromkeys(qids))
    code = {qid: number for number, qid in enumerate(ids)}
    rows = np.array([code[qid] for qid in qids], np.int64)
    order = np.argsort(rows, kind="stable")
    documents = pl.Series([str(docno) for docno in frame["docno"]], dtype=pl.String)[order]
    scores = pl.Series(frame["score"].to_numpy(dtype=float)[order], dtype=pl.Float64)
    if scores.is_nan().any():
        raise InputError("a score is NaN", hint="Every score must be a number.")
    lengths = np.bincount(rows, minlength=len(ids))
    return run_from_scores(engine, ids, lengths, documents.cast(pl.Categorical), scores)


def run_to_frame(run: Run) -> Any:
    """A run as PyTerrier has it: qid, docno, score and rank from 0. Scores are the engine's where
    they fall with the rank, else they are made so that its order is kept."""
    pandas = _pandas()
    rows = []
    for query_id in run.rows_by_query:
        doc_ids = run.doc_ids(query_id)
        row = run.rows_by_query[query_id]
        own = run.hits["score"][int(run.offsets[row]) : int(run.offsets[row + 1])].to_list()
        falling = None not in own and all(a > b for a, b in pairwise(own))
        scores = own if falling else [float(len(doc_ids) - rank) for rank in range(len(doc_ids))]
        rows += [(query_id, doc_id, scores[rank], rank) for rank, doc_id in enumerate(doc_ids)]
    return pandas.DataFrame(rows, columns=["qid", "docno", "score", "rank"])


def gold_to_frames(gold: GoldSet) -> tuple[Any, Any]:
    """(topics, qrels) of a gold set, as pt.Experiment takes them."""
    pandas = _pandas()
    topics = pandas.DataFrame(
        [(query.id, query.text) for query in gold.queries], columns=["qid", "query"]
    )
    rows = gold.judgments.select("query_id", "doc_id", "grade").iter_rows()
    return topics, pandas.DataFrame(list(rows), columns=["qid", "docno", "label"])


def as_transformer(engine: Any, top_k: int = 1000) -> Any:
    """Any engine as a PyTerrier transformer: topics in, results out."""
    pyterrier = imported("pyterrier", "a transformer", "pyterrier")
    asked = as_engine(engine)

    base: type = pyterrier.Transformer

    class EngineTransformer(base):  # type: ignore[misc]
        def transform(self, topics: Any) -> Any:
            pairs: Iterable[tuple[Any, Any]] = zip(topics["qid"], topics["query"], strict=True)
            queries = [Query(id=str(qid), text=str(text)) for qid, text in pairs]
            found = run_to_frame(run_engine(asked, queries, top_k=top_k))
            known = topics.drop(columns=["docno", "score", "rank"], errors="ignore")
            known = known.assign(qid=known["qid"].astype(str)).drop_duplicates("qid")
            return known.merge(found, on="qid", how="inner")

    made: Any = EngineTransformer
    return made()


def _pandas() -> Any:
    return imported("pandas", "a table of PyTerrier", "pyterrier")
