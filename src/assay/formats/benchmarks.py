"""Readers of public benchmarks: each reads the files of its publisher and gives queries, documents
and judgments, which `prepare` writes as a BEIR folder with `corpus.jsonl`.

| reader | files |
|---|---|
| mleb | `corpus.jsonl`, `queries.jsonl` (_id, text), `default.jsonl` (query-id, corpus-id, score) |
| legal_rag_bench | `corpus.jsonl` (id, text), `qa.jsonl` (id, question, relevant_passage_id) |
| legalbench_rag | `benchmarks/*.json` (tests: query, snippets of file_path and span), `corpus/` |
| coliee | `*_en.xml` (pairs with id, articles in t1, the question in t2), a text of articles |
| bsard | `articles*.csv` (id, article), `questions*_test.csv` (id, question, article_ids) |
| gerdalir | `collection.tsv` (d_id, passage), queries and qrels of the test half, also with .gz |
| squad | a JSON of SQuAD: contexts are documents, and each question has its own |
| stard | `queries.json` (query_id, 问题, match_id), `corpus.jsonl` (id, name, content) |
| clerc | `collection.doc.tsv.gz`, `queries/test.*.direct.tsv`, `qrels-doc.test.direct.tsv` |
| irds | none of its own: ir_datasets has them, and a gold set can be one of its data sets too |

A document of LegalBench-RAG is cut into passages of CHUNK characters, whose ids say where they
stand: `cuad/a.txt#500-1000`. An engine with passages of its own gives ids of the same form."""

from __future__ import annotations

import csv
import gzip
import io
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from assay.core.decoding import thread_safe
from assay.core.errors import InputError
from assay.core.extras import imported
from assay.core.files import iter_json_lines, read_bytes, read_json, read_toml, write_atomic
from assay.core.types import GoldSet, Query, judgment_frame

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
    publisher has it, and what others scored. `sets` are [place, size] by name where several are
    published alike: {} in `home` and `base` stands for the place."""

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
    sets: dict[str, tuple[str, str]] = {}
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
    """The card of every benchmark, by name."""
    file = Path(__file__).with_name("benchmarks.toml")
    found: dict[str, BenchmarkCard] = {}
    cards = msgspec.convert(read_toml(file), thread_safe(dict[str, BenchmarkCard]))
    for name, card in cards.items():
        # a set that has no card of its own is read from a folder
        files = () if card.sets else card.files
        home = card.home.format("")
        found[name] = msgspec.structs.replace(card, name=name, home=home, files=files, sets={})
        for key, (place, size) in card.sets.items():
            found[f"{name}-{key}"] = msgspec.structs.replace(
                card,
                name=f"{name}-{key}",
                title=f"{card.title}, {key.replace('-', ' ')}",
                size=size,
                home=card.home.format(place),
                base=card.base.format(place),
                sets={},
            )
    return found


def prepare(reader: str, source: Path, folder: Path) -> None:
    """Read the publisher's files and write queries.jsonl, qrels/test.tsv and corpus.jsonl."""
    data = READERS[reader](source)
    if not data.queries or not data.grades:
        raise InputError("there are no judged queries", where=str(source))
    known = {doc_id for doc_id, _, _ in data.documents}
    for query, document in data.grades:
        if document not in known:
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


