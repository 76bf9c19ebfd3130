"""The request to score one engine, or saved results, on one gold set: what to measure by the rubric
of the set, asking the engine, and the receipt that makes results reproducible.

The command line, `assay run` and the MCP server each build a `ScoreRequest`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec

from assay import formats
from assay.core.errors import InputError
from assay.core.files import sha256_of
from assay.core.results import Gate, GitState, GoldenResults, GradedResults, InputFile, Results
from assay.core.types import GoldSet, Query, QueryResult, counted
from assay.engines.engine_table import EngineConfig, with_limits
from assay.engines.engine_table import seconds_of as seconds_of  # for commands
from assay.evaluation.graded import default_measures
from assay.evaluation.receipts import git_state, versions
from assay.gold.rows import has_log
from assay.reports.wording import warning

if TYPE_CHECKING:  # most sets name no rubric
    from assay.judging.rubrics import Rubric


DEFAULT_TOP_K = 20  # hits asked for: the deepest cutoff of the usual measures, R@20

Progress = Callable[[Iterable[Query]], Iterable[Query]]
Say = Callable[[str], None]


def ignore_message(text: str) -> None:
    """Discard progress messages."""


def show_no_progress(queries: Iterable[Query]) -> Iterable[Query]:
    """Pass the queries through without showing progress."""
    return queries


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to score: exactly one of `search_module`, `engine` or `run` (saved results), on the gold
    set `dataset`. `k` and `min_score` override what golden questions state; `measures` are for
    graded sets. With gates the verdict is part of the results. `hits` is how many hits of a query
    the results of a graded set keep: by default as many as the measures' deepest cutoff, and 20 at
    least. `name` is what the configuration calls the set."""

    dataset: Path
    name: str = ""
    search_module: str | None = None
    engine: str | None = None
    configured: EngineConfig | None = None
    run: Path | None = None
    corpus: Path | None = None
    measures: tuple[str, ...] = ()
    primary: str = ""
    top_k: int | None = None
    k: int | None = None
    min_score: float | None = None
    output: Path | None = None
    baseline: Path | None = None
    gates: tuple[Gate, ...] = ()
    with_machine_judgments: bool = False
    config: Path | None = None  # where engines are configured
    timeout: float | None = None  # seconds for one query
    concurrency: int | None = None
    hits: int | Literal["all"] | None = None
    loose_ids: bool = False  # take ids that almost match a judged one for it
    worst_case: bool = False  # intervals that hold even where a few queries fail completely

    @property
    def choice(self) -> EngineConfig:
        """The engine that is asked, where there are no saved results."""
        choice = self.configured or EngineConfig(
            search_module=self.search_module,
            engine=self.engine,
            corpus=str(self.corpus) if self.corpus is not None else None,
        )
        return with_limits(choice, timeout=self.timeout, concurrency=self.concurrency)


def request_for(engine: EngineConfig, dataset: Path, name: str = "") -> ScoreRequest:
    """An engine of the configuration on a gold set."""
    return ScoreRequest(
        dataset=dataset,
        name=name,
        engine=(engine.name or engine.engine or "") if engine.run is None else None,
        configured=engine if engine.run is None else None,
        run=Path(engine.run) if engine.run else None,
        corpus=Path(engine.corpus) if engine.corpus else None,
        top_k=engine.top_k,
    )


@dataclass(frozen=True, kw_only=True)
class ScoredRun:
    """A scored run: the results that are printed and saved, and what people should be warned
    about."""

    results: Results
    warnings: tuple[str, ...]
    failed: int


def no_common_queries(
    gold: GoldSet, run_ids: Sequence[str], *, where: str = "", kind: str = "queries"
) -> InputError:
    """The error for a run that is of another gold set."""
    first = gold.query_ids[0] if gold.query_ids else ""
    return InputError(
        f"the run has none of the gold set's {kind}",
        where=where,
        hint=f"The gold set has {first!r} and others; the run has {list(run_ids[:3])}.",
    )


def ask_engine_of(
    request: ScoreRequest, gold: GoldSet, depth: int, progress: Progress, say: Say
) -> tuple[str, list[QueryResult]]:
    """Ask the engine every query. Gives the name that the engine has in the configuration, or else
    its own, and the answers."""
    from assay.engines.running import ask_engine

    choice = request.choice
    name, answers = ask_engine(choice, gold.queries, top_k=depth, progress=progress, say=say)
    return choice.name or name, answers


def signature_of(request: ScoreRequest) -> Signature:
    """The files, versions and commit that the results of a request depend on."""
    return signature(request.dataset, request.run, request.choice)


# ── the part of a receipt that makes results reproducible ─────────────────────────────────────────


R = TypeVar("R", GradedResults, GoldenResults)


