"""Corpora: importers, the corpus on disk, citations and the graph they make.

import_corpus("fppc", "extracted/", name="opinions")     read a source, if it has changed
corpus = open_corpus(None, "opinions")                   in `$ASSAY_HOME`, by default `.assay`
corpus.get("A-24-003"); corpus.iter(); corpus.frame      one document; all of them; columns
corpus.cites("A-24-003"); corpus.cited_by("A-24-003")    the graph
stats(corpus); check(corpus)                             what is in it, what is wrong with it
freeze(corpus, path)                                     one portable file
cite("Section 1090 and No. A-90-123", corpus)            spans, normal forms, targets
"""

from __future__ import annotations

from assay.corpus.build import ImportReport, Progress, import_corpus
from assay.corpus.disk import Corpus, Manifest, list_corpora, open_corpus
from assay.corpus.frozen import freeze, open_frozen
from assay.corpus.importers.kinds import KINDS, Problem
from assay.corpus.quality import Stats, check, near_duplicates, stats
from assay.corpus.resolve import Resolved, Resolver, cite
from assay.law.locators import format_locator, parse_locator
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
