"""`make bench`: Assay and its peers on the same data, on this machine, in this run. Prints ratios.

What a user runs comes first: command against command. Every measurement is a process of its own;
the best of several counts, with its peak memory. Peers are fed what they are fastest with: dicts
for pytrec_eval and ir_measures, ranx's own objects after a warm-up call.

`--full` (or BENCH_FULL=1) adds the run of 100 million lines, which needs 5 GB of disk and some
minutes; `--plot FILE.svg` draws the cost by lines."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from large_runs import Cost, Size, assay, cost, ir_measures, make, means_of, plot

HERE = Path(__file__).parent
QUERIES, DEPTH = 5_000, 1_000

TASKS: dict[str, list[tuple[str, float | None, float | None]]] = {
    # (peer, wanted speed ratio, wanted share of its memory)
    "memory": [
        ("assay-columns", None, None),
        ("assay-dicts", None, None),
        ("pytrec_eval", 8, None),
        ("ir_measures", 8, None),
        ("ranx", 3, None),
    ],
    "files": [
        ("assay-paths", None, None),
        ("assay-run", None, None),
        ("ir_measures", 10, 0.25),
        ("pytrec_eval", 10, 0.25),
    ],
}
TITLES = {
    "memory": f"In memory: {QUERIES:,} queries x {DEPTH:,} hits, seven measures, values by query",
    "files": "In process from TREC files: 10,000,000 lines, 1,000,000 judgments, seven measures",
}


PACKAGES = ("assay-ir", "numpy", "polars", "pytrec-eval-terrier", "ir-measures", "ranx")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "is not installed"


def measure(task: str, peer: str, folder: Path, repeats: int = 3) -> dict[str, Any]:
    """Best of several processes: {seconds, peak_mb, check}."""
    runs = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, str(HERE / "measure.py"), task, peer, str(folder)],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return {
                "error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"
            }
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: float(run["seconds"]))


GROWTH = {1: Size(1_000, 100), 10: Size(10_000, 100), 100: Size(100_000, 10)}


def show_commands(folder: Path, *, full: bool, drawn: Path | None) -> None:
    """`assay score` against ir_measures' own command, and what 1x, 10x and 100x cost."""
    rows = []
    for times, size in GROWTH.items():
        if times == 100 and not full:
            say("100 million lines: give --full")
            continue
        run, qrels = make(folder, size)
        say(f"\nCommands: {size.lines:,} lines, {size.queries * size.judged:,} judgments")
        ours = cost(assay(run, qrels), folder, repeats=1 if times == 100 else 3)
        rows.append((size.lines, ours))
        _say_cost("assay score", ours)
        if times == 10:
            _against_ir_measures(run, qrels, ours, folder)
        if times == 100:
            say(f"{'':16}peak memory {ours.peak_mb:,.0f} MB (wanted under 1,000)")
        if times != 10:
            run.unlink()
    if drawn is not None:
        drawn.write_text(plot(rows), encoding="utf-8")


def _against_ir_measures(run: Path, qrels: Path, ours: Cost, folder: Path) -> None:
    saved = folder / "saved.json"
    written = cost(assay(run, qrels, "--output", str(saved)), folder)
    _say_cost(f"with -o, {saved.stat().st_size / 2**20:.0f} MB", written)
    theirs = cost(ir_measures(run, qrels), folder, repeats=2)
    _say_cost("ir_measures -q", theirs)
    faster, cheaper = theirs.seconds / ours.seconds, theirs.processor / ours.processor
    say(
        f"{'':16}{faster:.1f}x by the clock (wanted 8x), {cheaper:.1f}x of processor time; "
        f"our memory is {ours.peak_mb / theirs.peak_mb:.0%} of it (wanted 25%)"
    )
    results = json.loads(saved.read_bytes())
    keys = {line["measure"]: line["key"] for line in results["receipt"]["measures"]}
    for name, mean in means_of(theirs.out).items():
        if abs(results["overall"][keys[name]] - mean) > 5.1e-5:
            say(f"{'':16}DIFFERENT VALUES: {name} {results['overall'][keys[name]]} and {mean}")


