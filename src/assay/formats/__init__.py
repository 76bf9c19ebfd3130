"""Gold sets and runs in and out, one module a format, found by name or by what a file looks like.

A format is one module with `read_gold` and `write_gold`, or with `read_run`, or with all three: one
row in a table below, or, in another package, one entry point in the group `assay.formats`. Such a
module may name the endings of its files in `SUFFIXES`, as in `(".court",)`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.core import plugins
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

GROUP = "assay.formats"
GOLD = plugins.Kind(name="gold format", group=GROUP, built_in=GOLD_FORMATS)
RUN = plugins.Kind(name="run format", group=GROUP, built_in=RUN_FORMATS)
ADDED = plugins.Kind(name="format", group=GROUP, built_in={})

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
    gold: GoldSet = gold_format(format or detect_gold(path)).read_gold(path)
    return gold


def write_gold(gold: GoldSet, path: Path, format: str | None = None) -> list[Path]:
    """Write and return the files written."""
    module = gold_format(format or format_of_name(path))
    written: list[Path] = module.write_gold(gold, path)
    return written


def add_judgments(path: Path, judgments: Sequence[Judgment]) -> None:
    """Write more judgments into a gold set, in a format that keeps who made them and when."""
    module = gold_format(detect_gold(path))
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
    module = _format(RUN, format or detect_run(path), "read_run")
    run: Run = module.read_run(path)
    return run


def gold_format(name: str) -> Any:
    """The module of a format for gold sets; an unknown name is refused."""
    return _format(GOLD, name, "read_gold")


def _format(kind: plugins.Kind, name: str, needed: str) -> Any:
    if not plugins.is_known(kind, name):
        known = plugins.names(kind)
        raise InputError(f"unknown format {name!r}", hint=f"Known: {', '.join(known)}.")
    module = plugins.load(kind, name)
    if not hasattr(module, needed):
        raise InputError(f"the format {name!r} has no {needed}")
    return module


def listed() -> list[plugins.Plugin]:
    """The formats for `assay plugins`: those for gold sets, those for runs, and those that other
    packages add, which may be either."""
    built_in = [
        plugin
        for kind in (GOLD, RUN)
        for plugin in plugins.listed(kind)
        if plugin.origin == plugins.BUILT_IN
    ]
    return [*built_in, *plugins.listed(ADDED)]


# ── by what a file looks like ─────────────────────────────────────────────────────────────────────


def detect_gold(path: Path) -> str:
    if path.is_file() and path.suffix == ".json" and _first_byte(path) == b"[":
        return "golden"
    return format_of_name(path)


def detect_run(path: Path) -> str:
    if path.suffix != ".json":
        return _added_for(path.suffix, "read_run") or "trec"
    from assay.core.files import read_json

    return "json" if _looks_like_results(read_json(path)) else "beir"


def _looks_like_results(value: object) -> bool:
    return isinstance(value, dict) and bool(
        {"per_query", "results", "metrics", "timestamp", "overall"} & set(value)
    )


def format_of_name(path: Path) -> str:
    """By the ending; a folder is BEIR, an existing file with another ending is taken for qrels."""
    if path.is_dir() or (not path.suffix and not path.exists()):
        return "beir"
    if path.suffix in BY_SUFFIX:
        return BY_SUFFIX[path.suffix]
    if added := _added_for(path.suffix, "read_gold"):
        return added
    if not path.exists():
        raise InputError(
            f"unknown ending {path.suffix!r}",
            where=str(path),
            hint=f"Known: {', '.join(BY_SUFFIX)} or a folder; or name the format with --to.",
        )
    return "trec"


def _added_for(suffix: str, needed: str) -> str:
    """The format that another package adds for files of this ending. Our own endings stay ours."""
    if not suffix or suffix in BY_SUFFIX:
        return ""
    for name, module in plugins.load_added(ADDED):
        if suffix in getattr(module, "SUFFIXES", ()) and hasattr(module, needed):
            return name
    return ""


def _first_byte(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), hint="Check the path.")
