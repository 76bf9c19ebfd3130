"""The pages that start work: runs in the queue of this server, a second judge, and the steps of
`assay start`, with the page that maps the answers of a search service.

Steps run in processes of their own, and only where nobody needs an account: what they read and run
is on the machine of the person who asks."""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import AssayError, InputError
from assay.core.workspace import workspace
from assay.web.access import (
    GET,
    POST,
    AppRoute,
    access_of,
    is_chair,
    page_and_call,
    user_of,
)
from assay.web.decision_pages import decided_page, full_sight, queue_of
from assay.web.page_frame import (
    body,
    form,
    is_api,
    json,
    local_path,
    message_of,
    page,
    query,
    sent_as,
    service_of,
)
from assay.workbench.deciding import single_judge_risk
from assay.workbench.deciding.run_boards import (
    board_of,
    run_lines,
    run_page,
    verdict_risk,
    verdict_today,
)
from assay.workbench.deciding.run_comparison import compare_runs
from assay.workbench.project import start as way
from assay.workbench.project.service import (
    Service,
    path_of_stored_name,
    reopen_service,
    stored_name,
)
from assay.workbench.scoring.engines import propose_table
from assay.workbench.scoring.history import stored_run
from assay.workbench.scoring.run_queue import RunJob

ENDS = 5.0  # seconds that a process may take to end after its step is done; chosen
MOST_SHOWN = 20_000  # characters at the end of an output; taste
# the pages that do a step as well, or show what came of it
ALSO = {
    "votes": ("/judge", "/agreement"),
    "rulings": ("/agreement",),
    "compare": ("/compare",),
    "next": ("/runs",),
}


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


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


def start_run(request: Request) -> Response:
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


def back_to(service: Service, gold: str, address: str) -> str:
    """The page that was asked from, of the newest runs of its engines; else the comparison of the
    best two, where the question of the set is answered."""
    parts = urlsplit(local_path(address))
    given = parse_qs(parts.query)
    lines = run_lines(service, gold=stored_name(service, gold))
    newest: dict[str, str] = {}
    for line in lines:
        newest.setdefault(line.engine, line.id)

    def now(run_id: str) -> str:
        try:
            return newest.get(stored_run(service, run_id).engine, run_id)
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


def run_again(request: Request) -> Response:
    """Update the labels with new judgments, and run again what needs it; then go back."""
    queue, by = queue_of(request), user_of(request).name
    if is_api(request):
        return json(queue.run_again(body(request, RunAgain).gold, by=by), 202)
    fields = form(request)
    gold, back = fields.text("set"), fields.text("back")
    jobs = queue.run_again(gold, by=by)
    if not jobs:
        return RedirectResponse(back_to(service_of(request), gold, back), status_code=303)
    asked = {"set": gold, "back": back, "jobs": ",".join(job.id for job in jobs)}
    return RedirectResponse(f"/runs/again?{urlencode(asked)}", status_code=303)


def run_again_page(request: Request) -> Response:
    """The progress of the runs; when all are done, on to the page that was asked from."""
    full_sight(request)
    asked, queue = query(request, Again), queue_of(request)
    found = [queue.job(job_id) for job_id in asked.jobs.split(",") if job_id]
    jobs = [job for job in found if job is not None]
    back = back_to(service_of(request), asked.set, asked.back) if asked.set else "/runs"
    if all(job.state == "done" for job in jobs) and bool(jobs) == bool(asked.jobs):
        return RedirectResponse(back, status_code=303)
    return decided_page(request, "again.html", jobs=jobs, gold=asked.set, back=back)


def ask_second_judge(request: Request) -> Response:
    service, wanted = service_of(request), sent_as(request, SecondWanted)
    kept = stored_run(service, wanted.run)
    if wanted.other:
        found = compare_runs(service, wanted.other, kept.id).single_judge_risk
    else:
        found = verdict_risk(service, kept, verdict_today(service, kept))
    asked, by = 0, user_of(request).name
    if found is not None:
        path = path_of_stored_name(service, kept.gold)
        asked = single_judge_risk.ask_second_judge(service, path, found.pairs, by=by)
    if is_api(request):
        return json(SecondAsked(documents=asked))
    back = local_path(form(request).text("back")) or f"/runs/{wanted.run}"
    return RedirectResponse(back, status_code=303)


def show_job(request: Request) -> Response:
    full_sight(request)
    found = queue_of(request).job(request.path_params["job"])
    if not is_api(request):
        return _job_page(request, found, "", 404 if found is None else 200)
    if found is None:
        return json({"error": "no such run is known since the server was started"}, 404)
    return json(found)


def _job_page(request: Request, job: RunJob | None, complaint: str, status: int) -> Response:
    service = service_of(request)
    before = now = None
    if job is not None and job.run:
        kept = stored_run(service, job.run)
        earlier = run_page(service, gold=kept.gold, limit=12).items
        before = next((line for line in earlier if line.id != job.run and not line.error), None)
        now = next((line for line in earlier if line.id == job.run), None)
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
        job=job,
        complaint=complaint,
        before=before,
        is_behind=is_behind,
        can_stop=is_chair(request),
    )


def list_jobs(request: Request) -> Response:
    full_sight(request)
    return json(queue_of(request).jobs())


