"""A backlog in a table of the user's own, on both databases: counted, and never written."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.review import backlog
from assay.review.backlog import (
    BacklogSource,
    ExternalBacklog,
    count_external_backlog,
    count_external_backlogs,
    external_metrics,
    mistake,
)
from assay.telemetry import external_table
from assay.workbench.project.config import read_config

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
ROWS = [
    ("waiting", "2026-05-01 12:00:00"),
    ("new", "2026-05-11 12:00:00"),
    ("pending_review", "2026-05-21 12:00:00"),
    ("approved", "2026-01-01 12:00:00"),
    ("approved", "2026-01-02 12:00:00"),
    ("on hold", "2026-01-03 12:00:00"),
    (None, "2026-01-04 12:00:00"),
]
STATES: dict[str, Any] = {"pending_review": ("waiting", "new")}
Run = Callable[[str], None]


@pytest.fixture(params=["sqlite", "postgresql"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Run]:
    """The address of a database with the rows, and a way to run SQL there."""
    if request.param == "sqlite":
        address = str(tmp_path / "law.db")

        def run(statement: str) -> None:
            with sqlite3.connect(address) as connection:
                connection.execute(statement)

    else:
        import psycopg

        address = request.getfixturevalue("postgres_url")

        def run(statement: str) -> None:
            with psycopg.connect(address) as connection:
                connection.execute(statement)  # type: ignore[call-overload, unused-ignore]

    run("CREATE TABLE halachot (id INTEGER, review_status TEXT, created_at TIMESTAMP)")
    for number, (state, made) in enumerate(ROWS):
        shown = "NULL" if state is None else f"'{state}'"
        run(f"INSERT INTO halachot VALUES ({number}, {shown}, '{made}')")
    return address, run


def count(address: str, **fields: Any) -> ExternalBacklog:
    return count_external_backlog("h", BacklogSource(url=address, **fields), NOW)


on_postgresql = pytest.mark.parametrize("table", ["postgresql"], indirect=True)


def test_the_counts_sum_to_the_total(table: tuple[str, Run]) -> None:
    found = count(table[0], table="halachot", states=STATES)
    assert (found.pending_review, found.approved, found.rejected, found.published) == (3, 2, 0, 0)
    assert found.other == {"(none)": 1, "on hold": 1}
    assert found.total == len(ROWS)
    assert found.oldest_pending_at == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert found.oldest_pending_days == 30.0


def test_a_query_stands_for_a_table(table: tuple[str, Run]) -> None:
    query = "SELECT review_status AS s, created_at AS c FROM halachot WHERE id < 2; "
    columns = {"status": "s", "created": "c", "states": STATES}
    with pytest.raises(InputError, match="cannot be read"):
        count(table[0], query=f"{query}-- newest", **columns)  # a query ends at its semicolon
    assert count(table[0], query=query, **columns).pending_review == 2


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM halachot RETURNING review_status, created_at",
        "WITH gone AS (DELETE FROM halachot RETURNING *) SELECT * FROM gone",
        "SELECT * FROM halachot) AS x; DELETE FROM halachot; SELECT * FROM (SELECT 1",
        "SELECT * FROM halachot) AS counted GROUP BY 1; COMMIT; BEGIN READ WRITE; "
        "DELETE FROM halachot; COMMIT; SELECT * FROM (SELECT * FROM halachot",
    ],
)
def test_nothing_can_be_written(table: tuple[str, Run], query: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        count(table[0], query=query)
    left = count(table[0], table="halachot")
    assert left.total == len(ROWS)


@on_postgresql
def test_the_transaction_only_reads(table: tuple[str, Run]) -> None:
    """With a time limit, and beside the options that the address has."""
    shown = " || ".join(
        f"current_setting('{name}')"
        for name in ("transaction_read_only", "statement_timeout", "search_path")
    )
    query = f"SELECT {shown} AS review_status, now() AS created_at"
    found = count(f"{table[0]}&options=-csearch_path%3Dlaw", query=query)
    assert found.other == {"on3slaw": 1}


@on_postgresql
def test_the_connection_itself_refuses_to_write(table: tuple[str, Run]) -> None:
    """Also by a function that SELECT may call; SQLite has none that write."""
    address, run = table
    run(
        "CREATE FUNCTION clear() RETURNS TEXT LANGUAGE sql AS "
        "$$ DELETE FROM halachot; SELECT 'x'::text $$"
    )
    query = "SELECT clear() AS review_status, now() AS created_at"
    with pytest.raises(InputError, match="read-only transaction"):
        count(address, query=query)


@on_postgresql
def test_what_passes_all_the_same_is_rolled_back(table: tuple[str, Run]) -> None:
    """A session that only reads may still notify others, and before PostgreSQL 16 make large
    objects."""
    import psycopg

    query = "SELECT pg_notify('news', 'x')::text AS review_status, now() AS created_at"
    with psycopg.connect(table[0], autocommit=True) as listening:
        listening.execute("LISTEN news")
        assert count(table[0], query=query).total == 1
        table[1]("NOTIFY news, 'the last'")
        heard = [one.payload for one in listening.notifies(timeout=10, stop_after=1)]
    assert heard == ["the last"]


@on_postgresql
def test_the_documented_role_reaches_nothing_but_its_table(table: tuple[str, Run]) -> None:
    """What a read-only transaction lets pass is refused by the role of docs/backlogs.md."""
    address, run = table
    run("DROP ROLE IF EXISTS assay_backlog_test")
    run("CREATE ROLE assay_backlog_test NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT")
    run("GRANT SELECT (review_status, created_at) ON halachot TO assay_backlog_test")
    run("CREATE TABLE secrets AS SELECT 'x' AS review_status, now() AS created_at")
    limited = f"{address}&options=-crole%3Dassay_backlog_test"
    try:
        assert count(limited, table="halachot").total == len(ROWS)
        for query in (
            "SELECT * FROM secrets",
            "SELECT pg_read_file('/etc/passwd') AS review_status, now() AS created_at",
            "SELECT pg_ls_dir('/') AS review_status, now() AS created_at",
            "SELECT lo_import('/etc/passwd')::text AS review_status, now() AS created_at",
        ):
            with pytest.raises(InputError, match=r"permission denied|read-only transaction"):
                count(limited, query=query)
    finally:
        run("DROP OWNED BY assay_backlog_test")
        run("DROP ROLE assay_backlog_test")


@on_postgresql
def test_a_statement_that_takes_too_long_is_stopped(
    table: tuple[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_table, "STATEMENT_SECONDS", 0.2)
    query = "SELECT pg_sleep(20)::text AS review_status, now() AS created_at"
    with pytest.raises(InputError, match="statement timeout"):
        count(table[0], query=query)


def silent_server(greeting: bytes) -> tuple[socket.socket, list[socket.socket]]:
    """A PostgreSQL that lets one in and then says nothing."""
    listening, lines = socket.create_server(("127.0.0.1", 0)), list[socket.socket]()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = listening.accept()
                lines.append(line)
                while line.recv(1000)[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"):
                    line.sendall(b"N")  # neither TLS nor GSS
                line.sendall(greeting)

    threading.Thread(target=serve, daemon=True).start()
    return listening, lines


def test_a_server_that_says_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr(external_table, "STATEMENT_SECONDS", 0)
    let_in = b"R\0\0\0\x08\0\0\0\0" + b"K\0\0\0\x0c\0\0\0\1\0\0\0\1" + b"Z\0\0\0\x05I"
    listening, lines = silent_server(let_in)
    address = f"postgresql://me@127.0.0.1:{listening.getsockname()[1]}/law"
    source = {"h": BacklogSource(url=address, table="t")}
    found = count_external_backlogs(source, NOW)
    assert "the server did not answer within 1 s" in found["h"].error
    assert len(lines) == 1
    for line in (*lines, listening):
        line.close()


@pytest.mark.parametrize("key", ["table", "status", "created"])
def test_what_is_not_there_is_said(table: tuple[str, Run], key: str) -> None:
    with pytest.raises(InputError, match="nothing") as refused:
        count(table[0], **({"table": "halachot"} | {key: "nothing"}))
    assert refused.value.where == "backlog.h"
    assert refused.value.hint


def test_a_column_that_holds_no_states_is_refused(table: tuple[str, Run]) -> None:
    for number in range(60):
        table[1](f"INSERT INTO halachot VALUES ({100 + number}, 'x', NULL)")
    with pytest.raises(InputError, match="more than 50 different values"):
        count(table[0], table="halachot", status="id")


def test_the_name_of_a_state_has_an_end(table: tuple[str, Run]) -> None:
    table[1](f"INSERT INTO halachot VALUES (8, '{'x' * 100}', NULL)")
    assert count(table[0], table="halachot").other["x" * 100] == 1
    table[1](f"INSERT INTO halachot VALUES (9, '{'x' * 101}', NULL)")
    with pytest.raises(InputError, match="more than 100 characters"):
        count(table[0], table="halachot")


def test_times_of_every_kind(tmp_path: Path) -> None:
    for number, value in enumerate(
        ["'2026-05-01T15:00:00+03:00'", "1777636800", "1777636800000", "'2026-05-01 12:00'"]
    ):
        path = tmp_path / f"{number}.db"
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT 'pending_review' s, {value} c")
        found = count(str(path), table="t", status="s", created="c")
        assert found.oldest_pending_at == datetime(2026, 5, 1, 12, tzinfo=UTC), value


def test_a_cell_that_is_no_time_hides_nothing(table: tuple[str, Run]) -> None:
    """On both databases; where no cell is a time, the counts still stand."""
    given = {"table": "halachot", "states": STATES}
    before = count(table[0], **given)
    odd = "infinity" if "://" in table[0] else ""
    waits = f"INSERT INTO halachot SELECT 90, review_status, '{odd}' FROM halachot WHERE id = 1"
    table[1](waits)
    table[1](waits.replace("infinity", "-infinity"))
    after = count(table[0], **given)
    assert after.oldest_pending_at == before.oldest_pending_at
    assert (before.times_unread, after.times_unread) == (0, 2)
    assert (after.pending_review or 0) - (before.pending_review or 0) == 2
    found = count(table[0], **given, created="review_status")
    assert (found.pending_review, found.oldest_pending_at) == (after.pending_review, None)
    assert found.times_unread == after.pending_review


def test_cells_that_only_sqlite_has(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (review_status, created_at)")
        for cell in ("'2024-05-01'", "''", "9e999", "-9e999", "'2023-13-45'", "x'ff00'", "NULL"):
            connection.execute(f"INSERT INTO t VALUES ('pending_review', {cell})")
        connection.execute("INSERT INTO t VALUES (CAST(x'6fff' AS TEXT), '2020-01-01')")
    found = count(str(tmp_path / "t.db"), table="t")
    assert (found.pending_review, found.times_unread, found.total) == (7, 5, 8)
    assert found.oldest_pending_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert found.other == {"o\ufffd": 1}


def test_one_that_is_away_hides_no_other_and_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "law.db") as connection:
        connection.execute("CREATE TABLE t (review_status, created_at)")
    monkeypatch.setenv("LAW_DB", "postgresql://me:hunter22@127.0.0.1:1/law")
    found = count_external_backlogs(
        {
            "away": BacklogSource(url="env:LAW_DB", table="t"),
            "unset": BacklogSource(url="env:NOT_SET", table="t"),
            "here": BacklogSource(url=str(tmp_path / "law.db"), table="t"),
        },
        NOW,
    )
    assert [found[name].status for name in found] == ["failed", "failed", "ok"]
    assert "hunter22" not in found["away"].error
    assert "NOT_SET" in found["unset"].error
    assert (found["here"].total, found["away"].total) == (0, None)
    text = external_metrics(found)
    assert 'assay_backlog_up{backlog="away"} 0' in text
    assert 'assay_backlog_items{backlog="here",state="pending_review"} 0' in text
    assert 'backlog="away",state' not in text


ELSEWHERE = [
    "mysql://root:hunter22@h/db",
    "mysql:root:hunter22@h/db",
    "jdbc:oracle:thin:scott/hunter22@//h:1521/x",
    "root:hunter22@tcp(h)/db",
    "sqlite:///mysql://root:hunter22@h/db",
    "Driver={ODBC};Uid=a;Pwd={a;hunter22};",
    "postgresql://me:hunter22/x@db/law",
    "postgresql://me:pass@hunter22@db/law",
    "postgresql://me:my hunter22@db/law",
    "host=db password=my hunter22",
]


@pytest.mark.parametrize("url", ELSEWHERE)
def test_an_address_of_something_else_is_not_repeated(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assay.toml").write_text(f"[backlog.my]\nurl = '{url}'\ntable = 't'\n")
    monkeypatch.setenv("LAW_DB", url)
    told = []
    try:
        sources = read_config(tmp_path / "assay.toml").backlog
    except InputError as error:
        told, sources = [str(error)], {}
    sources |= {"env": BacklogSource(url="env:LAW_DB", table="t")}
    told += [found.error for found in count_external_backlogs(sources, NOW).values()]
    assert len(told) == 2
    for said in told:
        assert "PostgreSQL" in said or "postgresql://USER@HOST" in said
        assert "hunter" not in said


def test_a_table_that_does_not_answer_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are counted at once, and all wait for the slowest no longer than for one."""
    monkeypatch.setattr(backlog, "WAIT_SECONDS", 0.5)
    opened, answer = threading.Barrier(3), threading.Event()

    def slow(name: str, source: BacklogSource, now: datetime) -> ExternalBacklog:
        if name != "here":
            opened.wait(10)  # both, or neither goes on
            answer.wait(10)
        return ExternalBacklog(total=1)

    monkeypatch.setattr(backlog, "count_external_backlog", slow)
    source = BacklogSource(url="x.db", table="t")
    found = count_external_backlogs({"one": source, "two": source, "here": source}, NOW)
    assert [found[name].status for name in found] == ["failed", "failed", "ok"]
    assert "backlog.one: no answer within" in found["one"].error
    assert found["here"].total == 1
    opened.wait(10)
    answer.set()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("url = ''\ntable = 't'", "backlog.h.url"),
        ("url = 'x.db'", "a table or a query"),
        ("url = 'x.db'\ntable = 't'\nquery = 'q'", "a table or a query"),
        ("url = 'x.db'\ntable = 't'\nstats = 's'", "Did you mean stat"),
        ("url = 'x.db'\ntable = 't'\nstates = { pending = 'p' }", "no state 'pending'"),
        (
            "url = 'x.db'\ntable = 't'\nstates = { approved = 'p', rejected = ['p'] }",
            "both approved and rejected",
        ),
        (f"url = 'x.db'\ntable = 't'\nstates = {{ approved = '{'p' * 101}' }}", "100 characters"),
        ("table = 't'", "url"),
    ],
)
def test_a_wrong_table_in_the_configuration_is_told(tmp_path: Path, toml: str, said: str) -> None:
    (tmp_path / "assay.toml").write_text(f"[backlog.h]\n{toml}\n")
    with pytest.raises(InputError, match=said):
        read_config(tmp_path / "assay.toml")


def test_a_file_is_found_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text("[backlog.h]\nurl = 'data/x.db'\ntable = 't'\n")
    source = read_config(tmp_path / "assay.toml").backlog["h"]
    assert source.url == os.fspath(tmp_path / "data/x.db")
    assert mistake(source) == ("", "")
