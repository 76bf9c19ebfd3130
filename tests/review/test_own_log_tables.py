"""[logs] in assay.toml: labels from the team's own tables, on both databases, and scores from a
file."""

from __future__ import annotations

import json
import random
import sqlite3
import uuid
from pathlib import Path

import pytest

from kit.commands import Assay
from kit.files import write_json_lines
from kit.stores import database

SEARCHES = (
    "CREATE TABLE search_logs (id {id}, query TEXT, practice_area TEXT, corpus TEXT, "
    "created_at {at})"
)
FEEDBACK = (
    "CREATE TABLE search_relevance_feedback (id INTEGER, search_log_id {id}, case_law_id {id}, "
    "relevance_score SMALLINT, created_at {at})"
)
QUERIES = ["היטל השבחה", "היטל  הַשְבחה", 'תמ"א38', 'תמ"א 38', "Levy, due", "levy due", "   "]


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with the tables of the specification, named by $LEGAL_DB."""
    types = {"id": "TEXT", "at": "TEXT"}
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        types = {"id": "UUID", "at": "TIMESTAMPTZ"}
    else:
        url = str(tmp_path / "legal.db")
        sqlite3.connect(url).close()
    with database(url) as connection:
        connection.execute(SEARCHES.format(**types))
        connection.execute(FEEDBACK.format(**types))
    monkeypatch.setenv("LEGAL_DB", url)
    Path("assay.toml").write_text('[logs]\nurl = "env:LEGAL_DB"\n')
    return url


def fill(address: str, table: str, *rows: tuple[object, ...]) -> None:
    mark = "%s" if "://" in address else "?"
    with database(address) as connection:
        for row in rows:
            values = ", ".join([mark] * len(row))
            connection.execute(f"INSERT INTO {table} VALUES ({values})", row)


def id_of(number: int) -> str:
    return str(uuid.UUID(int=number))


def labels(path: str = "gold-set.jsonl") -> dict[tuple[str, str], set[str]]:
    file = Path(path)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["corpus"], row["query"]): set(row["relevant_case_law_ids"]) for row in rows}


def small(address: str) -> None:
    at = "2026-05-01T10:00:00+00:00"
    fill(
        address,
        "search_logs",
        (id_of(1), "levy due", "betterment_levy", "precedent_library", at),
        (id_of(2), "Levy, due", "betterment_levy", "precedent_library", "2020-01-01T00:00:00Z"),
        (id_of(3), "levy due", None, "internal_decisions", at),
    )
    fill(
        address,
        "search_relevance_feedback",
        (1, id_of(1), id_of(101), 3, at),
        (2, id_of(2), id_of(102), 3, at),
        (3, id_of(3), id_of(101), 3, at),
        (4, id_of(1), id_of(103), 2, at),
        (5, id_of(1), id_of(104), 1, at),
        (6, id_of(1), id_of(105), 0, at),
        (7, id_of(1), id_of(106), None, at),
        (8, id_of(9), id_of(107), 3, at),
    )


def test_bootstrap_gives_the_labels_of_the_tables(assay_cli: Assay, address: str) -> None:
    """Without a store, and without making one."""
    small(address)
    done = assay_cli("gold", "bootstrap")
    assert (done.code, labels()) == (
        0,
        {
            ("precedent_library", "Levy, due"): {id_of(101), id_of(102)},
            ("internal_decisions", "levy due"): {id_of(101)},
        },
    )
    assert "7 rows of feedback read; 1 belong to no search" in done.err
    assert not Path(".assay").exists()
    first = Path("gold-set.jsonl").read_bytes()
    assay_cli("gold", "bootstrap")
    assert Path("gold-set.jsonl").read_bytes() == first
    row = json.loads(first.splitlines()[0])
    assert list(row) == [
        "id",
        "query",
        "practice_area",
        "corpus",
        "relevant_case_law_ids",
        "source",
        "note",
    ]


def test_a_label_that_left_the_tables_leaves_the_set(assay_cli: Assay, address: str) -> None:
    small(address)
    assay_cli("gold", "bootstrap")
    with database(address) as connection:
        connection.execute("DELETE FROM search_relevance_feedback WHERE id = 3")
    assert "1 removed" in assay_cli("gold", "bootstrap").err
    assert set(labels()) == {("precedent_library", "Levy, due")}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--recent", "3650"), {101}),
        (("--min-grade", "2"), {101, 102, 103}),
        (("--min-grade", "1"), {101, 102, 103, 104}),
        (("--min-support", "2"), set()),
    ],
)
def test_options_of_bootstrap_hold(
    assay_cli: Assay, address: str, options: tuple[str, ...], wanted: set[int]
) -> None:
    small(address)
    with database(address) as connection:
        moved = f"UPDATE search_logs SET created_at = '1990-01-01' WHERE id = '{id_of(2)}'"
        connection.execute(moved)
    assay_cli("gold", "bootstrap", *options)
    found = [ids for (corpus, _), ids in labels().items() if corpus == "precedent_library"]
    assert found == ([{id_of(number) for number in wanted}] if wanted else [])


def test_a_select_names_what_the_tables_call_otherwise(assay_cli: Assay, address: str) -> None:
    small(address)
    with database(address) as connection:
        connection.execute("ALTER TABLE search_logs RENAME COLUMN query TO asked")
    assert "no column query" in assay_cli("gold", "bootstrap").err
    Path("assay.toml").write_text(
        '[logs]\nurl = "env:LEGAL_DB"\n'
        'searches = "SELECT id, asked AS query, corpus FROM search_logs '
        "WHERE corpus LIKE 'int%';\"\n"
        'feedback = """\n  SELECT search_log_id AS log_id, case_law_id AS doc_id,\n'
        "    CASE WHEN relevance_score = 3 THEN 3 ELSE 0 END AS score\n"
        '  FROM search_relevance_feedback"""\n'
    )
    assay_cli("gold", "bootstrap")
    assert labels() == {("internal_decisions", "levy due"): {id_of(101)}}
    assert "have no time" in assay_cli("gold", "bootstrap", "--recent", "9").err


