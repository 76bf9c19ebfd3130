"""Readers of public benchmarks: each reads the files of its publisher and gives queries, documents
and judgments, which `prepare` writes as a BEIR folder with `corpus.jsonl`.

| reader | files |
|---|---|
| mleb | `corpus.jsonl`, `queries.jsonl` (_id, text), `default.jsonl` (query-id, corpus-id, score) |
| legal_rag_bench | `corpus.jsonl` (id, text), `qa.jsonl` (id, question, relevant_passage_id) |
| legalbench_rag | `benchmarks/*.json` (tests: query, snippets of file_path and span), `corpus/` |
| coliee | `*.xml` (pairs with id, articles in t1, the question in t2), a text of articles |
| bsard | `articles.csv` (id, article), `questions_test.csv` (id, question, article_ids) |
| gerdalir | `collection.tsv` (d_id, passage), `queries.test.tsv`, `qrels.test.tsv`, also with .gz |
| squad | a JSON of SQuAD: contexts are documents, and each question has its own |
| stard | `queries.json` (query_id, 问题, match_id), `corpus.jsonl` (id, name, content) |
| clerc | `*collection*.tsv`, `*queries*.tsv` and `*qrels*.tsv` in the manner of MS MARCO |

A document of LegalBench-RAG is cut into passages of CHUNK characters, whose ids say where they
stand: `cuad/a.txt#500-1000`. An engine with passages of its own gives ids of the same form."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import InputError
from assay.core.files import iter_json_lines, read_bytes, read_json, read_toml, write_atomic

CHUNK = 500  # characters of a passage of LegalBench-RAG, as its naive splitter has
PASSAGE = re.compile(r"(.+)#(\d+)-(\d+)")
ARTICLE = re.compile(r"^\(?Article\s+(\d+(?:-\d+)*)\)?", re.MULTILINE)
SPANS = "spans.json"

Span = tuple[str, int, int]  # file, first character, character after the last


class PublishedScore(msgspec.Struct, frozen=True, kw_only=True):
    """A score that others published, with its source and date."""

    system: str
    measure: str
    value: float
    source: str
    date: str


class BenchmarkCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a benchmark: how it is read and measured, its licence and size, where its
    publisher has it, and what others scored."""

    name: str = ""
    title: str
    home: str
    reader: str = ""
    language: str = ""
    licence: str = "see its page"
    size: str = ""
    measures: tuple[str, ...] = ()
    top_k: int | None = None
    files: tuple[str, ...] = ()
    base: str = ""
    checksums: dict[str, str] = {}
    published: tuple[PublishedScore, ...] = ()


