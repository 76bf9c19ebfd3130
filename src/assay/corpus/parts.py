"""Reading a batch of source files into parts on disk: what one process of an import does.

A part is an Arrow file of documents, one of their citations, and a small JSON marker that is
written last. A part with a marker is whole; an import that was killed goes on after the last marker
of each batch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from assay.core.errors import InputError
from assay.core.files import sha256_of, write_atomic
from assay.core.types import Document
from assay.corpus.disk import document_frame
from assay.corpus.importers.source import Problem, Unit, importer, path_of
from assay.law.parse import Citation, Scheme, parse

PART_DOCUMENTS = 2048
PART_CHARACTERS = 24 * 2**20
MENTIONS_SCHEMA: dict[str, Any] = {
    "row": pl.Int64,
    "normal": pl.String,
    "kind": pl.String,
    "language": pl.String,
    "text": pl.String,
    "start": pl.Int32,
    "end": pl.Int32,
    "count": pl.Int32,
    "in_record": pl.Boolean,
    "name": pl.String,
    "own": pl.Boolean,
}
_RUNNING_HEAD = re.compile(
    r"\s*Page\b"
)  # what follows a letter's own number at the top of its pages


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Some files of one source, and the folder to write parts to."""

    kind: str
    source: str
    options: dict[str, Any]
    number: int
    units: tuple[Unit, ...]
    folder: str
    strict: bool = False


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The marker of a part: how many items of its batch it took, and what was wrong with some of
    them."""

    items: int
    rows: int
    problems: tuple[Problem, ...] = ()


def part_stem(batch: int, part: int) -> str:
    return f"part-{batch:05d}-{part:05d}"


def finished_parts(folder: Path, batch: int) -> list[Done]:
    done: list[Done] = []
    while (marker := folder / f"{part_stem(batch, len(done))}.json").exists():
        done.append(msgspec.json.decode(marker.read_bytes(), type=Done))
    return done


def is_finished(folder: Path, batch: int) -> bool:
    return (folder / f"batch-{batch:05d}.json").exists()


def read_batch(batch: Batch) -> None:
    """Read the batch into parts, from where an earlier try left off."""
    folder = Path(batch.folder)
    finished = finished_parts(folder, batch.number)
    items = islice(_items(batch), sum(done.items for done in finished), None)
    for number, (documents, sources, problems) in enumerate(_portions(items), start=len(finished)):
        _write_part(
            folder / part_stem(batch.number, number),
            documents,
            sources,
            problems,
            importer(batch.kind).SCHEME,
        )
    hashes = {unit.path: _hash(batch.source, unit) for unit in batch.units if unit.mtime_ns >= 0}
    write_atomic(folder / f"batch-{batch.number:05d}.json", msgspec.json.encode(hashes))


def _items(batch: Batch) -> Iterator[tuple[str, Document | Problem]]:
    reader = importer(batch.kind)
    for unit in batch.units:
        for item in reader.read(batch.source, unit, batch.options):
            place = (
                unit.path
            )  # as it lies in the source, so that the same source elsewhere gives the same corpus
            if isinstance(item, tuple):
                where, item = item
                place += f":{where.rpartition(':')[2]}"
            checked = _checked(item, place)
            if batch.strict and isinstance(checked, Problem):
                raise InputError(
                    checked.reason,
                    where=checked.where,
                    hint="Import without `strict` to go on past it.",
                )
            yield place, checked


def _checked(item: Document | Problem, place: str) -> Document | Problem:
    """A document must have an id, and text that can be written as UTF-8."""
    if isinstance(item, Problem):
        return item
    if not item.id.strip():
        return Problem(code="no-id", where=place, reason="a record has no id")
    if "\0" in item.id:
        return Problem(
            code="bad-id", where=place, reason=f"the id {item.id!r} has a null character"
        )
    return item


def _portions(
    items: Iterator[tuple[str, Document | Problem]],
) -> Iterator[tuple[list[Document], list[str], list[Problem]]]:
    documents: list[Document] = []
    sources: list[str] = []
    problems: list[Problem] = []
    characters = 0
    for path, item in items:
        if isinstance(item, Problem):
            problems.append(item)
            continue
        documents.append(item)
        sources.append(path)
        characters += len(item.text) + sum(len(value) for value in item.fields.values())
        if len(documents) >= PART_DOCUMENTS or characters >= PART_CHARACTERS:
            yield documents, sources, problems
            documents, sources, problems, characters = [], [], [], 0
    if documents or problems:
        yield documents, sources, problems


def _write_part(
    stem: Path,
    documents: list[Document],
    sources: list[str],
    problems: list[Problem],
    scheme: Scheme,
) -> None:
    write_arrow(document_frame(documents, sources), stem.with_suffix(".arrow"))
    rows = [
        msgspec.structs.astuple(mention)
        for number, document in enumerate(documents)
        for mention in mentions(number, document, scheme)
    ]
    write_arrow(
        pl.DataFrame(rows, schema=MENTIONS_SCHEMA, orient="row"), stem.with_suffix(".mentions")
    )
    done = Done(items=len(documents) + len(problems), rows=len(documents), problems=tuple(problems))
    write_atomic(stem.with_suffix(".json"), msgspec.json.encode(done))


class Mention(msgspec.Struct):
    """A citation in a document: where it first stands, how often, and whether the record lists it.
    It is the document's `own` number when it stands in running heads alone."""

    row: int
    normal: str
    kind: str
    language: str
    text: str
    start: int = -1
    end: int = -1
    count: int = 0
    in_record: bool = True
    name: str = ""
    own: bool = False


