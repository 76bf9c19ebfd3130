"""The agreement pages: how far the judges agree, their disagreements, and the chair's rulings."""

from __future__ import annotations

from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.reports.drawings import range_mark
from assay.web.access import GET, POST, Guarded, is_chair, page_and_call, user_of
from assay.web.judge_pages import SetParams
from assay.web.page_frame import body, form, is_api, json, language_for, page, query, service_of
from assay.workbench.judging import agreement, rulings
from assay.workbench.judging import page as grading
from assay.workbench.judging.agreement import Agreement, Figure
from assay.workbench.judging.rulings import ActId, Dispute, Ruled
from assay.workbench.judging.vote_totals import uncounted
from assay.workbench.judging.votes_to_labels import Merged, recompute_labels
from assay.workbench.project.service import gold_path

WORDS = ("agreement", "judge")
LISTED = 200  # disagreements on the page of a set; taste


class RulingGiven(msgspec.Struct, frozen=True, kw_only=True):
    """A ruling, as the page sends it. `act` is an id that the client makes for it;
    `seen` are the ids of the rulings that it showed. If somebody has ruled since, it is refused."""

    set: str
    query_id: str
    doc_id: str
    grade: int
    rationale: str
    act: ActId = ""
    seen: str | None = None


def dataset_of(request: Request, name: str) -> Path:
    return gold_path(service_of(request), name)


def sets_page(request: Request) -> Response:
    rows = agreement.agreement_list(service_of(request))
    return page(request, "agreement_sets.html", words=WORDS, sets=rows)


def show_agreement(request: Request) -> Response:
    if is_api(request):
        return json(agreement.agreement_of(dataset_of(request, query(request, SetParams).set))[0])
    name, chair = request.path_params["set"], is_chair(request)
    dataset, home = dataset_of(request, name), service_of(request).home
    figures, newer = agreement.agreement_of(dataset)
    return page(
        request,
        "agreement.html",
        words=WORDS,
        name=name,
        agreed=figures,
        facts=agreement.facts_of(figures),
        newer=newer,
        mark=_interval_mark,
        disputes=rulings.open_disputes(dataset, home, most=LISTED) if chair else [],
        to_rule=rulings.dispute_count(dataset) if chair else 0,
        chair=chair,
        uncounted=uncounted(dataset),
    )


def rule_page(request: Request) -> Response:
    """The page of one disagreement; after the ruling it goes on to the next."""
    name, service = request.path_params["set"], service_of(request)
    query_id, doc_id = request.path_params["query"], request.query_params.get("doc", "")
    dataset = dataset_of(request, name)
    disputes = rulings.open_disputes(dataset, service.home)
    keys = [(each.query_id, each.doc_id) for each in disputes]
    place = keys.index((query_id, doc_id)) if (query_id, doc_id) in keys else None
    ruled = rulings.ruled_pair(dataset, query_id, doc_id) if place is None else None
    rubric, starts = grading.rubric_in_use(service, name, language_for(request))
    return page(
        request,
        "agreement_rule.html",
        words=WORDS,
        name=name,
        dispute=disputes[place] if place is not None else ruled,
        ruled=ruled is not None,
        seen=" ".join(vote.id for vote in rulings.rulings_on(dataset, query_id, doc_id)),
        place=(place or 0) + 1,
        total=len(disputes),
        before=disputes[place - 1] if place else None,
        after=_next_dispute(disputes, place),
        rubric=rubric,
        starts=starts,
        longest=grading.LONGEST,
    )


def _interval_mark(figure: Figure) -> str:
    """A drawing of the interval; none for figures below 0, where the axis begins."""
    low, high = figure.interval or (None, None)
    if figure.value is None or figure.value < 0 or (low is not None and low < 0):
        return ""
    return range_mark(figure.value, (low, high))


def _next_dispute(disputes: list[Dispute], place: int | None) -> Dispute | None:
    if place is None:
        return disputes[0] if disputes else None
    return disputes[place + 1] if place + 1 < len(disputes) else None


def list_disputes(request: Request) -> Response:
    dataset = dataset_of(request, query(request, SetParams).set)
    return json(rulings.open_disputes(dataset, service_of(request).home))


def rule(request: Request) -> Response:
    given = body(request, RulingGiven)
    ruled = rulings.rule(
        dataset_of(request, given.set),
        given.query_id,
        given.doc_id,
        given.grade,
        rationale=given.rationale,
        by=user_of(request).name,
        kind="human",
        act=given.act,
        seen=given.seen,
    )
    return json(ruled)


def update_labels(request: Request) -> Response:
    """Recompute the labels of a set: for a call, or from a button that needs no script."""
    called = is_api(request)
    name = body(request, SetParams).set if called else form(request).text("set")
    merged = recompute_labels(dataset_of(request, name), by=user_of(request).name)
    return json(merged) if called else RedirectResponse("/", status_code=303)


AGREEMENT_ROUTES = [
    Guarded("/agreement", sets_page, GET, "judge", "The agreement on each set"),
    Guarded("/agreement/{set}", show_agreement, GET, "judge", "How far the judges agree"),
    Guarded("/agreement/{set}/{query:path}", rule_page, GET, "chair", "Rule on a disagreement"),
    Guarded(
        "/api/agreement",
        show_agreement,
        GET,
        "judge",
        "How far the judges agree",
        query=SetParams,
        answer=Agreement,
    ),
    Guarded(
        "/api/disputes",
        list_disputes,
        GET,
        "chair",
        "The pairs that need a ruling",
        query=SetParams,
        answer=list[Dispute],
    ),
    Guarded(
        "/api/rulings",
        rule,
        POST,
        "chair",
        "Rule on a disagreement and update the labels",
        body=RulingGiven,
        answer=Ruled,
    ),
    *page_and_call(
        "/labels",
        update_labels,
        POST,
        "chair",
        "Recompute the labels of a set from its votes",
        SetParams,
        Merged,
    ),
]
