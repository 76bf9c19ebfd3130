"""The pages of checked answers: the sets of answers, and one set with its table of authorities. An
answer itself is read and judged on the judging page, in a layout of its own."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from assay.web.access import GET, AppRoute, is_chair, user_of
from assay.web.page_frame import page, service_of
from assay.workbench.judging.answer_figures import judged_answers
from assay.workbench.judging.answer_page import answer_set, answer_sets
from assay.workbench.project.service import gold_path

WORDS = ("answer_set",)


def list_answer_sets(request: Request) -> Response:
    sets = answer_sets(service_of(request), user_of(request).name)
    return page(request, "answers.html", words=WORDS, sets=sets)


def show_answer_set(request: Request) -> Response:
    """A set of checked answers. Only chairs see figures, since they name the systems."""
    service, name = service_of(request), request.path_params["set"]
    shown = answer_set(service, name, user_of(request).name)
    chair = is_chair(request)
    figures = judged_answers(gold_path(service, name), service.home) if chair else None
    first = next((row.id for row in shown.answers if row.judged < row.asked), "")
    return page(request, "answer_set.html", shown=shown, first=first, figures=figures)


ANSWER_ROUTES = [
    AppRoute("/answers", list_answer_sets, GET, "judge", "Checked answers, by set"),
    AppRoute("/answers/{set}", show_answer_set, GET, "judge", "A set of checked answers"),
]
