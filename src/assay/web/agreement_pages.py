"""Agreement: how far the judges agree, in words first; the disagreements; the chair's ruling."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.reports.drawings import range_mark
from assay.web.access import Guarded, user_of
from assay.web.judge_pages import OfSet, is_chair
from assay.web.shell import body, form, json, language_for, page, query, service_of
from assay.workbench import agreed, grading
from assay.workbench.agreed import Agreement, Dispute, Figure, Merged, Ruled, RulingGiven

WORDS = ("agreement", "judge")
LISTED = 200  # disagreements


class LabelsWanted(msgspec.Struct, frozen=True):
    set: str


def sets_page(request: Request) -> Response:
    rows = agreed.agreement_list(service_of(request))
    return page(request, "agreement_sets.html", words=WORDS, sets=rows)


def set_page(request: Request) -> Response:
    name, service = request.path_params["set"], service_of(request)
    figures = agreed.agreement_of(service, name)
    chair = is_chair(request)
    return page(
        request,
        "agreement.html",
        words=WORDS,
        name=name,
        agreed=figures,
        facts=agreed.facts_of(figures),
        newer=agreed.newer_votes(service, name, figures),
        mark=_mark,
        disputes=agreed.open_disputes(service, name, most=LISTED) if chair else [],
        to_rule=agreed.dispute_count(service, name) if chair else 0,
        chair=chair,
        uncounted=agreed.waiting_votes(service, name),
    )


def rule_page(request: Request) -> Response:
    """One disagreement; the next one follows after the ruling."""
    name, service = request.path_params["set"], service_of(request)
    query_id, doc_id = request.path_params["query"], request.query_params.get("doc", "")
    disputes = agreed.open_disputes(service, name)
    keys = [(each.query_id, each.doc_id) for each in disputes]
    place = keys.index((query_id, doc_id)) if (query_id, doc_id) in keys else None
    ruled = agreed.ruled_pair(service, name, query_id, doc_id) if place is None else None
    rubric, starts = grading.rubric_in_use(service, name, language_for(request))
    return page(
        request,
        "agreement_rule.html",
        words=WORDS,
        name=name,
        dispute=disputes[place] if place is not None else ruled,
        ruled=ruled is not None,
        place=(place or 0) + 1,
        total=len(disputes),
        before=disputes[place - 1] if place else None,
        after=_after(disputes, place),
        rubric=rubric,
        starts=starts,
        longest=grading.LONGEST,
    )


def _mark(figure: Figure) -> str:
    """The interval, drawn; a figure below 0 would fall off the line."""
    low, high = figure.interval or (None, None)
    if figure.value is None or figure.value < 0 or (low is not None and low < 0):
        return ""
    return range_mark(figure.value, (low, high))


def _after(disputes: list[Dispute], place: int | None) -> Dispute | None:
    if place is None:
        return disputes[0] if disputes else None
    return disputes[place + 1] if place + 1 < len(disputes) else None


def figures(request: Request) -> Response:
    return json(agreed.agreement_of(service_of(request), query(request, OfSet).set))


def disputes(request: Request) -> Response:
    return json(agreed.open_disputes(service_of(request), query(request, OfSet).set))


def rule(request: Request) -> Response:
    given = body(request, RulingGiven)
    return json(agreed.give_ruling(service_of(request), given, user_of(request).name))


def labels(request: Request) -> Response:
    wanted, by = body(request, LabelsWanted).set, user_of(request).name
    return json(agreed.compute_labels(service_of(request), wanted, by=by))


def count(request: Request) -> Response:
    """As the call does, from a button on a page without a script."""
    agreed.compute_labels(service_of(request), form(request).text("set"), by=user_of(request).name)
    return RedirectResponse("/", status_code=303)


COUNT_FORM = [Guarded("/labels", count, ("POST",), "chair", "Count newer judgments in the labels")]

AGREEMENT_ROUTES = [
    Guarded("/agreement", sets_page, ("GET",), "judge", "The sets that several judged"),
    Guarded("/agreement/{set}", set_page, ("GET",), "judge", "How far the judges agree"),
    Guarded(
        "/agreement/{set}/{query:path}", rule_page, ("GET",), "chair", "Rule on a disagreement"
    ),
    Guarded(
        "/api/agreement",
        figures,
        ("GET",),
        "judge",
        "How far the judges agree",
        query=OfSet,
        answer=Agreement,
    ),
    Guarded(
        "/api/disputes",
        disputes,
        ("GET",),
        "chair",
        "What waits for a ruling",
        query=OfSet,
        answer=list[Dispute],
    ),
    Guarded(
        "/api/rulings",
        rule,
        ("POST",),
        "chair",
        "Rule on a disagreement; the labels follow",
        body=RulingGiven,
        answer=Ruled,
    ),
    Guarded(
        "/api/labels",
        labels,
        ("POST",),
        "chair",
        "Compute the labels of a set again from the votes",
        body=LabelsWanted,
        answer=Merged,
    ),
]
