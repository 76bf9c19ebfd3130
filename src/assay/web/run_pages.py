"""Runs started from a page or a call, watched until they end, and the request for a second judge. A
form and its JSON call share a handler."""

from __future__ import annotations

import threading
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import InputError
from assay.web.access import GET, POST, Guarded, is_chair, page_and_call, user_of
from assay.web.decision_parts import back_to, decided_page
from assay.web.page_frame import (
    body,
    form,
    is_api,
    json,
    local_path,
    message_of,
    query,
    sent_as,
    service_of,
)
from assay.workbench.deciding import single_judge_risk
from assay.workbench.deciding.run_boards import run_page, verdict_risk, verdict_today
from assay.workbench.deciding.run_comparison import compare_runs
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
    """A request to run again: the set, the runs that were started, and the page to go back to."""

    set: str = ""
    jobs: str = ""
    back: str = ""


def queue_of(request: Request) -> RunQueue:
    """The queue of runs of this server, made when it is first needed."""
    state = request.app.state
    with _making:
        if not hasattr(state, "run_queue"):
            state.run_queue = RunQueue(service_of(request))
        queue: RunQueue = state.run_queue
    return queue


def start(request: Request) -> Response:
    given = sent_as(request, StartRun)
    try:
        job = queue_of(request).start(given.gold, given.engine, by=user_of(request).name)
    except InputError as error:
        if is_api(request):
            raise
        return _job_page(request, None, message_of(request, error), 400)
    if is_api(request):
        return json(job, 202)
    return RedirectResponse(f"/runs/jobs/{job.id}", status_code=303)


def run_again(request: Request) -> Response:
    """Update the labels with new judgments, and run again what needs it; then go back."""
    queue, by = queue_of(request), user_of(request).name
    if is_api(request):
        return json(queue.again(body(request, RunAgain).gold, by=by), 202)
    fields = form(request)
    gold, back = fields.text("set"), fields.text("back")
    jobs = queue.again(gold, by=by)
    if not jobs:
        return RedirectResponse(back_to(service_of(request), gold, back), status_code=303)
    asked = {"set": gold, "back": back, "jobs": ",".join(job.id for job in jobs)}
    return RedirectResponse(f"/runs/again?{urlencode(asked)}", status_code=303)


def run_again_page(request: Request) -> Response:
    """The progress of the runs; when all are done, on to the page that was asked from."""
    asked, queue = query(request, Again), queue_of(request)
    found = [queue.job(one) for one in asked.jobs.split(",") if one]
    jobs = [job for job in found if job is not None]
    back = back_to(service_of(request), asked.set, asked.back) if asked.set else "/runs"
    if all(job.state == "done" for job in jobs) and bool(jobs) == bool(asked.jobs):
        return RedirectResponse(back, status_code=303)
    return decided_page(request, "again.html", jobs=jobs, gold=asked.set, back=back)


def ask_second_judge(request: Request) -> Response:
    service, wanted = service_of(request), sent_as(request, SecondWanted)
    kept = kept_run(service, wanted.run)
    if wanted.other:
        found = compare_runs(service, wanted.other, kept.id).rests
    else:
        found = verdict_risk(service, kept, verdict_today(service, kept))
    asked, by = 0, user_of(request).name
    if found is not None:
        path = kept_path(service, kept.gold)
        asked = single_judge_risk.ask_second_judge(service, path, found.pairs, by=by)
    if is_api(request):
        return json(SecondAsked(documents=asked))
    back = local_path(form(request).text("back")) or f"/runs/{wanted.run}"
    return RedirectResponse(back, status_code=303)


def show_job(request: Request) -> Response:
    found = queue_of(request).job(request.path_params["job"])
    if not is_api(request):
        return _job_page(request, found, "", 404 if found is None else 200)
    if found is None:
        return json({"error": "no such run is known since the server was started"}, 404)
    return json(found)


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
        can_stop=is_chair(request),
    )


def list_jobs(request: Request) -> Response:
    return json(queue_of(request).jobs())


def cancel(request: Request) -> Response:
    job_id = request.path_params["job"]
    stopped = queue_of(request).cancel(job_id, by=user_of(request).name)
    if is_api(request):
        return json(stopped)
    return RedirectResponse(f"/runs/jobs/{job_id}", status_code=303)


JOB_ROUTES = [
    *page_and_call(
        "/runs/start", start, POST, "chair", "Start a run", StartRun, RunJob, call="/api/runs/jobs"
    ),
    *page_and_call(
        "/runs/again",
        run_again,
        POST,
        "chair",
        "Count newer judgments, and run again what needs it",
        RunAgain,
        list[RunJob],
    ),
    Guarded("/runs/again", run_again_page, GET, "reader", "How far the runs are", query=Again),
    *page_and_call(
        "/second",
        ask_second_judge,
        POST,
        "chair",
        "Ask a second judge for what a verdict or a comparison rests on",
        SecondWanted,
        SecondAsked,
    ),
    Guarded("/api/runs/jobs", list_jobs, GET, "reader", "Runs started here", answer=list[RunJob]),
    *page_and_call(
        "/runs/jobs/{job}", show_job, GET, "reader", "A run that was started here", answer=RunJob
    ),
    *page_and_call("/runs/jobs/{job}/cancel", cancel, POST, "chair", "Stop a run", answer=RunJob),
]
