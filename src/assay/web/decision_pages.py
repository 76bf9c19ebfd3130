"""The pages that decide: Home, the list of runs, one run, and two runs compared. A page and its
JSON call share a handler."""

from __future__ import annotations

import contextlib
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import AssayError, InputError, NotHere
from assay.core.results import Results, Verdict
from assay.reports import render, view
from assay.reports.drawings import change_mark, moves, range_mark
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
from assay.web.access import GET, Guarded, is_chair, page_and_call, user_of
from assay.web.decision_parts import (
    chart_of,
    checks_of,
    decided_page,
    is_share,
    moved,
    weakness,
)
from assay.web.page_frame import is_api, json, language_for, message_of, query, service_of
from assay.web.run_pages import JOB_ROUTES, queue_of
from assay.workbench.deciding.against_baseline import (
    BaselineComparison,
    RunToday,
    baseline_summary,
    compare_with_baseline,
    run_today,
    with_baseline_name,
)
from assay.workbench.deciding.next_judgments import left_to_judge
from assay.workbench.deciding.run_boards import (
    Board,
    RunLine,
    boards,
    line_of,
    run_page,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.run_comparison import (
    RunComparison,
    SliceChange,
    compare_runs,
    lead_of,
)
from assay.workbench.deciding.side_by_side import TwoRankings, two_rankings
from assay.workbench.deciding.single_judge_risk import SingleJudgeRisk, second_judge_asked
from assay.workbench.deciding.trend import Trend, trends_by_set
from assay.workbench.judging.vote_totals import rulings_needed
from assay.workbench.project.cache import computed
from assay.workbench.project.home import Overview, overview, run_risk
from assay.workbench.project.paging import Page
from assay.workbench.project.service import Service, kept_path
from assay.workbench.scoring.history import KeptRun, kept_run
from assay.workbench.scoring.report import beside
from assay.workbench.scoring.run_queue import choices

LISTED = 30  # runs in a list, and queries of a comparison, before the rest is folded away

# ── home ──────────────────────────────────────────────────────────────────────────────────────────


def home(request: Request) -> Response:
    service = service_of(request)
    seen = overview(service, whole_trail=is_chair(request))
    if is_api(request):
        return json(seen)
    about = seen.subject or seen.latest
    drawn = boards(service, gold=about.gold)[:1] if about else []
    return decided_page(
        request,
        "home.html",
        seen=seen,
        board=drawn[0] if drawn else None,
        lead=lead_of(service, drawn[0]) if drawn else None,
        chart=chart_of(drawn[0], Words(language_for(request))) if drawn else "",
        second=_second_asked(service, about.gold if about else "", seen.rests),
    )


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


def list_runs(request: Request) -> Response:
    asked, service = query(request, RunsQuery), service_of(request)
    shown, trends = boards(service, gold=asked.gold), trends_by_set(service, gold=asked.gold)
    listed = run_page(
        service,
        gold=asked.gold,
        engine=asked.engine,
        limit=asked.limit,
        offset=max(asked.offset, 0),
    )
    if is_api(request):
        flat = [trend for of_set in trends.values() for trend in of_set]
        return json(Runs(page=listed, boards=shown, trends=flat))
    return decided_page(
        request,
        "runs.html",
        asked=asked,
        boards=[(board, chart_of(board, Words(language_for(request)))) for board in shown],
        lead=lead_of(service, shown[0]) if shown else None,
        alone={
            line.id: found.on.judge
            for board in shown
            for line in (*board.leaders, *board.older)
            if (found := run_risk(service, line))
        },
        trends=trends,
        listed=listed,
        choices=choices(service),
        jobs=[job for job in queue_of(request).jobs() if not job.is_over],
        complaint="",
    )


def show_run(request: Request) -> Response:
    """One run: its figures, the verdict of the gates, every query, and its receipt."""
    service = service_of(request)
    kept = kept_run(service, request.path_params["run"])
    if is_api(request):
        return json(run_today(service, kept, language_for(request)))
    verdict, since = verdict_today(service, kept), compare_with_baseline(service, kept)
    results = _with_verdict(kept.results, verdict, since)
    report = view(results, language=language_for(request))
    figures = [figure for figure in report.figures if figure.value is not None]
    others = [
        line for line in run_page(service, gold=kept.gold, limit=12).items if line.id != kept.id
    ]
    rests = verdict_risk(service, kept, verdict)
    newest = run_page(service, gold=kept.gold, engine=kept.engine, limit=1).items[:1]
    return decided_page(
        request,
        "run.html",
        kept=kept,
        line=line_of(kept, kept.results, verdict),
        verdict=verdict,
        rests=rests,
        second=_second_asked(service, kept.gold, rests),
        asked=left_to_judge(
            service,
            kept.gold,
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
        newer=next((line for line in newest if line.id != kept.id), None),
        since=since and baseline_summary(since, language_for(request)),
        weakest=sorted(report.queries, key=weakness)[:LISTED],
    )


def run_report(request: Request) -> Response:
    """The report as one file to keep: it has styles of its own, so it is not shown on this page."""
    service, language = service_of(request), language_for(request)
    kept = kept_run(service, request.path_params["run"])
    verdict = verdict_today(service, kept)
    found = verdict_risk(service, kept, verdict)
    if verdict is not None:
        verdict = msgspec.structs.replace(verdict, one_judge=found.on if found else None)
    since = compare_with_baseline(service, kept)
    results = _with_verdict(kept.results, verdict, since)
    text = _report(
        service.store.address, msgspec.structs.replace(kept, results=results), language, since
    )
    name = quote(f"{kept.gold}-{kept.engine}-{kept.at:%Y-%m-%d}.html".replace("/", "-"), safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


def _with_verdict(
    results: Results, verdict: Verdict | None, since: BaselineComparison | None
) -> Results:
    change = since.change if since is not None else results.baseline
    return msgspec.structs.replace(results, verdict=verdict, baseline=change)


def _report(address: str, kept: KeptRun, language: str, since: BaselineComparison | None) -> str:
    """The report of a run as HTML, cached: with the same verdict and baseline it never changes."""
    compared = msgspec.json.encode((kept.results.verdict, kept.results.baseline))
    key = ("report", address, kept.id, language, compared)
    return computed(key, lambda: _render_report(kept.results, language, since))


def _render_report(results: Results, language: str, since: BaselineComparison | None) -> str:
    if since is None:
        return render(view(results, language=language), ".html")
    compared = with_baseline_name(since, language)
    return render(beside(results, since.before, compared, language=language), ".html")


# ── comparing ─────────────────────────────────────────────────────────────────────────────────────


class TwoRuns(msgspec.Struct, frozen=True, kw_only=True):
    a: str = ""
    b: str = ""


def _warnings(found: RunComparison, tell: Sentences) -> tuple[str, ...]:
    """The warnings of a comparison, without the one that the set changed: the page has it below
    the answer already."""
    compared = found.change.comparison
    shown = [
        warning
        for warning in compared.warnings
        if not (compared.gold_changed and "different gold sets" in warning)
    ]
    return tell.warnings(shown)


def _rulings(service: Service, gold: str) -> int:
    """How many pairs of a set need a ruling; 0 for a set that is not open here."""
    with contextlib.suppress(AssayError):
        return rulings_needed(kept_path(service, gold))
    return 0


class OneQuery(TwoRuns, frozen=True, kw_only=True):
    query: str = ""


def compare(request: Request) -> Response:
    asked, service = query(request, TwoRuns), service_of(request)
    if is_api(request):
        return json(compare_runs(service, asked.a, asked.b))
    known = run_page(service, limit=100).items
    if not asked.a or not asked.b:
        return decided_page(request, "choose.html", asked=asked, known=known, complaint="")
    try:
        found = compare_runs(service, asked.a, asked.b)
    except InputError as error:
        status = 404 if isinstance(error, NotHere) else 400
        return decided_page(
            request,
            "choose.html",
            status,
            asked=asked,
            known=known,
            complaint=message_of(request, error),
        )
    language = language_for(request)
    tell = Sentences(Words(language))
    results = msgspec.structs.replace(kept_run(service, asked.b).results, verdict=found.verdict)
    report = view(results, language=language)
    reach = _reach(found.change.slices)
    needed = (found.verdict.judge_next if found.verdict else None) or found.change.to_judge
    losses = [change for change in found.change.queries if change.change < 0]
    wins = [change for change in reversed(found.change.queries) if change.change > 0]
    return decided_page(
        request,
        "compare.html",
        found=found,
        checks=checks_of(report, found.verdict),
        standing=report.standing,
        second=_second_asked(service, found.b.gold, found.rests),
        ship_second=_second_asked(service, found.b.gold, found.ship_rests),
        asked=left_to_judge(service, found.b.gold, needed or (), user_of(request).name),
        slices=[
            (part, change_mark(part.change, part.low, part.high, reach))
            for part in found.change.slices
        ],
        asks_first=any(check.gate.measure in BESIDE for check in found.verdict.checks)
        if found.verdict
        else False,
        lost=as_sentence(hidden_loss(found.change.head, found.change.comparison, tell)),
        changed=as_sentence(gold_change(found.change.head, found.change.comparison, tell)),
        risk=risk_in_words(found.change.head, tell),
        pool=pool_advice(found.change.head, tell),
        more_queries=" ".join(more_queries(found.change.head, found.change.comparison, tell)),
        warnings=(*_warnings(found, tell), *tell.rulings(_rulings(service, found.b.gold))),
        losses=losses,
        needed=needed,
        left_out=results.receipt.counts.get("n_unjudged", 0),
        wins=wins,
        listed=LISTED,
        same=len(found.change.queries) - len(losses) - len(wins),
        newer=_newest_pair(service, found),
        pair=urlencode({"a": asked.a, "b": asked.b}),
        swapped=urlencode({"a": asked.b, "b": asked.a}),
    )


def _newest_pair(service: Service, found: RunComparison) -> str:
    """The query of the comparison of the newest runs of both engines; empty where it is this one.
    Of one engine over time the newest stands against A."""
    newest: dict[str, str] = {}
    for line in (found.a, found.b):
        listed = run_page(service, gold=line.gold, engine=line.engine, limit=1).items
        newest[line.engine] = listed[0].id if listed else line.id
    a, b = newest[found.a.engine], newest[found.b.engine]
    if found.a.engine == found.b.engine:
        a, b = (found.b.id, found.a.id) if b == found.a.id else (found.a.id, b)
    if {a, b} == {found.a.id, found.b.id}:
        return ""
    return urlencode({"a": a, "b": b})


def _second_asked(service: Service, gold: str, found: SingleJudgeRisk | None) -> bool:
    """Whether a second judge was already asked for the pairs that a verdict rests on."""
    if found is None:
        return False
    return second_judge_asked(kept_path(service, gold), found.pairs)


def _reach(parts: list[SliceChange]) -> float:
    ends = [
        abs(value)
        for part in parts
        for value in (part.change, part.low, part.high)
        if value is not None
    ]
    return max([*ends, 0.01])


def compare_rankings(request: Request) -> Response:
    asked = query(request, OneQuery)
    found = two_rankings(service_of(request), asked.a, asked.b, asked.query)
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
        moves=moves(pairs, rows),
        moved=moved(found),
        pair=urlencode({"a": asked.a, "b": asked.b}),
        readable=any(row.path.startswith("/doc/") for row in request.app.state.table),
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
    *JOB_ROUTES,
    *page_and_call("/runs/{run}", show_run, GET, "reader", "One run", answer=RunToday),
    Guarded("/runs/{run}/report", run_report, GET, "reader", "The report of a run, as a file"),
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
