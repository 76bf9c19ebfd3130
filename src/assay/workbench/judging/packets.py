"""Files for judges outside Assay: packets (`assay gold packet`), pairs for other judging tools
(`assay gold export`) and spot checks (`assay gold sample`). `assay gold merge` imports what comes
back.

The HTML page of a packet works from disk, by keyboard alone, light and dark. What documents say is
data and never markup: it stands in JSON blocks, in which no character can end the block, and the
page puts it in as text. The page runs only the one script whose hash its policy names. The text of
a document is a block of its own, read when somebody opens it, so that a thousand letters do not
make the page slow."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from markupsafe import Markup

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.core.types import Document, GoldSet, Vote, counted
from assay.corpus.lookup import corpus_named, is_corpus
from assay.formats.ballots import (
    Ballot,
    Ballots,
    BlankBallot,
    GradeOption,
    Guide,
    Task,
    read_ballots,
    same_text,
    write_blank,
)
from assay.formats.gold_jsonl import lock_gold_set
from assay.gold.rows import log_path
from assay.gold.votes import SPOT_CHECK, PairKey, by_pair, current_votes, role_of
from assay.judging import rubrics
from assay.judging.labels import policy_path, read_policy
from assay.judging.packets import Packet, PacketRow, as_csv, as_jsonl, make_packet, packet_pairs
from assay.judging.pool import (
    PEOPLE_ONLY,
    Pool,
    PooledPair,
    corpus_texts,
    pairs_left,
    pool_path,
    pooled_corpus,
    read_pool,
    texts_of,
)
from assay.judging.rubrics import Rubric, span, translated
from assay.judging.spot_checks import (
    Draw,
    SpotCheck,
    draw,
    pairs_of,
    read_samples,
    spot_check_report,
    write_samples,
)
from assay.judging.votes import LONGEST_REASON, document_fingerprint, read_votes
from assay.language.detect import detect
from assay.reports.html import HERE, template_environment
from assay.reports.words import Words, language_of, page_table
from assay.workbench.project.output_files import refuse_output

SPOKEN = 4_000  # characters of the queries that tell their language; taste


class WrittenPacket(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a packet. `left` counts the judge's pairs that are not in it; `notes` are
    sentences for a person."""

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
    rubric = rubrics.of_set(gold, dataset)
    votes = read_votes(dataset)
    counts = read_policy(dataset).counts
    waiting = packet_pairs(pool, gold, votes, counts, judge.strip())
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
    elif not judge and (rest := packet_pairs(pool, gold, votes, PEOPLE_ONLY)):
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
    return packet_page(packet, language or _spoken(packet)).encode()


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
        f"a packet must be .html, .jsonl or .csv, not {output.suffix or 'without an ending'}",
        where=str(output),
    )


def _require_pool(dataset: Path) -> Pool:
    pool = read_pool(dataset)
    if pool is None:
        raise InputError(
            "no documents have been selected for judging yet",
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


# ── pairs for other tools ─────────────────────────────────────────────────────────────────────────

WITH_TEXTS = ("label-studio", "argilla")  # a judge there sees what the file has, and nothing else
WITH_VOTES = ("quepid-book",)  # which is made of them


class ExportedPairs(msgspec.Struct, frozen=True, kw_only=True):
    """The exported pairs, and how many of their documents the corpus lacks."""

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
    """Export labels to Quepid (as a book all votes), and to judging tools the pairs left to judge.
    If nothing is pooled, or `with_votes`, every pair of the set is exported."""
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
        dataset, gold, votes, judge=judge, with_judged=with_votes or to not in WITH_TEXTS
    )
    if not pairs:
        raise UsageError(
            "there is no pair to export",
            where=str(dataset),
            hint="assay gold pool selects pairs to judge.",
        )
    independent = (vote for vote in current_votes(votes) if not role_of(vote.source))
    votes_of_pair = by_pair(independent) if with_votes or to in WITH_VOTES else {}
    wanted = {doc_id for _, doc_id in pairs}
    by_id = {document.id: document for document in known.some(wanted)} if known else {}
    tasks = _tasks(gold, pairs, by_id, votes_of_pair)
    written = formats.write_tasks(tasks, _guide(dataset, gold), output, to)
    missing = sum(task.doc_id not in by_id for task in tasks) if known is not None else 0
    return ExportedPairs(
        files=[str(path) for path in written], pairs=len(tasks), without_text=missing
    )


