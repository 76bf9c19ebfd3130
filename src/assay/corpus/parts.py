"""Read a batch of source files into parts on disk: the work of one process of an import.

A part is an Arrow file of documents, one of their citations, and a small JSON marker that is
written last. A part with a marker is whole; an import that was killed goes on after the last marker
of each batch: the marker says how many records the part took, and as many are skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.files import sha256_of, write_atomic
from assay.core.types import Document
from assay.corpus.disk import document_frame, documents_of, read_arrow
from assay.corpus.importers.kinds import (
    Importer,
    Options,
    Problem,
    Range,
    Unit,
    importer,
    now_reading,
    path_of,
)
from assay.law.parse import Citation, Scheme, parse
from assay.law.spellings import grammar_signs

# the most that a part or a batch holds, by taste: a part fits in memory, a batch is a few seconds
PART_DOCUMENTS = 2048
PART_CHARACTERS = 24 * 2**20
BATCH_FILES = 512
BATCH_BYTES = 8 * 2**20
LONG_TEXT = 100_000  # characters
ROWS_TOGETHER = 64  # in an Arrow file (taste): one document is read without the rest of its part
MENTIONS_SCHEMA = pl.Schema(
    {
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
)
# what follows a letter's own number at the top of its pages
_RUNNING_HEAD = re.compile(r"\s*Page\b")


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Some files of one source, and the folder to write parts to. `before` is the corpus as it was,
    which files that are `kept` are taken from."""

    kind: str
    source: str
    options: Options
    number: int
    units: tuple[Unit, ...]
    folder: str
    strict: bool
    before: str = ""


class PartMarker(msgspec.Struct, frozen=True, kw_only=True):
    """The marker of a part: how many records of its batch it took (`items`), and what was wrong
    with some of them."""

    items: int
    rows: int
    problems: tuple[Problem, ...] = ()


def part_stem(batch: int, part: int) -> str:
    return f"part-{batch:05d}-{part:05d}"


def finished_parts(folder: Path, batch: int) -> list[PartMarker]:
    done: list[PartMarker] = []
    while (marker := folder / f"{part_stem(batch, len(done))}.json").exists():
        done.append(msgspec.json.decode(marker.read_bytes(), type=thread_safe(PartMarker)))
    return done


def is_finished(folder: Path, batch: int) -> bool:
    return (folder / f"batch-{batch:05d}.json").exists()


def hashes_read(folder: Path, batch_count: int) -> dict[str, str]:
    """The content of every file when it was read, as a hash, by path."""
    hashes: dict[str, str] = {}
    for number in range(batch_count):
        marker = (folder / f"batch-{number:05d}.json").read_bytes()
        hashes |= msgspec.json.decode(marker, type=dict[str, str])
    return hashes


def mentions_path(folder: Path, stem: str) -> Path:
    """The path of the citations of a part's documents."""
    return folder / f"{stem}.mentions"


class SourceRecord(NamedTuple):
    """A document or a problem, and where in the source it was read."""

    place: str
    content: Document | Problem


class PartContent(NamedTuple):
    """The documents and problems of one part."""

    documents: list[Document]
    places: list[str]
    problems: list[Problem]


def read_batch(batch: Batch) -> None:
    """Read the batch into parts, from where an earlier try left off."""
    folder = Path(batch.folder)
    scheme = importer(batch.kind).SCHEME
    finished = finished_parts(folder, batch.number)
    records = islice(_read_records(batch), sum(done.items for done in finished), None)
    for number, portion in enumerate(_group_into_parts(records), start=len(finished)):
        _write_part(folder / part_stem(batch.number, number), portion, scheme)
    hashes = {
        unit.path: _hash_unit(batch.source, unit)
        for unit in batch.units
        if unit.mtime_ns >= 0 and not (unit.range and unit.range.start)
    }
    write_atomic(folder / f"batch-{batch.number:05d}.json", msgspec.json.encode(hashes))


