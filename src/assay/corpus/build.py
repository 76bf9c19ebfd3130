"""Import a source as a corpus: read it into parts, merge them, resolve citations, and replace the
old corpus in one step.

**Reading** is cut into batches of files that any process can read (parts.py). A batch leaves parts,
each finished by a marker, so that an import that was killed goes on after the last marker, and it
does not matter who reads what: parts are numbered by batch and not by time.

**Merging.** Parts in the order of their numbers are the corpus in the order of the source, and a
row is a document's place in that order. Of documents with one id the first in this order is kept,
so that one process and four give the same corpus; a part that loses rows is written again beside
itself with the rows that stay, and its citations are numbered anew. Only then are citations
resolved, since every document must be known for that. The fingerprint is a hash over (id, content)
in the order of ids: the same documents from elsewhere, or in another order, are the same corpus.

**Switching.** All of this happens in `building/`. It is renamed to a data folder with a name of its
own, and then the manifest, which names that folder, is replaced in one step: readers have the old
corpus or the new one. An unchanged source is recognised by path, size and time of its files (by
content where only the time differs) and not read again; where only some files have changed, an
importer that is `INCREMENTAL` takes the others from the corpus as it is.

**Limits.** Files that could need far more memory or time than their size tells (PDF, Word, HTML,
archives, anything large) are read by worker processes with limits for each file. A file that goes
over a limit, or ends the process, becomes a problem, and its batch is read again without it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np
import polars as pl

from assay.core import conninfo
from assay.core.errors import AssayError, InputError
from assay.core.files import os_message, sha256_of, write_atomic
from assay.core.redaction import without_password
from assay.core.workers import Failure, Job, run_jobs
from assay.corpus import citations as resolve
from assay.corpus import disk
from assay.corpus.citations import Resolver, write_graph
from assay.corpus.copies import copies_among
from assay.corpus.disk import (
    FORMAT,
    MANIFEST,
    Corpus,
    Manifest,
    PartFile,
    corpus_path,
    fingerprint_of,
    read_arrow,
    write_ids,
)
from assay.corpus.importers.kinds import (
    Importer,
    Options,
    Problem,
    Reading,
    Unit,
    importer,
    path_of,
    refuse_unknown,
)
from assay.corpus.parts import (
    Batch,
    batches,
    finished_parts,
    hashes_read,
    is_finished,
    mentions_path,
    part_stem,
    read_batch,
    write_arrow,
)

Progress = Callable[[str, int, int], None]  # stage, done, total
# Below this, starting workers costs more than it saves (taste; one takes 0.1 s, decision 10).
PARALLEL_BYTES = 32 * 2**20
MAX_WORKERS = 4  # taste: merging and resolving are done by one process all the same
WORKERS: int | None = None  # how many read at once, if not as many as the machine and size suggest
# What may need far more memory than its size, and what is read in this process at most (taste).
COMPLEX = (".pdf",)  # and every file of an importer that is ISOLATED
SIMPLE_BYTES = 16 * 2**20
STARTING_SECONDS = 60.0  # for a worker process to begin (taste)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most that reading one file may take."""

    seconds: float = 60.0
    megabytes: int = 2048


LIMITS = Limits()


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an import. `unchanged` means that the corpus was already this one."""

    name: str
    fingerprint: str
    documents: int
    unchanged: bool
    seconds: float
    problems: dict[str, int]
    citations: dict[str, int]
    resumed: int = 0
    kept: int = 0  # files that had not changed


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Source, kind, options and versions of an import: two imports with one recipe and the same
    files give the same corpus."""

    kind: str
    source: str
    options: Options
    versions: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class _Building:
    """An import under way."""

    name: str
    path: Path  # of the corpus
    folder: Path  # where it is built
    recipe: Recipe
    reader: Importer
    units: list[Unit]
    began: float


