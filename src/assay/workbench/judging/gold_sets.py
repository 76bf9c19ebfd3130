"""`assay gold`: look at a gold set, convert it, vary it, and bootstrap it from logs. Decisions on
its rows are in `workbench/review/decisions.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import AssayError, InputError, UsageError
from assay.core.files import move_into_place, scratch_beside
from assay.core.types import (
    JUDGMENT_TEXT_COLUMNS,
    Document,
    Finding,
    GoldSet,
    Query,
    Vote,
    approval_status,
    judgments_to_frame,
)
from assay.core.types import machine_note_of as machine_note_of
from assay.corpus.letters import only_asks
from assay.corpus.lookup import cited_numbers, documents, is_corpus, require_corpus
from assay.engines.running import corpus_of
from assay.evaluation.golden.set_checks import check_expectations
from assay.formats import gold_jsonl
from assay.formats.ballots import same_text
from assay.formats.gold_jsonl import Approval
from assay.gold.log import open_log
from assay.gold.projection import state_of_file
from assay.gold.rows import log_path
from assay.judging import rubrics
from assay.judging.perturb import perturb
from assay.judging.pool import is_answer_set
from assay.judging.pool import pooled_corpus as pooled_corpus
from assay.judging.validate import (
    LEVELS,
    NUMBER,
    GoldPicture,
    KnownDocuments,
    picture_of,
    validate,
)
from assay.judging.votes import read_votes
from assay.law.matching import known_document
from assay.review.bootstrap import BootstrapOptions, BootstrapOutcome, Evidence, bootstrap
from assay.telemetry.external_table import ExternalLogs
from assay.telemetry.records import days_before
from assay.workbench.judging.packets import spare_judgments
from assay.workbench.judging.set_edits import now_in_utc, rubric_by_id
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.service import Service, compute_once
from assay.workbench.scoring.request import stale_count as stale_count

TEXTS_HINT = (
    "Every query needs its text. Write it in the column query of a CSV file, or beside TREC qrels "
    "NAME.txt in NAME.topics.tsv: one line per query, id, tab, text."
)

# ── the corpus of each row ────────────────────────────────────────────────────────────────────────

ALL_ROWS = ""  # of rows that name no corpus, or one that nobody knows


def split_corpora(options: Sequence[str]) -> dict[str, Path]:
    """`NAME` for all rows, `ROWS=NAME` for those of one corpus."""
    corpora: dict[str, Path] = {}
    for text in options:
        rows, equals, name = text.partition("=")
        if not equals or Path(text).exists():
            rows, name = ALL_ROWS, text
        if rows in corpora:
            what = f"the rows of {rows!r}" if rows else "all rows"
            raise UsageError(
                f"two corpora were given for {what}", hint="As in --corpus precedents=NAME."
            )
        corpora[rows] = Path(name)
    return corpora


def corpora_of(gold: GoldSet, named_corpora: Mapping[str, Path]) -> dict[str, Path]:
    """{what a row calls its corpus: the corpus}, for the rows of this set whose corpus is known;
    ALL is that of the others."""
    for corpus in named_corpora.values():
        require_corpus(corpus)
    configured = _configured()
    known: dict[str, Path] = {}
    for name in dict.fromkeys(query.corpus for query in gold.queries):
        if name in named_corpora:
            known[name] = named_corpora[name]
        elif name in configured:
            known[name] = configured[name]
        elif name and is_corpus(name):
            known[name] = Path(name)
    if strange := [name for name in named_corpora if name and name not in known]:
        raise UsageError(
            f"the set has no rows of the corpus {strange[0]!r}",
            hint=f"It has: {', '.join(sorted({query.corpus for query in gold.queries} - {''}))}.",
        )
    return known | ({ALL_ROWS: named_corpora[ALL_ROWS]} if ALL_ROWS in named_corpora else {})


def _configured() -> dict[str, Path]:
    """The corpus of each route of the configured engines, if their tables name it."""
    path = Path(CONFIG_NAME)
    if not path.exists():
        return {}
    known: dict[str, Path] = {}
    for engine in read_config(path).engines.values():
        for name, part in engine.routes.items():
            if (corpus := corpus_of(part)) is None:
                continue
            if known.setdefault(name, corpus) != corpus:
                raise InputError(
                    f"the corpus {name!r} is {known[name]} for one engine and {corpus} for another",
                    where=f"{path}: engines.{engine.name}.corpora",
                    hint="Choose one with --corpus.",
                )
    return {name: path for name, path in known.items() if path.exists() or is_corpus(str(path))}


def unchecked_rows(gold: GoldSet, known: Mapping[str, Path]) -> Iterator[Finding]:
    """Flags for rows whose corpus is unknown, if other rows are checked."""
    if not known or ALL_ROWS in known:
        return
    for name in dict.fromkeys(query.corpus for query in gold.queries if query.corpus not in known):
        ids = [query.id for query in gold.queries if query.corpus == name]
        what = f"the corpus {name!r} is not here" if name else "the row names no corpus"
        more = f" (and {len(ids) - 1} more rows)" if len(ids) > 1 else ""
        message = f"{what}: its documents are not checked{more}"
        yield Finding(level="flag", code="unchecked-corpus", where=ids[0], message=message)


# ── the commands ──────────────────────────────────────────────────────────────────────────────────


SET_KEYS = ("taxonomy", "version", "created_at", "description", "rubric", "status", "targets")

# ── checks and summaries ──────────────────────────────────────────────────────────────────────────


def validate_gold(
    dataset: Path, *, corpus: Path | None = None, corpora: Sequence[str] = ()
) -> tuple[GoldSet, list[Finding]]:
    """The set, and what is wrong with it; errors first. Each row is checked against its own corpus
    where that is known, else against the one that is given: a name, or `ROWS=NAME`."""
    gold = formats.read_gold(dataset)
    rules = rubrics.of_set(gold, dataset)
    votes = read_votes(dataset)
    given = split_corpora(corpora) | ({ALL_ROWS: corpus} if corpus is not None else {})
    corpus_paths = corpora_of(gold, given)
    read = {place: documents(place) for place in dict.fromkeys(corpus_paths.values())}
    known_of = {place: _known_of_corpus(place, known, gold, votes) for place, known in read.items()}
    own = None
    if set(corpus_paths) - {ALL_ROWS}:
        own = {
            query.id: known_of[place]
            for query in gold.queries
            if (place := corpus_paths.get(query.corpus, corpus_paths.get(ALL_ROWS))) is not None
        }
    findings = validate(gold, rules, _known_of_corpora(list(known_of.values())), votes, own)
    if is_answer_set(dataset):  # several answers to one question are no slip
        findings = [one for one in findings if one.code != "repeated-text"]
    findings += unchecked_rows(gold, corpus_paths)
    if any(query.checks for query in gold.queries):
        every = [document for known in read.values() for document in known]
        places = [known_document(document) for document in every] if read else None
        findings += check_expectations(gold, places, file=str(dataset))
    omissions = getattr(formats.gold_format(formats.detect_gold(dataset)), "omissions", None)
    findings += omissions(dataset) if omissions else ()
    return gold, sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def _known_of_corpora(known_of_each: Sequence[KnownDocuments]) -> KnownDocuments | None:
    """The known facts about the documents of all corpora together."""
    if len(known_of_each) < 2:
        return known_of_each[0] if known_of_each else None
    numbers = [known.statutes for known in known_of_each]
    judged: dict[str, Document] = {}
    examples: dict[str, frozenset[str]] = {}
    for known in known_of_each:
        judged |= known.judged
        examples |= known.examples
    return KnownDocuments(
        ids=frozenset().union(*(known.ids for known in known_of_each)),
        statutes=frozenset().union(*(each or () for each in numbers)),
        requests=frozenset().union(*(known.requests for known in known_of_each)),
        judged=judged,
        examples=examples,
    )


def _known_of_corpus(
    corpus: Path, known: Sequence[Document], gold: GoldSet, votes: Sequence[Vote]
) -> KnownDocuments:
    issues = [issue for topic in gold.taxonomy.values() for issue in topic.issues]
    examples = {doc_id for issue in issues for doc_id in issue.example_opinion_ids}
    voted = {vote.doc_id for vote in votes if vote.document}
    return KnownDocuments(
        name=str(corpus),
        ids={document.id for document in known},
        statutes=cited_numbers(corpus, known),
        requests=frozenset(document.id for document in known if only_asks(document)),
        judged={document.id: document for document in known if document.id in voted},
        examples={
            document.id: frozenset(NUMBER.findall(document.text))
            for document in known
            if document.id in examples
        },
    )


def log_warnings(dataset: Path) -> list[str]:
    """Warnings about the log of a set: the file is behind it or was edited by hand, or lines are
    damaged or of a newer version."""
    if not dataset.is_file() or not log_path(dataset).exists():
        return []
    log = open_log(dataset)
    newer = f"{log.path}: some lines are of format {log.newer}; upgrade Assay to write to it"
    found = (state_of_file(dataset), log.damage(), newer if log.newer else "")
    return [each for each in found if each]


def is_checked(dataset: Path, gold: GoldSet, corpora: Sequence[str]) -> bool:
    """Whether any corpus is known that the rows are checked against."""
    return bool(corpora or pooled_corpus(dataset) or corpora_of(gold, {}))


def gold_stats(dataset: Path) -> GoldPicture:
    return picture_of(formats.read_gold(dataset), read_votes(dataset))


class GoldSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a list of gold sets; what cannot be read is in the list too, with its `error`.
    `status` is provisional (bootstrap-only) where no row is approved, partly approved, or approved;
    `approved_share`, of a set from logs, the share of approved rows."""

    name: str
    path: str
    queries: int
    judgments: int
    status: str = ""
    approved_share: float | None = None
    rubric: str = ""
    error: str = ""


