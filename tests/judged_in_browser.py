"""What tests of the judging page do in a browser, and what they find on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.core.types import Vote
from assay.judging.votes import current, read_votes


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


def ready(page: Any) -> None:
    page.wait_for_selector("#document[aria-busy=false]")


def sent(page: Any) -> None:
    until(page, "votes.waiting().length === 0")


def until(page: Any, holds: str) -> None:
    """The page allows no code from texts, and so no waiting for them in it."""
    for _ in range(200):
        if page.evaluate(holds):
            return
        page.wait_for_timeout(25)
    raise AssertionError(holds)


def now(dataset: Path, judge: str) -> dict[str, int | None]:
    votes = current(read_votes(dataset))
    return {vote.doc_id: vote.grade for vote in votes if vote.judge == judge}


def given(dataset: Path) -> list[Vote]:
    return read_votes(dataset)


def shown(page: Any) -> str:
    return str(page.locator(".doc.cur").get_attribute("data-doc"))
