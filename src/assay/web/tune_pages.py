"""The page of a sweep over settings, finished or running. Sweeps are started with `assay tune`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import NotHere
from assay.reports import tuning
from assay.web.access import GET, AppRoute, page_and_call
from assay.web.decision_pages import decided_page
from assay.web.page_frame import is_api, json, language_for, service_of
from assay.workbench.deciding.tune import SweepState, sweep_state


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