def gold_list(service: Service) -> list[GoldSummary]:
    return [describe(name, path) for name, path in service.gold_sets.items()]


def describe(name: str, path: Path) -> GoldSummary:
    """The summary of a set; its file is read again when it changes."""
    try:
        if path.is_file():  # the time of a folder says nothing of the files in it
            status = path.stat()
            key = ("summary", path, status.st_mtime_ns, status.st_size)
            summary = compute_once(key, lambda: _summary(path))
        else:
            summary = _summary(path)
    except (AssayError, OSError) as error:
        return GoldSummary(name=name, path=str(path), queries=0, judgments=0, error=str(error))
    return msgspec.structs.replace(summary, name=name)


def _summary(path: Path) -> GoldSummary:
    gold = formats.read_gold(path)
    approved, total = gold.approved_rows, len(gold.queries)
    return GoldSummary(
        name=gold.name,
        path=str(path),
        queries=total,
        judgments=gold.judgments.height,
        status=approval_status(approved, total) if gold.from_logs else gold.status or "unknown",
        approved_share=approved / max(total, 1) if gold.from_logs else None,
        rubric=gold.rubric,
    )


def approval(gold: Path) -> Approval:
    """How much of a gold set is approved; a set with no approved row is provisional
    (bootstrap-only)."""
    return gold_jsonl.approval(gold_jsonl.rows(gold_jsonl.read_lines(gold)))


