"""What an agent asks, answered whole: with title, passage, citation and scale, so that the next
step needs no other question. Suggestions are checked here before they reach an expert."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import InputError, NotHere
from assay.core.results import (
    Entry,
    GoldenEntry,
    GoldenHit,
    GoldenResults,
    GradedEntry,
    GradedResults,
    MeasureLine,
    Results,
)
from assay.core.types import Document, GoldSet, Query, counted
from assay.corpus.citations import OLDER, Resolved, imported_by_older
from assay.corpus.disk import list_corpora
from assay.judging import rubrics
from assay.judging.passages import passages
from assay.judging.pool import read_pool
from assay.judging.rubrics import Rubric
from assay.law.citing import citation_of
from assay.reports import evaluation_report, view
from assay.reports.wording import COMMAND, Sentences, answers, inline
from assay.reports.words import Words
from assay.workbench.corpora import CorpusRow, citations_in, corpus_named, corpus_rows
from assay.workbench.filtering import acts_of
from assay.workbench.history import Comparison, kept_run
from assay.workbench.in_memory import is_golden
from assay.workbench.opening import Service, gold_path, read_gold, run_names
from assay.workbench.paging import Page, page_of, page_size
from assay.workbench.pooling import judged_now
from assay.workbench.review import TOP_GRADE, ReviewItem, ToJudge, worth_looking_at
from assay.workbench.searching import language_of
from assay.workbench.set_standing import set_standing
from assay.workbench.shelves import reader_named
from assay.workbench.shipping import may_ship
from assay.workbench.suite import rubric_of

__all__ = [
    "CitedDocument",
    "CorpusHere",
    "Elsewhere",
    "ReviewItem",
    "Scale",
    "check_suggestion",
    "citations",
    "corpora_here",
    "deciding",
    "failed_entries",
    "failed_of",
    "find_document",
    "hits_in_words",
    "names_in_use",
    "passage_shown",
    "queries",
    "report_of",
    "rubric_text",
    "scale_of",
    "story_of",
    "summary_of",
    "to_judge",
    "verdicts",
    "waits_elsewhere",
]

NO_GRADES = "This is a golden set: its questions pass or fail, and take no grades."
FIRST_SEARCH = "It can be searched; the first search takes longer, since it builds the index."
BEGINNING = 40  # characters by which the beginning of a text is known
PASSAGE = 900  # characters of a document that is to be judged


class CitedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document and where it is."""

    corpus: str
    document: Document

    @property
    def citation(self) -> str:
        return citation_of(self.document)

    def passage(self, query: str) -> tuple[str, list[str]]:
        """What of it says most about a query, chosen without any engine, and the words of the
        query in it."""
        best = passages(query, self.document)
        whole = " … ".join(best.texts) or self.document.text
        return whole if len(whole) <= PASSAGE else f"{whole[:PASSAGE]} …", list(best.words)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The grades of a gold set, and the rubric that explains them, where one is known."""

    grades: tuple[int, ...]
    names: tuple[str, ...]
    rubric: Rubric | None = None

    @property
    def text(self) -> str:
        named = [f"{g} {name}".strip() for g, name in zip(self.grades, self.names, strict=True)]
        return ", ".join(named)


# ── documents ─────────────────────────────────────────────────────────────────────────────────────


def find_document(
    service: Service, doc_id: str, *, corpus: str = "", gold: str = ""
) -> CitedDocument | None:
    """From the corpus named, else from any that has it: of the workspace, of the pool of the set,
    of the engines that are configured."""
    for name, where in _corpora(service, corpus, gold):
        try:
            document = reader_named(where, service.home).get(doc_id)
        except InputError:
            continue  # a file that has gone: others may have it
        if document is not None:
            return CitedDocument(corpus=name, document=document)
    return None


def _corpora(service: Service, corpus: str, gold: str) -> Iterator[tuple[str, str]]:
    """(the name people use, where it is), each once."""
    known = list_corpora(service.home)
    places = [corpus] if corpus in known else []
    if gold and (pool := read_pool(gold_path(service, gold))) is not None and pool.corpus:
        places.append(pool.corpus)
    places += known
    engines = service.config.engines.values() if service.config else ()
    places += [engine.corpus for engine in engines if engine.corpus]
    for where in dict.fromkeys(places):
        yield (where if where in known else Path(where).stem), where


class CorpusHere(msgspec.Struct, frozen=True, kw_only=True):
    """A corpus: how one of its documents is cited, its language, the acts it holds, and what to
    know of it."""

    row: CorpusRow
    example: str
    language: str
    acts: list[str]
    note: str


def corpora_here(service: Service) -> list[CorpusHere]:
    found = []
    for row in corpus_rows(service.home):
        corpus = corpus_named(row.name, service.home)
        first = next(iter(corpus.iter()), None)
        notes = [
            FIRST_SEARCH if not row.indexed else "",
            f"{OLDER.capitalize()}." if imported_by_older(corpus.manifest) else "",
        ]
        found.append(
            CorpusHere(
                row=row,
                example=citation_of(first) if first is not None else "",
                language=language_of(service, row.name),
                acts=acts_of(corpus),
                note=" ".join(filter(None, notes)),
            )
        )
    return found


def passage_shown(document: Document, passage: str) -> str:
    """A passage from inside a text begins with an ellipsis; one from its beginning does not."""
    start = " ".join(passage.split())[:BEGINNING]
    texts = (document.text, *document.fields.values())
    at_start = any(" ".join(text[: 2 * BEGINNING].split()).startswith(start) for text in texts)
    return passage if at_start or passage.startswith("…") else f"… {passage}"


def citations(service: Service, text: str, corpus: str = "") -> list[Resolved]:
    """The citations in a text, and the documents of a corpus that they name."""
    known = list_corpora(service.home)
    if corpus and corpus not in known:
        raise NotHere(f"no corpus {corpus!r}", hint=f"Known: {', '.join(known) or 'none yet'}.")
    return citations_in(text, corpus or None, home=service.home)


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


def queries(
    service: Service, gold: str, *, find: str = "", limit: int = 50, offset: int = 0
) -> Page[tuple[Query, int]]:
    """The queries of a set, each with how many documents are judged for it; `find` keeps those
    with these words."""
    gold_set = read_gold(service, gold)
    counts: dict[str, int] = {}
    for query_id in gold_set.judgments["query_id"].to_list():
        counts[query_id] = counts.get(query_id, 0) + 1
    words = find.casefold().split()
    every = [
        (query, counts.get(query.id, 0))
        for query in gold_set.queries
        if all(word in f"{query.id} {query.text} {query.topic}".casefold() for word in words)
    ]
    return page_of(every[offset:], offset, page_size(limit))


def scale_of(service: Service, gold: str) -> Scale:
    """By the rubric of the set, else by its format."""
    gold_set = read_gold(service, gold)
    if is_golden(gold_set):
        return Scale(grades=(), names=())
    rubric = rubric_of(gold_set, gold_path(service, gold))
    if rubric is not None:
        return _by_rubric(rubric)
    top = gold_set.top_grade or TOP_GRADE
    grades = tuple(range(top + 1))
    names = ("not relevant", *([""] * (top - 1)), "most relevant") if top else ("",)
    return Scale(grades=grades, names=names)


def _by_rubric(rubric: Rubric) -> Scale:
    labels = {grade.value: grade.label for grade in rubric.grades}
    grades = tuple(sorted(labels))
    return Scale(grades=grades, names=tuple(labels[grade] for grade in grades), rubric=rubric)


def rubric_text(service: Service, gold: str = "", name: str = "") -> tuple[str, str, Scale]:
    """(version, page, scale) of the rubric of a set, or of one by its name."""
    if gold:
        scale = scale_of(service, gold)
        if not scale.grades:
            return "", NO_GRADES, scale
        if scale.rubric is None:
            said = f"This set names no rubric. Grades: {scale.text}."
            return "", said, scale
        rubric = scale.rubric
    else:
        known = [found.name for found in rubrics.available()]
        if name and name not in known:
            raise NotHere(f"no rubric {name!r}", hint=f"Known: {', '.join(known)}.")
        rubric = rubrics.find(name or rubrics.DEFAULT)
        scale = _by_rubric(rubric)
    return rubrics.version(rubric), rubrics.as_markdown(rubric), scale


# ── judging ───────────────────────────────────────────────────────────────────────────────────────


def to_judge(
    service: Service, gold: str, limit: int = 10, offset: int = 0, run_ids: Sequence[str] = ()
) -> Page[tuple[ToJudge, list[CitedDocument | None]]]:
    """What to judge next, with the documents themselves; None for one that is not here."""
    page = worth_looking_at(service, gold, limit, offset, run_ids=run_ids)
    items = [
        (
            item,
            [find_document(service, each, corpus=item.corpus, gold=gold) for each in item.doc_ids],
        )
        for item in page.items
    ]
    return Page(items=items, offset=page.offset, next_offset=page.next_offset)


def check_suggestion(service: Service, gold: str, query_id: str, doc_id: str, grade: int) -> None:
    """Whether an expert can use a suggestion: of a query that exists, on the scale of the set, and
    not of what is judged already."""
    gold_set = read_gold(service, gold)
    query = next((query for query in gold_set.queries if query.id == query_id), None)
    if query is None:
        near = difflib.get_close_matches(query_id, gold_set.query_ids, n=3, cutoff=0.5)
        hint = f"Near: {', '.join(near)}." if near else "list_queries names those there are."
        raise NotHere(f"no query {query_id!r} in gold set {gold!r}", hint=hint)
    if is_golden(gold_set):
        raise InputError(
            f"{gold!r} is a golden set: its questions pass or fail, and take no grades"
        )
    scale = scale_of(service, gold)
    if grade not in scale.grades:
        raise InputError(
            f"grade {grade} is not on the scale of {gold!r}", hint=f"It has {scale.text}."
        )
    if (query_id, doc_id) in _settled(service, gold, gold_set, query):
        told = _grade_of(gold_set, query_id, doc_id)
        raise InputError(
            f"document {doc_id!r} is judged already for query {query_id!r}{told}",
            hint="next_to_judge names what is not judged yet.",
        )


def _settled(service: Service, gold: str, gold_set: GoldSet, query: Query) -> set[tuple[str, str]]:
    """Of a set from logs what the expert has approved; of others what has a label or a vote."""
    if gold_set.from_logs and query.source != "chair":
        return set()
    return judged_now(gold_path(service, gold), gold_set)


def _grade_of(gold: GoldSet, query_id: str, doc_id: str) -> str:
    for judgment in gold.iter_judgments():
        if (judgment.query_id, judgment.doc_id) == (query_id, doc_id):
            return f": grade {judgment.grade}"
    return ""


# ── what waits ────────────────────────────────────────────────────────────────────────────────────


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for people outside the review queue."""

    disagreements: int
    to_judge: int

    @property
    def told(self) -> str:
        kinds = [
            f"{counted(count, what)} {end}"
            for count, what, end in (
                (
                    self.disagreements,
                    "disagreement",
                    "to be ruled on (on the pages of the workbench)",
                ),
                (self.to_judge, "document", "of pools to be judged"),
            )
            if count
        ]
        return f" Not in that queue: {' and '.join(kinds)}." if kinds else ""


