"""Charts, counts and addresses that the pages of `decision_pages.py` share, and
the values that their templates get."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import AssayError
from assay.core.results import BOUNDS, DROPS, Verdict
from assay.reports import ReportView
from assay.reports.drawings import ChartLine, ChartPoint, range_mark, swatch, time_chart
from assay.reports.numbers import Numbers, is_rate
from assay.reports.shapes import CheckLine
from assay.reports.wording import Sentences
from assay.reports.words import Words
from assay.web.access import is_chair
from assay.web.page_frame import language_for, local_path, page, service_of
from assay.workbench.deciding.run_boards import Board, board_of, run_lines
from assay.workbench.deciding.side_by_side import TwoRankings
from assay.workbench.judging.vote_totals import set_standing
from assay.workbench.project.service import Service, stored_name
from assay.workbench.scoring.history import kept_run
from assay.workbench.scoring.run_queue import RunQueue, engines_again

WORDS = ("judge", "decide")
LINES = 6  # engines that are drawn in a chart


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
    """The tracks of a set in the order of time."""
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
                    label=f"{line.engine} {day(line.at)}: {numbers.decimal(line.value)}",
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


def weakness(line: object) -> tuple[float, str]:
    values: dict[str, float | None] = dict(getattr(line, "values", {}))
    outcome = getattr(line, "outcome", None)
    if outcome is not None:  # of those that failed, what must pass comes first
        entry = outcome.entry
        return entry.passed + (0.0 if entry.must else 0.5), entry.query_id
    value = values.get("ndcg@10", next(iter(values.values()), None))
    return (2.0 if value is None else value), getattr(line, "query_id", "")


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """How many documents of B stand higher and lower than in A, are new, and of A are gone."""

    up: int
    down: int
    new: int
    out: int


def moved(found: TwoRankings) -> Moved:
    now = found.b.documents
    return Moved(
        up=sum(placed.moved > 0 for placed in now),
        down=sum(placed.moved < 0 for placed in now),
        new=sum(placed.other_rank is None for placed in now),
        out=sum(placed.other_rank is None for placed in found.a.documents),
    )


# ── gates ─────────────────────────────────────────────────────────────────────────────────────────


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A gate as a page shows it: `by_value` where the figure itself decides, whatever its interval
    is, and the share of the top ten that had to be judged first."""

    line: CheckLine
    by_value: bool = False
    min_judged: float | None = None


def checks_of(report: ReportView, verdict: Verdict | None) -> list[Checked]:
    checks = verdict.checks if verdict else []
    return [
        Checked(
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


# ── the way back ──────────────────────────────────────────────────────────────────────────────────


def back_to(service: Service, gold: str, asked: str) -> str:
    """The page that was asked from, of the newest runs of its engines; else the comparison of the
    best two, where the question of the set is answered."""
    parts = urlsplit(local_path(asked))
    given = parse_qs(parts.query)
    lines = run_lines(service, gold=stored_name(service, gold))
    newest: dict[str, str] = {}
    for line in lines:
        newest.setdefault(line.engine, line.id)

    def now(run_id: str) -> str:
        try:
            return newest.get(kept_run(service, run_id).engine, run_id)
        except AssayError:
            return run_id

    if parts.path == "/compare" and given.get("a") and given.get("b"):
        two = {"a": now(given["a"][0]), "b": now(given["b"][0])}
        return f"/compare?{urlencode(two)}"
    if parts.path.startswith("/runs/") and parts.path.count("/") == 2:
        return f"/runs/{now(parts.path.rpartition('/')[2])}"
    if parts.path == "/":
        return "/"
    leaders = board_of(gold, lines).leaders
    if len(leaders) > 1:
        return f"/compare?{urlencode({'a': leaders[1].id, 'b': leaders[0].id})}"
    return f"/runs/{leaders[0].id}" if leaders else "/runs"


# ── what the templates share ──────────────────────────────────────────────────────────────────────


def decided_page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    words = Words(language_for(request))
    service = service_of(request)
    now = service.clock()
    queue: RunQueue | None = getattr(request.app.state, "run_queue", None)
    going = [job for job in queue.jobs() if not job.is_over] if queue is not None else []

    def runs_now(name: str) -> list[str]:
        return [job.engine for job in going if job.gold == name]

    def runs_again(name: str) -> list[str]:
        now = runs_now(name)
        return [engine for engine in engines_again(service, name) if engine not in now]

    def ago(at: datetime) -> tuple[str, int]:
        return since(at, now)

    return page(
        request,
        template,
        status,
        words=WORDS,
        ago=ago,
        grade_class=grade_class,
        swatch=swatch,
        mark=range_mark,
        report_words=words,
        failed_musts=Sentences(words).failed_musts,
        is_rate=is_rate,
        figure_name=lambda key: words.figure(key) if words.has("figures", key) else key,
        short_name=lambda key: words.short(key) if words.has("figures", key) else key,
        slice_kind=words.slice_kind,
        quoted=lambda text: quote(text, safe=""),
        lines=LINES,
        is_rows=lambda name: set_standing(name, service.gold_sets[name]).approved is not None,
        standing_of=lambda name: set_standing(name, service.gold_sets[name]),
        runs_now=runs_now,
        runs_again=runs_again,
        here=f"{request.url.path}?{request.url.query}".rstrip("?"),
        can_start=is_chair(request),
        names={stored_name(service, name): name for name in service.gold_sets},
        **values,
    )
