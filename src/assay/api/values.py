"""Gold sets and runs as a notebook holds them: the plain values, with a way in and a way out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core import types
from assay.core.errors import InputError
from assay.core.types import QueryResult, counted
from assay.workbench.project.output_files import write_text
from assay.workbench.scoring import in_memory, notebook_input
from assay.workbench.scoring.in_memory import read_gold, read_run
from assay.workbench.scoring.report import write_run

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class GoldSet(types.GoldSet):
    """What is known to be right: queries, and for each the documents that were judged.

    >>> gold = assay.GoldSet.from_dict({"q1": {"A": 2, "B": 0}}, queries={"q1": "gift limits"})
    >>> gold
    GoldSet: 1 query, 2 judgments, graded
    """

    source: Path | None = None

    @classmethod
    def from_dict(
        cls,
        grades: Mapping[str, Mapping[str, int]],
        *,
        queries: Mapping[str, str] | None = None,
        name: str = "",
    ) -> GoldSet:
        """From {query_id: {doc_id: grade}}; `queries` has the texts, which an engine is asked.

        >>> assay.GoldSet.from_dict({"q1": {"A": 1}}).query_ids
        ['q1']
        """
        return _gold(notebook_input.gold_from_dict(grades, queries, name))

    @classmethod
    def from_frame(
        cls, frame: Any, *, queries: Mapping[str, str] | None = None, name: str = ""
    ) -> GoldSet:
        """From a frame of pandas or polars, or a list of rows: query_id, doc_id, grade. The names
        that other tools use are known: qid, docno, label, relevance.

        >>> assay.GoldSet.from_frame([{"qid": "q1", "docno": "A", "label": 2}])
        GoldSet: 1 query, 1 judgment, graded
        """
        return _gold(notebook_input.gold_from_table(frame, queries, name))

    def save(self, path: str | Path, *, replace: bool = False) -> Path:
        """Write it; the ending says how: .json, .jsonl, .csv, .qrels, or a folder for BEIR. What
        that format cannot hold is said as a warning. Judgments that are in the file and not in this
        set are spared unless `replace` says otherwise.

        >>> gold = assay.GoldSet.from_dict({"q1": {"A": 1}}, queries={"q1": "gift limits"})
        >>> gold.save("small.json").name
        'small.json'
        """
        from assay.workbench.judging.gold_sets import save_gold

        if lost := save_gold(self, Path(path), replace_judgments=replace):
            warnings.warn(f"{path}: not kept by this format: {'; '.join(lost)}", stacklevel=2)
        return Path(path)

    def to_frame(self) -> pl.DataFrame:
        """A row a judgment.

        >>> assay.GoldSet.from_dict({"q1": {"A": 1}}).to_frame().columns
        ['query_id', 'doc_id', 'grade']
        """
        import polars as pl

        return self.judgments.with_columns(pl.col("query_id").cast(pl.String))

    def to_pandas(self) -> Any:
        """The same as a frame of pandas."""
        return notebook_input.to_pandas(self.to_frame())

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        if self.is_golden:
            return f"GoldSet{name}: {counted(len(self.queries), 'question')} that pass or fail"
        judged = counted(self.judgments.height, "judgment")
        return f"GoldSet{name}: {counted(len(self.queries), 'query')}, {judged}, graded"

    def _repr_html_(self) -> str:
        rows = [(query.id, query.text, query.topic) for query in self.queries[:10]]
        return small_table(repr(self), ("query", "text", "topic"), rows, len(self.queries))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Run(types.Run):
    """What an engine returned for every query, the best first.

    >>> assay.Run.from_dict({"q1": {"A": 2.5, "B": 1.0}}, engine="mine")
    Run of mine: 1 query, 2 hits
    """

    source: Path | None = None
    corpus: Path | None = None
    given_answers: tuple[QueryResult, ...] = field(default=())

    @classmethod
    def from_dict(
        cls, hits: Mapping[str, Mapping[str, float] | list[str]], *, engine: str = "run"
    ) -> Run:
        """From {query_id: {doc_id: score}}, or {query_id: [doc_id, …]} with the best first.

        >>> assay.Run.from_dict({"q1": ["B", "A"]}).doc_ids("q1")
        ['B', 'A']
        """
        return make_run(notebook_input.run_from_dict(hits, engine))

    @classmethod
    def from_frame(cls, frame: Any, *, engine: str = "run") -> Run:
        """From a frame of pandas or polars, or a list of rows: query_id, doc_id, and score or rank.

        >>> rows = [{"qid": "q1", "docno": "A", "rank": 2}, {"qid": "q1", "docno": "B", "rank": 1}]
        >>> assay.Run.from_frame(rows).doc_ids("q1")
        ['B', 'A']
        """
        return make_run(notebook_input.run_from_table(frame, engine))

    def save(self, path: str | Path) -> Path:
        """Write a TREC run, or with the ending .json the results that BEIR's tools read. Only ids
        and ranks are written; `Scores.save` keeps everything that was scored.

        >>> assay.Run.from_dict({"q1": ["A"]}).save("mine.trec").name
        'mine.trec'
        """
        return write_run(self, Path(path))

    def to_frame(self) -> pl.DataFrame:
        """A row a hit: query_id, doc_id, rank from 1, score.

        >>> assay.Run.from_dict({"q1": ["A", "B"]}).to_frame()["rank"].to_list()
        [1, 2]
        """
        import polars as pl

        lengths = self.queries["n"].to_list()
        ids = self.queries["query_id"].to_list()
        return pl.DataFrame(
            {
                "query_id": [each for each, n in zip(ids, lengths, strict=True) for _ in range(n)],
                "doc_id": self.hits["doc_id"].cast(pl.String),
                "rank": [rank for n in lengths for rank in range(1, n + 1)],
                "score": self.hits["score"],
            }
        )

    def to_pandas(self) -> Any:
        """The same as a frame of pandas."""
        return notebook_input.to_pandas(self.to_frame())

    @cached_property
    def answers(self) -> list[QueryResult]:
        """The hits by query with everything that they carry: places, titles, texts."""
        return list(self.given_answers) or in_memory.results_of(self)

    def __len__(self) -> int:
        return self.queries.height

    def __repr__(self) -> str:
        size = f"{counted(self.queries.height, 'query')}, {counted(self.hits.height, 'hit')}"
        return f"Run of {self.engine}: {size}"

    def _repr_html_(self) -> str:
        rows = [
            (query_id, " · ".join(self.doc_ids(query_id)[:5]))
            for query_id in list(self.rows_by_query)[:10]
        ]
        return small_table(repr(self), ("query", "the first hits"), rows, len(self))


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def load_gold(path: str | Path, format: str | None = None) -> GoldSet:
    """Read a gold set: dataset.json, gold-set.jsonl, golden questions, CSV, qrels, a BEIR folder,
    Quepid's export, or `irds:NAME`.

    >>> assay.load_gold("dataset.json")
    GoldSet 'dataset': 21 queries, 270 judgments, graded
    """
    where = path_of(path, "load_gold")
    return _gold(read_gold(where, format), Path(where))


def load_run(path: str | Path, format: str | None = None, *, engine: str = "") -> Run:
    """Read a run: TREC, BEIR's results, or results that Assay wrote; `engine` renames it.

    >>> _ = assay.Run.from_dict({"q1": ["A", "B"]}, engine="mine").save("mine.trec")
    >>> assay.load_run("mine.trec")
    Run of mine: 1 query, 2 hits
    """
    where = Path(path_of(path, "load_run"))
    read = read_run(where, format)
    answers = in_memory.saved_answers(where) if format is None else []
    return make_run(read, engine=engine, source=where, given_answers=tuple(answers))


def path_of(path: object, verb: str) -> str:
    if not isinstance(path, str | Path):
        raise InputError(f"{verb} reads a file, but was given {path!r:.60}", hint="Give its path.")
    return str(path)


def make_run(run: types.Run, **more: Any) -> Run:
    engine = more.pop("engine", "") or run.engine
    values = {each.name: getattr(run, each.name) for each in fields(types.Run)}
    return Run(**{**values, "engine": engine, **more})


def _gold(gold: types.GoldSet, source: Path | None = None) -> GoldSet:
    values = {each.name: getattr(gold, each.name) for each in fields(types.GoldSet)}
    return GoldSet(**values, source=source)


# ── what a verb was given ─────────────────────────────────────────────────────────────────────────


def as_gold(value: Any) -> GoldSet:
    """A gold set from whatever people have: a path, a dictionary, a frame."""
    if isinstance(value, GoldSet):
        return value
    if isinstance(value, types.GoldSet):
        return _gold(value)
    if isinstance(value, types.Run):
        raise InputError(
            "a run was given as the gold set", hint="The run comes first: evaluate(run, gold)."
        )
    if isinstance(value, str | Path):
        return load_gold(value)
    if notebook_input.is_table(value):
        return _gold(notebook_input.gold_from_table(value))
    return _gold(notebook_input.gold_from_dict(value))


def as_run(value: Any) -> types.Run:
    """A run from whatever people have."""
    if isinstance(value, types.GoldSet):
        raise InputError(
            "a gold set was given as the run", hint="The run comes first: evaluate(run, gold)."
        )
    if isinstance(value, types.Run):
        return value
    if isinstance(value, str | Path):
        return load_run(value)
    if notebook_input.is_table(value):
        return make_run(notebook_input.run_from_table(value))
    return make_run(notebook_input.run_from_dict(value))


def small_table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[object]], total: int
) -> str:
    """A few rows for a notebook; every text is escaped."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_shorten(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    more = f"<small>and {total - len(rows):,} more</small>" if total > len(rows) else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<p>{escape(title)}</p>{table}{more}"


