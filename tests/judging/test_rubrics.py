"""Rubrics as files: found beside the set, in the project or shipped; read strictly; versioned by
content; on any scale. Through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.types import Document
from assay.corpus.letters import only_asks
from assay.judging import rubrics
from assay.judging.rubrics import translated
from kit.commands import Assay

SAMPLES = Path(__file__).parents[2] / "samples" / "en"

FIVE = """
id = "five"
title = "How well a section answers"
relevant_from = 2
highly_relevant_from = 4
rationale = "optional"
""" + "".join(
    f'[[grades]]\nvalue = {value}\nlabel = "L{value}"\ndefinition = "D{value}"\n'
    for value in range(5)
)


def judged(opinion_id: str, score: int, **more: Any) -> dict[str, Any]:
    return {"opinion_id": opinion_id, "score": score, "rationale": "a reason in words"} | more


def dataset(**changes: Any) -> dict[str, Any]:
    query = {"id": "q1", "text": "who may vote", "relevance_judgments": [judged("a", 4)]}
    base = {"version": "1", "created_at": "2026-01-15", "rubric": "five", "top_score": 4}
    return base | {"queries": [query]} | changes


def written(folder: Path, text: str = FIVE, **changes: Any) -> Path:
    (folder / "five.toml").write_text(text)
    path = folder / "set.json"
    path.write_text(json.dumps(dataset(**changes)))
    return path


# ── scales ────────────────────────────────────────────────────────────────────────────────────────


def test_a_scale_of_five_is_validated_scored_and_converted(
    assay_cli: Assay, tmp_path: Path
) -> None:
    """Grades beyond 2 from the file to the figure and back."""
    rows = [judged("a", 4), judged("b", 2), judged("c", 0)]
    query = {"id": "q1", "text": "who may vote", "relevance_judgments": rows}
    path = written(tmp_path, queries=[query])
    outcome = assay_cli("gold", "validate", path, "--strict")
    assert (outcome.code, outcome.out.strip()) == (0, ""), outcome.out
    (tmp_path / "run.txt").write_text("q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\n")
    measures = ("--measure", "nDCG@10", "--measure", "nDCG(gain=exp2)@10", "--measure", "ERR@10")
    outcome = assay_cli("score", "--dataset", path, "--run", "run.txt", *measures, "--json")
    assert outcome.code == 0, outcome.err
    overall = outcome.json["overall"]
    second = 1 / 1.584962500721156
    assert overall["ndcg@10"] == pytest.approx((2 + 4 * second) / (4 + 2 * second))
    assert overall["nDCG(gain=exp2)@10"] == pytest.approx((3 + 15 * second) / (15 + 3 * second))
    assert overall["ERR@10"] == pytest.approx(3 / 16 + 13 / 16 * 15 / 16 / 2)
    assert assay_cli("gold", "convert", path, "set.csv").code == 0
    assert assay_cli("gold", "convert", "set.csv", "again.json").code == 0
    assert json.loads((tmp_path / "again.json").read_text())["top_score"] == 4


def test_a_score_above_the_top_is_refused_with_the_scale(assay_cli: Assay, tmp_path: Path) -> None:
    outcome = assay_cli("gold", "validate", written(tmp_path, top_score=3))
    assert outcome.code == 2
    assert "relevance_judgments[0].score" in outcome.err
    assert "0 to 3" in outcome.err


@pytest.mark.parametrize("top", [0, 101, "4", 2.5, True, None])
def test_a_bad_top_score_is_refused(top: object, assay_cli: Assay, tmp_path: Path) -> None:
    outcome = assay_cli("gold", "validate", written(tmp_path, top_score=top))
    assert outcome.code == 2
    assert "$.top_score" in outcome.err


def test_a_rubric_that_lost_a_grade_in_use_is_refused(assay_cli: Assay, tmp_path: Path) -> None:
    lost = FIVE.replace("value = 4", "value = 3", 1).replace("value = 3", "value = 5", 1)
    path = written(tmp_path, lost.replace("highly_relevant_from = 4", "highly_relevant_from = 5"))
    outcome = assay_cli("gold", "validate", path)
    assert outcome.code == 2
    assert "grade 4 of 'a' is not on the scale of five" in outcome.out


# ── reading ───────────────────────────────────────────────────────────────────────────────────────

WRONG = {
    "one grade": (
        FIVE.split("[[grades]]")[0] + "[[grades]]" + FIVE.split("[[grades]]")[1],
        "grades",
    ),
    "no 0": (FIVE.replace("value = 0", "value = 9"), "grades"),
    "twice": (FIVE.replace("value = 3", "value = 4"), "grades[4].value"),
    "below 0": (FIVE.replace("value = 3", "value = -3"), "grades[3].value"),
    "half": (FIVE.replace("value = 3", "value = 2.5"), "grades[3].value"),
    "no label": (FIVE.replace('"L3"', '" "'), "grades[3].label"),
    "off the scale": (FIVE.replace("relevant_from = 2", "relevant_from = 7", 1), "relevant_from"),
    "the wrong way": (FIVE.replace("from = 4", "from = 1"), "highly_relevant_from"),
    "a slip in a key": (FIVE.replace("definition = ", "definiton = ", 1), "grades[0]"),
    "no title": (FIVE.replace("title", "tittle"), "five.toml"),
    "a range backwards": (FIVE + "[expected_per_query]\njudged = [9, 3]\n", "expected_per_query"),
    "another name": (FIVE.replace('id = "five"', 'id = "six"'), "five.toml: id"),
    "not TOML": ("id = five", "five.toml"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_rubric_is_read_strictly(case: str, assay_cli: Assay, tmp_path: Path) -> None:
    text, where = WRONG[case]
    outcome = assay_cli("gold", "validate", written(tmp_path, text))
    assert outcome.code == 2, outcome.out
    assert "five.toml" in outcome.err
    assert where in outcome.err


def test_thresholds_that_are_not_given_come_from_the_scale(tmp_path: Path) -> None:
    text = FIVE.replace("relevant_from = 2\n", "").replace("highly_relevant_from = 4\n", "")
    path = written(tmp_path, text)
    rubric = rubrics.find("five", beside=path)
    assert (rubric.relevant_from, rubric.highly_relevant_from) == (1, 4)


# ── finding ───────────────────────────────────────────────────────────────────────────────────────


def test_a_rubric_beside_the_set_goes_before_the_projects_and_the_shipped(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = rubrics.DEFAULT
    mine = FIVE.replace('"five"', f'"{name}"')
    (tmp_path / "assay.toml").touch()
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / f"{name}.toml").write_text(mine.replace("How well", "PROJECT"))
    (tmp_path / "deep" / "sets").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep")
    beside = tmp_path / "deep" / "sets" / "set.json"
    assert rubrics.find(name, beside=beside).title.startswith("PROJECT")
    (tmp_path / "deep" / "sets" / f"{name}.toml").write_text(mine)
    assert rubrics.find(f"{name}@0123456789ab", beside=beside).title.startswith("How well")
    listed = assay_cli("gold", "rubric", "--list", "--json").json
    assert [row["origin"] for row in listed if row["name"] == name] == ["project", "shipped"]


def test_an_unknown_rubric_names_the_known_ones(assay_cli: Assay, tmp_path: Path) -> None:
    outcome = assay_cli("gold", "validate", written(tmp_path, rubric="nonsense"))
    assert outcome.code == 2
    assert "unknown rubric 'nonsense'" in outcome.err
    assert rubrics.DEFAULT in outcome.err
    assert "five" in outcome.err


def test_a_rubric_is_shown_by_name_and_by_file(assay_cli: Assay, tmp_path: Path) -> None:
    written(tmp_path)
    page = assay_cli("gold", "rubric", "five.toml").out
    assert "### 4: L4" in page
    assert "five@" in page
    shown = assay_cli("gold", "rubric", "--json").json
    assert shown["id"] == rubrics.DEFAULT
    assert shown["version"] == rubrics.version(rubrics.load())
    assert assay_cli("gold", "rubric", "gone.toml").code == 2


@pytest.mark.parametrize("name", ["fppc-relevance-2", "fppc-relevance-3"])
def test_the_newer_rubrics_have_examples_for_each_grade_and_require_rationales(name: str) -> None:
    rubric = rubrics.load(name)
    assert all(len(grade.examples) >= 2 for grade in rubric.grades)
    assert rubric.rationale == "required"


def test_no_rubric_that_votes_name_has_changed() -> None:
    shipped = [rubrics.version(rubrics.load(name)) for name in rubrics.names()]
    assert shipped == [
        "answer-support-1@7a1ea7893f32",
        "fppc-relevance-1@ee52fee361e6",
        "fppc-relevance-2@ade1252506db",
        "fppc-relevance-3@a8ddb56cee4c",
        "relevance-1@cbd0e5062aba",
        "statutes-1@58ef14a31145",
    ]


@pytest.mark.parametrize("name", ["relevance-1", "statutes-1"])
@pytest.mark.parametrize("language", ["en", "fi", "he"])
def test_the_neutral_rubrics_speak_of_no_collection(name: str, language: str) -> None:
    page = rubrics.as_markdown(rubrics.translated(rubrics.load(name), language))
    assert not re.search(r"FPPC|Commission|opinion|California", page, re.IGNORECASE)


def test_what_a_rubric_is_about_is_said_and_does_not_change_its_version(assay_cli: Assay) -> None:
    about = {
        one["name"]: one["about"] for one in assay_cli("gold", "rubric", "--list", "--json").json
    }
    assert about["relevance-1"] == "any collection of legal documents"
    assert all(("FPPC" in text) == name.startswith("fppc") for name, text in about.items())


def test_a_new_rubric_is_a_copy_to_edit(assay_cli: Assay, tmp_path: Path) -> None:
    done = assay_cli("rubric", "new", "ours", "--from", "statutes-1")
    assert done.code == 0, done.err
    assert "assay gold init set.json --rubric ours" in done.err + done.out
    copy = rubrics.find("ours")
    assert copy.id == "ours"
    assert copy.grades == rubrics.load("statutes-1").grades
    assert rubrics.translated(copy, "he").title == "הרלוונטיות של הוראה לשאלה"
    again = assay_cli("rubric", "new", "ours")
    assert again.code == 2
    assert "a rubric named 'ours' already exists" in again.err


def test_a_set_is_judged_by_the_neutral_rubric_unless_it_says_otherwise(assay_cli: Assay) -> None:
    Path("queries.txt").write_text("notice period\n")
    assert assay_cli("gold", "init", "set.json", "--queries", "queries.txt").code == 0
    assert json.loads(Path("set.json").read_text())["rubric"] == "relevance-1"


# ── versions ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", rubrics.names())
@pytest.mark.parametrize("language", ["fi", "he"])
def test_the_shipped_rubrics_are_translated(name: str, language: str) -> None:
    english = rubrics.load(name)
    other = translated(english, language)
    assert [grade.value for grade in other.grades] == [grade.value for grade in english.grades]
    for one, two in zip(english.grades, other.grades, strict=True):
        assert one.label != two.label
        assert one.definition != two.definition
        assert len(one.criteria) == len(two.criteria)
        assert len(one.all_examples) == len(two.all_examples)
    if other.edge_cases != english.edge_cases:
        assert all(
            one.title != two.title or one.title[:1].isdigit()
            for one, two in zip(english.edge_cases, other.edge_cases, strict=True)
        )
    assert translated(english, "sv") == english, "nobody has translated it"


def test_a_translation_beside_the_set(tmp_path: Path) -> None:
    path = written(tmp_path)
    rubric = rubrics.find("five", beside=path)
    folder = tmp_path / "translations"
    folder.mkdir()
    (folder / "five.fi.toml").write_text('[[grades]]\nvalue = 4\nlabel = "Vastaa"\n')
    finnish = translated(rubric, "fi", beside=path)
    assert (finnish.grades[0].label, finnish.grades[0].definition) == ("Vastaa", "D4")
    (folder / "five.he.toml").write_text('[[grades]]\nvalue = 7\nlabel = "x"\n')
    with pytest.raises(InputError, match="grade 7"):
        translated(rubric, "he", beside=path)


def test_a_version_is_of_what_the_rubric_says_and_not_of_how_it_is_written(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = rubrics.version(rubrics.find("five", beside=path))
    (tmp_path / "five.toml").write_text("# a remark\n" + FIVE.replace("\n", "\n\n"))
    assert rubrics.version(rubrics.find("five", beside=path)) == before
    (tmp_path / "five.toml").write_text(FIVE.replace("D4", "D4 and more"))
    changed = rubrics.version(rubrics.find("five", beside=path))
    assert changed != before
    assert [name.partition("@")[0] for name in (before, changed)] == ["five", "five"]


def test_a_set_judged_under_an_older_version_says_so(assay_cli: Assay, tmp_path: Path) -> None:
    row = judged("a", 4, rubric="five@0123456789ab")
    query = {"id": "q1", "text": "who may vote", "relevance_judgments": [row]}
    path = written(tmp_path, queries=[query])
    found = assay_cli("gold", "validate", path, "--json").json["findings"]
    assert [one["code"] for one in found] == ["older-rubric"]
    assert assay_cli("gold", "stats", path, "--json").json["rubric_versions"] == {
        "five@0123456789ab": 1
    }
    assert "judged under: five@0123456789ab (1)" in assay_cli("gold", "stats", path).out


def test_votes_beside_the_set_are_held_to_the_rubric(assay_cli: Assay, tmp_path: Path) -> None:
    path = written(tmp_path)
    vote = {"id": "1", "query_id": "q1", "doc_id": "a", "grade": 9, "judge": "x"}
    vote |= {"kind": "human", "at": "2026-01-15T09:00:00Z", "rubric": "four@0123456789ab"}
    vote |= {"document": "the text of then"}
    (tmp_path / "set.votes.jsonl").write_text(json.dumps(vote) + "\n")
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "the text of now"}\n')
    outcome = assay_cli("gold", "validate", path, "--corpus", "corpus.jsonl", "--json")
    assert outcome.code == 2
    codes = {one["code"] for one in outcome.json["findings"]}
    assert codes == {"votes-off-scale", "older-rubric", "stale-votes"}


# ── the file ──────────────────────────────────────────────────────────────────────────────────────

OMITTED = {
    "no-version": {"version": ""},
    "no-created-at": {"created_at": None},
    "bad-created-at": {"created_at": "last week"},
    "no-judgments-key": {"queries": [{"id": "q1", "text": "who"}]},
    "nothing-judged": {"queries": [{"id": "q1", "text": "who", "relevance_judgments": []}]},
}


@pytest.mark.parametrize("code", OMITTED)
def test_what_a_file_leaves_out_is_found(code: str, assay_cli: Assay, tmp_path: Path) -> None:
    outcome = assay_cli(
        "gold", "validate", written(tmp_path, **OMITTED[code]), "--strict", "--json"
    )
    assert outcome.code == 1
    assert code in {one["code"] for one in outcome.json["findings"]}


@pytest.mark.parametrize("corpus", ["corpus.jsonl", "opinions"])
def test_the_sample_passes_the_strict_check(corpus: str, assay_cli: Assay) -> None:
    given = ("--corpus", SAMPLES / corpus, "--strict")
    outcome = assay_cli("gold", "validate", SAMPLES / "dataset.json", *given)
    assert outcome.code == 0, outcome.out


def test_a_slip_in_the_targets_is_refused(assay_cli: Assay, tmp_path: Path) -> None:
    for targets in ({"topic": {}}, {"queries": [9, 3]}, {"topics": {"a": [1]}}):
        outcome = assay_cli("gold", "validate", written(tmp_path, targets=targets))
        assert outcome.code == 2, targets
        assert "$.targets" in outcome.err


def test_targets_and_scale_stay_when_a_set_is_written_again(
    assay_cli: Assay, tmp_path: Path
) -> None:
    targets = {"queries": [1, 2], "topics": {"t": [0, 3]}}
    path = written(tmp_path, targets=targets)
    outcome = assay_cli("gold", "convert", path, "again.json")
    assert "nothing lost" in outcome.err
    again = json.loads((tmp_path / "again.json").read_text())
    assert (again["targets"], again["top_score"]) == (targets, 4)
    assert "targets" in assay_cli("gold", "convert", path, "set.csv").err


# ── letters that ask ──────────────────────────────────────────────────────────────────────────────

ASKS = "January 2, 1990\n\nFair Political Practices Commission\nDear Sirs:\nMay she vote?"
ANSWER = "\n\nRe: Your Request for Advice\nOur File No. A-90-001\nDear Mr. Doe: She may not."
LETTERS = {
    "a request": ({"request": True}, ASKS, True),
    "a request with its answer": ({"request": True}, ASKS + ANSWER, False),
    "a request that staff confirms by telephone": (
        {"request": True},
        "MEMO TO FILE\nThe attached letter correctly summarizes my advice.\n" + ASKS,
        False,
    ),
    "a request with a file number of its sender": (
        {"request": True},
        ASKS.replace("Dear", "Our File No. 1410.500\nYour File No. A-90-001\nDear"),
        True,
    ),
    "a letter that writes down advice": (
        {"request": True},
        ASKS.replace("May she vote?", "This is to confirm our telephone conversation of today."),
        False,
    ),
    "an answer": ({}, ANSWER, False),
}


@pytest.mark.parametrize("case", LETTERS)
def test_a_letter_that_only_asks(case: str) -> None:
    metadata, text, asks = LETTERS[case]
    assert only_asks(Document(id="x", text=text, metadata=dict(metadata))) is asks


def test_a_request_graded_as_an_answer_is_flagged(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    (tmp_path / "1990").mkdir()
    for name, text in (("a", ASKS), ("b", ASKS + ANSWER)):
        record = {"id": name, "year": 1990, "content": {"full_text": text}}
        (tmp_path / "1990" / f"{name}.json").write_text(json.dumps(record))
    assert assay_cli("corpus", "import", "fppc", tmp_path / "1990", "--name", "letters").code == 0
    rows = [judged("a", 4), judged("b", 4)]
    query = {"id": "q1", "text": "who may vote", "relevance_judgments": rows}
    path = written(tmp_path, queries=[query])
    outcome = assay_cli("gold", "validate", path, "--corpus", "letters", "--json")
    (found,) = outcome.json["findings"]
    assert found["code"] == "request-as-answer"
    assert found["message"].endswith(": a")


def test_a_rubric_without_a_checklist_has_no_empty_heading(
    assay_cli: Assay, tmp_path: Path
) -> None:
    written(tmp_path)
    assert "Before you hand in" not in assay_cli("gold", "rubric", tmp_path / "five.toml").out


def test_an_address_given_for_a_rubric_is_told_without_its_password() -> None:
    with pytest.raises(InputError, match="unknown rubric") as refused:
        rubrics.find("postgresql://me:hunter2@db/law")
    assert "hunter2" not in f"{refused.value} {refused.value.hint}"
