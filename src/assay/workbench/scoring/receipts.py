"""The part of a receipt that makes results reproducible: input files, versions, commit, time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from assay import formats
from assay.core.files import sha256_of
from assay.core.fingerprints import git_state, versions
from assay.core.results import GitState, GoldenResults, GradedResults, InputFile
from assay.engines.engine_table import EngineConfig

R = TypeVar("R", GradedResults, GoldenResults)


class Signature(NamedTuple):
    """The input files with their hashes, the engines by corpus, versions and commit of a run."""

    inputs: dict[str, InputFile]
    served_by: dict[str, str]
    versions: dict[str, str]
    git: GitState | None


def signature(dataset: Path, run: Path | None, engine: EngineConfig) -> Signature:
    """The signature of a gold set scored with a saved run or an engine."""
    served_by = {corpus: part.name for corpus, part in engine.routes.items()}
    return Signature(inputs_of(dataset, run, engine), served_by, versions(), git_state())


def sign_results(results: R, by: Signature) -> R:
    """The results with the files, versions and commit they were made from, and the time."""
    judged = results.receipt.gold.fingerprint  # of a set that is no file
    inputs = {
        name: each if each.sha256 else InputFile(path=each.path, sha256=judged)
        for name, each in by.inputs.items()
    }
    searched = inputs["corpus"].sha256 if "corpus" in inputs else None
    receipt = msgspec.structs.replace(
        results.receipt,
        inputs=inputs,
        served_by=by.served_by,
        versions=by.versions,
        git=by.git,
        corpus_fingerprint=searched or results.receipt.corpus_fingerprint,
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.structs.replace(results, timestamp=now, receipt=receipt)


def inputs_of(dataset: Path | None, run: Path | None, engine: EngineConfig) -> dict[str, InputFile]:
    """Every input with its hash; a corpus of the workspace with its fingerprint, and nothing yet
    for a set that is no file."""
    paths = {"dataset": dataset, "run": run, "corpus": _searched(run, engine)}
    inputs = {}
    for name, path in paths.items():
        if path is None:
            continue
        digest = _fingerprint(path) if name == "corpus" else ""
        if not digest and not formats.is_irds(path):
            digest = sha256_of(path)
        inputs[name] = InputFile(path=str(path), sha256=digest)
    return inputs


def _searched(run: Path | None, engine: EngineConfig) -> Path | None:
    if run is not None and engine.corpus is None:
        return None
    from assay.engines.registry import searched

    return searched(engine)


def _fingerprint(corpus: Path) -> str:
    """Of a corpus of the workspace; empty for a file or folder."""
    from assay.corpus.lookup import corpus_named, is_corpus

    return f"corpus:{corpus_named(str(corpus)).fingerprint}" if is_corpus(str(corpus)) else ""