def _pairs_to_export(
    dataset: Path, gold: GoldSet, votes: Sequence[Vote], *, judge: str, with_judged: bool
) -> list[PairKey]:
    """The pairs in the order of the queries, then of the pool, which reveals nothing."""
    pool = read_pool(dataset)
    if judge and (pool is None or judge not in pool.judges):
        dealt = ", ".join(pool.judges) if pool else ""
        raise UsageError(
            f"no pairs are assigned to the judge {judge!r}",
            hint=f"Assigned to: {dealt}." if dealt else "assay gold pool --judges deals pairs.",
        )
    if pool is not None and not with_judged:
        pairs = [
            pair.key
            for pair in pairs_left(pool, gold, votes, read_policy(dataset).counts)
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
    pairs: Sequence[PairKey],
    documents: Mapping[str, Document],
    votes: Mapping[PairKey, Sequence[Vote]],
) -> list[Task]:
    queries = {query.id: query for query in gold.queries}
    labels = {(row.query_id, row.doc_id): row.grade for row in gold.iter_judgments()}
    nothing = Document(id="")
    tasks = []
    for pair in pairs:
        document = documents.get(pair[1], nothing)
        task = Task(
            query=queries[pair[0]],
            doc_id=pair[1],
            title=document.title,
            text=document.text,
            fields=dict(document.fields),
            document=document_fingerprint(document) if document is not nothing else "",
            label=labels.get(pair),
            votes=tuple(votes.get(pair, ())),
        )
        tasks.append(task)
    return tasks


def _guide(dataset: Path, gold: GoldSet) -> Guide:
    rubric = rubrics.of_set(gold, dataset)
    grades = sorted(rubric.grades, key=lambda grade: grade.value)
    return Guide(
        name=gold.name,
        version=rubrics.version(rubric),
        markdown=rubrics.as_markdown(rubric),
        grades=tuple(
            GradeOption(value=grade.value, label=grade.label, definition=grade.definition)
            for grade in grades
        ),
    )


# ── spot checks ───────────────────────────────────────────────────────────────────────────────────


def draw_sample(
    dataset: Path,
    size: int,
    *,
    seed: int = 0,
    output: Path | None = None,
    corpus: Path | None = None,
) -> Draw:
    """Draw a sample and record it beside the set; `output` is the blind file to judge: a packet
    with the texts where the corpus is known, else the pairs alone."""
    gold = formats.read_gold(dataset)
    drawn = draw(gold, size, seed=seed, at=datetime.now(UTC).isoformat(timespec="seconds"))
    if output is not None:
        _write(dataset, gold, drawn, output, corpus)
    with lock_gold_set(dataset):
        samples = read_samples(dataset)
        write_samples(dataset, msgspec.structs.replace(samples, draws=(*samples.draws, drawn)))
    return drawn


def _write(dataset: Path, gold: GoldSet, draw: Draw, output: Path, corpus: Path | None) -> None:
    if corpus is not None or pooled_corpus(dataset) is not None:
        pairs = [PooledPair(query_id=pair.query_id, doc_id=pair.doc_id) for pair in draw.pairs]
        rubric = rubrics.of_set(gold, dataset)
        texts = texts_of([pair.key for pair in pairs], dataset, corpus)
        write_atomic(output, writer_of(output)(make_packet(gold, rubric, pairs, texts), ""))
        return
    queries = {query.id: query.text for query in gold.queries}
    rows = [
        BlankBallot(
            query_id=pair.query_id,
            query=queries[pair.query_id],
            doc_id=pair.doc_id,
            source=SPOT_CHECK,
        )
        for pair in draw.pairs
    ]
    write_blank(output, rows, name=dataset.stem)