def rubric_page(name: str = "") -> str:
    """A rubric as a Markdown page, by name or file."""
    rubric = rubrics.find(name or rubrics.DEFAULT)
    return rubrics.as_markdown(rubric) + f"\nVersion: `{rubrics.version(rubric)}`.\n"


def rubric_object(name: str = "") -> object:
    """A rubric as data, with its version."""
    rubric = rubrics.find(name or rubrics.DEFAULT)
    return {"version": rubrics.version(rubric)} | msgspec.to_builtins(rubric)


def new_rubric(name: str, copied: str) -> Path:
    """Copy a rubric into the project, to be edited."""
    return rubrics.new(name, copied)


# ── from logs ─────────────────────────────────────────────────────────────────────────────────────


def rubric_list() -> list[rubrics.AvailableRubric]:
    return rubrics.described()


def bootstrap_gold(
    source: Service | ExternalLogs,
    gold: Path,
    *,
    min_support: int = 1,
    recent_days: float | None = None,
    min_grade: int = 3,
    dry_run: bool = False,
) -> BootstrapOutcome:
    """Make gold from logs and what decisions cited, of a project or of the team's own tables; rows
    of the chair are never touched."""
    if min_support < 1 or min_grade not in (1, 2, 3):
        raise InputError("the minimum support must be 1 or more, and the minimum grade 1, 2 or 3")
    evidence: Evidence = source.store if isinstance(source, Service) else source
    now = source.clock() if isinstance(source, Service) else datetime.now(UTC)
    options = BootstrapOptions(
        min_support=min_support,
        since=days_before(now, recent_days) if recent_days is not None else None,
        min_grade=min_grade,
    )
    return bootstrap(evidence, gold, options, dry_run=dry_run, now=now)


