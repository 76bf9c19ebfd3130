"""Files that are written whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.core import files


def test_a_new_name_is_on_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def noted(handle: int) -> None:
        synced.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    files.write_atomic(tmp_path / "a", "a")
    assert synced == ["file", "folder"]
