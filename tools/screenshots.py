"""Every page of the workbench, on the sample project, as pictures in docs/screenshots/.

    python tools/screenshots.py [PAGE …] [--into docs/screenshots] [--project FOLDER]

Light and dark, wide and phone, English and Hebrew; some in Finnish. The day is always the same, so
that a picture changes when its page does. Needs Playwright, Debian's chromium and Pillow."""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from PIL import Image
from playwright.sync_api import sync_playwright

from assay.web.access import Access
from assay.web.app import create_app
from assay.workbench.judging import page as grading
from assay.workbench.judging import rulings
from assay.workbench.project import people
from assay.workbench.project.demo import ENGLISH, FINNISH, HEBREW, inside, prepare
from assay.workbench.project.service import Service, gold_path, open_service
from assay.workbench.review.queue import pending_items

DAY = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
PASSWORD = "correct horse battery"
CHAIR, JUDGE = "Dora Salo", "Ada Lindqvist"
OTHERS = (("Ben Okafor", "judge"), ("Mikael Berg", "reader"))
SIZES = {"wide": (1280, 860), "phone": (390, 844)}
TALLEST = {"wide": 1200, "phone": 1400}  # the rest of a longer page is cut
COLOURS = 64  # a page has few, and a picture of few is small
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-background-networking", "--no-first-run", "--disable-sync"]
CORPORA = {"en": ENGLISH, "he": HEBREW, "fi": FINNISH}
QUESTIONS = {
    "en": "May a mayor accept concert tickets from a lobbyist?",
    "he": "מי זכאי לפטור מהיטל השבחה?",
    "fi": "Miten saaristokunta määritellään?",
}
IN_FINNISH = ("home", "search", "doc", "judge", "agreement", "runs", "compare")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A page, who opens it, and what they press before the picture is taken."""

    name: str
    path: str
    by: str = CHAIR  # nobody where it is empty
    keys: tuple[str, ...] = ()


# ── what is there to see ──────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def served(project: Path) -> Iterator[tuple[str, Service]]:
    """The sample project on that day, with accounts, in this process."""
    import uvicorn

    prepare(project, now=DAY)
    with inside(project), open_service() as opened:
        service = replace(opened, clock=lambda: DAY)
        app = create_app(
            service, access=Access(accounts=True, secret=people.server_secret(service))
        )
        with socket.create_server(("127.0.0.1", 0)) as taken:
            server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
            thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
            thread.start()
            yield f"http://127.0.0.1:{taken.getsockname()[1]}", service
            server.should_exit = True
            thread.join(10)


def join(service: Service) -> str:
    """Everybody of the sample joins; returns the link of one who has not yet."""
    first = people.first_link(service)
    if first is not None:
        people.accept(service, first.token, name=CHAIR, password=PASSWORD)
    chair = people.Actor(CHAIR, "admin")
    known = {account.name for account in service.store.accounts()}
    for name, role in ((JUDGE, "judge"), *OTHERS):
        if name not in known:
            link = people.invite(service, name, role, by=chair)  # type: ignore[arg-type]
            people.accept(service, link.token, name=name, password=PASSWORD)
    if not service.store.service_keys():
        people.make_key(service, "search-service", "log", by=chair)
    return people.invite(service, "Yael Mizrahi", "judge", by=chair).token


def pictures(service: Service, language: str, invitation: str) -> list[Picture]:
    corpus, question = CORPORA[language], QUESTIONS[language]
    asked = urlencode({"corpus": corpus, "q": question})
    unknown = urlencode({"corpus": corpus, "q": "zebra"})
    opinion = {"en": "A-19-112", "he": "97e3c2f3-54fe-5d7d-973a-226108bbd501"}.get(language, "")
    opinion = opinion or service_ids(service, corpus)[3]
    queries = [row for row in grading.set_to_judge(service, "opinions", JUDGE).queries if row.asked]
    query = next((row.id for row in queries if 0 < row.judged < row.asked), queries[0].id)
    dispute = rulings.open_disputes(gold_path(service, "opinions"), service.home)[0]
    runs = [run for run in service.store.runs(limit=50) if run.gold == "opinions"]
    newest = {run.engine: run.id for run in reversed(runs)}
    two = urlencode({"a": newest["bm25"], "b": newest["assay"]})
    items = pending_items(service)
    row = next(item.id for item in items if item.kind != "judgment")
    suggestion = next(item.id for item in items if item.kind == "judgment")
    ruled = f"{quote(dispute.query_id)}?{urlencode({'doc': dispute.doc_id})}"
    return [
        Picture(name="home", path="/"),
        Picture(name="search", path=f"/search?{asked}"),
        Picture(name="search-empty", path="/search"),
        Picture(name="search-refused", path=f"/search?{unknown}"),
        Picture(name="doc", path=f"/doc/{corpus}/{quote(opinion)}?{urlencode({'q': question})}"),
        Picture(name="judge-sets", path="/judge", by=JUDGE),
        Picture(name="judge-set", path="/judge/opinions", by=JUDGE),
        Picture(name="judge", path=f"/judge/opinions/{query}", by=JUDGE),
        Picture(name="judge-keys", path=f"/judge/opinions/{query}", by=JUDGE, keys=("?",)),
        Picture(name="judge-all", path=f"/judge/opinions/{query}/all", by=JUDGE),
        Picture(name="agreement-sets", path="/agreement"),
        Picture(name="agreement", path="/agreement/opinions"),
        Picture(name="agreement-rule", path=f"/agreement/opinions/{ruled}"),
        Picture(name="review", path="/review"),
        Picture(name="review-row", path=f"/review/{row}"),
        Picture(name="review-suggestion", path=f"/review/{suggestion}"),
        Picture(name="review-bulk", path="/review/bulk"),
        Picture(name="runs", path="/runs"),
        Picture(name="run", path=f"/runs/{newest['assay']}"),
        Picture(name="compare-choose", path="/compare"),
        Picture(name="compare", path=f"/compare?{two}"),
        Picture(name="rankings", path=f"/compare/query?{two}&query={quote(dispute.query_id)}"),
        Picture(name="people", path="/people"),
        Picture(name="people-history", path="/people/history"),
        Picture(name="me", path="/me"),
        Picture(name="sign-in", path="/sign-in", by=""),
        Picture(name="invitation", path=f"/invite/{invitation}", by=""),
        Picture(name="not-found", path="/nothing-here"),
        Picture(name="api", path="/api/docs"),
    ]


def service_ids(service: Service, corpus: str) -> list[str]:
    from assay.workbench.searching.corpora import corpus_named

    return sorted(corpus_named(corpus, service.home).ids)


# ── taking them ───────────────────────────────────────────────────────────────────────────────────


def sign_in(context: Any, address: str, name: str) -> Any:
    page = context.new_page()
    page.clock.set_fixed_time(DAY)
    if name:
        page.goto(f"{address}/sign-in")
        page.fill("[name=name]", name)
        page.fill("[name=password]", PASSWORD)
        page.click("main button")
        page.wait_for_url(lambda url: "sign-in" not in url)
    return page


def take(page: Any, picture: Picture, address: str, language: str, size: str) -> bytes:
    parted = "&" if "?" in picture.path else "?"
    page.goto(f"{address}{picture.path}{parted}lang={language}", wait_until="networkidle")
    for key in picture.keys:
        page.keyboard.press(key)
    page.wait_for_timeout(150)
    width, height = SIZES[size]
    reach = page.evaluate("document.documentElement.scrollHeight")
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        sys.stdout.write(f"  {picture.name} {language} {size}: {wide - width} pixels too wide\n")
    page.set_viewport_size({"width": width, "height": min(max(reach, height), TALLEST[size])})
    page.wait_for_timeout(50)
    taken: bytes = page.screenshot(animations="disabled", caret="hide")
    page.set_viewport_size({"width": width, "height": height})
    return taken


def palette_of(picture: Image.Image) -> Image.Image:
    """The commonest colours as they are, and the rare ones, such as a grade's, about."""
    counted = picture.getcolors(picture.width * picture.height) or []
    common = [colour for _, colour in sorted(counted, reverse=True)[: COLOURS // 2]]
    rare = picture.quantize(COLOURS // 2, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    flat = [part for colour in common for part in colour] + rare[: 3 * COLOURS // 2]
    palette.putpalette(flat + flat[:3] * (256 - len(flat) // 3))
    return palette


def keep(taken: bytes, path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    few = picture.quantize(palette=palette_of(picture), dither=Image.Dither.NONE)
    few.convert("RGB").save(path, "WEBP", lossless=True, quality=75, method=4)
    return path.stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="only these")
    parser.add_argument("--into", type=Path, default=Path("docs/screenshots"))
    parser.add_argument("--project", type=Path, help="keep the sample project here")
    parser.add_argument("--only", default="", help="a part of the name, such as en-wide-light")
    given = parser.parse_args()
    into, begun = given.into.resolve(), time.monotonic()
    if not given.pages and not given.only:
        shutil.rmtree(into, ignore_errors=True)
    total = number = 0
    with contextlib.ExitStack() as stack:
        project = given.project or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "demo"
        address, service = stack.enter_context(served(project.resolve()))
        invitation = join(service)
        started = stack.enter_context(sync_playwright())
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for language, size, scheme in product(("en", "he", "fi"), SIZES, ("light", "dark")):
            variant = f"{language}-{size}-{scheme}"
            if given.only not in variant or (language == "fi" and scheme == "dark"):
                continue
            width, height = SIZES[size]
            opened: dict[str, Any] = {}
            for picture in pictures(service, language, invitation):
                if given.pages and picture.name not in given.pages:
                    continue
                if language == "fi" and picture.name not in IN_FINNISH:
                    continue
                if picture.by not in opened:
                    context = browser.new_context(
                        viewport={"width": width, "height": height},
                        color_scheme=scheme,
                        locale=language,
                        has_touch=size == "phone",
                    )
                    opened[picture.by] = sign_in(context, address, picture.by)
                taken = take(opened[picture.by], picture, address, language, size)
                total += keep(taken, into / variant / f"{picture.name}.webp")
                number += 1
            for page in opened.values():
                page.context.close()
        browser.close()
    took = time.monotonic() - begun
    sys.stdout.write(f"{number} pictures, {total / 1e6:.1f} MB, {took:.0f} s\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
