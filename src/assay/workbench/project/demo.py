"""`assay demo`: scoring several engines on the bundled sample of advisory opinions, and making the
sample project: a folder with three corpora, three gold sets, the votes of two made-up judges on one
of them, and runs on four days. Everything in it is made from the bundled samples by the functions
behind the commands; the days and the people are made up."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from assay import __version__, formats
from assay.core import extras
from assay.core.decoding import thread_safe
from assay.core.errors import UsageError
from assay.core.files import iter_json_lines, read_json, write_atomic
from assay.core.results import AnswerResults
from assay.core.results_file import encode
from assay.core.workspace import HOME, STORE
from assay.engines.engine_table import EngineConfig
from assay.formats.gold_jsonl import lock_gold_set
from assay.gold.rows import has_rows
from assay.workbench.judging.pool import PoolRequest, pool_gold
from assay.workbench.judging.rulings import rule
from assay.workbench.judging.set_edits import FlagForm, flag_query, init_gold
from assay.workbench.judging.votes_to_labels import MergeOverrides, merge_files
from assay.workbench.project.config import CONFIG_NAME
from assay.workbench.project.init import samples
from assay.workbench.project.logs import import_searches, record_decisions
from assay.workbench.project.service import Service, open_service
from assay.workbench.review.suggestions import suggest
from assay.workbench.scoring.history import evaluate
from assay.workbench.scoring.report import report_file
from assay.workbench.scoring.request import Progress, ScoredRun, ScoreRequest, show_no_progress
from assay.workbench.scoring.score import score
from assay.workbench.searching import corpora
from assay.workbench.searching.open_corpora import open_with_engine

DEMO_CORPUS = "demo-opinions"
ELSEWHERE = "Give another folder, or remove this one."


def copy_samples(folder: Path) -> Path:
    """The samples, to look into and to work on: gold sets, documents and an engine, by language."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("this path is already in use", where=str(folder), hint=ELSEWHERE)
    shutil.copytree(
        samples(), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    return folder


def demo(output: Path, progress: Progress = show_no_progress) -> dict[str, ScoredRun]:
    """Engines on the English sample: a floor, one a user would write, plain BM25, and ours, or BM25
    on forms of words where the extra `search` is not installed. The results of the last, with the
    comparison against the one before it, are left as JSON and as a page."""
    english = samples() / "en"
    dataset, corpus = english / "dataset.json", english / "corpus.jsonl"
    requests = {
        "random": ScoreRequest(dataset=dataset, engine="random", corpus=corpus),
        "my_engine.py": ScoreRequest(dataset=dataset, search_module=str(english / "my_engine.py")),
        "bm25": ScoreRequest(dataset=dataset, engine="bm25", corpus=corpus),
    }
    if extras.is_installed("search"):
        corpora.import_corpus("fppc", english / "opinions", name=DEMO_CORPUS)
        corpora.index_corpus(DEMO_CORPUS)
        ours = EngineConfig(name="assay", engine=DEMO_CORPUS)
        requests["assay"] = ScoreRequest(dataset=dataset, engine=DEMO_CORPUS, configured=ours)
    else:
        requests["bm25-forms"] = ScoreRequest(dataset=dataset, engine="bm25-forms", corpus=corpus)
    *_, before, last = requests
    compared = output.with_name(f"{output.stem}-{Path(before).stem}.json")
    for name, request in requests.items():  # one file each: what docs name is there
        each = output.with_name(f"{output.stem}-{Path(name).stem}.json")
        requests[name] = msgspec.structs.replace(request, output=each)
    requests[last] = msgspec.structs.replace(requests[last], output=output)
    scored = {name: score(request, progress=progress) for name, request in requests.items()}
    report_file(output, output.with_suffix(".html"), against=compared)
    return scored


# ── the sample project ────────────────────────────────────────────────────────────────────────────


FOLDER = Path("assay-demo")
MARK = "demo.json"  # the folder is ours, and how far it is
SET = Path("opinions.json")
ENGLISH, FINNISH, HEBREW = "opinions", "saaristokuntalaki", "precedent_library"
PART = "internal_decisions"  # what some rows of the Hebrew set are to be searched in
SEARCHED, QUEUED, RAN_TWICE = 14, 9, (13, 1)  # days ago; chosen
ON_ENGLISH = ("words", "bm25", "assay")
ON_OTHERS = (("saaristokunta", "assay-fi"), ("precedents", "bm25-he"), ("precedents", "assay-he"))
LOGGED_RESULTS = 10  # results of a logged search; a page of results, chosen
COPIED = (
    ("demo/assay.toml", CONFIG_NAME),
    ("en/my_engine.py", "my_engine.py"),
    ("en/corpus.jsonl", "corpus.jsonl"),
    ("fi/questions_golden.json", "saaristokunta.json"),
    ("he/gold-set.jsonl", "precedents.jsonl"),
)

Say = Callable[[str], None]


class _StoryVote(msgspec.Struct, frozen=True, kw_only=True):
    """A vote in the story of the sample."""

    query_id: str
    doc_id: str
    grade: int
    by: str
    rationale: str


class _FlagStory(msgspec.Struct, frozen=True, kw_only=True):
    query_id: str
    by: str
    reason: str


class _DecisionStory(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    days_ago: int
    cites: list[str]


class _Story(msgspec.Struct, frozen=True, kw_only=True):
    """The events of the sample project, besides its votes."""

    rulings: list[_StoryVote]
    flags: list[_FlagStory]
    suggestions: list[_StoryVote]
    decisions: list[_DecisionStory]


def prepare(
    folder: Path,
    *,
    fresh: bool = False,
    say: Say = lambda text: None,
    now: datetime | None = None,
) -> bool:
    """The sample project in a folder of its own, made where it is not there yet; what people did in
    it stays, unless it is to be `fresh`. Its days are counted back from `now`. Returns whether it
    was made now."""
    home = folder.resolve()
    with lock_gold_set(home, wait=60.0):  # two who start at once make it once
        state = _state(home)
        if state == "ready" and not fresh:
            return False
        if state:
            shutil.rmtree(home)
        home.mkdir(parents=True, exist_ok=True)
        write_atomic(home / MARK, encode({"state": "making", "version": __version__}))
        with inside(home):
            _make(say, now or datetime.now(UTC))
        write_atomic(home / MARK, encode({"state": "ready", "version": __version__}))
    return True


def _state(home: Path) -> str:
    """Empty where there is nothing; a folder of somebody's is never taken."""
    if not home.exists():
        return ""
    mark = home / MARK
    known = read_json(mark) if mark.is_file() else None
    if isinstance(known, dict) and known.get("state") in ("making", "ready"):
        return str(known["state"])
    if home.is_dir() and not any(home.iterdir()):
        return ""
    raise UsageError(
        "the folder already exists and is not the sample project",
        where=str(home),
        hint="Nothing was changed. Give another with --folder.",
    )


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work inside the folder of a project, with its own workspace and store."""
    before = {name: os.environ.pop(name, None) for name in (HOME, STORE)}
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.update({name: value for name, value in before.items() if value is not None})


# ── what happened ─────────────────────────────────────────────────────────────────────────────────


def _make(say: Say, now: datetime) -> None:
    source = samples()
    story = msgspec.convert(read_json(source / "demo" / "story.json"), thread_safe(_Story))
    for path, name in COPIED:
        shutil.copyfile(source / path, name)
    say("importing and indexing opinions, an act and precedents, in three languages")
    for kind, path, name in (
        ("fppc", "en/opinions", ENGLISH),
        ("finlex", "fi/saaristokuntalaki.jsonl", FINNISH),
        ("jsonl", "he/precedents.jsonl", HEBREW),
    ):
        corpora.import_corpus(kind, source / path, name=name)
        corpora.index_corpus(name)
    rows = [row for _, row in iter_json_lines(source / "he" / "precedents.jsonl")]
    with _as_lines([row for row in rows if row["corpus"] == PART]) as file:
        corpora.import_corpus("jsonl", file, name=PART)
    corpora.index_corpus(PART)
    say("pooling what three engines find for 21 queries")
    sample = source / "en" / "dataset.json"
    queries = [(str(sample), query) for query in formats.read_gold(sample).queries]
    init_gold(SET, queries, rubric="fppc-relevance-3", taxonomy=sample)
    pool_gold(PoolRequest(dataset=SET, engines=ON_ENGLISH, corpus=Path(ENGLISH), seed=7))
    say("adding the votes of two invented judges, and runs on four days")
    with open_service() as service:
        _log_searches(_days_before(service, now, SEARCHED), story, now)
        _vote_and_run(service, source / "demo" / "votes.jsonl", story, now)
        _flag_and_suggest(service, story, now)


def _days_before(service: Service, now: datetime, days: int) -> Service:
    return replace(service, clock=lambda: now - timedelta(days=days))


def _vote_and_run(service: Service, votes: Path, story: _Story, now: datetime) -> None:
    """Day by day: what the judges said comes in, and the engines are run on what is judged. On the
    last day the chair has ruled on some of it first."""
    by_day: dict[int, list[dict[str, object]]] = {}
    for _, row in iter_json_lines(votes):
        by_day.setdefault(row.pop("days_ago"), []).append(row)
    for days, rows in by_day.items():
        at = (now - timedelta(days=days, hours=1)).isoformat()
        with _as_lines([{**row, "at": at} for row in rows]) as file:
            merge_files(SET, [file], corpus=Path(ENGLISH), allow=MergeOverrides(unasked=True))
        if days == min(by_day):
            for ruling in story.rulings:
                grade, why = ruling.grade, ruling.rationale
                rule(SET, ruling.query_id, ruling.doc_id, grade, rationale=why, by=ruling.by)
        others = ON_OTHERS if days in RAN_TWICE else ()
        runs = [*others, *(("opinions", engine) for engine in ON_ENGLISH)]
        for place, (gold, engine) in enumerate(runs):
            evaluate(_days_before(service, now + timedelta(minutes=5 * place), days), gold, engine)


@contextlib.contextmanager
def _as_lines(rows: Sequence[Mapping[str, object]]) -> Iterator[Path]:
    """A file that a verb reads."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "rows.jsonl"
        write_atomic(file, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        yield file


def _log_searches(service: Service, story: _Story, now: datetime) -> None:
    """People searched the precedents, and wrote decisions that cite some."""
    engine = open_with_engine(HEBREW).engine
    rows = [
        {
            "query": query.text,
            "at": service.clock().isoformat(),
            "corpus": HEBREW,
            "practice_area": query.topic,
            "results": [hit.doc_id for hit in engine.search(query.text, LOGGED_RESULTS)],
        }
        for query in formats.read_gold(Path("precedents.jsonl")).queries
    ]
    with _as_lines(rows) as file:
        import_searches(service, file)
    decided = [
        {
            "id": decision.id,
            "at": (now - timedelta(days=decision.days_ago)).isoformat(),
            "cites": decision.cites,
        }
        for decision in story.decisions
    ]
    record_decisions(service, [(str(row["id"]), row) for row in decided])


def _flag_and_suggest(service: Service, story: _Story, now: datetime) -> None:
    """A flag, rows that wait for the chair, and what an agent suggests."""
    for flag in story.flags:
        given = FlagForm(set="opinions", query_id=flag.query_id, reason=flag.reason)
        flag_query(_days_before(service, now, 1), given, flag.by)
    for path in (path for path in service.gold_sets.values() if has_rows(path)):
        then = (now - timedelta(days=QUEUED)).timestamp()
        os.utime(path, (then, then))
    for suggestion in story.suggestions:
        suggest(
            _days_before(service, now, 2),
            "precedents",
            (suggestion.query_id, suggestion.doc_id),
            suggestion.grade,
            rationale=suggestion.rationale,
            by=suggestion.by,
        )


def bad_answer() -> AnswerResults:
    """The check of the one sample answer that misquotes and cites a passage that is not there."""
    from assay.answers.readers import read_answers
    from assay.workbench.scoring.answers import check_all

    read = read_answers(samples() / "answers" / "answers.jsonl")
    return check_all(
        [answer for answer in read.answers if answer.id == "en-faults"], name="en-faults"
    )
