"""An answer as a lawyer reads it: its text with a chip on every citation and quotation, the claims
that are left to judge, and the authorities of a set of answers.

Nothing here says which system wrote an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher

import msgspec

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, NotHere
from assay.core.results import CitationFinding, FigureFinding, QuoteFinding
from assay.core.types import Document
from assay.judging.passages import passages
from assay.judging.pool import is_answer_set
from assay.reports.answers import reason_of
from assay.reports.words import Words
from assay.workbench.judging.answer_pool import (
    ANSWER,
    AnswerRecord,
    Claim,
    SourceText,
    kind_of,
    stands_in,
)
from assay.workbench.judging.session import open_session
from assay.workbench.project.service import Service, gold_path
from assay.workbench.searching.open_corpora import Reader, reader_of

Span = tuple[int, int]
BESIDE = 12  # words that may lie between the marked words of one quotation; taste
CHECKS = ("exists", "name", "pinpoint", "in_force", "retrieved")
GOOD_VALUES = {"found", "agrees", "exists", "in_force", "retrieved", "verbatim", "ellipsis"}
BAD_VALUES = {"not_found", "differs", "missing", "not_yet", "no_longer"} | {
    *("altered", "other_source", "nowhere", "unsupported")
}


class ChipCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One exact check of a citation or quotation. `tone` is good, bad, or open."""

    check: str
    value: str
    reason: str = ""

    @property
    def tone(self) -> str:
        return tone_of(self.value)


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """A citation, a quotation, or a figure that its source does not have. `value` is the check that
    says most of it, and `claim` the first document to judge that rests on it."""

    number: int
    kind: str
    text: str
    start: int
    end: int
    value: str
    checks: list[ChipCheck]
    source: SourceText | None = None
    claim: str = ""
    diff: list[tuple[str, str]] = []

    @property
    def tone(self) -> str:
        return tone_of(self.value)


