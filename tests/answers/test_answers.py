"""Generated answers are checked as a lawyer would: each status with a small made-up answer."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import assay
from assay.answers.measures import compare_answers, gate_of
from assay.answers.mentions import find_quotes
from assay.cli import app
from assay.core.errors import InputError
from assay.core.results import AnswerEntry
from assay.corpus.in_force import statuses_of_open_corpus
from assay.corpus.lookup import corpus_named

SAMPLES = Path(__file__).parents[2] / "samples"
DEADLINE = "Oikaisuvaatimus on tehtävä 21 päivän kuluessa päätöksen tiedoksisaannista."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def workspace(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(home))
    if not (home / "corpora" / "island").exists():
        assay.import_corpus(SAMPLES / "fi" / "saaristokuntalaki.jsonl", "island", kind="finlex")
        assay.import_corpus(SAMPLES / "en" / "opinions", "arden", kind="fppc")


def test_a_quotation_stands_where_it_says() -> None:
    text = "First.\n\n> A block “that is” quoted\n> on two lines.\n\nThen “marks” and > none."
    found = find_quotes(text)
    block = "A block “that is” quoted\n> on two lines."
    assert [one.text for one in found] == [block, "marks"], "marks inside a block are its own"
    assert all(text[one.start : one.end] == one.text for one in found)


def checked(answer: str, passages: Any = (), **options: Any) -> AnswerEntry:
    row = {"id": "1", "answer": answer, "retrieved": list(passages)}
    row |= {key: options.pop(key) for key in ("question", "as_of") if key in options}
    return assay.check_answers([row], **options).per_answer[0]


def statuses(answer: str, **options: Any) -> dict[str, tuple[str, ...]]:
    entry = checked(answer, **options)
    return {one.text: (one.exists, one.name, one.pinpoint, one.in_force) for one in entry.citations}


def test_a_finnish_citation_is_resolved_with_its_moment() -> None:
    found = statuses(
        "Ks. saaristokuntalain 33 §:n 2 momentti, saman pykälän 9 momentti, 34 § ja"
        " saaristokuntalain 94 § sekä hallintolain 5 §.",
        corpus="island",
        as_of="2034-01-01",
    )
    assert found == {
        "saaristokuntalain 33 §:n 2 momentti": ("found", "agrees", "exists", "in_force"),
        "saman pykälän 9 momentti": ("found", "not_given", "missing", "unknown"),
        "34 §": ("found", "not_given", "not_given", "in_force"),
        "saaristokuntalain 94 §": ("not_found", "not_given", "not_given", "unknown"),
        "hallintolain 5 §": ("outside", "not_given", "not_given", "unknown"),
    }


def test_law_that_has_not_come_into_force_says_so() -> None:
    found = statuses("Ks. saaristokuntalain 33 §.", corpus="island", as_of="2030-01-01")
    assert found["saaristokuntalain 33 §"][3] == "not_yet"


def test_the_number_of_a_letter_decides_and_the_name_is_compared() -> None:
    found = statuses(
        "See the Stroud Advice Letter, No. A-23-101, the Marsh Advice Letter, No. A-23-101, and the"
        " Nobody Advice Letter, No. A-23-777.",
        corpus="arden",
    )
    assert [one[:2] for one in found.values()] == [
        ("found", "agrees"),
        ("found", "differs"),
        ("not_found", "not_given"),
    ]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Under the Ferry Leave etc. Regulations 1999, regulation 10, she",
         "Ferry Leave etc. Regulations 1999, regulation 10"),
        ("The Equality Act 2010 applies", "Equality Act 2010"),
        ("By s 15 of the Equality Act 2010 it", "s 15 of the Equality Act 2010"),
        ("Under Article 8 ECHR it", "Article 8 ECHR"),
        ("In [2010] UKSC 12 it", "[2010] UKSC 12"),
        ("In Roe v. Wade, 410 U.S. 113 (1973) it", "Roe v. Wade, 410 U.S. 113 (1973)"),
        ("Under Regulation (EU) 2016/679 it", "Regulation (EU) 2016/679"),
        ("Ks. HE 268/2014 vp.", "HE 268/2014 vp"),
        ("Ks. KHO 2019:25.", "KHO 2019:25"),
        ("ראו ע\"א 1234/20 כהן נ' לוי.", "ע\"א 1234/20 כהן נ' לוי"),
    ],
)  # fmt: skip
def test_an_authority_is_read_as_what_it_is(text: str, read: str) -> None:
    (citation,) = checked(text).citations
    assert (citation.text, citation.exists) == (read, "outside")
    assert text[citation.start : citation.end] == read


@pytest.mark.parametrize(
    ("quote", "status"),
    [
        ("on tehtävä 21 päivän kuluessa päätöksen", "verbatim"),
        ("on tehtävä 21 päi-\nvän kuluessa  päätöksen", "verbatim"),
        ("Oikaisuvaatimus on tehtävä … päätöksen tiedoksisaannista", "ellipsis"),
        ("on tehtävä 14 päivän kuluessa päätöksen", "altered"),
        ("ei ole tehtävä 21 päivän kuluessa päätöksen", "altered"),
        ("kissa istui hiljaa pitkän pöydän alla", "nowhere"),
        ("21 päivän kuluessa", "too_short"),
    ],
)
def test_a_quotation_is_compared_word_by_word(quote: str, status: str) -> None:
    (found,) = checked(f"Laki sanoo: ”{quote}” [1].", [DEADLINE]).quotes
    assert (found.text, found.status) == (quote, status)
    assert bool(found.diff) == (status == "altered")


def test_a_quotation_from_another_passage_names_it() -> None:
    passages = [{"id": "a", "text": "Muuta."}, {"id": "b", "text": DEADLINE}]
    (found,) = checked(f"Laki sanoo: ”{DEADLINE}” [1].", passages).quotes
    assert (found.status, found.source) == ("other_source", "b")


def test_a_reference_inside_a_quotation_is_not_listed() -> None:
    text = "Laki sanoo: ”mitä 5 §:ssä tässä laissa säädetään” [1]."
    assert [one.text for one in checked(text, ["x"]).citations] == ["[1]"]


@pytest.mark.parametrize(
    ("said", "status"),
    [("21 päivän", "supported"), ("kolmen viikon", "supported"), ("14 päivän", "unsupported")],
)
def test_a_figure_is_looked_for_in_the_cited_text(said: str, status: str) -> None:
    (figure,) = checked(f"Aikaa on {said} verran [1].", [DEADLINE]).figures
    assert figure.status == status


@pytest.mark.parametrize(
    "text",
    [
        "The retrieved passages do not answer this question.",
        "Haettu aineisto ei vastaa kysymykseen.",
        "המקורות שאותרו אינם משיבים על השאלה.",
    ],
)
def test_a_refusal_is_recognised(text: str) -> None:
    assert checked(text).refused
    assert not checked("Yes, within 30 days [1].", ["30 days"]).refused


def test_a_marker_beyond_the_passages_does_not_exist() -> None:
    found = checked("One [1], two [1, 3], three 【2】.", ["a", "b"]).citations
    assert [one.exists for one in found] == ["found", "not_found", "found"]


def test_markers_that_are_joined_are_each_read() -> None:
    """Only after a paragraph of a judgment does the next bracket belong to that judgment."""
    joined = checked("See [1] and [7]. Also [2]–[8].", ["a", "b"]).citations
    assert [(one.text, one.exists) for one in joined] == [
        ("[1]", "found"),
        ("[7]", "not_found"),
        ("[2]", "found"),
        ("[8]", "not_found"),
    ]
    judged = checked("[2017] UKSC 51 at [66]–[68] and [70] says so [1].", ["a"]).citations
    assert [one.text for one in judged if one.kind == "marker"] == ["[1]"]


@pytest.mark.parametrize("text", ["a " * 500_000, "[1]" * 10_000, "[" * 10_000, "\ud800x " * 999])
def test_hostile_input_is_refused_or_done(text: str) -> None:
    with contextlib.suppress(assay.InputError):
        assert assay.guard(text, ["a"]).entry.citations == []


# ── files ─────────────────────────────────────────────────────────────────────────────────────────

QUESTION, ANSWER, CONTEXT = "How long?", "Thirty days [2].", "Thirty days."
FORMATS: dict[str, Any] = {
    "own.jsonl": {"id": "1", "question": QUESTION, "answer": ANSWER,
                  "retrieved": [{"text": CONTEXT}]},
    "ragas.json": [{"user_input": QUESTION, "response": ANSWER, "retrieved_contexts": [CONTEXT]}],
    "deepeval.json": {"test_cases": [
        {"input": QUESTION, "actual_output": ANSWER, "retrieval_context": [CONTEXT]}]},
    "promptfoo.json": {"results": {"results": [
        {"vars": {"question": QUESTION, "context": CONTEXT}, "response": {"output": ANSWER}}]}},
    "langsmith.json": [
        {"inputs": {"question": QUESTION}, "outputs": {"answer": ANSWER, "contexts": [CONTEXT]}}],
    "messages.jsonl": {"messages": [
        {"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}],
        "contexts": [CONTEXT]},
    "trec.jsonl": {"topic_id": "1", "topic": QUESTION, "references": ["d1"],
                   "answer": [{"text": ANSWER, "citations": [0]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_other_tools_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(FORMATS[name]), encoding="utf-8")
    found = assay.check_answers(path)
    markers = [one for one in found.per_answer[0].citations if one.text == "[2]"]
    assert [one.exists for one in markers] == ["not_found"]
    assert found.receipt.columns["answer"] in (
        *("answer", "response", "actual_output", "response.output", "outputs.answer"),
    )


def test_a_table_is_read_and_a_column_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["q", "said", "contexts"])
        writer.writerow([QUESTION, ANSWER, str([CONTEXT])])
    with pytest.raises(assay.InputError, match="no column looks like the answer"):
        assay.check_answers(path)
    found = assay.check_answers(path, map={"answer": "said", "question": "q"})
    assert found.per_answer[0].citations[0].exists == "not_found"


def test_a_bad_row_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    path, output = tmp_path / "a.jsonl", tmp_path / "out.json"
    path.write_text('{"id": "1", "answer": "x"}\n{"id": "2", "answer": 5}\n', encoding="utf-8")
    done = CliRunner().invoke(app, ["answers", "check", str(path), "-o", str(output)])
    assert isinstance(done.exception, assay.InputError)
    assert f"{path}:2" in str(done.exception)
    assert not output.exists()


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def test_the_samples_fail_their_gates_and_every_report_is_written(tmp_path: Path) -> None:
    output, runner = tmp_path / "results.json", CliRunner()
    rows = [
        json.loads(line)
        for line in (SAMPLES / "answers" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    finnish = tmp_path / "fi.jsonl"
    lines = (json.dumps(row) for row in rows if row["language"] == "fi")
    finnish.write_text("\n".join(lines), encoding="utf-8")
    command = ["answers", "check", str(finnish), "--corpus", "island", "-o", str(output)]
    done = runner.invoke(app, [*command, "--gate", "missing_citations=0"])
    assert done.exit_code == 1
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["kind"] == "answers"
    right, wrong = written["per_answer"]
    assert set(right) == {"id", "refused", "citations", "quotes", "figures"}
    assert {one["status"] for one in right["quotes"]} == {"verbatim"}
    assert {one["exists"] for one in right["citations"]} == {"found"}
    assert [one["text"] for one in wrong["citations"] if one["exists"] == "not_found"] == [
        "saaristokuntalain 94 §:ssä",
        "[3]",
    ]
    assert [one["status"] for one in wrong["quotes"]] == ["altered"]
    assert [one["text"] for one in wrong["figures"] if one["status"] == "unsupported"] == [
        "14 päivän"
    ]
    for suffix in (".html", ".md", ".xml", ".csv"):
        report = tmp_path / f"report{suffix}"
        assert runner.invoke(app, ["report", str(output), "-o", str(report)]).exit_code == 0
        assert "94" in report.read_text(encoding="utf-8")
    again = runner.invoke(app, ["compare", str(output), str(output), "--json"])
    assert {one["difference"] for one in json.loads(again.stdout)} == {0.0}


@pytest.mark.parametrize(
    ("language", "reason", "gate"),
    [
        ("fi", "ei ole pykälää 94", "Viittauksia, joiden kohdetta ei ole"),
        ("he", "אין סעיף", "אזכורים של מה שאינו קיים"),
    ],
)
def test_findings_are_explained_in_the_language_of_the_report(
    tmp_path: Path, language: str, reason: str, gate: str
) -> None:
    answers, report = tmp_path / "answers.jsonl", tmp_path / "report.md"
    answers.write_text(json.dumps({"id": "1", "answer": "Ks. saaristokuntalain 94 §."}))
    options = ["--corpus", "island", "--gate", "missing_citations=0", "--language", language]
    done = CliRunner().invoke(
        app, ["answers", "check", str(answers), *options, "--report", str(report)]
    )
    for text in (done.stdout, report.read_text(encoding="utf-8")):
        assert reason in text
        assert gate in text


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("en", "See **s 18(4)** of the **Ferry Act 2030**.", ["s 18(4)** of the **Ferry Act 2030"]),
        (
            "en",
            "See ERA s. 104, ss 139-141 ERA 1996 and SI 1999/3312.",
            ["ERA s. 104", "ss 139-141 ERA 1996", "SI 1999/3312"],
        ),
        (
            "en",
            "Regulation 10 of the Harbour Dues etc. Regulations 2031 applies.",
            ["Regulation 10 of the Harbour Dues etc. Regulations 2031"],
        ),
        (
            "en",
            "R (A) v B [2017] UKSC 51 at [66] decides it.",
            ["R (A) v B [2017] UKSC 51 at [66]"],
        ),
        ("en", "See 28 U.S.C. § 1331 and 42 USC 1983.", ["28 U.S.C. § 1331", "42 USC 1983"]),
        (
            "fi",
            "OYL 5:3 ja vaatimus (5:27.4) sekä 2 momentin 1–3 kohtia.",
            ["OYL 5:3", "5:27.4", "2 momentin 1–3 kohtia"],
        ),
        ("fi", "Ks. direktiivi 2014/24/EU.", ["direktiivi 2014/24/EU"]),
        (
            "he",
            'סעיף\u200f 7(א) לחוק המעבורות, תש"ץ–2030 וסעיף קטן 9(ב) לחוק. אחר כך הכול',
            ['סעיף\u200f 7(א) לחוק המעבורות, תש"ץ–2030', "סעיף קטן 9(ב) לחוק"],
        ),
    ],
)
def test_citations_are_read_as_models_write_them(
    language: str, text: str, found: list[str]
) -> None:
    row = {"id": "1", "answer": text, "language": language}
    (entry,) = assay.check_answers([row]).per_answer
    assert [one.text for one in entry.citations] == found


GATES = """
[[gates]]
measure = "missing_citations"
maximum = 0

