"""What a gold file says, row by row, and the names of the files beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError
from assay.core.files import os_message
from assay.core.types import GoldSet, Judgment
from assay.formats import gold_jsonl
from assay.formats.gold_jsonl import Line
from assay.gold.rows import Key, RowChange


def beside(dataset: Path, ending: str) -> Path:
    """`eval/dataset.json` has `eval/dataset.log.jsonl` and its like beside it."""
    place = dataset.resolve() if dataset.is_symlink() else dataset
    return place.with_name(f"{place.stem}.{ending}")


def log_path(dataset: Path) -> Path:
    return beside(dataset, "log.jsonl")


def before_the_log(dataset: Path) -> Path:
    """The votes file of earlier versions."""
    return beside(dataset, "votes.jsonl")


def has_log(dataset: Path) -> bool:
    """Whether anybody has judged or decided on a set; also where an earlier version kept that."""
    return log_path(dataset).exists() or before_the_log(dataset).exists()


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def content_of(dataset: Path) -> bytes:
    try:
        return dataset.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(os_message(error), where=str(dataset)) from error


def is_rows(dataset: Path) -> bool:
    """Whether a set is a gold-set.jsonl, whose rows are approved one by one; else it has labels."""
    return dataset.suffix == ".jsonl"


def rows_in(lines: Sequence[Line]) -> dict[Key, str]:
    return {(line.row.id, ""): text_of(line) for line in lines if line.row is not None}


def labels_in(gold: GoldSet) -> dict[Key, str]:
    return {(row.query_id, row.doc_id): label_digest(row) for row in gold.iter_judgments()}


def found_in(dataset: Path, content: bytes) -> dict[Key, str]:
    """The rows of a gold file, or its labels."""
    if is_rows(dataset):
        lines = gold_jsonl.lines_of(content, dataset)
        gold_jsonl.refuse_same_ids(lines, dataset)
        return rows_in(lines)
    return labels_in(formats.read_gold(dataset))


def text_of(line: Line) -> str:
    return line.raw.decode().rstrip("\r\n")


def label_digest(label: Judgment) -> str:
    said = [label.grade, label.rationale, label.judge, label.source, label.rubric, label.at]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:12]


def first_rows(dataset: Path, known: Container[Key]) -> tuple[str, tuple[RowChange, ...]]:
    """The file as a new log finds it: its digest, and the rows that no act knows yet."""
    content = content_of(dataset)
    if not content:
        return "", ()
    found = found_in(dataset, content)
    rows = [
        RowChange(row=k[0], doc=k[1], after=state) for k, state in found.items() if k not in known
    ]
    return digest_of(content), tuple(rows)
