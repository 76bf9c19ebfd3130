"""A package that is really installed adds one plugin of each kind, and each can be used by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core import plugins
from assay.core.errors import InputError
from assay.core.plugins import PluginError, PluginKind
from assay.search.dense import named_encoder
from kit.commands import Assay

METADATA = "Metadata-Version: 2.1\nName: court-tools\nVersion: 2.0\n"
ENTRY_POINTS = """
[assay.engines]
reversed = court_tools:ReversedEngine
first = court_tools:first_engine
bm25 = court_tools:ReversedEngine
lame = court_tools:NoSuchEngine

[assay.importers]
court = court_importer
broken = no_such_module

[assay.formats]
lines = court_format
unreadable = no_such_format

[assay.measures]
Found = court_tools:FOUND
Hit = court_tools:FOUND
Late = court_tools:NO_SUCH_MEASURE

[assay.encoders]
letters = court_tools:LetterEncoder

[assay.judges]
coin = court_tools:toss
"""
TOOLS = '''
import numpy as np
from assay.evaluation.measures import Formula

class ReversedEngine:
    """Gets the documents of --corpus."""
    def __init__(self, documents):
        self.ids = sorted((document.id for document in documents), reverse=True)
    def search(self, query, top_k):
        return self.ids[:top_k]

def first_engine():
    class First:
        def search(self, query, top_k):
            return ["a"]
    return First()

def _hit(hits, measure):
    inside = hits.ranks <= (measure.cutoff or 10)
    return (inside & (hits.grades >= 1)).any(axis=1).astype(float)

FOUND = Formula(compute=_hit, text="1 when a relevant hit is there", source="the court", params={})

class LetterEncoder:
    """As many letters of each kind."""
    def __init__(self, name):
        self.name = name
    def queries(self, texts):
        counts = np.array([[text.lower().count(c) for c in "abcdefghij"] for text in texts], float)
        return (counts / (np.linalg.norm(counts, axis=1, keepdims=True) + 1e-9)).astype("float32")
    def documents(self, texts, tick):
        whole = [" ".join(text for text, _ in parts.texts) for parts in texts]
        tick(len(whole))
        return self.queries(whole) if whole else np.zeros((0, 10), "float32")

def toss(question):
    return 0
'''
IMPORTER = """
from pathlib import Path
from assay.core.types import Document
from assay.corpus.importers.kinds import files_below
from assay.law.citation import Scheme

SCHEME, VERSION, OPTIONS = Scheme(), 1, ()

def units(source, options):
    return files_below(source, (".txt",))

def read(source, unit, options):
    root = Path(source)
    text = (root if root.is_file() else root / unit.path).read_text()
    yield Document(id=unit.id, title=unit.id, text=text)
"""
FORMAT = """
from assay.core.errors import InputError
from assay.core.runs import run_from_results
from assay.core.types import GoldSet, Hit, Judgment, Query, QueryResult, judgments_to_frame

SUFFIXES = (".lines",)

def read_gold(path):
    queries, judgments = [], []
    for number, line in enumerate(path.read_text().splitlines()):
        text, _, ids = line.partition(" => ")
        queries.append(Query(id=f"q{number}", text=text))
        judgments += [Judgment(query_id=f"q{number}", doc_id=doc, grade=1) for doc in ids.split()]
    return GoldSet(name=path.stem, queries=tuple(queries), judgments=judgments_to_frame(judgments))

def write_gold(gold, path):
    ids = {query.id: [] for query in gold.queries}
    for judgment in gold.iter_judgments():
        ids[judgment.query_id].append(judgment.doc_id)
    lines = [f"{query.text} => {' '.join(ids[query.id])}" for query in gold.queries]
    path.write_text("\\n".join(lines))
    return [path]

def read_run(path):
    rankings = (line.split() for line in path.read_text().splitlines())
    return run_from_results("theirs", [
        QueryResult(query_id=query, hits=tuple(Hit(doc_id=doc) for doc in docs))
        for query, *docs in rankings
    ])
