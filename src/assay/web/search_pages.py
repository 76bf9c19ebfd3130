"""The search page and the page of a document. A page and its JSON call share a handler."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from urllib.parse import quote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import InputError
from assay.reports.wording import RELATIONS, hit_reasons_in_words
from assay.web.access import GET, AppRoute, Refusal, page_and_call
from assay.web.page_frame import (
    is_api,
    json,
    language_for,
    open_pairs_of,
    page,
    query,
    service_of,
)
from assay.workbench.searching import documents as reading
from assay.workbench.searching import search as searching
from assay.workbench.searching.corpora import corpus_rows
from assay.workbench.searching.documents import DocumentPage
from assay.workbench.searching.filters import Choice
from assay.workbench.searching.search import (
    Filters,
    NotHere,
    Result,
    ResultPage,
    SearchRequest,
    Similar,
)

BAR_HEIGHT = 40  # of the drawing of years, in its own units; taste
MOST_BARS = 60  # that fit beside each other; taste


# ── addresses ─────────────────────────────────────────────────────────────────────────────────────


def doc_address(corpus: str, doc_id: str, query: str = "") -> str:
    """The page of a document. Its id may have any letters: each is encoded, slashes too. A dot or
    two alone would be read as a folder, so they go behind the question mark."""
    asked = {"q": query} if query else {}
    if doc_id in (".", ".."):
        return f"/doc/{quote(corpus, safe='')}/?{urlencode({'id': doc_id, **asked})}"
    path = f"/doc/{quote(corpus, safe='')}/{quote(doc_id, safe='')}"
    return f"{path}?{urlencode(asked)}" if asked else path


def search_address(**asked: object) -> str:
    """The page of a search: what is empty is left out."""
    return _joined(_encoded(asked))


def _encoded(fields: Mapping[str, object]) -> dict[str, str]:
    """Each field as it is in an address; an empty one is empty."""
    return {
        name: "" if value in ("", None) else urlencode({name: str(value)})
        for name, value in fields.items()
    }


def _joined(encoded: Mapping[str, str]) -> str:
    given = "&".join(filter(None, encoded.values()))
    return f"/search?{given}" if given else "/search"


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query string of a search."""

    q: str = ""
    corpus: str = ""
    topic: str = ""
    statute: str = ""
    law: str = ""
    language: str = ""
    since: str = ""  # a year
    until: str = ""
    as_of: str = ""  # a day, YYYY-MM-DD
    page: str = ""


class DocumentQuery(msgspec.Struct, frozen=True, kw_only=True):
    q: str = ""  # whose words are marked


class SimilarQuery(msgspec.Struct, frozen=True, kw_only=True):
    corpus: str
    id: str


class InvalidSearch(InputError):
    """A year or a day that cannot be read; `word` is the key of the page's words for it."""

    def __init__(self, word: str, text: str) -> None:
        self.word, self.said = word, text
        super().__init__(f"{text!r} is not {'a year' if word == 'no_year' else 'a day'}")


def parse_search(parameters: SearchQuery) -> SearchRequest:
    since, until = _parse_year(parameters.since), _parse_year(parameters.until)
    years = None
    if since is not None or until is not None:
        first, last = 0 if since is None else since, 9999 if until is None else until
        years = (min(first, last), max(first, last))
    filters = Filters(
        topic=parameters.topic.strip(),
        statute=parameters.statute.strip(),
        law=parameters.law.strip(),
        language=parameters.language.strip(),
        years=years,
        as_of=_parse_day(parameters.as_of),
    )
    number = int(parameters.page) if re.fullmatch(r"[0-9]{1,5}", parameters.page) else 1
    return SearchRequest(corpus=parameters.corpus, query=parameters.q, filters=filters, page=number)


def _parse_year(text: str) -> int | None:
    if not text.strip():
        return None
    if not re.fullmatch(r"[0-9]{4}", text.strip()):
        raise InvalidSearch("no_year", text)
    return int(text)


def _parse_day(text: str) -> str:
    try:
        return date.fromisoformat(text.strip()).isoformat() if text.strip() else ""
    except ValueError:
        raise InvalidSearch("no_day", text) from None


# ── the pages ─────────────────────────────────────────────────────────────────────────────────────

Endpoint = Callable[[Request], Response]


def _or_missing(endpoint: Endpoint) -> Endpoint:
    """A handler that answers 404 with a page of its own if a corpus or document is missing."""

    def answer(request: Request) -> Response:
        try:
            return endpoint(request)
        except NotHere as error:
            if is_api(request):
                return json({"error": error.message}, 404)
            what = "missing" if request.path_params else "missing_corpus"
            return page(request, "missing.html", 404, words=("search",), what=what)

    return answer


