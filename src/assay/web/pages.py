"""The pages: the dashboard for the team, the review page for the expert. Forms work without
scripts; these add keys."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from assay.core.errors import AssayError, InputError
from assay.web.endpoints import body_of
from assay.web.words import RIGHT_TO_LEFT, WORDS, language_of
from assay.workbench.desk import Correction, Desk

HERE = Path(__file__).parent
_pages = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.filters["day"] = lambda at: (
    f"{at:%Y-%m-%d}" if isinstance(at, datetime) else str(at or "–")[:10]
)
_pages.filters["number"] = lambda value: (
    "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")
)


def dashboard(request: Request) -> Response:
    desk = _desk(request)
    found = desk.backlog()
    shares = [
        (state, getattr(found, state))
        for state in ("pending_review", "approved", "rejected", "published")
    ]
    return _render(
        request,
        "dashboard.html",
        backlog=found,
        shares=shares,
        strays=len(desk.strays()),
        gold_sets=desk.gold_list(),
        runs=desk.runs(limit=8).items,
        audit=desk.store.audit(limit=8),
        telemetry=desk.recorder.counts() if desk.recorder else None,
    )


def review(request: Request) -> Response:
    """One item at a time; `?at=N` is its place in the queue."""
    place = _whole(request.query_params.get("at", "0"))
    page = _desk(request).queue(limit=1, offset=place)
    if not page.items and place:
        return RedirectResponse("/review", status_code=303)
    rejected = request.query_params.get("rejected", "")
    return _review_page(
        request, page.items[0] if page.items else None, place, last_rejected=rejected
    )


def _review_page(
    request: Request,
    item: Any,
    place: int,
    *,
    status: int = 200,
    said: str = "",
    given: Given | None = None,
    last_rejected: str = "",
) -> Response:
    """The item, as it is in the store or as the expert has filled it in."""
    desk = _desk(request)
    pending = desk.backlog().pending_review
    grades, note = tuple[int, ...](), ""
    if item and item.kind == "judgment":
        try:
            grades = tuple(range(desk.top_grade(item) + 1)) if item.grade is None else ()
            note = "accept_note" if desk.is_changed_by(item) else "vote_note"
        except InputError as error:  # its gold set is not here: it can be skipped or turned down
            said = said or _in_words(request, _lost(desk, item, error))
    return _render(
        request,
        "review.html",
        status,
        item=item,
        place=place,
        pending=pending,
        more=place + 1 < pending,
        documents=desk.evidence(item) if item else [],
        grades=grades,
        note=note,
        last_rejected=last_rejected,
        said=said,
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
    """What an expert cannot do, by its key in `words.toml`: it is said in the language of the
    page."""

    def __init__(self, key: str, **values: str) -> None:
        self.key, self.values = key, values
        super().__init__(self.said(WORDS["en"]))

    def said(self, words: dict[str, str]) -> str:
        return words[f"refused {self.key}"].format(**self.values)


async def decide(request: Request) -> Response:
    """The expert's word. What cannot be done is said beside what the expert had filled in."""
    given = _given(await body_of(request))
    try:
        query = await run_in_threadpool(_decide, _desk(request), given)
        answer: Response = RedirectResponse(f"/review{query}", status_code=303)
    except AssayError as error:
        answer = await run_in_threadpool(_refused_page, request, given, error)
    if given.by.strip():
        answer.set_cookie(
            "assay_by",
            _quoted(given.by.strip()),
            max_age=31536000,
            httponly=True,
            samesite="strict",
        )
    return answer


def _given(body: bytes) -> Given:
    try:
        form = parse_qs(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10_000
        )
    except ValueError as error:
        raise InputError(f"this form cannot be read: {error}") from error
    one = {
        name: form.get(name, [""])[0]
        for name in ("item", "action", "by", "why", "note", "add", "grade")
    }
    seen = tuple(form["seen"]) if "seen" in form else None
    return Given(
        **one, place=_whole(form.get("place", [""])[0]), kept=tuple(form.get("doc", ())), seen=seen
    )


def _refused_page(request: Request, given: Given, error: AssayError) -> Response:
    said = _in_words(request, error)
    status = 400 if isinstance(error, InputError) else 503
    desk = _desk(request)
    try:
        if given.action == "undo":
            items = desk.queue(limit=1, offset=given.place).items
            return _review_page(
                request,
                items[0] if items else None,
                given.place,
                status=status,
                said=said,
                last_rejected=given.item,
            )
        found = desk.store.review_items(ids=[given.item])
        if found and found[0].state == "pending_review":
            return _review_page(
                request, found[0], given.place, status=status, said=said, given=given
            )
    except AssayError:  # the store is away: the page does without it
        return _render(request, "refused.html", 503, said=said, given=given, query="", again=True)
    query = found[0].query if found else ""
    return _render(
        request, "refused.html", status, said=said, given=given, query=query, again=False
    )


