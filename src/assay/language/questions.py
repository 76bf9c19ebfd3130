"""Read a question: split it into what it asks for and what it excludes, and recognise filler words.

A question names a thing it does not want ("Hallituksen tehtävät kunnassa (ei osakeyhtiön
hallitus)") in few ways, and each has a form of its own:

- in brackets that begin with *not*: "(EI …)", "(not …)", "(לא …)";
- after a comma or dash, *not* with a noun: ", ei kunnallisvalitus", ", not gifts", ", לא המוכר";
- before its opposite: "not X but Y", "ei X vaan Y", "לא X אלא Y";
- after a word that means it: lukuun ottamatta, paitsi, muu kuin; except, excluding;
  למעט, פרט ל, חוץ מ, מלבד.

The *not* of a verb excludes nothing: "Eikö kunta ole velvollinen", "jos kunta ei maksa", "he did
not pay", "לא שילמתי". So in a sentence *not* must stand at the beginning of a part of it, and what
follows must be no verb that goes with it: in Finnish none of the few that mostly do, in Hebrew a
noun with the article or a preposition.

Filler words ask, point or fill a sentence and say nothing about the subject: a document that lacks
them is no worse for it. An index keeps them all the same: "how many" and "myself" stand in
statutes, too, and the lists of words that no index counts (`STOP` of each language) are shorter.
Finnish verbs are listed by their stems, with the endings and the clitics of a question; Hebrew
words may have others written before them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from assay.language.english import STOP
from assay.language.hebrew import PREFIX

# ── what is excluded ──────────────────────────────────────────────────────────────────────────────

_PART = r"[^,;:()?!.–—\n]"  # of a sentence
_NEXT = r"(?:[,;–—]|\s-)\s*"  # where another part begins
_NO_VERB = r"(?!to\b|be\b|been\b|have\b|only\b|when\b|if\b)"
_NOT_THAT = r"(?!(?:זה|זאת|כך|כן)(?![א-ת]))"
_VERBS = "|".join(
    (
        "ole oo olla olisi ollut saa saada saanut voi voida voisi voinut tarvitse tarvita pidä "
        "pitäisi tule tulla tulisi tehdä tee anna maksa makseta täydy kuulu päätä päätetä "
        "hyväksy hyväksytä noudata noudateta tiedä halua löydy löydä näy toimi riitä koske "
        "sovelleta enää siis kai kuitenkaan edes yhtään ketään mitään koskaan"
    ).split()
)
_RULES = {
    "fi": (
        rf"\(\s*(?:ei|eikä|paitsi)\s+(?!(?:{_VERBS})\b)([^()]+)\)",
        rf"(?:^|{_NEXT})(?:mutta\s+|siis\s+)?ei\s+(?!(?:{_VERBS})\b)({_PART}+?)\s+vaan\b",
        rf"{_NEXT}(?:mutta\s+|siis\s+)?ei\s+(?!(?:{_VERBS})\b)({_PART}+)",
        # from where a word begins: one of thousands of letters would be tried from each of them
        r"(?<![\w-])([\wåäö-]+[aä])\s+lukuun\s+ottamatta\b",
        rf"\blukuun\s+ottamatta\s+({_PART}+)",
        rf"\bpaitsi\s+(?!jos\b|kun\b|että\b|jollei\b)({_PART}+)",
        rf"\bmuu[\wåäö]*\s+(?:[\wåäö-]+\s+)?kuin\s+({_PART}+)",
    ),
    "en": (
        r"\(\s*(?:not|but not|except|excluding)\s+([^()]+)\)",
        rf"{_NEXT}(?:but\s+|and\s+)?not\s+({_PART}+?)\s+but\b",
        rf"{_NEXT}(?:but\s+|and\s+)?not\s+{_NO_VERB}({_PART}+)",
        rf"\b(?:except\s+for|excluding|with\s+the\s+exception\s+of)\s+({_PART}+)",
        rf"\bexcept\s+(?!that\b|when\b|where\b|if\b|as\b|for\b|to\b|in\b)({_PART}+)",
    ),
    "he": (
        r"\(\s*(?:ו?לא|למעט|חוץ\s+מ-?)\s*([^()]+)\)",
        rf"(?:^|{_NEXT})(?:אבל\s+)?לא\s+({_PART}+?)\s+אלא(?![א-ת])",
        rf"{_NEXT}(?:אבל\s+)?ו?לא\s+((?:ה(?!י[אה]\b|ו[אי]\b)|של\s|על\s|לפי\s){_PART}+)",
        rf"(?<![א-ת])למעט\s+({_PART}+)",
        rf"(?<![א-ת])(?:פרט\s+ל|חוץ\s+מ|מלבד\s+)-?{_NOT_THAT}({_PART}+)",
    ),
}
_COMPILED = {
    language: tuple(re.compile(rule, re.IGNORECASE) for rule in rules)
    for language, rules in _RULES.items()
}
MAX_EXCLUDED_WORDS = 12  # words that are excluded: more is a sentence of its own (taste)


class SplitQuestion(NamedTuple):
    """A question split into what it asks for and what it excludes."""

    wanted: str
    excluded: str = ""


def without_excluded(text: str, language: str) -> SplitQuestion:
    """Split a question; all of it is wanted where nothing else would be left."""
    wanted = text
    left_out: list[str] = []
    for rule in _COMPILED.get(language, ()):
        match = rule.search(wanted)
        if match is None or len(match[1].split()) > MAX_EXCLUDED_WORDS:
            continue
        rest = f"{wanted[: match.start()]} {wanted[match.end() :]}"
        if not re.search(r"[^\W\d_]{3,}", rest):
            continue
        left_out.append(match[1])
        wanted = rest
    return SplitQuestion(wanted, " ".join(left_out))


# ── filler words ──────────────────────────────────────────────────────────────────────────────────

ENGLISH = frozenset(
    "able actually allowed almost already although always am another anybody anyone anything "
    "anyway ask asked asking else enough ever every everyone everything get gets getting give "
    "given gives go goes going gone got happen happened happening happens he'd help here however "
    "i'd i'm i've isn't it's just keep know knows let like likely lot lots make makes making many "
    "maybe mean means might more most much myself need needed needs never now often once one ones "
    "or ourselves out over perhaps please put really regarding say says see seem seems since "
    "somebody someone something still take taken takes tell tells that's themselves thing things "
    "think though through too try trying up us use used uses using versus via want wanted wants "
    "way well what's whether whatever whenever who's within without yes yet".split()
)
FINNISH = frozenset(
    "aina aivan alla asia asiaa asian edelleen edes eikö eivät eli ellei emme en ennen ensin "
    "enintään enää et ette että heidän heidät heille heillä heitä heti hyvin hänelle hänellä hänen "
    "hänet häntä ihan ikinä ilman itse itseensä itselleen itsellään itsensä itseään jo johon "
    "johonkin joiden joilla joille joissa jokainen joka joku jokin jolla jolle jolloin jolta "
    "jonkin jonkun jopa jostain jostakin jota jotakin jotenkin joten jotta juuri kai kaikille "
    "kaikki kaikkia kaikkien kanssa kauan kauanko keiden keillä keitä kelle kellä kenelle kenellä "
    "keneltä kenen kenenkään kenestä kesken kerralla ketkä ketä ketään kohti koko koskaan koska "
    "kuinkahan kukaan kukin kumman kummassa kumpaa kumpi kumpikin kuten lainkaan "
    "lisäksi liian läpi lähtien meidän meidät meijän meille meillä meitä melko mennessä mieltä "
    "mihinkään miksi mikään milla millainen millaiset millaisia millaista millaisen millä mille "
    "miltä minkä minkälainen minkälaisia minkälaista minne mitkään minua minulla minulle minulta "
    "minun minut missään moni monella monelle monelta monen moneksi monessa monesta monesti monet "
    "moneen monta montako montaks montaa moniko muita mukana mulla mulle mun mut muu muun muut "
    "muuta myöskään niiden niille niitä niistä no noin noita nuo oikein oma omaa oman omat omia "
    "omien omiin onkohan ollenkaan paljo paljon paljonko paljonks pois saakka samalla sama saman "
    "samat sellainen sellaisen sellaista siellä siinä silloin siltä sinua sinulla sinulle sinun "
    "sinne sun sulla taas tahansa takaisin takia tarpeeksi tehty teidän teille teillä "
    "tietenkin toki tuo tuolla tuon tuota tuskin täällä tähän tällainen tällä tänne täysin tässä "
    "tästä usein vaan vaikka vain varten vielä viime vuoksi vähintään välillä yhtään "
    "yleensä yli ylipäänsä aiemmin aikaisemmin aikoi aikoo ainakin ainoastaan aiotaan alkaen "
    "ansiosta asiat asioita asti avulla enemmän enempää enimmäkseen enin eniten entistä erittäin "
    "esim esimerkiksi halusi hieman ihmiset ihmisiä ihmisten isoimmat isoimpia isoin jne jokaisen "
    "joskus joutui joutunut jälkeen kautta keskenään kohta kovemmin kovempana kovin kuuluu lisää "
    "lähes mahdollisesti melkein mitään mm molemmat muualla myöhemmin nykyisin nykyään nyt nähden "
    "näiden näin nämä odotettua odotetusti osalta pahin paras parhaiten pelkästään pian piti "
    "pitänyt puolesta saatiin saivat sieltä sijaan siten sitten suhteen suunnilleen suurimmat "
    "suurimpia suurin todella tuli tärkeimmät tärkein täältä viimeksi voitiin vähemmän vähiten "
    "vähän yhä äsken "
    # verbs that say little, in their base form
    "alkaa antaa ehtiä haluta jatkaa joutua jäädä kertoa käydä laittaa löytyä löytää mennä näkyä "
    "olla onnistua osata ottaa pitää päästä pystyä riittää saada sanoa tapahtua tarvita tehdä "
    "tietää tulla voida yrittää".split()
)
_FINNISH_VERB = re.compile(
    r"(?:halua|joudu|joutu|jää|kerro|kerto|käy|laita|laitta|mene|ole|osaa|ota|otta|pidä|pitä|pysty"
    r"|pääse|riitä|riittä|saa|sano|tapahtu|tarvitse|tee|teke|tiedä|tietä|tule|voi|yritä|yrittä"
    r"|anna|anta|ehdi|ehti)[aäeouy]?(?:n|t|mme|tte|vat|vät|isi|isin|isivat|isivät|s)?"
    r"(?:k[oö]|ks|kin|k[aä]{2}n|h[aä]n|p[aä])?"
    r"|(?:pitäis|voisi?|saisi?|oli|olis|ollaan|tehdään|mennään|saadaan|tarvitaan|otetaan|annetaan"
    r"|laitetaan|kerrotaan|pidetään|käydään|päästään|sanotaan|tiedetään|voidaan|tullaan)"
    r"(?:k[oö]|ks)?"
)
HEBREW = frozenset(
    "אבל אותה אותו אותי אותך אותם אותן אותנו אז אחד אחת אחרי איזה איזו איך אילו איפה איפשהו איתה "
    "איתו איתי איתם איתנו אלה אלו אליו אליי אם אנחנו אני אפשר אצל אצלי אצלנו את אתה אתם באמת בגלל "
    "בהם בזה בכלל בלי בעצם בערך בשביל גם האם הוא הזאת הזה הזו היא היה היו הייתה היכן הכי הם הן "
    "הרבה זאת זה זו חייבים יהיה יהיו יותר יכול יכולה יכולים יש כאן כאשר כבר כדאי כדי כולם כזה כי "
    "כיצד ככה כך כל כלום כמה לא לאן לבד להיות לה להם לו לזה לי לך לכם למה לנו לפי לפני ללא לעשות "
    "מאוד מאיזה מדוע מה מהו מהי מהם מהן מי מישהו ממני ממנו ממש משהו מתי עדיין עוד עושה עושים עכשיו "
    "על עליו עליי עם עצמה עצמו עצמי פה פחות פשוט צריך צריכה צריכים קורה קצת רוצה רוצים רק ומה ומי "
    "שוב שום של שלה שלהם שלו שלי שלך שלנו שם תהיה תוך".split()
)
LEAST = 3  # letters of a Hebrew word that may carry prefixes (by hand): מלא is not "from not"


@lru_cache(maxsize=65536)
def is_filler(word: str, language: str) -> bool:
    """Whether a word in lower case says nothing about the subject of a question."""
    if language != "en" and word in STOP:  # people mix in English
        return True
    if language == "fi":
        return word in FINNISH or _FINNISH_VERB.fullmatch(word) is not None
    if language == "he":
        starts = range(1, len(word) + 1 - LEAST)
        return word in HEBREW or any(
            word[at:] in HEBREW and PREFIX.fullmatch(word, 0, at) for at in starts
        )
    return language == "en" and word in ENGLISH
