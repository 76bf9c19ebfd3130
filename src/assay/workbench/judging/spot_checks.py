"""`assay gold sample`: draw labelled pairs to judge again, and estimate how many are wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import GoldSet
from assay.formats.ballots import BlankBallot, write_blank
from assay.formats.gold_jsonl import locked
from assay.judging import rubrics
from assay.judging.packets import make_packet
from assay.judging.pool import PooledPair
from assay.judging.spot_checks import (
    Draw,
    SpotCheck,
    draw,
    pairs_of,
    read_samples,
    spot_check_report,
    write_samples,
)
from assay.judging.votes import SAMPLE, Pair, read_votes
from assay.workbench.judging.packets import writer_of
from assay.workbench.judging.pool_documents import corpus_texts


def draw_sample(
    dataset: Path,
    size: int,
    *,
    seed: int = 0,
    output: Path | None = None,
    corpus: Path | None = None,
) -> Draw:
    """Draw a sample and record it beside the set; `output` is the blind file to judge: a packet
    with the texts where the corpus is known, else the pairs alone."""
    gold = formats.read_gold(dataset)
    drawn = draw(gold, size, seed=seed, at=datetime.now(UTC).isoformat(timespec="seconds"))
    if output is not None:
        _write(dataset, gold, drawn, output, corpus)
    with locked(dataset):
        samples = read_samples(dataset)
        write_samples(dataset, msgspec.structs.replace(samples, draws=(*samples.draws, drawn)))
    return drawn


def _write(dataset: Path, gold: GoldSet, drawn: Draw, output: Path, corpus: Path | None) -> None:
    known = corpus_texts(dataset, corpus)
    if known is not None:
        pairs = [PooledPair(query_id=pair.query_id, doc_id=pair.doc_id) for pair in drawn.pairs]
        rubric = rubrics.find(gold.rubric or rubrics.DEFAULT, beside=dataset)
        wanted = {pair.doc_id for pair in pairs}
        texts = {document.id: document for document in known.some(wanted)}
        missing = next((pair.doc_id for pair in pairs if pair.doc_id not in texts), None)
        if missing is not None:
            raise InputError(f"no document {missing!r} in the corpus", where=str(dataset))
        write_atomic(output, writer_of(output)(make_packet(gold, rubric, pairs, texts), ""))
        return
    queries = {query.id: query.text for query in gold.queries}
    rows = [
        BlankBallot(
            query_id=pair.query_id,
            query=queries[pair.query_id],
            doc_id=pair.doc_id,
            source=SAMPLE,
        )
        for pair in drawn.pairs
    ]
    write_blank(output, rows, name=dataset.stem)


def sampled_pairs(dataset: Path) -> frozenset[Pair]:
    """Every pair of any draw."""
    samples = read_samples(dataset)
    if not samples.draws:
        raise UsageError(
            "no sample was drawn from this set",
            where=str(dataset),
            hint=f"Draw one: assay gold sample {dataset} --size 50 -o sample.csv",
        )
    return pairs_of(samples)


def spot_check(dataset: Path) -> SpotCheck:
    """What the last draw says."""
    sampled_pairs(dataset)
    last = read_samples(dataset).draws[-1]
    return spot_check_report(last, formats.read_gold(dataset), read_votes(dataset))
