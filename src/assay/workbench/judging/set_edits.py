"""New gold sets, and changes to a set that are not votes: queries, issues, documents to judge, and
flags. `assay gold init` and `assay gold add` write the files of the set; pages also record in its
log who changed what. Queries without judgments are read from a text file or a CSV with a header."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assay import formats
from assay.core.errors import InputError, NotHere, UsageError
from assay.core.files import (
    decode,
    iter_lines,
    read_bytes,
    refuse_long_lines,
    refuse_unwritable,
    write_atomic,
)
from assay.core.types import Document, GoldSet, Issue, Query, Topic
from assay.formats.dataset_json import QUERY_TYPES, read_taxonomy
from assay.formats.gold_jsonl import lock_gold_set
from assay.formats.schema import first_repeated, id_of, text_of
from assay.gold.acts import (
    ADD_DOCUMENT,
    ADD_QUERY,
    ASSIGN,
    EDIT_ISSUE,
    FLAG,
    NOTE,
    UNFLAG,
    Act,
    ActId,
)
from assay.gold.log import Log, open_log, writing
from assay.gold.projection import state_of_file
from assay.gold.rows import digest_of
from assay.judging import rubrics
from assay.judging.pool import (
    Pool,
    PooledPair,
    pool_path,
    pooled_corpus,
    read_pool,
    with_judges,
    with_pairs,
    write_pool,
)
from assay.judging.votes import read_votes, refuse_long
from assay.law.queries import normal_query
from assay.telemetry.external_table import ExternalLogs
from assay.workbench.judging.pool import judged_now, known_ids
from assay.workbench.judging.session import open_session
from assay.workbench.project.output_files import or_undone
from assay.workbench.project.service import Service, gold_path
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
    queries: Sequence[LocatedQuery] = (),
    *,
    rubric: str,
    taxonomy: Path | None = None,
    name: str = "",
    description: str = "",
) -> ChangedSet:
    """A new dataset.json with these queries and no judgments. What is there already stays."""
    if file.suffix != ".json":
        raise UsageError(
            "a new set must be a .json file",
            where=str(file),
            hint="`gold convert` writes other formats.",
        )
    if file.exists() or file.is_symlink():
        raise UsageError(
            "the file already exists",
            where=str(file),
            hint=f"Nothing was changed. Add to it with `assay gold add {file}`.",
        )
    refuse_unwritable(file)
    topics = read_taxonomy(taxonomy) if taxonomy is not None else {}
    new = _with_ids(queries, [], topics)
    rules = rubric_by_id(rubric, file)
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


def rubric_by_id(rubric: str, file: Path) -> rubrics.Rubric:
    """A rubric that the set will find by its id, whether it was given as a name or as a file."""
    rules = rubrics.find(rubric, beside=file)
    if rules != rubrics.find(rules.id, beside=file):
        raise UsageError(
            f"the set would find another rubric under the name {rules.id!r}",
            where=rubric,
            hint=f"Put {rules.id}.toml beside the set, or give it an id of its own.",
        )
    return rules


def logged_queries(
    source: Service | ExternalLogs, *, limit: int | None = None
) -> list[LocatedQuery]:
    """The queries of the log, most frequent first, each in its most frequent spelling."""
    logs = source.store if isinstance(source, Service) else source
    spellings: dict[str, Counter[str]] = {}
    for (text, _), searches in logs.query_counts().items():
        if normal := normal_query(text):
            spellings.setdefault(normal, Counter())[" ".join(text.split())] += searches
    if not spellings:
        raise InputError(
            "the search log has no queries",
            where=logs.address,
            hint="`assay logs import` imports those of a running service.",
        )
    frequent = sorted(spellings.items(), key=lambda row: (-row[1].total(), row[0]))
    best = [min(counts, key=lambda text: (-counts[text], text)) for _, counts in frequent]
    return [("the search log", Query(id="", text=text)) for text in best[:limit]]


# ── queries ───────────────────────────────────────────────────────────────────────────────────────


def add_queries(dataset: Path, queries: Sequence[LocatedQuery]) -> ChangedSet:
    """Put queries at the end of a set; those without an id are numbered on."""
    with lock_gold_set(dataset):
        made, content = with_queries(dataset, queries)
        write_atomic(dataset, content)
    return made


def with_queries(dataset: Path, queries: Sequence[LocatedQuery]) -> tuple[ChangedSet, bytes]:
    """The set with queries added, and its new content. The caller holds the lock."""
    gold = formats.read_gold(dataset)
    new = _with_ids(queries, gold.queries, gold.taxonomy)
    made = ChangedSet(
        gold=str(dataset),
        queries=len(gold.queries) + len(new),
        added=[query.id for query in new],
    )
    return made, formats.with_queries(dataset, new)


def _with_ids(
    located_queries: Iterable[LocatedQuery], known: Sequence[Query], topics: Mapping[str, Topic]
) -> list[Query]:
    """The queries as they go into the set. One that is in it already, or appears twice, is refused:
    two people would judge it apart."""
    ids = {query.id: "the set" for query in known}
    texts = {normal_query(query.text): query.id for query in known}
    rows = list(located_queries)
    stated = {query.id for _, query in rows if query.id}
    new: list[Query] = []
    for where, query in rows:
        _refuse_invalid_query(query, topics, where)
        if query.id in ids:
            raise InputError(f"the id {query.id!r} is already in {ids[query.id]}", where=where)
        if (same := texts.get(normal_query(query.text))) is not None:
            raise InputError(
                f"the query is there already, as {same!r}: {query.text[:60]!r}",
                where=where,
                hint="Nothing was changed. Leave it out or reword it.",
            )
        query_id = query.id or _next_id({*ids, *stated})
        ids[query_id] = where
        texts[normal_query(query.text)] = query_id
        new.append(msgspec.structs.replace(query, id=query_id))
    return new


def _next_id(taken: Iterable[str]) -> str:
    numbers = [int(match[1]) for query_id in taken if (match := NUMBERED.fullmatch(query_id))]
    return f"q{max(numbers, default=0) + 1:03}"


def _refuse_invalid_query(query: Query, topics: Mapping[str, Topic], where: str) -> None:
    """Refuse a query that the set could not hold, with the line that it came from."""
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


AUDITED_CHARACTERS = 200  # characters of a query in the audit trail; taste


class NewQuery(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    text: str
    type: str = ""
    topic: str = ""
    issue: str = ""


def add_query(service: Service, form: NewQuery, *, by: str) -> ChangedSet:
    dataset = gold_path(service, form.set)
    new = Query(id="", text=form.text, type=form.type, topic=form.topic, issue=form.issue)
    with writing(dataset) as log:
        made, content = with_queries(dataset, [(form.set, new)])
        _edit(
            service,
            log,
            ADD_QUERY,
            content,
            by=by,
            subject={"query": ", ".join(made.added)},
            more={"after": {"text": form.text.strip()[:AUDITED_CHARACTERS]}},
        )
    return made


# ── issues of the taxonomy ────────────────────────────────────────────────────────────────────────


class EditedIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue of the taxonomy, as the page sends it."""

    set: str
    topic: str
    id: str
    name: str
    description: str
    key_statutes: str = ""  # separated by commas or line ends


