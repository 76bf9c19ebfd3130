"""Read and write gold sets and runs. Each format is one module, chosen by name, by file ending or
by file content.

A format is one module: for gold sets with `read_gold` and `write_gold`, for runs with `read_run`
(and `scan_run`, where a large one can be read block by block) and `write_run`, or with all of them.
To add one, write the module and give it a row in GOLD_FORMATS or RUN_FORMATS, and one for each of
its endings in GOLD_ENDINGS or RUN_ENDINGS; a run format that can be written joins WRITTEN_RUNS, and
the help of `assay score --run` (cli/score.py), `assay gold pool --run` (cli/gold.py), `assay
export` (cli/results.py) and docs/formats.md name it. An ending that is here can no longer be that
of a format in another package. A CSV of queries, documents and grades is read with
`csv_gold.table_rows`, any other with `head_of` and `rows_of` of `ballots`. In another package it is
an entry point in the group `assay.formats`, and the module names its endings in `SUFFIXES`, as in
`(".court",)`; such a format can be read, not written.

The ending of a file decides. Only where two formats share one, as they do `.json`, is the file
looked into, in `detect_gold` and `detect_run`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.core import plugins
from assay.core.errors import InputError, nearest_name
from assay.core.types import GoldSet, Issue, Judgment, Labelling, Query, Run
from assay.formats.schema import explain_conflict

if TYPE_CHECKING:
    from assay.core.runs import Block
    from assay.formats.ballots import Guide, Task

T = TypeVar("T")

# (path, work on a block) -> (the run's tag, what the work made) by block
Scan = Callable[[Path, "Callable[[Block], T]"], Iterator[tuple[str, T]]]

GOLD_FORMATS = {
    "json": "assay.formats.dataset_json",
    "golden": "assay.formats.golden_json",
    "jsonl": "assay.formats.gold_jsonl",
    "csv": "assay.formats.csv_gold",
    "trec": "assay.formats.trec",
    "beir": "assay.formats.beir",
    "quepid": "assay.formats.quepid",
}

RUN_FORMATS = {
    "json": "assay.formats.results_json",
    "trec": "assay.formats.trec",
    "beir": "assay.formats.beir",
}

# Where pairs go to be judged with other tools; what comes back is in ballots.OTHERS.
EXCHANGE_FORMATS = {
    "quepid": "assay.formats.quepid",
    "quepid-book": "assay.formats.quepid_book",
    "label-studio": "assay.formats.label_studio",
    "argilla": "assay.formats.argilla",
}

GROUP = "assay.formats"
GOLD = plugins.PluginKind(name="gold format", group=GROUP, built_in=GOLD_FORMATS)
RUN = plugins.PluginKind(name="run format", group=GROUP, built_in=RUN_FORMATS)
ADDED = plugins.PluginKind(name="format", group=GROUP, built_in={})

GOLD_ENDINGS = {
    ".json": "json",  # or golden, by what is in it
    ".jsonl": "jsonl",
    ".csv": "csv",  # or quepid, by its columns
    ".qrels": "trec",
    ".txt": "trec",
    ".trec": "trec",
    ".tsv": "trec",
}

WRITTEN_RUNS = ("trec", "beir")  # run formats that have `write_run`
# TREC runs come with any ending, and with none: a file with another one is read as such.
RUN_ENDINGS = {
    ".json": "json",  # or beir, by what is in it
    ".run": "trec",
    ".txt": "trec",
    ".trec": "trec",
    ".tsv": "trec",
}


def is_irds(path: Path | str) -> bool:
    """Whether this names a data set of ir_datasets (irds:NAME) and not a file."""
    return str(path).startswith("irds:")


def read_gold(path: Path | str, format: str | None = None) -> GoldSet:
    if is_irds(path):
        listed: GoldSet = importlib.import_module("assay.formats.benchmarks").read_irds(path)
        return listed
    path = Path(path)
    _must_exist(path)
    with explain_conflict(path):
        gold: GoldSet = gold_format(format or detect_gold(path)).read_gold(path)
    return gold


def write_gold(gold: GoldSet, path: Path, format: str | None = None) -> list[Path]:
    """Write and return the files written."""
    module = gold_format(format or format_of_name(path))
    written: list[Path] = module.write_gold(gold, path)
    return written


def write_run(run: Run, path: Path, format: str | None = None) -> None:
    """Write a run for other tools, in one of WRITTEN_RUNS. Without a format the ending decides:
    .json is BEIR's results, and any other is a TREC run, which has no ending of its own."""
    name = format or ("beir" if path.suffix == ".json" else "trec")
    if name not in WRITTEN_RUNS:
        known = ", ".join(WRITTEN_RUNS)
        raise InputError(
            f"unknown run format {name!r} to write",
            hint=f"Known: {known}. Formats of other packages can be read, not written.",
        )
    importlib.import_module(RUN_FORMATS[name]).write_run(run, path)


def write_tasks(tasks: Sequence[Task], guide: Guide, path: Path, format: str) -> list[Path]:
    """Write pairs for another tool to judge; return the files written."""
    if format not in EXCHANGE_FORMATS:
        known = ", ".join(EXCHANGE_FORMATS)
        raise InputError(f"unknown export format {format!r}", hint=f"Known: {known}.")
    module = importlib.import_module(EXCHANGE_FORMATS[format])
    written: list[Path] = module.write_tasks(tasks, guide, path)
    return written


