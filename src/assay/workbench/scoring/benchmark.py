"""`assay benchmark`: public benchmarks in one command. The files come from the publisher, or from a
folder; they are read once, kept as a BEIR folder in the workspace, and scored like any gold set.

A download goes on where it stopped. The hashes of the files are kept, and checked every time
after."""

from __future__ import annotations

import tarfile
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import iter_lines, read_json, sha256_of, write_json
from assay.core.results import GradedResults
from assay.core.workspace import workspace
from assay.engines.running import BASELINES
from assay.evaluation.measures import set_measures, span_precision_recall
from assay.evaluation.statistics import mean_intervals
from assay.formats import benchmarks
from assay.formats.benchmarks import IRDS, BenchmarkCard, BenchmarkReport, BenchmarkScore
from assay.workbench.scoring.request import (
    Progress,
    Say,
    ScoreRequest,
    ignore_message,
    show_no_progress,
)
from assay.workbench.scoring.score import score

HASHES = "checksums.json"
SPAN_DEPTHS = (1, 2, 4, 8, 16, 32, 64)  # as the paper of LegalBench-RAG has them
BLOCK_BYTES = 1 << 20  # bytes of a download at a time; chosen
TIMEOUT = 60.0  # seconds without a byte; chosen
ANY = BenchmarkCard(title="a set of ir_datasets", home="https://ir-datasets.com", reader="irds")
WITH_DOCUMENTS = (*BASELINES, "assay")  # engines that read those of the benchmark

Tick = Callable[[str, int, int], None]  # what, done, of


def list_benchmarks() -> list[BenchmarkCard]:
    return list(benchmarks.cards().values())


def run_benchmark(
    name: str,
    engine: str,
    *,
    path: Path | None = None,
    config: Path | None = None,
    top_k: int | None = None,
    output: Path | None = None,
    progress: Progress = show_no_progress,
    tick: Tick = lambda what, done, of: None,
    say: Say = ignore_message,
) -> BenchmarkReport:
    """Score an engine on a benchmark, or on `irds:ID`. The engine is one of assay.toml, which has
    the documents already, or a baseline, which reads them; `assay` imports and indexes them
    first."""
    card = ANY if name.startswith(IRDS) else benchmarks.cards().get(name)
    if card is None:
        known = ", ".join(benchmarks.cards())
        hint = f"Known: {known}, and {IRDS}ID of ir_datasets."
        raise UsageError(f"there is no benchmark {name!r}", hint=hint)
    plain_name = name.replace(":", "-").replace("/", "-")
    if card is ANY and engine not in WITH_DOCUMENTS:
        folder = Path(name)
    else:
        folder = _prepared(name, workspace() / "benchmarks" / plain_name, card, path, tick, say)
    corpus = folder / "corpus.jsonl"
    request = ScoreRequest(
        dataset=folder,
        name=name,
        engine=_indexed(plain_name, corpus, say) if engine == "assay" else engine,
        corpus=corpus if engine in BASELINES else None,
        measures=card.measures,
        top_k=top_k or card.top_k,
        hits="all",
        config=config,
        output=output,
    )
    results = score(request, progress=progress, say=say).results
    assert isinstance(results, GradedResults)
    return BenchmarkReport(
        name=name,
        card=card,
        engine=results.engine,
        queries=len(results.per_query),
        documents=sum(1 for _ in iter_lines(corpus)) if corpus.exists() else 0,
        scores=[*_own_scores(card, folder, results), *_scores(card, results)],
        failed=results.receipt.counts.get("n_failed", 0),
        folder=str(folder),
        checksums=_kept_hashes(folder),
    )


def _scores(card: BenchmarkCard, results: GradedResults) -> Iterator[BenchmarkScore]:
    for line in results.receipt.measures:
        bounds = results.intervals.overall.get(line.key, (None, None))
        yield _published_beside(card, line.measure, results.overall[line.key], *bounds)


def _published_beside(
    card: BenchmarkCard, measure: str, value: float | None, low: float | None, high: float | None
) -> BenchmarkScore:
    others = [each for each in card.published if each.measure == measure]
    return BenchmarkScore(measure=measure, value=value, low=low, high=high, published=others)


