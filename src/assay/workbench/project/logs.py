"""`assay logs`: importing searches, feedback and decisions, and purging old searches; and the
team's own log, which `[logs]` in assay.toml names."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.errors import InputError
from assay.core.files import iter_json_lines, write_atomic
from assay.core.workers import Failure, Job, run_apart
from assay.corpus.citations import cite
from assay.corpus.disk import Corpus, open_corpus, open_path
from assay.corpus.lookup import corpus_named
from assay.law.citation import Citation
from assay.store.records import CaseCounts, Decision, PurgeCounts, SearchLog
from assay.telemetry.external_table import ExternalLogs
from assay.telemetry.records import (
    FEEDBACK_NAMES,
    Redaction,
    SentDecision,
    SentFeedback,
    SentSearch,
    days_before,
    decision_row,
    feedback_from,
    infer_relevance_from_citations,
    logged_search,
    redact,
    redact_search,
    redactor,
    score_of,
    search_from,
    with_our_names,
)
from assay.telemetry.traces import answers_of, search_row, spans_of
from assay.workbench.project.audit_trail import note
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.output_files import refuse_output
from assay.workbench.project.service import Service

__all__ = [
    "CaseCounts",
    "ExternalLogs",
    "ImportCounts",
    "ImportedFeedback",
    "ImportedTraces",
    "InferredFeedback",
    "LoggedSearches",
    "SentDecision",
    "SentFeedback",
    "SentSearch",
    "Unresolved",
    "configured_logs",
    "flush",
    "import_decisions",
    "import_feedback",
    "import_searches",
    "import_traces",
    "log_searches",
    "purge",
    "record_decisions",
    "record_feedback",
]

# characters of decisions that a server reads without a process of its own; taste
IN_PROCESS_CHARACTERS = 20_000
_readers = threading.BoundedSemaphore(2)  # such processes at a time
BATCH = 10_000  # searches in one transaction (taste): fewer write the index of documents less often

SentRows = Sequence[tuple[str, object]]  # (where it stands, the JSON value) of each record


class ImportCounts(msgspec.Struct, frozen=True, kw_only=True):
    read: int
    new: int


class ImportedFeedback(ImportCounts, frozen=True, kw_only=True):
    without_search: int  # rows on searches that the log does not have


class Unresolved(msgspec.Struct, frozen=True, kw_only=True):
    """A citation that names no document of the corpora, and why. An ambiguous one names several."""

    decision: str
    text: str
    normal: str
    reason: str


class InferredFeedback(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of importing decisions: new feedback, and the citations that name no document.
    `cases` counts the newly labelled searches by whose case they were made for, if that is
    known."""

    read: int
    feedback: int
    unresolved: int
    citations: list[Unresolved] = []
    cases: CaseCounts | None = None


