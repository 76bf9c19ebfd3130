"""Read answers from the files that teams have: our own JSONL, rows of ragas and deepeval, results
of promptfoo, runs and datasets of LangSmith, chat messages and TREC RAG runs.

Each row becomes flat columns (a nested `outputs.answer` is one). Which column is what is guessed
from the names below, in their order; `mapping` overrides the guess. What was taken is told with the
answers, so that a wrong guess is seen."""

from __future__ import annotations

import ast
import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import InputError
from assay.core.files import decode, empty_file, iter_json_lines, read_bytes, read_json
from assay.language.detect import language_code

# taste: what is longer is no answer
MAX_ANSWER_CHARACTERS = 50_000  # characters of an answer, some 20 pages
MOST_GIVEN = 2_000_000  # characters of all passages of one answer
MOST_PASSAGES = 1_000  # of one answer
MOST_CITED = 1_000  # signs of a citation in one answer


class Reason(NamedTuple):
    """Why a check found what it did: the key of the sentence in reports/words, and its facts."""

    why: str
    facts: dict[str, str]


def because(why: str, **facts: str) -> Reason:
    return Reason(why, facts)


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A text that the model was given, with the id that the search engine knows it by."""

    id: str = ""
    text: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A generated answer. `passages` is None where a file does not tell what was retrieved."""

    id: str
    question: str = ""
    answer: str
    passages: tuple[Passage, ...] | None = None
    as_of: str = ""
    language: str = ""
    marked: tuple[tuple[int, tuple[int, ...]], ...] = ()  # TREC: end of a sentence, its passages


# ── reading files ─────────────────────────────────────────────────────────────────────────────────

Row = dict[str, Any]

# The names of each column in the tools that write it, the most telling first.
COLUMNS: dict[str, tuple[str, ...]] = {
    "answer": (
        *("answer", "response", "actual_output", "response.output", "outputs.answer", "output"),
        *("outputs.output", "outputs.response", "outputs.generation", "output_answer"),
        *("output_output", "prediction", "completion", "generated_answer", "outputs"),
    ),
    "question": (
        *("question", "user_input", "input", "query", "topic", "title", "vars.question"),
        *("vars.query", "vars.input", "inputs.question", "inputs.input", "inputs.query"),
        *("input_question", "input_input", "metadata.narrative", "prompt", "inputs"),
    ),
    "retrieved": (
        *("retrieved", "retrieved_contexts", "contexts", "retrieval_context", "passages"),
        *("references", "context", "documents", "vars.context", "vars.contexts"),
        *("outputs.contexts", "outputs.documents", "outputs.retrieved", "outputs.context"),
        *("response.metadata.context", "inputs.context", "output_contexts", "input_context"),
    ),
    "id": (
        *("id", "question_id", "query_id", "topic_id", "metadata.narrative_id", "testIdx"),
        *("test_idx", "run_id", "example_id", "name", "key"),
    ),
    "as_of": ("as_of", "date", "metadata.as_of", "vars.as_of", "inputs.as_of"),
    "language": ("language", "lang", "metadata.language"),
}
_TEXT_KEYS = ("text", "content", "page_content", "segment", "body", "passage", "context")
_ID_KEYS = ("id", "doc_id", "docid", "document_id", "source", "chunk_id", "_id", "title")
_DEEPEST = 3  # levels of a nested row that become columns (taste)


class ReadAnswers(NamedTuple):
    """The answers of a file, and the column that each of their fields was read from."""

    answers: list[Answer]
    columns: dict[str, str]


def read_answers(path: Path, mapping: Mapping[str, str] | None = None) -> ReadAnswers:
    """Read every answer of a file. A row that cannot be read stops the reading: its line is named,
    and nothing is checked."""
    mapping = dict(mapping or {})
    for target in mapping:
        if target not in COLUMNS:
            raise InputError(
                f"unknown column {target!r} in the mapping", hint=f"Known: {', '.join(COLUMNS)}."
            )
    rows = [(where, _flat_columns(row)) for where, row in _rows(path)]
    if not rows:
        raise empty_file(path)
    columns = _columns([row for _, row in rows], mapping, path)
    answers = [_answer(row, columns, number, where) for number, (where, row) in enumerate(rows, 1)]
    _refuse_repeated_ids(answers, [where for where, _ in rows])
    return ReadAnswers(answers, columns)


