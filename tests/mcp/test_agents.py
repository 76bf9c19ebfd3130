"""What a language model needs to get it right at the first try: in process, through the SDK's own
client."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from assay.mcp.server import in_agents_words

pytest.importorskip("mcp", reason="needs the package mcp")
from talking import ToolClient

from assay.core.errors import InputError
from assay.core.results import GradedEntry, GradedResults, Unjudged
from assay.core.types import Document
from assay.corpus.citations import (
    VERSION,
    ProvisionPlace,
    Resolver,
    _with_moment,
    imported_by_older,
)
from assay.corpus.disk import Corpus, Manifest
from assay.corpus.importers.kinds import importer
from assay.corpus.in_force import provision_statuses
from assay.law.citation import Resolution
from assay.law.parse import parse
from assay.reports.wording import Sentences
from assay.reports.words import Words
from assay.review.backlog import Ages
from assay.search.answers import FoundDocument
from assay.workbench.agents.documents import passage_shown, search_results
from assay.workbench.agents.gold_sets import NO_GRADES, OutsideQueue, metrics_of
from assay.workbench.review.queue import Backlog, BacklogFigures
from assay.workbench.review.suggestions import _never_judged
from assay.workbench.searching.search import FoundPage


def test_search_says_when_nothing_answers(agent: ToolClient) -> None:
    listed = agent.call("list_corpora")["corpora"]
    assert {row["name"] for row in listed} == {"letters", "act"}
    found = agent.call("search", corpus="letters", query="rent control and rental housing")
    assert found["answered"]
    assert found["message"] == ""
    first = found["hits"][0]
    assert first["citation"].startswith("Wendling")
    assert "79-003" in first["citation"]
    lost = agent.call("search", corpus="letters", query="how long to bake sourdough bread at home")
    assert lost["answered"] is False
    assert "Perhaps nothing in this corpus answers" in lost["message"]


def test_search_takes_the_filters_of_the_command(agent: ToolClient) -> None:
    asked = {"corpus": "letters", "query": "conflict of interest"}
    some = agent.call("search", **asked, filters={"year": "1979-1981"}, limit=50)
    every = agent.call("search", **asked, limit=50)
    assert 0 < len(some["hits"]) < len(every["hits"])
    citing = agent.call("search", **asked, filters={"statute": "4503"}, limit=50)
    assert 0 < len(citing["hits"]) <= len(every["hits"])
    said = agent.refused("search", **asked, filters={"year": "1850"})
    assert "passes the filters year '1850'" in said
    assert "2010-2020" in agent.refused("search", **asked, filters={"year": "soon"})
    assert "no filter 'topics'" in agent.refused("search", **asked, filters={"topics": "x"})
    assert "not a date" in agent.refused("search", **asked, filters={"as_of": "yesterday"})


def test_citations_are_looked_up_and_ready_to_write(agent: ToolClient) -> None:
    read = agent.call("cite", text="See the Wendling letter, No. 79-003.", corpus="letters")
    assert read["citations"][0]["doc_ids"] == ["79-003"]
    law = agent.call("search", corpus="act", query="lain tarkoitus", limit=1)
    assert "Saaristokuntalaki (9001/2031)" in law["hits"][0]["citation"]
    assert "§" in law["hits"][0]["citation"]
    assert "no corpus 'nowhere'" in agent.refused("cite", text="x", corpus="nowhere")


def test_sets_queries_engines_and_rubric_can_be_listed(agent: ToolClient) -> None:
    sets = agent.call("list_gold_sets")["gold_sets"]
    assert [one["path"] for one in sets] == ["opinions.json", "questions_golden.json"]
    lines = agent.call("list_queries", gold="opinions", limit=5)["queries"]
    assert lines[0]["query_id"] == "q001"
    assert lines[0]["judged"] > 0
    found = agent.call("list_queries", gold="opinions", find="gift")["queries"]
    assert 0 < len(found) < 21
    engines = agent.call("list_engines")["engines"]
    assert {one["name"]: one["gold_sets"] for one in engines} == {
        "bm25": ["opinions"],
        "random": ["opinions"],
        "act": ["opinions", "questions"],
    }
    rubric = agent.call("get_rubric", gold="opinions")
    assert rubric["grades"] == [0, 1, 2]
    assert len(rubric["text"]) > 100
    named = agent.call("get_rubric", name="fppc-relevance-2")
    assert named["version"].startswith("fppc-relevance-2@")
    assert "fppc-relevance-3" in agent.refused("get_rubric", name="mine")


def test_a_comparison_is_words_first_and_short(agent: ToolClient) -> None:
    runs = [
        agent.call("run_evaluation", gold="opinions", engine=engine)["run_id"]
        for engine in ("random", "bm25")
    ]
    listed = agent.call("list_runs", gold="opinions")["runs"]
    assert [run["run_id"] for run in listed[:2]] == runs[::-1]
    assert set(listed[0]["figures"]) >= {"ndcg@10"}
    assert {run["gold"] for run in listed} == {"opinions"}
    answer = agent.call_tool("compare_runs", {"run_ids": runs})
    text = answer.content[0].text
    assert len(text) < 2000
    assert next(iter(json.loads(text))) == "verdict"
    assert answer.structured_content["verdict"].startswith(
        "bm25 is significantly better than random"
    )
    assert "assay" not in text
    many = agent.call_tool("compare_runs", {"run_ids": runs * 5})
    assert len(many.content[0].text) < 2000
    whole = agent.call("compare_runs", run_ids=runs, details=True)
    assert whole["details"]["differences"][0]["p_adjusted"] >= 0
    told = agent.call("explain_score", run_id=runs[1], query_id="q001")
    assert "judged documents are relevant" in told["expected"]
    assert "rank" in told["outcome"]


def test_a_golden_question_tells_what_was_expected(agent: ToolClient) -> None:
    run = agent.call("run_evaluation", gold="questions", engine="act")
    lines = agent.call("list_queries", gold="questions", limit=200)["queries"]
    told = [
        agent.call("explain_score", run_id=run["run_id"], query_id=line["query_id"])
        for line in lines
    ]
    failed = [one for one in told if not one["passed"]]
    assert run["failed"] == [one["query_id"] for one in failed]
    assert run["summary"].startswith(f"{len(told) - len(failed)} of {len(told)} questions")
    listed = agent.call("list_runs", gold="questions")["runs"]
    assert {one["gold"] for one in listed} == {"questions"}  # not questions_golden, its file
    assert failed
    assert all(one["outcome"].startswith("Failed: ") for one in failed)
    assert all("in the top" in one["expected"] for one in told)
    assert any(hit["what"] == "expected" for one in told for hit in one["hits"])


def test_a_figure_comes_with_what_nobody_has_judged(agent: ToolClient) -> None:
    run = agent.call("run_evaluation", gold="opinions", engine="bm25")
    assert re.match(
        r"51% of the top 10 is judged\. .* between 0\.477 and 0\.991\. ", run["summary"]
    )
    assert "nDCG@10 is 0.668 (95% interval 0.585 to 0.741)" in run["summary"]


def test_what_waits_says_what_it_leaves_out(home: Path, agent: ToolClient) -> None:
    vote = {"query_id": "q001", "doc_id": "81-027", "kind": "human", "at": "2026-01-05T10:00:00Z"}
    votes = [
        {"id": "v1", "judge": "ada", "grade": 0, **vote},
        {"id": "v2", "judge": "ben", "grade": 2, **vote},
    ]
    file = home / "opinions.votes.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in votes))
    try:
        for asked in ({}, {"gold": "opinions"}):
            waiting = agent.call("list_waiting", **asked)
            assert waiting["disagreements"] == 1
            assert "Not in that queue: 1 disagreement to be ruled on" in waiting["message"]
            assert "1 disagreement" in agent.call("get_metrics", **asked)["summary"]
        assert agent.call("list_waiting", gold="questions")["disagreements"] == 0
    finally:
        file.unlink()


def test_what_to_judge_brings_the_document(agent: ToolClient) -> None:
    for engine in ("random", "bm25"):
        agent.call("run_evaluation", gold="opinions", engine=engine)
    page = agent.call("next_to_judge", gold="opinions", limit=3)
    assert "0 " in page["scale"]
    for item in page["items"]:
        document = item["documents"][0]
        assert document["found"]
        assert document["corpus"]
        assert document["title"]
        assert 50 < len(document["passage"]) <= 902
    first = page["items"][0]
    given = {
        "gold": "opinions",
        "query_id": first["query_id"],
        "doc_id": first["doc_ids"][0],
        "grade": 1,
        "rationale": "The same rule.",
        "by": "test",
    }
    assert agent.call("suggest_judgment", **given)["state"] == "pending_review"
    waiting = agent.call("list_waiting", gold="opinions")
    assert waiting["items"][0]["grade"] == 1
    assert waiting["items"][0]["by"] == "test"
    after = agent.call("next_to_judge", gold="opinions", limit=3)
    assert first["doc_ids"] not in [
        item["doc_ids"] for item in after["items"] if item["query_id"] == first["query_id"]
    ]
    assert "in the expert's queue" in agent.call("get_metrics")["summary"]
    off = agent.refused("suggest_judgment", **given | {"grade": 3})
    assert "grade 3 is not on the scale" in off
    gone = agent.refused("suggest_judgment", **given | {"doc_id": "99-999"})
    assert "'99-999'" in gone
    known = agent.refused("suggest_judgment", **given | {"doc_id": "81-027", "query_id": "q001"})
    assert "judged already for query 'q001': grade" in known
    slip = agent.refused("suggest_judgment", **given | {"query_id": "q01"})
    assert "Near: " in slip
    golden = {"gold": "questions", "query_id": "x"}
    assert "no query 'x'" in agent.refused("suggest_judgment", **given | golden)
    lines = agent.call("list_queries", gold="questions", limit=1)["queries"]
    golden["query_id"] = lines[0]["query_id"]
    assert "pass or fail" in agent.refused("suggest_judgment", **given | golden)


def test_resources_and_prompts(agent: ToolClient) -> None:
    templates = {each.uri_template for each in agent.list_resource_templates().resource_templates}
    assert len(templates) == 3
    rubric = agent.read_resource("rubric://gold/opinions")
    assert "grade" in rubric.contents[0].text.lower()
    usual = agent.read_resource("rubric://default")
    assert len(usual.contents[0].text) > 500
    document = agent.read_resource("document://letters/79-003")
    assert "rental housing" in document.contents[0].text
    run = agent.call("run_evaluation", gold="opinions", engine="bm25")
    report = agent.read_resource(f"report://{run['run_id']}")
    assert "nDCG@10" in report.contents[0].text
    with pytest.raises(Exception, match="no document 'x'"):
        agent.read_resource("document://letters/x")
    prompts = {each.name for each in agent.list_prompts().prompts}
    assert prompts == {"judge_these", "is_b_better"}
    told = agent.get_prompt("judge_these", {"gold": "opinions", "how_many": "3"})
    assert "suggest_judgment" in told.messages[0].content.text
    told = agent.get_prompt(
        "is_b_better", {"gold": "opinions", "engine_a": "random", "engine_b": "bm25"}
    )
    assert "compare_runs" in told.messages[0].content.text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("no such file", where="/srv/app/gold.json"), "gold.json: no such file"),
        (InputError("x", hint="Run `assay index c`. Known: a, b."), "x. Known: a, b."),
        (InputError("x", hint="Give --force to go on."), "x"),
        (InputError("see /a/b/c.toml and ./d/e.json"), "see c.toml and e.json"),
    ],
)
def test_errors_are_in_the_agents_terms(error: InputError, said: str) -> None:
    assert in_agents_words(error) == said


def test_arguments_have_an_end_and_are_text(agent: ToolClient) -> None:
    """What is refused is repeated in a line, however long it was."""
    long = "levy " * 30_000

    said = [
        agent.refused("search", corpus="letters", query=long),
        agent.refused("search", corpus="letters", query="x" * 10_001),
        agent.refused("search", corpus=long[:90_000], query="x"),
        agent.refused("get_document", corpus="letters", doc_id=long[:90_000]),
        agent.refused("search", **{long: "x"}),
        agent.refused("search", corpus="letters", query="x", filters={long: "x"}),
        agent.refused("cite", text="Section 1 " * 2_001),
        agent.refused(long),
    ]
    assert max(map(len, said)) <= 2_000


def test_half_a_character_is_no_text() -> None:
    from assay.mcp.server import _unreadable

    assert "half a character" in _unreadable({"filters": {"a": ["x", "\ud800"]}})
    assert _unreadable({"query": "שלום 𝔸", "limit": 3, "filters": None}) == ""


def test_a_corpus_says_its_language_and_a_question_in_another_is_told(agent: ToolClient) -> None:
    listed = agent.call("list_corpora")["corpora"]
    assert {each["name"]: each["language"] for each in listed} == {"letters": "en", "act": "fi"}
    english = "Within what time must the municipality cover its accumulated deficit?"
    found = agent.call("search", corpus="act", query=english)
    assert (found["answered"], found["language"]) == (None, "fi")
    assert found["message"].startswith("This corpus is in Finnish; ask in Finnish.")
    nonsense = "Miten leivotaan mustikkapiirakka uunissa?"
    found = agent.call("search", corpus="act", query=nonsense)
    assert found["answered"] is False
    assert "ask in Finnish" not in found["message"]
    past = agent.call("search", corpus="act", query=nonsense, offset=190)
    assert past["message"] == "There are no more hits." or past["hits"]


def test_what_begins_in_2032_is_not_in_force_today(agent: ToolClient) -> None:
    asked = "Missä ajassa alijäämä pitää kattaa?"
    hit = agent.call("search", corpus="act", query=asked)["hits"][0]
    assert hit["status"] == "not yet in force"
    assert hit["date"] == "2032-01-01"
    assert hit["citation"].endswith("mom. (ei vielä voimassa)")
    later = {"as_of": "2034-01-01"}
    hit = agent.call("search", corpus="act", query=asked, filters=later)["hits"][0]
    assert hit["status"] == "in force"


@pytest.mark.parametrize(
    ("answered", "note", "said"),
    [
        (True, "", ""),
        (None, "The match is weak.", "The match is weak."),
        (False, "", "Perhaps nothing in this corpus answers"),
        (
            False,
            "There is no report of Oulu here.",
            "There is no report of Oulu here. These are only the near",
        ),
    ],
)
def test_the_hits_of_a_question_without_an_answer_are_called_the_nearest(
    answered: bool | None, note: str, said: str
) -> None:
    hit = FoundDocument(rank=1, doc_id="d", score=0.5, title="", snippet="", words=[], signals={})
    page = FoundPage(
        items=[hit],
        documents=[Document(id="d", text="t")],
        next_offset=None,
        answered=answered,
        note=note,
    )
    results = search_results("c", "q", page)
    assert results.answered is answered
    assert results.message.startswith(said)
    assert bool(results.message) == bool(said)


def test_a_changed_suggestion_is_not_dropped_unsaid(agent: ToolClient) -> None:
    agent.call("run_evaluation", gold="opinions", engine="bm25")
    item = agent.call("next_to_judge", gold="opinions", limit=1)["items"][0]
    pair = {
        "gold": "opinions",
        "query_id": item["query_id"],
        "doc_id": item["doc_ids"][0],
        "rationale": "because",
        "by": "an agent of two minds",
    }
    first = agent.call("suggest_judgment", grade=0, **pair)
    again = agent.call("suggest_judgment", grade=0, **pair)
    assert first["item_id"] == again["item_id"]
    said = agent.refused("suggest_judgment", grade=1, **pair)
    assert "is pending, with grade 0; the new grade was not recorded" in said


def test_a_golden_set_takes_no_grades_and_says_so(agent: ToolClient) -> None:
    rubric = agent.call("get_rubric", gold="questions")
    assert (rubric["grades"], rubric["text"]) == ([], NO_GRADES)
    assert agent.call("next_to_judge", gold="questions")["message"] == NO_GRADES
    agent.call("run_evaluation", gold="opinions", engine="bm25")
    past = agent.call("next_to_judge", gold="opinions", offset=10_000)
    assert past["message"] == "There is nothing from offset 10000 on."


def test_a_report_has_slices_and_queries_and_what_nobody_judged(agent: ToolClient) -> None:
    run = agent.call("run_evaluation", gold="opinions", engine="bm25")
    report = agent.read_resource(f"report://{run['run_id']}").contents[0].text
    assert run["summary"] in report
    assert "lobbying" in report
    assert report.count("\n| q0") == run["queries"]


def test_a_miss_says_where_the_expected_place_is(agent: ToolClient) -> None:
    run = agent.call("run_evaluation", gold="questions", engine="act")
    told = [
        agent.call("explain_score", run_id=run["run_id"], query_id=each)["outcome"]
        for each in run["failed"]
    ]
    missed = [each for each in told if "expected place" in each]
    assert missed
    for outcome in missed:
        assert re.search(r"is not among the \d+ results?\.|is at rank \d+\.", outcome)
        assert ("close:" in outcome) == ("Close means" in outcome)


def test_errors_say_what_there_is(agent: ToolClient) -> None:
    said = agent.refused("search", corpus="act", query="alijäämä", filters={"section": "21"})
    assert "there is no filter 'section'; filters has topic, statute, law" in said
    run = agent.call("run_evaluation", gold="opinions", engine="random")
    said = agent.refused("explain_score", run_id="random", query_id="q001")
    assert f"{run['run_id']} ('random' on '" in said
    said = agent.refused("get_document", corpus="act", doc_id="21 § 1 mom.")
    assert "call cite" in said
    letter = agent.call("get_document", corpus="letters", doc_id="81-027")
    assert "addressed_to" not in letter["metadata"]
    assert letter["section"] == []
    hit = agent.call("search", corpus="act", query="alijäämä")["hits"][0]
    moment = agent.call("get_document", corpus="act", doc_id=hit["doc_id"])
    section = hit["doc_id"].rpartition(":")[0]
    assert {each["doc_id"].rpartition(":")[0] for each in moment["section"]} == {section}
    assert hit["doc_id"] not in {each["doc_id"] for each in moment["section"]}


def test_ages_are_rounded() -> None:
    ages = Ages(p50=6.96e-6, p90=1.23456, p99=None, max=2.0)
    backlog = Backlog(
        pending_review=1,
        approved=0,
        rejected=0,
        published=0,
        total=1,
        oldest_pending_at=None,
        age_days=ages,
        weeks=4,
        throughput_per_week=0.3333,
        arrivals_per_week=0.25,
        forecast_empty_at=None,
        forecast="open",
    )
    figures = BacklogFigures(backlog=backlog, halacha_backlog=None)
    told = metrics_of(figures, OutsideQueue(disagreements=0, to_judge=0)).backlog
    assert told.age_days == Ages(p50=0.0, p90=1.23, p99=None, max=2.0)
    assert told.throughput_per_week == 0.33


def test_may_it_ship_is_answered_by_the_gates_of_the_project(agent: ToolClient) -> None:
    """The usual gates A and B, which nobody asked for, would say the opposite of the golden set."""

    runs = [
        agent.call("run_evaluation", gold="opinions", engine=engine)
        for engine in ("random", "bm25")
    ]
    thin = "Not yet: the gates are inconclusive. INCONCLUSIVE: nDCG@10"
    assert runs[1]["may_ship"].startswith(f"May bm25 ship? {thin}")
    assert "of the top 10 is judged, 90% needed" in runs[1]["may_ship"]
    ids = [run["run_id"] for run in runs]
    compared = agent.call("compare_runs", run_ids=ids)
    assert compared["may_ship"] == runs[1]["may_ship"]
    report = agent.read_resource(f"report://{ids[1]}")
    assert report.contents[0].text.startswith(runs[1]["may_ship"])
    golden = agent.call("run_evaluation", gold="questions", engine="act")
    text = agent.read_resource(f"report://{golden['run_id']}").contents[0].text
    assert text.startswith(golden["may_ship"])
    assert "every gate passes" in golden["may_ship"]
    assert "**All gates pass**" in text


def test_a_share_of_judged_hits_says_which_queries_it_counts() -> None:
    unjudged = Unjudged(measure="nDCG@10", judged_share=0.58, judged_only=0.8, worst=0.5, best=0.9)
    tell = Sentences(Words("en"))
    some = tell.bounds(unjudged, 10, {"n_scored": 16, "n_expected": 21})
    assert some.startswith("58% of the top 10 of the 16 scored queries is judged.")
    every = tell.bounds(unjudged, 10, {"n_scored": 21, "n_expected": 21})
    assert every.startswith("58% of the top 10 is judged.")


def test_the_date_of_an_act_is_not_that_of_its_sections() -> None:
    laws = ["one date", "one date", "several", "several"]
    frame = pl.DataFrame(
        {
            "valid_from": ["2015-05-01", "2015-05-01", "2015-05-01", "2020-06-01"],
            "valid_to": "",
            "metadata": [json.dumps({"law": law}) for law in laws],
            "locator.doc_id": laws,
            "locator.section": ["1", "2", "1", "2"],
            "locator.moment": "",
            "text": "Kunnan alijäämä katetaan.",
        }
    )
    manifest = SimpleNamespace(kind="finlex")
    found = provision_statuses(cast(Corpus, SimpleNamespace(frame=frame.lazy(), manifest=manifest)))
    assert [found.is_dated(row) for row in range(4)] == [False, False, True, True]


def test_filters_say_what_there_is_and_what_they_hide(agent: ToolClient) -> None:
    asked = {"corpus": "letters", "query": "free ticket to a ball game as a gift"}
    said = agent.refused("search", **asked, filters={"topic": "gifts"})
    assert "gifts_honoraria" in said
    hidden = agent.call("search", **asked, filters={"topic": "campaign_finance"})
    assert hidden["answered"] is None
    assert "among the documents that pass the filters" in hidden["message"]
    lost = {"corpus": "letters", "query": "how long to bake sourdough bread at home"}
    none = agent.call("search", **lost, filters={"topic": "lobbying"})
    assert none["answered"] is False
    ids = []
    for statute in ("4503(b)", "Section 4503(b)"):
        page = agent.call("search", **asked, filters={"statute": statute}, limit=50)
        ids.append([hit["doc_id"] for hit in page["hits"]])
    assert ids[0] == ids[1] != []


def test_a_corpus_names_its_acts(agent: ToolClient) -> None:
    corpus = agent.call("list_corpora")["corpora"]
    act = next(each for each in corpus if each["name"] == "act")
    assert act["acts"] == ["Saaristokuntalaki (9001/2031)"]
    assert (act["more_acts"], act.get("note", "")) == (0, "")


def test_a_corpus_of_an_older_importer_says_so() -> None:
    now = {"importer": importer("finlex").VERSION, "resolve": VERSION}
    for versions, older in ((now, False), (now | {"importer": 1}, True), ({}, False)):
        manifest = SimpleNamespace(kind="finlex", versions=versions)
        assert imported_by_older(cast(Manifest, manifest)) is older


def test_a_passage_from_inside_a_text_begins_with_an_ellipsis() -> None:
    document = Document(id="d", text="The first sentence. And then the second one.")
    assert passage_shown(document, "The first sentence.") == "The first sentence."
    assert passage_shown(document, "And then the second") == "… And then the second"


def test_a_run_in_a_list_has_its_failures_and_whether_it_may_ship(agent: ToolClient) -> None:
    run = agent.call("run_evaluation", gold="questions", engine="act")
    listed = agent.call("list_runs", gold="questions", limit=1)["runs"][0]
    assert listed["failed"] == run["failed"][:10] != []
    assert listed["may_ship"] in ("yes", "not_yet")
    with pytest.raises(Exception, match=r"no engine 'solr' is configured\. Known: bm25"):
        agent.get_prompt(
            "is_b_better", {"gold": "opinions", "engine_a": "solr", "engine_b": "bm25"}
        )


def test_queries_without_judgments_are_offered_and_named() -> None:
    def entry(query_id: str, judged: list[int]) -> GradedEntry:
        grades = [1 if judged else None, None]
        return GradedEntry(
            query_id=query_id, results=["a", "b"], grades=grades, known_grades=judged, metrics={}
        )

    bare = [entry("q1", [1]), entry("q2", []), entry("q3", [])]
    results = cast(GradedResults, SimpleNamespace(per_query=bare))
    offered = [(one.query_id, one.doc_ids[0]) for one in _never_judged(results, "bm25")]
    assert offered == [("q2", "a"), ("q3", "a"), ("q2", "b"), ("q3", "b")]


def test_an_ambiguous_citation_names_only_what_has_the_moment() -> None:
    places = {
        row: ProvisionPlace(
            law="a", chapter=str(row), schedule="", section="6", moment=moment, row=row
        )
        for row, moment in enumerate(("1", "3", "3"))
    }
    resolver = cast(Resolver, SimpleNamespace(laws=SimpleNamespace(places=places)))
    several = Resolution("ambiguous", (0, 1, 2), "no chapter is named")
    (third,) = parse("osakeyhtiölain 6 §:n 3 momentti", "fi")
    (fourth,) = parse("osakeyhtiölain 6 §:n 4 momentti", "fi")
    assert _with_moment(resolver, third, several) == (1, 2)
    assert _with_moment(resolver, fourth, several) == (0, 1, 2)
