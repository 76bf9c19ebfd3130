"""People: the name on this machine."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.reports.words import page_words
from assay.web.access import NAME_COOKIE, Guarded, access_of, name_cookie, user_of
from assay.web.shell import YEAR, form, language_for, page

MAX_NAME = 80


def me(request: Request) -> Response:
    name = user_of(request).name
    return page(
        request,
        "me.html",
        name=name,
        next=_inside(request.query_params.get("next", "")),
        complaint="",
    )


def choose_name(request: Request) -> Response:
    sent = form(request)
    name = " ".join(sent.text("name").split())[:MAX_NAME]
    to = _inside(sent.text("next"))
    if not name:
        words = page_words(language_for(request), "me")
        return page(request, "me.html", 400, name="", next=to, complaint=words["name_needed"])
    answer = RedirectResponse(to or "/", status_code=303)
    answer.set_cookie(
        NAME_COOKIE,
        name_cookie(access_of(request), name),
        max_age=YEAR,
        httponly=True,
        samesite="strict",
    )
    return answer


def _inside(address: str) -> str:
    """A place on this server to go on to; one elsewhere is left out."""
    inside = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if inside and address.isprintable() else ""


PEOPLE_ROUTES = [
    Guarded("/me", me, ("GET",), "reader", "Your name and your sessions"),
    Guarded("/me", choose_name, ("POST",), "reader", "Choose a name"),
]