def answer_of(row: Row) -> Answer:
    """One answer from a mapping with the columns of any of the formats."""
    flat = _flat_columns(_row_of_messages(row))
    return _answer(flat, _columns([flat], {}, Path("answer")), 1, "the answer")


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of a file, each with where it stands."""
    if path.suffix.lower() == ".csv":
        yield from _csv_rows(path)
        return
    if path.suffix.lower() in (".jsonl", ".ndjson", ".run", ".out"):
        for number, value in iter_json_lines(path):
            yield f"{path}:{number}", _row(value, f"{path}:{number}")
        return
    value = read_json(path)
    listed = _rows_of_document(value)
    if listed is None:
        raise InputError(
            "not a list of answers",
            where=str(path),
            hint="Expected a list of rows, or one under results, examples, runs or test_cases.",
        )
    for number, one in enumerate(listed):
        yield f"{path}: row {number + 1}", _row(one, f"{path}: row {number + 1}")


def _rows_of_document(value: Any) -> list[Any] | None:
    """The rows of a JSON document: a list, under the key of some tool, or its columns side by
    side as ragas and pandas write them."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    for key in (
        "results",
        "answers",
        "examples",
        "runs",
        "test_cases",
        "testCases",
        "data",
        "rows",
    ):
        if key in value and (listed := _rows_of_document(value[key])) is not None:
            return listed
    columns = [column for column in value.values() if isinstance(column, list)]
    if columns and len(columns) == len(value) and len({len(column) for column in columns}) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    return [value] if "answer" in value or "response" in value else None


def _csv_rows(path: Path) -> Iterator[tuple[str, Row]]:
    text = decode(read_bytes(path), path)
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or None in row.values():
                raise InputError(
                    f"the row does not match the {len(reader.fieldnames or ())} columns above",
                    where=where,
                    hint="Put a text with commas or line breaks in quotation marks.",
                )
            yield where, {key: _cell(value) for key, value in row.items()}
    except csv.Error as error:
        raise InputError(f"not valid CSV: {error}", where=f"{path}:{reader.line_num}") from error


def _cell(value: str) -> Any:
    """A cell of a table: JSON or a list as Python prints it, or the text itself."""
    if value[:1] not in ("[", "{"):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return value


def _row(value: Any, where: str) -> Row:
    if not isinstance(value, dict):
        raise InputError(
            f"expected an object with an answer, got {type(value).__name__}", where=where
        )
    return _row_of_messages(value)


def _row_of_messages(row: Row) -> Row:
    """A row of chat messages as one with a question and an answer: the last of each; what tools and
    the system said before is no passage."""
    messages = row.get("messages")
    if not isinstance(messages, list):
        return row
    said: dict[str, str] = {}
    for message in messages:
        if isinstance(message, dict) and isinstance(message.get("role"), str):
            said[message["role"]] = _message_text(message.get("content"))
    rest = {key: value for key, value in row.items() if key != "messages"}
    spoken = {"question": said.get("user", ""), "answer": said.get("assistant")}
    return {**{key: value for key, value in spoken.items() if value is not None}, **rest}


def _message_text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _flat_columns(row: Row, prefix: str = "", depth: int = 0) -> Row:
    flat: Row = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth < _DEEPEST:
            flat |= _flat_columns(value, f"{name}.", depth + 1)
        flat[name] = value
    return flat


# ── columns ───────────────────────────────────────────────────────────────────────────────────────


def _columns(rows: list[Row], mapping: Mapping[str, str], path: Path) -> dict[str, str]:
    """The column of each field: as it is mapped, or the first known name that some row has."""
    present = {key for row in rows for key, value in row.items() if value not in (None, "")}
    columns = {}
    for field, names in COLUMNS.items():
        if field in mapping:
            if mapping[field] not in {key for row in rows for key in row}:
                known = ", ".join(sorted(present)[:20])
                raise InputError(
                    f"no column {mapping[field]!r} for {field}",
                    where=str(path),
                    hint=f"It has: {known}.",
                )
            columns[field] = mapping[field]
            continue
        guessed = [name for name in names if name in present and _can_be_field(field, name, rows)]
        if guessed:
            columns[field] = guessed[0]
    if "answer" not in columns:
        raise InputError(
            "no column looks like the answer",
            where=str(path),
            hint=f"Name it with --map answer=COLUMN. It has: {', '.join(sorted(present)[:20])}.",
        )
    return columns


