"""A store in a database that already has tables of the team, `search_logs` among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from assay.testing import open_store
from kit.commands import Assay
from kit.stores import database, log_one_search

THEIRS = (
    "CREATE TABLE search_logs (id UUID, query TEXT)",
    "INSERT INTO search_logs VALUES ('00000000-0000-0000-0000-000000000001', 'levy')",
    "CREATE TABLE alembic_version (version_num TEXT)",
    "INSERT INTO alembic_version VALUES ('a1b2c3d4')",
)


def run(url: str, *statements: str) -> list[Any]:
    """The rows of the last statement, with the search path that everybody has."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            done = connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
        return done.fetchall() if done.description else []


def tables(url: str, schema: str) -> set[str]:
    found = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"
    return {name for (name,) in run(url, found)}


def test_a_store_lives_beside_the_tables_of_the_team(assay_cli: Assay, postgres_url: str) -> None:
    run(postgres_url, *THEIRS)
    done = log_one_search(assay_cli, postgres_url)
    assert done.code == 0, done.err
    assert tables(postgres_url, "public") == {"search_logs", "alembic_version"}
    assert run(postgres_url, "SELECT count(*), min(query) FROM search_logs") == [(1, "levy")]
    assert run(postgres_url, "SELECT count(*) FROM assay.search_logs") == [(1,)]
    doctor = assay_cli("doctor", "--store", postgres_url, "--json").json
    assert doctor["store"]["rows"]["search_logs"] == 1
    backup = assay_cli("backup", "b.zip", "--store", postgres_url)
    assert backup.code == 0, backup.err


def test_a_store_of_an_earlier_version_stays_where_it_is(
    assay_cli: Assay, postgres_url: str
) -> None:
    in_public = f"{postgres_url}&options=-csearch_path%3Dpublic"
    log_one_search(assay_cli, in_public)
    done = log_one_search(assay_cli, postgres_url)
    assert (done.code, "new store" in done.err) == (0, False)
    assert "1 search read, 0 new" in done.err
    assert "search_logs" in tables(postgres_url, "public")
    assert not tables(postgres_url, "assay")


@pytest.mark.parametrize("theirs", [THEIRS, THEIRS[:1], THEIRS[2:]])
def test_a_collision_is_said_before_anything_is_written(
    assay_cli: Assay, postgres_url: str, theirs: tuple[str, ...]
) -> None:
    """In a schema that somebody else calls assay, and in one that the address names."""
    run(postgres_url, "CREATE SCHEMA assay", "SET search_path TO assay", *theirs)
    before = tables(postgres_url, "assay")
    done = log_one_search(assay_cli, postgres_url)
    assert (done.code, "the schema assay has tables of another program" in done.err) == (2, True)
    assert "options=-csearch_path%3DNAME" in done.err
    assert tables(postgres_url, "assay") == before
    run(postgres_url, *theirs)
    done = log_one_search(assay_cli, f"{postgres_url}&options=-csearch_path%3Dpublic")
    assert (done.code, "the schema public has" in done.err) == (2, True)
    assert tables(postgres_url, "public") == before
    done = log_one_search(assay_cli, f"{postgres_url}&options=-csearch_path%3Dmeasured")
    assert (done.code, "search_logs" in tables(postgres_url, "measured")) == (0, True)


def test_a_role_without_rights_hears_what_to_ask_for(assay_cli: Assay, postgres_url: str) -> None:
    run(
        postgres_url,
        "DROP ROLE IF EXISTS modest",
        "CREATE ROLE modest LOGIN PASSWORD 'x'",
    )
    modest = postgres_url.replace("postgres:", "modest:", 1).replace("postgres@", "modest@", 1)
    assert modest != postgres_url
    done = log_one_search(assay_cli, modest)
    assert (done.code, "CREATE SCHEMA assay AUTHORIZATION" in done.err) == (2, True), done.err
    run(postgres_url, "CREATE SCHEMA assay AUTHORIZATION modest")
    assert log_one_search(assay_cli, modest).code == 0


@pytest.mark.parametrize("theirs", [THEIRS, THEIRS[:1], THEIRS[2:]])
def test_a_file_of_another_program_is_left_alone(
    assay_cli: Assay, tmp_path: Path, theirs: tuple[str, ...]
) -> None:
    file = tmp_path / "legal.db"
    with database(str(file)) as connection:
        for statement in theirs:
            connection.execute(statement)
    before = file.read_bytes()
    done = log_one_search(assay_cli, file)
    assert (done.code, "a database of another program" in done.err) == (2, True), done.err
    assert file.read_bytes() == before


def test_a_backup_is_restored_beside_the_tables_of_the_team(
    assay_cli: Assay, postgres_url: str, tmp_path: Path
) -> None:
    log_one_search(assay_cli, postgres_url)
    assay_cli("backup", tmp_path / "b.zip", "--store", postgres_url)
    run(postgres_url, "DROP SCHEMA assay CASCADE", *THEIRS)
    done = assay_cli("restore", tmp_path / "b.zip", "--store", postgres_url)
    assert done.code == 0, done.err
    store = open_store(postgres_url)
    assert store.search_total() == 1
    store.close()
