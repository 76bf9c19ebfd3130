"""Home, runs, comparisons: what is so, how sure, and what to do next. Every page has a call beside
it that gives the same value."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from functools import partial
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import InputError, NotHere
from assay.reports import render, view
from assay.reports.charts import moves, swatch
from assay.reports.drawings import change_mark, range_mark
from assay.reports.numbers import Numbers
from assay.reports.sentences import Sentences
from assay.reports.words import Words
from assay.web.access import Guarded, user_of
from assay.web.decide_parts import (
    LINES,
    chart_of,
    grade_class,
    is_share,
    moved,
    since,
    weakness,
)
from assay.web.shell import body, form, json, language_for, page, query, service_of
from assay.workbench.decisions import Board, RunLine, boards, decided, run_page
from assay.workbench.facing import Duel, SliceChange, duel, lead_of
from assay.workbench.history import KeptRun, kept_run
from assay.workbench.opening import Service, stored_name
from assay.workbench.overview import Overview, overview
from assay.workbench.paging import Page
from assay.workbench.run_queue import RunJob, RunQueue, choices
from assay.workbench.set_standing import set_standing
from assay.workbench.side_by_side import TwoRankings, two_rankings
from assay.workbench.trend import Trend, trends_by_set
from assay.workbench.warming import show_ahead

WORDS = ("judge", "decide")
REPORTS = 16  # kept as they were written
LISTED = 30  # runs in a list, and queries of a comparison, before the rest is folded away

_making = threading.Lock()

# ── home ──────────────────────────────────────────────────────────────────────────────────────────


def home(request: Request) -> Response:
    service = service_of(request)
    seen = overview(service)
    drawn = boards(service, gold=seen.latest.gold)[:1] if seen.latest else []
    return _page(
        request,
        "home.html",
        seen=seen,
        board=drawn[0] if drawn else None,
        lead=lead_of(service, drawn[0]) if drawn else None,
        chart=chart_of(drawn[0], Words(language_for(request))) if drawn else "",
    )


def home_call(request: Request) -> Response:
    return json(overview(service_of(request)))


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


class RunsQuery(msgspec.Struct, frozen=True, kw_only=True):
    gold: str = ""
    engine: str = ""
    limit: int = LISTED
    offset: int = 0


class Runs(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a page, the boards of every set among the newest, and what each run did to the
    level of its engine."""

    page: Page[RunLine]
    boards: list[Board]
    trends: list[Trend]


def runs(request: Request) -> Response:
    asked, service = query(request, RunsQuery), service_of(request)
    shown = boards(service, gold=asked.gold)
    listed = run_page(
        service,
        gold=asked.gold,
        engine=asked.engine,
        limit=asked.limit,
        offset=max(asked.offset, 0),
    )
    return _page(
        request,
        "runs.html",
        asked=asked,
        boards=[(board, chart_of(board, Words(language_for(request)))) for board in shown],
        lead=lead_of(service, shown[0]) if shown else None,
        trends=trends_by_set(service, gold=asked.gold),
        listed=listed,
        choices=choices(service),
        jobs=[job for job in queue_of(request).jobs() if not job.is_over],
        complaint="",
    )


def runs_call(request: Request) -> Response:
    asked, service = query(request, RunsQuery), service_of(request)
    listed = run_page(
        service,
        gold=asked.gold,
        engine=asked.engine,
        limit=asked.limit,
        offset=max(asked.offset, 0),
    )
    found = [trend for some in trends_by_set(service, gold=asked.gold).values() for trend in some]
    return json(Runs(page=listed, boards=boards(service, gold=asked.gold), trends=found))


def run(request: Request) -> Response:
    """One run: what it came to, what the gates say of it, every query, and its receipt."""
    service = service_of(request)
    kept = kept_run(service, request.path_params["run"])
    verdict = decided(service, kept)
    results = msgspec.structs.replace(kept.results, verdict=verdict)
    report = view(results, language=language_for(request))
    figures = [figure for figure in report.figures if figure.value is not None]
    others = [
        line for line in run_page(service, gold=kept.gold, limit=12).items if line.id != kept.id
    ]
    return _page(
        request,
        "run.html",
        kept=kept,
        verdict=verdict,
        report=report,
        figures=[
            (figure, range_mark(figure.value or 0, figure.bounds) if is_share(figure.key) else "")
            for figure in figures
        ],
        others=others,
        uncounted=_uncounted(service, kept.gold),
        weakest=sorted(report.queries, key=weakness)[:LISTED],
    )


def run_call(request: Request) -> Response:
    return json(kept_run(service_of(request), request.path_params["run"]))


