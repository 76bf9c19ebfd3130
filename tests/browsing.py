"""A real server and a real Chromium. A test module that imports this is skipped where there is no
Chromium; `browser` is a fixture of tests/browser."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.types import ASGIApp

playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
# The shell is the same engine without the pages of the browser itself, a third of a core less.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("needs Debian's package chromium", allow_module_level=True)

expect = playwright.expect
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
