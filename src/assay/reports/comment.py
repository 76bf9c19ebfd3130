"""A pull-request comment: the verdict, the measure that decides, what broke, what to judge.

Ids only, unless texts are asked for: a query may be a client's. The first line is a mark by which
the next comment finds this one and replaces it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from assay.core.results import Bounds, Results, Status
from assay.evaluation.comparison import Comparison, Moved
from assay.reports.markdown import marked
from assay.reports.numbers import Numbers, p_value, signed
from assay.reports.shapes import ComparisonAnswer, ReportFigure, ReportView
from assay.reports.view import failed_musts, view
from assay.reports.wording import Sentences, answers, caveats, headlines, is_golden
from assay.reports.words import Words

MARK = "<!-- assay -->"
BROKEN = 3  # queries
DOCUMENTS = 3  # that entered or left the top of a query
PAIRS = 5  # to judge
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
LETTERS = 60  # of the text of a query
SOMEBODY = "that judge"


@dataclass(frozen=True, kw_only=True)
class CommentedRun:
    """An engine on a gold set: its results, and what is different from the baseline; or the error
    that stopped it."""

    gold: str
    engine: str
    results: Results | None
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
    """What a pass leaves in doubt, which the table names the engine of."""
    doubts = [_but(pair.results) for pair in pairs if pair.results is not None]
    found = [doubt for doubt in doubts if doubt]
    return found[0] if _worst(pairs) == NAMES["pass"] and found else ""


def _but(results: Results) -> str:
    """What keeps a pass from being a yes: the pages say it in their headline."""
    verdict = results.verdict
    if verdict is None or verdict.status != "pass":
        return ""
    if musts := len(failed_musts(results)):
        return f", but {musts} MUST {'fails' if musts == 1 else 'fail'}"
    return ", depending on one judge" if verdict.one_judge else ""


def _row(pair: CommentedRun) -> str:
    names = f"| {marked(pair.gold)} | {marked(pair.engine)} |"
    if pair.results is None:
        return f"{names} ERROR | – | – |"
    report = view(pair.results)
    verdict, figure = f"{NAMES[report.status]}{_but(pair.results)}", _deciding(report)
    if figure is None or figure.value is None:
        return f"{names} {verdict} | – | – |"
    numbers, (low, high) = Numbers(Words("en")), figure.bounds
    if report.kind == "golden":
        between = "" if low is None or high is None else f" ({numbers.percents((low, high))})"
        value = f"{figure.title} {numbers.figure(figure.key, figure.value)}{between}"
    else:
        value = f"{figure.title} {figure.value:.3f}{_between(figure.bounds)}"
    asked = "questions" if report.kind == "golden" else "queries"
    change = _change(report, figure, _answer(pair))
    return f"{names} {verdict} | {marked(f'{value}, {report.n} {asked}')} | {change} |"


def _answer(pair: CommentedRun) -> ComparisonAnswer | None:
    """Whether it is better than the baseline."""
    if pair.comparison is None:
        return None
    return next(answers(pair.comparison, Sentences(Words("en"))), None)


def _deciding(report: ReportView) -> ReportFigure | None:
    found = (report.figure(key) for key in DECIDING)
    return next((figure for figure in found if figure), next(iter(report.figures), None))


def _between(bounds: Bounds, form: str = ".3f") -> str:
    low, high = bounds
    return "" if low is None or high is None else f" ({low:{form}} to {high:{form}})"


def _change(report: ReportView, figure: ReportFigure, answer: ComparisonAnswer | None) -> str:
    baseline, stale = report.baseline, _stale(report)
    if baseline is None or figure.key not in baseline.delta:
        return stale or "–"
    asked = "questions" if report.kind == "golden" else "queries"
    over = f"{baseline.n} {asked} judged alike: {stale}" if stale else f"{baseline.n} {asked}"
    said = f"**{FOUND[answer.verdict]}**: " if answer is not None else ""
    p = f", p {p_value(baseline.p[figure.key])}" if figure.key in baseline.p else ""
    low, high = baseline.intervals.get(figure.key, (None, None))
    between = (
        "" if low is None or high is None else f" ({_moved(report, low)} to {_moved(report, high)})"
    )
    change = _moved(report, baseline.delta[figure.key])
    unit = " points" if report.kind == "golden" else ""
    return f"{said}{change}{unit}{between}{p}, {over}"


def _moved(report: ReportView, change: float) -> str:
    """A pass rate moves in points, as on the pages."""
    return signed(100 * change, 1) if report.kind == "golden" else signed(change)


def _stale(report: ReportView) -> str:
    """Why the baseline is not of the same, in words: whoever reads a comment has no use for
    fingerprints."""
    told = [words for mark, words in STALE.items() if mark in report.stale]
    return ", and ".join(told) or marked(report.stale)


# ── what to look at ───────────────────────────────────────────────────────────────────────────────


def _details(pair: CommentedRun, texts: bool) -> Iterator[str]:
    if pair.error:
        yield f"The engine failed: {marked(pair.error)}"
    if pair.results is None:
        return
    report = view(_unnamed(pair.results))
    for check in report.checks:
        if check.status != "pass" and check.counts:
            yield f"- {NAMES[check.status]}: {marked(check.message)}"
    if report.proviso:
        yield f"- {marked(report.proviso)}"
    if report.intervals_note:
        yield f"- {marked(report.intervals_note)}"
    if pair.comparison is not None:
        yield from _doubtful(pair)
        yield from _broken(pair.comparison, texts)
    if report.judge_next:
        asked = "; ".join(f"`{_code(q)}` `{_code(d)}`" for q, d in report.judge_next[:PAIRS])
        more = len(report.judge_next) - PAIRS
        few = "Too few results are judged to predict the rest. Judge first"
        first = few if report.judge_first else "Judge next"
        yield f"- {first}: {asked}" + (f"; {more} more" if more > 0 else "")


def _unnamed(results: Results) -> Results:
    """A comment may be read by everybody, and names no judge."""
    verdict = results.verdict
    if verdict is None or verdict.one_judge is None:
        return results
    somebody = msgspec.structs.replace(verdict.one_judge, judge=SOMEBODY)
    unnamed = msgspec.structs.replace(verdict, one_judge=somebody)
    return msgspec.structs.replace(results, verdict=unnamed)


def _doubtful(pair: CommentedRun) -> Iterator[str]:
    """The whole answer where one word and the interval beside it would mislead: a change that is
    proven on these queries alone, or a loss that a pass hides."""
    answer, comparison = _answer(pair), pair.comparison
    if answer is None or comparison is None:
        return
    tell, head = Sentences(Words("en")), headlines(comparison)[0]
    if caveats(head, comparison, tell):
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


def _documents(moved: Moved, *, graded: bool) -> str:
    said = []
    for verb, documents in (("in", moved.entered), ("out", moved.left)):
        shown = ", ".join(
            f"`{_code(doc_id)}`"
            + (f" ({'unjudged' if grade is None else grade})" if graded else "")
            for doc_id, grade in documents[:DOCUMENTS]
        )
        said += [f"{verb} {shown}"] if shown else []
    return f"; {'; '.join(said)}" if said else ""


def _code(name: str) -> str:
    """An id between backticks, which it cannot close."""
    return name.replace("`", "'").replace("\n", " ")
