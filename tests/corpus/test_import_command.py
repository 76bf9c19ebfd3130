"""`assay corpus import` and `check`, as a user meets them with input that is not quite right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.commands import Assay

GOOD = '{"id": "a", "text": "one"}\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text(GOOD)
    return path


@pytest.mark.parametrize(
    ("kind", "option", "message"),
    [
        ("jsonl", ("--option", "langauge=he"), "Known: map, language, encoding, delimiter."),
        ("finlex", ("--option", "language=fi"), "The importer 'finlex' has no options."),
        ("fppc", ("--map", "id=number"), "unknown option 'map' for the importer 'fppc'"),
        ("jsonl", ("--option", "map=id"), "'id' is not a mapping of columns"),
    ],
)
def test_an_option_that_will_not_do_is_refused(
    assay_cli: Assay, source: Path, kind: str, option: tuple[str, ...], message: str
) -> None:
    done = assay_cli("corpus", "import", kind, source, "--name", "c", *option)
    assert done.code == 2
    assert message in done.err
    assert assay_cli("corpus", "list", "--json").json == []


def test_one_document_is_one(assay_cli: Assay, source: Path) -> None:
    assert (
        "c: 1 document imported"
        in assay_cli("corpus", "import", "jsonl", source, "--name", "c").out
    )


def test_the_check_fails_on_records_that_could_not_be_read(assay_cli: Assay, source: Path) -> None:
    source.write_text(GOOD + '{"id": "b", "text": "two"}\nnot json\n{"id": "b", "text": "other"}\n')
    imported = assay_cli("corpus", "import", "jsonl", source, "--name", "c")
    assert imported.code == 0
    assert (
        "duplicate-id: cases.jsonl:4: the id 'b' was read before with other content, from "
        "cases.jsonl:2" in imported.err
    )
    done = assay_cli("corpus", "check", "c")
    assert done.code == 1
    assert "2 errors" in done.err
    source.write_text(GOOD + GOOD)
    assay_cli("corpus", "import", "jsonl", source, "--name", "c")
    done = assay_cli("corpus", "check", "c", "--json")
    assert (done.code, done.json[0]["code"], done.json[0]["where"]) == (
        0,
        "duplicate",
        "cases.jsonl:2",
    )


@pytest.mark.parametrize("name", ["a b", "a/b", ".a", "", "a\tb", "-a", "a:b"])
def test_a_name_that_cannot_be(assay_cli: Assay, source: Path, name: str) -> None:
    done = assay_cli("corpus", "import", "jsonl", source, f"--name={name}")
    assert done.code == 2
    assert "begin with a letter or digit" in done.err


@pytest.mark.parametrize("name", ["פסיקה", "kuntalaki-2015.1", "A_1"])
def test_a_name_that_can(assay_cli: Assay, source: Path, name: str) -> None:
    assert assay_cli("corpus", "import", "jsonl", source, "--name", name).code == 0


def test_a_record_that_lacks_a_key_is_told_which_ones_it_needs(
    assay_cli: Assay, tmp_path: Path
) -> None:
    (tmp_path / "act.json").write_text('[{"law_id": "1/2025", "section_id": "1", "text": "A."}]')
    done = assay_cli("corpus", "import", tmp_path / "act.json", "--name", "act")
    assert (
        "the key 'law' is missing; a record has at least law, law_id, section_id, text" in done.err
    )
