"""Recognise filler words: words that ask, point or fill a sentence and say nothing about the
subject. A document that lacks them is no worse for it.

An index keeps them all the same: "how many" and "myself" stand in statutes, too, and the lists of
words that no index counts (`STOP` of each language) are shorter. Finnish verbs are listed by their
stems, with the endings and the clitics of a question; Hebrew words may have others written before
them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from assay.language.english import STOP
from assay.language.hebrew import PREFIX

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
    "yleensä yli ylipäänsä "
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
LEAST = 3  # letters of a Hebrew word that may carry prefixes: מלא is not "from not"


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