def search(request: Request) -> Response:
    given = query(request, SearchQuery)
    service, (left, blind) = service_of(request), open_pairs_of(request)
    if blind and left is not None and left.asks(given.q):
        raise Refusal(403, "blind_search")
    if is_api(request):
        return json(searching.search_page(service, parse_search(given)))
    misread: InvalidSearch | None = None
    try:
        asked = parse_search(given)
    except InvalidSearch as error:  # the rest of what was filled in stays
        misread = error
        given = msgspec.structs.replace(given, since="", until="", as_of="")
        asked = parse_search(given)
    found = searching.search_page(service, asked, reader=language_for(request))
    corpora = corpus_rows(service.home)
    others = sum(row.indexed for row in corpora) > 1  # that could have been searched
    picked = bool(found.asked.query and not given.corpus and others)
    given = msgspec.structs.replace(given, corpus=found.asked.corpus, q=found.asked.query, page="")
    return page(
        request,
        "search.html",
        400 if misread else 200,
        words=("why",),
        given=given,
        found=found,
        results=_as_listed(found.results),
        corpora=corpora,
        misread=misread,
        picked=picked,
        bars=_bars(found.choices.years),
        filtered=found.asked.filters.any(),
        marked=reading.marked,
        told_why=partial(hit_reasons_in_words, language=language_for(request), isolated=True),
        document=partial(doc_address, found.asked.corpus, query=found.asked.query),
        narrowed=_change_search(given),
    )


def _as_listed(results: Sequence[Result]) -> list[Result]:
    """The results of a page, the less likely ones last, numbered in that order. Reasons that name
    another result give its number here."""
    listed = sorted(results, key=lambda hit: hit.less_likely)
    first = results[0].rank if results else 1
    numbers = {hit.rank: number for number, hit in enumerate(listed, start=first)}
    return [
        msgspec.structs.replace(
            hit,
            rank=numbers[hit.rank],
            why=msgspec.structs.replace(
                hit.why,
                **{name: numbers.get(getattr(hit.why, name), 0) for name in RELATIONS},
            ),
        )
        for hit in listed
    ]


def _change_search(parameters: SearchQuery) -> Callable[..., str]:
    """The address of the same search with something changed: a page has about a hundred, so the
    rest is encoded once."""
    kept = _encoded(msgspec.structs.asdict(parameters))
    return lambda **changed: _joined(kept | _encoded(changed))


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One bar of the drawing of years: its years, documents and position."""

    since: int
    until: int
    documents: int
    x: float
    y: float
    width: float
    height: float
    chosen: bool


def _bars(years: tuple[Choice, ...]) -> list[Bar]:
    """The bars of the drawing of years: at most `MOST_BARS`, each for the same number of years."""
    if not years:
        return []
    step = -(-len(years) // MOST_BARS)
    groups = [years[at : at + step] for at in range(0, len(years), step)]
    counts = [sum(year.documents for year in group) for group in groups]
    most = max(*counts, 1)
    width = 220 / len(groups)
    return [
        Bar(
            since=int(group[0].value),
            until=int(group[-1].value),
            documents=count,
            x=round(at * width, 2),
            y=round(BAR_HEIGHT * (1 - count / most), 2),
            width=round(width * 0.8, 2),
            height=round(BAR_HEIGHT * count / most, 2),
            chosen=any(year.chosen for year in group),
        )
        for at, (group, count) in enumerate(zip(groups, counts, strict=True))
    ]


def document(request: Request) -> Response:
    given = query(request, DocumentQuery)
    doc_id = request.path_params["id"] or request.query_params.get("id", "")
    read = reading.document_page(
        service_of(request), request.path_params["corpus"], doc_id, given.q
    )
    if is_api(request):
        return json(read)
    return page(
        request,
        "doc.html",
        doc=read,
        q=given.q,
        document=partial(doc_address, read.corpus, query=given.q),
        plain=partial(doc_address, read.corpus),
        search_address=search_address,
        whole_first=len(read.sections) == 1,
        whole_open=_opens_whole(read),
    )


def _opens_whole(read: DocumentPage) -> bool:
    """The whole text is opened where what stands above it is only somebody's summary, or where the
    words asked for stand in it alone."""
    above = [section for section in read.sections if section.name != "text"]
    if all(section.derived for section in above):
        return True
    return bool(read.words) and not any(
        piece.marked
        for section in above
        for paragraph in section.paragraphs
        for piece in paragraph.pieces
    )


def list_similar(request: Request) -> Response:
    given = query(request, SimilarQuery)
    return json(searching.similar(service_of(request), given.corpus, given.id))


SEARCH_ROUTES = [
    *page_and_call(
        "/search",
        _or_missing(search),
        GET,
        "reader",
        "A page of results with what to filter by",
        answer=ResultPage,
        query=SearchQuery,
    ),
    *page_and_call(
        "/doc/{corpus}/{id:path}",
        _or_missing(document),
        GET,
        "reader",
        "A document with what it cites, what cites it and what is like it",
        answer=DocumentPage,
        query=DocumentQuery,
        call="/api/documents/{corpus}/{id:path}",
    ),
    AppRoute(
        "/api/similar",
        _or_missing(list_similar),
        GET,
        "reader",
        "Documents that are like one",
        query=SimilarQuery,
        answer=list[Similar],
    ),
]
