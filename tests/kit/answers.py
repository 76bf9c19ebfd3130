"""A small project with checked answers, prepared for judges by the commands that people use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from typer.testing import CliRunner

from assay.cli import app
from assay.core.types import Document
from assay.corpus.lookup import documents
from kit.files import write_json_lines

HOSTILE = "</script><img src=x onerror=alert(1)> <b>gift"
NOTICE = "The notice must be sent at least twenty days before the meeting to every member."
FEE = f"The fee is 40 euros. {HOSTILE} It is paid to the clerk within a week of the filing."
ANSWERS: list[dict[str, Any]] = [
    {
        "id": "first",
        "question": f"How long is the notice? {HOSTILE}",
        "answer": "The notice must be sent “at least thirty days before the meeting to every"
        f" member” [1]. The fee is 40 euros [2]. Nobody objects [7]. {HOSTILE} That is all.",
        "retrieved": [{"id": "n-1", "text": NOTICE}, {"id": "f-1", "text": FEE}],
    },
    {
        "id": "second",
        "question": "What is the fee?",
        "answer": "The fee is 40 euros [1].",
        "retrieved": [{"id": "f-1", "text": FEE}],
    },
]
NUGGETS = {
    "qid": "second",
    "query": "What is the fee?",
    "nuggets": [
        {"text": "The fee is 40 euros.", "importance": "vital"},
        {"text": "It is due within a week.", "importance": "vital"},
        {"text": "It is paid to the clerk.", "importance": "okay"},
    ],
}


def run(*arguments: str) -> Any:
    """A command, which succeeds; with --json its answer."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout) if "--json" in arguments else done.output


def answer_set(folder: Path, *options: str, system: str = "secret-model") -> Path:
    """Check and prepare the answers in a folder."""
    write_json_lines(folder / "answers.jsonl", *ANSWERS)
    write_json_lines(folder / "nuggets.jsonl", NUGGETS)
    results, dataset = folder / "results.json", folder / "drafts.json"
    run("answers", "check", str(folder / "answers.jsonl"), "--name", system, "-o", str(results))
    nuggets = ("--nuggets", str(folder / "nuggets.jsonl"))
    run("answers", "pool", str(results), "-o", str(dataset), *nuggets, *options)
    return dataset


def claims(dataset: Path) -> dict[str, list[Document]]:
    """The claims of each answer by the answer's own id."""
    every = documents(dataset.with_name("drafts.documents.jsonl"))
    found: dict[str, list[Document]] = {}
    for document in every:
        record = document.metadata.get("answer")
        if record:
            name = str(msgspec.convert(record, dict)["id"])
            found[name] = []
        else:
            found[name].append(document)
    return found


def query_of(document: Document) -> str:
    return document.id.partition("-")[0]