def _in_words(request: Request, error: AssayError) -> str:
    return error.said(_words(request)[1]) if isinstance(error, Refused) else str(error)


def _lost(desk: Desk, item: Any, error: InputError) -> InputError:
    """What failed, in the expert's words where the item has lost its row."""
    return (
        Refused("lost", ref=item.ref)
        if not isinstance(error, Refused) and item in desk.strays(item.gold)
        else error
    )


_one_at_a_time = (
    threading.Lock()
)  # of two experts who press at once, the second hears what the first decided


def _decide(desk: Desk, given: Given) -> str:
    with _one_at_a_time:
        return _decided(desk, given)


def _decided(desk: Desk, given: Given) -> str:
    if given.action not in ("approve", "reject", "undo"):
        raise Refused("action")
    if not given.by.strip():
        raise Refused("name")
    if given.action == "undo":
        gold, _, ref = given.item.rpartition("/")
        desk.reopen(desk.gold_path(gold), ref, by=given.by, why=given.why)
        return f"?at={given.place}"
    found = desk.store.review_items(ids=[given.item])
    if not found:
        raise Refused("gone")
    item = found[0]
    if item.state != "pending_review":  # another expert was first, and this page is old
        raise Refused("decided", ref=item.ref, by=item.decided_by)
    if given.seen is not None and given.seen != item.doc_ids:
        raise Refused("changed", ref=item.ref)
    try:
        return (_decide_judgment if item.kind == "judgment" else _decide_row)(desk, item, given)
    except InputError as error:
        raise _lost(desk, item, error) from error


def _decide_judgment(desk: Desk, item: Any, given: Given) -> str:
    grade = int(given.grade) if given.grade in tuple("0123456789") else None
    if given.action == "approve" and item.grade is None and grade is None:
        raise Refused("grade")
    desk.rule_suggestion(
        item.id, accept=given.action == "approve", by=given.by, why=given.why, grade=grade
    )
    return f"?at={given.place}"


def _decide_row(desk: Desk, item: Any, given: Given) -> str:
    added = tuple(line.strip() for line in given.add.splitlines() if line.strip())
    if given.action == "reject":
        if not given.why.strip():
            raise Refused("reason")
        desk.reject_item(item, by=given.by, why=given.why)
        return f"?at={given.place}&rejected={_quoted(f'{item.gold}/{item.ref}')}"
    path = desk.gold_path(item.gold)
    if not given.kept and not added:
        raise Refused("documents")
    if added or given.kept != item.doc_ids or given.note:
        correction = Correction(relevant=given.kept, add=added, note=given.note or None)
        desk.correct(
            path, item.ref, correction, by=given.by, why=given.why or "corrected on the review page"
        )
    else:
        desk.promote(path, [item.ref], by=given.by, why=given.why)
    return f"?at={given.place}"


def error_page(request: Request, message: str, status: int) -> Response:
    return _render(request, "error.html", status, message=message)


def _words(request: Request) -> tuple[str, dict[str, str]]:
    """The language of the reader, and its words."""
    asked = request.query_params.get("lang", "") or request.cookies.get("assay_lang", "")
    language = language_of(asked, request.headers.get("accept-language", ""))
    return language, WORDS["en"] | WORDS[language]


def _render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    language, words = _words(request)
    given = values.get("given")
    html = _pages.get_template(template).render(
        t=words,
        lang=language,
        dir="rtl" if language in RIGHT_TO_LEFT else "ltr",
        languages=list(WORDS),
        path=request.url.path,
        by=given.by if given else unquote(request.cookies.get("assay_by", "")),
        **values,
    )
    answer = HTMLResponse(html, status_code=status)
    if request.query_params.get("lang"):
        answer.set_cookie("assay_lang", language, max_age=31536000, samesite="strict")
    return answer


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _quoted(text: str) -> str:
    return quote(text, safe="")


PAGE_ROUTES = [
    Route("/", dashboard),
    Route("/review", review),
    Route("/review", decide, methods=["POST"]),
    Mount("/static", StaticFiles(directory=HERE / "static")),
]