def _read_records(batch: Batch) -> Iterator[SourceRecord]:
    """Places are as they lie in the source, so that the same source elsewhere gives the same
    corpus."""
    reader = importer(batch.kind)
    earlier = _earlier_documents(batch)
    for number, unit in enumerate(batch.units):
        now_reading(unit.path, number)
        if unit.kept:
            for document in earlier.get(unit.path, ()):
                yield SourceRecord(unit.path, document)
            continue
        for content in _read_unit(reader, batch, unit):
            now_reading(unit.path, number, within=True)
            place = unit.path
            if isinstance(content, tuple):
                where, content = content
                place += f":{where.rpartition(':')[2]}"
            checked = _require_id(content, place)
            if batch.strict and isinstance(checked, Problem):
                raise InputError(
                    checked.reason,
                    where=checked.where,
                    hint="Import without `strict` to skip it.",
                )
            yield SourceRecord(place, checked)


def _read_unit(
    reader: Importer, batch: Batch, unit: Unit
) -> Iterator[Document | tuple[str, Document] | Problem]:
    if reason := unit.refused.get(unit.path):
        lines = f":{unit.range.lines_before + 1}" if unit.range else ""
        yield Problem(code="limit", where=f"{unit.path}{lines}", reason=reason)
    else:
        yield from reader.read(batch.source, unit, batch.options)


def _earlier_documents(batch: Batch) -> dict[str, list[Document]]:
    """The documents of the files that are kept, by path, from the corpus as it was."""
    paths = {unit.path for unit in batch.units if unit.kept}
    found: dict[str, list[Document]] = {}
    for part in sorted(Path(batch.before).glob("part-*.arrow")) if paths else ():
        sources = read_arrow(part, ["source"])["source"]
        if sources.is_in(list(paths)).any():
            frame = read_arrow(part).filter(pl.col("source").is_in(list(paths)))
            places = frame["source"].to_list()
            for path, document in zip(places, documents_of(frame), strict=True):
                found.setdefault(path, []).append(document)
    return found


def _require_id(content: Document | Problem, place: str) -> Document | Problem:
    """The document if it has an id that can be written, else a problem."""
    if isinstance(content, Problem):
        return content
    if not content.id.strip():
        return Problem(code="no-id", where=place, reason="a record has no id")
    if "\0" in content.id:
        reason = f"the id {content.id!r} has a null character"
        return Problem(code="bad-id", where=place, reason=reason)
    return content


def _group_into_parts(records: Iterator[SourceRecord]) -> Iterator[PartContent]:
    portion = PartContent([], [], [])
    characters = 0
    for place, content in records:
        if isinstance(content, Problem):
            portion.problems.append(content)
            continue
        portion.documents.append(content)
        portion.places.append(place)
        characters += len(content.text) + sum(len(text) for text in content.fields.values())
        if len(portion.documents) >= PART_DOCUMENTS or characters >= PART_CHARACTERS:
            yield portion
            portion = PartContent([], [], [])
            characters = 0
    if portion.documents or portion.problems:
        yield portion


def _write_part(stem: Path, portion: PartContent, scheme: Scheme) -> None:
    documents, places, problems = portion
    write_arrow(document_frame(documents, places), stem.with_suffix(".arrow"))
    rows = []
    for number, (document, place) in enumerate(zip(documents, places, strict=True)):
        if len(document.text) > LONG_TEXT:  # citations in a long text may take a while
            now_reading(place)
        rows += [msgspec.structs.astuple(one) for one in mentions(number, document, scheme)]
    frame = pl.DataFrame(rows, schema=MENTIONS_SCHEMA, orient="row")
    write_arrow(frame, mentions_path(stem.parent, stem.name))
    done = PartMarker(
        items=len(documents) + len(problems), rows=len(documents), problems=tuple(problems)
    )
    write_atomic(stem.with_suffix(".json"), msgspec.json.encode(done))


class StoredMention(msgspec.Struct):
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


