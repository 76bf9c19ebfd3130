"""Spot checks: draw labelled pairs to judge again, and how many labels they show to be wrong."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import UsageError
from assay.core.files import write_atomic
from assay.formats.gold_jsonl import locked
from assay.judging.sample import (
    Draw,
    SpotCheck,
    Stratum,
    draw,
    pairs_of,
    read_samples,
    report,
    write_samples,
)
from assay.judging.votes import SAMPLE, Pair, read_votes, votes_path

__all__ = ["Draw", "SpotCheck", "Stratum", "draw_sample", "sampled_pairs", "spot_check"]

COLUMNS = ("query_id", "query", "doc_id", "grade", "rationale", "unsure", "source")


def draw_sample(dataset: Path, size: int, *, seed: int = 0, output: Path | None = None) -> Draw:
    """Draw a sample and record it beside the set; `output` is the blind file to judge."""
    if output is not None and output.suffix not in (".csv", ".jsonl"):
        raise UsageError(
            f"a sample is written as .csv or .jsonl, not {output.suffix or 'without an ending'}",
            where=str(output),
        )
    gold = formats.read_gold(dataset)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    drawn = draw(gold, size, seed=seed, at=now)
    if output is not None:
        texts = {query.id: query.text for query in gold.queries}
        write_atomic(output, _blind(drawn, texts, dataset.stem, output.suffix))
    with locked(dataset):
        samples = read_samples(dataset)
        write_samples(dataset, msgspec.structs.replace(samples, draws=(*samples.draws, drawn)))
    return drawn


def _blind(drawn: Draw, texts: dict[str, str], name: str, ending: str) -> str:
    """The pairs without their labels. The source says that these votes are a spot check, also where
    whoever merges them forgets to."""
    if ending == ".jsonl":
        header = {"packet": 1, "set": name, "judge": "", "pairs": len(drawn.pairs)}
        rows = [
            {
                "query_id": pair.query_id,
                "query": texts[pair.query_id],
                "doc_id": pair.doc_id,
                "grade": None,
                "rationale": "",
                "unsure": False,
                "source": SAMPLE,
            }
            for pair in drawn.pairs
        ]
        return "".join(f"{msgspec.json.encode(row).decode()}\n" for row in (header, *rows))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for pair in drawn.pairs:
        writer.writerow([pair.query_id, texts[pair.query_id], pair.doc_id, "", "", "", SAMPLE])
    return stream.getvalue()


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
    return report(last, formats.read_gold(dataset), read_votes(votes_path(dataset)))