[[gates]]
measure = "citations_right"
minimum = 0.5
"""


def test_gates_on_answers_stand_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passages = [{"id": "1", "text": DEADLINE}]
    cited = [
        {"id": f"{n}", "answer": "Aikaa on 21 päivää [1].", "retrieved": passages}
        for n in "abcdefgh"
    ]
    answers, output = tmp_path / "answers.jsonl", tmp_path / "results.json"
    (tmp_path / "assay.toml").write_text(GATES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def decided(rows: list[dict[str, object]]) -> dict[str, str]:
        answers.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        done = CliRunner().invoke(app, ["answers", "check", "answers.jsonl", "-o", "results.json"])
        verdict = json.loads(output.read_text(encoding="utf-8"))["verdict"]
        codes = {"pass": 0, "fail": 1, "inconclusive": 3}
        assert done.exit_code == codes[verdict["status"]]
        return {one["gate"]["measure"]: one["status"] for one in verdict["checks"]}

    assert set(decided(cited).values()) == {"pass"}
    wrong = {**cited[0], "id": "d", "answer": "Aikaa on 21 päivää [7]."}
    mixed = decided([*cited[:1], wrong])
    assert mixed == {"missing_citations": "fail", "citations_right": "inconclusive"}
    silent = [{"id": "e", "answer": "Aikaa on.", "retrieved": passages}]
    assert set(decided(silent).values()) == {"inconclusive"}


@pytest.mark.parametrize(
    "gate",
    ['maximum = 0\ngold = "x"', "max_drop = 0.1", "minimum = 1", 'maximum = 0\nslice = "a:b"'],
)
def test_a_gate_on_answers_that_could_not_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: str
) -> None:
    (tmp_path / "assay.toml").write_text(f'[[gates]]\nmeasure = "wrong_names"\n{gate}\n')
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "1", "answer": "x [1]."}))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["answers", "check", "a.jsonl"])
    assert "gates[0]" in str(done.exception)


def test_a_share_beyond_its_scale_is_refused() -> None:
    with pytest.raises(InputError, match="faultless is a share, from 0 to 1; got 2"):
        gate_of("faultless>=2")


def test_a_section_after_another_act_is_that_of_its_passage() -> None:
    passages = [{"id": "9001/2031:33:2", "text": "x"}]
    answer = "Ks. saaristokuntalain 33 §, rikoslain 3 luvun 2 §. Lisäksi 33 §:n 2 momentti."
    row = {"id": "1", "answer": answer, "retrieved": passages}
    (entry,) = assay.check_answers([row], corpus="island").per_answer
    assert [one.exists for one in entry.citations] == ["found", "outside", "found"]
    assert entry.citations[2].retrieved == "retrieved"


def test_law_that_the_question_names_needs_no_passage() -> None:
    said = "Hallintolain 5 § ja saaristokuntalain 33 §:n 2 momentti pätevät, 34 § ei."
    asked = "Mitä sanovat hallintolain 5 § ja saaristokuntalain 33 §?"
    found = checked(said, ["Muuta."], question=asked, corpus="island").citations
    assert [one.retrieved for one in found] == ["question", "question", "neither"]


def test_required_authorities_tell_search_from_writing() -> None:
    ids = [f"9001/2031:fin@20330042:{place}" for place in ("33:2", "33:4", "34:1", "9:1")]
    gold = assay.GoldSet.from_dict({"1": dict.fromkeys(ids, 2)}, queries={"1": "Miten?"})
    row = {
        "id": "1",
        "answer": "Ks. saaristokuntalain 33 §:n 2 momentti ja 34 §:n 1 momentti.",
        "retrieved": [{"id": ids[0], "text": "x"}, {"id": ids[1], "text": "y"}],
    }
    (found,) = assay.check_answers([row], corpus="island", gold=gold).authorities
    assert (found.recall, found.precision) == (0.5, 1.0)
    assert found.not_retrieved == [ids[3]]
    assert found.retrieved_not_cited == [ids[1]]
    assert found.cited_not_retrieved == [ids[2]]


def test_a_passage_without_an_id_is_known_by_its_text() -> None:
    text = "Lain säännökset koskevat kuntaa, jonka valtioneuvosto on 3 §:n  mukaisesti nimennyt"
    given = f"{text}\nsaaristokunnaksi."
    found = checked("Ks. saaristokuntalain 2 § ja 33 §.", [given], corpus="island").citations
    assert [one.retrieved for one in found] == ["retrieved", "neither"]


def test_a_marker_leads_to_the_passage_of_its_own_number() -> None:
    passages = ["yksi", {"id": "b", "text": "kaksi"}, "kolme"]
    found = checked("A [3]. B [2]. C [3, 1].", passages).citations
    assert [one.targets for one in found] == [["3"], ["b"], ["3", "1"]]


def test_two_runs_are_compared_over_the_questions_that_a_check_averages_over() -> None:
    def run(wrong: str) -> Any:
        said = {"1": "A [1].", "2": wrong, "3": wrong, "4": "A [9]."}
        asked = {"1": "x?", "2": "y?", "3": "y?", "4": "z?"}
        return assay.check_answers(
            [
                {"id": id, "question": asked[id], "answer": answer, "retrieved": ["t"]}
                for id, answer in said.items()
            ]
        )

    a, b = run("A [9]."), run("A [1].")
    change = next(one for one in compare_answers(a, b) if one.measure == "citations_right")
    assert (change.n, change.a, change.b) == (3, pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (change.a, change.b) == (a.overall["citations_right"], b.overall["citations_right"])


def test_law_of_a_file_without_dates_is_not_said_to_be_in_force(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    act = "# Harbour Act 2031\n\n## 1 § Boats\n\nBoats pay.\n\n## 2 § Fees\n\nFees are due.\n"
    (folder / "act.md").write_text(act)
    memo = "---\ndate: 2030-01-01\n---\n# Memo\n\n## Fees\n\nFees of boats are due in May.\n"
    (folder / "memo.md").write_text(memo)
    assay.import_corpus(folder, "files")
    corpus = corpus_named("files")
    given = [{"id": one.id, "text": one.text} for one in corpus.iter()]
    marks = " ".join(f"[{number}]" for number in range(1, len(given) + 1))
    found = checked(f"A {marks}.", given, corpus="files").citations
    assert {one.in_force for one in found} == {"unknown"}
    standing = statuses_of_open_corpus(str(corpus.data_folder))
    assert {standing.status(row, "2034-01-01") for row in range(len(given))} == {""}


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("En löydä annetuista lähteistä vastausta kysymykseen.", True),
        ("Unable to determine from the passages.", True),
        ("Kysymykseen ei voi vastata aineiston perusteella.", True),
        ("Hallitus ei voi vastata tappiosta saaristokuntalain 110 §:n mukaan.", False),
        ("A person unable to give consent may not sign.", False),
    ],
)
def test_a_refusal_is_told_from_an_answer_that_denies(answer: str, refuses: bool) -> None:
    assert checked(answer).refused == refuses


def test_a_figure_whose_only_citation_is_not_there_is_compared_with_the_passages() -> None:
    for days, status in (("21", "supported"), ("30", "unsupported")):
        (figure,) = checked(f"Aikaa on {days} päivän verran [7].", [DEADLINE]).figures
        assert figure.status == status


def test_a_marker_like_the_ids_of_others_that_no_passage_has_is_not_found() -> None:
    passages = [{"id": "harbour_act:1:1", "text": "x"}, {"id": "harbour_act:2:1", "text": "y"}]
    found = checked("A [harbour_act:1:1]. B [harbour_act:77:1]. C [sic].", passages).citations
    assert [(one.text, one.exists) for one in found] == [
        ("[harbour_act:1:1]", "found"),
        ("[harbour_act:77:1]", "not_found"),
    ]
    joined = checked("A [harbour_act:1:1; harbour_act:2:1]. B [harbour_act:1:1, sic].", passages)
    assert [one.exists for one in joined.citations] == ["found"]


def test_a_wrong_chapter_or_a_range_with_a_missing_end_is_said() -> None:
    def why(answer: str) -> tuple[str, str]:
        row = {"id": "1", "answer": answer, "retrieved": []}
        results = assay.check_answers([row], corpus="island")
        reasons = [note.reason for note in results.notes if note.check == "exists"]
        return results.per_answer[0].citations[0].exists, " ".join(reasons)

    exists, reason = why("Ks. saaristokuntalain 9 luvun 2 §.")
    assert exists == "not_found"
    assert "in chapter 1, not 9" in reason
    exists, reason = why("Ks. saaristokuntalain 33–999 §.")
    assert exists == "not_found"
    assert reason.endswith("has no section 999")
    assert why("Ks. saaristokuntalain 1–2 §.")[0] == "found"


def test_an_act_by_another_number_is_named_with_its_own() -> None:
    row = {"id": "1", "answer": "Ks. saaristokuntalain (123/2019) 33 §.", "retrieved": []}
    (note,) = assay.check_answers([row], corpus="island").notes
    assert "123/2019" in note.reason
    assert "9001/2031" in note.reason