def _write_lines(path: Path, rows: Iterable[dict[str, str]]) -> None:
    write_atomic(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def read_spans(folder: Path) -> dict[str, list[Span]]:
    """The spans that answer each query; none for a benchmark without spans."""
    path = folder / SPANS
    written = path.read_bytes() if path.exists() else b"{}"
    return msgspec.json.decode(written, type=thread_safe(dict[str, list[Span]]))


def span_of(doc_id: str) -> Span | None:
    """The span that the id of a passage names."""
    match = PASSAGE.fullmatch(doc_id)
    return (match[1], int(match[2]), int(match[3])) if match else None


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def _one(folder: Path, *patterns: str) -> Path:
    """The first file of the first pattern that finds any, at any depth."""
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
    """The rows of a CSV file, or of JSON lines, which all have these keys."""
    rows: Iterable[tuple[int, Any]] = iter_json_lines(path)
    if path.suffix == ".csv":
        text = read_bytes(path).decode("utf-8-sig")
        rows = enumerate(csv.DictReader(io.StringIO(text, newline="")), start=2)
    for number, row in rows:
        if not isinstance(row, dict) or any(row.get(key) is None for key in keys):
            raise InputError(f"expected {', '.join(keys)}", where=f"{path}:{number}")
        yield row


def _fields(path: Path, least: int) -> Iterator[list[str]]:
    """The fields of a file with tabs, which may be packed."""
    content = gzip.decompress(read_bytes(path)) if path.suffix == ".gz" else read_bytes(path)
    for number, line in enumerate(io.StringIO(content.decode("utf-8"), newline="\n"), start=1):
        row = line.rstrip("\r\n").split("\t")
        if row == [""]:
            continue
        if len(row) < least:
            raise InputError(f"expected {least} fields with tabs", where=f"{path}:{number}")
        yield row


# ── the readers ───────────────────────────────────────────────────────────────────────────────────


def _mleb(folder: Path) -> BenchmarkData:
    queries = _rows(_one(folder, "queries.jsonl"), "_id", "text")
    corpus = _rows(_one(folder, "corpus.jsonl"), "_id", "text")
    qrels = _rows(_one(folder, "default.jsonl"), "query-id", "corpus-id", "score")
    return BenchmarkData(
        queries={row["_id"]: row["text"] for row in queries},
        documents=[(row["_id"], str(row.get("title") or ""), row["text"]) for row in corpus],
        grades={(r["query-id"], r["corpus-id"]): int(r["score"]) for r in qrels if r["score"] > 0},
    )


def _legal_rag_bench(folder: Path) -> BenchmarkData:
    wanted = ("id", "question", "relevant_passage_id")
    questions = list(_rows(_one(folder, "qa.jsonl", "test.jsonl"), *wanted))
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
    by_file: dict[str, list[tuple[int, int]]] = {}
    for name in sorted({file for own in spans.values() for file, _, _ in own}):
        if not (corpus / name).resolve().is_relative_to(corpus.resolve()):
            raise InputError(f"{name!r} is not a file of the corpus", where=str(root))
        # its script opens files as text, where the end of a line is one character
        text = io.StringIO(read_bytes(corpus / name).decode("utf-8"), newline=None).read()
        by_file[name] = [(at, min(at + CHUNK, len(text))) for at in range(0, len(text), CHUNK)]
        documents += [(f"{name}#{at}-{end}", name, text[at:end]) for at, end in by_file[name]]
    grades = {
        (key, f"{file}#{low}-{high}"): 1
        for key, own in spans.items()
        for file, first, last in own
        for low, high in by_file[file]
        if min(high, last) > max(low, first)
    }
    return BenchmarkData(queries=queries, documents=documents, grades=grades, spans=spans)


def _coliee(folder: Path) -> BenchmarkData:
    from defusedxml import ElementTree

    path = _one(folder, "civil_code*en*.txt", "civil_code*.txt", "*.txt")
    code = read_bytes(path).decode("utf-8-sig")
    starts = [*ARTICLE.finditer(code)]
    ends = [match.start() for match in starts[1:]] + [len(code)]
    articles = {
        match[1]: code[match.start() : end].strip() for match, end in zip(starts, ends, strict=True)
    }
    queries: dict[str, str] = {}
    grades: dict[tuple[str, str], int] = {}
    # the Japanese pairs have the same ids
    for path in sorted(folder.rglob("*_en.xml")) or sorted(folder.rglob("*.xml")):
        for pair in ElementTree.fromstring(read_bytes(path)).iter("pair"):
            key, relevant = str(pair.get("id")), pair.findtext("t1") or ""
            queries[key] = (pair.findtext("t2") or "").strip()
            grades |= {(key, match[1]): 1 for match in ARTICLE.finditer(relevant)}
    documents = [(number, f"Article {number}", text) for number, text in articles.items()]
    return BenchmarkData(queries=queries, documents=documents, grades=grades)


def _bsard(folder: Path) -> BenchmarkData:
    asked = _one(folder, "questions*_test.csv", "*test*.csv")
    questions = list(_rows(asked, "id", "question", "article_ids"))
    articles = _rows(_one(folder, "articles*.csv"), "id", "article")
    return BenchmarkData(
        queries={row["id"]: row["question"] for row in questions},
        documents=[(row["id"], row.get("reference") or "", row["article"]) for row in articles],
        grades={
            (row["id"], article.strip()): 1
            for row in questions
            for article in row["article_ids"].split(",")
            if article.strip()
        },
    )


def _gerdalir(folder: Path) -> BenchmarkData:
    texts: dict[str, list[str]] = {}
    for document, passage, *_ in _fields(_one(folder, "collection.tsv", "collection.tsv.gz"), 2):
        texts.setdefault(document, []).append(passage)
    queries, qrels = (
        _fields(_one(folder, f"*{name}*test*.tsv*", f"*test*{name}*.tsv*", f"{name}/*test*"), 2)
        for name in ("queries", "qrels")
    )
    return BenchmarkData(
        queries={query: text for query, text, *_ in queries},
        documents=[(document, "", "\n".join(parts)) for document, parts in texts.items()],
        grades={(query, document): 1 for query, document, *_ in qrels},
    )


def _squad(folder: Path) -> BenchmarkData:
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}  # text -> id
    grades: dict[tuple[str, str], int] = {}
    for article in read_json(folder if folder.is_file() else _one(folder, "*.json"))["data"]:
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
    articles = _rows(_one(folder, "corpus.jsonl"), "id", "name", "content")
    return BenchmarkData(
        queries={str(row["query_id"]): row["问题"] for row in rows},
        documents=[(str(row["id"]), row["name"], row["content"]) for row in articles],
        grades={(str(row["query_id"]), str(each)): 1 for row in rows for each in row["match_id"]},
    )