def edit_issue(service: Service, form: EditedIssue, *, by: str) -> Issue:
    """Edit an issue of a topic, or add it. Everything else in the file stays as it is written."""
    dataset = gold_path(service, form.set)
    id, name, description = (x.strip() for x in (form.id, form.name, form.description))
    for key, value in (("id", id), ("name", name), ("description", description)):
        if not value:
            raise InputError(f"the issue has no {key}", where=str(dataset))
    id_of(id, dataset, "issue")
    statutes = form.key_statutes.replace("\n", ",").split(",")
    with writing(dataset) as log:
        topics = formats.read_gold(dataset).taxonomy
        if form.topic not in topics:
            raise InputError(
                f"no topic {form.topic!r}",
                where=str(dataset),
                hint=f"The taxonomy has: {', '.join(topics) or 'none'}.",
            )
        before = next((issue for issue in topics[form.topic].issues if issue.id == id), None)
        after = msgspec.structs.replace(
            before or Issue(id=id, name=name, description=description),
            name=name,
            description=description,
            key_statutes=tuple(text.strip() for text in statutes if text.strip()),
        )
        if after != before:
            content = formats.with_issue(dataset, form.topic, after)
            more = {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after)}
            subject = {"topic": form.topic, "issue": id}
            _edit(service, log, EDIT_ISSUE, content, by=by, subject=subject, more=more)
    return after


