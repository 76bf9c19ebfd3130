"""The line that says why a search hit was found, in the language of the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.reports.words import Words, page_table

if TYPE_CHECKING:
    from assay.search.why import Why

RELATIONS = ("section", "refers_to", "referred_by", "near")


def told_why(why: Why, language: str = "en", *, isolated: bool = False) -> str:
    """What found it, the surest first; empty where nothing is known. On a page each fact is
    `isolated`, so that it keeps its direction in a sentence of the other one."""
    words = Words(language)
    said = page_table("why", language)

    def tell(key: str, **facts: str) -> str:
        shown = {name: words.apart(fact) if isolated else fact for name, fact in facts.items()}
        return str(said[f"here {key}"]).format(**shown)

    parts = [tell("named")] if why.named else []
    held = ", ".join(_word(word, why.instead.get(word, "")) for word in why.words)
    if held and why.missing:
        parts.append(tell("words missing", words=held, missing=", ".join(why.missing)))
    elif held:
        parts.append(tell("words", words=held))
    elif why.meaning:
        parts.append(tell("meaning"))
    for relation in RELATIONS:
        if rank := getattr(why, relation):
            parts.append(tell(relation, rank=str(rank), place=why.place))
    return " · ".join(parts)


def _word(word: str, instead: str) -> str:
    return f"{word} ({instead})" if instead else word
