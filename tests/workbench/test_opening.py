"""What a service is opened with: a store, gold sets by name, a configuration."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from assay.workbench.deciding.run_boards import configured_name
from assay.workbench.judging.gold_sets import bootstrap_gold, gold_list
from assay.workbench.judging.set_edits import FlagForm, flag_query
from assay.workbench.project.health import diagnostics
from assay.workbench.project.logs import import_decisions, import_searches
from assay.workbench.project.service import gold_path, open_service, stored_name
from assay.workbench.review.queue import backlog, queue
from kit import write_json_lines
from kit.server import local_client


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.delenv("ASSAY_HOME", raising=False)
    return tmp_path


def test_a_set_is_listed_once(in_folder: Path) -> None:
    (in_folder / "gold-set.jsonl").write_text(
        '{"id":"g001","query":"q","relevant_case_law_ids":["a"]}\n'
    )
    (in_folder / "assay.toml").write_text(
        '[gold.ours]\npath = "gold-set.jsonl"\n[engines.e]\nengine = "bm25"\n'
    )
    with open_service(gold=[Path("gold-set.jsonl")]) as service:
        assert list(service.gold_sets) == ["ours"]


def test_a_gold_set_under_another_name_than_its_file(in_folder: Path) -> None:
    """The name in assay.toml and the path in the project both lead to a set."""
    (in_folder / "assay.toml").write_text(
        '[gold.precedents]\npath = "gold-set.jsonl"\n[engines.e]\nrun = "x.json"\n'
    )
    with open_service() as service:
        import_searches(
            service,
            write_json_lines(
                in_folder / "log.jsonl", {"at": "2026-05-01", "query": "q", "results": ["a"]}
            ),
        )
        import_decisions(
            service,
            write_json_lines(
                in_folder / "d.jsonl", {"id": "D", "at": "2026-05-03", "cites": ["a"]}
            ),
        )
        bootstrap_gold(service, gold_path(service, "precedents"))
        item = queue(service, gold="precedents").items[0]
        assert gold_path(service, item.gold) == gold_path(service, "precedents")
        assert (
            backlog(service, gold="precedents").pending_review
            == backlog(service, gold="gold-set.jsonl").pending_review
            == 1
        )


def test_opening_needs_nothing(in_folder: Path) -> None:
    with open_service() as service:
        assert diagnostics(service).status == "ok"
        assert gold_list(service) == []
    assert (in_folder / ".assay" / "assay.db").exists()


def test_two_files_of_one_name_both_have_pages(in_folder: Path) -> None:
    """A name is one part of an address: it has no slash."""
    row = {"id": "g1", "query": "היטל", "relevant_case_law_ids": ["d1"], "source": "bootstrap"}
    for folder in ("north", "south"):
        (in_folder / folder).mkdir()
        write_json_lines(in_folder / folder / "gold-set.jsonl", row)
    given = [in_folder / folder / "gold-set.jsonl" for folder in ("north", "south")]
    for gold in (given, ()):  # given, and then found by their logs
        with open_service(gold=gold) as service:
            for name in service.gold_sets:
                flag_query(service, FlagForm(set=name, query_id="g1"), "Ada")
            assert len(service.gold_sets) == 2
            assert [name for name in service.gold_sets if "/" in name] == []
            client = local_client(service)
            for name in service.gold_sets:
                for page in ("judge", "agreement"):
                    assert client.get(f"/{page}/{quote(name)}").status_code == 200


def test_gates_of_a_set_are_not_those_of_another_with_its_file_name(in_folder: Path) -> None:
    row = {"id": "g1", "query": "levy", "relevant_case_law_ids": ["d1"], "source": "bootstrap"}
    for folder in ("a", "b"):
        (in_folder / folder).mkdir()
        write_json_lines(in_folder / folder / "gold.jsonl", row)
    text = '[gold.gold]\npath = "b/gold.jsonl"\n[engines.e]\nengine = "bm25"\n'
    (in_folder / "assay.toml").write_text(text)
    with open_service(gold=[Path("a/gold.jsonl")]) as service:
        assert set(service.gold_sets) == {"gold", "a:gold"}
        kept = {name: stored_name(service, name) for name in service.gold_sets}
        assert kept == {"gold": "gold", "a:gold": "a/gold.jsonl"}
        assert [configured_name(service, kept[name]) for name in kept] == ["gold", ""]
