"""`assay doctor` and `assay plugins`: what is well, what is not, and what hides nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.core.extras import SHOWN_EXTRAS
from assay.workbench.project.service import open_service
from assay.workbench.review.suggestions import suggest
from kit.commands import Assay
from kit.server import local_client


@pytest.fixture(autouse=True)
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.delenv("ASSAY_HOME", raising=False)


def test_a_new_folder_is_well_and_stays_empty(assay_cli: Assay) -> None:
    done = assay_cli("doctor", "--json")
    assert (done.code, done.json["status"], done.json["store"]["note"]) == (0, "ok", "none yet")
    assert set(done.json["extras"]) == {"status", *SHOWN_EXTRAS}
    assert list(Path().iterdir()) == []
    assert "none yet" in assay_cli("doctor").out


def test_store_corpora_and_gold_in_one_screen(assay_cli: Assay) -> None:
    searches = [
        {"id": str(n), "at": "2026-05-01", "query": query, "results": ["a"]}
        for n, query in enumerate(("first", "second"))
    ]
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in searches))
    Path("decisions.jsonl").write_text(json.dumps({"id": "D", "at": "2026-05-03", "cites": ["a"]}))
    Path("docs.jsonl").write_text('{"id":"a","title":"A","text":"about q"}\n')
    for command in (
        ("logs", "import", "log.jsonl"),
        ("logs", "decisions", "decisions.jsonl"),
        ("gold", "bootstrap"),
        ("corpus", "import", "jsonl", "docs.jsonl", "--name", "docs"),
    ):
        assert assay_cli(*command).code == 0
    with open_service() as service:
        suggest(service, "gold-set", ("g001", "a"), 1, rationale="on point", by="agent")
    rows = Path("gold-set.jsonl").read_text().splitlines(keepends=True)
    Path("gold-set.jsonl").write_text("".join(row for row in rows if '"g001"' not in row))
    found = assay_cli("doctor", "--json").json
    assert found["store"]["rows"]["search_logs"] == 2
    assert found["index"]["corpora"]["docs"]["index"] == "there is no index yet"
    assert found["gold"]["without_a_query"] == {"gold-set": 1}
    assert "1 row edited by hand: g001" in found["gold"]["notes"][0]
    assert found["halacha_backlog"]["pending_review"] == 2
    assert "docs: documents 1" in assay_cli("doctor").out
    assert "assay gold withdraw" in assay_cli("backlog").err
    assert "1 suggestion withdrawn" in assay_cli("gold", "withdraw", "gold-set", "--by", "D").err
    assert assay_cli("backlog", "--json").json["total"] == 1


def test_an_index_that_lacks_a_file_is_damaged(assay_cli: Assay) -> None:
    Path("docs.jsonl").write_text('{"id":"a","title":"A","text":"about q"}\n')
    assert assay_cli("corpus", "import", "jsonl", "docs.jsonl", "--name", "docs").code == 0
    assert assay_cli("index", "docs", "--no-dense").code == 0
    assert assay_cli("doctor", "--json").json["index"]["corpora"]["docs"]["index"] == "ready"
    next(Path(".assay/indexes/docs").rglob("ids.txt")).unlink()
    done = assay_cli("doctor", "--json")
    assert (done.code, "ids.txt" in done.json["index"]["corpora"]["docs"]["index"]) == (4, True)


@pytest.mark.parametrize(
    ("toml", "options", "part", "message"),
    [
        ("", ("--store", "mistyped.db"), "store", "there is no store here"),
        ("", ("--store", "postgresql://127.0.0.1:1/x"), "store", "127.0.0.1"),
        ("gold = 7", (), "configuration", "Expected"),
        (
            "[gold.g]\npath = 'g'\n[engines.e]\nsearch_module = 'not_there'",
            ("--probe",),
            "engines",
            "not_there",
        ),
    ],
)
def test_what_fails_is_named_and_hides_nothing(
    assay_cli: Assay, toml: str, options: tuple[str, ...], part: str, message: str
) -> None:
    if toml:
        Path("assay.toml").write_text(toml)
    done = assay_cli("doctor", "--json", *options)
    assert (done.code, done.json["status"]) == (4, "failed")
    assert (done.json[part]["status"], message in json.dumps(done.json[part])) == ("failed", True)
    assert done.json["environment"]["status"] == done.json["index"]["status"] == "ok"
    assert message in assay_cli("doctor", *options).out


def test_engines_are_probed_on_request(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "class Engine:\n    def search(self, query, top_k):\n        raise OSError('down')\n"
    )
    (tmp_path / "assay.toml").write_text(
        '[gold.g]\npath = "g.jsonl"\n[engines.broken]\nsearch_module = "broken"\n'
        '[engines.saved]\nrun = "none.json"\n'
    )
    engines = assay_cli("doctor", "--json").json["engines"]
    assert engines["engines"]["broken"] == {"status": "not probed"}
    engines = assay_cli("doctor", "--json", "--probe").json["engines"]["engines"]
    assert engines["broken"] == {"status": "failed", "error": "OSError: down"}
    assert engines["saved"] == {"status": "failed", "error": f"{tmp_path}/none.json is missing"}
    with open_service() as service:
        client = local_client(service)
        found = client.get("/api/system/diagnostics").json()
        assert (found["status"], found["engines"]["status"]) == ("ok", "ok")
        found = client.get("/api/system/diagnostics?probe=1").json()
        assert (found["status"], found["engines"]["engines"]) == ("degraded", engines)


def test_plugins_of_others_are_listed_and_tried(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = assay_cli("plugins", "--json")
    assert found.code == 0
    assert {(one["kind"], one["name"]) for one in found.json} >= {
        ("importer", "akn"),
        ("gold format", "trec"),
        ("engine", "bm25"),
        ("measure", "nDCG"),
    }
    there = tmp_path / "site" / "court_tools-2.0.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text("Metadata-Version: 2.1\nName: court-tools\nVersion: 2.0\n")
    (there / "entry_points.txt").write_text(
        "[assay.importers]\ncourt = court_importer\nbroken = no_such_thing\n"
    )
    (there.parent / "court_importer.py").write_text("OPTIONS = ()\n")
    monkeypatch.syspath_prepend(there.parent)
    done = assay_cli("plugins", "--json")
    theirs = {one["name"]: one for one in done.json if one["origin"] == "court-tools 2.0"}
    assert (done.code, theirs["court"]["status"]) == (4, "ok")
    assert theirs["broken"]["status"].startswith("failed: ModuleNotFoundError")