class LoggedSearches(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of the searches that a program sent, and how many were dropped by a full queue."""

    ids: list[str]
    dropped: int


class ImportedTraces(ImportCounts, frozen=True, kw_only=True):
    """The outcome of importing traces: `read` and `new` searches of so many `spans`, and `answers`
    written."""

    spans: int
    answers: int


def import_traces(
    service: Service,
    path: Path,
    *,
    answers: Path | None = None,
    redactions: Sequence[str | Redaction] = (),
) -> ImportedTraces:
    """Searches from the retriever spans of traces, which may be imported again; with `answers`, the
    questions and answers are written there, one JSON object a line."""
    rules = redactor(redactions)
    spans = [
        (f"{path}:{number}", span)
        for number, row in iter_json_lines(path)
        for span in spans_of(row, f"{path}:{number}")
    ]
    searches = [
        redact_search(logged_search(search_row(span), where), rules)
        for where, span in spans
        if span.kind == "RETRIEVER"
    ]
    if not searches:
        raise InputError(
            "there is no retriever span here",
            where=str(path),
            hint="A span is a retriever by openinference.span.kind or type: RETRIEVER.",
        )
    found = []
    if answers is not None:
        refuse_output(answers, path)
        found = [
            msgspec.structs.replace(
                each, question=redact(each.question, rules), answer=redact(each.answer, rules)
            )
            for each in answers_of([span for _, span in spans])
        ]
        write_atomic(answers, b"".join(msgspec.json.encode(each) + b"\n" for each in found))
    new = sum(
        service.store.add_searches(searches[at : at + BATCH])
        for at in range(0, len(searches), BATCH)
    )
    return ImportedTraces(read=len(searches), new=new, spans=len(spans), answers=len(found))


def import_searches(
    service: Service, path: Path, *, redactions: Sequence[str | Redaction] = ()
) -> ImportCounts:
    """Searches from a file, one JSON object a line: query, at, results, and corpus, practice_area,
    … as known. A file can be imported again: a search without an id gets one from its content."""
    rules = redactor(redactions)
    if path.is_file():  # all of it is read before any is kept; what comes by a pipe is read once
        for number, row in iter_json_lines(path):
            logged_search(row, f"{path}:{number}")
    batch: list[SearchLog] = []
    read = new = 0
    for number, row in iter_json_lines(path):
        batch.append(redact_search(logged_search(row, f"{path}:{number}"), rules))
        read += 1
        if len(batch) == BATCH:
            new += service.store.add_searches(batch)
            batch = []
    return ImportCounts(read=read, new=new + service.store.add_searches(batch))


def log_searches(service: Service, rows: Sequence[object]) -> LoggedSearches:
    """Searches that a running service sends. Answers at once: the store is written behind."""
    searches = [search_from(row, f"[{number}]") for number, row in enumerate(rows)]
    if service.recorder is None:
        raise InputError("this server does not record searches")
    dropped = sum(not service.recorder.put(search) for search in searches)
    return LoggedSearches(ids=[search.id for search in searches], dropped=dropped)


def flush(service: Service) -> None:
    """Write accepted searches before the process ends."""
    if service.recorder is not None:
        service.recorder.flush()


def import_decisions(
    service: Service, path: Path, *, corpora: Sequence[str] = (), same_case: bool = False
) -> InferredFeedback:
    """Decisions from a file, one JSON object a line: id, at, and `cites` (ids) or `text` (citations
    are parsed and resolved in the corpora)."""
    sent = [(f"{path}:{number}", row) for number, row in iter_json_lines(path)]
    return record_decisions(service, sent, corpora=corpora, same_case=same_case)


def record_decisions(
    service: Service,
    rows: SentRows,
    *,
    corpora: Sequence[str] = (),
    same_case: bool = False,
    seconds: float | None = None,
) -> InferredFeedback:
    """Finalised decisions: every earlier search that showed what they cite gets relevance_score 3.
    With `seconds`, long texts are read in a process of their own, for so long at most."""
    opened = [_open_corpus(service, name) for name in dict.fromkeys(corpora)]
    if seconds is not None and opened and _size_of(rows) > IN_PROCESS_CHARACTERS:
        decisions, unresolved = _read_apart([corpus.path for corpus in opened], rows, seconds)
    else:
        decisions, unresolved = _read_decisions(opened, rows)
    feedback = infer_relevance_from_citations(service.store, decisions, same_case=same_case)
    cases = service.store.case_counts([decision.id for decision in decisions])
    return InferredFeedback(
        read=len(decisions),
        feedback=feedback,
        unresolved=len(unresolved),
        citations=unresolved,
        cases=cases if cases.own or cases.other else None,
    )


def _size_of(sent: SentRows) -> int:
    """The characters of all texts, of which nobody has looked at the types."""
    texts = (row.get("text") for _, row in sent if isinstance(row, dict))
    return sum(len(text) for text in texts if isinstance(text, str))


def _read_decisions(
    corpora: Sequence[Corpus], sent: SentRows
) -> tuple[list[Decision], list[Unresolved]]:
    finder = _CitationFinder(corpora) if corpora else None
    decisions = [decision_row(row, where, finder) for where, row in sent]
    return decisions, finder.unresolved if finder is not None else []


def _read_in_folders(
    folders: Sequence[Path], sent: SentRows
) -> tuple[list[Decision], list[Unresolved]]:
    return _read_decisions([open_path(folder) for folder in folders], sent)


def _read_apart(
    folders: Sequence[Path], sent: SentRows, seconds: float
) -> tuple[list[Decision], list[Unresolved]]:
    if not _readers.acquire(timeout=seconds):
        raise InputError(
            "other decisions are being read; nothing was recorded", hint="Send these again later."
        )
    try:
        answer = run_apart(Job(_read_in_folders, (folders, sent), seconds=seconds))
    finally:
        _readers.release()
    if isinstance(answer, Failure):
        raise answer.error or InputError(
            f"the citations in these texts could not be read: {answer.message}",
            hint="Nothing was recorded. Send fewer or shorter texts at a time, or the ids that "
            "they cite.",
        )
    return answer


def _open_corpus(service: Service, name: str) -> Corpus:
    """Open a corpus by its name, or by the file of a frozen one."""
    if service.opens_files:
        return corpus_named(name, service.home)
    return open_corpus(service.home, name)


class _CitationFinder:
    """Finds the documents a text cites, and lists the citations that name none in any of the
    corpora. Corpora read a text each in its own way: where one has resolved a place in it, what
    another could not read there is no matter."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        self._corpora = corpora
        self.unresolved: list[Unresolved] = []

    def __call__(self, decision: str, text: str) -> list[str]:
        every = [one for corpus in self._corpora for one in cite(text, corpus)]
        found = [one for one in every if one.targets]
        taken = bytearray(len(text))
        for one in found:
            _mark_taken(taken, one.citation)
        for one in sorted(every, key=lambda one: (one.citation.start, -one.citation.end)):
            if one.targets or taken.find(1, one.citation.start, one.citation.end) >= 0:
                continue
            _mark_taken(taken, one.citation)  # told once, also where several corpora read it
            self.unresolved.append(
                Unresolved(
                    decision=decision,
                    text=one.citation.text,
                    normal=one.citation.normal,
                    reason=one.reason,
                )
            )
        return [target for one in found for target in one.targets]


def _mark_taken(taken: bytearray, citation: Citation) -> None:
    taken[citation.start : citation.end] = b"\1" * (citation.end - citation.start)


def record_feedback(service: Service, rows: SentRows) -> ImportCounts:
    """Clicks, votes and scores: log_id, doc_id, kind (click or vote) or relevance_score, and
    relevant, rank, by, at as known."""
    given = [feedback_from(row, where, service.clock()) for where, row in rows]
    return ImportCounts(read=len(given), new=service.store.add_feedback(given))


def import_feedback(service: Service, path: Path) -> ImportedFeedback:
    """Feedback from a file, one JSON object a line: the search that it belongs to, the document and
    the score. A file can be imported again, and a later score replaces an earlier one."""
    given = []
    for number, sent in iter_json_lines(path):
        where, row = f"{path}:{number}", with_our_names(sent, FEEDBACK_NAMES)
        if isinstance(row, dict) and row.get("relevance_score") is not None:
            row["relevance_score"] = score_of(row["relevance_score"], where)
        given.append(feedback_from(row, where, service.clock()))
    new = sum(
        service.store.add_feedback(given[start : start + BATCH])
        for start in range(0, len(given), BATCH)
    )
    known = service.store.known_searches(sorted({sign.log_id for sign in given}))
    lost = sum(sign.log_id not in known for sign in given)
    return ImportedFeedback(read=len(given), new=new, without_search=lost)


def configured_logs() -> ExternalLogs | None:
    """The team's own log that the configuration in this folder names, if it names one."""
    path = Path(CONFIG_NAME)
    source = read_config(path).logs if path.exists() else None
    return ExternalLogs(source) if source is not None else None


def purge(
    service: Service, *, older_than_days: float, keep_cited: bool = False, by: str = "retention"
) -> PurgeCounts:
    """Forget searches by age, and record that it was done."""
    before = days_before(service.clock(), older_than_days)
    gone = service.store.purge(before, keep_cited=keep_cited)
    why = f"older than {older_than_days:g} days"
    note(service, by, "logs.purged", "search_logs", reason=why, after=gone)
    return gone
