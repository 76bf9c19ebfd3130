"""The frame of every page, and how a request is read and answered.

A page is `page(request, "room.html", value=…)`; its template extends `base.html` and has

- `t.KEY`: a word. Common ones are in `[pages]` of `reports/words/LANGUAGE.toml`; those of one
  page are in `reports/words/pages/room.LANGUAGE.toml`, by the name of the template. A page may ask
  for the words of others: `page(request, "doc.html", words=("search",))`.
- `say("KEY", name=value)`: a sentence with facts, each in its own direction.
- `count("KEY", n)`: one of two forms, `KEY = ["{n} document", "{n} documents"]`.
- `n.decimal(…)`, `n.percent(…)`: figures as the language writes them (`reports/numbers.py`).
- `term("KEY", shown)`: a word of the trade that explains itself: see `glossary`.
- `topic_name(TOPIC)`: a topic or practice area as the reader's language calls it.
- `lang`, `dir`, `user` (a `User`, or none), `may(path)` (whether the user may open that path and
  there is such a page), `csrf` (the token) and `csrf_field` (the hidden field; every
  `<form method="post">` has it), `path`.

Scripts and styles are files in `static/`, named in the block `head`; scripts send changes with
`assay.post(path, value)` of `pages.js`, which carries the token of the page."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from assay.core.decoding import thread_safe
from assay.core.errors import AssayError, Declined, InputError
from assay.core.workspace import workspace
from assay.reports.html import template_environment
from assay.reports.numbers import Numbers
from assay.reports.words import LANGUAGES, Words, language_of, page_counts, page_words
from assay.web.access import (
    VISIT_COOKIE,
    YEAR,
    AppRoute,
    access_of,
    csrf_token,
    fields_of,
    is_api_path,
    may_call,
    set_cookie,
    visitor_of,
)
from assay.workbench.judging.blind import OpenPairs, open_pairs, without_names
from assay.workbench.project.config import CONFIG_NAME
from assay.workbench.project.home import PendingBadge, pending_badge
from assay.workbench.project.service import Service, reopen_service

WEB_FOLDER = Path(__file__).parent
T = TypeVar("T")
BUTTON = Markup(
    '<button type="button" class="term" popovertarget="word-{}" title="{}"><bdi>{}</bdi></button>'
)
ENDS = (".", "?", "!", ":", "…")
EVERYWHERE = ("topics", "glossary")  # words that any page may need

# path and word of every entry of the header; one that this server has no page for is not shown
NAVIGATION = (
    ("/", "home"),
    ("/search", "search"),
    ("/judge", "judge"),
    ("/answers", "answers"),
    ("/agreement", "agreement"),
    ("/review", "review"),
    ("/runs", "runs"),
    ("/people", "people"),
)


# ── reading a request ─────────────────────────────────────────────────────────────────────────────


def service_of(request: Request) -> Service:
    """The open project, with the `assay.toml` that was there when the request came."""
    if not hasattr(request.state, "service"):
        _follow_configuration(request)
        request.state.service = request.app.state.service
    service: Service = request.state.service
    return service


def _follow_configuration(request: Request) -> None:
    """Read `assay.toml` again where it has changed since. The configuration that could be read last
    stays in use, beside what is wrong with the newer one."""
    state = request.app.state
    service: Service = state.service
    try:
        changed = (service.project / CONFIG_NAME).stat().st_mtime_ns
    except OSError:
        return
    if changed <= state.configuration[0]:
        return
    wrong = ""
    try:
        state.service = reopen_service(service)
        if hasattr(state, "run_queue"):
            state.run_queue.follow(state.service)
    except InputError as error:
        wrong = message_of(request, error)
    state.configuration = changed, wrong


def wrong_configuration(request: Request) -> str:
    """What is wrong with the newest `assay.toml`; empty if nothing is."""
    return str(request.app.state.configuration[1])


class ProjectSight(NamedTuple):
    """The project as a user may see it, and the documents that the user has left to judge."""

    service: Service
    left: OpenPairs | None
    blind: bool  # engines have letters for names, and the queries of those documents no rankings

    def must_not_see(self, gold: str, query_id: str) -> bool:
        return self.blind and self.left is not None and self.left.hides(gold, query_id)


def open_pairs_of(request: Request) -> tuple[OpenPairs | None, bool]:
    """The documents that the user has left to judge, and whether engines are hidden until then."""
    user = visitor_of(request)
    if user is None or not user.name or user.role == "reader":
        return None, False
    left = open_pairs(service_of(request), user.name)
    return left, left is not None and user.role == "judge"


def sight(request: Request, *runs: str) -> ProjectSight:
    """The project without what a judge must not know while judging. Chairs and admins decide, and
    whoever works alone is one of them: they see everything, and pages say what that means. Of the
    runs that a page compares, the engines are A and B."""
    service, (left, is_blind) = service_of(request), open_pairs_of(request)
    request.state.sight = found = ProjectSight(
        without_names(service, runs) if is_blind else service, left, is_blind
    )
    return found


@dataclass(frozen=True)
class Form:
    """The texts of a submitted form, by field."""

    fields: dict[str, list[str]]

    def text(self, name: str) -> str:
        """A field, "" where it was not sent."""
        return self.fields.get(name, [""])[0]

    def texts(self, name: str) -> tuple[str, ...]:
        """Every field of a name."""
        return tuple(self.fields.get(name, ()))

    def __contains__(self, name: str) -> bool:
        return name in self.fields


def form(request: Request) -> Form:
    """The form of a POST. The guard has read it already, so this is no coroutine."""
    return Form(fields_of(request))


def body(request: Request, shape: type[T]) -> T:
    """The JSON body of a POST as a value of a type; what is wrong with it is an `InputError`."""
    sent: bytes = getattr(request.state, "body", b"")
    try:
        return msgspec.json.decode(sent, type=thread_safe(shape))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        is_json = isinstance(error, msgspec.ValidationError)
        raise InputError(str(error) if is_json else f"not JSON: {error}") from error


def sent_as(request: Request, shape: type[T]) -> T:
    """The change that a form or a call sent, as a value of a struct."""
    if is_api(request):
        return body(request, shape)
    fields = form(request)
    names = [field.name for field in msgspec.structs.fields(shape)]  # type: ignore[arg-type]
    values = {name: fields.text(name) for name in names}
    try:
        return msgspec.convert(values, thread_safe(shape))
    except msgspec.ValidationError as error:  # only a role or a kind of key can be unknown
        unknown = values.get("role") or values.get("kind") or ""
        raise Declined("role", str(error), name=unknown) from error


def query(request: Request, shape: type[T]) -> T:
    """The query string as a value of a struct: a field that is a list or a tuple takes every
    value, others the last one."""
    given = request.query_params
    hints = msgspec.structs.fields(shape)  # type: ignore[arg-type]
    values = {
        field.encode_name: given.getlist(field.encode_name)
        if _takes_many(field.type)
        else given[field.encode_name]
        for field in hints
        if field.encode_name in given
    }
    try:
        return msgspec.convert(values, thread_safe(shape), strict=False)
    except msgspec.ValidationError as error:
        raise InputError(str(error)) from error


def _takes_many(kind: object) -> bool:
    return getattr(kind, "__origin__", kind) in (list, tuple)


def is_api(request: Request) -> bool:
    """Whether a program asks for JSON, not a person for a page."""
    return is_api_path(request.url.path)


def local_path(address: str) -> str:
    """An address on this server to go on to; empty if it leads elsewhere."""
    is_local = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if is_local and address.isprintable() else ""


class Texts:
    """Words of a page, as `t.KEY` or `t["KEY"]`; `t.get("KEY", else)` where there may be none."""

    def __init__(self, words: dict[str, str]) -> None:
        self._words = words

    def __getattr__(self, key: str) -> str:
        try:
            return self._words[key]
        except KeyError:
            raise AttributeError(key) from None

    def __getitem__(self, key: str) -> str:
        return self._words[key]

    def __contains__(self, key: object) -> bool:
        return key in self._words

    def get(self, key: str, otherwise: str) -> str:
        return self._words.get(key, otherwise)


class Glossary:
    """The terms that one page explains: `term("gate", "Gate")` is the button, and `used` has every
    term with the name that the page gave it first."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.used: dict[str, str] = {}

    def __call__(self, key: str, text: str) -> str:
        if f"word {key}" not in self._texts:
            return text
        self.used.setdefault(key, text)
        return BUTTON.format(key, self._texts["what_is_this"], text)

    def measure(self, name: str, shown: str) -> str:
        """A measure by its name, or by what it is called, without its depth: nDCG@10 is explained
        as nDCG."""
        keys = (_without_depth(text) for text in (name, shown))
        return self(next((key for key in keys if f"word {key}" in self._texts), ""), shown)

    def meaning(self, key: str) -> str:
        return self._texts[f"word {key}"]


