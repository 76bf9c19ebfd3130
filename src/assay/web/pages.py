"""The pages: the dashboard for the team, the review page for the expert. Forms work without scripts; these add keys."""

from __future__ import annotations

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

from assay.desk import Correction, Desk
from assay.errors import AssayError, InputError
from assay.web.words import RIGHT_TO_LEFT, WORDS, language_of

HERE = Path(__file__).parent
_pages = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined,
                     trim_blocks=True, lstrip_blocks=True)  # fmt: skip
_pages.filters["day"] = lambda at: f"{at:%Y-%m-%d}" if isinstance(at, datetime) else str(at or "–")[:10]
_pages.filters["number"] = lambda value: "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def dashboard(request: Request) -> Response:
    desk = _desk(request)
    found = desk.backlog()
    shares = [(state, getattr(found, state)) for state in ("pending_review", "approved", "rejected", "published")]
    return _render(
        request,
        "dashboard.html",
        backlog=found,
        shares=shares,
        gold_sets=desk.gold_list(),
        runs=desk.runs(limit=8).items,
        audit=desk.store.audit(limit=8),
        telemetry=desk.recorder.counts() if desk.recorder else None,
    )


def review(request: Request) -> Response:
    """One item at a time; `?at=N` is its place in the queue."""
    desk = _desk(request)
    place = _whole(request.query_params.get("at", "0"))
    page = desk.queue(limit=1, offset=place)
    if not page.items and place:
        return RedirectResponse("/review", status_code=303)
    item = page.items[0] if page.items else None
    return _render(
        request, "review.html", item=item, place=place, pending=desk.backlog().pending_review,
        more=page.next_offset is not None, documents=desk.evidence(item) if item else [],
        grades=range(desk.top_grade(item) + 1) if item and item.kind == "judgment" and item.grade is None else (),
        last_rejected=request.query_params.get("rejected", ""), said=request.query_params.get("said", ""),
    )  # fmt: skip


async def decide(request: Request) -> Response:
    """The expert's word. What cannot be done is said on the same item, and nothing is lost."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=2000)
    given = {name: form.get(name, [""])[0] for name in ("item", "action", "by", "why", "note", "add", "place", "grade")}
    try:
        query = await run_in_threadpool(_decide, _desk(request), given, form.get("doc", []), form.get("seen"))
    except AssayError as error:
        query = f"?at={_whole(given['place'])}&said={_quoted(str(error))}"
    answer = RedirectResponse(f"/review{query}", status_code=303)
    if given["by"].strip():
        answer.set_cookie("assay_by", _quoted(given["by"].strip()), max_age=31536000, httponly=True, samesite="strict")
    return answer


def _decide(desk: Desk, given: dict[str, str], kept: list[str], seen: list[str] | None) -> str:
    place = _whole(given["place"])
    action, by, why = given["action"], given["by"], given["why"]
    if action not in ("approve", "reject", "undo"):
        raise InputError("say what to do: approve or reject")
    if action == "undo":
        gold, _, ref = given["item"].rpartition("/")
        desk.reopen(desk.gold_path(gold), ref, by=by, why=why)
        return f"?at={place}"
    found = desk.store.review_items(ids=[given["item"]])
    if not found:
        raise InputError("this item is no longer in the queue")
    item = found[0]
    if item.state != "pending_review":  # another expert was first, and this page is old
        raise InputError(f"{item.ref} is decided already ({item.state}), by {item.decided_by}")
    if seen is not None and tuple(seen) != item.doc_ids:
        raise InputError(f"the documents of {item.ref} have changed since this page was opened: look again")
    if item.kind == "judgment":
        grade = int(given["grade"]) if given["grade"] in tuple("0123456789") else None
        desk.rule_suggestion(item.id, accept=action == "approve", by=by, why=why, grade=grade)
        return f"?at={place}"
    path = desk.gold_path(item.gold)
    added = tuple(line.strip() for line in given["add"].splitlines() if line.strip())
    if action == "reject":
        desk.reject(path, [item.ref], by=by, why=why)
        return f"?at={place}&rejected={_quoted(f'{item.gold}/{item.ref}')}"
    if added or tuple(kept) != item.doc_ids or given["note"]:
        correction = Correction(relevant=tuple(kept), add=added, note=given["note"] or None)
        desk.correct(path, item.ref, correction, by=by, why=why or "corrected on the review page")
    else:
        desk.promote(path, [item.ref], by=by, why=why)
    return f"?at={place}"


def error_page(request: Request, message: str, status: int) -> Response:
    return _render(request, "error.html", status, message=message)


def _render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    asked = request.query_params.get("lang", "") or request.cookies.get("assay_lang", "")
    language = language_of(asked, request.headers.get("accept-language", ""))
    words = WORDS["en"] | WORDS[language]
    html = _pages.get_template(template).render(
        t=words, lang=language, dir="rtl" if language in RIGHT_TO_LEFT else "ltr", languages=list(WORDS),
        path=request.url.path, by=unquote(request.cookies.get("assay_by", "")), **values,
    )  # fmt: skip
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
