"""Whatever people have stored, in three scripts, is shown as text on every page: nothing of it
becomes a tag, an attribute or a script, and nothing of it turns the words around it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.core.types import Vote
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.reports import render, view
from assay.store import Store
from assay.store.records import Decision, SearchLog
from assay.store.records import ShownResult as Hit
from assay.web.app import Serving, prepare
from assay.workbench.judging.gold_sets import bootstrap_gold
from assay.workbench.judging.packets import write_packet
from assay.workbench.judging.set_edits import FlagForm, flag_query
from assay.workbench.judging.votes_to_labels import append_votes
from assay.workbench.project import people
from assay.workbench.project.people import AT_THE_TERMINAL
from assay.workbench.project.service import Service
from assay.workbench.review.decisions import decide_rows
from assay.workbench.review.queue import queue
from assay.workbench.review.suggestions import suggest
from assay.workbench.searching.corpora import index_corpus
from kit.browser import faults, listening
from kit.corpora import import_rows
from kit.pages import Team, Visitors, pages_of
from kit.runs import kept
from kit.server import PASSWORD

NOW = datetime.now(UTC)
SCRIPTS = ("gift", "lahja ä", "מתנה")
TAGS = "<x-harm onclick=alert(1)>x</x-harm><script>alert(1)</script><img src=x onerror=alert(1)>"
KINDS = """query title text topic issue rationale flag engine name invited key reason logged area
suggested agent""".split()


def harm(kind: str, turned: str = "\u202e") -> str:
    """Begins with its kind, so that it is known where it is shown."""
    word = SCRIPTS[KINDS.index(kind) % len(SCRIPTS)]
    return f"{kind}:{word} {TAGS} \"'&amp;{{{{ 7*7 }}}}{turned} gift of travel to a conference"


def named(kind: str) -> str:
    """A name may not have invisible characters, and is short."""
    return f"{kind}:<x-harm onclick=alert(1)>\"'& {SCRIPTS[KINDS.index(kind) % 3]}"


ADMIN, JUDGE, FILE = named("name"), f"{named('name')} 2", "file:<x-harm>'& מתנה"
DOCS = ["d0<x-harm>", "d1", "d2"]


@pytest.fixture
def hostile(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": id, "title": harm("title"), "text": harm("text"), "topic": harm("topic")}
        for id in DOCS
    ]
    import_rows(tmp_path, "c", rows)
    index_corpus("c", home=tmp_path, dense=False)
    dataset, logged = tmp_path / f"{FILE}.json", tmp_path / f"{FILE} logs.jsonl"
    write_dataset(dataset)
    service = Service(
        store=store,
        gold_sets={FILE: dataset, logged.stem: logged},
        home=tmp_path,
        clock=lambda: NOW,
    )
    fill(service, dataset, logged)
    with listening(lambda port: prepare(service, Serving(accounts=True, port=port))[0]) as base:
        yield Team(service, base, tmp_path, gold=FILE, corpus="c", admin=ADMIN, judge=JUDGE)


def write_dataset(path: Path) -> None:
    issue = {"id": "limit", "name": harm("issue"), "description": harm("issue")}
    taxonomy = {"gifts": {"name": harm("topic"), "description": "d", "issues": [issue]}}
    about = {"type": "keyword", "topic": "gifts", "issue": "limit"}
    queries = [{"id": f"q{n}<x-harm>", "text": harm("query"), **about} for n in range(2)]
    head = {"rubric": "fppc-relevance-2", "taxonomy": taxonomy, "queries": queries}
    path.write_text(json.dumps(head, ensure_ascii=False), encoding="utf-8")
    pairs = tuple(PooledPair(query_id=q["id"], doc_id=doc) for q in queries for doc in DOCS)
    write_pool(path, Pool(corpus=str(path.parent / "c.jsonl"), judges=(ADMIN, JUDGE), pairs=pairs))


def fill(service: Service, dataset: Path, logged: Path) -> None:
    """Votes that differ, a flag, runs, rows from a log, a suggestion, a rejection, people."""
    votes = [
        Vote(
            id=f"{judge}-{doc}-vote",
            query_id="q0<x-harm>",
            doc_id=doc,
            grade=grade if doc == DOCS[0] else 2,
            rationale=harm("rationale"),
            judge=judge,
            kind="human",
            at=NOW.isoformat(),
        )
        for judge, grade in ((ADMIN, 2), (JUDGE, 0))
        for doc in DOCS
    ]
    append_votes(dataset, votes)
    flag_query(service, FlagForm(set=FILE, query_id="q0<x-harm>", reason=harm("flag")), JUDGE)
    ids = ["q0<x-harm>", "q1<x-harm>"]
    for days in (2, 1):
        done = kept(service, dataset, named("engine"), DOCS[days - 1 :], days=days, ids=ids)
    for language in ("en", "he"):
        text = render(view(done.results, language=language), ".html")
        (dataset.parent / f"report-{language}.html").write_text(text, encoding="utf-8")
    write_packet(dataset, dataset.parent / "packet.html", judge=JUDGE)
    hits = tuple(Hit(doc, rank) for rank, doc in enumerate(DOCS, 1))
    for n in range(3):
        log = SearchLog(
            id=f"l{n}",
            at=NOW,
            query=f"{harm('logged')} {n}",
            corpus="c",
            practice_area=harm("area"),
            results=hits,
        )
        service.store.add_searches([log])
    cited = Decision(id="D<x-harm>", at=NOW + timedelta(hours=1), cites=tuple(DOCS[:2]))
    service.store.add_decisions([cited])
    bootstrap_gold(replace(service, clock=lambda: NOW + timedelta(hours=2)), logged)
    first, second = (item.ref for item in queue(service).items[:2])
    decide_rows(service, logged, [first], "rejected", by=ADMIN, why=harm("reason"))
    agent = named("agent")
    suggest(service, logged.stem, (second, DOCS[2]), 1, rationale=harm("suggested"), by=agent)
    for name, role in ((ADMIN, "admin"), (JUDGE, "judge")):
        link = people.invite(service, name, role, by=AT_THE_TERMINAL)  # type: ignore[arg-type]
        people.accept(service, link.token, name=name, password=PASSWORD)
    people.make_key(service, named("key"), "log", by=AT_THE_TERMINAL)
    link = people.invite(service, named("invited"), "reader", by=AT_THE_TERMINAL)
    (dataset.parent / "invited.txt").write_text(link.token)


# tags and handlers that came out of a text, and texts that turn the words after them around
LOOSE = """() => {
  const wrong = [...document.querySelectorAll("x-harm, img, main script, [onclick], [onerror]")]
    .map((one) => one.outerHTML.slice(0, 80));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode());) {
    const parent = node.parentElement;
    if (!node.data.includes("\\u202e") || parent.closest("script, option, title, svg")) continue;
    if (/\\u2068[^\\u2069]*\\u202e[^\\u2069]*\\u2069/s.test(node.data)) continue;
    let at = parent;
    while (at && getComputedStyle(at).display === "inline"
      && !/isolate|plaintext/.test(getComputedStyle(at).unicodeBidi)) at = at.parentElement;
    if (at.querySelector("mark")) continue;  // it is one text, in pieces
    const after = document.createRange();
    after.setStartAfter(node);
    after.setEndAfter(at.lastChild);
    const same = [...after.cloneContents().childNodes]
      .filter((one) => !/^(P|DIV|UL|OL|LI|TABLE|SECTION|SPAN|SMALL)$/.test(one.nodeName));
    if (same.some((one) => /\\w/.test(one.textContent)))
      wrong.push(`turned: ${at.outerHTML.slice(0, 120)}`);
  }
  return wrong;
}"""


def test_what_is_stored_is_shown_as_text_everywhere(browser: Any, hostile: Team) -> None:
    visitors = Visitors(browser, hostile, (1280, 900), locale="he")
    watched = {
        who: faults(page, hostile.base, refused=True) for who, page in visitors.pages.items()
    }
    wrong: list[str] = []
    texts: list[str] = []
    for shown in pages_of(hostile):
        page = visitors.open(shown.who, shown.address)
        texts.append(page.locator("body").inner_text())
        wrong += [f"{shown.address}: {what}" for what in page.evaluate(LOOSE)]
    said = [what for who in watched.values() for what in who if not what.startswith("file:")]
    assert not wrong + said, "\n".join(wrong + said)
    everything = "\n".join(texts)
    assert [kind for kind in [*KINDS, "file"] if f"{kind}:" not in everything] == []


def test_a_text_that_is_not_set_apart_is_found(browser: Any) -> None:
    page = browser.new_page()
    page.set_content("<p>by <b>\u202eAda</b> on Monday</p><p>by <bdi>\u202eAda</bdi> on Monday</p>")
    assert len(page.evaluate(LOOSE)) == 1
    page.set_content("<x-harm>x</x-harm>")
    assert len(page.evaluate(LOOSE)) == 1
