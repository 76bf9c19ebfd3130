"""`assay benchmark`, by its command, on made-up files in the format of each publisher."""

from __future__ import annotations

import gzip
import http.server
import json
import math
import random
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.evaluation.measures import set_measures, span_precision_recall
from assay.formats import benchmarks
from kit.commands import Assay

ENGINE = """
import json
ANSWERS = json.loads(open("answers.json").read())

class Engine:
    def search(self, query, top_k=20):
        return ANSWERS[query][:top_k]
"""
CONFIG = '[engines.mine]\nsearch_module = "mine.py"\n'


def answering(folder: Path, answers: dict[str, list[str]]) -> None:
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "mine.py").write_text(ENGINE)
    (folder / "assay.toml").write_text(CONFIG)


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def scores(assay_cli: Assay, name: str, *more: str) -> dict[str, float]:
    outcome = assay_cli("benchmark", "run", name, "--engine", "mine", "--json", *more)
    assert outcome.code == 0, outcome.err
    return {row["measure"]: row["value"] for row in outcome.json["scores"]}


def mleb(folder: Path) -> None:
    lines(folder / "corpus.jsonl", [{"_id": f"d{n}", "title": "", "text": "x"} for n in range(6)])
    lines(folder / "queries.jsonl", [{"_id": "a", "text": "one"}, {"_id": "b", "text": "two"}])
    qrels = [("a", "d1", 1.0), ("a", "d3", 1.0), ("b", "d0", 1.0)]
    rows = [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in qrels]
    lines(folder / "default.jsonl", rows)


def test_mleb_is_scored_as_its_leaderboard_is(assay_cli: Assay, tmp_path: Path) -> None:
    mleb(tmp_path / "files")
    answering(tmp_path, {"one": ["d0", "d3", "d2", "d1"], "two": ["d4", "d0"]})
    found = scores(assay_cli, "mleb-scalr", "--path", "files")
    gain = [1 / math.log2(rank + 1) for rank in range(1, 6)]
    expected = ((gain[1] + gain[3]) / (gain[0] + gain[1]) + gain[1] / gain[0]) / 2
    assert found["nDCG@10"] == pytest.approx(expected, abs=1e-9)


def test_legal_rag_bench_counts_a_passage_that_has_the_asked_id(
    assay_cli: Assay, tmp_path: Path
) -> None:
    passages = [{"id": f"1.2-c{n}-s0", "text": "x"} for n in range(8)]
    lines(tmp_path / "files/corpus.jsonl", passages)
    qa = [("1", "one", "1.2-c3-s0"), ("2", "two", "1.2-c4")]
    rows = [{"id": i, "question": q, "answer": "", "relevant_passage_id": p} for i, q, p in qa]
    lines(tmp_path / "files/qa.jsonl", rows)
    order = [f"1.2-c{n}-s0" for n in range(8)]
    answering(tmp_path, {"one": order, "two": order[5:] + order[:5]})
    found = scores(assay_cli, "legal-rag-bench", "--path", "files")
    # the passage is among the first five for the first question, and eighth for the second
    assert found["Success@5"] == 0.5
    assert found["RR@10"] == pytest.approx((1 / 4 + 1 / 8) / 2, abs=1e-9)


def legalbench(folder: Path) -> str:
    text = "".join(chr(97 + at % 26) for at in range(1_300))
    (folder / "corpus/nda").mkdir(parents=True)
    (folder / "corpus/nda/a.txt").write_text(text)
    (folder / "corpus/nda/b.txt").write_text(text[:700])
    (folder / "benchmarks").mkdir()
    tests = [
        {
            "query": "one",
            "snippets": [
                {"file_path": "nda/a.txt", "span": [450, 620], "answer": ""},
                {"file_path": "nda/a.txt", "span": [1100, 1150], "answer": ""},
            ],
        },
        {"query": "two", "snippets": [{"file_path": "nda/b.txt", "span": [0, 40], "answer": ""}]},
    ]
    (folder / "benchmarks/nda.json").write_text(json.dumps({"tests": tests}))
    return text


