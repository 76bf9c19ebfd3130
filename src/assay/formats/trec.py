"""Read and write TREC files: runs (`query Q0 doc rank score tag`), qrels (`query 0 doc grade`) and
a topics TSV beside the qrels.

Files are read in blocks, so memory follows the columns kept and not the file. A block that is not
perfectly regular is read again line by line, which finds the exact line to complain about."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple, TypeVar

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.files import (
    MAX_LINE_BYTES,
    decode_line,
    empty_file,
    iter_lines,
    too_long,
    unreadable_file,
    write_atomic,
)
from assay.core.runs import (
    Block,
    RankedColumns,
    grouped_by_query,
    has_split_query,
    ranked,
    repeated_pairs,
    run_from_ranked,
    run_from_scores,
)
from assay.core.types import GoldSet, Query, Run, judgment_frame
from assay.formats.schema import grade_of, judged_twice
from assay.formats.spreadsheet import guard_cell, unguard_cell

BLOCK_BYTES = 8 * 2**20  # read at a time by each worker; other sizes took longer (decision 14)
TAIL_BYTES = 2**17  # where the end of a query is looked for first (taste)
PIECE_BYTES = 2**17  # taste: what is looked at byte by byte stays in the processor's cache
# one more than cores, as one waits while the reader has its own threads; at most 4 by taste
WORKERS = min(4, (os.cpu_count() or 1) + 1)
BLANK = " \t\n\r\v\f"  # what lies between two fields, as for trec_eval
FIELD = re.compile(f"[^{BLANK}]+")

RUN_FIELDS = ("query", "Q0", "document", "rank", "score", "tag")
NOT_TREC = "A run is read as TREC unless its ending is .json, or that of an installed format."
QRELS_FIELDS = ("query", "iteration", "document", "grade")

T = TypeVar("T")


def read_run(path: Path) -> Run:
    seen: set[str] = set()
    parts: list[RankedColumns] = []
    tag = ""
    for block_tag, part in scan_run(path, ranked):
        if has_split_query(part.block.queries, seen):  # its lines are gathered first
            every = list(scan_run(path, lambda block: block))
            tag = next((block_tag for block_tag, _ in every if block_tag), "")
            return run_from_scores(tag, *_one_block([block for _, block in every]))
        tag = tag or block_tag
        parts.append(part)
    return run_from_ranked(tag, parts)


def scan_run(path: Path, work: Callable[[Block], T]) -> Iterator[tuple[str, T]]:
    """(tag, what `work` made of a block of lines), in the order of the file. The lines of a query
    are in one block where they are together in the file. Blocks are worked on by several threads,
    and only a few are in memory at a time."""

    def process(block: Block) -> T:
        if block.scores.is_nan().any():
            raise _not_a_number(path)
        return work(block)

    yield from _scan(path, _RUN, process)


def _one_block(blocks: Sequence[Block]) -> Block:
    queries, lengths, documents, scores = zip(*blocks, strict=True)
    return Block(
        list(chain.from_iterable(queries)),
        np.concatenate(lengths),
        pl.concat(documents, rechunk=False),
        pl.concat(scores, rechunk=False),
    )


def _not_a_number(path: Path) -> InputError:
    line = next(n for n, fields in _fields(path, RUN_FIELDS) if math.isnan(float(fields[4])))
    return InputError(
        "the score is NaN", where=f"{path}:{line}", hint="Every score must be a number."
    )


def read_gold(path: Path) -> GoldSet:
    """A qrels file; query texts come from `NAME.topics.tsv` beside it when there is one."""
    read = _one_block([block for _, block in _scan(path, _QRELS, lambda block: block)])
    names = pl.Series(read.queries, dtype=pl.String).cast(pl.Categorical)
    query_ids = names.gather(np.repeat(np.arange(len(read.lengths)), read.lengths))
    judgments = judgment_frame(query_ids, read.documents, read.scores)
    if (read.scores.abs() > 99).any():
        line = next(n for n, fields in _fields(path, QRELS_FIELDS) if abs(float(fields[3])) > 99)
        raise InputError("the grade is not between -99 and 99", where=f"{path}:{line}")
    whole = grouped_by_query(read)
    if repeated_pairs(whole.queries, whole.lengths, whole.documents).size:
        raise _find_duplicate(path)
    topics = _read_topics(topics_path(path))
    queries = tuple(
        Query(id=query_id, text=topics.pop(query_id, ""))
        for query_id in dict.fromkeys(read.queries)
    )
    queries += tuple(Query(id=query_id, text=text) for query_id, text in topics.items())
    return GoldSet(name=path.stem, queries=queries, judgments=judgments)


def write_gold(gold: GoldSet, path: Path) -> list[Path]:
    rows = gold.judgments.select("query_id", "doc_id", "grade").iter_rows()
    lines = []
    for query_id, doc_id, grade in rows:
        _refuse_spaces(query_id, doc_id)
        lines.append(f"{query_id} 0 {doc_id} {grade}\n")
    write_atomic(path, "".join(lines))
    topics = topics_path(path)
    texts = ((query.id, guard_cell(_one_line(query))) for query in gold.queries)
    write_atomic(topics, "".join(f"{query_id}\t{text}\n" for query_id, text in texts))
    return [path, topics]


def write_run(run: Run, path: Path) -> None:
    lines = []
    tag = run.engine.replace(" ", "_")
    for query_id in run.rows_by_query:
        doc_ids = run.doc_ids(query_id)
        for rank, doc_id in enumerate(doc_ids, start=1):
            _refuse_spaces(query_id, doc_id)
            # readers order by score, so the engine's order is written as one
            lines.append(f"{query_id} Q0 {doc_id} {rank} {len(doc_ids) - rank + 1} {tag}\n")
    write_atomic(path, "".join(lines))


def topics_path(qrels: Path) -> Path:
    return qrels.with_name(f"{qrels.stem}.topics.tsv")


def _read_topics(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    topics: dict[str, str] = {}
    for number, line in iter_lines(path):
        query_id, tab, text = line.partition("\t")
        if not tab:
            raise InputError("expected: query id, a tab, query text", where=f"{path}:{number}")
        if query_id in topics:
            raise InputError(f"query {query_id!r} appears twice", where=f"{path}:{number}")
        topics[query_id] = unguard_cell(text)
    return topics


def _one_line(query: Query) -> str:
    return " ".join(query.text.split())


def _refuse_spaces(*ids: str) -> None:
    for name in ids:
        if not name or any(character.isspace() for character in name):
            raise InputError(
                f"the id {name!r} cannot be written to a TREC file: it is empty or has a space",
                hint="Use another format, such as json or csv.",
            )


# ── blocks ────────────────────────────────────────────────────────────────────────────────────────


class _Shape(NamedTuple):
    """The fields of a kind of file, and the number among them that is read."""

    names: tuple[str, ...]
    value: int
    dtype: type[pl.DataType]


_RUN = _Shape(RUN_FIELDS, 4, pl.Float64)
_QRELS = _Shape(QRELS_FIELDS, 3, pl.Int32)


def _scan(path: Path, shape: _Shape, work: Callable[[Block], T]) -> Iterator[tuple[str, T]]:
    """(tag, what `work` made of a block) in the order of the file. The scores of a block are the
    numbers that the shape of the file names."""

    def process(raw: bytes) -> tuple[str, T | None, int]:
        tag, block, lines = _parse_block(raw, shape)
        return tag, None if block is None else work(block), lines

    line, empty = 1, True
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        for raw, (tag, done, lines) in _in_order(pool, _blocks(path), process):
            if done is None:
                tag, block = _parse_lines(path, raw, line, shape)
                done = work(block)
                empty = empty and not block.queries
            else:
                empty = False
            yield tag, done
            line += lines
    if empty:
        raise empty_file(path)


def _in_order(
    pool: ThreadPoolExecutor, blocks: Iterator[bytes], work: Callable[[bytes], T]
) -> Iterator[tuple[bytes, T]]:
    """(block, what `work` made of it) in the order of the file; a few blocks are in memory at a
    time."""
    waiting: deque[tuple[bytes, Future[T]]] = deque()
    for block in blocks:
        waiting.append((block, pool.submit(work, block)))
        if len(waiting) > WORKERS:
            first, made = waiting.popleft()
            yield first, made.result()
    for first, made in waiting:
        yield first, made.result()


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, about BLOCK_BYTES at a time, cut where a query ends. The cut is looked for
    first, so that what is read is a block as it stands."""
    begin = line = 0  # where the block begins, and the last line seen
    try:
        with path.open("rb", buffering=0) as opened, _seekable(opened) as stream:
            size, end = stream.seek(0, os.SEEK_END), 0
            while begin < size:
                end = min(end + BLOCK_BYTES, size)
                for back in (min(TAIL_BYTES, BLOCK_BYTES), BLOCK_BYTES):
                    start = max(begin, end - back)
                    tail = _read_range(stream, start, end)
                    lines = tail.rfind(b"\n") + 1
                    cut = _last_query(tail, lines)
                    if cut:
                        break
                line = start + lines if lines else line
                if end - line > MAX_LINE_BYTES:
                    raise too_long(path, _read_range(stream, 0, line).count(b"\n") + 1)
                cut = size if end == size else start + cut if cut else 0
                if cut:
                    block = _read_range(stream, begin, cut)
                    yield block.removeprefix(b"\xef\xbb\xbf") if begin == 0 else block
                    begin = end = cut
    except OSError as error:
        raise unreadable_file(path, error) from error