def _edit(service: Service, log: Log, action: str, content: bytes, *, by: str, **more: Any) -> None:
    """Write the gold file, then record in the log who changed it. Queries and taxonomy live in the
    file alone: after a crash in between, the edit is there without its record."""
    # the digest claims that the log knows every label of the file: not while one is edited by hand
    file = digest_of(content) if not state_of_file(log.dataset) else ""
    with or_undone(log.dataset):
        write_atomic(log.dataset, content)
        log.append([log.act(action, who=by, at=service.clock(), file=file, **more)])


# ── documents to judge ────────────────────────────────────────────────────────────────────────────


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
    searched = corpus if corpus is not None else pooled_corpus(dataset)
    if searched is not None and doc_id not in known_ids(searched):
        raise InputError(f"document {doc_id!r} is not in the corpus {searched}")
    if searched is None:
        say(f"it is not checked that {doc_id} exists: name the corpus with --corpus")
    new = PooledPair(query_id=query_id, doc_id=doc_id, why=why)
    with lock_gold_set(dataset):
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
        for where, taken in (("judged", judged), ("asked for", pool.keys)):
            if pair.key in taken:
                raise InputError(f"{pair.doc_id!r} on query {pair.query_id!r} is already {where}")
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
    with lock_gold_set(dataset):
        pool = read_pool(dataset) or Pool()
        pair = next((each for each in pool.pairs if each.key == (query_id, doc_id)), None)
        if pair is None:
            raise InputError(
                f"nobody was asked to judge {doc_id!r} on query {query_id!r}", where=str(dataset)
            )
        voters = {
            vote.judge for vote in read_votes(dataset) if (vote.query_id, vote.doc_id) == pair.key
        }
        if voters:
            raise InputError(
                f"{', '.join(sorted(voters))} voted on {doc_id!r} for query {query_id!r}",
                where=str(dataset),
                hint="Votes and requested pairs are kept. Nothing was changed.",
            )
        rest = tuple(each for each in pool.pairs if each is not pair)
        write_pool(dataset, msgspec.structs.replace(pool, pairs=rest))
    return pair


class FoundToAdd(msgspec.Struct, frozen=True, kw_only=True):
    """A document that a search found: nothing of its rank or score."""

    doc_id: str
    title: str
    text: str
    is_asked: bool


