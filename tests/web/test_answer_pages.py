"""Generated answers in the workbench: prepared by commands, judged over HTTP, scored again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from assay.cli import app
from assay.core.errors import InputError, UsageError
from assay.core.types import Document, Vote
from assay.reports.words import LANGUAGES
from assay.store import Store
from assay.web import access
from assay.web.access import User
from assay.web.app import create_app
from assay.workbench.judging.answer_pool import kind_of
from assay.workbench.judging.votes_to_labels import append_votes, recompute_labels
from assay.workbench.project.service import Service, open_service
from kit.answers import ANSWERS, answer_set, claims, query_of, run
from kit.server import local_client


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return answer_set(tmp_path)


@pytest.fixture
def client(store: Store, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(
        access, "identify", lambda request: User("Ada", request.headers.get("x-role", "judge"))
    )
    service = Service(store=store, gold_sets={"drafts": dataset}, home=dataset.parent)
    with TestClient(create_app(service), follow_redirects=False) as opened:
        yield opened


def by_kind(listed: list[Document]) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for document in listed:
        found.setdefault(kind_of(document), []).append(document)
    return found


def vote(client: TestClient, claim: Document, grade: int) -> None:
    sent = {"id": f"vote-{claim.id}", "set": "drafts", "query_id": query_of(claim)}
    sent |= {"doc_id": claim.id, "grade": grade, "rationale": "the text says so"}  # type: ignore[dict-item]
    answer = client.post("/api/votes", json=sent)
    assert answer.status_code == 200, answer.text


def figures(dataset: Path) -> dict[str, Any]:
    found = run("answers", "score", str(dataset), "--json")
    return dict(found["systems"][0]["figures"])


def test_only_what_the_exact_check_left_open_is_asked(dataset: Path) -> None:
    first = by_kind(claims(dataset)["first"])
    assert [claim.title.split(" [")[0] for claim in first["support"]] == [
        "The notice must be sent “at least thirty days before the meeting to every member”",
        "The fee is 40 euros",
    ]
    assert [claim.text for claim in first["support"]] == [
        one["text"] for one in ANSWERS[0]["retrieved"]
    ]
    assert (len(first["correct"]), len(first["grounded"])) == (1, 1)
    told = json.loads(dataset.read_text())
    assert told["rubric"] == "answer-support-1"


def test_support_nuggets_and_verdicts_by_hand(client: TestClient, dataset: Path) -> None:
    first, second = (by_kind(claims(dataset)[name]) for name in ("first", "second"))
    for claim, grade in zip(first["support"], (0, 2), strict=True):
        vote(client, claim, grade)
    assert figures(dataset)["support_precision"]["people"] == 1, "only one answer is judged whole"
    for claim in (*first["correct"], *first["grounded"], *second["grounded"]):
        vote(client, claim, 0)
    vote(client, second["correct"][0], 2)
    vote(client, second["support"][0], 1)
    for claim, grade in zip(second["nugget"], (2, 1, 0), strict=True):
        vote(client, claim, grade)
    found = run("answers", "score", str(dataset), "--json")
    assert (found["claims"], found["by_people"], found["checked"]) == (10, 10, 1.0)
    values = {name: figure["value"] for name, figure in found["systems"][0]["figures"].items()}
    # first: citations 0, 2 and [7], which does not exist: (0 + 1 + 0) / 3; second: 1 of 2
    assert values["support_precision"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    # first has four sentences, of which one is supported in full; second has one, by half
    assert values["support_recall"] == pytest.approx((1 / 4 + 1 / 2) / 2)
    # vital: 1 and 0.5 of 2; all: okay nuggets count half, (1 + 0.5 + 0) / 2.5
    assert values["strict_vital"] == 0.5
    assert values["weighted_vital"] == 0.75
    assert values["strict_all"] == pytest.approx(1 / 2.5)
    assert values["weighted_all"] == pytest.approx(1.5 / 2.5)
    assert (values["correct"], values["grounded"]) == (0.5, 0.0)
    assert found["systems"][0]["verdicts"] == {
        "correct, not grounded": 1,
        "not correct, not grounded": 1,
    }


def test_machine_votes_alone_give_no_figure(dataset: Path) -> None:
    votes = [
        Vote(
            id=f"machine-{claim.id}",
            query_id=query_of(claim),
            doc_id=claim.id,
            grade=2,
            judge="robot",
            kind="machine",
            at="2026-01-01",
            rationale="it says so",
        )
        for listed in claims(dataset).values()
        for claim in listed
    ]
    append_votes(dataset, votes)
    found = run("answers", "score", str(dataset), "--json")
    assert (found["by_people"], found["checked"]) == (0, 0.0)
    figure = found["systems"][0]["figures"]["support_precision"]
    assert figure["value"] is None
    assert "10 are needed to correct them" in figure["reason"]


def test_machine_votes_enter_through_the_correction(tmp_path: Path) -> None:
    """On 12 answers people and the machine judge alike, on 28 more the machine alone. The estimate
    uses both, and what people checked is said."""
    rows = [
        {
            **ANSWERS[1],
            "id": f"a{n}",
            "question": f"What is fee {n}?",
            "answer": f"Fee {n} is due [1].",
        }
        for n in range(40)
    ]
    (tmp_path / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    results, dataset = tmp_path / "results.json", tmp_path / "drafts.json"
    run("answers", "check", str(tmp_path / "many.jsonl"), "-o", str(results))
    run("answers", "pool", str(results), "-o", str(dataset))
    votes = []
    for place, listed in enumerate(claims(dataset).values()):
        for claim in by_kind(listed)["support"]:
            for kind in ("human", "machine") if place < 12 else ("machine",):
                votes.append(
                    Vote(
                        id=f"{kind}-{claim.id}",
                        query_id=query_of(claim),
                        doc_id=claim.id,
                        grade=2 * (place % 2),
                        judge=kind,
                        kind=kind,  # type: ignore[arg-type]
                        at="2026-01-01",
                    )
                )
    append_votes(dataset, votes)
    found = run("answers", "score", str(dataset), "--json")
    figure = found["systems"][0]["figures"]["support_precision"]
    assert (figure["by"], figure["people"], figure["questions"]) == ("corrected", 12, 40)
    low, high = figure["interval"]
    assert low < figure["value"] < high
    assert figure["value"] == pytest.approx(0.5, abs=0.1)
    assert found["checked"] == pytest.approx(12 / 40)


def test_labels_follow_from_the_votes_as_in_any_set(client: TestClient, dataset: Path) -> None:
    claim = by_kind(claims(dataset)["second"])["support"][0]
    vote(client, claim, 2)
    recompute_labels(dataset)
    asked = json.loads(dataset.read_text())["queries"]
    labelled = [row for query in asked for row in query["relevance_judgments"]]
    assert [(row["opinion_id"], row["score"]) for row in labelled] == [(claim.id, 2)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_in_every_language_escapes_and_names_no_model(
    client: TestClient, dataset: Path, language: str
) -> None:
    queries = [query["id"] for query in json.loads(dataset.read_text())["queries"]]
    pages = ["/answers", "/answers/drafts", "/judge/drafts"]
    pages += [f"/judge/drafts/{query}{end}" for query in queries for end in ("", "/all")]
    for path in pages:
        answer = client.get(f"{path}?lang={language}")
        assert answer.status_code == 200, (path, answer.text[-600:])
        assert "<img" not in answer.text, path
        assert "secret-model" not in answer.text, path
        assert "built-in method" not in answer.text, path
        assert f'lang="{language}"' in answer.text, path
    chair = client.get(f"/answers/drafts?lang={language}", headers={"x-role": "chair"})
    assert "secret-model" in chair.text


def test_the_words_of_a_quotation_are_marked_in_the_source(
    client: TestClient, dataset: Path
) -> None:
    claim = by_kind(claims(dataset)["first"])["support"][0]
    asked = {"set": "drafts", "query": query_of(claim), "doc": claim.id}
    read = client.get("/api/judge/document", params=asked).json()
    text = read["row"]["text"]
    assert [text[start:end] for start, end in read["marks"]] == [
        "at least",
        "days before the meeting to every member",
    ]
    page = client.get(f"/judge/drafts/{query_of(claim)}").text
    assert "twenty</del>" in page
    assert "thirty</ins>" in page


def test_a_project_without_answers_says_how_to_begin(store: Store, tmp_path: Path) -> None:
    page = local_client(Service(store=store, home=tmp_path)).get("/answers")
    assert "assay answers pool" in page.text


def test_prepared_answers_are_found_in_their_project(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dataset.parent)
    monkeypatch.setenv("ASSAY_HOME", str(dataset.parent / ".assay"))
    with open_service() as service:
        assert list(service.gold_sets) == ["drafts"]


def test_whole_answers_are_dealt(tmp_path: Path) -> None:
    dataset = answer_set(tmp_path, "--judges", "Ada,Ben")
    pairs = json.loads(dataset.with_name("drafts.pool.json").read_text())["pairs"]
    judges = {(pair["query_id"], *pair["judges"]) for pair in pairs}
    assert len(judges) == 2, "one judge for each answer"
    assert len({judge for _, judge in judges}) == 2


def test_what_cannot_be_prepared_is_refused(dataset: Path, tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        error = CliRunner().invoke(app, ["answers", *arguments]).exception
        assert isinstance(error, InputError | UsageError), error
        return str(error)

    results = str(tmp_path / "results.json")
    assert "is there already" in refused("pool", results, "-o", str(dataset))
    other = str(tmp_path / "other.json")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"qid": "second", "nuggets": [{"text": "x", "importance": "huge"}]}\n')
    assert "bad.jsonl:1" in refused("pool", results, "-o", other, "--nuggets", str(bad))
    (tmp_path / "answers.jsonl").write_text('{"answer": "changed"}\n')
    assert "has changed since it was checked" in refused("pool", results, "-o", other)
    assert not Path(other).exists()
    plain = tmp_path / "plain.json"
    plain.write_text('{"queries": []}')
    assert "not a set of answers" in refused("score", str(plain))


def test_home_counts_what_is_to_judge_and_runs_no_engine_on_answers(client: TestClient) -> None:
    home = client.get("/", headers={"x-role": "chair"}).text
    assert '<a href="/answers">' in home.partition("<main")[0]
    assert 'href="/judge" id="waits" data-n="10"' in home
    assert "drafts" not in home.partition("<main")[2]


def test_citations_that_a_trec_run_states_beside_its_sentences(tmp_path: Path) -> None:
    row = {
        "topic_id": "t1",
        "topic": "What is the fee?",
        "references": [{"docid": "f-1", "text": "The fee is 40 euros."}],
        "answer": [
            {"text": "The fee is 40 euros.", "citations": [0]},
            {"text": "Nobody likes it.", "citations": []},
        ],
    }
    (tmp_path / "trec.jsonl").write_text(json.dumps(row))
    results, dataset = tmp_path / "results.json", tmp_path / "drafts.json"
    run("answers", "check", str(tmp_path / "trec.jsonl"), "-o", str(results))
    run("answers", "pool", str(results), "-o", str(dataset))
    (listed,) = claims(dataset).values()
    assert [claim.title for claim in by_kind(listed)["support"]] == ["The fee is 40 euros."]


def test_the_same_answers_twice_are_refused(dataset: Path, tmp_path: Path) -> None:
    results = str(tmp_path / "results.json")
    arguments = ["answers", "pool", results, results, "-o", str(tmp_path / "other.json")]
    error = CliRunner().invoke(app, arguments).exception
    assert "Name each system" in str(error)


def test_a_set_of_several_systems_is_valid(tmp_path: Path) -> None:
    """Judges see the answers of both systems mixed, and each has figures of its own."""
    answer_set(tmp_path)
    results, both = tmp_path / "other-results.json", tmp_path / "both.json"
    answers = str(tmp_path / "answers.jsonl")
    run("answers", "check", answers, "--name", "other", "-o", str(results))
    run("answers", "pool", str(tmp_path / "results.json"), str(results), "-o", str(both))
    run("gold", "validate", str(both))
    found = run("answers", "score", str(both), "--json")
    assert [system["system"] for system in found["systems"]] == ["other", "secret-model"]
