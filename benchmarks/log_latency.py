"""What logging a search costs the caller while the store is being written: percentiles of
`log_search`, beside those of doing nothing at the same moments, which is the machine's own noise.

    python benchmarks/log_latency.py [--store URL] [--rate 500] [--seconds 20] [--threads 4]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from assay.store import open_store
from assay.telemetry.recorder import Recorder

DOCUMENTS = [(f"precedent-{n}", 1 / (n + 1)) for n in range(10)]


def calls(recorder: Recorder | None, rate: float, seconds: float) -> list[float]:
    """Milliseconds of each call, at a steady rate; without a recorder, of nothing."""
    spent, start = [], time.perf_counter()
    for n in range(int(rate * seconds)):
        while (wait := start + n / rate - time.perf_counter()) > 0:
            time.sleep(wait)
        began = time.perf_counter()
        if recorder is not None:
            recorder.log_search(
                f"היטל השבחה {n}", DOCUMENTS, corpus="precedent_library", millis=12.5
            )
        spent.append((time.perf_counter() - began) * 1000)
    return spent


def measured(recorder: Recorder | None, arguments: argparse.Namespace) -> np.ndarray:
    millis: list[float] = []
    share = arguments.rate / arguments.threads
    workers = [
        threading.Thread(target=lambda: millis.extend(calls(recorder, share, arguments.seconds)))
        for _ in range(arguments.threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return np.array(millis)


def show(name: str, millis: np.ndarray) -> None:
    p50, p99, p999 = np.percentile(millis, [50, 99, 99.9])
    spread = f"p50 {p50:7.3f}  p99 {p99:7.3f}  p99.9 {p999:7.3f}  max {millis.max():7.3f} ms"
    sys.stdout.write(f"{name:<12} n {len(millis):>6}  {spread}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--store", default="", help="a store URL; by default an SQLite file that goes afterwards"
    )
    parser.add_argument(
        "--rate", type=float, default=500, help="searches a second, all threads together"
    )
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--threads", type=int, default=4, help="threads that search")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = arguments.store or str(Path(folder) / "assay.db")
        recorder = Recorder(lambda: open_store(target))
        recorder.log_search("the first call starts the writer and loads its libraries")
        recorder.flush(30)
        show("nothing", measured(None, arguments))
        show("log_search", measured(recorder, arguments))
        recorder.flush(30)
        recorder.close()
        sys.stdout.write(f"{recorder.counts()}\n")


if __name__ == "__main__":
    main()
