"""Finnish stop words, and a test whether two words are forms of one word.

Finnish words are inflected by rule: endings of case and number (kunta, kunnassa, kunnista) on stems
whose last consonants alternate (kunta, kunna-; consonant gradation) and whose last syllable may
change (nainen, naise-; oikeus, oikeude-). `_stems` makes the stems of a base form with the endings
that may follow each: those that are sure, and those that hold for some words only, where the
dictionary has the last word. An inflected form of a term counts; another word that looks like it
does not: *tuloksen* has the term tulos, *tulon* has not. A long term also counts inside a compound
(alijäämä in alijäämäselvitys)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from assay.language.dictionary import forms_of, headword, lemma

STOP = frozenset(
    "ja tai on ei se ne kun jos että mitä mikä mitkä miten missä milloin kuka kenen voiko saako "
    "pitääkö onko pitää olla sen sitä siitä siihen sille kuinka mihin mistä jotka joka jonka jota "
    "sekä kuin myös ovat tämä tämän tätä jossa josta joita mutta vaan niin hän he me te minä sinä "
    "voi saa tulee täytyy sanoo laki lain laissa mukaan koskee koskeva koskevat koskien liittyen "
    "liittyy "
    # the same in spoken language, and words that only fill a sentence
    "onks saaks voiks pitääks oisko mites mitäs kuis et ku ni sit sitten siis hei no joo ihan "
    "oikeesti oikeasti niinku tota tuota kai muuten nyt kyllä kyl joku jotain mä sä".split()
)
# verbs that say little of what a question is about, in base form: *tarvitsi*, *käytetään*
LIGHT = frozenset(
    "aiheuttaa aikoa alkaa aloittaa antaa arvioida auttaa edellyttää edetä edistää ehtiä "
    "ennakoida esittää haluta heikentyä heikentää huolehtia huomata ilmetä jatkaa jatkua johtaa "
    "johtua joutua järjestää jäädä kasvaa kehittyä kehittää kertoa keskittyä kohdistua koskea "
    "kuulua kuvata kyetä käsitellä käydä käynnistyä käynnistää käyttää laittaa laskea liittyä "
    "lisätä lisääntyä lopettaa loppua luoda löytyä löytää mahdollistaa mahtua mainita mennä "
    "merkitä miettiä muodostua muuttua nousta nähdä näkyä näyttää odottaa onnistua osata ottaa "
    "painottaa panna parantaa parantua perustua pitää pohtia pudota pyrkiä pystyä päästä "
    "päättää riittää saada saavuttaa sanoa sattua selvittää selvitä seurata sijaita sisältää "
    "sujua suorittaa suunnitella tapahtua tarjota tarkastella tarkoittaa tarvita tavoitella "
    "tehdä tietää todeta toimia toivoa toteuttaa toteutua tulla tunnistaa tuntua tuoda tuottaa "
    "täyttää uskoa vaatia vaikuttaa valita valmistella valmistua varautua varmistaa vastata "
    "vetää viedä voida vähentyä vähentää vähetä yltää yrittää".split()
)
WITHOUT_DOTS = str.maketrans("äöåÄÖÅ", "aoaAOA")
# A term at least this long is also looked for inside compounds; a shorter one would match by
# accident (taste).
COMPOUND = 6


def without_dots(word: str) -> str:
    """A word as typed on a keyboard without ä and ö, for comparing look-alikes."""
    return word.translate(WITHOUT_DOTS)


VOWELS = "aeiouyåäö"
CLITIC = r"(?:kin|k[aä]{2}n|k[oö]|h[aä]n|p[aä])?"
OWNER = r"(?:ni|si|ns[aä]|mme|nne)"
LOCAL = r"(?:ss|st|ll|lt|tt)"
CONSONANT, LONG = r"(?<=[^aeiouyåäö])", r"(?<=[aeiouyåäö]{2})"
# Endings follow the last letter of the stem, since the illative repeats it: kunta-an, työ-hön.
WEAK = re.compile(rf"(.)(?:n|t|ksi|{LOCAL}[aä]|lle){CLITIC}")
SINGULAR = re.compile(
    rf"(.)(?:n|t|ksi|{LOCAL}[aä]|lle|n?[aä]|(?:{CONSONANT}|{LONG})t[aä]|\1n|h\1n|{LONG}seen"
    rf"|{CONSONANT}ten)?{CLITIC}"
)
WEAK_PLURAL = re.compile(rf".i(?:{LOCAL}[aä]|lle|ksi){CLITIC}")
PLURAL = re.compile(
    rf".(?:(?<=[oöuye])(?:j[aä]|jen)|i[aä]|ien|i[dt]en|itten|it[aä]|i{LOCAL}[aä]|ille|in[aä]|iksi"
    rf"|ihin|iin|isiin){CLITIC}"
)
# Whose it is. The dictionary is asked, since tulokseen is of tulos and could be of tulo.
OWNED = re.compile(
    rf"(.)(?:(?:kse|lle|(?:{LOCAL}|n|t)?[aä]|h?\1|see|te)?{OWNER}|kseen|lleen"
    rf"|(?:{LOCAL}|n|t)(?:aan|ään)){CLITIC}"
)
OWNED_PLURAL = re.compile(
    rf".(?:(?:j[aä]|i[aä]|it[aä]|i{LOCAL}[aä]|ille|in[aä]|ikse|ine|je|ie|i[dt]e|itte|ihi|isii|ii)"
    rf"{OWNER}|"
    rf"(?:i{LOCAL}|in|j|i|it)(?:aan|ään)|illeen|ikseen|ineen){CLITIC}"
)
# After the stem of a verb in -aa, -tää and the like: finite and passive forms and the commonest
# participles.
VERB = re.compile(
    r".(?:n|t|mme|tte|t[aä]{2}n|d[aä]{2}n|tt[uy]\w{0,4}|n[uy]t|nee\w{0,4}|isi\w{0,3}"
    r"|mi[ns]e\w{0,4}|"
    rf"(?:m|(?:tt[aä])?v)(?:[aä](?:n|t|[aä]n?|n[aä]|ksi|{LOCAL}[aä]|lle)?"
    rf"|i(?:[aä]|en|in|ksi|n[aä]|{LOCAL}[aä]|lle))|"
    r"t[aä]es[st]\w{0,3}|k[oö]{2}n)"
)
# What makes another word of a stem and not a compound: kunta, kunnallinen; alijäämä, alijäämäinen.
DERIVED = re.compile(
    r"l*i(?:nen|s[aeoyäöt]|sis|sto|sti)|t[oö]n|tt[oö]m|[uy]{2}[sdtk]|j[aä]|m[ai][in]|st[aä]{2}"
)
# Strong and weak grades of consonants: kukka, kukan.
WEAKER = tuple(
    tuple(pair.split("-"))
    for pair in (
        "aik-aj uku-uvu kk-k pp-p tt-t nk-ng nt-nn mp-mm lt-ll rt-rr ht-hd lk-l rk-r hk-h k- p-v "
        "t-d"
    ).split()
)
GRADES = tuple(map(set, ("kg", "td", "pv", "tn", "tl", "tr", "pm")))
LONGEST_TAIL = 5  # letters from a grade to the end of a word (taste)
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
# the endings before which a weak grade turns strong: asukas, asukkaa
LONG_VOWELS = ("aa", "ää", "ee", "ii")

Stems = tuple[tuple[frozenset[str], re.Pattern[str]], ...]


def same_word(term: str, word: str) -> bool:
    """Whether `word` is an inflected form of `term`, or a compound that a long term is a part
    of."""
    if by_rule(term, word):
        return True
    if word[0] != term[0]:
        return False
    lemma = headword(word, "fi")
    if lemma and lemma == (headword(term, "fi") or term):
        return True
    bases, likely = _bases(term), _stems(term)[1]
    if _inflects(likely, word):
        return lemma in ("", *bases) or _inflects(
            likely[-1:], lemma
        )  # participles are headwords, too
    return any(_inflects(_stems(base)[0], word) for base in bases if base != term)


def by_rule(term: str, word: str) -> bool:
    """Whether the rules alone make `word` a form of `term`; the dictionary is not opened."""
    if term.isdigit() or len(term) < 3 or len(word) < 3:
        return False
    sure, _ = _stems(term)
    return _inflects(sure, word) or _is_compound(term, sure, word)


def may_be_form(term: str, word: str) -> bool:
    """Whether the rules can make `word` a form of `term`, sure or not; no dictionary is asked, and
    compounds do not count."""
    sure, likely = _stems(term)
    return _inflects(sure, word) or _inflects(likely, word) or differ_in_grade(term, word)


@lru_cache(maxsize=65536)
def lemma_of_all(word: str) -> str:
    """The lemma of a word. Of a compound that the dictionary does not know it is the whole word: to
    the dictionary *toimintakate* is a form of *toiminta*, and so is *toimintatulot*."""
    found = lemma(word, "fi")
    if not goes_on(found, word):
        return found
    last = headword(word[len(found) :], "fi")
    return f"{found}{last}" if last else found


def goes_on(lemma: str, word: str) -> bool:
    """Whether a word is more than a form of its lemma: a compound that begins with it."""
    is_longer = word.startswith(lemma) and len(word) - len(lemma) >= 3
    return is_longer and not may_be_form(lemma, word)


def irregular_forms(lemmas: Iterable[str]) -> dict[str, str]:
    """The forms of these words that no rule here makes, each with its word: *säästivät* of säästää,
    *parempien* of hyvä. Light verbs are included, whether they are among the words or not."""
    words = {*LIGHT, *lemmas}
    return {form: word for form, word in forms_of(words, "fi") if not may_be_form(word, form)}


def differ_in_grade(first: str, second: str) -> bool:
    """Whether two words part at the strong and the weak grade of a consonant, near their ends:
    lisäosinkoa, lisäosingon."""
    pairs = enumerate(zip(first, second, strict=False))
    common = next((at for at, (one, other) in pairs if one != other), 0)
    if common < COMPOUND or max(len(first), len(second)) - common > LONGEST_TAIL:
        return False
    return {first[common], second[common]} in GRADES


def is_form_of_name(name: str, word: str) -> bool:
    """Whether `word` is a form of a proper name in the singular; no dictionary has names."""
    sure, likely = _stems(name)
    return _inflects((*sure[:2], *likely[:2]), word)


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
    if lemma := headword(term, "fi"):
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
    plural = {stem for stem in stems if stem[-1] in "oöuye"}
    plural |= {stem[:-1] for stem in stems if stem[-1] in "aäei"}
    plural |= {stem[:-1] + ("o" if stem[-1] == "a" else "ö") for stem in stems if stem[-1] in "aä"}
    return frozenset(stem for stem in plural if len(stem) >= 3)


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
