"""`assay gold packet`: write the pairs that a judge has still to judge as one file to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import GoldSet, counted
from assay.corpus.lookup import corpus_named, is_corpus
from assay.judging import rubrics
from assay.judging.packets import Packet, as_csv, as_jsonl, left_to_judge, make_packet
from assay.judging.policy import policy_path, read_policy
from assay.judging.pool import PEOPLE, Pool, PooledPair, pool_path, read_pool
from assay.judging.votes import log_path, read_votes
from assay.language.detect import detect
from assay.reports.words import language_of
from assay.workbench.judging.pool_documents import texts_of
from assay.workbench.project.output_files import refuse_output
from assay.workbench.project.overwrite_guard import spare_judgments

SPOKEN = 4_000  # characters of the queries that tell their language


class WrittenPacket(msgspec.Struct, frozen=True, kw_only=True):
    """What went into a packet. `left` counts the pairs that wait for the judge beyond it; `notes`
    are sentences for a person."""

    packet: str  # its file; empty where nothing was left to judge
    judge: str
    pairs: int
    queries: int
    documents: int
    left: int
    bytes: int
    rubric: str
    notes: list[str]


def write_packet(
    dataset: Path,
    output: Path,
    *,
    judge: str = "",
    corpus: str = "",
    queries: Sequence[str] = (),
    limit: int | None = None,
    language: str = "",
) -> WrittenPacket:
    """Write what waits for the judge as HTML, JSONL or CSV, by the ending of `output`. A page
    speaks `language`, or that of its queries."""
    beside = (log_path(dataset), pool_path(dataset), policy_path(dataset))
    render = writer_of(output)
    refuse_output(output, dataset, *beside)
    spare_judgments(output)
    gold = formats.read_gold(dataset)
    pool = _require_pool(dataset)
    rubric = rubrics.find(gold.rubric or rubrics.DEFAULT, beside=dataset)
    votes = read_votes(dataset)
    counts = read_policy(dataset).counts
    waiting = left_to_judge(pool, gold, votes, counts, judge.strip())
    pairs, notes = _pairs_of_queries(gold, waiting, queries, dataset)
    chosen = pairs if limit is None else pairs[:limit]
    name = corpus or pool.corpus
    packet = make_packet(
        gold,
        rubric,
        chosen,
        texts_of([pair.key for pair in chosen], dataset, name) if chosen else {},
        judge=judge.strip(),
    )
    if chosen:
        notes += _corpus_change_note(pool, name)
    elif not judge and (rest := left_to_judge(pool, gold, votes, PEOPLE)):
        judged = f"{counted(len(rest), 'pair')} judged by machines alone"
        notes.append(f"{judged}: --judge NAME gives them to a person")
    content = render(packet, language) if chosen else b""
    if chosen:
        write_atomic(output, content)
    return WrittenPacket(
        packet=str(output) if chosen else "",
        judge=packet.judge,
        pairs=len(chosen),
        queries=len({pair.query_id for pair in chosen}),
        documents=len({pair.doc_id for pair in chosen}),
        left=len(pairs) - len(chosen),
        bytes=len(content),
        rubric=packet.version,
        notes=notes,
    )


# ── before anything is written ────────────────────────────────────────────────────────────────────


def _as_html(packet: Packet, language: str) -> bytes:
    from assay.reports.packet_page import render

    return render(packet, language or _spoken(packet)).encode()


def _spoken(packet: Packet) -> str:
    """The language of the queries, where the page has words in it."""
    asked = dict.fromkeys(row.query for row in packet.rows)
    return language_of(detect(" ".join(asked)[:SPOKEN]))


Writer = Callable[[Packet, str], bytes]  # the language is that of a page; "" is the queries' own

WRITERS: dict[str, Writer] = {
    ".html": _as_html,
    ".htm": _as_html,
    ".jsonl": lambda packet, _: as_jsonl(packet),
    ".csv": lambda packet, _: as_csv(packet),
}


def writer_of(output: Path) -> Writer:
    if writer := WRITERS.get(output.suffix.lower()):
        return writer
    raise UsageError(
        f"a packet is .html, .jsonl or .csv, not {output.suffix or 'without an ending'}",
        where=str(output),
    )


def _require_pool(dataset: Path) -> Pool:
    pool = read_pool(dataset)
    if pool is None:
        raise InputError(
            "nothing is asked of judges yet",
            where=str(pool_path(dataset)),
            hint=f"Pool first: assay gold pool {dataset} --engine bm25 --corpus NAME.",
        )
    return pool


def _pairs_of_queries(
    gold: GoldSet, waiting: Sequence[PooledPair], queries: Sequence[str], dataset: Path
) -> tuple[list[PooledPair], list[str]]:
    """The pairs of the queries that are asked for; what the set no longer has is left out."""
    for wanted in queries:
        if wanted not in gold.query_ids:
            raise InputError(f"no query {wanted!r} in the set", where=str(dataset))
    known = set(queries or gold.query_ids)
    pairs = [pair for pair in waiting if pair.query_id in known]
    gone = sorted({pair.query_id for pair in waiting} - set(gold.query_ids))
    notes = [f"left out, since the set no longer has the query: {', '.join(gone)}"] if gone else []
    return pairs, notes


# ── the corpus ────────────────────────────────────────────────────────────────────────────────────


def _corpus_change_note(pool: Pool, corpus: str) -> list[str]:
    if not pool.corpus_fingerprint or not is_corpus(corpus):
        return []
    now = corpus_named(corpus).fingerprint
    if now.startswith(pool.corpus_fingerprint) or pool.corpus_fingerprint.startswith(now):
        return []
    return [f"the corpus {corpus} has changed since it was pooled"]