def test_legalbench_rag_counts_characters(assay_cli: Assay, tmp_path: Path) -> None:
    legalbench(tmp_path / "files")
    chunks = ["nda/a.txt#500-1000", "nda/a.txt#0-500", "nda/b.txt#0-500", "nda/a.txt#1000-1300"]
    answering(tmp_path, {"one": chunks, "two": [*chunks[2:], "nda/b.txt#500-700"]})
    found = scores(assay_cli, "legalbench-rag", "--path", "files")

    def characters(spans: list[tuple[str, int, int]]) -> set[tuple[str, int]]:
        return {(file, at) for file, low, high in spans for at in range(low, high)}

    answers = {
        "one": characters([("nda/a.txt", 450, 620), ("nda/a.txt", 1100, 1150)]),
        "two": characters([("nda/b.txt", 0, 40)]),
    }
    given = {"one": chunks, "two": [*chunks[2:], "nda/b.txt#500-700"]}
    for depth in (1, 2, 4, 64):
        precisions, recalls = [], []
        for query, ids in given.items():
            spans = [benchmarks.span_of(each) for each in ids[:depth]]
            seen = characters([span for span in spans if span])
            precisions.append(len(seen & answers[query]) / len(seen))
            recalls.append(len(seen & answers[query]) / len(answers[query]))
        assert found[f"span precision@{depth}"] == pytest.approx(sum(precisions) / 2, abs=1e-9)
        assert found[f"span recall@{depth}"] == pytest.approx(sum(recalls) / 2, abs=1e-9)


