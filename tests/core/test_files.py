"""Reading and writing files: a TOML file that cannot be read is named, and a file that is written
is on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.core import files
from assay.core.errors import InputError
from assay.judging import rubrics
from assay.judging.rubrics import read_translation as read_translation
from assay.workbench.project.config import read_config
from assay.workbench.project.status import look_around
from kit import Project

BAD = {
    "brackets": "x = " + "[" * 5000 + "]" * 5000,
    "tables": "x = " + "{a = " * 3000 + "1" + "}" * 3000,
    "digits": "x = " + "9" * 5000,
    "syntax": "x = ",
    "date": "x = 2020-02-31",
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_read_is_named(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    path = tmp_path / "assay.toml"
    path.write_text(BAD[case])
    for read in (read_config, rubrics.read_rubric, read_translation):
        with pytest.raises(InputError, match="TOML") as told:
            read(path)
        assert told.value.where == str(path)
    assert f"{path} cannot be read" in look_around(tmp_path).problem


def test_a_new_name_is_on_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def noted(handle: int) -> None:
        synced.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    files.write_atomic(tmp_path / "a", "a")
    assert synced == ["file", "folder"]


def test_what_a_killed_process_left_is_named_and_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`assay doctor` names temporary files of ours that nothing has changed for an hour, and the
    next start of the server removes them; younger ones and files of others stay."""
    project = Project.make(tmp_path / "project")
    made: list[Path] = []
    replace = os.replace

    def killed(source: str, target: Path) -> None:
        left = f"{source[:-8]}{len(made):08}"  # its writer cleans up under the name it gave
        made.append(Path(source).rename(left))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            files.write_atomic(project.folder / "gold-set.jsonl", "half")
    monkeypatch.setattr(os, "replace", replace)
    folder = project.folder / ".assay" / ".c.assay-01234567"
    folder.mkdir(parents=True)
    (folder / "part").write_text("half")
    others = [project.folder / name for name in (".gold-set.jsonl.original", "a.assay-01234567")]
    for path in others:
        path.write_text("mine")
    old, young = made
    for path in (old, folder, folder / "part", *others):
        os.utime(path, (1_000_000, 1_000_000))
    named = project.json("doctor")["workspace"]["leftovers"]
    assert {Path(path).name for path in named} == {old.name, folder.name}
    with project.serve() as server, TestClient(server.app):
        pass
    assert not old.exists()
    assert not folder.exists()
    assert all(path.exists() for path in (young, *others))
    assert "leftovers" not in project.json("doctor")["workspace"]


def test_a_place_is_found_again_when_a_link_is_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "set.json").write_text(name)
    link, folder = tmp_path / "set.json", tmp_path / "folder"
    for name in ("one", "one", "two"):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / name / "set.json")
        folder.unlink(missing_ok=True)
        folder.symlink_to(tmp_path / name)
        for path in (link, folder / "set.json", folder / "missing.json"):
            assert files.resolved(path) == path.resolve()
        assert files.resolved(folder / "set.json").read_text() == name


def test_a_relative_place_is_found_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "set.json").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        assert files.resolved(Path("set.json")) == tmp_path.resolve() / name / "set.json"


def test_a_file_is_looked_at_once_and_again_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    with files.looking_once():
        assert files.glance_at(path) is None
        path.write_text("new")
        assert files.glance_at(path) is None
        found = files.stamp_of(path)
        assert found is not None
        assert files.glance_at(path) == found
    path.write_text("newer")
    assert files.glance_at(path) == files.stamp_of(path) != found
