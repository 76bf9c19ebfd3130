"""The second half of the service layer: the verbs of the running service and of the expert. Logs,
decisions, bootstrap, the gate, the review queue, the backlog, diagnostics, and evaluation for
agents. Values in, values out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from assay import __version__, formats
from assay.core.errors import InputError
from assay.core.files import iter_json_lines
from assay.core.results import GradedResults
from assay.core.results_file import from_json, to_json
from assay.core.types import Document, GoldSet, Hit
from assay.core.workspace import default_store
from assay.corpus.disk import list_corpora, open_corpus
from assay.corpus.resolve import cite
from assay.evaluation.comparison import Comparison, compare
from assay.formats import gold_jsonl
from assay.judging.next import next_to_judge as pairs_to_judge
from assay.review import rulings
from assay.review.backlog import Backlog, Limits, breaches, notify
from assay.review.backlog import backlog as backlog_of
from assay.review.bootstrap import EVERYTHING, Bootstrapped, Options
from assay.review.bootstrap import bootstrap as bootstrap_gold
from assay.review.identity import known_sets, name_of
from assay.review.rulings import Correction, Ruled
from assay.store import NoStore, Store, open_store
from assay.store.records import (
    LOST,
    AuditEntry,
    Purged,
    ReviewItem,
    ReviewState,
    Ruling,
    RunRecord,
    SearchLog,
    Vote,
)
from assay.telemetry.feedback import days_before, infer_relevance_from_citations, signs_for
from assay.telemetry.recorder import Recorder, new_id
from assay.telemetry.redact import Redaction, redacted, redactor
from assay.telemetry.wire import decision_row, feedback_from, logged_search, search_from
from assay.workbench import gold, health
from assay.workbench.config import NAME as CONFIG_NAME
from assay.workbench.config import Config, EngineConfig, read_config
from assay.workbench.score import configured, score

__all__ = [
    "Correction",
    "Desk",
    "Imported",
    "Inferred",
    "Limits",
    "NoStore",
    "Page",
    "open_desk",
    "search_from",
]

SearchCorpus = Callable[[str, str, int], Sequence[Hit]]  # (corpus, query, k) -> hits
MAX_PAGE = 200
TOP_GRADE = 4  # of sets whose format does not say


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a list, and where the next part begins; no next when this was the last."""

    items: list[Any]
    offset: int
    next_offset: int | None


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    read: int
    new: int