def mentions(row: int, document: Document, scheme: Scheme) -> list[Mention]:
    """Every citation of a document once."""
    language = document.language if document.language in ("en", "fi", "he") else None
    found: dict[str, Mention] = {}
    for text in document.citations:
        if text.startswith("/akn/"):
            found.setdefault(text, Mention(row, text, "reference", "", text))
            continue
        parsed = parse(text, language, scheme=scheme) or _bare(text, scheme)
        for one in parsed:
            found.setdefault(
                one.normal,
                Mention(row, one.normal, one.kind, one.language, one.text, name=one.name),
            )
        if not parsed:
            found.setdefault(text, Mention(row, text, "", "", text))
    for one in parse(document.text, language, scheme=scheme):
        empty = Mention(row, one.normal, one.kind, one.language, one.text, in_record=False)
        mention = found.setdefault(one.normal, empty)
        head = one.kind == "letter" and bool(_RUNNING_HEAD.match(document.text, one.end))
        if mention.count == 0:
            mention.text, mention.start, mention.end, mention.own = (
                one.text,
                one.start,
                one.end,
                head,
            )
        mention.count += 1
        mention.own = mention.own and head
        mention.name = mention.name or one.name
    return list(found.values())


def _bare(text: str, scheme: Scheme) -> tuple[Citation, ...]:
    """A list of citations often has the numbers alone: a file number has a dash, a section has
    none."""
    if not re.match(r"[\dA-Z]", text) or len(text) > 30:
        return ()
    word = "No." if re.search(r"\d-\d", text) else "Section"
    return parse(f"{word} {text}", "en", scheme=scheme)


def write_arrow(frame: pl.DataFrame, path: Path, *, batch: int = 64) -> None:
    """Write and flush to the disk: the marker that follows says that this is whole. The batches are
    small, so that one document is read without the rest of its part."""
    frame.write_ipc(path, record_batch_size=batch)
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _hash(source: str, unit: Unit) -> str:
    try:
        return sha256_of(path_of(source, unit))
    except OSError:
        return ""


def batches(
    kind: str, source: str, options: Mapping[str, Any], units: list[Unit], folder: Path
) -> list[Batch]:
    """Files in order, cut so that a batch is a few seconds of work."""
    cut: list[list[Unit]] = [[]]
    size = 0
    for unit in units:
        if cut[-1] and (len(cut[-1]) >= 512 or size + unit.size > 16 * 2**20):
            cut.append([])
            size = 0
        cut[-1].append(unit)
        size += unit.size
    return [
        Batch(
            kind=kind,
            source=source,
            options=dict(options),
            number=n,
            units=tuple(part),
            folder=str(folder),
        )
        for n, part in enumerate(cut)
    ]
