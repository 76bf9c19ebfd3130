"""Importing: read a source into parts, index them, resolve citations, and put the result in place
in one step.

An unchanged source is recognised by path, size and time of its files (by content where only the
time differs) and not read again. A killed import leaves the corpus as it was, and parts that the
next import of the same source takes up."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from assay.core.errors import AssayError, InputError
from assay.core.files import sha256_of, write_atomic
from assay.core.workers import Failure, Job, run_jobs
from assay.corpus import disk
from assay.corpus.disk import (
    FORMAT,
    MANIFEST,
    Corpus,
    Manifest,
    Part,
    corpus_path,
    fingerprint_of,
    id_hash,
    read_arrow,
)
from assay.corpus.graph import link
from assay.corpus.importers.source import Problem, Unit, importer, path_of, refuse_unknown
from assay.corpus.parts import (
    Batch,
    Done,
    batches,
    finished_parts,
    is_finished,
    part_stem,
    read_batch,
    write_arrow,
)
from assay.corpus.resolve import VERSION as RESOLVE_VERSION
from assay.corpus.resolve import Resolver

Progress = Callable[[str, int, int], None]  # stage, done, total
PARALLEL_BYTES = 32 * 2**20  # below this, starting workers costs more than it saves


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did. `unchanged` means that the corpus was already this one."""

    name: str
    fingerprint: str
    documents: int
    unchanged: bool
    seconds: float
    problems: dict[str, int]
    citations: dict[str, int]
    resumed: int = 0


def import_corpus(
    kind: str,
    source: str | Path,
    *,
    name: str,
    home: Path | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    strict: bool = False,
    jobs: int | None = None,
) -> ImportReport:
    """Import `source` as the corpus `name`. Bad records are counted and kept; `strict` stops at the
    first."""
    began = time.perf_counter()
    tell = progress or (lambda stage, done, total: None)
    path = corpus_path(home, name)
    source, options = str(source), dict(options or {})
    reader = importer(kind)
    refuse_unknown(kind, options)
    units = reader.units(source, options)
    versions = {"format": FORMAT, "importer": reader.VERSION, "resolve": RESOLVE_VERSION}
    with _only_one(path):
        job = _job(kind, source, options, versions)
        if (known := _unchanged(path, job, source, units)) is not None:
            return _report(known, began, unchanged=True)
        before = disk.open_path(path).fingerprint if _readable(path) else ""
        folder = path / "building"
        resumed = _prepare(folder, job, units)
        work = batches(kind, source, options, units, folder)
        _read_all(
            [msgspec.structs.replace(batch, strict=strict) for batch in work], folder, jobs, tell
        )
        tell("indexing", 0, 1)
        corpus = _finish(path, folder, name, job, reader.SCHEME, units, len(work), began)
        tell("indexing", 1, 1)
        report = _report(corpus.manifest, began, unchanged=corpus.fingerprint == before)
        return msgspec.structs.replace(report, resumed=resumed)


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


# ── is there anything to do ───────────────────────────────────────────────────────────────────────


def _job(
    kind: str, source: str, options: dict[str, Any], versions: dict[str, int]
) -> dict[str, Any]:
    safe = re.sub(
        r"(//[^:/@]*):[^@/]*@", r"\1:***@", source
    )  # a database address may hold a password
    place = safe if "://" in safe else str(Path(safe).resolve())
    return {"kind": kind, "source": place, "options": options, "versions": versions}


def _readable(path: Path) -> bool:
    try:
        return disk.open_path(path).data.is_dir()
    except InputError:
        return False