class Inferred(msgspec.Struct, frozen=True, kw_only=True):
    """What decisions gave: new feedback, and citations in their texts that name no document of the
    corpus."""

    read: int
    feedback: int
    unresolved: int


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A store, the gold sets and engines that are configured, and what other parts of Assay lend
    it."""

    store: Store
    gold_sets: Mapping[str, Path] = field(default_factory=dict)
    config: Config | None = None
    home: Path | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    recorder: Recorder | None = None
    search_corpus: SearchCorpus | None = None

    # ── logs, decisions, feedback ─────────────────────────────────────────────────────────────────

    def import_searches(
        self, path: Path, *, redactions: Sequence[str | Redaction] = ()
    ) -> Imported:
        """Searches from a file, one JSON object a line: query, at, results, and corpus,
        practice_area, … as known. A file can be imported again: a search without an id gets one
        from its content."""
        rules, batch, read, new = redactor(redactions), list[SearchLog](), 0, 0
        if (
            path.is_file()
        ):  # all of it is read before any of it is kept; what comes through a pipe is read once
            for number, row in iter_json_lines(path):
                logged_search(row, f"{path}:{number}")
        for number, row in iter_json_lines(path):
            batch.append(redacted(logged_search(row, f"{path}:{number}"), rules))
            read += 1
            if len(batch) == 2000:
                new += self.store.add_searches(batch)
                batch = []
        return Imported(read=read, new=new + self.store.add_searches(batch))

    def import_decisions(
        self, path: Path, *, corpus: str = "", same_case: bool = False
    ) -> Inferred:
        """Decisions from a file, one JSON object a line: id, at, and `cites` (ids) or `text`
        (citations are parsed and resolved in `corpus`)."""
        rows = [(f"{path}:{number}", row) for number, row in iter_json_lines(path)]
        return self.record_decisions(rows, corpus=corpus, same_case=same_case)

    def record_decisions(
        self, rows: Sequence[tuple[str, Any]], *, corpus: str = "", same_case: bool = False
    ) -> Inferred:
        """Finalised decisions: every earlier search that showed what they cite gets relevance_score
        3 for it."""
        found = _Citations(corpus, self.home)
        decisions = [decision_row(row, where, found if corpus else None) for where, row in rows]
        feedback = infer_relevance_from_citations(self.store, decisions, same_case=same_case)
        return Inferred(read=len(decisions), feedback=feedback, unresolved=found.unresolved)

    def record_feedback(self, rows: Sequence[tuple[str, Any]]) -> Imported:
        """Clicks and votes: log_id, doc_id, kind (click or vote), and relevant, rank, by, at as
        known."""
        given = [feedback_from(row, where, self.clock()) for where, row in rows]
        return Imported(read=len(given), new=self.store.add_feedback(given))

    def purge(
        self, *, older_than_days: float, keep_cited: bool = False, by: str = "retention"
    ) -> Purged:
        """Forget searches by age, and record that it was done."""
        before = days_before(self.clock(), older_than_days)
        gone = self.store.purge(before, keep_cited=keep_cited)
        entry = AuditEntry(
            id=new_id(),
            at=self.clock(),
            by=by,
            action="logs.purged",
            subject="search_logs",
            reason=f"older than {older_than_days:g} days",
            after=msgspec.to_builtins(gone),
        )
        self.store.append_audit([entry])
        return gone

    # ── gold ──────────────────────────────────────────────────────────────────────────────────────

    def bootstrap(
        self,
        gold: Path,
        *,
        min_support: int = 1,
        recent_days: float | None = None,
        corpora: Sequence[str] = (),
        min_grade: int = 3,
        dry_run: bool = False,
    ) -> Bootstrapped:
        if min_support < 1 or min_grade not in (1, 2, 3):
            raise InputError("the minimum support is 1 or more, the minimum grade 1, 2 or 3")
        since = days_before(self.clock(), recent_days) if recent_days is not None else None
        options = Options(
            min_support=min_support, since=since, corpora=tuple(corpora), min_grade=min_grade
        )
        return bootstrap_gold(self.store, gold, options, dry_run=dry_run, now=self.clock())

    def promote(self, gold: Path, ids: Sequence[str], *, by: str, why: str = "") -> Ruled:
        return rulings.promote(self.store, gold, ids, by=by, why=why, now=self.clock())

    def correct(self, gold: Path, id: str, correction: Correction, *, by: str, why: str) -> Ruled:
        return rulings.correct(self.store, gold, id, correction, by=by, why=why, now=self.clock())

    def reject(self, gold: Path, ids: Sequence[str], *, by: str, why: str) -> Ruled:
        return rulings.reject(self.store, gold, ids, by=by, why=why, now=self.clock())

    def reject_item(self, item: ReviewItem, *, by: str, why: str) -> None:
        """The same for a row in the queue. One that is no longer in a file here is turned down in
        the record alone."""
        try:
            self.reject(self.gold_path(item.gold), [item.ref], by=by, why=why)
        except InputError:
            if item not in self.strays(item.gold):
                raise
            self.store.rule(
                [Ruling(item=item, state="rejected", by=by, at=self.clock(), reason=why)]
            )

    def reopen(self, gold: Path, id: str, *, by: str, why: str = "") -> Ruled:
        return rulings.reopen(self.store, gold, id, by=by, why=why, now=self.clock())

    def withdraw(self, gold: str, *, by: str, why: str = "", gone: bool = False) -> int:
        """What waits for a row that has left the gold set leaves the queue; the audit trail keeps
        it. Of a set whose file cannot be found from here, all that waits, and only when it is said
        to be `gone`."""
        if not gold or not by.strip():
            raise InputError("say which gold set, and who withdraws")
        lost = health.strays_of(self.store, self.gold_sets, self._stored_name(gold), gone=gone)
        return self.store.withdraw(lost, by=by, at=self.clock(), reason=why or LOST)

    def strays(self, gold: str = "") -> list[ReviewItem]:
        """What waits and cannot be approved: its row has left the gold set, or the file is not
        here."""
        return health.strays(self.store, self.gold_sets, gold=gold)

    def publish(self, gold: Path, *, by: str, why: str = "in the committed baseline") -> int:
        """Approved rows become published: call it when a baseline on this gold set is committed."""
        items = self.store.review_items(
            gold=name_of(self.store, gold), state="approved", limit=EVERYTHING
        )
        at = self.clock()
        self.store.rule(
            [Ruling(item=item, state="published", by=by, at=at, reason=why) for item in items]
        )
        return len(items)

    def approval(self, gold: Path) -> gold_jsonl.Approval:
        """How much of a gold set is approved; a set with no approved row is provisional
        (bootstrap-only)."""
        return gold_jsonl.approval(gold_jsonl.rows(gold_jsonl.read_lines(gold)))

    def gold_path(self, name: str) -> Path:
        """By the name it is configured under, or by the name of its file, which is how the store
        knows it."""
        for known, path in self.gold_sets.items():
            if name in (known, name_of(self.store, path, claim=False)):
                return path
        hint = (
            f"Known: {', '.join(self.gold_sets) or 'none; name one in assay.toml or with --gold'}."
        )
        raise InputError(f"no gold set {name!r}", hint=hint)

    def _stored_name(self, gold: str) -> str:
        """The name in the store of a set that is configured, or that the store knows, or of a
        file."""
        if not gold:
            return ""
        if gold in self.gold_sets or Path(gold).is_file():
            return name_of(self.store, self.gold_sets.get(gold) or Path(gold), claim=False)
        known = self.store.gold_names()
        if gold not in known:
            raise InputError(
                f"no gold set {gold!r}",
                hint=f"Known: {', '.join({**self.gold_sets, **dict.fromkeys(known)}) or 'none yet'}.",
            )
        return gold

    def gold_list(self) -> list[dict[str, Any]]:
        return [gold.describe(name, path) for name, path in self.gold_sets.items()]

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────

    def suggest(
        self, gold: str, query_id: str, doc_id: str, grade: int, *, rationale: str, by: str
    ) -> ReviewItem:
        """Put a judgment before the expert. It is never in a gold set until an expert says so."""
        found = self._read_gold(gold)
        query = next((query for query in found.queries if query.id == query_id), None)
        if query is None:
            raise InputError(f"no query {query_id!r} in gold set {gold!r}")
        if (
            not 0 <= grade <= (top := found.top_grade or TOP_GRADE)
            or not by.strip()
            or not doc_id.strip()
        ):
            raise InputError(
                f"a suggestion needs a document, a grade from 0 to {top}, and who makes it"
            )
        item = ReviewItem(
            id=new_id(),
            gold=name_of(self.store, self.gold_path(gold)),
            kind="judgment",
            key=f"{query_id}\t{doc_id}\t{by}",
            ref=query_id,
            query=query.text,
            created_at=self.clock(),
            corpus=query.corpus,
            practice_area=query.topic,
            doc_ids=(doc_id,),
            grade=grade,
            rationale=rationale,
            suggested_by=by,
        )
        self.store.add_review_items([item])
        queued = self.store.review_items(gold=item.gold, kind="judgment", limit=EVERYTHING)
        return next(one for one in queued if one.key == item.key)

    def rule_suggestion(
        self, item_id: str, *, accept: bool, by: str, why: str = "", grade: int | None = None
    ) -> ReviewItem:
        """An expert's word on a suggestion; `grade` where the suggestion has none. Accepted, it is
        a vote; in a gold-set.jsonl the document joins the row (or leaves it, at grade 0), and the
        row is then the chair's."""
        found = self.store.review_items(ids=[item_id])
        if not found or found[0].kind != "judgment":
            raise InputError(f"no suggestion {item_id!r}")
        item, at = found[0], self.clock()
        if not by.strip():
            raise InputError("say who decides")
        final = item.grade if item.grade is not None else grade
        if accept and (final is None or not 0 <= final <= self.top_grade(item)):
            raise InputError(f"give the document a grade from 0 to {self.top_grade(item)}")
        why = (
            why
            or (item.rationale if item.grade is not None else "")
            or ("accepted" if accept else "not accepted")
        )
        source = item.suggested_by if item.grade is None else f"suggested by {item.suggested_by}"
        vote = Vote(
            id=new_id(),
            gold=item.gold,
            query_id=item.ref,
            doc_id=item.doc_ids[0],
            grade=final or 0,
            judge=by,
            at=at,
            rationale=why,
            source=source,
        )
        state: ReviewState = "approved" if accept else "rejected"
        ruling = Ruling(
            item=item, state=state, by=by, at=at, reason=why, votes=(vote,) if accept else ()
        )
        path = (
            self.gold_path(item.gold) if accept else None
        )  # a vote alone would leave the row as it was, unsaid
        in_row = (
            final or item.grade is not None
        )  # an unjudged document that is not relevant is in no row
        if accept and in_row and path is not None and path.suffix == ".jsonl":
            change = Correction(add=item.doc_ids) if final else Correction(remove=item.doc_ids)
            rulings.correct(
                self.store, path, item.ref, change, by=by, why=why, now=at, also=(ruling,)
            )
        else:
            self.store.rule([ruling])
        return self.store.review_items(ids=[item_id])[0]

    def top_grade(self, item: ReviewItem) -> int:
        """The highest grade on the scale of the item's gold set."""
        return self._read_gold(item.gold).top_grade or TOP_GRADE

    def is_changed_by(self, item: ReviewItem) -> bool:
        """Whether accepting an item changes the gold set itself; else it is a vote, which `gold
        merge` brings in."""
        return self.gold_path(item.gold).suffix == ".jsonl"

    def queue(
        self,
        *,
        gold: str = "",
        state: str = "pending_review",
        kind: str = "",
        limit: int = 50,
        offset: int = 0,
    ) -> Page:
        limit = min(max(limit, 1), MAX_PAGE)
        found = self.store.review_items(
            gold=self._stored_name(gold), state=state, kind=kind, limit=limit + 1, offset=offset
        )
        return _page(found, offset, limit)

    def evidence(self, item: ReviewItem) -> list[dict[str, Any]]:
        """What an expert needs to see of each document of an item: its text, and why it is
        there."""
        found = []
        for doc_id in item.doc_ids:
            signs = signs_for(self.store, item, doc_id, MAX_PAGE)
            decisions = {sign.decision_id: sign for sign in signs if sign.decision_id}
            found.append(
                {
                    "doc_id": doc_id,
                    "document": self._look_up(item.corpus, doc_id),
                    "decisions": list(decisions.values())[:5],
                    "kinds": sorted({sign.kind for sign in signs}),
                }
            )
        return found

    def _look_up(self, corpus: str, doc_id: str) -> Document | None:
        """The document from the corpus of that name, else from any that has it."""
        known = list_corpora(self.home)
        for name in [corpus] if corpus in known else known:
            opened = open_corpus(self.home, name)
            if doc_id in opened:
                return opened.get(doc_id)
        return None

    def next_to_judge(self, gold: str, limit: int = 10, offset: int = 0) -> Page:
        """What an expert should look at next: first what waits in the queue, the oldest first; then
        unjudged documents of the newest runs, the one that narrows the decision between them most
        first."""
        waiting: list[dict[str, Any]] = [
            {
                "item_id": item.id,
                "query_id": item.ref,
                "query": item.query,
                "doc_ids": list(item.doc_ids),
                "reason": f"waits since {item.created_at:%Y-%m-%d}",
            }
            for item in self.store.review_items(
                gold=self._stored_name(gold), state="pending_review", limit=offset + limit + 1
            )
        ]
        queued = {(item["query_id"], doc_id) for item in waiting for doc_id in item["doc_ids"]}
        found = [*waiting, *self._worth_judging(gold, offset + limit + 1 - len(waiting), queued)]
        return _page(found[offset:], offset, limit)

    def _worth_judging(
        self, gold: str, limit: int, queued: Set[tuple[str, str]]
    ) -> list[dict[str, Any]]:
        newest: dict[str, str] = {}
        for run in self.runs(gold=gold, limit=MAX_PAGE).items:
            newest.setdefault(run.engine, run.id)
        results = [from_json(self.run(run_id).results) for run_id in list(newest.values())[:2]]
        graded = [each.per_query for each in results if isinstance(each, GradedResults)]
        if limit < 1 or not graded or len(graded) < len(results):
            return []  # golden sets have no grades to give
        pairs = [
            pair
            for pair in pairs_to_judge(*graded).pairs
            if (pair.query_id, pair.doc_id) not in queued
        ]
        return [
            {
                "query_id": pair.query_id,
                "query": pair.query_text,
                "doc_ids": [pair.doc_id],
                "reason": f"unjudged, and {pair.narrowing:.0%} of the doubt about {' against '.join(list(newest)[:2])}",
            }
            for pair in pairs[:limit]
        ]

    # ── health ────────────────────────────────────────────────────────────────────────────────────

    def backlog(self, *, gold: str = "", weeks: int = 4) -> Backlog:
        return backlog_of(self.store, gold=self._stored_name(gold), now=self.clock(), weeks=weeks)

    def tell(self, webhook: str, found: Backlog, problems: Sequence[str]) -> None:
        """Tell a webhook what is over its limit."""
        notify(webhook, found, problems)

    def check_backlog(self, limits: Limits, *, gold: str = "") -> tuple[Backlog, list[str]]:
        """The backlog and what is over its limit."""
        found = self.backlog(gold=gold)
        return found, breaches(found, limits)

    def metrics(self, *, gold: str = "") -> dict[str, Any]:
        """The backlog in full, and as the block of six that the specification names."""
        found = msgspec.to_builtins(self.backlog(gold=gold))
        return {"backlog": found, "halacha_backlog": halacha_backlog(found)}

    def diagnostics(self, *, probe: bool = False) -> dict[str, Any]:
        """Is everything well? Store, indexes, engines, telemetry, backlog. A part that fails is
        named, and does not hide the others. With `probe`, every engine answers one query."""
        parts = health.look(
            {
                "store": lambda: health.store_health(self.store),
                "index": lambda: health.index_health(self.home),
                "engines": lambda: health.engine_health(self.config, probe),
                "gold": lambda: health.gold_health(self.store, self.gold_sets),
            }
        )
        if self.recorder is not None:
            parts["telemetry"] = msgspec.to_builtins(self.recorder.counts())
        if parts["store"]["status"] == "ok":
            parts |= self.metrics()
        ok = all(part.get("status", "ok") == "ok" for part in parts.values())
        return {
            "status": "ok" if ok else "degraded",
            "version": __version__,
            "at": self.clock().isoformat(),
            **parts,
        }

    def prometheus(self) -> str:
        """The metrics page. When the store is down it says so, and still reports what telemetry
        knows."""
        return health.prometheus(
            self.backlog, self.recorder.counts() if self.recorder is not None else None
        )

    # ── search and evaluation ─────────────────────────────────────────────────────────────────────

    def search(self, corpus: str, query: str, limit: int = 10, offset: int = 0) -> Page:
        if self.search_corpus is None:
            raise InputError(
                "there is no index to search", hint="Index a corpus first: assay index NAME."
            )
        if not query.strip():
            raise InputError("the query is empty")
        limit = min(max(limit, 1), MAX_PAGE)
        hits = list(self.search_corpus(corpus, query, offset + limit + 1))[offset:]
        return _page(hits, offset, limit)

    def document(self, corpus: str, doc_id: str) -> Document:
        opened = open_corpus(self.home, corpus)
        if doc_id not in opened:
            raise InputError(f"no document {doc_id!r} in corpus {corpus!r}")
        return opened.get(doc_id)

    def evaluate(self, gold: str, engine: str) -> RunRecord:
        """Score a configured engine on a configured gold set, and keep the run."""
        path = self.gold_path(gold)
        scored = score(configured(_engine_named(self.config, engine), path))
        receipt = scored.results.receipt
        run = RunRecord(
            id=new_id(),
            at=self.clock(),
            engine=engine,
            gold=name_of(self.store, path),
            results=to_json(scored.results),
            gold_fingerprint=receipt.gold.fingerprint,
            corpus_fingerprint=receipt.corpus_fingerprint or "",
        )
        self.store.put_run(run)
        return run

    def runs(self, *, gold: str = "", limit: int = 20, offset: int = 0) -> Page:
        limit = min(max(limit, 1), MAX_PAGE)
        return _page(
            self.store.runs(gold=self._stored_name(gold), limit=limit + 1, offset=offset),
            offset,
            limit,
        )

    def run(self, run_id: str) -> RunRecord:
        found = self.store.run(run_id)
        if found is None:
            known = ", ".join(run.id for run in self.store.runs(limit=5)) or "none yet"
            raise InputError(f"no run {run_id!r}", hint=f"The newest: {known}.")
        return found

    def compare_runs(self, run_ids: Sequence[str], *, force: bool = False) -> Comparison:
        runs = [self.run(run_id) for run_id in run_ids]
        if len(runs) < 2:
            raise InputError("give at least two runs to compare")
        names = [run.engine for run in runs]
        unique = names if len(set(names)) == len(names) else list(run_ids)
        return compare([from_json(run.results) for run in runs], unique, force=force)

    def explain(self, run_id: str, query_id: str) -> dict[str, Any]:
        """The entry of one query of a run: its ranking with grades, its values, and how each
        measure is computed."""
        results = self.run(run_id).results
        entry = next(
            (entry for entry in results["per_query"] if entry["query_id"] == query_id), None
        )
        if entry is None:
            known = ", ".join(entry["query_id"] for entry in results["per_query"][:5])
            raise InputError(f"no query {query_id!r} in run {run_id!r}", hint=f"It has {known}, …")
        return {"entry": entry, "measures": results["receipt"]["measures"]}

    def _read_gold(self, name: str) -> GoldSet:
        return formats.read_gold(self.gold_path(name))


