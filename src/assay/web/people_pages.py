"""People: signing in and out, one's own page, and the list of people with invitations, keys and the
audit trail. A form on the page of people and the JSON call beside it share one handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.core.errors import Declined, InputError
from assay.reports.words import page_words
from assay.web.access import (
    GET,
    NAME_COOKIE,
    POST,
    YEAR,
    AppRoute,
    Refusal,
    access_of,
    check_door,
    limiter_of,
    name_cookie,
    page_and_call,
    session_cookie,
    set_cookie,
    user_of,
    visitor_of,
)
from assay.web.page_frame import (
    form,
    is_api,
    json,
    language_for,
    local_path,
    message_of,
    page,
    query,
    sent_as,
    service_of,
)
from assay.workbench.project import people
from assay.workbench.project.audit_trail import AuditEntry, trail
from assay.workbench.project.people import (
    KEY_KINDS,
    ROLES,
    KeyKind,
    People,
    Role,
    dealt_to_others,
    voters,
)

HISTORY = 200  # entries of a page of the audit trail; taste
SHARED_WORDS = ("people",)  # the words of these pages are in one file


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """The signed-in user. Without accounts the name is chosen on the page /me."""

    name: str
    role: Role
    accounts: bool


class InviteBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    role: Role


class NameBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    why: str = ""


class LinkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`id` as /api/people lists it."""

    id: str


class KeyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of kind `log` can log and nothing else; one of kind `watch` reads figures."""

    name: str
    kind: KeyKind = "log"


class LinkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The link is shown now and never again."""

    link: str
    name: str
    role: Role
    expires_at: str


class KeyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The key is shown now and never again."""

    name: str
    kind: KeyKind
    key: str


class Done(msgspec.Struct, frozen=True, kw_only=True):
    done: bool = True


class TrailQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The entries that the page of the audit trail shows."""

    subject: str = ""
    action: str = ""
    offset: int = 0


