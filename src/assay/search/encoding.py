"""The vectors of documents: made by several processes, and kept on disk as they are made.

Encoding is nearly all of the work of an index, so it is done in chunks. A chunk is encoded in a
process of its own (one thread each: two threads in one process are no quicker than one) and written
to a file that is named by the encoder and the texts; whoever is interrupted finds it again. Texts
that are the same are encoded once. A text's vector does not depend on what is encoded beside it, so
that chunks and processes change nothing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np

from assay.core import cluster
from assay.core.errors import EngineError
from assay.core.files import write_atomic
from assay.core.workers import Failure, Job, run_jobs
from assay.search.arrays import Floats
from assay.search.dense import SHIPPED, named_encoder
from assay.search.views import Parts

FOLDER = "encoding"  # beside the index, as long as vectors are made
CHUNK = 64  # texts (taste)
PARALLEL = 512  # texts from which on starting processes is worth it (taste)
MAX_WORKERS = 8  # processes that encode; chosen
WORKERS: int | None = None  # how many encode at once, if not as many as the machine has
# Encoders that ship and run a network. Others answer over the wire, bring threads of their own or
# are quick.
QUICK = ":StaticEncoder"
IN_PROCESSES = {name for name, path in SHIPPED.items() if not path.endswith(QUICK)}

Tick = Callable[[int, int], None]  # hears how many of how many texts are done


def encoded(name: str, texts: Sequence[Parts], keep: Path | None, tick: Tick) -> Floats:
    """A vector for each text, in their order. `keep` is a folder that chunks are taken from and
    kept in."""
    different = list(dict.fromkeys(texts))
    chunks = [different[start : start + CHUNK] for start in range(0, len(different), CHUNK)]
    # what is quick to make again is not worth a file
    keep = None if SHIPPED.get(name, "").endswith(QUICK) else keep
    files = [_file(keep, name, chunk) if keep else None for chunk in chunks]
    made: dict[int, Floats] = {}
    for number, file in enumerate(files):
        if (vectors := _read(file, len(chunks[number]))) is not None:
            made[number] = vectors
    done = sum(map(len, made.values()))
    tick(done, len(different))
    missing = [number for number in range(len(chunks)) if number not in made]
    for number, vectors in _encode_missing(name, chunks, missing):
        made[number] = vectors
        if (file := files[number]) is not None:
            _write(file, vectors)
        done += len(vectors)
        tick(done, len(different))
    if not chunks:
        return np.zeros((0, 1), np.float32)
    place = {parts: row for row, parts in enumerate(different)}
    rows = np.array([place[parts] for parts in texts], np.int64)
    every = np.concatenate([made[number] for number in range(len(chunks))])
    return np.asarray(every[rows])


def vectors_kept(folder: Path) -> int:
    """How many texts are encoded so far, about."""
    return CHUNK * sum(1 for _ in (folder / FOLDER).glob("*.npy"))


def forget(folder: Path) -> None:
    """The vectors are in the index now."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def encode_chunk(name: str, chunk: Sequence[Parts]) -> Floats:
    """What one process does."""
    return named_encoder(name).documents(chunk, lambda number: None)


def _encode_missing(
    name: str, chunks: Sequence[list[Parts]], missing: Sequence[int]
) -> Iterator[tuple[int, Floats]]:
    texts = sum(len(chunks[number]) for number in missing)
    workers = min(WORKERS or min(os.cpu_count() or 1, MAX_WORKERS), len(missing))
    if not cluster.is_on() and (name not in IN_PROCESSES or texts < PARALLEL or workers < 2):
        for number in missing:
            yield number, encode_chunk(name, chunks[number])
        return
    jobs = [Job(encode_chunk, (name, chunks[number])) for number in missing]
    with closing(run_jobs(jobs, at_once=workers)) as answers:
        yield from _checked(name, missing, answers)


def _checked(
    name: str,
    missing: Sequence[int],
    answers: Generator[tuple[int, Floats | Failure]],
) -> Iterator[tuple[int, Floats]]:
    for place, answer in answers:
        if isinstance(answer, Failure):
            raise answer.error or EngineError(f"{name} failed: {answer.message}")
        yield missing[place], answer


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _file(folder: Path, name: str, chunk: Sequence[Parts]) -> Path:
    digest = hashlib.blake2b(msgspec.msgpack.encode([name, chunk]), digest_size=12)
    return folder / f"{digest.hexdigest()}.npy"


def _read(file: Path | None, size: int) -> Floats | None:
    """None where it is not there, or not whole: it is made again."""
    if file is None or not file.exists():
        return None
    try:
        vectors: Floats = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return vectors if vectors.ndim == 2 and len(vectors) == size else None


def _write(file: Path, vectors: Floats) -> None:
    payload = BytesIO()
    np.lib.format.write_array(payload, vectors, allow_pickle=False)
    write_atomic(file, payload.getvalue())
