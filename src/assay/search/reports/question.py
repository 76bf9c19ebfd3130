"""What a question to a report asks for: its words, its town and years, whose accounts, which kind
of column, and what a hit must name to be an answer at all."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import islice

import numpy as np

from assay.language.finnish import LIGHT, STOP, is_form_of_name, may_be_form
from assay.language.questions import FINNISH as FILLING
from assay.language.towns import former_in, is_governed, is_town, towns_in
from assay.search.dense import named_encoder
from assay.search.fuzzy_bm25 import Similar
from assay.search.index import Index
from assay.search.law_encoder import LawEncoder, StaticEncoder
from assay.search.reports.cells import (
    BUDGET,
    GROUP,
    OWN_CITY,
    YEAR,
    is_form,
    is_verb_of_kind,
    kinds_asked,
)

MAX_WORDS = 60  # of a question; chosen, to bound time
MAX_READINGS = 6  # of a question; chosen, to bound time
# words of a question that say nothing of what it is about
ASKING = frozenset(
    "oli olivat ollut olleet olisi on ovat paljonko montako moniko kuinka paljon monta moni suuri "
    "suuret suuruinen iso isot korkea korkealla vuonna vuoden vuodelta vuodelle vuodesta vuosi "
    "vuosina vuosien lopussa lopulla alussa aikana mikä mikäs mitkä mitä mitäs minkä millainen "
    "millaiset miltä kerro kertoo kerrotaan näytä haluan tietää löytyy lukee sanotaan kohdassa "
    "yhteensä euroa euro euroina tuhansina miljoonina prosentteina eur paljon paljonkos määrä "
    "määrältään arvo summa verran tehty teki tehnyt "
    "kaupunki kaupungin kaupungilla kaupungissa kaupungille kunta kunnan kunnalla kunnassa "
    "kaupunkimme kuntamme meidän raportti raportin raportissa tilinpäätöksessä tilinpäätöksen "
    "mukaan sai saanut sivu sivulla tieto tiedot luku lukuna kohti kohden eikä vain pelkkä pelkän "
    "monessa vuodessa muihin muiden muista muita verrattuna verrattaessa "
    "millä mille millaista millaisia millaisen millaisesta millaisella millaiseen minkälaista ketä "
    "kenellä kenessä kumman kummassa kummalla moneksi monenneksi oliko olivatko ovatko olisiko "
    "miksi ketkä keitä kenelle keneltä kumpi kumpaa minkälainen minkälaiset minkälaisia minne eli "
    "suuren suurta suuria ison isoa isoja pieni pienet paljoko paljonks paljoks moneltako "
    "stä sta ssa ssä lla llä lle ltä lta hun ään n "  # Oy:stä
    "what was is the of in for how much many were are did does year".split()
)
FIGURE = re.compile(
    r"paljonko|montako|kuinka\s+(?:paljon|mon|suu|iso|kork|piene)"
    r"|\bmikä\s+(?:oli|on)\b"
    r"|prosent|%|€|\beuro(?:a|n|t|ja|jen|ina|issa)?\b|määrä|\bsumma|how (?:much|many)",
    re.I,
)
TEXT = re.compile(
    r"\b(?:miten|miksi|missä|mistä|mihin|minne|mille|millä|milloin|millai\w+|minkälai\w+|mitä|mitkä"
    r"|minkä(?!\s+(?:suur|verran|arvo))|kuka|ketkä|ketä|kene\w+|kuinka|\w+ko|\w+kö"
    r"|why|who|where|when)\b",
    re.I,
)

SAYS_LITTLE = 0.5  # what a light verb counts (research/reports.md, experiment 29)
SHORTEST_PART = 4  # letters, of a compound (by hand)
ASKS_FOR_LIST = re.compile(
    r"\bmitkä\s+oliv", re.I
)  # of rows of accounts their figures, else a text
# what a term counts that a word of everyday language may stand for (research/reports.md, 27)
LAY = 0.6
_ASKED = re.compile(r"(?<=\w{3})k[oö]$")  # riittivätkö
_COUNTRY = "suomi"  # names nobody's figure
_START = re.compile(
    r"(?:vuoden|kauden|tilikauden)\s+(?:\d{4}\s+)?alussa|(?<![\d.])1\.1\.(?!\s?[-–])", re.I
)
_NAME = re.compile(r"(?<=\w )[A-ZÅÄÖ][\w-]+")
# whoever asks for himself, or for today, asks for a service: a report tells of a town and a year
_MINE = (
    "haen saan voin teen ilmoitan varaan maksan tarvitsen pääsen löydän muutan rekisteröin uusin "
    "vaihdan ostan tilaan valitan perun lähetän täytän kirjaudun otan olen menen käyn rakennan "
    "myyn vuokraan anon hankin liityn osallistun äänestän palautan pysäköin kysyn"
).replace(" ", "|")
_FOR_ONESELF = re.compile(
    r"\b(?:miten|kuinka|mistä|missä|mihin|minne|milloin|mitä|mille|kene\w+|paljonko|kun|jos)"
    rf"\s+(?:{_MINE})\b|\b(?:{_MINE})ko\b|\bmin(?:ä|un|ulla|ulle|ulta|ua)\b"
    r"|\b(?:tänään|huomenna|eilen|viikonloppuna|tällä viikolla|ensi viikolla|juuri nyt)\b"
    r"|\bnyt\W*$"
    # opening hours, addresses, tickets
    r"|\b(?:auki|aukeaa|aukioloa\w+|osoit(?:e|teen|etta|teessa|teesta)|puhelinnumero\w*"
    r"|yhteystie\w*|ajanvarau\w*|\w*(?:kerta|kausi|bussi|pääsy)lippu\w*|mihin aikaan(?! vuotta))\b",
    re.I,
)
_OTHERS = re.compile(
    r"\b\w*(?:hyvinvointialue|seurakun[tn]|sairaanhoitopiiri|keskussairaala|yliopisto"
    r"|korkeakoulu|valtion?(?:\b|l)|maakun[tn]|eduskun[tn]|kuntayhtymä|lentoase?m|liiton?\b)"
    # an ending or who has accounts, but not hyvinvointialueuudistus
    r"(?:\w{0,6}|\w*(?:kesku[ks]|säätiö|konserni|kirja)\w*)\b",
    re.I,
)


_OWNER = re.compile(rf"(?<![\w-])[A-ZÅÄÖ][\w-]+n\s+{_OTHERS.pattern}", re.I)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a question asks for: its words apart from the town, the years and what only asks; and
    those."""

    words: tuple[str, ...]
    towns: tuple[str, ...]
    years: tuple[int, ...]
    group: bool
    own: bool
    budget: bool
    asks: str  # "figure", "text", or neither
    places: tuple[str, ...] = ()  # municipalities of the past, as places in others
    names: tuple[str, ...] = ()  # words that must be there: whose figure it is
    kinds: frozenset[str] = frozenset()  # of the column, by a verb: a change, a deviation
    owners: tuple[str, ...] = ()  # whose name and kind stand together: Etelä-Pohjanmaan liitto
    at_start: bool = False  # of a year, not at its end
    of_country: bool = False  # nobody's here
    for_oneself: bool = False  # a service, or what is on today
    # what reports may call a word of the question, where a text is asked for
    meant: dict[str, tuple[str, ...]] = field(default_factory=dict)
    light: frozenset[str] = frozenset()  # verbs that say little, where a text is asked for
    # compounds that are not here, where both of their parts are and a text is asked for
    parts: dict[str, tuple[str, str]] = field(default_factory=dict)


