"""`assay answers pool`: prepare checked answers for judges, as a gold set with a pool.

Each query of the set is one answer, and each document of the query is one claim to judge: its title
is the claim, its text is what must support it. Claims are the sentences with a source that they
cite, the nuggets that the answer should have, and two on the answer as a whole. So the judging
page, packets, votes, agreement, rulings, labels and machine judges serve answers as they serve
search results.

A citation with a fault is settled by the exact check and no claim: people judge only what survived.
Beside the set, STEM.documents.jsonl has the claims, and for each answer a record with the answer,
its findings and its sources. Ids say nothing of the system that wrote an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from assay import formats
from assay.answers.check import FAULTS
from assay.answers.mentions import sentence_ends
from assay.answers.readers import Answer, read_answers
from assay.core.decoding import thread_safe
from assay.core.errors import InputError, UsageError
from assay.core.files import iter_json_lines, read_json, refuse_unwritable, sha256_of, write_atomic
from assay.core.results import AnswerEntry, AnswerNote, AnswerResults, CitationFinding
from assay.core.types import WHOLE_DOCUMENTS, Document, GoldSet, Query
from assay.corpus.disk import Corpus
from assay.corpus.lookup import corpus_named
from assay.formats.results_json import read_answer_results
from assay.gold.rows import sibling_path
from assay.judging.passages import LANGUAGE_CHARACTERS
from assay.judging.pool import Pool, PooledPair, deal_pairs, doubles_wanted, with_pairs, write_pool
from assay.language.detect import detect
from assay.workbench.judging.set_edits import now_in_utc, rubric_by_id

RUBRIC = "answer-support-1"
ANSWER = "answer"  # the key of the record of an answer
MOST_TARGETS = 6  # documents of one citation that are shown together; taste
LONGEST_SOURCE = 60_000  # characters of them; taste

ClaimKind = Literal["support", "nugget", "correct", "grounded"]
WHOLE: dict[ClaimKind, str] = {
    "correct": "The answer is correct.",
    "grounded": "The answer is grounded in its sources.",
}


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The claim behind a document to judge. `quotes` are the quotations in the sentence, and
    `source` what should support it."""

    kind: ClaimKind
    sentence: int = -1
    source: str = ""
    vital: bool = False
    quotes: tuple[str, ...] = ()


