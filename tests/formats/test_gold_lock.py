"""The lock of a gold set when the disk is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.formats.gold_jsonl import locked


def test_a_full_disk_for_a_moment_leaves_no_lock_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = tmp_path / "gold.jsonl"

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as now:
        now.setattr(os, "write", full)
        with locked(gold, wait=0):
            pass  # the note in the lock file is for people: without it the lock holds as well
    with monkeypatch.context() as now:
        now.setattr(os, "fstat", full)
        with pytest.raises(InputError, match="cannot lock"), locked(gold, wait=0):
            pass
    with locked(gold, wait=0):
        pass
