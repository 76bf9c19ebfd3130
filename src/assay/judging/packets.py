"""The content of a packet: everything that a judge needs outside Assay. That is the rubric, the
queries, each document with its question, conclusion, best passages and text, and room for grade and
rationale. `workbench/judging/packets.py` writes the files.

A packet is blind. It has no engine, rank or score, nobody's vote, and not the notes of a query,
which say what it tests. It is the same bytes for the same pairs, so that the page of an HTML packet
made anew finds the votes that it kept."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.types import Document, GoldSet, Query, Vote, VoteKind
from assay.formats.spreadsheet import guard_cell
from assay.gold.votes import current_votes
from assay.judging import rubrics
from assay.judging.passages import passages
from assay.judging.pool import PEOPLE_ONLY, Pool, PooledPair, judged_pairs, pairs_left
from assay.judging.rubrics import Rubric
from assay.judging.votes import READ_FIELDS, document_fingerprint

FORMAT = 1  # of the file; a change that older versions cannot read raises it
SUMMARY = "[Summary, not the document's own words] "

MAX_CELL = 30_000  # characters; a cell holds 32,767 by the limit of Excel
BETWEEN = "\n\n[…]\n\n"
CSV_COLUMNS = (
    "query_id query type doc_id title question conclusion passages text "
    "grade rationale unsure seconds judge document rubric pairs guide"
).split()
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class PacketRow(msgspec.Struct, frozen=True, kw_only=True):
    """One pair, with room for the judge: a grade or `unsure`, a rationale, the time taken."""

    query_id: str
    query: str
    type: str
    doc_id: str
    title: str
    question: str
    conclusion: str
    passages: tuple[str, ...]
    text: str
    document: str  # the fingerprint of what the judge reads
    grade: int | None = None
    rationale: str = ""
    seconds: float | None = None
    unsure: bool = False


class Packet(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one query stand together. `marked` has for each row the forms of the query's words
    that its document has."""

    set: str
    judge: str
    rubric: Rubric
    rows: tuple[PacketRow, ...]
    marked: tuple[tuple[str, ...], ...]

    @property
    def version(self) -> str:
        return rubrics.version(self.rubric)

    @property
    def id(self) -> str:
        pairs = [(row.query_id, row.doc_id, row.document) for row in self.rows]
        content = msgspec.json.encode([self.set, self.judge, self.version, pairs])
        return hashlib.sha256(content).hexdigest()[:16]


# ── what goes in ──────────────────────────────────────────────────────────────────────────────────


def packet_pairs(
    pool: Pool, gold: GoldSet, votes: Sequence[Vote], counts: Iterable[VoteKind], judge: str = ""
) -> list[PooledPair]:
    """The pairs of the pool that this judge has left: dealt to them or to nobody. Without a judge,
    the pairs that nobody has judged. Queries stay together, in the pool's order."""
    kinds = tuple(counts)
    if judge:
        if pool.judges and judge not in pool.judges:
            raise InputError(
                f"no pairs are assigned to the judge {judge!r}",
                hint=f"Assigned to: {', '.join(pool.judges)}. "
                "`assay gold pool --judges` assigns them again.",
            )
        own = (vote for vote in current_votes(votes) if vote.judge == judge)
        done = {(vote.query_id, vote.doc_id) for vote in own}
        # a judge by name has what no person has judged, also where machines count
        open_pairs = pairs_left(pool, gold, votes, PEOPLE_ONLY)
        pairs = [pair for pair in open_pairs if not pair.judges or judge in pair.judges]
    else:
        done = judged_pairs(gold, votes, kinds)
        pairs = list(pool.pairs)
    by_query: dict[str, list[PooledPair]] = {}
    for pair in pairs:
        if pair.key not in done:
            by_query.setdefault(pair.query_id, []).append(pair)
    return [pair for together in by_query.values() for pair in together]


def make_packet(
    gold: GoldSet,
    rubric: Rubric,
    pairs: Sequence[PooledPair],
    documents: Mapping[str, Document],
    *,
    judge: str = "",
) -> Packet:
    """Every pair must have its query in the set and its document among `documents`."""
    queries = {query.id: query for query in gold.queries}
    prints = {doc_id: document_fingerprint(document) for doc_id, document in documents.items()}
    rows, marked = list[PacketRow](), list[tuple[str, ...]]()
    for pair in pairs:
        document = documents[pair.doc_id]
        row, words = packet_row(queries[pair.query_id], document, prints[pair.doc_id])
        rows.append(row)
        marked.append(words)
    return Packet(set=gold.name, judge=judge, rubric=rubric, rows=tuple(rows), marked=tuple(marked))


def packet_row(
    query: Query, document: Document, fingerprint: str
) -> tuple[PacketRow, tuple[str, ...]]:
    """One pair as a judge reads it, with the query's words as the document has them."""
    parts = {name: _named_part(document, name) for name in READ_FIELDS}
    found = passages(query.text, document, shown_texts=tuple(filter(None, parts.values())))
    row = PacketRow(
        query_id=query.id,
        query=query.text,
        type=query.type,
        doc_id=document.id,
        title=document.title,
        question=parts["question"],
        conclusion=parts["conclusion"],
        passages=found.texts,
        text=document.text,
        document=fingerprint,
    )
    return row, found.words


def _named_part(document: Document, name: str) -> str:
    own = document.fields.get(name, "").strip()
    made = document.fields.get(READ_FIELDS[name], "").strip()
    return own or (f"{SUMMARY}{made}" if made else "")


# ── the files ─────────────────────────────────────────────────────────────────────────────────────


def as_jsonl(packet: Packet) -> bytes:
    """A first line about the packet, with the rubric as data and as a page; then a line a pair."""
    rubric = packet.rubric
    header = {
        "packet": FORMAT,
        "id": packet.id,
        "set": packet.set,
        "judge": packet.judge,
        "rubric": {
            "id": rubric.id,
            "version": packet.version,
            "rationale": rubric.rationale,
            "scale": {str(grade.value): grade.label for grade in rubric.grades},
            "markdown": rubrics.as_markdown(rubric),
        },
        "pairs": len(packet.rows),
    }
    return b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *packet.rows))


def as_csv(packet: Packet) -> bytes:
    """The packet as CSV for a spreadsheet: with a byte order mark, without formulas, long texts
    cut. The rubric is in the column `guide` of the first row."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, CSV_COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    guide = rubrics.as_markdown(packet.rubric)
    for place, row in enumerate(packet.rows):
        values: dict[str, Any] = msgspec.structs.asdict(row)
        values |= {"passages": BETWEEN.join(row.passages), "grade": "", "seconds": ""}
        values |= {"unsure": "", "judge": packet.judge, "rubric": packet.version}
        values |= {"pairs": str(len(packet.rows)), "guide": "" if place else guide}
        writer.writerow({name: guard_cell(_cell(values[name])) for name in CSV_COLUMNS})
    return stream.getvalue().encode("utf-8")


def _cell(text: str) -> str:
    plain = _CONTROLS.sub(" ", text)
    if len(plain) <= MAX_CELL:
        return plain
    return f"{plain[:MAX_CELL]}\n[Cut here: {len(plain):,} characters in all]"
