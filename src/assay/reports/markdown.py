"""A report as Markdown: short for a pull request, whole for the folder of evaluation reports.

The tables of a graded set are the measures of the short one (`_Graded._figures`), and, in the whole
one, the same for all queries and for each slice (`_Graded._by_measure`). Those of a golden set are
its figures (`_Golden._measures`), its gates (`_gates`), each slice (`_slice`) and its variants
(`_robustness`), all drawn by `_table`.

The comment on a pull request has the verdict, the measure that decides, what broke and what to
judge. It has ids only, unless texts are asked for: a query may be a client's. Its first line is a
mark by which the next comment finds this one and replaces it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from assay.core.results import AnswerResults, Bounds, Results, RobustnessRow, Status
from assay.reports.numbers import COUNTS, Numbers, p_value, signed
from assay.reports.shapes import (
    CheckLine,
    ComparisonAnswer,
    FigureChange,
    ReportFigure,
    ReportView,
    SliceTable,
    TurnedQuestion,
)
from assay.reports.view import failed_musts, failed_questions, machine_block, view
from assay.reports.wording import Sentences, answers, caveats, headlines, inline, is_golden
from assay.reports.words import Words

if TYPE_CHECKING:
    from assay.evaluation.comparison import Comparison, MovedQuery

SHOWN_PAIRS = 5  # of the judgments that would settle a verdict; taste
SHOWN_MOVED = 5  # of the queries that moved most; taste

Lines = Iterator[str]


def render(report: ReportView) -> str:
    """The report of a graded set, short enough for a pull-request comment, or the whole report of a
    golden set."""
    if report.kind == "golden":
        return evaluation(report)
    return _document(_Graded(report).brief(), report)


def evaluation(report: ReportView) -> str:
    """The report that goes with a change: every measure overall and by slice, each with its change
    against the baseline; of a golden set also the gates and what failed."""
    if report.kind == "golden":
        return _document(_Golden(report).lines(), report)
    return _document(_Graded(report).evaluation(), report)


def _document(lines: Iterable[str], report: ReportView) -> str:
    text = "\n".join(lines).rstrip() + "\n"
    direction = Words(report.language).direction
    return text if direction == "ltr" else f'<div dir="{direction}">\n\n{text}\n</div>\n'


def marked(text: str) -> str:
    """Text inside Markdown: what an id or a name holds is shown, not obeyed."""
    escaped = re.sub(r"([\\`*\[\]|])", r"\\\1", text.replace("\n", " "))
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


class _Graded:
    """The two documents on a graded set."""

    def __init__(self, report: ReportView) -> None:
        self.report = report
        self.say = Words(report.language)
        self.numbers = Numbers(self.say)

    # ── for a pull request ────────────────────────────────────────────────────────────────────────

    def brief(self) -> Lines:
        report, say = self.report, self.say
        status = f"{say(f'statuses.{report.status}')}: " if report.status else ""
        yield f"### {status}{marked(say('on_gold', engine=report.engine, gold=report.gold.name))}"
        yield from ("", f"{self._scored()}.", "")
        if report.standing:
            yield from (say("gold_set_is", standing=report.standing), "")
        yield from self._gates()
        if report.stale:
            yield from (say("stale_brief", why=report.stale), "")
        yield from self._figures()
        for note in filter(None, (report.intervals_note, report.thresholds)):
            yield from ("", marked(note))
        yield from self._machine("####")
        yield from self._comparison()

    def _scored(self) -> str:
        counts = self.report.counts
        return self.say("scored", scored=counts["n_scored"], expected=counts["n_expected"])

    def _gates(self) -> Lines:
        if self.report.status is None:
            return
        for check in self.report.checks:
            yield f"- **{self.say(f'statuses.{check.status}')}** {marked(check.message)}"
        yield ""
        if self.report.proviso:
            yield from (f"**{self.report.proviso}**", "")
        yield from self._settling()

    def _settling(self) -> Lines:
        """One line on what would settle an inconclusive verdict."""
        pairs = self.report.judge_next
        if pairs is None:
            return
        if not pairs:
            yield from (self.say("more_queries"), "")
            return
        shown = ", ".join(marked(f"{query} {doc}") for query, doc in pairs[:SHOWN_PAIRS])
        if len(pairs) > SHOWN_PAIRS:
            shown += f" {self.say('and_more', n=len(pairs) - SHOWN_PAIRS)}"
        first = self.report.judge_first
        yield from (f"{Sentences(self.say).to_judge(len(pairs), shown, first=first)}.", "")

    def _figures(self) -> Lines:
        say, with_change = self.say, self.report.has_change
        head = [say("measure"), say("value"), say("interval")]
        head += [say("vs_baseline")] if with_change else []
        yield f"| {' | '.join(head)} |"
        yield "|---|" + "---:|" * (len(head) - 1)
        for figure in self.report.figures:
            cells = [figure.title, self.numbers.decimal(figure.value)]
            cells.append(self.numbers.span(figure.bounds))
            cells += [self.numbers.signed(figure.change)] if with_change else []
            yield f"| {' | '.join(cells)} |"

    def _machine(self, level: str) -> Lines:
        if self.report.machine_estimate is None:
            return
        block = machine_block(self.report, self.report.machine_estimate)
        yield from ("", f"{level} {block.title}", "", marked(block.lead), "")
        yield from _table(block.head, block.rows)
        for note in (*block.notes, *block.doubts):
            yield from ("", marked(note))

    def _comparison(self) -> Lines:
        comparison, say = self.report.comparison, self.say
        if comparison is None:
            return
        yield ""
        for answer in self.report.answers:
            yield f"**{marked(answer.text)}.** {answer.change}"
            for note in answer.notes:
                yield from ("", marked(note))
        for warning in self.report.warnings:
            yield from ("", f"**{marked(warning)}**")
        before = marked(comparison.baseline)
        yield from ("", say("moved_brief", baseline=before, measure=comparison.headline), "")
        for row in comparison.moved[:SHOWN_MOVED]:
            yield f"- {marked(row.query_id)} {self.numbers.signed(row.value - row.baseline)}"

    # ── for the folder of reports ─────────────────────────────────────────────────────────────────

    def evaluation(self) -> Lines:
        report, say = self.report, self.say
        day, gold = report.timestamp[:10], report.gold
        yield f"# {say('evaluation_of', day=day, engine=report.engine, gold=gold.name)}"
        yield ""
        if report.standing:
            yield from (f"**{say('gold_set_is', standing=report.standing)}**", "")
        yield from (f"{self._scored()}{self._unscored()}.", "")
        yield from (self._baseline(), "")
        yield from (f"## {say('overall')}", "")
        yield from self._by_measure([(say("overall"), report.n, report.figures)])
        for part in report.slices:
            yield from ("", f"## {part.title}", "")
            yield from self._by_measure([(row.name, row.n, row.figures) for row in part.rows])
        for note in filter(None, (report.intervals_note, report.thresholds)):
            yield from ("", marked(note))
        if report.baseline:
            yield from ("", say("in_brackets"))
        yield from self._machine("##")
        git = report.receipt.git
        commit = say("made_at", commit=git.commit[:12]) if git else ""
        yield from ("", say("made_from", fingerprint=gold.fingerprint[:12]) + f"{commit}.")

    def _unscored(self) -> str:
        counts = self.report.counts
        lacking = {"evaluation_failed": "n_failed", "evaluation_missing": "n_missing"}
        return "".join(self.say(key, n=n) for key, name in lacking.items() if (n := counts[name]))

    def _baseline(self) -> str:
        baseline, say = self.report.baseline, self.say
        if baseline is None:
            return say("no_baseline")
        text = say("baseline_line", path=baseline.path)
        recorded = baseline.recorded
        if recorded and recorded.at:
            text += say("recorded", day=recorded.at[:10], by=recorded.by)
        text += f" ({recorded.why})" if recorded and recorded.why else ""
        if baseline.gold_status:
            text += f", {say.named('standings', baseline.gold_status)}"
        stale = say("is_stale", why=self.report.stale) if self.report.stale else ""
        return f"{text}.{stale}{Sentences(say).since(baseline, self.report.titles)}"

    def _by_measure(self, rows: Sequence[tuple[str, int, Sequence[ReportFigure]]]) -> Lines:
        """A column for every measure, a row for all queries or for a slice of them."""
        titles = [figure.title for figure in self.report.figures]
        yield f"| | n | {' | '.join(titles)} |"
        yield "|---|---:|" + "---:|" * len(titles)
        for name, n, figures in rows:
            yield f"| {marked(name)} | {n} | {' | '.join(map(self._with_change, figures))} |"

    def _with_change(self, figure: ReportFigure) -> str:
        value = self.numbers.decimal(figure.value)
        change = figure.change
        return value if change is None else f"{value} ({self.numbers.signed(change)})"


class _Golden:
    """The report on a golden set."""

    def __init__(self, report: ReportView) -> None:
        self.report = report
        self.words = Words(report.language)
        self.numbers = Numbers(self.words)
        self.failed = failed_questions(report)

    def say(self, key: str, **facts: object) -> str:
        return self.words(f"golden.{key}", **facts)

    def lines(self) -> Lines:
        yield from self._head()
        yield from self._findings()
        yield from self._changes()
        yield from self._measures()
        yield from self._gates()
        for part in self.report.slices:
            yield from self._slice(part)
        yield from self._robustness()
        yield from self._failures()
        yield from self._failed_variants()

    def _head(self) -> Lines:
        report = self.report
        yield from (f"# {self.say('title')}", "")
        if report.checks:
            yield from (f"**{self._verdict()}**", "")
        if report.proviso:
            yield from (f"**{report.proviso}**", "")
        time = self.numbers.moment(report.timestamp)
        about = {"engine": report.engine, "set": report.gold.name, "time": time}
        for key, value in about.items():
            if value:
                yield f"- {self.say(key)}: {value}"
        total = len(report.queries) - report.variants
        passed = total - len(self.failed)
        yield f"- {self.say('questions')}: {total}, {passed} {self.say('passed')}"
        if report.variants:
            yield f"- {self.say('variants', n=report.variants)}"

    def _verdict(self) -> str:
        """The gates in one line: what failed first, then what is open."""
        failed = self._gate_names("fail")
        open_ = self._gate_names("inconclusive")
        unmeasured = ", ".join(check.name for check in self.report.checks if not check.counts)
        if failed:
            words = self.say("verdict_fail", names=failed)
            words += f" ({self.say('also_inconclusive', names=open_)})" if open_ else ""
        elif open_:
            words = self.say("verdict_inconclusive", names=open_)
        else:
            words = self.say("verdict_pass" if self._gate_names("pass") else "verdict_none")
        if not unmeasured:
            return words
        return f"{words} ({self.say('not_measured', names=unmeasured)})"

    def _gate_names(self, status: str) -> str:
        checks = self.report.checks
        return ", ".join(check.name for check in checks if check.status == status and check.counts)

    def _findings(self) -> Lines:
        """The findings on the set from before the run."""
        findings = self.report.findings
        if findings:
            lines = (f"- {where}: {inline(message)}" for where, message in findings)
            yield from _section(self.say("findings"), lines)

    def _changes(self) -> Lines:
        """The broken and repaired questions against other results."""
        changes = self.report.changes
        if changes is None:
            return
        notes = [f"- {'; '.join(changes.warnings)}"] if changes.warnings else []
        yield from _section(self.say("changes", name=changes.baseline), notes)
        for answer in self.report.answers:
            text = " ".join(marked(each) for each in (answer.change, *answer.notes))
            yield f"- **{marked(answer.text)}.** {text}"
        for rate in changes.figures:
            yield f"- {rate.name}: {self._moved(rate)}"
        yield f"- {self.say('both_fail', n=changes.both_fail)}"
        if changes.not_compared:
            yield f"- {self.say('not_compared', names=', '.join(changes.not_compared))}"
        if changes.variants:
            broke, repaired = changes.variants
            yield f"- {self.say('variants_changed', broke=broke, repaired=repaired)}"
        yield from self._turned_questions("broke", changes.broke)
        yield from self._turned_questions("repaired", changes.repaired)

    def _moved(self, rate: FigureChange) -> str:
        before, now = (self.numbers.figure(rate.key, value) for value in (rate.before, rate.now))
        change = self.numbers.change(rate.key, rate.now - rate.before, "+")
        return f"{before} {self.words('arrow')} {now} ({change})"

    def _turned_questions(self, kind: str, questions: Sequence[TurnedQuestion]) -> Lines:
        is_repair, arrow = kind == "repaired", f" {self.words('arrow')} "
        yield from ("", f"### {self.say(kind)}: {len(questions)}", *([""] if questions else []))
        for question in questions:
            reason = question.before if is_repair else question.now
            yield f"- **{question.query_id}** [{_need(question.must)}] {inline(question.text)}"
            yield f"  - {self.say('was' if is_repair else 'why')}: {reason}"
            if question.expects_hits:
                places = (question.stood_before, question.stood_now)
                yield f"  - {self.say('stood')}: {arrow.join(places)}"

    def _measures(self) -> Lines:
        with_change = self.report.has_change
        rows = []
        for figure in self.report.figures:
            if figure.key in COUNTS:
                continue
            row = [figure.name, self.numbers.figure(figure.key, figure.value)]
            row.append(self._bounds(figure.key, figure.bounds))
            row += [self.numbers.change(figure.key, figure.change, "+")] if with_change else []
            rows.append([*row, "" if figure.n is None else str(figure.n)])
        head = [self.say("measure"), self.say("value"), self.say("interval")]
        head += [self.say("delta")] if with_change else []
        yield from _section(self.say("measures"), _table([*head, "n"], rows))
        if self.report.intervals_note:
            yield from ("", marked(self.report.intervals_note))

    def _bounds(self, key: str, bounds: Bounds) -> str:
        if not bounds or bounds[0] is None or bounds[1] is None:
            return ""
        return f"{self.numbers.figure(key, bounds[0])} – {self.numbers.figure(key, bounds[1])}"

    def _gates(self) -> Lines:
        if self.report.checks:
            head = [self.say(key) for key in ("gate", "measure", "value", "limit", "status")]
            rows = [self._gate(check) for check in self.report.checks]
            yield from _section(self.say("gates"), _table(head, rows))

    def _gate(self, check: CheckLine) -> list[str]:
        status = "unmeasured" if not check.counts else check.status
        value = self.numbers.figure(check.key, check.value)
        return [check.name, check.measure, value, check.limit, self.say(status)]

    def _slice(self, part: SliceTable) -> Lines:
        rows = []
        for row in part.rows:
            passed, must, mrr = row.figures
            cells = [row.name, str(row.n), self.numbers.figure(passed.key, passed.value)]
            cells.append(self._bounds(passed.key, passed.bounds))
            cells += [self.numbers.figure(figure.key, figure.value) for figure in (must, mrr)]
            rows.append(cells)
        head = [self.say("name"), "n", self.say("rate"), self.say("interval"), "MUST", "MRR@k"]
        yield from _section(self.say(f"by_{part.kind}"), _table(head, rows))

    def _robustness(self) -> Lines:
        robustness = self.report.robustness
        if robustness is None:
            return
        named = [
            (self.words.perturbation(name), row) for name, row in robustness.by_perturbation.items()
        ]
        every = [*named, (self.say("every"), robustness.overall)]
        head = [self.say("perturbation"), "n", self.say("rate"), self.say("interval")]
        head += [self.say("parent"), self.say("drop")]
        rows = [self._variants(name, row) for name, row in every]
        yield from _section(self.say("robustness"), _table(head, rows))
        worst = [
            f"{self.words.perturbation(name)} "
            f"{self.numbers.change('rate', robustness.by_family[name].drop)}"
            for name in robustness.worst_families
        ]
        broken = robustness.broken_by_parent
        fragile = [f"{name} ({broken[name]})" for name in robustness.worst_parents]
        for key, names in (("worst", worst), ("fragile", fragile)):
            if names:
                yield ""
                # '%-yks.' ends the sentence too
                yield self.say(key, names=", ".join(names).removesuffix("."))

    def _variants(self, name: str, row: RobustnessRow) -> list[str]:
        rate = self.numbers.figure("rate", row.pass_rate)
        parents = self.numbers.figure("rate", row.parent_pass_rate)
        drop = self.numbers.change("rate", row.drop)
        return [name, str(row.n), rate, self._bounds("rate", (row.low, row.high)), parents, drop]

    def _failures(self) -> Lines:
        none = [] if self.failed else [self.say("no_failures")]
        yield from _section(f"{self.say('failures')}: {len(self.failed)}", none)
        for question in self.failed:
            outcome = question.outcome
            assert outcome is not None
            yield f"- **{question.query_id}** [{_need(outcome.entry.must)}] {inline(question.text)}"
            yield f"  - {self.say('why')}: {question.reason}"
            yield f"  - {self.say('expected')}: {outcome.expected}"
            yield f"  - {self.say('instead')}: {outcome.came_first}"
            if outcome.entry.expected_any:
                yield f"  - {self.say('stood')}: {outcome.stood}"

    def _failed_variants(self) -> Lines:
        variants = failed_questions(self.report, variants=True)
        if variants:
            yield from _section(f"{self.say('failed_variants')}: {len(variants)}", ())
        for question in variants:
            yield f"- **{question.query_id}** {inline(question.text)}: {question.reason}"


def _need(must: bool) -> str:
    return "MUST" if must else "SHOULD"


def _section(title: str, lines: Iterable[str]) -> Lines:
    yield from ("", f"## {title}", "")
    yield from lines


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Lines:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(inline(cell).replace('|', chr(92) + '|') for cell in row)} |"


# ── the comment on a pull request ─────────────────────────────────────────────────────────────────


MARK = "<!-- assay -->"
BROKEN = 3  # queries; taste
DOCUMENTS = 3  # that entered or left the top of a query; taste
PAIRS = 5  # to judge; taste
NAMES: dict[Status | None, str] = {
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "pass": "PASS",
    None: "no gate",
}
FOUND: dict[str, str] = {
    "better": "better",
    "worse": "worse",
    "probably better": "probably better",
    "probably worse": "probably worse",
    "open": "inconclusive",
    "not significant": "not significant",
    "": "not significant",
}
STALE = {
    "different gold sets": "the set has changed since the baseline",
    "different corpora": "the baseline searched other documents",
}
WORST_FIRST: tuple[Status, ...] = ("fail", "inconclusive", "pass")
DECIDING = ("ndcg@10", "pass_rate_total")
LETTERS = 60  # of the text of a query; taste
SOMEBODY = "that judge"


@dataclass(frozen=True, kw_only=True)
class CommentedRun:
    """An engine on a gold set, or a system that wrote a file of answers: its results, and what is
    different from the baseline; or the error that stopped it."""

    gold: str
    engine: str
    results: Results | AnswerResults | None
    comparison: Comparison | None = None
    error: str = ""


def comment(pairs: Sequence[CommentedRun], *, texts: bool = False) -> str:
    lines = [MARK, f"### Assay: {_worst(pairs)}{_all_the_same(pairs)}", ""]
    lines += ["| set | engine | verdict | decides | change |", "|---|---|---|---|---|"]
    lines += [_row(pair) for pair in pairs]
    for pair in pairs:
        if details := list(_details(pair, texts)):
            lines += ["", f"**{marked(pair.engine)} on {marked(pair.gold)}**", "", *details]
    return "\n".join(lines) + "\n"


def _worst(pairs: Sequence[CommentedRun]) -> str:
    if any(pair.error for pair in pairs):
        return "ERROR"
    statuses = {
        pair.results.verdict.status
        for pair in pairs
        if pair.results is not None and pair.results.verdict is not None
    }
    return next((NAMES[status] for status in WORST_FIRST if status in statuses), NAMES[None])


def _all_the_same(pairs: Sequence[CommentedRun]) -> str:
    """The doubt to name beside a pass of all runs; empty if there is none."""
    doubts = [_caveat_of_pass(pair.results) for pair in pairs if pair.results is not None]
    found = [doubt for doubt in doubts if doubt]
    return found[0] if _worst(pairs) == NAMES["pass"] and found else ""


def _caveat_of_pass(results: Results | AnswerResults) -> str:
    """The reason why a pass is not a plain yes, as in the headline of the pages."""
    verdict = results.verdict
    if verdict is None or verdict.status != "pass" or isinstance(results, AnswerResults):
        return ""
    if musts := len(failed_musts(results)):
        return f", but {musts} MUST {'fails' if musts == 1 else 'fail'}"
    return ", depending on one judge" if verdict.one_judge else ""


def _row(pair: CommentedRun) -> str:
    names = f"| {marked(pair.gold)} | {marked(pair.engine)} |"
    if pair.results is None:
        return f"{names} ERROR | – | – |"
    if isinstance(pair.results, AnswerResults):
        from assay.reports.answers import headline

        status = pair.results.verdict.status if pair.results.verdict else None
        return f"{names} {NAMES[status]} | {marked(headline(pair.results))} | – |"
    report = view(pair.results)
    verdict, figure = f"{NAMES[report.status]}{_caveat_of_pass(pair.results)}", _main_figure(report)
    if figure is None or figure.value is None:
        return f"{names} {verdict} | – | – |"
    numbers, (low, high) = Numbers(Words("en")), figure.bounds
    if report.kind == "golden":
        between = "" if low is None or high is None else f" ({numbers.percents((low, high))})"
        value = f"{figure.title} {numbers.figure(figure.key, figure.value)}{between}"
    else:
        value = f"{figure.title} {figure.value:.3f}{_interval(figure.bounds)}"
    asked = "questions" if report.kind == "golden" else "queries"
    change = _change(report, figure, _answer(pair))
    return f"{names} {verdict} | {marked(f'{value}, {report.n} {asked}')} | {change} |"


def _answer(pair: CommentedRun) -> ComparisonAnswer | None:
    """Whether it is better than the baseline."""
    if pair.comparison is None:
        return None
    return next(answers(pair.comparison, Sentences(Words("en"))), None)


def _main_figure(report: ReportView) -> ReportFigure | None:
    found = (report.figure(key) for key in DECIDING)
    return next((figure for figure in found if figure), next(iter(report.figures), None))


def _interval(bounds: Bounds, form: str = ".3f") -> str:
    low, high = bounds
    return "" if low is None or high is None else f" ({low:{form}} to {high:{form}})"


def _change(report: ReportView, figure: ReportFigure, answer: ComparisonAnswer | None) -> str:
    baseline, stale = report.baseline, _stale(report)
    if baseline is None or figure.key not in baseline.delta:
        return stale or "–"
    asked = "questions" if report.kind == "golden" else "queries"
    over = f"{baseline.n} {asked} judged alike: {stale}" if stale else f"{baseline.n} {asked}"
    lead = f"**{FOUND[answer.verdict]}**: " if answer is not None else ""
    p = f", p {p_value(baseline.p[figure.key])}" if figure.key in baseline.p else ""
    low, high = baseline.intervals.get(figure.key, (None, None))
    between = (
        "" if low is None or high is None else f" ({_moved(report, low)} to {_moved(report, high)})"
    )
    change = _moved(report, baseline.delta[figure.key])
    unit = " points" if report.kind == "golden" else ""
    return f"{lead}{change}{unit}{between}{p}, {over}"


def _moved(report: ReportView, change: float) -> str:
    """A pass rate moves in points, as on the pages."""
    return signed(100 * change, 1) if report.kind == "golden" else signed(change)


def _stale(report: ReportView) -> str:
    """The reason why the baseline differs, in words instead of fingerprints."""
    reasons = [words for mark, words in STALE.items() if mark in report.stale]
    return ", and ".join(reasons) or marked(report.stale)


# ── what to look at ───────────────────────────────────────────────────────────────────────────────


def _details(pair: CommentedRun, texts: bool) -> Iterator[str]:
    if pair.error:
        yield f"The engine failed: {marked(pair.error)}"
    if pair.results is None:
        return
    if isinstance(pair.results, AnswerResults):
        yield from _faulty(pair.results, texts)
        return
    report = view(_without_names(pair.results))
    for check in report.checks:
        if check.status != "pass" and check.counts:
            yield f"- {NAMES[check.status]}: {marked(check.message)}"
    if report.proviso:
        yield f"- {marked(report.proviso)}"
    if report.intervals_note:
        yield f"- {marked(report.intervals_note)}"
    if pair.comparison is not None:
        yield from _doubt_lines(pair)
        yield from _broken(pair.comparison, texts)
    if report.judge_next:
        asked = "; ".join(f"`{_code(q)}` `{_code(d)}`" for q, d in report.judge_next[:PAIRS])
        more = len(report.judge_next) - PAIRS
        few = "Too few results are judged to predict the rest. Judge first"
        first = few if report.judge_first else "Judge next"
        yield f"- {first}: {asked}" + (f"; {more} more" if more > 0 else "")


def _faulty(results: AnswerResults, texts: bool) -> Iterator[str]:
    """How much was not checked, the gates that do not pass, and the first answers with faults."""
    from assay.answers.measures import faults_of
    from assay.reports.answers import coverage_line

    words = Words("en")
    yield f"- {marked(coverage_line(results, words))}"
    for check in results.verdict.checks if results.verdict else ():
        if check.status != "pass":
            yield f"- {NAMES[check.status]}: {marked(check.message)}"
    faults = faults_of(results)
    for id, notes in list(faults.items())[:BROKEN]:
        lines = [
            words(f"answers.fault_{note.value}")
            + (f" “{marked(note.text[:LETTERS])}”" if texts and note.text else "")
            for note in notes
        ]
        yield f"- `{_code(id)}`: {'; '.join(dict.fromkeys(lines))}"
    if len(faults) > BROKEN:
        yield f"- {len(faults) - BROKEN} more answers with faults"


def _without_names(results: Results) -> Results:
    """A comment may be read by everybody, and names no judge."""
    verdict = results.verdict
    if verdict is None or verdict.one_judge is None:
        return results
    somebody = msgspec.structs.replace(verdict.one_judge, judge=SOMEBODY)
    unnamed = msgspec.structs.replace(verdict, one_judge=somebody)
    return msgspec.structs.replace(results, verdict=unnamed)


def _doubt_lines(pair: CommentedRun) -> Iterator[str]:
    """The whole answer where one word and the interval beside it would mislead: a change that is
    proven on these queries alone, or a loss that a pass hides."""
    answer, comparison = _answer(pair), pair.comparison
    if answer is None or comparison is None:
        return
    sentences, head = Sentences(Words("en")), headlines(comparison)[0]
    if caveats(head, comparison, sentences):
        yield f"- {marked(answer.text)}."


def _broken(comparison: Comparison, texts: bool) -> Iterator[str]:
    worse = sorted(
        (moved for moved in comparison.moved if moved.value < moved.baseline),
        key=lambda moved: moved.value - moved.baseline,
    )
    for moved in worse[:BROKEN]:
        text = f" {marked(moved.query_text[:LETTERS])}" if texts and moved.query_text else ""
        yield (
            f"- `{_code(moved.query_id)}`{text}: {moved.baseline:.2f} to {moved.value:.2f}"
            f"{_documents(moved, graded=not is_golden(comparison))}"
        )


def _documents(moved: MovedQuery, *, graded: bool) -> str:
    sentences = []
    for verb, documents in (("in", moved.entered), ("out", moved.left)):
        shown = ", ".join(
            f"`{_code(doc_id)}`"
            + (f" ({'unjudged' if grade is None else grade})" if graded else "")
            for doc_id, grade in documents[:DOCUMENTS]
        )
        sentences += [f"{verb} {shown}"] if shown else []
    return f"; {'; '.join(sentences)}" if sentences else ""


def _code(name: str) -> str:
    """An id between backticks, which it cannot close."""
    return name.replace("`", "'").replace("\n", " ")
