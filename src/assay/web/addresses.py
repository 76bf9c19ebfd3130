"""Addresses of pages that others lead to."""

from __future__ import annotations

from urllib.parse import quote, urlencode


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
    given = {name: str(value) for name, value in asked.items() if value not in ("", None)}
    return f"/search?{urlencode(given)}" if given else "/search"