_TYPES: dict[str, tuple[type, ...]] = {"answer": (str, list), "retrieved": (str, list, dict)}


def _can_be_field(field: str, name: str, rows: list[Row]) -> bool:
    """Whether the values of a column can be a field: a nested object is no text. A few others are
    bad rows, which are told one by one."""
    values = [row[name] for row in rows[:50] if row.get(name) not in (None, "")]
    fitting = sum(isinstance(value, _TYPES.get(field, (str, int, float))) for value in values)
    return 2 * fitting >= len(values) > 0


def _answer(row: Row, columns: Mapping[str, str], number: int, where: str) -> Answer:
    text, marked = _answer_text(row.get(columns["answer"]), where, columns["answer"])
    given = row.get(columns.get("retrieved", ""))
    as_of = str(row.get(columns.get("as_of", "")) or "")
    stated = str(row.get(columns.get("language", "")) or "")
    return Answer(
        id=str(row.get(columns.get("id", ""), "") or number),
        question=str(row.get(columns.get("question", "")) or ""),
        answer=text,
        passages=_passages(given, where, columns.get("retrieved", "")),
        as_of=as_of,
        language=language_code(stated) if stated else "",
        marked=marked,
    )


def _answer_text(
    value: Any, where: str, column: str
) -> tuple[str, tuple[tuple[int, tuple[int, ...]], ...]]:
    """The text of an answer; for the sentences of a TREC run, with the passages that each cites,
    counted from one."""
    if isinstance(value, str):
        return value, ()
    if not isinstance(value, list):
        raise InputError(
            f"expected a text in {column!r}, got {type(value).__name__}",
            where=where,
            hint="If the row has no answer, leave it out or write an empty text.",
        )
    pieces: list[str] = []
    marked = []
    at = 0
    for sentence in value:
        if not isinstance(sentence, dict) or not isinstance(sentence.get("text"), str):
            raise InputError(f"expected sentences with a text in {column!r}", where=where)
        piece = sentence["text"].strip()
        at += len(piece) + bool(pieces)
        pieces.append(piece)
        cited = sentence.get("citations") or []
        if not isinstance(cited, list) or not all(isinstance(one, int) for one in cited):
            raise InputError("expected the citations of a sentence as numbers", where=where)
        if cited:
            marked.append((at, tuple(one + 1 for one in cited)))
    return " ".join(pieces), tuple(marked)


def _passages(value: Any, where: str, column: str) -> tuple[Passage, ...] | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return (Passage(text=value),)
    if isinstance(value, dict):
        value = [{"id": key, "text": text} for key, text in value.items()]
    if not isinstance(value, list):
        raise InputError(f"expected a list of passages in {column!r}", where=where)
    return tuple(_passage(one, where, column) for one in value)


def _passage(value: Any, where: str, column: str) -> Passage:
    if isinstance(value, str):
        # TREC runs have only ids here, and so has a passage that is one word
        return Passage(id=value) if column == "references" else Passage(text=value)
    if not isinstance(value, dict):
        raise InputError(f"expected passages as texts or objects in {column!r}", where=where)
    flat = _flat_columns(value)
    text = next((flat[key] for key in _TEXT_KEYS if isinstance(flat.get(key), str)), "")
    names = (*_ID_KEYS, *(f"metadata.{key}" for key in _ID_KEYS))
    name = next((flat[key] for key in names if isinstance(flat.get(key), str | int)), "")
    return Passage(id=str(name), text=text)


def _refuse_repeated_ids(answers: list[Answer], places: list[str]) -> None:
    seen: dict[str, str] = {}
    for answer, where in zip(answers, places, strict=True):
        if answer.id in seen:
            raise InputError(
                f"the id {answer.id!r} appears twice, first in {seen[answer.id]}",
                where=where,
                hint="Give each answer its own id; without a column of ids, rows are numbered.",
            )
        seen[answer.id] = where
