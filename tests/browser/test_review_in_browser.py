"""The review page in a real browser: keys, both directions, nothing from elsewhere."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.corpus.build import import_corpus
from assay.store import Store
from assay.store.records import SearchLog, ShownResult
from assay.web.app import create_app
from assay.workbench.project.audit_trail import trail
from assay.workbench.project.service import Service, gold_path
from assay.workbench.review.decisions import decide_rows
from assay.workbench.review.queue import backlog, queue
from kit.browser import expect, faults, listening
from kit.runs import bootstrapped

SAMPLE = Path(__file__).parents[2] / "samples" / "he"
NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    sets = {"gold-set": tmp_path / "gold-set.jsonl"}
    service = Service(store=store, gold_sets=sets, home=tmp_path)
    return bootstrapped(service, ["היטל השבחה", "materiality", "third"], NOW)


def served(service: Service) -> contextlib.AbstractContextManager[str]:
    return listening(lambda port: create_app(service))


@contextlib.contextmanager
def visiting(browser: Any, url: str) -> Iterator[Any]:
    """A Hebrew browser in the dark, on the list."""
    opened = browser.new_context(
        locale="he-IL", color_scheme="dark", viewport={"width": 900, "height": 800}
    ).new_page()
    said = faults(opened, url, refused=True)
    opened.goto(f"{url}/review")
    opened.fill("input[name=name]", "דפנה")
    opened.press("input[name=name]", "Enter")
    opened.wait_for_url("**/review")
    yield opened
    assert said == []


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    with served(service) as address:
        yield address


@pytest.fixture
def page(url: str, browser: Any) -> Iterator[Any]:
    with visiting(browser, url) as opened:
        yield opened


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("language", ["he", "en", "fi"])
def test_the_pages_fit_and_speak_the_language(
    page: Any, url: str, service: Service, width: int, language: str
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    first = queue(service).items[0].id
    for path in ("/", "/review", "/review/bulk", f"/review/{first}"):
        page.goto(f"{url}{path}?lang={language}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        assert page.evaluate("document.dir") == ("rtl" if language == "he" else "ltr")
    page.goto(f"{url}/")
    said = {
        "he": "זמנית (bootstrap בלבד)",
        "en": "provisional (bootstrap-only)",
        "fi": "alustava (vain bootstrap)",
    }
    expect(page.locator("td .chip").first).to_contain_text(said[language])
    expect(page.locator("main")).not_to_contain_text("reviewed" if language != "en" else "סקר")


def item_page(page: Any, url: str, service: Service, place: int = 0) -> Any:
    item = queue(service).items[place]
    page.goto(f"{url}/review/{item.id}")
    return item


def settled(page: Any) -> None:
    page.wait_for_load_state()  # keys are heard once the page's scripts have run


def test_enter_after_a_reason_decides_nothing(page: Any, url: str, service: Service) -> None:
    item_page(page, url, service)
    page.fill("input[name=why]", "not relevant")
    page.press("input[name=why]", "Enter")
    page.wait_for_timeout(200)
    assert backlog(service).pending_review == 3
    page.click("button.reject")
    expect(page.locator(".undo")).to_be_visible()
    assert backlog(service).rejected == 1


def test_a_chair_at_the_keyboard(page: Any, url: str, service: Service) -> None:
    assert page.evaluate("document.dir") == "rtl"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    page.keyboard.press("j")
    page.wait_for_url("**/review/*")
    settled(page)
    page.keyboard.press("2")
    expect(page.locator(".changed")).to_be_visible()
    expect(page.locator(".changes")).to_contain_text("b")
    page.keyboard.press("2")
    expect(page.locator(".plain")).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(".told")).to_be_visible()
    expect(page.locator(".place")).to_contain_text("1 מתוך 2")
    settled(page)
    assert [(entry.action, entry.by) for entry in trail(service)] == [("review.approved", "דפנה")]
    page.keyboard.press("z")
    expect(page.locator(".place")).to_contain_text("1 מתוך 3")
    settled(page)
    assert backlog(service).approved == 0
    page.keyboard.press("x")
    assert page.evaluate("document.activeElement.name") == "why", "a rejection needs a reason"
    page.keyboard.type("no")
    page.keyboard.press("Enter")
    expect(page.locator(".undo")).to_be_visible()
    settled(page)
    assert backlog(service).rejected == 1
    page.keyboard.press("z")
    expect(page.locator(".undo")).to_have_count(0)
    settled(page)
    assert backlog(service).rejected == 0
    assert page.locator("input[name=why]").input_value() == "no", "the reason is kept"
    here = page.url.partition("?")[0]
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url.partition("?")[0] != here)
    settled(page)
    page.keyboard.press("k")
    page.wait_for_url(lambda url: url.partition("?")[0] == here)


def test_what_is_typed_is_there_again(page: Any, url: str, service: Service) -> None:
    """After another page, after a refusal, after another chair was first; and not on the next
    item."""
    why = page.locator("#review [name=why]")
    item = item_page(page, url, service)
    page.fill("#review [name=why]", "שני עמודים של נימוקים")
    page.uncheck("input[name=doc][value=a]")
    page.click("a[lang=fi]")
    expect(why).to_have_value("שני עמודים של נימוקים")
    expect(page.locator("input[name=doc][value=a]")).not_to_be_checked()
    page.uncheck("input[name=doc][value=b]")
    page.click("button.approve")
    expect(page.locator(".said")).to_contain_text("Yhtään asiakirjaa ei jäisi")
    expect(why).to_have_value("שני עמודים של נימוקים")
    decide_rows(service, gold_path(service, "gold-set"), [item.ref], "approved", by="משה")
    page.check("input[name=doc][value=b]")
    page.click("button.approve")
    expect(page.locator(".said")).to_contain_text("משה on jo ratkaissut")
    expect(page.locator("textarea[name=why]")).to_have_value("שני עמודים של נימוקים")
    item_page(page, url, service)
    expect(why).to_have_value("")
    expect(page.locator("input[name=doc][value=a]")).to_be_checked()
    kept = page.evaluate("Object.entries(sessionStorage)")
    assert [(key, json.loads(text)) for key, text in kept] == [
        (f"draft {item.id}", {"note": "", "why": "שני עמודים של נימוקים"})
    ], "of a decision the words are kept, for an undo, and not what was ticked"


def test_two_presses_are_one_decision(page: Any, url: str, service: Service) -> None:
    item = item_page(page, url, service)
    settled(page)
    page.evaluate("for (let n = 0; n < 3; n++) document.querySelector('button.approve').click()")
    expect(page.locator(".told")).to_be_visible()
    page.goto(f"{url}/review/{item.id}")
    expect(page.locator(".decided")).to_contain_text("דפנה")
    assert len(trail(service)) == 1


@pytest.fixture
def sample(store: Store, tmp_path: Path) -> Service:
    """The Hebrew sample, with its corpus, as `assay serve --gold` opens it; somebody searched."""
    gold = tmp_path / "gold-set.jsonl"
    shutil.copy(SAMPLE / "gold-set.jsonl", gold)
    import_corpus("jsonl", SAMPLE / "precedents.jsonl", name="precedents", home=tmp_path)
    made = Service(store=store, gold_sets={"gold-set": gold}, home=tmp_path)
    item, other = queue(made).items[:2]
    shown = tuple(
        ShownResult(id, n) for n, id in enumerate((*item.doc_ids, *other.doc_ids), start=1)
    )
    log = SearchLog(id="l", at=NOW, query=item.query, corpus=item.corpus, results=shown)
    store.add_searches([log])
    return made


def test_the_hebrew_sample_by_keyboard_alone(sample: Service, browser: Any) -> None:
    """Read, open, take one out, add one that searches showed, find one more, approve; then many at
    once, and back."""
    gold = gold_path(sample, "gold-set")
    before = gold.read_bytes()
    item, other = queue(sample).items[:2]
    with served(sample) as url, visiting(browser, url) as page:
        page.keyboard.press("j")
        page.wait_for_url(f"**/review/{item.id}")
        settled(page)
        heading = page.locator("h1.query")
        assert heading.evaluate("node => getComputedStyle(node).direction") == "rtl"
        first = page.locator(".doc").first
        expect(first.locator("mark").first).to_be_visible()
        expect(first.locator(".whole")).to_be_hidden()
        page.keyboard.press("f")
        expect(first.locator(".whole p").first).to_be_visible()
        page.keyboard.press("f")
        expect(first.locator(".whole")).to_be_hidden()
        page.keyboard.press("d")
        expect(page.locator(".doc.current")).to_have_attribute("data-doc", item.doc_ids[1])
        page.keyboard.press("1")
        page.keyboard.press("3")
        page.keyboard.press("/")
        page.keyboard.type("ריבית פיגורים")
        page.keyboard.press("Enter")
        found = page.locator(".doc.current input[name=doc]")
        expect(found).to_be_focused()
        added = found.get_attribute("value")
        page.keyboard.press("Space")
        expect(page.locator(".changes")).to_contain_text("מוסיף")
        page.reload()
        settled(page)
        expect(page.locator(f'input[name=doc][value="{added}"]')).to_be_checked()
        page.keyboard.press("r")
        page.keyboard.type("נקרא")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        expect(page.locator(".told")).to_be_visible()
        settled(page)
        row = next(
            row for row in map(json.loads, gold.read_text().splitlines()) if row["id"] == item.ref
        )
        assert row["relevant_case_law_ids"] == [item.doc_ids[1], other.doc_ids[0], added]
        assert row["source"] == "chair"
        page.keyboard.press("z")
        expect(page.locator(".undo")).to_have_count(0)
        settled(page)
        assert [json.loads(line) for line in gold.read_text().splitlines()] == [
            json.loads(line) for line in before.decode().splitlines()
        ]
        page.goto(f"{url}/review")
        settled(page)
        page.keyboard.press("l")
        page.wait_for_url("**/review/bulk*")
        settled(page)
        page.keyboard.press("a")
        expect(page.locator(".told")).to_be_visible()
        settled(page)
        assert backlog(sample).pending_review == 0
        page.keyboard.press("z")
        expect(page.locator(".queue > li")).to_have_count(8)
        assert backlog(sample).approved == 0


def test_what_is_lacking_is_said(sample: Service, browser: Any) -> None:
    with served(sample) as url, visiting(browser, url) as page:
        many = page.locator('#bulk [data-key="l"]')
        page.goto(f"{url}/review?lang=en")
        assert many.inner_text().startswith("Approve all")
        page.locator("#bulk input[type=checkbox]").first.check()
        assert many.inner_text().startswith("Approve selected")
        page.goto(f"{url}/review/{queue(sample).items[0].id}")
        settled(page)
        page.keyboard.press("a")
        page.wait_for_selector(".told")
        settled(page)
        page.keyboard.press("x")
        expect(page.locator("#reason-help")).to_have_text("Give a reason to reject.")
        expect(page.locator("input[name=why]")).to_be_focused()
        expect(page.locator(".told")).to_have_count(0)