def import_corpus(
    kind: str,
    source: str | Path,
    *,
    name: str,
    home: Path | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
    strict: bool = False,
    limits: Limits = LIMITS,
) -> ImportReport:
    """Import `source` as the corpus `name`. Bad records are counted and kept; `strict` stops at the
    first."""
    began = time.perf_counter()
    tell = progress or (lambda stage, done, total: None)
    path = corpus_path(home, name)
    source = str(source)
    options = dict(options or {})
    reader = importer(kind)
    refuse_unknown(kind, options)
    units = reader.units(source, options)
    recipe = _recipe(kind, source, options, reader)
    with _exclusive_import(path):
        if (known := _unchanged_manifest(path, recipe, source, units)) is not None:
            return _report(known, began, unchanged=True)
        existing = disk.open_path(path) if _is_readable(path) else None
        before = existing.fingerprint if existing else ""
        if existing is not None and getattr(reader, "INCREMENTAL", False):
            units = _mark_unchanged(units, existing, recipe, source)
        building = _Building(
            name=name,
            path=path,
            folder=path / "building",
            recipe=recipe,
            reader=reader,
            units=units,
            began=began,
        )
        work = batches(
            kind,
            source,
            options,
            units,
            building.folder,
            strict=strict,
            before=str(existing.data_folder) if existing else "",
        )
        resumed = _prepare_folder(building, work)
        _read_all(work, building.folder, limits, tell)
        tell("indexing", 0, 1)
        corpus = _assemble_corpus(building, len(work))
        tell("indexing", 1, 1)
        report = _report(corpus.manifest, began, unchanged=corpus.fingerprint == before)
        kept = sum(unit.kept for unit in units)
        return msgspec.structs.replace(report, resumed=resumed, kept=kept)


def _report(manifest: Manifest, began: float, *, unchanged: bool) -> ImportReport:
    return ImportReport(
        name=manifest.name,
        fingerprint=manifest.fingerprint,
        documents=manifest.documents,
        unchanged=unchanged,
        seconds=time.perf_counter() - began,
        problems=manifest.problems,
        citations=manifest.citations,
    )


# ── before reading ────────────────────────────────────────────────────────────────────────────────


def _recipe(kind: str, source: str, options: Options, reader: Importer) -> Recipe:
    """The recipe of an import, without the password that a database address may hold."""
    is_address = "://" in source or conninfo.is_postgres(source)
    place = conninfo.without_secrets(source if is_address else str(Path(source).resolve()))
    options = {
        key: without_password(value) if isinstance(value, str) else value
        for key, value in options.items()
    }
    versions = {"format": FORMAT, "importer": reader.VERSION, "resolve": resolve.VERSION}
    return Recipe(kind=kind, source=place, options=options, versions=versions)


def _is_readable(path: Path) -> bool:
    try:
        return disk.open_path(path).data_folder.is_dir()
    except InputError:
        return False


def _unchanged_manifest(
    path: Path, recipe: Recipe, source: str, units: list[Unit]
) -> Manifest | None:
    """The manifest of the existing corpus, if an import would give the same one."""
    if not _is_readable(path):
        return None  # an older format or a damaged corpus is built anew
    corpus = disk.open_path(path)
    manifest = corpus.manifest
    before = _sources_before(corpus)
    if not _has_recipe(manifest, recipe) or len(before) != len(units):
        return None
    if NEEDS_EXTRA in manifest.problems:  # which may have been installed since
        return None
    is_same = all(_is_unchanged(unit, before, source) for unit in units)
    return manifest if is_same else None


NEEDS_EXTRA = "needs-extra"  # the code of a file that only an optional package can read
Known = dict[str, tuple[int, int, str]]  # path -> size, time and hash of a file that was read


def _has_recipe(manifest: Manifest, recipe: Recipe) -> bool:
    fields = recipe.__struct_fields__
    return all(getattr(recipe, field) == getattr(manifest, field) for field in fields)


def _sources_before(corpus: Corpus) -> Known:
    columns = ("path", "size", "mtime_ns", "sha256")
    sources = read_arrow(corpus.data_folder / "sources.arrow").select(columns)
    return {path: (size, mtime, digest) for path, size, mtime, digest in sources.iter_rows()}


def _is_unchanged(unit: Unit, before: Known, source: str) -> bool:
    size, mtime, digest = before.get(unit.path, (-1, -1, ""))
    if size != unit.size or unit.mtime_ns < 0:
        return False
    return mtime == unit.mtime_ns or sha256_of(path_of(source, unit)) == digest


def _mark_unchanged(units: list[Unit], corpus: Corpus, recipe: Recipe, source: str) -> list[Unit]:
    """The files, those marked as kept that the corpus has as they are. A file with a problem is
    read again."""
    if not _has_recipe(corpus.manifest, recipe):
        return units
    before = _sources_before(corpus)
    faulty = set[str]()
    for problem in corpus.problems():  # a fault inside an archive is one of the archive
        faulty |= {problem.where, *map(str, PurePosixPath(problem.where).parents)}
    replace = msgspec.structs.replace
    return [
        replace(unit, kept=True)
        if unit.path not in faulty and _is_unchanged(unit, before, source)
        else unit
        for unit in units
    ]