def cancel_run(request: Request) -> Response:
    job_id = request.path_params["job"]
    stopped = queue_of(request).cancel(job_id, by=user_of(request).name)
    if is_api(request):
        return json(stopped)
    return RedirectResponse(f"/runs/jobs/{job_id}", status_code=303)


JOB_ROUTES = [
    *page_and_call(
        "/runs/start",
        start_run,
        POST,
        "chair",
        "Start a run",
        StartRun,
        RunJob,
        call="/api/runs/jobs",
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
    AppRoute("/runs/again", run_again_page, GET, "reader", "How far the runs are", query=Again),
    *page_and_call(
        "/second",
        ask_second_judge,
        POST,
        "chair",
        "Ask a second judge for what a verdict or a comparison rests on",
        SecondWanted,
        SecondAsked,
    ),
    AppRoute("/api/runs/jobs", list_jobs, GET, "reader", "Runs started here", answer=list[RunJob]),
    *page_and_call(
        "/runs/jobs/{job}", show_job, GET, "reader", "A run that was started here", answer=RunJob
    ),
    *page_and_call(
        "/runs/jobs/{job}/cancel", cancel_run, POST, "chair", "Stop a run", answer=RunJob
    ),
]


# ── the steps of assay start ──────────────────────────────────────────────────────────────────────


class StepRun(msgspec.Struct):
    """The commands of a step that run, or ran last on this server."""

    key: str
    thread: threading.Thread
    has_failed: bool = False


def start_page(request: Request, complaint: str = "", written: str = "") -> Response:
    state = request.app.state
    service = reopen_service(service_of(request))
    state.service = request.state.service = service
    answers = way.known_answers()
    ran: StepRun | None = getattr(state, "step_run", None)
    output = _output_path()
    return page(
        request,
        "start.html",
        400 if complaint else 200,
        words=("decide",),
        steps=way.steps(answers),
        at=way.next_step(answers),
        usual=way.usual_answer,
        answers=answers,
        ran=ran,
        is_running=ran is not None and ran.thread.is_alive(),
        output=output.read_text("utf-8", "replace")[-MOST_SHOWN:] if ran else "",
        complaint=complaint,
        written=written,
        also=ALSO,
        has_sets=way.has_other_sets(answers, service.gold_sets),
    )


def _output_path() -> Path:
    return workspace() / "start-output.txt"


def _refuse_with_accounts(request: Request) -> None:
    if access_of(request).accounts:
        raise InputError("a server with accounts runs no commands", hint="Use the terminal.")


def answer_step(request: Request) -> Response:
    """Keep what the step asks for."""
    _refuse_with_accounts(request)
    given = form(request)
    try:
        answers = way.answered(way.known_answers(), given.text("asked"), given.text("text"))
    except AssayError as error:
        return start_page(request, message_of(request, error), given.text("text"))
    way.keep_answers(answers)
    return RedirectResponse("/start", status_code=303)


def run_step(request: Request) -> Response:
    """Start the commands of the step that is next, unless some are running."""
    _refuse_with_accounts(request)
    state = request.app.state
    with _starting:
        ran: StepRun | None = getattr(state, "step_run", None)
        if ran is not None:
            ran.thread.join(ENDS)
        at = way.next_step(way.known_answers())
        is_next = at is not None and at[1].key == form(request).text("step")
        if at and is_next and at[1].commands and (ran is None or not ran.thread.is_alive()):
            run = StepRun(key=at[1].key, thread=threading.Thread(daemon=True))
            run.thread = threading.Thread(target=_run, args=(run, at[1]), daemon=True)
            state.step_run = run
            run.thread.start()
    return RedirectResponse("/start", status_code=303)


_starting = threading.Lock()


def _run(run: StepRun, step: way.StartStep) -> None:
    with _output_path().open("wb") as output:
        run.has_failed = not way.run_commands(step, output.fileno())


def map_answer(request: Request) -> Response:
    """A table for a service, from an answer that was pasted and the paths that were chosen."""
    given = form(request) if request.method == "POST" else None
    proposed, complaint = None, ""
    if given is not None:
        # another list has other fields
        kept = ("hits", *PARTS) if given.text("hits") == given.text("was") else ("hits",)
        chosen = {part: given.text(part) for part in kept}
        try:
            proposed = propose_table(
                given.text("address"), "", answer=given.text("answer").encode(), chosen=chosen
            )
        except AssayError as error:
            complaint = message_of(request, error)
    return page(
        request,
        "start-map.html",
        400 if complaint else 200,
        words=("start",),
        parts=PARTS,
        proposed=proposed,
        complaint=complaint,
        address=given.text("address") if given else "",
        answer=given.text("answer") if given else "",
    )


PARTS = ("id", "score", "title", "text")

START_ROUTES = [
    AppRoute("/start", start_page, GET, "admin", "From documents to a decision, step by step"),
    AppRoute("/start", answer_step, POST, "admin", "Answer what a step asks"),
    AppRoute("/start/run", run_step, POST, "admin", "Run the commands of the next step"),
    AppRoute("/start/map", map_answer, (*GET, *POST), "admin", "Map the answer of a service"),
]
