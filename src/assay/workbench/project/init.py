"""`assay init`: writing a new project from four answers: the gold set, the engine, the score that
it must reach, and the CI service that runs the checks; or, with `--layout`, the project structure
of a specification: a folder in `layouts/`, whose files have `.txt` after their names."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import msgspec

from assay import formats
from assay.core import plugins
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.corpus.disk import list_corpora
from assay.corpus.lookup import require_corpus
from assay.engines.python import find_engine
from assay.engines.running import BASELINES, ENGINES, is_indexed_name
from assay.judging import rubrics
from assay.workbench.project.config import CONFIG_NAME, read_config

SAMPLE_NAME = "sample"
SAMPLE_FILES = ("dataset.json", "corpus.jsonl", "my_engine.py")
NOWHERE = "none"
ATTRIBUTES = ".gitattributes"
# how git merges what two people judged at the same time: line by line
MERGED = ("*.log.jsonl text eol=lf merge=union", "people.toml text eol=lf merge=union")
IGNORED = ".gitignore"
WORKSPACE = (".assay/",)  # results and indexes, which `assay run` makes again
CI = {"github": ".github/workflows/assay.yml", "gitlab": ".gitlab-ci.yml"}
SAVED = (".json", ".trec", ".run", ".txt")


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """`dataset` is a gold set or SAMPLE_NAME; `engine` a module, an address with {{query}} in it,
    saved results, an indexed corpus, or bm25 with a `corpus`; `minimum` what the measure that
    decides must reach; `ci` a key of CI or NOWHERE."""

    dataset: str = SAMPLE_NAME
    engine: str = "bm25"
    corpus: str = ""
    minimum: float = 0.4
    ci: str = "github"


class StarterFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were written, and the next command."""

    files: list[str]
    next: str


def samples() -> Path:
    """The bundled samples: inside the installed package, or beside `src` in a checkout."""
    package = Path(__file__).parents[2]
    for folder in (package / "samples", package.parent.parent / "samples"):
        if (folder / "en" / "dataset.json").exists():
            return folder
    raise InputError("the bundled samples are missing", hint="Install the package again.")


def write_starter_files(answers: Answers) -> StarterFiles:
    """Write the project, or nothing: a file that is there is never written over."""
    check_folder()
    check_ci(answers.ci)
    check_set(answers.dataset)
    files = {CONFIG_NAME: _check_configuration(_configuration(answers))}
    if answers.ci != NOWHERE:
        files[CI[answers.ci]] = _ci_file(answers)
    copies = SAMPLE_FILES if answers.dataset == SAMPLE_NAME else ()
    for name in copies:
        shutil.copyfile(samples() / "en" / name, name)
    files[ATTRIBUTES] = with_lines(Path(ATTRIBUTES), MERGED)
    files[IGNORED] = with_lines(Path(IGNORED), WORKSPACE)
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(Path(name), text)
    return StarterFiles(files=[*files, *copies], next="assay run")


def with_lines(file: Path, lines: Iterable[str]) -> str:
    """A file with these lines at its end, if it does not have them. What it has already stays."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    missing = [line for line in lines if line not in before.splitlines()]
    start = before if not before or before.endswith("\n") else before + "\n"
    return start + "".join(f"{line}\n" for line in missing)


# ── checking each answer before the next question ─────────────────────────────────────────────────


def check_folder() -> None:
    """Refuse a folder that has a project already."""
    check_free(CONFIG_NAME)


def check_set(dataset: str) -> None:
    """Refuse a set that cannot be read, or files in the place of the sample's."""
    if dataset == SAMPLE_NAME:
        check_free(*SAMPLE_FILES)
    else:
        formats.read_gold(Path(dataset))


def check_engine(answers: Answers) -> None:
    """Refuse an engine that `assay run` would not find, or whose corpus it would not find."""
    _check_configuration(_configuration(answers))


def check_ci(ci: str) -> None:
    if ci not in (*CI, NOWHERE):
        raise UsageError(f"unknown CI service {ci!r}", hint=f"Known: {', '.join(CI)}, {NOWHERE}.")
    if ci != NOWHERE:
        check_free(CI[ci])


def asks_for_corpus(answers: Answers) -> bool:
    """A baseline searches a corpus; the sample has one."""
    return answers.engine in BASELINES and answers.dataset != SAMPLE_NAME and not answers.corpus


def check_free(*names: str) -> None:
    """Refuse to write over files that are here."""
    if there := [name for name in names if Path(name).exists()]:
        verb = "is" if len(there) == 1 else "are"
        raise UsageError(
            f"{', '.join(there)} {verb} here already, and nothing was written",
            where=str(Path().resolve()),
            hint="Begin in an empty folder, or move them away first.",
        )


# ── the files ─────────────────────────────────────────────────────────────────────────────────────