def _prepare_folder(building: _Building, work: list[Batch]) -> int:
    """Prepare the folder for the parts: empty, or as a killed import of the same recipe left it.
    Returns how many parts it has."""
    folder = building.folder
    read = [[(unit.path, unit.size, unit.mtime_ns) for unit in batch.units] for batch in work]
    key = sha256(msgspec.json.encode([building.recipe, read], order="deterministic")).hexdigest()
    marker = folder / "job"
    if not (marker.exists() and marker.read_text() == key):
        shutil.rmtree(folder, ignore_errors=True)
        write_atomic(marker, key)
    return sum(1 for _ in folder.glob("part-*.json"))


@contextmanager
def _exclusive_import(path: Path) -> Iterator[None]:
    """Hold the lock of a corpus: two imports at a time would overwrite each other's parts. A first
    import that fails leaves nothing behind; one that is killed leaves its parts, to resume from."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        held = (path / ".lock").open("w")
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", where=str(path)) from error
    try:
        with held as lock:
            with suppress(ImportError):
                import fcntl

                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise InputError(
                        "another import of this corpus is running",
                        where=str(path),
                        hint="Wait for it to end.",
                    ) from error
            try:
                yield
            except AssayError:
                if not (path / MANIFEST).exists():
                    _remove_traces(path)
                raise
    except (OSError, pl.exceptions.PolarsError) as error:
        message = os_message(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot import: {message}", where=str(path), hint="Is the disk full?"
        ) from error


def _remove_traces(path: Path) -> None:
    shutil.rmtree(path / "building", ignore_errors=True)
    with suppress(OSError):  # something else is here, or elsewhere an open file cannot go
        (path / ".lock").unlink()
        path.rmdir()


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def _read_all(work: list[Batch], folder: Path, limits: Limits, tell: Progress) -> None:
    waiting = [batch for batch in work if not is_finished(folder, batch.number)]
    total = sum(len(batch.units) for batch in work)
    done = total - sum(len(batch.units) for batch in waiting)
    under_way: dict[int, int] = {}  # files of each batch that is being read
    tell("reading", done, total)

    def heard(batch: int, reading: Reading) -> None:
        if reading.done >= 0:
            under_way[batch] = reading.done
            tell("reading", done + sum(under_way.values()), total)

    for batch in _read_batches(waiting, limits, heard):
        under_way.pop(batch.number, None)
        done += len(batch.units)
        tell("reading", done + sum(under_way.values()), total)


def _read_batches(
    waiting: list[Batch], limits: Limits, heard: Callable[[int, Reading], None]
) -> Iterator[Batch]:
    """Each batch as soon as it is read: in this process, or by workers where there is much to read
    or a file may need more than it shows."""
    workers = _workers(waiting)
    if workers < 2 and not _needs_worker(waiting):
        for batch in waiting:
            read_batch(batch)
            yield batch
        return
    while waiting:
        jobs = [
            Job(
                read_batch,
                (batch,),
                quiet=(STARTING_SECONDS + limits.seconds, limits.seconds),
                memory=limits.megabytes * 2**20,
            )
            for batch in waiting
        ]
        again: list[Batch] = []
        numbers = [batch.number for batch in waiting]
        answers = run_jobs(
            jobs,
            at_once=max(workers, 1),
            heard=lambda job, reading, numbers=numbers: heard(numbers[job], reading),  # type: ignore[misc]
        )
        with closing(answers):
            for number, answer in answers:
                if isinstance(answer, Failure):
                    again.append(_without_refused(waiting[number], answer, limits))
                else:
                    yield waiting[number]
        waiting = again


def _needs_worker(waiting: list[Batch]) -> bool:
    units = [unit for batch in waiting for unit in batch.units]
    is_isolated = bool(waiting) and getattr(importer(waiting[0].kind), "ISOLATED", False)
    is_complex = is_isolated or any(unit.path.lower().endswith(COMPLEX) for unit in units)
    return is_complex or sum(unit.size for unit in units) > SIMPLE_BYTES


def _without_refused(batch: Batch, failure: Failure, limits: Limits) -> Batch:
    """The batch to read again without the file that went over a limit; its parts are removed, since
    they may hold some of that file."""
    at = failure.noted
    unit = next((one for one in batch.units if at and _contains_path(one.path, at.path)), None)
    if failure.kind == "raised" or unit is None or at.path in unit.refused:
        raise _reading_error(batch, failure)
    reasons = {
        "silent": f"reading it took longer than {limits.seconds:g} s",
        "late": f"reading it took longer than {limits.seconds:g} s",
        "memory": f"reading it took more than {limits.megabytes:,} MB of memory",
    }
    ended = f"reading it ended the process that read it ({failure.message.rpartition('with ')[2]})"
    reason = reasons.get(failure.kind, f"{ended}: it is damaged, or needs too much memory")
    refused = msgspec.structs.replace(unit, refused={**unit.refused, at.path: reason}, kept=False)
    for part in Path(batch.folder).glob(f"part-{batch.number:05d}-*"):
        part.unlink()
    units = tuple(refused if one.path == unit.path else one for one in batch.units)
    return msgspec.structs.replace(batch, units=units)


def _contains_path(path: str, place: str) -> bool:
    return place == path or place.startswith(f"{path}/")


def _workers(waiting: list[Batch]) -> int:
    size = sum(unit.size for batch in waiting for unit in batch.units)
    suggested = min(os.cpu_count() or 1, MAX_WORKERS) if size >= PARALLEL_BYTES else 1
    return min(WORKERS or suggested, len(waiting))


def _reading_error(batch: Batch, failure: Failure) -> AssayError:
    if failure.error is not None:
        return failure.error
    place = failure.noted.path if failure.noted else f"{batch.units[0].path} or a file after it"
    if failure.kind == "raised":
        return AssayError(f"an importer failed on {place}: {failure.message}")
    return AssayError(f"a worker process ended while reading {place}: {failure.message}")


# ── merging and switching ─────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True)
class _Merged:
    """The documents of all parts, each id once."""

    parts: list[PartFile]
    first_seen: dict[str, tuple[str, str]]  # id -> its digest, and where it was read
    problems: list[Problem]
    copies: dict[str, int] = field(default_factory=dict)  # files, and of how many others


def _assemble_corpus(building: _Building, batch_count: int) -> Corpus:
    folder = building.folder
    has_copies = getattr(building.reader, "LEAVES_COPIES_OUT", False)
    merged = _merge_parts(folder, batch_count, has_copies=has_copies)
    if not merged.first_seen:
        raise _no_documents(merged.problems, building.recipe)
    ids = list(merged.first_seen)
    parts = tuple(merged.parts)
    write_ids(folder, ids)
    _write_sources(folder, building.units, hashes_read(folder, batch_count))
    lines = (msgspec.json.encode(problem) + b"\n" for problem in merged.problems)
    write_atomic(folder / "problems.jsonl", b"".join(lines))
    frames = [read_arrow(folder / part.file, Resolver.COLUMNS) for part in parts]
    resolver = Resolver.of_frames(frames, building.reader.SCHEME)
    citations = write_graph(folder, parts, resolver)
    fingerprint = fingerprint_of(ids, [digest for digest, _ in merged.first_seen.values()])
    manifest = Manifest(
        format=FORMAT,
        name=building.name,
        **msgspec.structs.asdict(building.recipe),
        scheme=building.reader.SCHEME,
        fingerprint=fingerprint,
        documents=len(ids),
        data_folder=f"data-{fingerprint[7:19]}-{time.time_ns():x}",
        parts=parts,
        fields=_fields_of(folder, parts),
        problems=dict(Counter(problem.code for problem in merged.problems)),
        citations=citations,
        seconds=round(time.perf_counter() - building.began, 3),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return _switch_to(building, manifest)


def _no_documents(problems: list[Problem], recipe: Recipe) -> InputError:
    hint = f"{len(problems):,} problems in all; the corpus was not changed."
    if not problems:
        return InputError("the source has no records", where=recipe.source, hint=hint)
    first = problems[0]
    return InputError(f"nothing could be imported: {first.reason}", where=first.where, hint=hint)


def _fields_of(folder: Path, parts: tuple[PartFile, ...]) -> tuple[str, ...]:
    """The names of the texts that some document has beside its text."""
    columns = {column for part in parts for column in pl.read_ipc_schema(folder / part.file)}
    fields = (column.removeprefix("fields.") for column in columns if column.startswith("fields."))
    return tuple(sorted(fields))


def _switch_to(building: _Building, manifest: Manifest) -> Corpus:
    path = building.path
    wanted = {part.file for part in manifest.parts}
    for file in building.folder.iterdir():
        is_leftover_part = file.name.startswith("part-") and file.name not in wanted
        if is_leftover_part or file.suffix in (".mentions", ".json", ""):
            file.unlink()
    building.folder.rename(path / manifest.data_folder)
    Corpus(path, manifest).complete()
    write_atomic(path / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    for old in path.glob("data-*"):
        if old.name != manifest.data_folder:
            shutil.rmtree(old, ignore_errors=True)
    return Corpus(path, manifest)


def _merge_parts(folder: Path, batch_count: int, *, has_copies: bool) -> _Merged:
    """Merge the parts. Of documents with the same id the first is kept; parts that hold another are
    written again without it, and without the documents of files that are copies of others."""
    merged = _Merged(parts=[], first_seen={}, problems=[])
    stems = [
        part_stem(batch, number)
        for batch in range(batch_count if has_copies else 0)
        for number, done in enumerate(finished_parts(folder, batch))
        if done.rows
    ]
    columns = ["source", "text"]
    texts = (read_arrow(folder / f"{stem}.arrow", columns).select(columns) for stem in stems)
    merged.copies = copies_among(texts) if stems else {}
    repeated: list[Problem] = []  # after what could not be read, as they are found later
    for batch in range(batch_count):
        for number, done in enumerate(finished_parts(folder, batch)):
            merged.problems += done.problems
            if done.rows:
                _merge_part(folder, part_stem(batch, number), merged, repeated)
    merged.problems += repeated
    for path, count in merged.copies.items():
        reason = f"it is {count:,} other files one after the other, and those are kept"
        merged.problems.append(Problem(code="skipped", where=path, reason=reason))
    return merged


def _merge_part(folder: Path, stem: str, merged: _Merged, repeated: list[Problem]) -> None:
    columns = ["id", "digest", "source"]
    rows = read_arrow(folder / f"{stem}.arrow", columns).select(columns).rows()
    keep = []
    for doc_id, digest, origin in rows:
        if origin in merged.copies:
            keep.append(False)
            continue
        is_new = doc_id not in merged.first_seen
        keep.append(is_new)
        if is_new:
            merged.first_seen[doc_id] = (digest, origin)
        else:
            repeated.append(_duplicate_problem(doc_id, digest, origin, *merged.first_seen[doc_id]))
    if any(keep):
        kept = stem if all(keep) else _keep_rows(folder, stem, keep)
        merged.parts.append(PartFile(f"{kept}.arrow", sum(keep)))


def _duplicate_problem(
    doc_id: str, digest: str, origin: str, first: str, first_origin: str
) -> Problem:
    code = "duplicate" if digest == first else "duplicate-id"
    same = "with the same content" if digest == first else "with other content"
    reason = f"the id {doc_id!r} was read before {same}, from {first_origin}; the first is kept"
    return Problem(code=code, where=origin, reason=reason)


def _keep_rows(folder: Path, stem: str, keep: list[bool]) -> str:
    """Write a copy of a part with some of its rows. The part itself stays, so that an import can
    resume from here."""
    kept = pl.Series(keep)
    new_row = pl.Series(np.cumsum(keep) - 1)
    mentions = read_arrow(mentions_path(folder, stem))
    mentions = mentions.filter(kept.gather(mentions["row"]))
    renumbered = mentions.with_columns(row=new_row.gather(mentions["row"]))
    write_arrow(renumbered, mentions_path(folder, f"{stem}-kept"))
    write_arrow(read_arrow(folder / f"{stem}.arrow").filter(kept), folder / f"{stem}-kept.arrow")
    return f"{stem}-kept"


def _write_sources(folder: Path, units: list[Unit], hashes: dict[str, str]) -> None:
    frame = pl.DataFrame(
        {
            "path": [unit.path for unit in units],
            "size": [unit.size for unit in units],
            "mtime_ns": [unit.mtime_ns for unit in units],
            "sha256": [hashes.get(unit.path, "") for unit in units],
        },
        schema={"path": pl.String, "size": pl.Int64, "mtime_ns": pl.Int64, "sha256": pl.String},
    )
    write_arrow(frame, folder / "sources.arrow")
