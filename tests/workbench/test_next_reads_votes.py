"""What to judge next, read with the votes at hand: a pair whose judges disagree needs a ruling, and
a pair that somebody is judging is not asked for twice. And the advice that needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.judging.pool import Pool, PooledPair, write_pool
from assay.reports.words import LANGUAGES, Words
from assay.reports.words import page_table as words_of
from assay.store import Store
from assay.workbench.judging.votes_to_labels import append_votes, recompute_labels
from kit.commands import Assay
from kit.runs import graded_set, kept, ranking_file, served
from kit.server import local_client
from kit.votes import vote_on

DOCS = [f"d{n}" for n in range(10)]
IDS = [f"q{n}" for n in range(6)]
DISPUTED, VOTED, DEALT = ("q0", "d9"), ("q1", "d9"), ("q2", "d9")
GATED = """[gold.set]
path = "set.json"
[engines.e]
engine = "bm25"
corpus = "c.jsonl"
[[gates]]
measure = "nDCG@10"
minimum = 0.05
min_judged = 1.0
"""


def scored(
    assay_cli: Assay, folder: Path, *, judged: int = 4, second: Sequence[str] = DOCS[::-1]
) -> Path:
    """Two runs on a set of which so many documents a query are judged: a.json and b.json."""
    path = graded_set(folder, judged=judged)
    for name, order in (("a", DOCS), ("b", list(second))):
        run = ranking_file(folder, name, order, IDS)
        done = assay_cli("score", "--dataset", path, "--run", run, "--output", f"{name}.json")
        assert done.code == 0, done.err
    return path


def disagree(path: Path) -> None:
    """Two judges on one pair, one on another that waits for a second, and a third pair dealt."""
    append_votes(path, [vote_on(*DISPUTED, "ada", 2), vote_on(*DISPUTED, "bea", 0)])
    append_votes(path, [vote_on(*VOTED, "ada", 1)])
    pooled = [
        PooledPair(query_id=VOTED[0], doc_id=VOTED[1], wanted=2),
        PooledPair(query_id=DEALT[0], doc_id=DEALT[1], judges=("cy",)),
    ]
    write_pool(path, Pool(pairs=tuple(pooled)))


def head_of(comparison: dict[str, Any]) -> dict[str, Any]:
    """The row of the measure that decides."""
    rows = comparison["differences"]
    return next(row for row in rows if row["measure"] == comparison["headline"])


def pairs_in(rows: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(row["query_id"], row["doc_id"]) for row in rows}


def test_a_pair_with_two_grades_is_listed_for_a_ruling(assay_cli: Assay, tmp_path: Path) -> None:
    path = scored(assay_cli, tmp_path)
    before = assay_cli("gold", "next", "a.json", "b.json", "--json").json
    assert {DISPUTED, VOTED, DEALT} <= pairs_in(before["pairs"])
    assert (before["rulings"], before["being_judged"]) == ([], 0)
    disagree(path)
    found = assay_cli("gold", "next", "a.json", "b.json", "--json", "-o", "asked.csv").json
    left = pairs_in(before["pairs"]) - {DISPUTED, VOTED, DEALT}
    assert pairs_in(found["pairs"]) == left
    assert pairs_in(found["rulings"]) == {DISPUTED}
    assert found["being_judged"] == 2
    assert "q0,gift 0,d9" not in Path("asked.csv").read_text()
    shown = assay_cli("gold", "next", "a.json", "b.json").out
    assert "Judges disagree on 1 pair, which needs a ruling and not another vote" in shown
    assert "2 pairs are being judged or judged since" in shown


def test_a_ruling_and_a_policy_that_labels_it_end_the_wait(
    assay_cli: Assay, tmp_path: Path
) -> None:
    path = scored(assay_cli, tmp_path)
    disagree(path)
    told = "Judges disagree on 1 document. A chair needs to rule on it."
    score = ("score", "--dataset", path, "--run", "a.trec")
    assert told in assay_cli("compare", "a.json", "b.json").out
    assert "1 pair needs a ruling" in assay_cli(*score).err
    assert assay_cli("compare", "a.json", "b.json", "--json").json["rulings"] == 1
    done = assay_cli("gold", "policy", path, "senior", "--senior", "ada")
    assert done.code == 0, done.err
    again = assay_cli(*score)
    assert "needs a ruling" not in again.err
    assert told not in assay_cli("compare", "a.json", "b.json").out
    found = assay_cli("gold", "next", "a.json", "b.json", "--json")
    assert found.code == 0, found.err
    assert (found.json["rulings"], found.json["being_judged"]) == ([], 3)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_pages_list_what_needs_a_ruling(store: Store, tmp_path: Path, lang: str) -> None:
    path = graded_set(tmp_path, judged=4)
    service = served(store, tmp_path, path, GATED)
    run = kept(service, path, "e", DOCS)
    other = kept(service, path, "f", DOCS[::-1], days=1)
    client = local_client(service)
    disagree(path)
    told = words_of("decide", lang)["need_ruling"][0].format(n=1)
    for address in ("/?x=1", f"/runs/{run.id}?x=1", f"/compare?a={other.id}&b={run.id}"):
        page = client.get(f"{address}&lang={lang}").text
        assert told in page, address
        assert 'data-query="q0" data-doc="d9"' not in page, "nobody is asked for another vote"
        assert 'data-query="q2" data-doc="d9"' not in page, "somebody is judging it"
    assert words_of("decide", lang)["being_judged"][0].format(n=1) in page
    assert Words(lang).plural("rulings_needed", 1) in page


def test_home_says_what_comes_next(store: Store, tmp_path: Path) -> None:
    path = graded_set(tmp_path, judged=9)
    service = served(store, tmp_path, path, GATED)
    kept(service, path, "e", DOCS)
    client = local_client(service)

    def headline() -> str:
        return str(client.get("/api/overview").json()["headline"])

    assert headline() == "needs_judging"
    write_pool(
        path,
        Pool(pairs=tuple(PooledPair(query_id=one, doc_id="d9", judges=("cy",)) for one in IDS)),
    )
    assert headline() == "being_judged"
    append_votes(path, [vote_on("q0", "d9", "ada", 2), vote_on("q0", "d9", "bea", 0)])
    assert headline() == "needs_ruling"
    append_votes(path, [vote_on(one, "d9", "cy", 0) for one in IDS])
    assert headline() == "judged"
    recompute_labels(path)
    assert headline() == "changed"


@pytest.mark.parametrize(("judged", "depth"), [(4, 4), (5, 5), (6, 6)])
def test_advice_to_pool_both_lists_comes_first(
    assay_cli: Assay, tmp_path: Path, judged: int, depth: int
) -> None:
    """The second list leaves out the best hit of the first, so it is judged one rank less deep."""
    scored(assay_cli, tmp_path, judged=judged, second=DOCS[1:])
    told = f"To be surer, judge the top {depth} of both: 6 judgments."
    found = head_of(assay_cli("compare", "a.json", "b.json", "--json").json)
    assert found["pool"] == {"depth": depth, "judgments": 6}
    shown = assay_cli("compare", "a.json", "b.json").out
    proven = found["verdict"] in ("better", "worse")
    assert (told in shown) is not proven
    asked = assay_cli("gold", "next", "a.json", "b.json").out
    assert told in asked
    silent = depth > 5
    assert (found["doubt"] is None) is silent
    assert ("Both lists are judged to depth 5" in asked) is silent
    assert ("certain" in asked) is not silent
    of_all_queries = "%)" in asked.split("\n")[0]
    assert ("counts further queries" in " ".join(asked.split())) is (of_all_queries and not silent)
    if silent:
        assert "With all" not in shown + asked


def test_lists_that_are_judged_need_no_pool(assay_cli: Assay, tmp_path: Path) -> None:
    scored(assay_cli, tmp_path, judged=10)
    row = head_of(assay_cli("compare", "a.json", "b.json", "--json").json)
    assert row["pool"] is None
    assert "To be surer" not in assay_cli("compare", "a.json", "b.json").out


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_page_gives_the_advice_and_no_probability(
    store: Store, tmp_path: Path, lang: str
) -> None:
    path = graded_set(tmp_path, judged=6)
    service = served(store, tmp_path, path)
    runs = [kept(service, path, name, order) for name, order in (("e", DOCS), ("f", DOCS[1:]))]
    client = local_client(service)
    pair = f"a={runs[0].id}&b={runs[1].id}"
    change = client.get(f"/api/compare?{pair}").json()["change"]
    assert (change["head"]["doubt"], change["expected"], change["sure"]) == (None, None, None)
    page = client.get(f"/compare?{pair}&lang={lang}").text
    assert Words(lang).plural("pool_both", 6, depth=6) in page