def _unchanged(path: Path, job: dict[str, Any], source: str, units: list[Unit]) -> Manifest | None:
    if not _readable(path):
        return None  # an older format or a damaged corpus is built anew
    corpus = disk.open_path(path)
    known = read_arrow(corpus.data / "sources.arrow")
    manifest = corpus.manifest
    if any(job[key] != getattr(manifest, key) for key in job):
        return None
    if known.height != len(units) or any(unit.mtime_ns < 0 for unit in units):
        return None
    before = {
        row[0]: row[1:] for row in known.select("path", "size", "mtime_ns", "sha256").iter_rows()
    }
    for unit in units:
        size, mtime, digest = before.get(unit.path, (-1, -1, ""))
        if size != unit.size:
            return None
        if mtime != unit.mtime_ns and sha256_of(path_of(source, unit)) != digest:
            return None
    return manifest


def _prepare(folder: Path, job: dict[str, Any], units: list[Unit]) -> int:
    """An empty folder for the parts, or the one a killed import left, if it was this import; how
    many parts it has."""
    key = sha256(
        msgspec.json.encode(
            [job, [(u.path, u.size, u.mtime_ns) for u in units]], order="deterministic"
        )
    )
    marker = folder / "job"
    if not (marker.exists() and marker.read_text() == key.hexdigest()):
        shutil.rmtree(folder, ignore_errors=True)
        write_atomic(marker, key.hexdigest())
    return sum(1 for _ in folder.glob("part-*.json"))