def question_of(index: Index, text: str) -> Question:
    former = former_in(text)
    by_form = _kind_asked(index, text)
    is_text = by_form == "text"
    towns = (
        *towns_in(text, index.marked.towns),
        *(name for name, is_meant in former.items() if is_meant),
    )
    # a town without a report that rows are called after is looked for by its name
    filters = [town for town in towns if town not in index.marked.compared]
    places = [name for name, is_meant in former.items() if not is_meant]
    if is_text:  # what has the name of a town may be a lake
        here = [town for town in towns if town in index.marked.towns]
        meant = [town for town in towns if town in here or is_governed(town, text)]
        places += [town for town in towns if town not in meant and not here]
        filters = [town for town in filters if town in meant]
        towns = tuple(meant)
    kinds = frozenset() if is_text else kinds_asked(text)
    years = tuple(sorted({int(year) for year in YEAR.findall(text)}))
    group = bool(GROUP.search(text))
    words: list[str] = []
    less: list[str] = []  # that tell the column, and count where there is nothing else
    for word in dict.fromkeys(_told_words(index, text) if is_text else index.analyzer.words(text)):
        is_date = len(word) < 2 or (word.isdecimal() and (int(word) in years or len(word) <= 2))
        if word in ASKING or is_date or any(is_town(town, word) for town in filters):
            continue
        is_figure = not is_text and _tells_accounts(word, group)
        (less if is_figure or is_verb_of_kind(word) else words).append(word)
    meant_by = _lay_terms(words) if is_text and not places else {}
    light = frozenset(word for word in words if is_text and _is_light(index, word))
    return Question(
        words=tuple((words or less or index.analyzer.words(text))[:MAX_WORDS]),
        towns=towns,
        years=years,
        group=group,
        own=not group and bool(OWN_CITY.search(text)),
        budget="budget" in kinds,
        asks=by_form or ("figure" if any(_is_measure(index, word) for word in words) else ""),
        places=tuple(places),
        names=_required(index, text, words),
        owners=tuple(pair.lower() for pair in _OWNER.findall(text) if not _only_asks(pair)),
        at_start=bool(_START.search(text)),
        of_country=not towns and any(is_form_of_name(_COUNTRY, word) for word in words),
        kinds=kinds_asked(" ".join(word for word in less if is_verb_of_kind(word))),
        for_oneself=bool(_FOR_ONESELF.search(text)),
        # of what has the name of another town, only what is said of it in the same words
        meant=meant_by,
        light=light if len(light) < len(words) else frozenset(),
        parts=_parts(index, [word for word in words if word not in meant_by]) if is_text else {},
    )


