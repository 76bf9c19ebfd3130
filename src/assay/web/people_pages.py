"""People: signing in and out, one's own page, the list of people with invitations and keys, and the
audit trail. Forms call the same verbs as the calls of `people_api.py`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import Declined, InputError
from assay.reports.words import page_words
from assay.web.access import Guarded, Refusal, access_of, user_of, visitor_of
from assay.web.limits import check_door, limiter_of
from assay.web.page_frame import Form, form, language_for, page, query, said, service_of
from assay.web.visitors import NAME_COOKIE, YEAR, keep, name_cookie, session_cookie
from assay.workbench.project import people
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.people import KEY_KINDS, ROLES, KeyKind, Role, dealt_to_others, voters

HISTORY = 200  # entries of a page of the audit trail
SHARED = ("people",)  # the words of these pages are in one file


class TrailQuery(msgspec.Struct, frozen=True, kw_only=True):
    subject: str = ""
    action: str = ""
    offset: int = 0


def inside(address: str) -> str:
    """A place on this server to go on to; one elsewhere is left out."""
    here = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if here and address.isprintable() else ""


def link_to(request: Request, token: str) -> str:
    """The address of a link that works once."""
    base = access_of(request).address or str(request.base_url)
    return f"{base.rstrip('/')}/invite/{token}"


# ── signing in and out ────────────────────────────────────────────────────────────────────────────


def sign_in_page(request: Request) -> Response:
    to = inside(request.query_params.get("next", ""))
    if visitor_of(request) is not None:
        return RedirectResponse(to or "/", status_code=303)
    return _door(request, to)


def _door(request: Request, to: str, *, name: str = "", complaint: str = "") -> Response:
    status = 400 if complaint else 200
    return page(
        request,
        "sign-in.html",
        status,
        words=SHARED,
        next=to,
        name=name,
        complaint=complaint,
    )


def sign_in(request: Request) -> Response:
    if not access_of(request).accounts:
        return RedirectResponse("/me", status_code=303)
    sent = form(request)
    name, to = sent.text("name"), inside(sent.text("next"))
    words = page_words(language_for(request), "sign-in")
    try:
        attempt = check_door(request, people.folded(name)[: people.MAX_NAME])
    except Refusal:
        answer = _door(request, to, name=name, complaint=words["too_often"])
        answer.status_code = 429
        return answer
    agent = request.headers.get("user-agent", "")
    token = people.sign_in(service_of(request), name, sent.text("password"), agent=agent)
    if not token:
        return _door(request, to, name=name, complaint=words["wrong"])
    limiter_of(request).forget(attempt)
    return _let_in(request, token, to)


def _let_in(request: Request, token: str, to: str) -> Response:
    answer = RedirectResponse(to or "/", status_code=303)
    keep(request, answer, session_cookie(request), token, people.SESSION_DAYS * 86400)
    return answer


def sign_out(request: Request) -> Response:
    people.sign_out(service_of(request), request.cookies.get(session_cookie(request), ""))
    return _out(request)


def sign_out_everywhere(request: Request) -> Response:
    user = user_of(request)
    if access_of(request).accounts:
        people.sign_out_everywhere(service_of(request), user.name, by=user.actor)
    return _out(request)


def _out(request: Request) -> Response:
    accounts = access_of(request).accounts
    answer = RedirectResponse("/sign-in" if accounts else "/me", status_code=303)
    for name in (session_cookie(request), NAME_COOKIE):
        answer.delete_cookie(name, secure=name.startswith("__Host"))
    return answer


def invitation_page(request: Request) -> Response:
    return _invitation(request)


def _invitation(request: Request, *, name: str = "", complaint: str = "") -> Response:
    found = people.opened_link(service_of(request), request.path_params["token"])
    status = 404 if found is None else 400 if complaint else 200
    return page(
        request,
        "invite.html",
        status,
        words=SHARED,
        invitation=found,
        name=name,
        complaint=complaint,
    )


def accept_invitation(request: Request) -> Response:
    sent, service = form(request), service_of(request)
    name, password = sent.text("name"), sent.text("password")
    try:
        if password != sent.text("again"):
            raise Declined("password_differs", "the two passwords differ")
        token = request.path_params["token"]
        account = people.accept(service, token, name=name, password=password)
    except InputError as error:
        return _invitation(request, name=name, complaint=said(request, error))
    agent = request.headers.get("user-agent", "")
    token = people.start_session(service, account.name, agent=agent)
    return _let_in(request, token, "/judge" if account.role == "judge" else "")


# ── one's own page ────────────────────────────────────────────────────────────────────────────────


def me(request: Request) -> Response:
    return _me(request)


def _me(request: Request, *, complaint: str = "", name: str | None = None) -> Response:
    user = user_of(request)
    own = access_of(request).accounts
    sessions = people.sessions_of(service_of(request), user.name) if own else []
    return page(
        request,
        "me.html",
        400 if complaint else 200,
        words=SHARED,
        name=user.name if name is None else name,
        next=inside(request.query_params.get("next", "")),
        complaint=complaint,
        own_password=own and not access_of(request).proxy_secret,
        sessions=sessions,
        browser_name=browser_name,
    )


# the first that an agent names is the one; those further down are in the names of those above
BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
SYSTEMS = ("iPhone", "iPad", "Android", "Windows", "Mac OS", "Linux")
CALLED = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "macOS"}


def browser_name(agent: str) -> str:
    """Firefox, Linux; what is no browser is told by its first word."""
    known = [next((name for name in names if name in agent), "") for names in (BROWSERS, SYSTEMS)]
    told = ", ".join(CALLED.get(name, name) for name in known if name)
    return told or agent.split("/")[0][:40]


def choose_name(request: Request) -> Response:
    """Without accounts: the name is chosen once."""
    if access_of(request).accounts:
        return RedirectResponse("/me", status_code=303)
    sent = form(request)
    try:
        name = people.proper_name(sent.text("name"))
    except InputError as error:
        return _me(request, complaint=said(request, error), name=sent.text("name"))
    answer = RedirectResponse(inside(sent.text("next")) or "/", status_code=303)
    keep(request, answer, NAME_COOKIE, name_cookie(access_of(request), name), YEAR)
    return answer


def change_password(request: Request) -> Response:
    sent, user, service = form(request), user_of(request), service_of(request)
    need_accounts(request)
    try:
        check_door(request, people.folded(user.name))
        if sent.text("password") != sent.text("again"):
            raise Declined("password_differs", "the two passwords differ")
        people.change_password(service, user.name, sent.text("old"), sent.text("password"))
    except InputError as error:
        return _me(request, complaint=said(request, error))
    return _let_in(request, people.start_session(service, user.name), "/me")


# ── everybody ─────────────────────────────────────────────────────────────────────────────────────


def people_page(request: Request) -> Response:
    return _people(request)


def _people(
    request: Request, *, complaint: str = "", link: people.Link | None = None, key: str = ""
) -> Response:
    user, open_here = user_of(request), not access_of(request).accounts
    return page(
        request,
        "people.html",
        400 if complaint else 200,
        open_here=open_here,
        everybody=people.everybody(service_of(request)),
        voters=voters(service_of(request)) if open_here else (),
        roles=ROLES if user.role == "admin" else ROLES[: ROLES.index("chair")],
        kinds=KEY_KINDS,
        complaint=complaint,
        link=link,
        address=link_to(request, link.token) if link else "",
        dealt=_dealt_to_others(request, link) if link else (),
        key=key,
    )


def _dealt_to_others(request: Request, link: people.Link) -> list[str]:
    joins = link.kind == "join"
    return dealt_to_others(service_of(request), link.name, link.role) if joins else []


def need_accounts(request: Request) -> None:
    if not access_of(request).accounts:
        raise Declined("no_accounts", "this server has no accounts: assay serve --accounts")


def _done(change: Callable[[Request, Form], Response]) -> Callable[[Request], Response]:
    """A change from the page of people: what cannot be done is said on it."""

    def changed(request: Request) -> Response:
        try:
            need_accounts(request)
            return change(request, form(request))
        except InputError as error:
            return _people(request, complaint=said(request, error))

    return changed


def _role(text: str) -> Role:
    role = next((one for one in ROLES if one == text), None)
    if role is None:
        raise Declined("role", f"no role {text!r}", name=text)
    return role


def _kind(text: str) -> KeyKind:
    kind = next((one for one in KEY_KINDS if one == text), None)
    if kind is None:
        raise Declined("role", f"no kind of key {text!r}", name=text)
    return kind


def _back(request: Request) -> Response:
    return RedirectResponse("/people", status_code=303)


@_done
def invite(request: Request, sent: Form) -> Response:
    by = user_of(request).actor
    link = people.invite(service_of(request), sent.text("name"), _role(sent.text("role")), by=by)
    return _people(request, link=link)


@_done
def new_password_link(request: Request, sent: Form) -> Response:
    by = user_of(request).actor
    link = people.new_password_link(service_of(request), sent.text("name"), by=by)
    return _people(request, link=link)


@_done
def take_back(request: Request, sent: Form) -> Response:
    people.take_back(service_of(request), sent.text("id"), by=user_of(request).actor)
    return _back(request)


@_done
def change_role(request: Request, sent: Form) -> Response:
    role, by = _role(sent.text("role")), user_of(request).actor
    people.change_role(service_of(request), sent.text("name"), role, by=by)
    return _back(request)


@_done
def remove(request: Request, sent: Form) -> Response:
    by, why = user_of(request).actor, sent.text("why")
    people.remove(service_of(request), sent.text("name"), by=by, why=why)
    return _back(request)


@_done
def end_sessions(request: Request, sent: Form) -> Response:
    by = user_of(request).actor
    people.sign_out_everywhere(service_of(request), sent.text("name"), by=by)
    return _back(request)


@_done
def make_key(request: Request, sent: Form) -> Response:
    kind, by = _kind(sent.text("kind")), user_of(request).actor
    return _people(
        request, key=people.make_key(service_of(request), sent.text("name"), kind, by=by)
    )


@_done
def end_key(request: Request, sent: Form) -> Response:
    people.end_key(service_of(request), sent.text("name"), by=user_of(request).actor)
    return _back(request)


def history(request: Request) -> Response:
    """The audit trail, the newest first."""
    asked = query(request, TrailQuery)
    start = min(max(asked.offset, 0), 2**31)
    entries = trail(
        service_of(request),
        subject=asked.subject,
        action=asked.action,
        limit=HISTORY + 1,
        offset=start,
    )
    return page(
        request,
        "history.html",
        words=SHARED,
        entries=entries[:HISTORY],
        asked=asked,
        newer=max(start - HISTORY, 0) if start else None,
        older=start + HISTORY if len(entries) > HISTORY else None,
    )


GET, POST = ("GET",), ("POST",)
PEOPLE_ROUTES = [
    Guarded("/sign-in", sign_in_page, GET, "anyone", "Sign in"),
    Guarded("/sign-in", sign_in, POST, "anyone", "Sign in with name and password"),
    Guarded("/sign-out", sign_out, POST, "reader", "Sign out here"),
    Guarded("/sign-out/everywhere", sign_out_everywhere, POST, "reader", "Sign out everywhere"),
    Guarded("/invite/{token}", invitation_page, GET, "anyone", "Open a link that works once"),
    Guarded("/invite/{token}", accept_invitation, POST, "anyone", "Join, or set a new password"),
    Guarded("/me", me, GET, "reader", "One's own name and password"),
    Guarded("/me", choose_name, POST, "reader", "Choose a name, where there are no accounts"),
    Guarded("/me/password", change_password, POST, "reader", "Change one's password"),
    Guarded("/people", people_page, GET, "chair", "People, open links and keys"),
    Guarded("/people/history", history, GET, "chair", "The audit trail", query=TrailQuery),
    Guarded("/people/invite", invite, POST, "chair", "Invite somebody"),
    Guarded("/people/take-back", take_back, POST, "chair", "Take a link back"),
    Guarded("/people/password", new_password_link, POST, "admin", "A link for a new password"),
    Guarded("/people/role", change_role, POST, "admin", "Change a role"),
    Guarded("/people/remove", remove, POST, "admin", "Take somebody's access away"),
    Guarded("/people/sign-out", end_sessions, POST, "admin", "Sign somebody out everywhere"),
    Guarded("/people/key", make_key, POST, "admin", "Make a key for a service"),
    Guarded("/people/key/end", end_key, POST, "admin", "End a key"),
]