# ── other formats and variants ────────────────────────────────────────────────────────────────────


def convert_gold(
    source: Path,
    target: Path,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    rubric: str = "",
    replace_judgments: bool = False,
) -> tuple[list[Path], list[str]]:
    """Write `source` in another format; return the files written and, honestly, what that format
    could not hold. A set that comes without a rubric can be given one, and its day."""
    gold = _readable(source, source_format)
    if rubric:
        rules = rubric_by_id(rubric, target)
        gold = replace(gold, rubric=rules.id, top_grade=rules.top)
    if not replace_judgments:
        _spare_judgments(target, gold, read_votes(source), "{} --replace writes over it.")
    return write_whole(gold, target, target_format, where=str(source))


def save_gold(gold: GoldSet, target: Path, *, replace_judgments: bool = False) -> list[str]:
    """Write a set in the format of the ending; return what that could not hold. A file whose
    judgments would be lost is spared."""
    if not replace_judgments:
        _spare_judgments(target, gold, (), "Give another name, or replace=True to write over it.")
    if target.suffix in (".json", ".jsonl") and not all(query.text for query in gold.queries):
        raise InputError(
            f"a {target.suffix} set needs the text of every query, but some have none",
            where=str(target),
            hint="Give them: GoldSet.from_dict(grades, queries={id: text}); or save it as .qrels.",
        )
    return write_whole(gold, target, None, where=str(target))[1]


def write_whole(
    gold: GoldSet, target: Path, target_format: str | None, *, where: str
) -> tuple[list[Path], list[str]]:
    """Written aside and read back first: what the format refuses must not replace a good file."""
    if target_format is not None:
        formats.gold_format(target_format)  # an unknown name is refused before the work begins
    name = target_format or formats.format_of_name(target)
    if target_format is None and name == "json" and _is_golden(gold):
        name = "golden"  # expectations without grades: the other JSON
    if name == "json" and not gold.created_at:
        gold = replace(gold, created_at=now_in_utc())
    with scratch_beside(target) as scratch:
        draft = scratch / target.name
        try:
            written = formats.write_gold(gold, draft, name)
            kept = formats.read_gold(draft, name)
            lost = [*_lost_note(gold, kept), *_lost_judgments(gold, kept)]
        except InputError as error:
            hint = error.hint if all(query.text for query in gold.queries) else TEXTS_HINT
            raise InputError(
                f"{name} cannot hold this set: {error.message}", where=where, hint=hint
            ) from error
        return [
            move_into_place(path, target.parent / path.relative_to(scratch)) for path in written
        ], lost


