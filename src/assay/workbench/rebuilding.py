"""`assay gold rebuild` and `assay gold export-votes`: a gold file written again from its log, and
the votes of a log in the form of earlier versions."""

from __future__ import annotations

from pathlib import Path

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.formats import gold_jsonl
from assay.gold.files import content_of, is_rows
from assay.gold.log import has_log, open_log
from assay.gold.projection import GoldRows, how_it_stands, open_rows, project, sides_of
from assay.gold.upgrade import before_the_log, plain
from assay.workbench.voting import opened_set, save


def rebuild(dataset: Path) -> str:
    """Write a gold file again as its log has it, and say what was done; nothing where it is so
    already. What people edited by hand stays. Where git left a conflict, both sides are merged."""
    if not dataset.exists():
        raise InputError("no such gold set", where=str(dataset), hint="Check the path.")
    if not has_log(dataset):
        raise InputError(
            "the set has no log to rebuild it from",
            where=str(dataset),
            hint="A log begins with the first vote or decision.",
        )
    merged = _merge_sides(dataset)
    stood = how_it_stands(dataset)
    if is_rows(dataset):
        with open_rows(dataset) as rows:
            changed = rows.rebuild()
    else:
        with opened_set(dataset) as voted:
            save(voted)
            changed = content_of(dataset) != voted.content or bool(voted.edited)
    if not changed and not merged:
        return ""
    return merged or stood or f"{dataset}: rebuilt"


def _merge_sides(dataset: Path) -> str:
    """Take the marks of a git conflict out of a gold file."""
    content = content_of(dataset)
    ours, theirs = sides_of(content)
    if ours == theirs:
        return ""
    if is_rows(dataset):
        project(dataset, _both(dataset, ours, theirs))
        return f"{dataset}: the conflict is resolved from the log"
    questions = [_without_labels(dataset, side) for side in (ours, theirs)]
    if questions[0] != questions[1]:
        raise InputError(
            "the two sides differ in more than labels",
            where=str(dataset),
            hint="Resolve the queries by hand, then rebuild: the labels come from the log.",
        )
    project(dataset, ours)
    return f"{dataset}: the conflict is resolved from the log"


def _both(dataset: Path, ours: bytes, theirs: bytes) -> bytes:
    """The lines of both sides, each row once: the log says what becomes of it."""
    log = open_log(dataset)
    lines = gold_jsonl.lines_of(ours, dataset)
    known = {line.row.id for line in lines if line.row is not None}
    for line in gold_jsonl.lines_of(theirs, dataset):
        if (
            line.row is not None
            and line.row.id not in known
            and (line.row.id, "") not in log.rows.history
        ):
            lines.append(line)
    return gold_jsonl.assemble(GoldRows(log, gold_jsonl.assemble(lines)).lines)


def _without_labels(dataset: Path, side: bytes) -> object:
    draft = dataset.with_name(f".{dataset.name}.side")
    write_atomic(draft, side)
    try:
        gold = formats.read_gold(draft, formats.detect_gold(dataset))
    finally:
        draft.unlink(missing_ok=True)
    return gold.queries, gold.taxonomy


def export_votes(dataset: Path, output: Path | None = None) -> tuple[Path, int]:
    """Write the votes of a set as STEM.votes.jsonl, the form of earlier versions; return the file
    and how many votes it has."""
    target = output or before_the_log(dataset)
    if target.exists():
        raise UsageError(
            "the file is there already", where=str(target), hint="Give another with --output."
        )
    votes = open_log(dataset).votes() if has_log(dataset) else []
    if not votes:
        raise UsageError("nobody has voted on this set", where=str(dataset))
    write_atomic(target, plain(votes))
    return target, len(votes)
