"""`assay gold rebuild` and `assay gold export-votes`: write a gold file again from its log, and the
votes of a log in the format of earlier versions."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import GoldSet
from assay.evaluation.receipts import git
from assay.formats import content_with_labels, gold_jsonl
from assay.formats.gold_jsonl import Line
from assay.gold.acts import BEGIN, EDIT, LABEL, REFRESH_FILE, RULE, VOTE, WITHDRAW
from assay.gold.log import Log, open_log
from assay.gold.projection import GoldRows, merge_sides, open_rows, replace_gold_file
from assay.gold.rows import (
    Key,
    comparable_state,
    content_of,
    earlier_votes_path,
    has_log,
    has_rows,
    labels_in,
    text_of,
)
from assay.gold.upgrade import plain
from assay.workbench.judging.votes_to_labels import commit_votes, open_voted_set


def rebuild(dataset: Path) -> str:
    """Write a gold file again from its log, and say what was done: nothing, if it was up to date.
    Edits by hand stay. If git left a conflict, both sides are merged."""
    if not dataset.exists() and not (has_rows(dataset) and has_log(dataset)):
        raise InputError("no such gold set", where=str(dataset), hint="Check the path.")
    if not has_log(dataset):
        raise InputError(
            "the gold set has no log to rebuild it from",
            where=str(dataset),
            hint="The first vote or decision starts a log.",
        )
    merged = _merge_sides(dataset)
    if has_rows(dataset):
        with open_rows(dataset) as rows:
            changed = rows.rebuild()
    else:
        with open_voted_set(dataset) as voted:
            commit_votes(voted)
            changed = content_of(dataset) != voted.content or bool(voted.edited)
    disputed = _disputes_sentence(dataset)
    if not changed and not merged:
        return disputed
    sentence = merged or f"{dataset}: written again from its log"
    return "; ".join(filter(None, (sentence, disputed)))


def _disputes_sentence(dataset: Path) -> str:
    book = open_log(dataset).rows
    keys = [key for key in book.history if has_rows(dataset) and book.is_disputed(key)]
    if not keys:
        return ""
    named = ", ".join(key[0] for key in keys[:5])
    verb = "was" if len(keys) == 1 else "were"
    return f"{named} {verb} decided differently in two copies: decide again on the review page"


def _merge_sides(dataset: Path) -> str:
    """Resolve the conflict that git left in a gold file, and say so."""
    content = content_of(dataset)
    ours, theirs = merge_sides(content)
    if ours == theirs:
        return ""
    if has_rows(dataset):
        replace_gold_file(dataset, _merge_lines(dataset, ours, theirs))
        return f"{dataset}: the conflict is resolved from the log"
    try:
        golds = [_read_side(dataset, side) for side in (ours, theirs)]
    except InputError:  # git joined lines that do not belong together: it still has both files
        ours, theirs = (_side_in_git(dataset, stage) for stage in (2, 3))
        if not ours or not theirs:
            raise
        golds = [_read_side(dataset, side) for side in (ours, theirs)]
    log = open_log(dataset)
    if _without_labels(dataset, golds[0], ours) != _without_labels(dataset, golds[1], theirs):
        raise InputError(
            "the two sides differ in more than labels",
            where=str(dataset),
            hint="Resolve the queries by hand, then rebuild: the labels come from the log.",
        )
    edited = [
        {
            key: state
            for key, state in labels_in(gold).items()
            if state not in log.rows.known_states(key)
        }
        for gold in golds
    ]
    if edited[0] and edited[1] and edited[0] != edited[1]:
        raise _edited_twice_error(dataset, *edited[0], *edited[1])
    if edited[1]:
        golds, ours = golds[::-1], theirs
    replace_gold_file(dataset, ours)
    _add_labels(dataset, *golds)
    return f"{dataset}: the conflict is resolved from the log"


def _add_labels(dataset: Path, gold: GoldSet, other: GoldSet) -> None:
    """Keep labels that only one side has: the log decides on them too."""
    labels = {(row.query_id, row.doc_id): row for g in (other, gold) for row in g.iter_judgments()}
    made = gold.labelling or other.labelling
    if made is not None:
        rows = list(labels.values())
        content = content_with_labels(dataset, rows, labelling=made, status=gold.status)
        if content is not None:
            replace_gold_file(dataset, content)


def _merge_lines(dataset: Path, ours: bytes, theirs: bytes) -> bytes:
    """The lines of both sides, each row once. A row that one side edited by hand keeps the edit;
    the log decides on the others."""
    log, mine = open_log(dataset), gold_jsonl.lines_of(ours, dataset)
    other = gold_jsonl.lines_of(theirs, dataset)
    rows = {line.row.id: line for line in other if line.row is not None}
    known = {line.row.id for line in mine if line.row is not None}
    first, second = ([x.row.id if x.row else text_of(x) for x in side] for side in (mine, other))
    aligned = difflib.SequenceMatcher(None, first, second, autojunk=False)
    lines: list[Line] = []
    for tag, a, b, c, d in aligned.get_opcodes():
        lines += [_choose_line(log, line, rows) for line in mine[a:b]]
        new = [x for x in other[c:d] if x.row is None or x.row.id not in known]
        lines += new if tag != "equal" else []
    return gold_jsonl.assemble(GoldRows(log, gold_jsonl.assemble(lines)).lines)


def _choose_line(log: Log, line: Line, rows: Mapping[str, Line]) -> Line:
    other = rows.get(line.row.id) if line.row is not None else None
    if (
        other is None
        or line.row is None
        or comparable_state(text_of(other)) == comparable_state(text_of(line))
    ):
        return line
    key = line.row.id, ""
    mine, theirs = (
        comparable_state(text_of(x)) not in log.rows.known_states(key) for x in (line, other)
    )
    if mine and theirs:
        raise _edited_twice_error(log.dataset, key)
    return other if theirs else line


def _edited_twice_error(dataset: Path, *keys: Key) -> InputError:
    named = ", ".join(dict.fromkeys(" ".join(filter(None, key)) for key in keys))
    return InputError(
        f"both sides were edited by hand: {named}",
        where=str(dataset),
        hint="Resolve these by hand, then rebuild: the rest comes from the log.",
    )


def _side_in_git(dataset: Path, stage: int) -> bytes:
    """One side of a git conflict as a whole file: stage 2 is ours, 3 is theirs. Empty if git has
    none."""
    side = git("show", f":{stage}:./{dataset.name}", folder=dataset.parent)
    return f"{side}\n".encode() if side else b""


def _read_side(dataset: Path, side: bytes) -> GoldSet:
    draft = dataset.with_name(f".{dataset.name}.side")
    write_atomic(draft, side)
    try:
        return formats.read_gold(draft, formats.detect_gold(dataset))
    finally:
        draft.unlink(missing_ok=True)


def _without_labels(dataset: Path, gold: GoldSet, side: bytes) -> object:
    if dataset.suffix != ".json":
        return gold.queries, gold.taxonomy
    content = json.loads(side)
    for name in ("labels", "status"):
        content.pop(name, None)
    for query in content["queries"]:
        query.pop("relevance_judgments", None)
    return content


class ExportedVotes(NamedTuple):
    """The file that was written, the number of votes in it, and the number of acts that the format
    has no place for: review decisions, suggestions, flags, added queries."""

    written: Path
    votes: int
    left_out: int


def export_votes(dataset: Path, output: Path | None = None) -> ExportedVotes:
    """Write the votes of a gold set as STEM.votes.jsonl, the format of earlier versions."""
    target = output or earlier_votes_path(dataset)
    if target.exists():
        raise UsageError(
            "the file already exists", where=str(target), hint="Give another with --output."
        )
    votes = open_log(dataset).votes() if has_log(dataset) else []
    if not votes:
        raise UsageError("this gold set has no votes", where=str(dataset))
    write_atomic(target, plain(votes))
    exported_actions = {BEGIN, VOTE, WITHDRAW, RULE, LABEL, REFRESH_FILE, EDIT}
    left_out = sum(act.action not in exported_actions for act in open_log(dataset).acts.values())
    return ExportedVotes(target, len(votes), left_out)