def _configuration(answers: Answers) -> str:
    gold, path, measure = SAMPLE_NAME, "dataset.json", "nDCG@10"
    if answers.dataset != SAMPLE_NAME:
        gold, path = _table_name(answers.dataset), answers.dataset
        is_golden = formats.read_gold(Path(path)).is_golden
        measure = "pass_rate_total" if is_golden else measure
    name, engine = engine_table(answers)
    tables = [
        "# `assay run` scores every engine on every gold set and decides the gates.",
        f"[gold.{gold}]\npath = {_toml_string(path)}",
        f"[engines.{name}]\n{engine}",
    ]
    if answers.dataset == SAMPLE_NAME and name != "mine":
        tables.append('[engines.mine]\nsearch_module = "my_engine.py"')
    bound = f"measure = {_toml_string(measure)}\nminimum = {answers.minimum:g}"
    tables.append(f"[[gates]]\n{bound}")
    return "\n\n".join(tables) + "\n"


def _table_name(path: str) -> str:
    return re.sub(r"[^\w]+", "-", Path(path).stem).strip("-") or "gold"


def engine_table(answers: Answers) -> tuple[str, str]:
    """The name of the table of the engine, and its keys."""
    engine = answers.engine
    if engine.startswith(("http://", "https://")):
        return "service", f"http = {_toml_string(engine)}"
    if Path(engine).suffix in SAVED and Path(engine).is_file():
        return "saved", f"run = {_toml_string(engine)}"
    if is_indexed_name(engine):
        return _table_name(engine), f"engine = {_toml_string(engine)}"
    if plugins.is_known(ENGINES, engine):
        corpus = _corpus(answers)
        corpus_line = f"\ncorpus = {_toml_string(corpus)}" if corpus else ""
        return engine, f"engine = {_toml_string(engine)}{corpus_line}"
    return "mine", f"search_module = {_toml_string(_module(answers))}"


def _corpus(answers: Answers) -> str:
    if answers.corpus:
        require_corpus(Path(answers.corpus))
    elif answers.dataset == SAMPLE_NAME:
        return "corpus.jsonl"
    elif answers.engine in BASELINES:
        raise UsageError(f"{answers.engine} searches a corpus", hint="Name it with --corpus.")
    return answers.corpus


def _module(answers: Answers) -> str:
    """The Python module that has the engine. `my_engine` is my_engine.py where that lies here, or
    comes with the sample."""
    engine = answers.engine
    written = SAMPLE_FILES if answers.dataset == SAMPLE_NAME else ()
    file = engine if engine.endswith(".py") else f"{engine}.py"
    if file in written:
        return file
    if Path(file).is_file():
        find_engine(file)
        return file
    looks_like_one = engine.endswith(".py") or ":" in engine or "." in engine
    if looks_like_one or Path(engine, "__init__.py").is_file():
        find_engine(engine)
        return engine
    known = ", ".join([*plugins.names(ENGINES), *list_corpora()])
    raise UsageError(
        f"no engine {engine!r}: there is no {engine}.py here, and no corpus has that name",
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


# ── `assay init --layout`: the project structure of a specification ───────────────────────────────


ENDING = ".txt"
GROWING = (IGNORED, "scripts/SCRIPTS.md")  # lines are added to those that are there
# layout -> the next command
LAYOUTS = {
    "fppc": "assay gold add eval/dataset.json --query 'TEXT OF A QUERY'",
    "harness": "python scripts/eval_gold_bootstrap.py",
}
RUBRIC_PAGE = "RELEVANCE_RUBRIC.md"


def lay_out(layout: str) -> StarterFiles:
    """Write the files of a layout, or nothing: a file that is there is never written over."""
    files = layout_files(layout)
    check_free(*sorted(files.keys() - {*GROWING}))
    for name in files.keys() & {*GROWING}:
        files[name] = with_lines(Path(name), files[name].splitlines())
    files[ATTRIBUTES] = with_lines(Path(ATTRIBUTES), MERGED)
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(Path(name), text)
    return StarterFiles(files=list(files), next=LAYOUTS[layout])


def layout_files(layout: str) -> dict[str, str]:
    """The files of a layout by their paths in the project."""
    if layout not in LAYOUTS:
        raise UsageError(f"unknown layout {layout!r}", hint=f"Known: {', '.join(LAYOUTS)}.")
    home = Path(str(resources.files("assay.workbench.project") / "layouts" / layout))
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    found = {
        path.relative_to(home).as_posix().removesuffix(ENDING): path.read_text(encoding="utf-8")
        for path in sorted(home.rglob(f"*{ENDING}"))
    }
    files = {name: text.replace("CREATED", now) for name, text in found.items()}
    if layout == "fppc":
        files[RUBRIC_PAGE] = rubrics.as_markdown(rubrics.load(rubrics.FPPC))
    return files