def _without_depth(measure: str) -> str:
    return measure.partition("@")[0].partition("(")[0].strip().lower()


# ── answering ─────────────────────────────────────────────────────────────────────────────────────


def json(value: object, status: int = 200) -> Response:
    """A value (struct, dataclass, list, …) as JSON."""
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


def page(
    request: Request,
    template: str,
    status: int = 200,
    *,
    words: tuple[str, ...] = (),
    **values: object,
) -> Response:
    """A template in its frame, in the language of the reader."""
    language = language_for(request)
    names = (*EVERYWHERE, *words, Path(template).stem)
    texts = page_words(language, *names)
    counts = page_counts(language, *names)
    speaker = Words(language)

    def say(key: str, **facts: object) -> str:
        return texts[key].format(**speaker.with_directions(**facts))

    def count(key: str, n: int, **facts: object) -> str:
        number = f"{n:,}".replace(",", speaker("language.thousands"))
        return counts[key][0 if n == 1 else 1].format(n=number, **speaker.with_directions(**facts))

    def topic_name(topic: str) -> str:
        return texts.get(f"topic {topic}", topic.replace("_", " "))

    token = csrf_token(request)
    html = (
        template_environment(WEB_FOLDER / "templates")
        .get_template(template)
        .render(
            t=Texts(texts),
            say=say,
            count=count,
            term=Glossary(texts),
            n=Numbers(speaker),
            topic_name=topic_name,
            lang=language,
            dir=speaker.direction,
            languages=[
                (code, Words(code)("language.name"), _address_in(request, code))
                for code in LANGUAGES
            ],
            path=request.url.path,
            user=visitor_of(request),
            accounts=access_of(request).accounts,
            navigation=[entry for entry in NAVIGATION if _may_open(request, entry[0])],
            may=lambda path: _may_open(request, path),
            waiting=_waiting(request),
            csrf=token,
            csrf_field=Markup('<input type="hidden" name="csrf" value="{}">').format(token),
            **values,
        )
    )
    answer = HTMLResponse(html, status_code=status)
    if request.query_params.get("lang"):
        answer.set_cookie("assay_lang", language, max_age=YEAR, samesite="strict")
    if visit := getattr(request.state, "visit", ""):
        set_cookie(request, answer, VISIT_COOKIE, visit, 86400)
    return answer


