"""`assay gold pool`: what several runs found and nobody has judged."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from assay.workbench.opening import open_service
from assay.workbench.review import queue
from command_line import Assay

GOLD = '{"id":"g001","query":"gift limits","relevant_case_law_ids":["a"],"source":"chair"}\n'


def scored(assay_cli: Assay, name: str, *ids: str, gold: str = "gold-set.jsonl") -> str:
    run = "".join(
        f"g001 Q0 {id} {rank} {10 - rank} {name}\n" for rank, id in enumerate(ids, start=1)
    )
    Path(f"{name}.trec").write_text(run)
    done = assay_cli(
        "score", "--dataset", gold, "--run", f"{name}.trec", "--output", f"{name}.json"
    )
    assert done.code == 0, done.err
    return f"{name}.json"


def test_the_top_of_all_runs_without_what_is_judged(assay_cli: Assay) -> None:
    Path("gold-set.jsonl").write_text(GOLD)
    files = [scored(assay_cli, "one", "d", "a", "b", "z"), scored(assay_cli, "two", "c", "b", "a")]
    done = assay_cli("gold", "pool", *files, "--depth", 3, "--output", "pairs.csv", "--json")
    assert done.code == 0, done.err
    assert [(pair["doc_id"], pair["runs"]) for pair in done.json["pairs"]] == [
        ("b", 2),
        ("c", 1),
        ("d", 1),
    ]
    rows = list(csv.DictReader(Path("pairs.csv").read_text().splitlines()))
    assert [(row["query_id"], row["doc_id"], row["grade"], row["source"]) for row in rows] == [
        ("g001", id, "", "gold pool") for id in "bcd"
    ]
    queued = [
        assay_cli("gold", "pool", *files, "--depth", 3, "--queue", "gold-set.jsonl").err
        for _ in range(2)
    ]
    assert [said.split()[0] for said in queued] == ["3", "0"]
    with open_service() as service:
        assert {item.doc_ids for item in queue(service).items} == {("b",), ("c",), ("d",)}


def test_runs_on_different_gold_sets_are_not_pooled(assay_cli: Assay) -> None:
    Path("gold-set.jsonl").write_text(GOLD)
    Path("other.jsonl").write_text(json.dumps(json.loads(GOLD) | {"relevant_case_law_ids": ["x"]}))
    files = [scored(assay_cli, "one", "a"), scored(assay_cli, "two", "b", gold="other.jsonl")]
    done = assay_cli("gold", "pool", *files)
    assert (done.code, "different gold sets" in done.err) == (2, True)
