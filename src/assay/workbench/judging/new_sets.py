"""New gold sets, and additions to them: `assay gold init` writes a file with queries, `assay gold
add` adds queries, issues and documents to judge."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import refuse_unwritable, write_atomic
from assay.core.types import GoldSet, Issue, Query, Topic
from assay.formats.dataset_json import QUERY_TYPES, read_taxonomy
from assay.formats.gold_jsonl import locked
from assay.formats.query_lists import Found as Found
from assay.formats.query_lists import read_queries as read_queries
from assay.formats.schema import id_of, text_of
from assay.judging import rubrics
from assay.judging.pool import (
    Pool,
    PooledPair,
    read_pool,
    with_judges,
    with_pairs,
    write_pool,
)
from assay.judging.votes import Pair, read_votes
from assay.law.queries import normal_query
from assay.workbench.judging.pool import judged_now, known_ids
from assay.workbench.judging.pool_documents import pooled_corpus
from assay.workbench.project.service import Service
from assay.workbench.scoring.request import Say, ignore_message

NUMBERED = re.compile(r"q(\d+)")
FIRST_VERSION = "1.0"


class ChangedSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set as it is now, and what was added to it."""

    gold: str
    queries: int
    added: list[str]  # ids


# ── a new set ─────────────────────────────────────────────────────────────────────────────────────


def init_gold(
    file: Path,
    queries: Sequence[Found] = (),
    *,
    rubric: str,
    taxonomy: Path | None = None,
    name: str = "",
    description: str = "",
) -> ChangedSet:
    """A new dataset.json with these queries and no judgments. What is there already stays."""
    if file.suffix != ".json":
        raise UsageError(
            "a set is made as a .json", where=str(file), hint="`gold convert` gives other formats."
        )
    if file.exists() or file.is_symlink():
        raise UsageError(
            "the file is there already",
            where=str(file),
            hint=f"Nothing was changed. Add to it with `assay gold add {file}`.",
        )
    refuse_unwritable(file)
    topics = read_taxonomy(taxonomy) if taxonomy is not None else {}
    new = _with_ids(queries, [], topics)
    rules = rubric_found_again(rubric, file)
    gold = GoldSet(
        name=name or file.stem,
        version=FIRST_VERSION,
        created_at=now_in_utc(),
        description=description,
        rubric=rules.id,
        top_grade=max(grade.value for grade in rules.grades),
        taxonomy=topics,
        queries=tuple(new),
    )
    formats.write_gold(gold, file, "json")
    return ChangedSet(gold=str(file), queries=len(new), added=[query.id for query in new])


def now_in_utc() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rubric_found_again(rubric: str, file: Path) -> rubrics.Rubric:
    """A rubric that the set will find by its id, whether it was given as a name or as a file."""
    rules = rubrics.find(rubric, beside=file)
    if rules != rubrics.find(rules.id, beside=file):
        raise UsageError(
            f"the set would find another rubric under the name {rules.id!r}",
            where=rubric,
            hint=f"Put {rules.id}.toml beside the set, or give it an id of its own.",
        )
    return rules


def logged_queries(service: Service, *, limit: int | None = None) -> list[Found]:
    """What people searched for, most frequent first. Spellings of one query are one, written as
    most wrote it."""
    spellings: dict[str, Counter[str]] = {}
    for (text, _), searches in service.store.query_counts().items():
        if normal := normal_query(text):
            spellings.setdefault(normal, Counter())[" ".join(text.split())] += searches
    if not spellings:
        raise InputError(
            "the search log has no queries",
            where=service.store.address,
            hint="`assay logs import` takes in those of a running service.",
        )
    frequent = sorted(spellings.items(), key=lambda row: (-row[1].total(), row[0]))
    best = [min(counts, key=lambda text: (-counts[text], text)) for _, counts in frequent]
    return [("the search log", Query(id="", text=text)) for text in best[:limit]]


