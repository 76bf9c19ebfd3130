"""How long a search takes that nobody asked before, and how long the same one asked again.

    ASSAY_HOME=… python benchmarks/first_time.py CORPUS eval/dataset.json …
    ASSAY_HOME=… python benchmarks/first_time.py CORPUS < questions.txt

Every question is asked once in a fresh process, with all that is shown: twenty hits, each with
title, the passage that answers, the words in it, every signal, and the citations in common.
Then all are asked once more. The process is warmed with one question that is not among them. Both
the time on the clock and the time of the processor are given: on a busy machine the second says
more. `--dump FILE` writes what was shown, to compare two versions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import msgspec
import numpy as np

from assay.search.answers import FoundDocument, found_documents
from assay.workbench.searching.open_corpora import OpenCorpus, open_with_engine

HITS = 20
WARMING = "weather of last spring on the northern islands"


def questions(files: list[Path]) -> list[str]:
    if not files:
        return [line.strip() for line in sys.stdin if line.strip()]
    every = (query["text"] for file in files for query in json.loads(file.read_text())["queries"])
    return list(dict.fromkeys(every))


def shown(shelf: OpenCorpus, question: str) -> list[FoundDocument]:
    hits = shelf.engine.search(question, HITS, explain=True, texts=False)
    return found_documents(hits, shelf.engine, question, shelf.get)


def timed(shelf: OpenCorpus, asked: list[str]) -> tuple[list[list[FoundDocument]], np.ndarray]:
    answers, times = [], []
    for question in asked:
        clock, processor = time.perf_counter(), time.process_time()
        answers.append(shown(shelf, question))
        times.append((time.perf_counter() - clock, time.process_time() - processor))
    return answers, np.array(times) * 1000


def warn(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--dump", type=Path)
    options = parser.parse_args()
    asked = questions(options.files)
    shelf = open_with_engine(options.corpus, say=warn)
    shown(shelf, WARMING)
    for name in ("asked for the first time", "asked again"):
        answers, times = timed(shelf, asked)
        clock, processor = np.percentile(times, [50, 95], axis=0).T
        sys.stdout.write(
            f"{name}: {len(asked)} questions, p50 {clock[0]:.1f} ms, p95 {clock[1]:.1f} ms"
            f" (processor {processor[0]:.1f} and {processor[1]:.1f} ms)\n"
        )
    if options.dump:
        options.dump.write_bytes(msgspec.json.encode(answers))


if __name__ == "__main__":
    main()