def _read_range(stream: IO[bytes], begin: int, end: int) -> bytes:
    stream.seek(begin)
    return stream.read(end - begin)


@contextmanager
def _seekable(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file itself; a pipe is written to disk first."""
    if stream.seekable():
        yield stream
        return
    with TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        yield copy


def _last_query(read: bytes, end: int) -> int:
    """The offset at which the lines of the last query begin, among the whole lines before `end`; 0
    where they may have begun before. Where the query has lines further up too, it is cut above
    those."""
    start = read.rfind(b"\n", 0, max(end - 1, 0)) + 1
    query = next(iter(read[start:end].split(None, 1)), b"")
    if not start or not query:
        return start
    seen = [read.find(b"\n" + query + blank, 0, start) for blank in (b" ", b"\t")]
    first = min((place + 1 for place in seen if place >= 0), default=start)
    # the line before it may be cut in two: then it may be the query's too
    return first if read.rfind(b"\n", 0, first - 1) >= 0 else 0


def _parse_block(block: bytes, shape: _Shape) -> tuple[str, Block | None, int]:
    """The tag of a block and the block by the fast reader, or None when a line does not have
    exactly its fields with one separator each; and how many lines it has."""
    width, value = len(shape.names), shape.value
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    head = block[: block.find(b"\n")]
    separator = "\t" if b"\t" in head else " "
    blanks = _single_blanks(block)
    is_regular = blanks is not None and (separator == "\t" or b"\t" not in block)
    if not is_regular or (b"#" in block and (block.startswith(b"#") or b"\n#" in block)):
        return "", None, _lines_in(block)
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(shape.names, pl.String)
    schema[shape.names[value]] = shape.dtype
    try:
        frame = pl.read_csv(
            block,
            separator=separator,
            has_header=False,
            quote_char=None,
            columns=[0, 2, value],
            schema=schema,  # one that is guessed from the first line takes an eighth longer
        )
    except (pl.exceptions.PolarsError, UnicodeError):
        return "", None, _lines_in(block)
    ended = frame.height if block.endswith(b"\n") else frame.height - 1
    if blanks != (width - 1) * frame.height + ended or any(column.null_count() for column in frame):
        return "", None, _lines_in(block)
    tag = head.decode("utf-8", "replace").rpartition(separator)[2]
    return tag, _block_of(*frame.get_columns()), frame.height


def _lines_in(block: bytes) -> int:
    return block.count(b"\n") + (not block.endswith(b"\n"))


def _single_blanks(block: bytes) -> int | None:
    """How many blanks and ends of lines there are; None where one is next to another: an empty
    field, which moves the rest. Where all lines together have as many as they should, what is not
    seen, such as a tab among spaces, leaves another field of that line without its number."""
    raw = np.frombuffer(block, np.uint8)
    blanks = 0
    for start in range(0, len(raw), PIECE_BYTES):
        blank = raw[start : start + PIECE_BYTES + 1] <= ord(" ")  # with the first of the next
        if (blank[:-1] & blank[1:]).any():
            return None
        blanks += int(np.count_nonzero(blank[:PIECE_BYTES]))
    return blanks


def _block_of(queries: pl.Series, documents: pl.Series, values: pl.Series) -> Block:
    coded = queries.rle().struct.unnest()
    lengths = coded["len"].to_numpy().astype(np.int64)
    return Block(coded["value"].to_list(), lengths, documents, values)


def _parse_lines(path: Path, block: bytes, first: int, shape: _Shape) -> tuple[str, Block]:
    rows: list[tuple[str, str, float]] = []
    for number, raw in enumerate(block.split(b"\n"), start=first):
        if not raw.strip() or raw.lstrip().startswith(b"#"):
            continue
        fields = _split_fields(decode_line(raw, path, number), shape.names)
        score = _parse_value(f"{path}:{number}", fields, shape)
        rows.append((fields[0], fields[2], score))
    queries, documents, values = ([row[i] for row in rows] for i in range(3))
    return fields[-1] if rows else "", _block_of(
        pl.Series(queries, dtype=pl.String),
        pl.Series(documents, dtype=pl.String),
        pl.Series(values, dtype=shape.dtype),
    )


def _parse_value(where: str, fields: list[str], shape: _Shape) -> float:
    names, value = shape.names, shape.value
    if len(fields) != len(names):
        raise InputError(
            f"{len(fields)} fields, expected {len(names)}: {' '.join(names)}",
            where=where,
            hint=NOT_TREC if names is RUN_FIELDS else "",
        )
    if shape.dtype == pl.Int32:
        return grade_of(fields[value], where)
    try:
        return float(fields[value])
    except ValueError as error:
        raise InputError(
            f"the {names[value]} {fields[value]!r} is not a number", where=where
        ) from error


def _split_fields(line: str, names: tuple[str, ...]) -> list[str]:
    by_tab = line.strip("\r\n").split("\t")
    return by_tab if len(by_tab) == len(names) else FIELD.findall(line)


def _fields(path: Path, names: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    for number, line in iter_lines(path):
        if not line.lstrip(BLANK).startswith("#"):
            yield number, _split_fields(line, names)


def _find_duplicate(path: Path) -> InputError:
    seen: set[tuple[str, str]] = set()
    for number, fields in _fields(path, QRELS_FIELDS):
        pair = (fields[0], fields[2])
        if pair in seen:
            return judged_twice(*pair, f"{path}:{number}")
        seen.add(pair)
    return InputError("a pair is judged twice", where=str(path))