# ── more queries ──────────────────────────────────────────────────────────────────────────────────


def add_queries(dataset: Path, queries: Sequence[Found]) -> ChangedSet:
    """Put queries at the end of a set; those without an id are numbered on."""
    with locked(dataset):
        made, content = with_queries(dataset, queries)
        write_atomic(dataset, content)
    return made


def with_queries(dataset: Path, queries: Sequence[Found]) -> tuple[ChangedSet, bytes]:
    """The same, and the file as it becomes: for who has the lock of the set."""
    gold = formats.read_gold(dataset)
    new = _with_ids(queries, gold.queries, gold.taxonomy)
    made = ChangedSet(
        gold=str(dataset),
        queries=len(gold.queries) + len(new),
        added=[query.id for query in new],
    )
    return made, formats.with_queries(dataset, new)


def _with_ids(
    given: Iterable[Found], known: Sequence[Query], topics: Mapping[str, Topic]
) -> list[Query]:
    """The queries as they go into the set. One that is in it already, or comes twice, is refused:
    two people would judge it apart."""
    ids = {query.id: "the set" for query in known}
    texts = {normal_query(query.text): query.id for query in known}
    rows = list(given)
    stated = {query.id for _, query in rows if query.id}
    new: list[Query] = []
    for where, query in rows:
        _check(query, topics, where)
        if query.id in ids:
            raise InputError(f"the id {query.id!r} is in {ids[query.id]} already", where=where)
        if (same := texts.get(normal_query(query.text))) is not None:
            raise InputError(
                f"the query is there already, as {same!r}: {query.text[:60]!r}",
                where=where,
                hint="Nothing was changed. Leave it out, or word it otherwise.",
            )
        query_id = query.id or _next_id({*ids, *stated})
        ids[query_id] = where
        texts[normal_query(query.text)] = query_id
        new.append(msgspec.structs.replace(query, id=query_id))
    return new


def _next_id(taken: Iterable[str]) -> str:
    numbers = [int(match[1]) for query_id in taken if (match := NUMBERED.fullmatch(query_id))]
    return f"q{max(numbers, default=0) + 1:03}"


def _check(query: Query, topics: Mapping[str, Topic], where: str) -> None:
    """What reading the set would refuse, with the line that it came from."""
    text_of(query.text, Path(where), "text")
    if query.id:
        id_of(query.id, Path(where), "id")
    issues = [issue.id for issue in topics[query.topic].issues] if query.topic in topics else []
    for key, value, allowed in (
        ("query type", query.type, QUERY_TYPES),
        ("topic", query.topic, tuple(topics)),
        ("issue", query.issue, tuple(issues)),
    ):
        if value and allowed and value not in allowed:
            raise InputError(
                f"unknown {key} {value!r}", where=where, hint=f"Expected: {', '.join(allowed)}."
            )


# ── the taxonomy ──────────────────────────────────────────────────────────────────────────────────


def with_issue(
    dataset: Path,
    topic_id: str,
    issue_id: str,
    *,
    name: str,
    description: str,
    key_statutes: Sequence[str] = (),
) -> tuple[Issue | None, Issue, bytes]:
    """An issue of a topic, edited or added: as it was, as it becomes, and the file as it becomes,
    where everything else stays as it is written. For who has the lock of the set."""
    for key, value in (("id", issue_id), ("name", name), ("description", description)):
        if not value.strip():
            raise InputError(f"the issue has no {key}", where=str(dataset))
    id_of(issue_id, dataset, "issue")
    topics = formats.read_gold(dataset).taxonomy
    if topic_id not in topics:
        raise InputError(
            f"no topic {topic_id!r}",
            where=str(dataset),
            hint=f"The taxonomy has: {', '.join(topics) or 'none'}.",
        )
    before = next((issue for issue in topics[topic_id].issues if issue.id == issue_id), None)
    issue = msgspec.structs.replace(
        before or Issue(id=issue_id, name=name, description=description),
        name=name,
        description=description,
        key_statutes=tuple(key_statutes),
    )
    return before, issue, formats.with_issue(dataset, topic_id, issue)


