"""The page of a packet in a real browser, opened from disk: keys alone, nothing lost, nothing from
elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.formats.ballots import read_ballots
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.workbench.judging.packets import write_packet
from kit.browser import expect, faults

LONG = "Nothing to see in this sentence. " * 60
TEXTS = {
    "d1": "The gift limit covers tickets.",
    "d2": f"</script><img src=x onerror=alert(1)>\u0000\u202e gift {LONG}",
    "d3": f'<b>Tickets</b> & "gifts" <!-- {LONG}',
    "d4": "מתנה לעובד הציבור אסורה, ואין נפקא מינה מה שוויה.",
}
ASKED = [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q2", "d4")]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "set.json"
    queries = [{"id": "q1", "text": "gift limit tickets"}, {"id": "q2", "text": "מתנה לעובד ציבור"}]
    judged = [{**query, "type": "keyword", "judgments": []} for query in queries]
    head = {"version": "1", "created_at": "2026-01-01T00:00:00Z", "description": ""}
    about = {"rubric": "fppc-relevance-2", "taxonomy": {}}
    path.write_text(json.dumps({**head, **about, "queries": judged}))
    corpus = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()]
    corpus.write_text("".join(lines))
    pairs = tuple(PooledPair(query_id=query, doc_id=doc) for query, doc in ASKED)
    write_pool(path, Pool(corpus=str(corpus), pairs=pairs))
    return path


@pytest.fixture
def page(dataset: Path, tmp_path: Path, browser: Any) -> Iterator[Any]:
    write_packet(dataset, tmp_path / "packet.html", judge="ann", language="en")
    opened = browser.new_page(viewport={"width": 1280, "height": 800})
    said = faults(opened, "file:", dialogs=False)
    opened.goto((tmp_path / "packet.html").as_uri())
    yield opened
    assert said == []


def text_of(page: Any, selector: str) -> str:
    return str(page.locator(selector).inner_text())


def saved(page: Any, folder: Path) -> Path:
    with page.expect_download() as waited:
        page.keyboard.press("e")
    path = folder / waited.value.suggested_filename
    waited.value.save_as(path)
    return path


def judge_three(page: Any) -> None:
    press, type = page.keyboard.press, page.keyboard.type
    press("2")
    type("The limit on tickets is the query's point.")
    press("Enter")
    press("1")
    type("An older limit.")
    press("Enter")
    press("u")
    press("n")


def test_three_pairs_by_keyboard_alone(page: Any, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    judge_three(page)
    assert text_of(page, "#count") == "3 of 4 judged · 1 left"
    page.reload()
    assert asked == ["beforeunload"]
    assert text_of(page, "#count") == "3 of 4 judged · 1 left"
    assert "query 2 of 2" in text_of(page, "#about")
    path = saved(page, tmp_path)
    assert path.name == "packet-ann.votes.jsonl"
    ballots = read_ballots(path)
    told = [(row.query_id, row.doc_id, row.grade, row.rationale) for row in ballots.rows]
    assert told == [
        ("q1", "d1", 2, "The limit on tickets is the query's point."),
        ("q1", "d2", 1, "An older limit."),
        ("q1", "d3", None, ""),
    ]
    assert {row.judge for row in ballots.rows} == {"ann"}
    assert all(row.rubric.startswith("fppc-relevance-2@") for row in ballots.rows)
    assert all(row.document and row.at and row.seconds is not None for row in ballots.rows)
    page.reload()
    assert asked == ["beforeunload"]  # all that is judged is in the file


def test_a_grade_without_a_reason_is_kept_and_asked_for(page: Any, tmp_path: Path) -> None:
    page.keyboard.press("2")
    assert page.evaluate("document.activeElement.id") == "why"
    assert "Grade 2 is kept" in text_of(page, "#ask")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator(".grade[aria-pressed=true] b").inner_text() == "Highly relevant"
    assert text_of(page, "#count") == "0 of 4 judged · 4 left"
    path = saved(page, tmp_path)
    assert "Grades without a reason: 1." in text_of(page, "#status")
    assert read_ballots(path).rows[0].grade == 2


def test_a_saved_file_goes_on_elsewhere(page: Any, tmp_path: Path) -> None:
    judge_three(page)
    page.keyboard.press("r")
    page.keyboard.type("not graded yet")
    page.keyboard.press("Escape")
    path = saved(page, tmp_path)
    assert read_ballots(path).blank == 1
    other = page.context.browser.new_page()  # it has kept nothing
    other.goto(page.url)
    assert text_of(other, "#count") == "0 of 4 judged · 4 left"
    other.set_input_files("#file", path)
    expect(other.locator("#status")).to_have_text("Loaded votes: 4.")
    assert text_of(other, "#count") == "3 of 4 judged · 1 left"
    other.keyboard.press("n")
    assert other.input_value("#why") == "not graded yet"
    path.write_text(path.read_text()[:-40])
    other.set_input_files("#file", path)
    expect(other.locator("#status")).to_contain_text("Nothing was loaded")
    assert text_of(other, "#count") == "3 of 4 judged · 1 left"


def test_documents_are_text(page: Any) -> None:
    page.keyboard.press("j")
    page.keyboard.press("f")
    assert "<img src=x onerror=alert(1)>" in text_of(page, "#full")
    assert page.locator("#full img").count() == 0
    page.keyboard.press("j")
    page.keyboard.press("f")
    assert '<b>Tickets</b> & "gifts" <!--' in text_of(page, "#full")
    assert page.locator("#full mark").all_inner_texts() == ["Tickets", "gifts"]


def test_hebrew_reads_from_the_right_and_its_keyboard_works(page: Any) -> None:
    page.keyboard.press("ArrowLeft")
    assert "the first one" in text_of(page, "#status")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    directions = (
        "['query', 'full'].map(id => getComputedStyle(document.getElementById(id)).direction)"
    )
    assert page.evaluate(directions) == ["rtl", "rtl"]
    page.evaluate(
        "document.body.dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'ו', code: 'KeyU', bubbles: true}))"
    )
    assert page.locator(".grade[aria-pressed=true] b").inner_text() == "Unsure"


def test_the_page_speaks_the_language_of_its_queries(
    browser: Any, dataset: Path, tmp_path: Path
) -> None:
    write_packet(dataset, tmp_path / "he.html", judge="ann", queries=["q2"])
    page = browser.new_page()
    said = faults(page, "file:", dialogs=False)
    page.goto((tmp_path / "he.html").as_uri())
    assert page.evaluate("[document.dir, document.documentElement.lang]") == ["rtl", "he"]
    assert text_of(page, "#count") == "0 מתוך 1 נשפטו · נותרו 1"
    page.keyboard.press("2")
    assert text_of(page, "#ask") == "ציון 2 נשמר. עכשיו נמקו במשפט שנוקב בנקודה."
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert "שמירה לקובץ" in text_of(page, "#help")
    assert said == []


def test_time_stops_while_the_page_is_hidden(page: Any) -> None:
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    before = page.evaluate("votes[0].seconds")
    page.wait_for_timeout(1500)
    page.evaluate("tick()")
    assert page.evaluate("votes[0].seconds") == before > 0


@pytest.mark.parametrize("width", [360, 1000, 1600])
def test_it_fits_and_the_rubric_is_at_hand(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    if width < 1180:
        expect(page.locator("#rubric")).to_be_hidden()
        page.keyboard.press("g")
    expect(page.locator("#rubric")).to_be_visible()
    assert "Poor scan" in text_of(page, "#rubric")
    page.keyboard.press("0")  # keys grade while the rubric is open
    assert page.evaluate("votes[0].grade") == 0


def test_who_judges_is_asked_where_the_packet_does_not_say(
    page: Any, dataset: Path, tmp_path: Path
) -> None:
    write_packet(dataset, tmp_path / "anyone.html")
    page.goto((tmp_path / "anyone.html").as_uri())
    page.keyboard.press("u")
    page.keyboard.press("e")
    assert page.evaluate("document.activeElement.id") == "judge"
    page.keyboard.type("Dafna כהן")
    page.keyboard.press("Enter")
    path = saved(page, tmp_path)
    assert path.name == "packet-Dafna-כהן.votes.jsonl"
    assert read_ballots(path).rows[0].judge == "Dafna כהן"


def test_a_reason_that_is_too_long_is_said_and_stays(page: Any, tmp_path: Path) -> None:
    page.keyboard.press("2")
    page.fill("#why", LONG * 4)
    expect(page.locator("#ask")).to_contain_text("the limit is 4000")
    assert page.locator("#why").input_value() == LONG * 4
    page.fill("#why", "The limit on tickets is the query's point.")
    expect(page.locator("#ask")).to_be_hidden()