def error_page(request: Request, message: str, status: int, heading: str = "") -> Response:
    heading = heading or {403: "error_role", 404: "error_gone"}.get(status, "error_other")
    return page(request, "error.html", status, message=message, heading=heading)


def message_of(request: Request, error: AssayError) -> str:
    """The message of an error in sentences, in the reader's language where it has the words."""
    if isinstance(error, Declined):
        words = Words(language_for(request))
        whole = Numbers(words).whole
        facts = {
            name: whole(fact) if isinstance(fact, int) else fact
            for name, fact in error.facts.items()
        }
        return page_words(words.language, "people")[f"declined {error.word}"].format(**facts)
    hint = error.hint if isinstance(error, InputError) else ""
    text = str(error).removesuffix(hint).rstrip()
    return without_folders(request, f"{text}{'' if text.endswith(ENDS) else '.'} {hint}".rstrip())


def without_folders(request: Request, text: str) -> str:
    """A message without the folders of this server: nobody is told where its files lie."""
    service: Service = request.app.state.service
    files = list(service.gold_sets.values())
    with contextlib.suppress(AssayError):  # a store that is away has no address either
        files.append(Path(service.store.address))
    folders = {service.project, workspace(service.home), Path.cwd(), *(one.parent for one in files)}
    known = {str(place) for folder in folders for place in (folder.absolute(), folder.resolve())}
    for folder in sorted(known - {"/"}, key=len, reverse=True):
        text = text.replace(f"{folder}/", "")
    return text


def language_for(request: Request) -> str:
    """The language asked for, else the one chosen before, else the browser's."""
    asked = request.query_params.get("lang", "") or request.cookies.get("assay_lang", "")
    return language_of(asked, request.headers.get("accept-language", ""))


def _address_in(request: Request, language: str) -> str:
    """The address of this page in another language."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "lang"]
    return f"?{urlencode([*kept, ('lang', language)])}"


def _may_open(request: Request, path: str) -> bool:
    pages: dict[str, AppRoute] = request.app.state.pages
    return path in pages and may_call(visitor_of(request), pages[path])


def _waiting(request: Request) -> PendingBadge | None:
    """The number of items that wait for the user; none where the store cannot be read."""
    user = visitor_of(request)
    if user is None or not _may_open(request, "/judge"):
        return None
    try:
        return pending_badge(service_of(request), user.name)
    except AssayError:
        return None