def _only_asks(pair: str) -> bool:
    first = pair.split()[0].lower()
    return first in ASKING | STOP | FILLING


def _told_words(index: Index, text: str) -> list[str]:
    """The words of a question for a text, without those that only fill it and the ending that asks:
    *riittivätkö* is *riittivät*."""
    assert index.words is not None
    found = []
    for word in index.analyzer.words(text):
        bare = word if index.words.knows(word) else _ASKED.sub("", word)
        if bare not in STOP and bare not in FILLING:
            found.append(bare)
    return found


def _is_light(index: Index, word: str) -> bool:
    assert index.words is not None
    if index.words.knows(word):
        return index.words.base(word) in LIGHT
    return any(verb[:2] == word[:2] and may_be_form(verb, word) for verb in LIGHT)


def _parts(index: Index, words: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of compounds that no word here is a form of, the two words that they are made of, where both
    are here: *datakeskus* of data and keskus. Of several ways, the one with the longest end."""
    assert index.words is not None
    parts = {}
    for word in words:
        if _stands_here(index, word):
            continue
        for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
            if index.words.is_base(word[:at]) and _stands_here(index, word[at:]):
                parts[word] = word[:at], word[at:]
                break
    return parts


def _stands_here(index: Index, word: str) -> bool:
    return max(_similar_words(index, word)[1], default=0.0) >= 1.0


def _kind_asked(index: Index, text: str) -> str:
    """By how it is put. Keywords that name a row of accounts ask for its figure."""
    if FIGURE.search(text):
        return "figure"
    if ASKS_FOR_LIST.search(text):
        words = {*index.analyzer.words(text)} - ASKING
        return "figure" if any(_is_measure(index, word) for word in words) else "text"
    return "text" if TEXT.search(text) else ""


def _required(index: Index, text: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words of proper names inside a question and of others who have accounts; where there are
    any, what is asked of them, too: a word that is the whole label of some row."""
    found = [*_NAME.findall(text), *_OTHERS.findall(text)]
    names = {word for name in found for word in index.analyzer.words(name)}
    names |= {word for word in words for town in index.marked.compared if is_town(town, word)}
    names = {word for word in names if not is_form_of_name(_COUNTRY, word)}
    if not names.intersection(words) or (TEXT.search(text) and not FIGURE.search(text)):
        return tuple(word for word in words if word in names)
    return tuple(word for word in words if word in names or _is_measure(index, word))


def _is_measure(index: Index, word: str) -> bool:
    if any(len(said) == 1 and is_form(said[0], word) for pair in _terms("rows") for said in pair):
        return True
    numbers, shares = similar_words(index, word)
    labels = index.soft["label"]
    held = labels.frequency((numbers[shares >= 1.0], shares[shares >= 1.0]))
    return bool(((held > 0) & (labels.different == 1)).any())


def _tells_accounts(word: str, group: bool) -> bool:
    """Of the group, or of the budget: where no figure is asked for, these are words like others."""
    return bool((group and GROUP.search(word)) or BUDGET.match(word))


def towns_missing(index: Index, text: str) -> tuple[str, ...]:
    """The towns that a question asks for, where none of them has a report here."""
    towns = question_of(index, text).towns
    return () if any(town in index.marked.towns for town in towns) else towns


def similar_words(index: Index, word: str, meant: Sequence[str] = ()) -> Similar:
    """The index words that a word of the question stands for; forms of the terms that it may mean
    count less."""
    numbers, shares = _similar_words(index, word)
    if not meant:
        return numbers, shares
    best = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    for term in meant:
        of_term, alike = _similar_words(index, term)
        for number in of_term[alike >= 1.0].tolist():
            best[number] = max(best.get(number, 0.0), LAY)
    return np.array(list(best), np.int64), np.array(list(best.values()))


def _similar_words(index: Index, word: str) -> Similar:
    assert index.words is not None
    if index.profile.language != "fi":
        return index.words.similar(word)
    if index.prose is None or index.vectors is None:
        return index.words.inflected(word, may_be_form)
    encoder = named_encoder(index.profile.encoder)
    likeness = encoder.likeness if isinstance(encoder, StaticEncoder | LawEncoder) else None
    return index.words.inflected(word, may_be_form, likeness)


def readings(
    words: Sequence[str],
    light: Container[str] = (),
    parts: Mapping[str, tuple[str, str]] | None = None,
) -> Iterator[dict[str, float]]:
    """The words as they are, and with what accounts call it in the place of some of them, or with
    the parts of compounds. What stands in the place of a word counts as much as the word, however
    long it is; light verbs count less."""
    shares = {word: SAYS_LITTLE if word in light else 1.0 for word in words}
    yield shares
    for said, row in islice(_row_terms(words), MAX_READINGS):
        rest = [word for word in words if not any(is_form(base, word) for base in said)]
        in_place = dict.fromkeys(row, min(1.0, len(said) / len(row)))
        yield in_place | {word: shares[word] for word in rest}
    if parts:
        whole = {word: share for word, share in shares.items() if word not in parts}
        yield {part: 1 / len(pair) for pair in parts.values() for part in pair} | whole


def _row_terms(words: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Those whose words are all in the question, the longest first."""
    found = []
    for said, row in _terms("rows"):
        if _are_in(said, words) and not _are_in(row, words):
            found.append((said, row))
    return iter(sorted(found, key=lambda pair: -len(pair[0])))


def _are_in(terms: Sequence[str], words: Sequence[str]) -> bool:
    return all(any(is_form(term, word) for word in words) for term in terms)


def _lay_terms(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What reports may call these words of everyday language."""
    by_start = _lay_words()
    meant = {
        word: tuple(
            dict.fromkeys(
                term
                for said, terms in by_start.get(word[:2], ())
                if is_form(said, word)
                for term in terms
            )
        )
        for word in words
    }
    return {word: terms for word, terms in meant.items() if terms}


@cache
def _lay_words() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Everyday words by their first letters, with what reports may call them."""
    by_start: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for (said,), terms in _terms("lay"):
        by_start.setdefault(said[:2], []).append((said, terms))
    return by_start


@cache
def _terms(name: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(what people say, in base forms; what a row, or a service, is called)."""
    path = resources.files("assay.search") / "data" / f"fi.{name}.tsv"
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        row, said = line.split("\t")
        for variant in said.split(";"):
            pairs.append((tuple(variant.split()), tuple(re.findall(r"\w{2,}", row))))
    return pairs
