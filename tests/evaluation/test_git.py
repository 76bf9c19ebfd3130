"""A repository from somebody else runs nothing when Assay asks git about it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.evaluation.receipts import git_state
from assay.workbench.deciding.run_boards import _author_and_subject


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
    assert _author_and_subject(signed, tmp_path) == "n\0first"
    assert not mark.exists()


def test_a_partial_clone_and_filters_of_a_repository_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "own"))
    (tmp_path / "own").write_text(
        '[filter "own"]\n clean = "touch own-ran; cat"\n[user]\n name = n\n email = e\n'
    )
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    program = f"touch {tmp_path / 'ran'}; cat"

    def ask(*arguments: str | bytes) -> str:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    ask("init", "-q")
    for name in ("f", "g", "h"):
        Path(name).write_text("same\n")
    ask("add", ".")
    ask("commit", "-q", "-m", "first")
    for key in (b"filter.\xff.clean", b"filter.a=b.clean", b"filter.own.clean"):
        ask("config", key, program)
    ask("config", "filter.a=b.required", "true")
    for name in ("f", "g", "h"):
        Path(name).write_text("Same\n")
    Path(".git/info/attributes").write_bytes(b"f filter=\xff\ng filter=a=b\nh filter=own\n")
    state = git_state()
    assert state is not None
    assert state.dirty
    assert not (tmp_path / "ran").exists()
    assert Path("own-ran").exists()  # a filter of the user's own configuration
    ask("status")
    (tmp_path / "ran").unlink()  # it would

    tree = ask("rev-parse", "HEAD^{tree}")
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(tmp_path),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": program,
    }.items():
        ask("config", key, value)
    Path(".git/objects", tree[:2], tree[2:]).unlink()
    Path(".git/index").unlink()
    git_state()
    assert not (tmp_path / "ran").exists()
    ask("-c", "filter.own.clean=", "status")
    assert (tmp_path / "ran").exists()  # it would