def sampled_pairs(dataset: Path) -> frozenset[PairKey]:
    """The pairs of all draws; an error if none was drawn."""
    samples = read_samples(dataset)
    if not samples.draws:
        raise UsageError(
            "no sample was drawn from this set",
            where=str(dataset),
            hint=f"Draw one: assay gold sample {dataset} --size 50 -o sample.csv",
        )
    return pairs_of(samples)


def spot_check(dataset: Path) -> SpotCheck:
    """The report on the last draw."""
    sampled_pairs(dataset)
    last = read_samples(dataset).draws[-1]
    return spot_check_report(last, formats.read_gold(dataset), read_votes(dataset))


# ── the HTML page of a packet ─────────────────────────────────────────────────────────────────────


# What could end a script block or begin a comment in it; two line ends that old browsers trip over.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


class _PageDocument(msgspec.Struct, frozen=True):
    id: str
    fingerprint: str
    title: str
    question: str
    conclusion: str
    length: int  # of the text, in words


class _PageRow(msgspec.Struct, frozen=True):
    query: int
    document: int
    passages: tuple[str, ...]
    words: tuple[str, ...]


def packet_page(packet: Packet, language: str = "en") -> str:
    words = Words(language)
    queries = {row.query_id: row for row in packet.rows}
    documents = {row.doc_id: row for row in packet.rows}
    rows = list(queries.values())
    script, style = _template_file("packet.js"), _template_file("packet.css")
    return (
        template_environment()
        .get_template("packet.html.j2")
        .render(
            packet=packet,
            rubric=translated(packet.rubric, language),
            usual=_usual_lines(packet.rubric, language),
            t=page_table("packet", language),
            lang=language,
            dir=words.direction,
            policy="; ".join(
                (
                    "default-src 'none'",
                    f"script-src {_hash(script)}",
                    f"style-src {_hash(style)}",
                    "base-uri 'none'",
                    "form-action 'none'",
                )
            ),
            script=script,
            style=style,
            data=_block(_data(packet, rows, list(documents.values()), language)),
            texts=[_block(row.text) for row in documents.values()],
        )
    )


def _data(
    packet: Packet, queries: list[PacketRow], documents: list[PacketRow], language: str
) -> dict[str, object]:
    query_places = {row.query_id: place for place, row in enumerate(queries)}
    places = {row.doc_id: place for place, row in enumerate(documents)}
    return {
        "id": packet.id,
        "set": packet.set,
        "judge": packet.judge,
        "words": page_table("packet", language),
        "rubric": {
            "id": packet.rubric.id,
            "version": packet.version,
            "required": packet.rubric.rationale == "required",
            "longest": LONGEST_REASON,
            "rationale": packet.rubric.rationale,
            "unit": packet.rubric.unit,
            "grades": _scale(translated(packet.rubric, language)),
        },
        "queries": [{"id": row.query_id, "text": row.query, "type": row.type} for row in queries],
        "documents": [
            _PageDocument(
                row.doc_id,
                row.document,
                row.title,
                row.question,
                row.conclusion,
                len(row.text.split()),
            )
            for row in documents
        ],
        "rows": [
            _PageRow(query_places[row.query_id], places[row.doc_id], row.passages, words)
            for row, words in zip(packet.rows, packet.marked, strict=True)
        ],
    }


def _scale(rubric: Rubric) -> list[dict[str, object]]:
    """The grades, highest first, each with the key that gives it: its own digit, or on a scale
    beyond 9 its place from the lowest."""
    count = len(rubric.grades)
    own = rubric.top <= 9
    return [
        {
            "value": grade.value,
            "label": grade.label,
            "definition": grade.definition,
            "key": str(grade.value if own else count - 1 - place),
            "level": level(rubric, grade.value),
        }
        for place, grade in enumerate(rubric.grades)
    ]


