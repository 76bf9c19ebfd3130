"""Trigrams inside PostgreSQL. The server that comes as a Python package has no pg_trgm, so this
needs one of Debian's (`apt-get install postgresql`, which has it); it is started on its own folder
and touches no other. Where that server has pgvector too, all three ways of searching are fused;
$ASSAY_TEST_POSTGRES names another server's folder of programs."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.engines.postgres import PostgresEngine, Settings
from kit.commands import Assay

psycopg = pytest.importorskip("psycopg", reason="needs the package psycopg[binary]")

ROWS = [
    ("a", "היטל השבחה ישולם במועד המימוש של זכויות במקרקעין"),
    ("b", "A commissioner must leave the room when the hearing concerns her home."),
    ("c", "Tickets are a gift; the limit applies to their face value."),
]


def tools() -> Path | None:
    """The newest PostgreSQL of the machine that has pg_trgm."""
    if named := os.environ.get("ASSAY_TEST_POSTGRES"):
        return Path(named)
    for folder in sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name)
    ):
        if Path(f"/usr/share/postgresql/{folder.parent.name}/extension/pg_trgm.control").exists():
            return folder
    return None


def as_user() -> dict[str, Any]:
    """The server refuses to run as root: then it is the user that its package made."""
    if os.getuid():
        return {}
    try:
        return {"user": pwd.getpwnam("postgres").pw_uid, "group": pwd.getpwnam("postgres").pw_gid}
    except KeyError:
        return {}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    bin = tools()
    if bin is None or (os.getuid() == 0 and not as_user()):
        pytest.skip("needs a PostgreSQL with pg_trgm: the Debian package postgresql")
    folder = Path(tempfile.mkdtemp(prefix="trgm"))
    user = as_user()
    if user:
        os.chown(folder, user["user"], user["group"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    )
    plain: dict[str, Any] = {"check": True, "cwd": folder, "stdout": subprocess.DEVNULL, **user}
    subprocess.run(
        [bin / "initdb", "-D", folder / "data", "-U", "assay", "-A", "trust", "-E", "UTF8"], **plain
    )
    control = [bin / "pg_ctl", "-D", folder / "data", "-w"]
    subprocess.run([*control, "-o", options, "-l", folder / "log", "start"], **plain)
    yield f"postgresql://assay@127.0.0.1:{port}/postgres"
    subprocess.run([*control, "-m", "immediate", "stop"], **plain)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server: str) -> Iterator[str]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        connection.execute("CREATE TABLE case_law (id text, body text)")
        for row in ROWS:
            connection.execute("INSERT INTO case_law VALUES (%s, %s)", row)
        yield server
        connection.execute("DROP TABLE case_law")


def test_a_misspelt_word_is_found_by_trigrams_alone(url: str) -> None:
    made = PostgresEngine(Settings(url=url, table="case_law", text="body"))
    for query, found in (("commisioner", "b"), ("השבחת", "a"), ("tickts", "c")):
        hits = made.search(query, 3)
        assert [hit.doc_id for hit in hits][:1] == [found]
        assert list(hits[0].explanation) == ["trigram"], "no whole word matches"
    assert made.missing == {}


def test_words_and_trigrams_are_fused(url: str) -> None:
    made = PostgresEngine(Settings(url=url, table="case_law", text="body", config="english"))
    best = made.search("gift tickets", 3)[0]
    assert (best.doc_id, set(best.explanation)) == ("c", {"full_text", "trigram"})
    assert best.score == pytest.approx(1 / 61 + 0.5 / 61)
    words = PostgresEngine(
        Settings(url=url, table="case_law", text="body", config="english", trigram_weight=0)
    )
    assert set(words.search("gift tickets", 3)[0].explanation) == {"full_text"}


def test_an_index_is_used(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO case_law SELECT 'd' || n, md5(n::text) || ' ' || md5((n * 7)::text) "
            "FROM generate_series(1, 12000) n"
        )
        connection.execute("CREATE INDEX by_trigram ON case_law USING gin (body gin_trgm_ops)")
        connection.execute("ANALYZE case_law")
    made = PostgresEngine(Settings(url=url, table="case_law", text="body"))
    assert "Index Scan on by_trigram" in made.plans("commisioner")["trigram"]
    assert made.search("commisioner", 3)[0].doc_id == "b"


def test_words_vectors_and_trigrams_are_fused(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        if not connection.execute(
            "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        ).fetchall():
            pytest.skip("needs pgvector beside pg_trgm on one server")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("ALTER TABLE case_law ADD embedding vector(2)")
        connection.execute(
            "UPDATE case_law SET embedding = CASE id WHEN 'b' THEN '[1,0.2]' ELSE '[0,1]' "
            "END::vector"
        )
    settings = Settings(
        url=url, table="case_law", text="body", config="english", vector="embedding"
    )
    made = PostgresEngine(settings, embed=lambda query: [1.0, 0.0])
    hits = {hit.doc_id: hit for hit in made.search("gift tickts", 3)}
    assert made.missing == {}
    assert {id: set(hit.explanation) for id, hit in hits.items()} == {
        "c": {"full_text", "vector", "trigram"},
        "b": {"vector"},
        "a": {"vector"},
    }
    ranks = {way: part["rank"] for way, part in hits["c"].explanation.items()}
    assert ranks == {"full_text": 1, "vector": 3, "trigram": 1}
    assert hits["c"].score == pytest.approx(1 / 61 + 1 / 63 + 0.5 / 61)
    assert list(hits) == ["c", "b", "a"]


def test_assay_score_on_the_production_path(url: str, assay_cli: Assay) -> None:
    """As docs/logs-to-gold.md says it."""
    Path("production.py").write_text(
        "import os\nfrom assay.engines.postgres import PostgresEngine, Settings\n\n\n"
        "class Production(PostgresEngine):\n    def __init__(self):\n"
        f"        super().__init__(Settings(url={url!r}, table='case_law', text='body'))\n"
    )
    Path("gold-set.jsonl").write_text(
        '{"id":"g001","query":"השבחת","corpus":"c","relevant_case_law_ids":["a"],"source":"bootstrap"}\n'
    )
    done = assay_cli(
        "score", "--dataset", "gold-set.jsonl", "--search-module", "production.py", "--json"
    )
    assert (done.code, done.json["overall"]["mrr"]) == (0, 1.0), done.err
