"""`assay tune`, by its command: engines over HTTP, in Python and of our own, and fused runs."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from markupsafe import escape

import assay
from assay.reports.words import LANGUAGES, Words
from assay.workbench.agents.runs import tune_engine
from assay.workbench.project.service import open_service
from kit.commands import Assay
from kit.search_server import Asked, Reply, search_server
from kit.server import local_client

QUERIES = [f"q{number:02}" for number in range(24)]
GOLD = {
    "version": "1",
    "created_at": "2026-01-01",
    "description": "made up",
    "taxonomy": {},
    "queries": [
        {
            "id": query,
            "text": f"question {query}",
            "type": "keyword",
            "topic": "t",
            "issue": "i",
            "notes": "",
            "relevance_judgments": [
                {"opinion_id": f"{query}-good", "score": 2, "rationale": "r"},
                {"opinion_id": f"{query}-bad", "score": 0, "rationale": "r"},
            ],
        }
        for query in QUERIES
    ],
}
# the good document is first where `depth` reaches it, which is so for most queries from 3 on
MODULE = """
import os, time
from pathlib import Path

class Engine:
    def __init__(self, depth=1):
        self.depth = depth

    def search(self, query, top_k=20, *, boost=0):
        with open("calls.txt", "a") as log:
            log.write(f"{self.depth} {boost} {query}\\n")
        if self.depth == 13:
            raise ValueError("thirteen")
        if self.depth == 99:
            os._exit(7)
        time.sleep(float(os.environ.get("SLOW", "0")))
        name = query.split()[1]
        number = int(name[1:])
        good = number % 6 < self.depth + boost
        return [f"{name}-{kind}" for kind in (("good", "bad") if good else ("bad", "good"))]
"""


@pytest.fixture(autouse=True)
def gold(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "gold.json").write_text(json.dumps(GOLD))
    (tmp_path / "mine.py").write_text(MODULE)


def configure(folder: Path, text: str) -> None:
    (folder / "assay.toml").write_text(f'[gold.made]\npath = "gold.json"\n\n{text}')


def calls(folder: Path) -> list[str]:
    return (folder / "calls.txt").read_text().splitlines()


PYTHON = """
[engines.mine]
search_module = "mine.py"
parameters = { depth = 2 }