@contextmanager
def _only_one(path: Path) -> Any:
    """Two imports of one corpus at a time would tread on each other's parts."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", where=str(path)) from error
    with (path / ".lock").open("w") as lock:
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
        yield


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def _read_all(work: list[Batch], folder: Path, jobs: int | None, tell: Progress) -> None:
    open_work = [batch for batch in work if not is_finished(folder, batch.number)]
    total = sum(len(batch.units) for batch in work)
    done = total - sum(len(batch.units) for batch in open_work)
    tell("reading", done, total)
    size = sum(unit.size for batch in open_work for unit in batch.units)
    workers = min(jobs or min(os.cpu_count() or 1, 4), len(open_work))
    if workers < 2 or (jobs is None and size < PARALLEL_BYTES):
        for batch in open_work:
            read_batch(batch)
            done += len(batch.units)
            tell("reading", done, total)
        return
    jobs_of_batches = [Job(read_batch, (batch,)) for batch in open_work]
    with closing(run_jobs(jobs_of_batches, at_once=workers)) as answers:
        for number, answer in answers:
            if isinstance(answer, Failure):
                raise _cannot_read(open_work[number], answer)
            done += len(open_work[number].units)
            tell("reading", done, total)


def _cannot_read(batch: Batch, failure: Failure) -> AssayError:
    if failure.error is not None:
        return failure.error
    place = f"{batch.units[0].path} or a file after it"
    if failure.kind == "raised":
        return AssayError(f"an importer failed on {place}: {failure.message}")
    return AssayError(f"a worker process ended while reading {place}")


# ── putting together ──────────────────────────────────────────────────────────────────────────────


def _finish(
    path: Path,
    folder: Path,
    name: str,
    job: dict[str, Any],
    scheme: Any,
    units: list[Unit],
    n: int,
    began: float,
) -> Corpus:
    done = [
        (part_stem(b, p), part)
        for b in range(n)
        for p, part in enumerate(finished_parts(folder, b))
    ]
    problems = [problem for _, part in done for problem in part.problems]
    parts, ids, digests = _without_duplicates(folder, done, problems)
    if not ids:
        first = problems[0] if problems else None
        raise InputError(
            f"nothing could be imported: {first.reason}"
            if first
            else "the source holds no records",
            where=first.where if first else job["source"],
            hint=f"{len(problems):,} problems in all; the corpus was not changed.",
        )
    _write_index(folder, ids)
    _write_sources(folder, units, n)
    write_atomic(
        folder / "problems.jsonl",
        b"".join(msgspec.json.encode(problem) + b"\n" for problem in problems),
    )
    frames = [read_arrow(folder / part.file, Resolver.COLUMNS) for part in parts]
    resolver = Resolver.of_frames(frames, scheme)
    counts = link(folder, parts, resolver)
    columns = {column for part in parts for column in pl.read_ipc_schema(folder / part.file)}
    fields = sorted(
        column.removeprefix("fields.") for column in columns if column.startswith("fields.")
    )
    fingerprint = fingerprint_of(ids, digests)
    manifest = Manifest(
        format=FORMAT,
        name=name,
        **job,
        scheme=scheme,
        fingerprint=fingerprint,
        documents=len(ids),
        data=f"data-{fingerprint[7:19]}-{time.time_ns():x}",
        parts=parts,
        fields=tuple(fields),
        problems=dict(Counter(problem.code for problem in problems)),
        citations=counts,
        seconds=round(time.perf_counter() - began, 3),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return _put_in_place(path, folder, manifest)


def _put_in_place(path: Path, folder: Path, manifest: Manifest) -> Corpus:
    wanted = {part.file for part in manifest.parts}
    for file in folder.iterdir():
        if file.suffix in (".mentions", ".json", "") or (
            file.name.startswith("part-") and file.name not in wanted
        ):
            file.unlink()
    folder.rename(path / manifest.data)
    write_atomic(path / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    for old in path.glob("data-*"):
        if old.name != manifest.data:
            shutil.rmtree(old, ignore_errors=True)
    return Corpus(path, manifest)


def _without_duplicates(
    folder: Path, done: list[tuple[str, Done]], problems: list[Problem]
) -> tuple[tuple[Part, ...], list[str], list[str]]:
    """Of documents with the same id the first is kept; the parts that hold another are written
    again without it."""
    seen: dict[str, tuple[str, str]] = {}
    parts: list[Part] = []
    for stem, part in done:
        if not part.rows:
            continue
        rows = (
            read_arrow(folder / f"{stem}.arrow", ["id", "digest", "source"])
            .select("id", "digest", "source")
            .rows()
        )
        keep = []
        for doc_id, digest, origin in rows:
            keep.append(doc_id not in seen)
            if doc_id not in seen:
                seen[doc_id] = (digest, origin)
            else:
                problems.append(_duplicate(doc_id, digest, origin, *seen[doc_id]))
        if not any(keep):
            continue
        if not all(keep):
            stem = _keep_rows(folder, stem, np.array(keep))
        parts.append(Part(f"{stem}.arrow", sum(keep)))
    return tuple(parts), list(seen), [digest for digest, _ in seen.values()]


def _duplicate(doc_id: str, digest: str, origin: str, first: str, first_origin: str) -> Problem:
    same = "with the same content" if digest == first else "with other content"
    reason = f"the id {doc_id!r} was read before {same}, from {first_origin}; the first is kept"
    return Problem(
        code="duplicate" if digest == first else "duplicate-id", where=origin, reason=reason
    )


def _keep_rows(folder: Path, stem: str, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """A copy of a part with some rows. The part itself stays, for an import that goes on from
    here."""
    kept = pl.Series(keep)
    renumber = pl.Series(np.cumsum(keep) - 1)
    mentions = read_arrow(folder / f"{stem}.mentions")
    mentions = mentions.filter(kept.gather(mentions["row"]))
    write_arrow(
        mentions.with_columns(row=renumber.gather(mentions["row"])),
        folder / f"{stem}-kept.mentions",
    )
    write_arrow(read_arrow(folder / f"{stem}.arrow").filter(kept), folder / f"{stem}-kept.arrow")
    return f"{stem}-kept"


def _write_index(folder: Path, ids: list[str]) -> None:
    hashes = np.array([id_hash(doc_id) for doc_id in ids], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    np.save(folder / "ids.hash.npy", hashes[order])
    np.save(folder / "ids.row.npy", order.astype(np.int64))


def _write_sources(folder: Path, units: list[Unit], n: int) -> None:
    hashes: dict[str, str] = {}
    for number in range(n):
        hashes |= msgspec.json.decode((folder / f"batch-{number:05d}.json").read_bytes())
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