def _say_cost(name: str, each: Cost) -> None:
    times = f"{each.seconds:>9.2f} s{each.processor:>9.2f} s of processor"
    say(f"{name:16}{times}{each.peak_mb:>9.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description="Assay and its peers, in one run.")
    parser.add_argument("--full", action="store_true", help="also 100 million lines")
    parser.add_argument("--plot", type=Path, help="draw the cost by lines here")
    args = parser.parse_args()
    full = args.full or bool(os.environ.get("BENCH_FULL"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        say(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} before")
        say(", ".join(f"{package} {_version(package)}" for package in PACKAGES))
        show_commands(folder, full=full, drawn=args.plot)
        say("\nMaking the data")
        subprocess.run(
            [sys.executable, str(HERE / "measure.py"), "make", "data", str(folder)], check=True
        )
        for task, peers in TASKS.items():
            say(f"\n{TITLES[task]}")
            rows = {peer: measure(task, peer, folder) for peer, _, _ in peers}
            show(rows, peers)
        show_search(folder)
        say("\nCommand line, best of five")
        show_cold_starts(folder)


def show(
    rows: dict[str, dict[str, Any]], peers: list[tuple[str, float | None, float | None]]
) -> None:
    ours = rows[peers[0][0]]
    say(f"{'':16}{'seconds':>9}{'peak MB':>9}  ratio to {peers[0][0]}")
    for peer, wanted, share in peers:
        row = rows[peer]
        if "error" in row:
            say(f"{peer:16}  {row['error']}")
            continue
        ratio = row["seconds"] / ours["seconds"]
        cheaper = row["processor"] / ours["processor"]
        text = f"{ratio:.1f}x, {cheaper:.1f}x of processor" if peer != peers[0][0] else ""
        if wanted:
            text += f"  (wanted {wanted:g}x)"
        if share:
            text += (
                f"; our memory is {ours['peak_mb'] / row['peak_mb']:.0%} of it (wanted {share:.0%})"
            )
        agree = abs(row["check"] - ours["check"]) < 1e-6
        text += "" if agree else f"  DIFFERENT VALUES: {row['check']} against {ours['check']}"
        say(f"{peer:16}{row['seconds']:>9.2f}{row['peak_mb']:>9.0f}  {text}")


def show_search(folder: Path) -> None:
    """One stemmed full-text field of 14,096 opinions; only where the data is."""
    if not os.environ.get("ASSAY_DATA"):
        say("\nSearch: set ASSAY_DATA to the folder that holds fppc/ to measure it on opinions")
        return
    say("\nSearch: one stemmed full-text field, 14,096 opinions, median of 33 queries")
    rows = {peer: measure("search", peer, folder, repeats=1) for peer in ("assay", "bm25s")}
    for peer, row in rows.items():
        if "check" in row:
            say(f"{peer:16}{row['check']:>9.2f} ms{row['peak_mb']:>9.0f} MB")
        else:
            say(f"{peer:16}  {row['error']}")
    if all("check" in row for row in rows.values()):
        ratio = rows["assay"]["check"] / rows["bm25s"]["check"]
        say(f"{'':16}assay takes {ratio:.1f}x of bm25s (wanted at most 2x)")


def show_cold_starts(folder: Path) -> None:
    from time import perf_counter

    run, qrels = make(folder, Size(65, 20))
    samples = HERE.parent / "samples" / "en"
    assay_bin = str(Path(sys.executable).with_name("assay"))
    saved = folder / "bm25.json"
    dataset, corpus = str(samples / "dataset.json"), str(samples / "corpus.jsonl")
    prepare = [
        assay_bin,
        "score",
        "--dataset",
        dataset,
        "--engine",
        "bm25",
        "--corpus",
        corpus,
        "--output",
        str(saved),
    ]
    subprocess.run(prepare, check=True, capture_output=True)
    commands = {
        "assay --help": ([assay_bin, "--help"], 0.3),
        "assay score --run (sample)": (
            [assay_bin, "score", "--dataset", str(samples / "dataset.json"), "--run", str(saved)],
            1,
        ),
        "assay score --run (65 queries)": (
            [assay_bin, "score", "--dataset", str(qrels), "--run", str(run)],
            0.4,
        ),
    }
    for title, (command, wanted) in commands.items():
        times = []
        for _ in range(5):
            start = perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(perf_counter() - start)
        say(f"{title:30}{min(times):>7.2f} s  (wanted under {wanted:g} s)")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
