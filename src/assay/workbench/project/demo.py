"""`assay demo`: scoring several engines on the bundled sample of advisory opinions."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from assay.core import extras
from assay.core.errors import InputError, UsageError
from assay.engines.engine_table import EngineConfig
from assay.workbench.scoring.report import report_file
from assay.workbench.scoring.request import Progress, Scored, ScoreRequest, show_no_progress
from assay.workbench.scoring.score import score
from assay.workbench.searching import corpora

DEMO_CORPUS = "demo-opinions"
ELSEWHERE = "Give another folder, or remove this one."


def samples() -> Path:
    """The bundled samples: inside the installed package, or beside `src` in a checkout."""
    package = Path(__file__).parents[2]
    for folder in (package / "samples", package.parent.parent / "samples"):
        if (folder / "en" / "dataset.json").exists():
            return folder
    raise InputError("the bundled samples are missing", hint="Install the package again.")


def copy_samples(folder: Path) -> Path:
    """The samples, to look into and to work on: gold sets, documents and an engine, by language."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("there is something here already", where=str(folder), hint=ELSEWHERE)
    shutil.copytree(
        samples(), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    return folder


def demo(output: Path, progress: Progress = show_no_progress) -> dict[str, Scored]:
    """Engines on the English sample: a floor, one a user would write, plain BM25, and ours where
    the extra `search` is installed. The results of the last, with the comparison against the one
    before it, are left as JSON and as a page."""
    english = samples() / "en"
    dataset, corpus = english / "dataset.json", english / "corpus.jsonl"
    requests = {
        "random": ScoreRequest(dataset=dataset, engine="random", corpus=corpus),
        "my_engine.py": ScoreRequest(dataset=dataset, search_module=str(english / "my_engine.py")),
        "bm25": ScoreRequest(dataset=dataset, engine="bm25", corpus=corpus),
    }
    if extras.has("search"):
        corpora.import_corpus("fppc", english / "opinions", name=DEMO_CORPUS)
        corpora.index_corpus(DEMO_CORPUS)
        ours = EngineConfig(name="assay", engine=DEMO_CORPUS)
        requests["assay"] = ScoreRequest(dataset=dataset, engine=DEMO_CORPUS, configured=ours)
    *_, before, last = requests
    compared = output.with_name(f"{output.stem}-{Path(before).stem}.json")
    requests[before] = msgspec.structs.replace(requests[before], output=compared)
    requests[last] = msgspec.structs.replace(requests[last], output=output)
    scored = {name: score(request, progress=progress) for name, request in requests.items()}
    report_file(output, output.with_suffix(".html"), against=compared)
    return scored
