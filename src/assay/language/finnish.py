"""Whether a text contains a term, whatever form the term stands in.

An inflected form of the term counts; another word that looks like it does not: *tuloksen* has the
term tulos, *tulon* has not. Finnish words are inflected by rule (consonant gradation, -nen/-se,
-us/-ukse, …) and, where a rule only holds for some words, the dictionary decides. English words are
compared by their dictionary lemma. A Hebrew word may carry prefixes, and the endings of number,
construct state and possession. A long Finnish term also counts inside a compound (alijäämä in
alijäämäselvitys). Every word of a term must be found."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

WORD = re.compile(r"[^\W_]+")
NIQQUD = re.compile(r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
IGNORED = re.compile(r"[\u00ad\u200b-\u200f]")
# a term at least this long is also looked for inside compounds; a shorter one would match by
# accident
COMPOUND = 6
ENGLISH_WORDS = frozenset("the of and to is for that by with".split())
FINNISH_WORDS = frozenset("ja ei tai että sekä jos kun joka jonka mukaan sen voi".split())


def contains_term(text: str, term: str) -> bool:
    """Every word of `term` stands in `text` in some form."""
    words = frozenset(WORD.findall(fold(text)))
    asked = WORD.findall(fold(term))
    if not asked or not words:
        return False
    language = _language(words)
    return all(part in words or _has_form(part, words, language) for part in asked)


def _has_form(term: str, words: frozenset[str], language: str) -> bool:
    if language == "fi" and any(_by_rule(term, word) for word in words):
        return True  # before the dictionary, which takes seconds to load
    return any(same_word(term, word, language) for word in words)


def has_words(term: str) -> bool:
    """Whether there is anything in a term to look for."""
    return WORD.search(fold(term)) is not None


def fold(text: str) -> str:
    """Lower case without accents, niqqud and soft hyphens; å, ä and ö are letters and stay."""
    text = IGNORED.sub("", NIQQUD.sub("", unicodedata.normalize("NFC", text))).casefold()
    if text.isascii():
        return text
    kept = (char if char in "åäö" else unicodedata.normalize("NFD", char) for char in text)
    return "".join(char for part in kept for char in part if not unicodedata.combining(char))


def same_word(term: str, word: str, language: str = "") -> bool:
    """Whether the folded `word` is a form of the folded `term`; without a language Finnish and
    English are tried."""
    if term == word:
        return True
    if "\u0590" <= term[:1] <= "\u05ff":
        return _hebrew(term, word)
    if term.isdigit() or word.isdigit() or len(term) < 3 or len(word) < 3:
        return False
    if language != "fi" and _english(term, word, language):
        return True
    return (
        language != "en"
        and (language == "fi" or not _is_english(term, word))
        and _finnish(term, word)
    )


def _language(words: frozenset[str]) -> str:
    """By its commonest words, where they tell: the rules of one language find chance forms in
    another."""
    finnish, english = not words.isdisjoint(FINNISH_WORDS), not words.isdisjoint(ENGLISH_WORDS)
    return "" if finnish == english else "fi" if finnish else "en"


@lru_cache(maxsize=65536)
def _lemma(word: str, language: str) -> str:
    """The headword in the dictionary; empty for a word that it does not have."""
    import simplemma

    known = simplemma.is_known(word, lang=language)
    lemma = str(simplemma.lemmatize(word, lang=language)).lower() if known else ""
    return (
        lemma if lemma[:1] == word[:1] else ""
    )  # forms of one word begin alike; what does not is a slip


# ── Finnish ───────────────────────────────────────────────────────────────────────────────────────

VOWELS = "aeiouyåäö"
CLITIC = r"(?:kin|k[aä]{2}n|k[oö]|h[aä]n|p[aä])?"
OWNER = r"(?:ni|si|ns[aä]|mme|nne)"
LOCAL = r"(?:ss|st|ll|lt|tt)"
CONSONANT, LONG = r"(?<=[^aeiouyåäö])", r"(?<=[aeiouyåäö]{2})"
# Endings follow the last letter of the stem, since the illative repeats it: kunta-an, työ-hön.
WEAK = re.compile(rf"(.)(?:n|t|ksi|{LOCAL}[aä]|lle){CLITIC}")
SINGULAR = re.compile(
    rf"(.)(?:n|t|ksi|{LOCAL}[aä]|lle|n?[aä]|(?:{CONSONANT}|{LONG})t[aä]|\1n|h\1n|{LONG}seen|{CONSONANT}ten)?{CLITIC}"
)
WEAK_PLURAL = re.compile(rf".i(?:{LOCAL}[aä]|lle|ksi){CLITIC}")
PLURAL = re.compile(
    rf".(?:(?<=[oöuye])(?:j[aä]|jen)|i[aä]|ien|i[dt]en|itten|it[aä]|i{LOCAL}[aä]|ille|in[aä]|iksi|ihin|iin|isiin)"
    rf"{CLITIC}"
)
# Whose it is. The dictionary is asked, since tulokseen is of tulos and could be of tulo.
OWNED = re.compile(
    rf"(.)(?:(?:kse|lle|(?:{LOCAL}|n|t)?[aä]|h?\1|see|te)?{OWNER}|kseen|lleen|(?:{LOCAL}|n|t)(?:aan|ään)){CLITIC}"
)
OWNED_PLURAL = re.compile(
    rf".(?:(?:j[aä]|i[aä]|it[aä]|i{LOCAL}[aä]|ille|in[aä]|ikse|ine|je|ie|i[dt]e|itte|ihi|isii|ii){OWNER}|"
    rf"(?:i{LOCAL}|in|j|i|it)(?:aan|ään)|illeen|ikseen|ineen){CLITIC}"
)
# After the stem of a verb in -aa, -tää and the like: finite and passive forms and the commonest
# participles.
VERB = re.compile(
    rf".(?:n|t|mme|tte|t[aä]{{2}}n|d[aä]{{2}}n|tt[uy]\w{{0,4}}|n[uy]t|nee\w{{0,4}}|isi\w{{0,3}}|mi[ns]e\w{{0,4}}|"
    rf"(?:m|(?:tt[aä])?v)(?:[aä](?:n|t|[aä]n?|n[aä]|ksi|{LOCAL}[aä]|lle)?|i(?:[aä]|en|in|ksi|n[aä]|{LOCAL}[aä]|lle))|"
    r"t[aä]es[st]\w{0,3}|k[oö]{2}n)"
)
# What makes another word of a stem and not a compound: kunta, kunnallinen; alijäämä, alijäämäinen.
DERIVED = re.compile(
    r"l*i(?:nen|s[aeoyäöt]|sis|sto|sti)|t[oö]n|tt[oö]m|[uy]{2}[sdtk]|j[aä]|m[ai][in]|st[aä]{2}"
)
WEAKER = (
    ("aik", "aj"),
    ("uku", "uvu"),
    ("kk", "k"),
    ("pp", "p"),
    ("tt", "t"),
    ("nk", "ng"),
    ("nt", "nn"),
    ("mp", "mm"),
    ("lt", "ll"),
    ("rt", "rr"),
    ("ht", "hd"),
    ("lk", "l"),
    ("rk", "r"),
    ("hk", "h"),
    ("k", ""),
    ("p", "v"),
    ("t", "d"),
)
# The stems of words that end so: all of them, or only some, where the dictionary has the last word.
ALWAYS = (
    ("nen", ("se", "s")),
    ("uus", ("uude", "uute", "uut", "uukse")),
    ("yys", ("yyde", "yyte", "yyt", "yykse")),
    ("us", ("ukse", "ude", "ute", "ut")),
    ("ys", ("ykse", "yde", "yte", "yt")),
    ("os", ("okse",)),
    ("ös", ("ökse",)),
    ("ton", ("ttoma",)),
    ("tön", ("ttömä",)),
    ("e", ("ee", "et")),
)
SOME = (
    ("is", ("ikse", "ii")),
    ("es", ("ekse", "ee")),
    ("as", ("aa", "akse")),
    ("äs", ("ää", "äkse")),
    ("in", ("ime",)),
    ("si", ("de", "te", "t")),
    ("osi", ("on",)),
    ("ksi", ("hde", "hte", "ht")),
    ("eli", ("el",)),
    ("uori", ("uor",)),
    ("uuri", ("uur",)),
    ("aari", ("aar",)),
    ("ieni", ("ien",)),
    ("ääni", ("ään",)),
    ("i", ("e",)),
)
LONG_VOWELS = (
    "aa",
    "ää",
    "ee",
    "ii",
)  # the endings before which a weak grade turns strong: asukas, asukkaa

Stems = tuple[tuple[frozenset[str], re.Pattern[str]], ...]


def _finnish(term: str, word: str) -> bool:
    """Whether `word` is an inflected form of `term`, or a compound that a long term is a part
    of."""
    if _by_rule(term, word):
        return True
    if word[0] != term[0]:
        return False
    lemma = _lemma(word, "fi")
    if lemma and lemma == (_lemma(term, "fi") or term):
        return True
    bases, likely = _bases(term), _stems(term)[1]
    if _inflects(likely, word):
        return lemma in ("", *bases) or _inflects(
            likely[-1:], lemma
        )  # participles are headwords, too
    return any(_inflects(_stems(base)[0], word) for base in bases if base != term)


def _by_rule(term: str, word: str) -> bool:
    if term.isdigit() or len(term) < 3 or len(word) < 3:
        return False
    sure, _ = _stems(term)
    return _inflects(sure, word) or _is_compound(term, sure, word)


def _inflects(stems: Stems, word: str) -> bool:
    return any(
        word.startswith(stem) and ending.fullmatch(word, len(stem) - 1)
        for group, ending in stems
        for stem in group
    )


def _is_compound(term: str, stems: Stems, word: str) -> bool:
    if len(term) < COMPOUND:
        return False
    if word.startswith(term) and len(word) - len(term) >= 3 and not DERIVED.match(word, len(term)):
        return True
    return any(
        (at := word.find(stem)) >= 3 and ending.fullmatch(word, at + len(stem) - 1) is not None
        for group, ending in stems
        for stem in group
        if len(stem) >= COMPOUND - 1
    )


@lru_cache(maxsize=4096)
def _bases(term: str) -> frozenset[str]:
    """The headwords that a term may be a form of, itself among them: people also write rahavarat
    and rakennusluvat."""
    if lemma := _lemma(term, "fi"):
        return frozenset({term, lemma})
    if term[-1] != "t" or len(term) < 5 or term[-2] not in VOWELS:
        return frozenset({term})
    stem = term[:-1]
    undone = {
        stem[: -len(tail)] + end for end, tails in ALWAYS for tail in tails if stem.endswith(tail)
    }
    return frozenset({term, stem, *_strengthened(stem), *undone})


@lru_cache(maxsize=4096)
def _stems(base: str) -> tuple[Stems, Stems]:
    """The stems a word inflects on with the endings of each: those that are sure, and those that
    only may be.

    tilinpäätös gives tilinpäätös-, tilinpäätökse-; kunta gives kunta-, weak kunna-, and in the
    plural kunt-, kunn-."""
    sure, likely = {base} | _replaced(base, ALWAYS), _replaced(base, SOME)
    if base[-1] not in VOWELS and len(base) >= 5:
        likely |= {base + "e", base + "i"}
    weak = _weakened(base) if base[-1] in VOWELS and base[-2:] not in LONG_VOWELS else set()
    weak_likely = {stem[:-1] + "e" for stem in weak if stem[-1] == "i"}
    every = sure | weak | likely | weak_likely
    return (
        _paradigm(sure, weak),
        (
            *_paradigm(likely, weak_likely),
            (frozenset(every), OWNED),
            (_plural(every), OWNED_PLURAL),
            (_verbal_stems(base), VERB),
        ),
    )


def _paradigm(strong: set[str], weak: set[str]) -> Stems:
    return (
        (frozenset(strong), SINGULAR),
        (frozenset(weak), WEAK),
        (_plural(strong), PLURAL),
        (_plural(weak), WEAK_PLURAL),
    )


def _replaced(base: str, table: tuple[tuple[str, tuple[str, ...]], ...]) -> set[str]:
    stems: set[str] = set()
    for ending, replacements in table:
        if base.endswith(ending) and (len(base) > len(ending) + 1 or len(ending) > 2):
            for tail in replacements:
                stem = base[: len(base) - len(ending)] + tail
                stems |= {stem, *_strengthened(stem)} if tail in LONG_VOWELS else {stem}
    return stems


def _plural(stems: set[str]) -> frozenset[str]:
    found = {stem for stem in stems if stem[-1] in "oöuye"}
    found |= {stem[:-1] for stem in stems if stem[-1] in "aäei"}
    found |= {stem[:-1] + ("o" if stem[-1] == "a" else "ö") for stem in stems if stem[-1] in "aä"}
    return frozenset(stem for stem in found if len(stem) >= 3)


def _verbal_stems(base: str) -> frozenset[str]:
    """kattaa inflects on katta- and kata-, in the passive on kate-."""
    if len(base) < 5 or base[-1] not in "aä" or base[-2] not in VOWELS:
        return frozenset()
    forms = {base[:-1], *_weakened(base[:-1])}
    return frozenset(forms | {form[:-1] + "e" for form in forms if form[-1] in "aä"})


def _weakened(form: str) -> set[str]:
    """The weak grade of the last consonants of a stem: kunta, kunna; säätä, säädä."""
    return {replaced for strong, weak in WEAKER if (replaced := _regraded(form, strong, weak))}


def _strengthened(form: str) -> set[str]:
    return {
        replaced for strong, weak in WEAKER if weak and (replaced := _regraded(form, weak, strong))
    }


def _regraded(form: str, old: str, new: str) -> str:
    body = form.rstrip(VOWELS) if old[-1] not in VOWELS else form
    before = body[: len(body) - len(old)]
    if not body.endswith(old) or not (before or len(old) > 2):
        return ""
    if len(old) == 1 and new != 2 * old and before[-1] not in VOWELS:
        # a single stop alternates between vowels only, but doubles after a consonant too: hanke,
        # hankkee
        return ""
    return before + new + form[len(body) :]


# ── English and Hebrew ────────────────────────────────────────────────────────────────────────────

ENGLISH_ENDINGS = (
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("xes", "x"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("s", ""),
    ("ed", ""),
    ("ed", "e"),
    ("ing", ""),
    ("ing", "e"),
)
HEBREW_PREFIX = re.compile("ו?(?:לכש|מש|כש|ש)?[בכלמ]?ה?")
HEBREW_FINALS = str.maketrans("ךםןףץ", "כמנפצ")
# Number, construct state and whose it is; by how the word ends.
HEBREW_ENDINGS = {
    "ית": ("ית", "יות", "יתו", "יתה", "יתמ", "יותיו", "יותיה", "יותיהמ"),
    "ות": ("ות", "ויות", "ותו", "ותה", "ותמ", "ויותיו"),
    "ימ": ("ימ", "י", "", "יו", "יה", "יהמ"),
    "ה": ("ה", "ת", "ות", "תו", "תה", "תמ", "ותיו", "ותיה", "ותיהמ", "ימ", "י"),
    "": ("", "ימ", "י", "ות", "ו", "מ", "יו", "יה", "יהמ", "ותיו", "ותיהמ"),
}


def _english(term: str, word: str, language: str) -> bool:
    """One lemma in the dictionary; in an English text a word that it does not have may still be
    regular."""
    if term[0] != word[0] or not (term + word).isascii():
        return False
    lemmas = _lemma(term, "en"), _lemma(word, "en")
    if all(lemmas):
        return lemmas[1] in (term, lemmas[0])
    return language == "en" and bool(_regular(term) & _regular(word))


def _is_english(*words: str) -> bool:
    """Whether the dictionaries have these words in English alone."""
    return all(_lemma(word, "en") for word in words) and not any(
        _lemma(word, "fi") for word in words
    )


def _regular(word: str) -> set[str]:
    """The words that this one is a regular form of, itself among them."""
    found = {word}
    for ending, base in ENGLISH_ENDINGS:
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= 3
            and not (ending == "s" and word[-2] in "sui")
        ):
            found.add(word[: -len(ending)] + base)
    return found


def _hebrew(term: str, word: str) -> bool:
    """Whether `word` is `term` with prefixes and an ending. The term is taken as written: its first
    letter may be a part of it, as in היתר, or not."""
    forms, plain = _hebrew_forms(term), _plain_hebrew(word)
    longest = HEBREW_PREFIX.match(plain)
    starts = range(longest.end() + 1) if longest else (0,)
    return any(
        HEBREW_PREFIX.fullmatch(plain, 0, start) and plain[start:] in forms for start in starts
    )


@lru_cache(maxsize=4096)
def _hebrew_forms(term: str) -> frozenset[str]:
    plain = _plain_hebrew(term)
    end = next(end for end in HEBREW_ENDINGS if plain.endswith(end) and len(plain) - len(end) >= 2)
    return frozenset(plain[: len(plain) - len(end)] + other for other in HEBREW_ENDINGS[end]) | {
        plain
    }


def _plain_hebrew(word: str) -> str:
    """Final letters as others; the doubled vav and yod of full spelling as one."""
    return word.translate(HEBREW_FINALS).replace("יי", "י").replace("וו", "ו")
