"""`assay init`: a project that runs, from four answers: which gold set, which engine, what it must
reach, and where the checks run."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import msgspec

from assay import formats
from assay.core.errors import InputError, UsageError
from assay.core.files import write_atomic
from assay.workbench.config import CONFIG_NAME, read_config
from assay.workbench.demo import samples

SAMPLE = "sample"
SAMPLE_FILES = ("dataset.json", "corpus.jsonl", "my_engine.py")
NOWHERE = "none"
CI = {"github": ".github/workflows/assay.yml", "gitlab": ".gitlab-ci.yml"}
BASELINES = ("bm25", "random")
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
    if answers.ci not in (*CI, NOWHERE):
        raise UsageError(f"no CI {answers.ci!r}", hint=f"Known: {', '.join(CI)}, {NOWHERE}.")
    files = {CONFIG_NAME: _checked(_configuration(answers, folder))}
    if answers.ci != NOWHERE:
        files[CI[answers.ci]] = _ci(answers)
    copies = SAMPLE_FILES if answers.dataset == SAMPLE else ()
    if there := [name for name in (*files, *copies) if (folder / name).exists()]:
        verb = "is" if len(there) == 1 else "are"
        raise UsageError(
            f"{', '.join(there)} {verb} here already, and nothing was written",
            where=str(folder.resolve()),
            hint="Begin in an empty folder, or move them away first.",
        )
    for name in copies:
        shutil.copyfile(samples() / "en" / name, folder / name)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / name, text)
    return Begun(files=[*files, *copies], next="assay run")


def _configuration(answers: Answers, folder: Path) -> str:
    gold, path = (SAMPLE, "dataset.json") if answers.dataset == SAMPLE else _named(answers.dataset)
    measure = "nDCG@10"
    if answers.dataset != SAMPLE:
        queries = formats.read_gold(folder / path).queries
        measure = "pass_rate_total" if any(query.checks for query in queries) else measure
    sample_corpus = "corpus.jsonl" if answers.dataset == SAMPLE else ""
    name, engine = _engine(answers.engine, answers.corpus or sample_corpus, folder)
    tables = [
        "# `assay run` scores every engine on every gold set and decides the gates.",
        f"[gold.{gold}]\npath = {_quoted(path)}",
        f"[engines.{name}]\n{engine}",
    ]
    if answers.dataset == SAMPLE and name != "mine":
        tables.append('[engines.mine]\nsearch_module = "my_engine.py"')
    bound = f"measure = {_quoted(measure)}\nminimum = {answers.minimum:g}"
    tables.append(f"[[gates]]\nengine = {_quoted(name)}\n{bound}")
    return "\n\n".join(tables) + "\n"


def _named(dataset: str) -> tuple[str, str]:
    name = re.sub(r"[^\w]+", "-", Path(dataset).stem).strip("-") or "gold"
    return name, dataset


def _engine(engine: str, corpus: str, folder: Path) -> tuple[str, str]:
    """The name of the table, and what stands in it."""
    if engine in BASELINES:
        if not corpus:
            raise UsageError(f"{engine} searches a corpus", hint="Name it with --corpus.")
        return engine, f"engine = {_quoted(engine)}\ncorpus = {_quoted(corpus)}"
    if engine.startswith(("http://", "https://")):
        return "service", f"http = {_quoted(engine)}"
    if Path(engine).suffix in SAVED and (folder / engine).is_file():
        return "saved", f"run = {_quoted(engine)}"
    if engine.endswith(".py") or ":" in engine or "." in engine:
        return "mine", f"search_module = {_quoted(engine)}"
    return _named(engine)[0], f"engine = {_quoted(engine)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _checked(text: str) -> str:
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


def _ci(answers: Answers) -> str:
    """A plain install scores modules, services and saved results; the search of an indexed corpus
    needs its extra."""
    own = not (answers.engine in BASELINES or re.search(r"[.:/]", answers.engine))
    package = "assay-ir[search]" if own else "assay-ir"
    template = (samples() / "project" / f"{answers.ci}.yml").read_text(encoding="utf-8")
    return template.replace("PACKAGE", package)
