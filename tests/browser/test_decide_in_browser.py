"""Deciding in a real browser: start a run, watch it, compare, and see the gate turn from
inconclusive to pass when the documents are judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.judging.pool import Pool, PooledPair, write_pool
from assay.store import Store
from assay.web.app import create_app
from assay.workbench.project.service import Service
from kit.browser import expect, faults, given, listening
from kit.runs import WORDS, graded_set, served

TOML = """[gold.set]
path = "set.json"
[engines.plain]
engine = "bm25"
corpus = "c.jsonl"
[engines."מנוע"]
engine = "bm25"
corpus = "c.jsonl"
[[gates]]
measure = "nDCG@10"
minimum = 0.05
min_judged = 0.9
"""


@pytest.fixture
def service(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"d{n}", "text": f"{' '.join(WORDS)} היטל so {n}"} for n in range(10)]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "c.jsonl").write_text(text)
    made = served(store, tmp_path, graded_set(tmp_path, judged=4), TOML)
    return Service(
        store=made.store,
        gold_sets=made.gold_sets,
        config=made.config,
        home=made.home,
        clock=lambda: datetime.now(UTC),
    )


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    with listening(lambda port: create_app(service)) as address:
        yield address


@pytest.fixture
def page(url: str, browser: Any) -> Iterator[Any]:
    opened = browser.new_context(locale="en").new_page()
    said = faults(opened, url)
    opened.goto(f"{url}/me")
    opened.fill('input[name="name"]', "Dafna")
    opened.keyboard.press("Enter")
    opened.wait_for_url(f"{url}/")
    yield opened
    assert said == []


def start(page: Any, url: str, engine: str) -> None:
    page.goto(f"{url}/runs")
    page.select_option('select[name="engine"]', engine)
    page.click("#start button")
    page.wait_for_url(re.compile(r"/runs/jobs/"))
    page.wait_for_selector('[data-state="done"]', timeout=60_000)


def test_from_a_run_to_a_verdict(page: Any, url: str, tmp_path: Path) -> None:
    assert "no gold set has been scored yet" in page.inner_text("h1")
    start(page, url, "plain")
    page.click("text=See the result")
    assert "Inconclusive" in page.inner_text("h1")
    page.goto(url)
    assert "Not enough judgments to decide on plain." in page.inner_text("h1")

    graded_set(tmp_path, judged=10)  # the judges have judged the rest
    start(page, url, "מנוע")
    page.click("text=Compare with plain")
    page.wait_for_url(re.compile(r"/compare\?"))
    assert page.inner_text(".next h2") == "May מנוע ship? Yes: every gate passes"
    assert "The gold set has changed since" in page.inner_text(".answer .note")
    page.goto(f"{url}/compare?{page.url.partition('?')[2]}")

    start(page, url, "plain")
    page.click("text=Compare with מנוע")
    page.wait_for_url(re.compile(r"/compare\?"))
    assert page.inner_text(".next h2") == "May plain ship? Yes: every gate passes"
    assert "has changed since" not in page.inner_text(".answer")
    assert "are level" in page.inner_text("h1")
    page.goto(url)
    assert "may ship" in page.inner_text("h1")

    pair = page.evaluate(
        "fetch('/api/runs').then((a) => a.json()).then((r) => r.page.items.map((i) => i.id))"
    )
    page.goto(f"{url}/compare/query?a={pair[1]}&b={pair[0]}&query=q0")
    assert page.locator(".hit").count() > 2
    page.keyboard.press("j")
    page.wait_for_url(re.compile("query=q1"))
    page.keyboard.press("k")
    page.wait_for_url(re.compile("query=q0"))
    grade_beside_the_ranks(page, tmp_path / "set.json")


def grade_beside_the_ranks(page: Any, dataset: Path) -> None:
    write_pool(dataset, Pool(pairs=(PooledPair(query_id="q0", doc_id="d0"),)))
    hits = page.locator('.hit[data-doc="d0"]')
    hits.first.locator(".togrades").click()
    hits.first.locator(".pick", has_text="2").click()
    page.keyboard.type("It decides the point.")
    page.keyboard.press("Enter")
    expect(hits.locator(".togrades")).to_have_text(["Your grade: 2"] * 2)
    (vote,) = [each for each in given(dataset) if each.judge == "Dafna"]
    assert (vote.query_id, vote.doc_id, vote.grade) == ("q0", "d0", 2)


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("lang", ["en", "fi", "he"])
def test_nothing_is_wider_than_the_screen(page: Any, url: str, lang: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for path in ("/", "/runs", "/compare"):
        page.goto(f"{url}{path}?lang={lang}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        cut = "box => box.scrollWidth > box.clientWidth + 1"
        for box in page.locator(".scroll:has(> .spread), header.top nav").all():
            assert not box.evaluate(cut), path
