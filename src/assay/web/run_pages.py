"""Runs that are started on a page: one, or all that need it, watched until they are over; and a
second judge, where a verdict rests on one."""

from __future__ import annotations

import threading
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import InputError
from assay.web.access import Guarded, user_of
from assay.web.decision_parts import back_to, decided_page, local_page, may_start
from assay.web.page_frame import body, form, json, query, said, service_of
from assay.workbench.deciding.run_boards import run_page, verdict_risk, verdict_today
from assay.workbench.deciding.run_comparison import duel
from assay.workbench.deciding.single_judge_risk import ask_second_judge
from assay.workbench.project.service import kept_path
from assay.workbench.scoring.history import kept_run
from assay.workbench.scoring.run_queue import RunJob, RunQueue

_making = threading.Lock()


class StartRun(msgspec.Struct, frozen=True, kw_only=True):
    gold: str
    engine: str


class RunAgain(msgspec.Struct, frozen=True, kw_only=True):
    gold: str


class SecondWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The run whose verdict rests on one judge; with another, the comparison of the two."""

    run: str
    other: str = ""


class SecondAsked(msgspec.Struct, frozen=True, kw_only=True):
    documents: int


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for: the set, the runs that were started, and the page to go back to."""

    set: str = ""
    jobs: str = ""
    back: str = ""


def queue_of(request: Request) -> RunQueue:
    """The one queue of this server, made when it is first looked at."""
    state = request.app.state
    with _making:
        if not hasattr(state, "run_queue"):
            service = service_of(request)
            state.run_queue = RunQueue(service)
        queue: RunQueue = state.run_queue
    return queue


def start(request: Request) -> Response:
    sent = form(request)
    try:
        job = queue_of(request).start(
            sent.text("gold"), sent.text("engine"), by=user_of(request).name
        )
    except InputError as error:
        return _job_page(request, None, said(request, error), 400)
    return RedirectResponse(f"/runs/jobs/{job.id}", status_code=303)


def again(request: Request) -> Response:
    """Count what was judged since, and run again what needs it; then back to what is asked."""
    sent, service = form(request), service_of(request)
    gold = sent.text("set")
    jobs = queue_of(request).again(gold, by=user_of(request).name)
    asked = {"set": gold, "back": sent.text("back"), "jobs": ",".join(job.id for job in jobs)}
    if not jobs:
        return RedirectResponse(back_to(service, gold, asked["back"]), status_code=303)
    return RedirectResponse(f"/runs/again?{urlencode(asked)}", status_code=303)


def again_call(request: Request) -> Response:
    wanted = body(request, RunAgain).gold
    return json(queue_of(request).again(wanted, by=user_of(request).name), 202)


def again_page(request: Request) -> Response:
    """How far they are; when all are done, on to where the question is answered."""
    asked, queue = query(request, Again), queue_of(request)
    found = [queue.job(one) for one in asked.jobs.split(",") if one]
    jobs = [job for job in found if job is not None]
    back = back_to(service_of(request), asked.set, asked.back) if asked.set else "/runs"
    if all(job.state == "done" for job in jobs) and bool(jobs) == bool(asked.jobs):
        return RedirectResponse(back, status_code=303)
    return decided_page(request, "again.html", jobs=jobs, gold=asked.set, back=back)


def ask(request: Request) -> Response:
    sent = form(request)
    wanted = SecondWanted(run=sent.text("run"), other=sent.text("other"))
    _ask(request, wanted)
    return RedirectResponse(local_page(sent.text("back")) or f"/runs/{wanted.run}", status_code=303)


def ask_call(request: Request) -> Response:
    return json(SecondAsked(documents=_ask(request, body(request, SecondWanted))))


def _ask(request: Request, wanted: SecondWanted) -> int:
    service = service_of(request)
    kept = kept_run(service, wanted.run)
    if wanted.other:
        found = duel(service, wanted.other, kept.id).rests
    else:
        found = verdict_risk(service, kept, verdict_today(service, kept))
    if found is None:
        return 0
    path = kept_path(service, kept.gold)
    return ask_second_judge(service, path, found.pairs, by=user_of(request).name)


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
    before = now = None
    if found is not None and found.run:
        kept = kept_run(service, found.run)
        earlier = run_page(service, gold=kept.gold, limit=12).items
        before = next((line for line in earlier if line.id != found.run and not line.error), None)
        now = next((line for line in earlier if line.id == found.run), None)
    is_behind = (
        now is not None
        and before is not None
        and now.engine != before.engine
        and now.fingerprint == before.fingerprint
        and (now.value or 0) < (before.value or 0)
    )
    return decided_page(
        request,
        "job.html",
        status,
        job=found,
        complaint=complaint,
        before=before,
        is_behind=is_behind,
        can_stop=may_start(request),
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


JOB_ROUTES = [
    Guarded("/runs/start", start, ("POST",), "chair", "Start a run"),
    Guarded("/runs/again", again, ("POST",), "chair", "Count newer judgments, and run again"),
    Guarded("/runs/again", again_page, ("GET",), "reader", "How far the runs are", query=Again),
    Guarded("/second", ask, ("POST",), "chair", "Ask a second judge"),
    Guarded("/runs/jobs/{job}", job, ("GET",), "reader", "A run that was started here"),
    Guarded("/runs/jobs/{job}/cancel", cancel, ("POST",), "chair", "Stop a run"),
    Guarded("/api/runs/jobs", start_call, ("POST",), "chair", "Start a run", StartRun, RunJob),
    Guarded(
        "/api/runs/again",
        again_call,
        ("POST",),
        "chair",
        "Count newer judgments, and run again what needs it",
        RunAgain,
        list[RunJob],
    ),
    Guarded(
        "/api/second",
        ask_call,
        ("POST",),
        "chair",
        "Ask a second judge for what a verdict or a comparison rests on",
        SecondWanted,
        SecondAsked,
    ),
    Guarded(
        "/api/runs/jobs", jobs_call, ("GET",), "reader", "Runs started here", answer=list[RunJob]
    ),
    Guarded(
        "/api/runs/jobs/{job}", job_call, ("GET",), "reader", "How far a run is", answer=RunJob
    ),
    Guarded(
        "/api/runs/jobs/{job}/cancel", cancel_call, ("POST",), "chair", "Stop a run", answer=RunJob
    ),
]
