"""Home, runs and comparisons as pages and as calls: with nothing, with one run and with many, in
three languages, with texts that want to be markup."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from rich.console import Console
from starlette.testclient import TestClient

from assay import formats
from assay.core.results import Check, Gate, Why
from assay.core.types import Vote
from assay.judging.pool import Pool, PooledPair, write_pool
from assay.reports.terminal import verdict_lines
from assay.reports.wording import Sentences
from assay.reports.words import LANGUAGES, Words
from assay.reports.words import page_table as words_of
from assay.store import Store
from assay.web.app import create_app
from assay.web.decision_pages import DECIDE_ROUTES
from assay.web.start_pages import JOB_ROUTES
from assay.workbench.judging.votes_to_labels import append_votes, recompute_labels
from assay.workbench.project.service import Service
from assay.workbench.scoring.run import gates_on
from assay.workbench.scoring.score import ScoreRequest, score
from kit.corpora import import_rows
from kit.runs import NOW, bootstrapped, golden_set, graded_set, kept, served
from kit.server import local_client
from kit.votes import vote_on

DOCS = [f"d{n}" for n in range(10)]
HANGS = """
import time

class Hangs:
    def search(self, query, top_k=20):
        time.sleep(600)
"""
EVIL = '<img src=x onerror="alert(1)">'
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    return served(store, tmp_path, graded_set(tmp_path))


@pytest.fixture
def client(service: Service) -> TestClient:
    return local_client(service)


def gold(service: Service) -> Path:
    return service.gold_sets["set"]


class _Tags(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.handlers: list[str] = []
        self.styles = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "script":
            self.scripts.append(names.get("src") or "inline")
        self.handlers += [name for name in names if name.startswith("on")]
        self.styles += "style" in names or tag == "style"


def assert_sound(text: str) -> None:
    tags = _Tags()
    tags.feed(text)
    assert "inline" not in tags.scripts
    assert not tags.handlers
    assert not tags.styles
    assert "<img" not in text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_with_nothing_at_all(store: Store, tmp_path: Path, lang: str) -> None:
    client = local_client(Service(store=store, home=tmp_path, clock=lambda: NOW))
    for path in ("/", "/runs", "/compare"):
        answer = client.get(f"{path}?lang={lang}")
        assert answer.status_code == 200
        assert_sound(answer.text)
        assert "<code>assay " in answer.text, "it says how to fill the page"
    seen = client.get("/api/overview").json()
    assert (seen["headline"], seen["sets"], seen["engines"]) == ("empty", [], [])
    assert seen["waiting"]["total"] == 0
    assert client.get("/api/runs").json()["page"]["items"] == []


def test_a_set_that_waits_is_never_zero(store: Store, tmp_path: Path) -> None:
    path = SAMPLES / "he" / "gold-set.jsonl"
    client = local_client(
        Service(store=store, gold_sets={"gold-set": path}, home=tmp_path, clock=lambda: NOW)
    )
    seen = client.get("/api/overview").json()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    unapproved = sum(row.get("source") != "chair" for row in rows if "query" in row)
    waiting = seen["waiting"]
    assert waiting["rows"] == waiting["total"] == unapproved > 0
    assert seen["sets"][0]["standing"]["right_to_left"]
    assert f'<div class="big">{waiting["total"]}</div>' in client.get("/").text


class _Turning(HTMLParser):
    """The tags around each text that turns the words after it, where the tag does not hold it."""

    def __init__(self) -> None:
        super().__init__()
        self.tag, self.seen, self.loose = "", 0, list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tag = "" if tag == "bdi" or "dir" in dict(attrs) else tag

    def handle_data(self, data: str) -> None:
        self.seen += "\u202e" in data
        if "\u202e" in data and self.tag:
            self.loose.append(self.tag)


def test_a_letter_that_turns_words_turns_its_own_alone(
    service: Service, client: TestClient
) -> None:
    path = gold(service)
    path.write_text(path.read_text().replace('"text": "', '"text": "\u202e'), encoding="utf-8")
    runs = [kept(service, path, f"engine {n}", DOCS[n:], days=n) for n in range(2)]
    shown = _Turning()
    for address in (f"/runs/{runs[0].id}", f"/compare?a={runs[0].id}&b={runs[1].id}", "/runs", "/"):
        shown.feed(client.get(address).text)
    assert shown.seen > 6
    assert shown.loose == []


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("many", [1, 2, 9])
def test_with_runs(service: Service, client: TestClient, many: int, lang: str) -> None:
    runs = [
        kept(service, gold(service), f"{EVIL} מנוע {n % 8}", DOCS[n % 3 :], days=n)
        for n in range(many)
    ]
    for path in ("/", "/runs", f"/runs/{runs[0].id}", "/compare"):
        answer = client.get(f"{path}?lang={lang}")
        assert answer.status_code == 200, answer.text
        assert_sound(answer.text)
    home = client.get("/").text
    assert 'role="group" aria-label=' in home
    assert "&lt;img" in home
    board = client.get("/api/runs").json()["boards"][0]
    assert len(board["leaders"]) == min(many, 8)
    assert client.get(f"/api/runs/{runs[0].id}").json()["results"]["overall"]["ndcg@10"] > 0


def test_no_judgments_are_asked_for_where_only_queries_can_settle_it(
    service: Service, client: TestClient
) -> None:
    first = kept(service, gold(service), "a", DOCS)
    second = kept(service, gold(service), "b", ["x1", *DOCS])
    page = client.get(f"/compare?a={first.id}&b={second.id}&lang=en").text
    assert "More judgments are unlikely to settle this" in page
    assert "Judge these" not in page


@pytest.mark.parametrize("lang", LANGUAGES)
def test_two_runs_and_one_query(service: Service, client: TestClient, lang: str) -> None:
    first = kept(service, gold(service), f"a {EVIL}", DOCS, days=1)
    second = kept(service, gold(service), "ב", ["x<b>", *DOCS[4:], "d0"])
    pair = f"a={first.id}&b={second.id}"
    page = client.get(f"/compare?{pair}&lang={lang}")
    assert page.status_code == 200
    assert_sound(page.text)
    assert "&lt;script&gt;alert(1)" in page.text
    two = client.get(f"/compare/query?{pair}&query=q5&lang={lang}")
    assert two.status_code == 200
    assert_sound(two.text)
    assert "x&lt;b&gt;" in two.text
    found = client.get(f"/api/compare?{pair}").json()
    assert found["change"]["outcome"] in ("worse", "probably_worse", "not_shown", "open")
    assert found["ship"] == "no_gates"
    call = client.get(f"/api/compare/query?{pair}&query=q5").json()
    assert call["b"]["documents"][0]["grade"] is None
    assert "hit unjudged" in two.text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_page_says_one_fact_in_the_same_words(
    service: Service, client: TestClient, lang: str
) -> None:
    words = words_of("decide", lang)
    first = kept(service, gold(service), "a", DOCS, days=1)
    second = kept(service, gold(service), "b", ["d1", "d0", *DOCS[2:]])
    facts = Words(lang).with_directions(engine="b", other="a", gold="set.json")

    def told(key: str, system: str, baseline: str) -> str:
        """As every report says it."""
        sentence = Words(lang)(key, system=system, baseline=baseline)
        return str(words["unproven"]).format(
            **Words(lang).with_directions(gold="set.json", said=sentence)
        )

    for address in (f"/compare?a={first.id}&b={second.id}", "/?x=1", "/runs?x=1"):
        page = client.get(f"{address}&lang={lang}").text
        assert told("not_significant", "b", "a") in page, address
        assert str(words["leads"]).format(**facts) not in page, address
        assert told("open", "b", "a") not in page, address
    page = client.get(f"/compare?a={first.id}&b={second.id}&lang={lang}").text
    assert f"{str(words['may_ship']).format(**facts)} {words['ship no_gates']}" in page
    assert re.search("80[ \u00a0]?%", page), "how many queries it takes"
    assert "assay plan" not in page, "a reader of pages has no terminal"
    assert str(words["two_questions"]).format(**facts) in page
    swapped = client.get(f"/compare?a={second.id}&b={first.id}&lang={lang}").text
    assert told("not_significant", "a", "b") in swapped, "as the command says it of these two"


GATED = """[gold.set]
path = "set.json"
[engines.e]
engine = "bm25"
corpus = "c.jsonl"
[[gates]]
measure = "nDCG@10"
minimum = 0.05
min_judged = 0.6
"""


def votes_of(judge: str, docs: range, *, queries: int = 6) -> list[Vote]:
    return [
        Vote(
            id=f"{judge}-{n}-{d}",
            query_id=f"q{n}",
            doc_id=f"d{d}",
            grade=2 if d % 3 == n % 3 else 0,
            judge=judge,
            kind="human",
            at="2026-05-01",
        )
        for n in range(queries)
        for d in docs
    ]


@pytest.fixture
def turned(store: Store, tmp_path: Path) -> tuple[Service, Path]:
    """A gate that could not tell, until Sam alone judged the rest."""
    path = graded_set(tmp_path, judged=4)
    service = served(store, tmp_path, path, GATED)
    kept(service, path, "e", DOCS, days=1)
    assert local_client(service).get("/api/overview").json()["headline"] == "needs_judging"
    append_votes(path, votes_of("Sam", range(4, 8)))
    recompute_labels(service.gold_sets["set"], by="Dora")
    kept(service, path, "e", DOCS)
    return service, path


class TestOneJudge:
    @pytest.mark.parametrize("lang", LANGUAGES)
    def test_a_verdict_that_rests_on_one_judge_says_so_everywhere(
        self, turned: tuple[Service, Path], lang: str
    ) -> None:
        service, path = turned
        client = local_client(service)
        seen = client.get("/api/overview").json()
        assert seen["headline"] == "ship"
        assert seen["rests"]["on"] == {"judge": "Sam", "documents": 24, "without": "inconclusive"}
        words = words_of("decide", lang)
        facts = {"n": "24", **Words(lang).with_directions(judge="Sam")}
        said = str(words["rests_on"][1]).format(**facts)
        other = kept(service, path, "f", DOCS[::-1])
        run = seen["subject"]["id"]
        for address in ("/?x=1", f"/runs/{run}?x=1", f"/compare?a={other.id}&b={run}"):
            page = client.get(f"{address}&lang={lang}").text
            assert said in page, address
            assert str(words["without inconclusive"]) in page
            assert_sound(page)
        told = {"engine": "e", "gold": "set", "judge": "Sam"}
        facts = Words(lang).with_directions(**told)
        for address, key in (("/?x=1", "head ship one"), (f"/runs/{run}?x=1", "run pass one")):
            page = client.get(f"{address}&lang={lang}").text
            assert f"<h1>{str(words[key]).format(**facts)}</h1>" in page, "the doubt comes first"
        for address in ("/", "/runs"):
            assert str(words["gate_pass_one"]) in client.get(f"{address}?lang={lang}").text

    def test_it_says_so_where_another_set_comes_first(self, turned: tuple[Service, Path]) -> None:
        service, path = turned
        other = graded_set(path.parent, name="other")
        toml = f'{GATED}\n[gold.other]\npath = "other.json"\n'
        both = served(service.store, path.parent, path, toml)
        both = replace(both, gold_sets={"set": path, "other": other})
        kept(both, other, "g", [f"x{n}" for n in range(10)] + DOCS)
        client = local_client(both)
        seen = client.get("/api/overview").json()
        assert (seen["subject"]["gold"], seen["rests"]) == ("other", None)
        assert list(seen["alone"].values()) == ["Sam"]
        assert client.get("/?lang=en").text.count("pass, one judge") == 2, "in both tables"

    def test_labels_of_other_documents_do_not_hide_it(self, turned: tuple[Service, Path]) -> None:
        service, path = turned
        append_votes(path, votes_of("Ben", range(8, 9), queries=1))
        recompute_labels(service.gold_sets["set"], by="Dora")
        assert local_client(service).get("/api/overview").json()["rests"]["on"]["judge"] == "Sam"

    def test_the_command_says_it_too(self, turned: tuple[Service, Path]) -> None:
        service, path = turned
        run = path.parent / "run-0-10.trec"
        plain = score(ScoreRequest(dataset=path, run=run)).results
        assert service.config is not None
        gates = tuple(gates_on(service.config, "set", "e", plain))
        verdict = score(ScoreRequest(dataset=path, run=run, gates=gates)).results.verdict
        assert verdict is not None
        assert verdict.one_judge is not None
        assert (verdict.status, verdict.one_judge.judge) == ("pass", "Sam")
        console = Console(width=200, record=True, file=io.StringIO())
        console.print(verdict_lines(verdict))
        assert "depends on one judge" in console.export_text()

    def test_a_second_judge_is_asked_and_then_it_rests_on_two(
        self, turned: tuple[Service, Path]
    ) -> None:
        service, path = turned
        client, ben = local_client(service, "Dora"), local_client(service, "Ben")
        run = client.get("/api/overview").json()["subject"]["id"]
        assert "Ask a second judge" in client.get("/?lang=en").text
        asked = client.post("/second", data={"run": run, "back": "https://evil.example/"})
        assert asked.headers["location"] == f"/runs/{run}", "never to another server"
        assert "They are marked for a second judge." in client.get("/?lang=en").text
        assert (
            '<a href="/judge/set">They come first under Judge.</a>' in client.get("/?lang=en").text
        )
        sam = local_client(service, "Sam").get("/?lang=en").text
        assert "It must be someone other than you." in sam
        assert client.post("/api/second", json={"run": run}).json() == {"documents": 0}
        assert ben.get("/api/judge").json()[0]["asked"] == 24
        for address in ("/judge", "/judge/set"):
            assert "24 documents need a second" in ben.get(f"{address}?lang=en").text
        assert local_client(service, "Sam").get("/api/judge").json()[0]["judged"] == 24
        append_votes(path, votes_of("Ben", range(4, 8), queries=3))
        assert "rests on one judge" not in client.get("/?lang=en").text

    def test_a_value_that_decides_says_that_its_interval_does_not(
        self, turned: tuple[Service, Path]
    ) -> None:
        client = local_client(turned[0])
        run = client.get("/api/overview").json()["subject"]["id"]
        page = client.get(f"/runs/{run}?lang=en").text
        assert "Only the score is checked" in page
        assert "At least 60% of the top 10 had to be judged first." in page


def test_judgments_wait_for_a_button_and_then_count(service: Service, client: TestClient) -> None:
    given = Vote(
        id="v1", query_id="q0", doc_id="d99", grade=2, judge="a", kind="human", at="2026-05-01"
    )
    append_votes(gold(service), [given])
    said = "1 new judgment on set is not counted yet."
    for address in ("/", "/judge/set"):
        page = client.get(address).text
        assert said in page
        assert 'action="/labels"' in page
        assert_sound(page)
    assert client.post("/labels", data={"set": "set"}).headers["location"] == "/"
    assert said not in client.get("/").text
    assert len(client.get("/api/audit?action=gold.labelled").json()) == 1
    assert client.post("/labels", data={"set": "nothing"}).status_code == 404


def test_engines_of_an_earlier_set_are_named_and_run_again(store: Store, tmp_path: Path) -> None:
    path = graded_set(tmp_path)
    toml = '[gold.set]\npath = "set.json"\n[engines.old]\nengine = "bm25"\ncorpus = "c.jsonl"\n'
    service = served(store, tmp_path, path, toml)
    kept(service, path, "old", DOCS, days=1)
    graded_set(tmp_path, judged=9)
    kept(service, path, "new", DOCS)
    page = local_client(service).get("/runs").text
    assert "Not compared: old ran on an earlier state of the set." in page
    assert "Run old again" in page


def test_the_chart_spaces_runs_by_time(service: Service, client: TestClient) -> None:
    for days in (10, 9, 0):
        kept(service, gold(service), "a", DOCS, days=days)
    across = [float(x) for x in re.findall(r'<circle cx="([0-9.]+)%"', client.get("/runs").text)]
    assert across[1] - across[0] == pytest.approx((across[2] - across[0]) / 10, abs=0.1)


def test_the_documents_to_judge_are_named_and_lead_to_the_judge_page(
    store: Store, tmp_path: Path
) -> None:
    path = graded_set(tmp_path, judged=5)
    gate = '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.05\nmin_judged = 0.9\n'
    toml = '[gold.set]\npath = "set.json"\n[engines.e]\nengine = "bm25"\ncorpus = "c.jsonl"\n'
    service = served(store, tmp_path, path, toml + gate)
    run = kept(service, path, "e", DOCS)
    client = local_client(service)
    seen = client.get("/api/overview").json()
    assert seen["headline"] == "needs_judging"
    home = client.get("/?lang=en").text
    assert f'href="/runs/{run.id}#next"' in home
    many = seen["subject"]["to_judge"]
    assert f"Judge these {many} now" in home
    first = seen["to_judge"][0]
    begin = f'href="/judge/set/{first["query_id"]}?doc={first["doc_id"]}"'
    write_pool(path, Pool(pairs=(PooledPair(query_id="q0", doc_id="d9"),)))
    for address in ("/", "/judge/set"):
        page = client.get(f"{address}?lang=en").text
        assert begin in page, f"{address} leads to what would settle it first"
        assert len(re.findall(r'data-doc="d\d"', page)) == many
    assert f"{many} documents would settle" in client.get("/judge?lang=en").text
    page = client.get(f"/runs/{run.id}").text
    links = re.findall(r'data-query="q\d" data-doc="d\d"', page.partition('id="next"')[2])
    assert len(links) == len(set(links)) == seen["subject"]["to_judge"] > 0


def test_what_was_judged_since_is_not_asked_again(store: Store, tmp_path: Path) -> None:
    path = graded_set(tmp_path, judged=4)
    service = served(store, tmp_path, path, GATED)
    run = kept(service, path, "e", DOCS)
    client = local_client(service)
    seen = client.get("/api/overview").json()
    asked = {(pair["query_id"], pair["doc_id"]) for pair in seen["to_judge"]}
    every = votes_of("Sam", range(4, 10))
    some = [vote for vote in every if (vote.query_id, vote.doc_id) in asked]
    append_votes(path, some[:1])
    assert client.get("/api/overview").json()["subject"]["to_judge"] == len(asked) - 1
    append_votes(path, some[1:])
    assert client.get("/api/overview").json()["headline"] == "judged"
    for address in ("/", f"/runs/{run.id}"):
        page = client.get(f"{address}?lang=en").text
        assert "Update and re-run" in page, address
        assert 'action="/runs/again"' in page
        assert "Judge these" not in page


def test_only_who_judges_alone_is_led_again_to_what_they_were_unsure_of(
    store: Store, tmp_path: Path
) -> None:
    path = graded_set(tmp_path, judged=5)
    service = served(store, tmp_path, path, GATED)
    kept(service, path, "e", DOCS)
    write_pool(path, Pool(pairs=(PooledPair(query_id="q0", doc_id="d9"),)))
    client = local_client(service)
    asked = client.get("/api/overview").json()["to_judge"]
    listed = re.findall(r'data-query="(\w+)" data-doc="(\w+)"', client.get("/judge/set").text)
    assert listed == [(pair["query_id"], pair["doc_id"]) for pair in asked]
    query, doc = listed[0]
    every = votes_of("דפנה", range(4, 10))
    vote = next(vote for vote in every if (vote.query_id, vote.doc_id) == (query, doc))
    append_votes(path, [msgspec.structs.replace(vote, grade=None)])
    listed = re.findall(r'data-query="(\w+)" data-doc="(\w+)"', client.get("/judge/set").text)
    assert len(listed) == len(asked), "nobody else can grade it"
    append_votes(path, [vote_on("q0", "d9", "Ben", 1, rationale="It decides the point.")])
    listed = re.findall(r'data-query="(\w+)" data-doc="(\w+)"', client.get("/judge/set").text)
    assert (query, doc) not in listed
    assert len(listed) == len(asked) - 1


def test_a_set_is_told_by_its_best_engine_whichever_ran_last(
    service: Service, client: TestClient
) -> None:
    kept(service, gold(service), "good", DOCS, days=1)
    kept(service, gold(service), "poor", [*(f"x{n}" for n in range(9)), *DOCS[:1]])
    (line,) = client.get("/api/overview").json()["sets"]
    assert line["run"]["engine"] == "good"
    kept(service, gold(service), "good", ["x1", *DOCS[5:]])
    (line,) = client.get("/api/overview").json()["sets"]
    assert line["run"]["value"] == max(
        each["value"] for each in client.get("/api/runs").json()["boards"][0]["leaders"]
    )


def test_a_run_of_an_engine_that_is_not_named_for_the_set_moves_no_headline(
    store: Store, tmp_path: Path
) -> None:
    toml = '[gold.set]\npath = "set.json"\nengines = ["named"]\n[engines.named]\nengine = "bm25"\n'
    gate = '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.9\n'
    service = served(store, tmp_path, graded_set(tmp_path), toml + gate)
    kept(service, gold(service), "tried", DOCS[::-1])
    seen = local_client(service).get("/api/overview").json()
    assert seen["headline"] == "ran"
    assert [line["engine"] for line in seen["verdicts"]] == ["tried"], "it is still told of"
    kept(service, gold(service), "named", DOCS[::-1])
    seen = local_client(service).get("/api/overview").json()
    assert (seen["headline"], seen["subject"]["engine"]) == ("failing", "named")


def test_golden_runs(store: Store, tmp_path: Path) -> None:
    path = golden_set(tmp_path)
    service = served(store, tmp_path, path)
    client = local_client(service)
    ids = ["k1", "k2", "k3"]
    first = kept(service, path, "a", ["d1", "d2"], ids=ids, days=1)
    assert re.search("a fails a question of .* that must pass: k3", client.get("/?lang=en").text)
    second = kept(service, path, "b", ["d3", "d2", "d1"], ids=ids)
    for address in (
        "/",
        "/runs",
        f"/runs/{second.id}",
        f"/compare?a={first.id}&b={second.id}",
        f"/compare/query?a={first.id}&b={second.id}&query=k2",
    ):
        answer = client.get(address)
        assert answer.status_code == 200, answer.text
        assert_sound(answer.text)
    for address in ("/", "/runs"):
        page = client.get(f"{address}?lang=en").text
        assert "1 MUST fails" in page, "which no gate may ask for"
        assert "more documents were judged" not in page, "nothing is judged in a golden set"
    report = client.get(f"/runs/{second.id}/report")
    assert report.headers["content-disposition"].startswith("attachment")
    compared = client.get(f"/compare?a={first.id}&b={second.id}&lang=en").text
    (address,) = re.findall(r'Download this comparison: <a href="([^"]*)"', compared)
    downloaded = client.get(address)
    assert "-b-against-a-" in downloaded.headers["content-disposition"]
    assert "Changes from <bdi>a</bdi>" in downloaded.text
    assert "Changes from <bdi>a</bdi>" not in report.text


def test_a_golden_gate_says_the_name_people_read_with_its_interval(
    store: Store, tmp_path: Path
) -> None:
    path = golden_set(tmp_path)
    toml = '[gold.golden]\npath = "golden.json"\n[[gates]]\nmeasure = "pass_rate_total"\n'
    toml += 'minimum = 0.3\n[engines.a]\nengine = "bm25"\n'
    service = served(store, tmp_path, path, toml)
    run = kept(service, path, "a", ["d1", "d2"], ids=["k1", "k2", "k3"])
    client = local_client(service)
    said = {"en": "Required: at least 30.0%", "fi": "Vaatimus: vähintään 30,0", "he": "נדרש: "}
    for lang, limit in said.items():
        page = client.get(f"/runs/{run.id}?lang={lang}").text
        (line,) = re.findall(r'<ul class="gates"><li>.*?</span> (.*?)</li>', page, re.S)
        assert "pass_rate_total" not in line
        assert limit in line
        assert re.search(r"66[.,]7.*95.*\d\d?.*\d\d", line), "the value, the level, the interval"
        row = next(row for row in page.split("<tr>") if re.search('class="n">[^<]*66[.,]7', row))
        assert "<svg" in row, "the figure too"
    for address, told in ((f"/runs/{run.id}", "a passes every gate"), ("/", "a passes every gate")):
        (head,) = re.findall("<h1>(.*?)</h1>", client.get(f"{address}?lang=en").text, re.S)
        assert told in re.sub("[\u2066-\u2069]|<[^>]+>", "", head)
        assert "but fails a question that must pass" in head
        assert head.startswith("Not yet: ")
        page = client.get(f"{address}?lang=en").text
        assert '<span class="chip g2">pass</span>' not in re.sub(
            r'<ul class="gates">.*?</ul>', "", page
        )
    assert "ship? Not yet: every gate passes, but" in re.sub(
        "[\u2066-\u2069]", "", client.get(f"/runs/{run.id}?lang=en").text
    )
    other = kept(service, path, "b", ["d2"], ids=["k1", "k2", "k3"])
    page = client.get(f"/compare?a={other.id}&b={run.id}&lang=en").text
    assert "Not yet: every gate passes, but a question that must pass fails: " in page
    assert "Yes: every gate passes" not in page
    assert "1 set, 2 engines" in client.get("/?lang=en").text, "b ran, though nothing names it"


def test_a_gate_says_why_it_cannot_be_told_in_every_language() -> None:
    gate = Gate(measure="ndcg@10", minimum=0.6, min_judged=0.5)
    few = Why(kind="few_judged", facts={"share": 0.44, "k": 10, "needed": 0.5})
    check = Check(gate=gate, status="inconclusive", value=0.7404, message="", whys=[few])
    assert (
        Sentences(Words("fi"))
        .check(check)
        .endswith("Ratkaisematta: 10 parhaasta osumasta on arvioitu 44 %, ja vaaditaan 50 %")
    )
    hebrew = Sentences(Words("he")).check(check)
    assert "44" in hebrew
    assert "50" in hebrew
    wide = msgspec.structs.replace(check, whys=[Why(kind="inside_wide")])
    assert "liian leveä" in Sentences(Words("fi")).check(wide)
    older = msgspec.structs.replace(check, whys=[])
    assert Sentences(Words("fi")).check(older).endswith("vaatimuksena on 50 % arvioitu")


def test_a_run_that_is_not_the_newest_says_so(service: Service, client: TestClient) -> None:
    old = kept(service, gold(service), "a", DOCS, days=2)
    new = kept(service, gold(service), "a", DOCS)
    page = client.get(f"/runs/{old.id}?lang=en").text
    assert f'<a href="/runs/{new.id}">Open the newest</a>' in page
    assert "Open the newest" not in client.get(f"/runs/{new.id}?lang=en").text


def test_a_comparison_of_older_runs_leads_to_that_of_the_newest(
    service: Service, client: TestClient
) -> None:
    old = [kept(service, gold(service), name, DOCS[n:], days=9 - n) for n, name in enumerate("ab")]
    pages = [f"/compare?a={old[0].id}&b={old[1].id}"]
    assert "newer runs" not in client.get(f"{pages[0]}&lang=en").text
    new = [kept(service, gold(service), name, DOCS[n:], days=n) for n, name in enumerate("ab")]
    page = client.get(f"{pages[0]}&lang=en").text
    assert f'<a href="/compare?a={new[0].id}&amp;b={new[1].id}">Compare the newest</a>' in page
    assert "Update and re-run" not in page
    over_time = client.get(f"/compare?a={old[0].id}&b={new[0].id}&lang=en").text
    assert "newer runs" not in over_time, "B is the newest of its engine"


def test_a_gate_has_its_interval_in_every_language() -> None:
    gate = Gate(measure="ndcg@10", minimum=0.6)
    check = Check(
        gate=gate, status="pass", value=0.7404, message="", interval=(0.6512, 0.8), level=0.95
    )
    said = Sentences(Words("fi")).check(check)
    assert "0,74 (95 %:n luottamusväli 0,651–0,8)" in said
    assert "0.651" in Sentences(Words("he")).check(check)


def test_what_is_not_there(service: Service, client: TestClient) -> None:
    run = kept(service, gold(service), "a", DOCS)
    assert client.get("/runs/nothing").status_code == 404
    assert client.get("/runs/jobs/nothing").status_code == 404
    assert client.get("/api/runs/jobs/nothing").status_code == 404
    assert client.get(f"/compare?a={run.id}&b={run.id}").status_code == 400
    service.gold_sets["golden"] = golden_set(gold(service).parent)
    other = kept(service, service.gold_sets["golden"], "g", ["d1"], ids=["k1"])
    refused = client.get(f"/api/compare?a={run.id}&b={other.id}")
    assert (refused.status_code, "a golden set and the other" in refused.text) == (400, True)
    assert client.get(f"/compare?a={run.id}&b=nothing").status_code == 404
    assert client.get(f"/api/compare?a={run.id}").status_code == 400
    assert client.get("/api/runs?limit=many").status_code == 400
    assert client.get("/runs?offset=-5&limit=-5").status_code == 200
    assert client.get(f"/compare/query?a={run.id}&b={run.id}&query=%3Cb%3E").status_code == 404


class TestStarting:
    @pytest.fixture
    def client(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[TestClient]:
        monkeypatch.chdir(tmp_path)
        path = graded_set(tmp_path)
        rows = [{"id": doc, "text": f"gift travel {doc} lobbyist"} for doc in DOCS]
        (tmp_path / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        toml = (
            '[gold.set]\npath = "set.json"\n[engines."מנוע"]\nengine = "bm25"\ncorpus = "c.jsonl"\n'
            '[engines.broken]\nsearch_module = "<b>nowhere"\n'
            '[engines.hangs]\nsearch_module = "hangs.py"\n'
            '[gold.few]\npath = "few.json"\nengines = ["broken"]\n'
        )
        (tmp_path / "few.json").write_text(path.read_text())
        (tmp_path / "hangs.py").write_text(HANGS)
        opened = local_client(served(store, tmp_path, path, toml))
        yield opened
        opened.app.state.run_queue.close()  # type: ignore[attr-defined]

    def test_start_watch_and_see(self, client: TestClient) -> None:
        page = client.get("/runs").text
        assert "<option>מנוע</option>" in page
        answer = client.post("/runs/start", data={"gold": "set", "engine": "מנוע"})
        assert answer.status_code == 303
        place = answer.headers["location"]
        job = place.rsplit("/", 1)[1]
        assert "data-job" in client.get(place).text
        queue = client.app.state.run_queue  # type: ignore[attr-defined]
        done = queue.wait(job)
        assert (done.state, done.by) == ("done", "דפנה")
        assert client.get(f"/api/runs/jobs/{job}").json()["run"] == done.run
        assert f'href="/runs/{done.run}"' in client.get(place).text
        assert client.get(f"/runs/{done.run}").status_code == 200

    def test_an_engine_and_a_gate_appear_when_the_file_is_saved(
        self, client: TestClient, tmp_path: Path
    ) -> None:
        file = tmp_path / "assay.toml"
        before = file.read_text("utf-8")
        gate = '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.99\n'
        file.write_text(
            f'{before}[engines.new]\nengine = "bm25"\ncorpus = "c.jsonl"\n{gate}', "utf-8"
        )
        home = client.get("/api/overview").json()
        assert "new" in [engine["name"] for engine in home["engines"]], "on any page"
        assert "<option>new</option>" in client.get("/runs").text
        place = client.post("/runs/start", data={"gold": "set", "engine": "new"}).headers[
            "location"
        ]
        done = client.app.state.run_queue.wait(place.rsplit("/", 1)[1])  # type: ignore[attr-defined]
        assert "Required: at least 0.99" in client.get(f"/runs/{done.run}?lang=en").text
        file.write_text("[[nonsense", "utf-8")
        assert "not valid TOML" in client.get("/").text
        page = client.get("/runs").text
        assert "not valid TOML" in page
        assert "<option>new</option>" in page
        file.write_text(before, "utf-8")
        page = client.get("/runs").text
        assert "not valid TOML" not in page
        assert "<option>new</option>" not in page

    def test_who_has_no_name_yet_comes_back_to_the_form(self, store: Store, tmp_path: Path) -> None:
        client = local_client(served(store, tmp_path, graded_set(tmp_path)), name="")
        sent = {"gold": "set", "engine": "e"}
        for sender, back in (
            ("http://testserver/runs?gold=set", "%2Fruns%3Fgold%3Dset"),
            ("https://elsewhere.example/runs", "%2F"),
            ("", "%2F"),
        ):
            answer = client.post("/runs/start", data=sent, headers={"referer": sender})
            assert answer.headers["location"] == f"/me?next={back}"

    def test_one_press_counts_runs_all_again_and_goes_back(
        self, client: TestClient, store: Store, tmp_path: Path
    ) -> None:
        service = client.app.state.service  # type: ignore[attr-defined]
        path = service.gold_sets["set"]
        old = [kept(service, path, name, DOCS[n:], days=1) for n, name in enumerate(("מנוע", "x"))]
        append_votes(path, [votes_of("Sam", range(11, 12))[0]])
        sent = {"set": "set", "back": f"/compare?a={old[1].id}&b={old[0].id}"}
        answer = client.post("/runs/again", data=sent)
        watched = answer.headers["location"]
        assert watched.startswith("/runs/again?")
        queue = client.app.state.run_queue  # type: ignore[attr-defined]
        assert [job.engine for job in queue.jobs()] == ["מנוע"], "x cannot be run here"
        assert "data-job" in client.get(watched).text
        done = queue.wait(queue.jobs()[0].id)
        assert done.counted == 1
        assert client.get(watched).headers["location"] == f"/compare?a={old[1].id}&b={done.run}"
        assert client.post("/api/runs/again", json={"gold": "set"}).json() == []
        assert client.post("/runs/again", data={"set": "none"}).status_code == 404

    def test_what_runs_again_is_not_offered_again(self, client: TestClient) -> None:
        service = client.app.state.service  # type: ignore[attr-defined]
        path = service.gold_sets["set"]
        kept(service, path, "hangs", DOCS, days=1)
        append_votes(path, [votes_of("Sam", range(11, 12))[0]])
        assert 'action="/runs/again"' in client.get("/?lang=en").text
        job = client.post("/api/runs/jobs", json={"gold": "set", "engine": "hangs"}).json()["id"]
        page = client.get("/?lang=en").text
        assert "being run on" in page
        assert 'action="/runs/again"' not in page
        client.post(f"/api/runs/jobs/{job}/cancel")

    def test_failures_are_shown(self, client: TestClient) -> None:
        answer = client.post("/api/runs/jobs", json={"gold": "set", "engine": "broken"})
        assert answer.status_code == 202
        queue = client.app.state.run_queue  # type: ignore[attr-defined]
        queue.wait(answer.json()["id"])
        page = client.get(f"/runs/jobs/{answer.json()['id']}").text
        assert "&lt;b&gt;nowhere" in page
        assert_sound(page)

    def test_a_run_that_hangs_is_cancelled_and_so_is_one_that_waits(
        self, client: TestClient, store: Store
    ) -> None:
        jobs = [
            client.post("/api/runs/jobs", json={"gold": "set", "engine": engine}).json()["id"]
            for engine in ("hangs", "מנוע")
        ]
        while client.get(f"/api/runs/jobs/{jobs[0]}").json()["state"] == "waiting":
            time.sleep(0.05)
        page = client.get(f"/runs/jobs/{jobs[0]}").text
        assert f'action="/runs/jobs/{jobs[0]}/cancel"' in page
        waits = client.post(f"/api/runs/jobs/{jobs[1]}/cancel").json()
        assert waits["state"] == "cancelled"
        stopped = client.post(f"/runs/jobs/{jobs[0]}/cancel")
        assert stopped.headers["location"] == f"/runs/jobs/{jobs[0]}"
        assert client.get(f"/api/runs/jobs/{jobs[0]}").json()["state"] == "cancelled"
        page = client.get(f"/runs/jobs/{jobs[0]}").text
        assert "/cancel" not in page
        assert_sound(page)
        assert store.runs() == []
        assert {entry.by for entry in store.audit(action="run.cancelled")} == {"דפנה"}
        again = client.post("/api/runs/jobs", json={"gold": "set", "engine": "מנוע"}).json()["id"]
        queue = client.app.state.run_queue  # type: ignore[attr-defined]
        assert queue.wait(again).state == "done"
        assert client.post(f"/api/runs/jobs/{again}/cancel").json()["state"] == "done"
        assert client.post("/api/runs/jobs/nothing/cancel").status_code == 404

    def test_a_vote_makes_no_page_read_the_set_again(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With ten thousand pairs that takes longer than all the rest of a page."""
        client.get("/runs")
        service = client.app.state.service  # type: ignore[attr-defined]
        path = service.gold_sets["set"]
        kept(service, path, "מנוע", DOCS)
        append_votes(
            path, votes_of("Sam", range(10, 11))
        )  # a new person is a new line of people.toml
        pages, read = ("/", "/judge/set", "/agreement/set"), list[str]()
        for page in pages:
            assert client.get(page).status_code == 200
        real = formats.read_gold
        monkeypatch.setattr(
            formats, "read_gold", lambda path: (read.append(str(path)), real(path))[1]
        )
        append_votes(path, votes_of("Sam", range(11, 12)))
        read.clear()
        for page in pages:
            assert client.get(page).status_code == 200
        assert read == []

    def test_an_engine_that_the_set_is_not_for(self, client: TestClient, store: Store) -> None:
        service = client.app.state.service  # type: ignore[attr-defined]
        service.gold_sets["few"] = Path("few.json")
        client.get("/runs")
        refused = client.post("/runs/start", data={"gold": "few", "engine": "hangs"})
        assert refused.status_code == 400
        assert "few is run with broken, and not with hangs. If it" in refused.text
        called = client.post("/api/runs/jobs", json={"gold": "few", "engine": "hangs"})
        assert (called.status_code, "not with hangs" in called.text) == (400, True)
        refused = client.post("/runs/start?lang=fi", data={"gold": "few", "engine": "hangs"})
        assert "Kultajoukko few ajetaan hakukoneilla broken, ei hakukoneella hangs." in refused.text
        assert store.runs() == []

    def test_what_cannot_be_started(self, client: TestClient) -> None:
        client.get("/runs")
        refused = client.post("/runs/start", data={"gold": "set", "engine": "os:system"})
        assert refused.status_code == 400
        assert "no engine" in refused.text
        assert client.post("/api/runs/jobs", json={"gold": "set"}).status_code == 400
        bare = TestClient(client.app, follow_redirects=False, headers={"cookie": "a=b"})
        assert bare.post("/runs/start", data={"gold": "set", "engine": "x"}).status_code in (
            303,
            403,
        )


