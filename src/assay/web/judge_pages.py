"""The judging pages: sets and queries to judge, one document at a time beside the rubric, how far
the judges agree, with the chair's rulings, and the sets of checked answers. Votes, flags and added
documents are API calls."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.types import Issue
from assay.reports.drawings import range_mark
from assay.web.access import GET, POST, AppRoute, is_chair, page_and_call, user_of
from assay.web.page_frame import body, is_api, json, language_for, page, query, sent_as, service_of
from assay.workbench.deciding.run_comparison import open_question
from assay.workbench.judging import agreement, rulings, set_edits
from assay.workbench.judging.agreement import Agreement, AgreementFigure
from assay.workbench.judging.answer_figures import judged_answers
from assay.workbench.judging.answer_page import answer_set, answer_sets, answer_to_judge
from assay.workbench.judging.page import (
    LONGEST_REASON,
    PairToRead,
    QueryFilter,
    QueryToJudge,
    Rubric,
    SavedVote,
    SetRow,
    SetToJudge,
    VoteConflict,
    VoteForm,
    listed_queries,
    query_to_judge,
    read_pair,
    rubric_in_use,
    save_vote,
    set_to_judge,
    sets_to_judge,
    with_titles,
)
from assay.workbench.judging.rulings import ActId, Dispute, RulingOutcome
from assay.workbench.judging.set_edits import (
    AddedDocument,
    Assigned,
    Assignment,
    ChangedSet,
    EditedIssue,
    Flag,
    FlagForm,
    FoundToAdd,
    NewQuery,
    QueryNote,
)
from assay.workbench.judging.vote_totals import rulings_needed, uncounted
from assay.workbench.judging.votes_to_labels import MergeOutcome, recompute_labels
from assay.workbench.project.service import gold_path
from assay.workbench.scoring.run_queue import engines_again

WORDS = ("judge",)
AGREEMENT_WORDS = ("agreement", "judge")
LISTED_DISAGREEMENTS = 200  # disagreements on the page of a set; taste
QUERIES = 50  # on one page of a set; taste
PRECONDITION_FAILED = 412  # the judge has changed this vote in another window; RFC 9110


class SetParams(msgspec.Struct, frozen=True):
    set: str


class QueryParams(msgspec.Struct, frozen=True):
    set: str
    query: str


class DocumentParams(msgspec.Struct, frozen=True):
    set: str
    query: str
    doc: str


class SearchParams(msgspec.Struct, frozen=True):
    """A search for a document to add to a query."""

    set: str
    query: str
    q: str


class NewDocument(msgspec.Struct, frozen=True):
    set: str
    query_id: str
    doc_id: str


class RubricAnswer(msgspec.Struct, frozen=True, kw_only=True):
    rubric: Rubric
    starts: dict[int, list[str]]


# ── pages, and the calls that give the same values ────────────────────────────────────────────────


def list_sets(request: Request) -> Response:
    judge, service = user_of(request).name, service_of(request)
    rows = sets_to_judge(service, judge)
    if is_api(request):
        return json(rows)
    return page(
        request,
        "judge_sets.html",
        words=WORDS,
        sets=rows,
        open={row.name: open_question(service, row.name, judge) for row in rows if row.asked},
        chair=is_chair(request),
    )


def show_set(request: Request) -> Response:
    judge, service, chair = user_of(request).name, service_of(request), is_chair(request)
    if is_api(request):
        return json(set_to_judge(service, query(request, SetParams).set, judge, chair))
    name = request.path_params["set"]
    shown, asked = set_to_judge(service, name, judge, chair), query(request, QueryFilter)
    listed, start = listed_queries(shown.queries, asked), max(asked.offset, 0)
    return page(
        request,
        "judge_set.html",
        words=WORDS,
        shown=shown,
        asked=asked,
        listed=listed,
        rows=listed[start : start + QUERIES],
        start=start,
        step=QUERIES,
        types=sorted({row.type for row in shown.queries if row.type}),
        at=partial(_filter_address, name, asked),
        first=_first_open(shown),
        unsure=sum(row.unsure for row in shown.queries),
        rubric=rubric_in_use(service, name, language_for(request))[0],
        open=open_question(service, name, judge),
        chair=chair,
        uncounted=uncounted(gold_path(service, name)),
        engines=engines_again(service, name) if chair else [],
    )


def _filter_address(name: str, query_filter: QueryFilter, **changed: object) -> str:
    """The address of the page of a set with something of its filter changed."""
    values = msgspec.structs.asdict(query_filter) | {"offset": 0} | changed
    kept = urlencode({key: value for key, value in values.items() if value})
    return f"/judge/{quote(name, safe='')}{'?' if kept else ''}{kept}"


def _first_open(gold_set: SetToJudge) -> str:
    """The first query with documents left to judge."""
    left = (row.id for row in gold_set.queries if row.judged < row.asked)
    return next(left, "")


def show_query(request: Request) -> Response:
    """The documents of a query. On the page `?doc=ID` opens that document; otherwise the first one
    left to judge."""
    judge, service, chair = user_of(request).name, service_of(request), is_chair(request)
    if is_api(request):
        parameters = query(request, QueryParams)
        return json(query_to_judge(service, parameters.set, parameters.query, judge, chair))
    name, query_id = request.path_params["set"], request.path_params["query"]
    shown = query_to_judge(service, name, query_id, judge, chair)
    rubric, starts = rubric_in_use(service, name, language_for(request))
    answer = answer_to_judge(service, name, query_id, language_for(request))
    return page(
        request,
        "answer.html" if answer else "judge.html",
        words=(*WORDS, "answer_set") if answer else (),
        answer=answer,
        shown=shown,
        rubric=rubric,
        starts=starts,
        chair=chair,
        opened=request.query_params.get("doc", ""),
        longest=LONGEST_REASON,
        progress_json=msgspec.json.encode(shown.progress).decode(),
    )


def all_documents_page(request: Request) -> Response:
    name, query_id = request.path_params["set"], request.path_params["query"]
    service = service_of(request)
    shown = query_to_judge(service, name, query_id, user_of(request).name)
    rubric, starts = rubric_in_use(service, name, language_for(request))
    return page(
        request,
        "judge_all.html",
        words=WORDS,
        shown=with_titles(service, shown),
        rubric=rubric,
        starts=starts,
        longest=LONGEST_REASON,
    )


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────


def show_document(request: Request) -> Response:
    parameters = query(request, DocumentParams)
    return json(read_pair(service_of(request), parameters.set, parameters.query, parameters.doc))


def show_rubric(request: Request) -> Response:
    rubric, starts = rubric_in_use(service_of(request), query(request, SetParams).set)
    return json(RubricAnswer(rubric=rubric, starts=starts))


def vote(request: Request) -> Response:
    given = body(request, VoteForm)
    found = save_vote(service_of(request), given, user_of(request).name)
    return json(found, PRECONDITION_FAILED if isinstance(found, VoteConflict) else 200)


def flag(request: Request) -> Response:
    given = body(request, FlagForm)
    judge, chair = user_of(request).name, is_chair(request)
    return json(set_edits.flag_query(service_of(request), given, judge, chair))


def search_to_add(request: Request) -> Response:
    parameters = query(request, SearchParams)
    return json(
        set_edits.find_to_add(service_of(request), parameters.set, parameters.query, parameters.q)
    )


def add_document(request: Request) -> Response:
    given, judge = body(request, NewDocument), user_of(request).name
    service = service_of(request)
    return json(set_edits.add_to_pool(service, given.set, given.query_id, given.doc_id, judge))


def assign(request: Request) -> Response:
    given = body(request, Assignment)
    return json(set_edits.assign_pairs(service_of(request), given, by=user_of(request).name))


def note(request: Request) -> Response:
    given = body(request, QueryNote)
    return json(set_edits.note_query(service_of(request), given, by=user_of(request).name))


def add_query(request: Request) -> Response:
    given = body(request, NewQuery)
    return json(set_edits.add_query(service_of(request), given, by=user_of(request).name))


def edit_issue(request: Request) -> Response:
    given = body(request, EditedIssue)
    return json(set_edits.edit_issue(service_of(request), given, by=user_of(request).name))


# ── agreement ─────────────────────────────────────────────────────────────────────────────────────


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
    return page(request, "agreement_sets.html", words=AGREEMENT_WORDS, sets=rows)


def show_agreement(request: Request) -> Response:
    if is_api(request):
        return json(agreement.agreement_of(dataset_of(request, query(request, SetParams).set))[0])
    name, chair = request.path_params["set"], is_chair(request)
    dataset, home = dataset_of(request, name), service_of(request).home
    figures, newer = agreement.agreement_of(dataset)
    return page(
        request,
        "agreement.html",
        words=AGREEMENT_WORDS,
        name=name,
        agreed=figures,
        facts=agreement.facts_of(figures),
        newer=newer,
        mark=_interval_mark,
        disputes=rulings.open_disputes(dataset, home, most=LISTED_DISAGREEMENTS) if chair else [],
        to_rule=rulings_needed(dataset) if chair else 0,
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
    rubric, starts = rubric_in_use(service, name, language_for(request))
    return page(
        request,
        "agreement_rule.html",
        words=AGREEMENT_WORDS,
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
        longest=LONGEST_REASON,
    )


def _interval_mark(figure: AgreementFigure) -> str:
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


class RulingWithdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """A ruling to withdraw; `seen` are the ids of the rulings that the page showed."""

    set: str
    query_id: str
    doc_id: str
    seen: str | None = None


def withdraw_ruling(request: Request) -> Response:
    given, by = body(request, RulingWithdrawn), user_of(request).name
    dataset = dataset_of(request, given.set)
    return json(
        rulings.withdraw_ruling(dataset, given.query_id, given.doc_id, by=by, seen=given.seen)
    )


def update_labels(request: Request) -> Response:
    """Recompute the labels of a set: for a call, or from a button that needs no script."""
    name = sent_as(request, SetParams).set
    merged = recompute_labels(dataset_of(request, name), by=user_of(request).name)
    return json(merged) if is_api(request) else RedirectResponse("/", status_code=303)


JUDGE_ROUTES = [
    *page_and_call(
        "/judge", list_sets, GET, "judge", "The sets you are asked to judge", answer=list[SetRow]
    ),
    *page_and_call(
        "/judge/{set}",
        show_set,
        GET,
        "judge",
        "A set, its queries and your progress",
        answer=SetToJudge,
        query=SetParams,
        call="/api/judge/set",
    ),
    AppRoute(
        "/judge/{set}/{query:path}/all",
        all_documents_page,
        GET,
        "judge",
        "All documents of a query",
    ),
    *page_and_call(
        "/judge/{set}/{query:path}",
        show_query,
        GET,
        "judge",
        "The documents of a query that you are asked to judge, and your votes",
        answer=QueryToJudge,
        query=QueryParams,
        call="/api/judge/query",
    ),
    AppRoute(
        "/api/judge/document",
        show_document,
        GET,
        "judge",
        "A document as a judge reads it",
        query=DocumentParams,
        answer=PairToRead,
    ),
    AppRoute(
        "/api/judge/rubric",
        show_rubric,
        GET,
        "judge",
        "The rubric of a set",
        query=SetParams,
        answer=RubricAnswer,
    ),
    AppRoute(
        "/api/judge/search",
        search_to_add,
        GET,
        "judge",
        "Search for documents to add to a query",
        query=SearchParams,
        answer=list[FoundToAdd],
    ),
    AppRoute(
        "/api/votes",
        vote,
        POST,
        "judge",
        "Vote; safe to retry with the same id. 412 if you have changed this vote since `seen`",
        body=VoteForm,
        answer=SavedVote,
    ),
    AppRoute(
        "/api/flags",
        flag,
        POST,
        "judge",
        "Flag a query, or remove your flag; a chair removes all flags",
        body=FlagForm,
        answer=Flag,
    ),
    AppRoute(
        "/api/pool",
        add_document,
        POST,
        "judge",
        "Add a document to the pool of a query",
        body=NewDocument,
        answer=AddedDocument,
    ),
    AppRoute(
        "/api/pool/assign",
        assign,
        POST,
        "chair",
        "Assign the documents that nobody has judged to judges",
        body=Assignment,
        answer=Assigned,
    ),
    AppRoute(
        "/api/notes",
        note,
        POST,
        "chair",
        "Leave a note on a query for everybody who judges it",
        body=QueryNote,
        answer=QueryNote,
    ),
    AppRoute(
        "/api/queries", add_query, POST, "chair", "Add a query", body=NewQuery, answer=ChangedSet
    ),
    AppRoute(
        "/api/issues",
        edit_issue,
        POST,
        "chair",
        "Edit an issue of the taxonomy, or add one",
        body=EditedIssue,
        answer=Issue,
    ),
    AppRoute("/agreement", sets_page, GET, "judge", "The agreement on each set"),
    *page_and_call(
        "/agreement/{set}",
        show_agreement,
        GET,
        "judge",
        "How far the judges agree",
        answer=Agreement,
        query=SetParams,
        call="/api/agreement",
    ),
    AppRoute("/agreement/{set}/{query:path}", rule_page, GET, "chair", "Rule on a disagreement"),
    AppRoute(
        "/api/disputes",
        list_disputes,
        GET,
        "chair",
        "The pairs that need a ruling",
        query=SetParams,
        answer=list[Dispute],
    ),
    AppRoute(
        "/api/rulings",
        rule,
        POST,
        "chair",
        "Rule on a disagreement and update the labels",
        body=RulingGiven,
        answer=RulingOutcome,
    ),
    AppRoute(
        "/api/rulings/withdraw",
        withdraw_ruling,
        POST,
        "chair",
        "Withdraw a ruling and update the labels",
        body=RulingWithdrawn,
        answer=RulingOutcome,
    ),
    *page_and_call(
        "/labels",
        update_labels,
        POST,
        "chair",
        "Recompute the labels of a set from its votes",
        SetParams,
        MergeOutcome,
    ),
]


# ── sets of checked answers ───────────────────────────────────────────────────────────────────────


ANSWER_WORDS = ("answer_set",)


def list_answer_sets(request: Request) -> Response:
    sets = answer_sets(service_of(request), user_of(request).name)
    return page(request, "answers.html", words=ANSWER_WORDS, sets=sets, chair=is_chair(request))


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
