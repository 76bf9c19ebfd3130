"""The tool with which an agent checks its own draft before it sends it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from assay.answers.records import LONGEST
from assay.core.errors import InputError, NotHere
from assay.corpus.disk import list_corpora as corpus_names
from assay.workbench.project.service import Service
from assay.workbench.scoring.answers import guard


class DraftFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault: which check, what it found, the words of the draft, and why."""

    check: str
    value: str
    text: str
    start: int
    end: int
    reason: str = ""
    candidates: list[str] = []


class DraftCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of a draft, and how many of its citations could be checked."""

    faults: list[DraftFault]
    citations: int
    checked: int
    quotes: int
    refused: bool


def check_answer(
    service: Service,
    answer: Annotated[str, Meta(max_length=LONGEST, description="The draft.")],
    passages: Annotated[
        list[str] | None,
        Meta(description="The texts it was written from, in the order of [1], [2] …"),
    ] = None,
    passage_ids: Annotated[
        list[str] | None, Meta(description="Their document ids, in the same order.")
    ] = None,
    corpus: Annotated[
        str,
        Meta(
            description="The corpus to look citations up in; if empty, only the passages are used."
        ),
    ] = "",
    question: Annotated[str, Meta(max_length=20_000, description="The question.")] = "",
    as_of: Annotated[str, Meta(description="The date on which law must be in force.")] = "",
) -> DraftCheck:
    """Check a draft before sending it: every citation exists, was retrieved and is in force, every
    quotation is word for word, every figure stands in the cited text. Correct each fault."""
    known = corpus_names(service.home)
    if corpus and corpus not in known:
        raise NotHere(f"no corpus {corpus!r}", hint=f"Known: {', '.join(known) or 'none yet'}.")
    texts, ids = passages or [], passage_ids or []
    if ids and len(ids) != len(texts):
        raise InputError(f"{len(ids)} passage_ids for {len(texts)} passages: give as many of each")
    named = zip(texts, ids or [""] * len(texts), strict=True)
    given = [{"id": name, "text": text} for text, name in named]
    found = guard(answer, given, question=question, as_of=as_of, corpus=corpus, home=service.home)
    return DraftCheck(
        faults=[
            msgspec.convert(note, DraftFault, from_attributes=True)
            for note in found.notes
            if note.is_fault
        ],
        citations=len(found.entry.citations),
        checked=sum(one.exists in ("found", "not_found") for one in found.entry.citations),
        quotes=len(found.entry.quotes),
        refused=found.entry.refused,
    )
