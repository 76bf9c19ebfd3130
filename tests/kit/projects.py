"""A project folder to work on: search logs, a gold set made from them, and a graded set."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from kit.commands import Outcome, run_command
from kit.files import write_json_lines
from kit.server import Server, serving
from kit.sets import TAXONOMY, write_packet

GOLD = "gold-set"
GRADED = "dataset"
LOGGED = "2026-05-01T12:00:00Z"
DECIDED = "2026-05-02"
CONFIG = """\
[gold.gold-set]
path = "gold-set.jsonl"
[gold.dataset]
path = "dataset.json"
[engines.words]
engine = "bm25"
corpus = "corpus.jsonl"
"""
QUERIES = ("first", "third", "היטל השבחה")  # rows g001, g002, g003 of the bootstrapped set


class Project:
    """A project folder; `Project.make` makes a new one. `bootstrap` logs searches and makes
    gold-set.jsonl with the rows g001 to g003, each with the documents a and b; the searches showed
    c as well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gold = folder / f"{GOLD}.jsonl"
        self.graded = folder / f"{GRADED}.json"

    @classmethod
    def make(cls, folder: Path) -> Project:
        """A new project: an assay.toml and a small corpus, without logs and gold sets."""
        folder.mkdir(parents=True)
        (folder / "assay.toml").write_text(CONFIG, encoding="utf-8")
        documents = [{"id": id, "text": text} for id, text in TEXTS.items()]
        write_json_lines(folder / "corpus.jsonl", *documents)
        return cls(folder)

    # ── commands and servers ──────────────────────────────────────────────────────────────────────

    def run(self, *args: object) -> Outcome:
        """Run a command in the project folder."""
        with self.inside():
            return run_command(*args)

    def do(self, *args: object) -> Outcome:
        """Run a command that succeeds."""
        outcome = self.run(*args)
        assert outcome.code == 0, (args, outcome.err)
        return outcome

    def fail(self, *args: object, code: int = 2) -> str:
        """Run a command that fails with this exit code, and give what it says."""
        outcome = self.run(*args)
        assert outcome.code == code, (args, outcome)
        return outcome.err

    def json(self, *args: object) -> Any:
        return self.do(*args, "--json").json

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Work in the project folder."""
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)

    def serve(
        self,
        *gold: Path | str,
        accounts: bool = False,
        clock: Callable[[], datetime] | None = None,
    ) -> AbstractContextManager[Server]:
        """A server on the project; the current folder is the project's while it runs."""
        return _served(self, gold, accounts, clock)

    def backlog(self) -> dict[str, Any]:
        """The numbers of `assay backlog`."""
        found: dict[str, Any] = self.json("backlog")
        return found

    def counts(self) -> tuple[int, int, int, int]:
        """How many items are pending, approved, rejected and published."""
        found = self.backlog()
        states = ("pending_review", "approved", "rejected", "published")
        pending, approved, rejected, published = (found[state] for state in states)
        assert found["total"] == pending + approved + rejected + published
        return pending, approved, rejected, published

    # ── a gold set from logs ──────────────────────────────────────────────────────────────────────

    def log(self, query: str, *docs: str, **more: Any) -> None:
        """Import one search that showed these documents."""
        self.searches([{"query": query, "results": list(docs)} | more])

    def searches(self, rows: list[dict[str, Any]]) -> None:
        self._import("import", [{"at": LOGGED, "corpus": "c"} | row for row in rows])

    def cite(self, id: str, *docs: str, at: str = DECIDED, **more: Any) -> None:
        """Import one decision that cites these documents."""
        self._import("decisions", [{"id": id, "at": at, "cites": list(docs)} | more])

    def _import(self, command: str, rows: list[dict[str, Any]]) -> None:
        source = write_json_lines(self.folder / f"{command}.log", *rows)
        self.do("logs", command, source)
        source.unlink()

    def bootstrap(self, *options: object) -> dict[str, Any]:
        """`assay gold bootstrap`, from three logged searches where there are none yet."""
        if not (self.folder / ".assay").exists():
            shutil.copytree(_logged().folder / ".assay", self.folder / ".assay")
        found: dict[str, Any] = self.json("gold", "bootstrap", *options)
        return found

    def rows(self, path: Path | None = None) -> dict[str, dict[str, Any]]:
        """The rows of a gold-set.jsonl by id."""
        text = (path or self.gold).read_text(encoding="utf-8-sig")
        found = [json.loads(line) for line in text.splitlines() if line.lstrip().startswith("{")]
        return {row["id"]: row for row in found}

    def row(self, id: str) -> dict[str, Any]:
        return self.rows()[id]

    def sources(self) -> dict[str, str]:
        return {id: row.get("source", "") for id, row in self.rows().items()}

    def write_rows(self, rows: Mapping[str, str], path: Path | None = None, **more: Any) -> Path:
        """Write a gold-set.jsonl by hand: ids and queries, each with the documents a and b."""
        target = path or self.gold
        target.parent.mkdir(parents=True, exist_ok=True)
        head = {"practice_area": "", "corpus": "c", "relevant_case_law_ids": ["a", "b"]}
        lines = [
            {"id": id, "query": query, **head, "source": "bootstrap", "note": "", **more}
            for id, query in rows.items()
        ]
        return write_json_lines(target, *lines)

    # ── a graded set ──────────────────────────────────────────────────────────────────────────────

    def grade_set(self, *dealt: tuple[str, str], judges: tuple[str, ...] = ("Ada", "Ben")) -> Path:
        """Write dataset.json with the queries q1 to q3, and deal pairs to judges."""
        self.graded.write_text(json.dumps(GRADED_SET, indent=1, ensure_ascii=False) + "\n", "utf-8")
        pairs = [{"query_id": q, "doc_id": d, "judges": list(judges)} for q, d in dealt]
        pool = {"format": 1, "corpus": "corpus.jsonl", "judges": list(judges), "pairs": pairs}
        (self.folder / f"{GRADED}.pool.json").write_text(json.dumps(pool), encoding="utf-8")
        return self.graded

    def labels(self) -> dict[tuple[str, str], int]:
        """The labels of dataset.json."""
        return {
            (query["id"], row["opinion_id"]): row["score"]
            for query in json.loads(self.graded.read_text(encoding="utf-8"))["queries"]
            for row in query.get("relevance_judgments", [])
        }

    def packet(self, judge: str, grades: Mapping[tuple[str, str], Any], **row: Any) -> Path:
        """A packet that a judge filled in; a grade of "?" is unsure, None is left blank."""
        return write_packet(self.folder / f"{judge}.jsonl", judge, grades, set=GRADED, **row)

    def votes(self, path: Path | None = None) -> dict[tuple[str, str], dict[str, Any]]:
        """The votes that hold, by pair and judge, as `assay gold export --with-votes` has them:
        each with grade, why, at and id. Rulings and spot checks are not among them."""
        target = self.folder / "exported.json"
        asked = ("--to", "label-studio", "--with-votes", "--corpus", "corpus.jsonl")
        self.do("gold", "export", path or self.graded, *asked, "--output", target)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for task in json.loads(target.read_text(encoding="utf-8")):
            pair = (task["data"]["query_id"], task["data"]["doc_id"])
            for given in task.get("annotations", []):
                vote = _vote(given)
                found.setdefault(pair, {})[given["completed_by"]["email"]] = vote
        target.unlink()
        target.with_suffix(".xml").unlink()
        return found

    def grades(self, path: Path | None = None) -> dict[tuple[str, str], dict[str, int | None]]:
        """The grades of the votes that hold, by pair and judge."""
        return {
            pair: {judge: vote["grade"] for judge, vote in by_judge.items()}
            for pair, by_judge in self.votes(path).items()
        }

    def waiting(self) -> dict[tuple[str, str], list[tuple[str, int]]]:
        """The pairs of the graded set that need a ruling, with who said what."""
        return {
            (pair["query_id"], pair["doc_id"]): sorted(
                (vote["judge"], vote["grade"]) for vote in pair["votes"]
            )
            for pair in self.json("gold", "adjudicate", self.graded)
        }

    def rulings(self, path: Path | None = None) -> int:
        """How many votes `assay gold agreement` leaves out as rulings. Approving or rejecting a row
        is one for each of its documents."""
        found = self.json("gold", "agreement", path or self.gold)
        return int(found["left_out"]["rulings"])