def with_queries(path: Path, queries: Sequence[Query]) -> bytes:
    """The file of a gold set with more queries, in a format that holds queries without
    judgments."""
    module = _changeable(path, "with_queries", "queries are added to")
    content: bytes = module.with_queries(path, queries)
    return content


def with_issue(path: Path, topic_id: str, issue: Issue) -> bytes:
    """The file of a gold set with an issue in its taxonomy."""
    module = _changeable(path, "with_issue", "issues are kept in")
    content: bytes = module.with_issue(path, topic_id, issue)
    return content


def require_labels(path: Path, labelling: Labelling | None = None) -> None:
    """Refuse a format that cannot keep the labels, or cannot say who made them, before anything is
    written."""
    name = detect_gold(path)
    problem = ""
    if not hasattr(gold_format(name), "content_with_labels"):
        problem = "this format does not keep a grade 0, or who judged and when"
    elif name == "csv" and labelling is not None and labelling.by_machine:
        problem = "CSV has no place to say that machines made the labels"
    if problem:
        raise InputError(
            problem,
            where=str(path),
            hint=f"Convert it to a dataset.json first: assay gold convert {path} dataset.json",
        )


def content_with_labels(
    path: Path, judgments: Sequence[Judgment], *, labelling: Labelling, status: str
) -> bytes | None:
    """The file of the set with these judgments and their labelling; None where it already has
    them."""
    require_labels(path, labelling)
    module = gold_format(detect_gold(path))
    content: bytes | None = module.content_with_labels(path, judgments, labelling, status)
    return content


def _changeable(path: Path, needed: str, what: str) -> Any:
    module = gold_format(detect_gold(path))
    if not hasattr(module, needed):
        raise InputError(
            f"{what} a dataset.json",
            where=str(path),
            hint=f"Convert it first: assay gold convert {path} dataset.json",
        )
    return module


def read_run(path: Path | str, format: str | None = None) -> Run:
    path = Path(path)
    _must_exist(path)
    module = _format(RUN, format or detect_run(path), "read_run")
    run: Run = module.read_run(path)
    return run


def scanner(path: Path) -> Scan[Any] | None:
    """How to read a saved run block by block, for a format that can be read so: it has
    `scan_run`."""
    _must_exist(path)
    scan: Scan[Any] | None = getattr(_format(RUN, detect_run(path), "read_run"), "scan_run", None)
    return scan


def gold_format(name: str) -> Any:
    """The module of a format for gold sets; an unknown name is refused."""
    return _format(GOLD, name, "read_gold")


def _format(kind: plugins.PluginKind, name: str, needed: str) -> Any:
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


def _holds_questions(path: Path) -> bool:
    """An object with the questions of a golden set under `questions`."""
    with path.open("rb") as file:
        begin = file.read(65_536)
    return b'"questions"' in begin and (b'"expected_' in begin or b'"must_abstain"' in begin)


def detect_gold(path: Path) -> str:
    name = format_of_name(path)
    if not path.is_file():
        return name
    if name == "json":
        return "golden" if _first_byte(path) == b"[" or _holds_questions(path) else name
    if name == "csv":
        from assay.formats import quepid

        return "quepid" if quepid.looks_like(path) else name
    return name


def detect_run(path: Path) -> str:
    name = RUN_ENDINGS.get(path.suffix) or _added_for(path.suffix, RUN_ENDINGS, "read_run")
    if name != "json":
        return name or "trec"
    from assay.core.files import read_json

    return "json" if _looks_like_results(read_json(path)) else "beir"


def _looks_like_results(value: object) -> bool:
    return isinstance(value, dict) and bool(
        {"per_query", "results", "metrics", "timestamp", "overall"} & set(value)
    )


def format_of_name(path: Path) -> str:
    """The format of a gold set by its ending; a folder is BEIR, an existing file with another
    ending is taken for qrels."""
    if path.is_dir() or (not path.suffix and not path.exists()):
        return "beir"
    if path.suffix in GOLD_ENDINGS:
        return GOLD_ENDINGS[path.suffix]
    if added := _added_for(path.suffix, GOLD_ENDINGS, "read_gold"):
        return added
    if not path.exists():
        raise InputError(
            f"unknown ending {path.suffix!r}",
            where=str(path),
            hint=f"Known: {', '.join(GOLD_ENDINGS)} or a folder; or name the format with --to.",
        )
    return "trec"


def is_added(suffix: str) -> bool:
    """Whether another package adds a format for gold sets of this ending."""
    return bool(_added_for(suffix, GOLD_ENDINGS, "read_gold"))


def _added_for(suffix: str, ours: Mapping[str, str], needed: str) -> str:
    """The format that another package adds for files of this ending. Our own endings stay ours."""
    if not suffix or suffix in ours:
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
        meant = nearest_name(path.name, _names_beside(path))
        below = "" if path.is_absolute() else f" It is looked up from {Path.cwd()}."
        hint = f"{meant}Check the path.{below}"
        raise InputError("no such file or folder", where=str(path), hint=hint)


def _names_beside(path: Path) -> list[str]:
    try:
        return os.listdir(path.parent)
    except OSError:
        return []