# ── opening ───────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def open_desk(
    store: str = "",
    *,
    gold: Sequence[Path] = (),
    config: Path | None = None,
    home: Path | None = None,
    record: Mapping[str, Any] | None = None,
    create: bool = True,
    **lent: Any,
) -> Iterator[Desk]:
    """A desk on a store, with the gold sets and engines of `assay.toml` (where there is one), the
    gold sets given, and those that were bootstrapped into the store. With `record`, the options of
    a Recorder, it has one of its own, for a server. `lent` are search_corpus and clock. Without
    `create`, there must be a store."""
    target = store or default_store(home)
    path = config or Path(CONFIG_NAME)
    settings = read_config(path) if config is not None or path.exists() else None
    sets = (
        {name: Path(item.path) for name, item in settings.gold.items()}
        if settings is not None
        else {}
    )
    for given in (
        one for one in gold if one.resolve() not in {path.resolve() for path in sets.values()}
    ):
        sets[given.stem if sets.get(given.stem, given) == given else str(given)] = given
    opened = open_store(target, create=create)
    configured = {given.resolve() for given in sets.values()}
    sets = {
        name: path for name, path in known_sets(opened).items() if path not in configured
    } | sets
    recorder = Recorder(lambda: open_store(target), **record) if record is not None else None
    try:
        yield Desk(
            store=opened, gold_sets=sets, config=settings, home=home, recorder=recorder, **lent
        )
    finally:
        if recorder is not None:
            recorder.close()
        opened.close()


# ── parts of answers ──────────────────────────────────────────────────────────────────────────────


class _Citations:
    """Finds the documents a text cites, and counts the citations that name none."""

    def __init__(self, corpus: str, home: Path | None) -> None:
        self._corpus = open_corpus(home, corpus) if corpus else None
        self.unresolved = 0

    def __call__(self, text: str) -> list[str]:
        found = cite(text, self._corpus)
        self.unresolved += sum(not one.targets for one in found)
        return [target for one in found for target in one.targets]


def halacha_backlog(found: Mapping[str, Any]) -> dict[str, Any]:
    names = ("pending_review", "approved", "rejected", "published", "total", "oldest_pending_at")
    return {name: found[name] for name in names}


def _page(found: Sequence[Any], offset: int, limit: int) -> Page:
    more = len(found) > limit
    return Page(
        items=list(found[:limit]), offset=offset, next_offset=offset + limit if more else None
    )


def _engine_named(config: Config | None, name: str) -> EngineConfig:
    """Only engines that a person configured can be run: an agent must not name code to load."""
    if config is None or name not in config.engines:
        known = ", ".join(config.engines) if config else "none: write an assay.toml"
        raise InputError(f"no engine {name!r} is configured", hint=f"Known: {known}.")
    return config.engines[name]
