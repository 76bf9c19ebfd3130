"""The whole life of a set, by real people at browsers of their own, on `assay serve` in a process
of its own: an engineer runs an engine and the gate is inconclusive; the chair invites two judges,
who grade twenty documents by keyboard alone and differ on three; the chair rules and promotes; the
engineer runs and compares two engines, and the gate passes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.gold.votes import current_votes
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.judging.votes import read_votes
from assay.workbench.searching.corpora import import_corpus, index_corpus
from kit.browser import expect, faults
from kit.sets import labels

PASSWORD = "correct horse battery"
QUERIES = {
    "gifts": "May an official accept tickets as a gift?",
    "conflicts": "Must a council member leave a vote on land near her home?",
}
TOML = """[gold.letters]
path = "letters.json"
[engines.plain]
engine = "bm25"
corpus = "letters.jsonl"
[[gates]]
measure = "nDCG@10"
minimum = 0.5
min_judged = 0.9
"""


def text_of(query: str, place: int) -> str:
    """The first three answer the question, the next three touch on it, the rest share a word."""
    if query == "gifts":
        if place < 3:
            return f"An official may accept tickets as a gift up to the limit of {place} seats."
        if place < 6:
            return f"A gift of travel is reported in form {place}, whatever the seats cost."
        return f"The gift shop of museum {place} is leased to the city for one year."
    if place < 3:
        return f"A council member must leave the vote: her home is {place}00 feet from the land."
    if place < 6:
        return f"A council member stays where client {place} and not land is concerned."
    return f"The council chamber on floor {place} is open on Mondays and Fridays."


LETTERS = {f"{query}-{place}": text_of(query, place) for query in QUERIES for place in range(10)}


def first_grade(doc: str) -> int:
    place = int(doc.rpartition("-")[2])
    return 2 if place < 3 else 1 if place < 6 else 0


DISPUTED = {"gifts-3": 2, "gifts-6": 1, "conflicts-5": 0}  # as the second judge sees them


def second_grade(doc: str) -> int:
    return DISPUTED.get(doc, first_grade(doc))


def rows(name: str, values: list[dict[str, object]], folder: Path) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with letters, a set that nobody has judged, what is to be judged, a row that a log
    made, and the gate."""
    letters = rows("letters.jsonl", [{"id": i, "text": t} for i, t in LETTERS.items()], tmp_path)
    home = tmp_path / ".assay"
    import_corpus("jsonl", letters, name="library", home=home)
    index_corpus("library", home=home, dense=False)
    queries = [{"id": id, "text": text, "type": "keyword"} for id, text in QUERIES.items()]
    head = {"version": "1", "created_at": "2026-01-01T00:00:00Z", "description": ""}
    dataset = tmp_path / "letters.json"
    dataset.write_text(json.dumps({**head, "rubric": "fppc-relevance-2", "queries": queries}))
    asked = tuple(
        PooledPair(query_id=doc.partition("-")[0], doc_id=doc, judges=("דנה", "Ben"))
        for doc in LETTERS
    )
    write_pool(dataset, Pool(corpus=str(letters), judges=("דנה", "Ben"), pairs=asked))
    row = {"id": "r1", "query": QUERIES["gifts"], "relevant_case_law_ids": ["gifts-0", "gifts-1"]}
    made = {**row, "corpus": "library", "practice_area": "gifts", "source": "bootstrap"}
    rows("from-logs.jsonl", [made], tmp_path)
    (tmp_path / "assay.toml").write_text(TOML)
    return tmp_path


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """`assay serve` in a process of its own; the link that it prints for the first admin."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "assay", "serve", "--accounts", "--port", str(port)]
    sets = ["--gold", "letters.json", "--gold", "from-logs.jsonl"]
    here = {"ASSAY_HOME": str(folder / ".assay"), "PYTHONUNBUFFERED": "1", "COLUMNS": "300"}
    server = subprocess.Popen(
        [*command, *sets],
        cwd=folder,
        env={**os.environ, **here},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    try:
        said = ""
        for line in server.stdout:
            said += line
            if link := re.search(r"http://\S+/invite/\S+", line):
                yield link[0]
                return
        raise AssertionError(said)
    finally:
        server.terminate()
        server.communicate(timeout=20)


class Person:
    """Somebody at a browser of their own. `press` and `type` are all that they do, apart from
    opening addresses."""

    def __init__(self, browser: Any, base: str, **options: Any) -> None:
        size = {"width": 1400, "height": 900}
        self.page = browser.new_context(viewport=size, base_url=base, **options).new_page()
        self.faults = faults(self.page, base)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def open(self, path: str) -> None:
        self.page.goto(path)

    def join(self, link: str, name: str = "") -> None:
        """The first field to fill in has the focus."""
        self.open(link)
        expect(self.page.locator("input:focus")).to_have_count(1)
        if name:
            self.type(name)
            self.press("Tab")
        for _ in range(2):
            self.type(PASSWORD)
            self.press("Tab")
        self.press("Enter")
        self.page.wait_for_url(lambda address: "/invite/" not in address)

    def invite(self, name: str, role: str) -> str:
        self.open("/people")
        self.page.get_by_label("Name", exact=True).first.focus()
        self.type(name)
        self.page.locator(f"input[name=role][value={role}]").focus()
        self.press("Space", "Enter")
        return str(self.page.input_value("#made"))

    def grade_everything(self, grade: Any) -> None:
        """A digit, the first criterion of the rubric with its end, Enter; N is the next query."""
        self.open("/judge/letters")
        for key in ("j", "n"):
            before = self.page.url
            self.press(key)  # what is typed before the next query has come would be heard there
            self.page.wait_for_url(lambda address, before=before: address != before)
            for _ in range(10):
                self.page.wait_for_selector("#document[aria-busy=false]")
                doc = str(self.page.locator(".doc.cur").get_attribute("data-doc"))
                self.press(str(grade(doc)), "Alt+1")
                self.type("as the letter says")
                self.press("Enter")
            expect(self.page.locator("#done")).to_be_visible()
            expect(self.page.locator("#state")).to_contain_text("Saved")

    def run(self, engine: str) -> None:
        """Start a run on the page, and watch it."""
        self.open("/runs")
        self.page.select_option("select[name=gold]", "letters")
        self.page.select_option("select[name=engine]", engine)
        self.page.click("#start button")
        expect(self.page.locator("[data-state=done]")).to_be_visible(timeout=60_000)


def test_from_the_first_admin_to_a_gate_that_passes(browser: Any, project: Path) -> None:
    dataset = project / "letters.json"
    with serving(project) as link:
        base = link.partition("/invite/")[0]
        engineer, chair = Person(browser, base, locale="en"), Person(browser, base, locale="en")
        engineer.join(link, "Eero")
        chair.join(engineer.invite("Päivi", "chair"))
        judges = [Person(browser, base, locale="en") for _ in range(2)]
        for judge, name in zip(judges, ("דנה", "Ben"), strict=True):
            judge.join(chair.invite(name, "judge"))

        engineer.run("plain")
        engineer.page.click("text=See the result")
        expect(engineer.page.locator("h1")).to_contain_text("Inconclusive")
        expect(engineer.page.locator(".gates")).to_contain_text("there is no value")
        for judge, grade in zip(judges, (first_grade, second_grade), strict=True):
            judge.grade_everything(grade)
        given = current_votes(read_votes(dataset))
        assert {(vote.judge, vote.doc_id): vote.grade for vote in given} == {
            **{("דנה", doc): first_grade(doc) for doc in LETTERS},
            **{("Ben", doc): second_grade(doc) for doc in LETTERS},
        }
        assert labels(dataset) == {}

        rule_on_three(chair, dataset)
        chair.open("/review")
        chair.press("j")
        expect(chair.page.locator("h1.query")).to_have_text(QUERIES["gifts"])
        chair.page.wait_for_load_state()
        chair.press("a")
        expect(chair.page.locator(".told")).to_be_visible()
        assert json.loads((project / "from-logs.jsonl").read_text())["source"] == "chair"

        engineer.run("plain")
        engineer.run("library")
        engineer.page.click("text=Compare with plain")
        expect(engineer.page.locator(".next h2")).to_have_text(
            "May library ship? Yes: every gate passes"
        )
        expect(engineer.page.locator(".next .gates")).to_contain_text("pass")
        engineer.open("/")
        expect(engineer.page.locator("h1")).to_contain_text("may ship")
        engineer.open("/runs")
        told = engineer.page.locator("form[action='/compare'] tbody .chip").all_inner_texts()
        assert told == ["pass", "pass", "inconclusive"]  # the newest first
        for person in (engineer, chair, *judges):
            assert person.faults == []


def rule_on_three(chair: Person, dataset: Path) -> None:
    """T takes what the judge who is right says, Enter rules. Then the labels of the set."""
    chair.open("/agreement/letters")
    expect(chair.page.locator(".facts-first")).to_contain_text("agree on 85% of 20")
    expect(chair.page.locator("h2").first).to_have_text("3 pairs need a ruling")
    chair.press("j")
    for left in (3, 2, 1):
        expect(chair.page.locator("main > p").first).to_contain_text(f"1 of {left}")
        expect(chair.page.locator("#document[aria-busy=false]")).to_be_visible()
        cards = chair.page.locator(".opinion")
        right = [place for place in range(2) if "דנה" in cards.nth(place).inner_text()]
        chair.press(*"t" * (right[0] + 1), "Enter")
    chair.page.wait_for_url("**/agreement/letters")
    expect(chair.page.locator("h2").first).to_have_text("No pairs need a ruling.")
    chair.page.click("#labels")
    expect(chair.page.locator("#told")).to_contain_text("20 labels from 43 votes")
    assert {doc: grade for (_, doc), grade in labels(dataset).items()} == {
        doc: first_grade(doc) for doc in LETTERS
    }