def _vote(given: dict[str, Any]) -> dict[str, Any]:
    vote: dict[str, Any] = {"grade": None, "why": "", "at": given["created_at"], "id": ""}
    for part in given["result"]:
        if part["from_name"] == "grade":
            chosen = part["value"]["choices"][0].partition(":")[0]
            vote |= {"grade": None if chosen == "unsure" else int(chosen), "id": part["id"]}
        elif part["from_name"] == "rationale":
            vote["why"] = part["value"]["text"][0]
    return vote


@cache
def _logged() -> Project:
    """A project with three searches and a decision in its store, made once for all tests."""
    folder = tempfile.mkdtemp(prefix="logged")
    atexit.register(shutil.rmtree, folder)
    project = Project.make(Path(folder) / "project")
    rows = [{"query": text, "results": ["a", "b", "c"]} for text in QUERIES]
    project.searches([row | {"practice_area": f"area {n}"} for n, row in enumerate(rows)])
    project.cite("D-1", "a", "b")
    return project


@contextmanager
def _served(
    project: Project,
    gold: tuple[Path | str, ...],
    accounts: bool,
    clock: Callable[[], datetime] | None,
) -> Iterator[Server]:
    with project.inside(), serving(*gold, accounts=accounts, clock=clock) as server:
        yield server


TEXTS = {
    "a": "The levy is due on a sale.",
    "b": "A betterment levy.",
    "c": "What is material.",
    "z": "An appeal on the levy.",
    "d1": "The gift limit covers tickets. An official may accept two.",
    "d2": "A loan is no gift.",
    "d3": "Travel paid by a nonprofit for a speech is outside the gift limit.",
    "d4": "מתנה לעובד הציבור אסורה, ואין נפקא מינה מה שוויה.",
    "d5": "Behested payments are reported within thirty days.",
}
GRADED_SET = {
    "version": "1",
    "created_at": "2026-01-01T00:00:00Z",
    "description": "",
    "rubric": "fppc-relevance-2",
    "taxonomy": TAXONOMY,
    "queries": [
        {"id": id, "text": text, "type": "keyword", "topic": "gifts", "issue": "limit"}
        for id, text in {
            "q1": "gift limit tickets",
            "q2": "מתנה לעובד ציבור",
            "q3": "paid travel",
        }.items()
    ],
}
