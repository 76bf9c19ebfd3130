"""The page of one run answers what a lead asks: may it ship, is it better than the baseline, and
which question is meant."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay.reports.words import LANGUAGES, Words
from assay.reports.words import page_table as words_of
from assay.store import Store
from assay.workbench.deciding.baseline import update_baseline
from assay.workbench.scoring.history import store_run
from assay.workbench.scoring.score import ScoreRequest, score
from kit.runs import golden_set, graded_set, kept, ranking_file, served
from kit.server import local_client

DOCS = [f"d{n}" for n in range(10)]
TOML = '[gold.set]\npath = "{path}"\nbaseline = "base.json"\n[engines.e]\nrun = "e.trec"\n'


def _baseline(path: Path, order: list[str], ids: list[str], why: str) -> None:
    run = ranking_file(path.parent, "before", order, ids)
    update_baseline(
        score(ScoreRequest(dataset=path, run=run)).results,
        path.parent / "base.json",
        by="Ada",
        why=why,
    )


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_run_is_compared_with_the_baseline(store: Store, tmp_path: Path, lang: str) -> None:
    path = graded_set(tmp_path, queries=12)
    ids = [f"q{n}" for n in range(12)]
    _baseline(path, ["x1", "x2", "x3", *DOCS], ids, "the first <release>")
    service = served(store, tmp_path, path, TOML.format(path=path))
    run = kept(service, path, "e", DOCS, ids=ids)
    client = local_client(service)
    page = client.get(f"/runs/{run.id}?lang={lang}").text
    name = Words(lang)("baseline_of", engine="before")
    told = words_of("decide", lang)
    called = client.get(f"/api/runs/{run.id}?lang={lang}").json()
    since = called["since"]
    said = Words(lang)("open", system="e", baseline=name)
    facts = Words(lang).with_directions(gold="set", said=said)
    assert str(told["unproven"]).format(**facts) in page
    assert "the first &lt;release&gt;" in page
    assert page.count(str(told["from_baseline"])) > 1  # a column of changes
    report = client.get(f"/runs/{run.id}/report?lang={lang}").text
    assert name in report
    assert (since["lead"]["kind"], since["lead"]["other"]) == ("turnable", name)
    assert (since["recorded"]["by"], since["change"]["n"]) == ("Ada", 12)
    assert called["results"]["receipt"], "what was recorded is beside it"


def test_without_a_baseline_nothing_is_said_of_one(store: Store, tmp_path: Path) -> None:
    path = graded_set(tmp_path)
    service = served(store, tmp_path, path, TOML.format(path=path))
    run = kept(service, path, "e", DOCS)
    client = local_client(service)
    assert "baseline" not in client.get(f"/runs/{run.id}?lang=en").text
    (tmp_path / "base.json").write_text("{}")  # it cannot be read
    assert "vs baseline" not in client.get(f"/runs/{run.id}?lang=en").text
    (tmp_path / "base.json").unlink()
    _baseline(path, DOCS[::-1], [f"q{n}" for n in range(6)], "again")
    assert "vs baseline" in client.get(f"/runs/{run.id}?lang=en").text


def test_a_golden_run_moves_in_points_and_names_its_questions(store: Store, tmp_path: Path) -> None:
    path = golden_set(tmp_path)
    ids = ["k1", "k2", "k3"]
    _baseline(path, ["d1", "d2", "d3"], ids, "all found")
    service = served(
        store, tmp_path, path, TOML.format(path=path).replace("gold.set", "gold.golden")
    )
    run = kept(service, path, "e", ["d2"], ids=ids)
    page = local_client(service).get(f"/runs/{run.id}?lang=en").text
    assert "e is better on 0 questions, worse on 2" in page
    assert '<a href="#queries">See why</a>' in page
    abstained = page.partition("wrong abstentions")[2].partition("</tr>")[0]
    assert "0% to" in abstained, "every rate has its interval"
    assert "On golden, before (baseline) is probably better than e (" in page
    assert "But MRR@k fell from" not in page, "the verdict says that it is worse"
    assert "-66.7 points" in page
    failed = page.index("MUST</span> <bdi>k1</bdi>")
    assert failed < page.index("MUST</span> <bdi>k3</bdi>") < page.index("<bdi>k2</bdi>")
    home = local_client(service).get("/?lang=en").text
    assert f'<a href="/runs/{run.id}">See why</a>' in home, "a no leads to its reasons"


def test_the_gates_of_today_see_a_baseline_that_came_later(store: Store, tmp_path: Path) -> None:
    """The usual gates of a golden set: the one on a drop could not tell when the run was scored."""
    path = golden_set(tmp_path)
    ids = ["k1", "k2", "k3"]
    toml = TOML.format(path=path).replace("gold.set", "gold.golden")
    service = served(store, tmp_path, path, toml)
    run = kept(service, path, "e", ["d1", "d3", "d2"], ids=ids)
    client = local_client(service)

    def dropped() -> tuple[str, bool]:
        checks = client.get(f"/api/runs/{run.id}").json()["verdict"]["checks"]
        (found,) = (check for check in checks if check["gate"]["name"] == "D")
        return found["status"], found.get("counts", True)

    def listed() -> str | None:
        status: str | None = client.get("/api/runs").json()["page"]["items"][0]["status"]
        return status

    assert (dropped(), listed()) == (("inconclusive", False), "pass")
    _baseline(path, ["d1", "d3", "d2"], ids, "the same")
    assert dropped() == ("pass", True)
    assert "there is no baseline" not in client.get(f"/runs/{run.id}?lang=en").text
    (tmp_path / "base.json").unlink()
    (tmp_path / "base.json").write_text("{}")  # of nothing
    assert (dropped()[0], listed()) == ("inconclusive", "pass")


def test_where_nothing_changed_no_table_says_where(store: Store, tmp_path: Path) -> None:
    path = graded_set(tmp_path)
    service = served(store, tmp_path, path)
    runs = [kept(service, path, "e", DOCS, days=days) for days in (2, 1)]
    runs.append(kept(service, path, "f", DOCS[::-1]))
    client = local_client(service)
    alike, apart = (
        client.get(f"/compare?a={runs[0].id}&b={other.id}&lang=en").text for other in runs[1:]
    )
    assert "6 queries are the same in both." in alike
    assert "Where it changed" not in alike
    assert "Where it changed" in apart


def test_a_list_of_runs_sees_a_baseline_that_came_later(store: Store, tmp_path: Path) -> None:
    path = graded_set(tmp_path)
    gate = '[[gates]]\nmeasure = "nDCG@10"\nmax_drop = 0.02\n'
    service = served(store, tmp_path, path, TOML.format(path=path) + gate)
    run = kept(service, path, "e", DOCS)
    client = local_client(service)

    def told() -> tuple[str, str]:
        line = client.get("/api/runs").json()["page"]["items"][0]
        return line["status"], client.get(f"/api/runs/{run.id}").json()["ship"]

    assert told() == ("inconclusive", "not_yet")
    _baseline(path, DOCS, [f"q{n}" for n in range(6)], "the same")
    assert told() == ("pass", "yes")


def test_what_would_tell_two_engines_apart_is_said_beside_what_a_gate_needs(
    store: Store, tmp_path: Path
) -> None:
    """Where judging helps the gate alone, the page says what helps the other question."""
    path = graded_set(tmp_path, judged=5)
    gate = '[[gates]]\nmeasure = "nDCG@10"\nminimum = 0.1\nmin_judged = 0.9\n'
    service = served(store, tmp_path, path, TOML.format(path=path) + gate)
    runs = [kept(service, path, name, order) for name, order in (("e", DOCS), ("f", DOCS[1:]))]
    client = local_client(service)
    pair = f"a={runs[0].id}&b={runs[1].id}"
    found = client.get(f"/api/compare?{pair}").json()
    doubt = found["change"]["head"]["doubt"]
    assert found["verdict"]["judge_next"], "judging helps the gate"
    assert max(doubt["up"], doubt["down"]) < 0.5, "and hardly the other question"
    page = client.get(f"/compare?{pair}&lang=en").text
    assert "more queries can" in page
    assert "more judgments would decide the gate." in page


def test_runs_of_one_engine_are_told_apart_as_shortly_as_they_can_be(
    store: Store, tmp_path: Path
) -> None:
    path = graded_set(tmp_path)
    service = served(store, tmp_path, path)
    old, new = (kept(service, path, "e", DOCS[:n], days=n) for n in (9, 8))
    client = local_client(service)
    found = client.get(f"/api/compare?a={old.id}&b={new.id}").json()
    assert found["names"] == ["e (2026-05-22)", "e (2026-05-23)"]
    later = store_run(
        replace(service, clock=lambda: new.at + timedelta(hours=1)), old.results, path, "e"
    )
    found = client.get(f"/api/compare?a={new.id}&b={later.id}").json()
    assert found["names"] == ["e (2026-05-23 12:00)", "e (2026-05-23 13:00)"]


def test_the_queries_of_a_run_are_filtered_sorted_and_paged(store: Store, tmp_path: Path) -> None:
    path = golden_set(tmp_path)
    questions = json.loads(path.read_text())
    many = [questions[0] | {"id": f"k{n}", "must": False} for n in range(40)]
    path.write_text(json.dumps(many))
    service = served(
        store, tmp_path, path, TOML.format(path=path).replace("gold.set", "gold.golden")
    )
    found = [f"k{n}" for n in range(20)]
    run = kept(service, path, "e", ["d1"], ids=found)
    client = local_client(service)

    def listed(filters: str) -> list[str]:
        page = client.get(f"/runs/{run.id}?lang=en&{filters}").text
        return re.findall(r"<bdi>(k\d+)</bdi>", page.partition('id="queries"')[2])

    assert len(listed("")) == 30
    assert len(listed("offset=30")) == 10
    assert set(listed("")) | set(listed("offset=30")) == {f"k{n}" for n in range(40)}
    assert not set(listed("")[:20]) & set(found), "what failed comes first"
    assert set(listed("sort=best")[:20]) == set(found)
    assert listed("q=k39") == ["k39"]
