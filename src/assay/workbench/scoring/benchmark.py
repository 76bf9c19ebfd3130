"""`assay benchmark`: public benchmarks in one command. The files come from the publisher, or from a
folder; they are read once, kept as a BEIR folder in the workspace, and scored like any gold set.

A download goes on where it stopped. The hashes of its files are kept beside them, and checked
against those of the card where it has any, and against the kept ones every time after."""

from __future__ import annotations

import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import iter_lines, read_json, sha256_of, write_json
from assay.core.results import GradedResults
from assay.core.types import GoldSet
from assay.core.workspace import workspace
from assay.evaluation.span_measures import set_measures, span_precision_recall
from assay.evaluation.statistics import mean_intervals
from assay.formats import benchmarks
from assay.formats.benchmarks import (
    BenchmarkCard,
    BenchmarkReport,
    BenchmarkScore,
    ListedBenchmark,
    PublishedScore,
)
from assay.workbench.scoring.request import (
    Progress,
    Say,
    ScoreRequest,
    ignore_message,
    show_no_progress,
)
from assay.workbench.scoring.score import score

HASHES = "checksums.json"
SOURCE = "source.json"
SPAN_DEPTHS = (1, 2, 4, 8, 16, 32, 64)  # as the paper of LegalBench-RAG has them
BLOCK = 1 << 20
TIMEOUT = 60.0  # seconds without a byte


def list_benchmarks() -> list[ListedBenchmark]:
    return [
        ListedBenchmark(
            name=name,
            title=card.title,
            language=card.language,
            licence=card.licence,
            size=card.size,
            home=card.home,
            here=(_folder(name) / "queries.jsonl").exists(),
        )
        for name, card in benchmarks.cards().items()
    ]


def run_benchmark(
    name: str,
    engine: str,
    *,
    path: Path | None = None,
    config: Path | None = None,
    top_k: int | None = None,
    output: Path | None = None,
    progress: Progress = show_no_progress,
    tick: Callable[[str, int, int], None] = lambda what, done, of: None,
    say: Say = ignore_message,
) -> BenchmarkReport:
    """Score an engine on a benchmark. The engine is one of assay.toml, which has the documents
    already, or bm25 or random, which read them; `assay` imports and indexes them first."""
    if name.startswith("irds:"):
        return _irds(name, engine, config, top_k, output, progress, say)
    card = benchmarks.cards().get(name)
    if card is None:
        known = ", ".join(benchmarks.cards())
        raise UsageError(
            f"there is no benchmark {name!r}", hint=f"Known: {known}, and irds:ID of ir_datasets."
        )
    folder = _prepared(name, card, path, tick, say)
    corpus = folder / "corpus.jsonl"
    own = engine == "assay"
    request = ScoreRequest(
        dataset=folder,
        name=name,
        engine=_indexed(name, corpus, say) if own else engine,
        corpus=corpus if engine in ("bm25", "random") else None,
        measures=card.measures,
        top_k=top_k or card.top_k,
        hits="all",
        config=config,
        output=output,
    )
    results = score(request, progress=progress, say=say).results
    assert isinstance(results, GradedResults)
    own_scores = _own_scores(card, folder, formats.read_gold(folder), results)
    return BenchmarkReport(
        name=name,
        title=card.title,
        licence=card.licence,
        home=card.home,
        engine=results.engine,
        queries=len(results.per_query),
        documents=sum(1 for _ in iter_lines(corpus)),
        scores=[*own_scores, *_scores(results, card.published)],
        failed=results.receipt.counts.get("n_failed", 0),
        folder=str(folder),
        checksums=_kept_hashes(folder),
    )


def _irds(
    name: str,
    engine: str,
    config: Path | None,
    top_k: int | None,
    output: Path | None,
    progress: Progress,
    say: Say,
) -> BenchmarkReport:
    """A set of ir_datasets, with the measures of its own suite."""
    request = ScoreRequest(
        dataset=Path(name), engine=engine, config=config, top_k=top_k, output=output
    )
    results = score(request, progress=progress, say=say).results
    assert isinstance(results, GradedResults)
    return BenchmarkReport(
        name=name,
        title=name.removeprefix("irds:"),
        licence="see its page",
        home="https://ir-datasets.com",
        engine=results.engine,
        queries=len(results.per_query),
        documents=0,
        scores=_scores(results, ()),
        failed=results.receipt.counts.get("n_failed", 0),
        folder="",
    )


def _scores(results: GradedResults, published: Sequence[PublishedScore]) -> list[BenchmarkScore]:
    scores = []
    for line in results.receipt.measures:
        low, high = results.intervals.overall.get(line.key, (None, None))
        others = [each for each in published if each.measure == line.measure]
        scores.append(
            BenchmarkScore(
                measure=line.measure,
                value=results.overall[line.key],
                low=low,
                high=high,
                published=others,
            )
        )
    return scores


