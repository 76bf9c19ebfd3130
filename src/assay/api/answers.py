"""The Python functions that check answers: `check_answers` for many, `guard` for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.results import AnswerEntry, AnswerNote, AnswerResults
from assay.workbench.scoring import answers as verbs

if TYPE_CHECKING:
    from assay.api.values import GoldSet


def check_answers(
    answers: str | Path | Iterable[Mapping[str, Any]],
    *,
    corpus: str = "",
    as_of: str = "",
    map: Mapping[str, str] | None = None,
    gold: GoldSet | None = None,
    gates: Sequence[str] = (),
    name: str = "answers",
) -> AnswerResults:
    """Check every citation, quotation and figure of answers: a file of any format that `assay
    answers check` reads, or rows with `id`, `question`, `answer` and `retrieved`.

    >>> row = {"id": "1", "answer": "A cat “sat on the very mat” [2].", "retrieved": ["It sat."]}
    >>> found = assay.check_answers([row])
    >>> found.per_answer[0].citations[0].exists
    'not_found'
    """
    if isinstance(answers, str | Path):
        return verbs.check_file(
            Path(answers),
            corpus=corpus,
            as_of=as_of,
            mapping=map,
            gold=gold,
            gates=gates,
            name=name,
        )
    return verbs.check_all(answers, corpus=corpus, as_of=as_of, gold=gold, gates=gates, name=name)


class Guarded:
    """The findings on one answer: `ok` where nothing is wrong, else `faults` with their reasons."""

    def __init__(self, entry: AnswerEntry, notes: list[AnswerNote]) -> None:
        self.entry = entry
        self.notes = notes

    @property
    def faults(self) -> list[AnswerNote]:
        return [note for note in self.notes if note.is_fault]

    @property
    def ok(self) -> bool:
        return not self.faults

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return "no fault found"
        return "; ".join(f"{one.value}: {one.text} ({one.reason})" for one in self.faults)

    def __repr__(self) -> str:
        return f"Guarded({self})"


def guard(
    answer: str,
    passages: Sequence[str | Mapping[str, Any]] = (),
    *,
    question: str = "",
    corpus: str = "",
    as_of: str = "",
    language: str = "",
) -> Guarded:
    """Check one answer before it is sent. Passages are texts, or have `id` and `text`.

    >>> assay.guard("Notice is “thirty days from the date” [3].", ["Notice is ten days."]).ok
    False
    """
    found = verbs.guard(
        answer, passages, question=question, corpus=corpus, as_of=as_of, language=language
    )
    return Guarded(found.entry, found.notes)


def assert_answer(
    answer: str, passages: Sequence[str | Mapping[str, Any]] = (), **options: Any
) -> None:
    """Fail a test where an answer has a fault, and name each."""
    found = guard(answer, passages, **options)
    assert found.ok, str(found)