def mentions(row: int, document: Document, scheme: Scheme) -> list[StoredMention]:
    """Every citation of a document once."""
    language = document.language if document.language in grammar_signs() else None
    by_normal: dict[str, StoredMention] = {}
    for text in document.citations:
        if text.startswith("/akn/"):
            by_normal.setdefault(text, StoredMention(row, text, "reference", "", text))
            continue
        listed = parse(text, language, scheme=scheme) or _parse_bare_number(text, scheme)
        for citation in listed:
            mention = _mention_of(row, citation)
            mention.name = citation.name
            by_normal.setdefault(citation.normal, mention)
        if not listed:
            by_normal.setdefault(text, StoredMention(row, text, "", "", text))
    for citation in parse(document.text, language, scheme=scheme):
        unlisted = _mention_of(row, citation)
        unlisted.in_record = False
        mention = by_normal.setdefault(citation.normal, unlisted)
        _count_mention(mention, citation, document.text)
    return list(by_normal.values())


def _mention_of(row: int, citation: Citation) -> StoredMention:
    return StoredMention(row, citation.normal, citation.kind, citation.language, citation.text)


def _count_mention(mention: StoredMention, citation: Citation, text: str) -> None:
    """Count one more occurrence of a citation in the text."""
    is_head = citation.kind == "letter" and bool(_RUNNING_HEAD.match(text, citation.end))
    if mention.count == 0:
        mention.text = citation.text
        mention.start = citation.start
        mention.end = citation.end
        mention.own = is_head
    mention.count += 1
    mention.own = mention.own and is_head
    mention.name = mention.name or citation.name


def _parse_bare_number(text: str, scheme: Scheme) -> tuple[Citation, ...]:
    """The citation of a number that a record lists without its words: a file number has a dash, a
    section has none."""
    if not re.match(r"[\dA-Z]", text) or len(text) > 30:
        return ()
    word = "No." if re.search(r"\d-\d", text) else "Section"
    return parse(f"{word} {text}", "en", scheme=scheme)


def write_arrow(frame: pl.DataFrame, path: Path, *, batch: int = ROWS_TOGETHER) -> None:
    """Write and flush to the disk: the marker that follows says that this is whole."""
    frame.write_ipc(path, record_batch_size=batch)
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _hash_unit(source: str, unit: Unit) -> str:
    path = path_of(source, unit)
    try:
        return sha256_of(path) if path.is_file() else ""  # a pipe or a device has no end
    except OSError:
        return ""


def _ranges(reader: Importer, source: str, options: Options, units: list[Unit]) -> Iterator[Unit]:
    """The files, those cut that hold more than a batch. Two ranges of one file never share a batch,
    since each but the last fills one."""
    cut = getattr(reader, "cut", None)
    for unit in units:
        ranges: list[Range] = []
        if cut is not None and unit.size > BATCH_BYTES and not unit.kept:
            with suppress(OSError):  # which reading it will report
                ranges = cut(source, unit, options, BATCH_BYTES)
        for one in ranges:
            yield msgspec.structs.replace(unit, range=one, size=one.end - one.start)
        if not ranges:
            yield unit


def batches(
    kind: str,
    source: str,
    options: Options,
    units: list[Unit],
    folder: Path,
    *,
    strict: bool,
    before: str = "",
) -> list[Batch]:
    """Files in order, and ranges of large ones, so that a batch is a few seconds of work."""
    groups: list[list[Unit]] = [[]]
    size = 0
    for unit in _ranges(importer(kind), source, options, units):
        is_full = len(groups[-1]) >= BATCH_FILES or size + unit.size > BATCH_BYTES
        if groups[-1] and is_full:
            groups.append([])
            size = 0
        groups[-1].append(unit)
        size += unit.size
    return [
        Batch(
            kind=kind,
            source=source,
            options=dict(options),
            number=number,
            units=tuple(group),
            folder=str(folder),
            strict=strict,
            before=before,
        )
        for number, group in enumerate(groups)
    ]
