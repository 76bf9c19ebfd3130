"""The pages that decide: Home, the list of runs, one run, two runs compared, a sweep over settings.
A page and its JSON call share a handler; runs are started in `start_pages`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from datetime import datetime
from functools import cache, partial
from typing import Literal
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import AssayError, InputError, NotHere
from assay.core.results import BOUNDS, DROPS, Results, Verdict
from assay.core.types import Page
from assay.reports import ReportView, render, shapes, tuning, view
from assay.reports import answers as answer_reports
from assay.reports.drawings import (
    ChartLine,
    ChartPoint,
    change_mark,
    range_mark,
    rank_moves,
    swatch,
    time_chart,
)
from assay.reports.numbers import Numbers, is_rate
from assay.reports.shapes import CheckLine
from assay.reports.wording import (
    BESIDE,
    Sentences,
    as_sentence,
    gold_change,
    hidden_loss,
    more_queries,
    pool_advice,
    risk_in_words,
)
from assay.reports.words import Words
from assay.web.access import GET, POST, AppRoute, Refusal, is_chair, page_and_call, user_of
from assay.web.page_frame import (
    ProjectSight,
    is_api,
    json,
    language_for,
    message_of,
    page,
    query,
    sent_as,
    service_of,
    sight,
    wrong_configuration,
)
from assay.workbench.deciding.run_boards import (
    Board,
    RunLine,
    Trend,
    board_of,
    boards,
    line_of,
    run_lines,
    run_page,
    trends_by_set,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.run_comparison import (
    BaselineComparison,
    RunComparison,
    RunToday,
    SliceChange,
    baseline_summary,
    compare_runs,
    compare_with_baseline,
    lead_of,
    pairs_by_votes,
    run_today,
    with_baseline_name,
)
from assay.workbench.deciding.side_by_side import TwoRankings, decisive_documents, two_rankings
from assay.workbench.deciding.single_judge_risk import SingleJudgeRisk, second_judge_asked
from assay.workbench.deciding.tune import SweepState, sweep_state, sweep_states
from assay.workbench.judging.blind import without_rankings
from assay.workbench.judging.vote_totals import SetProgress, rulings_needed, set_progress
from assay.workbench.project.home import Overview, overview, run_risk
from assay.workbench.project.service import (
    Service,
    compute_once,
    path_of_stored_name,
    stored_name,
)
from assay.workbench.scoring.history import (
    ANSWERS,
    StoredAnswers,
    StoredRun,
    latest_answers,
    name_run,
    names_of_runs,
    stored_answers,
    stored_run,
)
from assay.workbench.scoring.report import compared_view
from assay.workbench.scoring.run_queue import RunQueue, choices, engines_again

WORDS = ("judge", "decide")
LINES = 6  # engines that are drawn in a chart; taste


def since(at: datetime, now: datetime) -> tuple[str, int]:
    """(key of the words, how many) of how long ago something was."""
    seconds = max((now - at).total_seconds(), 0.0)
    for key, length in (("days_ago", 86_400), ("hours_ago", 3_600), ("minutes_ago", 60)):
        if seconds >= length:
            return key, int(seconds // length)
    return "minutes_ago", 0


def grade_class(grade: int | None) -> str:
    return "gq" if grade is None else f"g{min(max(grade, 0), 2)}"


def chart_of(board: Board, words: Words) -> object:
    """The tracks of a set in the order of time, drawn once for the same runs."""
    tracks = tuple((track.engine, tuple(track.runs)) for track in board.tracks)
    key = ("chart", board.gold, board.measure, tracks, words.language)
    return compute_once(key, lambda: _draw_board(board, words))


def _draw_board(board: Board, words: Words) -> object:
    numbers = Numbers(words)
    runs_in_order = sorted(
        (line for track in board.tracks for line in track.runs), key=lambda line: (line.at, line.id)
    )
    first = runs_in_order[0].at if runs_in_order else None

    def day(at: datetime) -> str:
        return numbers.day(str(at.date()))

    lines = [
        ChartLine(
            name=track.engine,
            points=[
                ChartPoint(
                    place=(line.at - (first or line.at)).total_seconds(),
                    value=line.value or 0.0,
                    low=line.low,
                    high=line.high,
                    label=f"{line.engine} {day(line.at)}: {numbers.decimal(line.value)}"
                    + ("" if line.low is None else f" ({numbers.span((line.low, line.high))})"),
                    link=f"/runs/{line.id}",
                )
                for line in track.runs
            ],
        )
        for track in board.tracks[:LINES]
    ]
    if not runs_in_order:
        return ""
    name = words.figure(board.measure) if words.has("figures", board.measure) else board.measure
    ends = (day(runs_in_order[0].at), day(runs_in_order[-1].at))
    return time_chart(
        lines,
        label=f"{board.gold}: {name}",
        ends=ends,
        rtl=words.direction == "rtl",
        decimal=words("language.decimal"),
    )


def is_share(key: str) -> bool:
    counted = key == "total" or key.startswith("n_")
    return not counted and not any(part in key for part in ("latency", "score"))


def weakness(line: shapes.ReportQuery) -> tuple[float, str]:
    if line.outcome is not None:  # of those that failed, what must pass comes first
        entry = line.outcome.entry
        return entry.passed + (0.0 if entry.must else 0.5), entry.query_id
    value = line.values.get("ndcg@10", next(iter(line.values.values()), None))
    return (2.0 if value is None else value), line.query_id


class MovedDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """How many documents of B stand higher and lower than in A, are new, and of A are gone."""

    up: int
    down: int
    new: int
    out: int


def moved(rankings: TwoRankings) -> MovedDocuments:
    now = rankings.b.documents
    return MovedDocuments(
        up=sum(placed.moved > 0 for placed in now),
        down=sum(placed.moved < 0 for placed in now),
        new=sum(placed.other_rank is None for placed in now),
        out=sum(placed.other_rank is None for placed in rankings.a.documents),
    )


# ── gates ─────────────────────────────────────────────────────────────────────────────────────────


class ShownGate(msgspec.Struct, frozen=True, kw_only=True):
    """A gate as a page shows it: `by_value` where the figure itself decides, whatever its interval
    is, and the share of the top ten that had to be judged first."""

    line: CheckLine
    by_value: bool = False
    min_judged: float | None = None


def checks_of(report: ReportView, verdict: Verdict | None) -> list[ShownGate]:
    checks = verdict.checks if verdict else []
    return [
        ShownGate(
            line=line,
            by_value=report.kind == "graded"
            and check.gate.alpha is None
            and bool(check.gate.stated((*BOUNDS, *DROPS)))
            and check.value is not None
            and "latency" not in check.gate.measure
            and check.gate.measure not in ("errors", "n_failed"),
            min_judged=check.gate.min_judged,
        )
        for line, check in zip(report.checks, checks, strict=True)
    ]


# ── what the templates share ──────────────────────────────────────────────────────────────────────


def decided_page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    words = Words(language_for(request))
    seen: ProjectSight = getattr(request.state, "sight", None) or sight(request)
    service = seen.service
    now = service.clock()
    queue: RunQueue | None = getattr(request.app.state, "run_queue", None)
    is_shown = queue is not None and not seen.blind  # a job names its engine
    going = [job for job in queue.jobs() if not job.is_over] if queue and is_shown else []

    @cache
    def standing_of(name: str) -> SetProgress:
        return set_progress(name, service.gold_sets[name])

    def runs_now(name: str) -> list[str]:
        return [job.engine for job in going if job.gold == name]

    def runs_again(name: str) -> list[str]:
        now = runs_now(name)
        return [engine for engine in engines_again(service, name) if engine not in now]

    def figure_name(key: str) -> str:
        known = words.has("figures", key)
        return words.figure(key) if known else words.named("answers", key)

    def ago(at: datetime) -> tuple[str, int]:
        return since(at, now)

    return page(
        request,
        template,
        status,
        words=WORDS,
        ago=ago,
        grade_class=grade_class,
        sight=seen,
        swatch=swatch,
        mark=range_mark,
        report_words=words,
        failed_musts=Sentences(words).failed_musts,
        is_rate=is_rate,
        figure_name=figure_name,
        short_name=lambda key: words.short(key) if words.has("figures", key) else figure_name(key),
        slice_kind=words.slice_kind,
        quoted=lambda text: quote(text, safe=""),
        lines=LINES,
        is_rows=lambda name: standing_of(name).approved is not None,
        standing_of=standing_of,
        runs_now=runs_now,
        runs_again=runs_again,
        here=f"{request.url.path}?{request.url.query}".rstrip("?"),
        can_start=is_chair(request),
        names={stored_name(service, name): name for name in service.gold_sets},
        snapshots={} if seen.blind else names_of_runs(service),
        **values,
    )


# runs in a list, and queries of a comparison, before the rest is folded away; taste
UNFOLDED_ROWS = 30

_making = threading.Lock()


def queue_of(request: Request) -> RunQueue:
    """The queue of runs of this server, made when it is first needed."""
    state = request.app.state
    with _making:
        if not hasattr(state, "run_queue"):
            state.run_queue = RunQueue(service_of(request))
        queue: RunQueue = state.run_queue
    return queue


# ── home ──────────────────────────────────────────────────────────────────────────────────────────


def home(request: Request) -> Response:
    service = sight(request).service
    contents = overview(service, whole_trail=is_chair(request))
    if request.state.sight.blind:  # what was done with runs names engines
        others = [entry for entry in contents.lately if not entry.action.startswith("run.")]
        contents = msgspec.structs.replace(contents, lately=others)
    if is_api(request):
        return json(contents)
    about = contents.subject or contents.latest
    board = board_of(about.gold, run_lines(service, gold=about.gold)) if about else None
    return decided_page(
        request,
        "home.html",
        complaint=wrong_configuration(request) if is_chair(request) else "",
        seen=contents,
        board=board,
        lead=lead_of(service, board) if board else None,
        chart=chart_of(board, Words(language_for(request))) if board else "",
        second=_second_asked(service, about.gold if about else "", contents.single_judge_risk),
    )


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


class RunsQuery(msgspec.Struct, frozen=True, kw_only=True):
    gold: str = ""
    engine: str = ""
    limit: int = UNFOLDED_ROWS
    offset: int = 0


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a page, the boards of every set among the newest, and what each run did to the
    level of its engine."""

    page: Page[RunLine]
    boards: list[Board]
    trends: list[Trend]
    answers: list[RunLine]  # the newest check of every file of answers
    names: dict[str, str] = {}  # that people gave to runs