# ── a document to judge ───────────────────────────────────────────────────────────────────────────


def add_document(
    dataset: Path,
    query_id: str,
    doc_id: str,
    *,
    why: str = "",
    corpus: Path | None = None,
    say: Say = ignore_message,
) -> PooledPair:
    """Put a pair into the pool, to be judged as the others are: that it was put in by hand is not
    shown to a judge. Where no corpus is known the id is taken as it is, and `say` tells."""
    gold = formats.read_gold(dataset)
    if query_id not in gold.query_ids:
        near = ", ".join(gold.query_ids[:3])
        raise InputError(
            f"no query {query_id!r} in the set", where=str(dataset), hint=f"It has {near} …"
        )
    id_of(doc_id, dataset, "--document")
    searched = corpus if corpus is not None else pooled_corpus(read_pool(dataset))
    if searched is not None and doc_id not in known_ids(searched):
        raise InputError(f"document {doc_id!r} is not in the corpus {searched}")
    if searched is None:
        say(f"it is not checked that {doc_id} exists: name the corpus with --corpus")
    new = PooledPair(query_id=query_id, doc_id=doc_id, why=why)
    with locked(dataset):
        pool = with_pair(dataset, new)
        write_pool(dataset, pool)
    return next(each for each in pool.pairs if each.key == new.key)


def with_pair(dataset: Path, pair: PooledPair, *, judge: str = "") -> Pool:
    """The pool with a pair among those that are asked for. It is dealt like the others, and refused
    where it is known; or, for a judge who found it, dealt to them: of what is anybody's it is
    anybody's. For who has the lock of the set."""
    pool = read_pool(dataset) or Pool()
    judged = judged_now(dataset, formats.read_gold(dataset))
    known = next((each for each in pool.pairs if each.key == pair.key), None)
    if not judge:
        _refuse_known(pair, pool, judged)
        return with_judges(with_pairs(pool, [pair]), {pair.key})
    if known is None:
        asked = (judge,) if pool.judges or pair.key in judged else ()
        return with_pairs(pool, [msgspec.structs.replace(pair, judges=asked)])
    if judge not in known.judges and (known.judges or pair.key in judged):
        more = msgspec.structs.replace(known, judges=(*known.judges, judge))
        pairs = tuple(more if each is known else each for each in pool.pairs)
        return msgspec.structs.replace(pool, pairs=pairs)
    return pool


def remove_document(dataset: Path, query_id: str, doc_id: str) -> PooledPair:
    """Take a pair out of the pool on which nobody has voted."""
    with locked(dataset):
        pool = read_pool(dataset) or Pool()
        pair = next((each for each in pool.pairs if each.key == (query_id, doc_id)), None)
        if pair is None:
            raise InputError(
                f"nobody was asked for {doc_id!r} on query {query_id!r}", where=str(dataset)
            )
        voters = {
            vote.judge for vote in read_votes(dataset) if (vote.query_id, vote.doc_id) == pair.key
        }
        if voters:
            raise InputError(
                f"{', '.join(sorted(voters))} voted on {doc_id!r} for query {query_id!r}",
                where=str(dataset),
                hint="Votes are kept, and so is what was asked. Nothing was changed.",
            )
        rest = tuple(each for each in pool.pairs if each is not pair)
        write_pool(dataset, msgspec.structs.replace(pool, pairs=rest))
    return pair


def _refuse_known(pair: PooledPair, pool: Pool, judged: Container[Pair]) -> None:
    for where, pairs in (("judged", judged), ("asked for", pool.keys)):
        if pair.key in pairs:
            raise InputError(f"{pair.doc_id!r} on query {pair.query_id!r} is {where} already")