def test_legalbench_rag_weighs_its_data_sets_alike_as_its_script_does(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Its benchmark.py gives each test the weight 1 / tests of the data set; run_benchmark.py then
    takes the mean of value * weight / mean weight. Lines end in CRLF: its script reads text."""
    rng = random.Random(5)
    files = tmp_path / "files"
    (files / "benchmarks").mkdir(parents=True)
    text = "".join("ab\r\n" for _ in range(700))  # 2,100 characters as text
    answers: dict[str, list[str]] = {}
    tests: dict[str, list[dict[str, Any]]] = {}
    for name, count in (("cuad", 5), ("maud", 2)):
        (files / "corpus" / name).mkdir(parents=True)
        (files / "corpus" / name / "a.txt").write_bytes(text.encode())
        tests[name] = []
        for number in range(count):
            start = rng.randrange(1_500)
            span = [start, start + rng.randrange(1, 600)]
            snippet = {"file_path": f"{name}/a.txt", "span": span, "answer": ""}
            tests[name].append({"query": f"{name} {number}", "snippets": [snippet]})
            chunks = [f"{name}/a.txt#{at}-{min(at + 500, 2_100)}" for at in range(0, 2_100, 500)]
            answers[f"{name} {number}"] = rng.sample(chunks, 5)
        (files / f"benchmarks/{name}.json").write_text(json.dumps({"tests": tests[name]}))
    answering(tmp_path, answers)
    found = scores(assay_cli, "legalbench-rag", "--path", "files")
    weights = [1 / len(own) for own in tests.values() for _ in own]
    for depth in (1, 2, 4):
        precisions, recalls = [], []
        for test in (each for own in tests.values() for each in own):
            (snippet,) = test["snippets"]
            low, high = snippet["span"]
            spans = [benchmarks.span_of(each) for each in answers[test["query"]][:depth]]
            common = sum(max(0, min(s[2], high) - max(s[1], low)) for s in spans if s)
            precisions.append(common / sum(s[2] - s[1] for s in spans if s))
            recalls.append(common / (high - low))
        for kind, values in (("precision", precisions), ("recall", recalls)):
            average = sum(weights) / len(weights)
            scaled = [v * w / average for v, w in zip(values, weights, strict=True)]
            expected = sum(scaled) / len(scaled)
            assert found[f"span {kind}@{depth}"] == pytest.approx(expected, abs=1e-9)


def test_spans_by_hand() -> None:
    answers = [("f", 10, 20), ("g", 0, 5)]
    assert span_precision_recall([("f", 0, 15)], answers) == (5 / 15, 5 / 15)
    # what is retrieved twice counts twice, in both
    assert span_precision_recall([("f", 0, 15), ("f", 10, 20)], answers) == (15 / 25, 15 / 15)
    assert span_precision_recall([], answers) == (0.0, 0.0)
    assert span_precision_recall([("f", 0, 5)], []) == (0.0, 0.0)


COLIEE = """<?xml version="1.0" encoding="utf-8"?>
<dataset><pair id="H1-1-A" label="Y">
<t1>Article 2 Text of two.
Article 3-2 Text of three.</t1><t2>one</t2></pair>
<pair id="H1-1-I" label="N"><t1>Article 1
Text.</t1><t2> two </t2></pair></dataset>
"""


def test_coliee_is_a_macro_average_of_sets(assay_cli: Assay, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "riteval_H1_en.xml").write_text(COLIEE)
    (files / "riteval_H1_jp.xml").write_text(COLIEE.replace("one", "in Japanese"))
    code = "Part I\nArticle 1 One.\nMore.\nArticle 2 Two.\nArticle 3-2 Three.\n"
    (files / "civil_code_en-1to724-2.txt").write_text(code)
    answering(tmp_path, {"one": ["2", "1"], "two": ["1"]})
    found = scores(assay_cli, "coliee-statute", "--path", "files")
    assert found["precision"] == 0.75 and found["recall"] == 0.75  # noqa: PT018
    # F2 of one half and one half is one half; of the second query it is 1
    assert found["F2"] == pytest.approx((0.5 + 1) / 2, abs=1e-9)
    assert set_measures(["1", "2", "3", "4"], {"1"}) == (0.25, 1.0, 5 * 0.25 / 2.0)
    assert set_measures([], {"1"}) == set_measures(["1"], []) == (0.0, 0.0, 0.0)


def bsard(folder: Path) -> None:
    (folder / "articles_fr.csv").write_text('id,reference,article\n1,r,"a, b"\n2,r,c\n3,r,d\n')
    (folder / "questions_fr_train.csv").write_text("id,question,article_ids\n9,three,3\n")
    (folder / "questions_fr_test.csv").write_text('id,question,article_ids\n7,one,"1,3"\n8,two,2\n')


def gerdalir(folder: Path) -> None:
    with gzip.open(folder / "collection.tsv.gz", "wt") as stream:
        stream.write("1\tfirst\n1\tmore\n2\tsecond\n3\tthird\n")
    (folder / "queries.test.tsv").write_text("7\tone\n8\ttwo\n")
    (folder / "qrels.test.tsv").write_text("7\t1\n7\t3\n8\t2\n")


def squad(folder: Path) -> None:
    paragraphs = [
        {"context": text, "qas": [{"id": key, "question": asked, "answers": []}]}
        for text, key, asked in (("first", "7", "one"), ("second", "8", "two"))
    ]
    data = {"version": "1", "data": [{"title": "t", "paragraphs": paragraphs}]}
    (folder / "legal_squad_test.json").write_text(json.dumps(data))


def stard(folder: Path) -> None:
    rows = [
        {"query_id": 7, "问题": "one", "match_id": [1, 3], "match_name": ["a", "c"]},
        {"query_id": 8, "问题": "two", "match_id": [2], "match_name": ["b"]},
        {"query_id": 9, "问题": None, "match_id": [2], "match_name": ["b"]},
    ]
    (folder / "queries.json").write_text(json.dumps(rows, ensure_ascii=False))
    articles = [
        {"id": n, "name": name, "content": "x"} for n, name in ((1, "a"), (2, "b"), (3, "c"))
    ]
    lines(folder / "corpus.jsonl", articles)


def clerc(folder: Path) -> None:
    for name in ("collection", "queries", "qrels"):
        (folder / name).mkdir()
    with gzip.open(folder / "collection/collection.doc.tsv.gz", "wt") as stream:
        stream.write("1\tfirst\n2\tsecond\n3\tthird\n")
    for variant in ("all-removed.direct", "single-removed.indirect"):
        (folder / f"queries/test.{variant}.tsv").write_text("7\tnot this\n8\tnor this\n")
    (folder / "queries/test.single-removed.direct.tsv").write_text("7\tone\n8\ttwo\n")
    (folder / "qrels/qrels-doc.test.indirect.tsv").write_text("7\t0\t2\t1\n")
    qrels = "7\t0\t1\t1\n7\t0\t3\t1\n8\t0\t2\t1\n"
    (folder / "qrels/qrels-doc.test.direct.tsv").write_text(qrels)


@pytest.mark.parametrize(
    ("name", "write", "expected"),
    [
        # relevant are 1 and 3 for the first query, 2 for the second; the order is 2, 1, 3
        ("bsard", bsard, {"R@100": 1.0, "AP@100": ((1 / 2 + 2 / 3) / 2 + 1) / 2, "RR@100": 0.75}),
        ("gerdalir", gerdalir, {"RR@10": 0.75, "R@1000": 1.0}),
        ("stard", stard, {"R@3": 1.0, "Success@3": 1.0, "RR@3": 0.75}),
        ("clerc", clerc, {"R@10": 1.0, "R@1000": 1.0}),
    ],
)
def test_each_format_is_read(
    assay_cli: Assay,
    tmp_path: Path,
    name: str,
    write: Callable[[Path], None],
    expected: dict[str, float],
) -> None:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files")
    answering(tmp_path, {"one": ["2", "1", "3"], "two": ["2", "1", "3"]})
    found = scores(assay_cli, name, "--path", "files")
    for measure, value in expected.items():
        assert found[measure] == pytest.approx(value, abs=1e-9), measure


def average_precision(truths: set[str], found: list[str]) -> float:
    """As BSARD's evaluator: precision at every right rank, over all that is right."""
    at = [len(truths & set(found[: i + 1])) / (i + 1) for i, d in enumerate(found) if d in truths]
    return sum(at) / len(truths)


def test_published_formulas_of_rankings_give_the_same(assay_cli: Assay, tmp_path: Path) -> None:
    """MAP, MRR and recall as BSARD's evaluator.py, recall, hits and MRR of the first three as
    STARD's test.py has them, on rankings at random."""
    rng = random.Random(7)
    numbers = [str(n) for n in range(1, 41)]
    asked = {str(n): set(rng.sample(numbers, rng.randint(1, 6))) for n in range(100, 112)}
    given = {f"asked {key}": rng.sample(numbers, 30) for key in asked}
    answering(tmp_path, given)
    (tmp_path / "bsard").mkdir()
    articles = "".join(f"{n},r,text\n" for n in numbers)
    (tmp_path / "bsard/articles.csv").write_text(f"id,reference,article\n{articles}")
    rows = "".join(f'{key},asked {key},"{",".join(own)}"\n' for key, own in asked.items())
    (tmp_path / "bsard/questions_test.csv").write_text(f"id,question,article_ids\n{rows}")
    (tmp_path / "stard").mkdir()
    lines(
        tmp_path / "stard/corpus.jsonl",
        [{"id": int(n), "name": n, "content": "x"} for n in numbers],
    )
    queries = [
        {"query_id": int(key), "问题": f"asked {key}", "match_id": [*map(int, own)]}
        for key, own in asked.items()
    ]
    (tmp_path / "stard/queries.json").write_text(json.dumps(queries))

    def mean(of: Callable[[set[str], list[str]], float]) -> float:
        return sum(of(own, given[f"asked {key}"]) for key, own in asked.items()) / len(asked)

    def reciprocal(own: set[str], found: list[str]) -> float:
        return max([1 / (i + 1) if d in own else 0.0 for i, d in enumerate(found)])

    bsard_found = scores(assay_cli, "bsard", "--path", "bsard")
    assert bsard_found["AP@100"] == pytest.approx(mean(average_precision), abs=1e-9)
    assert bsard_found["RR@100"] == pytest.approx(mean(reciprocal), abs=1e-9)
    recall = mean(lambda own, found: len(own & set(found)) / len(own))
    assert bsard_found["R@100"] == pytest.approx(recall, abs=1e-9)
    stard_found = scores(assay_cli, "stard", "--path", "stard")
    first = {
        "R@3": mean(lambda own, found: sum(d in found[:3] for d in own) / len(own)),
        "Success@3": mean(lambda own, found: float(bool(own & set(found[:3])))),
        "RR@3": mean(lambda own, found: reciprocal(own, found[:3])),
    }
    for measure, value in first.items():
        assert stard_found[measure] == pytest.approx(value, abs=1e-9), measure


def test_squad_has_its_contexts_as_documents(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    squad(tmp_path / "files")
    answering(tmp_path, {"one": ["d2", "d1"], "two": ["d2", "d1"]})
    assert scores(assay_cli, "legalquad", "--path", "files")["RR@10"] == 0.75


def test_bm25_reads_the_documents_itself_and_others_scores_stand_beside(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    gerdalir(tmp_path / "files")
    outcome = assay_cli("benchmark", "run", "gerdalir", "--engine", "bm25", "--path", "files")
    assert outcome.code == 0, outcome.err
    assert "0.434 BM25 (documents) (github.com/lavis-nlp/GerDaLIR, 2021-11)" in outcome.out
    assert "Licence: MIT" in outcome.out


def test_the_list_has_licence_and_size(assay_cli: Assay) -> None:
    rows = {row["name"]: row for row in assay_cli("benchmark", "list", "--json").json}
    assert all(row["licence"] and row["size"] and row["home"] for row in rows.values())
    assert set(benchmarks.READERS) - {"irds"} == {
        card.reader for card in benchmarks.cards().values()
    }
    scalr = rows["mleb-scalr"]
    assert scalr["home"] == "https://huggingface.co/datasets/isaacus/mleb-scalr"
    assert scalr["base"] == f"{scalr['home']}/resolve/main/"


def test_mistakes_are_named(assay_cli: Assay, tmp_path: Path) -> None:
    answering(tmp_path, {})
    run = partial(assay_cli, "benchmark", "run")
    unknown = run("nothing", "--engine", "mine")
    assert unknown.code == 2
    assert "there is no benchmark 'nothing'" in unknown.err
    unhosted = run("stard", "--engine", "mine")
    assert unhosted.code == 2
    assert "--path FOLDER" in unhosted.err
    (tmp_path / "files").mkdir()
    empty = run("stard", "--engine", "mine", "--path", "files")
    assert empty.code == 2
    assert "queries.json" in empty.err
    clerc(tmp_path / "files")
    (tmp_path / "files/qrels/qrels-doc.test.direct.tsv").write_text("7\t0\tgone\t1\n")
    gone = run("clerc", "--engine", "mine", "--path", "files")
    assert gone.code == 2
    assert "'gone'" in gone.err
    assert not (tmp_path / ".assay/benchmarks/clerc/queries.jsonl").exists()


# ── downloads ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def host(tmp_path: Path) -> Iterator[tuple[str, list[str | None]]]:
    """A server of files that serves ranges, and the ranges that it was asked for."""
    asked: list[str | None] = []
    folder = tmp_path / "hosted"
    folder.mkdir()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = (folder / self.path.lstrip("/")).read_bytes()
            span = self.headers.get("Range")
            asked.append(span)
            start = int(span.removeprefix("bytes=").rstrip("-")) if span else 0
            self.send_response(206 if span else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:])

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", asked
    server.shutdown()
    server.server_close()


def test_a_download_goes_on_where_it_stopped_and_is_checked(
    assay_cli: Assay,
    tmp_path: Path,
    host: tuple[str, list[str | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import msgspec

    url, asked = host
    hosted = tmp_path / "hosted"
    gerdalir(hosted)
    for name in ("queries", "qrels"):
        with tarfile.open(hosted / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(hosted / f"{name}.test.tsv", f"{name}.test.tsv")
    card = msgspec.structs.replace(benchmarks.cards()["gerdalir"], base=url)
    monkeypatch.setattr(benchmarks, "cards", lambda: {"gerdalir": card})
    files = tmp_path / ".assay/benchmarks/gerdalir/files"
    files.mkdir(parents=True)
    whole = (hosted / "collection.tsv.gz").read_bytes()
    (files / "collection.tsv.gz.part").write_bytes(whole[:20])
    answering(tmp_path, {"one": ["1"], "two": ["1"]})
    assert scores(assay_cli, "gerdalir")["RR@10"] == 0.5
    assert asked == ["bytes=20-", None, None]
    assert (files / "collection.tsv.gz").read_bytes() == whole
    (files / "collection.tsv.gz").write_bytes(b"broken")
    (tmp_path / ".assay/benchmarks/gerdalir/queries.jsonl").unlink()
    broken = assay_cli("benchmark", "run", "gerdalir", "--engine", "mine")
    assert broken.code == 2
    assert "expected" in broken.err
    assert "moved aside" in broken.err


def test_any_set_of_ir_datasets_is_run_with_its_documents(assay_cli: Assay, tmp_path: Path) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    (tmp_path / "docs.tsv").write_text("d1\tgift of travel\nd2\tlobbying fees\n")
    (tmp_path / "queries.tsv").write_text("1\ttravel\n2\tfees\n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n2 0 d2 1\n2 0 gone 1\n")
    parts = [LocalDownload(tmp_path / name) for name in ("docs.tsv", "queries.tsv", "qrels.txt")]
    made = Dataset(TsvDocs(parts[0]), TsvQueries(parts[1]), TrecQrels(parts[2], {1: "relevant"}))
    ir_datasets.registry._registered["made-up/test"] = made
    outcome = assay_cli("benchmark", "run", "irds:made-up/test", "--engine", "bm25", "--json")
    assert outcome.code == 0, outcome.err
    assert (outcome.json["queries"], outcome.json["documents"]) == (2, 2)
    found = {row["measure"]: row["value"] for row in outcome.json["scores"]}
    assert found["RR"] == 1.0
