"""Documents that would settle a comparison, one after the other; and a lost connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.browser import expect, grade, now, opened, ready, sent, shown, two_tabs
from kit.sets import both, judged_set


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    asked = both(("q1", "d1"), ("q1", "d2"), ("q2", "d4"))
    return judged_set(tmp_path, asked, judges=("Ada", "Ben"))


@pytest.fixture
def queue(browser: Any, url: str) -> Any:
    """Somebody who begins with the first of two documents of two queries."""
    page = opened(browser, url, "Ada", [])
    settling = [{"set": "set", "query": query, "doc": doc} for query, doc in QUEUE]
    kept = json.dumps({"from": "/runs", "settling": settling})
    page.evaluate("kept => sessionStorage.setItem('assay.queue', kept)", kept)
    page.goto(f"{url}/judge/set/q1?doc=d1&queued=1")
    ready(page)
    return page


QUEUE = (("q1", "d1"), ("q2", "d4"))
LOST = "There is no connection"


def test_undo_takes_back_the_vote_on_the_query_before(queue: Any, dataset: Path) -> None:
    queue.keyboard.press("u")
    queue.wait_for_url("**/q2?doc=d4&queued=1")
    ready(queue)
    assert now(dataset, "Ada") == {"d1": None}
    queue.keyboard.press("z")
    queue.wait_for_url("**/q1?doc=d1&queued=1")
    expect(queue.locator("#state")).to_have_text("Vote undone.")
    assert now(dataset, "Ada") == {}
    queue.reload()  # once, not again
    ready(queue)
    queue.keyboard.press("z")
    expect(queue.locator("#state")).to_have_text("Nothing to undo.")


def test_what_became_of_a_vote_is_said_on_the_page_that_opens(queue: Any) -> None:
    queue.keyboard.press("u")
    queue.wait_for_url("**/q2?doc=d4&queued=1")
    expect(queue.locator("#state")).to_contain_text("Marked as unsure.")
    queue.reload()  # once, not again
    ready(queue)
    assert queue.locator("#state").inner_text() == ""


def test_who_opens_a_query_otherwise_has_left_the_queue(queue: Any, url: str) -> None:
    queue.goto(f"{url}/judge/set/q1?doc=d1")
    ready(queue)
    assert queue.locator("#queued").is_hidden()
    queue.keyboard.press("u")
    expect(queue.locator(".doc.cur")).to_have_attribute("data-doc", "d2")
    assert "q1?doc=d2" in queue.url


def test_without_a_connection_the_queue_stays_and_goes_on_when_it_is_back(
    queue: Any, dataset: Path
) -> None:
    queue.context.set_offline(True)
    queue.keyboard.press("u")
    expect(queue.locator("#banner")).to_contain_text("1 vote is stored")
    queue.keyboard.press("l")  # the list of all documents cannot be had either
    queue.wait_for_timeout(100)
    assert shown(queue) == "d1"
    queue.keyboard.press("j")
    queue.context.set_offline(False)
    queue.wait_for_url("**/q2?doc=d4&queued=1")
    ready(queue)
    sent(queue)
    assert now(dataset, "Ada") == {"d1": None}


def test_a_link_without_a_connection_says_so(queue: Any) -> None:
    queue.context.set_offline(True)
    queue.keyboard.press("l")
    expect(queue.locator("#banner")).to_contain_text(LOST)
    queue.context.set_offline(False)
    queue.wait_for_url("**/q1/all")


def test_a_document_and_a_search_come_when_the_connection_is_back(queue: Any, url: str) -> None:
    queue.route("**/api/judge/**", lambda route: route.abort())
    queue.goto(f"{url}/judge/set/q1?doc=d2&lang=fi")
    expect(queue.locator("#document")).to_contain_text("Ei yhteyttä")
    queue.keyboard.press("/")
    queue.keyboard.type("behested payments")
    queue.keyboard.press("Enter")
    expect(queue.locator("#looked")).to_contain_text("Ei yhteyttä")
    queue.unroute("**/api/judge/**")
    queue.evaluate("dispatchEvent(new Event('online'))")
    expect(queue.locator("#document")).to_contain_text("A loan is no gift")
    expect(queue.locator("#found")).to_contain_text("Behested")


def test_what_another_window_said_since_is_asked_anew(
    browser: Any, url: str, dataset: Path
) -> None:
    one, two = two_tabs(browser, url)
    for tab, key in ((one, "2"), (two, "0"), (one, "1")):
        if key == "1":
            tab.goto(f"{url}/judge/set/q1?doc=d1")
            ready(tab)
        grade(tab, key, f"This is the reason for {key}.")
        sent(tab)
    asks = two.locator("#banner")
    asks.get_by_role("button", name="Keep 2").click()
    asks.get_by_role("button", name="Keep 1").click()
    expect(asks).to_be_hidden()
    assert now(dataset, "Ada") == {"d1": 1}


def test_a_reason_for_a_flag_that_is_too_long_stays(queue: Any) -> None:
    queue.keyboard.press("!")
    long = "too broad " * 500
    queue.fill("#flagwhy", long)
    queue.keyboard.press("Enter")
    expect(queue.locator("#flagtold")).to_contain_text("the limit is 4,000")
    assert queue.locator("#flagwhy").input_value() == long
    queue.fill("#flagwhy", "too broad")
    queue.keyboard.press("Enter")
    queue.wait_for_selector("#flag[aria-pressed=true]")
    expect(queue.locator("#flagform")).to_be_hidden()


def test_the_list_of_all_documents_keeps_a_text_that_is_too_long(
    queue: Any, url: str, dataset: Path
) -> None:
    queue.goto(f"{url}/judge/set/q1/all")
    queue.click('li[data-doc="d1"] .pick[data-grade="2"]')
    long = "It decides the point. " * 1_000
    queue.fill('li[data-doc="d1"] .why', long)
    queue.keyboard.press("Enter")
    expect(queue.locator("#state")).to_contain_text("the limit is 4,000")
    queue.reload()
    assert queue.locator('li[data-doc="d1"] .why').input_value() == long
    expect(queue.locator('li[data-doc="d1"] [aria-pressed=true]')).to_have_text("2")
    queue.fill('li[data-doc="d1"] .why', "It decides the point.")
    queue.keyboard.press("Enter")
    sent(queue)
    assert now(dataset, "Ada") == {"d1": 2}
    queue.reload()
    assert queue.locator('li[data-doc="d1"] .why').input_value() == "It decides the point."


@pytest.mark.parametrize("lang", ["en", "he"])
def test_on_a_phone_what_is_said_of_a_grade_is_in_sight(queue: Any, url: str, lang: str) -> None:
    queue.set_viewport_size({"width": 390, "height": 844})
    queue.goto(f"{url}/judge/set/q1?doc=d1&lang={lang}")
    ready(queue)
    queue.click('.grade[data-grade="2"]')
    said, bar = (queue.locator(at).bounding_box() for at in ("#state", ".panel .grades"))
    assert queue.locator("#state").inner_text()
    assert "Enter" not in queue.locator("#state").inner_text()
    assert said["y"] >= 0
    assert said["y"] + said["height"] <= bar["y"]


def test_on_a_phone_the_document_begins_on_the_first_screen(queue: Any, url: str) -> None:
    """Five lines of it, below a query of two hundred letters, before anybody scrolls."""
    queue.set_viewport_size({"width": 390, "height": 844})
    queue.goto(f"{url}/judge/set/q1?doc=d1")
    ready(queue)
    queue.evaluate("document.querySelector('.ask h1').textContent = 'gift of tickets '.repeat(13)")
    text = queue.locator("#document :is(p, pre, blockquote):visible").last.bounding_box()
    assert text["y"] + 150 <= queue.locator(".panel .grades").bounding_box()["y"]


def test_below_a_long_query_the_numbers_of_the_documents_are_whole(queue: Any, url: str) -> None:
    queue.set_viewport_size({"width": 1280, "height": 700})
    queue.goto(f"{url}/judge/set/q1?doc=d1")
    ready(queue)
    queue.evaluate("document.querySelector('.ask h1').textContent = 'gift of tickets '.repeat(16)")
    cut = (
        "document.querySelector('.ask').scrollHeight - document.querySelector('.ask').clientHeight"
    )
    assert queue.evaluate(cut) <= 0
