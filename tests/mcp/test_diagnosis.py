"""What an agent asks of a day, of an act by its everyday name, and of why an engine fails."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import msgspec
import pytest

pytest.importorskip("mcp", reason="needs the package mcp")
from talking import SAMPLES, ToolClient

from assay.core.results import GradedResults
from assay.workbench.deciding.run_boards import may_ship
from assay.workbench.project.service import open_service
from assay.workbench.scoring import history
from assay.workbench.searching import corpora

ACTS = (
    ("700/2030", "Laki lauttojen hankkimisesta", ["lauttalaki"], "2031-01-01", "lautta tilataan"),
    ("500/2020", "Kalalaki", [], "2020-05-01", "kala punnitaan"),
)


@pytest.fixture(scope="module")
def acts(home: Path) -> str:
    """Two acts, of which one has an everyday name and begins later."""
    rows = [
        {
            "id": f"{number}:{section}",
            "title": f"{law} {section} §",
            "text": f"Joka vuosi {text} {count} päivän kuluessa pyynnöstä.",
            "language": "fi",
            "valid_from": begins,
            "law": law,
            "law_id": number,
            "law_names": names,
            "section": section,
        }
        for number, law, names, begins, text in ACTS
        for section, count in (("1", "kymmenen"), ("2", "viiden"))
    ]
    source = home / "acts.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpora.import_corpus("jsonl", source, name="acts", home=home)
    corpora.index_corpus("acts", home=home, dense=False)
    return "acts"


def test_an_act_is_filtered_by_its_everyday_name(agent: ToolClient, acts: str) -> None:
    asked = {"corpus": acts, "query": "päivän kuluessa pyynnöstä", "limit": 10}
    for name in ("lauttalaki", "Lauttalain", "Laki lauttojen hankkimisesta", "700/2030"):
        page = agent.call("search", **asked, filters={"law": name})
        assert {hit["doc_id"] for hit in page["hits"]} == {"700/2030:1", "700/2030:2"}, name


def test_a_day_before_an_act_says_when_it_begins(agent: ToolClient, acts: str) -> None:
    asked = {"corpus": acts, "query": "missä ajassa lautta tilataan pyynnöstä"}
    for day in ("2025-03-01", "1.3.2025"):
        said = agent.refused("search", **asked, filters={"law": "lauttalaki", "as_of": day})
        assert said.endswith("It was not yet in force then: it begins on 2031-01-01.")
    page = agent.call("search", **asked, filters={"as_of": "2031-01-01"})
    assert page["hits"][0]["doc_id"].startswith("700/2030")


def test_what_a_day_hides_is_named(home: Path, agent: ToolClient) -> None:
    lines = (SAMPLES / "fi" / "saaristokuntalaki.jsonl").read_text().splitlines()
    older = {
        **json.loads(lines[0]),
        "law": "Kalalaki",
        "law_id": "500/2020",
        "law_key": "fi:act:500/2020",
        "node_id": "500/2020:fin@20200500:1:1",
        "finlex_version": "fin@20200500",
        "text": "Kala punnitaan satamassa.",
        "effective_from": "2020-05-01",
    }
    source = home / "both.jsonl"
    source.write_text("\n".join([*lines, json.dumps(older)]))
    corpora.import_corpus("finlex", source, name="both", home=home)
    corpora.index_corpus("both", home=home, dense=False)

    asked = {"corpus": "both", "query": "Missä ajassa alijäämä pitää kattaa?"}
    best = agent.call("search", **asked)["hits"][0]
    hidden = agent.call("search", **asked, filters={"as_of": "2025-03-01"})
    assert hidden["answered"] is None
    assert hidden["hits"][0]["citation"].startswith("Kalalaki")
    assert (
        f"{best['title']}, which may, was not yet in force then: it begins on 2032-01-01."
        in hidden["message"]
    )


def test_a_provision_says_since_when_it_is_in_force(agent: ToolClient, acts: str) -> None:
    told = {
        doc_id: agent.call("get_document", corpus=acts, doc_id=doc_id)["in_force"]
        for doc_id in ("700/2030:1", "500/2020:1")
    }
    assert told == {
        "700/2030:1": "not yet in force: from 2031-01-01",
        "500/2020:1": "in force; its act from 2020-05-01; since when it stands so itself is "
        "not known",
    }
    letter = agent.call("get_document", corpus="letters", doc_id="81-027")
    assert letter["in_force"] == ""


def test_failures_say_which_kind_of_question_is_worst(agent: ToolClient) -> None:
    run = agent.call("run_evaluation", gold="opinions", engine="bm25")
    page = agent.call("list_failures", run_id=run["run_id"], limit=200)
    kinds = [kind.split(": ") for kind in page["kinds"]]
    assert {name for name, _ in kinds} == {"natural_language", "fact_pattern", "keyword"}
    means = [float(told.split(" over ")[0]) for _, told in kinds]
    assert means == sorted(means)
    worst = [each["score"] for each in page["failures"] if each["kind"] == kinds[0][0]]
    scored = [score for score in worst if score is not None]
    assert sum(scored) / len(scored) == pytest.approx(means[0], abs=0.002)
    later = agent.call("list_failures", run_id=run["run_id"], offset=2)
    assert later["kinds"] == []
    golden = agent.call("run_evaluation", gold="questions", engine="act")
    page = agent.call("list_failures", run_id=golden["run_id"])
    assert all(kind.endswith(" passed") for kind in page["kinds"])
    assert page["kinds"]


def test_an_explanation_names_the_relevant_documents_that_are_missing(agent: ToolClient) -> None:
    labels = json.loads((SAMPLES / "en" / "dataset.json").read_text())
    run = agent.call("run_evaluation", gold="opinions", engine="bm25")
    some = False
    for query in labels["queries"]:
        asked = {"run_id": run["run_id"], "query_id": query["id"]}
        told = agent.call("explain_score", **asked)
        shown = {doc for doc, grade in zip(told["results"], told["grades"], strict=True) if grade}
        missed = set(told.get("missed", {}))
        assert not missed & set(told["results"])
        relevant = int(told["expected"].split(" of ")[0])
        assert len(shown) + len(missed) + told["more_missed"] == relevant, query["id"]
        grades = list(told.get("missed", {}).values())
        assert grades == sorted(grades, reverse=True)
        some |= bool(missed)
        assert len(json.dumps(told, ensure_ascii=False)) <= 2000
    assert some


def test_a_gate_says_how_many_judgments_it_takes(home: Path) -> None:
    """With so many more of its first hits judged the gate no longer asks for any, with one fewer it
    does."""
    store = f"sqlite:///{home / 'counted.db'}"
    with open_service(store, config=home / "assay.toml", home=home) as service:
        run = history.evaluate(service, "opinions", "bm25")

        def why(more: int) -> str:
            entries, left = [], more
            for entry in cast(GradedResults, run.results).per_query:
                grades = list(entry.grades)
                for at, grade in enumerate(grades[:10]):
                    if grade is None and left:
                        grades[at], left = 0, left - 1
                entries.append(msgspec.structs.replace(entry, grades=grades))
            results = msgspec.structs.replace(run.results, per_query=entries)
            return may_ship(
                service, msgspec.structs.replace(run, id=f"{more}", results=results)
            ).summarize()

        said = re.search(r"that takes (\d+) more judgments of these results", why(0))
        assert said
        assert "that takes 1 more judgment of these results" in why(int(said[1]) - 1)
        assert "that takes" not in why(int(said[1]))


def test_what_settles_two_runs_is_asked_of_these_runs(agent: ToolClient) -> None:
    first, last = [
        agent.call("run_evaluation", gold="opinions", engine=engine)["run_id"]
        for engine in ("random", "bm25")
    ]
    asked = {"gold": "opinions", "limit": 1}
    for run_ids, about in (
        ([], "bm25 against random"),
        ([first, last], "random against bm25"),
        ([first], "random"),
    ):
        page = agent.call("next_to_judge", **asked, run_ids=run_ids)
        assert page["items"][0]["reason"].endswith(f" of the doubt about {about}")
    golden = agent.call("run_evaluation", gold="questions", engine="act")
    said = agent.refused("next_to_judge", **asked, run_ids=[golden["run_id"]])
    assert "is not on the gold set 'opinions'" in said