def list_runs(request: Request) -> Response:
    parameters, (service, _, blind) = query(request, RunsQuery), sight(request)
    shown = boards(service, gold=parameters.gold)
    trends = (
        {} if blind else trends_by_set(service, gold=parameters.gold)
    )  # commits may name engines
    checked = [] if parameters.gold or parameters.engine else latest_answers(service)
    listed = run_page(
        service,
        gold=parameters.gold,
        engine=parameters.engine,
        limit=parameters.limit,
        offset=max(parameters.offset, 0),
    )
    if is_api(request):
        flat = [trend for of_set in trends.values() for trend in of_set]
        return json(
            Runs(
                page=listed,
                boards=shown,
                trends=flat,
                answers=checked,
                names={} if blind else names_of_runs(service),
            )
        )
    return decided_page(
        request,
        "runs.html",
        asked=parameters,
        boards=[(board, chart_of(board, Words(language_for(request)))) for board in shown],
        lead=lead_of(service, shown[0])
        if shown and not parameters.gold.startswith(ANSWERS)
        else None,
        answers=checked,
        single_judges={
            line.id: found.on.judge
            for board in shown
            for line in (*board.leaders, *board.older)
            if (found := run_risk(service, line))
        },
        trends=trends,
        listed=listed,
        sweeps=[
            (state, tuning.view(state.report, language_for(request)) if state.report else None)
            for state in sweep_states(service.home)
        ],
        choices=choices(service),
        jobs=[job for job in queue_of(request).jobs() if not job.is_over],
        complaint=wrong_configuration(request) if is_chair(request) else "",
    )


