"""What commands and the Python API do with generated answers: check them with `answers/`, count
what was found, decide by gates, and keep the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from assay.answers.check import CheckedAnswer, check_answer
from assay.answers.measures import (
    AnswerChange,
    authority_of,
    compare_answers,
    gate_of,
    shared_questions,
    summarize_answers,
    unchecked_of,
)
from assay.answers.readers import Answer, Passage, answer_of, read_answers
from assay.answers.sources import Sources, is_day
from assay.core.errors import InputError, UsageError
from assay.core.files import refuse_unwritable, sha256_of, write_atomic
from assay.core.results import (
    AnswerReceipt,
    AnswerResults,
    AuthorityEntry,
    Gate,
    GoldCard,
    InputFile,
)
from assay.core.results_file import encode
from assay.core.types import GoldSet
from assay.corpus.lookup import corpus_named
from assay.evaluation.gates import decide
from assay.evaluation.receipts import git_state, versions
from assay.formats import read_gold
from assay.formats.results_json import read_answer_results
from assay.reports.answers import reason_of, render
from assay.reports.words import Words
from assay.workbench.project.config import CONFIG_NAME, gates_on_answers, read_config
from assay.workbench.project.output_files import refuse_output

Progress = Callable[[str, int, int], None]


def check_file(
    path: Path,
    *,
    corpus: str = "",
    as_of: str = "",
    mapping: Mapping[str, str] | None = None,
    dataset: Path | None = None,
    gold: GoldSet | None = None,
    gates: Sequence[str | Gate] = (),
    output: Path | None = None,
    report: Path | None = None,
    language: str = "en",
    name: str = "",
    progress: Progress = lambda *_: None,
) -> AnswerResults:
    """Check every answer of a file, and write the results and a report."""
    for target in (output, report):
        refuse_output(target, path, dataset)
    words = Words(language)
    read = read_answers(path, mapping)
    inputs = {"answers": InputFile(path=str(path), sha256=sha256_of(path))}
    if dataset is not None:
        inputs["gold"] = InputFile(path=str(dataset), sha256=sha256_of(dataset))
    results = check_all(
        read.answers,
        corpus=corpus,
        as_of=as_of,
        gold=read_gold(dataset) if dataset is not None else gold,
        gates=gates,
        name=name or path.stem,
        progress=progress,
        receipt=AnswerReceipt(inputs=inputs, columns=read.columns),
    )
    written = render(results, report.suffix, words.language) if report is not None else ""
    if output is not None:
        write_atomic(output, encode(results))
    if report is not None:
        write_atomic(report, written)
    return results


def check_all(
    answers: Iterable[Answer | Mapping[str, Any]],
    *,
    corpus: str = "",
    as_of: str = "",
    gold: GoldSet | None = None,
    gates: Sequence[str | Gate] = (),
    name: str = "answers",
    progress: Progress = lambda *_: None,
    receipt: AnswerReceipt | None = None,
) -> AnswerResults:
    """Check answers that are at hand."""
    if as_of and not is_day(as_of):
        raise UsageError(f"{as_of!r} is not a date", hint="Write it as 2025-01-31.")
    demands = [gate if isinstance(gate, Gate) else gate_of(gate) for gate in gates]
    listed = [
        answer if isinstance(answer, Answer) else answer_of(dict(answer)) for answer in answers
    ]
    for answer in listed:
        if answer.as_of and not is_day(answer.as_of):
            raise InputError(
                f"the answer {answer.id!r} has as_of {answer.as_of!r}, expected a date such as "
                "2025-01-31"
            )
    sources = sources_of(corpus)
    checked = []
    for number, answer in enumerate(listed, 1):
        checked.append(_explained(check_answer(answer, sources, as_of)))
        progress("answers", number, len(listed))
    entries = [answer.entry for answer in checked]
    authorities = _authorities(listed, checked, gold, sources) if gold is not None else []
    questions = shared_questions(
        {answer.id: answer.question for answer in listed if answer.question}
    )
    overall, intervals, each = summarize_answers(entries, authorities, questions)
    opened = sources.corpus
    receipt = msgspec.structs.replace(
        receipt or AnswerReceipt(),
        as_of=as_of,
        corpus=corpus,
        corpus_fingerprint=opened.fingerprint if opened is not None else None,
        gold=GoldCard(name=gold.name, queries=len(gold.queries)) if gold else GoldCard(),
        versions=versions(),
        git=git_state(),
    )
    results = AnswerResults(
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=name,
        overall=overall,
        unchecked=unchecked_of(entries),
        per_answer=entries,
        notes=[note for answer in checked for note in answer.notes],
        authorities=authorities,
        intervals=intervals,
        per_query=each,
        questions=questions,
        receipt=receipt,
    )
    if not demands:
        return results
    return msgspec.structs.replace(results, verdict=decide(results, demands))


def _authorities(
    answers: list[Answer], checked: list[CheckedAnswer], gold: GoldSet, sources: Sources
) -> list[AuthorityEntry]:
    """The required documents of every answer whose id or question the gold set has."""
    required: dict[str, list[str]] = {query.id: [] for query in gold.queries}
    judged = gold.judgments.select("query_id", "doc_id", "grade")
    for query, document, grade in judged.iter_rows():
        if grade and query in required:
            required[query].append(document)
    by_text = {query.text: query.id for query in gold.queries}
    found = []
    for answer, record in zip(answers, checked, strict=True):
        asked = answer.id if answer.id in required else by_text.get(answer.question)
        if asked is not None:
            located = [sources.locate(passage) for passage in answer.passages or ()]
            given = {passage.passage.id for passage in located}
            given |= {sources.id_of(row) for passage in located for row in passage.rows}
            wanted = required[asked]
            found.append(authority_of(record.entry, given, wanted, bool(wanted)))
    return found


@lru_cache(maxsize=4)
def sources_of(corpus: str, home: Path | None = None) -> Sources:
    """The documents of a corpus, opened once."""
    return Sources(corpus_named(corpus, home) if corpus else None)


def guard(
    answer: str,
    passages: Sequence[str | Mapping[str, Any]] = (),
    *,
    question: str = "",
    as_of: str = "",
    corpus: str = "",
    language: str = "",
    home: Path | None = None,
) -> CheckedAnswer:
    """Check one answer in a running service, against the passages alone or with a corpus."""
    given = tuple(
        Passage(text=passage)
        if isinstance(passage, str)
        else Passage(id=str(passage.get("id", "")), text=str(passage.get("text", "")))
        for passage in passages
    )
    asked = Answer(
        id="answer",
        question=question,
        answer=answer,
        passages=given,
        as_of=as_of,
        language=language,
    )
    return _explained(check_answer(asked, sources_of(corpus, home)))


def _explained(checked: CheckedAnswer) -> CheckedAnswer:
    """The findings with their reasons in English; reports say them in other languages."""
    notes = [
        msgspec.structs.replace(note, reason=reason_of(note, _ENGLISH)) if note.why else note
        for note in checked.notes
    ]
    return checked._replace(notes=notes)


_ENGLISH = Words("en")


def configured_gates() -> list[Gate]:
    """The gates on answers in the `[[gates]]` of assay.toml; none where there is no file."""
    config = Path(CONFIG_NAME)
    return gates_on_answers(read_config(config)) if config.exists() else []


def report_answers(path: Path, output: Path, *, language: str = "en") -> None:
    """Write a report on an answer check in the format of the output's ending."""
    refuse_unwritable(output)
    write_atomic(output, render(read_answer_results(path), output.suffix, language))


def compare_files(a: Path, b: Path) -> list[AnswerChange]:
    """The changes from one answer run to another."""
    return compare_answers(read_answer_results(a), read_answer_results(b))