class AnswerText(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the answer, and the chip that stands on it."""

    text: str
    chip: Chip | None = None


class ShownSentence(msgspec.Struct, frozen=True, kw_only=True):
    number: int  # -1 for what lies between sentences
    pieces: list[AnswerText]


class ShownClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim to judge, with the chips of its sentence; on the answer as a whole, the faults."""

    id: str
    claim: Claim
    text: str
    title: str  # of its source
    chips: list[Chip]


class AnswerToJudge(msgspec.Struct, frozen=True, kw_only=True):
    sentences: list[ShownSentence]
    chips: list[Chip]
    claims: dict[str, ShownClaim]
    language: str

    @property
    def faults(self) -> list[Chip]:
        return [chip for chip in self.chips if chip.tone == "bad"]


def tone_of(value: str) -> str:
    return "good" if value in GOOD_VALUES else "bad" if value in BAD_VALUES else "open"


# ── one answer ────────────────────────────────────────────────────────────────────────────────────


def answer_to_judge(
    service: Service, name: str, query_id: str, language: str = "en"
) -> AnswerToJudge | None:
    """The answer of a query; None where the query is no answer."""
    session = open_session(gold_path(service, name))
    if not is_answer_set(session.dataset):
        return None
    session.query(query_id)
    reader = reader_of(session.pool, session.dataset, service.home)
    document = reader.get(query_id)
    if document is None:
        raise NotHere(f"the answer {query_id!r} is gone", where=reader.corpus)
    record = record_of(document)
    chips = list(_chips(record, language))
    return AnswerToJudge(
        sentences=list(_sentences(document.text, record, chips)),
        chips=chips,
        claims={
            pair.doc_id: shown
            for pair in session.pool_by_query.get(query_id, ())
            if (shown := _claim(reader, pair.doc_id, record, chips)) is not None
        },
        language=document.language,
    )


def record_of(document: Document) -> AnswerRecord:
    return msgspec.convert(document.metadata[ANSWER], thread_safe(AnswerRecord))


def _claim(
    reader: Reader, doc_id: str, record: AnswerRecord, chips: list[Chip]
) -> ShownClaim | None:
    document = reader.get(doc_id)
    if document is None or not kind_of(document):
        return None
    claim = msgspec.convert(document.metadata["claim"], thread_safe(Claim))
    if claim.kind == "support":
        sentence = record.sentences[claim.sentence]
        here = [chip for chip in chips if stands_in(chip.start, chip.end, sentence)]
        mine = [chip for chip in here if chip.kind != "citation" or chip.claim == doc_id]
    else:
        mine = [chip for chip in chips if chip.tone == "bad" and claim.kind != "nugget"]
    title = document.citations[0] if document.citations else ""
    return ShownClaim(id=doc_id, claim=claim, text=document.title, title=title, chips=mine)


def _chips(record: AnswerRecord, language: str) -> Iterator[Chip]:
    """Every finding that has a chip, in the order of the answer, with its reason in a language."""
    entry = record.entry
    claims = {citation.citation: citation for citation in record.cited}
    words = Words(language)
    reasons_in_notes = (
        (note.check, note.start, reason_of(note, words)) for note in reversed(record.notes)
    )
    reasons = {(check, start): reason for check, start, reason in reasons_in_notes}
    found: list[tuple[int, int, CitationFinding | QuoteFinding | FigureFinding]] = [
        (citation.start, place, citation) for place, citation in enumerate(entry.citations)
    ]
    found += [(citation.start, -1, citation) for citation in entry.quotes]
    found += [
        (citation.start, -1, citation)
        for citation in entry.figures
        if citation.status == "unsupported"
    ]
    for number, (_, place, citation) in enumerate(sorted(found, key=lambda each: each[:2])):
        if isinstance(citation, CitationFinding):
            cited = claims.get(place)
            source = record.sources.get(cited.source) if cited is not None else None
            checks = list(_checks(citation, reasons))
            worst = next((line.value for line in checks if line.tone == "bad"), citation.exists)
            claim = cited.claim if cited is not None else ""
            yield Chip(
                number=number,
                kind="citation",
                text=citation.text,
                start=citation.start,
                end=citation.end,
                value=worst,
                checks=checks,
                source=source,
                claim=claim,
            )
        else:
            kind = "quote" if isinstance(citation, QuoteFinding) else "figure"
            value: str = citation.status
            reason = "" if kind == "quote" else reasons.get((kind, citation.start), "")
            yield Chip(
                number=number,
                kind=kind,
                text=citation.text,
                start=citation.start,
                end=citation.end,
                value=value,
                checks=[ChipCheck(check=kind, value=value, reason=reason)],
                source=record.sources.get(getattr(citation, "source", "")),
                diff=diff_pieces(getattr(citation, "diff", "")),
            )


def _checks(
    finding: CitationFinding, reasons: Mapping[tuple[str, int], str]
) -> Iterator[ChipCheck]:
    for check in CHECKS:
        value = getattr(finding, check)
        if value not in ("not_given", "unknown"):
            reason = reasons.get((check, finding.start), "")
            yield ChipCheck(check=check, value=value, reason=reason)


_DIFF = re.compile(r"\[-(.*?)-\]|\{\+(.*?)\+\}", re.DOTALL)


def diff_pieces(diff: str) -> list[tuple[str, str]]:
    """The diff of an altered quotation (`wdiff`): what is the same, what stands in the source
    (`del`), and what the answer has instead (`ins`)."""
    found, at = [], 0
    for match in _DIFF.finditer(diff):
        found.append(("same", diff[at : match.start()]))
        found.append(("del", match[1]) if match[1] is not None else ("ins", match[2]))
        at = match.end()
    found.append(("same", diff[at:]))
    return [(kind, text) for kind, text in found if text] if diff else []


# ── the text with its chips ───────────────────────────────────────────────────────────────────────


def _sentences(text: str, record: AnswerRecord, chips: list[Chip]) -> Iterator[ShownSentence]:
    """The whole text, cut where sentences and chips begin and end. Where two chips overlap the
    later one stands after the earlier."""
    at = 0
    for number, (start, end) in enumerate(record.sentences):
        if start > at:
            yield ShownSentence(number=-1, pieces=list(_pieces(text, at, start, chips)))
        yield ShownSentence(number=number, pieces=list(_pieces(text, start, end, chips)))
        at = end
    if at < len(text) or not record.sentences:
        yield ShownSentence(number=-1, pieces=list(_pieces(text, at, len(text), chips)))


def _pieces(text: str, start: int, end: int, chips: list[Chip]) -> Iterator[AnswerText]:
    at = start
    for chip in chips:
        if not stands_in(chip.start, chip.end, (start, end)):
            continue
        low, high = max(chip.start, at), min(max(chip.end, at), end)
        if low > at:
            yield AnswerText(text=text[at:low])
        yield AnswerText(text=text[low:high], chip=chip)
        at = high
    if at < end:
        yield AnswerText(text=text[at:end])


# ── the source with its marks ─────────────────────────────────────────────────────────────────────


_WORD = re.compile(r"[^\W_]+")


def marks_in(document: Document) -> tuple[list[Span], Span | None]:
    """The places of a claim's quoted words in its source, and the passage nearest to them."""
    claim = msgspec.convert(document.metadata["claim"], thread_safe(Claim))
    if claim.kind != "support":
        return [], None
    marks = [span for quote in claim.quotes for span in quoted_spans(document.text, quote)]
    if marks:
        return sorted(set(marks)), None
    near = passages(document.title, document).texts[:1]
    found = [span for text in near for span in quoted_spans(document.text, text)]
    is_whole = not found or found[-1][1] - found[0][0] > 0.8 * len(document.text)
    return [], None if is_whole else (found[0][0], found[-1][1])


def quoted_spans(text: str, quote: str) -> list[Span]:
    """The places of a quotation's words in a text, even if some of them were changed."""
    there = [(match[0].casefold(), *match.span()) for match in _WORD.finditer(text)]
    quoted = [match[0].casefold() for match in _WORD.finditer(quote)]
    matcher = SequenceMatcher(None, quoted, [word for word, _, _ in there], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return []
    longest = max(blocks, key=lambda block: block.size)
    if longest.size < min(3, len(quoted)):
        return []
    low = longest.b - longest.a - BESIDE
    high = longest.b + len(quoted) - longest.a + BESIDE
    near = [block for block in blocks if low <= block.b <= high]
    spans: list[Span] = []
    for block in near:
        start, end = there[block.b][1], there[block.b + block.size - 1][2]
        if spans and not _WORD.search(text[spans[-1][1] : start]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


# ── a set of answers ──────────────────────────────────────────────────────────────────────────────


class AnswerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a set, for the list: its exact findings, and the claims of this judge."""

    id: str
    question: str
    faults: list[Chip]
    citations: int
    asked: int
    judged: int


class Authority(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of authorities: what is cited, how, and by which answers (by their
    number in the list)."""

    title: str
    text: str  # as the first answer cites it
    value: str
    answers: list[int]

    @property
    def tone(self) -> str:
        return tone_of(self.value)


class AnswerSet(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    answers: list[AnswerRow] = []
    authorities: list[Authority] = []
    error: str = ""

    @property
    def faults(self) -> int:
        return sum(bool(row.faults) for row in self.answers)

    @property
    def citations(self) -> int:
        return sum(row.citations for row in self.answers)

    @property
    def asked(self) -> int:
        return sum(row.asked for row in self.answers)

    @property
    def judged(self) -> int:
        return sum(row.judged for row in self.answers)


def answer_sets(service: Service, judge: str) -> list[AnswerSet]:
    """The sets of answers of a project."""
    names = [name for name, path in service.gold_sets.items() if is_answer_set(path)]
    return [_answer_set_row(service, name, judge) for name in names]


def _answer_set_row(service: Service, name: str, judge: str) -> AnswerSet:
    try:
        return answer_set(service, name, judge)
    except AssayError as error:
        return AnswerSet(name=name, title=name, error=str(error))


def answer_set(service: Service, name: str, judge: str) -> AnswerSet:
    """The answers of a set, and the table of the authorities that they cite."""
    dataset = gold_path(service, name)
    if not is_answer_set(dataset):
        raise NotHere(
            f"{name!r} is not a set of answers", hint="Make one: assay answers pool RESULTS"
        )
    session = open_session(dataset)
    reader = reader_of(session.pool, session.dataset, service.home)
    counts = session.counts(judge, session.gold.query_ids)
    rows, authorities = [], list[tuple[int, Chip]]()
    for number, query in enumerate(session.gold.queries, 1):
        document = reader.get(query.id)
        if document is None:
            raise NotHere(f"the answer {query.id!r} is gone", where=reader.corpus)
        chips = list(_chips(record_of(document), "en"))
        cited = [chip for chip in chips if chip.kind == "citation"]
        authorities += [(number, chip) for chip in cited]
        rows.append(
            AnswerRow(
                id=query.id,
                question=query.text,
                faults=[chip for chip in chips if chip.tone == "bad"],
                citations=len(cited),
                asked=counts[query.id].assigned,
                judged=counts[query.id].judged,
            )
        )
    return AnswerSet(
        name=name,
        title=session.gold.name,
        answers=rows,
        authorities=_authorities(authorities),
    )


_MARKER = re.compile(r"[\[\]【】\d,\s]*")


def _authorities(cited: Iterable[tuple[int, Chip]]) -> list[Authority]:
    """One row for each source and finding. A citation without a source is its own row; a bare
    marker of a passage that nobody has is none."""
    found: dict[tuple[str, str], Authority] = {}
    for number, chip in cited:
        title = chip.source.title if chip.source is not None else ""
        key = (title or chip.text, chip.value)
        known = found.get(key)
        answers = [*(known.answers if known else []), number]
        is_marker = _MARKER.fullmatch(chip.text) is not None
        if is_marker and not title:
            continue
        keeps = known is not None and (is_marker or not _MARKER.fullmatch(known.text))
        found[key] = Authority(
            title=title or chip.text,
            text=known.text if known is not None and keeps else chip.text,
            value=chip.value,
            answers=list(dict.fromkeys(answers)),
        )
    return sorted(found.values(), key=lambda one: one.title.casefold())
