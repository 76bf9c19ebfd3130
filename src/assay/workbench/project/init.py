"""`assay init`: writing a new project from four answers: the gold set, the engine, the score that
it must reach, and the CI service that runs the checks."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import msgspec

from assay import formats
from assay.core import plugins
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.corpus.disk import list_corpora
from assay.corpus.lookup import require_corpus
from assay.engines.module import find_engine
from assay.engines.registry import BASELINES, ENGINES, is_indexed_name
from assay.workbench.project.config import CONFIG_NAME, read_config
from assay.workbench.project.demo import samples

SAMPLE = "sample"
SAMPLE_FILES = ("dataset.json", "corpus.jsonl", "my_engine.py")
NOWHERE = "none"
ATTRIBUTES = ".gitattributes"
MERGED = ("*.log.jsonl text eol=lf merge=union", "people.toml text eol=lf merge=union")
CI = {"github": ".github/workflows/assay.yml", "gitlab": ".gitlab-ci.yml"}
SAVED = (".json", ".trec", ".run", ".txt")


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """`dataset` is a gold set or SAMPLE; `engine` a module, an address with {{query}} in it, saved
    results, an indexed corpus, or bm25 with a `corpus`; `minimum` what the measure that decides
    must reach; `ci` a key of CI or NOWHERE."""

    dataset: str = SAMPLE
    engine: str = "bm25"
    corpus: str = ""
    minimum: float = 0.4
    ci: str = "github"


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were written, and what to do now."""

    files: list[str]
    next: str


def begin(answers: Answers, folder: Path | None = None) -> Begun:
    """Write the project, or nothing: a file that is there is never written over."""
    folder = folder or Path()
    check_folder(folder)
    check_ci(answers.ci, folder)
    check_set(answers.dataset, folder)
    files = {CONFIG_NAME: _check_configuration(_configuration(answers, folder))}
    if answers.ci != NOWHERE:
        files[CI[answers.ci]] = _ci_file(answers)
    copies = SAMPLE_FILES if answers.dataset == SAMPLE else ()
    for name in copies:
        shutil.copyfile(samples() / "en" / name, folder / name)
    files[ATTRIBUTES] = _git_attributes(folder / ATTRIBUTES)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / name, text)
    return Begun(files=[*files, *copies], next="assay run")