class QueryList(msgspec.Struct, frozen=True, kw_only=True):
    """Which queries of a run its page lists: by words, in an order, from a place on."""

    q: str = ""
    sort: Literal["", "best", "text"] = ""  # the weakest first, if nothing is chosen
    offset: int = 0


def _filtered(queries: Sequence[shapes.ReportQuery], chosen: QueryList) -> list[shapes.ReportQuery]:
    """The queries that have all words asked for, in the order asked for."""
    words = chosen.q.casefold().split()
    found = [
        line
        for line in queries
        if all(word in f"{line.query_id} {line.text}".casefold() for word in words)
    ]
    if chosen.sort == "text":
        return sorted(found, key=lambda line: (line.text or line.query_id).casefold())
    return sorted(found, key=weakness, reverse=chosen.sort == "best")


def _query_list_address(run_id: str, chosen: QueryList, **changed: object) -> str:
    """The address of the page of a run with something of its list of queries changed."""
    values = msgspec.structs.asdict(chosen) | changed
    kept = urlencode({key: value for key, value in values.items() if value})
    return f"/runs/{quote(run_id, safe='')}{'?' if kept else ''}{kept}#queries"


def show_run(request: Request) -> Response:
    """One run: its figures, the verdict of the gates, every query, and its receipt."""
    service, left, blind = sight(request)
    if (checked := stored_answers(service, request.path_params["run"])) is not None:
        return _show_answers(request, checked)
    run = stored_run(service, request.path_params["run"])
    if is_api(request):
        today = run_today(service, run, language_for(request))
        if blind and left is not None:
            shown = without_rankings(run.results, left, run.gold)
            today = msgspec.structs.replace(today, results=shown, since=None)
        return json(today)
    verdict, since = verdict_today(service, run), compare_with_baseline(service, run)
    since = None if blind else since  # a baseline is called by its engine
    results = _with_verdict(run.results, verdict, since)
    if blind and left is not None:
        results = without_rankings(results, left, run.gold)
    report = view(results, language=language_for(request))
    figures = [figure for figure in report.figures if figure.value is not None]
    others = [
        line for line in run_page(service, gold=run.gold, limit=12).items if line.id != run.id
    ]
    risk = verdict_risk(service, run, verdict)
    newest = run_page(service, gold=run.gold, engine=run.engine, limit=1).items[:1]
    chosen = query(request, QueryList)
    listed, start = _filtered(report.queries, chosen), max(chosen.offset, 0)
    return decided_page(
        request,
        "run.html",
        kept=run,
        line=line_of(run, run.results, verdict),
        verdict=verdict,
        single_judge_risk=risk,
        second=_second_asked(service, run.gold, risk),
        asked=pairs_by_votes(
            service,
            run.gold,
            (verdict.judge_next if verdict else None) or (),
            user_of(request).name,
        ),
        report=report,
        checks=checks_of(report, verdict),
        figures=[
            (figure, range_mark(figure.value or 0, figure.bounds) if is_share(figure.key) else "")
            for figure in figures
        ],
        others=others,
        newer=next((line for line in newest if line.id != run.id), None),
        since=since and baseline_summary(since, language_for(request)),
        chosen=chosen,
        listed=listed,
        queries=listed[start : start + UNFOLDED_ROWS],
        start=start,
        step=UNFOLDED_ROWS,
        at=partial(_query_list_address, run.id, chosen),
    )


