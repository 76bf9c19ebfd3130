"""Whether a text contains a term, whatever form the term stands in.

Small rules, not a dictionary: for Finnish the stems a nominal inflects on (consonant gradation, -nen/-se, -us/-ukse,
-as/-aa, …) followed by a known ending; for English a shared stem; for Hebrew prefixes, niqqud and final letters set
aside. A long term also counts inside a compound (alijäämä in alijäämäselvitys). Every word of a term must be found.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

WORD = re.compile(r"[^\W_]+")
NIQQUD = re.compile(r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
IGNORED = re.compile(r"[\u00ad\u200b-\u200f]")
COMPOUND = 6  # a term at least this long is also looked for inside compounds; a shorter one would match by accident


def contains_term(text: str, term: str) -> bool:
    """Every word of `term` stands in `text` in some form."""
    words = frozenset(WORD.findall(fold(text)))
    asked = WORD.findall(fold(term))
    return bool(asked) and all(any(same_word(part, word) for word in words) for part in asked)


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


def same_word(term: str, word: str) -> bool:
    """Whether two folded words are forms of one word."""
    if term == word:
        return True
    if "\u0590" <= term[:1] <= "\u05ff":
        return bool(_hebrew_forms(term) & _hebrew_forms(word))
    if term.isdigit() or word.isdigit() or len(term) < 3:
        return False
    if _finnish(term, word, compounds=True) or _english_stem(term) == _english_stem(word):
        return True
    return len(word) >= 5 and _finnish(word, term, compounds=False)  # the term itself may be written inflected


# ── Finnish ──────────────────────────────────────────────────────────────────────────────────────────────────────────

VOWELS = "aeiouyåäö"
OWNER = r"(?:ni|si|ns[aä]|mme|nne)"
TAIL = rf"(?:{OWNER}|[aeäö]n)?(?:kin|k[aä]{{2}}n|k[oö]|h[aä]n|p[aä])?"  # whose, then a clitic
CLOSED = r"n|t|ksi|kse|ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|tt[aä]"  # the endings that follow a weak grade
OPEN = r"[aä]|t[aä]|n[aä]|h[aeiouyäö]n|seen|[aeiouyäö]n|tten|ten"
WEAK = re.compile(rf"(?:{CLOSED}){TAIL}")
SINGULAR = re.compile(rf"(?:{CLOSED}|{OPEN})?{TAIL}|(?:h?[aeiouyäö]|see|te){OWNER}")
PLURAL = re.compile(
    r"(?:j[aä]|jen|i[aä]|ien|i[dt]en|itten|it[aä]|iss[aä]|ist[aä]|ill[aä]|ilt[aä]|ille|in[aä]|iksi|ikse|ihin|iin|isiin|"
    rf"itt[aä]|ine|in){TAIL}|(?:je|ie|i[dt]e|itte|ihi|isii|ii){OWNER}"
)
# After the stem of a verb in -aa, -tää and the like: finite and passive forms and the commonest participles.
VERB = re.compile(
    r"(?:n|t|mme|tte|v[aä]t|t[aä]{2}n|d[aä]{2}n|tt[uy]\w{0,4}|tt[aä]v[aä]\w{0,5}|v[aä]\w{0,5}|n[uy]t|nee\w{0,4}|"
    r"isi\w{0,3}|m[aä]{2}n|m[aä](?:n|t|n[aä]|ss[aä]|st[aä]|ll[aä]|lle|tt[aä])?|mi[ns]e\w{0,4}|"
    r"t[aä]es[st]\w{0,3}|k[oö]{2}n)"
)
WEAKER = (
    ("aik", "aj"), ("uku", "uvu"), ("kk", "k"), ("pp", "p"), ("tt", "t"), ("nk", "ng"), ("nt", "nn"), ("mp", "mm"),
    ("lt", "ll"), ("rt", "rr"), ("ht", "hd"), ("lk", "l"), ("rk", "r"), ("hk", "h"), ("k", ""), ("p", "v"), ("t", "d"),
)  # fmt: skip
STEMS = (
    ("nen", ("se", "s")), ("uus", ("uude", "uute", "uut", "uukse")), ("yys", ("yyde", "yyte", "yyt", "yykse")),
    ("us", ("ukse", "ude", "ute", "ut")), ("ys", ("ykse", "yde", "yte", "yt")), ("os", ("okse",)), ("ös", ("ökse",)),
    ("is", ("ikse", "ii")), ("es", ("ekse", "ee")), ("as", ("aa", "akse")), ("äs", ("ää", "äkse")), ("in", ("ime",)),
    ("ton", ("ttoma",)), ("tön", ("ttömä",)), ("e", ("ee", "et")), ("si", ("de", "te", "t")), ("osi", ("on",)),
    ("ksi", ("hde", "hte", "ht")),
    ("eli", ("el",)), ("uori", ("uor",)), ("uuri", ("uur",)), ("aari", ("aar",)), ("ieni", ("ien",)),
    ("ääni", ("ään",)),
)  # fmt: skip
LONG_VOWELS = ("aa", "ää", "ee", "ii")  # the endings before which a weak grade turns strong: asukas, asukkaa


def _finnish(base: str, word: str, *, compounds: bool) -> bool:
    """Whether `word` is an inflected form of `base`, or of a compound that `base` is a part of."""
    forms = tuple(zip(_stems(base), (SINGULAR, WEAK, PLURAL, VERB), strict=True))
    for stems, ending in forms:
        for stem in stems:
            if word.startswith(stem) and ending.fullmatch(word, len(stem)):
                return True
    if not compounds or len(base) < COMPOUND:
        return False
    if word.startswith(base) and len(word) - len(base) >= 3:
        return True
    return any(
        (at := word.find(stem)) >= 3 and ending.fullmatch(word, at + len(stem)) is not None
        for stems, ending in forms[:3]
        for stem in stems
        if len(stem) >= COMPOUND - 1
    )


@lru_cache(maxsize=4096)
def _stems(base: str) -> tuple[frozenset[str], ...]:
    """The stems a word inflects on: singular, weak singular, plural and, if it could be a verb, verbal.

    tilinpäätös gives tilinpäätös-, tilinpäätökse-; kunta gives kunta-, weak kunna-, and in the plural kunt-, kunn-."""
    stems = {base}
    for ending, replacements in STEMS:
        if base.endswith(ending) and (len(base) > len(ending) + 1 or base == ending):
            for tail in replacements:
                stem = base[: len(base) - len(ending)] + tail
                stems |= {stem, *_strengthened(stem)} if tail in LONG_VOWELS else {stem}
    if base[-1] not in VOWELS and len(base) >= 5:
        stems |= {base + "e", base + "i"}
    stems |= {stem[:-1] + "e" for stem in stems if stem[-1] == "i"}
    weak = _weakened(base) if base[-1] in VOWELS else set()
    weak |= {stem[:-1] + "e" for stem in weak if stem[-1] == "i"}
    plural = {stem for stem in stems | weak if stem[-1] in "oöuye"}
    plural |= {stem[:-1] for stem in stems | weak if stem[-1] in "aäei"}
    plural |= {stem[:-1] + ("o" if stem[-1] == "a" else "ö") for stem in stems | weak if stem[-1] in "aä"}
    long_enough = frozenset(stem for stem in plural if len(stem) >= 3)
    return frozenset(stems), frozenset(weak), long_enough, _verbal_stems(base)


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
    return {replaced for strong, weak in WEAKER if weak and (replaced := _regraded(form, weak, strong))}


def _regraded(form: str, old: str, new: str) -> str:
    body = form.rstrip(VOWELS) if old[-1] not in VOWELS else form
    before = body[: len(body) - len(old)]
    if not body.endswith(old) or not before:
        return ""
    if len(old) == 1 and new != 2 * old and before[-1] not in VOWELS:
        return ""  # a single stop alternates between vowels only, but doubles after a consonant too: hanke, hankkee
    return before + new + form[len(body) :]


# ── English and Hebrew ───────────────────────────────────────────────────────────────────────────────────────────────

ENGLISH_SUFFIXES = (
    "ification", "ational", "ation", "ment", "itie", "ness", "ally", "ified", "ifie", "ifying", "ing", "ied", "ify",
    "ity", "ion", "ure", "ed", "er", "or", "ie", "ly", "al", "e", "y",
)  # fmt: skip
HEBREW_PREFIXES = "והבלכמש"
HEBREW_FINALS = str.maketrans("ךםןףץ", "כמנפצ")
HEBREW_SUFFIXES = ("ימ", "ות", "יה", "ת", "ה", "י")


@lru_cache(maxsize=65536)
def _english_stem(word: str) -> str:
    """The word without its plural and one derivational ending."""
    if not word.isascii():
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("xes", "sses", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and len(word) > 3 and word[-2] not in "sui":
        word = word[:-1]
    for suffix in ENGLISH_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            stem = word[: -len(suffix)]
            return stem[:-1] if stem[-1] == stem[-2] else stem
    return word


@lru_cache(maxsize=65536)
def _hebrew_forms(word: str) -> frozenset[str]:
    """The word without up to three prefix letters, and each of these without a common ending."""
    bare = word.translate(HEBREW_FINALS)
    forms = {bare}
    for length in (1, 2, 3):
        if len(bare) - length >= 3 and all(letter in HEBREW_PREFIXES for letter in bare[:length]):
            forms.add(bare[length:])
    for form in tuple(forms):
        forms |= {form[: -len(end)] for end in HEBREW_SUFFIXES if form.endswith(end) and len(form) - len(end) >= 3}
    return frozenset(forms)