def test_another_scale_is_refused(assay_cli: Assay, address: str) -> None:
    small(address)
    fill(address, "search_relevance_feedback", (9, id_of(1), id_of(101), 5, None))
    done = assay_cli("gold", "bootstrap")
    assert (done.code, "the score 5 is not 0, 1, 2 or 3" in done.err) == (2, True)
    assert not Path("gold-set.jsonl").exists()


def test_random_tables_give_the_labels_of_a_plain_join(assay_cli: Assay, address: str) -> None:
    dice = random.Random(4)
    corpora = ["precedent_library", "internal_decisions"]
    searches = [
        (id_of(n), dice.choice(QUERIES), "x", dice.choice(corpora), "2026-05-01")
        for n in range(200)
    ]
    feedback = [
        (n, id_of(dice.randrange(220)), id_of(dice.randrange(1000, 1030)), dice.randrange(4), None)
        for n in range(600)
    ]
    fill(address, "search_logs", *searches)
    fill(address, "search_relevance_feedback", *feedback)
    same = {'תמ"א38': "t", 'תמ"א 38': "t", "Levy, due": "l", "levy due": "l"}
    same |= {"היטל השבחה": "h", "היטל  הַשְבחה": "h"}
    expected: dict[tuple[str, str], set[str]] = {}
    known = {row[0]: (row[3], same[row[1]]) for row in searches if row[1].strip()}
    for _, log_id, doc_id, score, _ in feedback:
        if score == 3 and log_id in known:
            expected.setdefault(known[log_id], set()).add(doc_id)
    assay_cli("gold", "bootstrap")
    keys = {" ".join(text.split()): key for text, key in same.items()}
    assert {(corpus, keys[text]): ids for (corpus, text), ids in labels().items()} == expected


def test_a_set_can_begin_with_the_queries_of_the_tables(assay_cli: Assay, address: str) -> None:
    small(address)
    assay_cli("gold", "init", "set.json", "--rubric", "fppc-relevance-1", "--queries", "logs")
    made = json.loads(Path("set.json").read_text(encoding="utf-8"))
    assert [query["text"] for query in made["queries"]] == ["levy due"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('url = ""', "logs.url"),
        ('url = "mysql://u:secret@h/d"', "logs.url"),
        ('url = "x.db"\nsearches = " "', "logs.searches"),
        ('url = "x.db"\nsearch = "t"', "Did you mean searches?"),
    ],
)
def test_a_mistake_in_the_file_is_said(assay_cli: Assay, text: str, said: str) -> None:
    Path("assay.toml").write_text(f"[logs]\n{text}\n")
    done = assay_cli("gold", "bootstrap")
    assert (done.code, said in done.err, "secret" in done.err) == (2, True, False)


# ── scores from a file ────────────────────────────────────────────────────────────────────────────


def test_scores_from_a_file_are_labels(assay_cli: Assay, tmp_path: Path) -> None:
    searches = write_json_lines(
        tmp_path / "searches.jsonl",
        {"id": 7, "created_at": "2026-05-01", "query": "levy", "corpus": "c"},
        {"id": 8, "created_at": "2026-05-01", "query": "tax", "corpus": "c"},
    )
    scores = write_json_lines(
        tmp_path / "feedback.jsonl",
        {"search_log_id": 7, "case_law_id": "a", "relevance_score": 3},
        {"search_log_id": 7, "case_law_id": "b", "relevance_score": 2},
        {"log_id": "8", "doc_id": "c", "score": 3, "at": "2026-05-02"},
        {"log_id": "9", "doc_id": "c", "score": 3},
    )
    assay_cli("logs", "import", searches)
    done = assay_cli("logs", "feedback", scores)
    assert "4 rows of feedback read, 4 new" in done.err
    assert "1 belong to no search in the log" in done.err
    assay_cli("gold", "bootstrap")
    assert labels() == {("c", "levy"): {"a"}, ("c", "tax"): {"c"}}
    again = write_json_lines(
        tmp_path / "again.jsonl",
        {"log_id": "8", "doc_id": "c", "score": 0, "at": "2026-05-03"},
    )
    assay_cli("logs", "feedback", again)
    assay_cli("gold", "bootstrap")
    assert labels() == {("c", "levy"): {"a"}}


@pytest.mark.parametrize(
    "row",
    [
        {"log_id": "1", "doc_id": "a"},
        {"log_id": "1", "doc_id": "a", "score": 4},
        {"log_id": "1", "doc_id": "a", "score": "high"},
        {"log_id": "1", "doc_id": "a", "score": 3, "kind": "click"},
        {"doc_id": "a", "score": 3},
    ],
)
def test_a_wrong_row_of_feedback_is_refused_with_its_line(
    assay_cli: Assay, tmp_path: Path, row: dict[str, object]
) -> None:
    path = write_json_lines(tmp_path / "f.jsonl", {"log_id": "1", "doc_id": "b", "score": 3}, row)
    done = assay_cli("logs", "feedback", path)
    assert (done.code, "f.jsonl:2" in done.err) == (2, True)
    assay_cli("logs", "import", write_json_lines(tmp_path / "s.jsonl", SEARCH))
    assay_cli("gold", "bootstrap")
    assert not labels()


SEARCH = {"id": "1", "at": "2026-05-01", "query": "levy"}
