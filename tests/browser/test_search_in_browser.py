"""Search in a real browser: by keys alone, also without scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from assay.store import open_store
from assay.web.app import create_app
from assay.workbench.project.service import Service
from kit.browser import expect, faults, listening
from kit.corpora import HOSTILE


@pytest.fixture(scope="module")
def url(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('store')}/s.db", create=True)
    with listening(lambda port: create_app(Service(store=store, home=sample_home))) as address:
        yield address
    store.close()


@pytest.fixture
def page(url: str, browser: Any) -> Iterator[Any]:
    """A message on the console, an alert or a request to elsewhere fails the test."""
    context = browser.new_context(base_url=url, locale="en-US")
    opened = context.new_page()
    wrong = faults(opened, url)
    yield opened
    context.close()
    assert not wrong


def settled(page: Any, selector: str) -> None:
    """A page with this is there, and its scripts have run: before that no key is heard."""
    page.wait_for_selector(selector)
    page.wait_for_load_state()


def test_a_question_is_asked_and_answered_by_keys_alone(page: Any) -> None:
    page.goto("/search?corpus=opinions")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("gift of travel to a conference")
    page.keyboard.press("Enter")
    settled(page, ".hit")
    assert page.url.endswith("/search?q=gift+of+travel+to+a+conference&corpus=opinions")
    titles = page.locator("a.open").all_inner_texts()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.innerText") == titles[1]
    page.keyboard.press("Enter")
    settled(page, "article.law")
    assert page.locator("article mark").count() > 0
    whole = page.locator("details.whole")
    if whole.count():
        before = whole.get_attribute("open")  # it is where nothing but a summary stands above
        page.keyboard.press("f")
        assert (whole.get_attribute("open") is None) != (before is None)
    page.keyboard.press("b")
    settled(page, ".hit")
    assert page.locator("a.open").all_inner_texts() == titles
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("xyzzy")
    assert page.input_value("#q") == "xyzzy"


def test_back_goes_back_and_the_box_grows(page: Any) -> None:
    page.goto("/search?corpus=opinions&q=gift")
    page.locator("#filters .facet a").first.click()
    page.wait_for_selector(".facet .chosen")
    filtered = page.url
    page.go_back()
    page.wait_for_selector(".hit")
    assert page.url != filtered
    assert page.input_value("#q") == "gift"
    low = page.locator("#q").bounding_box()["height"]
    page.fill("#q", "The council member owns a bakery near the site. " * 12)
    assert page.locator("#q").bounding_box()["height"] > 2 * low


def test_sections_of_an_act_follow_by_keys(page: Any) -> None:
    page.goto("/search?corpus=act&q=" + quote("talousarvion hyväksyminen"))
    page.locator("a.open").first.click()
    settled(page, "article .part")
    here = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda address: address != here)
    page.keyboard.press("p")
    page.wait_for_url(here)
    assert page.locator("article .part").count() > 0


def test_without_scripts_it_works_as_well(url: str, browser: Any) -> None:
    context = browser.new_context(base_url=url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/search?corpus=opinions")
    page.fill("#q", "gift limit")
    page.click("form#search button")
    page.locator("a.open").first.click()
    expect(page.locator("article.law h1")).to_have_count(1)
    context.close()


@pytest.mark.parametrize("doc_id", HOSTILE)
def test_any_id_is_found_and_opened(page: Any, doc_id: str) -> None:
    page.goto("/search?corpus=hostile&q=" + quote("gift מתנה lahja"))
    link = page.locator("a.open").filter(has_text=doc_id)
    link.first.click()
    page.wait_for_selector("article.law")
    assert doc_id in page.locator(".byline").inner_text()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("language", ["en", "he"])
def test_nothing_is_wider_than_the_page(page: Any, width: int, language: str) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for address in ("/search?corpus=precedents&q=" + quote("היטל השבחה"), "/search?corpus=act"):
        page.goto(f"{address}&lang={language}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