def waits_elsewhere(service: Service, gold: str = "") -> Elsewhere:
    asked = gold_path(service, gold) if gold else None
    standings = [
        set_standing(name, path)
        for name, path in service.gold_sets.items()
        if asked is None or path == asked
    ]
    return Elsewhere(
        disagreements=sum(each.disputes for each in standings),
        to_judge=sum(each.to_judge for each in standings),
    )


def names_in_use(service: Service) -> dict[str, str]:
    """What people call each set that is configured, by its name in the store."""
    return {
        kept: name for name, path in service.gold_sets.items() for kept in run_names(service, path)
    }


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


def verdicts(comparison: Comparison) -> list[str]:
    """The answer for each system in a few sentences, the verdict first."""
    told = []
    for answer in answers(comparison, Sentences(Words("en"))):
        notes = [note.replace(COMMAND, "next_to_judge with these run_ids") for note in answer.notes]
        told.append(" ".join([f"{answer.text}.", answer.change, *notes]))
    return told


def failed_entries(results: Results) -> Sequence[Entry]:
    """Of a golden set the questions that failed, those that must pass first; of a graded one every
    query, the lowest first, and those that were not scored last."""
    if isinstance(results, GoldenResults):
        failed = [entry for entry in results.per_query if not entry.passed]
        return sorted(failed, key=lambda entry: not entry.must)
    key = line.key if (line := deciding(results)) else ""
    values = [(entry.metrics.get(key), entry) for entry in results.per_query]
    scored = [(value, entry) for value, entry in values if value is not None]
    unscored = [entry for value, entry in values if value is None]
    return [entry for _, entry in sorted(scored, key=lambda pair: pair[0])] + unscored


