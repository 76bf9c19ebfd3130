"""The pages: the dashboard for the team, the review page for the expert. Forms work without
scripts; these add keys."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import AssayError, InputError
from assay.reports.words import page_words
from assay.web.access import Guarded, user_of
from assay.web.shell import form, language_for, page, service_of
from assay.workbench import gold, review
from assay.workbench.backlog import backlog
from assay.workbench.dashboard import make_dashboard
from assay.workbench.gold import Correction
from assay.workbench.opening import Service, gold_path
from assay.workbench.review import ReviewItem


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


def review_page(request: Request) -> Response:
    """One item at a time; `?at=N` is its place in the queue."""
    place = _whole(request.query_params.get("at", "0"))
    item = _waiting_at(service_of(request), place)
    if item is None and place:
        return RedirectResponse("/review", status_code=303)
    rejected = request.query_params.get("rejected", "")
    return _show_item(request, item, place, last_rejected=rejected)


def _waiting_at(service: Service, place: int) -> ReviewItem | None:
    items = review.queue(service, limit=1, offset=place).items
    return items[0] if items else None


def _show_item(
    request: Request,
    item: ReviewItem | None,
    place: int,
    *,
    status: int = 200,
    complaint: str = "",
    given: Given | None = None,
    last_rejected: str = "",
) -> Response:
    """The item, as it is in the store or as the expert has filled it in."""
    service = service_of(request)
    pending = backlog(service).pending_review
    grades: tuple[int, ...] = ()
    note = ""
    if item is not None and item.kind == "judgment":
        try:
            if item.grade is None:
                grades = tuple(range(review.top_grade(service, item) + 1))
            changes = review.changes_the_set(service, item)
            note = "accept_note" if changes else "vote_note"
        except InputError as error:  # its gold set is not here: it can be skipped or turned down
            complaint = complaint or _in_words(request, _lost(service, item, error))
    return page(
        request,
        "review.html",
        status,
        item=item,
        place=place,
        pending=pending,
        more=place + 1 < pending,
        documents=review.evidence(service, item) if item is not None else [],
        grades=grades,
        note=note,
        last_rejected=last_rejected,
        complaint=complaint,
        given=given,
    )


@dataclass(frozen=True, kw_only=True)
class Given:
    """What an expert sent. When it is refused it comes back with the page, filled in: nobody types
    twice."""

    item: str
    action: str
    by: str
    why: str
    note: str
    add: str
    grade: str
    place: int
    kept: tuple[str, ...]
    seen: tuple[str, ...] | None

    def ticked(self, doc_id: str) -> bool:
        """A document that the expert has not seen yet is ticked, as on a new page."""
        return doc_id in self.kept or (self.seen is not None and doc_id not in self.seen)


class Refused(InputError):
    """What an expert cannot do, by its key in the words: it is said in the language of the
    page."""

    def __init__(self, key: str, **values: str) -> None:
        self.key, self.values = key, values
        super().__init__(self.in_words_of(page_words("en")))

    def in_words_of(self, words: dict[str, str]) -> str:
        return words[f"refused {self.key}"].format(**self.values)


def decide(request: Request) -> Response:
    """The expert's word. What cannot be done is said beside what the expert had filled in."""
    given = _given(request)
    try:
        query = _decide(service_of(request), given)
    except AssayError as error:
        return _refused_page(request, given, error)
    return RedirectResponse(f"/review{query}", status_code=303)


def _given(request: Request) -> Given:
    sent = form(request)
    return Given(
        item=sent.text("item"),
        action=sent.text("action"),
        by=user_of(request).name,
        why=sent.text("why"),
        note=sent.text("note"),
        add=sent.text("add"),
        grade=sent.text("grade"),
        place=_whole(sent.text("place")),
        kept=sent.texts("doc"),
        seen=sent.texts("seen") if "seen" in sent else None,
    )


