"""The review page in a real browser: keys, both directions, nothing from elsewhere."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.store import Store
from assay.store.records import Decision, SearchLog, Shown
from assay.web.app import create_app
from assay.workbench.backlog import backlog
from assay.workbench.gold import bootstrap_gold, promote_rows
from assay.workbench.opening import Service, gold_path
from assay.workbench.review import queue

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("needs Debian's package chromium", allow_module_level=True)

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    for n, query in enumerate(["היטל השבחה", "materiality", "third"]):
        shown = (Shown("a", 1), Shown("b", 2))
        store.add_searches([SearchLog(id=f"l{n}", at=NOW, query=query, corpus="c", results=shown)])
    store.add_decisions([Decision(id="D", at=NOW + timedelta(days=1), cites=("a", "b"))])
    gold = tmp_path / "gold-set.jsonl"
    made = Service(store=store, gold_sets={"gold-set": gold}, home=tmp_path)
    bootstrap_gold(made, gold)
    return made


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    import uvicorn

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture
def page(url: str) -> Iterator[Any]:
    """A Hebrew browser in the dark. A message on its console, or a request to elsewhere, fails the
    test."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        opened = browser.new_context(
            locale="he-IL", color_scheme="dark", viewport={"width": 900, "height": 800}
        ).new_page()
        said: list[str] = []
        # The browser also notes what was refused; that is no fault of the page.
        opened.on(
            "console",
            lambda message: said.append(message.text) if " 400 " not in message.text else None,
        )
        opened.on(
            "request",
            lambda request: (
                None if request.url.startswith((url, "data:")) else said.append(request.url)
            ),
        )
        opened.goto(f"{url}/review")
        opened.fill("input[name=name]", "דפנה")
        opened.press("input[name=name]", "Enter")
        opened.wait_for_url("**/review")
        yield opened
        browser.close()
    assert said == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("language", ["he", "en", "fi"])
def test_the_pages_fit_and_speak_the_language(
    page: Any, url: str, width: int, language: str
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for path in ("/", "/review"):
        page.goto(f"{url}{path}?lang={language}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        assert page.evaluate("document.dir") == ("rtl" if language == "he" else "ltr")
    page.goto(f"{url}/")
    said = {
        "he": "זמנית (bootstrap בלבד)",
        "en": "provisional (bootstrap-only)",
        "fi": "alustava (vain bootstrap)",
    }
    playwright.expect(page.locator(".badge")).to_have_text(said[language])
    playwright.expect(page.locator("dl")).not_to_contain_text(
        "reviewed" if language != "en" else "סקר"
    )


def test_enter_after_a_reason_decides_nothing(page: Any, service: Service) -> None:
    page.fill("input[name=why]", "not relevant")
    page.press("input[name=why]", "Enter")
    page.wait_for_timeout(200)
    assert page.locator("main button:visible").count() == 2
    assert backlog(service).pending_review == 3
    page.click("button.reject")
    playwright.expect(page.locator(".undo")).to_be_visible()
    assert backlog(service).rejected == 1


def test_an_expert_at_the_keyboard(page: Any, service: Service) -> None:
    expect = playwright.expect
    assert page.evaluate("document.dir") == "rtl"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    page.keyboard.press("2")
    expect(page.locator(".changed")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator(".plain")).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(".place")).to_contain_text("1 מתוך 2")
    page.wait_for_load_state()  # keys are heard once the page's script has run
    assert [(entry.action, entry.by) for entry in service.store.audit()] == [
        ("review.approved", "דפנה")
    ]
    page.keyboard.press("r")
    assert page.evaluate("document.activeElement.name") == "why", "a rejection needs a reason"
    page.keyboard.type("no")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator(".undo")).to_be_visible()
    page.wait_for_load_state()
    assert backlog(service).rejected == 1
    page.keyboard.press("u")
    expect(page.locator(".undo")).to_have_count(0)
    page.wait_for_load_state()
    assert backlog(service).rejected == 0
    page.keyboard.press("j")
    page.wait_for_url("**/review?at=1")
    page.wait_for_load_state()
    page.keyboard.press("k")
    page.wait_for_url("**/review?at=0")


def test_what_is_typed_is_there_again(page: Any, url: str, service: Service) -> None:
    """After another page, after a refusal, after another expert was first; and not on the next
    item."""
    expect, why = playwright.expect, page.locator("[name=why]")
    page.fill("input[name=why]", "שני עמודים של נימוקים")
    page.uncheck("input[name=doc][value=a]")
    page.click("a[lang=fi]")
    expect(why).to_have_value("שני עמודים של נימוקים")
    expect(page.locator("input[name=doc][value=a]")).not_to_be_checked()
    page.uncheck("input[name=doc][value=b]")
    page.click("button.approve")
    expect(page.locator(".said")).to_contain_text("Yhtään asiakirjaa ei jäisi")
    expect(why).to_have_value("שני עמודים של נימוקים")
    item = queue(service).items[0]
    promote_rows(service, gold_path(service, "gold-set"), [item.ref], by="משה")
    page.click("button.approve")
    expect(page.locator(".said")).to_contain_text("jo ratkaistu (משה)")
    expect(why).to_have_value("שני עמודים של נימוקים")
    page.click("text=Jatka")
    expect(why).to_have_value("")
    expect(page.locator("input[name=doc][value=a]")).to_be_checked()
    assert page.evaluate("Object.keys(sessionStorage)") == ["submitted"]
