"""The search page, the page of a document, and the same for programs."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.search.engine import Engine
from assay.store import Store
from assay.web.search_pages import doc_address, search_address
from assay.workbench.project.service import Service
from assay.workbench.searching.corpora import import_corpus, index_corpus
from kit.corpora import HARM, HOSTILE
from kit.server import local_client

EMPTY = ("", "   ", "\u200b", "?!")


@pytest.fixture
def client(store: Store, sample_home: Path) -> TestClient:
    return local_client(Service(store=store, home=sample_home))


def links(text: str, start: str) -> list[str]:
    found = re.findall(r'href="([^"]*)"', text)
    return [html.unescape(link) for link in found if link.startswith(start)]


def test_a_search_leads_to_documents(client: TestClient) -> None:
    answer = client.get("/search", params={"corpus": "opinions", "q": "gift of travel"})
    assert answer.status_code == 200
    assert answer.text.count('<li class="hit"') == 10
    assert "<mark>" in answer.text
    assert "How it was ranked" in answer.text
    for link in links(answer.text, "/doc/"):
        assert client.get(link).status_code == 200


def test_every_link_of_the_filters_is_a_search(client: TestClient) -> None:
    answer = client.get("/search", params={"corpus": "opinions", "q": "gift limit & <tickets>"})
    filters = answer.text.partition('<aside id="filters"')[2]
    addresses = links(filters, "/search?")
    assert len(addresses) > 10
    for address in addresses[:12]:
        followed = client.get(address)
        assert followed.status_code == 200
        assert "gift limit &amp; &lt;tickets&gt;" in followed.text


def test_addresses_are_short_and_pages_go_on(client: TestClient) -> None:
    first = client.get("/search", params={"corpus": "opinions", "q": "gift"})
    following = next(a for a in links(first.text, "/search?") if "page=2" in a)
    assert following == "/search?q=gift&corpus=opinions&page=2"
    second = client.get(following)
    assert 'start="11"' in second.text
    assert client.get("/search?q=gift&corpus=opinions&page=-4").status_code == 200


@pytest.mark.parametrize("query", EMPTY)
def test_an_empty_question_is_no_error(client: TestClient, query: str) -> None:
    assert client.get("/search", params={"q": query}).status_code == 200
    assert client.get("/api/search", params={"q": query}).status_code == 200


def test_a_refusal_is_kind_and_shows_the_nearest(client: TestClient) -> None:
    asked = {"corpus": "opinions", "q": "how long should sourdough rise before baking"}
    text = client.get("/search", params=asked).text
    assert "Nothing here seems to answer this question." in text
    assert '<li class="hit"' in text
    assert "נראה שאין כאן" in client.get("/search", params=asked | {"lang": "he"}).text


def test_an_index_of_an_older_version_is_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"corpus": "opinions", "q": "gift"}
    assert "built by an older version" not in client.get("/search", params=asked).text
    monkeypatch.setattr(Engine, "is_older", True)
    text = client.get("/search", params=asked).text
    assert "built by an older version" in text
    assert "assay index opinions" in text


def test_without_calibration_the_order_is_shown_and_no_number(client: TestClient) -> None:
    text = client.get("/search", params={"corpus": "opinions", "q": "gift"}).text
    assert "The best matches come first" in text
    assert "probably answer" not in text
    assert "<meter" not in text
    assert "assay calibrate opinions" in text
    text = client.get("/search", params={"corpus": "opinions", "q": "gift zzyzx"}).text
    assert "No document contains: zzyzx." in text
    answer = client.get("/api/search", params={"corpus": "opinions", "q": "gift zzyzx"}).json()
    assert answer["calibrated"] is False
    assert answer["unknown"] == ["zzyzx"]
    assert 0 < answer["results"][0]["score"] < 1


def test_filters_that_leave_nothing_can_be_taken_off(client: TestClient) -> None:
    text = client.get("/search", params={"corpus": "opinions", "q": "gift", "topic": "nope"}).text
    assert "No documents match these filters." in text
    assert "/search?q=gift&corpus=opinions" in links(text, "/search")


@pytest.mark.parametrize(
    ("name", "value", "said"), [("since", "20x", "is not a year"), ("as_of", "31.5.", "not a day")]
)
def test_what_is_no_date_is_said_and_left_out(
    client: TestClient, name: str, value: str, said: str
) -> None:
    answer = client.get("/search", params={"corpus": "opinions", "q": "gift", name: value})
    assert answer.status_code == 400
    assert said in answer.text
    assert '<li class="hit"' in answer.text
    api = client.get("/api/search", params={"q": "gift", name: value})
    assert api.status_code == 400


def test_years_may_be_said_in_any_order(client: TestClient) -> None:
    asked = {"corpus": "opinions", "q": "gift", "since": "2010", "until": "2000"}
    found = client.get("/api/search", params=asked).json()
    assert found["asked"]["filters"]["years"] == [2000, 2010]


MISSING = {
    "Document not found.": (
        "/doc/opinions/nope",
        "/doc/nope/x",
        "/doc/opinions/",
        "/doc/..%2Fopinions/x",
    ),
    "Corpus not found.": (
        "/search?corpus=nope",
        "/search?corpus=../opinions&q=gift",
        "/search?corpus=opinions/&q=gift",
        "/search?corpus=/tmp&q=gift",
    ),
    '{"error":"no ': (
        "/api/documents/opinions/nope",
        "/api/documents/nope/x",
        "/api/similar?corpus=opinions&id=nope",
        "/api/search?corpus=nope",
    ),
}


@pytest.mark.parametrize(
    ("said", "address"), [(said, path) for said, paths in MISSING.items() for path in paths]
)
def test_what_is_not_there_is_said(client: TestClient, said: str, address: str) -> None:
    """On a page of its own; a program hears it as JSON."""
    answer = client.get(address)
    assert (answer.status_code, said in answer.text) == (404, True)


# ── hostile texts ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("doc_id", HOSTILE)
def test_any_id_has_an_address(client: TestClient, doc_id: str) -> None:
    answer = client.get(doc_address("hostile", doc_id, "gift"))
    assert answer.status_code == 200
    assert html.escape(doc_id, quote=False).replace('"', "&#34;") in answer.text
    address = doc_address("hostile", doc_id).replace("/doc/", "/api/documents/", 1)
    assert client.get(address).json()["id"] == doc_id
    similar = client.get("/api/similar", params={"corpus": "hostile", "id": doc_id})
    assert doc_id not in [other["doc_id"] for other in similar.json()]


@pytest.mark.parametrize("query", ["gift", "מתנה", "lahja", HARM])
@pytest.mark.parametrize("language", ["en", "fi", "he"])
def test_stored_texts_are_never_markup(client: TestClient, query: str, language: str) -> None:
    pages = [client.get("/search", params={"corpus": "hostile", "q": query, "lang": language})]
    pages += [client.get(address) for address in links(pages[0].text, "/doc/")]
    assert len(pages) > 1
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "49" not in re.findall(r">\s*(\d+)\s*<", page.text)
        assert '"><b>' not in page.text
        assert "\x00" not in page.text


def test_every_filter_takes_any_text(client: TestClient) -> None:
    for name in ("topic", "statute", "law", "language", "page", "corpus", "since", "as_of"):
        answer = client.get("/search", params={"q": "gift", name: HARM})
        assert answer.status_code in (200, 400, 404)
        assert "<script>alert" not in answer.text


def test_hebrew_is_set_from_the_right(client: TestClient) -> None:
    text = client.get("/search", params={"corpus": "precedents", "q": "היטל השבחה"}).text
    assert '<li class="hit" lang="he" dir="rtl">' in text
    text = client.get(links(text, "/doc/")[0]).text
    assert '<article class="law" lang="he" dir="rtl"' in text


def test_tables_are_tables(store: Store, tmp_path: Path) -> None:
    table = {"title": "Luvut", "header": ["", "2023"], "rows": [{"cells": [HARM, 5, 6]}]}
    section = {"title": "Talous", "paragraphs": ["Tulot kasvoivat."], "tables": [table]}
    pages = [{"page_num": n, "sections": [section]} for n in (1, 2)]
    (tmp_path / "r.json").write_text(json.dumps({"title": "K", "pages": pages}))
    import_corpus("report", tmp_path / "r.json", name="r", home=tmp_path)
    index_corpus("r", home=tmp_path, dense=False)
    client = local_client(Service(store=store, home=tmp_path))
    text = client.get(doc_address("r", "r:p1:t1")).text
    assert '<th scope="col" dir="auto">2023</th>' in text
    assert '<td dir="auto">5</td>' in text
    assert "<script>alert" not in text
    doc = client.get("/api/documents/r/r:p1:t1", params={"q": "tulot"}).json()
    before, cells = doc["parts"]
    [paragraph] = before["paragraphs"]
    assert "".join(piece["text"] for piece in paragraph["pieces"]) == "Tulot kasvoivat."
    assert (doc["form"], cells["here"], doc["after"]["doc_id"]) == ("report", True, "r:p2:s1")
    assert (cells["table"]["header"], cells["table"]["rows"]) == (
        [["", "2023", ""]],
        [[HARM, "5", "6"]],
    )


# ── programs ──────────────────────────────────────────────────────────────────────────────────────


def test_programs_read_what_pages_show(client: TestClient) -> None:
    asked = {"corpus": "opinions", "q": "gift of travel", "topic": "", "page": "1"}
    found: dict[str, Any] = client.get("/api/search", params=asked).json()
    assert found["state"] == "found"
    first = found["results"][0]
    assert first["title"] in html.unescape(client.get("/search", params=asked).text)
    doc = client.get(f"/api/documents/opinions/{first['doc_id']}", params={"q": "gift"}).json()
    assert doc["title"] == first["title"]
    assert "gift" in doc["words"]
    similar = client.get("/api/similar", params={"corpus": "opinions", "id": first["doc_id"]})
    assert [other["doc_id"] for other in similar.json()] == [
        other["doc_id"] for other in doc["similar"]
    ]


def test_a_workspace_without_corpora_says_how_to_begin(store: Store, tmp_path: Path) -> None:
    client = local_client(Service(store=store, home=tmp_path))
    text = client.get("/search").text
    assert "There is nothing to search yet." in text
    assert "assay corpus import" in text


def test_what_is_empty_is_not_in_an_address() -> None:
    assert search_address(q="", corpus="") == "/search"
    assert search_address(q="a b", since=2001, page="") == "/search?q=a+b&since=2001"
    assert doc_address("c", "a/b ä") == "/doc/c/a%2Fb%20%C3%A4"
    assert doc_address("c", "..", "x") == "/doc/c/?id=..&q=x"


def test_a_question_in_the_wrong_corpus_is_led_to_the_others(client: TestClient) -> None:
    """A Hebrew page searches precedents first; the letter about tickets is in another corpus."""
    asked = {"corpus": "precedents", "q": "free tickets given to a council member", "lang": "he"}
    refused = client.get("/search", params=asked).text
    card = refused.partition('class="elsewhere"')[2].partition("</p>")[0]
    others = links(card, "/search?")
    assert {address.rpartition("corpus=")[2] for address in others} >= {"opinions", "act"}
    assert all(client.get(address).status_code == 200 for address in others)
    by_language = client.get("/search", params={"q": "gift of travel", "lang": "en"}).text
    assert "Searched opinions" in by_language.replace("\u2068", "").replace("\u2069", "")


def test_what_is_less_likely_stands_apart(client: TestClient) -> None:
    page = client.get("/search?lang=en&corpus=opinions&q=letter+about+tickets")
    likely = client.get("/api/search?corpus=opinions&q=letter+about+tickets").json()
    assert 0 < likely["likely"] < 10
    before, _, _ = page.text.partition('class="rest small"')
    assert before.count('<li class="hit"') == likely["likely"] + 1


def test_results_are_numbered_as_they_are_listed(client: TestClient) -> None:
    """Also where the less likely ones have moved behind the others."""
    for corpus, question in (("opinions", "letter about tickets"), ("act", "saaristokunta")):
        page = client.get("/search", params={"corpus": corpus, "q": question}).text
        numbers = re.findall(r'<h2><span class="small">(\d+)\.</span>', page)
        assert numbers == [str(number) for number in range(1, len(numbers) + 1)]


@pytest.mark.parametrize(("corpus", "words"), [("opinions", "the of and what"), ("act", "mitä on")])
def test_stop_words_alone_are_not_searched(client: TestClient, corpus: str, words: str) -> None:
    page = client.get("/search", params={"corpus": corpus, "q": words, "lang": "en"}).text
    assert "There is nothing to search for." in page
    assert '<li class="hit"' not in page
    found = client.get("/api/search", params={"corpus": corpus, "q": words}).json()
    assert (found["state"], found["results"]) == ("no_content", [])


def test_a_misspelt_word_is_shown_as_documents_write_it(client: TestClient) -> None:
    asked = {"corpus": "opinions", "q": "travel expences", "lang": "en"}
    page = re.sub("[\u2066-\u2069]|<[^>]*>", "", client.get("/search", params=asked).text)
    assert "“expences” was read as “expenses”" in page
    assert "not expences" not in page
