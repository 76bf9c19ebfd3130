"""Large runs for `make bench`: making them, and measuring commands as people run them.

A command is a process of its own. Its wall time, its processor time and its peak memory come from
the operating system when it ends; on a machine that does other work the wall times of two commands
are not comparable and their processor times are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

MEASURES = ("RR", "nDCG@5", "nDCG@10", "P@5", "P@10", "R@10", "R@20")
DEPTH = 1_000
BLOCK = 500  # queries
BIN = Path(sys.executable).parent


class Cost(NamedTuple):
    seconds: float
    processor: float
    peak_mb: float
    out: str


class Size(NamedTuple):
    """A run and judgments of so many queries; half as many judged documents again are not in it."""

    queries: int
    judged: int  # a query
    vocabulary: int = 8_800_000

    @property
    def lines(self) -> int:
        return self.queries * DEPTH


def make(folder: Path, size: Size) -> tuple[Path, Path]:
    """(run, qrels): sorted by query and score as engines write it, without ties."""
    import numpy as np

    run, qrels = folder / f"{size.queries}.run", folder / f"{size.queries}.qrels"
    rng = np.random.default_rng(20)
    found = size.judged * 3 // 5
    with run.open("wb") as run_file, qrels.open("wb") as qrels_file:
        for first in range(0, size.queries, BLOCK):
            queries = range(first, min(first + BLOCK, size.queries))
            drawn = _distinct(rng, len(queries), DEPTH + size.judged - found, size.vocabulary)
            scores = -np.sort(-_distinct(rng, len(queries), DEPTH, 2**24), axis=1) / 1024
            hits = drawn[:, :DEPTH]
            run_file.write(_lines(queries, hits, scores))
            among = np.argsort(rng.random(hits.shape), axis=1)[:, :found]
            judged = np.concatenate([np.take_along_axis(hits, among, 1), drawn[:, DEPTH:]], axis=1)
            qrels_file.write(_lines(queries, judged, rng.integers(0, 3, judged.shape)))
    return run, qrels


def _distinct(rng, rows: int, columns: int, most: int):  # type: ignore[no-untyped-def]
    """Numbers below `most`, no two of a row alike, in any order."""
    import numpy as np

    table = rng.integers(0, most, (rows, columns))
    while True:
        ordered = np.sort(table, axis=1)
        alike = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not alike.any():
            return table
        table[alike] = rng.integers(0, most, (int(alike.sum()), columns))


def _lines(queries: range, documents, values) -> bytes:  # type: ignore[no-untyped-def]
    import numpy as np
    import polars as pl

    width = documents.shape[1]
    is_run = values.dtype == np.float64
    frame = pl.DataFrame(
        {
            "q": np.repeat(np.array(queries), width),
            "d": documents.ravel(),
            "rank": np.tile(np.arange(1, width + 1), len(queries)),
            "value": values.ravel(),
        }
    )
    document = pl.format("doc-{}", pl.col("d").cast(pl.String).str.zfill(8))
    query = pl.format("q{}", "q")
    columns = (
        [query, pl.lit("Q0").alias("x"), document.alias("d"), "rank", "value", pl.lit("bench")]
        if is_run
        else [query, pl.lit("0").alias("x"), document.alias("d"), "value"]
    )
    return frame.select(columns).write_csv(include_header=False, separator=" ").encode()


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


def cost(command: Sequence[str], folder: Path, repeats: int = 1) -> Cost:
    """The best of several: each a process, started cold."""
    return min((_once(command, folder) for _ in range(repeats)), key=lambda each: each.processor)


def _once(command: Sequence[str], folder: Path) -> Cost:
    out = folder / "out.txt"
    with out.open("wb") as written:
        start = perf_counter()
        process = subprocess.Popen(
            command,
            stdout=written,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"ASSAY_HOME": str(folder / "home")},
            cwd=folder,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(
        seconds=perf_counter() - start,
        processor=used.ru_utime + used.ru_stime,
        peak_mb=used.ru_maxrss / 1024,
        out=out.read_text(encoding="utf-8"),
    )


def assay(run: Path, qrels: Path, *more: str) -> list[str]:
    measures = [option for name in MEASURES for option in ("-m", name)]
    command = ["score", "--run", str(run), "--dataset", str(qrels), *measures, *more]
    return [str(BIN / "assay"), *command]


def ir_measures(run: Path, qrels: Path) -> list[str]:
    return [str(BIN / "ir_measures"), "-q", str(qrels), str(run), *MEASURES]


def means_of(out: str) -> dict[str, float]:
    """The means that ir_measures prints, to four decimals."""
    rows = (line.split("\t") for line in out.splitlines() if line.startswith("all\t"))
    return {name: float(value) for _, name, value in rows}


# ── the plot ──────────────────────────────────────────────────────────────────────────────────────


def plot(rows: Sequence[tuple[int, Cost]]) -> str:
    """Cost by lines as an SVG, both axes logarithmic: seconds of processor on the left, peak memory
    on the right."""
    panels = [
        ("seconds of processor", [(lines, each.processor) for lines, each in rows]),
        ("peak memory, MB", [(lines, each.peak_mb) for lines, each in rows]),
    ]
    parts = [
        part for place, panel in enumerate(panels) for part in _panel(30 + 360 * place, *panel)
    ]
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 280" role="img" '
        'font-family="sans-serif" font-size="11" fill="#222">'
        "<title>What assay score costs, by lines of the run</title>"
        '<rect width="740" height="280" fill="#fff"/>'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _panel(left: int, title: str, points: Sequence[tuple[int, float]]) -> Iterator[str]:
    from math import ceil, floor, log10

    bottom, top = floor(log10(min(y for _, y in points))), ceil(log10(max(y for _, y in points)))
    first, last = log10(points[0][0]), log10(points[-1][0])

    def at(x: float, y: float) -> tuple[float, float]:
        across = (log10(x) - first) / max(last - first, 1)
        return left + 40 + across * 250, 230 - (log10(y) - bottom) / max(top - bottom, 1) * 180

    yield f'<text x="{left}" y="24" font-weight="bold">{title}</text>'
    for power in range(bottom, top + 1):
        y = at(points[0][0], 10**power)[1]
        yield f'<path d="M{left + 36} {y:.1f}H{left + 300}" stroke="#ddd"/>'
        yield f'<text x="{left + 30}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
    for lines, _ in points:
        x = at(lines, 10**bottom)[0]
        yield f'<text x="{x:.1f}" y="250" text-anchor="middle">{lines // 10**6}M lines</text>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
    yield f'<polyline points="{path}" fill="none" stroke="#1a5fb4" stroke-width="2"/>'
    for point in points:
        x, y = at(*point)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#1a5fb4"/>'
        yield f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{point[1]:.3g}</text>'