class Trail(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of the audit trail that a call lists."""

    subject: str = ""
    action: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


def link_to(request: Request, token: str) -> str:
    """The address of a link that works once."""
    base = access_of(request).address or str(request.base_url)
    return f"{base.rstrip('/')}/invite/{token}"


# ── signing in and out ────────────────────────────────────────────────────────────────────────────


def sign_in_page(request: Request) -> Response:
    to = local_path(request.query_params.get("next", ""))
    visitor = visitor_of(request)
    if visitor is not None:
        return RedirectResponse(to or _first_page(visitor.role), status_code=303)
    return _sign_in_form(request, to)


def _first_page(role: str) -> str:
    """Where people begin: judges with the sets that they are asked to judge."""
    return "/judge" if role == "judge" else "/"


def _sign_in_form(request: Request, to: str, *, name: str = "", complaint: str = "") -> Response:
    status = 400 if complaint else 200
    return page(
        request, "sign-in.html", status, words=SHARED_WORDS, next=to, name=name, complaint=complaint
    )


def sign_in(request: Request) -> Response:
    if not access_of(request).accounts:
        return RedirectResponse("/me", status_code=303)
    sent = form(request)
    name, to = sent.text("name"), local_path(sent.text("next"))
    words = page_words(language_for(request), "sign-in")
    try:
        attempt = check_door(request, people.folded(name)[: people.MAX_NAME])
    except Refusal:
        answer = _sign_in_form(request, to, name=name, complaint=words["too_often"])
        answer.status_code = 429
        return answer
    agent = request.headers.get("user-agent", "")
    service = service_of(request)
    token = people.sign_in(service, name, sent.text("password"), agent=agent)
    if not token:
        return _sign_in_form(request, to, name=name, complaint=words["wrong"])
    limiter_of(request).forget(attempt)
    account = people.signed_in(service, token)
    return _start_visit(request, token, to or _first_page(account.role if account else ""))


def _start_visit(request: Request, token: str, to: str) -> Response:
    answer = RedirectResponse(to, status_code=303)
    set_cookie(request, answer, session_cookie(request), token, people.SESSION_DAYS * 86400)
    return answer


def sign_out(request: Request) -> Response:
    people.sign_out(service_of(request), request.cookies.get(session_cookie(request), ""))
    return _end_visit(request)


def sign_out_everywhere(request: Request) -> Response:
    user = user_of(request)
    if access_of(request).accounts:
        people.sign_out_everywhere(service_of(request), user.name, by=user.actor)
    return _end_visit(request)


def _end_visit(request: Request) -> Response:
    accounts = access_of(request).accounts
    answer = RedirectResponse("/sign-in" if accounts else "/me", status_code=303)
    for name in (session_cookie(request), NAME_COOKIE):
        answer.delete_cookie(name, secure=name.startswith("__Host"))
    return answer


def invitation_page(request: Request, *, name: str = "", complaint: str = "") -> Response:
    found = people.opened_link(service_of(request), request.path_params["token"])
    status = 404 if found is None else 400 if complaint else 200
    return page(
        request,
        "invite.html",
        status,
        words=SHARED_WORDS,
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
        return invitation_page(request, name=name, complaint=message_of(request, error))
    agent = request.headers.get("user-agent", "")
    token = people.start_session(service, account.name, agent=agent)
    return _start_visit(request, token, _first_page(account.role))


# ── one's own page ────────────────────────────────────────────────────────────────────────────────


def me(request: Request, *, complaint: str = "", name: str | None = None) -> Response:
    user = user_of(request)
    own = access_of(request).accounts
    if is_api(request):
        return json(Me(name=user.name, role=user.role, accounts=own))
    sessions = people.sessions_of(service_of(request), user.name) if own else []
    return page(
        request,
        "me.html",
        400 if complaint else 200,
        words=SHARED_WORDS,
        name=user.name if name is None else name,
        next=local_path(request.query_params.get("next", "")),
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
    """The browser and system of a user agent, such as "Firefox, Linux"; a program that is not a
    browser is called by its first word."""
    known = [next((name for name in names if name in agent), "") for names in (BROWSERS, SYSTEMS)]
    return ", ".join(CALLED.get(name, name) for name in known if name) or agent.split("/")[0][:40]


def choose_name(request: Request) -> Response:
    """Choose a name once, in a project without accounts."""
    if access_of(request).accounts:
        return RedirectResponse("/me", status_code=303)
    sent = form(request)
    try:
        name = people.proper_name(sent.text("name"))
    except InputError as error:
        return me(request, complaint=message_of(request, error), name=sent.text("name"))
    answer = RedirectResponse(local_path(sent.text("next")) or "/", status_code=303)
    set_cookie(request, answer, NAME_COOKIE, name_cookie(access_of(request), name), YEAR)
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
        return me(request, complaint=message_of(request, error))
    return _start_visit(request, people.start_session(service, user.name), "/me")


# ── the list of people: forms and calls ───────────────────────────────────────────────────────────


def list_people(
    request: Request, *, complaint: str = "", link: people.Link | None = None, key: str = ""
) -> Response:
    everybody = people.list_people(service_of(request))
    if is_api(request):
        return json(everybody)
    user, open_here = user_of(request), not access_of(request).accounts
    return page(
        request,
        "people.html",
        400 if complaint else 200,
        open_here=open_here,
        everybody=everybody,
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


def _changes_people(change: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """A change of accounts, links or keys. The page of people shows what was refused."""

    def changed(request: Request) -> Response:
        try:
            need_accounts(request)
            return change(request)
        except InputError as error:
            if is_api(request):
                raise
            return list_people(request, complaint=message_of(request, error))

    return changed


def _show_link(request: Request, link: people.Link) -> Response:
    if not is_api(request):
        return list_people(request, link=link)
    answer = LinkAnswer(
        link=link_to(request, link.token),
        name=link.name,
        role=link.role,
        expires_at=link.expires_at.isoformat(),
    )
    return json(answer, 201)


def _show_done(request: Request) -> Response:
    return json(Done()) if is_api(request) else RedirectResponse("/people", status_code=303)


@_changes_people
def invite(request: Request) -> Response:
    sent, by = sent_as(request, InviteBody), user_of(request).actor
    return _show_link(request, people.invite(service_of(request), sent.name, sent.role, by=by))


@_changes_people
def new_password_link(request: Request) -> Response:
    name, by = sent_as(request, NameBody).name, user_of(request).actor
    return _show_link(request, people.new_password_link(service_of(request), name, by=by))


@_changes_people
def take_back(request: Request) -> Response:
    people.take_back(service_of(request), sent_as(request, LinkBody).id, by=user_of(request).actor)
    return _show_done(request)


@_changes_people
def change_role(request: Request) -> Response:
    sent, by = sent_as(request, InviteBody), user_of(request).actor
    people.change_role(service_of(request), sent.name, sent.role, by=by)
    return _show_done(request)


@_changes_people
def remove(request: Request) -> Response:
    sent, by = sent_as(request, NameBody), user_of(request).actor
    people.remove(service_of(request), sent.name, by=by, why=sent.why)
    return _show_done(request)


@_changes_people
def end_sessions(request: Request) -> Response:
    name, by = sent_as(request, NameBody).name, user_of(request).actor
    people.sign_out_everywhere(service_of(request), name, by=by)
    return _show_done(request)


@_changes_people
def make_key(request: Request) -> Response:
    sent, by = sent_as(request, KeyBody), user_of(request).actor
    key = people.make_key(service_of(request), sent.name, sent.kind, by=by)
    if is_api(request):
        return json(KeyAnswer(name=sent.name, kind=sent.kind, key=key), 201)
    return list_people(request, key=key)


@_changes_people
def end_key(request: Request) -> Response:
    people.end_key(service_of(request), sent_as(request, NameBody).name, by=user_of(request).actor)
    return _show_done(request)


def history(request: Request) -> Response:
    """The page of the audit trail, the newest entries first."""
    parameters = query(request, TrailQuery)
    start = min(max(parameters.offset, 0), 2**31)
    entries = trail(
        service_of(request),
        subject=parameters.subject,
        action=parameters.action,
        limit=HISTORY + 1,
        offset=start,
    )
    return page(
        request,
        "history.html",
        words=SHARED_WORDS,
        entries=entries[:HISTORY],
        asked=parameters,
        newer=max(start - HISTORY, 0) if start else None,
        older=start + HISTORY if len(entries) > HISTORY else None,
    )


def audit(request: Request) -> Response:
    parameters = query(request, Trail)
    return json(trail(service_of(request), **msgspec.structs.asdict(parameters)))


PEOPLE_ROUTES = [
    AppRoute("/sign-in", sign_in_page, GET, "anyone", "Sign in"),
    AppRoute("/sign-in", sign_in, POST, "anyone", "Sign in with name and password"),
    AppRoute("/sign-out", sign_out, POST, "reader", "Sign out here"),
    AppRoute("/sign-out/everywhere", sign_out_everywhere, POST, "reader", "Sign out everywhere"),
    AppRoute("/invite/{token}", invitation_page, GET, "anyone", "Open a link that works once"),
    AppRoute("/invite/{token}", accept_invitation, POST, "anyone", "Join, or set a new password"),
    AppRoute("/me", me, GET, "reader", "One's own name and password"),
    AppRoute("/api/me", me, GET, "reader", "Who is signed in", answer=Me),
    AppRoute("/me", choose_name, POST, "reader", "Choose a name, where there are no accounts"),
    AppRoute("/me/password", change_password, POST, "reader", "Change one's password"),
    *page_and_call("/people", list_people, GET, "chair", "People, links and keys", answer=People),
    AppRoute("/people/history", history, GET, "chair", "The audit trail", query=TrailQuery),
    AppRoute(
        "/api/audit",
        audit,
        GET,
        "chair",
        "The audit trail, the newest first",
        answer=list[AuditEntry],
        query=Trail,
    ),
    *page_and_call(
        "/people/invite", invite, POST, "chair", "Invite somebody", InviteBody, LinkAnswer
    ),
    *page_and_call(
        "/people/take-back", take_back, POST, "chair", "Take a link back", LinkBody, Done
    ),
    *page_and_call(
        "/people/password",
        new_password_link,
        POST,
        "admin",
        "A link for a new password",
        NameBody,
        LinkAnswer,
    ),
    *page_and_call("/people/role", change_role, POST, "admin", "Change a role", InviteBody, Done),
    *page_and_call(
        "/people/remove", remove, POST, "admin", "Take somebody's access away", NameBody, Done
    ),
    *page_and_call(
        "/people/sign-out",
        end_sessions,
        POST,
        "admin",
        "Sign somebody out everywhere",
        NameBody,
        Done,
    ),
    *page_and_call(
        "/people/key",
        make_key,
        POST,
        "admin",
        "Make a key for a service",
        KeyBody,
        KeyAnswer,
        call="/api/keys",
    ),
    *page_and_call(
        "/people/key/end", end_key, POST, "admin", "End a key", NameBody, Done, call="/api/keys/end"
    ),
]