class Signature(NamedTuple):
    """The input files with their hashes, the engines by corpus, versions and commit of a run."""

    inputs: dict[str, InputFile]
    served_by: dict[str, str]
    versions: dict[str, str]
    git: GitState | None


def signature(dataset: Path, run: Path | None, engine: EngineConfig) -> Signature:
    """The signature of a gold set scored with a saved run or an engine."""
    served_by = {corpus: part.name for corpus, part in engine.routes.items()}
    return Signature(inputs_of(dataset, run, engine), served_by, versions(), git_state())


def sign_results(results: R, by: Signature) -> R:
    """The results with the files, versions and commit they were made from, and the time."""
    judged = results.receipt.gold.fingerprint  # of a set that is no file
    inputs = {
        name: each if each.sha256 else InputFile(path=each.path, sha256=judged)
        for name, each in by.inputs.items()
    }
    fingerprint = inputs["corpus"].sha256 if "corpus" in inputs else None
    receipt = msgspec.structs.replace(
        results.receipt,
        inputs=inputs,
        served_by=by.served_by,
        versions=by.versions,
        git=by.git,
        corpus_fingerprint=fingerprint or results.receipt.corpus_fingerprint,
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.structs.replace(results, timestamp=now, receipt=receipt)


def inputs_of(dataset: Path | None, run: Path | None, engine: EngineConfig) -> dict[str, InputFile]:
    """Every input with its hash; a corpus of the workspace with its fingerprint, and nothing yet
    for a set that is no file."""
    paths = {"dataset": dataset, "run": run, "corpus": _searched(run, engine)}
    inputs = {}
    for name, path in paths.items():
        if path is None:
            continue
        digest = _fingerprint(path) if name == "corpus" else ""
        if not digest and not formats.is_irds(path):
            digest = sha256_of(path)
        inputs[name] = InputFile(path=str(path), sha256=digest)
    return inputs


def _searched(run: Path | None, engine: EngineConfig) -> Path | None:
    if run is not None and engine.corpus is None:
        return None
    from assay.engines.running import corpus_of

    return corpus_of(engine)


def _fingerprint(corpus: Path) -> str:
    """The fingerprint of a corpus in the workspace; empty for a file or folder."""
    from assay.corpus.lookup import corpus_named, is_corpus

    return f"corpus:{corpus_named(str(corpus)).fingerprint}" if is_corpus(str(corpus)) else ""


# ── the rubric of the set ─────────────────────────────────────────────────────────────────────────


def measures_of_set(gold: GoldSet, dataset: Path) -> tuple[str, ...]:
    """The default measures of a set, with the thresholds of its rubric. A set without a rubric, or
    whose rubric cannot be found, has the usual thresholds."""
    rubric = rubric_of(gold, dataset)
    if rubric is None:
        return default_measures(gold)
    return default_measures(gold, rubric.relevant_from, rubric.highly_relevant_from)


def rubric_of(gold: GoldSet, dataset: Path) -> Rubric | None:
    """The rubric that the set names, if it can be found. One that is found and cannot be read is an
    error: the figures depend on it."""
    if not gold.rubric:
        return None
    from assay.judging import rubrics

    name = gold.rubric.partition("@")[0]
    if not gold.rubric.endswith(rubrics.ENDING):
        here = {found.name for found in rubrics.available(beside=dataset)}
        return rubrics.find(name, beside=dataset) if name in here else None
    try:
        return rubrics.find(gold.rubric, beside=dataset)
    except InputError:
        return None


def rubric_warnings(gold: GoldSet, dataset: Path) -> Iterator[str]:
    """Warnings about the rubric and the votes of a set, before its figures are trusted."""
    rubric = rubric_of(gold, dataset)
    if rubric is None and gold.rubric:
        yield warning("no_rubric", rubric=gold.rubric)
    used = set(gold.judgments["grade"].to_list())
    if rubric is not None and (lost := sorted(used - set(rubric.values))):
        grades = ", ".join(map(str, lost))
        yield warning("no_grade", rubric=rubric.id, grades=grades)
    if stale := stale_count(dataset):
        yield f"{stale}: judge them again, or score what was judged"


def stale_count(dataset: Path) -> str:
    """The votes on texts that have changed since, in words; empty where there are none, or where
    the corpus is not here to tell."""
    if not has_log(dataset):
        return ""
    from assay.judging.pool import corpus_texts, stale_votes
    from assay.judging.votes import read_votes

    votes = read_votes(dataset)
    if not any(vote.document for vote in votes):
        return ""
    try:
        texts = corpus_texts(dataset, None)
    except InputError:
        return ""
    stale = stale_votes(votes, texts) if texts is not None else []
    if not stale:
        return ""
    return f"{counted(len(stale), 'vote')} on documents that have changed since they were read"
