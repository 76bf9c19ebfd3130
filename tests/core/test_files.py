"""Reading and writing files: a TOML file that cannot be read is named, and a file that is written
is on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.core import files
from assay.core.errors import InputError
from assay.judging import rubrics
from assay.judging.rubrics import read_translation as read_translation
from assay.workbench.project.config import read_config
from assay.workbench.project.status import look_around

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
