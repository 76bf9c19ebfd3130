"""English stop words, and a test whether two words are forms of one word."""

from __future__ import annotations

from assay.language.dictionary import headword

STOP = frozenset(
    "a an and are as at be by for from has have he her his i if in into is it its of on or our she "
    "so such that the their them there these they this those to was we were will with you your "
    "would not no do does did may can could should must shall been being than then which who whom "
    "whose what when where why how any all each other under upon about against between both but "
    "had him me my also only own same very because until while during before after above "
    "below".split()
)
ENDINGS = (
    *(("ies", "y"), ("ied", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")),
    *(("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e")),
)


def same_word(term: str, word: str, *, sure: bool) -> bool:
    """Whether two words are forms of one word: by the dictionary; where the text is surely English,
    also by regular endings of a word that the dictionary lacks."""
    if term[0] != word[0] or not (term + word).isascii():
        return False
    heads = headword(term, "en"), headword(word, "en")
    if all(heads):
        return heads[1] in (term, heads[0])
    return sure and bool(_regular(term) & _regular(word))


def is_english(*words: str) -> bool:
    """Whether the dictionaries have these words in English alone."""
    return all(headword(word, "en") for word in words) and not any(
        headword(word, "fi") for word in words
    )


def _regular(word: str) -> set[str]:
    """The words that this one may be a regular form of, itself among them."""
    bases = {word}
    for ending, base in ENDINGS:
        plural_of_none = ending == "s" and word[-2] in "sui"
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not plural_of_none:
            bases.add(word[: -len(ending)] + base)
    return bases