class SourceLink(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence with a source that it cites. Without a claim nobody is asked: the citation has a
    fault, and supports nothing, or there is no text to judge by."""

    sentence: int
    citation: int
    source: str
    claim: str = ""  # the id of its document
    is_fault: bool = False


class SourceText(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    text: str


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The answer behind a query: whose it is, where its sentences are, and what was found in it."""

    id: str
    system: str
    entry: AnswerEntry
    notes: list[AnswerNote]
    sentences: list[tuple[int, int]]
    cited: list[SourceLink]
    sources: dict[str, SourceText]


class PooledAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of pooling answers. Nobody judges `settled` citations, which have a fault, and
    those `without_text`."""

    gold: str
    answers: int
    claims: int
    settled: int
    without_text: int
    nuggets: int


def pool_answers(
    results: Sequence[Path],
    output: Path,
    *,
    nuggets: Path | None = None,
    judges: Sequence[str] = (),
    overlap: float = 0.0,
) -> PooledAnswers:
    """Write a set with its pool and its claims. Answers of several results files are mixed, so that
    judges see several systems side by side without knowing which is which."""
    documents_path = sibling_path(output, WHOLE_DOCUMENTS)
    _refuse(output, documents_path, judges, overlap)
    wanted = _read_nuggets(nuggets) if nuggets is not None else {}
    prepared = [answer for path in results for answer in _prepare_answers(path, wanted)]
    if not prepared:
        raise InputError("there are no answers in the results", where=str(results[0]))
    prepared.sort(key=lambda answer: answer.query.id)
    if len({answer.query.id for answer in prepared}) < len(prepared):
        raise UsageError(
            "two results have the same answers of the same system",
            where=", ".join(map(str, results)),
            hint="Name each system when you check its answers: assay answers check … --name NAME",
        )
    rules = rubric_by_id(RUBRIC, output)
    gold = GoldSet(
        name=output.stem.replace("-", " ").capitalize(),
        version="1",
        created_at=now_in_utc(),
        rubric=rules.id,
        top_grade=rules.top,
        queries=tuple(answer.query for answer in prepared),
    )
    lines = [msgspec.json.encode(document) for answer in prepared for document in answer.documents]
    write_atomic(documents_path, b"\n".join(lines) + b"\n")
    formats.write_gold(gold, output, "json")
    write_pool(output, _pool(prepared, documents_path, judges, overlap))
    cited = [each for answer in prepared for each in answer.record.cited]
    return PooledAnswers(
        gold=str(output),
        answers=len(prepared),
        claims=sum(len(answer.documents) - 1 for answer in prepared),
        settled=sum(each.is_fault for each in cited),
        without_text=sum(not each.claim and not each.is_fault for each in cited),
        nuggets=sum(kind_of(each) == "nugget" for answer in prepared for each in answer.documents),
    )


def _refuse(output: Path, documents: Path, judges: Sequence[str], overlap: float) -> None:
    if output.suffix != ".json":
        raise UsageError("a set of answers is written as a .json", where=str(output))
    for path in (output, documents):
        if path.exists():
            raise UsageError(
                "the file is there already",
                where=str(path),
                hint="Votes belong to the answers that they were given on. Choose another name.",
            )
        refuse_unwritable(path)
    if len(set(judges)) < len(judges) or any(not name.strip() for name in judges):
        raise UsageError(f"every judge has a name of their own: {', '.join(judges)}")
    if not 0 <= overlap <= 1 or (overlap and len(judges) < 2):
        raise UsageError("the overlap must be from 0 to 1, and requires at least two judges")


def _pool(
    prepared: Sequence[_PreparedAnswer], documents: Path, judges: Sequence[str], overlap: float
) -> Pool:
    """The pool, dealt by whole answers: whoever judges one reads all of it."""
    asked: list[tuple[str, ...]] = [()] * len(prepared)
    if judges:
        doubles = doubles_wanted(overlap, len(prepared), 0, len(prepared))
        asked = deal_pairs(len(prepared), judges, doubles=doubles)
    pairs = [
        PooledPair(query_id=answer.query.id, doc_id=document.id, judges=who)
        for answer, who in zip(prepared, asked, strict=True)
        for document in answer.documents[1:]
    ]
    pool = Pool(
        corpus=str(documents),
        corpus_fingerprint=sha256_of(documents),
        judges=tuple(judges),
        overlap=overlap,
    )
    return with_pairs(pool, pairs)


# ── one answer ────────────────────────────────────────────────────────────────────────────────────


class _PreparedAnswer(NamedTuple):
    query: Query
    record: AnswerRecord
    documents: list[Document]  # the record first, then the claims in the order of the answer


def _prepare_answers(path: Path, wanted: Mapping[str, list[Nugget]]) -> Iterator[_PreparedAnswer]:
    results = read_answer_results(path)
    answers = {one.id: one for one in _answers_of(results, path)}
    corpus = corpus_named(results.receipt.corpus) if results.receipt.corpus else None
    for entry in results.per_answer:
        answer = answers.get(entry.id)
        if answer is None:
            raise InputError(f"the answers have no {entry.id!r}", where=str(path))
        notes = [note for note in results.notes if note.id == entry.id]
        nuggets = wanted.get(answer.id) or wanted.get(answer.question) or []
        yield _prepare_answer(answer, entry, notes, nuggets, corpus, results.engine)


def _answers_of(results: AnswerResults, path: Path) -> list[Answer]:
    """The answers that were checked: the results have their findings, and not their words."""
    recorded = results.receipt.inputs.get("answers")
    if recorded is None:
        raise InputError(
            "these results do not say which file the answers are in",
            where=str(path),
            hint="Make them with: assay answers check ANSWERS -o RESULTS",
        )
    places = (Path(recorded.path), path.parent / Path(recorded.path).name)
    file = next((place for place in places if place.is_file()), None)
    if file is None or sha256_of(file) != recorded.sha256:
        what = "is not here" if file is None else "has changed since it was checked"
        raise InputError(
            f"the file of answers {what}", where=recorded.path, hint="Check the answers again."
        )
    return read_answers(file, results.receipt.columns).answers


def _prepare_answer(
    answer: Answer,
    entry: AnswerEntry,
    notes: list[AnswerNote],
    nuggets: Sequence[Nugget],
    corpus: Corpus | None,
    system: str,
) -> _PreparedAnswer:
    query_id = hashlib.sha256(f"{system}\n{answer.id}".encode()).hexdigest()[:10]
    text, language = answer.answer, answer.language or detect(answer.answer[:LANGUAGE_CHARACTERS])
    made = _Claims(query_id, language)
    sentences = _sentences(text, entry)
    sources: dict[str, SourceText] = {}
    cited: list[SourceLink] = []
    for number, (start, end) in enumerate(sentences):
        quotes = tuple(
            quotation.text for quotation in entry.quotes if start <= quotation.start < end
        )
        for place, finding in enumerate(entry.citations):
            if not stands_in(finding.start, finding.end, (start, end)):
                continue
            key, source = _source_of(finding, answer, corpus)
            if key and source.text:
                sources[key] = source
            is_fault = has_fault(finding)
            claim = Claim(kind="support", sentence=number, source=key, quotes=quotes)
            id = "" if is_fault or not source.text else made.add(claim, text[start:end], source)
            cited.append(
                SourceLink(sentence=number, citation=place, source=key, claim=id, is_fault=is_fault)
            )
    for quote in entry.quotes:
        if quote.source and quote.source not in sources:
            found = _text_of(quote.source, answer, corpus)
            if found.text:
                sources[quote.source] = found
    whole = SourceText(title="", text=text)
    for nugget in nuggets:
        claim = Claim(kind="nugget", vital=nugget.importance == "vital")
        made.add(claim, nugget.text, whole)
    for kind, wording in WHOLE.items():
        made.add(Claim(kind=kind), wording, whole)
    record = AnswerRecord(
        id=answer.id,
        system=system,
        entry=entry,
        notes=notes,
        sentences=sentences,
        cited=cited,
        sources=sources,
    )
    record_document = Document(
        id=query_id, text=text, language=language, metadata=msgspec.to_builtins({ANSWER: record})
    )
    query = Query(
        id=query_id,
        text=answer.question or " ".join(text[:200].split()),
        type="natural_language",
        language=language,
        as_of=answer.as_of,
    )
    return _PreparedAnswer(query, record, [record_document, *made.documents.values()])


class _Claims:
    """The claims of an answer. Their ids are in the order of the answer, and depend on the claim
    and its source, so that a vote never comes to stand on another claim."""

    def __init__(self, query_id: str, language: str) -> None:
        self.query_id, self.language = query_id, language
        self.documents: dict[str, Document] = {}

    def add(self, claim: Claim, text: str, source: SourceText) -> str:
        """The id of the document of a claim; a source that a sentence cites twice is one claim."""
        words = " ".join(text.split())
        key = hashlib.sha256(f"{claim.kind}\n{words}\n{source.text}".encode()).hexdigest()[:8]
        known = next((id for id in self.documents if id.endswith(key)), None)
        if known is not None:
            return known
        id = f"{self.query_id}-{len(self.documents) + 1:03d}-{key}"
        self.documents[id] = Document(
            id=id,
            title=words,
            text=source.text,
            language=detect(source.text[:LANGUAGE_CHARACTERS]) or self.language,
            citations=(source.title,) if source.title else (),
            metadata={"claim": msgspec.to_builtins(claim)},
        )
        return id


def kind_of(document: Document) -> str:
    """The kind of claim of a document; empty for the record of an answer."""
    claim: Any = document.metadata.get("claim")
    return str(claim["kind"]) if claim else ""


def has_fault(finding: CitationFinding) -> bool:
    """Whether the exact check found a fault of the citation itself."""
    return any(
        getattr(finding, check) in values
        for check, values in FAULTS.items()
        if check not in ("quote", "figure")
    )


def stands_in(start: int, end: int, sentence: tuple[int, int]) -> bool:
    """Whether a stretch of an answer is of a sentence. One without characters (a TREC run states
    citations beside the text) is of the sentence that ends there."""
    low, high = sentence
    return low < start <= high if start == end else low <= start < high


def _sentences(text: str, entry: AnswerEntry) -> list[tuple[int, int]]:
    """The sentences as the check of quotations has them; what has no letter is none."""
    if entry.refused and not entry.citations:
        return []
    spans = [(citation.start, citation.end) for citation in entry.citations]
    spans += [(citation.start, citation.end) for citation in entry.quotes]
    ends = sentence_ends(text, sorted(spans))
    bounds = zip([0, *ends], ends, strict=False)
    return [(a, b) for a, b in bounds if any(letter.isalpha() for letter in text[a:b])]


# ── sources ───────────────────────────────────────────────────────────────────────────────────────


def _source_of(
    finding: CitationFinding, answer: Answer, corpus: Corpus | None
) -> tuple[str, SourceText]:
    """The documents that a citation leads to, as one text."""
    targets = finding.targets[:MOST_TARGETS]
    found = [
        _text_of(target, answer, corpus, is_given=finding.kind == "marker") for target in targets
    ]
    title = " · ".join(dict.fromkeys(target.title for target in found if target.title))
    text = "\n\n".join(target.text for target in found if target.text)
    return " ".join(targets), SourceText(title=title, text=text[:LONGEST_SOURCE])


def _text_of(
    target: str, answer: Answer, corpus: Corpus | None, *, is_given: bool = True
) -> SourceText:
    """The text with an id or a number, as the model got it if it `is_given`, or as the corpus has
    it."""
    passages = answer.passages or ()
    passage = next((part.text for part in passages if part.id == target), "")
    number = target.strip("[]")
    if not passage and number.isdigit() and 1 <= int(number) <= len(passages):
        passage = passages[int(number) - 1].text
    document = corpus.get(target) if corpus is not None and target in corpus else None
    title = document.title if document is not None else ""
    if document is not None and not (is_given and passage):
        return SourceText(title=title or target, text=document.text)
    return SourceText(title=title or target, text=passage)


# ── nuggets ───────────────────────────────────────────────────────────────────────────────────────


class Nugget(msgspec.Struct, frozen=True, kw_only=True):
    """A point that an answer should make (castorini/nuggetizer has the same keys)."""

    text: str
    importance: Literal["vital", "okay"]


class _NuggetRow(msgspec.Struct, frozen=True, kw_only=True):
    nuggets: list[Nugget]
    qid: str = ""
    query: str = ""
    id: str = ""
    question: str = ""


def _read_nuggets(path: Path) -> dict[str, list[Nugget]]:
    """Nuggets by the id of the answer and by the question."""
    if path.suffix == ".jsonl":
        rows = [(f"{path}:{number}", row) for number, row in iter_json_lines(path)]
    else:
        value = read_json(path)
        listed = value if isinstance(value, list) else [value]
        rows = [(f"{path}: row {number}", row) for number, row in enumerate(listed, 1)]
    found: dict[str, list[Nugget]] = {}
    for where, row in rows:
        try:
            given = msgspec.convert(row, thread_safe(_NuggetRow))
        except msgspec.ValidationError as error:
            raise InputError(
                f"no nuggets of a question: {error}",
                where=where,
                hint='Expected {"qid", "query", "nuggets": [{"text", "importance": "vital"}]}.',
            ) from error
        for key in {given.qid, given.id, given.query, given.question} - {""}:
            found[key] = given.nuggets
    return found