def _git_attributes(file: Path) -> str:
    """How git merges what two people judged at the same time: line by line. What the file has
    already stays."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    missing = [line for line in MERGED if line not in before.splitlines()]
    start = before if not before or before.endswith("\n") else before + "\n"
    return start + "".join(f"{line}\n" for line in missing)


# ── checking each answer before the next question ─────────────────────────────────────────────────


def check_folder(folder: Path | None = None) -> None:
    """No project is here yet."""
    _check_free(folder or Path(), CONFIG_NAME)


def check_set(dataset: str, folder: Path | None = None) -> None:
    """It can be read, or nothing stands where the sample would be written."""
    folder = folder or Path()
    if dataset == SAMPLE:
        _check_free(folder, *SAMPLE_FILES)
    else:
        formats.read_gold(folder / dataset)


def check_engine(answers: Answers, folder: Path | None = None) -> None:
    """`assay run` will find the engine, and what it searches."""
    _check_configuration(_configuration(answers, folder or Path()))


def check_ci(ci: str, folder: Path | None = None) -> None:
    if ci not in (*CI, NOWHERE):
        raise UsageError(f"no CI {ci!r}", hint=f"Known: {', '.join(CI)}, {NOWHERE}.")
    if ci != NOWHERE:
        _check_free(folder or Path(), CI[ci])


def asks_for_corpus(answers: Answers) -> bool:
    """A baseline searches a corpus; the sample has one."""
    return answers.engine in BASELINES and answers.dataset != SAMPLE and not answers.corpus


def _check_free(folder: Path, *names: str) -> None:
    if there := [name for name in names if (folder / name).exists()]:
        verb = "is" if len(there) == 1 else "are"
        raise UsageError(
            f"{', '.join(there)} {verb} here already, and nothing was written",
            where=str(folder.resolve()),
            hint="Begin in an empty folder, or move them away first.",
        )


# ── the files ─────────────────────────────────────────────────────────────────────────────────────


def _configuration(answers: Answers, folder: Path) -> str:
    gold, path = (
        (SAMPLE, "dataset.json")
        if answers.dataset == SAMPLE
        else _set_name_and_path(answers.dataset)
    )
    measure = "nDCG@10"
    if answers.dataset != SAMPLE:
        is_golden = formats.read_gold(folder / path).is_golden
        measure = "pass_rate_total" if is_golden else measure
    name, engine = _engine(answers, folder)
    tables = [
        "# `assay run` scores every engine on every gold set and decides the gates.",
        f"[gold.{gold}]\npath = {_toml_string(path)}",
        f"[engines.{name}]\n{engine}",
    ]
    if answers.dataset == SAMPLE and name != "mine":
        tables.append('[engines.mine]\nsearch_module = "my_engine.py"')
    bound = f"measure = {_toml_string(measure)}\nminimum = {answers.minimum:g}"
    tables.append(f"[[gates]]\n{bound}")
    return "\n\n".join(tables) + "\n"


def _set_name_and_path(dataset: str) -> tuple[str, str]:
    name = re.sub(r"[^\w]+", "-", Path(dataset).stem).strip("-") or "gold"
    return name, dataset


def _engine(answers: Answers, folder: Path) -> tuple[str, str]:
    """The name of the table, and what stands in it."""
    engine = answers.engine
    if engine.startswith(("http://", "https://")):
        return "service", f"http = {_toml_string(engine)}"
    if Path(engine).suffix in SAVED and (folder / engine).is_file():
        return "saved", f"run = {_toml_string(engine)}"
    if is_indexed_name(engine):
        return _set_name_and_path(engine)[0], f"engine = {_toml_string(engine)}"
    if plugins.is_known(ENGINES, engine):
        corpus = _corpus(answers, folder)
        told = f"\ncorpus = {_toml_string(corpus)}" if corpus else ""
        return engine, f"engine = {_toml_string(engine)}{told}"
    return "mine", f"search_module = {_toml_string(_module(answers, folder))}"


def _corpus(answers: Answers, folder: Path) -> str:
    if answers.corpus:
        require_corpus(folder / answers.corpus if folder != Path() else Path(answers.corpus))
    elif answers.dataset == SAMPLE:
        return "corpus.jsonl"
    elif answers.engine in BASELINES:
        raise UsageError(f"{answers.engine} searches a corpus", hint="Name it with --corpus.")
    return answers.corpus


def _module(answers: Answers, folder: Path) -> str:
    """A Python module that has an engine. `my_engine` is my_engine.py where that lies here, or
    comes with the sample."""
    engine = answers.engine
    written = SAMPLE_FILES if answers.dataset == SAMPLE else ()
    file = engine if engine.endswith(".py") else f"{engine}.py"
    if file in written:
        return file
    if (folder / file).is_file():
        find_engine(str(folder / file))
        return file
    looks_like_one = engine.endswith(".py") or ":" in engine or "." in engine
    if looks_like_one or (folder / engine / "__init__.py").is_file():
        find_engine(engine)
        return engine
    known = ", ".join([*plugins.names(ENGINES), *list_corpora()])
    raise UsageError(
        f"no engine {engine!r}: there is no {engine}.py here, and no corpus of that name",
        hint=f"Known: {known}. Or give a Python file or module, an address with {{{{query}}}}, or "
        "a file of saved results.",
    )


def _toml_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _check_configuration(text: str) -> str:
    """Read as `assay run` will read it, before anything is written."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / CONFIG_NAME
        path.write_text(text, encoding="utf-8")
        try:
            read_config(path)
        except InputError as error:
            raise InputError(
                error.message, hint=error.hint or "Give it with --engine or --dataset."
            ) from error
    return text


def _ci_file(answers: Answers) -> str:
    """A plain install scores modules, services and saved results; the search of an indexed corpus
    needs its extra."""
    package = "assay-ir[search]" if is_indexed_name(answers.engine) else "assay-ir"
    template = (samples() / "project" / f"{answers.ci}.yml").read_text(encoding="utf-8")
    return template.replace("PACKAGE", package)