def _shorten(value: object) -> str:
    text = "–" if value is None else str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


# ── pictures and printed pages ────────────────────────────────────────────────────────────────────


WIDTH = 100  # columns of a printed page; taste


class Picture:
    """A drawing. A notebook shows it; `str(picture)` is the SVG."""

    def __init__(self, svg: str, title: str) -> None:
        self.svg = svg
        self.title = title

    def save(self, path: str | Path) -> Path:
        """Write it as .svg.

        >>> assay.evaluate({"q1": ["A"]}, {"q1": {"A": 1}}, ["P@1"]).plot().save("p1.svg").name
        'p1.svg'
        """
        where = Path(path)
        if where.suffix != ".svg":
            raise InputError(
                f"a picture must be written as .svg, not {where.suffix or 'without an ending'}",
                where=str(path),
            )
        return write_text(self.svg, where)

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture: {self.title}"

    def _repr_html_(self) -> str:
        return self.svg


class PrintedPage(str):
    """A text that a notebook shows as it would be printed."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


def printed(renderable: Any) -> str:
    """A page of the terminal as plain text."""
    from io import StringIO

    from rich.console import Console

    page = StringIO()
    Console(file=page, width=WIDTH, color_system=None, markup=False, highlight=False).print(
        renderable
    )
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()).strip("\n")
