"""Every page of the workbench with something on it: the sample project, served to a team. A page
that the route tables have and this list has not fails a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.reports import render, view
from assay.web.app import TABLES, Serving, prepare
from assay.workbench.deciding.tune import tune
from assay.workbench.judging.answer_pool import pool_answers
from assay.workbench.judging.packets import write_packet
from assay.workbench.judging.rulings import open_disputes
from assay.workbench.project import demo, people
from assay.workbench.project.people import AT_THE_TERMINAL
from assay.workbench.project.service import Service, gold_path, open_service, read_gold
from assay.workbench.review.queue import queue
from assay.workbench.scoring.answers import check_file
from assay.workbench.scoring.history import runs, stored_run
from assay.workbench.searching.search import SearchRequest, search_page
from kit.browser import listening
from kit.server import PASSWORD

SET = "opinions"
ANSWERS = Path(__file__).parents[2] / "samples" / "answers" / "answers.jsonl"
NO_PAGE = {"/metrics"}  # for programs


@dataclass(frozen=True)
class Shown:
    """An address, the row of the route tables that it is of, and who opens it: the admin, the
    judge, or nobody that is known."""

    route: str
    address: str
    who: str = "admin"


@dataclass(frozen=True)
class Team:
    """A server for people with accounts, on the sample project."""

    service: Service
    base: str
    folder: Path
    gold: str = SET
    corpus: str = "opinions"
    admin: str = "Ada"
    judge: str = "Ben"

    def cookie(self, name: str) -> dict[str, Any]:
        """Somebody is signed in; a password takes long on purpose."""
        session = people.start_session(self.service, name)
        return {"name": "assay_session", "value": session, "url": self.base}


def make_project(folder: Path) -> None:
    """The sample project with an admin, a judge, and somebody who is invited."""
    demo.prepare(folder)
    with demo.inside(folder):
        results = Path("answer-results.json")
        check_file(ANSWERS, output=results)
        pool_answers([results], Path("drafts.json"))
    with demo.inside(folder), open_service() as service:
        for name, role in (("Ada", "admin"), ("Ben", "judge")):
            link = people.invite(service, name, role, by=AT_THE_TERMINAL)  # type: ignore[arg-type]
            people.accept(service, link.token, name=name, password=PASSWORD)
        people.make_key(service, "search-service", "log", by=AT_THE_TERMINAL)
        link = people.invite(service, "Dana", "reader", by=AT_THE_TERMINAL)
        Path("invited.txt").write_text(link.token)
        results = stored_run(service, runs(service, gold=SET, limit=1).items[0].id).results
        for language in ("en", "he"):
            text = render(view(results, language=language), ".html")
            Path(f"report-{language}.html").write_text(text, encoding="utf-8")
        write_packet(gold_path(service, SET), Path("packet.html"), judge="Dana", limit=5)
        with Path("assay.toml").open("a") as config:
            config.write(f"[tune.assay]\ngold = '{SET}'\ncharacters = [0, 1]\ncitation = [0, 1]\n")
        tune("assay")


@contextmanager
def team(folder: Path) -> Iterator[Team]:
    """The project served, from its own folder."""
    with ExitStack() as stack:
        stack.enter_context(demo.inside(folder))
        service = stack.enter_context(open_service())

        def application(port: int) -> Any:
            return prepare(service, Serving(accounts=True, port=port))[0]

        yield Team(service, stack.enter_context(listening(application)), folder)


def pages_of(team: Team) -> list[Shown]:
    """Each row of the tables that is a page, and what is shown when something is wrong."""
    service, gold, corpus = team.service, quote(team.gold, safe=""), team.corpus
    query = read_gold(service, team.gold).queries[0].id
    newest, before = (run.id for run in runs(service, gold=team.gold, limit=2).items)
    dispute = open_disputes(gold_path(service, team.gold), service.home)[0]
    row, suggestion = (
        next(item.id for item in queue(service).items if item.kind == kind)
        for kind in ("gold_row", "judgment")
    )
    asked = SearchRequest(corpus=corpus, query="gift of travel to a conference")
    found = search_page(service, asked).results[0].doc_id
    token = (team.folder / "invited.txt").read_text()
    in_set = f"/judge/{gold}/{quote(query)}"
    ruling = f"/agreement/{gold}/{quote(dispute.query_id)}?doc={quote(dispute.doc_id)}"
    answers = [
        Shown("/judge/{set}/{query:path}", f"/judge/drafts/{answer.id}")
        for name in set(service.gold_sets) & {"drafts"}
        for answer in read_gold(service, name).queries
    ]
    compared = f"a={before}&b={newest}"
    listed = [
        Shown("/", "/"),
        Shown("/runs", "/runs"),
        Shown("/runs/{run}", f"/runs/{newest}"),
        Shown("/runs/{run}/report", (team.folder / "report-en.html").as_uri()),
        Shown("/runs/{run}/report", (team.folder / "report-he.html").as_uri()),
        Shown("/runs/jobs/{job}", "/runs/jobs/none"),
        Shown("/runs/again", f"/runs/again?set={gold}&jobs=none"),
        Shown("/tune/{sweep}", "/tune/assay"),
        Shown("/compare", f"/compare?{compared}"),
        Shown("/compare/query", f"/compare/query?{compared}&query={quote(query)}"),
        Shown("/search", "/search"),
        Shown("/search", f"/search?corpus={corpus}&q=gift+of+travel+to+a+conference"),
        Shown("/search", "/search?q=" + quote("היטל השבחה")),
        Shown("/search", f"/search?corpus={corpus}&q=" + quote("how to bake bread at home")),
        Shown("/doc/{corpus}/{id:path}", f"/doc/{corpus}/{quote(found, safe='')}?q=gift"),
        Shown("/doc/{corpus}/{id:path}", f"/doc/{corpus}/none"),
        Shown("/sign-in", "/sign-in", ""),
        Shown("/invite/{token}", f"/invite/{token}", ""),
        Shown("/invite/{token}", "/invite/none", ""),
        Shown("/me", "/me"),
        Shown("/people", "/people"),
        Shown("/start", "/start"),
        Shown("/start/map", "/start/map"),
        Shown("/people/history", "/people/history"),
        Shown("/judge", "/judge", "judge"),
        Shown("/judge/{set}", f"/judge/{gold}"),
        Shown("/judge/{set}/{query:path}", in_set),
        Shown("/judge/{set}/{query:path}/all", f"{in_set}/all"),
        *answers,
        *(Shown("/judge/{set}/{query:path}/all", f"{one.address}/all") for one in answers[:1]),
        Shown("/answers", "/answers", "judge"),
        Shown("/answers/{set}", "/answers/drafts"),
        Shown("/agreement", "/agreement"),
        Shown("/agreement/{set}", f"/agreement/{gold}"),
        Shown("/agreement/{set}/{query:path}", ruling),
        Shown("/review", "/review"),
        Shown("/review/bulk", "/review/bulk"),
        Shown("/review/{item}", f"/review/{row}"),
        Shown("/review/{item}", f"/review/{suggestion}"),
        Shown("/api/docs", "/api/docs"),
        Shown("", "/nothing/here"),
        Shown("", "/people", "judge"),
        Shown("", (team.folder / "packet.html").as_uri()),
    ]
    known = {shown.route for shown in listed} - {""} | NO_PAGE
    rows = {row.path for table in TABLES for row in table if "GET" in row.methods}
    there = {path for path in rows if path == "/api/docs" or not path.startswith("/api/")}
    assert there == known, "a page that is not listed here is not looked at"
    return listed


class Visitors:
    """The people who open pages, each in a context of their own."""

    def __init__(self, browser: Any, team: Team, size: tuple[int, int], **options: Any) -> None:
        shape = {"width": size[0], "height": size[1]}
        self.pages: dict[str, Any] = {}
        for who, name in (("admin", team.admin), ("judge", team.judge), ("", "")):
            context = browser.new_context(viewport=shape, base_url=team.base, **options)
            if name:
                context.add_cookies([team.cookie(name)])
            self.pages[who] = context.new_page()

    def open(self, who: str, address: str) -> Any:
        page = self.pages[who]
        page.goto(address)
        if page.locator("#document[aria-busy]").count():
            page.wait_for_selector("#document[aria-busy=false]")
        return page