def failed_of(results: Results) -> list[str]:
    """Of a golden set: the questions that failed."""
    golden = isinstance(results, GoldenResults)
    return [entry.query_id for entry in failed_entries(results)] if golden else []


def deciding(results: GradedResults) -> MeasureLine | None:
    """The measure that a run is told by."""
    lines = results.receipt.measures
    return next((line for line in lines if line.key == "ndcg@10"), next(iter(lines), None))


def story_of(entry: GradedEntry | GoldenEntry) -> tuple[str, str]:
    """(what was expected, what came of it) in words."""
    if isinstance(entry, GoldenEntry):
        tell = Sentences(Words("en"))
        expected = f"{tell.expected(entry)}, in the top {entry.k}"
        if entry.min_score:
            expected += f" with a score of at least {entry.min_score:g}"
        state = "Passed" if entry.passed else "Failed"
        stood = _stood(entry) if entry.expected_any and not entry.passed else ""
        reason = entry.reason.removesuffix(".") if stood else entry.reason  # "… 3 mom."
        return expected, f"{state}: {reason}{stood}"
    relevant = sum(grade > 0 for grade in entry.judged)
    expected = f"{relevant} of the {len(entry.judged)} judged documents are relevant"
    if entry.reason:
        return expected, entry.reason
    ranks = [rank for rank, grade in enumerate(entry.grades, start=1) if grade]
    unknown = sum(grade is None for grade in entry.grades[:10])
    first = f"the first relevant one at rank {ranks[0]}" if ranks else "none of them was found"
    found = f"{len(ranks)} of them found, {first}" if ranks else first
    return expected, f"{found}; {unknown} of the first {len(entry.grades[:10])} are not judged"