[tune.mine]
depth = [1, 2, 3, 6]
boost = [0]
measure = "P(rel=1)@1"
"""


def test_a_better_setting_of_a_python_engine_is_found_and_can_be_pasted(
    assay_cli: Assay, tmp_path: Path
) -> None:
    configure(tmp_path, PYTHON)
    outcome = assay_cli("tune", "mine", "-o", "best.toml")
    assert outcome.code == 0, outcome.err
    assert "better than what you run: depth = 6" in outcome.out
    best = tomllib.loads((tmp_path / "best.toml").read_text())
    assert best == {"engines": {"mine": {"parameters": {"depth": 6, "boost": 0}}}}
    found = json.loads((tmp_path / ".assay/tune/mine/tune.json").read_text())
    # 2 of 6 are right now, all with depth 6: whatever is left out, depth 6 is chosen
    assert found["choice"]["honest"] == 1.0
    assert found["choice"]["optimism"] == 0.0
    assert found["choice"]["current_mean"] == pytest.approx(1 / 3)
    # the current setting is asked as the table has it, without boost
    assert sorted(set(calls(tmp_path))) == sorted(
        f"{depth} {boost} question {query}"
        for depth, boost in ((1, 0), (2, 0), (3, 0), (6, 0))
        for query in QUERIES
    )


def test_nothing_is_asked_twice_and_fresh_asks_again(assay_cli: Assay, tmp_path: Path) -> None:
    configure(tmp_path, PYTHON)
    assert assay_cli("tune", "mine").code == 0
    first = len(calls(tmp_path))
    again = assay_cli("tune", "mine", "--json")
    assert len(calls(tmp_path)) == first
    assert again.json["trials"][0]["parameters"] == {"depth": 2}
    assert assay_cli("tune", "mine", "--fresh").code == 0
    assert len(calls(tmp_path)) == 2 * first


def test_a_killed_sweep_goes_on_without_repeating_a_call(assay_cli: Assay, tmp_path: Path) -> None:
    configure(tmp_path, PYTHON.replace("boost = [0]\n", ""))
    command = [sys.executable, "-m", "assay", "tune", "mine"]
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "SLOW": "0.05"})
    log = tmp_path / ".assay/tune/mine/calls.jsonl"
    deadline = time.monotonic() + 60
    while not log.exists() or log.read_bytes().count(b"\n") < 30:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    size = -1
    while size != (size := (tmp_path / "calls.txt").stat().st_size):
        time.sleep(1)  # its worker goes with it
    kept = log.read_bytes()
    log.write_bytes(kept + b'{"key": "torn')  # what a kill in the middle of a write leaves
    answered = kept.count(b"\n")
    made = len(calls(tmp_path))
    assert made - answered <= 1  # the one that was under way
    assert assay_cli("tune", "mine").code == 0
    repeated = len(calls(tmp_path)) - len(set(calls(tmp_path)))
    assert repeated <= made - answered


def test_a_setting_that_fails_is_reported_and_the_others_are_compared(
    assay_cli: Assay, tmp_path: Path
) -> None:
    configure(tmp_path, PYTHON.replace("[1, 2, 3, 6]", "[13, 99, 6]"))
    outcome = assay_cli("tune", "mine")
    assert outcome.code == 0, outcome.err
    said = " ".join(outcome.out.split())
    assert "depth = 13, boost = 0: failed on 24 of 24 queries: ValueError: thirteen" in said
    assert "depth = 99, boost = 0: failed on 24 of 24 queries: the engine ended" in said
    assert "better than what you run: depth = 6" in outcome.out
    rows = list(csv.DictReader(io.StringIO((tmp_path / ".assay/tune/mine/trials.csv").read_text())))
    assert [row["failed"] for row in rows] == ["0", "24", "24", "0"]


UNKNOWN = PYTHON.replace("boost = [0]", "boots = [1, 2]")
ALONE = "no setting could be measured besides the current one:"


@pytest.mark.parametrize(
    ("table", "said", "error"),
    [
        (UNKNOWN, ALONE, "neither __init__ nor search has the parameter boots"),
        (PYTHON.replace("[1, 2, 3, 6]", "[13]"), ALONE, "depth = 13, boost = 0: failed on 24 of"),
        (
            UNKNOWN.replace("depth = 2", "depth = 13"),
            "no setting could be measured:",
            "depth = 13: failed on 24 of 24 queries: ValueError: thirteen",
        ),
    ],
)
def test_a_sweep_without_a_measured_setting_fails_with_their_errors(
    assay_cli: Assay, tmp_path: Path, table: str, said: str, error: str
) -> None:
    configure(tmp_path, table)
    outcome = assay_cli("tune", "mine", "-o", "best.toml")
    assert outcome.code == 4
    assert said in outcome.err
    assert error in outcome.err
    assert outcome.err.count("the parameter boots") <= 1  # one error is said once
    assert "No setting is better" not in outcome.out
    assert not (tmp_path / "best.toml").exists()
    assert not (tmp_path / ".assay/tune/mine/running.json").exists()


# one more question is right with boost = 5, which proves nothing
LUCKY = PYTHON.replace("depth = [1, 2, 3, 6]\nboost = [0]", "boost = [5]")


def be_lucky(folder: Path) -> None:
    lucky = MODULE.replace("self.depth + boost", "self.depth or number == boost")
    (folder / "mine.py").write_text(lucky)


def test_where_no_setting_is_better_the_current_one_is_written(
    assay_cli: Assay, tmp_path: Path
) -> None:
    be_lucky(tmp_path)
    configure(tmp_path, LUCKY)
    outcome = assay_cli("tune", "mine", "-o", "best.toml")
    assert outcome.code == 0, outcome.err
    written = (tmp_path / "best.toml").read_text()
    assert "# No setting is better than what you run." in written
    assert tomllib.loads(written) == {"engines": {"mine": {"parameters": {"depth": 2}}}}
    tuned = assay.tune("mine")
    assert tuned.best == {"depth": 2, "boost": 5}  # the highest mean
    assert tuned.toml == written.strip()


def test_an_unproven_setting_is_not_written(assay_cli: Assay, tmp_path: Path) -> None:
    be_lucky(tmp_path)
    configure(tmp_path, LUCKY.replace("parameters = { depth = 2 }\n", ""))
    outcome = assay_cli("tune", "mine", "-o", "best.toml")
    assert outcome.code == 2
    assert "No setting is better than what you run." in outcome.out
    assert "not written: no setting is better than what you run" in outcome.err
    assert not (tmp_path / "best.toml").exists()


def http_reply(number: int, asked: Asked) -> Reply:
    sent = asked.json
    name, k = sent["q"].split()[1], sent["k"]
    if k == 7:
        return Reply(status=400, body="no seven")
    kinds = ("good", "bad") if int(name[1:]) % 6 < k / 10 else ("bad", "good")
    return Reply(body={"hits": [{"id": f"{name}-{kind}"} for kind in kinds]})


HTTP = """
[engines.prod]
http = "{url}/search"
body = '{{"q": {{{{query}}}}, "k": {{{{rrf_k}}}}}}'
hits = "hits"
concurrency = 4
parameters = {{ rrf_k = 20 }}