def _own_scores(
    card: BenchmarkCard, folder: Path, results: GradedResults
) -> Iterator[BenchmarkScore]:
    """The measures that a benchmark defines for itself, by its own arithmetic."""
    values: dict[str, list[float]] = {}
    if spans := benchmarks.read_spans(folder):
        # each of its data sets counts the same, however many questions it has
        sets = Counter(entry.query_id.rpartition("-")[0] for entry in results.per_query)
        for entry in results.per_query:
            found = [span for hit in entry.results if (span := benchmarks.span_of(hit))]
            weight = len(results.per_query) / len(sets) / sets[entry.query_id.rpartition("-")[0]]
            for depth in SPAN_DEPTHS:
                both = span_precision_recall(found[:depth], spans[entry.query_id])
                for kind, value in zip(("precision", "recall"), both, strict=True):
                    values.setdefault(f"span {kind}@{depth}", []).append(weight * value)
    elif card.reader == "coliee":
        judgments = formats.read_gold(folder).judgments
        for entry in results.per_query:
            own = judgments.filter(judgments["query_id"].cast(str) == entry.query_id)["doc_id"]
            three = set_measures(entry.results, own.to_list())
            for name, value in zip(("precision", "recall", "F2"), three, strict=True):
                values.setdefault(name, []).append(value)
    for name, each in values.items():
        (interval,) = mean_intervals(np.array(each)[:, None])
        yield _published_beside(card, name, float(np.mean(each)), interval.low, interval.high)


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


def _prepared(
    name: str, folder: Path, card: BenchmarkCard, path: Path | None, tick: Tick, say: Say
) -> Path:
    """The folder of the benchmark in the workspace, read from the publisher's files where it is not
    there yet, or where they changed."""
    is_ready = (folder / "queries.jsonl").exists()
    source = path or folder / "files"
    if card is ANY:
        source = Path(name)
    elif path is None and not is_ready:
        _download(card, source, _kept_hashes(source), tick, say)
    elif path is not None and not path.exists():
        raise InputError("no such folder", where=str(path))
    hashes = _hashes(source)
    if not is_ready or hashes != _kept_hashes(folder):
        benchmarks.prepare(card.reader, source, folder)
        write_json(folder / HASHES, hashes)
    return folder


def _hashes(source: Path) -> dict[str, str]:
    files = [source] if source.is_file() else sorted(source.rglob("*"))
    return {
        each.relative_to(source).as_posix(): sha256_of(each)
        for each in files
        if each.is_file() and each.name != HASHES
    }


def _kept_hashes(folder: Path) -> dict[str, str]:
    path = folder / HASHES
    return dict(read_json(path)) if path.exists() else {}


def _download(
    card: BenchmarkCard, folder: Path, known: dict[str, str], tick: Tick, say: Say
) -> None:
    if not card.files:
        raise UsageError(
            "this benchmark is not downloaded by Assay",
            hint=f"Get it from {card.home} (licence: {card.licence}), and give its folder: "
            "--path FOLDER.",
        )
    say(f"{card.title}: {card.size}; licence: {card.licence}; from {card.home}")
    for name in card.files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            fetch(card.base + name, target, tick)
        digest = sha256_of(target)
        expected = known.get(name, digest)
        if digest != expected:
            target.rename(target.with_name(f"{target.name}.damaged"))
            raise InputError(
                f"the file has the hash {digest[:12]}, expected {expected[:12]}",
                where=str(target),
                hint="It was moved aside. Run the command again to download it.",
            )
        known[name] = digest
        write_json(folder / HASHES, known)
        if name.endswith(".tar.gz"):
            with tarfile.open(target) as archive:
                archive.extractall(folder, filter="data")


def fetch(url: str, target: Path, tick: Tick) -> None:
    """Download a file; one that was interrupted goes on where it stopped."""
    part = target.with_name(f"{target.name}.part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            have = have if answer.status == 206 else 0  # else the server sends all of it
            total = have + int(answer.headers.get("Content-Length") or 0)
            with part.open("ab" if have else "wb") as stream:
                while block := answer.read(BLOCK_BYTES):
                    stream.write(block)
                    have += len(block)
                    tick(target.name, have, max(total, have))
        if have < total:
            raise OSError("the download was cut short")
    except OSError as error:
        raise InputError(
            f"it cannot be downloaded: {getattr(error, 'reason', None) or error}",
            where=url,
            hint="Run the command again to continue, or give a folder of files: --path FOLDER.",
        ) from error
    part.rename(target)
