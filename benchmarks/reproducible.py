"""Do the same inputs give the same bytes, whatever the number of threads, the seed of hashes and
the version of Python?

    python benchmarks/reproducible.py --threads 1 8 --python python3.11 --python python3.13

Every setting does the whole way in a process of its own: logs, decisions, bootstrap, corpus, index,
score, report and frozen corpus. Files are compared byte by byte, with times, latencies, versions of
the environment and random ids taken out; what is left must be the same everywhere."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"
KEPT = ROOT / "tests" / "fixtures" / "results-0.1"  # with the same latencies every time
COMMANDS = (
    ("logs", "import", "log.jsonl"),
    ("logs", "decisions", "decisions.jsonl"),
    ("gold", "bootstrap", "gold-set.jsonl"),
    ("corpus", "import", "jsonl", str(SAMPLES / "he" / "precedents.jsonl"), "--name", "he"),
    ("corpus", "import", "jsonl", str(SAMPLES / "en" / "corpus.jsonl"), "--name", "en"),
    ("index", "en"),
    ("index", "he"),
    ("corpus", "import", "jsonl", str(SAMPLES / "fi" / "saaristokuntalaki.jsonl"), "--name", "fi"),
    ("index", "fi"),
    ("search", "fi", "Kuka päättää lainan ottamisesta?", "--json"),
    ("gold", "validate", str(SAMPLES / "en" / "dataset.json"), "--json"),
    ("corpus", "freeze", "en", "en.zip"),
    *(
        ("score", "--dataset", str(SAMPLES / "en" / "dataset.json"), *engine, "--output", output)
        for engine, output in (
            (("--engine", "bm25", "--corpus", str(SAMPLES / "en" / "corpus.jsonl")), "bm25.json"),
            (("--engine", "en"), "ours.json"),
        )
    ),
    ("score", str(SAMPLES / "fi" / "questions_golden.json"), "--engine", "fi", "-o", "golden.json"),
    ("gold", "next", "bm25.json", "ours.json", "-o", "pairs.json", "--json"),
    ("gold", "pool", "dataset.json", "--engine", "en", "--depth", "3"),
    ("gold", "packet", "dataset.json", "-o", "packet.html"),
    ("plan", "bm25.json", "ours.json", "--json"),
    ("compare", "bm25.json", "ours.json", "--json"),
    (
        "report",
        str(KEPT / "en-my-engine.json"),
        "-o",
        "report.html",
        "--against",
        str(KEPT / "en-bm25.json"),
        "--force",
    ),
    ("report", "ours.json", "-o", "report.csv"),
    ("report", "golden.json", "-o", "report.xml"),
    ("report", "golden.json", "-o", "report.md"),
)
LOG = [
    {"at": "2026-05-01", "query": query, "results": [f"d{n % 7}" for n in range(at, at + 5)]}
    for at, query in enumerate(("levy", "  Levy ", "היטל השבחה", "appeal", "näkyvä", "levy!"))
]
DECISIONS = [{"id": f"D{n}", "at": "2026-05-31", "cites": [f"d{n}", f"d{n + 1}"]} for n in range(5)]
# what is of the moment or the machine: times, latencies, versions, random names
MOMENT = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?|"
    rb'"(?:\w*latency_ms|latency|python|numpy|polars|msgspec|assay|platform|commit|cache_key)":\s*'
    rb'(?:null|"[^"]*"|[-0-9.e+]+|\[[^]]*\]|\{[^}]*\})| *[0-9.,]+ ms|time="[0-9.]+"|'
    rb'latency_ms is [0-9.]+|"value":\s*[0-9.]+(?=,\s*"message":\s*"C: avg_lat)|'
    rb'"avg_latency_ms",\s*"slice":\s*"",\s*"value":\s*[0-9.]+|'
    rb"data-[0-9a-f]{12}(?:-[0-9a-f]+)?|"
    rb'"seconds":\s*[0-9.]+|in [0-9.]+ s|Python 3\.[0-9.]+'
)
RUN = "from assay.cli import main; main()"


def done(python: str, threads: int, seed: int) -> dict[str, str]:
    """Every file and output of the way under one setting, as digests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, rows in (("log.jsonl", LOG), ("decisions.jsonl", DECISIONS)):
            lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            (folder / file).write_text(lines, encoding="utf-8")
        shutil.copy(SAMPLES / "en" / "dataset.json", folder)
        said = {}
        for number, command in enumerate(COMMANDS):
            told = subprocess.run(
                [python, "-c", RUN, *command],
                cwd=folder,
                env=_environment(threads, seed),
                capture_output=True,
            )
            if told.returncode not in (0, 1, 3):
                raise SystemExit(f"{' '.join(command)}: {told.stderr.decode()}")
            said[f"{number:02d} {' '.join(command[:2])}"] = told.stdout
        return {**_files(folder), **{name: _digest(out) for name, out in said.items()}}


def _environment(threads: int, seed: int) -> dict[str, str]:
    names = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ASSAY")}
    return {
        **kept,
        **dict.fromkeys(names, str(threads)),
        "PYTHONHASHSEED": str(seed),
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "120",
    }


def _files(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = MOMENT.sub(b"*", str(path.relative_to(folder)).encode()).decode()
        if not path.is_file() or "assay.db" in name or path.name in ("sources.arrow", ".lock"):
            continue
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for inside in archive.namelist():
                    if "sources" not in inside:
                        found[f"{name}/{inside}"] = _digest(archive.read(inside))
        else:
            found[name] = _digest(path.read_bytes())
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(MOMENT.sub(b"*", content)).hexdigest()


def differences(settings: list[tuple[str, int, int]]) -> list[str]:
    """What is not the same as under the first setting."""
    first, *others = [(setting, done(*setting)) for setting in settings]
    found = []
    for setting, files in others:
        names = sorted(files.keys() | first[1].keys())
        found += [f"{setting}: {name}" for name in names if files.get(name) != first[1].get(name)]
    sys.stdout.write(f"{len(first[1])} files and outputs, {len(settings)} settings\n")
    return found


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--python", action="append", default=[])
    given.add_argument("--threads", type=int, nargs="+", default=[1, 8])
    asked = given.parse_args()
    every = [
        (python, threads, seed)
        for python in asked.python or [sys.executable]
        for seed, threads in enumerate(asked.threads)
    ]
    different = differences(every)
    sys.stdout.write("".join(f"{line}\n" for line in different) or "all the same\n")
    sys.exit(bool(different))