def test_only_a_chair_starts_runs() -> None:
    rows = [*DECIDE_ROUTES, *JOB_ROUTES]
    changing = [row for row in rows if "POST" in row.methods]
    assert {row.role for row in changing} == {"chair"}
    assert {row.role for row in rows if "GET" in row.methods} == {"reader"}


def test_the_store_is_gone(service: Service) -> None:
    class Gone:
        def __getattr__(self, name: str) -> object:
            from assay.store import StoreUnavailable

            raise StoreUnavailable("connection refused")

    lost = Service(store=Gone(), gold_sets=service.gold_sets)  # type: ignore[arg-type]
    with TestClient(create_app(lost)) as client:
        for path in ("/", "/runs", "/api/overview"):
            assert client.get(path).status_code == 503


def test_what_waits_for_all_and_what_waits_for_the_reader(store: Store, tmp_path: Path) -> None:
    """Who is unsure has judged, and somebody else is still asked: two counts, and each is named."""
    path = graded_set(tmp_path)
    pairs = tuple(PooledPair(query_id="q0", doc_id=f"n{n}") for n in range(3))
    write_pool(path, Pool(pairs=pairs))
    client = local_client(served(store, tmp_path, path), "Ada")
    assert "of them by you" not in client.get("/?lang=en").text
    unsure = Vote(
        id="v1", query_id="q0", doc_id="n0", grade=None, judge="Ada", kind="human", at="2026-05-01"
    )
    append_votes(path, [unsure])
    page = client.get("/?lang=en").text
    assert "2 of them by you" in page
    assert 'data-n="2"' in page, "the pill at the top says the same"