def run_report(request: Request) -> Response:
    """The report as one file to keep: it has styles of its own, so it is not shown on this page."""
    service, language = service_of(request), language_for(request)
    kept = kept_run(service, request.path_params["run"])
    text = _report(service.store.address, kept, language)
    name = quote(f"{kept.gold}-{kept.engine}-{kept.at:%Y-%m-%d}.html".replace("/", "-"), safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


_reports: OrderedDict[tuple[str, str, str], str] = OrderedDict()


def _report(address: str, kept: KeptRun, language: str) -> str:
    """A run never changes, and neither does its report."""
    key = (address, kept.id, language)
    with _making:
        known = _reports.get(key)
    if known is None:
        known = render(view(kept.results, language=language), ".html")
        with _making:
            _reports[key] = known
            while len(_reports) > REPORTS:
                _reports.popitem(last=False)
    return known


# ── a run that is started here ────────────────────────────────────────────────────────────────────


class StartRun(msgspec.Struct, frozen=True, kw_only=True):
    gold: str
    engine: str


def queue_of(request: Request) -> RunQueue:
    """The one queue of this server, made when it is first looked at."""
    state = request.app.state
    with _making:
        if not hasattr(state, "run_queue"):
            service = service_of(request)
            state.run_queue = RunQueue(service, after=partial(show_ahead, service))
        queue: RunQueue = state.run_queue
    return queue


def start(request: Request) -> Response:
    sent = form(request)
    try:
        job = queue_of(request).start(
            sent.text("gold"), sent.text("engine"), by=user_of(request).name
        )
    except InputError as error:
        return _job_page(request, None, str(error), 400)
    return RedirectResponse(f"/runs/jobs/{job.id}", status_code=303)


def start_call(request: Request) -> Response:
    sent = body(request, StartRun)
    return json(queue_of(request).start(sent.gold, sent.engine, by=user_of(request).name), 202)


def job(request: Request) -> Response:
    found = queue_of(request).job(request.path_params["job"])
    if found is None:
        return _job_page(request, None, "", 404)
    return _job_page(request, found, "", 200)


def _job_page(request: Request, found: RunJob | None, complaint: str, status: int) -> Response:
    service = service_of(request)
    before = None
    if found is not None and found.run:
        kept = kept_run(service, found.run)
        earlier = run_page(service, gold=kept.gold, limit=12).items
        before = next((line for line in earlier if line.id != found.run and not line.error), None)
    return _page(
        request,
        "job.html",
        status,
        job=found,
        complaint=complaint,
        before=before,
        can_stop=_may_start(request),
    )


def job_call(request: Request) -> Response:
    found = queue_of(request).job(request.path_params["job"])
    if found is None:
        return json({"error": "no such run is known since the server was started"}, 404)
    return json(found)


def jobs_call(request: Request) -> Response:
    return json(queue_of(request).jobs())


def cancel(request: Request) -> Response:
    wanted = request.path_params["job"]
    queue_of(request).cancel(wanted, by=user_of(request).name)
    return RedirectResponse(f"/runs/jobs/{wanted}", status_code=303)


def cancel_call(request: Request) -> Response:
    wanted = request.path_params["job"]
    return json(queue_of(request).cancel(wanted, by=user_of(request).name))


def _may_start(request: Request) -> bool:
    return user_of(request).role in ("chair", "admin")


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────


class TwoRuns(msgspec.Struct, frozen=True, kw_only=True):
    a: str = ""
    b: str = ""


class OneQuery(TwoRuns, frozen=True, kw_only=True):
    query: str = ""


def compare(request: Request) -> Response:
    asked, service = query(request, TwoRuns), service_of(request)
    known = run_page(service, limit=100).items
    if not asked.a or not asked.b:
        return _page(request, "choose.html", asked=asked, known=known, complaint="")
    try:
        found = duel(service, asked.a, asked.b)
    except InputError as error:
        status = 404 if isinstance(error, NotHere) else 400
        return _page(request, "choose.html", status, asked=asked, known=known, complaint=str(error))
    language = language_for(request)
    results = msgspec.structs.replace(kept_run(service, asked.b).results, verdict=found.verdict)
    report = view(results, language=language)
    reach = _reach(found.change.slices)
    losses = [change for change in found.change.queries if change.change < 0]
    wins = [change for change in reversed(found.change.queries) if change.change > 0]
    return _page(
        request,
        "compare.html",
        found=found,
        checks=report.checks,
        standing=report.standing,
        slices=[
            (part, change_mark(part.change, part.low, part.high, reach))
            for part in found.change.slices
        ],
        warnings=Sentences(Words(language)).warnings(found.change.comparison.warnings),
        losses=losses,
        uncounted=_uncounted(service, found.b.gold),
        left_out=results.receipt.counts.get("n_unjudged", 0),
        wins=wins,
        listed=LISTED,
        same=len(found.change.queries) - len(losses) - len(wins),
        pair=urlencode({"a": asked.a, "b": asked.b}),
        swapped=urlencode({"a": asked.b, "b": asked.a}),
    )


def _uncounted(service: Service, kept: str) -> int:
    """Documents of a set, by its name in the history, that were judged since its labels."""
    sets = service.gold_sets.items()
    standings = (set_standing(*one) for one in sets if stored_name(service, one[0]) == kept)
    return next((standing.uncounted for standing in standings), 0)


def _reach(parts: list[SliceChange]) -> float:
    ends = [
        abs(value)
        for part in parts
        for value in (part.change, part.low, part.high)
        if value is not None
    ]
    return max([*ends, 0.01])


def compare_call(request: Request) -> Response:
    asked = query(request, TwoRuns)
    return json(duel(service_of(request), asked.a, asked.b))


def rankings(request: Request) -> Response:
    asked = query(request, OneQuery)
    found = two_rankings(service_of(request), asked.a, asked.b, asked.query)
    pairs = [
        (placed.rank, placed.other_rank)
        for placed in found.a.documents
        if placed.other_rank is not None and placed.other_rank <= len(found.b.documents)
    ]
    rows = max(len(found.a.documents), len(found.b.documents), 1)
    return _page(
        request,
        "rankings.html",
        found=found,
        moves=moves(pairs, rows),
        moved=moved(found),
        pair=urlencode({"a": asked.a, "b": asked.b}),
        readable=any(row.path.startswith("/doc/") for row in request.app.state.table),
    )


def rankings_call(request: Request) -> Response:
    asked = query(request, OneQuery)
    return json(two_rankings(service_of(request), asked.a, asked.b, asked.query))


# ── what the templates share ──────────────────────────────────────────────────────────────────────


def _page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    words = Words(language_for(request))
    service = service_of(request)
    now = service.clock()

    def ago(at: datetime) -> tuple[str, int]:
        return since(at, now)

    return page(
        request,
        template,
        status,
        words=WORDS,
        n=Numbers(words),
        ago=ago,
        grade_class=grade_class,
        swatch=swatch,
        mark=range_mark,
        figure_name=lambda key: words.figure(key) if words.has("figures", key) else key,
        short_name=lambda key: words.short(key) if words.has("figures", key) else key,
        slice_kind=words.slice_kind,
        quoted=lambda text: quote(text, safe=""),
        lines=LINES,
        is_rows=lambda name: set_standing(name, service.gold_sets[name]).approved is not None,
        can_start=_may_start(request),
        names={stored_name(service, name): name for name in service.gold_sets},
        **values,
    )


DECIDE_ROUTES = [
    Guarded("/", home, ("GET",), "reader", "Today's state at a glance"),
    Guarded("/runs", runs, ("GET",), "reader", "Runs over time", query=RunsQuery),
    Guarded("/runs/start", start, ("POST",), "chair", "Start a run"),
    Guarded("/runs/jobs/{job}", job, ("GET",), "reader", "A run that was started here"),
    Guarded("/runs/jobs/{job}/cancel", cancel, ("POST",), "chair", "Stop a run"),
    Guarded("/runs/{run}", run, ("GET",), "reader", "One run"),
    Guarded("/runs/{run}/report", run_report, ("GET",), "reader", "The report of a run, as a file"),
    Guarded("/compare", compare, ("GET",), "reader", "Two runs compared", query=TwoRuns),
    Guarded(
        "/compare/query", rankings, ("GET",), "reader", "Two rankings of a query", query=OneQuery
    ),
    Guarded(
        "/api/overview", home_call, ("GET",), "reader", "Today's state at a glance", answer=Overview
    ),
    Guarded(
        "/api/runs", runs_call, ("GET",), "reader", "Runs and boards", query=RunsQuery, answer=Runs
    ),
    Guarded("/api/runs/jobs", start_call, ("POST",), "chair", "Start a run", StartRun, RunJob),
    Guarded(
        "/api/runs/jobs", jobs_call, ("GET",), "reader", "Runs started here", answer=list[RunJob]
    ),
    Guarded(
        "/api/runs/jobs/{job}", job_call, ("GET",), "reader", "How far a run is", answer=RunJob
    ),
    Guarded(
        "/api/runs/jobs/{job}/cancel", cancel_call, ("POST",), "chair", "Stop a run", answer=RunJob
    ),
    Guarded(
        "/api/runs/{run}", run_call, ("GET",), "reader", "One run with its results", answer=KeptRun
    ),
    Guarded(
        "/api/compare", compare_call, ("GET",), "reader", "Two runs compared", None, Duel, TwoRuns
    ),
    Guarded(
        "/api/compare/query",
        rankings_call,
        ("GET",),
        "reader",
        "Two rankings of a query",
        None,
        TwoRankings,
        OneQuery,
    ),
]
