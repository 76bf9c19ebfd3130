"""`assay engines test` with an address: the table that it proposes reads the hits of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.commands import Assay
from kit.search_server import Asked, Reply, search_server

RECORDED = Path(__file__).parents[1] / "fixtures" / "presets"
NESTED = {
    "took": 3,
    "facets": {"year": [{"value": "2020", "count": 3}, {"value": "2021", "count": 1}]},
    "data": {
        "found": [
            {"node": {"slug": "lease", "rank": 0.9, "heading": "Ending a lease", "year": 2020}},
            {"node": {"slug": "notice", "rank": 0.4, "heading": "Notice periods", "year": 2021}},
        ]
    },
}
ROWS = {
    "head": {"status": 0},
    "body": {"columns": ["_key", "_score"], "rows": [["a", 3], ["b", 1]]},
}
GROONGA = [[0, 1.5, 0.1], [[[2], [["_key", "ShortText"], ["_score", "Int32"]], ["a", 3], ["b", 1]]]]


@pytest.mark.parametrize(
    ("answer", "hits", "id_path", "score"),
    [
        (NESTED, "data.found", "node.slug", "node.rank"),
        (ROWS, "body.rows", "[0]", "[1]"),
        (GROONGA, "[1][0][2:]", "[0]", "[1]"),
        (["a", "b"], "@", "@", ""),
        ({"hits": [{"docid": "my memo on leases.docx", "n": 1}]}, "hits", "docid", ""),
        ({"search-results": [{"docid": 7, "score": "2.5"}]}, '"search-results"', "docid", "score"),
    ],
)
def test_the_list_the_id_and_the_score_are_found_by_shape(
    answer: Any, hits: str, id_path: str, score: str, assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    address = "http://127.0.0.1:9/find?q={{query}}"
    outcome = assay_cli("engines", "test", address, "x", "--response", "answer.json", "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json["mapping"]
    assert [found.get("hits"), found.get("id"), found.get("score", "")] == [hits, id_path, score]
    assert outcome.json["hits"][0]["doc_id"]


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_answers_of_the_presets_are_mapped_as_the_presets_read_them(
    path: Path, assay_cli: Assay, tmp_path: Path
) -> None:
    from assay.engines.http_table import presets

    preset = presets()[path.stem]
    (tmp_path / "answer.json").write_text(json.dumps(json.loads(path.read_text())["answer"]))
    address = "http://127.0.0.1:9/find?q={{query}}"
    found = assay_cli("engines", "test", address, "x", "--response", "answer.json", "--json").json
    mapping = found["mapping"]
    assert (mapping["id"], mapping.get("score", "")) == (preset.id, preset.score)
    assert mapping["hits"] == preset.hits.partition(" ||")[0]


def test_the_proposed_table_works_when_it_is_pasted(assay_cli: Assay, tmp_path: Path) -> None:
    def reply(number: int, asked: Asked) -> Reply:
        return Reply(NESTED)

    with search_server(reply) as server:
        address = f"{server.url}/find?q={{{{query}}}}"
        shown = assay_cli("engines", "test", address, "lease")
        assert "[engines.service]" in shown.out
        assert "node.heading" in shown.out
        table = assay_cli("engines", "test", address, "lease", "--json").json["table"]
        (tmp_path / "assay.toml").write_text(f"[engines.service]\n{table}\n")
        tried = assay_cli("engines", "test", "service", "lease", "--json").json
    assert [hit["doc_id"] for hit in tried["hits"]] == ["lease", "notice"]
    assert tried["hits"][0]["title"] == "Ending a lease"


def test_an_address_of_a_known_engine_gets_its_preset(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"hits": {"hits": [{"_id": "x", "_score": 1.5}]}}')
    address = "http://127.0.0.1:9200/memos/_search"
    table = assay_cli("engines", "test", address, "x", "--response", "a.json", "--json").json[
        "table"
    ]
    assert table.splitlines() == ['preset = "opensearch"', f'http = "{address}"']


def test_an_address_without_a_place_for_the_query_is_explained(assay_cli: Assay) -> None:
    outcome = assay_cli("engines", "test", "http://127.0.0.1:9/find", "x")
    assert outcome.code != 0
    assert "{{query}}" in outcome.err
