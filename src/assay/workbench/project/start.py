"""`assay start`: the way from own documents to a decision between two engines, step by step.

Every step is an ordinary command. Which steps are done is read from the files that they leave, so
the way can be left and resumed at any time, and a step that somebody has done by hand is done. A
step whose input has changed since is to be done again. The answers to the questions are kept in the
workspace, in `start.json`.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from assay import formats
from assay.core import extras
from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, InputError
from assay.core.files import read_toml, write_atomic
from assay.core.workspace import IN_START, workspace
from assay.corpus.build import NEEDS_EXTRA
from assay.corpus.lookup import corpus_named, is_corpus
from assay.engines.indexed import is_current
from assay.engines.running import BASELINES
from assay.evaluation.receipts import gold_fingerprint
from assay.formats.ballots import read_ballots
from assay.formats.results_json import read_results
from assay.gold.log import open_log
from assay.judging.pool import pool_path, read_pool
from assay.reports.words import page_words
from assay.workbench.judging.set_edits import read_queries
from assay.workbench.judging.vote_totals import rulings_needed, uncounted
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.service import Service
from assay.workbench.scoring.engines import propose_table
from assay.workbench.scoring.history import record
from assay.workbench.searching.corpora import corpus_rows

SET = Path("set.json")
QUERIES = Path("queries.txt")
OPEN = Path("open.csv")
NEXT = Path("pairs.csv")
REPORT = "report.html"
_UNSAFE = re.compile(r"[^\w.-]+")
LOGS = "logs"  # the queries are taken from the search log
PAIRS = 60  # that a judge is asked for, by default: an hour, at a minute each (taste)


class StartAnswers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answers given so far."""

    documents: str = ""
    corpus: str = ""
    queries: str = str(QUERIES)  # or LOGS
    engines: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    pairs: int = PAIRS
    pooled: int = 0  # the pairs that were asked for when the pool was made here


class StartStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: the commands that do it, and what a person does where no command can. `asks` names
    the answer that is missing. Its words are in `reports/words/pages/start.*.toml`, by `key`,
    `by_hand` and `note`, after which come the names of who is `awaited`. One that `is_stale` was
    done, and its input has changed since."""

    key: str
    title: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    by_hand: str = ""
    awaited: tuple[str, ...] = ()
    note: str = ""
    asks: str = ""
    is_done: bool = False
    is_stale: bool = False

    @property
    def lines(self) -> list[str]:
        """The commands as they are typed."""
        return [shlex.join(("assay", *command)) for command in self.commands]


def known_answers() -> StartAnswers:
    path = workspace() / "start.json"
    return (
        msgspec.json.decode(path.read_bytes(), type=thread_safe(StartAnswers))
        if path.exists()
        else (StartAnswers())
    )


def keep_answers(answers: StartAnswers) -> None:
    folder = workspace()
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "start.json", msgspec.json.encode(answers))


def corpus_name(documents: str) -> str:
    """The name of the corpus of a folder: the one that it was imported under, else its own."""
    place = str(Path(documents).resolve())
    known = (row.name for row in corpus_rows() if (row.kind, row.source) == ("documents", place))
    return (
        next(known, "")
        or re.sub(r"[^\w-]+", "-", Path(documents).resolve().stem).strip("-").lower()
        or "documents"
    )


def steps(answers: StartAnswers) -> list[StartStep]:
    """The whole way, each step with whether it is done."""
    fingerprint = _fingerprint(answers)
    found = [
        _document_step(answers),
        *_question_steps(answers, fingerprint),
        *_judging_steps(answers, fingerprint),
        *_deciding_steps(answers, fingerprint),
    ]
    words = page_words("en", "start")
    return [replace(step, title=words[f"step {step.key}"]) for step in found]


def next_step(answers: StartAnswers) -> tuple[int, StartStep] | None:
    """The number of the first step that is not done, and the step; None at the end."""
    waiting = ((n, step) for n, step in enumerate(steps(answers), start=1) if not step.is_done)
    return next(waiting, None)


def has_other_sets(answers: StartAnswers, sets: Mapping[str, Path]) -> bool:
    """Whether the project has gold sets that these steps did not make, and none that they did."""
    return not answers.corpus and not SET.exists() and any(map(Path.exists, sets.values()))


def _fingerprint(answers: StartAnswers) -> str:
    """That of the corpus as it is now; empty before there is one."""
    is_here = bool(answers.corpus) and is_corpus(answers.corpus)
    return corpus_named(answers.corpus, None).fingerprint if is_here else ""


def _document_step(answers: StartAnswers) -> StartStep:
    """Import the documents, and again once a package is installed that some of them need."""
    name = answers.corpus
    is_here = bool(name) and is_corpus(name)
    lacks_some = is_here and NEEDS_EXTRA in corpus_named(name, None).manifest.problems
    is_stale = lacks_some and extras.is_installed("documents")
    return StartStep(
        key="documents",
        commands=(("corpus", "import", answers.documents, "--name", name),) if name else (),
        asks="" if name else "documents",
        is_done=is_here and not is_stale,
        is_stale=is_stale,
    )


def _question_steps(answers: StartAnswers, fingerprint: str) -> list[StartStep]:
    has_set, has_list, name = SET.exists(), QUERIES.exists(), answers.corpus
    tries, tried = _can_try(answers), _marker()
    is_tried = tried.exists() and tried.read_text() == _tried_marker(tries, fingerprint)
    found = [
        StartStep(
            key="queries",
            asks="queries",
            is_done=has_list or has_set or answers.queries == LOGS,
        ),
        StartStep(
            key="set",
            commands=(("gold", "init", str(SET), "--queries", answers.queries),),
            is_done=has_set,
        ),
        StartStep(
            key="engines",
            note="one_engine" if len(answers.engines) == 1 else "",
            asks="engines",
            is_done=len(answers.engines) > 0,
        ),
        StartStep(
            key="try",
            commands=tuple(("engines", "test", engine, _first_query()) for engine in tries),
            is_done=bool(tries) and is_tried,
            is_stale=tried.exists() and not is_tried,
        ),
    ]
    if answers.engines and not tries:
        found.pop()  # our own engines need no trying
    if name in answers.engines:
        is_here = bool(fingerprint) and is_current(corpus_named(name, None), None)
        found.append(StartStep(key="index", commands=(("index", name),), is_done=is_here))
    return found


def _marker() -> Path:
    return workspace() / "start-tried"


def _tried_marker(engines: Sequence[str], fingerprint: str) -> str:
    """What the marker says of the engines that answered, and of the documents they were asked."""
    return "\n".join((fingerprint, *engines))


def _can_try(answers: StartAnswers) -> list[str]:
    """The engines that are not ours, each to be asked one query."""
    path = Path(CONFIG_NAME)
    described = read_config(path).engines if path.exists() else {}
    known = (name for name in answers.engines if name in described)
    return [name for name in known if name not in (*BASELINES, answers.corpus)]


def _first_query() -> str:
    try:
        if not SET.exists():
            return read_queries(QUERIES)[0][1].text
        return next(iter(formats.read_gold(SET).queries)).text
    except (AssayError, IndexError, StopIteration):
        return "test"


def _judging_steps(answers: StartAnswers, fingerprint: str) -> list[StartStep]:
    has_votes = SET.exists() and bool(open_log(SET).votes())
    packets = [(judge, Path(f"{judge}.html")) for judge in answers.judges]
    pool, pooled = read_pool(SET), pool_path(SET)
    is_pooled = (
        pool is not None
        and pool.corpus_fingerprint == fingerprint
        and set(answers.engines) <= set(pool.systems)
        and answers.pooled in (0, answers.pairs)
    )
    has_packets = bool(packets) and all(_is_since(path, pooled) for _, path in packets)
    on_pages = has_votes and not any(path.exists() for _, path in packets)
    are_all_judged = has_votes and not _judges_at_work()
    judges = ",".join(answers.judges)
    engines = (word for engine in answers.engines for word in ("--engine", engine))
    pooling = ("gold", "pool", str(SET), *engines, "--corpus", answers.corpus)
    pooling += ("--pairs", str(answers.pairs), "--judges", judges or "ann,ben", "--overlap", "1")
    return [
        StartStep(key="judges", asks="judges", is_done=bool(answers.judges)),
        StartStep(
            key="pool",
            commands=(pooling,) if answers.corpus and answers.engines else (),
            is_done=is_pooled,
            is_stale=pool is not None and not is_pooled,
        ),
        StartStep(
            key="packets",
            commands=tuple(
                ("gold", "packet", str(SET), "--judge", judge, "-o", str(path))
                for judge, path in packets
            ),
            is_done=is_pooled and (has_packets or on_pages or are_all_judged),
            is_stale=any(path.exists() for _, path in packets) and not (is_pooled and has_packets),
        ),
        _vote_step(answers, is_pooled=is_pooled, has_votes=has_votes),
        _ruling_step(has_votes=has_votes),
    ]


def _vote_step(answers: StartAnswers, *, is_pooled: bool, has_votes: bool) -> StartStep:
    """Merge the files that judges sent back, and count what they gave on the pages. A judge has
    finished who sent a file, or graded every pair on the pages."""
    packets = [path for judge in answers.judges if (path := Path(f"{judge}.html")).exists()]
    files = [
        path
        for path in sorted(Path().glob("*votes.jsonl"))
        if all(_is_since(path, packet) for packet in packets)
    ]
    votes = open_log(SET).votes() if has_votes else []
    known = {(vote.query_id, vote.doc_id, vote.judge, vote.grade) for vote in votes}
    sent = [(path, _votes_in(path)) for path in files]
    new = [str(path) for path, given in sent if not given or not given <= known]
    finished = {judge for _, given in sent for _, _, judge, _ in given}
    at_work = _judges_at_work() if has_votes else set(answers.judges)
    awaited = tuple(judge for judge in answers.judges if judge in at_work and judge not in finished)
    is_open = bool(new) or (has_votes and uncounted(SET) > 0)
    merging = (("gold", "merge", str(SET), *new), ("gold", "agreement", str(SET)))
    return StartStep(
        key="votes",
        commands=merging if is_open else (),
        by_hand="votes" if awaited else "",
        awaited=awaited,
        is_done=is_pooled and has_votes and not awaited and not is_open,
    )


def _votes_in(file: Path) -> set[tuple[str, str, str, int | None]]:
    """The query, document, judge and grade of each vote in a file; none where it cannot be read,
    which its merge explains."""
    try:
        rows = read_ballots(file).rows
    except AssayError:
        return set()
    return {(row.query_id, row.doc_id, row.judge, row.grade) for row in rows}


def _is_since(path: Path, than: Path) -> bool:
    """Whether a file was made, and after another."""
    return path.exists() and than.exists() and path.stat().st_mtime >= than.stat().st_mtime


def _judges_at_work() -> set[str]:
    """The judges who have not graded every pair that was dealt to them."""
    pool, votes = read_pool(SET), open_log(SET).votes()
    voted = {(vote.query_id, vote.doc_id, vote.judge) for vote in votes}
    pairs = pool.pairs if pool else ()
    return {judge for pair in pairs for judge in pair.judges if (*pair.key, judge) not in voted}


def _ruling_step(*, has_votes: bool) -> StartStep:
    """The disagreements go to a file, and come back from it with a ruling each."""
    is_written = OPEN.exists()
    leave, back = ("-o", str(OPEN), "--blind"), ("--from", str(OPEN), "--by", "chair")
    return StartStep(
        key="rulings",
        commands=(("gold", "adjudicate", str(SET), *(back if is_written else leave)),),
        by_hand="rulings" if is_written and not _is_filled_in(OPEN) else "",
        is_done=has_votes and rulings_needed(SET) == 0,
    )


def _is_filled_in(file: Path) -> bool:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return all(row.get("grade") for row in csv.DictReader(lines))


def _results(engine: str) -> str:
    return f"results-{_UNSAFE.sub('-', engine)}.json"


def _deciding_steps(answers: StartAnswers, fingerprint: str) -> list[StartStep]:
    results = [_results(engine) for engine in answers.engines]
    paths = [Path(path) for path in results]
    scoring = tuple(
        ("score", "--dataset", str(SET), "--engine", engine, "--corpus", answers.corpus, "-o", path)
        for engine, path in zip(answers.engines, results, strict=True)
    )
    alone = ("--threshold", "0.5") if len(results) == 1 else ()  # without another to compare with
    asked = ("gold", "next", *results, *alone, "-o", str(NEXT))
    is_scored = bool(results) and all(_is_of_now(path, fingerprint) for path in paths)
    is_asked = is_scored and all(_is_since(NEXT, path) for path in paths)
    return [
        StartStep(
            key="compare",
            note="one_engine" if len(results) == 1 else "",
            commands=(*scoring, *_comparison_commands(results)),
            is_done=is_scored,
            is_stale=any(path.exists() for path in paths) and not is_scored,
        ),
        StartStep(
            key="next",
            commands=(asked,) if results else (),
            is_done=is_asked,
            is_stale=NEXT.exists() and not is_asked,
        ),
    ]


def _is_of_now(results: Path, fingerprint: str) -> bool:
    """Whether results were scored on the set and the documents as they are now."""
    if not results.exists() or not SET.exists():
        return False
    receipt = read_results(results).receipt
    searched = (receipt.corpus_fingerprint or "").removeprefix("corpus:")
    return searched in ("", fingerprint) and receipt.gold.fingerprint == gold_fingerprint(
        formats.read_gold(SET)
    )


def _comparison_commands(results: list[str]) -> tuple[tuple[str, ...], ...]:
    """Print the comparison, and write it as a page to send."""
    if len(results) < 2:
        return ()
    return ("compare", *results), ("report", results[1], "--against", results[0], "-o", REPORT)


def configure(engine: str, corpus: str) -> str:
    """The name of an engine to compare, which gets a table in assay.toml."""
    from assay.workbench.project.init import Answers, engine_table

    path = Path(CONFIG_NAME)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    tables = msgspec.convert(
        read_toml(path).get("engines", {}) if before else {}, dict[str, dict[str, object]]
    )
    if engine in tables:
        return engine
    searched = f"corpus = {_quoted(corpus)}"
    if engine == corpus or engine in BASELINES:  # the corpus may not be imported yet
        name, keys = engine, f"engine = {_quoted(engine)}"
        keys += "" if engine == corpus else f"\n{searched}"
    elif engine.startswith(("http://", "https://")):
        proposed = propose_table(engine, query := _first_query())
        if not proposed.mapping.id:
            raise InputError(
                f"no hits were found in its answer to {query!r}",
                where=engine,
                hint="Write a query that it answers into queries.txt, as the first line.",
            )
        name, keys = proposed.name, proposed.table
    else:
        name, keys = engine_table(Answers(engine=engine, corpus=corpus))
        name = Path(engine).stem if engine.endswith(".py") else name
    if corpus and keys.startswith(("http", "preset", "search_module")):
        keys += f"\n{searched}"
    wanted = tomllib.loads(keys)
    for known, table in tables.items():
        if wanted.items() <= table.items():
            return known
    taken = 2
    while name in tables:
        name, taken = f"{name.rstrip('0123456789')}{taken}", taken + 1
    gold = "" if "[gold." in before else f'[gold.set]\npath = "{SET}"\n\n'
    write_atomic(path, f"{before}{gold}{_header(name)}\n{keys}\n\n")
    return name


def _header(name: str) -> str:
    bare = re.fullmatch(r"[\w-]+", name, re.ASCII)
    return f"[engines.{name if bare else _quoted(name)}]"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def run_commands(step: StartStep, output: int | None = None) -> bool:
    """Run the commands of a step, here or with their output in a file; whether none failed."""
    for command in step.commands:
        done = subprocess.run(
            [sys.executable, "-m", "assay", *command],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | {IN_START: "1"},
        )
        if done.returncode not in (0, 1, 3):  # a check that fails or is open is an answer
            return False
    if step.key == "try":
        answers = known_answers()
        write_atomic(_marker(), _tried_marker(_can_try(answers), _fingerprint(answers)))
    elif step.key == "pool":
        answers = known_answers()
        keep_answers(replace(answers, pooled=answers.pairs))
    return True


def save_queries(lines: Sequence[str]) -> int:
    """Keep pasted queries, if there are any; how many there are."""
    kept = [line.strip() for line in lines if line.strip()]
    if kept:
        write_atomic(QUERIES, "".join(f"{line}\n" for line in kept))
    return len(kept)


def answered(answers: StartAnswers, question: str, text: str) -> StartAnswers:
    """The answers with one more: what a person wrote."""
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if question == "documents":
        path = Path(text.strip()).expanduser()
        if not text.strip() or not path.exists():
            raise InputError(f"there is no file or folder {text.strip()!r}")
        return replace(answers, documents=str(path), corpus=corpus_name(str(path)))
    if question == "queries":
        if text.strip() == LOGS:
            return replace(answers, queries=LOGS)
        if not save_queries(text.splitlines()):
            raise InputError("no queries", hint="Write one on each line.")
        return answers
    if not parts:
        raise InputError("nothing was named", hint="Write the names with commas between.")
    if question == "judges":
        return replace(answers, judges=parts)
    return replace(answers, engines=tuple(configure(part, answers.corpus) for part in parts))


def record_results(service: Service) -> None:
    """Keep the results of the way in the store, which may be younger than they are."""
    for engine in known_answers().engines:
        path = Path(_results(engine))
        if path.exists() and SET.exists():
            record(service, read_results(path), SET, engine=engine)


def usual_answer(step: StartStep, answers: StartAnswers) -> str:
    """The answer that a step proposes."""
    own = answers.corpus if extras.is_installed("search") else "bm25-forms"
    engines = f"bm25,{own}"
    return {"engines": engines, "judges": "ann,ben"}.get(step.asks, "")