[tune.prod]
rrf_k = [7, 10, 30, 60]
measure = "P(rel=1)@1"
{more}
"""


def test_placeholders_of_an_http_engine_are_tuned_with_its_limits(
    assay_cli: Assay, tmp_path: Path
) -> None:
    with search_server(http_reply) as server:
        configure(tmp_path, HTTP.format(url=server.url.rstrip("/"), more=""))
        outcome = assay_cli("tune", "prod")
        assert outcome.code == 0, outcome.err
        assert "better than what you run: rrf_k = 60" in outcome.out
        assert "rrf_k = 7: failed on 24 of 24 queries" in outcome.out
        assert "no seven" in outcome.out
        assert {body["k"] for body in server.bodies()} == {7, 10, 20, 30, 60}
        assert len(server.asked) == 5 * len(QUERIES)
        assert 1 < server.most_at_once <= 4
        score = assay_cli("score", "--gold", "gold.json", "--engine", "prod", "-m", "P(rel=1)@1")
        assert score.code == 0
        assert "0.333" in score.out


def test_a_setting_beyond_the_limits_of_time_or_cost_cannot_win(
    assay_cli: Assay, tmp_path: Path
) -> None:
    more = "max_cost = 50\ncost = { rrf_k = 1 }"
    with search_server(http_reply) as server:
        configure(tmp_path, HTTP.format(url=server.url.rstrip("/"), more=more))
        outcome = assay_cli("tune", "prod", "--json")
        assert outcome.code == 0, outcome.err
        best = outcome.json["choice"]["winner"]
        assert outcome.json["trials"][best]["parameters"] == {"rrf_k": 30}
        limited = HTTP.format(url=server.url.rstrip("/"), more="max_p95_ms = 0.0001")
        configure(tmp_path, limited)
        outcome = assay_cli("tune", "prod")
        assert "No setting is better than what you run." in outcome.out
        assert "is above 0.0001 ms" in outcome.out


def write_runs(folder: Path) -> None:
    for name, right in (("first", 4), ("second", 2)):
        lines = []
        for number, query in enumerate(QUERIES):
            good = number % 6 < right
            for rank, kind in enumerate(("good", "bad") if good else ("bad", "good")):
                lines.append(f"{query} Q0 {query}-{kind} {rank + 1} {2 - rank} {name}\n")
        (folder / f"{name}.run").write_text("".join(lines))


FUSED = """
[tune.fused]
fuse = ["first.run", "second.run"]
measure = "P(rel=1)@1"
first = [0, 1, 2]
second = [1, 2]
current = { first = 0 }
"""


def test_fused_runs_are_weighed_by_their_names(assay_cli: Assay, tmp_path: Path) -> None:
    write_runs(tmp_path)
    configure(tmp_path, FUSED)
    outcome = assay_cli("tune", "fused", "-o", "page.html")
    assert outcome.code == 0, outcome.err
    found = json.loads((tmp_path / ".assay/tune/fused/tune.json").read_text())
    best = found["trials"][found["choice"]["winner"]]["parameters"]
    assert best["first"] >= best["second"]
    assert found["choice"]["verdict"] == "better"
    assert found["choice"]["apparent"] == pytest.approx(2 / 3)
    page = (tmp_path / "page.html").read_text()
    assert "Mean by first and second" in page
    assert "better than what you run" in page


@pytest.mark.parametrize("language", ["fi", "he"])
def test_other_languages_have_the_same_report(
    assay_cli: Assay, tmp_path: Path, language: str
) -> None:
    write_runs(tmp_path)
    configure(tmp_path, FUSED)
    outcome = assay_cli("tune", "fused", "--language", language, "-o", "page.html")
    assert outcome.code == 0, outcome.err
    assert f'lang="{language}"' in (tmp_path / "page.html").read_text()
    assert "than what you run" not in outcome.out


def test_optuna_goes_on_where_it_stopped(assay_cli: Assay, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    text = PYTHON.replace("[1, 2, 3, 6]", "{ from = 1, to = 6 }")
    configure(tmp_path, text + 'search = "optuna"\nbudget = 12\n')
    outcome = assay_cli("tune", "mine", "--json")
    assert outcome.code == 0, outcome.err
    first = len(calls(tmp_path))
    assert outcome.json["search"] == "optuna"
    assert outcome.json["choice"]["verdict"] == "better"
    again = assay_cli("tune", "mine", "--json")
    assert again.json["trials"] == outcome.json["trials"]
    assert len(calls(tmp_path)) == first


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[tune.mine]\n", "there is no parameter to tune"),
        ("[tune.mine]\ndepth = 3\n", "neither a list nor a range"),
        ("[tune.mine]\ndepth = { from = 3, to = 1 }\n", "a range goes up"),
        ("[tune.mine]\ndepth = [1, 2]\nbudget = 0\n", "the budget must be from 1"),
        ("[tune.mine]\ndepth = [1, 2]\nengine = 4\n", "Expected str"),
        ("[tune.other]\ndepth = [1, 2]\n", "there is no table [tune.mine]"),
        ("[tune.mine]\ndepth = [1, 2]\nengine = 'no'\n", "there is no engine 'no'"),
        ("[tune.mine]\ndepth = [1, 2, 3]\nsearch = 'grid'\nbudget = 2\n", "the grid has 3"),
    ],
)
def test_mistakes_are_named(assay_cli: Assay, tmp_path: Path, table: str, said: str) -> None:
    configure(tmp_path, PYTHON.partition("[tune.mine]")[0] + table)
    outcome = assay_cli("tune", "mine")
    assert outcome.code == 2
    assert said in outcome.err
    assert not (tmp_path / "calls.txt").exists()


def test_a_result_of_an_unknown_kind_is_refused_before_the_sweep(
    assay_cli: Assay, tmp_path: Path
) -> None:
    configure(tmp_path, PYTHON)
    outcome = assay_cli("tune", "mine", "-o", "best.pdf")
    assert outcome.code == 2
    assert ".pdf" in outcome.err
    assert not (tmp_path / "calls.txt").exists()


def test_weights_of_our_own_index_are_tuned(assay_cli: Assay, tmp_path: Path) -> None:
    rows = [
        {"id": f"{query}-{kind}", "title": "", "text": f"question {query} {kind} text"}
        for query in QUERIES
        for kind in ("good", "bad")
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "documents.jsonl").write_text(lines)
    assert assay_cli("corpus", "import", "jsonl", "documents.jsonl", "--name", "tiny").code == 0
    assert assay_cli("index", "tiny", "--no-dense").code == 0
    table = '[engines.own]\nengine = "tiny"\n[tune.own]\ncitation = [0, 1]\ncharacters = [0, 2]\n'
    configure(tmp_path, table)
    outcome = assay_cli("tune", "own", "--json")
    assert outcome.code == 0, outcome.err
    means = {
        trial["parameters"].get("characters"): trial["mean"] for trial in outcome.json["trials"]
    }
    assert means[0] != means[2]  # the weight reaches the ranking
    configure(tmp_path, table.replace("citation", "colour"))
    wrong = assay_cli("tune", "own")
    assert wrong.code == 4
    assert "the index has no setting colour to choose" in wrong.err


def test_agents_and_python_get_the_same_answer(assay_cli: Assay, tmp_path: Path) -> None:
    configure(tmp_path, PYTHON)
    with open_service(config=tmp_path / "assay.toml") as service:
        told = tune_engine(service, "mine")
    assert told.verdict == "A setting is better than what you run: depth = 6, boost = 0."
    tuned = assay.tune("mine")
    assert (told.honest, told.optimism) == (tuned.honest, tuned.optimism) == (1.0, 0.0)
    assert tuned.toml == told.toml
    frame = tuned.to_frame()
    assert frame.height == told.settings == 5
    assert frame["mean"].max() == 1.0


def test_a_setting_that_cannot_be_made_in_python_is_reported() -> None:
    def make(depth: int = 1) -> object:
        if depth == 3:
            raise ValueError("three")
        return lambda query, top_k=20: ["B", "A"] if depth < 2 else ["A", "B"]

    gold = {f"q{number}": {"A": 1} for number in range(12)}
    tuned = assay.tune(make, gold, {"depth": [2, 3]}, measure="RR")
    assert (tuned.verdict, tuned.best) == ("better", {"depth": 2})
    assert "ValueError: three" in tuned.report.trials[2].excluded


# ── golden questions ──────────────────────────────────────────────────────────────────────────────

QUESTIONS = [
    {
        "id": query,
        "query": f"question {query}",
        "must": False,
        "expected_any": [{"doc_id": f"{query}-good"}],
        "k": 1,
        "min_score": 0,
    }
    for query in QUERIES
]


def test_golden_questions_are_tuned_by_their_pass_rate(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text(json.dumps(QUESTIONS))
    table = PYTHON.replace('measure = "P(rel=1)@1"', 'gold = "golden.json"')
    configure(tmp_path, table)
    outcome = assay_cli("tune", "mine")
    assert outcome.code == 0, outcome.err
    assert "better than what you run: depth = 6" in outcome.out
    assert "24 questions" in outcome.out
    found = json.loads((tmp_path / ".assay/tune/mine/tune.json").read_text())
    assert found["measure"] == "pass_rate_total"
    assert (found["choice"]["current_mean"], found["choice"]["honest"]) == (pytest.approx(1 / 3), 1)
    winner = json.loads((tmp_path / ".assay/tune/mine/winner.json").read_text())
    assert winner["overall"]["pass_rate_total"] == 1.0
    made = len(calls(tmp_path))
    assert assay_cli("tune", "mine").code == 0
    assert len(calls(tmp_path)) == made
    configure(tmp_path, table + 'measure = "nDCG@10"\n')
    refused = assay_cli("tune", "mine")
    assert refused.code == 2
    assert "tuned by their pass rate" in refused.err


# ── the page ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_shows_the_verdict_and_the_settings(
    assay_cli: Assay, tmp_path: Path, language: str
) -> None:
    configure(tmp_path, PYTHON)
    assert assay_cli("tune", "mine").code == 0
    with open_service(config=tmp_path / "assay.toml") as service:
        client = local_client(service)
        page = client.get(f"/tune/mine?lang={language}").text
        listed = client.get(f"/runs?lang={language}").text
        front = client.get(f"/?lang={language}").text
        table = client.get("/api/tune/mine/trials.csv")
        state = client.get("/api/tune/mine").json()
        missing = client.get("/tune/none")
    headline = escape(Words(language)("tune.better", setting="depth = 6, boost = 0"))
    assert headline in page
    assert headline in listed
    if language == "en":
        assert "<h1>No gold set has been scored yet.</h1>" in listed
        assert "no gold set has been scored yet" in front
    assert "[engines.mine.parameters]" in page
    assert table.text == (tmp_path / ".assay/tune/mine/trials.csv").read_text()
    assert (state["report"]["choice"]["verdict"], state["running"]) == ("better", None)
    assert missing.status_code == 404


def test_a_page_shows_how_far_a_sweep_is(assay_cli: Assay, tmp_path: Path) -> None:
    configure(tmp_path, PYTHON)
    command = [sys.executable, "-m", "assay", "tune", "mine"]
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "SLOW": "0.2"})
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / ".assay/tune/mine/running.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with open_service(config=tmp_path / "assay.toml") as service:
            client = local_client(service)
            running = client.get("/api/tune/mine").json()["running"]
            page = client.get("/tune/mine").text
    finally:
        process.kill()
        process.wait()
    assert 0 < running["done"] < running["of"] == 5 * len(QUERIES)
    assert f"of {running['of']} calls are answered" in page
    assert "assay tune mine" in page
