"""`assay gold export`: write the pairs of a set for other judging tools. `assay gold merge` imports
the votes that come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import UsageError
from assay.core.types import Document, GoldSet, Query, Vote
from assay.formats.exchange import GradeChoice, Guide, Task
from assay.judging import rubrics
from assay.judging.policy import read_policy
from assay.judging.pool import pairs_to_judge, read_pool
from assay.judging.votes import (
    Pair,
    by_pair,
    current,
    document_fingerprint,
    log_path,
    read_votes,
    role_of,
)
from assay.workbench.judging.pool_documents import corpus_texts
from assay.workbench.project.output_files import refuse_output
from assay.workbench.project.overwrite_guard import spare_judgments

WITH_TEXTS = ("label-studio", "argilla")  # a judge there sees what the file has, and nothing else
WITH_VOTES = ("quepid-book",)  # which is made of them


class ExportedPairs(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: the pairs, and how many of their documents the corpus does not have."""

    files: list[str]
    pairs: int
    without_text: int


def export_pairs(
    dataset: Path,
    output: Path,
    *,
    to: str,
    corpus: Path | None = None,
    judge: str = "",
    with_votes: bool = False,
) -> ExportedPairs:
    """To Quepid the labels, or as a book all votes. To tools for judging the pairs that wait, of
    one judge or of all; where nothing is pooled, or `with_votes`, every pair that the set has."""
    if to not in formats.EXCHANGE_FORMATS:
        names = ", ".join(formats.EXCHANGE_FORMATS)
        raise UsageError(f"unknown format {to!r}", hint=f"Known: {names}.")
    refuse_output(output, dataset, log_path(dataset))
    gold = formats.read_gold(dataset)
    votes = read_votes(dataset)
    spare_judgments(output, gold, votes)
    known = corpus_texts(dataset, corpus)
    if known is None and to in WITH_TEXTS:
        raise UsageError(
            f"{to} needs the texts of the documents", hint="Name their corpus with --corpus."
        )
    pairs = _pairs_to_export(
        dataset, gold, votes, judge=judge, every=with_votes or to not in WITH_TEXTS
    )
    if not pairs:
        raise UsageError(
            "there is no pair to export",
            where=str(dataset),
            hint="assay gold pool says what to judge.",
        )
    said = by_pair(votes_apart(votes)) if with_votes or to in WITH_VOTES else {}
    wanted = {doc_id for _, doc_id in pairs}
    by_id = {document.id: document for document in known.some(wanted)} if known else {}
    tasks = _tasks(gold, pairs, by_id, said)
    written = formats.write_tasks(tasks, _guide(dataset, gold), output, to)
    missing = sum(task.doc_id not in by_id for task in tasks) if known is not None else 0
    return ExportedPairs(
        files=[str(path) for path in written], pairs=len(tasks), without_text=missing
    )


def votes_apart(votes: Iterable[Vote]) -> list[Vote]:
    """What judges said that holds now, without rulings, spot checks and edits by hand."""
    return [vote for vote in current(votes) if not role_of(vote.source)]


def _pairs_to_export(
    dataset: Path, gold: GoldSet, votes: Sequence[Vote], *, judge: str, every: bool
) -> list[Pair]:
    """In the order of the queries, then that of the pool, whose order tells nothing."""
    pool = read_pool(dataset)
    if judge and (pool is None or judge not in pool.judges):
        dealt = ", ".join(pool.judges) if pool else ""
        raise UsageError(
            f"nothing is dealt to the judge {judge!r}",
            hint=f"Dealt to: {dealt}." if dealt else "assay gold pool --judges deals pairs.",
        )
    if pool is not None and not every:
        pairs = [
            pair.key
            for pair in pairs_to_judge(pool, gold, votes, read_policy(dataset).counts)
            if not judge or judge in pair.judges
        ]
    else:
        dealt_pairs = pool.pairs if pool else ()
        pairs = [pair.key for pair in dealt_pairs if not judge or judge in pair.judges]
        if not judge:
            labels = zip(gold.judgments["query_id"], gold.judgments["doc_id"], strict=True)
            pairs += [*labels, *sorted((vote.query_id, vote.doc_id) for vote in votes)]
    places = {query_id: place for place, query_id in enumerate(gold.query_ids)}
    known = [pair for pair in dict.fromkeys(pairs) if pair[0] in places]
    return sorted(known, key=lambda pair: places[pair[0]])


def _tasks(
    gold: GoldSet,
    pairs: Sequence[Pair],
    documents: Mapping[str, Document],
    votes: Mapping[Pair, Sequence[Vote]],
) -> list[Task]:
    queries = {query.id: query for query in gold.queries}
    labels = {(row.query_id, row.doc_id): row.grade for row in gold.iter_judgments()}
    return [
        _task(queries[query_id], doc_id, documents.get(doc_id), labels, votes)
        for query_id, doc_id in pairs
    ]


def _task(
    query: Query,
    doc_id: str,
    document: Document | None,
    labels: Mapping[Pair, int],
    votes: Mapping[Pair, Sequence[Vote]],
) -> Task:
    return Task(
        query=query,
        doc_id=doc_id,
        title=document.title if document else "",
        text=document.text if document else "",
        fields=dict(document.fields) if document else {},
        document=document_fingerprint(document) if document else "",
        label=labels.get((query.id, doc_id)),
        votes=tuple(votes.get((query.id, doc_id), ())),
    )


def _guide(dataset: Path, gold: GoldSet) -> Guide:
    rubric = rubrics.find(gold.rubric or rubrics.DEFAULT, beside=dataset)
    grades = sorted(rubric.grades, key=lambda grade: grade.value)
    return Guide(
        name=gold.name,
        version=rubrics.version(rubric),
        markdown=rubrics.as_markdown(rubric),
        grades=tuple(
            GradeChoice(value=grade.value, label=grade.label, definition=grade.definition)
            for grade in grades
        ),
    )