def _stood(entry: GoldenEntry) -> str:
    """Where the expected place was, if the reason does not say it, and why a miss is called
    close."""
    if f"rank {entry.expected_rank}" in entry.reason:
        return "."
    close = f" {CLOSE}" if entry.failure == "near_miss" else ""
    if entry.expected_rank is None:
        among = counted(len(entry.hits), "result")
        return f".{close} An expected place is not among the {among}."
    return f".{close} The first expected place stands at rank {entry.expected_rank}."


CLOSE = (
    "Close means a neighbour of the expected place: another moment of its section, or the section, "
    "page or column beside it."
)


def hits_in_words(entry: GoldenEntry, most: int = 10) -> list[tuple[GoldenHit, str]]:
    """The first hits of a golden question, each with its place and score."""
    tell = Sentences(Words("en"))
    return [(hit, tell.hit(hit)) for hit in entry.hits[: max(entry.k, most)]]


def report_of(service: Service, run_id: str) -> str:
    """The whole report of a run: whether it may ship by the gates of today, what nobody has judged,
    every measure overall and by slice, and of a graded set every query."""
    kept = kept_run(service, run_id)
    ship = may_ship(service, kept)
    results = msgspec.structs.replace(kept.results, verdict=ship.verdict)
    parts = [ship.told, evaluation_report(view(results))]
    if isinstance(results, GradedResults) and results.receipt.measures:
        lines = results.receipt.measures[:3]
        head = ["query", "judged of the first 10", *(line.measure for line in lines)]
        rows = [
            [
                f"{entry.query_id} {inline(entry.query_text)}".replace("|", "/"),
                f"{sum(grade is not None for grade in entry.grades[:10])}",
                *(_shown(entry.metrics.get(line.key)) for line in lines),
            ]
            for entry in results.per_query
        ]
        table = [head, ["---"] * len(head), *rows]
        queries = "\n".join(f"| {' | '.join(row)} |" for row in table)
        parts = [parts[0], summary_of(results), *parts[1:], f"## Queries\n\n{queries}\n"]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def summary_of(results: Results) -> str:
    """How good a run is, in a sentence or two. What nobody has judged comes first, since the figure
    alone would be taken for the answer."""
    if isinstance(results, GoldenResults):
        failed = [entry for entry in results.per_query if not entry.passed]
        must = sum(entry.must for entry in failed)
        passed = len(results.per_query) - len(failed)
        said = f"{passed} of {counted(len(results.per_query), 'question')} passed"
        if not failed:
            return f"{said}."
        musts = f"{must} of them MUST questions" if must else "none of them a MUST question"
        return f"{said}; {len(failed)} failed, {musts}."
    line = deciding(results)
    value = results.overall.get(line.key) if line is not None else None
    if line is None or value is None:
        return "Nothing is judged yet, so there are no figures."
    low, high = results.intervals.overall.get(line.key, (None, None))
    between = (
        f" (95% interval {low:.3f} to {high:.3f})" if low is not None and high is not None else ""
    )
    over = counted(results.receipt.n.overall, "query")
    figure = f"{line.measure} is {value:.3f}{between} over {over}."
    unjudged = [each for each in results.receipt.unjudged.values() if each.measure == line.measure]
    counts = results.receipt.counts
    doubt = Sentences(Words("en")).bounds(unjudged[0], line.cutoff, counts) if unjudged else ""
    return f"{doubt} Counted so, {figure}" if doubt else figure
