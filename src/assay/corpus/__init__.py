"""Import corpora, open them, and resolve the citations between their documents.

import_corpus("fppc", "extracted/", name="opinions")     read a source, if it has changed
corpus = open_corpus(None, "opinions")                   in `$ASSAY_HOME`, by default `.assay`
corpus.get("A-24-003"); corpus.iter(); corpus.frame      one document; all of them; columns
corpus.cites("A-24-003"); corpus.cited_by("A-24-003")    the graph
stats(corpus); check(corpus)                             what is in it, what is wrong with it
freeze(corpus, path)                                     one portable file
cite("Section 1090 and No. A-90-123", corpus)            spans, normal forms, targets
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.corpus.build import ImportReport, Progress, import_corpus
    from assay.corpus.citations import Resolved, Resolver, cite
    from assay.corpus.disk import Corpus, Manifest, list_corpora, open_corpus
    from assay.corpus.frozen import freeze, open_frozen
    from assay.corpus.importers.kinds import KINDS, Problem
    from assay.corpus.quality import Stats, check, near_duplicates, stats
    from assay.law.citing import format_locator, parse_locator
    from assay.law.parse import Citation, Scheme, format, parse

__all__ = [
    "KINDS",
    "Citation",
    "Corpus",
    "ImportReport",
    "Manifest",
    "Problem",
    "Progress",
    "Resolved",
    "Resolver",
    "Scheme",
    "Stats",
    "check",
    "cite",
    "format",
    "format_locator",
    "freeze",
    "import_corpus",
    "list_corpora",
    "near_duplicates",
    "open_corpus",
    "open_frozen",
    "parse",
    "parse_locator",
    "stats",
]

# each loaded when it is asked for: whoever scores a file by path reads no citations
_ROOMS = {
    "assay.corpus.build": "ImportReport Progress import_corpus",
    "assay.corpus.disk": "Corpus Manifest list_corpora open_corpus",
    "assay.corpus.frozen": "freeze open_frozen",
    "assay.corpus.importers.kinds": "KINDS Problem",
    "assay.corpus.quality": "Stats check near_duplicates stats",
    "assay.corpus.citations": "Resolved Resolver cite",
    "assay.law.citing": "format_locator parse_locator",
    "assay.law.parse": "Citation Scheme format parse",
}


def __getattr__(name: str) -> Any:
    for room, names in _ROOMS.items():
        if name in names.split():
            return getattr(import_module(room), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
