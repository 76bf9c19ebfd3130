"""Which corpus each row of a set is about: a set may have rows of several.

A row names its corpus as the service does. What it stands for is said with `--corpus ROWS=NAME`, or
by the configuration (the engine that serves it says what it searches), or it is the name of a
corpus of the workspace. All other rows are about the one corpus that is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.core.errors import InputError, UsageError
from assay.core.types import Finding, GoldSet
from assay.corpus.lookup import is_corpus, require_corpus
from assay.engines.registry import searched
from assay.workbench.config import CONFIG_NAME, read_config

ALL = ""  # of rows that name no corpus, or one that nobody knows


def split_corpora(given: Sequence[str]) -> dict[str, Path]:
    """`NAME` for all rows, `ROWS=NAME` for those of one corpus."""
    corpora: dict[str, Path] = {}
    for text in given:
        rows, equals, name = text.partition("=")
        if not equals or Path(text).exists():
            rows, name = ALL, text
        if rows in corpora:
            what = f"the rows of {rows!r}" if rows else "all rows"
            raise UsageError(
                f"two corpora are given for {what}", hint="As in --corpus precedents=NAME."
            )
        corpora[rows] = Path(name)
    return corpora


def corpora_of(gold: GoldSet, given: Mapping[str, Path]) -> dict[str, Path]:
    """{what a row calls its corpus: the corpus}, for the rows of this set whose corpus is known;
    ALL is that of the others."""
    for corpus in given.values():
        require_corpus(corpus)
    configured = _configured()
    known: dict[str, Path] = {}
    for name in dict.fromkeys(query.corpus for query in gold.queries):
        if name in given:
            known[name] = given[name]
        elif name in configured:
            known[name] = configured[name]
        elif name and is_corpus(name):
            known[name] = Path(name)
    if strange := [name for name in given if name and name not in known]:
        raise UsageError(
            f"the set has no rows of the corpus {strange[0]!r}",
            hint=f"It has: {', '.join(sorted({query.corpus for query in gold.queries} - {''}))}.",
        )
    return known | ({ALL: given[ALL]} if ALL in given else {})


def _configured() -> dict[str, Path]:
    """What the engines of each route search, where their tables say it."""
    path = Path(CONFIG_NAME)
    if not path.exists():
        return {}
    known: dict[str, Path] = {}
    for engine in read_config(path).engines.values():
        for name, part in engine.routes.items():
            if (corpus := searched(part)) is None:
                continue
            if known.setdefault(name, corpus) != corpus:
                raise InputError(
                    f"the corpus {name!r} is {known[name]} for one engine and {corpus} for another",
                    where=f"{path}: engines.{engine.name}.corpora",
                    hint="Say which with --corpus.",
                )
    return {name: corpus for name, corpus in known.items() if _is_here(corpus)}


def _is_here(corpus: Path) -> bool:
    return corpus.exists() or is_corpus(str(corpus))


def unchecked(gold: GoldSet, known: Mapping[str, Path]) -> Iterator[Finding]:
    """Rows that nothing is known of, where other rows are checked."""
    if not known or ALL in known:
        return
    for name in dict.fromkeys(query.corpus for query in gold.queries if query.corpus not in known):
        ids = [query.id for query in gold.queries if query.corpus == name]
        what = f"the corpus {name!r} is not here" if name else "the row names no corpus"
        more = f" (and {len(ids) - 1} more rows)" if len(ids) > 1 else ""
        message = f"{what}: its documents are not checked{more}"
        yield Finding(level="flag", code="unchecked-corpus", where=ids[0], message=message)