def _clerc(folder: Path) -> BenchmarkData:
    documents = _fields(_one(folder, "collection.doc*.tsv*", "*collection*.tsv*"), 2)
    queries = _one(
        folder, "test.single-removed.direct.tsv*", "test.*.direct.tsv*", "*queries*.tsv*"
    )
    qrels = _fields(_one(folder, "qrels-doc.test.direct.tsv*", "*qrels*test*.tsv*"), 4)
    return BenchmarkData(
        queries={query: text for query, text, *_ in _fields(queries, 2)},
        documents=[(key, "", text) for key, text, *_ in documents],
        grades={(query, doc): int(grade) for query, _, doc, grade, *_ in qrels if int(grade) > 0},
    )


# ── data sets of ir_datasets ──────────────────────────────────────────────────────────────────────

IRDS = "irds:"
_UNREACHED = re.compile(r"ConnectionPool\(host=\\*'([^'\\]+)")  # as urllib3 names a host
QUERY_TEXTS = ("text", "title", "query")  # where a query has its text, the first that there is


def _irds(source: Path) -> BenchmarkData:
    gold = read_irds(source)
    documents = list(_irds_documents(source))
    known = {key for key, _, _ in documents}
    columns = (gold.judgments[name].to_list() for name in ("query_id", "doc_id", "grade"))
    return BenchmarkData(
        queries={query.id: query.text for query in gold.queries},
        documents=documents,
        grades={
            (query, doc): grade for query, doc, grade in zip(*columns, strict=True) if doc in known
        },
    )


def read_irds(path: Path | str) -> GoldSet:
    """The queries and judgments of a data set of ir_datasets: `irds:NAME`, as in
    `--dataset irds:beir/scifact/test`."""
    name = str(path).removeprefix(IRDS)
    dataset = _irds_dataset(name)
    try:
        queries = tuple(
            Query(id=query.query_id, text=_text_of_query(query)) for query in dataset.queries_iter()
        )
        rows = [(row.query_id, row.doc_id, int(row.relevance)) for row in dataset.qrels_iter()]
    except Exception as error:  # a download, a missing file, a format of its own
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        hosts = dict.fromkeys(_UNREACHED.findall(said))
        raise InputError(
            f"no connection to {' or '.join(hosts)}" if hosts else f"could not be read: {said}",
            where=f"{IRDS}{name}",
            hint="ir_datasets downloads what it does not have; see its page of the data set.",
        ) from error
    known = {query.id for query in queries}
    queries += tuple(
        Query(id=id, text="") for id in dict.fromkeys(r[0] for r in rows) if id not in known
    )
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    judgments = judgment_frame(columns[0], columns[1], pl.Series(columns[2], dtype=pl.Int32))
    # of a pair that is judged twice the last word counts, as in the tools that read these files
    judgments = judgments.unique(["query_id", "doc_id"], keep="last", maintain_order=True)
    return GoldSet(name=name.replace("/", "-"), queries=queries, judgments=judgments)


def _irds_documents(path: Path | str) -> Iterator[tuple[str, str, str]]:
    """(id, title, text) of every document."""
    for document in _irds_dataset(str(path).removeprefix(IRDS)).docs_iter():
        yield document.doc_id, str(getattr(document, "title", "") or ""), _text_of_query(document)


def _irds_dataset(name: str) -> Any:
    where = f"{IRDS}{name}"
    ir_datasets = imported("ir_datasets", "a set of ir_datasets", "irds", where=where)
    ir_datasets.log.easy().logger().addFilter(_is_news)
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError(
            "ir_datasets knows no data set of this name",
            where=where,
            hint="Its names are like beir/scifact/test.",
        ) from error
    for has, what in (("has_queries", "queries"), ("has_qrels", "judgments")):
        if not getattr(dataset, has)():
            raise InputError(
                f"the data set has no {what}",
                where=where,
                hint="Name a part that has them, such as NAME/test.",
            )
    return dataset


def _is_news(record: logging.LogRecord) -> bool:
    """Failed downloads are told once, by our error. Terms of use and progress are left."""
    return not record.getMessage().lower().startswith(("download error", "download failed"))


def _text_of_query(query: Any) -> str:
    default = getattr(query, "default_text", None)
    if callable(default):
        return str(default())
    return next((str(getattr(query, key)) for key in QUERY_TEXTS if getattr(query, key, None)), "")


# ── readers by name ───────────────────────────────────────────────────────────────────────────────

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
    "irds": _irds,
}