def test_every_change_shows_at_the_next_request(store: Store, tmp_path: Path) -> None:
    path, rows = graded_set(tmp_path), tmp_path / "gold-set.jsonl"
    write_pool(path, Pool(pairs=tuple(PooledPair(query_id="q0", doc_id=doc) for doc in "xy")))
    opened = served(store, tmp_path, path)
    service = replace(opened, gold_sets={"set": path, "gold-set": rows})
    bootstrapped(service, ["first", "second"], NOW - timedelta(days=9))
    client = local_client(service, "Ada")

    def home() -> dict[str, Any]:
        assert client.get("/").status_code == client.get("/runs").status_code == 200
        found: dict[str, Any] = client.get("/api/overview").json()
        return found

    before = home()
    assert (before["waiting"]["judge"], before["waiting"]["rows"], before["runs"]) == (2, 2, 0)
    vote = {"id": str(uuid4()), "set": "set", "query_id": "q0", "doc_id": "x", "grade": 2}
    assert client.post("/api/votes", json=vote | {"rationale": "On point."}).status_code == 200
    assert home()["waiting"]["judge"] == 1
    assert client.get("/api/judge").json()[0]["judged"] == 1
    item = client.get("/api/review").json()["items"][0]["item"]["id"]
    assert client.post(f"/api/review/{item}/approve", json={}).status_code == 200
    assert home()["waiting"]["rows"] == 1
    kept(service, path, "e", DOCS)
    ran = home()
    assert (ran["runs"], ran["sets"][0]["changed"]) == (1, False)
    path.write_text(path.read_text().replace("gift 0", "edited by hand"))
    assert home()["sets"][0]["changed"]
    assert "edited by hand" in client.get("/judge/set/q0").text
    import_rows(tmp_path, "imported", [{"id": "d1", "title": "One", "text": "One text."}])
    assert "imported" in [engine["name"] for engine in home()["engines"]]
    other = graded_set(tmp_path, name="other")
    kept(service, other, "e", DOCS)
    assert {line["gold"] for line in home()["verdicts"]} == {"set.json"}, "not of a set elsewhere"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_word_of_the_trade_explains_itself(
    service: Service, client: TestClient, lang: str
) -> None:
    """Every button has its sentence on the page, and every sentence a button."""
    first = kept(service, gold(service), "a", DOCS, days=1)
    second = kept(service, gold(service), "b", ["d1", "d0", *DOCS[2:]])
    for path in ("/", "/runs", f"/runs/{first.id}", f"/compare?a={first.id}&b={second.id}"):
        page = client.get(f"{path}{'&' if '?' in path else '?'}lang={lang}").text
        asked = set(re.findall(r'popovertarget="(word-\w+)"', page))
        assert asked == set(re.findall(r'<div popover id="(word-\w+)"', page))
        assert "word-ndcg" in asked, path
        assert str(words_of("glossary", lang)["word ndcg"]) in page


def test_judging_more_changes_no_level_and_a_worse_ranking_does(
    client: TestClient, service: Service, tmp_path: Path
) -> None:
    path = graded_set(tmp_path, queries=12)
    ids = [f"q{n}" for n in range(12)]
    best = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9"]
    whole = path.read_text()
    judged_less = json.loads(whole)
    for query in judged_less["queries"][:4]:
        del query["relevance_judgments"][5:]
    path.write_text(json.dumps(judged_less))
    kept(service, path, "ours", best, days=3, ids=ids)
    path.write_text(whole)
    kept(service, path, "ours", best, days=2, ids=ids)
    assert "No engine got better or worse" in client.get("/runs").text
    first, second = client.get("/api/runs").json()["trends"][0]["events"]
    assert first["value"] != second["value"]
    assert first["today"] == second["today"]
    worse = kept(service, path, "ours", [*(f"x{n}" for n in range(9)), "d0"], days=1, ids=ids)
    *_, last = client.get("/api/runs").json()["trends"][0]["events"]
    assert last["id"] == worse.id
    assert last["step"]["kind"] == "down"
    assert "What changed" in client.get("/runs").text
