"""`assay gold pool`: what several systems put on top, dealt to judges without a trace of who found
it."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import formats
from assay.judging.pool import (
    Pool,
    PooledPair,
    after_unsure,
    deal_pairs,
    doubles_wanted,
    pairs_left,
    read_pool,
    with_one_more_judge,
)
from kit.commands import Assay
from kit.server import serving
from kit.sets import add_votes, write_set
from kit.votes import vote_on

SET = Path("set.json")
DOCUMENTS = {f"d{number}": f"gift limits and honoraria {number}" for number in range(12)}


def make_set(queries: int = 3, **judged: int) -> None:
    """q1 is judged as given; the others are not."""
    rows = [
        {"id": f"q{n}", "text": f"gift limits {n}", "relevance_judgments": []}
        for n in range(1, queries + 1)
    ]
    rows[0]["relevance_judgments"] = [
        {"opinion_id": doc_id, "score": score} for doc_id, score in judged.items()
    ]
    SET.write_text(json.dumps({"queries": rows}))
    lines = [json.dumps({"id": id, "text": text}) for id, text in DOCUMENTS.items()]
    Path("corpus.jsonl").write_text("\n".join(lines))


def make_run(name: str, *ids: str, queries: int = 3) -> str:
    Path(name).write_text(
        "".join(
            f"q{query} Q0 {id} {rank} {10 - rank} {name}\n"
            for query in range(1, queries + 1)
            for rank, id in enumerate(ids, start=1)
        )
    )
    return name


def kept() -> Pool:
    pool = read_pool(SET)
    assert pool is not None
    return pool


def test_engines_and_runs_of_any_format_are_pooled_on_a_set_without_judgments(
    assay_cli: Assay,
) -> None:
    make_set()
    Path("beir.json").write_text(json.dumps({f"q{n}": {"d7": 2.0, "d8": 1.0} for n in (1, 2, 3)}))
    scored = ("score", "--dataset", SET, "--run", make_run("one.trec", "d9"), "-o", "one.json")
    assert assay_cli(*scored).code == 0
    Path("mine.py").write_text("def search(query, top_k):\n    return ['d10', 'd11'][:top_k]\n")
    engines = ("--engine", "bm25", "--engine", "random", "--search-module", "mine.py")
    runs = ("--run", make_run("two.trec", "d5", "d6"), "--run", "beir.json", "--run", "one.json")
    done = assay_cli(
        "gold", "pool", SET, *engines, *runs, "--corpus", "corpus.jsonl", "--depth", 2, "--json"
    )
    assert done.code == 0, done.err
    pool = kept()
    assert set(pool.systems) == {"bm25", "random", "mine.py", "two", "beir", "one"}
    assert (pool.depth, pool.corpus) == (2, "corpus.jsonl")
    assert pool.corpus_fingerprint
    assert pool.keys >= {(f"q{n}", f"d{doc}") for n in (1, 2, 3) for doc in (5, 6, 7, 8, 9, 10, 11)}
    assert done.json["new"] == done.json["waiting"] == len(pool.pairs)


def test_the_file_tells_nothing_of_who_found_what(assay_cli: Assay) -> None:
    make_set()
    runs = ("--run", make_run("a.trec", *DOCUMENTS), "--run", make_run("b.trec", "d3", "d1"))
    assert assay_cli("gold", "pool", SET, *runs, "--output", "pairs.csv").code == 0
    pairs = json.loads(Path("set.pool.json").read_text())["pairs"]
    assert {key for pair in pairs for key in pair} == {"query_id", "doc_id", "judges"}
    rows = list(csv.DictReader(Path("pairs.csv").read_text().splitlines()))
    assert set(rows[0]) == {"query_id", "query", "doc_id", "judge", "grade", "rationale", "source"}
    assert {row["source"] for row in rows} == {"gold pool"}
    queries = [pair["query_id"] for pair in pairs]
    assert len(queries) - len(set(queries)) == sum(
        here == there for here, there in pairwise(queries)
    )  # those of one query stand together
    orders = {
        tuple(pair["doc_id"] for pair in pairs if pair["query_id"] == query) for query in queries
    }
    assert len(orders) == 3
    assert tuple(DOCUMENTS)[:10] not in orders
    first = Path("set.pool.json").read_bytes()
    Path("set.pool.json").unlink()
    assert assay_cli("gold", "pool", SET, *runs).code == 0
    assert Path("set.pool.json").read_bytes() == first
    Path("set.pool.json").unlink()
    assert assay_cli("gold", "pool", SET, *runs, "--seed", 7).code == 0
    assert [pair.doc_id for pair in kept().pairs] != [pair["doc_id"] for pair in pairs]


def test_judges_are_dealt_equal_loads_and_the_share_of_doubles(assay_cli: Assay) -> None:
    make_set(queries=10)
    run = make_run("a.trec", *DOCUMENTS, queries=10)
    dealt = ("--judges", "anna,bertil,cilla", "--overlap", 0.2)
    done = assay_cli("gold", "pool", SET, "--run", run, *dealt, "-o", "pairs.json", "--json")
    assert done.code == 0, done.err
    assert (done.json["waiting"], done.json["by_two"]) == (100, 20)
    assert set(done.json["by_judge"].values()) == {40}
    doubles = Counter(pair.query_id for pair in kept().pairs if len(pair.judges) == 2)
    assert set(doubles.values()) == {2}
    assert len(doubles) == 10
    rows = json.loads(Path("pairs.json").read_text())
    assert len(rows) == 120
    assert len({tuple(row.values()) for row in rows}) == 120
    Path("set.pool.json").unlink()
    everything = ("--judges", "anna,bertil", "--overlap", 1)
    assert assay_cli("gold", "pool", SET, "--run", run, *everything, "--json").json["by_two"] == 100


def test_pooling_again_adds_what_is_new_and_keeps_who_was_asked(assay_cli: Assay) -> None:
    make_set(d0=2)
    dealt = ("--judges", "anna,bertil", "--overlap", 0.5, "--depth", 4)
    run = make_run("a.trec", "d0", "d1", "d2", "d3")
    done = assay_cli("gold", "pool", SET, "--run", run, *dealt, "--json")
    assert (done.json["found"], done.json["judged"], done.json["new"]) == (12, 1, 11)
    before = {pair.key: pair.judges for pair in kept().pairs}
    first = next(pair for pair in kept().pairs if len(pair.judges) == 1)
    add_votes(SET, [vote_on(*first.key, first.judges[0])])
    run = make_run("b.trec", "d3", "d4", "d5")
    done = assay_cli("gold", "pool", SET, "--run", run, "--depth", 2, "-o", "left.csv", "--json")
    assert done.json["new"] == 3  # d4 on three queries; d5 is deeper
    after = {pair.key: pair.judges for pair in kept().pairs}
    assert {key: after[key] for key in before} == before
    assert sum(len(judges) == 2 for judges in after.values()) == 7  # half of 14
    assert (kept().systems, kept().depth) == (("a", "b"), 2)
    left = {
        (row["query_id"], row["doc_id"])
        for row in csv.DictReader(Path("left.csv").read_text().splitlines())
    }
    assert left == after.keys() - {first.key}
    again = assay_cli("gold", "pool", SET, "--run", run, "--depth", 2, "--json")
    assert again.json["new"] == 0
    assert {p.key: p.judges for p in kept().pairs} == after


def test_what_nobody_was_asked_for_is_dealt_when_judges_are_named(assay_cli: Assay) -> None:
    make_set()
    run = make_run("a.trec", "d1", "d2")
    assert assay_cli("gold", "pool", SET, "--run", run).code == 0
    assert {pair.judges for pair in kept().pairs} == {()}
    done = assay_cli("gold", "pool", SET, "--run", run, "--judges", "anna,bertil", "--json")
    assert (done.json["new"], done.json["by_judge"]) == (0, {"anna": 3, "bertil": 3})


def test_a_pair_for_two_waits_for_the_second(assay_cli: Assay) -> None:
    make_set(queries=1)
    run = make_run("a.trec", "d1", queries=1)
    pool = ("gold", "pool", SET, "--run", run, "--judges", "anna,bertil", "--overlap", 1, "--json")
    assert assay_cli(*pool).json["by_judge"] == {"anna": 1, "bertil": 1}
    add_votes(SET, [vote_on("q1", "d1", "anna")])
    assert assay_cli(*pool).json["by_judge"] == {"bertil": 1}
    add_votes(SET, [vote_on("q1", "d1", "bertil")])
    done = assay_cli(*pool)
    assert (done.json["waiting"], "is judged" in done.err) == (0, True)


def test_a_machine_s_vote_takes_nothing_from_people(assay_cli: Assay) -> None:
    make_set(queries=1)
    add_votes(SET, [vote_on("q1", "d1", "model", kind="machine")])
    done = assay_cli("gold", "pool", SET, "--run", make_run("a.trec", "d1", queries=1), "--json")
    assert (done.json["judged"], done.json["waiting"]) == (0, 1)


def test_who_is_unsure_makes_a_second_judge_be_asked() -> None:
    pairs = tuple(PooledPair(query_id="q1", doc_id=id, judges=("anna",)) for id in ("d1", "d2"))
    pool = Pool(judges=("anna", "bertil"), pairs=pairs)
    votes = [vote_on("q1", "d1", "anna", None), vote_on("q1", "d2", "anna", 1)]
    asked = after_unsure(pool, votes)
    assert [pair.judges for pair in asked.pairs] == [("anna", "bertil"), ("anna",)]
    assert after_unsure(asked, votes) == asked


def test_the_review_queue_takes_what_waits(assay_cli: Assay) -> None:
    make_set(queries=1, d1=1)
    run = make_run("a.trec", "d1", "d2", "d3", queries=1)
    said = [assay_cli("gold", "pool", SET, "--run", run, "--queue").err for _ in range(2)]
    assert ["2 new pairs" in said[0], "0 new pairs" in said[1]] == [True, True]
    with serving() as server:
        waiting = server.visitor().items(state="pending_review")
        assert sorted(item["doc_ids"] for item in waiting) == [["d2"], ["d3"]]


def test_configured_engines_are_asked_by_name(assay_cli: Assay) -> None:
    make_set()
    make_run("a.trec", "d1")
    Path("assay.toml").write_text(
        '[gold.mine]\npath = "set.json"\n[engines.saved]\nrun = "a.trec"\n'
        '[engines.ours]\nengine = "bm25"\ncorpus = "corpus.jsonl"\n'
    )
    done = assay_cli("gold", "pool", SET, "--engine", "saved", "--engine", "ours", "--depth", 3)
    assert done.code == 0, done.err
    assert kept().systems == ("saved", "ours")
    assert ("q1", "d1") in kept().keys


def test_a_share_that_was_asked_for_needs_two_judges_still(assay_cli: Assay) -> None:
    make_set()
    run = make_run("a.trec", "d1")
    pool = ("gold", "pool", SET, "--run")
    assert assay_cli(*pool, run, "--judges", "anna,bertil", "--overlap", 0.5).code == 0
    more = make_run("b.trec", "d2")
    assert "--overlap 0" in assay_cli(*pool, more, "--judges", "cilla").err
    assert assay_cli(*pool, more, "--judges", "cilla", "--overlap", 0).code == 0
    assert {pair.judges for pair in kept().pairs if pair.doc_id == "d2"} == {("cilla",)}


# ── what is refused ───────────────────────────────────────────────────────────────────────────────


def test_a_call_that_fails_stops_everything(assay_cli: Assay) -> None:
    make_set()
    Path("mine.py").write_text(
        "def search(query, top_k):\n    if query.endswith('2'):\n        raise OSError('gone')\n"
        "    return ['d1']\n"
    )
    done = assay_cli(
        "gold", "pool", SET, "--search-module", "mine.py", "--run", make_run("a.trec", "d1")
    )
    assert done.code == 4
    assert "mine.py" in done.err
    assert "'q2'" in done.err
    assert "gone" in done.err
    assert not Path("set.pool.json").exists()


def test_documents_that_nobody_can_read_are_left_out(assay_cli: Assay) -> None:
    make_set()
    run = make_run("a.trec", "d1", "elsewhere")
    done = assay_cli("gold", "pool", SET, "--run", run, "--corpus", "corpus.jsonl")
    assert "3 hits of a" in done.err
    assert {pair.doc_id for pair in kept().pairs} == {"d1"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("one.json", "two.json"), "--run one.json"),
        (("set.json", "set.json", "--run", "a.trec"), "one gold set"),
        (("set.json",), "nothing to pool"),
        (("set.json", "--run", "other.trec"), "none of the set's queries"),
        (("set.json", "--run", "a.trec", "--overlap", "0.2"), "two judges"),
        (("set.json", "--run", "a.trec", "--judges", "anna", "--overlap", "1"), "two judges"),
        (("set.json", "--run", "a.trec", "--judges", "a,b,a"), "needs a different name"),
        (("set.json", "--run", "a.trec", "--judges", "a,b", "--overlap", "20"), "share"),
        (("set.json", "--run", "a.trec", "-o", "pairs.xlsx"), ".csv or .json"),
        (("set.json", "--run", "a.trec", "-o", "set.json"), "overwrite"),
        (("set.json", "--run", "a.trec", "--citations"), "--corpus NAME"),
        (("set.json", "--engine", "nothing"), "unknown engine"),
        (("set.json", "--run", "a.trec", "--corpus", "gone"), "no corpus 'gone'"),
    ],
)
def test_what_cannot_be_pooled(args: tuple[str, ...], said: str, assay_cli: Assay) -> None:
    make_set()
    make_run("a.trec", "d1")
    Path("other.trec").write_text("z Q0 d1 1 1 other\n")
    for name in ("one.json", "two.json"):
        Path(name).write_text('{"per_query": []}')
    done = assay_cli("gold", "pool", *args)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not Path("set.pool.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        '{"format": 1, "pairs": [',
        '{"format": 2}',
        '{"pairs": [{"query_id": "q1"}]}',
        '{"pairs": [{"query_id": "q1", "doc_id": "d1"}, {"query_id": "q1", "doc_id": "d1"}]}',
        '{"pairs": [{"query_id": "q1", "doc_id": "d1", "judges": ["a", "a"]}]}',
    ],
)
def test_a_pool_that_was_damaged_is_not_written_over(content: str, assay_cli: Assay) -> None:
    make_set()
    Path("set.pool.json").write_text(content)
    done = assay_cli("gold", "pool", SET, "--run", make_run("a.trec", "d1"))
    assert (done.code, "set.pool.json" in done.err) == (2, True)
    assert Path("set.pool.json").read_text() == content


# ── documents that cite each other ────────────────────────────────────────────────────────────────


def test_what_the_top_cites_and_is_cited_by_is_asked_for(assay_cli: Assay) -> None:
    make_set(queries=1)
    opinions = Path(__file__).parents[2] / "samples" / "en" / "opinions"
    assert assay_cli("corpus", "import", "fppc", opinions, "--name", "opinions").code == 0
    shown = [assay_cli("corpus", "show", "opinions", id, "--json").json for id in ("A-19-112",)]
    linked = {id for one in shown for id in (*one["cites"], *one["cited_by"])}
    assert len(linked) > 1
    run = ("--run", make_run("a.trec", "A-19-112", queries=1), "--corpus", "opinions")
    done = assay_cli("gold", "pool", SET, *run, "--citations", "--json")
    assert done.code == 0, done.err
    assert kept().systems == ("a", "citations")
    assert {pair.doc_id for pair in kept().pairs} == {"A-19-112", *linked}
    Path("set.pool.json").unlink()
    assert assay_cli("gold", "pool", SET, *run, "--citations", "--depth", 1).code == 0
    assert len(kept().pairs) == 2


# ── dealing pairs to judges: what holds of every deal ─────────────────────────────────────────────


@st.composite
def deals(draw: st.DrawFn) -> tuple[int, list[str], int, int]:
    count = draw(st.integers(0, 150))
    judges = [f"judge {number}" for number in range(draw(st.integers(1, 9)))]
    doubles = draw(st.integers(0, count)) if len(judges) > 1 else 0
    return count, judges, doubles, draw(st.integers(0, 5))


@given(deals())
def test_every_pair_has_its_judges_and_nobody_has_more_than_the_others(
    dealt: tuple[int, list[str], int, int],
) -> None:
    count, judges, doubles, seed = dealt
    asked = deal_pairs(count, judges, doubles=doubles, seed=seed)
    assert len(asked) == count
    assert {len(who) for who in asked} <= {1, 2}
    assert all(len(set(who)) == len(who) for who in asked)  # nobody is asked twice
    assert sum(len(who) == 2 for who in asked) == doubles
    loads = Counter({judge: 0 for judge in judges})
    loads.update(judge for who in asked for judge in who)
    assert set(loads) == set(judges)
    assert max(loads.values()) - min(loads.values()) <= 1
    together = Counter({frozenset(two): 0 for two in combinations(judges, 2)})
    together.update(frozenset(who) for who in asked if len(who) == 2)
    assert not together or max(together.values()) - min(together.values()) <= 1
    assert asked == deal_pairs(count, judges[::-1], doubles=doubles, seed=seed)


@given(deals(), st.integers(1, 30))
def test_the_doubly_judged_are_spread_over_the_order(
    dealt: tuple[int, list[str], int, int], size: int
) -> None:
    count, judges, doubles, seed = dealt
    asked = deal_pairs(count, judges, doubles=doubles, seed=seed)
    for start in range(0, count - size + 1, size):
        double = sum(len(who) == 2 for who in asked[start : start + size])
        assert abs(double - size * doubles / count) < 2


def test_who_has_had_less_comes_first() -> None:
    loads = {"a": 5, "b": 0, "c": 3}
    assert deal_pairs(1, ["a", "b", "c"], doubles=0, loads=loads) == [("b",)]
    assert set(deal_pairs(1, ["a", "b", "c"], doubles=1, loads=loads)[0]) == {"b", "c"}


def test_what_one_judge_has_alone_stands_together() -> None:
    asked = [who[0] for who in deal_pairs(90, ["a", "b", "c"], doubles=0, seed=4)]
    assert sum(here != there for here, there in pairwise(asked)) == 2


@given(st.floats(0, 1), st.lists(st.integers(1, 40), max_size=6))
def test_the_share_is_right_however_often_the_pool_grows(
    overlap: float, batches: list[int]
) -> None:
    total = double = 0
    for batch in batches:
        total += batch
        double += doubles_wanted(overlap, total, double, batch)
        assert double == round(overlap * total)


def test_a_second_look_is_asked_of_somebody_else(tmp_path: Path) -> None:
    gold = formats.read_gold(write_set(tmp_path))
    dealt = Pool(
        judges=("ada", "ben", "cy"),
        pairs=(
            PooledPair(query_id="q0", doc_id="a", judges=("ada",)),
            PooledPair(query_id="q0", doc_id="b", judges=("ben",)),
        ),
    )
    asked = with_one_more_judge(dealt, [("q0", "a")])
    assert {pair.doc_id: pair.judges for pair in asked.pairs} == {"a": ("ada", "cy"), "b": ("ben",)}
    assert with_one_more_judge(asked, [("q0", "a")]) == asked, "once is enough"

    anybodys = Pool(pairs=(PooledPair(query_id="q0", doc_id="a"),))
    again = with_one_more_judge(anybodys, [("q0", "a"), ("q0", "new")])
    first = [vote_on("q0", "a", "ada", 2)]
    assert not pairs_left(anybodys, gold, first)
    assert {pair.doc_id for pair in pairs_left(again, gold, first)} == {"a", "new"}
    both = [*first, vote_on("q0", "a", "ben", 1)]
    assert {pair.doc_id for pair in pairs_left(again, gold, both)} == {"new"}
