"""`assay gold agreement`: what it says, and what it does not make up."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from sklearn.metrics import cohen_kappa_score

from assay.core.types import VoteKind
from kit.commands import Assay
from kit.votes import vote

TOPICS = ("gifts", "travel")
TYPES = ("keyword", "natural_language", "fact_pattern")


def a_set(folder: Path, queries: int = 6) -> Path:
    rows = [
        {
            "id": f"q{n}",
            "text": f"question {n}",
            "type": TYPES[n % 3],
            "topic": TOPICS[n % 2],
            "relevance_judgments": [],
        }
        for n in range(queries)
    ]
    path = folder / "set.json"
    path.write_text(json.dumps({"version": "1", "queries": rows}))
    return path


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """How a test says a vote: document n is on query n % queries."""

    judge: str
    grades: list[int | None]
    kind: VoteKind = "human"
    at: str = "2026-01-01"
    source: str = ""


def voted(folder: Path, *ballots: Ballot, queries: int = 6) -> Path:
    path = a_set(folder, queries)
    with (folder / "set.votes.jsonl").open("wb") as stream:
        for place, ballot in enumerate(ballots):
            for n, grade in enumerate(ballot.grades):
                pair = {"query_id": f"q{n % queries}", "doc_id": f"d{n}"}
                at = f"{ballot.at}T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}"
                who = {"judge": ballot.judge, "kind": ballot.kind, "source": ballot.source}
                given = vote(f"{place}-{n}", grade, at=at, **pair, **who)
                stream.write(msgspec.json.encode(given) + b"\n")
    return path


ADA = [0, 1, 2, 2, 1, 0, 0, 0, 2, 1, 1, 2]
BEN = [0, 1, 2, 1, 1, 0, 0, 1, 2, 0, 1, 2]
TWO = (Ballot(judge="ada", grades=[*ADA]), Ballot(judge="ben", grades=[*BEN]))


def test_two_judges(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(tmp_path, *TWO)
    found = assay_cli("gold", "agreement", path, "--json").json
    assert (found["pairs"], found["judges"], found["queries"]) == (12, ["ada", "ben"], 6)
    assert found["exact"]["value"] == pytest.approx(9 / 12)
    for figure in ("exact", "cohen_kappa", "weighted_kappa", "krippendorff_alpha"):
        low, high = found[figure]["interval"]
        assert low <= found[figure]["value"] <= high
    for weights in ("linear", "quadratic"):
        expected = cohen_kappa_score(ADA, BEN, weights=weights)
        assert found["weighted_kappa"][weights]["value"] == pytest.approx(expected, abs=1e-9)
    assert found["weighted_kappa"]["value"] == found["weighted_kappa"]["linear"]["value"]
    assert found["confusion"] == {
        "grades": [0, 1, 2],
        "rows": "ada",
        "columns": "ben",
        "counts": [[3, 1, 0], [1, 3, 0], [0, 1, 3]],
    }
    assert found["far_apart"]["value"] == 0
    assert found["by_pair"][0]["judges"] == ["ada", "ben"]
    assert list(found["by_topic"]) == list(TOPICS)
    assert sum(part["pairs"] for part in found["by_type"].values()) == 12
    assert found["by_grade"]["2"]["exact"]["value"] == pytest.approx(6 / 7)
    assert found["consensus"]["ada"]["difference"]["value"] == pytest.approx(1 / 12)
    assert found["consensus"]["ben"]["difference"]["value"] == pytest.approx(-1 / 12)


def test_the_page(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(tmp_path, Ballot(judge="ada", grades=[*ADA]), Ballot(judge="b|en", grades=[*BEN]))
    shown = assay_cli("gold", "agreement", path, "-o", "agreed.md")
    assert shown.code == 0, shown.err
    assert "Agreement between people (ada, b|en) on 12 pairs of 6 queries." in shown.out
    assert "Krippendorff's alpha, ordinal" in shown.out
    page = (tmp_path / "agreed.md").read_text()
    assert "| weighted kappa, linear | 0." in page
    assert "b\\|en" in page
    refused = assay_cli("gold", "agreement", path, "-o", "agreed.html")
    assert (refused.code, "written as .md" in refused.err) == (2, True)


def test_rulings_spot_checks_and_what_was_superseded_do_not_count(
    assay_cli: Assay, tmp_path: Path
) -> None:
    other = [2 - (grade or 0) for grade in ADA]
    path = voted(
        tmp_path,
        Ballot(judge="ada", grades=[*other]),
        Ballot(judge="ada", grades=[*ADA], at="2026-02-01"),
        Ballot(judge="ben", grades=[*ADA]),
        Ballot(judge="chair", grades=[*other], source="adjudication"),
        Ballot(judge="ben", grades=[*other], at="2026-03-01", source="sample"),
    )
    found = assay_cli("gold", "agreement", path, "--json").json
    assert (found["judges"], found["exact"]["value"]) == (["ada", "ben"], 1.0)
    assert (found["left_out"]["rulings"], found["left_out"]["spot_checks"]) == (12, 12)
    assert found["drift"]["ada"]["repeated"] == 12
    assert found["drift"]["ada"]["exact"]["value"] == pytest.approx(4 / 12)
    assert found["drift"]["ben"]["repeated"] == 0


def test_a_grade_that_was_undone_is_no_second_judgment(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(tmp_path, *TWO)
    pair = {"query_id": "q0", "doc_id": "d0", "judge": "ada", "kind": "human"}
    slip = vote("slip", 2, at="2026-02-01T00:00:01", supersedes="0-0", **pair)
    undone = {"source": "withdrawn", "supersedes": "slip"}
    undo = vote("undo", None, at="2026-02-01T00:00:02", **undone, **pair)
    again = vote("again", 0, at="2026-02-01T00:00:03", supersedes="undo", **pair)
    log = path.with_name("set.votes.jsonl")
    given = b"".join(msgspec.json.encode(each) + b"\n" for each in (slip, undo))
    log.write_bytes(log.read_bytes() + given)
    found = assay_cli("gold", "agreement", path, "--json").json["drift"]["ada"]
    assert (found["repeated"], found["exact"]["value"]) == (0, None)
    log.write_bytes(log.read_bytes() + msgspec.json.encode(again) + b"\n")
    found = assay_cli("gold", "agreement", path, "--json").json["drift"]["ada"]
    assert (found["repeated"], found["exact"]["value"]) == (1, 1.0)


def test_people_and_machines_stand_apart(assay_cli: Assay, tmp_path: Path) -> None:
    machine = [0] * 11 + [2]
    path = voted(
        tmp_path,
        *TWO,
        Ballot(judge="llm", grades=[*machine], kind="machine"),
    )
    found = assay_cli("gold", "agreement", path, "--json").json
    assert (found["kind"], found["judges"]) == ("human", ["ada", "ben"])
    assert set(found["by_kind"]) == {"human", "across"}
    assert found["exact"] == found["by_kind"]["human"]["exact"]
    across = assay_cli("gold", "agreement", path, "--kind", "across", "--json").json
    assert across["exact"] == found["by_kind"]["across"]["exact"]
    met = sum(m == g for m, *others in zip(machine, ADA, BEN, strict=True) for g in others)
    assert across["exact"]["value"] == pytest.approx(met / 24)
    assert {tuple(pair["judges"]) for pair in across["by_pair"]} == {
        ("ada", "llm"),
        ("ben", "llm"),
    }
    named = assay_cli("gold", "agreement", path, "--judges", "ada,llm", "--json").json
    assert (named["kind"], named["judges"]) == ("all", ["ada", "llm"])
    lonely = assay_cli("gold", "agreement", path, "--kind", "machine", "--json").json
    assert (lonely["exact"]["value"], "One judge only (llm)" in lonely["statement"]) == (None, True)


def test_unsure_votes_are_counted_and_not_compared(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(
        tmp_path,
        Ballot(judge="ada", grades=[0, None, 2, None]),
        Ballot(judge="ben", grades=[0, 1, 2, None]),
    )
    found = assay_cli("gold", "agreement", path, "--json").json
    assert (found["pairs"], found["unsure"], found["exact"]["value"]) == (2, 3, 1.0)
    assert found["by_judge"]["ada"]["unsure"] == 2


@pytest.mark.parametrize(
    ("ballots", "said"),
    [
        ([], "Nobody has voted"),
        ([Ballot(judge="ada", grades=[*ADA])], "One judge only (ada)"),
        (
            [
                Ballot(judge="ada", grades=[0, None, 1, None]),
                Ballot(judge="ben", grades=[None, 1, None, 1]),
            ],
            "No two people graded the same pair",
        ),
    ],
)
def test_nothing_in_common_is_said_and_not_made_up(
    ballots: list[Ballot], said: str, assay_cli: Assay, tmp_path: Path
) -> None:
    path = voted(tmp_path, *ballots)
    found = assay_cli("gold", "agreement", path, "--json")
    assert (found.code, said in found.json["statement"]) == (0, True), found.out
    assert "NaN" not in found.out
    for figure in ("exact", "cohen_kappa", "weighted_kappa", "krippendorff_alpha"):
        assert (found.json[figure]["value"], found.json[figure]["interval"]) == (None, None)
    shown = assay_cli("gold", "agreement", path)
    assert (shown.code, said in shown.out) == (0, True)


def test_one_grade_only_is_undefined_and_not_perfect(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(
        tmp_path, Ballot(judge="ada", grades=[1] * 12), Ballot(judge="ben", grades=[1] * 12)
    )
    found = assay_cli("gold", "agreement", path, "--json").json
    assert found["exact"]["value"] == 1.0
    for figure in ("cohen_kappa", "weighted_kappa", "krippendorff_alpha"):
        assert found[figure]["value"] is None
        assert found[figure]["note"] == "undefined: one grade only"
    assert found["by_grade"]["0"]["exact"]["note"] == "undefined: nobody gave it"


def test_who_is_strict_and_who_drifts(assay_cli: Assay, tmp_path: Path) -> None:
    grades = [n * 7 % 3 for n in range(60)]
    strict = [max(grade - (n % 4 > 0), 0) for n, grade in enumerate(grades)]
    later = [min(grade + (n >= 30), 2) for n, grade in enumerate(grades)]
    path = voted(
        tmp_path,
        Ballot(judge="ada", grades=[*grades]),
        Ballot(judge="cy", grades=[*grades]),
        Ballot(judge="strict", grades=[*strict]),
        Ballot(judge="drifting", grades=[*later]),
        queries=12,
    )
    found = assay_cli("gold", "agreement", path, "--json").json
    leanings = {name: judge["leaning"] for name, judge in found["consensus"].items()}
    assert (leanings["strict"], leanings["drifting"]) == ("strict", "lenient")
    assert found["drift"]["drifting"]["change"]["interval"][0] > 0.2
    low, high = found["drift"]["strict"]["change"]["interval"]
    assert low < 0.2
    assert high - low > 0


def test_all_votes_of_one_moment_show_no_drift(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(tmp_path, *TWO)
    votes = tmp_path / "set.votes.jsonl"
    lines = [json.loads(line) | {"at": "2026-01-01"} for line in votes.read_text().splitlines()]
    votes.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = assay_cli("gold", "agreement", path, "--json").json
    assert found["drift"]["ada"]["change"]["note"] == "undefined: all votes are from one time"


def test_few_queries_are_resampled_by_pairs_and_it_is_said(
    assay_cli: Assay, tmp_path: Path
) -> None:
    path = voted(tmp_path, *TWO, queries=1)
    found = assay_cli("gold", "agreement", path, "--json").json
    assert found["resampled"] == "pairs"
    assert found["exact"]["note"] == "over pairs: fewer than 5 queries"
    assert found["exact"]["interval"][0] < 0.75 < found["exact"]["interval"][1]


def test_votes_on_queries_that_left_the_set_are_left_out(assay_cli: Assay, tmp_path: Path) -> None:
    voted(tmp_path, *TWO, queries=6)
    path = a_set(tmp_path, queries=5)
    found = assay_cli("gold", "agreement", path, "--json").json
    assert (found["left_out"]["unknown_queries"], found["queries"]) == (4, 5)


def test_bad_input(assay_cli: Assay, tmp_path: Path) -> None:
    path = voted(tmp_path, Ballot(judge="ada", grades=[*ADA]))
    unknown = assay_cli("gold", "agreement", path, "--judges", "ada,zoe")
    assert (unknown.code, "no judge 'zoe' has voted" in unknown.err) == (2, True)
    assert assay_cli("gold", "agreement", "nowhere.json").code == 2
    votes = tmp_path / "set.votes.jsonl"
    votes.write_text(votes.read_text() + '{"id": "x", "grade": "two"}\n')
    broken = assay_cli("gold", "agreement", path)
    assert (broken.code, "set.votes.jsonl:13" in broken.err) == (2, True)


def test_ten_thousand_votes(assay_cli: Assay, tmp_path: Path) -> None:
    grades = [n * 7 % 3 for n in range(5_000)]
    other = [grade if n % 5 else 2 - grade for n, grade in enumerate(grades)]
    path = voted(
        tmp_path,
        Ballot(judge="ada", grades=[*grades]),
        Ballot(judge="ben", grades=[*other]),
        queries=200,
    )
    assert assay_cli("gold", "agreement", path, "--json").json["pairs"] == 5_000


def test_a_row_says_over_what_it_was_resampled(assay_cli: Assay, tmp_path: Path) -> None:
    """Six queries are resampled; the three of a topic are too few, and say so."""
    path = voted(tmp_path, *TWO)
    page = assay_cli("gold", "agreement", path).out
    assert "bootstrap over queries" in page
    assert "travel\u00a0*" in page
    assert "* fewer than 5 queries: resampled over pairs instead" in page
    path = voted(tmp_path, Ballot(judge="ada", grades=[1, 0] * 12), queries=24)
    assert "fewer than 5 queries" not in assay_cli("gold", "agreement", path).out


def test_a_cell_of_a_table_is_not_broken(assay_cli: Assay, tmp_path: Path) -> None:
    names = ("ada of Helsinki", "ben of Helsinki", "cyd of Helsinki")
    path = voted(
        tmp_path,
        *(
            Ballot(judge=name, grades=[(n * k) % 3 for n in range(12)])
            for k, name in enumerate(names)
        ),
    )
    lines = assay_cli("gold", "agreement", path).out.splitlines()
    assert not [line for line in lines if line.count("(") != line.count(")")]
    assert not [line for line in lines if "-0.00" in line]
    assert any("linear kappa" in line for line in lines)
