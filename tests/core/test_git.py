"""A repository from somebody else runs nothing when Assay asks git about it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.core.fingerprints import git_state
from assay.review.identity import known_sets, name_of
from assay.store import open_store
from assay.workbench.trend import _told


def test_programs_of_a_repository_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mark, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    own = ["-c", "user.name=n", "-c", "user.email=e"]
    for asked in (["init", "-q"], [*own, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *asked], check=True)
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()
    signed = subprocess.check_output(["git", "cat-file", "commit", "HEAD"], text=True).replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n -----END PGP SIGNATURE-----\n\n", 1
    )
    signed = subprocess.check_output(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], input=signed, text=True
    ).strip()
    for key in ("core.fsmonitor", "gpg.program"):
        subprocess.run(["git", "config", key, str(program)], check=True)
    subprocess.run(["git", "config", "log.showSignature", "true"], check=True)
    subprocess.run(["git", "config", "core.hooksPath", str(tmp_path)], check=True)
    for asked in (["status"], ["log", "-1", signed]):  # they would
        subprocess.run(["git", *asked], capture_output=True, check=True)
        assert mark.exists()
        mark.unlink()
    state = git_state()
    assert state is not None
    assert state.commit == commit
    assert _told(signed, tmp_path) == "n\0first"
    store = open_store(str(tmp_path / "s.db"))
    assert name_of(store, tmp_path / "gold.jsonl") == "gold"
    known_sets(store)
    store.close()
    assert not mark.exists()
