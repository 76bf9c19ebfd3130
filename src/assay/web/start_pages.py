"""The page from documents to a decision, and the page that maps the answers of a search service.

The page runs the commands of `assay start`, in processes of their own, and only where nobody needs
an account: what they read and run is on the machine of the person who asks."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import AssayError, InputError
from assay.core.workspace import workspace
from assay.web.access import GET, POST, AppRoute, access_of
from assay.web.page_frame import form, message_of, page, service_of
from assay.workbench.project import start as way
from assay.workbench.project.service import reopen_service
from assay.workbench.scoring.engines import propose_table

ENDS = 5.0  # seconds that a process may take to end after its step is done; chosen
MOST_SHOWN = 20_000  # characters at the end of an output; taste
# the pages that do a step as well, or show what came of it
ALSO = {
    "votes": ("/judge", "/agreement"),
    "rulings": ("/agreement",),
    "compare": ("/compare",),
    "next": ("/runs",),
}


class StepRun(msgspec.Struct):
    """The commands of a step that run, or ran last on this server."""

    key: str
    thread: threading.Thread
    has_failed: bool = False


def show_start(request: Request) -> Response:
    return _start_page(request)


def _start_page(request: Request, complaint: str = "", written: str = "") -> Response:
    state = request.app.state
    state.service = reopen_service(service_of(request))
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
        return _start_page(request, message_of(request, error), given.text("text"))
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
    AppRoute("/start", show_start, GET, "admin", "From documents to a decision, step by step"),
    AppRoute("/start", answer_step, POST, "admin", "Answer what a step asks"),
    AppRoute("/start/run", run_step, POST, "admin", "Run the commands of the next step"),
    AppRoute("/start/map", map_answer, (*GET, *POST), "admin", "Map the answer of a service"),
]