def _spare_judgments(target: Path, gold: GoldSet, votes: Sequence[Vote], hint: str) -> None:
    """Refuse to lose judgments, with the hint that fits the caller."""
    try:
        spare_judgments(target, gold, votes)
    except UsageError as error:
        message, where = error.message, error.where
        raise UsageError(message, where=where, hint=hint.format(error.hint)) from error


def _is_golden(gold: GoldSet) -> bool:
    """Expectations and no grades; a set without either is one that nobody has judged yet."""
    return not gold.judgments.height and gold.is_golden


def _readable(source: Path, format: str | None = None) -> GoldSet:
    """A gold set to write again: an expectation that cannot be read is refused, and not copied."""
    gold = formats.read_gold(source, format)
    if gold.is_golden:
        check_expectations(gold, file=str(source))
    return gold


def _lost_note(before: GoldSet, after: GoldSet) -> Iterable[str]:
    """Figures on the file would not say whose labels they rest on: that comes first."""
    note = machine_note_of(before)
    if note and machine_note_of(after) != note:
        yield f"that the set is {note}"


def _lost_judgments(before: GoldSet, after: GoldSet) -> Iterable[str]:
    """The judgments that are missing when the written file is read back."""
    after, numbered = _by_text(before, after)
    if numbered:
        yield f"id of {len(before.queries)} queries"
    then = {query.id: query for query in after.queries}
    for field in Query.__struct_fields__:
        changed = sum(
            1
            for query in before.queries
            if getattr(query, field)
            and getattr(then.get(query.id), field, None) != getattr(query, field)
        )
        if changed:
            yield f"{field} of {changed} queries"
    kept = {(judgment.query_id, judgment.doc_id): judgment for judgment in after.iter_judgments()}
    for field in ("grade", *JUDGMENT_TEXT_COLUMNS):
        changed = sum(
            1
            for judgment in before.iter_judgments()
            if getattr(judgment, field) not in ("", None)
            and getattr(kept.get((judgment.query_id, judgment.doc_id)), field, None)
            != getattr(judgment, field)
        )
        if changed:
            yield f"{field} of {changed} judgments"
    for field in (*SET_KEYS, "extra"):
        if getattr(before, field) and getattr(after, field) != getattr(before, field):
            yield field


def _by_text(before: GoldSet, after: GoldSet) -> tuple[GoldSet, bool]:
    """The set read back, with the ids of the first where the format knows queries by their text
    and gave them ids of its own."""
    ids = {same_text(query.text): query.id for query in before.queries}
    new = {query.id: ids.get(same_text(query.text), "") for query in after.queries}
    if set(new) == set(before.query_ids) or not all(new.values()) or len(new) != len(ids):
        return after, False
    queries = tuple(msgspec.structs.replace(query, id=new[query.id]) for query in after.queries)
    rows = [
        msgspec.structs.replace(row, query_id=new[row.query_id]) for row in after.iter_judgments()
    ]
    return replace(after, queries=queries, judgments=judgments_to_frame(rows)), True


def perturb_gold(
    source: Path,
    output: Path,
    *,
    kinds: Sequence[str] = (),
    seed: int = 0,
    language: str | None = None,
    parents: bool = True,
) -> tuple[int, int]:
    """Write adversarial variants of a gold set; returns how many questions and how many variants
    the file has."""
    gold = _readable(source)
    if output.exists() and output.samefile(source):
        raise UsageError(
            "the output would overwrite an input", where=str(output), hint="Give another file name."
        )
    varied = perturb(gold, kinds=kinds, seed=seed, language=language, parents=parents)
    variants = sum("perturbation" in query.extra for query in varied.queries)
    if not variants:
        hint = "Its language may not have them, or was guessed wrong: see --language and --kind."
        raise UsageError("no question can be perturbed in this way", where=str(source), hint=hint)
    formats.write_gold(varied, output, "golden" if _is_golden(varied) else "json")
    return len(varied.queries) - variants, variants
