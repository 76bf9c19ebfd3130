"""Every page for everybody: axe finds nothing serious, and what is printed can be read."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from assay.workbench.project.service import read_gold
from kit.browser import expect
from kit.corpora import made_once
from kit.pages import Team, Visitors, make_project, pages_of, team

WIDE, PHONE, PAPER = (1280, 900), (390, 844), (718, 1000)  # A4 less its margins is 718 wide
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with team(made_once(tmp_path_factory, "project", make_project)) as started:
        yield started


@pytest.fixture(scope="module")
def axe() -> str:
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("needs the package axe-playwright-python")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


WITH_SIZES = {"rules": {"target-size": {"enabled": True}}}  # of WCAG 2.2, which axe leaves out


def serious(page: Any, *rules: str) -> list[str]:
    """What axe finds on the page as it is now."""
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else WITH_SIZES
    found = page.evaluate(
        "options => axe.run(document, options).then(found => found.violations)",
        {"resultTypes": ["violations"], **only},
    )
    return [
        f"{page.url} {one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        for node in one["nodes"]
        if one["impact"] in SERIOUS
    ]


@pytest.mark.parametrize(
    ("language", "scheme", "sizes"), [("en", "light", (WIDE, PHONE)), ("he", "dark", (PHONE, WIDE))]
)
def test_axe_finds_nothing_serious(
    browser: Any,
    served: Team,
    axe: str,
    language: str,
    scheme: str,
    sizes: tuple[tuple[int, int], tuple[int, int]],
) -> None:
    """Every other page in each of the two languages, and there in both colours; on both screens
    nothing is wider than the screen, in either language."""
    phone = {"has_touch": True, "is_mobile": True} if sizes[0] == PHONE else {}
    people = Visitors(
        browser, served, sizes[0], locale=language, color_scheme=scheme, bypass_csp=True, **phone
    )
    other = "dark" if scheme == "light" else "light"
    found: list[str] = []
    for place, shown in enumerate(pages_of(served)):
        page = people.open(shown.who, shown.address)
        for size in reversed(sizes):  # ends as it began
            page.set_viewport_size({"width": size[0], "height": size[1]})
            wide = page.evaluate("document.documentElement.scrollWidth")
            found += [f"{page.url}: {wide} wide on a screen of {size[0]}"] if wide > size[0] else []
        if (place % 2 == 0) != (language == "en"):
            continue
        page.evaluate(axe)
        found += serious(page)
        page.emulate_media(color_scheme=other)
        found += serious(page, "color-contrast")
        page.emulate_media(color_scheme=scheme)
    assert not found, "\n".join(found)


def test_axe_on_what_opens(browser: Any, served: Team, axe: str) -> None:
    """The words that explain themselves, the dialogs and the reason of a judge, and a run that is
    started."""
    people = Visitors(browser, served, WIDE, locale="en", bypass_csp=True)
    found: list[str] = []

    def look(page: Any) -> None:
        page.evaluate(axe)
        found.extend(serious(page))

    page = people.open("admin", "/")
    page.locator("button.term").first.click()
    expect(page.locator(".word:popover-open")).to_be_visible()
    look(page)
    query = read_gold(served.service, served.gold).queries[0].id
    page = people.open("admin", f"/judge/{served.gold}/{query}")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    look(page)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.fill("#look", "gift")
    page.keyboard.press("Enter")
    expect(page.locator("#found button").first).to_be_visible()
    look(page)
    page.keyboard.press("Escape")
    expect(page.locator("#add")).to_be_hidden()
    page.keyboard.press("1")
    page.keyboard.press("Enter")  # without a reason
    expect(page.locator("#why")).to_have_attribute("aria-invalid", "true")
    look(page)
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    expect(page.locator("#guide")).to_have_attribute("open", "")
    look(page)
    page = people.open("admin", "/runs")
    page.select_option('select[name="engine"]', "words")
    page.click("#start button")
    page.wait_for_selector("[data-job]")
    look(page)
    page.wait_for_selector('[data-state="done"]', timeout=60_000)
    look(page)
    assert not found, "\n".join(found)


def test_axe_finds_what_is_wrong(browser: Any, axe: str) -> None:
    """That it finds nothing says something."""
    page = browser.new_page()
    page.set_content('<p style="color: #999; background: #fff">pale</p><input><img src="data:,">')
    page.evaluate(axe)
    assert {line.split()[1] for line in serious(page)} >= {"color-contrast:", "label:"}


def test_on_paper_nothing_is_dark_cut_or_navigation(browser: Any, served: Team) -> None:
    """Also for somebody who reads in the dark, in either direction."""
    people = Visitors(browser, served, PAPER, color_scheme="dark", locale="he")
    wrong: list[str] = []
    for shown in pages_of(served):
        page = people.open(shown.who, shown.address)
        page.emulate_media(media="print")
        told = page.evaluate(PRINTED)
        page.emulate_media(media="screen")
        wrong += [f"{shown.address}: {what}" for what in told]
    assert not wrong, "\n".join(wrong)


# what is wrong with a page as it is printed: colours that need ink, what is wider than the paper,
# what is to be scrolled or pressed
PRINTED = """() => {
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  const light = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const bright = ([r, g, b, a = 1]) => a === 0 ? 1 : (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const wrong = [];
  if (bright(light(getComputedStyle(document.body).backgroundColor)) < 0.99) wrong.push("dark");
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the paper");
  for (const one of document.querySelectorAll("body *")) {
    if (!seen(one) || one.closest("svg")) continue;
    const style = getComputedStyle(one), name = `${one.tagName}.${one.className}`;
    const pressed = ":not(th) > button:not(.pick, .term)";
    if (one.matches(`nav, header.top, kbd, select, ${pressed}`)) wrong.push(name);
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (own && bright(light(style.color)) > 0.55) wrong.push(`pale: ${name}`);
    if (bright(light(style.backgroundColor)) < 0.5) wrong.push(`dark: ${name}`);
    const cut = one.scrollWidth > one.clientWidth + 1 && style.overflowX !== "visible";
    if (own && cut && style.display !== "inline") wrong.push(`cut: ${name}`);
  }
  return [...new Set(wrong)];
}"""


def test_a_document_and_a_comparison_as_a_pdf(browser: Any, served: Team) -> None:
    """The words are on the paper, and those of the frame are not."""
    pdfium = pytest.importorskip("pypdfium2", reason="needs the package pypdfium2")
    people = Visitors(browser, served, PAPER, locale="en", color_scheme="dark")
    for shown in pages_of(served):
        if shown.route not in ("/doc/{corpus}/{id:path}", "/compare") or "none" in shown.address:
            continue
        page = people.open(shown.who, shown.address)
        said = page.locator("main h1").inner_text()
        frame = page.locator("header.top").inner_text()
        document = pdfium.PdfDocument(page.pdf(format="A4"))
        text = " ".join(sheet.get_textpage().get_text_range() for sheet in document)
        assert " ".join(said.split()) in " ".join(text.split())
        assert "Ada · admin" in frame
        assert "Ada · admin" not in text
