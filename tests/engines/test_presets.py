"""The presets against a replay: the request that the vendor documents, and answers in the form that
it documents, with content of our own. None of these engines runs here."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.engines.http_table import presets
from kit.commands import Assay
from kit.search_server import Asked, Reply, search_server

RECORDED = Path(__file__).parents[1] / "fixtures" / "presets"
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))
QUERY = 'betterment "levy"'


def recording(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def test_every_preset_has_a_recording() -> None:
    assert set(NAMES) == set(presets())
    assert set(NAMES) == {
        "opensearch",
        "elasticsearch",
        "solr",
        "vespa",
        "typesense",
        "meilisearch",
        "azure-ai-search",
        "vectara",
        "algolia",
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_asks_and_reads_as_the_vendor_documents(
    name: str, assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = recording(name)
    wanted = recorded["request"]
    for variable, value in recorded["environment"].items():
        monkeypatch.setenv(variable, value)

    def replay(number: int, asked: Asked) -> Reply:
        """As the vendor would: what is not asked as documented is refused."""
        body = asked.json if asked.body else None
        sent = {key: asked.headers.get(key) for key in wanted["headers"]}
        if (asked.method, asked.path) != (wanted["method"], recorded["path"]):
            return Reply(f"{asked.method} {asked.path}", status=405)
        if (asked.params, sent, body) != (wanted["params"], wanted["headers"], wanted["body"]):
            return Reply({"params": asked.params, "headers": sent, "body": body}, status=422)
        return Reply(answer, status=status)

    with search_server(replay) as server:
        (tmp_path / "assay.toml").write_text(
            f'[engines.x]\npreset = "{name}"\nhttp = "{server.url}{recorded["path"]}"\n'
            + recorded.get("keys", "")
        )
        answer, status = recorded["answer"], 200
        outcome = assay_cli("engines", "test", "x", QUERY, "--top-k", 5, "--json")
        assert (outcome.code, outcome.json["wrong"]) == (0, [])
        hits = outcome.json["hits"]
        assert [hit["doc_id"] for hit in hits] == recorded["ids"]
        assert [hit.get("score") for hit in hits] == recorded["scores"]
        for value in recorded["environment"].values():
            assert value not in outcome.out
        answer = recorded["empty"]
        outcome = assay_cli("engines", "test", "x", QUERY, "--top-k", 5, "--json")
        assert (outcome.code, outcome.json["hits"]) == (0, [])
        for failure in recorded["failures"]:
            answer, status = failure["answer"], failure["status"]
            outcome = assay_cli("engines", "test", "x", QUERY, "--top-k", 5, "--json")
            assert outcome.code == 4
            assert failure["words"] in outcome.json["wrong"][0]


def test_the_users_keys_replace_those_of_a_preset(assay_cli: Assay, tmp_path: Path) -> None:
    answer = {"hits": {"hits": [{"_id": "no", "fields": {"nr": ["A-9"]}}]}}
    with search_server(lambda number, asked: Reply(answer)) as server:
        (tmp_path / "assay.toml").write_text(
            f'[engines.x]\npreset = "opensearch"\nhttp = "{server.url}/o/_search"\n'
            "id = 'fields.nr[0]'\nbody = '{\"q\": {{query}}}'\n"
            '[engines.m]\npreset = "meilisearch"\n'
            f'http = "{server.url}/m"\nhits = "hits.hits"\nid = "_id"\n'
            'headers = { authorization = "" }\n'
        )
        shown = assay_cli("engines", "test", "x", "levy", "--json").json
        assert [hit["doc_id"] for hit in shown["hits"]] == ["A-9"]
        assert server.bodies() == [{"q": "levy"}]
        # a header that is emptied is not sent, and its variable not asked for
        assert assay_cli("engines", "test", "m", "levy").code == 0
        assert "authorization" not in server.asked[-1].headers


def test_the_presets_are_shown(assay_cli: Assay) -> None:
    listed = assay_cli("engines", "presets", "--json").json
    assert {row["name"] for row in listed} == set(NAMES)
    one = assay_cli("engines", "presets", "vespa")
    assert "root.children" in one.out
    assert "opensearch" not in one.out
    assert assay_cli("engines", "presets", "none").code == 2
    shown = tomllib.loads(assay_cli("engines", "presets").out)["engines"]  # to be pasted
    for row in listed:
        assert shown[row["name"]] == {"http": row["example"], **row["table"]}
