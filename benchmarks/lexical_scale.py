"""The lexical index at size: how long it takes to build, how much memory, how long a query takes,
beside bm25s on the same texts.

    ASSAY_HOME=… python benchmarks/lexical_scale.py CORPUS --documents 50000 200000 1000000 \
        --queries eval/dataset.json --work /tmp/texts --plot docs/scale-lexical.svg

Documents are recombined: sentences of a corpus, drawn at random (the same ones every time) until a
document has 900 characters. Each measurement is a process of its own. Three things are built:

    assay          all that `assay index --no-dense` keeps: stems, character n-grams, sentences to
                   show, the forward side for updates; written to disk and opened again
    assay, stems   the same without the n-grams
    bm25s, stems   its own tokenizer with the same stemmer, its own index, in memory

Times are of the processor, children included, because the clock says little on a busy machine; the
memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from assay.core.types import Document

CHARACTERS = 900
SENTENCES = 300_000
SYSTEMS = ("assay", "assay, stems", "bm25s, stems")
COLORS = ("#1f6feb", "#54aeff", "#bf8700")


def processor() -> float:
    own, below = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def write_texts(corpus: str, path: Path, size: int) -> None:
    from assay.corpus.lookup import corpus_named

    rng = random.Random(0)
    sentences: list[str] = []
    for document in corpus_named(corpus).iter():
        found = re.split(r"(?<=[.?!])\s+", " ".join(document.text.split()))
        sentences += [sentence for sentence in found if 40 < len(sentence) < 400]
    rng.shuffle(sentences)
    sentences = sentences[:SENTENCES]
    with path.open("w") as stream:
        for _ in range(size):
            text = ""
            while len(text) < CHARACTERS:
                text += f" {rng.choice(sentences)}"
            stream.write(json.dumps(text.strip()) + "\n")


def read_texts(path: Path, size: int) -> Iterator[str]:
    with path.open("rb") as stream:
        yield from map(msgspec.json.decode, islice(stream, size))


class Pairs:
    """Documents with digests, as often as they are gone through."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size

    def __iter__(self) -> Iterator[tuple[Document, str]]:
        for number, text in enumerate(read_texts(self.path, self.size)):
            yield Document(id=str(number), text=text, language="en"), str(number)


# ── one measurement, in a process of its own ──────────────────────────────────────────────────────


def measure(system: str, path: Path, size: int, queries: list[str]) -> dict[str, float]:
    begun = processor()
    ask = (_bm25s if system.startswith("bm25s") else _assay)(system, path, size)
    built = processor() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ask("warming up with something else")
    times = []
    for query in queries:
        begun = time.process_time()
        ask(query)
        times.append((time.process_time() - begun) * 1000)
    p50, p95 = np.percentile(times, [50, 95])
    return {"seconds": built, "megabytes": peak, "p50": float(p50), "p95": float(p95)}


def _assay(system: str, path: Path, size: int):  # type: ignore[no-untyped-def]
    from assay.search import index, index_files, profile
    from assay.search.engine import Engine

    if system.endswith("stems"):
        profile.GENERIC = msgspec.structs.replace(profile.GENERIC, chosen={"characters": 0.0})
    folder = Path(tempfile.mkdtemp(dir=path.parent))
    spill = folder / "building"
    spill.mkdir()
    draft = index.draft(Pairs(path, size), dense=False, spill=spill)
    index_files.save(draft.index, folder, "")
    del draft
    engine = Engine(index_files.load(folder))
    return lambda query: engine.search(query, 20, texts=False)


def _bm25s(system: str, path: Path, size: int):  # type: ignore[no-untyped-def]
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    texts = list(read_texts(path, size))
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
    del texts
    model = bm25s.BM25(k1=1.2, b=0.75)
    model.index(tokens, show_progress=False)

    def ask(query: str) -> object:
        asked = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        return model.retrieve(asked, k=20, show_progress=False)

    return ask


# ── all of them ───────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("--documents", nargs="+", type=int, default=[50_000, 200_000, 1_000_000])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--measure", nargs=2)
    options = parser.parse_args()
    queries = [query["text"] for query in json.loads(options.queries.read_text())["queries"]]
    path = options.work / "texts.jsonl"
    if options.measure:
        system, size = options.measure
        found = measure(system, path, int(size), queries)
        sys.stdout.write(json.dumps(found) + "\n")
        return
    options.work.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_texts(options.corpus, path, max(options.documents))
    kept = options.work / "measured.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for size in options.documents:
        for system in options.systems:
            command = [sys.executable, *sys.argv, "--measure", system, str(size)]
            if f"{system}/{size}" not in results:
                answer = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
                results[f"{system}/{size}"] = json.loads(answer)
                kept.write_text(json.dumps(results, indent=1))
            row = results[f"{system}/{size}"]
            sys.stdout.write(
                f"{size:>9,}  {system:<13} build {row['seconds']:7.1f} s  "
                f"{row['megabytes']:7,.0f} MB  p50 {row['p50']:6.1f} ms  p95 {row['p95']:6.1f} ms\n"
            )
            sys.stdout.flush()
    if options.plot:
        options.plot.write_text(drawn(results))


def drawn(results: dict[str, dict[str, float]]) -> str:
    """Three panels over the number of documents, both axes logarithmic."""
    panels = (("seconds", "build, s"), ("megabytes", "peak, MB"), ("p50", "query p50, ms"))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 300" '
        'font-family="sans-serif" font-size="12">'
    ]
    for number, (key, title) in enumerate(panels):
        parts += _panel(results, key, title, 300 * number)
    return "\n".join([*parts, "</svg>\n"])


def _panel(results: dict[str, dict[str, float]], key: str, title: str, left: int) -> list[str]:
    points: dict[str, list[tuple[float, float]]] = {}
    for name, row in sorted(results.items(), key=lambda item: int(item[0].split("/")[1])):
        system, size = name.split("/")
        points.setdefault(system, []).append((float(size), row[key]))
    every = [point for line in points.values() for point in line]
    (x0, x1), (y0, y1) = (
        (np.log10(min(values)), np.log10(max(values))) for values in zip(*every, strict=True)
    )
    y0, y1 = np.floor(y0), np.ceil(y1)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (np.log10(x) - x0) / max(x1 - x0, 1e-9)
        up = (np.log10(y) - y0) / max(y1 - y0, 1e-9)
        return left + 50 + 220 * float(across), 250 - 200 * float(up)

    parts = [f'<text x="{left + 50}" y="30" font-weight="bold">{title}</text>']
    for power in range(int(y0), int(y1) + 1):
        _, y = at(10**x0, 10.0**power)
        parts.append(f'<line x1="{left + 50}" x2="{left + 270}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{left + 44}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>')
    for size in sorted({x for x, _ in every}):
        x, _ = at(size, 10.0**y0)
        parts.append(f'<text x="{x}" y="268" text-anchor="middle">{size / 1000:,.0f}k</text>')
    for line, (system, color) in enumerate(zip(SYSTEMS, COLORS, strict=True)):
        if system in points:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points[system]))
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
            )
            x, y = at(*points[system][-1])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>')
        if not left:
            parts.append(f'<text x="60" y="{48 + 15 * line}" fill="{color}">{system}</text>')
    return parts


if __name__ == "__main__":
    main()
