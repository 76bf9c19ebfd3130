"""Terminal pages of everything but results: corpora, documents, search hits, citations, gold sets,
judging, trials of engines, and the status of the project."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from assay.core.extras import install_command, is_installed
from assay.core.types import Finding, Hit, Labelling, counted
from assay.law.versions import mark_of
from assay.reports.grids import HangingText, bare_table, headed_table
from assay.reports.numbers import Numbers
from assay.reports.wording import Sentences, hit_reasons_in_words, words_note
from assay.reports.words import Words, page_words

if TYPE_CHECKING:
    from assay.corpus.build import ImportReport
    from assay.corpus.citations import Resolved
    from assay.corpus.disk import LinkedDocument
    from assay.corpus.importers.kinds import Problem
    from assay.engines.http_table import Preset
    from assay.engines.mapping import Proposal
    from assay.engines.running import Trial
    from assay.evaluation.reliability import CalibrationReport, Reliability
    from assay.formats.benchmarks import BenchmarkCard, BenchmarkReport
    from assay.judging.labels import Dispute, Policy
    from assay.judging.machine import Spending
    from assay.judging.next import Decision
    from assay.judging.spot_checks import Draw, ErrorRate, SpotCheck
    from assay.judging.validate import GoldPicture
    from assay.review.backlog import Backlog, ExternalBacklog
    from assay.search.answers import FoundDocument, SearchAnswer

# How much a terminal shows is taste: what fits on a screen or two.
INDENT = 4  # of what stands below the title of a hit
SHOWN_LINKS = 12  # of the documents that one cites, or that cite it
SHOWN_TEXT = 4_000  # characters of a document
SHOWN_TARGETS = 5  # documents that a citation names
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*")
SHOWN_NAMES = 60  # of a table inside a value


# ── tables of anything ────────────────────────────────────────────────────────────────────────────


def plain_table(rows: Sequence[msgspec.Struct], columns: Sequence[str]) -> RenderableType:
    if not rows:
        return Text("nothing here yet", style="dim")
    table = headed_table(*map(spoken_key, columns))
    for row in rows:
        values = (getattr(row, name) for name in columns)
        table.add_row(*("" if value in (None, "") else _figure(value) for value in values))
    return table


# keys that are no English once their underscores are gone; all others are
SPOKEN_KEYS = {
    "age_days": "age in days",
    "bytes": "size in bytes",
    "by_machine": "by machines alone",
    "doc_id": "document",
    "edges": "links",
    "forecast_empty_at": "empty by, at this pace",
    "halacha_backlog": "backlog",
    "left": "still left",
    "mtime_ns": "changed",
    "no-document": "outside",
    "oldest_pending_at": "oldest pending since",
    "p50": "median",
    "query_id": "query",
    "self": "to itself",
    "unknown_ids": "ids that are not here",
    "without_grade": "without a grade",
    "without_text": "without a text",
}


def spoken_key(key: str) -> str:
    """A key of the data as a person would say it; the path of a field stays a path."""
    return SPOKEN_KEYS.get(key) or (key if "." in key else key.replace("_", " "))


def key_values(
    page: msgspec.Struct | Backlog | ExternalBacklog, **instead: int | str
) -> RenderableType:
    """Names and values, with inner tables one level deep; what is given `instead` stands in for the
    values of the same names."""
    return _value_table(msgspec.to_builtins(page) | instead)


def nonzero_values(page: msgspec.Struct, **instead: int | str) -> RenderableType:
    """The values of a page that are neither zero nor empty."""
    return _value_table(
        {name: value for name, value in (msgspec.to_builtins(page) | instead).items() if value}
    )


def _value_table(values: Mapping[str, object]) -> RenderableType:
    table = bare_table()
    for name, value in values.items():
        if isinstance(value, dict) and value and all(one is None for one in value.values()):
            continue
        if isinstance(value, dict):
            shown = list(value.items())[:SHOWN_NAMES]
            inner = ", ".join(f"{spoken_key(key)} {_figure(figure)}" for key, figure in shown)
            table.add_row(Text(spoken_key(name), style="bold"), inner)
        elif not isinstance(value, list) or len(value) < 20:
            table.add_row(Text(spoken_key(name), style="bold"), _figure(value))
    return table


def named_values(name: str, page: ExternalBacklog) -> RenderableType:
    return Group(Text(), Text(name, style="bold"), key_values(page))


def loaded_into(
    loaded: msgspec.Struct, figures: Sequence[tuple[str, float | None, float | None]]
) -> RenderableType:
    """A page on what was loaded into an engine, and each measure there and on our own index."""
    if not figures:
        return key_values(loaded)
    table = headed_table("measure", "our index", "there")
    for measure, own, there in figures:
        table.add_row(measure, _figure(own), _figure(there))
    return Group(key_values(loaded), Text(), table)


def _figure(value: object) -> str:
    if value is None or value in ("", [], (), {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_figure, value))
    if isinstance(value, dict):
        inner = ", ".join(f"{spoken_key(key)} {_figure(figure)}" for key, figure in value.items())
        return f"({inner})"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, str) and MOMENT.fullmatch(value):
        return Numbers(Words("en")).moment(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def spending(spent: Spending) -> str:
    """The usage of a machine judge. Without prices the cost is unknown, which is not 0."""
    cost = "not known" if spent.cost is None else f"{spent.cost:,.4f}"
    guessed = f", guessed {spent.guessed:,}" if spent.guessed else ""
    tokens = f"tokens in {spent.tokens_in:,}, out {spent.tokens_out:,}"
    return f"requests {spent.requests:,}, {tokens}{guessed}, cost {cost}"


def checkup(page: msgspec.Struct) -> RenderableType:
    """Every part in a line or two; extras, corpora and engines in a line each."""
    table = bare_table()
    for name, health in msgspec.to_builtins(page).items():
        if not isinstance(health, dict):
            continue
        status = health.get("status", "ok")
        if name == "extras":
            health = {
                "tables": {
                    one: {"": health_text} for one, health_text in health.items() if one != "status"
                }
            }
        engines = health.get("engines") if name == "engines" else None
        members = health.get("corpora") or health.get("tables") or engines or {}
        figures = {
            key: value for key, value in health.items() if key != "status" and value is not members
        }
        style = "red" if status == "failed" else "green"
        title = Text(spoken_key(name), style="bold")
        text = "" if name == "extras" else _in_words(figures)
        table.add_row(title, Text(status, style=style), text)
        for member, member_figures in members.items():
            table.add_row("", "", Text.assemble((member, "bold"), ": ", _in_words(member_figures)))
    return table


def _in_words(figures: Mapping[str, object]) -> str:
    flat: dict[str, object] = {}
    for key, value in figures.items():
        flat |= value if isinstance(value, dict) else {key: value}
    shown = (
        f"{spoken_key(key)} {_figure(value)}".strip()
        for key, value in flat.items()
        if key != "fingerprint"
    )
    return ", ".join(shown) or "–"


def findings_table(findings: Sequence[Finding]) -> RenderableType:
    table = bare_table()
    for finding in findings:
        style = "bold red" if finding.level == "error" else "yellow"
        level, code = Text(finding.level, style=style), Text(finding.code, style="dim")
        table.add_row(level, code, finding.where, finding.message)
    return table


# ── corpora ───────────────────────────────────────────────────────────────────────────────────────


def import_summary(report: ImportReport, source: str, *, in_start: bool = False) -> RenderableType:
    """What was imported, and the next command; `in_start` only one that imports what is left."""
    done = "unchanged" if report.unchanged else "imported"
    cited = ", ".join(
        f"{spoken_key(name)} {count:,}" for name, count in report.citations.items() if count
    )
    bad = ", ".join(f"{name} {count:,}" for name, count in report.problems.items()) or "none"
    what = f": {counted(report.documents, 'document')} {done} in {report.seconds:.1f} s"
    if report.kept:
        what += f"; {counted(report.kept, 'file')} had not changed"
    lines = [
        Text.assemble((report.name, "bold"), what),
        Text(f"citations: {cited}" if cited else "citations: none", style="dim"),
        Text(f"problems: {bad}", style="dim" if bad == "none" else "yellow"),
    ]
    if not in_start or "needs-extra" in report.problems:
        lines.append(Text(f"next: {_after_import(report, source)}", style="dim"))
    return Group(*lines)


def _after_import(report: ImportReport, source: str) -> str:
    """The next command: files that a missing package left out come first."""
    if "needs-extra" in report.problems:
        again = shlex.join(("assay", "corpus", "import", source, "--name", report.name))
        return f"{install_command('documents')}, then {again}"
    if is_installed("search"):
        return f"assay index {report.name}"
    return shlex.join(("assay", "start", source))


MAX_ALIKE = 3  # problems with one reason that are listed one by one; taste
SHOWN_PROBLEMS = 20  # lines of problems after an import; taste


def problem_lines(problems: Sequence[Problem]) -> list[str]:
    """The problems of an import. Many files with one reason have one line."""
    alike: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        alike.setdefault((problem.code, problem.reason), []).append(problem.where)
    lines = []
    for (code, reason), places in alike.items():
        if len(places) > MAX_ALIKE:
            lines.append(f"{code}: {len(places):,} files, such as {places[0]}: {reason}")
        else:
            lines += [f"{code}: {place}: {reason}" for place in places]
    return lines


def document_page(document: LinkedDocument) -> RenderableType:
    """One document with what it cites and what cites it."""
    links = {"cites": document.cites, "cited by": document.cited_by}
    lines = [
        Text(f"{name} {len(ids)}: {', '.join(ids[:SHOWN_LINKS])}", style="dim")
        for name, ids in links.items()
    ]
    head = Text.assemble((document.id, "bold"), "  ", document.title)
    return Group(head, *lines, Text(), Text(document.text[:SHOWN_TEXT]))


def calibration_page(report: CalibrationReport) -> RenderableType:
    """The reliability curve of a corpus that was calibrated, with the figures around it."""
    curve = headed_table("score of the first hit", right=("questions", "mean score", "right"))
    for each in report.after.bins:
        curve.add_row(
            f"{each.low:.1f} to {each.high:.1f}",
            str(each.n),
            f"{each.mean:.2f}",
            f"{each.right:.0%}",
        )

    def figures(named: str, one: Reliability) -> str:
        auc = "n/a" if one.auc is None else f"{one.auc:.2f}"
        return f"{named}: calibration error (ECE) {one.ece:.2f}, AUC {auc}"

    return Group(
        Text.assemble(
            (report.corpus, "bold"),
            f" is calibrated on {counted(report.questions, 'question')}. The first hit is right "
            f"for {report.right:.0%}.",
        ),
        Text(),
        curve,
        Text(),
        Text(figures("before", report.before), style="dim"),
        Text(figures("now, cross-validated", report.after), style="dim"),
        Text(
            f"refused: {report.refused:.0%} of these questions, {report.outside_refused:.0%} of "
            f"{counted(report.outside, 'question')} that the corpus does not answer",
            style="dim",
        ),
        Text(f"kept in {report.file}", style="dim"),
        Text(),
        Text(
            "A score now means the probability that the hit is right. Check the min_score of your "
            "questions, and score the engine again before you compare it."
        ),
    )


def search_page(answer: SearchAnswer, *, explain: bool = False) -> RenderableType:
    """Hits for a lawyer: score where it is calibrated, title, the answer with the asked words
    marked, statutes, date and who wrote it. With `explain`, what put each hit there, in words."""
    if not answer.hits:
        words = words_note(answer.unknown, answer.corrected)
        return Text(f"{answer.note or 'Nothing found.'} {words}".strip(), style="yellow")
    lines: list[RenderableType] = []
    note = answer.note
    if answer.abstained:
        unknown = "Nothing here seems to answer this question. The nearest results are below."
        unsure = "Perhaps nothing here answers this question. The nearest results are below."
        unknown = unknown if answer.calibrated or answer.unknown else unsure
        note = f"{note} The nearest are below." if note else unknown
    note = f"{note} {words_note(answer.unknown, answer.corrected)}".strip()
    if note:
        lines += [Text(note, style="yellow"), Text()]
    shown = partial(_hit_lines, explain=explain, scored=answer.calibrated, nowhere=answer.unknown)
    for hit in answer.hits:
        if not hit.less_likely:
            lines += shown(hit)
    behind = [hit for hit in answer.hits if hit.less_likely]
    if behind:
        lines += [Text("Less likely to answer:", style="yellow"), Text()]
    for hit in behind:
        lines += shown(hit)
    if not answer.calibrated:
        lines += [
            Text("Scores are not calibrated for this corpus, so they are not shown.", style="dim"),
            Text(
                "About 30 questions with known answers are enough: "
                f"assay calibrate {answer.corpus} --dataset FILE",
                style="dim",
                no_wrap=True,
                overflow="ignore",
            ),
        ]
    return Group(*lines)


def _hit_lines(
    hit: FoundDocument, *, explain: bool, scored: bool, nowhere: Sequence[str]
) -> list[RenderableType]:
    """`nowhere`: the words that the page says no document has. A hit does not say so again."""
    rank = (f"{hit.rank:>2}. ", "dim")
    is_shown = scored and hit.score is not None
    score = (f"{hit.score:.2f}  " if is_shown else "", "bold cyan")
    title = Text(hit.title, style="bold")
    texts = [Text(f"{' ' * INDENT}{text}") for text in shown_texts(hit)]
    for line in (title, *texts):
        line.highlight_words([*hit.words, *hit.in_title], style="underline", case_sensitive=False)
    lines = [Text.assemble(rank, score, title), *texts]
    missing = tuple(word for word in hit.why.missing if word not in nowhere)
    if why := hit_reasons_in_words(replace(hit.why, missing=missing)):
        lines.append(Text(f"    Why: {why}", style="italic"))
    told = hit.facts
    about = [*told.statutes, told.date, told.by, hit.doc_id]
    lines.append(Text(f"    {' · '.join(filter(None, about))}", style="dim"))
    if explain:
        lines += [Text(f"      {reason}", style="dim") for reason in _reason_lines(hit)]
    return [*(HangingText(line, INDENT) for line in lines), Text()]


def shown_texts(hit: FoundDocument) -> list[str]:
    """The answer first, then what was asked, then the passage where it says more of the question
    than they do; the passage alone where there is neither. Last, a question like the one asked that
    the document is known to answer: of what is less likely, this alone."""
    told = hit.facts
    if hit.less_likely:
        return [f"Answers: {told.answers}"] if told.answers else []
    shown = [told.answer, f"Asked: {told.question}" if told.question else ""]
    words_shown = " ".join(shown).casefold()
    says_more = any(word not in words_shown for word in hit.words)
    if hit.snippet and (not words_shown.strip() or says_more):
        bare = hit.snippet.removesuffix(" …").casefold()
        repeated = bare in words_shown or bare.startswith(told.question[:SAME].casefold() or "\0")
        shown.append("" if repeated else hit.snippet)
    shown.append(f"Answers: {told.answers}" if told.answers else "")
    return [text for text in shown if text]


SAME = 80  # letters in which a passage begins like the question above it; taste


def _reason_lines(hit: FoundDocument) -> list[str]:
    """The reasons for a hit with their strength, one per line."""
    from assay.search.answers import reasons

    words, lines = page_words("en", "why"), []
    for reason in reasons(hit):
        sentence = words[f"why {reason.kind} named" if reason.words else f"why {reason.kind}"]
        text = sentence.format(words=", ".join(reason.words))
        strength = words[f"strength {reason.strength}"]
        lines.append(f"{text} {strength} ({reason.value:.2f})")
    return lines or ["nothing says much for it; it is the nearest there is"]


def citations_table(citations: Sequence[Resolved]) -> RenderableType:
    table = headed_table("span", "text", "normal form", "status", "target or reason")
    for row in citations:
        cited, more = row.citation, len(row.targets) - SHOWN_TARGETS
        named = [_with_status(target, row) for target in row.targets[:SHOWN_TARGETS]]
        target = ", ".join(named) + (f" +{more}" if more > 0 else "")
        if row.status != "resolved":
            target = f"{row.reason}{'; candidates: ' + target if target else ''}"
        span = f"{cited.start}–{cited.end}"
        table.add_row(span, cited.text, cited.normal, row.status, target or row.reason)
    return table


def _with_status(target: str, row: Resolved) -> str:
    """A document, and why it does not hold, in the language of the citation."""
    mark = mark_of(row.not_in_force.get(target, ""), row.citation.language)
    return f"{target} ({mark})" if mark else target


# ── gold sets ─────────────────────────────────────────────────────────────────────────────────────


def stats_table(picture: GoldPicture) -> RenderableType:
    """The picture of a gold set: queries by topic and type, judgments by grade, and how they spread
    over queries."""
    judged = picture.judged_per_query
    spread = f"min {judged.min}, median {judged.median}, max {judged.max}"
    size = f"  {picture.queries} queries, {picture.judgments:,} judgments"
    rubric = f"rubric {picture.rubric or 'not named'}"
    about = f"{size}, {rubric}, {picture.rationales:.0%} with a rationale"
    grades = bare_table()
    for grade, count in picture.grades.items():
        share = count / max(picture.judgments, 1)
        bar = Text("█" * round(share * 40), style="cyan")
        grades.add_row(f"grade {grade}", str(count), bar, f"{share:.0%}")
    note = [Text(f"Gold set {picture.note}.", style="yellow")] if picture.note else []
    return Group(
        Text.assemble((picture.name, "bold"), about),
        *note,
        Text(),
        _topics_by_type(picture),
        Text(),
        grades,
        Text(f"judged per query: {spread}", style="dim"),
        *_rubric_versions(picture),
    )


def _rubric_versions(picture: GoldPicture) -> list[Text]:
    """The versions of the rubric that judges used; nothing if no judge said which."""
    used = picture.rubric_versions
    if not any(used):
        return []
    listed = ", ".join(f"{name or 'not said'} ({count:,})" for name, count in used.items())
    return [Text(f"judged under: {listed}", style="dim")]


def _topics_by_type(picture: GoldPicture) -> RenderableType:
    types = list(picture.types) or [""]
    grid = headed_table("queries by topic", right=[name or "no type" for name in types])
    grid.add_column("all", justify="right", style="bold")
    for topic, row in picture.topics.items():
        counts = [str(row.get(name, 0)) for name in types]
        grid.add_row(topic or "no topic", *counts, str(sum(row.values())))
    totals = [str(picture.types.get(name, 0)) for name in types]
    grid.add_row("all", *totals, str(picture.queries), style="bold")
    return grid


def decision_page(decision: Decision, limit: int) -> RenderableType:
    """How sure the decision is, and the judgments that would settle it soonest."""
    what = "the change" if decision.systems == 2 else "the distance"
    of = f"of {decision.measure}" + (f" from {decision.threshold:g}" if decision.threshold else "")
    spread = f"{decision.expected:+.4f} ± {decision.deviation:.4f}"
    sure = "more than 99%" if decision.confidence > 0.99 else f"{decision.confidence:.0%}"
    also = " The percentage above counts further queries like these, too."
    head = Text(
        f"With all results judged, {what} {of} is expected at {spread}; "
        f"on these queries its sign is {sure} certain.{also if '%' in decision.verdict else ''}"
    )
    shown = [Text(f"{decision.verdict}.")] if decision.verdict else []
    if decision.as_judged:
        head = Text("Both lists are judged to depth 5, so nothing is predicted about the rest.")
    if decision.pool is not None:
        pool = decision.pool
        advice = Words("en").plural("pool_both", pool.judgments, depth=pool.depth)
        shown.append(Text(advice))
    waiting = list(_not_asked_again(decision, limit))
    if not decision.pairs:
        nothing = Text("No unjudged document could change it.", style="green")
        return Group(*shown, head, *(waiting or [nothing]))
    need = (
        "More judgments are not expected to change which way it goes on these queries. These would "
        "narrow it most."
    )
    if decision.first:
        needed = Sentences(Words("en")).judgments_needed(decision.needed, first=True)
        head = Text(f"{needed}.")
        need = "After that, the decision can be predicted."
    elif decision.needed:
        count = counted(decision.needed, "judgment")
        need = f"About {count}, in this order, should make it {decision.level:.0%} certain."
    elif decision.as_judged:
        need = "These unjudged documents weigh most."
    table = headed_table("query", "document", "rank A", "rank B", "narrows by")
    for pair in decision.pairs[:limit]:
        ranks = [str(rank) if rank else "–" for rank in (pair.rank_a, pair.rank_b)]
        table.add_row(pair.query_id, pair.doc_id, *ranks, f"{pair.narrowing:.1%}")
    return Group(*shown, head, Text(need, style="dim"), Text(), table, *waiting)


def _not_asked_again(decision: Decision, limit: int) -> Iterator[RenderableType]:
    """The pairs that need a ruling and not another vote, and how many are being judged."""
    if decision.rulings:
        count, verb = len(decision.rulings), "needs" if len(decision.rulings) == 1 else "need"
        yield Text()
        yield Text(
            f"Judges disagree on {counted(count, 'pair')}, which {verb} a ruling and not another "
            "vote. `assay gold adjudicate` takes rulings.",
            style="yellow",
        )
        table = headed_table("query", "document", "rank A", "rank B")
        for pair in decision.rulings[:limit]:
            ranks = [str(rank) if rank else "–" for rank in (pair.rank_a, pair.rank_b)]
            table.add_row(pair.query_id, pair.doc_id, *ranks)
        yield table
    if decision.being_judged:
        are = "is" if decision.being_judged == 1 else "are"
        left_out = counted(decision.being_judged, "pair")
        yield Text(f"{left_out} {are} being judged or judged since, and not listed.", style="dim")


# ── `assay engines` ───────────────────────────────────────────────────────────────────────────────

SHOWN_ANSWER = 1_600  # characters; taste


def trial(trial: Trial) -> RenderableType:
    """The request, the answer, what was read, and what is wrong."""
    took = f", {trial.millis:.1f} ms" if trial.millis is not None else ""
    parts: list[RenderableType] = []
    if trial.request is not None:
        lines = [f"{trial.request.method} {trial.request.url}"]
        lines += [f"{name}: {value}" for name, value in trial.request.headers.items()]
        parts += _section("Request", [*lines, *_body(trial.request.body)])
    if trial.answer is not None:
        head = f"status {trial.answer.status}, {trial.answer.bytes:,} bytes{took}"
        parts += _section("Answer", [head, *_body(trial.answer.text)])
        took = ""
    if trial.ok:
        read = f"Read: {len(trial.hits)} of at most {trial.top_k} hits{took}"
        parts += [Text(read, style="bold")]
        parts += [_hits(trial.hits)] if trial.hits else []
    parts += [Text(f"note: {note}", style="yellow") for note in trial.notes]
    parts += [Text(f"wrong: {wrong}", style="red") for wrong in trial.wrong]
    if trial.ok:
        parts.append(Text(f"{trial.engine} can be measured", style="green"))
    return Group(*parts)


def proposal(proposed: Proposal) -> RenderableType:
    """The table to paste, what it reads, and what else could be read."""
    lines = [f"[engines.{proposed.name}]", *proposed.table.splitlines()]
    parts = [*_section("Write into assay.toml", lines)]
    table = headed_table("path", "in the first result", "used as", "or as")
    for field in proposed.mapping.fields:
        used = [part for part, path in proposed.mapping.keys.items() if path == field.path]
        others = [part for part in field.parts if part not in used]
        table.add_row(field.path, field.example, ", ".join(used), ", ".join(others))
    parts += [table, *([_hits(proposed.hits)] if proposed.hits else [])]
    parts += [Text(f"note: {note}", style="yellow") for note in proposed.notes]
    parts += [Text(f"wrong: {wrong}", style="red") for wrong in proposed.wrong]
    return Group(*parts)


def _section(title: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    yield Text(title, style="bold")
    yield Text(textwrap.indent("\n".join(lines), "  "))


def _body(text: str) -> list[str]:
    """JSON laid out, anything else as it is; the start of it."""
    try:
        laid = msgspec.json.format(text.encode(), indent=2).decode()
    except (msgspec.DecodeError, RecursionError):
        laid = text
    if len(laid) > SHOWN_ANSWER:
        laid = f"{laid[:SHOWN_ANSWER]}\n… (--json shows more)"
    return laid.splitlines()


def _hits(hits: Sequence[Hit]) -> RenderableType:
    table = headed_table("rank", "id", "score", "title")
    for rank, hit in enumerate(hits, start=1):
        score = "" if hit.score is None else f"{hit.score:.4g}"
        table.add_row(str(rank), hit.doc_id, score, hit.title)
    return table


def preset_tables(presets: Sequence[Preset]) -> str:
    """The presets as tables to paste into assay.toml."""
    tables = []
    for preset in presets:
        lines = [f"[engines.{preset.name}]", f'http = "{preset.example}"']
        lines += [f"{key} = {_in_toml(value)}" for key, value in preset.table.items()]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _in_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_in_toml(text)}" for key, text in value.items()) + " }"
    if isinstance(value, str) and "'" not in value:
        return f"'{value}'"
    return msgspec.json.encode(value).decode()


# ── judging ───────────────────────────────────────────────────────────────────────────────────────

SHOWN_PAIRS = 20  # disagreements, and labels that were found wrong; taste


def disputes_page(disputes: Sequence[Dispute]) -> RenderableType:
    """Each pair with what every judge said of it."""
    from assay.judging.labels import opinion_line

    if not disputes:
        return Text("no pairs need a ruling")
    lines = list[Text]()
    for dispute in disputes[:SHOWN_PAIRS]:
        far = f", {counted(dispute.apart, 'grade')} apart" if dispute.apart else ""
        head = f"{dispute.query_id} {dispute.doc_id} ({dispute.why}{far})"
        lines += [Text(head, style="bold"), Text(f"  {dispute.query}")]
        lines += [Text(f"  - {opinion_line(opinion)}") for opinion in dispute.votes]
    if len(disputes) > SHOWN_PAIRS:
        lines.append(
            Text(f"… and {len(disputes) - SHOWN_PAIRS} more: --json or --output has them all")
        )
    return Group(*lines)


def policy_page(policy: Policy, labelling: Labelling, labels: int, status: str) -> RenderableType:
    table = bare_table()
    table.add_row("policy", policy.name)
    table.add_row("counts", ", ".join(policy.counts))
    if policy.seniors:
        table.add_row("seniors", ", ".join(policy.seniors))
    table.add_row("second judge", policy.second)
    for name, count in (("labels", labels), ("open", labelling.open)):
        table.add_row(name, f"{count:,}")
    table.add_row("by machines alone", f"{labelling.by_machine:,}")
    if status:
        table.add_row("status", status)
    return table


def draw_page(draw: Draw) -> RenderableType:
    counts = Counter(pair.grade for pair in draw.pairs)
    table = headed_table("grade", "labels", "drawn")
    for grade, labels in draw.labels.items():
        table.add_row(str(grade), f"{labels:,}", str(counts[grade]))
    return table


def spot_check_page(checked: SpotCheck) -> RenderableType:
    """The error rate of the set, by grade, and the labels that were found wrong."""
    table = headed_table("grade", "labels", "judged", "wrong", "error rate", "95% interval")
    for part in checked.by_grade:
        counts = (f"{part.labels:,}", str(part.judged), str(part.wrong))
        table.add_row(str(part.grade), *counts, *_rate(part.error_rate))
    table.add_row(
        "all",
        f"{sum(part.labels for part in checked.by_grade):,}",
        str(checked.judged),
        str(checked.wrong),
        *_rate(checked.error_rate),
    )
    differ = [
        Text(
            f"{pair.query_id} {pair.doc_id}: label {pair.label}, found {pair.found}"
            + (f", now {'none' if pair.now is None else pair.now}" * (pair.now != pair.label))
        )
        for pair in checked.differ[:SHOWN_PAIRS]
    ]
    return Group(table, Text(f"intervals: {checked.method}", style="dim"), *differ)


def _rate(rate: ErrorRate) -> tuple[str, str]:
    low, high = rate.interval
    value = "–" if rate.value is None else f"{rate.value:.1%}"
    return value, f"{low:.1%} to {high:.1%}"


# ── the project status, which `assay` alone prints ────────────────────────────────────────────────

SHOWN_MEMBERS = 8  # names in a line; taste
STATUS = {"pass": "passed", "fail": "failed"}
STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


class LastVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of the gates on the newest results, and where these are."""

    results: str
    status: str
    at: datetime


class ProjectStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`waiting` is how many pairs and rows wait for people; None where nobody has asked for any.
    `problem` says why the configuration cannot be read."""

    folder: str
    configured: bool
    sets: list[str]
    engines: list[str]
    corpora: list[str]
    verdict: LastVerdict | None
    waiting: int | None
    next: list[str]
    problem: str = ""


def project_status(place: ProjectStatus) -> RenderableType:
    table = bare_table()
    if place.configured:
        table.add_row("gold sets", _names(place.sets))
        table.add_row("engines", _names(place.engines))
    if place.corpora or place.configured:
        table.add_row("corpora", _names(place.corpora))
    if place.configured:
        table.add_row("last verdict", _verdict(place.verdict))
        pending = f"{place.waiting:,} to judge or review" if place.waiting else "nothing"
        table.add_row("pending", pending)
    lines: list[RenderableType] = [Text.assemble("Assay in ", (place.folder, "bold"))]
    if place.problem:
        lines.append(Text(place.problem, style="red"))
    elif not place.configured and not place.corpora:
        lines.append(Text("No project here yet."))
    lines += [table] if table.row_count else []
    lines += [Text(), Text.assemble("next: ", (" or ".join(place.next), "cyan"))]
    return Group(*lines, Text("all commands: assay --help", style="dim"))


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_MEMBERS} more" if len(names) > SHOWN_MEMBERS else ""
    return ", ".join(names[:SHOWN_MEMBERS]) + more if names else "none"


def _verdict(verdict: LastVerdict | None) -> Text:
    if verdict is None:
        return Text("none yet")
    shown = STATUS.get(verdict.status, verdict.status), STYLES.get(verdict.status, "")
    return Text.assemble(shown, f", {verdict.at:%Y-%m-%d %H:%M} UTC, {verdict.results}")


# ── public benchmarks ─────────────────────────────────────────────────────────────────────────────


def benchmark_list(rows: Sequence[BenchmarkCard]) -> RenderableType:
    return plain_table(rows, ("name", "title", "language", "licence", "size"))


def benchmark_report(report: BenchmarkReport) -> RenderableType:
    """The scores of an engine on a benchmark, and those of others."""
    numbers = Numbers(Words("en"))
    table = headed_table("measure", right=("value", "95% interval", "published"))
    for score in report.scores:
        others = "\n".join(
            f"{each.value:.3f} {each.system} ({each.source}, {each.date})"
            for each in score.published
        )
        span = numbers.span((score.low, score.high))
        table.add_row(score.measure, numbers.decimal(score.value), span, others)
    documents = f", {counted(report.documents, 'document')}" if report.documents else ""
    head = f"{report.engine} on {report.card.title}: {counted(report.queries, 'query')}{documents}"
    return Group(
        Text(head), table, Text(f"Licence: {report.card.licence}. {report.card.home}", style="dim")
    )