def _show_answers(request: Request, answers: StoredAnswers) -> Response:
    """One check of a file of answers: what was not checked, the gates, the figures and faults."""
    full_sight(request)  # the faults would tell a judge what to find
    if is_api(request):
        return json(answers)
    words, results = Words(language_for(request)), answers.results
    return decided_page(
        request,
        "answer_run.html",
        kept=answers,
        coverage=answer_reports.coverage_line(results, words),
        checks=answer_reports.check_rows(results, words),
        figures=answer_reports.figure_rows(results, words),
        faults=answer_reports.fault_rows(results, words),
    )


class ReportQuery(msgspec.Struct, frozen=True, kw_only=True):
    format: Literal["html", "csv"] = "html"
    against: str = ""  # a run to compare with, in HTML


class RunName(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""


def name_a_run(request: Request) -> Response:
    run_id, by = request.path_params["run"], user_of(request).name
    name = name_run(service_of(request), run_id, sent_as(request, RunName).name, by=by)
    if is_api(request):
        return json(RunName(name=name))
    return RedirectResponse(f"/runs/{quote(run_id, safe='')}", status_code=303)


def run_report(request: Request) -> Response:
    """The report as one file to keep: it has styles of its own, so it is not shown on this page."""
    service, language = full_sight(request), language_for(request)
    chosen = query(request, ReportQuery).format
    if (checked := stored_answers(service, request.path_params["run"])) is not None:
        text = answer_reports.render(checked.results, f".{chosen}", language)
        return _report_file(checked, text, chosen)
    run = stored_run(service, request.path_params["run"])
    if (against := query(request, ReportQuery).against) and chosen == "html":
        text = _comparison_report(service, run, against, language)
        return _report_file(run, text, chosen, f"-against-{stored_run(service, against).engine}")
    verdict = verdict_today(service, run)
    found = verdict_risk(service, run, verdict)
    if verdict is not None:
        verdict = msgspec.structs.replace(verdict, one_judge=found.on if found else None)
    since = compare_with_baseline(service, run)
    results = _with_verdict(run.results, verdict, since)
    if chosen == "csv":
        text = render(view(results, language=language), ".csv")
    else:
        whole = msgspec.structs.replace(run, results=results)
        text = _report(service.store.address, whole, language, since)
    return _report_file(run, text, chosen)


def _comparison_report(service: Service, run: StoredRun, against: str, language: str) -> str:
    """The report of a run with its comparison against another, as the page of the two says it."""
    found = compare_runs(service, against, run.id)
    results = msgspec.structs.replace(run.results, verdict=found.verdict, baseline=None)
    before = stored_run(service, against).results
    compared = found.change.comparison
    return render(compared_view(results, before, compared, language=language), ".html")


def _report_file(
    run: StoredRun | StoredAnswers, text: str, chosen: str, against: str = ""
) -> Response:
    name = f"{run.gold}-{run.engine}{against}-{run.at:%Y-%m-%d}.{chosen}".replace("/", "-")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(text, media_type=f"text/{chosen}; charset=utf-8", headers=headers)


def full_sight(request: Request) -> Service:
    """The project for what cannot be shown in part; refused to a judge with documents left."""
    seen = sight(request)
    if seen.blind:
        raise Refusal(403, "blind_file")
    return seen.service


def _with_verdict(
    results: Results, verdict: Verdict | None, since: BaselineComparison | None
) -> Results:
    change = since.change if since is not None else results.baseline
    return msgspec.structs.replace(results, verdict=verdict, baseline=change)


def _report(address: str, run: StoredRun, language: str, since: BaselineComparison | None) -> str:
    """The report of a run as HTML, cached: with the same verdict and baseline it never changes."""
    compared = msgspec.json.encode((run.results.verdict, run.results.baseline))
    key = ("report", address, run.id, language, compared)
    return compute_once(key, lambda: _render_report(run.results, language, since))


def _render_report(results: Results, language: str, since: BaselineComparison | None) -> str:
    if since is None:
        return render(view(results, language=language), ".html")
    compared = with_baseline_name(since, language)
    return render(compared_view(results, since.before, compared, language=language), ".html")


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────


class TwoRuns(msgspec.Struct, frozen=True, kw_only=True):
    a: str = ""
    b: str = ""


def _warnings(comparison: RunComparison, sentences: Sentences) -> tuple[str, ...]:
    """The warnings of a comparison, without the one that the set changed: the page has it below
    the answer already."""
    compared = comparison.change.comparison
    shown = [
        warning
        for warning in compared.warnings
        if not (compared.gold_changed and "different gold sets" in warning)
    ]
    return sentences.warnings(shown)


def _rulings(service: Service, gold: str) -> int:
    """How many pairs of a set need a ruling; 0 for a set that is not open here."""
    with contextlib.suppress(AssayError):
        return rulings_needed(path_of_stored_name(service, gold))
    return 0


class OneQuery(TwoRuns, frozen=True, kw_only=True):
    query: str = ""


def compare(request: Request) -> Response:
    parameters = query(request, TwoRuns)
    service = sight(request, parameters.a, parameters.b).service
    if is_api(request):
        return json(compare_runs(service, parameters.a, parameters.b))
    known = run_page(service, limit=100).items
    if not parameters.a or not parameters.b:
        return decided_page(request, "choose.html", asked=parameters, known=known, complaint="")
    try:
        found = compare_runs(service, parameters.a, parameters.b)
    except InputError as error:
        status = 404 if isinstance(error, NotHere) else 400
        return decided_page(
            request,
            "choose.html",
            status,
            asked=parameters,
            known=known,
            complaint=message_of(request, error),
        )
    language = language_for(request)
    sentences = Sentences(Words(language))
    results = msgspec.structs.replace(
        stored_run(service, parameters.b).results, verdict=found.verdict
    )
    report = view(results, language=language)
    reach = _largest_change(found.change.slices)
    needed = (found.verdict.judge_next if found.verdict else None) or found.change.to_judge
    losses = [change for change in found.change.queries if change.change < 0]
    wins = [change for change in reversed(found.change.queries) if change.change > 0]
    return decided_page(
        request,
        "compare.html",
        found=found,
        checks=checks_of(report, found.verdict),
        standing=report.standing,
        second=_second_asked(service, found.b.gold, found.single_judge_risk),
        ship_second=_second_asked(service, found.b.gold, found.ship_risk),
        asked=pairs_by_votes(service, found.b.gold, needed or (), user_of(request).name),
        slices=[
            (part, change_mark(part.change, part.low, part.high, reach))
            for part in found.change.slices
        ],
        asks_first=any(check.gate.measure in BESIDE for check in found.verdict.checks)
        if found.verdict
        else False,
        lost=as_sentence(hidden_loss(found.change.head, found.change.comparison, sentences)),
        changed=as_sentence(gold_change(found.change.head, found.change.comparison, sentences)),
        risk=risk_in_words(found.change.head, sentences),
        pool=pool_advice(found.change.head, sentences),
        more_queries=more_queries(found.change.head, found.change.comparison, sentences),
        warnings=_warnings(found, sentences),
        rulings=sentences.rulings(_rulings(service, found.b.gold)),
        losses=losses,
        needed=needed,
        left_out=results.receipt.counts.get("n_unjudged", 0),
        wins=wins,
        listed=UNFOLDED_ROWS,
        same=len(found.change.queries) - len(losses) - len(wins),
        newer=_newest_pair(service, found),
        pair=urlencode({"a": parameters.a, "b": parameters.b}),
        swapped=urlencode({"a": parameters.b, "b": parameters.a}),
    )


def _newest_pair(service: Service, comparison: RunComparison) -> str:
    """The query of the comparison of the newest runs of both engines; empty where it is this one.
    Of one engine over time the newest stands against A."""
    newest: dict[str, str] = {}
    for line in (comparison.a, comparison.b):
        listed = run_page(service, gold=line.gold, engine=line.engine, limit=1).items
        newest[line.engine] = listed[0].id if listed else line.id
    a, b = newest[comparison.a.engine], newest[comparison.b.engine]
    if comparison.a.engine == comparison.b.engine:
        a, b = (comparison.b.id, comparison.a.id) if b == comparison.a.id else (comparison.a.id, b)
    if {a, b} == {comparison.a.id, comparison.b.id}:
        return ""
    return urlencode({"a": a, "b": b})


def _second_asked(service: Service, gold: str, risk: SingleJudgeRisk | None) -> bool:
    """Whether a second judge was already asked for the pairs that a verdict rests on."""
    if risk is None:
        return False
    return second_judge_asked(path_of_stored_name(service, gold), risk.pairs)


def _largest_change(parts: list[SliceChange]) -> float:
    ends = [
        abs(value)
        for part in parts
        for value in (part.change, part.low, part.high)
        if value is not None
    ]
    return max([*ends, 0.01])


def compare_rankings(request: Request) -> Response:
    parameters = query(request, OneQuery)
    seen = sight(request, parameters.a, parameters.b)
    if parameters.a and seen.must_not_see(
        stored_run(seen.service, parameters.a).gold, parameters.query
    ):
        raise Refusal(403, "blind_ranking")
    found = two_rankings(seen.service, parameters.a, parameters.b, parameters.query)
    if is_api(request):
        return json(found)
    pairs = [
        (placed.rank, placed.other_rank)
        for placed in found.a.documents
        if placed.other_rank is not None and placed.other_rank <= len(found.b.documents)
    ]
    rows = max(len(found.a.documents), len(found.b.documents), 1)
    return decided_page(
        request,
        "rankings.html",
        found=found,
        moves=rank_moves(pairs, rows),
        moved=moved(found),
        decisive=decisive_documents(found),
        grades_here=_graded_here(request, seen.service, found.b.run),
        pair=urlencode({"a": parameters.a, "b": parameters.b}),
        readable=any(row.path.startswith("/doc/") for row in request.app.state.table),
    )


def _graded_here(request: Request, service: Service, run: RunLine) -> str:
    """The set in which the user may grade documents beside their ranks; empty for none."""
    sets = {stored_name(service, name): name for name in service.gold_sets}
    name = sets.get(run.gold, "") if user_of(request).role != "reader" else ""
    is_judged = name and run.kind == "graded" and user_of(request).name
    return (
        name if is_judged and set_progress(name, service.gold_sets[name]).approved is None else ""
    )


DECIDE_ROUTES = [
    *page_and_call(
        "/",
        home,
        GET,
        "reader",
        "Today's state at a glance",
        answer=Overview,
        call="/api/overview",
    ),
    *page_and_call(
        "/runs", list_runs, GET, "reader", "Runs over time", answer=Runs, query=RunsQuery
    ),
    *page_and_call("/runs/{run}", show_run, GET, "reader", "One run", answer=RunToday),
    AppRoute(
        "/runs/{run}/report",
        run_report,
        GET,
        "reader",
        "The report of a run, as a file: HTML or CSV",
        query=ReportQuery,
    ),
    *page_and_call("/runs/{run}/name", name_a_run, POST, "chair", "Name a run", RunName, RunName),
    *page_and_call(
        "/compare", compare, GET, "reader", "Two runs compared", answer=RunComparison, query=TwoRuns
    ),
    *page_and_call(
        "/compare/query",
        compare_rankings,
        GET,
        "reader",
        "Two rankings of a query",
        answer=TwoRankings,
        query=OneQuery,
    ),
]


# ── a sweep over settings ─────────────────────────────────────────────────────────────────────────


def show_sweep(request: Request) -> Response:
    state = sweep_state(service_of(request).home, request.path_params["sweep"])
    if is_api(request):
        return json(state)
    seen = tuning.view(state.report, language_for(request)) if state.report else None
    return decided_page(request, "sweep.html", state=state, seen=seen, body=tuning.body)


def sweep_trials(request: Request) -> Response:
    state = sweep_state(service_of(request).home, request.path_params["sweep"])
    if state.report is None:
        raise NotHere(f"the sweep {state.name!r} is not finished")
    headers = {"Content-Disposition": 'attachment; filename="trials.csv"'}
    return Response(tuning.trials_csv(state.report), media_type="text/csv", headers=headers)


TUNE_ROUTES = [
    *page_and_call(
        "/tune/{sweep}", show_sweep, GET, "reader", "A sweep over settings", answer=SweepState
    ),
    AppRoute("/api/tune/{sweep}/trials.csv", sweep_trials, GET, "reader", "Every setting, as CSV"),
]
