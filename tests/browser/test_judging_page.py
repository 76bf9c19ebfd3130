"""Judging in a real browser by keys alone: nothing is lost, nothing runs that a document says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from assay.gold.rows import log_path
from kit.browser import (
    expect,
    given,
    grade,
    judging,
    now,
    opened,
    ready,
    sent,
    shown,
    two_tabs,
    until,
)
from kit.sets import TEXTS, both, judged_set, labels

ASKED = [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q2", "d4")]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return judged_set(tmp_path, both(*ASKED), judges=("Ada", "Ben"))


def grade_all(page: Any, grades: dict[str, int]) -> None:
    """By keys alone: a digit, a sentence, Enter; the next document follows by itself."""
    for _ in grades:
        ready(page)
        page.keyboard.press(str(grades[shown(page)]))
        page.keyboard.type(f"It decides the point of {shown(page)}.")
        page.keyboard.press("Enter")
    sent(page)


def test_two_judges_by_keyboard_alone_and_the_chair_rules(
    browser: Any, url: str, dataset: Path
) -> None:
    said: list[str] = []
    for name, grades in (
        ("Ada", {"d1": 2, "d2": 0, "d3": 1}),
        ("Ben", {"d1": 2, "d2": 1, "d3": 1}),
    ):
        page = opened(browser, url, name, said)
        page.goto(f"{url}/judge/set")
        page.keyboard.press("j")
        page.wait_for_url("**/judge/set/q*")
        if page.url.partition("?")[0].endswith("q2"):
            page.goto(f"{url}/judge/set/q1")
        grade_all(page, grades)
        assert now(dataset, name) == grades
        assert page.locator("#done").is_visible()
        assert "3 of 3" in page.locator("#count").inner_text()
    page.keyboard.press("Enter")  # to what waits still, and from the last one to the thanks
    page.wait_for_url("**/judge/set/q2*")
    ready(page)
    page.keyboard.press("u")
    expect(page.locator("#donetext")).to_contain_text("That was the last one. Thank you.")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judge/set")
    expect(page.locator("main")).to_contain_text("Done, thank you. 4 of 4 judged")
    assert all(vote.seconds is not None and vote.document for vote in given(dataset))
    chair = opened(browser, url, "Dora", said)
    chair.goto(f"{url}/agreement/set")
    assert "Ada and Ben agree on 67% of 3" in chair.locator(".facts-first").first.inner_text()
    chair.keyboard.press("j")
    ready(chair)
    grade(chair, "1", "A loan is a neighbouring rule.")
    chair.wait_for_url("**/agreement/set")
    assert labels(dataset) == {("q1", "d1"): 2, ("q1", "d2"): 1, ("q1", "d3"): 1}
    expect(chair.locator("#last")).to_contain_text("You ruled: grade 1")
    chair.keyboard.press("z")  # the ruling is withdrawn, and what was typed is kept
    chair.wait_for_url("**/agreement/set/*")
    ready(chair)
    expect(chair.locator("#told")).to_contain_text("The ruling is withdrawn.")
    assert chair.locator("#why").input_value() == "A loan is a neighbouring rule."
    assert ("q1", "d2") not in labels(dataset)
    while "Ada" not in chair.locator(".opinion.taken").all_inner_texts().__str__():
        chair.keyboard.press("t")  # a grade and a reason are taken, and nothing is ruled yet
    assert ("q1", "d2") not in labels(dataset)
    chair.keyboard.press("Enter")
    chair.wait_for_url("**/agreement/set")
    assert labels(dataset)["q1", "d2"] == 0
    assert given(dataset)[-1].judge == "Dora"
    assert given(dataset)[-1].rationale == "It decides the point of d2."
    assert said == []


def test_a_session_that_ended_offers_the_way_back(browser: Any, url: str, dataset: Path) -> None:
    page = judging(browser, url)
    page.route("**/api/votes", lambda route: route.fulfill(status=401, json={"error": "no"}))
    grade(page, "2", "It decides the point.")
    link = page.locator("#banner a")
    expect(link).to_have_text("Sign in")
    assert link.get_attribute("href").startswith("/sign-in?next=%2Fjudge%2Fset%2F")
    assert given(dataset) == []
    page.unroute("**/api/votes")
    page.goto(f"{url}/judge/set/q1")  # where one comes back to
    expect(page.locator("#setcount")).to_have_text("1 of 4 judged")
    assert [vote.grade for vote in given(dataset)] == [2]


def test_without_a_script_the_page_says_so(browser: Any, url: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{url}/me?lang=en")
    page.fill("input[name=name]", "Ada")
    page.press("input[name=name]", "Enter")
    for path in ("/judge/set/q1", "/judge/set/q1/all"):
        page.goto(f"{url}{path}")
        expect(page.locator("noscript p.said")).to_contain_text("Judging needs JavaScript")


def test_on_a_phone_the_reason_is_with_the_grades(browser: Any, url: str) -> None:
    page = judging(browser, url)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#why")).to_be_hidden()
    page.click('.grade[data-grade="1"]')
    boxes = [page.locator(part).bounding_box() for part in (".grade[data-grade='1']", "#why")]
    assert all(box and box["y"] + box["height"] <= 844 for box in boxes)
    assert page.locator("header.top").bounding_box()["height"] < 60


def test_after_an_undo_another_grade_asks_for_its_reason(
    browser: Any, url: str, dataset: Path
) -> None:
    """The reason that was kept speaks of the grade that was taken back."""
    page = judging(browser, url)
    grade(page, "0", "It is about another rule.")
    sent(page)
    page.keyboard.press("z")
    sent(page)
    page.keyboard.press("2")
    assert page.evaluate("document.activeElement.id") == "why"
    assert page.locator("#why").input_value() == "It is about another rule."
    assert now(dataset, "Ada") == {}
    page.keyboard.type("It decides the point.")
    page.keyboard.press("Enter")
    sent(page)
    assert now(dataset, "Ada") == {"d1": 2}
    assert given(dataset)[-1].rationale == "It decides the point."


def test_undo_names_the_reason_where_only_that_is_taken_back(browser: Any, url: str) -> None:
    page = judging(browser, url)
    grade(page, "2", "It decides the point.")
    sent(page)
    expect(page.locator("#undoes")).to_contain_text("grade 2")
    page.click('.doc[data-doc="d1"]')
    page.keyboard.press("r")
    page.keyboard.press("End")
    page.keyboard.type(" So does its note.")
    page.keyboard.press("Enter")
    sent(page)
    expect(page.locator("#undoes")).to_contain_text("the reason")


def test_on_a_phone_a_grade_leaves_the_document_where_it_is(browser: Any, url: str) -> None:
    page = judging(browser, url)
    page.set_viewport_size({"width": 390, "height": 500})
    page.click('.grade[data-grade="1"]')
    expect(page.locator("#state")).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") == 0
    for label in page.locator(".grade b").all():
        assert label.evaluate(
            "one => one.parentElement.scrollWidth <= one.parentElement.clientWidth"
        )


def test_what_waits_counts_down_while_one_judges(browser: Any, url: str) -> None:
    page = judging(browser, url)
    assert page.locator("#waits").inner_text() == "4 to judge"
    grade(page, "2", "It decides the point.")
    expect(page.locator("#waits")).to_have_text("3 to judge")
    assert page.locator("#setcount").inner_text() == "1 of 4 judged"
    assert page.locator(".list a[aria-current] progress").evaluate("bar => bar.value") == 1
    page.keyboard.press("z")
    expect(page.locator("#waits")).to_have_text("4 to judge")
    expect(page.locator("#state")).to_have_text("Vote undone.")
    page.reload()
    ready(page)
    assert page.locator("#waits").inner_text() == "4 to judge"


def test_what_would_settle_a_comparison_comes_one_after_the_other(
    browser: Any, url: str, dataset: Path
) -> None:
    """Also a document that nobody was asked about; then back to where it was named."""
    page = opened(browser, url, "Ada", [])
    settling = [{"set": "set", "query": "q1", "doc": doc} for doc in ("d3", "d1", "d5")]
    kept = json.dumps({"from": "/runs", "settling": settling})
    page.evaluate("kept => sessionStorage.setItem('assay.queue', kept)", kept)
    page.goto(f"{url}/judge/set/q1?doc=d3&queued=1")
    for place, doc in enumerate(("d3", "d1"), 1):
        ready(page)
        expect(page.locator("#queued")).to_contain_text(f"{place} of 3")
        assert shown(page) == doc
        grade(page, "2", "It decides the point.")
        page.wait_for_url(f"**doc={'d1' if doc == 'd3' else 'd5'}&queued=1")
    ready(page)
    for key, doc in (("k", "d1"), ("k", "d3"), ("j", "d1"), ("j", "d5")):  # back and on again
        page.keyboard.press(key)
        page.wait_for_url(f"**doc={doc}&queued=1")
        ready(page)
    assert "Behested payments" in page.inner_text("#document")
    page.click("text=Add and judge it")
    expect(page.locator(".doc.cur")).to_have_attribute("data-doc", "d5")
    ready(page)
    page.keyboard.press("u")
    page.click("text=Go back")
    page.wait_for_url("**/runs")
    assert now(dataset, "Ada") == {"d3": 2, "d1": 2, "d5": None}


def test_a_required_reason_is_asked_for_and_a_draft_is_kept(
    browser: Any, url: str, dataset: Path
) -> None:
    page = judging(browser, url)
    page.keyboard.press("2")
    assert page.evaluate("document.activeElement.id") == "why"
    page.keyboard.press("Enter")
    assert "Give a reason" in page.locator("#state").inner_text()
    page.keyboard.type("half a sen")
    page.reload()
    ready(page)
    assert not log_path(dataset).exists()
    assert page.locator("#why").input_value() == "half a sen"
    assert page.locator(".grade[aria-pressed=true] em").inner_text() == "2"
    page.keyboard.press("r")
    page.keyboard.press("End")
    page.keyboard.type("tence")
    page.keyboard.press("Enter")
    sent(page)
    assert [vote.rationale for vote in given(dataset)] == ["half a sentence"]


def test_a_lost_connection_keeps_votes_and_sends_them_again(
    browser: Any, url: str, dataset: Path
) -> None:
    page = judging(browser, url)
    page.route("**/api/votes", lambda route: route.abort())
    page.keyboard.press("r")
    page.keyboard.type("kept until it arrives")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    page.wait_for_selector("#banner:not([hidden])")
    assert "1 vote is stored" in page.locator("#banner").inner_text()
    page.keyboard.press("u")
    page.reload()  # still there, and shown as given
    ready(page)
    assert page.locator('.doc[data-doc="d1"] .given').inner_text() == "2"
    assert not log_path(dataset).exists()
    page.unroute("**/api/votes")
    page.evaluate("votes.send()")
    sent(page)
    assert len(now(dataset, "Ada")) == 2
    assert now(dataset, "Ada")["d1"] == 2


def test_an_answer_that_is_lost_makes_no_second_vote(browser: Any, url: str, dataset: Path) -> None:
    """The vote arrived, and nobody heard that it did."""
    page = judging(browser, url)

    def taken_then_lost(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/votes", taken_then_lost, times=1)
    page.keyboard.press("u")
    page.wait_for_selector("#banner:not([hidden])")
    assert len(given(dataset)) == 1
    sent(page)  # the page tries again by itself
    assert len(given(dataset)) == 1


def test_undo_gives_a_vote_that_restores(browser: Any, url: str, dataset: Path) -> None:
    page = judging(browser, url)
    grade(page, "2", "the first reason")
    sent(page)
    page.goto(f"{url}/judge/set/q1?doc=d1")
    ready(page)
    # another grade asks for another reason
    grade(page, "0", "the second reason")
    sent(page)
    assert now(dataset, "Ada") == {"d1": 0}
    page.keyboard.press("z")
    sent(page)
    assert now(dataset, "Ada") == {"d1": 2}
    assert shown(page) == "d1"
    page.keyboard.press("z")
    sent(page)
    assert now(dataset, "Ada") == {}
    page.keyboard.press("z")
    assert "Nothing to undo" in page.locator("#state").inner_text()
    assert len(given(dataset)) == 4  # nothing was deleted
    assert [vote.rationale for vote in given(dataset)] == [
        "the first reason",
        "the second reason",
        "the first reason",
        "",
    ]


@pytest.mark.parametrize(("button", "holds"), [("Keep 0", {"d1": 0}), ("Change to 2", {"d1": 2})])
def test_two_tabs_on_one_document_and_the_second_is_asked(
    browser: Any, url: str, dataset: Path, button: str, holds: dict[str, int]
) -> None:
    one = opened(browser, url, "Ada", [])
    two = one.context.new_page()

    def titled(route: Any) -> None:
        answer = route.fetch()
        read = answer.json()
        route.fulfill(response=answer, json={**read, "row": {**read["row"], "title": "Tickets"}})

    two.route("**/api/judge/document**", titled)
    for tab in (one, two):
        tab.goto(f"{url}/judge/set/q1?doc=d1")
        ready(tab)
    for tab, key in ((one, "0"), (two, "2")):
        grade(tab, key, f"This is the reason for {key}.")
        sent(tab)
    assert now(dataset, "Ada") == {"d1": 0}
    asks = two.locator("#banner")
    expect(asks).to_contain_text("You gave Tickets another grade in another window")
    assert "Saved" not in two.locator("#state").inner_text()
    two.goto(f"{url}/judge/set/q2")  # on any page, until it is answered
    ready(two)
    expect(asks.get_by_role("link")).to_have_attribute("href", "/judge/set/q1?doc=d1")
    two.keyboard.press("y" if "Keep" in button else "c")
    expect(asks).to_be_hidden()
    sent(two)
    assert now(dataset, "Ada") == holds
    assert {vote.rationale for vote in given(dataset)} >= {"This is the reason for 0."}
    one.evaluate("sync()")
    shows = f"document.querySelector('.doc[data-doc=d1] .given')?.textContent === '{holds['d1']}'"
    until(one, shows)


def test_who_sees_what_another_tab_said_may_change_it(
    browser: Any, url: str, dataset: Path
) -> None:
    one, two = two_tabs(browser, url)
    one.keyboard.press("u")
    sent(one)
    two.evaluate("sync()")
    until(two, "document.querySelector('.doc[data-doc=d1] .given')?.textContent === '?'")
    grade(two, "1", "less on second thought")
    sent(two)
    assert now(dataset, "Ada") == {"d1": 1}
    expect(two.locator("#banner")).to_be_hidden()


def test_back_leads_to_the_document_before(browser: Any, url: str) -> None:
    page = opened(browser, url, "Ada", [])
    page.goto(f"{url}/judge/set")
    page.goto(f"{url}/judge/set/q1")
    seen = []
    for _ in range(3):
        ready(page)
        seen.append(shown(page))
        page.keyboard.press("u" if len(seen) == 1 else "j")
    assert len(set(seen)) == 3
    page.go_back()
    assert shown(page) == seen[1]
    page.go_back()
    assert shown(page) == seen[0]
    page.go_forward()
    assert shown(page) == seen[1]
    page.go_back()
    page.go_back()
    page.wait_for_url("**/judge/set")


def test_nothing_moves_aside_when_the_document_arrives(browser: Any, url: str) -> None:
    page = opened(browser, url, "Ada", [])
    page.set_viewport_size({"width": 1400, "height": 420})
    page.route("**/api/judge/document**", lambda route: None)  # it never arrives
    page.goto(f"{url}/judge/set/q1?doc=d1")
    before = page.locator(".paper").bounding_box()
    page.unroute("**/api/judge/document**")
    page.reload()
    ready(page)
    page.evaluate("document.getElementById('document').style.minHeight = '3000px'")
    after = page.locator(".paper").bounding_box()
    assert (before["x"], before["width"]) == (after["x"], after["width"])


def test_a_reason_that_is_too_long_is_said_and_stays(browser: Any, url: str, dataset: Path) -> None:
    page = judging(browser, url)
    page.keyboard.press("2")
    long = "It decides the point. " * 1_000
    page.fill("#why", long)
    page.keyboard.press("Enter")
    assert "the limit is 4,000" in page.locator("#state").inner_text()
    assert page.locator("#why").input_value() == long
    assert given(dataset) == []
    page.reload()
    ready(page)
    assert page.locator("#why").input_value() == long, "a draft, kept whole"
    page.fill("#why", "It decides the point.")
    page.locator("#why").press("Enter")
    sent(page)
    assert now(dataset, "Ada") == {"d1": 2}


def test_double_clicks_held_keys_and_back_are_harmless(
    browser: Any, url: str, dataset: Path
) -> None:
    page = judging(browser, url)
    page.dblclick('[data-act="unsure"]')
    sent(page)
    assert len(given(dataset)) == 1
    ready(page)
    page.keyboard.down("u")
    page.keyboard.down("u")
    page.keyboard.down("u")
    page.keyboard.up("u")
    sent(page)
    assert len(given(dataset)) == 2
    page.goto(f"{url}/judge")
    page.go_back()
    ready(page)
    sent(page)
    assert len(given(dataset)) == 2


@pytest.mark.parametrize("where", ["q1?doc=d1", "q1/all"])
def test_after_a_double_click_on_a_grade_one_writes_the_reason(
    browser: Any, url: str, dataset: Path, where: str
) -> None:
    page = opened(browser, url, "Ada", [])
    page.goto(f"{url}/judge/set/{where}")
    if "doc" in where:
        ready(page)
    page.dblclick('.grade[data-grade="2"], li[data-doc=d1] .pick[data-grade="2"]')
    page.keyboard.type("Unusual but binding.")
    page.keyboard.press("Enter")
    sent(page)
    assert [(vote.grade, vote.rationale) for vote in given(dataset)] == [
        (2, "Unusual but binding.")
    ]


def test_skip_move_read_flag_and_help(browser: Any, url: str, dataset: Path) -> None:
    said: list[str] = []
    page = judging(browser, url, "q1?doc=d2", said)
    assert "onerror" in page.locator("#document").inner_text()
    assert page.locator("#document img").count() == 0
    first = shown(page)
    page.keyboard.press("s")
    assert shown(page) != first
    page.goto(f"{url}/judge/set/q1")
    ready(page)
    at = shown(page)
    page.keyboard.press("j")
    assert shown(page) != at
    page.keyboard.press("k")
    assert shown(page) == at
    page.goto(f"{url}/judge/set/q1?doc=d1")  # a short text is shown whole, without excerpts
    ready(page)
    assert page.locator("#document .law").inner_text() == TEXTS["d1"]
    assert page.locator(".tabs").count() == 0
    page.goto(f"{url}/judge/set/q1?doc=d2")
    ready(page)
    page.keyboard.press("f")
    assert page.locator('.tabs [aria-pressed="true"]').inner_text().startswith("Whole text")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("u")  # a key that does nothing here
    page.keyboard.press("Escape")
    page.keyboard.press("!")
    page.keyboard.type("too broad")
    page.keyboard.press("Enter")
    page.wait_for_selector("#flag[aria-pressed=true]")
    page.goto(f"{url}/judge/set")
    assert "too broad" in page.locator(".queries").inner_text()
    assert '"action":"vote"' not in log_path(dataset).read_text("utf-8")
    assert said == []


@pytest.mark.parametrize("size", [(1366, 650), (1280, 850), (390, 844)])
def test_the_button_and_the_chosen_grade_are_in_sight(
    browser: Any, url: str, size: tuple[int, int]
) -> None:
    """While one writes why; and the rubric does not stay over the grades."""
    page = opened(browser, url, "Ada", [])
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{url}/judge/set/q1?doc=d1")
    ready(page)
    page.locator('.grade[data-grade="1"]').click()
    for button in page.locator(".grade").all():  # all of them stay in sight
        expect(button).to_be_in_viewport(ratio=1)
        expect(button.locator("small")).to_be_visible(
            visible=size[0] > 1050 and (size[1] > 800 or button.get_attribute("data-grade") == "1")
        )
    page.keyboard.type("Two tickets.")
    saves = page.locator("#save:visible, #thumbsave:visible")
    expect(saves).to_have_count(1)
    for part in (saves, page.locator('.grade[aria-pressed="true"]')):
        expect(part).to_be_in_viewport(ratio=1)
    if size[0] > 1050:
        page.keyboard.press("Escape")
        page.keyboard.press("!")
        page.keyboard.type("too broad")
        page.keyboard.press("Enter")
        expect(page.locator("#state")).to_contain_text("A chair will see it")
        expect(page.locator(".grade").last).to_be_in_viewport(ratio=1)
        expect(page.locator(".grade").first).to_be_in_viewport(ratio=1)
        page.keyboard.press("?")
        expect(page.locator("#helptitle")).to_be_in_viewport(ratio=1)
        page.keyboard.press("Escape")
        for closing in ("Escape", "j"):
            page.keyboard.press("g")
            assert page.locator("#guide").evaluate("one => one.open")
            page.keyboard.press(closing)
            assert not page.locator("#guide").evaluate("one => one.open")
    else:  # under the thumb, before one has read to the end
        page.keyboard.press("Escape")
        for act in ("unsure", "undo", "guide"):
            expect(page.locator(f'.acts [data-act="{act}"]')).to_be_in_viewport(ratio=1)
        page.click('.acts [data-act="guide"]')
        page.click("#guide .shut")
        assert not page.locator("#guide").evaluate("one => one.open")
    width = "document.querySelector('header.top').getBoundingClientRect().width"
    assert size[0] > 1050 or page.evaluate(f"{width} - document.documentElement.clientWidth") == 0


def test_a_document_is_searched_for_and_added_by_keys(
    browser: Any, url: str, dataset: Path
) -> None:
    page = judging(browser, url, "q1")
    page.keyboard.press("/")
    page.keyboard.type("behested payments")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found button")
    page.keyboard.press("Enter")
    page.wait_for_url("**doc=d5")
    ready(page)
    assert shown(page) == "d5"


def test_past_grades_are_changed_in_the_list(browser: Any, url: str, dataset: Path) -> None:
    page = judging(browser, url)
    grade(page, "2", "the first reason")
    sent(page)
    page.keyboard.press("l")
    page.wait_for_url("**/all")
    page.click('li[data-doc="d1"] .pick[data-grade="1"]')
    sent(page)
    assert now(dataset, "Ada") == {"d1": 1}
    page.click('li[data-doc="d2"] .pick[data-grade="0"]')  # asks for the reason
    page.keyboard.type("a loan is none")
    page.keyboard.press("Enter")
    sent(page)
    assert now(dataset, "Ada") == {"d1": 1, "d2": 0}


def test_on_a_phone_a_reason_follows_the_grade_and_the_end_is_in_sight(
    browser: Any, url: str, dataset: Path, tmp_path: Path
) -> None:
    """Where a reason is wanted, a grade is saved at once and the reason is one tap away."""
    judged_set(tmp_path, both(*ASKED), judges=("Ada", "Ben"), rubric="relevance-1")
    page = opened(browser, url, "Ada", [], has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{url}/judge/set/q1?doc=d1")
    ready(page)
    page.tap('.grade[data-grade="1"]')
    expect(page.locator('[data-act="undo"]')).to_have_text(re.compile("Undo: grade 1"))
    page.get_by_role("button", name="Add a reason").tap()
    assert shown(page) == "d1"
    expect(page.locator("#why")).to_be_focused()
    page.locator("#why").fill("It limits tickets.")
    page.tap("#thumbsave")
    sent(page)
    assert [vote.rationale for vote in given(dataset)] == ["", "It limits tickets."]
    page.tap('[data-act="unsure"]')
    expect(page.locator(".given")).to_have_count(2)
    page.tap('.grade[data-grade="0"]')
    expect(page.locator("#done")).to_contain_text("Unsure: 1.")
    expect(page.locator("#onward")).to_be_in_viewport(ratio=1)
    unsure = next(doc for doc, held in now(dataset, "Ada").items() if held is None)
    page.locator("aside.list a").first.tap()
    page.get_by_role("link", name="1 unsure", exact=True).tap()
    page.locator("a.q").tap()
    ready(page)
    assert shown(page) == unsure, "one comes back to it"