def _own_scores(
    card: BenchmarkCard, folder: Path, gold: GoldSet, results: GradedResults
) -> list[BenchmarkScore]:
    """The measures that a benchmark defines for itself, by its own arithmetic."""
    values: dict[str, list[float]] = {}
    if spans := benchmarks.read_spans(folder):
        for entry in results.per_query:
            found = [span for hit in entry.results if (span := benchmarks.span_of(hit))]
            for depth in SPAN_DEPTHS:
                both = span_precision_recall(found[:depth], spans[entry.query_id])
                for kind, value in zip(("precision", "recall"), both, strict=True):
                    values.setdefault(f"span {kind}@{depth}", []).append(value)
    elif card.reader == "coliee":
        relevant: dict[str, set[str]] = {}
        for query, document, grade in gold.judgments.select(
            "query_id", "doc_id", "grade"
        ).iter_rows():
            if grade > 0:
                relevant.setdefault(query, set()).add(document)
        for entry in results.per_query:
            own = set_measures(entry.results, relevant.get(entry.query_id, set()))
            for name, value in zip(("precision", "recall", "F2"), own, strict=True):
                values.setdefault(name, []).append(value)
    scores = []
    for name, own_values in values.items():
        column = np.array(own_values)[:, None]
        (interval,) = mean_intervals(column)
        scores.append(
            BenchmarkScore(
                measure=name,
                value=float(column.mean()),
                low=interval.low,
                high=interval.high,
                published=[each for each in card.published if each.measure == name],
            )
        )
    return scores


def _indexed(name: str, corpus: Path, say: Say) -> str:
    """The documents of the benchmark as a corpus of the workspace, indexed."""
    from assay.corpus.lookup import is_corpus
    from assay.workbench.searching.corpora import import_corpus, index_corpus

    if not is_corpus(name):
        say(f"{name}: importing and indexing its documents, once")
        import_corpus("jsonl", str(corpus), name=name)
        index_corpus(name)
    return name


# ── the data ──────────────────────────────────────────────────────────────────────────────────────


def _folder(name: str) -> Path:
    return workspace() / "benchmarks" / name


def _prepared(
    name: str,
    card: BenchmarkCard,
    path: Path | None,
    tick: Callable[[str, int, int], None],
    say: Say,
) -> Path:
    """The folder of the benchmark in the workspace, read from the publisher's files where it is not
    there yet."""
    folder = _folder(name)
    source = folder / "files" if path is None else path
    if (folder / "queries.jsonl").exists() and (path is None or _is_same(folder, path)):
        return folder
    if path is None:
        _download(card, source, tick, say)
    elif not path.exists():
        raise InputError("no such folder", where=str(path))
    benchmarks.prepare(card.reader, source, folder)
    files = sorted(source.rglob("*")) if source.is_dir() else [source]
    hashes = {
        each.relative_to(source).as_posix(): sha256_of(each) for each in files if each.is_file()
    }
    write_json(folder / SOURCE, {"path": str(source), "sha256": hashes})
    return folder


def _is_same(folder: Path, path: Path) -> bool:
    """Whether the benchmark was read from the files at this path as they are now."""
    known = _kept_hashes(folder)
    return bool(known) and all(
        (path / name).is_file() and sha256_of(path / name) == digest
        for name, digest in known.items()
    )


def _kept_hashes(folder: Path) -> dict[str, str]:
    path = folder / SOURCE
    return dict(read_json(path)["sha256"]) if path.exists() else {}


def _download(
    card: BenchmarkCard, folder: Path, tick: Callable[[str, int, int], None], say: Say
) -> None:
    if not card.files:
        raise UsageError(
            "this benchmark is not downloaded by Assay",
            hint=f"Get it from {card.home} (licence: {card.licence}), and give its folder: "
            "--path FOLDER.",
        )
    say(f"{card.title}: {card.size}; licence: {card.licence}; from {card.home}")
    folder.mkdir(parents=True, exist_ok=True)
    known: dict[str, str] = read_json(folder / HASHES) if (folder / HASHES).exists() else {}
    for name in card.files:
        target = folder / name
        if not target.exists():
            fetch(card.base + name, target, tick)
        digest = sha256_of(target)
        expected = card.checksums.get(name) or known.get(name, digest)
        if digest != expected:
            target.rename(target.with_name(f"{name}.damaged"))
            raise InputError(
                f"the file has the hash {digest[:12]}, expected {expected[:12]}",
                where=str(target),
                hint="It was moved aside. Run the command again to download it anew.",
            )
        known[name] = digest
        write_json(folder / HASHES, known)
        if name.endswith(".tar.gz"):
            with tarfile.open(target) as archive:
                archive.extractall(folder, filter="data")


def fetch(url: str, target: Path, tick: Callable[[str, int, int], None]) -> None:
    """Download a file; one that was interrupted goes on where it stopped."""
    part = target.with_name(f"{target.name}.part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            if answer.status != 206:  # the server sends all of it
                have = 0
            total = have + int(answer.headers.get("Content-Length") or 0)
            with part.open("ab" if have else "wb") as stream:
                while block := answer.read(BLOCK):
                    stream.write(block)
                    have += len(block)
                    tick(target.name, have, max(total, have))
            if have < total:
                raise InputError("the download ended too soon", where=url, hint="Run it again.")
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"it cannot be downloaded: {reason}",
            where=url,
            hint="Run the command again to go on, or give a folder with the files: --path FOLDER.",
        ) from error
    part.rename(target)
