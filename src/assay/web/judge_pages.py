"""The judging pages: the sets to judge, the queries of a set, and one document at a time beside the
rubric. Votes, flags and added documents go through the API calls below."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.core.types import Issue
from assay.web.access import GET, POST, Guarded, is_chair, page_and_call, user_of
from assay.web.page_frame import body, is_api, json, language_for, page, query, service_of
from assay.workbench.deciding.next_judgments import open_question
from assay.workbench.judging import flags, set_edits
from assay.workbench.judging import page as grading
from assay.workbench.judging.flags import Flag, FlagForm
from assay.workbench.judging.page import (
    DocumentToJudge,
    QueryToJudge,
    SavedVote,
    SetRow,
    SetToJudge,
    VoteConflict,
    VoteForm,
)
from assay.workbench.judging.set_edits import (
    AddedDocument,
    ChangedSet,
    EditedIssue,
    FoundToAdd,
    NewQuery,
)
from assay.workbench.judging.vote_totals import uncounted
from assay.workbench.project.service import gold_path
from assay.workbench.scoring.run_queue import engines_again

WORDS = ("judge",)
PRECONDITION_FAILED = 412  # the judge has changed this vote in another window


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
    rubric: grading.Rubric
    starts: dict[int, list[str]]


# ── pages, and the calls that give the same values ────────────────────────────────────────────────


def list_sets(request: Request) -> Response:
    judge, service = user_of(request).name, service_of(request)
    rows = grading.sets_to_judge(service, judge)
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
        return json(grading.set_to_judge(service, query(request, SetParams).set, judge, chair))
    name = request.path_params["set"]
    shown = grading.set_to_judge(service, name, judge, chair)
    return page(
        request,
        "judge_set.html",
        words=WORDS,
        shown=shown,
        first=_first_open(shown),
        rubric=grading.rubric_in_use(service, name, language_for(request))[0],
        open=open_question(service, name, judge),
        chair=chair,
        uncounted=uncounted(gold_path(service, name)),
        engines=engines_again(service, name) if chair else [],
    )


def _first_open(shown: SetToJudge) -> str:
    """The first query with documents left to judge."""
    left = (row.id for row in shown.queries if row.judged < row.asked)
    return next(left, "")


def show_query(request: Request) -> Response:
    """The documents of a query. On the page `?doc=ID` opens that document; otherwise the first one
    left to judge."""
    judge, service, chair = user_of(request).name, service_of(request), is_chair(request)
    if is_api(request):
        asked = query(request, QueryParams)
        return json(grading.query_to_judge(service, asked.set, asked.query, judge, chair))
    name, query_id = request.path_params["set"], request.path_params["query"]
    shown = grading.query_to_judge(service, name, query_id, judge, chair)
    rubric, starts = grading.rubric_in_use(service, name, language_for(request))
    return page(
        request,
        "judge.html",
        shown=shown,
        rubric=rubric,
        starts=starts,
        chair=chair,
        opened=request.query_params.get("doc", ""),
        longest=grading.LONGEST,
        progress_json=msgspec.json.encode(shown.progress).decode(),
    )


def all_documents_page(request: Request) -> Response:
    name, query_id = request.path_params["set"], request.path_params["query"]
    service = service_of(request)
    shown = grading.query_to_judge(service, name, query_id, user_of(request).name)
    rubric, starts = grading.rubric_in_use(service, name, language_for(request))
    return page(
        request,
        "judge_all.html",
        words=WORDS,
        shown=grading.with_titles(service, shown),
        rubric=rubric,
        starts=starts,
        longest=grading.LONGEST,
    )


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────


def show_document(request: Request) -> Response:
    asked = query(request, DocumentParams)
    return json(grading.read_pair(service_of(request), asked.set, asked.query, asked.doc))


def show_rubric(request: Request) -> Response:
    rubric, starts = grading.rubric_in_use(service_of(request), query(request, SetParams).set)
    return json(RubricAnswer(rubric=rubric, starts=starts))


def vote(request: Request) -> Response:
    given = body(request, VoteForm)
    found = grading.save_vote(service_of(request), given, user_of(request).name)
    return json(found, PRECONDITION_FAILED if isinstance(found, VoteConflict) else 200)


def flag(request: Request) -> Response:
    given = body(request, FlagForm)
    judge, chair = user_of(request).name, is_chair(request)
    return json(flags.flag_query(service_of(request), given, judge, chair))


def search_to_add(request: Request) -> Response:
    asked = query(request, SearchParams)
    return json(set_edits.find_to_add(service_of(request), asked.set, asked.query, asked.q))


def add_document(request: Request) -> Response:
    given, judge = body(request, NewDocument), user_of(request).name
    service = service_of(request)
    return json(set_edits.add_to_pool(service, given.set, given.query_id, given.doc_id, judge))


def add_query(request: Request) -> Response:
    given = body(request, NewQuery)
    return json(set_edits.add_query(service_of(request), given, by=user_of(request).name))


def edit_issue(request: Request) -> Response:
    given = body(request, EditedIssue)
    return json(set_edits.edit_issue(service_of(request), given, by=user_of(request).name))


JUDGE_ROUTES = [
    *page_and_call(
        "/judge",
        list_sets,
        GET,
        "judge",
        "The sets you are asked to judge",
        answer=list[SetRow],
    ),
    Guarded("/judge/{set}", show_set, GET, "judge", "The queries of a set"),
    Guarded(
        "/judge/{set}/{query:path}/all",
        all_documents_page,
        GET,
        "judge",
        "All documents of a query",
    ),
    Guarded("/judge/{set}/{query:path}", show_query, GET, "judge", "Judge a query"),
    Guarded(
        "/api/judge/set",
        show_set,
        GET,
        "judge",
        "A set, its queries and your progress",
        query=SetParams,
        answer=SetToJudge,
    ),
    Guarded(
        "/api/judge/query",
        show_query,
        GET,
        "judge",
        "The documents of a query that you are asked to judge, and your votes",
        query=QueryParams,
        answer=QueryToJudge,
    ),
    Guarded(
        "/api/judge/document",
        show_document,
        GET,
        "judge",
        "A document as a judge reads it",
        query=DocumentParams,
        answer=DocumentToJudge,
    ),
    Guarded(
        "/api/judge/rubric",
        show_rubric,
        GET,
        "judge",
        "The rubric of a set",
        query=SetParams,
        answer=RubricAnswer,
    ),
    Guarded(
        "/api/judge/search",
        search_to_add,
        GET,
        "judge",
        "Search for documents to add to a query",
        query=SearchParams,
        answer=list[FoundToAdd],
    ),
    Guarded(
        "/api/votes",
        vote,
        POST,
        "judge",
        "Vote; safe to retry with the same id. 412 if you have changed this vote since `seen`",
        body=VoteForm,
        answer=SavedVote,
    ),
    Guarded(
        "/api/flags",
        flag,
        POST,
        "judge",
        "Flag a query, or remove your flag; a chair removes all flags",
        body=FlagForm,
        answer=Flag,
    ),
    Guarded(
        "/api/pool",
        add_document,
        POST,
        "judge",
        "Add a document to the pool of a query",
        body=NewDocument,
        answer=AddedDocument,
    ),
    Guarded(
        "/api/queries", add_query, POST, "chair", "Add a query", body=NewQuery, answer=ChangedSet
    ),
    Guarded(
        "/api/issues",
        edit_issue,
        POST,
        "chair",
        "Edit an issue of the taxonomy, or add one",
        body=EditedIssue,
        answer=Issue,
    ),
]