def _refused_page(request: Request, given: Given, error: AssayError) -> Response:
    complaint = _in_words(request, error)
    status = 400 if isinstance(error, InputError) else 503
    service = service_of(request)
    place = given.place
    try:
        if given.action == "undo":
            waiting = _waiting_at(service, place)
            return _show_item(
                request,
                waiting,
                place,
                status=status,
                complaint=complaint,
                last_rejected=given.item,
            )
        item = review.item_of(service, given.item)
        if item is not None and item.state == "pending_review":
            return _show_item(request, item, place, status=status, complaint=complaint, given=given)
    except AssayError:  # the store is away: the page does without it
        return page(
            request, "refused.html", 503, complaint=complaint, given=given, query="", again=True
        )
    query = item.query if item is not None else ""
    return page(
        request, "refused.html", status, complaint=complaint, given=given, query=query, again=False
    )


def _in_words(request: Request, error: AssayError) -> str:
    if isinstance(error, Refused):
        return error.in_words_of(page_words(language_for(request)))
    return str(error)


def _lost(service: Service, item: ReviewItem, error: InputError) -> InputError:
    """What failed, in the expert's words where the item has lost its row."""
    if isinstance(error, Refused) or item not in review.strays(service, item.gold):
        return error
    return Refused("lost", ref=item.ref)


# of two experts who press at once, the second hears what the first decided
_one_at_a_time = threading.Lock()


def _decide(service: Service, given: Given) -> str:
    with _one_at_a_time:
        return _decided(service, given)


def _decided(service: Service, given: Given) -> str:
    """Do what the form asks; answers with where the review goes on."""
    if given.action not in ("approve", "reject", "undo"):
        raise Refused("action")
    if given.action == "undo":
        name, _, ref = given.item.rpartition("/")
        path = gold_path(service, name)
        gold.reopen_row(service, path, ref, by=given.by, why=given.why)
        return f"?at={given.place}"
    item = review.item_of(service, given.item)
    if item is None:
        raise Refused("gone")
    if item.state != "pending_review":  # another expert was first, and this page is old
        raise Refused("decided", ref=item.ref, by=item.decided_by)
    if given.seen is not None and given.seen != item.doc_ids:
        raise Refused("changed", ref=item.ref)
    try:
        decide_one = _decide_judgment if item.kind == "judgment" else _decide_row
        return decide_one(service, item, given)
    except InputError as error:
        raise _lost(service, item, error) from error


def _decide_judgment(service: Service, item: ReviewItem, given: Given) -> str:
    grade = int(given.grade) if given.grade in tuple("0123456789") else None
    if given.action == "approve" and item.grade is None and grade is None:
        raise Refused("grade")
    accept = given.action == "approve"
    review.rule_suggestion(service, item.id, accept=accept, by=given.by, why=given.why, grade=grade)
    return f"?at={given.place}"


def _decide_row(service: Service, item: ReviewItem, given: Given) -> str:
    added = tuple(line.strip() for line in given.add.splitlines() if line.strip())
    if given.action == "reject":
        if not given.why.strip():
            raise Refused("reason")
        review.reject_item(service, item, by=given.by, why=given.why)
        return f"?at={given.place}&rejected={_quoted(f'{item.gold}/{item.ref}')}"
    path = gold_path(service, item.gold)
    if not given.kept and not added:
        raise Refused("documents")
    if added or given.kept != item.doc_ids or given.note:
        correction = Correction(relevant=given.kept, add=added, note=given.note or None)
        why = given.why or "corrected on the review page"
        gold.correct_row(
            service, path, item.ref, correction, by=given.by, why=why, rationale=given.why.strip()
        )
    else:
        gold.promote_rows(service, path, [item.ref], by=given.by, why=given.why)
    return f"?at={given.place}"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _quoted(text: str) -> str:
    return quote(text, safe="")


PAGE_ROUTES = [
    Guarded("/", dashboard, ("GET",), "reader", "The state of today"),
    Guarded("/review", review_page, ("GET",), "chair", "The next row to approve"),
    Guarded("/review", decide, ("POST",), "chair", "Approve, reject or take back"),
]