class BenchmarkData(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark as it was read: texts of queries, (id, title, text) of documents, grades by query
    and document, and spans by query where it has them."""

    queries: dict[str, str]
    documents: list[tuple[str, str, str]]
    grades: dict[tuple[str, str], int]
    spans: dict[str, list[Span]] = {}


class BenchmarkScore(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with its 95% interval, and the scores that others published for the measure."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    published: list[PublishedScore] = []


class BenchmarkReport(msgspec.Struct, frozen=True, kw_only=True):
    """An engine on a public benchmark. `checksums` are those of the publisher's files."""

    name: str
    card: BenchmarkCard
    engine: str
    queries: int
    documents: int
    scores: list[BenchmarkScore]
    failed: int
    folder: str
    checksums: dict[str, str] = {}


@cache
def cards() -> dict[str, BenchmarkCard]:
    tables = read_toml(Path(__file__).with_name("benchmarks.toml"))
    named = {name: {"name": name, **dict(table)} for name, table in tables.items()}  # type: ignore[call-overload]
    return msgspec.convert(named, dict[str, BenchmarkCard])


def prepare(reader: str, source: Path, folder: Path) -> BenchmarkData:
    """Read the publisher's files and write queries.jsonl, qrels/test.tsv and corpus.jsonl."""
    data = READERS[reader](source)
    if not data.queries or not data.grades:
        raise InputError("there are no judged queries", where=str(source))
    known = {doc_id for doc_id, _, _ in data.documents}
    missing = [pair for pair in data.grades if pair[1] not in known]
    if missing:
        query, document = missing[0]
        raise InputError(
            f"query {query!r} names document {document!r}, which the collection does not have",
            where=str(source),
            hint="Are all files of the benchmark there, and of one version?",
        )
    judged = {query for query, _ in data.grades}
    _write_lines(
        folder / "queries.jsonl",
        ({"_id": key, "text": text} for key, text in data.queries.items() if key in judged),
    )
    rows = (f"{query}\t{document}\t{grade}\n" for (query, document), grade in data.grades.items())
    write_atomic(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n" + "".join(rows))
    documents = ({"id": key, "title": title, "text": text} for key, title, text in data.documents)
    _write_lines(folder / "corpus.jsonl", documents)
    if data.spans:
        write_atomic(folder / SPANS, msgspec.json.encode(data.spans))
    return data


def _write_lines(path: Path, rows: Iterator[dict[str, str]]) -> None:
    write_atomic(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def read_spans(folder: Path) -> dict[str, list[Span]]:
    """The spans that answer each query; none for a benchmark without spans."""
    path = folder / SPANS
    return (
        msgspec.json.decode(path.read_bytes(), type=dict[str, list[Span]]) if path.exists() else {}
    )


def span_of(doc_id: str) -> Span | None:
    """The span that the id of a passage names."""
    match = PASSAGE.fullmatch(doc_id)
    return (match[1], int(match[2]), int(match[3])) if match else None


# ── the readers ───────────────────────────────────────────────────────────────────────────────────


def _one(folder: Path, *patterns: str) -> Path:
    """The one file that a pattern finds, at any depth; the first pattern that finds any counts."""
    for pattern in patterns:
        found = sorted(path for path in folder.rglob(pattern) if path.is_file())
        if found:
            return found[0]
    raise InputError(
        f"there is no file {' or '.join(patterns)}",
        where=str(folder),
        hint="Give the folder with the files of the benchmark, as its publisher has them.",
    )


def _rows(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    for number, row in iter_json_lines(path):
        if not isinstance(row, dict) or any(key not in row for key in keys):
            raise InputError(f"expected an object with {', '.join(keys)}", where=f"{path}:{number}")
        yield row


def _tsv(path: Path, fields: int) -> Iterator[list[str]]:
    content = gzip.decompress(read_bytes(path)) if path.suffix == ".gz" else read_bytes(path)
    for number, line in enumerate(io.StringIO(content.decode("utf-8"), newline="\n"), start=1):
        row = line.rstrip("\r\n").split("\t")
        if row == [""]:
            continue
        if len(row) < fields:
            raise InputError(f"expected {fields} fields with tabs", where=f"{path}:{number}")
        yield row


def _csv(path: Path, *keys: str) -> Iterator[dict[str, str]]:
    reader = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline=""))
    lacking = [key for key in keys if key not in (reader.fieldnames or ())]
    if lacking:
        raise InputError(f"there is no column {lacking[0]}", where=str(path))
    yield from reader


def _mleb(folder: Path) -> BenchmarkData:
    qrels = _rows(_one(folder, "default.jsonl"), "query-id", "corpus-id", "score")
    return BenchmarkData(
        queries={r["_id"]: r["text"] for r in _rows(_one(folder, "queries.jsonl"), "_id", "text")},
        documents=[
            (row["_id"], str(row.get("title") or ""), row["text"])
            for row in _rows(_one(folder, "corpus.jsonl"), "_id", "text")
        ],
        grades={(r["query-id"], r["corpus-id"]): int(r["score"]) for r in qrels if r["score"] > 0},
    )


def _legal_rag_bench(folder: Path) -> BenchmarkData:
    questions = list(
        _rows(_one(folder, "qa.jsonl", "test.jsonl"), "id", "question", "relevant_passage_id")
    )
    documents = [
        (str(row["id"]), str(row.get("title") or ""), str(row["text"]))
        for row in _rows(_one(folder, "corpus.jsonl"), "id", "text")
    ]
    # as its script has it, a passage counts whose id contains the id that is asked for
    return BenchmarkData(
        queries={str(row["id"]): row["question"] for row in questions},
        documents=documents,
        grades={
            (str(row["id"]), doc_id): 1
            for row in questions
            for doc_id, _, _ in documents
            if str(row["relevant_passage_id"]) in doc_id
        },
    )


def _legalbench_rag(folder: Path) -> BenchmarkData:
    root = _one(folder, "benchmarks/*.json").parent
    queries: dict[str, str] = {}
    spans: dict[str, list[Span]] = {}
    for path in sorted(root.glob("*.json")):
        for number, test in enumerate(read_json(path)["tests"]):
            key = f"{path.stem}-{number}"
            queries[key] = test["query"]
            spans[key] = [(each["file_path"], *map(int, each["span"])) for each in test["snippets"]]
    corpus = root.parent / "corpus"
    documents: list[tuple[str, str, str]] = []
    for name in sorted({file for own in spans.values() for file, _, _ in own}):
        if not (corpus / name).resolve().is_relative_to(corpus.resolve()):
            raise InputError(f"{name!r} is not a file of the corpus", where=str(root))
        text = read_bytes(corpus / name).decode("utf-8")
        documents += [
            (f"{name}#{at}-{min(at + CHUNK, len(text))}", name, text[at : at + CHUNK])
            for at in range(0, len(text), CHUNK)
        ]
    by_file: dict[str, list[Span]] = {}
    for doc_id, name, _ in documents:
        if span := span_of(doc_id):
            by_file.setdefault(name, []).append(span)
    grades = {
        (key, f"{file}#{low}-{high}"): 1
        for key, own in spans.items()
        for file, first, last in own
        for _, low, high in by_file[file]
        if min(high, last) > max(low, first)
    }
    return BenchmarkData(queries=queries, documents=documents, grades=grades, spans=spans)


def _coliee(folder: Path) -> BenchmarkData:
    from defusedxml import ElementTree

    code = read_bytes(_one(folder, "civil_code*en*.txt", "civil_code*.txt", "*.txt")).decode(
        "utf-8"
    )
    starts = [*ARTICLE.finditer(code)]
    ends = [match.start() for match in starts[1:]] + [len(code)]
    articles = {
        match[1]: code[match.start() : end].strip() for match, end in zip(starts, ends, strict=True)
    }
    queries: dict[str, str] = {}
    grades: dict[tuple[str, str], int] = {}
    for path in sorted(folder.rglob("*.xml")):
        for pair in ElementTree.fromstring(read_bytes(path)).iter("pair"):
            key, relevant = str(pair.get("id")), pair.findtext("t1") or ""
            queries[key] = (pair.findtext("t2") or "").strip()
            grades |= {(key, match[1]): 1 for match in ARTICLE.finditer(relevant)}
    documents = [(number, f"Article {number}", text) for number, text in articles.items()]
    return BenchmarkData(queries=queries, documents=documents, grades=grades)


def _bsard(folder: Path) -> BenchmarkData:
    questions = list(
        _csv(_one(folder, "questions_test.csv", "*test*.csv"), "id", "question", "article_ids")
    )
    return BenchmarkData(
        queries={row["id"]: row["question"] for row in questions},
        documents=[
            (row["id"], row.get("reference") or "", row["article"])
            for row in _csv(_one(folder, "articles.csv"), "id", "article")
        ],
        grades={
            (row["id"], article.strip()): 1
            for row in questions
            for article in row["article_ids"].split(",")
            if article.strip()
        },
    )


def _gerdalir(folder: Path) -> BenchmarkData:
    texts: dict[str, list[str]] = {}
    for document, passage, *_ in _tsv(_one(folder, "collection.tsv", "collection.tsv.gz"), 2):
        texts.setdefault(document, []).append(passage)
    queries = _tsv(_one(folder, "queries*test*.tsv*", "*test*queries*.tsv*"), 2)
    qrels = _tsv(_one(folder, "qrels*test*.tsv*", "*test*qrels*.tsv*"), 2)
    return BenchmarkData(
        queries={query: text for query, text, *_ in queries},
        documents=[(document, "", "\n".join(parts)) for document, parts in texts.items()],
        grades={(query, document): 1 for query, document, *_ in qrels},
    )


def _squad(folder: Path) -> BenchmarkData:
    path = folder if folder.is_file() else _one(folder, "*.json")
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}  # text -> id
    grades: dict[tuple[str, str], int] = {}
    for article in read_json(path)["data"]:
        for paragraph in article["paragraphs"]:
            key = documents.setdefault(paragraph["context"], f"d{len(documents) + 1}")
            for question in paragraph["qas"]:
                queries[str(question["id"])] = question["question"]
                grades[str(question["id"]), key] = 1
    found = [(key, "", text) for text, key in documents.items()]
    return BenchmarkData(queries=queries, documents=found, grades=grades)


def _stard(folder: Path) -> BenchmarkData:
    # the script of the benchmark leaves out questions that are not text
    rows = [row for row in read_json(_one(folder, "queries.json")) if isinstance(row["问题"], str)]
    return BenchmarkData(
        queries={str(row["query_id"]): row["问题"] for row in rows},
        documents=[
            (str(row["id"]), row["name"], row["content"])
            for row in _rows(_one(folder, "corpus.jsonl"), "id", "name", "content")
        ],
        grades={(str(row["query_id"]), str(each)): 1 for row in rows for each in row["match_id"]},
    )


def _clerc(folder: Path) -> BenchmarkData:
    qrels = _tsv(_one(folder, "*qrels*.tsv*"), 4)
    return BenchmarkData(
        queries={query: text for query, text, *_ in _tsv(_one(folder, "*queries*.tsv*"), 2)},
        documents=[(key, "", text) for key, text, *_ in _tsv(_one(folder, "*collection*.tsv*"), 2)],
        grades={(query, doc): int(grade) for query, _, doc, grade, *_ in qrels if int(grade) > 0},
    )


READERS: dict[str, Callable[[Path], BenchmarkData]] = {
    "mleb": _mleb,
    "legal_rag_bench": _legal_rag_bench,
    "legalbench_rag": _legalbench_rag,
    "coliee": _coliee,
    "bsard": _bsard,
    "gerdalir": _gerdalir,
    "squad": _squad,
    "stard": _stard,
    "clerc": _clerc,
}