STEPS = 9  # colours of a long scale beside that of its lowest grade, as packet.css has


def level(rubric: Rubric, grade: int) -> str:
    """Three quiet colours: an answer, a help, neither. Where two grades would share one, every
    grade has its own step from the lowest to the highest."""
    named = [_level(rubric, value) for value in rubric.values]
    if len(set(named)) == len(named):
        return _level(rubric, grade)
    place = len(named) - 1 - rubric.values.index(grade)
    return f"step-{round(STEPS * place / (len(named) - 1))}"


def _level(rubric: Rubric, grade: int) -> str:
    if grade >= rubric.highly_relevant_from:
        return "high"
    return "some" if grade >= rubric.relevant_from else "none"


def _usual_lines(rubric: Rubric, language: str) -> str:
    """What the rubric expects of a query, in words."""
    expected, words = rubric.expected_per_query, page_table("packet", language)
    rows = (
        (expected.highly_relevant, "usual_answers"),
        (expected.relevant, "usual_help"),
        (expected.judged, "usual_judged"),
    )
    what = [str(words[key]).format(span=span(bounds)) for bounds, key in rows if bounds]
    return str(words["usually_has"]).format(what=", ".join(what)) if what else ""


def _block(value: object) -> Markup:
    return Markup(msgspec.json.encode(value).decode().translate(_ESCAPES))


def _template_file(name: str) -> Markup:
    return Markup((HERE / name).read_text(encoding="utf-8"))


def _hash(text: str) -> Markup:
    digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"'sha256-{digest}'")


# ── files of judgments that somebody has filled in ────────────────────────────────────────────────


def spare_judgments(
    output: Path | None, gold: GoldSet | None = None, votes: Sequence[Vote] = ()
) -> None:
    """A file that somebody has filled in is not written over. What the set has already, as a label
    or as a vote, is not lost with the file."""
    if output is None or not output.is_file() or not output.stat().st_size:
        return
    if output.suffix.lower() in (".html", ".htm", ".xml", ".md"):
        return  # the page of a packet keeps its votes in the browser
    judged = _read_judgments(output)
    if judged is None:
        raise UsageError(
            "the file already exists and is not an empty packet",
            where=str(output),
            hint="Give another file name.",
        )
    known = _known_judgments(gold, votes)
    ids = {same_text(query.text): query.id for query in gold.queries} if gold else {}
    lost = len(judged.bad) + sum(_judgment_of_row(row, ids) not in known for row in judged.rows)
    if lost:
        raise UsageError(
            f"the file has {counted(lost, 'judgment')} already"
            + (" that the set does not have" if known else ""),
            where=str(output),
            hint="Import them with `assay gold merge`, or give another file name.",
        )


_GivenJudgment = tuple[str, str, int | None, str]


def _known_judgments(gold: GoldSet | None, votes: Sequence[Vote]) -> set[_GivenJudgment]:
    """The judgments with and without rationale: a format may have no place for it."""
    rows = [*(gold.iter_judgments() if gold else ()), *votes]
    return {
        (row.query_id, row.doc_id, row.grade, wrote)
        for row in rows
        for wrote in ("", row.rationale.strip())
    }


def _judgment_of_row(row: Ballot, ids: dict[str, str]) -> _GivenJudgment:
    query_id = ids.get(same_text(row.query), "") if row.query else row.query_id
    return query_id, row.doc_id, row.grade, row.rationale


def _read_judgments(path: Path) -> Ballots | None:
    """The judgments in a ballot or gold set; None if the file is neither."""
    try:
        return read_ballots(path)
    except InputError:
        pass
    try:
        rows = formats.read_gold(path).iter_judgments()
    except InputError:
        return None
    return Ballots(
        rows=[
            Ballot(
                where=str(path),
                query_id=row.query_id,
                doc_id=row.doc_id,
                grade=row.grade,
                rationale=row.rationale.strip(),
            )
            for row in rows
        ]
    )
