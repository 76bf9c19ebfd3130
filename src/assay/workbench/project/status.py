"""The status of the project in this folder, which `assay` without a command shows: sets, engines,
the last verdict, pending work and the next step. It reads files and loads little, to be quick."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError
from assay.core.extras import is_installed
from assay.core.files import read_toml
from assay.core.workspace import workspace
from assay.reports.listing import LastVerdict, ProjectStatus

CONFIG = "assay.toml"
# bytes; a larger results file is not read for its verdict, to be quick (taste)
MAX_RESULTS_BYTES = 200_000_000


class _Verdict(msgspec.Struct):
    status: str


class _Results(msgspec.Struct):
    verdict: _Verdict | None = None


def look_around(folder: Path | None = None) -> ProjectStatus:
    folder = folder or Path()
    tables, problem = _read_tables(folder / CONFIG)
    verdict, waiting = _last_verdict(), _count_pending(tables, folder)
    corpora = sorted(path.parent.name for path in workspace().glob("corpora/*/corpus.json"))
    return ProjectStatus(
        folder=str(folder.resolve()),
        configured=tables is not None,
        sets=_names(tables, "gold"),
        engines=_names(tables, "engines"),
        corpora=corpora,
        verdict=verdict,
        waiting=waiting,
        problem=problem,
        next=_next_steps(tables, problem, verdict, waiting, corpora),
    )


def _read_tables(path: Path) -> tuple[dict[str, object] | None, str]:
    if not path.exists():
        return None, ""
    try:
        return read_toml(path), ""
    except InputError as error:
        return {}, f"{path} cannot be read: {error.message}"


def _names(tables: dict[str, object] | None, key: str) -> list[str]:
    named = (tables or {}).get(key)
    return list(named) if isinstance(named, dict) else []


def _last_verdict() -> LastVerdict | None:
    """The verdict of the newest results with gates."""
    files = [(path.stat().st_mtime, path) for path in workspace().glob("results/*.json")]
    for changed, path in sorted(files, reverse=True)[:20]:
        if path.stat().st_size > MAX_RESULTS_BYTES:
            continue
        try:
            results = msgspec.json.decode(path.read_bytes(), type=thread_safe(_Results))
        except (OSError, msgspec.MsgspecError):
            continue
        if results.verdict is not None:
            at = datetime.fromtimestamp(changed, UTC)
            return LastVerdict(results=os.fspath(path), status=results.verdict.status, at=at)
    return None


def _count_pending(tables: dict[str, object] | None, folder: Path) -> int | None:
    """Pairs that nobody has judged and rows that nobody has reviewed."""
    gold = (tables or {}).get("gold")
    paths = [
        folder / str(table.get("path"))
        for table in (gold.values() if isinstance(gold, dict) else ())
        if isinstance(table, dict) and table.get("path")
    ]
    pooled = [path for path in paths if path.with_suffix(".pool.json").exists()]
    reviewed = [path for path in paths if path.suffix == ".jsonl" and path.exists()]
    if not pooled and not reviewed:
        return None
    try:
        return _count_items(pooled, reviewed)
    except AssayError:
        return None


def _count_items(pooled: list[Path], reviewed: list[Path]) -> int:
    from assay.review.queue import items_of
    from assay.workbench.judging.vote_totals import set_progress

    left = sum(set_progress(path.stem, path).to_judge for path in pooled)
    found = [item for path in reviewed for item in items_of(path.stem, path)]
    return left + sum(item.state == "pending_review" for item in found)


def _is_on_the_way() -> bool:
    """Whether `assay start` was begun here, and has not come to its last file yet."""
    return (workspace() / "start.json").exists() and not Path("pairs.csv").exists()


def _next_steps(
    tables: dict[str, object] | None,
    problem: str,
    verdict: LastVerdict | None,
    waiting: int | None,
    corpora: list[str],
) -> list[str]:
    """The one step that helps most, and another way where there is one."""
    if problem:
        return [f"fix {CONFIG}"]
    if _is_on_the_way():
        return ["assay start"]
    if tables is None:
        if corpora:
            searching = [f'assay search {corpora[0]} "…"'] if is_installed("search") else []
            return [*searching, "assay start FOLDER"]
        return ["assay init", "assay demo"]
    if not _names(tables, "gold") and not _names(tables, "answers"):
        return ["assay gold init set.json --queries queries.txt"]
    if verdict is None:
        is_done = max(
            workspace().glob("results/*.json"), key=lambda path: path.stat().st_mtime, default=None
        )
        return ["assay run"] if is_done is None else [f"assay report {is_done} -o report.html"]
    if waiting:
        return ["assay serve"]
    if verdict.status == "inconclusive" and not Path(verdict.results).name.startswith("answers."):
        return [f"assay gold next {verdict.results} -o pairs.csv"]
    if verdict.status == "fail":
        return [f"assay report {verdict.results} -o report.html"]
    return [f"assay report {verdict.results} -o report.html", "assay serve"]
