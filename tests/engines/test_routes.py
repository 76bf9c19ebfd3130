"""Each corpus of a gold set on an engine of its own, in one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay
from kit.files import write_json_lines
from kit.search_server import Reply, SearchServer, search_server

ROWS = [
    ("g1", "levy", "precedent_library", "tax", ["p1"]),
    ("g2", "land", "internal_decisions", "tax", ["i1"]),
    ("g3", "appeal", "precedent_library", "appeals", ["p2"]),
    ("g4", "notice", "internal_decisions", "appeals", ["i2"]),
]
ROUTES = """
[engines.prod.corpora]
precedent_library = "engine-a"
internal_decisions = "engine-b"
"""


def write_gold(folder: Path, rows: list[tuple[Any, ...]] = ROWS) -> None:
    lines = [
        {
            "id": id,
            "query": query,
            "corpus": corpus,
            "practice_area": area,
            "relevant_case_law_ids": relevant,
            "source": "chair",
        }
        for id, query, corpus, area, relevant in rows
    ]
    write_json_lines(folder / "gold-set.jsonl", *lines)


@pytest.fixture
def servers() -> Iterator[tuple[SearchServer, SearchServer]]:
    with (
        search_server(lambda number, asked: Reply([{"id": "p1"}, {"id": "p2"}])) as first,
        search_server(lambda number, asked: Reply([{"id": "i9"}, {"id": "i1"}])) as second,
    ):
        yield first, second


@pytest.fixture
def folder(assay_cli: Assay, tmp_path: Path, servers: tuple[SearchServer, SearchServer]) -> Path:
    first, second = servers
    write_gold(tmp_path)
    (tmp_path / "assay.toml").write_text(
        f'[gold.g]\npath = "gold-set.jsonl"\nengines = ["prod"]\n'
        f'[engines.engine-a]\nhttp = "{first.url}/?q={{{{query}}}}&c={{{{corpus}}}}"\n'
        f'[engines.engine-b]\nhttp = "{second.url}/?q={{{{query}}}}"\nconcurrency = 4\n{ROUTES}'
    )
    return tmp_path


def test_one_run_scores_every_row_on_its_own_engine(
    assay_cli: Assay, folder: Path, servers: tuple[SearchServer, SearchServer]
) -> None:
    outcome = assay_cli(
        "score", "--dataset", "gold-set.jsonl", "--engine", "prod", "-o", "results.json"
    )
    assert outcome.code == 0, outcome.err
    first, second = servers
    assert [asked.params["q"][0] for asked in first.asked] == ["levy", "appeal"]
    assert [asked.params["c"][0] for asked in first.asked] == ["precedent_library"] * 2
    assert sorted(asked.params["q"][0] for asked in second.asked) == ["land", "notice"]
    results = json.loads((folder / "results.json").read_text())
    assert [(entry["query_id"], entry["results"]) for entry in results["per_query"]] == [
        ("g1", ["p1", "p2"]),
        ("g2", ["i9", "i1"]),
        ("g3", ["p1", "p2"]),
        ("g4", ["i9", "i1"]),
    ]
    assert results["engine"] == "prod"
    assert results["overall"]["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 2 + 0) / 4)
    assert results["by_corpus"]["precedent_library"]["mrr"] == pytest.approx(0.75)
    assert results["by_corpus"]["internal_decisions"]["mrr"] == pytest.approx(0.25)
    assert results["by_practice_area"]["tax"]["mrr"] == pytest.approx(0.75)
    assert results["by_practice_area"]["appeals"]["mrr"] == pytest.approx(0.25)
    served = results["receipt"]["served_by"]
    assert served == {"precedent_library": "engine-a", "internal_decisions": "engine-b"}
    for words in ("Overall", "By corpus", "internal_decisions", "By practice area", "appeals"):
        assert words in outcome.out


@pytest.mark.parametrize("corpus", ["court_files", ""])
def test_a_row_that_no_engine_serves_is_an_error(
    assay_cli: Assay,
    folder: Path,
    servers: tuple[SearchServer, SearchServer],
    corpus: str,
) -> None:
    write_gold(folder, [*ROWS, ("g5", "x", corpus, "tax", ["p1"])])
    outcome = assay_cli(
        "score", "--dataset", "gold-set.jsonl", "--engine", "prod", "-o", "results.json"
    )
    assert outcome.code == 2
    assert "no engine serves" in outcome.err
    assert "g5" in outcome.err
    assert (corpus or "no corpus at all") in outcome.err
    assert assay_cli("run").code == 2
    assert not (folder / "results.json").exists()
    assert not servers[0].asked
    assert not servers[1].asked


def test_an_engine_that_is_away_is_named(
    assay_cli: Assay, folder: Path, servers: tuple[SearchServer, SearchServer]
) -> None:
    servers[1].behave = lambda number, asked: Reply("", status=404)
    outcome = assay_cli("score", "--dataset", "gold-set.jsonl", "--engine", "prod")
    assert (outcome.code, "'engine-b' failed on all 2" in outcome.err) == (4, True)


def test_one_corpus_is_tried_at_a_time(assay_cli: Assay, folder: Path) -> None:
    outcome = assay_cli("engines", "test", "prod", "levy")
    assert (outcome.code, "precedent_library, internal_decisions" in outcome.err) == (2, True)
    shown = assay_cli("engines", "test", "prod", "levy", "--corpus", "internal_decisions", "--json")
    assert (shown.code, shown.json["engine"]) == (0, "engine-b")
    listed = {row["name"]: row for row in assay_cli("engines", "list", "--json").json}
    assert listed["prod"]["what"] == "precedent_library: engine-a, internal_decisions: engine-b"


def test_a_pool_asks_by_the_same_routes(
    assay_cli: Assay, folder: Path, servers: tuple[SearchServer, SearchServer]
) -> None:
    outcome = assay_cli(
        "gold", "pool", "gold-set.jsonl", "--engine", "prod", "-o", "pairs.json", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert outcome.json["systems"] == ["prod"]
    assert outcome.json["found"] == 8
    assert (len(servers[0].asked), len(servers[1].asked)) == (2, 2)


def test_a_service_is_asked_again_though_nothing_here_has_changed(
    assay_cli: Assay, folder: Path, servers: tuple[SearchServer, SearchServer]
) -> None:
    assert assay_cli("run").code == 0
    assert assay_cli("run").code == 0
    assert len(servers[0].asked) == 4


def test_modules_and_indexes_serve_corpora_too(assay_cli: Assay, tmp_path: Path) -> None:
    write_gold(tmp_path)
    documents = [{"id": "i1", "text": "land"}, {"id": "i2", "text": "notice of a hearing"}]
    write_json_lines(tmp_path / "documents.jsonl", *documents)
    (tmp_path / "mine.py").write_text("def search(query, top_k, corpus=''):\n    return [corpus]\n")
    (tmp_path / "assay.toml").write_text(
        '[engines.engine-a]\nmodule = "mine.py"\n'
        f'[engines.engine-b]\nengine = "bm25"\ncorpus = "documents.jsonl"\n{ROUTES}'
    )
    outcome = assay_cli("score", "--dataset", "gold-set.jsonl", "--engine", "prod", "--json")
    assert outcome.code == 0, outcome.err
    found = [entry["results"] for entry in outcome.json["per_query"]]
    assert found == [["precedent_library"], ["i1"], ["precedent_library"], ["i2"]]


# ── gold validate ─────────────────────────────────────────────────────────────────────────────────


def documents(folder: Path, name: str, ids: list[str]) -> None:
    lines = [{"id": id, "title": id, "text": f"the text of {id}"} for id in ids]
    write_json_lines(folder / f"{name}.jsonl", *lines)


def wrong(outcome: Any) -> list[tuple[str, str]]:
    codes = ("unknown-document", "unchecked-corpus")
    findings = outcome.json["findings"]
    return [(each["code"], each["where"]) for each in findings if each["code"] in codes]


@pytest.fixture
def two_corpora(assay_cli: Assay, tmp_path: Path) -> Path:
    """One document of each row is in the other corpus: against both together all would be there."""
    write_gold(tmp_path)
    documents(tmp_path, "precedents", ["p1", "i2"])
    documents(tmp_path, "decisions", ["i1", "p2"])
    return tmp_path


EXPECTED = [("unknown-document", "g3"), ("unknown-document", "g4")]


@pytest.mark.parametrize("place", ["options", "engines", "workspace"])
def test_rows_are_checked_against_the_corpora_they_are_searched_in(
    assay_cli: Assay, two_corpora: Path, place: str
) -> None:
    named = {"precedent_library": "precedents", "internal_decisions": "decisions"}
    options: list[str] = []
    if place == "engines":
        (two_corpora / "assay.toml").write_text(
            '[engines.engine-a]\nhttp = "http://h/?q={{query}}"\ncorpus = "precedents.jsonl"\n'
            f'[engines.engine-b]\nengine = "bm25"\ncorpus = "decisions.jsonl"\n{ROUTES}'
        )
    for name, file in named.items():
        if place == "options":
            options += ["--corpus", f"{name}={file}.jsonl"]
        elif place == "workspace":
            imported = assay_cli("corpus", "import", "jsonl", f"{file}.jsonl", "--name", name)
            assert imported.code == 0
    outcome = assay_cli("gold", "validate", "gold-set.jsonl", *options, "--json")
    assert (outcome.code, wrong(outcome)) == (2, EXPECTED)
    assert place != "options" or "is not in the corpus precedents.jsonl" in outcome.out
    assert "not checked" not in outcome.err


def test_rows_of_a_corpus_that_is_not_here_are_flagged(assay_cli: Assay, two_corpora: Path) -> None:
    named = "precedent_library=precedents.jsonl"
    outcome = assay_cli("gold", "validate", "gold-set.jsonl", "--corpus", named, "--json")
    assert wrong(outcome) == [("unknown-document", "g3"), ("unchecked-corpus", "g2")]
    strange = assay_cli("gold", "validate", "gold-set.jsonl", "--corpus", "x=precedents.jsonl")
    assert (strange.code, "no rows of the corpus 'x'" in strange.err) == (2, True)


def test_one_corpus_for_all_rows(assay_cli: Assay, two_corpora: Path) -> None:
    outcome = assay_cli(
        "gold", "validate", "gold-set.jsonl", "--corpus", "precedents.jsonl", "--json"
    )
    assert [where for _, where in wrong(outcome)] == ["g2", "g3"]
