"""A team is made in a real browser, by keyboard: the first admin, a chair who invites a judge, a
judge who leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.store import open_store
from assay.web.app import Serving, prepare
from assay.workbench.project.service import Service
from kit.browser import expect, listening
from kit.server import PASSWORD


@pytest.fixture
def way_in(tmp_path: Path) -> Iterator[str]:
    """A server for a team, and the link that its terminal shows."""
    store, links = open_store(tmp_path / "store.db"), list[str]()

    def application(port: int) -> Any:
        service = Service(store=store, home=tmp_path)
        app, link = prepare(service, Serving(accounts=True, port=port))
        links.append(link)
        return app

    with listening(application):
        yield links[0]
    store.close()


def person(browser: Any, said: list[str], **options: Any) -> Any:
    """Somebody at a browser of their own; what its console says is a fault."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
    page.on("console", lambda message: None if " 40" in message.text else said.append(message.text))
    return page


def join(page: Any, link: str, name: str = "") -> None:
    """By keyboard: the first field that is to be filled has the focus."""
    page.goto(link)
    expect(page.locator("input:focus")).to_be_visible()
    if name:
        page.keyboard.type(name)
        page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "/invite/" not in address)


def invite(page: Any, base: str, name: str, role: str) -> str:
    page.goto(f"{base}/people")
    page.get_by_label("Name", exact=True).first.focus()
    page.keyboard.type(name)
    page.locator(f"input[name=role][value={role}]").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    return str(page.input_value("#made"))


def test_a_team_from_nothing(browser: Any, way_in: str) -> None:
    said = list[str]()
    base = way_in.partition("/invite/")[0]
    admin = person(browser, said)
    join(admin, way_in, "Ada")
    expect(admin.locator(".who")).to_have_text("Ada · admin")
    chair = person(browser, said)
    join(chair, invite(admin, base, "Päivi", "chair"))
    link = invite(chair, base, "דנה <b>", "judge")
    assert chair.locator("input[name=role][value=admin]").count() == 0
    judge = person(browser, said, locale="he-IL", color_scheme="dark")
    join(judge, link)
    assert judge.evaluate("document.dir") == "rtl"
    expect(judge.locator(".who bdi")).to_have_text("דנה <b>")
    expect(judge.locator("header nav").first).not_to_contain_text("אנשים")
    admin.goto(f"{base}/people")
    row = admin.locator("tr", has_text="דנה")
    row.locator("summary").focus()
    admin.keyboard.press("Enter")
    row.locator("[name=why]").focus()
    admin.keyboard.type("moved")
    admin.keyboard.press("Enter")
    expect(admin.locator("tr.left")).to_contain_text("has left")
    judge.goto(f"{base}/me")
    expect(judge.locator("h1")).to_have_text("כניסה")
    chair.goto(f"{base}/people/history")
    expect(chair.locator("tbody tr").first).to_contain_text("Access removed")
    assert said == []


@pytest.mark.parametrize("language", ["en", "fi", "he"])
def test_the_pages_fit_a_phone(browser: Any, way_in: str, language: str) -> None:
    said: list[str] = []
    base = way_in.partition("/invite/")[0]
    page = person(browser, said)
    join(page, way_in, "Ada")
    invite(page, base, "a name that is rather long, as names of people sometimes are", "judge")
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/people", "/people/history", "/me", "/api/docs", "/sign-in"):
        page.goto(f"{base}{path}?lang={language}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0, path
        unnamed = page.evaluate(
            """[...document.querySelectorAll("main :is(input:not([type=hidden]), select, button)")]
            .filter((one) => !one.closest("[aria-hidden]"))
            .filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim()))
            .length"""
        )
        assert unnamed == 0, f"{path}: a control without a name"
    assert said == []
