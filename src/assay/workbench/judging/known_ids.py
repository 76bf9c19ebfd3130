"""Is there such a document? An id with a slip of the pen in a gold set is a document that no engine
can ever find: it costs every engine recall, and nobody sees why."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence, Set
from pathlib import Path

from assay import formats
from assay.core.errors import AssayError, InputError
from assay.corpus.disk import list_corpora, open_corpus
from assay.workbench.project.service import Service, run_names
from assay.workbench.scoring.history import kept_run

RUNS = 20  # the newest of a set whose results are looked at


def unknown_ids(service: Service, gold: Path, corpus: str, doc_ids: Sequence[str]) -> list[str]:
    """Those of the documents that nothing here has: no corpus (the row's own where it is in the
    workspace, else any), no search in the log, no label of the set, and no run on it."""
    unknown = [doc_id for doc_id in dict.fromkeys(doc_ids) if doc_id.strip()]
    every = list_corpora(service.home)
    for name in [corpus] if corpus in every else every:
        if unknown:
            opened = open_corpus(service.home, name)
            unknown = [doc_id for doc_id in unknown if doc_id not in opened]
    for known in (_shown_in_searches, _judged_in_set, _found_in_runs):
        if unknown:
            found = known(service, gold, unknown)
            unknown = [doc_id for doc_id in unknown if doc_id not in found]
    return unknown


def refuse_unknown(
    service: Service, gold: Path, corpus: str, doc_ids: Sequence[str], *, hint: str
) -> None:
    """An error that names the first of them."""
    if unknown := unknown_ids(service, gold, corpus, doc_ids):
        of_it = corpus in list_corpora(service.home)
        where = f"neither the corpus {corpus!r} nor a" if of_it else "no corpus,"
        raise InputError(
            f"{where} search, label or run here has the document {unknown[0]!r}",
            where=str(gold),
            hint=hint,
        )


def _shown_in_searches(service: Service, gold: Path, doc_ids: Sequence[str]) -> Set[str]:
    return service.store.shown_documents(doc_ids)


def _judged_in_set(service: Service, gold: Path, doc_ids: Sequence[str]) -> Set[str]:
    return {judgment.doc_id for judgment in formats.read_gold(gold).iter_judgments()}


def _found_in_runs(service: Service, gold: Path, doc_ids: Sequence[str]) -> Set[str]:
    """What engines have found on this set lately."""
    found: set[str] = set()
    for record in service.store.runs(gold=run_names(service, gold), limit=RUNS):
        with contextlib.suppress(AssayError):  # a run that cannot be read tells nothing
            results = kept_run(service, record.id).results
            found.update(doc_id for entry in results.per_query for doc_id in entry.results)
    return found
