"""Quepid, Label Studio and Argilla: what goes out comes back, and what is wrong is refused with its
place."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay import formats
from assay.formats.ballots import Ballot, Ballots, identified, read_ballots
from kit.commands import Assay, Outcome
from kit.sets import log_of, votes

QUERIES = ("May a member accept a gift?", "=SUM of gifts, or not", "travel 18950")
DOCUMENTS = ("d1", "d2", "d3")


def a_set(folder: Path, labels: dict[str, int] | None = None) -> Path:
    """Three queries; labels are of documents on the first."""
    rows = [
        {
            "opinion_id": doc_id,
            "score": grade,
            "rationale": f"why {doc_id}",
            "judge": "ada",
            "at": "2026-01-01",
        }
        for doc_id, grade in (labels or {}).items()
    ]
    queries = [
        {
            "id": f"g-{n}",
            "text": text,
            "type": "keyword",
            "topic": "gifts",
            "relevance_judgments": [] if n else rows,
        }
        for n, text in enumerate(QUERIES)
    ]
    path = folder / "set.json"
    path.write_text(json.dumps({"version": "1", "queries": queries}))
    documents = [
        {"id": doc_id, "title": f"Title {doc_id}", "text": f"<b>{doc_id}</b> & its text"}
        for doc_id in DOCUMENTS
    ]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in documents))
    return path


def a_pool(folder: Path) -> None:
    pairs = [
        {"query_id": f"g-{n}", "doc_id": doc_id, "judges": ["ada", "ben"] if n else ["ada"]}
        for n in range(2)
        for doc_id in DOCUMENTS
    ]
    pool = {"format": 1, "depth": 3, "judges": ["ada", "ben"], "pairs": pairs}
    (folder / "set.pool.json").write_text(json.dumps(pool))


def said(folder: Path) -> set[tuple[str, str, str, int | None, str]]:
    return {
        (*vote["subject"].values(), vote["judge"], vote.get("grade"), vote.get("rationale", ""))
        for vote in votes(folder / "set.json")
    }


def merged(assay_cli: Assay, folder: Path, name: str, *options: object) -> Outcome:
    return assay_cli("gold", "merge", folder / "set.json", folder / name, *options)


# ── Quepid ────────────────────────────────────────────────────────────────────────────────────────


def test_a_set_goes_to_quepid_and_comes_back(assay_cli: Assay, tmp_path: Path) -> None:
    path = a_set(tmp_path, {"d1": 2, "d2": 0})
    out = assay_cli("gold", "convert", path, "case.csv", "--to", "quepid")
    assert out.code == 0, out.err
    assert "id of 3 queries" in out.err
    assert "grade" not in out.err
    rows = list(csv.reader((tmp_path / "case.csv").read_text().splitlines()))
    assert rows == [
        ["query", "docid", "rating"],
        [QUERIES[0], "d1", "2"],
        [QUERIES[0], "d2", "0"],
        [f" {QUERIES[1]}", "", ""],  # no spreadsheet computes it
        [QUERIES[2], "", ""],
    ]
    back = assay_cli("gold", "convert", "case.csv", "back.json")
    assert back.code == 0, back.err
    gold = formats.read_gold(tmp_path / "back.json")
    assert [query.text for query in gold.queries] == list(QUERIES)
    assert [(row.doc_id, row.grade) for row in gold.iter_judgments()] == [("d1", 2), ("d2", 0)]


def test_ratings_of_quepid_are_votes_of_one_judge(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    (tmp_path / "case.csv").write_text(
        "\ufeffquery;docid;rating\n"
        f"{QUERIES[0]};d1;2.0\n =SUM of  gifts, or not ;d2;1\n{QUERIES[2]}\n{QUERIES[2]};d3;\n",
    )
    done = merged(assay_cli, tmp_path, "case.csv", "--judge", "quepid-ada")
    assert done.code == 0, done.err
    assert said(tmp_path) == {
        ("g-0", "d1", "quepid-ada", 2, ""),
        ("g-1", "d2", "quepid-ada", 1, ""),
    }
    assert {vote["source"] for vote in votes(tmp_path / "set.json")} == {"imported"}


def test_a_book_has_a_column_a_judge(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    (tmp_path / "book.csv").write_text(
        f"query,docid,Ada L.,ben@example.org\n{QUERIES[0]},d1,2.0,1.0\n{QUERIES[2]},d2,,0\n"
    )
    assert merged(assay_cli, tmp_path, "book.csv").code == 0
    assert said(tmp_path) == {
        ("g-0", "d1", "Ada L.", 2, ""),
        ("g-0", "d1", "ben@example.org", 1, ""),
        ("g-2", "d2", "ben@example.org", 0, ""),
    }
    before = said(tmp_path)
    out = assay_cli(
        "gold", "export", tmp_path / "set.json", "--to", "quepid-book", "-o", "again.csv"
    )
    assert out.code == 0, out.err
    log_of(a_set(tmp_path)).unlink()
    assert merged(assay_cli, tmp_path, "again.csv").code == 0
    assert said(tmp_path) == before


def test_a_book_as_json_keeps_what_judges_wrote(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    judgements = [
        {"rating": 2.0, "user_email": "ada@x.org", "explanation": "on point", "unrateable": False},
        {
            "rating": None,
            "user_email": "ben@x.org",
            "explanation": "cannot say",
            "unrateable": True,
        },
        {"rating": None, "user_email": "cy@x.org", "judge_later": True},
    ]
    pair = {"query_text": QUERIES[0], "doc_id": "d1", "position": 3, "judgements": judgements}
    (tmp_path / "book.json").write_text(json.dumps({"name": "b", "query_doc_pairs": [pair]}))
    done = merged(assay_cli, tmp_path, "book.json")
    assert done.code == 0, done.err
    expected = {
        ("g-0", "d1", "ada@x.org", 2, "on point"),
        ("g-0", "d1", "ben@x.org", None, "cannot say"),
    }
    assert said(tmp_path) == expected
    path = tmp_path / "set.json"
    assert assay_cli("gold", "export", path, "--to", "quepid-book", "-o", "out.json").code == 0
    assert "position" not in (tmp_path / "out.json").read_text()
    log_of(a_set(tmp_path)).unlink()
    assert merged(assay_cli, tmp_path, "out.json").code == 0
    assert said(tmp_path) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("query,docid,rating\nnever asked,d1,1\n", "case.csv:2: no query of the set has this text"),
        (
            f"query,docid,rating\n{QUERIES[0]},d1,2.5\n",
            "case.csv:2: the grade '2.5' is not a whole",
        ),
        (f"query,docid,rating\n{QUERIES[0]},,2\n", "case.csv:2: the row has no docid"),
        (f"query,docid,rating\n{QUERIES[0]},d1,2,3\n", "case.csv:2: 4 fields below 3 columns"),
        (f"query,docid,a,a\n{QUERIES[0]},d1,2,2\n", "case.csv:1: the column a appears twice"),
        (f'query,docid,rating\n{QUERIES[0]},d1,1\n"{QUERIES[0]},d1', "case.csv:3: not valid CSV"),
        (f"query,docid,rating\n{QUERIES[0]},d1,7\n", "case.csv:2"),
    ],
)
def test_bad_ratings_are_refused_with_their_line(
    content: str, problem: str, assay_cli: Assay, tmp_path: Path
) -> None:
    before = a_set(tmp_path).read_bytes()
    (tmp_path / "case.csv").write_text(content)
    found = merged(assay_cli, tmp_path, "case.csv", "--judge", "ada")
    assert (found.code, problem in found.err) == (2, True), found.err
    assert (tmp_path / "set.json").read_bytes() == before
    assert not log_of(tmp_path / "set.json").exists()


def test_a_text_of_two_queries_is_ambiguous(assay_cli: Assay, tmp_path: Path) -> None:
    path = a_set(tmp_path, {"d1": 1})
    dataset = json.loads(path.read_text())
    dataset["queries"][2]["text"] = f" {QUERIES[0]} "
    path.write_text(json.dumps(dataset))
    (tmp_path / "case.csv").write_text(f"query,docid,rating\n{QUERIES[0]},d1,1\n")
    found = merged(assay_cli, tmp_path, "case.csv", "--judge", "ada")
    assert (found.code, "2 queries of the set have this text (g-0, g-2)" in found.err) == (2, True)
    refused = assay_cli("gold", "convert", path, "out.csv", "--to", "quepid")
    assert (refused.code, "has the text of 'g-0'" in refused.err) == (2, True)
    assert not (tmp_path / "out.csv").exists()


def test_a_book_of_several_judges_is_no_set(assay_cli: Assay, tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text("query,docid,ada,ben\nq,d1,1,2\n")
    found = assay_cli("gold", "convert", "book.csv", "out.json", "--from", "quepid")
    assert (found.code, "Import a book with gold merge" in found.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv", "query_id,query,doc_id,grade\nq,text,d1,2.0\n"),
        ("s.qrels", "q 0 d1 2.0\n"),
        ("s.csv", "query,docid,rating\ntext,d1,2.00\n"),
        (
            "s.json",
            '{"queries": [{"id": "q", "text": "text", "relevance_judgments": '
            '[{"opinion_id": "d1", "score": 2.0}]}]}',
        ),
    ],
)
def test_two_point_nought_is_two_and_two_and_a_half_is_nothing(
    name: str, content: str, tmp_path: Path, assay_cli: Assay
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert [row.grade for row in formats.read_gold(path).iter_judgments()] == [2]
    path.write_text(content.replace("2.0", "2.5"))
    refused = assay_cli("gold", "stats", path)
    assert (refused.code, f"{name}:" in refused.err) == (2, True), refused.err


# ── Label Studio ──────────────────────────────────────────────────────────────────────────────────


def exported(assay_cli: Assay, folder: Path, to: str, *options: object) -> Outcome:
    corpus = folder / "corpus.jsonl"
    path = folder / "set.json"
    return assay_cli(
        "gold", "export", path, "--to", to, "-o", "out.json", *options, "--corpus", corpus
    )


def test_tasks_for_label_studio_are_blind_and_carry_the_rubric(
    assay_cli: Assay, tmp_path: Path
) -> None:
    a_set(tmp_path, {"d1": 2})
    a_pool(tmp_path)
    assert exported(assay_cli, tmp_path, "label-studio").code == 0
    text = (tmp_path / "out.json").read_text()
    tasks = json.loads(text)
    asked = [(task["data"]["query_id"], task["data"]["doc_id"]) for task in tasks]
    assert sorted(asked) == [("g-0", "d2"), ("g-0", "d3"), *(("g-1", d) for d in DOCUMENTS)]
    assert all(set(task) == {"data"} for task in tasks)
    assert "why d1" not in text  # nobody's rationale
    config = ElementTree.fromstring((tmp_path / "out.xml").read_text())
    choices = [choice.attrib["value"] for choice in config.iter("Choice")]
    assert [choice[:2] for choice in choices] == ["0:", "1:", "2:", "un"]
    shown = {part.attrib["value"].lstrip("$") for part in config.iter("Text")}
    assert shown <= set(tasks[0]["data"])
    headers = " ".join(part.attrib["value"] for part in config.iter("Header"))
    assert "Edge cases" in headers
    only = exported(assay_cli, tmp_path, "label-studio", "--judge", "ben")
    assert only.code == 0, only.err
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert {task["data"]["query_id"] for task in tasks} == {"g-1"}


def annotation(choice: str | None, rationale: str = "on point", **more: object) -> dict[str, Any]:
    result: list[dict[str, Any]] = []
    if choice is not None:
        result.append({"from_name": "grade", "type": "choices", "value": {"choices": [choice]}})
    if rationale:
        result.append(
            {"from_name": "rationale", "type": "textarea", "value": {"text": [rationale]}}
        )
    return {"result": result, "completed_by": 7, "created_at": "2026-03-01T10:00:00Z"} | more


def test_annotations_of_label_studio_are_votes(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    a_pool(tmp_path)
    assert exported(assay_cli, tmp_path, "label-studio").code == 0
    tasks = json.loads((tmp_path / "out.json").read_text())
    ada = {"id": 1, "email": "ada"}
    for task in tasks:
        task["annotations"] = [annotation("2: Highly Relevant", completed_by=ada, lead_time=12.5)]
    tasks[0]["annotations"] = [annotation("unsure", "cannot say", completed_by=ada)]
    tasks[1]["annotations"] = [annotation(None, "", was_cancelled=True)]
    (tmp_path / "back.json").write_text(json.dumps(tasks))
    done = merged(assay_cli, tmp_path, "back.json")
    assert done.code == 0, done.err
    given = votes(tmp_path / "set.json")
    assert len(given) == 5
    assert {vote["judge"] for vote in given} == {"ada"}
    assert sum("grade" not in vote for vote in given) == 1
    graded = next(vote for vote in given if vote.get("grade") == 2)
    assert (graded["seconds"], graded["rationale"]) == (12.5, "on point")
    assert graded["document"] == tasks[2]["data"]["document"] != ""
    assert graded["rubric"] == tasks[0]["data"]["rubric"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"annotations": [annotation("2.5")]}, "$[0].annotations[0]: the grade '2.5'"),
        ({"annotations": [annotation(None)]}, "$[0].annotations[0]: the annotation has no choice"),
        ({"data": {"doc_id": "d1"}, "annotations": []}, "$[0].data: the key query_id is missing"),
        ({"annotations": "none"}, "$[0].annotations: expected an array"),
        ({"annotations": [annotation("1"), annotation("2")]}, "$[0].annotations[1]"),
    ],
)
def test_bad_annotations_are_refused_with_their_place(
    change: dict[str, Any], problem: str, assay_cli: Assay, tmp_path: Path
) -> None:
    a_set(tmp_path)
    task = {"data": {"query_id": "g-0", "doc_id": "d1", "text": "x"}} | change
    (tmp_path / "back.json").write_text(json.dumps([task]))
    found = merged(assay_cli, tmp_path, "back.json")
    assert (found.code, problem in found.err) == (2, True), found.err
    assert not log_of(tmp_path / "set.json").exists()


def test_files_that_are_cut_or_of_another_kind_are_refused(
    assay_cli: Assay, tmp_path: Path
) -> None:
    a_set(tmp_path)
    for content, problem in (
        ('[{"data": {"query_id": "g-0",', "back.json:1: not valid JSON"),
        ("[]", "none of the kinds of file"),
        ('[{"annotation_id": 1, "grade": "2"}]', "not as JSON-MIN"),
    ):
        (tmp_path / "back.json").write_text(content)
        found = merged(assay_cli, tmp_path, "back.json")
        assert (found.code, problem in found.err) == (2, True), found.err


# ── Argilla ───────────────────────────────────────────────────────────────────────────────────────


def test_records_for_argilla_and_back(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    a_pool(tmp_path)
    assert exported(assay_cli, tmp_path, "argilla").code == 0
    records = json.loads((tmp_path / "out.json").read_text())
    assert len(records) == 6
    assert all(record["responses"] == {} for record in records)
    settings = json.loads((tmp_path / "out.settings.json").read_text())
    (grades,) = (part for part in settings["questions"] if part["name"] == "grade")
    values = [option["value"] for option in grades["settings"]["options"]]
    assert values == ["0", "1", "2", "unsure"]
    assert {field["name"] for field in settings["fields"]} == set(records[0]["fields"])
    for record in records[:4]:
        record["responses"] = {
            "grade": [{"value": "1", "user_id": "ada"}, {"value": "unsure", "user_id": "ben"}],
            "rationale": [{"value": "in part", "user_id": "ada"}],
        }
    records[4]["responses"] = {"grade": [{"value": "2", "user_id": "ada", "status": "draft"}]}
    (tmp_path / "back.json").write_text(json.dumps(records))
    done = merged(assay_cli, tmp_path, "back.json")
    assert done.code == 0, done.err
    given = said(tmp_path)
    assert {vote[2:] for vote in given} == {("ada", 1, "in part"), ("ben", None, "")}
    assert len(given) == 8


def test_flat_records_of_argilla_are_read_too(tmp_path: Path) -> None:
    flat = {
        "id": "1",
        "query_id": "g-0",
        "doc_id": "d1",
        "grade.responses": ["2", "0"],
        "grade.responses.users": ["ada", "ben"],
        "grade.responses.status": ["submitted", "discarded"],
        "rationale.responses": ["yes"],
        "rationale.responses.users": ["ada"],
    }
    path = tmp_path / "flat.json"
    path.write_text(json.dumps([flat]))
    (row,) = read_ballots(path).rows
    assert (row.query_id, row.judge, row.grade, row.rationale) == ("g-0", "ada", 2, "yes")


def test_bad_records_are_refused_with_their_place(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    fine = {"query_id": "g-0", "doc_id": "d1"}
    for metadata, response, problem in (
        ({}, "1", "$[0].metadata: the key query_id is missing"),
        (fine, "much", "$[0].responses.grade[0]: the grade 'much' is not a whole number"),
        (fine | {"query_id": "g-9"}, "1", "$[0].responses.grade[0]"),
    ):
        responses = {"grade": [{"value": response, "user_id": "ada"}]}
        record = {"fields": {}, "metadata": metadata, "responses": responses}
        (tmp_path / "back.json").write_text(json.dumps([record]))
        found = merged(assay_cli, tmp_path, "back.json")
        assert (found.code, problem in found.err) == (2, True), found.err


@pytest.mark.parametrize("to", ["label-studio", "argilla"])
def test_with_votes_everything_comes_back(to: str, assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path)
    lines = [
        f"g-0,d{n},{n - 1},because {n},{judge}\n" for n in (1, 2, 3) for judge in ("ada", "ben")
    ]
    (tmp_path / "p.csv").write_text("query_id,doc_id,grade,rationale,judge\n" + "".join(lines))
    done = merged(assay_cli, tmp_path, "p.csv")
    assert done.code == 0, done.err
    before = said(tmp_path)
    assert exported(assay_cli, tmp_path, to, "--with-votes").code == 0
    log_of(a_set(tmp_path)).unlink()
    assert merged(assay_cli, tmp_path, "out.json").code == 0
    assert said(tmp_path) == before
    assert len(before) == 6


# ── exporting ─────────────────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_exported_is_refused(assay_cli: Assay, tmp_path: Path) -> None:
    path = a_set(tmp_path, {"d1": 1})
    for options, problem in (
        (("--to", "label-studio", "-o", "x.json"), "needs the texts of the documents"),
        (("--to", "prodigy", "-o", "x.json"), "unknown format 'prodigy'"),
        (("--to", "quepid", "-o", "set.json"), "would overwrite an input"),
        (("--to", "quepid-book", "-o", "x.xlsx"), "written as .csv or .json"),
        (("--to", "quepid", "-o", "x.csv", "--judge", "zoe"), "no pairs are assigned to"),
    ):
        found = assay_cli("gold", "export", path, *options)
        assert (found.code, problem in found.err) == (2, True), found.err
    assert not list(tmp_path.glob("x.*"))


def test_documents_that_the_corpus_lacks_are_said(assay_cli: Assay, tmp_path: Path) -> None:
    a_set(tmp_path, {"d1": 1, "gone": 2})
    found = exported(assay_cli, tmp_path, "label-studio")
    assert (found.code, "does not have the documents of 1 pair" in found.err) == (0, True)


def test_ids_are_found_by_text_only_where_there_are_none() -> None:
    known = Ballot(where="f:1", query_id="q1", doc_id="d", grade=1)
    assert identified(Ballots(rows=[known]), []).rows == [known]
