"""What is shown of a text from elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from assay.cli import output
from assay.cli.output import printable
from assay.core import conninfo
from assay.core.errors import AssayError, InputError
from assay.core.redaction import is_keywords, without_password
from assay.core.results_file import encode
from assay.corpus.build import _recipe
from assay.corpus.importers.kinds import importer
from assay.engines.secrets import without_secrets
from assay.store import open_store
from assay.store.database import address, connect
from kit.commands import Assay

ADDRESSES = [
    "postgresql://me:hunter2@db/law",
    "postgresql://me:hunter2/x?y@db/law",
    "postgresql://me:hun@ter2@db/law",
    "postgresql://db/law?user=me&password=hunter2",
    "postgresql://db/law?sslpassword=hunter2&sslmode=require",
    "host=db user=me password=hunter2",
    r"host=db password = 'hunter2 with \' and spaces' dbname=law",
    "PASSWORD=hunter2 host=db",
    "Server=db;Pwd=hunter2;Database=law",
    "Server=db;Pwd={a;hunter2};Database=law",
    "host=db user=a password=Xy&hunter2",
    r"host=db password=two\ hunter2",
    "host=db password=ab'hunter2",
    "postgresql://u@db/law?sslmode=require&passw%6frd=hunter2",
    "postgresql://u@db/law?sslmode=require&password=ab;hunter2",
    "postgresql://u@db/law?password=ab#hunter2",
]


@pytest.mark.parametrize("given", ADDRESSES)
def test_a_password_is_not_shown(given: str) -> None:
    shown = without_password(given)
    assert "hunter2" not in shown
    assert "hun@" not in shown
    assert "ter2" not in shown
    assert "spaces" not in shown
    assert "***" in shown
    assert "db" in shown
    assert "hunter2" not in without_secrets(f"cannot connect to {given}", ())
    recipe = _recipe(
        "postgres", given, {"query": f"SELECT dblink('{given}')"}, importer("postgres")
    )
    assert "ter2" not in recipe.source
    assert "ter2" not in str(recipe.options)


@pytest.mark.parametrize(
    "said",
    [
        "https://h/x?q=levy&access_token=hunter2",
        "https://h/x?q=levy&key=hunter2",
        "https://h/x?q=levy&auth=hunter2",
        "https://h/x?q=levy&sig=hunter2",
        "https://h/x?q=levy&X-Amz-Signature=hunter2",
        "https://h/x?q=levy&subscription-key=hunter2",
        "https://hunter2@h/x?q=levy",
        "//me:hunter2@h/levy",
        "levy: Authorization: Bearer hunter2",
        "{'q': 'levy', 'authorization': 'Basic hunter2'}",
    ],
)
def test_a_key_is_not_shown_wherever_it_stands(said: str) -> None:
    shown = without_password(said)
    assert "hunter2" not in shown
    assert "levy" in shown
    assert "***" in shown
    assert without_password(shown) == shown


@pytest.mark.parametrize(
    "given", ["postgresql://me:hunter2@db/law", "host=db user=me password=hunter2"]
)
@pytest.mark.parametrize(
    "asked", ["gold check", "score", "search {} x", "engines test {} x", "compare", "report"]
)
def test_an_address_in_the_wrong_place_is_told_without_its_password(
    assay_cli: Assay, given: str, asked: str
) -> None:
    """As the name of a file or of a corpus, where it was not meant to be given."""
    words = [given if word == "{}" else word for word in asked.split()]
    done = assay_cli(*words, *([given] if "{}" not in asked else []))
    assert done.code == 2
    assert "hunter2" not in done.out + done.err


def test_a_sentence_is_left_as_it_is() -> None:
    said = "The key to the case: an author signed it; see https://h/x?q=key&keyword=author#key"
    assert without_password(said) == said


def test_keys_in_addresses_of_engines_are_refused_and_not_told(
    assay_cli: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assay.toml").write_text(
        '[engines.a]\nhttp = "http://127.0.0.1:9/x?access_token=hunter2&q={{query}}"\n'
        'hits = "hits"\nid = "id"\n'
    )
    for asked in (["engines", "list"], ["engines", "test", "a", "levy"]):
        done = assay_cli(*asked)
        assert done.code == 2
        assert "access_token: a key does not belong in a file" in done.err
        assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("host=db user=a password=Xy&hunter2", "postgresql://a:***@db/"),
        (r"host=db dbname=law password=two\ hunter2", "postgresql://:***@db/law"),
        ("postgresql://u@h/db?passw%6frd=hunter2", "postgresql://u:***@h/db"),
        ("postgresql://u@h/db?sslmode=require&password=ab;hunter2", "u:***@h/db?sslmode=require"),
        ("postgresql://u:p%40hunter2@h:1/db?sslpassword=hunter2", "postgresql://u:***@h:1/db"),
        ("postgresql+psycopg://u:hunter2@/db?host=/run/pg", "u:***@/db?host=/run/pg"),
        ("host=a,b port=1,2 password=hunter2", "postgresql://:***@/?host=a%2Cb&port=1%2C2"),
        ("postgresql://u:my hunter2@h/db", "postgresql://…"),
        ("postgresql://u:a@hunter2@h/db", "postgresql://…"),
        ("postgresql://u:hunter2/x@h/db", "postgresql://…"),
        ("host=db password=my hunter2", "postgresql://…"),
        ("postgresql://h/db?host=u:hunter2", "postgresql://…"),
        ("host=h dbname='password=hunter2'", "postgresql://…"),
        ("host=h user='u:hunter2@x'", "postgresql://…"),
        ("postgresql://u@[2001:db8::1]:5432/db", "postgresql://u@[2001:db8::1]:5432/db"),
        ("postgresql://u%40server@h/db?password=hunter2", "postgresql://u%40server:***@h/db"),
        ("host=db dbname=law", "host=db dbname=law"),
        ("postgresql://me@db:5432/law?sslmode=require", "postgresql://me@db:5432/law?sslmode=req"),
    ],
)
def test_an_address_is_shown_as_its_driver_reads_it(given: str, shown: str) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg")
    found = conninfo.without_secrets(given)
    assert shown in found
    assert "hunter2" not in found
    assert conninfo.without_secrets(found) == found  # as a corpus keeps it, and shows it again


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://u:my hunter2@h/db",
        "host=db password=my hunter2",
        "Driver={x};Pwd={a;hunter2};",
        "postgresql://u:hunter2@h:badport/db",
    ],
)
def test_a_driver_does_not_complain_of_a_password(assay_cli: Assay, given: str) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg")
    done = assay_cli("corpus", "import", "postgres", given, "--name", "c", "--option", "query=x")
    assert (done.code, "not an address of PostgreSQL" in done.err) == (2, True)
    assert "hunter2" not in done.out + done.err
    done = assay_cli("corpus", "import", "csv", given, "--name", "c")
    assert (done.code, "no such file" in done.err, "hunter2" in done.err) == (2, True, False)


@pytest.mark.parametrize(
    "given",
    [
        "host=db password=ab&hunter2",
        "Driver={x};Pwd={a;hunter2};",
        "mysql://u:hunter2@h/db",
        "mysql:u:hunter2@h/db",
        "sqlite:///mysql:u:hunter2@h/db",
        "postgresql://u:hunter2@h:badport/db",
        "postgresql://u:a@hunter2@h/db",
    ],
)
def test_a_store_elsewhere_is_refused_without_its_password(
    assay_cli: Assay, given: str, tmp_path: Path
) -> None:
    (tmp_path / "searches.jsonl").write_text('{"query": "levy"}\n')
    before = sorted(tmp_path.rglob("*"))
    done = assay_cli("logs", "import", "searches.jsonl", "--store", given)
    assert (done.code, "hunter2" in done.out + done.err) == (2, False)
    assert sorted(tmp_path.rglob("*")) == before
    assert "hunter2" not in assay_cli("doctor", "--store", given).out


def test_an_address_without_a_password_stays() -> None:
    for given in (
        "postgresql://me@db:5432/law?sslmode=require",
        "/home/me/opinions",
        "https://db:9200/index/_search",
        "host=db dbname=law",
    ):
        assert without_password(given) == given


def test_a_store_on_a_connection_string_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_keywords("host=db password=hunter2")
    assert not is_keywords("logs/assay.db")
    with pytest.raises(InputError) as refused:
        open_store("host=db password=hunter2")
    assert "hunter2" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_address_of_a_store_has_no_password() -> None:
    pytest.importorskip("psycopg", reason="needs psycopg")
    engine = connect("postgresql://me:hunter2@127.0.0.1:1/law?password=hunter2&connect_timeout=1")
    assert "hunter2" not in address(engine)
    with pytest.raises(AssayError) as refused:
        open_store("postgresql://127.0.0.1:1/law?user=me&password=hunter2")
    assert "hunter2" not in str(refused.value)


ATTACKS = [
    "\x1b]0;owned\x07title",
    "\x1b[31mtitle\x1b[0m",
    "\x1b[2Jtitle",
    "\x9b2Jtitle",
    "\x1b]8;;http://evil\x1b\\title\x1b]8;;\x1b\\",
    "ti\x08\x08\x08tle",
    "title\x1b",
    "\u202etitle",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_a_title_cannot_drive_a_terminal(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.table import Table

    table = Table()
    table.add_column("title")
    table.add_row(text)
    output.show(table)
    output.say(text)
    shown = capsys.readouterr()
    for said in (shown.out, shown.err, printable(text)):
        assert "tle" in said
        assert not set(said) & {"\x1b", "\x07", "\x08", "\x9b", "\u202e"}


@pytest.mark.parametrize("text", ATTACKS)
def test_json_on_a_terminal_drives_it_no_more(text: str) -> None:
    import json

    written = output._escape_controls(encode({"title": text}))
    assert json.loads(written) == {"title": text}
    assert not set(written.decode()) & {"\x1b", "\x07", "\x08", "\x9b", "\u202e"}


def test_a_rubric_of_a_project_drives_it_no_more(assay_cli: Assay) -> None:
    from assay.judging import rubrics

    text = (Path(rubrics.__file__).parent / "fppc-relevance-2.toml").read_text()
    assert "Highly relevant" in text
    Path("rubrics").mkdir()
    evil = text.replace("Highly relevant", "\\u009b2JHighly relevant", 1)
    Path("rubrics/evil.toml").write_text(evil.replace("fppc-relevance-2", "evil"))
    done = assay_cli("rubric", "evil")
    assert (done.code, "Highly relevant" in done.out) == (0, True), done.err
    assert "\x9b" not in done.out


def test_colours_of_our_own_stay() -> None:
    console = output._console(file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print("\x1b[31mtitle", style="bold")
    assert console.file.getvalue() == "\x1b[1mtitle\x1b[0m\n"  # type: ignore[attr-defined]


def test_lines_tabs_and_letters_of_all_languages_stay() -> None:
    text = "שלום\tπ\nכיתה א׳ – 1\u200f"
    assert printable(text) == text