"""


@pytest.fixture(autouse=True)
def court_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports_restored: None) -> None:
    site = tmp_path / "site"
    installed = site / "court_tools-2.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(METADATA)
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    for module, text in {
        "court_tools": TOOLS,
        "court_importer": IMPORTER,
        "court_format": FORMAT,
    }.items():
        (site / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=":")
    monkeypatch.delenv("ASSAY_HOME", raising=False)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    docs = [{"id": "a", "text": "about levies"}, {"id": "b", "text": "about gifts"}]
    (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in docs))
    (tmp_path / "gold.lines").write_text("levies => a\ngifts => b")
    (tmp_path / "run.lines").write_text("q0 b a\nq1 b")
    (tmp_path / "texts").mkdir()
    for doc in docs:
        (tmp_path / "texts" / f"{doc['id']}.txt").write_text(doc["text"])
    return tmp_path


def test_an_engine_can_be_named(assay_cli: Assay, files: Path) -> None:
    scored = ("score", "--dataset", "gold.lines", "--json", "--engine")
    done = assay_cli(*scored, "reversed", "--corpus", "docs.jsonl")
    assert (done.code, done.json["per_query"][0]["results"]) == (0, ["b", "a"])
    assert assay_cli(*scored, "first").json["per_query"][1]["results"] == ["a"]
    own = assay_cli(*scored, "bm25", "--corpus", "docs.jsonl")
    assert own.json["per_query"][0]["results"] == ["a"], "a built-in is not replaced"
    refused = assay_cli(*scored, "reversed")
    assert (refused.code, "needs --corpus" in refused.err) == (2, True)
    lame = assay_cli(*scored, "lame")
    assert (lame.code, "the engine 'lame' of court-tools 2.0" in lame.err) == (4, True)
    unknown = assay_cli(*scored, "nobody")
    assert (unknown.code, "random, bm25, bm25-forms, first, lame, reversed" in unknown.err) == (
        2,
        True,
    )


def test_an_importer_can_be_named(assay_cli: Assay, files: Path) -> None:
    done = assay_cli("corpus", "import", "court", "texts", "--name", "c", "--json")
    assert (done.code, done.json["documents"]) == (0, 2)
    broken = assay_cli("corpus", "import", "broken", "texts", "--name", "d")
    assert (broken.code, "'broken' of court-tools 2.0 does not load" in broken.err) == (4, True)


def test_a_format_is_found_by_its_ending_and_by_its_name(assay_cli: Assay, files: Path) -> None:
    scored = assay_cli("score", "--dataset", "gold.lines", "--run", "run.lines", "--json")
    assert (scored.code, scored.json["engine"]) == (0, "theirs")
    assert [entry["results"] for entry in scored.json["per_query"]] == [["b", "a"], ["b"]]
    assert assay_cli("gold", "convert", "gold.lines", "gold.csv").code == 0
    assert assay_cli("gold", "convert", "gold.csv", "again.lines").code == 0
    assert Path("again.lines").read_text() == Path("gold.lines").read_text()
    Path("gold.txt").write_text(Path("gold.lines").read_text())
    named = assay_cli("gold", "convert", "gold.txt", "other.csv", "--from", "lines")
    assert named.code == 0
    unknown = assay_cli("gold", "convert", "gold.txt", "x.csv", "--from", "nothing")
    assert (unknown.code, "lines, unreadable" in unknown.err) == (2, True)


def test_a_measure_can_be_named(assay_cli: Assay, files: Path) -> None:
    scored = ("score", "--dataset", "gold.lines", "--run", "run.lines", "--json", "-m")
    done = assay_cli(*scored, "Found@1", "-m", "nDCG@10")
    assert done.code == 0, done.err
    assert [entry["metrics"]["Found@1"] for entry in done.json["per_query"]] == [0.0, 1.0]
    line = next(line for line in done.json["receipt"]["measures"] if line["key"] == "Found@1")
    assert (line["formula"], line["source"]) == ("1 when a relevant hit is there", "the court")
    late = assay_cli(*scored, "Late@1")
    assert (late.code, "the measure 'Late' of court-tools 2.0" in late.err) == (4, True)
    unknown = assay_cli(*scored, "Nobody@3")
    assert (unknown.code, "ERR, Found, Late" in unknown.err) == (2, True)


def test_an_encoder_can_be_named(assay_cli: Assay, files: Path) -> None:
    assert assay_cli("corpus", "import", "jsonl", "docs.jsonl", "--name", "docs").code == 0
    done = assay_cli("index", "docs", "--encoder", "letters", "--json")
    assert (done.code, done.json["encoder"]) == (0, "letters")
    assert assay_cli("search", "docs", "levies", "--json").json["hits"][0]["doc_id"] == "a"
    with pytest.raises(InputError, match="letters"):
        named_encoder("no-such")


def test_all_are_listed_and_tried(assay_cli: Assay) -> None:
    done = assay_cli("plugins", "--json")
    theirs = {
        (plugin["kind"], plugin["name"]): plugin["status"]
        for plugin in done.json
        if plugin["origin"] == "court-tools 2.0"
    }
    well = {
        ("engine", "reversed"),
        ("engine", "first"),
        ("importer", "court"),
        ("format", "lines"),
        ("measure", "Found"),
        ("encoder", "letters"),
        ("judge", "coin"),
    }
    assert {plugin for plugin, status in theirs.items() if status == "ok"} == well
    assert theirs["engine", "bm25"] == "not used: a built-in has this name"
    assert theirs["measure", "Hit"] == "not used: a built-in has this name", "it means Success"
    failed = {plugin for plugin, status in theirs.items() if status.startswith("failed: ")}
    assert failed == {
        ("engine", "lame"),
        ("importer", "broken"),
        ("format", "unreadable"),
        ("measure", "Late"),
    }
    assert done.code == 4
    assert "court-tools 2.0" in assay_cli("plugins").out


def test_a_plugin_that_does_not_load_stops_nobody_else(
    assay_cli: Assay, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Looking for who reads an ending loads the formats of others; one of them is broken."""
    Path("run.other").write_text("q0 Q0 a 1 2.0 mine\n")
    assert assay_cli("score", "--dataset", "gold.lines", "--run", "run.other").code == 0
    assert "the format 'unreadable' of court-tools 2.0 does not load" in caplog.text


def test_the_mechanism_alone() -> None:
    kind = PluginKind(name="engine", group="assay.engines", built_in={"json": "json:loads"})
    assert plugins.names(kind) == ["json", "bm25", "first", "lame", "reversed"]
    assert plugins.load(kind, "json") is json.loads
    with pytest.raises(InputError, match="unknown engine 'x'"):
        plugins.load(kind, "x")
    with pytest.raises(PluginError, match="NoSuchEngine"):
        plugins.load(kind, "lame")
    assert [name for name, _ in plugins.load_added(kind)] == ["bm25", "first", "reversed"]
