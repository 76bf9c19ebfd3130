"""The dashboard: the state of today."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from assay.web.access import Guarded
from assay.web.shell import page, service_of
from assay.workbench.dashboard import make_dashboard


def dashboard(request: Request) -> Response:
    shown = make_dashboard(service_of(request))
    shares = [
        (state, getattr(shown.backlog, state))
        for state in ("pending_review", "approved", "rejected", "published")
    ]
    return page(
        request,
        "dashboard.html",
        backlog=shown.backlog,
        shares=shares,
        strays=shown.strays,
        gold_sets=shown.gold_sets,
        runs=shown.runs,
        audit=shown.audit,
        telemetry=shown.telemetry,
    )


PAGE_ROUTES = [
    Guarded("/", dashboard, ("GET",), "reader", "The state of today"),
]