class AddedDocument(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    query_id: str
    doc_id: str
    already: bool


def find_to_add(service: Service, name: str, query_id: str, words: str) -> list[FoundToAdd]:
    """Documents to add to a query, by title: the order of a search would tell a rank."""
    from assay.workbench.searching.open_corpora import reader_of  # loads the search engine

    session = open_session(gold_path(service, name))
    session.query(query_id)
    reader = reader_of(session.pool, session.dataset, service.home)
    if not words.strip():
        return []
    asked = {pair.doc_id for pair in session.pool_by_query.get(query_id, ())}
    found = (reader.get(doc_id) for doc_id in reader.search(words))
    listed = [
        FoundToAdd(
            doc_id=document.id,
            title=document.title,
            text=_opening(document),
            is_asked=document.id in asked,
        )
        for document in found
        if document is not None
    ]
    return sorted(listed, key=lambda each: (each.title, each.doc_id))


def _opening(document: Document) -> str:
    parts = ("question", "question_synthetic", "conclusion", "summary")
    opening = next((text for part in parts if (text := document.fields.get(part, "").strip())), "")
    return (opening or document.text)[:300]


def add_to_pool(
    service: Service, name: str, query_id: str, doc_id: str, judge: str
) -> AddedDocument:
    """Put a document among those that are judged, for the judge who found it. That it was put in
    by hand is not shown."""
    from assay.workbench.searching.open_corpora import reader_of  # loads the search engine

    session = open_session(gold_path(service, name))
    query = session.query(query_id)
    if reader_of(session.pool, session.dataset, service.home).get(doc_id) is None:
        raise NotHere(f"the corpus has no document {doc_id!r}")
    pair = PooledPair(query_id=query.id, doc_id=doc_id, why="added by a judge")
    with writing(session.dataset) as log:
        before = read_pool(session.dataset) or Pool()
        pool = with_pair(session.dataset, pair, judge=judge)
        already = pair.key in before.keys
        with or_undone(pool_path(session.dataset)):
            if pool != before:
                write_pool(session.dataset, pool)
            if not already:
                subject, at = {"query": query.id, "doc": doc_id}, service.clock()
                log.append([log.act(ADD_DOCUMENT, who=judge, kind="human", at=at, subject=subject)])
    return AddedDocument(set=name, query_id=query.id, doc_id=doc_id, already=already)


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """The judges who get the unjudged pairs, of these queries or of all."""

    set: str
    judges: str  # names with commas between them
    queries: list[str] = []


class Assigned(msgspec.Struct, frozen=True, kw_only=True):
    documents: dict[str, int]  # by judge


def assign_pairs(service: Service, assignment: Assignment, *, by: str) -> Assigned:
    """Deal the documents that nobody has judged to these judges in turn. A document that several
    are asked for stays with as many of them."""
    judges = list(
        dict.fromkeys(filter(None, (name.strip() for name in assignment.judges.split(","))))
    )
    if not judges:
        raise InputError("no judge is named", hint="Give names with commas between them.")
    session = open_session(gold_path(service, assignment.set))
    with writing(session.dataset) as log:
        pool = read_pool(session.dataset) or Pool()
        pairs, turn, dealt = [], 0, Counter[str]()
        for pair in pool.pairs:
            if (not assignment.queries or pair.query_id in assignment.queries) and not log.book.has(
                pair.key
            ):
                many = min(max(pair.wanted, len(pair.judges), 1), len(judges))
                named = tuple(judges[(turn + step) % len(judges)] for step in range(many))
                turn += many
                dealt.update(named)
                pair = msgspec.structs.replace(pair, judges=named)
            pairs.append(pair)
        if not dealt:
            raise InputError("every document is judged, or none is in the pool")
        known = tuple(dict.fromkeys([*pool.judges, *judges]))
        with or_undone(pool_path(session.dataset)):
            write_pool(
                session.dataset, msgspec.structs.replace(pool, pairs=tuple(pairs), judges=known)
            )
            more = {"documents": dict(dealt)}
            at = service.clock()
            log.append([log.act(ASSIGN, who=by, kind="chair", at=at, more=more)])
    return Assigned(documents=dict(dealt))


# ── notes on queries ──────────────────────────────────────────────────────────────────────────────


class QueryNote(msgspec.Struct, frozen=True, kw_only=True):
    """A chair's note to all judges of a query; an empty one removes it."""

    set: str
    query_id: str
    note: str
    act: ActId = ""


def note_query(service: Service, query_note: QueryNote, *, by: str) -> QueryNote:
    refuse_long(query_note.note)
    session = open_session(gold_path(service, query_note.set))
    query = session.query(query_note.query_id)
    with writing(session.dataset) as log:
        if query_note.act not in log.acts:
            act = log.act(
                NOTE,
                **({"id": query_note.act} if query_note.act else {}),
                who=by,
                kind="chair",
                at=service.clock(),
                subject={"query": query.id},
                rationale=query_note.note.strip(),
            )
            log.append([act])
    return query_note


def notes_of(dataset: Path) -> dict[str, str]:
    """The notes on queries: the last one of each holds."""
    log = open_log(dataset)
    with log.reading:
        notes = [act for act in log.acts.values() if act.action == NOTE]
    last = {act.subject["query"]: act.rationale for act in notes}
    return {query_id: note for query_id, note in last.items() if note}


# ── flags on queries ──────────────────────────────────────────────────────────────────────────────


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    reason: str


class FlagForm(msgspec.Struct, frozen=True, kw_only=True):
    """A request to flag a query, or to remove the flag."""

    set: str
    query_id: str
    reason: str = ""
    flagged: bool = True
    act: ActId = ""


def flag_query(service: Service, form: FlagForm, judge: str, chair: bool = False) -> Flag | None:
    """Flag a query or remove the flag; return the flags that this person may see."""
    refuse_long(form.reason)
    session = open_session(gold_path(service, form.set))
    query, reason = session.query(form.query_id), form.reason.strip()
    with writing(session.dataset) as log:
        if form.act in log.acts:  # the answer was lost, and the request is sent again
            return flags_of(session.dataset, judge, chair).get(query.id)
        raised = _open_flags(log).get(query.id, [])
        removes_all = chair and not form.flagged
        replaced = [act.id for act in raised if removes_all or log.who(act) == judge]
        if not form.flagged and not replaced and not chair:
            raise InputError(
                f"you have not flagged the query {query.id!r}",
                hint="Only the judge who flagged it, or a chair, can remove a flag.",
            )
        if form.flagged or replaced:
            act = log.act(
                FLAG if form.flagged else UNFLAG,
                **({"id": form.act} if form.act else {}),
                who=judge,
                kind="human",
                at=service.clock(),
                subject={"query": query.id},
                rationale=reason,
                supersedes=tuple(replaced),
            )
            log.append([act])
    return flags_of(session.dataset, judge, chair).get(query.id)


def flags_of(dataset: Path, judge: str, chair: bool = False) -> dict[str, Flag]:
    """The flags that a person may see, by query; those of several judges are joined."""
    log, found = open_log(dataset), dict[str, Flag]()
    with log.reading:
        for query_id, raised in _open_flags(log).items():
            flags = [
                (log.who(act), act.rationale) for act in raised if chair or log.who(act) == judge
            ]
            if len(flags) == 1:
                found[query_id] = Flag(by=flags[0][0], reason=flags[0][1])
            elif flags:
                reasons = [f"{by}: {reason}" for by, reason in flags if reason]
                names = ", ".join(by for by, _ in flags)
                found[query_id] = Flag(by=names, reason="; ".join(reasons))
    return found


def _open_flags(log: Log) -> dict[str, list[Act]]:
    """The flags that nobody has removed, by query."""
    flags = [act for act in log.acts.values() if act.action in (FLAG, UNFLAG)]
    replaced = {id for act in flags for id in act.supersedes}
    raised: dict[str, list[Act]] = {}
    for act in flags:
        if act.action == FLAG and act.id not in replaced:
            raised.setdefault(act.subject["query"], []).append(act)
    return raised


# ── lists of queries without judgments ────────────────────────────────────────────────────────────


TEXT_COLUMNS = ("text", "query")  # either
OWN_COLUMNS = ("id", "type", "topic", "issue", "notes")
KEPT_COLUMNS = ("language", "corpus")  # dataset.json keeps them with the query as they stand
COLUMNS = (*TEXT_COLUMNS, *OWN_COLUMNS, *KEPT_COLUMNS)

LocatedQuery = tuple[
    str, Query
]  # where it stands, and the query; its id is empty where none is given


def read_queries(path: Path) -> list[LocatedQuery]:
    if path.suffix not in (".txt", ".csv"):
        raise InputError(
            f"queries must be in a .txt or .csv, not {path.suffix or 'a file without an ending'}",
            where=str(path),
            hint="A text file has one query per line; a CSV has a column text or query.",
        )
    return list(_from_csv(path) if path.suffix == ".csv" else _from_text(path))


def _from_text(path: Path) -> Iterator[LocatedQuery]:
    for number, line in iter_lines(path):
        where = f"{path}:{number}"
        yield where, Query(id="", text=text_of(line.strip(), Path(where), "text"))


def _from_csv(path: Path) -> Iterator[LocatedQuery]:
    refuse_long_lines(path)
    text = decode(read_bytes(path), path)
    mark = max(",;\t", key=text.partition("\n")[0].count)  # as the spreadsheet's language has it
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        column = _text_column([name.strip() for name in reader.fieldnames or ()], path)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row:
                raise InputError(
                    "the row has more fields than the header",
                    where=where,
                    hint="Put a text with a comma in quotation marks.",
                )
            values = {name: (value or "").strip() for name, value in row.items()}
            if any(values.values()):
                yield where, _query(values, column, where)
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", where=f"{path}:{reader.line_num}") from error


def _text_column(names: list[str], path: Path) -> str:
    twice = first_repeated(names)
    unknown = [name for name in names if name not in COLUMNS]
    given = [name for name in TEXT_COLUMNS if name in names]
    if twice:
        raise InputError(f"the column {twice} appears twice", where=f"{path}:1")
    if len(given) != 1 or unknown:
        problem = f"there is no column {unknown[0]!r}" if unknown else "one column text or query"
        raise InputError(
            f"the header is not that of a list of queries: {problem}",
            where=f"{path}:1",
            hint=f"Expected text (or query), and of {', '.join(COLUMNS[2:])} what you have.",
        )
    return given[0]


def _query(values: dict[str, str], column: str, where: str) -> Query:
    if not values[column]:
        raise InputError("the row has no query text", where=where)
    return Query(
        id=values.get("id", ""),
        text=text_of(values[column], Path(where), column),
        type=values.get("type", ""),
        topic=values.get("topic", ""),
        issue=values.get("issue", ""),
        notes=values.get("notes", ""),
        extra={name: values[name] for name in KEPT_COLUMNS if values.get(name)},
    )
