"""A lawyer reads an answer beside its sources, and judges it by keys alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.types import Vote
from kit.answers import answer_set, claims, query_of
from kit.browser import expect, given, opened, ready, sent


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return answer_set(tmp_path)


def reading(browser: Any, url: str, dataset: Path, name: str, said: list[str]) -> Any:
    page = opened(browser, url, "Ada", said)
    page.goto(f"{url}/judge/set/{query_of(claims(dataset)[name][0])}")
    ready(page)
    return page


def test_findings_come_first_and_are_stepped_through(browser: Any, url: str, dataset: Path) -> None:
    said: list[str] = []
    page = reading(browser, url, dataset, "first", said)
    faults = page.locator(".fault .tag").all_inner_texts()
    assert faults == ["Altered quotation", "Does not exist"]
    expect(page.locator(".answer-text .tag")).to_have_text(
        ["Altered quotation", "Found", "Found", "Does not exist"]
    )
    page.keyboard.press("v")  # the last one has no source: nothing to grade
    expect(page.locator("#document")).to_contain_text("There is nothing to judge")
    expect(page.locator(".grades")).to_be_hidden()
    page.keyboard.press("2")
    page.keyboard.press("v")
    expect(page.locator("#document blockquote")).to_contain_text("The fee is 40 euros")
    expect(page.locator(".grades")).to_be_visible()
    page.keyboard.press("c")
    expect(page.locator("#document")).to_contain_text("There is nothing to judge")
    page.locator(".fault").first.click()
    expect(page.locator("#document .diff del")).to_contain_text("twenty")
    assert given(dataset) == [], "what is shown of a finding is not graded"
    assert not said


def test_an_answer_is_judged_by_keys(browser: Any, url: str, dataset: Path) -> None:
    said: list[str] = []
    page = reading(browser, url, dataset, "second", said)
    expect(page.locator(".sentence.cur")).to_contain_text("The fee is 40 euros")
    page.keyboard.press("r")
    page.keyboard.type("The source says 40 euros.")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    for grade in "210":  # the nuggets
        expect(page.locator("#document .ask-claim")).to_contain_text("Does the answer make")
        page.keyboard.press(grade)
        page.wait_for_timeout(100)
    expect(page.locator("#document .ask-claim")).to_have_text("Is the answer correct?")
    expect(page.locator(".grade:visible b")).to_have_text(["Yes", "No"])
    page.keyboard.press("2")
    expect(page.locator("#document .ask-claim")).to_have_text(
        "Is the answer grounded in its sources?"
    )
    page.keyboard.press("0")
    expect(page.locator("#donetext")).to_contain_text("every claim of this answer")
    sent(page)
    votes = {vote.doc_id: vote for vote in given(dataset)}
    listed: list[Vote] = [votes[claim.id] for claim in claims(dataset)["second"]]
    assert [vote.grade for vote in listed] == [2, 2, 1, 0, 2, 0]
    assert listed[0].rationale == "The source says 40 euros."
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: query_of(claims(dataset)["first"][0]) in address)
    assert not said
