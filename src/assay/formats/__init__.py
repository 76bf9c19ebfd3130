"""Gold sets and runs in and out, one module a format, found by name or by what a file looks like.

A new format is one module with `read_gold`/`write_gold` or `read_run`, and one row in a table
below."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.core.types import GoldSet, Judgment, Run

GOLD_FORMATS = {
    "json": "assay.formats.dataset_json",
    "golden": "assay.formats.golden_json",
    "jsonl": "assay.formats.gold_jsonl",
    "csv": "assay.formats.csv_gold",
    "trec": "assay.formats.trec",
    "beir": "assay.formats.beir",
}

RUN_FORMATS = {
    "json": "assay.formats.results_json",
    "trec": "assay.formats.trec",
    "beir": "assay.formats.beir",
}

BY_SUFFIX = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".qrels": "trec",
    ".txt": "trec",
    ".trec": "trec",
    ".tsv": "trec",
}


def read_gold(path: Path | str, format: str | None = None) -> GoldSet:
    path = Path(path)
    _must_exist(path)
    name = _known(format, GOLD_FORMATS) if format else detect_gold(path)
    gold: GoldSet = import_module(GOLD_FORMATS[name]).read_gold(path)
    return gold


def write_gold(gold: GoldSet, path: Path, format: str | None = None) -> list[Path]:
    """Write and return the files written."""
    name = _known(format, GOLD_FORMATS) if format else format_of_name(path)
    written: list[Path] = import_module(GOLD_FORMATS[name]).write_gold(gold, path)
    return written


def add_judgments(path: Path, judgments: Sequence[Judgment]) -> None:
    """Write more judgments into a gold set, in a format that keeps who made them and when."""
    module = import_module(GOLD_FORMATS[detect_gold(path)])
    if not hasattr(module, "add_judgments"):
        raise InputError(
            "this format does not keep a grade 0, or who judged and when",
            where=str(path),
            hint=f"Make a dataset.json of it first: assay gold convert {path} dataset.json",
        )
    module.add_judgments(path, judgments)


def read_run(path: Path | str, format: str | None = None) -> Run:
    path = Path(path)
    _must_exist(path)
    name = _known(format, RUN_FORMATS) if format else detect_run(path)
    run: Run = import_module(RUN_FORMATS[name]).read_run(path)
    return run


def detect_gold(path: Path) -> str:
    if path.is_file() and path.suffix == ".json" and _first_byte(path) == b"[":
        return "golden"
    return format_of_name(path)


def detect_run(path: Path) -> str:
    if path.suffix != ".json":
        return "trec"
    from assay.core.files import read_json

    data = read_json(path)
    return "json" if _looks_like_results(data) else "beir"


def _looks_like_results(data: Any) -> bool:
    return isinstance(data, dict) and bool(
        {"per_query", "results", "metrics", "timestamp", "overall"} & set(data)
    )


def format_of_name(path: Path) -> str:
    """By the ending; a folder is BEIR, an existing file with another ending is taken for qrels."""
    if path.is_dir() or (not path.suffix and not path.exists()):
        return "beir"
    if path.suffix not in BY_SUFFIX and not path.exists():
        raise InputError(
            f"unknown ending {path.suffix!r}",
            where=str(path),
            hint=f"Known: {', '.join(BY_SUFFIX)} or a folder; or name the format with --to.",
        )
    return BY_SUFFIX.get(path.suffix, "trec")


def _first_byte(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), hint="Check the path.")


def _known(format: str, table: dict[str, str]) -> str:
    if format not in table:
        raise InputError(f"unknown format {format!r}", hint=f"Known: {', '.join(table)}.")
    return format
