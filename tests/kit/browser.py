"""A real server, a real Chromium, and the acts of a judge on the judging page. A test module that
imports this is skipped where there is no Chromium; `browser` is a fixture of tests/browser."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from assay.core.types import Vote
from assay.gold.votes import current_votes
from assay.judging.votes import read_votes
from assay.web.app import create_app
from assay.workbench.project.service import Service

playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
# The shell is the same engine without the pages of the browser itself, a third of a core less.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("needs Debian's package chromium", allow_module_level=True)

expect = playwright.expect
expect.set_options(timeout=30_000)  # as all else in Playwright; a busy machine takes its time
QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
    "--disable-software-rasterizer",
]


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@contextlib.contextmanager
def listening(make: Callable[[int], ASGIApp]) -> Iterator[str]:
    """The address of an application that is told its port. The socket listens before the server
    runs, so that nobody else takes the port and no request comes too early."""
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(make(port), log_level="error"))
        thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(10)


def faults(page: Any, base: str, *, refused: bool = False, dialogs: bool = True) -> list[str]:
    """What a page does and must not: messages on its console, errors, alerts, requests to
    elsewhere. A list that fills up. `refused`: answers such as 400, which Chromium notes on the
    console, are no fault of the page."""
    said: list[str] = []

    def heard(text: str) -> None:
        if not (refused and "status of 4" in text):
            said.append(text)

    def asked(dialog: Any) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: heard(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    ours = (base, "data:", "blob:")
    page.on("request", lambda sent: None if sent.url.startswith(ours) else said.append(sent.url))
    if dialogs:
        page.on("dialog", asked)
    return said


# ── the judging page ──────────────────────────────────────────────────────────────────────────────


def opened(browser: Any, url: str, name: str, said: list[str], **options: Any) -> Any:
    """A page of somebody with this name. An alert or an error of a script is said."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}, **options).new_page()
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(f"{url}/me")
    page.fill("input[name=name]", name)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: not address.endswith("/me"))
    return page


def judging(browser: Any, url: str, where: str = "q1?doc=d1", said: list[str] | None = None) -> Any:
    """The judging page of Ada, with the document to judge on it."""
    page = opened(browser, url, "Ada", said if said is not None else [])
    page.goto(f"{url}/judge/set/{where}")
    ready(page)
    return page


def two_tabs(browser: Any, url: str) -> tuple[Any, Any]:
    """Two tabs of Ada's browser on the same document."""
    one = opened(browser, url, "Ada", [])
    two = one.context.new_page()
    for tab in (one, two):
        tab.goto(f"{url}/judge/set/q1?doc=d1")
        ready(tab)
    return one, two


def grade(page: Any, key: str, reason: str) -> None:
    """Grade the document by keys alone: a digit, a sentence, Enter."""
    page.keyboard.press(key)
    page.keyboard.type(reason)
    page.keyboard.press("Enter")


@contextlib.contextmanager
def served_set(store: Any, dataset: Path) -> Iterator[str]:
    """The address of a server on one graded set, called `set`."""
    service = Service(store=store, gold_sets={"set": dataset}, home=dataset.parent)
    with listening(lambda port: create_app(service)) as address:
        yield address


def ready(page: Any) -> None:
    page.wait_for_selector("#document[aria-busy=false]")


def sent(page: Any) -> None:
    until(page, "votes.waiting().length === 0")


def until(page: Any, holds: str) -> None:
    """The page allows no code from texts, and so no waiting for them in it."""
    limit = time.monotonic() + 30
    while not page.evaluate(holds):
        assert time.monotonic() < limit, holds
        page.wait_for_timeout(25)


def now(dataset: Path, judge: str) -> dict[str, int | None]:
    votes = current_votes(read_votes(dataset))
    return {vote.doc_id: vote.grade for vote in votes if vote.judge == judge}


def given(dataset: Path) -> list[Vote]:
    return read_votes(dataset)


def shown(page: Any) -> str:
    return str(page.locator(".doc.cur").get_attribute("data-doc"))
