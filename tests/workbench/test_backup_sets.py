"""Which gold set a restored store works on: the one that came back, in git or not."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from assay.review import identity
from assay.store import open_store
from assay.store.records import Decision, SearchLog, Shown
from assay.workbench import backup as verbs
from assay.workbench.gold import bootstrap_gold, promote_rows
from assay.workbench.opening import open_service

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
GOLD = Path("eval/gold-set.jsonl")


def in_git(folder: Path) -> None:
    identity._repository.cache_clear()
    for command in ("init -q", "remote add origin https://example.org/law.git"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a git repository, with a row that waits."""
    folder = tmp_path / "law" / "project"
    (folder / "eval").mkdir(parents=True)
    in_git(tmp_path / "law")
    return with_a_row(folder, monkeypatch)


def with_a_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    for name in ("ASSAY_HOME", "ASSAY_STORE"):
        monkeypatch.delenv(name, raising=False)
    with open_service() as service:
        shown = (Shown("a", 1), Shown("b", 2))
        service.store.add_searches([SearchLog(id="l1", at=NOW, query="levy", results=shown)])
        decided = Decision(id="D", at=NOW + timedelta(days=1), cites=("a",))
        service.store.add_decisions([decided])
        bootstrap_gold(service, GOLD)
    return folder


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("to", ["law/project/restored", "law/restored", "elsewhere"])
def test_a_restored_store_works_on_what_came_back(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, says: bool
) -> None:
    live = (project / GOLD).read_bytes()
    with monkeypatch.context() as patch:
        if not says:  # a backup by an older version
            patch.setattr(verbs, "named_parts", lambda *_: {})
        verbs.make_backup(tmp_path / "b.zip")
    verbs.restore_backup(tmp_path / "b.zip", tmp_path / to)
    monkeypatch.chdir(tmp_path / to)
    with open_service() as service:
        assert {name: path.resolve() for name, path in service.gold_sets.items()} == {
            "gold-set": tmp_path / to / GOLD
        }
        assert promote_rows(service, service.gold_sets["gold-set"], ["g001"], by="dana")
        (item,) = service.store.review_items(limit=10)
        assert (item.gold, item.state) == ("gold-set", "approved")
    assert (project / GOLD).read_bytes() == live


def test_a_set_of_another_project_stays_that_projects(project: Path, tmp_path: Path) -> None:
    store = open_store(".assay/assay.db")
    store.gold_name("https://example.org/other.git#x.jsonl", ["x"], gone=lambda _: False)
    store.close()
    verbs.make_backup(tmp_path / "b.zip")
    done = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "there")
    store = open_store(done.store)
    assert store.gold_identities() == {
        "./eval/gold-set.jsonl": "gold-set",
        "https://example.org/other.git#x.jsonl": "x",
    }
    store.close()


def test_a_backup_cannot_say_that_a_set_is_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = {"https://example.org/law.git#project/eval/gold-set.jsonl": "project/../../x.jsonl"}
    monkeypatch.setattr(verbs, "named_parts", lambda *_: live)
    verbs.make_backup(tmp_path / "b.zip")
    done = verbs.restore_backup(tmp_path / "b.zip", tmp_path / "law/restored")
    monkeypatch.chdir(done.folder)
    with open_service() as service:
        assert {path.resolve() for path in service.gold_sets.values()} == {
            tmp_path / "law/restored" / GOLD
        }


def test_a_restore_that_is_killed_leaves_no_store_that_works_on_the_first(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store has its name when it is one of its own, not before."""
    verbs.make_backup(tmp_path / "b.zip")
    there = tmp_path / "law/restored"
    found: list[bool] = []

    def looked(*_: object) -> None:
        found.append((there / ".assay/assay.db").exists())

    monkeypatch.setattr(verbs, "bring_home", looked)
    verbs.restore_backup(tmp_path / "b.zip", there)
    assert found == [False]
    assert [path.name for path in (there / ".assay").iterdir()] == ["assay.db"]


def test_a_project_that_gets_an_origin_keeps_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "law" / "eval").mkdir(parents=True)
    folder = with_a_row(tmp_path / "law", monkeypatch)
    in_git(folder)
    with open_service() as service:
        assert list(service.gold_sets) == ["gold-set"]
        assert promote_rows(service, GOLD, ["g001"], by="dana")
        (item,) = service.store.review_items(limit=10)
        assert (item.gold, item.state) == ("gold-set", "approved")
        assert list(service.store.gold_identities().values()) == ["gold-set"]


def test_what_a_backup_says_of_its_sets(project: Path, tmp_path: Path) -> None:
    made = verbs.make_backup(tmp_path / "b.zip")
    assert msgspec.json.decode(msgspec.json.encode(made.sets)) == {
        "https://example.org/law.git#project/eval/gold-set.jsonl": "project/eval/gold-set.jsonl"
    }
