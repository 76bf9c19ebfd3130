"""Write the receipt of a score, so that it can be computed again: the gold set, the measures and
the run, and hashes and versions of everything a score depends on."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from assay import __version__
from assay.core.results import GitState, GoldCard, Latency, MeasureLine
from assay.core.types import GoldSet, Run, approval_status, machine_note_of
from assay.evaluation.measures import MEASURES, parse_measure, result_key

TIE_POLICY = {
    "engine": "the engine's own order; a document returned twice keeps its first place",
    "score": (
        "score descending, then document id descending (as trec_eval); "
        "a repeated document keeps its first place"
    ),
}
UNJUDGED_POLICY = (
    "an unjudged document counts as not relevant; judged-only values and bounds stand beside"
)
CLOSED_POLICY = (
    "the set is closed: it lists relevant documents alone, and a document that it does not list is "
    "not relevant; nothing is unjudged"
)
GOLDEN_POLICY = "the set is closed: a question states what it expects, and nothing is unjudged"
MISSING_POLICY = (
    "a query missing from the run scores 0; a failed query has no score; a query without relevant "
    "documents is a negative test and not ranked"
)

PASS = MeasureLine(
    key="pass",
    measure="pass",
    formula="1 when every check of the question holds, else 0",
    source="docs/golden.md",
)


def measure_lines(names: Sequence[str]) -> list[MeasureLine]:
    """Each measure with its formula, threshold, gain and cutoff, so that a number can be recomputed
    by hand."""
    measures = [parse_measure(name) for name in names]
    lines = []
    for measure in measures:
        formula = MEASURES[measure.name]
        params = {key: measure.param(key) for key in formula.params}
        lines.append(
            MeasureLine(
                key=result_key(measure, measures),
                measure=str(measure),
                cutoff=measure.cutoff,
                params={key: value for key, value in params.items() if value is not None},
                formula=formula.text,
                source=formula.source,
            )
        )
    return lines


def is_closed(gold: GoldSet) -> bool:
    """Whether a set lists relevant documents alone, and no rubric says that others were judged."""
    lowest = gold.judgments["grade"].min()
    return isinstance(lowest, int) and lowest > 0 and not gold.rubric


def gold_card(gold: GoldSet) -> GoldCard:
    approved, total = gold.approved_rows, len(gold.queries)
    by_machine = gold.labelling.by_machine if gold.labelling is not None else 0
    return GoldCard(
        name=gold.name,
        version=gold.version,
        rubric=gold.rubric,
        status=_status(gold, approved, total, by_machine),
        approved_share=approved / total if gold.from_logs else None,
        queries=total,
        judgments=gold.judgments.height,
        fingerprint=gold_fingerprint(gold),
        by_machine=by_machine,
        note=machine_note_of(gold),
    )


def _status(gold: GoldSet, approved: int, total: int, by_machine: int) -> str:
    """Whatever a set says of itself, labels by machines are provisional."""
    if gold.from_logs:
        return approval_status(approved, total)
    return "provisional" if by_machine else gold.status


def latency(run: Run) -> Latency | None:
    if "millis" not in run.queries.columns:
        return None
    millis = run.queries["millis"].drop_nulls().to_numpy()
    if not len(millis):
        return None
    p50, p95 = np.percentile(millis, [50, 95]).tolist()
    return Latency(mean=float(millis.mean()), p50=p50, p95=p95, max=float(millis.max()))


# ── hashes and versions ───────────────────────────────────────────────────────────────────────────

ROWS = 100_000  # of judgments that are in memory as text (taste)


def gold_fingerprint(gold: GoldSet) -> str:
    """The same for the same queries and grades, whatever the file format or order."""
    digest = hashlib.sha256()
    for query in sorted(gold.queries, key=lambda query: query.id):
        digest.update(msgspec.json.encode([query.id, query.text, query.checks]))
    judgments = gold.judgments.select("query_id", "doc_id", "grade").cast({"doc_id": pl.String})
    names = judgments["query_id"].unique().cast(pl.String).sort()
    in_order = judgments.cast({"query_id": pl.Enum(names)})  # sorted by number: faster than by name
    for rows in in_order.sort("query_id", "doc_id").iter_slices(ROWS):
        digest.update(_as_json(rows))
    return digest.hexdigest()


def _as_json(rows: pl.DataFrame) -> bytes:
    """Every row as a JSON array, one after the other; by columns where no id has a character that
    JSON escapes."""
    text = pl.format('["{}","{}",{}]', "query_id", "doc_id", "grade")
    joined: str = rows.select(text.str.join("")).item()
    written = joined.encode()
    raw = np.frombuffer(written, np.uint8)
    escaped = (raw < 0x20) | (raw == 0x7F) | (raw == ord("\\"))
    if escaped.any() or np.count_nonzero(raw == ord('"')) != 4 * rows.height:
        return b"".join(map(msgspec.json.encode, rows.iter_rows()))
    return written


def module_fingerprint(spec: str, folder: Path) -> str:
    """The hash of every Python file beside the module, found from `folder`, so that a changed
    engine is run again."""
    name = spec.partition(":")[0]
    path = folder / (name if name.endswith(".py") else Path(*name.split(".")).with_suffix(".py"))
    beside = path.parent if path.exists() else folder / Path(*name.split("."))
    digest = hashlib.sha256()
    for source in sorted(beside.glob("*.py")) if beside.is_dir() else []:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    own = {"python": platform.python_version(), "assay": __version__}
    return own | {each.__name__: each.__version__ for each in (np, pl, msgspec)}


# ── git ───────────────────────────────────────────────────────────────────────────────────────────

# without its lock: were we killed meanwhile, the lock would stay and stop the next commit
_QUIET = ("git", "--no-optional-locks", "--no-pager")
_NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "log.showSignature": "false",
}
# older releases of git know the second alone
_NO_FETCHING = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
_STATUS = ("status", "--porcelain", "--ignore-submodules=dirty")
_OWN_SCOPES = ("system", "global", "command")


def git_state() -> GitState | None:
    """The commit of the folder the command runs in, and whether it has uncommitted changes."""
    commit, changes = git("rev-parse", "HEAD"), git_changes()
    if commit is None or changes is None:
        return None
    return GitState(commit=commit, dirty=bool(changes))


def git(*arguments: str, folder: Path | None = None) -> str | None:
    """The output of a git command in the current folder or another; None where git is missing or
    fails."""
    output = _run_git(arguments, folder, _NO_PROGRAMS)
    return None if output is None else output.decode(errors="replace").strip()


def git_changes() -> str | None:
    """The uncommitted changes in the current folder. Submodules are not looked into: each has a
    configuration of its own."""
    listed = _run_git(("config", "--list", "--show-scope", "--null"), None, _NO_PROGRAMS)
    if listed is None:
        return None
    filters: dict[str, str] = {}
    words = os.fsdecode(listed).split("\0")
    for scope, pair in zip(words[::2], words[1::2], strict=False):
        key, _, value = pair.partition("\n")
        if key.startswith("filter."):
            filters[key] = value if scope in _OWN_SCOPES else filters.get(key, "")
    required = {key: "false" for key in filters if key.endswith(".required")}
    output = _run_git(_STATUS, None, _NO_PROGRAMS | filters | required)
    return None if output is None else output.decode(errors="replace").strip()


def _run_git(
    arguments: Sequence[str], folder: Path | None, settings: Mapping[str, str]
) -> bytes | None:
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0  # the user's own come before
    environment = os.environ | _NO_FETCHING
    environment["GIT_CONFIG_COUNT"] = str(count + len(settings))
    for number, (key, value) in enumerate(settings.items(), start=count):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        done = subprocess.run(
            [*_QUIET, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout
