"""`make bench`: Assay and its peers on the same data, on this machine, in this run. Prints ratios.

Every measurement runs in its own process, three times; the best time and its peak memory count.
Peers are fed what they are fastest with: dicts for pytrec_eval and ir_measures, ranx's own objects
after a warm-up call."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUERIES, DEPTH = 5_000, 1_000

TASKS: dict[str, list[tuple[str, float | None, float | None]]] = {
    # (peer, wanted speed ratio, wanted share of its memory)
    "memory": [
        ("assay-columns", None, None),
        ("assay-dicts", None, None),
        ("pytrec_eval", 5, None),
        ("ir_measures", 5, None),
        ("ranx", 3, None),
    ],
    "files": [("assay", None, None), ("ir_measures", 8, 0.25)],
}
TITLES = {
    "memory": f"In memory: {QUERIES:,} queries x {DEPTH:,} hits, seven measures, values by query",
    "files": f"From TREC files: {QUERIES * DEPTH:,} lines, seven measures, values by query",
}


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


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say(
            f"Python {platform.python_version()}, {os.cpu_count()} cores; "
            + ", ".join(
                f"{package} {metadata.version(package)}"
                for package in (
                    "assay",
                    "numpy",
                    "polars",
                    "pytrec-eval-terrier",
                    "ir-measures",
                    "ranx",
                )
            )
        )
        say("Making the data")
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
        text = f"{ratio:.1f}x" if peer != peers[0][0] else ""
        if wanted:
            text += f"  (wanted {wanted:g}x)"
        if share:
            text += (
                f"; our memory is {ours['peak_mb'] / row['peak_mb']:.0%} of it (wanted {share:.0%})"
            )
        agree = abs(row["check"] - ours["check"]) < 1e-9
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

    samples = HERE.parent / "samples" / "en"
    assay = str(Path(sys.executable).with_name("assay"))
    saved = folder / "bm25.json"
    dataset, corpus = str(samples / "dataset.json"), str(samples / "corpus.jsonl")
    prepare = [
        assay,
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
        "assay --help": ([assay, "--help"], 0.3),
        "assay score --run (sample)": (
            [assay, "score", "--dataset", str(samples / "dataset.json"), "--run", str(saved)],
            1,
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
