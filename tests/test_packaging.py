"""What is installed: the table of extras is that of pyproject.toml, a missing extra is one sentence
everywhere, and the encoders are the ones that were released."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay_models
from assay.core import extras
from assay.core.extras import EXTRAS, MissingExtra
from assay.core.types import Document
from assay.judging.passages import _query_words, passages
from kit.commands import Assay

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODELS: dict[str, Any] = tomllib.loads((ROOT / "packages/models/pyproject.toml").read_text())
SAMPLE = ROOT / "samples" / "en"


def packages_of(extra: str) -> set[str]:
    """The packages that an extra asks for, with those of the extras in it."""
    found: set[str] = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        name, _, inner = re.match(r"([\w.-]+)(\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
        if name == PROJECT["name"]:
            found = found.union(*(packages_of(part) for part in inner.split(",")))
        else:
            found.add(name)
    return found


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_the_table_says(extra: str) -> None:
    assert set(EXTRAS[extra].values()) <= packages_of(extra)


def test_the_extras_of_the_issue_are_there_and_all_has_them() -> None:
    wanted = {"search", "store", "serve", "mcp", "pdf", "postgres", "engines", "cluster", "all"}
    assert wanted <= set(PROJECT["optional-dependencies"])
    everything = packages_of("all")
    assert all(packages_of(extra) <= everything for extra in wanted)


def test_a_plain_install_has_no_package_of_an_extra() -> None:
    plain = {re.match(r"[\w.-]+", line)[0] for line in PROJECT["dependencies"]}  # type: ignore[index]
    assert not plain & {package for modules in EXTRAS.values() for package in modules.values()}


def test_data_with_a_licence_of_its_own_says_so_wherever_one_looks() -> None:
    """The metadata, the licence files of the wheel, NOTICE and the page on releases."""
    (own,) = (ROOT / "src").rglob("*.LICENSE.txt")
    assert own.with_suffix("").with_suffix(".tsv").is_file()
    assert str(own.relative_to(ROOT)) in PROJECT["license-files"]
    assert PROJECT["license"] == "Apache-2.0 AND CC-BY-SA-4.0"
    for page in ("NOTICE", "docs/releases.md"):
        assert own.name in (ROOT / page).read_text()


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """As if these were not installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("index opinions", "search"),
        ('search opinions "gift"', "search"),
        ("demo --serve", "search,serve"),
        ("logs import log.jsonl", "store"),
        ("gold bootstrap", "store"),
        ("backlog", "store"),
        ("people list", "store"),
        ("score --dataset DATASET --engine opinions", "search"),
        ("score --dataset DATASET --engine bm25 --corpus CORPUS --on local:2", "cluster"),
        ("score --dataset DATASET --engine bm25 --corpus CORPUS -m RPrec", "measures"),
        ("gold stats irds:beir/scifact/test", "irds"),
        ("corpus import postgres postgresql://nowhere/x --name x --option query=1", "postgres"),
        ("corpus import report report.pdf --name r", "pdf"),
    ],
)
def test_a_missing_extra_is_one_sentence_on_the_command_line(
    command: str, extra: str, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("log.jsonl").write_text('{"id": "1", "at": "2026-05-01", "query": "q", "results": ["a"]}')
    Path("report.pdf").write_bytes(b"%PDF-1.4\n")
    Path("opinions.jsonl").write_text('{"id": "79-003", "title": "A", "text": "a gift"}\n')
    assert assay_cli("corpus", "import", "jsonl", "opinions.jsonl", "--name", "opinions").code == 0
    without(monkeypatch, *EXTRAS[extra.partition(",")[0]])
    given = command.replace("DATASET", str(SAMPLE / "dataset.json"))
    done = assay_cli(*given.replace("CORPUS", str(SAMPLE / "corpus.jsonl")).split())
    assert (done.code, done.out) == (2, "")
    (line,) = [line for line in done.err.splitlines() if line.startswith("error")]
    names = " and ".join(f"'{name}'" for name in extra.split(","))
    noun = "extras" if "," in extra else "extra"
    assert f"needs the {noun} {names}: {extras.install_command(extra)}" in line


@pytest.mark.parametrize(("command", "extra"), [("serve", "serve"), ("mcp", "mcp")])
def test_a_server_without_its_extra_says_which(
    command: str, extra: str, assay_cli: Assay, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = "web" if extra == "serve" else "mcp"
    for name in [name for name in sys.modules if name.startswith(f"assay.{part}")]:
        monkeypatch.delitem(sys.modules, name)
    without(monkeypatch, "uvicorn" if extra == "serve" else "mcp")
    done = assay_cli(command)
    assert (done.code, done.out) == (2, "")
    assert f"needs the extra '{extra}': {extras.install_command(extra)}" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_missing_extra_is_the_same_from_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.store import open_store

    without(monkeypatch, "alembic")
    with pytest.raises(MissingExtra, match=r"\[store\]") as missing:
        open_store("x.db")
    assert missing.value.exit_code == 2
    assert not Path("x.db").exists()


def test_forms_of_words_need_their_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden set that looks into texts would score otherwise without it."""
    from assay.language import dictionary
    from assay.language.terms import contains_term

    without(monkeypatch, "simplemma")
    dictionary._simplemma.cache_clear()
    assert contains_term("The gift was returned.", "gift")
    with pytest.raises(MissingExtra, match=r"\[words\]"):
        contains_term("The gifts were zorbled.", "zorble")
    dictionary._simplemma.cache_clear()


def test_passages_of_a_packet_need_no_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "simplemma")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    _query_words.cache_clear()
    for asked, text, words in (
        ("vuokran määrä", "Vuokraa korotetaan, määrästä sovitaan.", ("määrästä", "vuokraa")),
        ("leases", "Each lease ends.", ("lease",)),
        ("hyresavtal 2020", "Ett hyresavtal från 2020.", ("2020", "hyresavtal")),
    ):
        assert passages(asked, Document(id="d", text=text)).words == words
    _query_words.cache_clear()


def test_the_command_that_installs_an_extra_works_from_a_clone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A package index may not have Assay, and never the encoders beside this version of it."""
    origin = f'{{"url": "file://{tmp_path}/a%20clone", "dir_info": {{}}}}'
    installed = SimpleNamespace(read_text=lambda name: origin)
    packages = {"assay-ir": installed, "assay-ir-models": SimpleNamespace()}

    def distribution(name: str) -> SimpleNamespace:
        if name not in packages:
            raise PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr("importlib.metadata.distribution", distribution)
    monkeypatch.setattr(extras, "which", lambda name: str(Path(sys.executable).with_name(name)))
    assert extras.install_command("store") == "pip install 'assay-ir[store]'"
    clone = tmp_path / "a clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    assert extras.install_command("search") == f"pip install '{clone}[search]'"
    del packages["assay-ir-models"]  # an editable install of the clone can import it all the same
    encoders = f"'{clone}/packages/models'"
    assert (
        extras.install_command("serve,search") == f"pip install {encoders} '{clone}[serve,search]'"
    )
    monkeypatch.chdir(clone)
    assert extras.install_command("pdf") == "pip install '.[pdf]'"
    monkeypatch.setattr(extras, "which", lambda name: None)
    assert extras.install_command("pdf") == f"{sys.executable} -m pip install '.[pdf]'"


def test_the_sentence_survives_a_worker_process() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(MissingExtra("reading PDF", "pdf", where="a.pdf")))
    assert (str(error), error.extra) == (
        str(MissingExtra("reading PDF", "pdf", where="a.pdf")),
        "pdf",
    )


def test_what_a_package_lacks_itself_is_not_called_an_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_there.py").write_text("import none_such_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="none_such_at_all"):
        extras.imported("half_there", "it", "pdf")


def test_the_encoders_are_those_of_the_release() -> None:
    assert assay_models.wrong() == []
    files = {path.name for path in (ROOT / "packages/models/src/assay_models").iterdir()}
    own = {"__init__.py", "__pycache__", assay_models.SUMS}
    assert files - own == set(assay_models.sums())


def test_the_versions_of_the_two_packages_fit() -> None:
    assert MODELS["project"]["version"] == assay_models.__version__
    (wanted,) = [
        line
        for line in PROJECT["optional-dependencies"]["search"]
        if line.startswith("assay-ir-models")
    ]
    low, high = re.findall(r"[\d.]+", wanted)
    assert low <= assay_models.__version__ < high
